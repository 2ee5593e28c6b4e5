//! The single writer: group-commits waiting batches, indexes them and publishes the new state.
//!
//! A batch is acknowledged after its transaction is on disk and its state is published. The indexes
//! are written after the transaction. If that fails, nothing is lost. The text index is repaired
//! from SQLite, with what little it lacks at once or else in steps between other work. Without the
//! vector index readers stay at the previous state, until it catches up at the next write or start.

use std::sync::Arc;
use std::sync::mpsc::SyncSender;

use haversack_core::units::Timestamp;
use rusqlite::{Connection, ErrorCode};

use super::catalogue::Catalogue;
use super::commit_failure::CommitFailure;
use super::expunge::Expunging;
use super::free_space;
use super::indexes::{IndexError, Indexes};
use super::records::write::{self, CommitDelta, WriteError};
use super::records::{self, keys, usage};
use super::replica::{AppendError, FollowError, LockedHead, Replica, ReplicaState};
use super::retired::RetiredModels;
use super::row::Row;
use super::state::{EmbeddingModel, PublishedState, StoreHandles};
use super::text_part::TextWork;
use crate::descriptors;
use crate::prepare::{Hash, PreparedBatch};
use crate::revision::Revision;
use crate::store::change::{Batch, Change, CommitReport};
use crate::store::error::{Cause, CommitError, StaleVectors, TooManyFiles, error_chain};

/// The channel for the result of a batch.
pub(crate) type CommitReply = SyncSender<BatchReply>;

/// The result of a batch.
pub(crate) enum BatchReply {
    /// It was written or refused.
    Finished(Result<CommitReport, CommitError>),
    /// It was not written, because the model changed or vectors of these texts are gone that the
    /// store had when the batch was prepared.
    PrepareAgain(Box<PreparedBatch>, Vec<Hash>),
}

/// The one writer of a workspace.
#[derive(Debug)]
pub(crate) struct Writer {
    pub(crate) connection: Connection,
    pub(crate) shared: Arc<StoreHandles>,
    pub(crate) indexes: Indexes,
    pub(crate) catalogue: Catalogue,
    pub(crate) revision: Revision,
    /// The model in use.
    pub(crate) model: Arc<EmbeddingModel>,
    pub(crate) retired: RetiredModels,
    /// What this store needs to follow a journal, if it is a replica.
    pub(crate) replica: Option<Replica>,
    pub(crate) expunging: Expunging,
    /// The indexes lag behind SQLite.
    pub(crate) behind: bool,
    /// Why they lag.
    lag: Option<String>,
    /// The error that stopped all writing.
    stopped: Option<String>,
}

/// A batch in a transaction that is not committed yet.
struct PendingBatch {
    prepared: PreparedBatch,
    reply: CommitReply,
    outcome: BatchOutcome,
}

impl PendingBatch {
    /// What it changes in the catalogue.
    const fn delta(&self) -> Option<&CommitDelta> {
        match &self.outcome {
            BatchOutcome::Done(_, delta) | BatchOutcome::Quiet(_, delta) => Some(delta),
            _ => None,
        }
    }

    /// The reader lists of the items that its events are about; see
    /// [`StoreHandles::bump_activity`].
    fn activity_lists(&self) -> &[u32] {
        match &self.outcome {
            BatchOutcome::Done(_, delta) | BatchOutcome::Quiet(_, delta) => &delta.noted,
            BatchOutcome::Unchanged(_)
            | BatchOutcome::Refused(_)
            | BatchOutcome::NotPrepared(_)
            | BatchOutcome::Lost => &[],
        }
    }
}

/// The result of a batch within the transaction.
enum BatchOutcome {
    /// It changed items or links.
    Done(CommitReport, CommitDelta),
    /// It wrote events or named documents only: nothing versioned or searched.
    Quiet(CommitReport, CommitDelta),
    /// It changed nothing.
    Unchanged(CommitReport),
    /// It was refused; the other batches go on.
    Refused(CommitError),
    /// It has to be prepared again; see [`BatchReply::PrepareAgain`].
    NotPrepared(Vec<Hash>),
    /// The transaction failed at or before it.
    Lost,
}

/// Why no batch can be written.
enum Refusal {
    TooManyFiles(TooManyFiles),
    Stopped(String),
    Stale(StaleVectors),
    /// The indexes lag and cannot catch up; the batch was not written.
    Behind(String),
    /// Too little space is free.
    Full(String),
    /// The journal cannot be followed.
    Journal(FollowError),
}

