//! All allowances of a data folder. What was used today is written into a file, so that a restart does not give
//! it anew.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use haversack_core::embed::{EmbedError, Embedder, Model, Vector};
use haversack_core::units::Timestamp;
use serde::{Deserialize, Serialize};

use crate::allowance::{Allowance, AllowanceScope, Clock, DailyCap, DayTally, day_of};

/// The file in a data folder.
const FILE: &str = "models/used-today.json";

/// How long a charge waits to be written: what was used since then is forgotten when the process is killed.
const WRITE_DELAY: Duration = Duration::from_secs(2);

/// The allowances of a data folder.
#[derive(Debug)]
pub(crate) struct AllowanceBook {
    shared: Arc<SharedBook>,
    /// The thread that writes the file, once something was used.
    writer: Arc<Mutex<Option<JoinHandle<()>>>>,
}

struct SharedBook {
    file: Option<PathBuf>,
    clock: Clock,
    state: Mutex<BookState>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct BookState {
    allowances: BTreeMap<String, Arc<Allowance>>,
    /// What the file had of owners that have no allowance yet.
    earlier: Option<SavedTallies>,
    is_changed: bool,
    is_closed: bool,
}

/// The file: what was used on a day, by owner.
#[derive(Debug, Default, Serialize, Deserialize)]
struct SavedTallies {
    /// Days since 1970.
    day: i64,
    used: BTreeMap<String, DayTally>,
}

impl std::fmt::Debug for SharedBook {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SharedBook").field("file", &self.file).finish_non_exhaustive()
    }
}

impl AllowanceBook {
    /// The book of a data folder; without one nothing is kept. The file is read when it is first needed.
    pub(crate) fn new(folder: Option<PathBuf>, clock: Option<Clock>) -> AllowanceBook {
        let shared = SharedBook {
            file: folder.map(|folder| folder.join(FILE)),
            clock: clock.unwrap_or_else(|| Arc::new(system_time)),
            state: Mutex::default(),
            changed: Condvar::new(),
        };
        AllowanceBook { shared: Arc::new(shared), writer: Arc::default() }
    }

    /// The allowance of an owner with this cap. The same owner has the same allowance, with the cap given last.
    pub(crate) fn allowance(&self, owner: &str, cap: DailyCap) -> Arc<Allowance> {
        let mut state = self.shared.lock();
        if let Some(allowance) = state.allowances.get(owner) {
            allowance.set_cap(cap);
            return Arc::clone(allowance);
        }
        let earlier = state.earlier.get_or_insert_with(|| self.shared.read());
        let used = earlier.used.remove(owner).unwrap_or_default();
        let start = (earlier.day, used);
        // Weak, because the book holds the allowance.
        let (shared, writer) = (Arc::downgrade(&self.shared), Arc::downgrade(&self.writer));
        let on_charge = Box::new(move || {
            if let (Some(shared), Some(writer)) = (shared.upgrade(), writer.upgrade()) {
                shared.note_change();
                start_writer(&shared, &writer);
            }
        });
        let clock = Arc::clone(&self.shared.clock);
        let allowance = Arc::new(Allowance::new(owner, cap, clock, start, on_charge));
        state.allowances.insert(owner.to_owned(), Arc::clone(&allowance));
        allowance
    }
}

impl Drop for AllowanceBook {
    fn drop(&mut self) {
        self.shared.lock().is_closed = true;
        self.shared.changed.notify_all();
        let writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(writer) = writer {
            // It writes what is left and ends; a panic was reported by its hook.
            let _ = writer.join();
        }
    }
}

