//! The memory of what readers derive from the states of all workspaces: who may read which rows, the
//! rows that pass a filter, item ids. It has one bound; beyond it the least used workspaces lose
//! theirs and derive it again.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use super::state::StoreHandles;

/// The most bytes, except for what is added between two checks.
const BYTES_MAX: usize = 256 << 20;

/// How many additions pass between two checks.
const CHECKED_EVERY: u64 = 16;

/// The caches of all workspaces of a data folder.
#[derive(Debug)]
pub(crate) struct ReaderCaches {
    bytes_max: usize,
    workspaces: Mutex<Vec<Weak<StoreHandles>>>,
    n_added: AtomicU64,
    n_used: AtomicU64,
}

impl Default for ReaderCaches {
    fn default() -> ReaderCaches {
        ReaderCaches::with_limit(BYTES_MAX)
    }
}

impl ReaderCaches {
    pub(crate) fn with_limit(bytes_max: usize) -> ReaderCaches {
        let (n_added, n_used) = (AtomicU64::new(0), AtomicU64::new(0));
        ReaderCaches { bytes_max, workspaces: Mutex::default(), n_added, n_used }
    }

    /// Counts the caches of one more workspace.
    pub(crate) fn register(&self, workspace: &Arc<StoreHandles>) {
        let mut workspaces = self.workspaces.lock().unwrap_or_else(PoisonError::into_inner);
        workspaces.retain(|workspace| workspace.strong_count() > 0);
        workspaces.push(Arc::downgrade(workspace));
    }

    /// The number of a use, which rises.
    pub(crate) fn next_use(&self) -> u64 {
        self.n_used.fetch_add(1, Ordering::Relaxed)
    }

    /// Call it after something was added to a workspace's caches.
    pub(crate) fn note_addition(&self) {
        if self.n_added.fetch_add(1, Ordering::Relaxed).is_multiple_of(CHECKED_EVERY) {
            self.shrink();
        }
    }

    /// Clears the caches of the least used workspaces until all together fit.
    fn shrink(&self) {
        let registered = self.workspaces.lock().unwrap_or_else(PoisonError::into_inner);
        let mut workspaces: Vec<_> = registered.iter().filter_map(Weak::upgrade).collect();
        drop(registered);
        let mut bytes: usize = workspaces.iter().map(|workspace| workspace.cache_bytes()).sum();
        if bytes <= self.bytes_max {
            return;
        }
        workspaces.sort_by_cached_key(|workspace| workspace.last_use());
        for workspace in workspaces {
            if bytes <= self.bytes_max {
                break;
            }
            bytes = bytes.saturating_sub(workspace.cache_bytes());
            workspace.clear_caches();
        }
    }
}
