//! The files of the index as Tantivy reads them: verified, and never mapped into memory.
//!
//! A mapped file ends the process when somebody cuts it short or the disk fails under it. Here a
//! small file is held in memory, and of a large one only the ranges that a search needs are read.
//! Every byte of a file is verified against the checksum at its end when it is opened, and each
//! block against its own when it is read later.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use tantivy::HasLen;
use tantivy::directory::{FileHandle, OwnedBytes};

use crate::embedded::steps::{self, Step, before};

/// The largest file that is held in memory. A small workspace so needs no descriptor for its index.
const MEMORY_BYTES_MAX: usize = 128 << 10;

/// The bytes with a checksum of their own.
const BLOCK_BYTES: usize = 4 << 10;

/// The bytes that are read at a time when a file is opened; whole blocks.
const READ_BYTES: usize = 1 << 20;

/// The length of Tantivy's footer and its magic number, at the end of a file.
const ENDING_BYTES: usize = 8;
const FOOTER_MAGIC: u32 = 1337;
const FOOTER_BYTES_MAX: usize = 50_000;

/// What is read of the footer.
#[derive(Debug, Deserialize)]
struct Footer {
    crc: u32,
}

/// A file of a segment. Nobody writes to it any more.
#[derive(Debug)]
pub(super) struct IndexFile {
    path: PathBuf,
    length: usize,
    content: Content,
}

enum Content {
    Memory(OwnedBytes),
    Disk { file: File, checksums: Vec<u32> },
}

impl std::fmt::Debug for Content {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Content::Memory(_) => "Memory",
            Content::Disk { .. } => "Disk",
        })
    }
}

impl IndexFile {
    /// Opens a file and verifies all of it.
    pub(super) fn open(path: &Path) -> io::Result<IndexFile> {
        let file = steps::open(path)?;
        let length = usize::try_from(file.metadata()?.len()).map_err(io::Error::other)?;
        let (body, expected) = footer(&file, length)?;
        let mut hasher = crc32fast::Hasher::new();
        let mut checksums = Vec::with_capacity(length.div_ceil(BLOCK_BYTES));
        let mut buffer = vec![0; length.min(READ_BYTES)];
        for start in (0..length).step_by(READ_BYTES) {
            let part = &mut buffer[..READ_BYTES.min(length - start)];
            read_at(&file, part, start)?;
            hasher.update(&part[..part.len().min(body.saturating_sub(start))]);
            checksums.extend(part.chunks(BLOCK_BYTES).map(crc32fast::hash));
        }
        if hasher.finalize() != expected {
            return Err(damaged("the checksum is wrong"));
        }
        let content = if length <= MEMORY_BYTES_MAX {
            Content::Memory(OwnedBytes::new(buffer))
        } else {
            Content::Disk { file, checksums }
        };
        Ok(IndexFile { path: path.to_owned(), length, content })
    }
}

/// The length of a file before its footer, and the checksum that this part must have.
fn footer(file: &File, length: usize) -> io::Result<(usize, u32)> {
    let cut_off = || io::Error::new(io::ErrorKind::UnexpectedEof, "the file is cut off");
    let end = length.checked_sub(ENDING_BYTES).ok_or_else(cut_off)?;
    let mut ending = [0; ENDING_BYTES];
    read_at(file, &mut ending, end)?;
    let [a, b, c, d, magic @ ..] = ending;
    let size = usize::try_from(u32::from_le_bytes([a, b, c, d])).map_err(io::Error::other)?;
    if u32::from_le_bytes(magic) != FOOTER_MAGIC || size > FOOTER_BYTES_MAX {
        return Err(damaged("the footer is damaged"));
    }
    let body = end.checked_sub(size).ok_or_else(cut_off)?;
    let mut footer = vec![0; size];
    read_at(file, &mut footer, body)?;
    let footer: Footer = serde_json::from_slice(&footer)?;
    Ok((body, footer.crc))
}

fn damaged(what: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

#[cfg(unix)]
fn read_at(file: &File, bytes: &mut [u8], offset: usize) -> io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, bytes, offset as u64)
}

#[cfg(windows)]
fn read_at(file: &File, mut bytes: &mut [u8], offset: usize) -> io::Result<()> {
    let mut offset = offset as u64;
    while !bytes.is_empty() {
        let read = std::os::windows::fs::FileExt::seek_read(file, bytes, offset)?;
        if read == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        offset += read as u64;
        bytes = &mut bytes[read..];
    }
    Ok(())
}

impl HasLen for IndexFile {
    fn len(&self) -> usize {
        self.length
    }
}

impl FileHandle for IndexFile {
    fn read_bytes(&self, range: Range<usize>) -> io::Result<OwnedBytes> {
        if range.start > range.end || range.end > self.length {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "read past the end"));
        }
        let (file, checksums) = match &self.content {
            Content::Memory(bytes) => return Ok(bytes.slice(range)),
            Content::Disk { file, checksums } => (file, checksums),
        };
        if range.is_empty() {
            return Ok(OwnedBytes::empty());
        }
        let first = range.start / BLOCK_BYTES;
        let start = first * BLOCK_BYTES;
        let end = range.end.next_multiple_of(BLOCK_BYTES).min(self.length);
        let mut bytes = vec![0; end - start];
        before(Step::Read, &self.path)?;
        read_at(file, &mut bytes, start)?;
        for (block, checksum) in bytes.chunks(BLOCK_BYTES).zip(&checksums[first..]) {
            if crc32fast::hash(block) != *checksum {
                let what = format!("{} was changed after it was written", self.path.display());
                return Err(io::Error::new(io::ErrorKind::InvalidData, what));
            }
        }
        Ok(OwnedBytes::new(bytes).slice(range.start - start..range.end - start))
    }
}
