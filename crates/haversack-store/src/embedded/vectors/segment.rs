//! Segments: immutable files of codes that cover a range of revisions.
//!
//! A file starts with sixteen bytes that no format version changes: magic, version, and a checksum
//! of both. They distinguish a newer file from a damaged one.

use std::io;
use std::path::{Path, PathBuf};

use super::codes::{CodeBlock, CodeLayout, Codes, SECTIONS};
use super::{ModelTag, RevisionRange};
use crate::embedded::steps;
use crate::revision::Revision;

pub(super) const FORMAT_VERSION: u32 = 1;
pub(super) const SUFFIX: &str = ".vectors";
pub(super) const UNFINISHED_SUFFIX: &str = ".unfinished";

const MAGIC: [u8; 8] = *b"hvsk-vec";
const HEADER_BYTES: usize = 256;
const PREAMBLE_BYTES: usize = 16;
const LABEL_BYTES: usize = 128;
const LABEL_AT: usize = HEADER_BYTES - 4 - LABEL_BYTES;

/// A model as recorded in segment files.
#[derive(Debug, Clone)]
pub(super) struct SegmentModel {
    pub(super) layout: CodeLayout,
    pub(super) label: String,
    fingerprint: [u8; 32],
}

impl SegmentModel {
    pub(super) fn new(tag: &ModelTag) -> SegmentModel {
        let mut hasher = blake3::Hasher::new();
        for text in [&tag.name, &tag.version] {
            hasher.update(&(text.len() as u64).to_le_bytes());
            hasher.update(text.as_bytes());
        }
        hasher.update(&tag.dimensions.to_le_bytes());
        SegmentModel {
            layout: CodeLayout { dimensions: tag.dimensions as usize },
            label: tag.to_string(),
            fingerprint: *hasher.finalize().as_bytes(),
        }
    }
}

/// The result of inspecting a file.
#[derive(Debug)]
pub(super) enum InspectedSegment {
    Good(VectorSegment),
    Damaged,
    Newer { version: u32 },
    OtherModel { label: String },
}

/// An open segment. It is held in memory: every search reads all of it, and what happens to its
/// file cannot change an answer or end the process.
#[derive(Debug)]
pub(super) struct VectorSegment {
    pub(super) path: PathBuf,
    pub(super) range: RevisionRange,
    /// Of two overlapping segments, the one with the higher generation is valid.
    pub(super) generation: u64,
    count: usize,
    layout: CodeLayout,
    bytes: Vec<u8>,
}

/// The name of a segment's file.
fn file_name(range: RevisionRange, generation: u64) -> String {
    format!("{:016x}-{:016x}-{generation:016x}{SUFFIX}", range.first.get(), range.last.get())
}

impl VectorSegment {
    /// Writes a segment atomically.
    pub(super) fn write(
        folder: &Path,
        model: &SegmentModel,
        range: RevisionRange,
        generation: u64,
        block: &CodeBlock,
    ) -> io::Result<VectorSegment> {
        let sections = block.sections();
        let path = folder.join(file_name(range, generation));
        let mut unfinished = path.clone().into_os_string();
        unfinished.push(UNFINISHED_SUFFIX);
        let mut bytes = header(model, range, generation, block.len(), &sections);
        sections.iter().for_each(|section| bytes.extend_from_slice(section));
        // Somebody may have removed the folder; the segments before are fed again at the next start.
        std::fs::create_dir_all(folder)?;
        let unfinished = PathBuf::from(unfinished);
        let file = steps::create(&unfinished)?;
        steps::write(&file, &unfinished, &bytes)?;
        steps::sync(&file, &unfinished)?;
        drop(file);
        steps::rename(&unfinished, &path)?;
        steps::sync_folder(folder)?;
        Ok(VectorSegment {
            path,
            range,
            generation,
            count: block.len(),
            layout: model.layout,
            bytes,
        })
    }

    /// Opens a file and verifies every byte of it.
    pub(super) fn inspect(path: &Path, model: &SegmentModel) -> io::Result<InspectedSegment> {
        let bytes = steps::read(path)?;
        Ok(VectorSegment::parse(path, model, bytes))
    }

