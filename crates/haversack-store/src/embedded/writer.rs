//! The one writer: takes what waits, writes it in one transaction, indexes it, publishes it.
//!
//! A batch is acknowledged after its transaction is on disk and its state is published. The
//! indexes are written after the transaction: should that fail, nothing is lost, readers stay at
//! the state before, and the indexes are fed from the truth at the next write or start.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender};

use rusqlite::{Connection, ErrorCode, TransactionBehavior};

use super::catalogue::Catalogue;
use super::indexes::{IndexError, Indexes};
use super::records::write::{self, Delta, WriteError};
use super::state::{Shared, State};
use crate::prepare::Prepared;
use crate::revision::Revision;
use crate::store::change::{Change, Committed};
use crate::store::error::{Cause, CommitError, ReadError, Stale, chain};

/// Most changes in one transaction.
const GROUP_CHANGES_MAX: usize = 20_000;

/// What the writer can be asked to do.
pub(crate) enum Job {
    /// To write a batch.
    Write(Prepared, Reply),
    /// To do something that only the writer may do.
    Call(Box<dyn FnOnce(&mut Writer) + Send>),
    /// To stop.
    Stop,
}

/// Where the outcome of a batch goes.
pub(crate) type Reply = SyncSender<Result<Committed, CommitError>>;

/// The one writer of a workspace.
#[derive(Debug)]
pub(crate) struct Writer {
    pub(crate) connection: Connection,
    pub(crate) shared: Arc<Shared>,
    pub(crate) indexes: Indexes,
    pub(crate) catalogue: Catalogue,
    pub(crate) revision: Revision,
    /// The indexes missed something.
    pub(crate) behind: bool,
    /// What ended all writing.
    stopped: Option<String>,
}

/// A batch in a transaction that is not committed yet.
struct Pending {
    prepared: Prepared,
    reply: Reply,
    outcome: Outcome,
}

impl Pending {
    /// The lists of the items that its events are about; see [`Shared::stir`].
    fn noted(&self) -> &[u32] {
        match &self.outcome {
            Outcome::Done(_, delta) | Outcome::Quiet(_, delta) => &delta.noted,
            Outcome::Unchanged(_) | Outcome::Refused(_) | Outcome::Lost => &[],
        }
    }
}

/// What became of a batch inside the transaction.
enum Outcome {
    /// It changes something.
    Done(Committed, Delta),
    /// It wrote something, but nothing that has versions or is searched.
    Quiet(Committed, Delta),
    /// Everything was there already.
    Unchanged(Committed),
    /// It cannot be written; the others can.
    Refused(CommitError),
    /// The transaction failed before or with it.
    Lost,
}

/// Why nothing can be written at all.
enum Refusal {
    Stopped(String),
    Stale(Stale),
    /// The indexes miss an earlier batch and cannot be fed; this one was not written.
    Behind(String),
}

impl Refusal {
    fn error(&self) -> CommitError {
        match self {
            Refusal::Stopped(why) => CommitError::Stopped { cause: why.as_str().into() },
            Refusal::Stale(stale) => CommitError::Stale(Box::new(stale.clone())),
            Refusal::Behind(why) => CommitError::Storage { cause: why.as_str().into() },
        }
    }
}

impl Writer {
    pub(crate) fn new(
        connection: Connection,
        shared: Arc<Shared>,
        indexes: Indexes,
        (revision, catalogue): (Revision, Catalogue),
    ) -> Writer {
        Writer { connection, shared, indexes, catalogue, revision, behind: false, stopped: None }
    }

