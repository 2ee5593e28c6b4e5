//! The audit log: refused and administrative requests. Each line of JSON holds the hash of the one
//! before, so that changed or removed lines are detected. The server and commands may write at the same
//! time.

mod chain;
mod head;
mod names;
#[cfg(test)]
mod tests;

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use haversack_core::units::Timestamp;
use serde::{Deserialize, Serialize};

pub use chain::{Verified, VerifyError, verify};
pub use head::AuditBreak;
pub use names::{ErasedNames, erase_user};

use self::head::{Head, HeadRecord};
use self::names::{NameSalts, without_names};

/// The size at which the log rotates.
const FILE_BYTES_MAX: u64 = 64 << 20;

/// The previous hash of the first line.
const FIRST: &str = "haversack";

/// How much of a file's end is read first to find its last line.
const TAIL_BYTES: u64 = 4 << 10;

/// A line of the log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AuditEntry {
    /// The time.
    pub at: String,
    /// The request id.
    pub request: String,
    /// The credential.
    pub credential: String,
    /// The user that the request claimed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// The operation.
    pub operation: String,
    /// The workspace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workspace: Option<String>,
    /// The key that was administered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// The status of the response.
    pub status: u16,
    /// The problem's code, if there was one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// Refused requests before it that were not logged. Set when the line is written.
    #[serde(skip_serializing_if = "is_zero", default)]
    pub left_out: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks so")]
const fn is_zero(count: &u64) -> bool {
    *count == 0
}

#[derive(Debug, Serialize, Deserialize)]
struct ChainedEntry {
    #[serde(flatten)]
    entry: AuditEntry,
    #[serde(flatten)]
    salts: NameSalts,
    previous: String,
    hash: String,
}

/// The last line of a file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Tail {
    hash: String,
    previous: String,
}

fn hash(entry: &AuditEntry, salts: &NameSalts, previous: &str) -> io::Result<String> {
    let text = serde_json::to_string(&without_names(entry, salts))?;
    Ok(blake3::hash(format!("{previous}\n{text}").as_bytes()).to_hex().to_string())
}

/// The log.
#[derive(Debug)]
pub struct Audit {
    folder: PathBuf,
    bytes_max: u64,
    /// Held, in the process and on the file, while a line is appended.
    lock: Mutex<File>,
    head: HeadRecord,
    left_out: AtomicU64,
}

impl Audit {
    /// Opens or creates the log of a data folder.
    ///
    /// # Errors
    /// When it cannot be read or written.
    pub fn open(folder: &Path) -> io::Result<Audit> {
        Audit::with(folder, FILE_BYTES_MAX)
    }

    fn with(folder: &Path, bytes_max: u64) -> io::Result<Audit> {
        let lock = Mutex::new(lock_file(folder)?);
        let (head, left_out) = (HeadRecord::open(folder)?, AtomicU64::new(0));
        let audit = Audit { folder: folder.to_owned(), bytes_max, lock, head, left_out };
        audit.with_lock(|| {
            // An unwritable log fails now, not at the first line.
            let (_, tail) = open_for_append(&path(folder))?;
            let tail = audit.tail(tail)?;
            audit.check_head(tail.as_ref()).map(drop)
        })?;
        Ok(audit)
    }

    /// The data folder.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The breaks that were found in the log, and not accepted yet.
    ///
    /// # Errors
    /// When they cannot be read.
    pub fn breaks(&self) -> io::Result<Vec<AuditBreak>> {
        self.head.breaks()
    }

    /// Takes the log as it is from now on; returns how many breaks there were.
    ///
    /// # Errors
    /// When that cannot be written.
    pub fn accept_breaks(&self) -> io::Result<usize> {
        self.head.accept()
    }

    /// The last line of the log, given that of the current file; `None` in a new log.
    fn tail(&self, current: Option<Tail>) -> io::Result<Option<Tail>> {
        match current {
            Some(tail) => Ok(Some(tail)),
            None => chain::last_line(&self.folder),
        }
    }

