//! The chain of an audit log: its files in their order, and whether each line is as it was written.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use thiserror::Error;

use super::{FIRST, Line, hash, lock_file, tail};

/// What a log that holds together comes to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verified {
    /// How many files it has.
    pub files: u64,
    /// How many lines.
    pub lines: u64,
    /// The hash of the last. Lines that are taken from the end leave nothing that could show it; who
    /// kept this finds out.
    pub last: String,
}

/// Why a log is not known to be whole.
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

/// What is said where a line does not go on from the one before, and where there is none.
const TAKEN_OUT: &str = "what came before it was changed or taken out";
const UNREADABLE: &str = "is not a line of an audit log";

/// One file of a log.
struct Part {
    name: String,
    reader: BufReader<io::Take<File>>,
    /// Its first line, if it has one.
    first: Option<Vec<u8>>,
    /// The hash that this goes on from.
    previous: String,
}

fn failed(file: &str) -> impl Fn(io::Error) -> VerifyError {
    move |cause| VerifyError::Read { file: file.to_owned(), cause }
}

fn broken(file: &str, line: u64, what: &'static str) -> VerifyError {
    VerifyError::Broken { file: file.to_owned(), line, what }
}

/// Checks a log from its first line on, over all its files.
///
/// # Errors
/// When a line was changed, added or taken out, the first included; or a file cannot be read.
pub fn verify(folder: &Path) -> Result<Verified, VerifyError> {
    let mut waiting = parts(folder)?;
    if waiting.is_empty() {
        return Err(VerifyError::Missing { folder: folder.display().to_string() });
    }
    let mut sum = Verified { files: 0, lines: 0, last: FIRST.to_owned() };
    // An empty file is one whose first line is yet to come.
    waiting.retain(|part| part.first.is_some());
    while let Some(at) = waiting.iter().position(|part| part.previous == sum.last) {
        let part = waiting.swap_remove(at);
        if let Some(other) = waiting.iter().find(|other| other.previous == sum.last) {
            return Err(broken(&other.name, 1, "another file has the same lines before it"));
        }
        part.follow(&mut sum)?;
    }
    match orphan(&waiting) {
        Some(part) => Err(broken(&part.name, 1, TAKEN_OUT)),
        None => Ok(sum),
    }
}

/// The first of the files that nothing leads to.
fn orphan(waiting: &[Part]) -> Option<&Part> {
    let leads = |to: &Part| {
        let name = format!("audit-{}.log", to.previous.get(..16).unwrap_or_default());
        waiting.iter().any(|part| part.name == name)
    };
    waiting.iter().find(|part| !leads(part)).or_else(|| waiting.first())
}

/// The files of a log as they are at one moment, by name.
fn parts(folder: &Path) -> Result<Vec<Part>, VerifyError> {
    let wrong = failed("the data folder");
    // A copy that cannot be written is nobody's to change either.
    let lock = lock_file(folder).ok();
    if let Some(lock) = &lock {
        lock.lock().map_err(&wrong)?;
    }
    let mut files = Vec::new();
    for (name, path) in names(folder).map_err(&wrong)? {
        let opened = File::open(path).and_then(|file| Ok((file.metadata()?.len(), file)));
        let (length, file) = opened.map_err(failed(&name))?;
        files.push((name, file.take(length)));
    }
    drop(lock);
    files.into_iter().map(|(name, file)| Part::begin(name, file)).collect()
}

/// The files of a log, in the order of their names.
fn names(folder: &Path) -> io::Result<BTreeMap<String, PathBuf>> {
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

impl Part {
    fn begin(name: String, file: io::Take<File>) -> Result<Part, VerifyError> {
        let reader = BufReader::new(file);
        let mut part = Part { name, reader, first: None, previous: String::new() };
        part.first = part.next()?;
        if let Some(first) = &part.first {
            let line = serde_json::from_slice::<Line>(first);
            part.previous = line.map_err(|_| broken(&part.name, 1, UNREADABLE))?.previous;
        }
        Ok(part)
    }

    /// The next line. Half a line at the end is what a crash left, and is no line.
    fn next(&mut self) -> Result<Option<Vec<u8>>, VerifyError> {
        let mut line = Vec::new();
        self.reader.read_until(b'\n', &mut line).map_err(failed(&self.name))?;
        Ok((line.pop() == Some(b'\n')).then_some(line))
    }

    /// Checks each line, and adds it to the sum.
    fn follow(mut self, sum: &mut Verified) -> Result<(), VerifyError> {
        let (mut count, mut next) = (0, self.first.take());
        while let Some(text) = next {
            count += 1;
            let wrong = |what| broken(&self.name, count, what);
            let line: Line = serde_json::from_slice(&text).map_err(|_| wrong(UNREADABLE))?;
            if line.previous != sum.last {
                return Err(wrong(TAKEN_OUT));
            }
            // Byte for byte: what was added beside the fields was not written by us either.
            let same = serde_json::to_vec(&line).is_ok_and(|written| written == text);
            if !same || hash(&line.entry, &line.previous).ok().as_ref() != Some(&line.hash) {
                return Err(wrong("was changed"));
            }
            sum.last = line.hash;
            sum.lines += 1;
            next = self.next()?;
        }
        sum.files += 1;
        Ok(())
    }
}

/// The hash with which the next line goes on when the file that is written has none: the last of the
/// files before it, which nothing goes on from. A log that has no files yet begins.
pub(super) fn end(folder: &Path) -> io::Result<String> {
    let (mut begins, mut ends) = (BTreeSet::new(), BTreeSet::new());
    for (_, path) in names(folder)? {
        let mut file = File::open(path)?;
        let mut first = Vec::new();
        BufReader::new(&file).read_until(b'\n', &mut first)?;
        begins.extend(serde_json::from_slice::<Line>(&first).map(|line| line.previous));
        ends.extend(tail(&mut file)?.0);
    }
    Ok(ends.difference(&begins).next().cloned().unwrap_or_else(|| FIRST.to_owned()))
}
