//! The data folder: a lock, and one folder for each workspace.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use haversack_core::embed::Model;

use super::async_store::AsyncStore;
use super::create::UNFINISHED_PREFIX;
use super::engine::EmbeddedStore;
use super::replica::{self, Attached, Residents, is_marked, journal_error};
use super::resources::Resources;
use crate::kinds::{DEFINITION_BYTES_MAX, Kinds};
use crate::prepare::SharedEmbedder;
use crate::store::change::Batch;
use crate::store::error::OpenError;
use crate::store::journal::{Journal, JournalHead, Position, ReplicaSettings, wait};
use crate::store::maintenance::{Maintenance, OnUpgrade, Stores};

/// How often and how fast a busy lock is retried.
const LOCK_TRIES: usize = 20;
const LOCK_WAIT: Duration = Duration::from_millis(10);

/// A data folder, which only one process can have open at a time.
#[derive(Debug)]
pub struct DataFolder {
    folder: PathBuf,
    lock: Arc<FolderLock>,
    kinds: Arc<Kinds>,
    on_upgrade: Option<OnUpgrade>,
    resources: Resources,
    /// The journal that its workspaces follow.
    journal: Option<ReplicaSettings>,
    /// Which of them are in use.
    residents: Residents,
}

/// The lock on a data folder. The system releases it when the process ends, however it ends.
#[derive(Debug)]
pub(crate) struct FolderLock {
    _file: File,
}

/// The file in a data folder that defines further kinds.
pub const KINDS_FILE: &str = "kinds.toml";

