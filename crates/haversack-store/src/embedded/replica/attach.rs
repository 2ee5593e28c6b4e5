//! Makes the folder of a workspace a replica of its journal: from what the folder has, from the newest
//! snapshot, or from nothing, and then by the entries after it.

use std::path::Path;
use std::sync::Arc;

use haversack_core::embed::Model;
use rusqlite::{Connection, OpenFlags};

use super::entry;
use super::follow::{FollowError, READ_BYTES, apply_entries, new_id};
use super::link::{JournalLink, ReplicaState};
use super::snapshot;
use super::tables::Capture;
use crate::embedded::pages;
use crate::embedded::records::{self, usage};
use crate::store::error::OpenError;
use crate::store::journal::wait;
use crate::store::journal::{JournalError, JournalHead, JournalKey, Position, ReplicaSettings};

/// How often a replica is begun: a second time when what the folder has does not fit the journal, and
/// once more when the snapshot is replaced meanwhile.
const TRIES: usize = 3;

/// A folder that has everything its journal had a moment ago.
#[derive(Debug)]
pub(crate) struct Attached {
    pub(crate) link: Arc<JournalLink>,
    /// Why the replica was made anew, if it was.
    pub(crate) replaced: Option<String>,
}

/// What `attach` works with.
struct Attaching<'a> {
    settings: &'a ReplicaSettings,
    folder: &'a Path,
    name: &'a str,
    references: &'a [String],
    /// The model of a new workspace.
    model: &'a Model,
}

/// Makes a folder a replica of the workspace's journal. With `create`, a workspace that does not exist
/// is created.
pub(crate) fn attach(
    settings: &ReplicaSettings,
    (folder, name): (&Path, &str),
    references: &[String],
    model: &Model,
    create: bool,
) -> Result<Attached, OpenError> {
    let attaching = Attaching { settings, folder, name, references, model };
    let journal = &settings.journal;
    let unavailable = |error| journal_error(&**journal, error);
    let head = match wait(journal.head(name)).map_err(unavailable)? {
        Some(head) => head,
        None if create => {
            let generation = new_id().map_err(unavailable)?;
            let key = JournalKey { workspace: name.to_owned(), generation };
            wait(journal.create(&key)).map_err(unavailable)?
        }
        None => return Err(missing(&attaching)),
    };
    let mut replaced = None;
    for _ in 0..TRIES {
        match attaching.follow(&head) {
            Ok(link) => return Ok(Attached { link, replaced }),
            Err(Failure::Open(error)) => return Err(error),
            Err(Failure::Anew(why)) => {
                remove_replica(folder)?;
                replaced = Some(why);
            }
        }
    }
    let what = replaced.unwrap_or_default();
    Err(OpenError::Unavailable { place: journal.place(), cause: what.into() })
}

/// The error of a journal, for whoever opens a workspace.
pub(crate) fn journal_error(
    journal: &dyn crate::store::journal::Journal,
    error: JournalError,
) -> OpenError {
    OpenError::Unavailable { place: journal.place(), cause: error.into() }
}

fn missing(attaching: &Attaching<'_>) -> OpenError {
    let folder = attaching.settings.journal.place().into();
    OpenError::Missing { name: attaching.name.to_owned(), folder }
}

/// Why a replica is not there yet.
enum Failure {
    Open(OpenError),
    /// What the folder has does not fit the journal.
    Anew(String),
}

impl From<OpenError> for Failure {
    fn from(error: OpenError) -> Failure {
        Failure::Open(error)
    }
}

