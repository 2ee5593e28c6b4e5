//! One thread for all workspaces of a data folder that removes from files what purged items and trimmed
//! versions left behind. It ends when there is nothing to do.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use super::writer_queue::WriterQueue;

/// The workspaces that have something to clean up.
#[derive(Debug, Default)]
pub(crate) struct Cleaner {
    state: Mutex<CleanerState>,
    /// Something came that may be due earlier.
    changed: Condvar,
}

#[derive(Debug, Default)]
struct CleanerState {
    waiting: Vec<(Instant, Weak<WriterQueue>)>,
    is_running: bool,
}

impl Cleaner {
    fn lock(&self) -> MutexGuard<'_, CleanerState> {
        // The state is consistent after every statement, so a poisoned lock is safe to use.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Has a workspace cleaned after a while, or earlier if it waits for that.
    pub(crate) fn schedule(self: &Arc<Cleaner>, workspace: &Weak<WriterQueue>, after: Duration) {
        let due = Instant::now() + after;
        let mut state = self.lock();
        match state.waiting.iter_mut().find(|(_, known)| known.ptr_eq(workspace)) {
            Some((known, _)) => *known = due.min(*known),
            None => state.waiting.push((due, Weak::clone(workspace))),
        }
        self.changed.notify_all();
        if state.is_running {
            return;
        }
        let cleaner = Arc::clone(self);
        let builder = std::thread::Builder::new().name("haversack-clean".to_owned());
        // Without a thread it is done when the workspace is closed, or after the next removal.
        state.is_running = builder.spawn(move || cleaner.run()).is_ok();
    }

    fn run(self: &Arc<Cleaner>) {
        while let Some(workspace) = self.next_due() {
            if let Some(workspace) = workspace.upgrade()
                && let Some(after) = workspace.clean_step()
            {
                self.schedule(&Arc::downgrade(&workspace), after);
            }
        }
    }

    /// Waits for the next workspace that is due; `None` if none waits any more.
    fn next_due(&self) -> Option<Weak<WriterQueue>> {
        let mut state = self.lock();
        loop {
            state.waiting.retain(|(_, workspace)| workspace.strong_count() > 0);
            let next = state.waiting.iter().enumerate().min_by_key(|(_, (due, _))| *due);
            let Some((at, due)) = next.map(|(at, (due, _))| (at, *due)) else {
                state.is_running = false;
                return None;
            };
            let left = due.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Some(state.waiting.swap_remove(at).1);
            }
            let waited = self.changed.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}