    /// Works until it is told to stop or nobody can ask any more.
    pub(crate) fn run(mut self, jobs: &Receiver<Job>) {
        while let Ok(job) = jobs.recv() {
            let mut group = Vec::new();
            let mut size = 0;
            let mut next = Some(job);
            let mut after = None;
            while let Some(job) = next.take() {
                match job {
                    Job::Write(prepared, reply) => {
                        size += prepared.batch.changes.len();
                        group.push((prepared, reply));
                        if size < GROUP_CHANGES_MAX {
                            next = jobs.try_recv().ok();
                        }
                    }
                    other => after = Some(other),
                }
            }
            if !group.is_empty() {
                self.write(group);
            }
            match after {
                Some(Job::Call(call)) => call(&mut self),
                Some(Job::Stop) => break,
                Some(Job::Write(..)) | None => {}
            }
        }
        // So that the next start finds pages in the file and not in the log. A failure only costs
        // it time.
        let _ = self.connection.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)");
        self.indexes.close();
    }

    /// Whether writing can go on; feeds the indexes first when they missed something.
    fn ready(&mut self) -> Result<(), Refusal> {
        if let Some(why) = &self.stopped {
            return Err(Refusal::Stopped(why.clone()));
        }
        if let Some(stored) = self.indexes.stale() {
            let now = self.shared.embedder.model().clone();
            return Err(Refusal::Stale(Stale { stored: stored.clone(), now }));
        }
        if self.behind {
            return self.catch_up().map_err(|error| Refusal::Behind(chain(&error)));
        }
        Ok(())
    }

    fn write(&mut self, group: Vec<(Prepared, Reply)>) {
        if let Err(refusal) = self.ready() {
            for (_, reply) in group {
                answer(&reply, Err(refusal.error()));
            }
            return;
        }
        let Some(pending) = self.transact(group) else { return };
        self.shared.stir(pending.iter().flat_map(Pending::noted));
        let failed = self.index(&pending).err().map(|error| chain(&error));
        self.behind = failed.is_some();
        for Pending { reply, outcome, .. } in pending {
            let outcome = match (outcome, &failed) {
                (Outcome::Done(committed, _), Some(why)) => {
                    let (revision, cause) = (committed.revision, why.as_str().into());
                    Err(CommitError::NotSearchable { revision, cause })
                }
                (
                    Outcome::Done(committed, _)
                    | Outcome::Quiet(committed, _)
                    | Outcome::Unchanged(committed),
                    _,
                ) => Ok(committed),
                (Outcome::Refused(refused), _) => Err(refused),
                (Outcome::Lost, _) => Err(CommitError::Storage { cause: "lost".into() }),
            };
            answer(&reply, outcome);
        }
    }

    /// Writes a group in one transaction, each batch in a savepoint of its own, and commits it.
    /// When the transaction fails as a whole, all are told so and nothing comes back.
    fn transact(&mut self, group: Vec<(Prepared, Reply)>) -> Option<Vec<Pending>> {
        let horizon = self.shared.horizon();
        let mut revision = self.revision;
        let mut failure = self.connection.execute_batch("BEGIN IMMEDIATE").err();
        let mut pending = Vec::with_capacity(group.len());
        for (prepared, reply) in group {
            let outcome = match failure {
                Some(_) => Outcome::Lost,
                None => self.savepoint(&prepared, (revision, horizon)).unwrap_or_else(|error| {
                    failure = Some(error);
                    Outcome::Lost
                }),
            };
            if let Outcome::Done(committed, _) = &outcome {
                revision = committed.revision;
            }
            pending.push(Pending { prepared, reply, outcome });
        }
        let committing = failure.is_none();
        let failure = failure.or_else(|| self.connection.execute_batch("COMMIT").err());
        let Some(error) = failure else {
            self.revision = revision;
            return Some(pending);
        };
        // A failed commit may have been rolled back already; either way none is left open.
        if !self.connection.is_autocommit() {
            let _ = self.connection.execute_batch("ROLLBACK");
        }
        self.fail(&error, committing, pending);
        None
    }

    /// Writes one batch after `revision`; one without effect leaves no trace, and a quiet one makes
    /// no state of its own.
    fn savepoint(
        &self,
        prepared: &Prepared,
        (revision, horizon): (Revision, Revision),
    ) -> rusqlite::Result<Outcome> {
        self.connection.execute_batch("SAVEPOINT batch")?;
        let (shared, revisions) = (&self.shared, (revision.next(), horizon));
        let written =
            write::write(&self.connection, &shared.embedder, shared.model, revisions, prepared);
        let only_puts = prepared.batch.changes.iter().all(|c| matches!(c, Change::Put(_)));
        let outcome = match written {
            Ok((committed, _)) if only_puts && committed.stored == 0 => {
                Outcome::Unchanged(Committed { revision, ..committed })
            }
            Ok((committed, delta)) if prepared.batch.is_quiet() => {
                Outcome::Quiet(Committed { revision, ..committed }, delta)
            }
            Ok((committed, delta)) => Outcome::Done(committed, delta),
            Err(WriteError::Refused(refused)) => Outcome::Refused(refused),
            Err(WriteError::Sqlite(error)) => return Err(error),
        };
        self.connection.execute_batch(match outcome {
            Outcome::Done(..) | Outcome::Quiet(..) => "RELEASE batch",
            _ => "ROLLBACK TO batch; RELEASE batch",
        })?;
        Ok(outcome)
    }

    /// Tells everyone in a group that the transaction failed, and decides whether to go on.
    fn fail(&mut self, error: &rusqlite::Error, committing: bool, pending: Vec<Pending>) {
        let code = error.sqlite_error_code();
        // When the disk refuses a commit nobody knows what it holds: trying again could report
        // as safe what is lost. Only opening anew and reading the log tells.
        if committing && code == Some(ErrorCode::SystemIoFailure) {
            self.stopped = Some(error.to_string());
        }
        for Pending { reply, outcome, .. } in pending {
            let cause: Cause = error.to_string().into();
            let failed = match code {
                _ if self.stopped.is_some() => CommitError::Stopped { cause },
                Some(ErrorCode::DiskFull) => CommitError::Full { cause },
                _ => CommitError::Storage { cause },
            };
            answer(
                &reply,
                Err(if let Outcome::Refused(refused) = outcome { refused } else { failed }),
            );
        }
    }

    /// Puts what was committed into the indexes and publishes the state.
    fn index(&mut self, pending: &[Pending]) -> Result<(), IndexError> {
        let mut changed = false;
        for Pending { prepared, outcome, .. } in pending {
            let Outcome::Done(committed, delta) = outcome else { continue };
            self.catalogue.apply(delta);
            self.shared.forget(&delta.purged);
            self.indexes.add(&self.connection, committed.revision, prepared, delta)?;
            changed = true;
        }
        if changed {
            self.indexes.commit(self.revision)?;
            self.publish();
        }
        Ok(())
    }

    /// Feeds the indexes what they missed, from the truth.
    pub(crate) fn catch_up(&mut self) -> Result<(), IndexError> {
        self.indexes.recover(&self.connection, self.revision)?;
        self.catalogue = Catalogue::read(&self.connection).map_err(IndexError::Truth)?;
        self.behind = false;
        self.publish();
        Ok(())
    }

    /// Shows readers the latest state.
    pub(crate) fn publish(&self) {
        let (text, vectors) = self.indexes.readers();
        let state = State::new(self.revision, self.catalogue.clone(), text, vectors);
        self.shared.publish(state);
    }

    /// A transaction for chores.
    pub(crate) fn chore<T>(
        &mut self,
        work: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, ReadError> {
        let run = || -> rusqlite::Result<T> {
            let transaction =
                self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let done = work(&transaction)?;
            transaction.commit()?;
            Ok(done)
        };
        run().map_err(super::records::storage)
    }
}

/// Answers whoever wrote a batch; nobody need wait for it any more.
fn answer(reply: &Reply, outcome: Result<Committed, CommitError>) {
    let _ = reply.send(outcome);
}
