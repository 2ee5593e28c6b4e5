//! Parts of large snapshots as files in a folder that all nodes share.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use haversack_store::store::journal::JournalError;

/// A folder of objects.
#[derive(Debug, Clone)]
pub(crate) struct ObjectFolder {
    root: PathBuf,
}

impl ObjectFolder {
    pub(crate) fn open(root: PathBuf) -> Result<ObjectFolder, JournalError> {
        // A folder that is made here is one that is not mounted.
        match fs::metadata(&root) {
            Ok(found) if found.is_dir() => Ok(ObjectFolder { root }),
            Ok(_) => Err(failed(&root, &ErrorKind::NotADirectory.into())),
            Err(error) => Err(failed(&root, &error)),
        }
    }

    /// Writes an object, whole and durable or not at all.
    pub(crate) async fn put(&self, name: &str, bytes: Vec<u8>) -> Result<(), JournalError> {
        let path = self.path(name)?;
        self.run(path, move |path| {
            let folder = path.parent().ok_or(ErrorKind::InvalidInput)?;
            fs::create_dir_all(folder)?;
            let unfinished = path.with_extension("unfinished");
            let mut file = File::create(&unfinished)?;
            file.write_all(&bytes)?;
            file.sync_all()?;
            fs::rename(&unfinished, path)?;
            sync_folder(folder)
        })
        .await
    }

    /// An object; `None` if it is not there.
    pub(crate) async fn get(&self, name: &str) -> Result<Option<Vec<u8>>, JournalError> {
        let path = self.path(name)?;
        self.run(path, |path| match fs::read(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            read => read.map(Some),
        })
        .await
    }

    /// Removes an object and what is left of an unfinished one.
    pub(crate) async fn delete(&self, name: &str) -> Result<(), JournalError> {
        let path = self.path(name)?;
        let root = self.root.clone();
        self.run(path, move |path| {
            for file in [path, &path.with_extension("unfinished")] {
                match fs::remove_file(file) {
                    Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
                    _ => {}
                }
            }
            // Folders that are empty now go as well; one that is not stays.
            let folders = path.ancestors().skip(1).take_while(|folder| *folder != root);
            for folder in folders {
                if fs::remove_dir(folder).is_err() {
                    break;
                }
            }
            Ok(())
        })
        .await
    }

    /// The path of an object, whose name came from the database.
    fn path(&self, name: &str) -> Result<PathBuf, JournalError> {
        let is_plain = |part: &str| !part.is_empty() && part != "." && part != "..";
        if !name.split('/').all(is_plain) || name.contains('\\') {
            let cause = format!("{name:?} cannot name an object").into();
            return Err(JournalError::Refused { cause });
        }
        Ok(self.root.join(name))
    }

    async fn run<T: Send + 'static>(
        &self,
        path: PathBuf,
        work: impl FnOnce(&Path) -> io::Result<T> + Send + 'static,
    ) -> Result<T, JournalError> {
        let task =
            tokio::task::spawn_blocking(move || work(&path).map_err(|error| failed(&path, &error)));
        task.await.map_err(|error| JournalError::Unavailable { cause: error.into() })?
    }
}

fn sync_folder(folder: &Path) -> io::Result<()> {
    if cfg!(unix) { File::open(folder)?.sync_all() } else { Ok(()) }
}

fn failed(path: &Path, error: &io::Error) -> JournalError {
    let cause = io::Error::new(error.kind(), format!("{}: {error}", path.display()));
    JournalError::Unavailable { cause: cause.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_cannot_leave_its_folder() {
        let folder = tempfile::tempdir().unwrap();
        let objects = ObjectFolder::open(folder.path().to_owned()).unwrap();
        for name in ["", "/etc/passwd", "a/../../b", "..", "a//b", "a\\..\\b"] {
            assert!(objects.path(name).is_err(), "{name}");
        }
        assert_eq!(objects.path("w.x/1").unwrap(), folder.path().join("w.x/1"));
    }

    #[test]
    fn a_folder_that_is_not_there_is_not_made() {
        let folder = tempfile::tempdir().unwrap();
        let missing = folder.path().join("mount");
        assert!(ObjectFolder::open(missing.clone()).is_err());
        assert!(!missing.exists());
    }
}
