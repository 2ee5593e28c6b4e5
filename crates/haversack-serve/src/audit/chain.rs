//! Verifies the hash chain of an audit log across its files.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use thiserror::Error;

use super::head::{self, AuditBreak, Head};
use super::{ChainedEntry, FIRST, Tail, hash, lock_file, read_tail};

/// A verified log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verified {
    /// How many files it has.
    pub files: u64,
    /// How many lines.
    pub lines: u64,
    /// The hash of the last line.
    pub last: String,
    /// Moments at which the log did not end as it had been left, and that were not accepted.
    pub breaks: Vec<AuditBreak>,
}

/// Why a log could not be verified.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum VerifyError {
    /// There is none.
    #[error("there is no audit log in {folder}")]
    Missing {
        /// The data folder.
        folder: String,
    },
    /// A line is not as it was written.
    #[error("{file}, line {line}: {what}")]
    Broken {
        /// The file.
        file: String,
        /// The line, from 1.
        line: u64,
        /// What is wrong.
        what: &'static str,
    },
    /// Lines are missing at its end.
    #[error(
        "the log has {found} lines, and {expected} were written: lines were removed from its end"
    )]
    Cut {
        /// The lines that are there.
        found: u64,
        /// The lines that the control database recorded.
        expected: u64,
    },
    /// A file cannot be read.
    #[error("cannot read {file}")]
    Read {
        /// The file, or the folder.
        file: String,
        /// Why not.
        #[source]
        cause: io::Error,
    },
}

/// Reasons in messages.
const CHAIN_BROKEN: &str = "the lines before it were changed or removed";
const REPLACED: &str = "is not the line that the control database recorded: the log was replaced";
const UNREADABLE: &str = "is not a line of an audit log";

/// One file of a log.
struct AuditFile {
    name: String,
    reader: BufReader<io::Take<File>>,
    /// Its first line, if it has one.
    first: Option<Vec<u8>>,
    /// The previous hash of its first line.
    previous: String,
}

fn failed(file: &str) -> impl Fn(io::Error) -> VerifyError {
    move |cause| VerifyError::Read { file: file.to_owned(), cause }
}

fn broken(file: &str, line: u64, what: &'static str) -> VerifyError {
    VerifyError::Broken { file: file.to_owned(), line, what }
}

/// Verifies a log from its first line, over all its files, to the line that was written last.
///
/// # Errors
/// When a line was changed, added or removed, the first and the last included; or a file cannot be
/// read.
pub fn verify(folder: &Path) -> Result<Verified, VerifyError> {
    // The head first: lines may be written meanwhile.
    let (head, breaks) = head::read(folder).map_err(failed("control.db"))?;
    let head = head.filter(|head| head.lines > 0);
    // A read-only copy needs no lock.
    let lock = lock_file(folder).ok();
    if let Some(lock) = &lock {
        lock.lock().map_err(failed("the data folder"))?;
    }
    let files = open_files(folder)?;
    drop(lock);
    match verify_files(folder, files, head.as_ref()) {
        Err(VerifyError::Missing { folder }) => match head {
            Some(head) => Err(VerifyError::Cut { found: 0, expected: head.lines }),
            None => Err(VerifyError::Missing { folder }),
        },
        verified => Ok(Verified { breaks, ..verified? }),
    }
}

/// Verifies the chain, and that the recorded line stands where it was written. The caller holds the lock:
/// another handle of it would wait for the caller's.
pub(super) fn verify_chain(folder: &Path, head: Option<&Head>) -> Result<Verified, VerifyError> {
    verify_files(folder, open_files(folder)?, head)
}

fn verify_files(
    folder: &Path,
    mut waiting: Vec<AuditFile>,
    head: Option<&Head>,
) -> Result<Verified, VerifyError> {
    if waiting.is_empty() {
        return Err(VerifyError::Missing { folder: folder.display().to_string() });
    }
    let mut sum = Verified { files: 0, lines: 0, last: FIRST.to_owned(), breaks: Vec::new() };
    // An empty file has not been written yet.
    waiting.retain(|part| part.first.is_some());
    while let Some(at) = waiting.iter().position(|part| part.previous == sum.last) {
        let part = waiting.swap_remove(at);
        if let Some(other) = waiting.iter().find(|other| other.previous == sum.last) {
            return Err(broken(&other.name, 1, "another file continues the same line"));
        }
        part.verify_lines(&mut sum, head)?;
    }
    if let Some(part) = orphan(&waiting) {
        return Err(broken(&part.name, 1, CHAIN_BROKEN));
    }
    match head.filter(|head| sum.lines < head.lines) {
        Some(head) => Err(VerifyError::Cut { found: sum.lines, expected: head.lines }),
        None => Ok(sum),
    }
}

