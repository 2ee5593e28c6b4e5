//! The limits that hold for every reader. A reader that meets one says so in a failure or a notice.

/// Bytes of a file that is read into memory as a whole.
pub const FILE_BYTES_MAX: u64 = 256 << 20;

/// Bytes of one entry of an archive, decompressed.
pub const ENTRY_BYTES_MAX: u64 = 128 << 20;

/// Bytes that are decompressed from one archive in all.
pub const ARCHIVE_BYTES_MAX: u64 = 512 << 20;

/// Bytes that are decompressed from one archive or compressed file that is read piece by piece.
pub(crate) const STREAM_BYTES_MAX: u64 = 4 << 30;

/// How many times larger than its file a stream may be beyond [`ARCHIVE_BYTES_MAX`]. Chats shrink to a tenth;
/// what shrinks to a hundredth was made to fill disks.
pub(crate) const RATIO_MAX: u64 = 60;

/// Entries of an archive.
pub const ENTRIES_MAX: usize = 20_000;

/// Nested elements of a document: tags in tags, lists in lists, attachments in attachments.
pub const DEPTH_MAX: usize = 200;

/// Pages, slides or sheets of a document.
pub const PAGES_MAX: usize = 10_000;

/// Bytes of the text of one part. Longer texts are truncated, with a notice.
pub const PART_BYTES_MAX: usize = 15 << 20;

/// Parts of one file.
pub const PARTS_MAX: usize = 1_000_000;

/// Bytes at the start of a file by which formats are told apart.
pub const HEAD_BYTES: usize = 64 << 10;

/// Notices of one file. Further ones are dropped.
pub const NOTICES_MAX: usize = 100;