    fn parse(path: &Path, model: &SegmentModel, bytes: Vec<u8>) -> InspectedSegment {
        if bytes.len() < HEADER_BYTES {
            return InspectedSegment::Damaged;
        }
        let header = &bytes[..HEADER_BYTES];
        let version = read_u32(header, 8);
        if header[..8] != MAGIC || read_u32(header, 12) != crc32fast::hash(&header[..12]) {
            return InspectedSegment::Damaged;
        }
        if version > FORMAT_VERSION {
            return InspectedSegment::Newer { version };
        }
        let checksum_at = HEADER_BYTES - 4;
        let checksum = crc32fast::hash(&header[PREAMBLE_BYTES..checksum_at]);
        if version < FORMAT_VERSION || read_u32(header, checksum_at) != checksum {
            return InspectedSegment::Damaged;
        }
        if header[16..48] != model.fingerprint {
            let label = String::from_utf8_lossy(&header[LABEL_AT..checksum_at]);
            return InspectedSegment::OtherModel { label: label.trim_end_matches('\0').to_owned() };
        }
        let range = RevisionRange {
            first: Revision::new(read_u64(header, 48)),
            last: Revision::new(read_u64(header, 56)),
        };
        let generation = read_u64(header, 64);
        let named = path.file_name().is_some_and(|found| *found == *file_name(range, generation));
        let whole = usize::try_from(read_u64(header, 72))
            .ok()
            .filter(|count| *count <= bytes.len())
            .filter(|count| HEADER_BYTES + model.layout.body_bytes(*count) == bytes.len());
        let (true, Some(count)) = (named && range.first <= range.last, whole) else {
            return InspectedSegment::Damaged;
        };
        let path = path.to_owned();
        let segment = VectorSegment { path, range, generation, count, layout: model.layout, bytes };
        if segment.is_intact() {
            InspectedSegment::Good(segment)
        } else {
            InspectedSegment::Damaged
        }
    }

    /// Whether the file still holds what was read from it or written to it.
    pub(super) fn is_intact_on_disk(&self) -> bool {
        self.is_intact() && steps::read(&self.path).is_ok_and(|bytes| bytes == self.bytes)
    }

    /// Whether every section matches its checksum.
    fn is_intact(&self) -> bool {
        let (header, body) = self.bytes.split_at(HEADER_BYTES);
        let sections = self.layout.sections(self.count).into_iter().enumerate();
        read_u32(header, HEADER_BYTES - 4)
            == crc32fast::hash(&header[PREAMBLE_BYTES..HEADER_BYTES - 4])
            && sections
                .map(|(at, section)| (read_u32(header, 80 + at * 4), &body[section]))
                .all(|(checksum, bytes)| checksum == crc32fast::hash(bytes))
    }

    pub(super) fn codes(&self) -> Codes<'_> {
        Codes::of_body(self.layout, self.count, &self.bytes[HEADER_BYTES..])
    }
}

fn header(
    model: &SegmentModel,
    range: RevisionRange,
    generation: u64,
    count: usize,
    sections: &[Vec<u8>; SECTIONS],
) -> Vec<u8> {
    let mut header = MAGIC.to_vec();
    header.extend(FORMAT_VERSION.to_le_bytes());
    header.extend(crc32fast::hash(&header).to_le_bytes());
    header.extend(model.fingerprint);
    for number in [range.first.get(), range.last.get(), generation, count as u64] {
        header.extend(number.to_le_bytes());
    }
    for section in sections {
        header.extend(crc32fast::hash(section).to_le_bytes());
    }
    header.resize(LABEL_AT, 0);
    header.extend(model.label.bytes().take(LABEL_BYTES));
    header.resize(HEADER_BYTES - 4, 0);
    header.extend(crc32fast::hash(&header[PREAMBLE_BYTES..]).to_le_bytes());
    header
}

fn read_u32(bytes: &[u8], at: usize) -> u32 {
    bytes[at..].first_chunk().map_or(0, |number| u32::from_le_bytes(*number))
}

fn read_u64(bytes: &[u8], at: usize) -> u64 {
    bytes[at..].first_chunk().map_or(0, |number| u64::from_le_bytes(*number))
}