impl Refusal {
    fn to_commit_error(&self) -> CommitError {
        match self {
            Refusal::Journal(error) => error.to_commit_error(),
            Refusal::TooManyFiles(too_many) => CommitError::TooManyFiles(too_many.clone()),
            Refusal::Stopped(why) => CommitError::Stopped { cause: why.as_str().into() },
            Refusal::Stale(stale) => CommitError::Stale(Box::new(stale.clone())),
            Refusal::Behind(why) => CommitError::Storage { cause: why.as_str().into() },
            Refusal::Full(why) => CommitError::Full { cause: why.as_str().into() },
        }
    }
}

impl Writer {
    pub(crate) fn new(
        connection: Connection,
        shared: Arc<StoreHandles>,
        indexes: Indexes,
        (revision, catalogue): (Revision, Catalogue),
        (retired, expunging): (RetiredModels, Expunging),
    ) -> Writer {
        Writer {
            connection,
            model: shared.model(),
            shared,
            indexes,
            catalogue,
            revision,
            retired,
            replica: None,
            expunging,
            behind: false,
            lag: None,
            stopped: None,
        }
    }

    /// Writes batches that waited, in one transaction.
    pub(crate) fn write_group(&mut self, group: Vec<(PreparedBatch, CommitReply)>) {
        self.write(group);
        // A failure costs only space; the next group tries again.
        let _ = self.remove_retired_vectors();
    }

