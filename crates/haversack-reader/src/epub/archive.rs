//! The entries of a book's archive, with limits that hold while they are decompressed.

use std::io::Read;

use zip::ZipArchive;
use zip::result::ZipError;

use crate::limits::{ARCHIVE_BYTES_MAX, ENTRIES_MAX, ENTRY_BYTES_MAX};
use crate::part::ReadFailure;
use crate::source::ReadSeek;

/// The archive of a book.
pub(super) struct Archive<'f> {
    zip: ZipArchive<&'f mut dyn ReadSeek>,
    bytes: u64,
}

impl<'f> Archive<'f> {
    /// Opens an archive.
    pub(super) fn open(input: &'f mut dyn ReadSeek) -> Result<Archive<'f>, ReadFailure> {
        let zip = ZipArchive::new(input).map_err(failure_of)?;
        if zip.len() > ENTRIES_MAX {
            return Err(ReadFailure::too_large("entries of a book", ENTRIES_MAX as u64));
        }
        Ok(Archive { zip, bytes: 0 })
    }

    /// Decompresses an entry. None if there is none of this name.
    pub(super) fn read(&mut self, name: &str) -> Result<Option<Vec<u8>>, ReadFailure> {
        let entry = match self.zip.by_name(name) {
            Ok(entry) => entry,
            Err(ZipError::FileNotFound) => return Ok(None),
            Err(error) => return Err(failure_of(error)),
        };
        let limit = ENTRY_BYTES_MAX.min(ARCHIVE_BYTES_MAX.saturating_sub(self.bytes));
        let mut bytes = Vec::new();
        // One more than allowed shows that there is more.
        let read = entry.take(limit + 1).read_to_end(&mut bytes);
        read.map_err(|error| ReadFailure::malformed(format!("{name}: {error}")))?;
        self.bytes += bytes.len() as u64;
        match bytes.len() as u64 > limit {
            true => Err(ReadFailure::too_large(format!("{name}, decompressed"), limit)),
            false => Ok(Some(bytes)),
        }
    }
}

/// What an error of the archive means for the file.
fn failure_of(error: ZipError) -> ReadFailure {
    match error {
        ZipError::Io(error) => ReadFailure::from(error),
        ZipError::InvalidPassword => ReadFailure::Encrypted,
        ZipError::UnsupportedArchive(what) if what.contains("assword") => ReadFailure::Encrypted,
        error => ReadFailure::malformed(error.to_string()),
    }
}