/// The first file that continues no other.
fn orphan(waiting: &[AuditFile]) -> Option<&AuditFile> {
    let leads = |to: &AuditFile| {
        let name = format!("audit-{}.log", to.previous.get(..16).unwrap_or_default());
        waiting.iter().any(|part| part.name == name)
    };
    waiting.iter().find(|part| !leads(part)).or_else(|| waiting.first())
}

/// Opens the files of a log at one moment, by name.
fn open_files(folder: &Path) -> Result<Vec<AuditFile>, VerifyError> {
    let wrong = failed("the data folder");
    let mut files = Vec::new();
    for (name, path) in names(folder).map_err(&wrong)? {
        let opened = File::open(path).and_then(|file| Ok((file.metadata()?.len(), file)));
        let (length, file) = opened.map_err(failed(&name))?;
        files.push((name, file.take(length)));
    }
    files.into_iter().map(|(name, file)| AuditFile::begin(name, file)).collect()
}

/// The files of a log, in the order of their names.
pub(super) fn names(folder: &Path) -> io::Result<BTreeMap<String, PathBuf>> {
    let mut names = BTreeMap::new();
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if name == "audit.log" || (name.starts_with("audit-") && name.ends_with(".log")) {
            names.insert(name, entry.path());
        }
    }
    Ok(names)
}

impl AuditFile {
    fn begin(name: String, file: io::Take<File>) -> Result<AuditFile, VerifyError> {
        let reader = BufReader::new(file);
        let mut part = AuditFile { name, reader, first: None, previous: String::new() };
        part.first = part.next_line()?;
        if let Some(first) = &part.first {
            let line = serde_json::from_slice::<ChainedEntry>(first);
            part.previous = line.map_err(|_| broken(&part.name, 1, UNREADABLE))?.previous;
        }
        Ok(part)
    }

    /// Reads the next complete line. A crash may leave a partial one at the end.
    fn next_line(&mut self) -> Result<Option<Vec<u8>>, VerifyError> {
        let mut line = Vec::new();
        self.reader.read_until(b'\n', &mut line).map_err(failed(&self.name))?;
        Ok((line.pop() == Some(b'\n')).then_some(line))
    }

    /// Verifies each line and counts it.
    fn verify_lines(mut self, sum: &mut Verified, head: Option<&Head>) -> Result<(), VerifyError> {
        let (mut count, mut next) = (0, self.first.take());
        while let Some(text) = next {
            count += 1;
            let wrong = |what| broken(&self.name, count, what);
            let line: ChainedEntry =
                serde_json::from_slice(&text).map_err(|_| wrong(UNREADABLE))?;
            if line.previous != sum.last {
                return Err(wrong(CHAIN_BROKEN));
            }
            // Byte for byte, so that added fields are detected too.
            let same = serde_json::to_vec(&line).is_ok_and(|written| written == text);
            if !same
                || hash(&line.entry, &line.salts, &line.previous).ok().as_ref() != Some(&line.hash)
            {
                return Err(wrong("was changed"));
            }
            sum.last = line.hash;
            sum.lines += 1;
            if head.is_some_and(|head| head.lines == sum.lines && head.hash != sum.last) {
                return Err(wrong(REPLACED));
            }
            next = self.next_line()?;
        }
        sum.files += 1;
        Ok(())
    }
}

/// The line that the next one continues when the current file is empty: the last line of the rotated
/// file that no other continues; none in a new log.
pub(super) fn last_line(folder: &Path) -> io::Result<Option<Tail>> {
    let (mut begins, mut ends) = (BTreeSet::new(), Vec::new());
    for (_, path) in names(folder)? {
        let mut file = File::open(path)?;
        let mut first = Vec::new();
        BufReader::new(&file).read_until(b'\n', &mut first)?;
        begins.extend(serde_json::from_slice::<ChainedEntry>(&first).map(|line| line.previous));
        ends.extend(read_tail(&mut file)?.0);
    }
    Ok(ends.into_iter().find(|end| !begins.contains(&end.hash)))
}
