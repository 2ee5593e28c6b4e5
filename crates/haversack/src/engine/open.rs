//! The open workspaces of an engine: opened by whoever asks, closed by least use when there are many.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use haversack_store::descriptors;
use haversack_store::store::block_on;
use haversack_store::store::error::{OpenError, ReadError};

use super::Workspace;
use super::model_change::ModelChangeStatus;
use super::workspace::Inner;
use crate::error::Error;

/// The default number of workspaces that stay open without being used.
pub(super) const OPEN_MAX: usize = 256;

/// The most workspaces that are closed to open one.
const CLOSED_AT_ONCE: usize = 4;

/// The open workspaces of an engine.
pub(super) struct OpenWorkspaces {
    slots: Mutex<BTreeMap<String, Arc<Slot>>>,
    n_open: AtomicUsize,
    /// Counts uses, for the order of last use.
    n_used: AtomicU64,
    /// Beyond it, workspaces that nobody uses are closed.
    open_max: usize,
}

/// The place of a workspace.
#[derive(Default)]
struct Slot {
    /// The handle, or `None` while the workspace is not open. The lock is held while it is opened,
    /// closed or removed, so that no other workspace has to wait.
    handle: Mutex<Option<Workspace>>,
    /// The number of its last use.
    last_use: AtomicU64,
    /// The time of its last use.
    last_use_at: Mutex<Option<Instant>>,
    /// A change of the model that failed before the workspace was closed.
    failed_change: Mutex<Option<ModelChangeStatus>>,
}

impl fmt::Debug for OpenWorkspaces {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenWorkspaces").field("n_open", &self.count()).finish_non_exhaustive()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // What the locks guard is consistent after every statement, so a poisoned one is safe to use.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl OpenWorkspaces {
    /// Keeps at most this many open without need, and no more than half of the file descriptors
    /// that the process may have are enough for: connections need the other half.
    pub(super) fn new(open_max: usize) -> OpenWorkspaces {
        let by_descriptors = descriptors::limit().map_or(usize::MAX, |limit| {
            usize::try_from(limit).unwrap_or(usize::MAX) / 2 / descriptors::PER_WORKSPACE
        });
        OpenWorkspaces {
            slots: Mutex::default(),
            n_open: AtomicUsize::new(0),
            n_used: AtomicU64::new(0),
            open_max: open_max.min(by_descriptors).max(1),
        }
    }

    /// The number of open workspaces.
    pub(super) fn count(&self) -> usize {
        self.n_open.load(Ordering::Acquire)
    }

    /// A workspace if it is open. Reads no file and never blocks.
    pub(super) fn get(&self, name: &str) -> Option<Workspace> {
        let slots = lock(&self.slots);
        let slot = slots.get(name)?;
        let workspace = slot.handle.try_lock().ok()?.clone()?;
        if workspace.0.maintenance.must_reopen() {
            return None;
        }
        self.note_use(slot);
        Some(workspace)
    }

    /// The workspaces that are open now, by name. Waits for none that is being opened or closed.
    pub(super) fn open_now(&self) -> Vec<(String, Workspace)> {
        let slots = lock(&self.slots);
        let open = slots.iter().filter_map(|(name, slot)| {
            let workspace = slot.handle.try_lock().ok()?.clone()?;
            Some((name.clone(), workspace))
        });
        open.collect()
    }

    /// All open workspaces, after those that are being opened or closed.
    pub(super) fn all(&self) -> Vec<Workspace> {
        let slots: Vec<_> =
            lock(&self.slots).iter().map(|(name, slot)| (name.clone(), Arc::clone(slot))).collect();
        let open = slots.into_iter().filter_map(|(name, slot)| {
            let workspace = lock(&slot.handle).clone();
            self.release(&name, slot);
            workspace
        });
        open.collect()
    }

    /// The handle of a workspace, which is opened if it is not open. Two callers get one workspace.
    pub(super) fn get_or_open(
        &self,
        name: &str,
        open: impl Fn(Option<ModelChangeStatus>) -> Result<Workspace, OpenError>,
    ) -> Result<Workspace, Error> {
        let slot = self.slot(name);
        let mut handle = lock(&slot.handle);
        if let Some(workspace) = handle.take() {
            let workspace = self.close_if_outdated(workspace);
            if let Some(workspace) = workspace {
                *handle = Some(workspace.clone());
                if workspace.0.maintenance.must_reopen() {
                    // Two of one folder would write to the same files.
                    let why = "others are still reading what it was".to_owned();
                    return Err(Error::Read(ReadError::Outdated { why }));
                }
                self.note_use(&slot);
                return Ok(workspace);
            }
        }
        let excess = (self.count() + 1).saturating_sub(self.open_max);
        self.close_idle(excess.min(CLOSED_AT_ONCE));
        let failed_change = lock(&slot.failed_change).clone();
        let mut opened = open(failed_change.clone());
        while matches!(opened, Err(OpenError::TooManyFiles(_)))
            && self.close_idle(CLOSED_AT_ONCE) > 0
        {
            opened = open(failed_change.clone());
        }
        match opened {
            Ok(workspace) => {
                self.n_open.fetch_add(1, Ordering::AcqRel);
                self.note_use(&slot);
                *lock(&slot.failed_change) = None;
                Ok(handle.insert(workspace).clone())
            }
            Err(error) => {
                drop(handle);
                self.release(name, slot);
                Err(error.into())
            }
        }
    }

    /// Closes a workspace that can follow its journal no more, unless somebody still uses it. Returns one
    /// that is not closed.
    fn close_if_outdated(&self, workspace: Workspace) -> Option<Workspace> {
        if !workspace.0.maintenance.must_reopen() {
            return Some(workspace);
        }
        match workspace.close_if_idle() {
            Ok(()) => {
                self.n_open.fetch_sub(1, Ordering::AcqRel);
                None
            }
            Err(workspace) => Some(workspace),
        }
    }