impl Attaching<'_> {
    fn follow(&self, head: &JournalHead) -> Result<Arc<JournalLink>, Failure> {
        let state = match read_state(self.folder) {
            Err(OpenError::Damaged { cause, .. }) if is_marked(self.folder) => {
                return Err(Failure::Anew(format!("it is damaged: {cause}")));
            }
            state => state?,
        };
        let state = match state {
            Some(Some(state)) if state.generation == head.key.generation => state,
            Some(Some(_)) => {
                return Err(Failure::Anew("it was of a workspace that was removed".to_owned()));
            }
            Some(None) => {
                return Err(OpenError::NotReplica { path: self.folder.to_owned() }.into());
            }
            None => self.begin(head)?,
        };
        if state.position > head.position
            || (state.position == head.position && state.last != head.last)
        {
            return Err(Failure::Anew("the journal was restored from an earlier state".to_owned()));
        }
        let (state, bytes) = self.catch_up(head, state)?;
        Ok(JournalLink::new(self.settings.clone(), head.key.clone(), &state, bytes))
    }

    /// Makes a replica from the newest snapshot, or an empty one.
    fn begin(&self, head: &JournalHead) -> Result<ReplicaState, Failure> {
        let journal = &*self.settings.journal;
        let found = wait(journal.snapshot(&head.key)).map_err(|error| self.failed(error))?;
        if let Some(snapshot) = found {
            snapshot::restore(journal, &snapshot, self.folder)
                .map_err(|error| self.snapshot_failed(error))?;
            mark(self.folder)?;
            // A snapshot is of the replica that made it, which stood where the snapshot says.
            return match read_state(self.folder)? {
                Some(Some(state))
                    if state.position == snapshot.position && state.last == snapshot.last =>
                {
                    Ok(state)
                }
                _ => Err(Failure::Anew("the snapshot is of another position".to_owned())),
            };
        }
        let connection = self.open_records()?;
        mark(self.folder)?;
        let state = ReplicaState::empty(&head.key);
        let created =
            ReplicaState::create_table(&connection).and_then(|()| state.write(&connection));
        created.map_err(|error| self.sqlite(error))?;
        Ok(state)
    }

    fn open_records(&self) -> Result<Connection, OpenError> {
        std::fs::create_dir_all(self.folder)
            .map_err(|error| OpenError::Io { path: self.folder.to_owned(), cause: error.into() })?;
        let connection = records::open(self.folder, self.references)?.connection;
        connection
            .pragma_update(None, "synchronous", "NORMAL")
            .map_err(|error| self.sqlite(error))?;
        Ok(connection)
    }

    /// Applies the entries that a replica lacks to its tables. Its indexes follow when it is opened.
    fn catch_up(
        &self,
        head: &JournalHead,
        state: ReplicaState,
    ) -> Result<(ReplicaState, u64), Failure> {
        if head.position == Position::START {
            return self.write_first_entry(head, state);
        }
        let (mut state, mut bytes) = (state, 0);
        if state.position >= head.position {
            return Ok((state, bytes));
        }
        let connection = self.open_records()?;
        while state.position < head.position {
            let read = self.settings.journal.read(&head.key, state.position, READ_BYTES);
            let entries = wait(read).map_err(|error| self.failed(error))?;
            if entries.is_empty() {
                return Err(Failure::Anew("its journal ends too early".to_owned()));
            }
            bytes += entries.iter().map(|entry| entry.body.len() as u64).sum::<u64>();
            let apply = || -> Result<ReplicaState, FollowError> {
                let transaction = connection.unchecked_transaction()?;
                let (state, _) = apply_entries(&transaction, &state, &entries)?;
                transaction.commit()?;
                Ok(state)
            };
            state = apply().map_err(|error| self.follow_failed(error))?;
        }
        Ok((state, bytes))
    }

    /// Writes what a new workspace has as its first entry, unless another node was faster.
    fn write_first_entry(
        &self,
        head: &JournalHead,
        state: ReplicaState,
    ) -> Result<(ReplicaState, u64), Failure> {
        let (journal, lock_wait) = (&self.settings.journal, self.settings.lock_wait);
        let locked =
            wait(journal.lock(self.name, lock_wait)).map_err(|error| self.failed(error))?;
        let Some(lock) = locked else { return Err(missing(self).into()) };
        let now = lock.head().clone();
        if now.key != head.key {
            return Err(Failure::Anew("the workspace was created again".to_owned()));
        }
        if now.position > Position::START {
            drop(lock);
            return self.catch_up(&now, state);
        }
        let connection = self.open_records()?;
        let write = || -> rusqlite::Result<Vec<u8>> {
            let number = usage::model_number(&connection, self.model)?;
            usage::set_model(&connection, number)?;
            let capture = Capture::install(&connection)?;
            entry::write_all(&connection, &capture, now.last)
        };
        let body = write().map_err(|error| self.sqlite(error))?;
        let (id, bytes) = (new_id().map_err(|error| self.failed(error))?, body.len() as u64);
        let position = wait(lock.append(id, body)).map_err(|error| self.failed(error))?;
        let state = ReplicaState::at(head.key.generation, position, id);
        state.write(&connection).map_err(|error| self.sqlite(error))?;
        Ok((state, bytes))
    }

    fn sqlite(&self, error: rusqlite::Error) -> OpenError {
        records::open_error(&records::file(self.folder), error)
    }

    fn failed(&self, error: JournalError) -> Failure {
        match error {
            JournalError::Damaged { what } => Failure::Anew(format!("{what} is not there")),
            other => journal_error(&*self.settings.journal, other).into(),
        }
    }

    fn follow_failed(&self, error: FollowError) -> Failure {
        match error {
            FollowError::Journal(error) => self.failed(error),
            FollowError::Outdated(why) => Failure::Anew(why),
            FollowError::Read(error) => Failure::Anew(error.to_string()),
        }
    }

    fn snapshot_failed(&self, error: snapshot::RestoreError) -> Failure {
        match error {
            snapshot::RestoreError::Journal(error) => self.failed(error),
            snapshot::RestoreError::Damaged(what) => Failure::Anew(what),
            snapshot::RestoreError::Io(error) => {
                OpenError::Io { path: self.folder.to_owned(), cause: error.into() }.into()
            }
        }
    }
}

/// The file that marks a folder as a replica, which may be removed and made again.
pub(super) const MARKER: &str = "replica";

/// Whether a folder is a replica, even if what is in it cannot be read.
pub(crate) fn is_marked(folder: &Path) -> bool {
    folder.join(MARKER).exists()
}

pub(super) fn mark(folder: &Path) -> Result<(), OpenError> {
    let path = folder.join(MARKER);
    std::fs::File::create(&path)
        .map(drop)
        .map_err(|error| OpenError::Io { path, cause: error.into() })
}

/// The state of the replica in a folder; `Some(None)` if the folder has a store that is no replica.
pub(crate) fn read_state(folder: &Path) -> Result<Option<Option<ReplicaState>>, OpenError> {
    let path = records::file(folder);
    if !path.exists() {
        return Ok(None);
    }
    let failed = |error: rusqlite::Error| records::open_error(&path, error);
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = pages::open(&path, flags).map_err(failed)?;
    ReplicaState::read(&connection).map(Some).map_err(failed)
}

/// Removes a replica. The journal has everything that was in it.
pub(crate) fn remove_replica(folder: &Path) -> Result<(), OpenError> {
    match std::fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(OpenError::Io { path: folder.to_owned(), cause: error.into() })
        }
        _ => Ok(()),
    }
}
