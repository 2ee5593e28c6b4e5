//! The writer of a replica: follows the journal, and appends what it writes.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rusqlite::Connection;

use super::bytes::BadEntry;
use super::entry::{self, Content};
use super::link::{JournalLink, ReplicaState};
use super::tables::{ApplyError, Capture};
use crate::embedded::catalogue::Catalogue;
use crate::embedded::indexes::IndexError;
use crate::embedded::records::residue::{self, Residue};
use crate::embedded::records::write::CommitDelta;
use crate::embedded::records::{storage, usage};
use crate::embedded::row::Row;
use crate::embedded::writer::Writer;
use crate::revision::Revision;
use crate::store::error::{CommitError, ReadError, error_chain};
use crate::store::journal::{
    ENTRY_BYTES_MAX, EntryId, HeadLock, JournalEntry, JournalError, Position, wait,
};

/// The bytes of entries that are read and applied at a time.
pub(super) const READ_BYTES: usize = 16 << 20;

/// How long the outcome of a commit whose answer was lost is looked for.
const FIND_FOR: Duration = Duration::from_secs(20);
const FIND_EVERY: Duration = Duration::from_millis(200);

/// The side of the writer.
#[derive(Debug)]
pub(crate) struct Replica {
    link: Arc<JournalLink>,
    capture: Capture,
}

impl Replica {
    /// Has a connection record what its transactions change.
    pub(crate) fn new(
        connection: &Connection,
        link: Arc<JournalLink>,
    ) -> rusqlite::Result<Replica> {
        // The journal is the truth: what a loss of power takes from the replica, it reads again.
        connection.pragma_update(None, "synchronous", "NORMAL")?;
        Ok(Replica { link, capture: Capture::install(connection)? })
    }
}

/// The head of the journal, locked for one transaction, which the replica has caught up with.
pub(crate) struct LockedHead(Box<dyn HeadLock>);

impl fmt::Debug for LockedHead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("LockedHead").field(self.0.head()).finish()
    }
}

/// Why a transaction was not appended.
#[derive(Debug)]
pub(crate) enum AppendError {
    /// It was not, and nobody will see it.
    Journal(JournalError),
    /// Nobody knows yet. If it was, the replica will read it.
    Unknown(JournalError),
    Sqlite(rusqlite::Error),
}

impl From<rusqlite::Error> for AppendError {
    fn from(error: rusqlite::Error) -> AppendError {
        AppendError::Sqlite(error)
    }
}

/// Why a replica cannot follow its journal.
#[derive(Debug)]
pub(crate) enum FollowError {
    /// The journal cannot be read now.
    Journal(JournalError),
    /// The entries do not continue this replica, which has to be made anew.
    Outdated(String),
    Read(ReadError),
}

impl From<rusqlite::Error> for FollowError {
    fn from(error: rusqlite::Error) -> FollowError {
        FollowError::Read(storage(error))
    }
}

impl From<ApplyError> for FollowError {
    fn from(error: ApplyError) -> FollowError {
        match error {
            ApplyError::Bad(BadEntry(why)) => FollowError::Outdated(why),
            ApplyError::Sqlite(error) => FollowError::from(error),
        }
    }
}

impl From<BadEntry> for FollowError {
    fn from(BadEntry(why): BadEntry) -> FollowError {
        FollowError::Outdated(why)
    }
}

impl From<JournalError> for FollowError {
    fn from(error: JournalError) -> FollowError {
        match error {
            JournalError::Damaged { what } => FollowError::Outdated(format!("{what} is not there")),
            other => FollowError::Journal(other),
        }
    }
}

impl FollowError {
    pub(crate) fn to_commit_error(&self) -> CommitError {
        match self {
            FollowError::Journal(error) => {
                CommitError::Unavailable { cause: error_chain(error).into() }
            }
            FollowError::Outdated(why) => CommitError::Outdated { why: why.clone() },
            FollowError::Read(ReadError::Damaged { what }) => {
                CommitError::Damaged { what: what.clone() }
            }
            FollowError::Read(error) => CommitError::Storage { cause: error_chain(error).into() },
        }
    }

    pub(crate) fn into_read_error(self) -> ReadError {
        match self {
            FollowError::Journal(error) => ReadError::Unavailable { cause: error.into() },
            FollowError::Outdated(why) => ReadError::Outdated { why },
            FollowError::Read(error) => error,
        }
    }
}