/// Reads the kinds of a folder: the built-in ones and those that it defines.
fn read_kinds(folder: &Path) -> Result<Arc<Kinds>, OpenError> {
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

impl DataFolder {
    /// Opens a data folder and creates it if it does not exist.
    ///
    /// # Errors
    /// When another process has it open, or it cannot be written.
    pub fn open(folder: &Path) -> Result<DataFolder, OpenError> {
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
                // The owner only improves the message.
                let _ = file.take(64).read_to_string(&mut owner);
                let owner = owner.trim();
                let owner = if owner.is_empty() { "(unknown)" } else { owner }.to_owned();
                return Err(OpenError::InUse { folder: folder.to_owned(), owner });
            }
            Err(TryLockError::Error(error)) => return Err(io(error)),
        }
        let write_process_id = |file: &mut File| -> std::io::Result<()> {
            file.set_len(0)?;
            file.seek(SeekFrom::Start(0))?;
            write!(file, "{}", std::process::id())
        };
        write_process_id(&mut file).map_err(io)?;
        delete_remains(&folder.join("workspaces")).map_err(io)?;
        let lock = Arc::new(FolderLock { _file: file });
        let kinds = read_kinds(folder)?;
        let (folder, resources) = (folder.to_owned(), Resources::default());
        Ok(DataFolder {
            folder,
            lock,
            kinds,
            on_upgrade: None,
            resources,
            journal: None,
            residents: Residents::default(),
        })
    }

    /// Makes its workspaces replicas of a journal. The folder is then a cache: what is in it can be made
    /// again from the journal.
    #[must_use]
    pub fn with_journal(mut self, settings: ReplicaSettings) -> DataFolder {
        self.journal = Some(settings);
        self
    }

    /// Shares these resources among its workspaces.
    #[cfg(test)]
    pub(super) fn with_resources(mut self, resources: Resources) -> DataFolder {
        self.resources = resources;
        self
    }

    /// Uses these kinds instead of those that the folder defines.
    #[must_use]
    pub fn with_kinds(mut self, kinds: Arc<Kinds>) -> DataFolder {
        self.kinds = kinds;
        self
    }

    /// The definitions of kinds for its workspaces.
    #[must_use]
    pub fn kinds(&self) -> &Arc<Kinds> {
        &self.kinds
    }

    /// Sets a callback for the progress of upgrading workspaces of older versions, when they are
    /// opened.
    #[must_use]
    pub fn on_upgrade(mut self, callback: OnUpgrade) -> DataFolder {
        self.on_upgrade = Some(callback);
        self
    }

    pub(super) fn open_folder(
        &self,
        name: &str,
        path: &Path,
        embedder: SharedEmbedder,
    ) -> Result<EmbeddedStore, OpenError> {
        let opening = self.residents.open(name);
        let opened = self.open_as_it_is(name, path, embedder)?;
        if let Some(link) = opened.link() {
            opening.opened(link);
            replica::note_use(path);
            if let Some(most) = link.settings.disk_bytes_max {
                self.residents.make_room(&self.workspaces_path(), most, REMOVED_PREFIX);
            }
        }
        Ok(opened)
    }

    fn open_as_it_is(
        &self,
        name: &str,
        path: &Path,
        embedder: SharedEmbedder,
    ) -> Result<EmbeddedStore, OpenError> {
        let attached = match &self.journal {
            Some(settings) => Some(self.attach(name, settings, embedder.model(), true)?),
            None if matches!(replica::read_state(path)?, Some(Some(_))) => {
                return Err(OpenError::IsReplica { path: path.to_owned() });
            }
            None => None,
        };
        let opened = self.open_attached((name, path), Arc::clone(&embedder), attached);
        match (opened, &self.journal) {
            (Err(OpenError::Damaged { .. }), Some(settings)) if is_marked(path) => {
                replica::remove_replica(path)?;
                let attached = self.attach(name, settings, embedder.model(), true)?;
                self.open_attached((name, path), embedder, Some(attached))
            }
            (opened, _) => opened,
        }
    }

    /// Opens a workspace as a replica of a journal that the folder is not opened with.
    pub(super) fn open_linked(
        &self,
        name: &str,
        settings: &ReplicaSettings,
        embedder: &SharedEmbedder,
    ) -> Result<EmbeddedStore, OpenError> {
        let attached = self.attach(name, settings, embedder.model(), false)?;
        let path = self.workspace_path(name)?;
        self.open_attached((name, &path), Arc::clone(embedder), Some(attached))
    }

    /// The folder, for messages.
    pub(super) fn place(&self) -> String {
        self.folder.display().to_string()
    }

    /// The error for a workspace that does not exist.
    pub(super) fn missing(&self, name: &str) -> OpenError {
        OpenError::Missing { name: name.to_owned(), folder: self.folder.clone() }
    }

    fn open_attached(
        &self,
        (name, path): (&str, &Path),
        embedder: SharedEmbedder,
        attached: Option<Attached>,
    ) -> Result<EmbeddedStore, OpenError> {
        let shared = (Some(Arc::clone(&self.lock)), &self.resources);
        EmbeddedStore::open(path, embedder, Arc::clone(&self.kinds), shared, attached, |progress| {
            if let Some(on_upgrade) = &self.on_upgrade {
                on_upgrade.report(name, progress);
            }
        })
    }

    /// Makes the folder of a workspace a replica that has what its journal has.
    fn attach(
        &self,
        name: &str,
        settings: &ReplicaSettings,
        model: &Model,
        create: bool,
    ) -> Result<Attached, OpenError> {
        let path = self.workspace_path(name)?;
        replica::attach(settings, (&path, name), self.kinds.references(), model, create)
    }

    /// Whether its workspaces are replicas of a journal.
    pub(super) fn has_journal(&self) -> bool {
        self.journal.is_some()
    }

    /// Whether a workspace exists.
    pub(super) fn exists(&self, name: &str, path: &Path) -> Result<bool, OpenError> {
        match &self.journal {
            None => Ok(super::records::file(path).exists()),
            Some(_) => Ok(self.journal_head(name)?.is_some()),
        }
    }

    fn journal_head(&self, name: &str) -> Result<Option<JournalHead>, OpenError> {
        let Some(settings) = &self.journal else { return Ok(None) };
        let head = wait(settings.journal.head(name));
        head.map_err(|error| journal_error(&*settings.journal, error))
    }

    /// The names of the workspaces, in order.
    ///
    /// # Errors
    /// When the folder cannot be read.
    pub fn workspaces(&self) -> Result<Vec<String>, OpenError> {
        if let Some(settings) = &self.journal {
            let names = wait(settings.journal.workspaces());
            return names.map_err(|error| journal_error(&*settings.journal, error));
        }
        let folder = self.workspaces_path();
        let io =
            |cause: std::io::Error| OpenError::Io { path: folder.clone(), cause: cause.into() };
        let mut names = Vec::new();
        for entry in std::fs::read_dir(&folder).map_err(io)? {
            let name = entry.map_err(io)?.file_name();
            names.extend(name.to_str().filter(|name| is_workspace_name(name)).map(str::to_owned));
        }
        names.sort();
        Ok(names)
    }

    pub(super) fn workspaces_path(&self) -> PathBuf {
        self.folder.join("workspaces")
    }

    pub(super) fn workspace_path(&self, name: &str) -> Result<PathBuf, OpenError> {
        if !is_workspace_name(name) {
            return Err(OpenError::Name { name: name.to_owned() });
        }
        Ok(self.workspaces_path().join(name))
    }

    /// Opens a workspace and creates it if it does not exist.
    ///
    /// # Errors
    /// When the name is not valid, or the workspace cannot be opened; see [`OpenError`].
    pub fn workspace(
        &self,
        name: &str,
        embedder: SharedEmbedder,
    ) -> Result<EmbeddedStore, OpenError> {
        self.open_folder(name, &self.workspace_path(name)?, embedder)
    }

    /// Opens a workspace that exists.
    ///
    /// # Errors
    /// When there is no such workspace, or it cannot be opened; see [`OpenError`].
    pub fn existing_workspace(
        &self,
        name: &str,
        embedder: SharedEmbedder,
    ) -> Result<EmbeddedStore, OpenError> {
        let path = self.workspace_path(name)?;
        if !self.exists(name, &path)? {
            return Err(self.missing(name));
        }
        self.open_folder(name, &path, embedder)
    }

    /// Removes a workspace with everything in it. Close it first.
    ///
    /// The folder is renamed before it is deleted, so the workspace is gone at once even if it is
    /// still in use. Files that cannot be deleted now are deleted when the data folder is opened
    /// again.
    ///
    /// # Errors
    /// When there is no such workspace, or its folder cannot be removed.
    pub fn remove(&self, name: &str) -> Result<(), OpenError> {
        let path = self.workspace_path(name)?;
        let removed_there = match &self.journal {
            Some(settings) => wait(settings.journal.remove(name))
                .map_err(|error| journal_error(&*settings.journal, error))?,
            None => false,
        };
        let workspaces = self.workspaces_path();
        let mut unused_paths =
            (0_u32..).map(|n| workspaces.join(format!("{REMOVED_PREFIX}{n}-{name}")));
        let removed = unused_paths.find(|path| !path.exists()).unwrap_or_else(|| path.clone());
        match std::fs::rename(&path, &removed) {
            Ok(()) => {
                let _ = std::fs::remove_dir_all(&removed);
                Ok(())
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                if removed_there {
                    Ok(())
                } else {
                    Err(self.missing(name))
                }
            }
            Err(error) => Err(OpenError::Io { path, cause: error.into() }),
        }
    }
}

