//! The audit log: who was refused, and who changed what belongs to everyone. Lines of JSON, each with
//! the hash of the one before, so that a line that was changed or taken out shows.

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use haversack_core::units::Timestamp;
use serde::{Deserialize, Serialize};

/// The size at which a new file is begun.
const FILE_BYTES_MAX: u64 = 64 << 20;

/// What a chain begins with.
const FIRST: &str = "haversack";

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
    open: Mutex<Open>,
    left_out: AtomicU64,
}

#[derive(Debug)]
struct Open {
    file: File,
    last: String,
}

impl Audit {
    /// Opens the log of a data folder, which is made if need be.
    ///
    /// # Errors
    /// When it cannot be read or written.
    pub fn open(folder: &Path) -> io::Result<Audit> {
        let (file, last) = begin(&path(folder))?;
        let open = Mutex::new(Open { file, last: last.unwrap_or_else(|| FIRST.to_owned()) });
        Ok(Audit { folder: folder.to_owned(), open, left_out: AtomicU64::new(0) })
    }

    /// Counts a denied request that has no line of its own; the next line tells how many.
    pub(crate) fn leave_out(&self) {
        self.left_out.fetch_add(1, Ordering::Relaxed);
    }

    /// Writes a line.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn write(&self, entry: &Entry) -> io::Result<()> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if open.file.metadata()?.len() >= FILE_BYTES_MAX {
            // Named by its last hash, with which the next file goes on.
            let name = format!("audit-{}.log", open.last.get(..16).unwrap_or_default());
            std::fs::rename(path(&self.folder), self.folder.join(name))?;
            open.file = begin(&path(&self.folder))?.0;
        }
        let left_out = self.left_out.swap(0, Ordering::Relaxed);
        let entry = Entry { left_out, ..entry.clone() };
        let hash = hash(&entry, &open.last)?;
        let line = Line { entry, previous: open.last.clone(), hash: hash.clone() };
        let mut text = serde_json::to_vec(&line)?;
        text.push(b'\n');
        open.file.write_all(&text)?;
        open.last = hash;
        Ok(())
    }
}

fn path(folder: &Path) -> PathBuf {
    folder.join("audit.log")
}

/// Opens a file to write on, and tells the hash of its last whole line. What a crash left of a line
/// is cut off.
fn begin(path: &Path) -> io::Result<(File, Option<String>)> {
    let mut file =
        OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)?;
    let (mut last, mut whole) = (None, 0);
    let mut reader = BufReader::new(&file);
    let mut line = Vec::new();
    while reader.read_until(b'\n', &mut line)? > 0 {
        if line.last() == Some(&b'\n')
            && let Ok(read) = serde_json::from_slice::<Line>(&line)
        {
            last = Some(read.hash);
        }
        if line.last() == Some(&b'\n') {
            whole += line.len() as u64;
        }
        line.clear();
    }
    file.set_len(whole)?;
    file.seek(SeekFrom::End(0))?;
    Ok((file, last))
}

/// Checks a log: how many lines it has, or the first that is not as it was written.
///
/// # Errors
/// When a line was changed, added or taken out; or the file cannot be read.
pub fn verify(folder: &Path) -> io::Result<u64> {
    let mut previous: Option<String> = None;
    let mut count = 0;
    for line in BufReader::new(File::open(path(folder))?).lines() {
        count += 1;
        let broken = |what: &str| {
            io::Error::new(io::ErrorKind::InvalidData, format!("audit.log, line {count}: {what}"))
        };
        let line: Line = serde_json::from_str(&line?).map_err(|_| broken("is not a line of it"))?;
        if previous.as_ref().is_some_and(|previous| *previous != line.previous) {
            return Err(broken("the line before it was changed or taken out"));
        }
        if hash(&line.entry, &line.previous)? != line.hash {
            return Err(broken("was changed"));
        }
        previous = Some(line.hash);
    }
    Ok(count)
}

impl Entry {
    /// A line's time as it is written.
    #[must_use]
    pub fn time(at: Timestamp) -> String {
        at.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(n: u16) -> Entry {
        Entry {
            at: Entry::time(Timestamp::from_millis(i64::from(n))),
            request: format!("r{n}"),
            credential: "k".into(),
            user: None,
            operation: "removeWorkspace".into(),
            workspace: Some("acme".into()),
            status: 200 + n,
            code: None,
            left_out: 0,
        }
    }

    #[test]
    fn a_line_that_was_changed_or_taken_out_shows() {
        let folder = tempfile::tempdir().unwrap();
        for n in 0..3 {
            // Opened anew each time: the chain goes on.
            Audit::open(folder.path()).unwrap().write(&entry(n)).unwrap();
        }
        assert_eq!(verify(folder.path()).unwrap(), 3);
        let text = std::fs::read_to_string(path(folder.path())).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        let check = |lines: &[&str], expected: &str| {
            std::fs::write(path(folder.path()), lines.join("\n") + "\n").unwrap();
            let error = verify(folder.path()).unwrap_err().to_string();
            assert_eq!(error, expected);
        };
        let changed = lines[1].replace("201", "200");
        check(&[lines[0], &changed, lines[2]], "audit.log, line 2: was changed");
        check(
            &[lines[0], lines[2]],
            "audit.log, line 2: the line before it was changed or taken out",
        );
    }

    #[test]
    fn half_a_line_is_cut_off() {
        let folder = tempfile::tempdir().unwrap();
        Audit::open(folder.path()).unwrap().write(&entry(0)).unwrap();
        let mut text = std::fs::read(path(folder.path())).unwrap();
        text.extend_from_slice(b"{\"at\":");
        std::fs::write(path(folder.path()), text).unwrap();
        Audit::open(folder.path()).unwrap().write(&entry(1)).unwrap();
        assert_eq!(verify(folder.path()).unwrap(), 2);
    }
}
