//! The data folder: its lock, and a folder for each workspace in it.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::bridge::Offloaded;
use super::engine::Embedded;
use crate::kinds::{DEFINITION_BYTES_MAX, Kinds};
use crate::prepare::SharedEmbedder;
use crate::store::error::OpenError;
use crate::store::maintenance::{Maintenance, OnUpgrade, Stores};

/// How often, and after which time, a lock that is taken is tried again.
const LOCK_TRIES: usize = 20;
const LOCK_WAIT: Duration = Duration::from_millis(10);

/// A data folder, which only one process can have at a time.
#[derive(Debug)]
pub struct Home {
    folder: PathBuf,
    lock: Arc<Lock>,
    kinds: Arc<Kinds>,
    on_upgrade: Option<OnUpgrade>,
}

/// The lock on a data folder; it goes with the process, however that ends.
#[derive(Debug)]
pub(crate) struct Lock {
    _file: File,
}

/// The file of a data folder that defines kinds of one's own.
pub const KINDS_FILE: &str = "kinds.toml";

/// The built-in kinds, and those that the folder defines.
fn defined_kinds(folder: &Path) -> Result<Arc<Kinds>, OpenError> {
    let path = folder.join(KINDS_FILE);
    let mut source = String::new();
    let read = File::open(&path)
        .and_then(|file| file.take(DEFINITION_BYTES_MAX as u64 + 1).read_to_string(&mut source));
    match read {
        Ok(_) => {}
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return Ok(Arc::clone(Kinds::built_in()));
        }
        Err(error) => return Err(OpenError::Io { path, cause: error.into() }),
    }
    Kinds::with(&source).map(Arc::new).map_err(|cause| OpenError::Kinds { path, cause })
}

impl Home {
    /// Opens a data folder, which is made if need be.
    ///
    /// # Errors
    /// When another process has it, or it cannot be written.
    pub fn open(folder: &Path) -> Result<Home, OpenError> {
        let io =
            |cause: std::io::Error| OpenError::Io { path: folder.to_owned(), cause: cause.into() };
        std::fs::create_dir_all(folder.join("workspaces")).map_err(io)?;
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(folder.join("lock"))
            .map_err(io)?;
        match try_lock(&file) {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let mut owner = String::new();
                // Who it is only makes the message better.
                let _ = file.take(64).read_to_string(&mut owner);
                let owner = owner.trim();
                let owner = if owner.is_empty() { "(unknown)" } else { owner }.to_owned();
                return Err(OpenError::InUse { folder: folder.to_owned(), owner });
            }
            Err(TryLockError::Error(error)) => return Err(io(error)),
        }
        let note = |file: &mut File| -> std::io::Result<()> {
            file.set_len(0)?;
            file.seek(SeekFrom::Start(0))?;
            write!(file, "{}", std::process::id())
        };
        note(&mut file).map_err(io)?;
        sweep(&folder.join("workspaces")).map_err(io)?;
        let lock = Arc::new(Lock { _file: file });
        let kinds = defined_kinds(folder)?;
        Ok(Home { folder: folder.to_owned(), lock, kinds, on_upgrade: None })
    }

    /// Knows these kinds instead of those that are defined in the folder.
    #[must_use]
    pub fn with_kinds(mut self, kinds: Arc<Kinds>) -> Home {
        self.kinds = kinds;
        self
    }

    /// The kinds that its workspaces know.
    #[must_use]
    pub fn kinds(&self) -> &Arc<Kinds> {
        &self.kinds
    }

    /// Tells somebody how far a workspace of an older version is, when one is opened.
    #[must_use]
    pub fn on_upgrade(mut self, tell: OnUpgrade) -> Home {
        self.on_upgrade = Some(tell);
        self
    }

    fn open_workspace(
        &self,
        name: &str,
        path: &Path,
        embedder: SharedEmbedder,
    ) -> Result<Embedded, OpenError> {
        let lock = Some(Arc::clone(&self.lock));
        Embedded::open(path, embedder, Arc::clone(&self.kinds), lock, |progress| {
            if let Some(on_upgrade) = &self.on_upgrade {
                on_upgrade.report(name, progress);
            }
        })
    }

    /// The names of the workspaces, in order.
    ///
    /// # Errors
    /// When the folder cannot be read.
    pub fn workspaces(&self) -> Result<Vec<String>, OpenError> {
        let folder = self.folder.join("workspaces");
        let io =
            |cause: std::io::Error| OpenError::Io { path: folder.clone(), cause: cause.into() };
        let mut names = Vec::new();
        for entry in std::fs::read_dir(&folder).map_err(io)? {
            let name = entry.map_err(io)?.file_name();
            names.extend(name.to_str().filter(|name| is_name(name)).map(str::to_owned));
        }
        names.sort();
        Ok(names)
    }

    fn path(&self, name: &str) -> Result<PathBuf, OpenError> {
        if !is_name(name) {
            return Err(OpenError::Name { name: name.to_owned() });
        }
        Ok(self.folder.join("workspaces").join(name))
    }

    /// Opens a workspace, which is made if need be.
    ///
    /// # Errors
    /// When the name cannot be one, or the workspace cannot be opened; see [`OpenError`].
    pub fn workspace(&self, name: &str, embedder: SharedEmbedder) -> Result<Embedded, OpenError> {
        self.open_workspace(name, &self.path(name)?, embedder)
    }

    /// Opens a workspace that is there already.
    ///
    /// # Errors
    /// When there is none of this name, or it cannot be opened; see [`OpenError`].
    pub fn existing(&self, name: &str, embedder: SharedEmbedder) -> Result<Embedded, OpenError> {
        let path = self.path(name)?;
        if !super::records::file(&path).exists() {
            return Err(OpenError::Missing { name: name.to_owned(), folder: self.folder.clone() });
        }
        self.open_workspace(name, &path, embedder)
    }

    /// Removes a workspace with all that is in it. Whoever has it open should close it before.
    ///
    /// The folder is renamed first: from then on the workspace is gone, whatever is still at work
    /// in it, and what cannot be deleted now is when the data folder is opened again.
    ///
    /// # Errors
    /// When there is none of this name, or its folder cannot be removed.
    pub fn remove(&self, name: &str) -> Result<(), OpenError> {
        let path = self.path(name)?;
        let workspaces = self.folder.join("workspaces");
        let mut graves = (0_u32..).map(|n| workspaces.join(format!("{REMOVED}{n}-{name}")));
        let grave = graves.find(|grave| !grave.exists()).unwrap_or_else(|| path.clone());
        match std::fs::rename(&path, &grave) {
            Ok(()) => {
                let _ = std::fs::remove_dir_all(&grave);
                Ok(())
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                Err(OpenError::Missing { name: name.to_owned(), folder: self.folder.clone() })
            }
            Err(error) => Err(OpenError::Io { path, cause: error.into() }),
        }
    }
}

