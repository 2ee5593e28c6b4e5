//! Keeps a workspace like the folders that it was added from: adds what changes, deletes what goes.
//!
//! Events of the file system only say where something changed; what, the incremental import finds out, by looking
//! at those files and folders alone. So a repeated event does no harm, and a full look follows at the start, after
//! an overflow or a failure, and now and then.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::time::{Duration, Instant};

use haversack_core::item::Kind;
use haversack_core::units::Timestamp;
use haversack_store::store::Store;
use haversack_store::store::viewer::Principal;
use notify::{EventKind, RecommendedWatcher, RecursiveMode, Watcher};

use super::changed::{CHANGED_MAX, ChangedPaths};
use super::run::run_changed;
use super::walk::walk_builder;
use super::{IngestError, IngestRequest, IngestSummary, add};

/// How long nothing may change before what changed is read.
const QUIET: Duration = Duration::from_millis(200);

/// How long what changed waits at most, while changes go on.
const WAIT_MAX: Duration = Duration::from_secs(1);

/// How often it is checked whether watching is to end.
const STOP_CHECK: Duration = Duration::from_millis(100);

/// How often everything is looked at, whatever the events say.
const FULL_LOOK: Duration = Duration::from_secs(15 * 60);

/// How often everything is looked at when the system cannot tell of all changes.
const FULL_LOOK_BLIND: Duration = Duration::from_secs(10);

/// Folders to watch.
#[derive(Debug, Clone, Default)]
pub struct WatchRequest {
    /// The folders and files.
    pub paths: Vec<PathBuf>,
    /// The kind of items that do not name their own ([`IngestRequest::kind`]).
    pub kind: Option<Kind>,
    /// Users of the data and their principals ([`IngestRequest::users`]).
    pub users: BTreeMap<String, Principal>,
    /// The program that reads foreign formats ([`IngestRequest::reader_program`]).
    pub reader_program: Option<PathBuf>,
    /// Look at everything this often instead of waiting for events, which network folders do not give.
    pub poll: Option<Duration>,
}

/// What happened while watching.
#[derive(Debug)]
pub enum WatchEvent<'a> {
    /// The workspace is like a path again.
    Synced(&'a Path, &'a IngestSummary),
    /// A path could not be read or written. It is tried again at the next change, and at the next full look.
    Failed(&'a Path, &'a IngestError),
    /// The system does not tell of changes everywhere, for this reason; everything is looked at often instead.
    Blind(String),
}

