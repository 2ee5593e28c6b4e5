//! Moves a workspace into a journal, and a copy of it out again.

use std::path::Path;

use super::attach::{MARKER, journal_error, mark, read_state};
use super::entry;
use super::follow::new_id;
use super::link::ReplicaState;
use crate::embedded::records;
use crate::store::error::OpenError;
use crate::store::journal::wait;
use crate::store::journal::{JournalKey, ReplicaSettings};

/// Makes the store in a folder, which nobody has open, a replica of a new journal. What it has must then
/// go into a snapshot: until that is there, no other node can open the workspace. An import that was
/// interrupted goes on.
pub(crate) fn begin_import(
    settings: &ReplicaSettings,
    (folder, name): (&Path, &str),
    references: &[String],
) -> Result<(), OpenError> {
    let journal = &*settings.journal;
    let unavailable = |error| journal_error(journal, error);
    let exists = || OpenError::Exists { name: name.to_owned(), place: journal.place() };
    if let Some(Some(state)) = read_state(folder)? {
        let head = wait(journal.head(name)).map_err(unavailable)?.ok_or_else(exists)?;
        let snapshot = wait(journal.snapshot(&head.key)).map_err(unavailable)?;
        let goes_on = snapshot.is_none()
            && head.key.generation == state.generation
            && (head.position, head.last) == (state.position, state.last);
        return if goes_on { Ok(()) } else { Err(exists()) };
    }
    let key = JournalKey { workspace: name.to_owned(), generation: new_id().map_err(unavailable)? };
    let head = wait(journal.create(&key)).map_err(unavailable)?;
    if head.key != key {
        return Err(exists());
    }
    let lock = wait(journal.lock(name, settings.lock_wait)).map_err(unavailable)?;
    let lock = lock.filter(|lock| *lock.head() == head).ok_or_else(exists)?;
    let id = new_id().map_err(unavailable)?;
    let appended = wait(lock.append(id, entry::write_snapshot(head.last)));
    let position = appended.map_err(unavailable)?;
    let state = ReplicaState::at(key.generation, position, id);
    let sqlite = |error: rusqlite::Error| records::open_error(&records::file(folder), error);
    let connection = records::open(folder, references)?.connection;
    ReplicaState::create_table(&connection)
        .and_then(|()| state.write(&connection))
        .map_err(sqlite)?;
    mark(folder)
}

/// Makes the replica in a folder, which nobody has open, a workspace of its own.
pub(crate) fn detach(folder: &Path, references: &[String]) -> Result<(), OpenError> {
    let sqlite = |error: rusqlite::Error| records::open_error(&records::file(folder), error);
    let connection = records::open(folder, references)?.connection;
    connection.execute_batch("DROP TABLE IF EXISTS replica").map_err(sqlite)?;
    drop(connection);
    let path = folder.join(MARKER);
    match std::fs::remove_file(&path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(OpenError::Io { path, cause: error.into() })
        }
        _ => Ok(()),
    }
}