impl SharedBook {
    fn lock(&self) -> MutexGuard<'_, BookState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note_change(&self) {
        self.lock().is_changed = true;
        self.changed.notify_all();
    }

    /// What the file has of today. One that cannot be read counts as empty: a cap is no reason not to start.
    fn read(&self) -> SavedTallies {
        let today = day_of((self.clock)());
        let text = self.file.as_ref().and_then(|file| fs::read_to_string(file).ok());
        let saved = text.and_then(|text| serde_json::from_str::<SavedTallies>(&text).ok());
        saved.filter(|saved| saved.day >= today).unwrap_or_default()
    }

    /// Writes what was used today, beside the old file and then over it.
    fn write(&self, state: &BookState) -> std::io::Result<()> {
        let Some(file) = &self.file else { return Ok(()) };
        let mut saved = SavedTallies { day: day_of((self.clock)()), used: BTreeMap::new() };
        if let Some(earlier) = state.earlier.as_ref().filter(|earlier| earlier.day == saved.day) {
            saved.used.clone_from(&earlier.used);
        }
        for (owner, allowance) in &state.allowances {
            let (day, used) = allowance.tally();
            saved.day = saved.day.max(day);
            if used != DayTally::default() {
                saved.used.insert(owner.clone(), used);
            }
        }
        if let Some(parent) = file.parent() {
            fs::create_dir_all(parent)?;
        }
        let new = file.with_extension("json.new");
        fs::write(&new, serde_json::to_vec(&saved)?)?;
        fs::rename(new, file)
    }

    /// Writes the file some time after each change, and when the book is closed.
    fn run_writer(&self) {
        let mut state = self.lock();
        loop {
            while !state.is_changed && !state.is_closed {
                state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
            }
            if !state.is_closed {
                let waited =
                    self.changed.wait_timeout_while(state, WRITE_DELAY, |state| !state.is_closed);
                state = waited.unwrap_or_else(PoisonError::into_inner).0;
            }
            if std::mem::take(&mut state.is_changed)
                && let Err(error) = self.write(&state)
            {
                tracing::warn!(target: "haversack", %error, "what was used of models cannot be kept");
            }
            if state.is_closed {
                return;
            }
        }
    }
}

/// Starts the thread that writes, unless it runs. Without one the tallies last as long as the process.
fn start_writer(shared: &Arc<SharedBook>, writer: &Mutex<Option<JoinHandle<()>>>) {
    let mut writer = writer.lock().unwrap_or_else(PoisonError::into_inner);
    if writer.is_some() || shared.file.is_none() || shared.lock().is_closed {
        return;
    }
    let run = Arc::clone(shared);
    let spawned = std::thread::Builder::new()
        .name("haversack-allowances".to_owned())
        .spawn(move || run.run_writer());
    match spawned {
        Ok(handle) => *writer = Some(handle),
        Err(error) => {
            tracing::error!(target: "haversack", %error, "no thread can be started to keep what was used");
        }
    }
}

fn system_time() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_millis(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}

/// An embedder whose calls count against an allowance, on whatever thread it is called.
#[derive(Debug)]
pub(crate) struct CappedEmbedder {
    pub(crate) inner: Arc<dyn Embedder>,
    pub(crate) allowance: Arc<Allowance>,
}

impl CappedEmbedder {
    fn scope(&self) -> AllowanceScope {
        AllowanceScope::enter(std::slice::from_ref(&self.allowance))
    }
}

impl Embedder for CappedEmbedder {
    fn model(&self) -> &Model {
        self.inner.model()
    }

    fn is_remote(&self) -> bool {
        self.inner.is_remote()
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Vector>, EmbedError> {
        let _scope = self.scope();
        self.inner.embed(texts)
    }

    fn embed_query(&self, query: &str) -> Result<Vector, EmbedError> {
        let _scope = self.scope();
        self.inner.embed_query(query)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::ModelRole;
    use crate::usage::{Usage, UsageTotals};

    const DAY_MS: i64 = 24 * 60 * 60 * 1_000;

    fn book(folder: &tempfile::TempDir, day: i64) -> AllowanceBook {
        let clock: Clock = Arc::new(move || Timestamp::from_millis(day * DAY_MS + 5));
        AllowanceBook::new(Some(folder.path().to_owned()), Some(clock))
    }

    fn spend(book: &AllowanceBook, owner: &str, tokens_in: u64) -> u64 {
        let allowance = book.allowance(owner, DailyCap { tokens: Some(1_000), cost: None });
        let _scope = AllowanceScope::enter(std::slice::from_ref(&allowance));
        let used = Usage { tokens_in, ..Usage::default() };
        UsageTotals::default().record(ModelRole::Embed, &used);
        allowance.status().tokens
    }

    #[test]
    fn what_was_used_today_survives_a_restart() {
        let folder = tempfile::tempdir().unwrap();
        let first = book(&folder, 7);
        assert_eq!((spend(&first, "workspace a", 10), spend(&first, "key k", 3)), (10, 3));
        drop(first);
        let second = book(&folder, 7);
        assert_eq!(spend(&second, "workspace a", 5), 15);
        drop(second);
        let third = book(&folder, 7);
        assert_eq!(
            spend(&third, "key k", 1),
            4,
            "kept although the second process had no use for it"
        );
        drop(third);
        assert_eq!(spend(&book(&folder, 8), "workspace a", 1), 1, "another day");
    }

    #[test]
    fn nothing_is_written_where_nothing_was_used() {
        let folder = tempfile::tempdir().unwrap();
        let book = book(&folder, 7);
        let cap = DailyCap { tokens: Some(5), cost: None };
        assert_eq!(book.allowance("workspace a", cap).status().tokens, 0);
        drop(book);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
