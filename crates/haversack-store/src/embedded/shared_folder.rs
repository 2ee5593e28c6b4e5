//! Data folders and journals: workspaces move into a journal, and copies of them out of it.

use std::sync::Arc;

use super::data_folder::DataFolder;
use super::replica;
use crate::prepare::SharedEmbedder;
use crate::store::error::{CommitError, OpenError};
use crate::store::journal::wait;
use crate::store::journal::{JournalSnapshot, ReplicaSettings};

impl DataFolder {
    /// Moves a workspace of this folder into a journal. Its folder is a replica afterwards. One that was
    /// interrupted is continued.
    ///
    /// # Errors
    /// When the journal has a workspace of this name, or cannot be used, or the workspace cannot be read.
    /// After an error the workspace is as it was.
    pub fn import_to_journal(
        &self,
        name: &str,
        settings: &ReplicaSettings,
        embedder: &SharedEmbedder,
    ) -> Result<JournalSnapshot, OpenError> {
        let path = self.workspace_path(name)?;
        if !super::records::file(&path).exists() {
            return Err(self.missing(name));
        }
        let references = self.kinds().references();
        let place = settings.journal.place();
        // Opened once as what it is: an older store gets its present form before others read it.
        if matches!(replica::read_state(&path)?, Some(None)) {
            self.workspace(name, Arc::clone(embedder))?.close();
        }
        replica::begin_import(settings, (&path, name), references)?;
        let moved = self.open_linked(name, settings, embedder).and_then(|store| {
            let snapshot = loop {
                // While an index is merged there is none.
                match store.snapshot_to_journal(false) {
                    Ok(Some(snapshot)) => break Ok(snapshot),
                    Ok(None) => std::thread::sleep(std::time::Duration::from_millis(50)),
                    Err(error) => break Err(unavailable(place.clone(), error)),
                }
            };
            store.close();
            snapshot
        });
        if moved.is_err() {
            // Nobody can have opened it: there is no snapshot.
            let removed = wait(settings.journal.remove(name));
            removed.map_err(|error| replica::journal_error(&*settings.journal, error))?;
            replica::detach(&path, references)?;
        }
        moved
    }

    /// Makes a workspace of this folder from one in a journal: a copy that follows it no more.
    ///
    /// # Errors
    /// When there is no such workspace in the journal, this folder has one of the same name, or the
    /// journal cannot be read.
    pub fn export_from_journal(
        &self,
        name: &str,
        settings: &ReplicaSettings,
        embedder: &SharedEmbedder,
    ) -> Result<(), OpenError> {
        let path = self.workspace_path(name)?;
        if matches!(replica::read_state(&path)?, Some(None)) {
            let place = self.place();
            return Err(OpenError::Exists { name: name.to_owned(), place });
        }
        let references = self.kinds().references();
        replica::attach(settings, (&path, name), references, embedder.model(), false)?;
        replica::detach(&path, references)
    }
}

fn unavailable(place: String, error: CommitError) -> OpenError {
    OpenError::Unavailable { place, cause: error.into() }
}
