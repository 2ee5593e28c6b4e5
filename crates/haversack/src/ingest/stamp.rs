//! How a file was when it was read: its length, its time and a hash of its bytes.

use std::fs::{File, Metadata};
use std::io::Read;
use std::path::Path;
use std::time::UNIX_EPOCH;

use haversack_core::units::Timestamp;

/// The length and modification time of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FileStamp {
    pub(super) bytes: u64,
    pub(super) modified: Timestamp,
}

impl FileStamp {
    pub(super) fn from_metadata(file: &Metadata) -> FileStamp {
        let modified = file.modified().ok();
        let millis = modified.map_or(0, |modified| match modified.duration_since(UNIX_EPOCH) {
            Ok(after) => i64::try_from(after.as_millis()).unwrap_or(i64::MAX),
            Err(before) => -i64::try_from(before.duration().as_millis()).unwrap_or(i64::MAX),
        });
        FileStamp { bytes: file.len(), modified: Timestamp::from_millis(millis) }
    }
}

/// A file must have been unchanged for this long when it was read, or a later change might not show
/// in its time. This is the resolution of the coarsest file system clock.
const SETTLED_MILLIS: i64 = 2_000;

impl FileStamp {
    /// Whether every change after the file was read gives it another stamp.
    pub(super) const fn was_settled(self, read: Timestamp) -> bool {
        read.as_millis().saturating_sub(self.modified.as_millis()) >= SETTLED_MILLIS
    }
}

/// Bytes that are read at once for a hash.
const HASH_BUFFER_BYTES: usize = 256 << 10;

/// A hash of a file's bytes, as hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FileHash(pub(super) String);

impl FileHash {
    pub(super) fn of_bytes(bytes: &[u8]) -> FileHash {
        FileHash(blake3::hash(bytes).to_hex()[..32].to_owned())
    }

    /// Reads a file for its hash.
    pub(super) fn of_file(at: &Path) -> std::io::Result<FileHash> {
        let mut file = File::open(at)?;
        let mut hasher = blake3::Hasher::new();
        let mut buffer = vec![0; HASH_BUFFER_BYTES];
        loop {
            match file.read(&mut buffer)? {
                0 => return Ok(FileHash(hasher.finalize().to_hex()[..32].to_owned())),
                read => hasher.update(&buffer[..read]),
            };
        }
    }
}

/// How a file was when it was read, and what it gave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SourceState {
    pub(super) stamp: FileStamp,
    pub(super) hash: FileHash,
    /// How many items it gave.
    pub(super) items: u64,
}