    /// The handle of a workspace that is made now.
    pub(super) fn create(
        &self,
        name: &str,
        create: impl FnOnce(Option<ModelChangeStatus>) -> Result<Workspace, OpenError>,
    ) -> Result<Workspace, Error> {
        let slot = self.slot(name);
        let mut handle = lock(&slot.handle);
        let excess = (self.count() + 1).saturating_sub(self.open_max);
        self.close_idle(excess.min(CLOSED_AT_ONCE));
        match create(None) {
            Ok(workspace) => {
                // The store refuses to create one that is open.
                self.n_open.fetch_add(1, Ordering::AcqRel);
                self.note_use(&slot);
                *lock(&slot.failed_change) = None;
                Ok(handle.insert(workspace).clone())
            }
            Err(error) => {
                drop(handle);
                self.release(name, slot);
                Err(error.into())
            }
        }
    }

    /// Closes a workspace if it is open, and removes it while nobody can open it.
    pub(super) fn remove(
        &self,
        name: &str,
        remove: impl FnOnce() -> Result<(), OpenError>,
    ) -> Result<(), Error> {
        let slot = self.slot(name);
        let mut handle = lock(&slot.handle);
        // Nothing may be written while the folder is removed.
        if let Some(workspace) = handle.take() {
            self.n_open.fetch_sub(1, Ordering::AcqRel);
            block_on(workspace.blocking_store().close());
        }
        let removed = remove();
        if removed.is_ok() {
            *lock(&slot.failed_change) = None;
        }
        drop(handle);
        self.release(name, slot);
        Ok(removed?)
    }

    /// Closes the workspaces that nobody has used for a while. Returns how many.
    pub(super) fn close_unused_for(&self, time: Duration) -> usize {
        let Some(since) = Instant::now().checked_sub(time) else { return 0 };
        let unused: Vec<String> = lock(&self.slots)
            .iter()
            .filter(|(_, slot)| lock(&slot.last_use_at).is_some_and(|at| at <= since))
            .map(|(name, _)| name.clone())
            .collect();
        unused.into_iter().filter(|name| self.close_if_idle(name)).count()
    }

    /// Closes up to `most` workspaces that nobody uses, those first that were used least recently.
    /// Returns how many.
    fn close_idle(&self, most: usize) -> usize {
        if most == 0 {
            return 0;
        }
        let mut by_use: Vec<(u64, String)> = lock(&self.slots)
            .iter()
            .map(|(name, slot)| (slot.last_use.load(Ordering::Acquire), name.clone()))
            .collect();
        by_use.sort_unstable();
        by_use.into_iter().filter(|(_, name)| self.close_if_idle(name)).take(most).count()
    }

    fn close_if_idle(&self, name: &str) -> bool {
        let Some(slot) = lock(&self.slots).get(name).cloned() else { return false };
        let closed = self.close_slot_if_idle(&slot);
        self.release(name, slot);
        closed
    }

    fn close_slot_if_idle(&self, slot: &Slot) -> bool {
        // Whoever has the lock opens, closes or removes it, or just takes the handle.
        let Ok(mut handle) = slot.handle.try_lock() else { return false };
        let Some(workspace) = handle.take() else { return false };
        let change = workspace.model_status().change;
        match workspace.close_if_idle() {
            Ok(()) => {
                self.n_open.fetch_sub(1, Ordering::AcqRel);
                *lock(&slot.failed_change) = change;
                true
            }
            Err(workspace) => {
                *handle = Some(workspace);
                false
            }
        }
    }

    fn note_use(&self, slot: &Slot) {
        slot.last_use.store(self.n_used.fetch_add(1, Ordering::AcqRel) + 1, Ordering::Release);
        *lock(&slot.last_use_at) = Some(Instant::now());
    }

    /// The slot of a workspace; a new, empty one when there is none.
    fn slot(&self, name: &str) -> Arc<Slot> {
        let mut slots = lock(&self.slots);
        match slots.get(name) {
            Some(slot) => Arc::clone(slot),
            None => Arc::clone(slots.entry(name.to_owned()).or_default()),
        }
    }

    /// Gives a slot back; an empty one that nobody else uses is removed.
    fn release(&self, name: &str, slot: Arc<Slot>) {
        let mut slots = lock(&self.slots);
        drop(slot);
        // Nobody else can get at it while the map is locked, so its locks are free.
        let is_empty = |slot: &Arc<Slot>| {
            Arc::strong_count(slot) == 1
                && lock(&slot.handle).is_none()
                && lock(&slot.failed_change).is_none()
        };
        if slots.get(name).is_some_and(is_empty) {
            slots.remove(name);
        }
    }
}

impl Workspace {
    /// Closes the workspace, unless something uses it: another handle, a snapshot, a write. What
    /// waits to be written is written first.
    fn close_if_idle(self) -> Result<(), Workspace> {
        if self.is_in_use() {
            return Err(self);
        }
        // From here on no weak handle can be upgraded.
        let inner = Arc::try_unwrap(self.0).map_err(Workspace::of)?;
        if !inner.outbox.close_now(&*inner.blocking_store) {
            return Err(Workspace::of(Arc::new(inner)));
        }
        block_on(inner.blocking_store.close());
        Ok(())
    }

    fn is_in_use(&self) -> bool {
        let Inner { store, blocking_store, awaited, outbox, .. } = &*self.0;
        Arc::strong_count(&self.0) > 1
            || Arc::strong_count(store) > 2
            || Arc::strong_count(blocking_store) > 1
            || Arc::strong_count(awaited) > 1
            || outbox.is_writing()
            || blocking_store.is_in_use()
    }
}
