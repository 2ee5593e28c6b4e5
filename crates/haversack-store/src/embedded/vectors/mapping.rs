//! The one place that maps files into memory.

use std::fs::File;
use std::io;

use memmap2::Mmap;

/// Maps a whole file for reading.
#[expect(unsafe_code, reason = "mapping a file is unsafe, because others could change it")]
pub(super) fn map(file: &File) -> io::Result<Mmap> {
    // SAFETY: the bytes must not change while they are mapped. Segments are written under another
    // name, renamed once complete and never opened for writing again; removing one leaves the
    // mapping as it is. The folder belongs to the one process that has the workspace open.
    unsafe { Mmap::map(file) }
}
