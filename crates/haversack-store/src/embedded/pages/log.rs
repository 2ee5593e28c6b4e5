//! SQLite's write-ahead log: verifying its frames.
//!
//! A log begins with a header of 32 bytes. Each frame is a header of 24 bytes and a page: page
//! number, size of the file after a commit or 0, two salts that must equal those of the log's
//! header, and a checksum that continues the one of the frame before.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::Path;

use super::is_page_size;

pub(super) const LOG_HEADER_BYTES: usize = 32;
pub(super) const FRAME_HEADER_BYTES: usize = 24;

/// The first word of a log; its last bit says that checksums read words big end first.
const MAGIC: u32 = 0x377f_0682;

/// A running checksum: SQLite's sum of pairs of words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct FrameChecksum(u32, u32);

impl FrameChecksum {
    /// The checksum as it is stored.
    fn stored(bytes: &[u8]) -> FrameChecksum {
        FrameChecksum(word(bytes, 0), word(bytes, 4))
    }

    /// Adds bytes, a multiple of eight.
    fn add(mut self, bytes: &[u8], big_endian: bool) -> FrameChecksum {
        let read = |bytes: [u8; 4]| {
            if big_endian { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) }
        };
        for pair in bytes.as_chunks::<8>().0 {
            let [a, b, c, d, e, f, g, h] = *pair;
            self.0 = self.0.wrapping_add(read([a, b, c, d])).wrapping_add(self.1);
            self.1 = self.1.wrapping_add(read([e, f, g, h])).wrapping_add(self.0);
        }
        self
    }
}

fn word(bytes: &[u8], at: usize) -> u32 {
    bytes
        .get(at..)
        .and_then(|bytes| bytes.first_chunk())
        .map_or(0, |word| u32::from_be_bytes(*word))
}

/// The header of a log.
#[derive(Debug, Clone, Copy)]
pub(super) struct LogHeader {
    pub(super) page_size: usize,
    big_endian: bool,
    salts: [u32; 2],
    checksum: FrameChecksum,
}

impl LogHeader {
    /// Reads a header; `None` if SQLite would ignore the log because of it.
    pub(super) fn parse(bytes: &[u8; LOG_HEADER_BYTES]) -> Option<LogHeader> {
        let big_endian = word(bytes, 0) == MAGIC | 1;
        let page_size = usize::try_from(word(bytes, 8)).ok().filter(|size| is_page_size(*size))?;
        let checksum = FrameChecksum::stored(&bytes[24..]);
        let sound = word(bytes, 0) & !1 == MAGIC
            && FrameChecksum(0, 0).add(&bytes[..24], big_endian) == checksum;
        let salts = [word(bytes, 16), word(bytes, 20)];
        sound.then_some(LogHeader { page_size, big_endian, salts, checksum })
    }

    const fn frame_bytes(&self) -> usize {
        FRAME_HEADER_BYTES + self.page_size
    }

    /// The number of the frame, from 0, whose header or page begins at an offset.
    pub(super) fn frame_at(&self, offset: u64, part: FramePart) -> Option<u64> {
        let start = LOG_HEADER_BYTES + if part == FramePart::Page { FRAME_HEADER_BYTES } else { 0 };
        let within = offset.checked_sub(start as u64)?;
        let frame = self.frame_bytes() as u64;
        (within % frame == 0).then_some(within / frame)
    }

    /// The offset of a frame.
    pub(super) const fn offset_of(&self, frame: u64) -> u64 {
        LOG_HEADER_BYTES as u64 + frame * self.frame_bytes() as u64
    }

    /// Whether a frame has the checksum that its header says, after that of the frame before; `None`
    /// stands for the log's header.
    pub(super) fn is_intact(
        &self,
        before: Option<&[u8; FRAME_HEADER_BYTES]>,
        header: &[u8; FRAME_HEADER_BYTES],
        page: &[u8],
    ) -> bool {
        let before = before.map_or(self.checksum, |before| FrameChecksum::stored(&before[16..]));
        let sum = before.add(&header[..8], self.big_endian).add(page, self.big_endian);
        sum == FrameChecksum::stored(&header[16..]) && self.has_salts(header)
    }

    /// Whether a frame was written since the log was last begun anew.
    fn has_salts(&self, header: &[u8; FRAME_HEADER_BYTES]) -> bool {
        [word(header, 8), word(header, 12)] == self.salts
    }
}

/// A part of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FramePart {
    Header,
    Page,
}

/// The end of a log that SQLite has yet to read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LogTail {
    /// There is no log, or all of it is intact.
    Whole,
    /// The last transaction is not complete: the write was interrupted, or the log is damaged there.
    Torn,
    /// Commits lie behind a damaged frame. SQLite would silently leave them out.
    Damaged {
        /// The first damaged frame, from 0.
        frame: u64,
    },
}

/// Examines the log of a file that no connection has open.
///
/// A transaction is synced before the next one begins, so behind an interrupted write there is at
/// most its own commit. Two commits behind a frame that is not intact prove that it was damaged
/// afterwards.
pub(crate) fn inspect_log(path: &Path) -> io::Result<LogTail> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(LogTail::Whole),
        Err(error) => return Err(error),
    };
    let length = file.metadata()?.len();
    let mut reader = BufReader::with_capacity(1 << 20, file);
    let mut start = [0; LOG_HEADER_BYTES];
    if length < LOG_HEADER_BYTES as u64 {
        return Ok(LogTail::Whole);
    }
    reader.read_exact(&mut start)?;
    let Some(log) = LogHeader::parse(&start) else {
        // The header is synced before the first frame is written.
        let frames = length > LOG_HEADER_BYTES as u64 + FRAME_HEADER_BYTES as u64;
        return Ok(if frames { LogTail::Damaged { frame: 0 } } else { LogTail::Torn });
    };
    let mut before = None;
    let mut header = [0; FRAME_HEADER_BYTES];
    let mut page = vec![0; log.page_size];
    let (mut broken, mut commits_behind, mut open) = (None, 0, false);
    for frame in 0..(length - LOG_HEADER_BYTES as u64) / log.frame_bytes() as u64 {
        reader.read_exact(&mut header)?;
        reader.read_exact(&mut page)?;
        let commits = word(&header, 4) > 0;
        if broken.is_none() {
            if log.is_intact(before.as_ref(), &header, &page) {
                (before, open) = (Some(header), !commits);
                continue;
            }
            broken = Some(frame);
        }
        commits_behind += u64::from(commits && log.has_salts(&header));
    }
    Ok(match broken {
        Some(frame) if commits_behind > 1 => LogTail::Damaged { frame },
        _ if commits_behind > 0 || open => LogTail::Torn,
        // Frames of an earlier round of the log, which it has yet to overwrite.
        _ => LogTail::Whole,
    })
}