impl Stores for Home {
    fn open(
        &self,
        name: &str,
        embedder: SharedEmbedder,
    ) -> Result<Arc<dyn Maintenance>, OpenError> {
        Ok(Arc::new(Offloaded::new(Arc::new(self.workspace(name, embedder)?))))
    }

    fn open_existing(
        &self,
        name: &str,
        embedder: SharedEmbedder,
    ) -> Result<Arc<dyn Maintenance>, OpenError> {
        Ok(Arc::new(Offloaded::new(Arc::new(self.existing(name, embedder)?))))
    }

    fn names(&self) -> Result<Vec<String>, OpenError> {
        self.workspaces()
    }

    fn remove(&self, name: &str) -> Result<(), OpenError> {
        Home::remove(self, name)
    }

    fn kinds(&self) -> &Arc<Kinds> {
        &self.kinds
    }
}

/// What the folders of removed workspaces begin with; no workspace's name does.
const REMOVED: &str = ".removed-";

/// Deletes what was left of workspaces that were removed. What still resists is tried next time.
fn sweep(workspaces: &Path) -> std::io::Result<()> {
    for entry in std::fs::read_dir(workspaces)? {
        let entry = entry?;
        if entry.file_name().to_str().is_some_and(|name| name.starts_with(REMOVED)) {
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
    Ok(())
}

/// Takes the lock, or says after a moment that it is taken: a process that is just being started
/// holds a copy of every lock until it runs.
fn try_lock(file: &File) -> Result<(), TryLockError> {
    for _ in 0..LOCK_TRIES {
        match file.try_lock() {
            Err(TryLockError::WouldBlock) => std::thread::sleep(LOCK_WAIT),
            other => return other,
        }
    }
    file.try_lock()
}

/// Whether a text can name a workspace, and so a folder on every system.
fn is_name(name: &str) -> bool {
    let plain = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit();
    let bytes = name.as_bytes();
    (1..=64).contains(&bytes.len())
        && plain(bytes[0])
        && bytes.iter().all(|c| plain(*c) || matches!(c, b'-' | b'_' | b'.'))
        && !name.ends_with('.')
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use haversack_core::embed::BuiltIn;

    use super::{Home, is_name};
    use crate::store::error::OpenError;

    #[test]
    fn what_is_removed_is_gone_at_once_and_what_is_left_of_it_swept_later() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::open(folder.path()).unwrap();
        let open = home.workspace("acme", Arc::new(BuiltIn::new())).unwrap();
        home.remove("acme").unwrap();
        assert_eq!(home.workspaces().unwrap(), [] as [&str; 0]);
        assert!(matches!(home.remove("acme"), Err(OpenError::Missing { .. })));
        drop((open, home));
        let left = folder.path().join("workspaces/.removed-0-acme/text");
        std::fs::create_dir_all(&left).unwrap();
        let home = Home::open(folder.path()).unwrap();
        assert!(!left.exists());
        assert_eq!(home.workspaces().unwrap(), [] as [&str; 0]);
    }

    #[test]
    fn a_name_is_a_folder_and_nothing_else() {
        for name in ["a", "acme", "team-7", "x.y_z", &"a".repeat(64)] {
            assert!(is_name(name), "{name}");
        }
        for name in ["", ".", "..", "-a", "A", "a/b", "a\\b", "a\0", "é", "a ", "a."] {
            assert!(!is_name(name), "{name}");
        }
        assert!(!is_name(&"a".repeat(65)));
    }
}
