//! Reads the entries of ZIP archives, with limits that hold while they are decompressed.

use std::io::Read;

use zip::ZipArchive;
use zip::result::ZipError;

use crate::limits::{ARCHIVE_BYTES_MAX, ENTRIES_MAX, ENTRY_BYTES_MAX};
use crate::part::ReadFailure;
use crate::source::{ReadSeek, SourceFile};

/// Bytes that are decompressed from one archive when its entries are read piece by piece.
const STREAM_BYTES_MAX: u64 = 4 << 30;

/// How many times larger than the archive a stream may be beyond [`ARCHIVE_BYTES_MAX`]. Chats shrink to a
/// tenth; what shrinks to a hundredth was made to fill disks.
const RATIO_MAX: u64 = 60;

/// A ZIP archive whose entries are bounded.
pub(crate) struct Archive<'a> {
    zip: ZipArchive<&'a mut dyn ReadSeek>,
    names: Vec<String>,
    left: u64,
    stream_left: u64,
}

impl<'a> Archive<'a> {
    /// Opens an archive.
    pub(crate) fn open(source: &'a mut SourceFile<'_>) -> Result<Archive<'a>, ReadFailure> {
        let bytes = source.bytes();
        let zip = ZipArchive::new(source.rewound()?).map_err(|error| zip_failure(&error))?;
        if zip.len() > ENTRIES_MAX {
            return Err(ReadFailure::too_large("entries of an archive", ENTRIES_MAX as u64));
        }
        let names = (0..zip.len()).map(|index| match zip.name_for_index(index) {
            Some(Ok(name)) => name.into_owned(),
            _ => String::new(),
        });
        let names = names.collect();
        let stream_left =
            bytes.saturating_mul(RATIO_MAX).clamp(ARCHIVE_BYTES_MAX, STREAM_BYTES_MAX);
        Ok(Archive { zip, names, left: ARCHIVE_BYTES_MAX, stream_left })
    }

    /// The names of its entries, folders excluded, in their order.
    pub(crate) fn names(&self) -> Vec<String> {
        self.names.iter().filter(|name| !name.is_empty() && !name.ends_with('/')).cloned().collect()
    }

    /// Reads an entry as a whole.
    pub(crate) fn read(&mut self, name: &str) -> Result<Vec<u8>, ReadFailure> {
        let limit = ENTRY_BYTES_MAX.min(self.left);
        let mut all = Vec::new();
        let entry = self.zip.by_name(name).map_err(|error| zip_failure(&error))?;
        let read = entry.take(limit + 1).read_to_end(&mut all);
        read.map_err(|error| ReadFailure::malformed(format!("{name}: {error}")))?;
        if all.len() as u64 > limit {
            return Err(ReadFailure::too_large(format!("{name}, in bytes"), limit));
        }
        self.left -= all.len() as u64;
        Ok(all)
    }

    /// An entry to be read piece by piece.
    pub(crate) fn stream(&mut self, name: &str) -> Result<impl Read, ReadFailure> {
        let entry = self.zip.by_name(name).map_err(|error| zip_failure(&error))?;
        Ok(BoundedEntry { entry, left: &mut self.stream_left })
    }
}

fn zip_failure(error: &ZipError) -> ReadFailure {
    match error {
        ZipError::UnsupportedArchive(what) if *what == ZipError::PASSWORD_REQUIRED => {
            ReadFailure::Encrypted
        }
        error => ReadFailure::malformed(format!("its archive cannot be read: {error}")),
    }
}

struct BoundedEntry<'l, R> {
    entry: R,
    left: &'l mut u64,
}

impl<R: Read> Read for BoundedEntry<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let read = self.entry.read(buffer)?;
        match self.left.checked_sub(read as u64) {
            Some(left) => *self.left = left,
            None => return Err(std::io::Error::other("the archive holds too much")),
        }
        Ok(read)
    }
}
