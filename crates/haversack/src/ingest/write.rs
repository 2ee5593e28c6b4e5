//! Collects changes into batches and writes them to the store on separate threads.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::Scope;

use haversack_core::ids::ItemId;
use haversack_store::store::change::{Batch, Change};
use haversack_store::store::error::CommitError;
use haversack_store::store::{Store, block_on};

use super::omissions::OmissionTally;
use super::skip::{IngestSkipReason, Skip};
use super::{IngestError, IngestRequest, LISTED_MAX};

/// Threads that prepare batches; the store has one writer behind them.
const WRITER_THREADS: usize = 2;

/// Most batches that wait for a thread.
const QUEUED_BATCHES_MAX: usize = 2;

/// Most changes of one batch.
const BATCH_CHANGES_MAX: usize = 1_000;

/// A batch is handed over when its bodies and titles have this many bytes.
const BATCH_BYTES_MAX: usize = 8 << 20;

/// Ids of items that are remembered while they may not be written yet. Beyond that the threads are waited for.
const UNWRITTEN_MAX: usize = 50_000;

/// A change that is not yet written, with the file and line that it came from.
#[derive(Debug, Clone)]
pub(super) struct PendingChange {
    pub(super) path: String,
    pub(super) line: Option<u64>,
    pub(super) change: Change,
}

impl PendingChange {
    fn put_id(&self) -> Option<&ItemId> {
        match &self.change {
            Change::Put(item) => Some(&item.id),
            _ => None,
        }
    }

    fn bytes(&self) -> usize {
        match &self.change {
            Change::Put(item) => item.body.len() + item.title.len(),
            _ => 0,
        }
    }
}

/// Counts, skips and warnings of the run so far, shared with the writing threads.
#[derive(Debug, Default)]
pub(super) struct IngestTally {
    pub(super) stored: u64,
    pub(super) unchanged: u64,
    pub(super) skips: Vec<Skip>,
    pub(super) skipped: u64,
    /// How many items of each file the store refused.
    pub(super) refused: BTreeMap<String, u64>,
    pub(super) warnings: Vec<String>,
    pub(super) omissions: OmissionTally,
    failure: Option<CommitError>,
}

impl IngestTally {
    pub(super) fn warn(&mut self, warning: String) {
        if self.warnings.len() < LISTED_MAX {
            self.warnings.push(warning);
        }
    }

    pub(super) fn skip(&mut self, skip: Skip) {
        self.skipped += 1;
        if self.skips.len() < LISTED_MAX {
            self.skips.push(skip);
        }
    }
}

/// Counts the batches that were sent and are not written yet.
#[derive(Debug, Default)]
struct InFlight {
    batches: Mutex<usize>,
    changed: Condvar,
}

impl InFlight {
    fn add(&self) {
        *lock(&self.batches) += 1;
    }

    fn finish(&self) {
        *lock(&self.batches) -= 1;
        self.changed.notify_all();
    }

    fn is_none(&self) -> bool {
        *lock(&self.batches) == 0
    }

