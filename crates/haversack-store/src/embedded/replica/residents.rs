//! Which replicas of a data folder are in use, and which leave the disk when they take too much of it.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::SystemTime;

use super::attach::{MARKER, is_marked};
use super::link::JournalLink;

/// The replicas of a data folder that are open or being opened.
#[derive(Debug, Default)]
pub(crate) struct Residents(Mutex<InUse>);

#[derive(Debug, Default)]
struct InUse {
    opening: BTreeMap<String, usize>,
    open: BTreeMap<String, Weak<JournalLink>>,
}

impl InUse {
    fn has(&self, name: &str) -> bool {
        self.opening.contains_key(name)
            || self.open.get(name).is_some_and(|link| link.strong_count() > 0)
    }
}

/// Keeps a replica on the disk while it is being opened.
#[derive(Debug)]
pub(crate) struct Opening<'r> {
    residents: &'r Residents,
    name: String,
}

impl Opening<'_> {
    /// Keeps it from now on for as long as it is open.
    pub(crate) fn opened(self, link: &Arc<JournalLink>) {
        let mut in_use = self.residents.lock();
        in_use.open.retain(|_, link| link.strong_count() > 0);
        in_use.open.insert(self.name.clone(), Arc::downgrade(link));
    }
}

impl Drop for Opening<'_> {
    fn drop(&mut self) {
        let mut in_use = self.residents.lock();
        if let Some(count) = in_use.opening.get_mut(&self.name) {
            *count -= 1;
            if *count == 0 {
                in_use.opening.remove(&self.name);
            }
        }
    }
}

impl Residents {
    fn lock(&self) -> MutexGuard<'_, InUse> {
        // What it guards is consistent after every statement.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that a replica is being opened.
    pub(crate) fn open(&self, name: &str) -> Opening<'_> {
        *self.lock().opening.entry(name.to_owned()).or_default() += 1;
        Opening { residents: self, name: name.to_owned() }
    }

    /// Removes replicas that nobody uses until those of a folder take at most so many bytes, the least
    /// used first. What cannot be removed now is tried again the next time.
    pub(crate) fn make_room(&self, workspaces: &Path, bytes_max: u64, removed_prefix: &str) {
        let Ok(entries) = fs::read_dir(workspaces) else { return };
        let mut replicas: Vec<(SystemTime, PathBuf, u64)> = entries
            .filter_map(|entry| {
                let path = entry.ok()?.path();
                let used = fs::metadata(path.join(MARKER)).ok()?.modified().ok()?;
                Some((used, path.clone(), bytes_below(&path)))
            })
            .collect();
        replicas.sort();
        let mut bytes: u64 = replicas.iter().map(|(_, _, bytes)| bytes).sum();
        for (_, path, its_bytes) in replicas {
            if bytes <= bytes_max {
                return;
            }
            if self.remove_unused(&path, removed_prefix) {
                bytes -= its_bytes;
            }
        }
    }

    fn remove_unused(&self, path: &Path, removed_prefix: &str) -> bool {
        let Some(name) = path.file_name().and_then(|name| name.to_str()) else { return false };
        let removed = path.with_file_name(format!("{removed_prefix}replica-{name}"));
        // While the lock is held nobody begins to open it; what is renamed is no workspace any more.
        let in_use = self.lock();
        if in_use.has(name) || !is_marked(path) || fs::rename(path, &removed).is_err() {
            return false;
        }
        drop(in_use);
        let _ = fs::remove_dir_all(removed);
        true
    }
}

/// Notes that a replica is used.
pub(crate) fn note_use(folder: &Path) {
    // Without it the replica may leave the disk earlier than others.
    let _ = fs::File::options()
        .write(true)
        .open(folder.join(MARKER))
        .and_then(|marker| marker.set_modified(SystemTime::now()));
}

fn bytes_below(folder: &Path) -> u64 {
    let Ok(entries) = fs::read_dir(folder) else { return 0 };
    entries
        .filter_map(|entry| {
            let entry = entry.ok()?;
            let metadata = entry.metadata().ok()?;
            Some(if metadata.is_dir() { bytes_below(&entry.path()) } else { metadata.len() })
        })
        .sum()
}