impl Stores for DataFolder {
    fn open(
        &self,
        name: &str,
        embedder: SharedEmbedder,
    ) -> Result<Arc<dyn Maintenance>, OpenError> {
        Ok(Arc::new(AsyncStore::new(Arc::new(self.workspace(name, embedder)?))))
    }

    fn open_existing(
        &self,
        name: &str,
        embedder: SharedEmbedder,
    ) -> Result<Arc<dyn Maintenance>, OpenError> {
        Ok(Arc::new(AsyncStore::new(Arc::new(self.existing_workspace(name, embedder)?))))
    }

    fn create(
        &self,
        name: &str,
        embedder: SharedEmbedder,
        first: Batch,
    ) -> Result<Arc<dyn Maintenance>, OpenError> {
        let store = DataFolder::create(self, name, embedder, first)?;
        Ok(Arc::new(AsyncStore::new(Arc::new(store))))
    }

    fn names(&self) -> Result<Vec<String>, OpenError> {
        self.workspaces()
    }

    fn stored_model(&self, name: &str) -> Result<Option<Model>, OpenError> {
        let path = self.workspace_path(name)?;
        if let Some(settings) = &self.journal {
            let head = self.journal_head(name)?;
            // One without entries has no model yet: whoever writes the first one says which.
            if head.is_none_or(|head| head.position == Position::START) {
                return Ok(None);
            }
            let unused = Model { name: String::new(), version: String::new(), dimensions: 0 };
            let _opening = self.residents.open(name);
            self.attach(name, settings, &unused, false)?;
        }
        super::records::stored_model(&path)
    }