    /// Compares the end of the log with the head that was recorded, and returns the head as it is. A log
    /// without the recorded line is a break, which is recorded and logged: lines that follow continue what
    /// is there.
    fn check_head(&self, tail: Option<&Tail>) -> io::Result<Head> {
        let hash = tail.map_or(FIRST, |tail| tail.hash.as_str());
        let recorded = self.head.head()?;
        if let Some(recorded) = recorded.as_ref().filter(|recorded| recorded.hash == hash) {
            return Ok(recorded.clone());
        }
        // A process may have ended between writing a line and recording it.
        let verified = chain::verify_chain(&self.folder, recorded.as_ref());
        if let (Some(recorded), Err(error)) = (&recorded, &verified) {
            let what = format!("{error}; the last line had the hash {}", recorded.hash);
            tracing::error!(target: "haversack", what, "the audit log is not as it was left");
            self.head.add_break(&AuditBreak { at: now(), what })?;
        }
        let whole = verified.or_else(|_| chain::verify_chain(&self.folder, None));
        // Of a broken chain there is no count; `verify` says where it breaks.
        let lines = whole.map_or(0, |whole| whole.lines);
        let head = Head { lines, hash: hash.to_owned() };
        self.head.set_head(&head)?;
        Ok(head)
    }

    /// Writes a line.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn write(&self, entry: &AuditEntry) -> io::Result<()> {
        self.with_lock(|| self.append(entry))
    }

    /// Counts a refused request that is not logged; the next line holds the count.
    pub(crate) fn count_left_out(&self) {
        self.left_out.fetch_add(1, Ordering::Relaxed);
    }

    /// Runs something while no other process writes.
    fn with_lock<T>(&self, work: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        let lock = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
        lock.lock()?;
        let done = work();
        lock.unlock()?;
        done
    }

    fn append(&self, entry: &AuditEntry) -> io::Result<()> {
        let path = path(&self.folder);
        // Another process may have written or rotated the log.
        let (mut file, tail) = open_for_append(&path)?;
        let Head { lines, hash: previous } = self.check_head(self.tail(tail)?.as_ref())?;
        if file.metadata()?.len() >= self.bytes_max {
            drop(file);
            // Named by its last hash, which the next file continues.
            let name = format!("audit-{}.log", previous.get(..16).unwrap_or_default());
            std::fs::rename(&path, self.folder.join(name))?;
            file = open_for_append(&path)?.0;
        }
        let left_out = self.left_out.load(Ordering::Relaxed);
        let entry = AuditEntry { left_out, ..entry.clone() };
        let salts = NameSalts::new(&entry)?;
        let hash = hash(&entry, &salts, &previous)?;
        let head = Head { lines: lines + 1, hash: hash.clone() };
        let line = ChainedEntry { entry, salts, previous, hash };
        let mut text = serde_json::to_vec(&line)?;
        text.push(b'\n');
        file.write_all(&text)?;
        // Only after the line was written.
        self.left_out.fetch_sub(left_out, Ordering::Relaxed);
        // A line that is recorded must not be lost with the power.
        file.sync_data()?;
        self.head.set_head(&head)
    }
}

fn path(folder: &Path) -> PathBuf {
    folder.join("audit.log")
}

/// A separate lock file, because rotation renames the log.
fn lock_file(folder: &Path) -> io::Result<File> {
    let path = folder.join("audit.lock");
    OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)
}

fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_millis(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}

/// Opens a file for appending and returns its last complete line. A partial line that a
/// crash left is removed.
fn open_for_append(path: &Path) -> io::Result<(File, Option<Tail>)> {
    let mut file =
        OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)?;
    let (last, whole) = read_tail(&mut file)?;
    if whole < file.metadata()?.len() {
        file.set_len(whole)?;
    }
    file.seek(SeekFrom::End(0))?;
    Ok((file, last))
}

/// A file's last line, and the end of its complete lines.
fn read_tail(file: &mut File) -> io::Result<(Option<Tail>, u64)> {
    let length = file.metadata()?.len();
    let mut size = TAIL_BYTES;
    loop {
        let start = length.saturating_sub(size);
        file.seek(SeekFrom::Start(start))?;
        let mut text = Vec::new();
        Read::by_ref(file).take(length - start).read_to_end(&mut text)?;
        let whole = text.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        // The first line is complete only if it starts the file.
        let skipped = usize::from(start > 0);
        let lines = text[..whole].split_inclusive(|byte| *byte == b'\n').skip(skipped);
        let read = |line: &[u8]| serde_json::from_slice::<ChainedEntry>(line).ok();
        let last = lines.filter_map(read).last();
        let last = last.map(|line| Tail { hash: line.hash, previous: line.previous });
        if last.is_some() || start == 0 {
            return Ok((last, start + whole as u64));
        }
        size *= 4;
    }
}

impl AuditEntry {
    /// Formats the time of a line.
    #[must_use]
    pub fn time(at: Timestamp) -> String {
        at.to_string()
    }
}
