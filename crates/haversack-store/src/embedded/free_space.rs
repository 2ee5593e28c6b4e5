//! The free space of the disk: some must stay free, so that what was begun can be finished.
//!
//! The log, the indexes and their merges grow after a batch was accepted. A disk that fills up in the
//! middle of that costs more than a batch that is refused.

use std::fmt;
use std::path::Path;

/// The most bytes that must stay free.
const NEEDED_BYTES_MAX: u64 = 256 << 20;

/// The share of a small disk that must stay free: one in this many bytes.
const NEEDED_SHARE: u64 = 20;

/// Too little space.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Shortage {
    pub(crate) free_bytes: u64,
    pub(crate) needed_bytes: u64,
}

impl fmt::Display for Shortage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Shortage { free_bytes, needed_bytes } = self;
        write!(f, "{free_bytes} bytes are free, and {needed_bytes} must stay free")
    }
}

impl Shortage {
    /// Compares the free bytes of a disk with what its size requires.
    fn of(free_bytes: u64, all_bytes: u64) -> Option<Shortage> {
        let needed_bytes = NEEDED_BYTES_MAX.min(all_bytes / NEEDED_SHARE);
        (free_bytes < needed_bytes).then_some(Shortage { free_bytes, needed_bytes })
    }
}

/// Whether a folder is on a disk with too little space. A disk that cannot be asked counts as having
/// enough: writing will tell.
#[cfg(unix)]
pub(crate) fn shortage(folder: &Path) -> Option<Shortage> {
    let disk = rustix::fs::statvfs(folder).ok()?;
    Shortage::of(
        disk.f_bavail.saturating_mul(disk.f_frsize),
        disk.f_blocks.saturating_mul(disk.f_frsize),
    )
}

/// Other systems are not asked.
#[cfg(not(unix))]
pub(crate) fn shortage(_folder: &Path) -> Option<Shortage> {
    None
}

#[cfg(test)]
mod tests {
    use super::{NEEDED_BYTES_MAX, Shortage};

    #[test]
    fn a_share_of_a_small_disk_and_a_fixed_size_of_a_large_one_stay_free_r5() {
        let megabytes = |count: u64| count << 20;
        let needed = |free, all| Shortage::of(free, all).map(|shortage| shortage.needed_bytes);
        assert_eq!(needed(megabytes(5), megabytes(100)), None);
        assert_eq!(needed(megabytes(5) - 1, megabytes(100)), Some(megabytes(5)));
        assert_eq!(needed(NEEDED_BYTES_MAX, u64::MAX), None);
        assert_eq!(needed(NEEDED_BYTES_MAX - 1, u64::MAX), Some(NEEDED_BYTES_MAX));
        assert_eq!(needed(0, 0), None, "a file system without a size");
    }
}
