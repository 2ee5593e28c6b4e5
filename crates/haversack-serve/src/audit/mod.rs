//! The audit log: who was refused, and who changed what belongs to everyone. Lines of JSON, each with
//! the hash of the one before, so that a line that was changed or taken out shows. Several processes
//! may write it: the server, and commands beside it.

mod chain;
#[cfg(test)]
mod tests;

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use haversack_core::units::Timestamp;
use serde::{Deserialize, Serialize};

pub use chain::{Verified, VerifyError, verify};

/// The size at which a new file is begun.
const FILE_BYTES_MAX: u64 = 64 << 20;

/// What a chain begins with.
const FIRST: &str = "haversack";

/// How much of a file's end is read first to find its last line.
const TAIL_BYTES: u64 = 4 << 10;

/// One line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Entry {
    /// When.
    pub at: String,
    /// Which request, as its answer was told.
    pub request: String,
    /// Which credential.
    pub credential: String,
    /// For whom it asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// Which operation.
    pub operation: String,
    /// In which workspace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workspace: Option<String>,
    /// Which key it was about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// The status of the answer.
    pub status: u16,
    /// The problem's code, if there was one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// How many requests were denied before it without a line of their own. Filled in when the
    /// line is written.
    #[serde(skip_serializing_if = "is_zero", default)]
    pub left_out: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks so")]
const fn is_zero(count: &u64) -> bool {
    *count == 0
}

#[derive(Debug, Serialize, Deserialize)]
struct Line {
    #[serde(flatten)]
    entry: Entry,
    previous: String,
    hash: String,
}

fn hash(entry: &Entry, previous: &str) -> io::Result<String> {
    let text = serde_json::to_string(entry)?;
    Ok(blake3::hash(format!("{previous}\n{text}").as_bytes()).to_hex().to_string())
}

/// The log.
#[derive(Debug)]
pub struct Audit {
    folder: PathBuf,
    bytes_max: u64,
    /// Held, here and in the file system, from the reading of the last line to the end of the next.
    lock: Mutex<File>,
    left_out: AtomicU64,
}

impl Audit {
    /// Opens the log of a data folder, which is made if need be.
    ///
    /// # Errors
    /// When it cannot be read or written.
    pub fn open(folder: &Path) -> io::Result<Audit> {
        Audit::with(folder, FILE_BYTES_MAX)
    }

    fn with(folder: &Path, bytes_max: u64) -> io::Result<Audit> {
        let lock = Mutex::new(lock_file(folder)?);
        let left_out = AtomicU64::new(0);
        let audit = Audit { folder: folder.to_owned(), bytes_max, lock, left_out };
        // What cannot be written is known at once, not when the first line is.
        audit.locked(|| begin(&path(folder)).map(drop))?;
        Ok(audit)
    }

    /// Writes a line.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn write(&self, entry: &Entry) -> io::Result<()> {
        self.locked(|| self.append(entry))
    }

    /// Counts a denied request that has no line of its own; the next line tells how many.
    pub(crate) fn leave_out(&self) {
        self.left_out.fetch_add(1, Ordering::Relaxed);
    }

    /// Does something while nobody else writes.
    fn locked<T>(&self, work: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        let lock = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
        lock.lock()?;
        let done = work();
        lock.unlock()?;
        done
    }

    fn append(&self, entry: &Entry) -> io::Result<()> {
        let path = path(&self.folder);
        // Another process may have written since, or begun another file.
        let (mut file, last) = begin(&path)?;
        let previous = match last {
            Some(last) => last,
            None => chain::end(&self.folder)?,
        };
        if file.metadata()?.len() >= self.bytes_max {
            drop(file);
            // Named by its last hash, with which the next file goes on.
            let name = format!("audit-{}.log", previous.get(..16).unwrap_or_default());
            std::fs::rename(&path, self.folder.join(name))?;
            file = begin(&path)?.0;
        }
        let left_out = self.left_out.load(Ordering::Relaxed);
        let entry = Entry { left_out, ..entry.clone() };
        let hash = hash(&entry, &previous)?;
        let line = Line { entry, previous, hash };
        let mut text = serde_json::to_vec(&line)?;
        text.push(b'\n');
        file.write_all(&text)?;
        // Only now: what could not be written tells nobody.
        self.left_out.fetch_sub(left_out, Ordering::Relaxed);
        Ok(())
    }
}

fn path(folder: &Path) -> PathBuf {
    folder.join("audit.log")
}

/// The file whose lock stands for the log: the log's own files are renamed.
fn lock_file(folder: &Path) -> io::Result<File> {
    let path = folder.join("audit.lock");
    OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)
}

/// Opens a file to write on, and tells the hash of its last whole line. What a crash left of a line
/// is cut off.
fn begin(path: &Path) -> io::Result<(File, Option<String>)> {
    let mut file =
        OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)?;
    let (last, whole) = tail(&mut file)?;
    if whole < file.metadata()?.len() {
        file.set_len(whole)?;
    }
    file.seek(SeekFrom::End(0))?;
    Ok((file, last))
}

/// The hash of a file's last line, and where its whole lines end.
fn tail(file: &mut File) -> io::Result<(Option<String>, u64)> {
    let length = file.metadata()?.len();
    let mut size = TAIL_BYTES;
    loop {
        let start = length.saturating_sub(size);
        file.seek(SeekFrom::Start(start))?;
        let mut text = Vec::new();
        Read::by_ref(file).take(length - start).read_to_end(&mut text)?;
        let whole = text.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        // What stands before the first line's end is a line only if the file begins with it.
        let skipped = usize::from(start > 0);
        let lines = text[..whole].split_inclusive(|byte| *byte == b'\n').skip(skipped);
        let read = |line: &[u8]| serde_json::from_slice::<Line>(line).ok();
        let last = lines.filter_map(read).last().map(|line| line.hash);
        if last.is_some() || start == 0 {
            return Ok((last, start + whole as u64));
        }
        size *= 4;
    }
}

impl Entry {
    /// A line's time as it is written.
    #[must_use]
    pub fn time(at: Timestamp) -> String {
        at.to_string()
    }
}
