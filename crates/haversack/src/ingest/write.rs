//! Batches on their way into the store, on threads of their own.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::Scope;

use haversack_store::store::change::{Batch, Change};
use haversack_store::store::error::CommitError;
use haversack_store::store::{Store, wait};

use super::notice::{Reason, Skip};
use super::{Add, IngestError, LISTED_MAX};

/// Threads that prepare batches; the store has one writer behind them.
const THREADS: usize = 2;

/// Batches that wait for a thread.
const WAITING_MAX: usize = 2;

/// Changes and bytes of one batch.
const BATCH: (usize, usize) = (1_000, 8 << 20);

/// A change and where it came from.
#[derive(Debug, Clone)]
pub(super) struct Parcel {
    pub(super) path: String,
    pub(super) line: Option<u64>,
    pub(super) change: Change,
}

impl Parcel {
    fn bytes(&self) -> usize {
        match &self.change {
            Change::Put(item) => item.body.len() + item.title.len(),
            _ => 0,
        }
    }
}

/// What the threads have done so far.
#[derive(Debug, Default)]
pub(super) struct Tally {
    pub(super) stored: u64,
    pub(super) unchanged: u64,
    pub(super) skips: Vec<Skip>,
    pub(super) skipped: u64,
    /// How many were refused of each file.
    pub(super) refused: BTreeMap<String, u64>,
    pub(super) warnings: Vec<String>,
    failed: Option<CommitError>,
}

impl Tally {
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

/// Collects changes into batches and hands them to threads.
pub(super) struct Sender {
    waiting: Vec<Parcel>,
    bytes: usize,
    jobs: SyncSender<Vec<Parcel>>,
    pub(super) tally: Arc<Mutex<Tally>>,
}

impl Sender {
    /// Starts the threads.
    pub(super) fn start<'scope, 'a>(
        scope: &'scope Scope<'scope, '_>,
        store: &'a dyn Store,
        add: &'a Add,
    ) -> Sender
    where
        'a: 'scope,
    {
        let (jobs, inbox) = sync_channel(WAITING_MAX);
        let inbox = Arc::new(Mutex::new(inbox));
        let tally = Arc::new(Mutex::new(Tally::default()));
        for _ in 0..THREADS {
            let (inbox, tally) = (Arc::clone(&inbox), Arc::clone(&tally));
            scope.spawn(move || work(store, add, &inbox, &tally));
        }
        Sender { waiting: Vec::new(), bytes: 0, jobs, tally }
    }

    pub(super) fn tally(&self) -> MutexGuard<'_, Tally> {
        lock(&self.tally)
    }

    pub(super) fn send(&mut self, parcel: Parcel) -> Result<(), IngestError> {
        self.bytes += parcel.bytes();
        self.waiting.push(parcel);
        if self.waiting.len() >= BATCH.0 || self.bytes >= BATCH.1 {
            self.flush()?;
        }
        Ok(())
    }

    /// Hands over what waits.
    pub(super) fn flush(&mut self) -> Result<(), IngestError> {
        let waiting = std::mem::take(&mut self.waiting);
        self.bytes = 0;
        if !waiting.is_empty() && self.jobs.send(waiting).is_err() {
            let cause = "the threads that write have ended".into();
            return Err(IngestError::Write(CommitError::Stopped { cause }));
        }
        self.tally().failed.take().map_or(Ok(()), |error| Err(error.into()))
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What failed on a thread after the last batch was handed over.
pub(super) fn conclude(tally: &Mutex<Tally>) -> Result<Tally, IngestError> {
    let mut tally = std::mem::take(&mut *lock(tally));
    tally.failed.take().map_or(Ok(tally), |error| Err(error.into()))
}

fn work(store: &dyn Store, add: &Add, inbox: &Mutex<Receiver<Vec<Parcel>>>, tally: &Mutex<Tally>) {
    loop {
        let next = lock(inbox).recv();
        let Ok(parcels) = next else { return };
        // After a failure what still comes is let go; whoever sends it is told.
        if lock(tally).failed.is_none() {
            write(store, add, parcels, tally);
        }
    }
}

/// Writes a batch; what the store refuses of it is noted, and the rest is written.
fn write(store: &dyn Store, add: &Add, mut parcels: Vec<Parcel>, tally: &Mutex<Tally>) {
    while !parcels.is_empty() {
        let changes = parcels.iter().map(|parcel| parcel.change.clone()).collect();
        let mut batch = Batch::new(add.at, changes);
        batch.origin = Some(add.origin.clone());
        let refused = match wait(store.write(batch)) {
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
                lock(tally).failed.get_or_insert(error);
                return;
            }
        };
        let mut tally = lock(tally);
        let mut out: BTreeSet<usize> = BTreeSet::new();
        for problem in refused {
            let Some(parcel) = parcels.get(problem.change) else { continue };
            if out.insert(problem.change) {
                *tally.refused.entry(parcel.path.clone()).or_default() += 1;
                let (path, line) = (parcel.path.clone(), parcel.line);
                let reason = Reason::Refused { what: problem.message };
                tally.skip(Skip { path, line, reason });
            }
        }
        if out.is_empty() {
            let cause = "a batch was refused, but none of its changes".into();
            tally.failed.get_or_insert(CommitError::Storage { cause });
            return;
        }
        let mut index = 0;
        parcels.retain(|_| {
            index += 1;
            !out.contains(&(index - 1))
        });
    }
}
