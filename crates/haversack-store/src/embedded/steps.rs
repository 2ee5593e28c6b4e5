//! The steps to the disk: every file of a workspace is opened, read and written through here, so that
//! tests can make each step fail.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

#[cfg(test)]
pub(crate) use super::faults::{Step, before};

/// A kind of step.
#[cfg(not(test))]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    Open,
    Read,
    Write,
    Sync,
    Truncate,
    Remove,
}

/// Called before each step; an error stands in its place.
#[cfg(not(test))]
#[expect(clippy::unnecessary_wraps, reason = "in tests it fails")]
pub(crate) const fn before(_: Step, _: &Path) -> io::Result<()> {
    Ok(())
}

/// Makes a new file.
pub(crate) fn create(path: &Path) -> io::Result<File> {
    before(Step::Open, path)?;
    File::create(path)
}

/// Opens a file to read.
pub(crate) fn open(path: &Path) -> io::Result<File> {
    before(Step::Open, path)?;
    File::open(path)
}

/// Reads a whole file.
pub(crate) fn read(path: &Path) -> io::Result<Vec<u8>> {
    before(Step::Read, path)?;
    std::fs::read(path)
}

/// Writes bytes to an open file.
pub(crate) fn write(mut file: &File, path: &Path, bytes: &[u8]) -> io::Result<()> {
    let allowed = before(Step::Write, path);
    #[cfg(test)]
    if allowed.is_err() {
        // As a disk does that fails in the middle.
        file.write_all(&bytes[..bytes.len() / 2])?;
    }
    allowed?;
    file.write_all(bytes)
}

/// Makes the content of a file durable.
pub(crate) fn sync(file: &File, path: &Path) -> io::Result<()> {
    before(Step::Sync, path)?;
    file.sync_all()
}

/// Gives a finished file its name.
pub(crate) fn rename(from: &Path, to: &Path) -> io::Result<()> {
    before(Step::Write, to)?;
    std::fs::rename(from, to)
}

/// Removes a file.
pub(crate) fn remove(path: &Path) -> io::Result<()> {
    before(Step::Remove, path)?;
    std::fs::remove_file(path)
}

/// Makes created, renamed and removed file names of a folder durable.
#[cfg(unix)]
pub(crate) fn sync_folder(folder: &Path) -> io::Result<()> {
    let opened = open(folder)?;
    sync(&opened, folder)
}

/// Other systems cannot sync folders; they do it with the file.
#[cfg(not(unix))]
pub(crate) fn sync_folder(_folder: &Path) -> io::Result<()> {
    Ok(())
}