    /// Leaves everything on disk, ready for a quick start.
    pub(crate) fn shut_down(mut self) {
        self.expunge_before_close();
        // Moves pages from the log to the file for a quick start. A failure only costs time.
        let _ = self.connection.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)");
        self.indexes.close();
    }

    /// Repairs the text index, or rebuilds a part of it, and publishes it when it is done.
    pub(crate) fn repair_text(&mut self) {
        if self.indexes.text_work() == TextWork::None {
            return;
        }
        let before = self.indexes.text_work();
        let repaired = self.indexes.repair_text(&self.connection, self.revision);
        if let Err(error) = repaired {
            // The records cannot be read. The text index stays out of use, which readers are told.
            self.shared.health.note_error(&error);
        }
        self.note_lag();
        // While the vectors lag, readers stay at the state before.
        if self.indexes.text_work() != before && !self.behind {
            self.publish();
        }
    }

    /// Examines the text index after a failed read, and repairs it.
    pub(crate) fn examine_text(&mut self) {
        self.shared.trust_text();
        self.indexes.examine_text();
        self.note_lag();
        if !self.behind {
            self.publish();
        }
        self.repair_text();
    }

    /// Reports why searches may lack something.
    fn note_lag(&self) {
        let lag = self.lag.as_deref().filter(|_| self.behind);
        self.shared.health.set_lag(lag.or(self.indexes.text_trouble()));
    }

    /// Checks that there is room to write this group. Batches that only remove may use the rest.
    fn check_room(&self, group: &[(PreparedBatch, CommitReply)]) -> Result<(), Refusal> {
        let removes = |change: &Change| {
            change.is_removal() || matches!(change, Change::Unlink(_) | Change::RemoveRecord(..))
        };
        if group.iter().all(|(prepared, _)| prepared.batch.changes.iter().all(removes)) {
            return Ok(());
        }
        match free_space::shortage(&self.shared.folder) {
            Some(shortage) => Err(Refusal::Full(shortage.to_string())),
            None => Ok(()),
        }
    }

    /// Checks that writing is possible; lagging indexes catch up first.
    fn check_writable(&mut self) -> Result<(), Refusal> {
        if let Some(why) = &self.stopped {
            return Err(Refusal::Stopped(why.clone()));
        }
        if let Some(stored) = self.indexes.stale_model() {
            let now = self.model.embedder.model().clone();
            return Err(Refusal::Stale(StaleVectors { stored: stored.clone(), now }));
        }
        if self.behind {
            return self.catch_up().map_err(|error| Refusal::Behind(error_chain(&error)));
        }
        Ok(())
    }

    /// Checks that nothing failed before; lagging indexes catch up first.
    pub(crate) fn check_in_order(&mut self) -> Result<(), CommitError> {
        match self.check_writable() {
            Ok(()) | Err(Refusal::Stale(_)) => Ok(()),
            Err(refusal) => Err(refusal.to_commit_error()),
        }
    }

    /// Embeds and searches by another model from now on. The indexes have its vectors already.
    pub(crate) fn use_model(&mut self, model: Arc<EmbeddingModel>) {
        let before = std::mem::replace(&mut self.model, model);
        self.publish();
        self.retired.add(&before);
    }

    fn write(&mut self, group: Vec<(PreparedBatch, CommitReply)>) {
        let reserved = descriptors::reserve_to_write().map_err(Refusal::TooManyFiles);
        let checked = reserved.and_then(|reserved| {
            self.check_writable()?;
            self.check_room(&group)?;
            Ok((reserved, self.lock_head().map_err(Refusal::Journal)?))
        });
        let (_reserved, locked) = match checked {
            Ok(checked) => checked,
            Err(refusal) => {
                for (_, reply) in group {
                    send_reply(&reply, Err(refusal.to_commit_error()));
                }
                return;
            }
        };
        let Some((pending, appended)) = self.commit_group(group, locked) else { return };
        self.shared.bump_activity(pending.iter().flat_map(PendingBatch::activity_lists));
        let failed = self.index_and_publish(&pending).err().map(|error| error_chain(&error));
        self.note_appended(appended);
        self.behind = failed.is_some();
        self.lag.clone_from(&failed);
        if self.behind {
            self.indexes.abandon();
        }
        // Before the answers, so that little is searchable by then.
        self.repair_text();
        self.note_lag();
        for PendingBatch { prepared, reply, outcome } in pending {
            let outcome = match (outcome, &failed) {
                (BatchOutcome::NotPrepared(hashes), _) => {
                    // The caller may have stopped waiting.
                    let _ = reply.send(BatchReply::PrepareAgain(Box::new(prepared), hashes));
                    continue;
                }
                (BatchOutcome::Done(committed, _), Some(why)) => {
                    let (revision, cause) = (committed.revision, why.as_str().into());
                    Err(CommitError::NotSearchable { revision, cause })
                }
                (
                    BatchOutcome::Done(committed, _)
                    | BatchOutcome::Quiet(committed, _)
                    | BatchOutcome::Unchanged(committed),
                    _,
                ) => Ok(committed),
                (BatchOutcome::Refused(refused), _) => Err(refused),
                (BatchOutcome::Lost, _) => Err(CommitError::Storage { cause: "lost".into() }),
            };
            send_reply(&reply, outcome);
        }
    }

    /// Commits a group in one transaction, each batch in its own savepoint. If the transaction
    /// fails, every caller gets the error and `None` is returned.
    fn commit_group(
        &mut self,
        group: Vec<(PreparedBatch, CommitReply)>,
        locked: Option<LockedHead>,
    ) -> Option<(Vec<PendingBatch>, Option<ReplicaState>)> {
        let mut revision = self.revision;
        let begun = self.connection.execute_batch("BEGIN IMMEDIATE");
        let horizon = begun.and_then(|()| self.horizon(&group));
        let (mut failure, horizon) = match horizon {
            Ok(horizon) => (None, horizon),
            Err(error) => (Some(error), Revision::default()),
        };
        let mut pending = Vec::with_capacity(group.len());
        for (prepared, reply) in group {
            let outcome = match failure {
                Some(_) => BatchOutcome::Lost,
                None => self.write_in_savepoint(&prepared, (revision, horizon)).unwrap_or_else(
                    |error| {
                        failure = Some(error);
                        BatchOutcome::Lost
                    },
                ),
            };
            if let BatchOutcome::Done(committed, _) = &outcome {
                revision = committed.revision;
            }
            pending.push(PendingBatch { prepared, reply, outcome });
        }
        let committed = match failure {
            Some(error) => Err(CommitFailure::Sqlite { error, committing: false }),
            None => self.append_and_commit(locked, pending.iter().filter_map(PendingBatch::delta)),
        };
        match committed {
            Ok(appended) => {
                self.revision = revision;
                Some((pending, appended))
            }
            Err(failure) => {
                self.roll_back();
                self.report_failure(&failure, pending);
                None
            }
        }
    }

    /// The newest revision whose versions may be trimmed. Snapshots on other nodes cannot be known, but
    /// none is older than a request may take.
    fn horizon(&self, group: &[(PreparedBatch, CommitReply)]) -> rusqlite::Result<Revision> {
        let here = self.shared.horizon();
        let at = group.iter().map(|(prepared, _)| prepared.batch.at).min();
        let (Some(link), Some(at)) = (self.link(), at) else { return Ok(here) };
        let age = i64::try_from(link.settings.trim_after.as_millis()).unwrap_or(i64::MAX);
        let before = Timestamp::from_millis(at.as_millis().saturating_sub(age));
        let elsewhere = usage::revision_at(&self.connection, before)?;
        Ok(here.min(Revision::new(elsewhere)))
    }

    /// Appends the open transaction to the journal, if there is one, and commits it.
    pub(super) fn append_and_commit<'d>(
        &self,
        locked: Option<LockedHead>,
        deltas: impl Iterator<Item = &'d CommitDelta>,
    ) -> Result<Option<ReplicaState>, CommitFailure> {
        let appended = match locked {
            Some(locked) => self.append(locked, &deltas.collect::<Vec<_>>())?,
            None => None,
        };
        match self.connection.execute_batch("COMMIT") {
            Ok(()) => Ok(appended),
            Err(error) => Err(CommitFailure::Sqlite { error, committing: true }),
        }
    }

    /// Ends an open transaction without effect.
    pub(crate) fn roll_back(&self) {
        // SQLite may have rolled back already; either way no transaction stays open.
        if !self.connection.is_autocommit() {
            let _ = self.connection.execute_batch("ROLLBACK");
        }
    }

    /// Writes one batch after `revision`. A batch without effect is rolled back; a quiet one makes
    /// no revision.
    fn write_in_savepoint(
        &self,
        prepared: &PreparedBatch,
        (revision, horizon): (Revision, Revision),
    ) -> rusqlite::Result<BatchOutcome> {
        let key = prepared.batch.key.as_ref();
        if let Some(outcome) = self.find_outcome(&prepared.batch)? {
            return Ok(outcome);
        }
        if !prepared.items.is_empty() && prepared.model != self.model.number {
            return Ok(BatchOutcome::NotPrepared(Vec::new()));
        }
        self.connection.execute_batch("SAVEPOINT batch")?;
        let written = write::write(&self.connection, (revision.next(), horizon), prepared);
        let only_puts = prepared.batch.changes.iter().all(|c| matches!(c, Change::Put(_)));
        let outcome = match written {
            Ok((committed, _)) if only_puts && committed.stored == 0 => {
                BatchOutcome::Unchanged(CommitReport { revision, ..committed })
            }
            Ok((committed, delta)) if prepared.batch.is_unversioned() => {
                BatchOutcome::Quiet(CommitReport { revision, ..committed }, delta)
            }
            Ok((committed, delta)) => BatchOutcome::Done(committed, delta),
            Err(WriteError::Refused(refused)) => BatchOutcome::Refused(refused),
            Err(WriteError::VectorsPurged(hashes)) => BatchOutcome::NotPrepared(hashes),
            Err(WriteError::Sqlite(error)) => return Err(error),
        };
        self.connection.execute_batch(match outcome {
            BatchOutcome::Done(..) | BatchOutcome::Quiet(..) => "RELEASE batch",
            _ => "ROLLBACK TO batch; RELEASE batch",
        })?;
        // A batch that changed nothing is recorded, too: its repetition must not change what came since.
        if let Some(key) = key
            && let BatchOutcome::Done(report, _)
            | BatchOutcome::Quiet(report, _)
            | BatchOutcome::Unchanged(report) = &outcome
        {
            keys::record(&self.connection, key, report)?;
        }
        Ok(outcome)
    }

    /// The outcome of a batch whose key was used before.
    fn find_outcome(&self, batch: &Batch) -> rusqlite::Result<Option<BatchOutcome>> {
        let Some(key) = &batch.key else { return Ok(None) };
        let known = keys::find(&self.connection, key)?;
        Ok(known.map(|known| match known.request == key.request {
            true => BatchOutcome::Unchanged(known.report),
            false => BatchOutcome::Refused(CommitError::KeyUsed { name: key.name.clone() }),
        }))
    }

    /// Reports a failed transaction to every caller, and stops writing if the disk is in doubt.
    fn report_failure(&mut self, failure: &CommitFailure, pending: Vec<PendingBatch>) {
        let (error, committing) = match failure {
            CommitFailure::Sqlite { error, committing } => (error, *committing),
            CommitFailure::Journal(error) => return report_journal_failure(error, pending),
        };
        let (code, damage) = (error.sqlite_error_code(), records::damage(error));
        self.stop_if_in_doubt(error, committing);
        if let Some(what) = &damage {
            self.shared.health.note_damage(what);
        }
        for PendingBatch { reply, outcome, .. } in pending {
            let cause: Cause = error.to_string().into();
            let failed = match code {
                // The journal has it already.
                _ if committing && self.replica.is_some() => CommitError::Unknown { cause },
                _ if self.stopped.is_some() => CommitError::Stopped { cause },
                _ if let Some(what) = damage.clone() => CommitError::Damaged { what },
                Some(ErrorCode::DiskFull) => CommitError::Full { cause },
                _ => match damage.clone() {
                    Some(what) => CommitError::Damaged { what },
                    None => CommitError::Storage { cause },
                },
            };
            send_reply(
                &reply,
                Err(if let BatchOutcome::Refused(refused) = outcome { refused } else { failed }),
            );
        }
    }

    /// Adds committed batches to the indexes and publishes the state.
    fn index_and_publish(&mut self, pending: &[PendingBatch]) -> Result<(), IndexError> {
        let (mut changed, mut rewritten) = (false, false);
        for PendingBatch { prepared, outcome, .. } in pending {
            let BatchOutcome::Done(committed, delta) = outcome else { continue };
            self.catalogue.apply(delta);
            self.shared.forget_item_ids(&delta.purged);
            self.expunging.add(delta.residue);
            self.indexes.add(&self.connection, committed.revision, prepared, delta)?;
            changed = true;
            rewritten |= delta.rewritten;
        }
        if rewritten {
            self.catalogue = Catalogue::read(&self.connection).map_err(IndexError::Truth)?;
        }
        if changed {
            self.indexes.commit(self.revision);
            self.publish();
        }
        Ok(())
    }

    /// Brings the indexes from an earlier revision to the present one, and publishes it.
    pub(crate) fn index_followed(
        &mut self,
        before: Revision,
        purged: &[Row],
    ) -> Result<(), IndexError> {
        if self.behind {
            return self.catch_up();
        }
        let followed = self.indexes.follow(&self.connection, (before, self.revision), purged);
        self.behind = followed.is_err();
        match &followed {
            Ok(()) => self.publish(),
            Err(error) => {
                self.lag = Some(error_chain(error));
                self.indexes.abandon();
            }
        }
        self.repair_text();
        self.note_lag();
        followed
    }

    /// Brings lagging indexes up to date from SQLite.
    pub(crate) fn catch_up(&mut self) -> Result<(), IndexError> {
        if let Err(error) = self.indexes.recover(&self.connection, self.revision) {
            self.indexes.abandon();
            return Err(error);
        }
        self.catalogue = Catalogue::read(&self.connection).map_err(IndexError::Truth)?;
        self.behind = false;
        self.note_lag();
        self.publish();
        Ok(())
    }

    /// Publishes the latest state to readers.
    pub(crate) fn publish(&self) {
        let (text, vectors) = self.indexes.readers();
        let (catalogue, model) = (self.catalogue.clone(), Arc::clone(&self.model));
        let state = PublishedState::new(self.revision, catalogue, model, (text, vectors));
        self.shared.publish(state);
    }

    /// Stops writing after an I/O error in a commit: the content of the disk is unknown then, and a
    /// retry could acknowledge lost data. Only reopening, which reads the log, settles it.
    pub(super) fn stop_if_in_doubt(&mut self, error: &rusqlite::Error, committing: bool) {
        if committing && error.sqlite_error_code() == Some(ErrorCode::SystemIoFailure) {
            self.shared.health.set_stopped(&error.to_string());
            self.stopped = Some(error.to_string());
        }
    }
}

/// Reports to every caller that the journal did not take the transaction.
fn report_journal_failure(error: &AppendError, pending: Vec<PendingBatch>) {
    for PendingBatch { reply, outcome, .. } in pending {
        let failed = match (outcome, error) {
            (BatchOutcome::Refused(refused), _) => refused,
            (_, AppendError::Unknown(error)) => {
                CommitError::Unknown { cause: error_chain(error).into() }
            }
            (_, AppendError::Journal(error)) => {
                CommitError::Unavailable { cause: error_chain(error).into() }
            }
            (_, AppendError::Sqlite(error)) => {
                CommitError::Storage { cause: error.to_string().into() }
            }
        };
        send_reply(&reply, Err(failed));
    }
}

/// Sends the result of a batch; the caller may have stopped waiting.
fn send_reply(reply: &CommitReply, outcome: Result<CommitReport, CommitError>) {
    let _ = reply.send(BatchReply::Finished(outcome));
}