    /// Waits until all batches are written or have failed.
    fn wait(&self) {
        let mut batches = lock(&self.batches);
        while *batches > 0 {
            batches = self.changed.wait(batches).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// Collects changes into batches and sends them to the writing threads.
pub(super) struct BatchSender {
    waiting: Vec<PendingChange>,
    bytes: usize,
    jobs: SyncSender<Vec<PendingChange>>,
    in_flight: Arc<InFlight>,
    /// Items that were sent and may not be written yet. The threads write batches in any order, and an item
    /// must not come before its parent.
    unwritten: HashSet<ItemId>,
    pub(super) tally: Arc<Mutex<IngestTally>>,
}

impl BatchSender {
    /// Starts the threads.
    pub(super) fn start<'scope, 'a>(
        scope: &'scope Scope<'scope, '_>,
        store: &'a dyn Store,
        request: &'a IngestRequest,
    ) -> BatchSender
    where
        'a: 'scope,
    {
        let (jobs, inbox) = sync_channel(QUEUED_BATCHES_MAX);
        let inbox = Arc::new(Mutex::new(inbox));
        let tally = Arc::new(Mutex::new(IngestTally::default()));
        let in_flight = Arc::new(InFlight::default());
        for _ in 0..WRITER_THREADS {
            let (inbox, tally) = (Arc::clone(&inbox), Arc::clone(&tally));
            let in_flight = Arc::clone(&in_flight);
            scope.spawn(move || run_writer(store, request, (&inbox, &in_flight), &tally));
        }
        let (waiting, unwritten) = (Vec::new(), HashSet::new());
        BatchSender { waiting, bytes: 0, jobs, in_flight, unwritten, tally }
    }

    pub(super) fn tally(&self) -> MutexGuard<'_, IngestTally> {
        lock(&self.tally)
    }

    pub(super) fn send(&mut self, pending_change: PendingChange) -> Result<(), IngestError> {
        if let Change::Put(item) = &pending_change.change
            && item.parent.as_ref().is_some_and(|parent| self.unwritten.contains(parent))
        {
            self.in_flight.wait();
            self.unwritten.clear();
        }
        self.bytes += pending_change.bytes();
        self.waiting.push(pending_change);
        if self.waiting.len() >= BATCH_CHANGES_MAX || self.bytes >= BATCH_BYTES_MAX {
            self.flush()?;
        }
        Ok(())
    }

    /// Sends the collected changes, and returns the first failure of a thread.
    pub(super) fn flush(&mut self) -> Result<(), IngestError> {
        let waiting = std::mem::take(&mut self.waiting);
        self.bytes = 0;
        if !waiting.is_empty() {
            if self.unwritten.len() >= UNWRITTEN_MAX {
                self.in_flight.wait();
            }
            if self.in_flight.is_none() {
                self.unwritten.clear();
            }
            self.unwritten.extend(waiting.iter().filter_map(PendingChange::put_id).cloned());
            self.in_flight.add();
            if self.jobs.send(waiting).is_err() {
                let cause = "the threads that write have ended".into();
                return Err(IngestError::Write(CommitError::Stopped { cause }));
            }
        }
        self.tally().failure.take().map_or(Ok(()), |error| Err(error.into()))
    }

    /// Sends the collected changes, waits until all are written, and returns the first failure of a thread.
    pub(super) fn settle(&mut self) -> Result<(), IngestError> {
        self.flush()?;
        self.in_flight.wait();
        self.unwritten.clear();
        self.tally().failure.take().map_or(Ok(()), |error| Err(error.into()))
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Takes the final tally, or the failure of a thread after the last batch was sent.
pub(super) fn take_tally(tally: &Mutex<IngestTally>) -> Result<IngestTally, IngestError> {
    let mut tally = std::mem::take(&mut *lock(tally));
    tally.failure.take().map_or(Ok(tally), |error| Err(error.into()))
}

fn run_writer(
    store: &dyn Store,
    request: &IngestRequest,
    (inbox, in_flight): (&Mutex<Receiver<Vec<PendingChange>>>, &InFlight),
    tally: &Mutex<IngestTally>,
) {
    loop {
        let next = lock(inbox).recv();
        let Ok(pending) = next else { return };
        // After a failure further batches are dropped. `BatchSender::flush` returns the failure.
        if lock(tally).failure.is_none() {
            write_batch(store, request, pending, tally);
        }
        in_flight.finish();
    }
}

/// Writes a batch. Changes that the store refuses are recorded as skips, and the rest is written.
fn write_batch(
    store: &dyn Store,
    request: &IngestRequest,
    mut pending: Vec<PendingChange>,
    tally: &Mutex<IngestTally>,
) {
    while !pending.is_empty() {
        let changes = pending.iter().map(|pending_change| pending_change.change.clone()).collect();
        let mut batch = Batch::new(request.at, changes);
        batch.origin = Some(request.origin.clone());
        let batch = batch.with_rights(request.viewer.clone());
        let problems = match block_on(store.write(batch)) {
            Ok(done) => {
                let mut tally = lock(tally);
                tally.stored += done.stored as u64;
                tally.unchanged += done.unchanged as u64;
                let room = LISTED_MAX.saturating_sub(tally.warnings.len());
                tally.warnings.extend(done.warnings.iter().take(room).map(ToString::to_string));
                return;
            }
            Err(CommitError::Invalid(problems)) if !problems.is_empty() => problems,
            Err(error) => {
                lock(tally).failure.get_or_insert(error);
                return;
            }
        };
        let mut tally = lock(tally);
        let mut refused_indexes: BTreeSet<usize> = BTreeSet::new();
        for problem in problems {
            let Some(pending_change) = pending.get(problem.change) else { continue };
            if refused_indexes.insert(problem.change) {
                *tally.refused.entry(pending_change.path.clone()).or_default() += 1;
                let (path, line) = (pending_change.path.clone(), pending_change.line);
                let reason = IngestSkipReason::Refused { what: problem.message };
                tally.skip(Skip { path, line, reason });
            }
        }
        if refused_indexes.is_empty() {
            let cause = "a batch was refused, but none of its changes".into();
            tally.failure.get_or_insert(CommitError::Storage { cause });
            return;
        }
        let mut index = 0;
        pending.retain(|_| {
            index += 1;
            !refused_indexes.contains(&(index - 1))
        });
    }
}