/// Keeps a workspace like its folders until `stop` is set. The store must be a handle for blocking threads.
pub fn watch(
    store: &dyn Store,
    request: &WatchRequest,
    clock: &dyn Fn() -> Timestamp,
    stop: &AtomicBool,
    report: &mut dyn FnMut(WatchEvent<'_>),
) {
    let mut folders = WatchedFolders::start(request.poll.is_some());
    let mut dirty = everything(&request.paths);
    // Paths of which it is not known how the workspace stands to them.
    let mut failed: BTreeSet<PathBuf> = BTreeSet::new();
    while !stop.load(Ordering::Relaxed) {
        for (path, mut part) in std::mem::take(&mut dirty) {
            if failed.remove(&path) {
                part = DirtyPart::All;
            }
            // Before reading, so that a change in the meantime is told of.
            folders.watch(&path, &part);
            match sync(store, request, (&path, &part), clock()) {
                Ok(summary) => report(WatchEvent::Synced(&path, &summary)),
                Err(error) => {
                    report(WatchEvent::Failed(&path, &error));
                    failed.insert(path);
                }
            }
        }
        if let Some(cause) = folders.take_trouble() {
            report(WatchEvent::Blind(cause));
        }
        let full_look = match request.poll {
            Some(poll) => poll,
            None if folders.is_blind => FULL_LOOK_BLIND,
            None => FULL_LOOK,
        };
        dirty = folders.wait(&request.paths, full_look, stop);
    }
}

/// The part of a path that is to be looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
enum DirtyPart {
    All,
    /// These files and folders.
    Changed(BTreeSet<PathBuf>),
}

impl DirtyPart {
    fn add(&mut self, changed: &Path) {
        if let DirtyPart::Changed(paths) = self {
            paths.insert(changed.to_owned());
            if paths.len() > CHANGED_MAX {
                *self = DirtyPart::All;
            }
        }
    }
}

fn everything(paths: &[PathBuf]) -> BTreeMap<PathBuf, DirtyPart> {
    paths.iter().map(|path| (path.clone(), DirtyPart::All)).collect()
}

fn sync(
    store: &dyn Store,
    request: &WatchRequest,
    (path, part): (&Path, &DirtyPart),
    now: Timestamp,
) -> Result<IngestSummary, IngestError> {
    let origin = format!("watch-{}", now.as_millis());
    let add_request = IngestRequest {
        kind: request.kind.clone(),
        users: request.users.clone(),
        prune: true,
        reader_program: request.reader_program.clone(),
        ..IngestRequest::new(vec![path.to_owned()], now, &origin)
    };
    match part {
        DirtyPart::All => add(store, &add_request, &mut |_| {}),
        DirtyPart::Changed(changed) => run_changed(store, &add_request, (path, changed)),
    }
}

/// Events that wait to be taken while a change is read. When there are more, everything is looked at.
const EVENTS_WAITING_MAX: usize = 10_000;

/// Where the system's events go: the paths that one is about, and whether any were lost.
#[derive(Clone)]
struct EventSender {
    changes: SyncSender<Vec<PathBuf>>,
    is_lost: Arc<AtomicBool>,
}

impl EventSender {
    fn new(waiting_max: usize) -> (EventSender, Receiver<Vec<PathBuf>>) {
        let (changes, receiver) = sync_channel(waiting_max);
        (EventSender { changes, is_lost: Arc::default() }, receiver)
    }

    fn send(&self, event: notify::Result<notify::Event>) {
        match event {
            Ok(event) if event.need_rescan() => self.lose(),
            Ok(event) if matches!(event.kind, EventKind::Access(_)) => {}
            Ok(event) => match self.changes.try_send(event.paths) {
                // Nobody listens any more when watching has ended.
                Ok(()) | Err(TrySendError::Disconnected(_)) => {}
                Err(TrySendError::Full(_)) => self.lose(),
            },
            Err(_) => self.lose(),
        }
    }

    fn lose(&self) {
        self.is_lost.store(true, Ordering::Release);
    }

    /// Whether events were lost since it was asked last.
    fn take_lost(&self) -> bool {
        self.is_lost.swap(false, Ordering::AcqRel)
    }
}

/// The folders whose changes the system tells of, each by itself: those that are ignored cost nothing.
struct WatchedFolders {
    watcher: Option<RecommendedWatcher>,
    watched: BTreeSet<PathBuf>,
    changes: Receiver<Vec<PathBuf>>,
    /// Kept also without a watcher, so that the channel stays open.
    sender: EventSender,
    is_blind: bool,
    trouble: Option<String>,
}

impl WatchedFolders {
    fn start(polls: bool) -> WatchedFolders {
        let (sender, changes) = EventSender::new(EVENTS_WAITING_MAX);
        let mut folders = WatchedFolders {
            watcher: None,
            watched: BTreeSet::new(),
            changes,
            sender: sender.clone(),
            is_blind: false,
            trouble: None,
        };
        if polls {
            return folders;
        }
        match notify::recommended_watcher(move |event| sender.send(event)) {
            Ok(watcher) => folders.watcher = Some(watcher),
            Err(error) => folders.go_blind(error.to_string()),
        }
        folders
    }

    fn go_blind(&mut self, cause: String) {
        if !self.is_blind {
            self.trouble = Some(cause);
        }
        self.is_blind = true;
    }

    fn take_trouble(&mut self) -> Option<String> {
        self.trouble.take()
    }

    /// Watches the folders under a path that ingestion reads, in the part that changed.
    fn watch(&mut self, path: &Path, part: &DirtyPart) {
        let Some(watcher) = &mut self.watcher else { return };
        let Ok(path) = path.canonicalize() else { return };
        let root = if path.is_dir() { path.clone() } else { parent_of(&path) };
        let depth = if path.is_dir() { None } else { Some(0) };
        let changed = match part {
            DirtyPart::Changed(changed) => ChangedPaths::below(&root, changed),
            DirtyPart::All => None,
        };
        let walk = walk_builder(&root, changed.as_ref()).max_depth(depth).build();
        let entries = walk.filter_map(Result::ok);
        let is_folder =
            |entry: &ignore::DirEntry| entry.file_type().is_some_and(|kind| kind.is_dir());
        let found: BTreeSet<PathBuf> =
            entries.filter(is_folder).map(ignore::DirEntry::into_path).collect();
        let mut failed = None;
        // Those that are gone lose their watch by themselves, but may come back under the same name. One that
        // changed may be another one already.
        self.watched.retain(|known| match &changed {
            Some(changed) => !changed.covers(known),
            None => found.contains(known) || !known.starts_with(&root),
        });
        for folder in found {
            if self.watched.contains(&folder) {
                continue;
            }
            match watcher.watch(&folder, RecursiveMode::NonRecursive) {
                Ok(()) => {
                    self.watched.insert(folder);
                }
                // A folder that went away meanwhile is no trouble.
                Err(_) if !folder.exists() => {}
                Err(error) => failed = Some(explain_limit(&error)),
            }
        }
        if let Some(cause) = failed {
            self.go_blind(cause);
        }
    }

    /// Waits for changes, and returns the given paths that they are under with what changed there. After
    /// `full_look` it is everything.
    fn wait(
        &self,
        paths: &[PathBuf],
        full_look: Duration,
        stop: &AtomicBool,
    ) -> BTreeMap<PathBuf, DirtyPart> {
        let roots: Vec<(PathBuf, &PathBuf)> =
            paths.iter().map(|path| (path.canonicalize().unwrap_or(path.clone()), path)).collect();
        let until = Instant::now() + full_look;
        let mut dirty: BTreeMap<PathBuf, DirtyPart> = BTreeMap::new();
        let mut read_at: Option<Instant> = None;
        let mut latest: Option<Instant> = None;
        loop {
            let now = Instant::now();
            if stop.load(Ordering::Relaxed) {
                return BTreeMap::new();
            }
            if read_at.is_some_and(|at| at <= now) {
                return dirty;
            }
            if self.sender.take_lost() {
                // What waits is older than the look that follows.
                for _ in self.changes.try_iter().take(EVENTS_WAITING_MAX) {}
                return everything(paths);
            }
            if now >= until {
                return everything(paths);
            }
            let next = read_at.unwrap_or(until).min(now + STOP_CHECK).min(until);
            match self.changes.recv_timeout(next.saturating_duration_since(now)) {
                Ok(changed) => {
                    for (root, path) in &roots {
                        for changed in changed.iter().filter(|path| path.starts_with(root)) {
                            let none = || DirtyPart::Changed(BTreeSet::new());
                            dirty.entry((*path).clone()).or_insert_with(none).add(changed);
                        }
                    }
                    if !dirty.is_empty() {
                        let latest = *latest.get_or_insert(now + WAIT_MAX);
                        read_at = Some((now + QUIET).min(latest));
                    }
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => std::thread::sleep(STOP_CHECK),
            }
        }
    }
}

fn parent_of(path: &Path) -> PathBuf {
    path.parent().unwrap_or(path).to_owned()
}

/// Says which setting of the system is at its limit.
fn explain_limit(error: &notify::Error) -> String {
    match error.kind {
        notify::ErrorKind::MaxFilesWatch => "the system watches no more folders; raise \
            fs.inotify.max_user_watches (sysctl)"
            .to_owned(),
        _ => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use notify::Event;
    use notify::event::{AccessKind, Flag, ModifyKind};

    use super::*;

    fn modified(path: &str) -> notify::Result<Event> {
        Ok(Event::new(EventKind::Modify(ModifyKind::Any)).add_path(path.into()))
    }

    #[test]
    fn events_beyond_the_bound_are_lost_and_known_to_be() {
        let (sender, changes) = EventSender::new(2);
        for path in ["/a", "/b"] {
            sender.send(modified(path));
        }
        assert!(!sender.take_lost());
        sender.send(modified("/c"));
        assert!(sender.take_lost() && !sender.take_lost());
        let kept: Vec<Vec<PathBuf>> = changes.try_iter().collect();
        assert_eq!(kept, [[PathBuf::from("/a")], [PathBuf::from("/b")]]);
    }

    #[test]
    fn the_systems_own_loss_counts_and_reading_is_no_change() {
        let (sender, changes) = EventSender::new(2);
        sender.send(Ok(Event::new(EventKind::Access(AccessKind::Any)).add_path("/a".into())));
        assert!(!sender.take_lost() && changes.try_recv().is_err());
        sender.send(Ok(Event::new(EventKind::Other).set_flag(Flag::Rescan)));
        assert!(sender.take_lost());
        sender.send(Err(notify::Error::generic("gone")));
        assert!(sender.take_lost());
    }

    #[test]
    fn after_a_loss_everything_is_looked_at() {
        let folder = tempfile::tempdir().unwrap();
        let paths = [folder.path().to_owned()];
        let folders = WatchedFolders::start(true);
        folders.sender.send(modified("/elsewhere"));
        folders.sender.lose();
        let stop = AtomicBool::new(false);
        let dirty = folders.wait(&paths, Duration::from_secs(600), &stop);
        assert_eq!(dirty, everything(&paths));
        assert!(folders.changes.try_recv().is_err());
    }
}