    fn remove(&self, name: &str) -> Result<(), OpenError> {
        DataFolder::remove(self, name)
    }

    fn journal(&self) -> Option<Arc<dyn Journal>> {
        self.journal.as_ref().map(|settings| Arc::clone(&settings.journal))
    }

    fn kinds(&self) -> &Arc<Kinds> {
        &self.kinds
    }
}

/// The prefix of the folders of removed workspaces. No workspace name begins with it.
const REMOVED_PREFIX: &str = ".removed-";

/// Deletes what remains of removed workspaces, and of those whose making was interrupted. Failures are
/// ignored and retried at the next opening.
fn delete_remains(workspaces: &Path) -> std::io::Result<()> {
    let is_remains = |name: &str| {
        let starts = [REMOVED_PREFIX, UNFINISHED_PREFIX, replica::INCOMING_PREFIX];
        starts.iter().any(|start| name.starts_with(start))
    };
    for entry in std::fs::read_dir(workspaces)? {
        let entry = entry?;
        if entry.file_name().to_str().is_some_and(is_remains) {
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
    Ok(())
}

/// Takes the lock, with retries for a moment: a child process that is just being started holds a
/// copy of every lock of its parent until it runs.
fn try_lock(file: &File) -> Result<(), TryLockError> {
    for _ in 0..LOCK_TRIES {
        match file.try_lock() {
            Err(TryLockError::WouldBlock) => std::thread::sleep(LOCK_WAIT),
            other => return other,
        }
    }
    file.try_lock()
}

/// Whether a text is a valid workspace name, and so a valid folder name on every system.
fn is_workspace_name(name: &str) -> bool {
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

    use super::{DataFolder, is_workspace_name};
    use crate::store::error::OpenError;

    #[test]
    fn what_is_removed_is_gone_at_once_and_what_is_left_of_it_swept_later() {
        let folder = tempfile::tempdir().unwrap();
        let data_folder = DataFolder::open(folder.path()).unwrap();
        let open = data_folder.workspace("acme", Arc::new(BuiltIn::new())).unwrap();
        data_folder.remove("acme").unwrap();
        assert_eq!(data_folder.workspaces().unwrap(), [] as [&str; 0]);
        assert!(matches!(data_folder.remove("acme"), Err(OpenError::Missing { .. })));
        drop((open, data_folder));
        let left = folder.path().join("workspaces/.removed-0-acme/text");
        std::fs::create_dir_all(&left).unwrap();
        let data_folder = DataFolder::open(folder.path()).unwrap();
        assert!(!left.exists());
        assert_eq!(data_folder.workspaces().unwrap(), [] as [&str; 0]);
    }

    #[test]
    fn a_name_is_a_folder_and_nothing_else() {
        for name in ["a", "acme", "team-7", "x.y_z", &"a".repeat(64)] {
            assert!(is_workspace_name(name), "{name}");
        }
        for name in ["", ".", "..", "-a", "A", "a/b", "a\\b", "a\0", "é", "a ", "a."] {
            assert!(!is_workspace_name(name), "{name}");
        }
        assert!(!is_workspace_name(&"a".repeat(65)));
    }
}