/// Applies entries to the tables, in the caller's transaction. Returns the state after them, and what
/// they changed in the catalogue.
pub(super) fn apply_entries(
    connection: &Connection,
    state: &ReplicaState,
    entries: &[JournalEntry],
) -> Result<(ReplicaState, Vec<CommitDelta>), FollowError> {
    let (mut state, mut all) = (state.clone(), Vec::new());
    for JournalEntry { position, id, body } in entries {
        let entry = entry::read(body)?;
        if *position != state.position.next() || entry.previous != state.last {
            let why = format!("entry {position} of its journal does not follow what it has");
            return Err(FollowError::Outdated(why));
        }
        let Content::Changes { deltas, rows } = entry.content else {
            let why = format!("entry {position} of its journal is in a snapshot alone");
            return Err(FollowError::Outdated(why));
        };
        entry::apply(connection, rows)?;
        if let Some(residue) = deltas.iter().filter_map(|delta| delta.residue).max() {
            residue::record(connection, residue)?;
            if residue == Residue::Purged {
                state.purged = *position;
            }
        }
        all.extend(deltas);
        (state.position, state.last) = (*position, *id);
    }
    state.write(connection)?;
    Ok((state, all))
}

impl Writer {
    /// The connection to the journal, if this is a replica.
    pub(crate) fn link(&self) -> Option<&Arc<JournalLink>> {
        self.replica.as_ref().map(|replica| &replica.link)
    }

    /// Locks the head of the journal and catches up with it. `None` without a journal.
    pub(crate) fn lock_head(&mut self) -> Result<Option<LockedHead>, FollowError> {
        let Some(link) = self.link().map(Arc::clone) else { return Ok(None) };
        if let Some(why) = link.outdated() {
            return Err(FollowError::Outdated(why));
        }
        let began = Instant::now();
        let (name, lock_wait) = (&link.key.workspace, link.settings.lock_wait);
        let lock = wait(link.journal().lock(name, lock_wait))?;
        let head = lock.as_ref().map(|lock| lock.head());
        let is_behind = link.is_behind(&link.state(), head);
        let Some(mut lock) = lock else {
            return Err(FollowError::Outdated("the workspace was removed".to_owned()));
        };
        if is_behind.map_err(FollowError::Outdated)? {
            let until = lock.head().position;
            self.follow(until, |after| wait(lock.read(after, READ_BYTES)))?;
        }
        link.confirm(began);
        Ok(Some(LockedHead(lock)))
    }

    /// Reads and applies what the journal has beyond this replica.
    pub(crate) fn catch_up_with_journal(&mut self) -> Result<(), FollowError> {
        let Some(link) = self.link().map(Arc::clone) else { return Ok(()) };
        let journal = Arc::clone(link.journal());
        let head = wait(journal.head(&link.key.workspace))?;
        if link.is_behind(&link.state(), head.as_ref()).map_err(FollowError::Outdated)?
            && let Some(head) = head
        {
            let key = link.key.clone();
            self.follow(head.position, |after| wait(journal.read(&key, after, READ_BYTES)))?;
        }
        Ok(())
    }

    /// Reads and applies entries up to a position.
    fn follow(
        &mut self,
        until: Position,
        mut read: impl FnMut(Position) -> Result<Vec<JournalEntry>, JournalError>,
    ) -> Result<(), FollowError> {
        let Some(link) = self.link().map(Arc::clone) else { return Ok(()) };
        while link.position() < until {
            let followed =
                read(link.position()).map_err(FollowError::from).and_then(|entries| match entries
                    .is_empty()
                {
                    true => Err(FollowError::Outdated("its journal ends too early".to_owned())),
                    false => self.follow_entries(&link, &entries),
                });
            if let Err(FollowError::Outdated(why)) = &followed {
                link.set_outdated(why);
            }
            followed?;
        }
        Ok(())
    }

    /// Applies entries to the tables, the catalogue and the indexes, and publishes the state.
    fn follow_entries(
        &mut self,
        link: &JournalLink,
        entries: &[JournalEntry],
    ) -> Result<(), FollowError> {
        self.connection.execute_batch("BEGIN IMMEDIATE")?;
        let applied = apply_entries(&self.connection, &link.state(), entries).and_then(|applied| {
            Capture::clear(&self.connection)?;
            self.connection.execute_batch("COMMIT")?;
            Ok(applied)
        });
        let (state, deltas) = match applied {
            Ok(applied) => applied,
            Err(error) => {
                self.roll_back();
                return Err(error);
            }
        };
        let before = self.revision;
        let purged = self.take_over(&deltas).inspect_err(|error| {
            // The tables have entries now that the catalogue lacks.
            link.set_outdated(&error_chain(error));
        });
        let purged = purged.map_err(FollowError::Read)?;
        if deltas.iter().any(|delta| delta.documents) {
            link.note_documents();
        }
        let bytes = entries.iter().map(|entry| entry.body.len()).sum();
        self.check_model(link)?;
        let indexed = self.index_followed(before, &purged);
        self.shared.bump_activity(deltas.iter().flat_map(|delta| &delta.noted));
        link.advance(&state, bytes);
        indexed.map_err(|error| match error {
            IndexError::Truth(error) => FollowError::Read(error),
            other => FollowError::Read(ReadError::Storage { cause: other.into() }),
        })
    }

