//! The directory of the index: files that are verified when read and not synced to disk.
//!
//! The index is derived data. Checksums reveal at the next opening what a machine crash has
//! damaged, and the index is rebuilt, so syncing each commit would gain nothing. Tantivy adds a
//! checksum to each segment file; this directory adds one to `meta.json`. Tantivy's list of managed
//! files is read from the folder instead of being written ten times per commit.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use tantivy::directory::error::{DeleteError, LockError, OpenReadError, OpenWriteError};
use tantivy::directory::{
    AntiCallToken, Directory, DirectoryLock, FileHandle, INDEX_WRITER_LOCK, Lock, MmapDirectory,
    TerminatingWrite, WatchCallback, WatchHandle, WritePtr,
};

use super::files::IndexFile;
use crate::embedded::steps::{self, Step, before};

/// The length of the checksum line that ends a small file.
const TRAILER_BYTES: usize = "\n#crc32 00000000\n".len();

/// Tantivy's list of the files that it may delete.
const MANAGED: &str = ".managed.json";

/// How often and how fast a busy lock is retried.
const LOCK_TRIES: usize = 20;
const LOCK_WAIT: Duration = Duration::from_millis(10);

/// The files of one folder.
#[derive(Debug, Clone)]
pub(super) struct ChecksummedDirectory {
    /// Tantivy's own, for everything but reading and writing segments.
    system: MmapDirectory,
    root: PathBuf,
    /// Open files, so that each is verified once.
    opened: Arc<Mutex<BTreeMap<PathBuf, Weak<IndexFile>>>>,
    /// Counts temporary file names.
    n_written: Arc<AtomicU64>,
}

impl ChecksummedDirectory {
    pub(super) fn open(root: &Path) -> Result<ChecksummedDirectory, tantivy::TantivyError> {
        let (system, root) = (MmapDirectory::open(root)?, root.to_owned());
        Ok(ChecksummedDirectory { system, root, opened: Arc::default(), n_written: Arc::default() })
    }

    /// Opens a file, or returns it if it is open.
    fn open_file(&self, path: &Path) -> io::Result<Arc<IndexFile>> {
        let lock = || self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(file) = lock().get(path).and_then(Weak::upgrade) {
            return Ok(file);
        }
        let file = Arc::new(IndexFile::open(&self.root.join(path))?);
        let mut opened = lock();
        opened.retain(|_, file| file.strong_count() > 0);
        opened.insert(path.to_owned(), Arc::downgrade(&file));
        Ok(file)
    }

    /// Locks the folder against other indexes, of this process or another.
    pub(super) fn lock_for_writing(&self) -> Result<DirectoryLock, LockError> {
        self.lock(&INDEX_WRITER_LOCK)
    }

    fn lock(&self, lock: &Lock) -> Result<DirectoryLock, LockError> {
        // A process being forked holds a copy of every lock until it executes.
        for _ in 0..LOCK_TRIES {
            match self.system.acquire_lock(lock) {
                Err(LockError::LockBusy) => std::thread::sleep(LOCK_WAIT),
                other => return other,
            }
        }
        self.system.acquire_lock(lock)
    }
}

/// The lock that Tantivy's writer asks for: the index that opens it holds the real one.
struct HeldByIndex;

/// The names of index files, without locks and other dot files.
pub(super) fn file_names(root: &Path) -> io::Result<Vec<PathBuf>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(root)? {
        let entry = entry?;
        let name = entry.file_name();
        if entry.file_type()?.is_file() && !name.as_encoded_bytes().starts_with(b".") {
            names.push(PathBuf::from(name));
        }
    }
    Ok(names)
}

/// The content of a small file, if its checksum matches.
pub(super) fn strip_checksum(mut bytes: Vec<u8>) -> Option<Vec<u8>> {
    let end = bytes.len().checked_sub(TRAILER_BYTES)?;
    if bytes[end..] != *checksum_line(&bytes[..end]).as_bytes() {
        return None;
    }
    bytes.truncate(end);
    Some(bytes)
}

fn checksum_line(content: &[u8]) -> String {
    format!("\n#crc32 {:08x}\n", crc32fast::hash(content))
}

impl Directory for ChecksummedDirectory {
    fn get_file_handle(&self, path: &Path) -> Result<Arc<dyn FileHandle>, OpenReadError> {
        match self.open_file(path) {
            Ok(file) => Ok(file),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                Err(OpenReadError::FileDoesNotExist(path.to_owned()))
            }
            Err(error) => Err(OpenReadError::wrap_io_error(error, path.to_owned())),
        }
    }

    fn delete(&self, path: &Path) -> Result<(), DeleteError> {
        self.opened.lock().unwrap_or_else(PoisonError::into_inner).remove(path);
        self.system.delete(path)
    }

    fn exists(&self, path: &Path) -> Result<bool, OpenReadError> {
        self.system.exists(path)
    }

    fn open_write(&self, path: &Path) -> Result<WritePtr, OpenWriteError> {
        let full = self.root.join(path);
        let file = before(Step::Open, &full)
            .and_then(|()| OpenOptions::new().write(true).create_new(true).open(&full));
        let file = file.map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => OpenWriteError::FileAlreadyExists(path.to_owned()),
            _ => OpenWriteError::wrap_io_error(error, path.to_owned()),
        })?;
        Ok(BufWriter::new(Box::new(UnsyncedFile(file, full))))
    }

    fn atomic_read(&self, path: &Path) -> Result<Vec<u8>, OpenReadError> {
        if path == Path::new(MANAGED) {
            let wrapped = |error| OpenReadError::wrap_io_error(error, path.to_owned());
            let names = file_names(&self.root).map_err(wrapped)?;
            return serde_json::to_vec(&names).map_err(|error| wrapped(error.into()));
        }
        strip_checksum(self.system.atomic_read(path)?).ok_or_else(|| {
            let error = io::Error::new(io::ErrorKind::InvalidData, "the checksum does not match");
            OpenReadError::wrap_io_error(error, path.to_owned())
        })
    }

    fn atomic_write(&self, path: &Path, data: &[u8]) -> io::Result<()> {
        if path == Path::new(MANAGED) {
            return Ok(());
        }
        let number = self.n_written.fetch_add(1, Ordering::Relaxed);
        let aside = self.root.join(format!("aside.{}.{number}", std::process::id()));
        let content = [data, checksum_line(data).as_bytes()].concat();
        steps::write(&steps::create(&aside)?, &aside, &content)?;
        steps::rename(&aside, &self.root.join(path))
    }

    fn sync_directory(&self) -> io::Result<()> {
        Ok(())
    }

    fn acquire_lock(&self, lock: &Lock) -> Result<DirectoryLock, LockError> {
        if lock.filepath == INDEX_WRITER_LOCK.filepath {
            return Ok(DirectoryLock::from(Box::new(HeldByIndex)));
        }
        self.lock(lock)
    }

    fn watch(&self, callback: WatchCallback) -> tantivy::Result<WatchHandle> {
        self.system.watch(callback)
    }
}

/// A file that is flushed but never synced.
struct UnsyncedFile(File, PathBuf);

impl Write for UnsyncedFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        steps::write(&self.0, &self.1, bytes).map(|()| bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

impl TerminatingWrite for UnsyncedFile {
    fn terminate_ref(&mut self, _: AntiCallToken) -> io::Result<()> {
        self.0.flush()
    }
}
