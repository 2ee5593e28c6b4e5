//! Makes a workspace together with its first batch: it gets its name when all of it is there, so a
//! process that is killed meanwhile leaves none of it.

use std::path::{Path, PathBuf};

use super::EmbeddedStore;
use super::data_folder::DataFolder;
use super::free_space;
use super::steps;
use crate::prepare::SharedEmbedder;
use crate::store::change::Batch;
use crate::store::error::{CommitError, OpenError};

/// The prefix of the folders of workspaces that are being made. No workspace name begins with it.
pub(super) const UNFINISHED_PREFIX: &str = ".new-";

impl DataFolder {
    /// Creates a workspace that does not exist, with a first batch. Both are there or neither. Only in a
    /// replica of a journal may the workspace be there alone: the journal has it before its first batch.
    ///
    /// # Errors
    /// When there is such a workspace, the name is not valid, the disk is full, or the workspace
    /// cannot be written; see [`OpenError`].
    pub fn create(
        &self,
        name: &str,
        embedder: SharedEmbedder,
        first: Batch,
    ) -> Result<EmbeddedStore, OpenError> {
        let path = self.workspace_path(name)?;
        let folder = self.workspaces_path();
        if path.exists() || self.exists(name, &path)? {
            return Err(OpenError::Exists { name: name.to_owned(), place: self.place() });
        }
        if let Some(shortage) = free_space::shortage(&folder) {
            return Err(OpenError::Full { cause: shortage.to_string().into() });
        }
        if self.has_journal() {
            let store = self.open_folder(name, &path, embedder)?;
            store.write(first).map_err(|error| commit_error(path, error))?;
            return Ok(store);
        }
        let unfinished = folder.join(format!("{UNFINISHED_PREFIX}{name}"));
        remove_folder(&unfinished)?;
        let made = self.make(name, (&unfinished, &path), embedder.clone(), first);
        if made.is_err() {
            // What cannot be removed now is removed when the data folder is opened again.
            let _ = std::fs::remove_dir_all(&unfinished);
        }
        made?;
        self.open_folder(name, &path, embedder)
    }

    /// Makes the workspace in one folder and moves it to another.
    fn make(
        &self,
        name: &str,
        (unfinished, path): (&Path, &Path),
        embedder: SharedEmbedder,
        first: Batch,
    ) -> Result<(), OpenError> {
        let store = self.open_folder(name, unfinished, embedder)?;
        store.write(first).map_err(|error| commit_error(path.to_owned(), error))?;
        // Its files must be closed before they move.
        drop(store);
        steps::rename(unfinished, path)
            .and_then(|()| steps::sync_folder(&self.workspaces_path()))
            .map_err(|cause| OpenError::Io { path: path.to_owned(), cause: cause.into() })
    }
}

fn remove_folder(path: &Path) -> Result<(), OpenError> {
    match std::fs::remove_dir_all(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(OpenError::Io { path: path.to_owned(), cause: error.into() })
        }
        _ => Ok(()),
    }
}

fn commit_error(path: PathBuf, error: CommitError) -> OpenError {
    match error {
        CommitError::Full { cause } => OpenError::Full { cause },
        CommitError::TooManyFiles(too_many) => OpenError::TooManyFiles(too_many),
        error => OpenError::Io { path, cause: error.into() },
    }
}

#[cfg(test)]
mod tests {
    use haversack_core::units::Timestamp;

    use super::super::faults::{Fault, Faults};
    use super::super::tests::{PairEmbedder, item};
    use super::*;
    use crate::store::change::{Change, WriteKey};

    fn key(request: u8) -> WriteKey {
        let (scope, name) = ("anna create".to_owned(), "k".to_owned());
        WriteKey { scope, name, request: [request; 32], at: Timestamp::from_millis(5) }
    }

    fn create(folder: &DataFolder, first: Batch) -> Result<EmbeddedStore, OpenError> {
        folder.create("acme", PairEmbedder::shared(), first)
    }

    fn first() -> Batch {
        let put = Change::Put(Box::new(item("a", "amber")));
        Batch::new(Timestamp::from_millis(5), vec![put]).with_key(Some(key(1)))
    }

    #[test]
    fn a_workspace_is_made_with_its_first_batch_and_only_once() {
        let folder = tempfile::tempdir().unwrap();
        let data = DataFolder::open(folder.path()).unwrap();
        let store = create(&data, first()).unwrap();
        assert_eq!(store.find_write(&key(1)).unwrap().unwrap().report.stored, 1);
        assert!(store.check(false).unwrap().is_sound());
        let again = create(&data, first());
        assert!(matches!(again, Err(OpenError::Exists { .. })), "{again:?}");
        let empty = Batch::new(Timestamp::from_millis(5), Vec::new()).with_key(Some(key(2)));
        let other = data.create("other", PairEmbedder::shared(), empty).unwrap();
        assert_eq!(other.find_write(&key(2)).unwrap().unwrap().request, [2; 32]);
        assert_eq!(data.workspaces().unwrap(), ["acme", "other"]);
    }

    /// From each step on all fail, as after a kill: the workspace is there with its key or not at all.
    #[test]
    fn a_workspace_that_was_interrupted_is_whole_or_not_there_p1() {
        let count = tempfile::tempdir().unwrap();
        let faults = Faults::count(count.path());
        let _made = create(&DataFolder::open(count.path()).unwrap(), first()).unwrap();
        let steps = faults.steps();
        let (mut there, mut absent) = (0, 0);
        for step in 0..steps {
            let folder = tempfile::tempdir().unwrap();
            let data = DataFolder::open(folder.path()).unwrap();
            let faults = Faults::at(folder.path(), step, Fault::FromThere);
            let _ = create(&data, first());
            drop((data, faults));
            let data = DataFolder::open(folder.path()).unwrap();
            if data.workspaces().unwrap().is_empty() {
                absent += 1;
                assert!(create(&data, first()).is_ok(), "step {step}");
                continue;
            }
            there += 1;
            let store = data.existing_workspace("acme", PairEmbedder::shared()).unwrap();
            assert!(store.find_write(&key(1)).unwrap().is_some(), "step {step}");
            assert!(store.check(false).unwrap().is_sound(), "step {step}");
        }
        assert!(there > 0 && absent > 10, "{there} and {absent}");
    }
}