    /// Makes the catalogue that of the tables after entries. Returns the rows that are gone for good.
    fn take_over(&mut self, deltas: &[CommitDelta]) -> Result<Vec<Row>, ReadError> {
        self.revision = Revision::new(usage::revision(&self.connection).map_err(storage)?);
        let mut purged = Vec::new();
        for delta in deltas {
            self.catalogue.apply(delta);
            self.shared.forget_item_ids(&delta.purged);
            purged.extend(&delta.purged);
            self.expunging.add(delta.residue);
        }
        if deltas.iter().any(|delta| delta.rewritten) {
            self.catalogue = Catalogue::read(&self.connection)?;
        }
        Ok(purged)
    }

    /// Another node may have changed the model. Then this one opens the workspace again, with the model
    /// that made the vectors.
    fn check_model(&self, link: &JournalLink) -> Result<(), FollowError> {
        let stored = usage::model(&self.connection)?;
        let used = self.model.embedder.model();
        if let Some(stored) = stored.filter(|stored| stored != used)
            && self.indexes.stale_model().is_none()
        {
            let why = format!("its vectors are made by {stored} now");
            link.set_outdated(&why);
            return Err(FollowError::Outdated(why));
        }
        Ok(())
    }

    /// Appends the open transaction to the journal, if it changed anything. Afterwards it must be
    /// committed here, or rolled back after an error.
    pub(crate) fn append(
        &self,
        locked: LockedHead,
        deltas: &[&CommitDelta],
    ) -> Result<Option<ReplicaState>, AppendError> {
        let Some(Replica { link, capture }) = &self.replica else { return Ok(None) };
        if Capture::is_empty(&self.connection)? {
            return Ok(None);
        }
        let LockedHead(lock) = locked;
        let head = lock.head().clone();
        let body = entry::write(&self.connection, capture, head.last, deltas)?;
        if body.len() > ENTRY_BYTES_MAX {
            let what = format!("{} bytes are over the limit of {ENTRY_BYTES_MAX}", body.len());
            return Err(AppendError::Journal(JournalError::Refused { cause: what.into() }));
        }
        let id = new_id().map_err(AppendError::Journal)?;
        let position = head.position.next();
        let purges = deltas.iter().any(|delta| delta.residue == Some(Residue::Purged));
        let purged = if purges { position } else { link.state().purged };
        let state = ReplicaState { generation: head.key.generation, position, last: id, purged };
        state.write(&self.connection)?;
        Capture::clear(&self.connection)?;
        let bytes = body.len();
        match wait(lock.append(id, body)) {
            Ok(_) => {}
            Err(JournalError::Unknown { cause }) => {
                find_lost(link, id, JournalError::Unknown { cause })?
            }
            Err(error) => return Err(AppendError::Journal(error)),
        }
        link.advance_bytes(bytes);
        Ok(Some(state))
    }

    /// Notes that the transaction was committed here, too.
    pub(crate) fn note_appended(&self, appended: Option<ReplicaState>) {
        if let (Some(link), Some(state)) = (self.link(), appended) {
            link.advance(&state, 0);
        }
    }
}

/// Finds out whether an entry was written whose commit was not answered.
fn find_lost(link: &JournalLink, id: EntryId, lost: JournalError) -> Result<(), AppendError> {
    let began = Instant::now();
    loop {
        match wait(link.journal().find(&link.key, id)) {
            Ok(Some(_)) => return Ok(()),
            Ok(None) => return Err(AppendError::Journal(lost)),
            Err(_) if began.elapsed() < FIND_FOR => std::thread::sleep(FIND_EVERY),
            Err(error) => return Err(AppendError::Unknown(error)),
        }
    }
}

/// A new id that nobody else has.
pub(super) fn new_id() -> Result<EntryId, JournalError> {
    let mut id = [0; 16];
    getrandom::fill(&mut id).map_err(|error| JournalError::Refused {
        cause: format!("the system gives no random numbers: {error}").into(),
    })?;
    Ok(EntryId(id))
}
