//! What one viewer may read at one revision, and what follows from that alone.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use super::reader::{Segment, SegmentKey, TextReader};
use super::schema::N_FIELDS;
use crate::embedded::row::{Bitmap, Row};

/// Remembered document frequencies take no more than about this many bytes.
const FREQUENCIES_BYTES_MAX: usize = 1 << 20;

/// The rows that a viewer may read, with memory for what was counted over them.
///
/// Every row must be in the index before the first search, which holds for rows of a committed
/// revision. Otherwise what was counted too early stays too small.
#[derive(Debug, Default)]
pub struct Visible {
    rows: Bitmap,
    memory: Mutex<Memory>,
}

#[derive(Debug, Default)]
struct Memory {
    /// The index that was counted; another one is another matter.
    index: u64,
    statistics: Option<Statistics>,
    documents: BTreeMap<SegmentKey, Arc<Documents>>,
    frequencies: BTreeMap<Vec<u8>, u32>,
    frequencies_bytes: usize,
}

/// Numbers over all readable documents.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Statistics {
    /// The number of documents, which are chunks.
    pub n_documents: u64,
    /// The sum of the lengths of title, path and body, in terms, as coarse as the index keeps them.
    pub lengths: [u64; N_FIELDS],
}

/// The readable documents of a segment.
#[derive(Debug)]
pub(super) struct Documents {
    pub(super) words: Vec<u64>,
    pub(super) count: u32,
    /// Every document of the segment is readable and alive.
    pub(super) all: bool,
}

impl Documents {
    #[inline]
    pub(super) fn contains(&self, document: u32) -> bool {
        self.words[document as usize / 64] >> (document % 64) & 1 == 1
    }

    fn of(segment: &Segment, rows: &Bitmap) -> Documents {
        let all_rows = &segment.columns().rows;
        let mut words = vec![0_u64; all_rows.len().div_ceil(64)];
        let mut count = 0;
        for (word, rows_of_word) in words.iter_mut().zip(all_rows.chunks(64)) {
            for (bit, row) in rows_of_word.iter().enumerate() {
                *word |= u64::from(rows.contains(Row::new(*row))) << bit;
            }
        }
        if let Some(alive) = segment.reader.alive_bitset() {
            for document in 0..segment.reader.max_doc() {
                if alive.is_deleted(document) {
                    words[document as usize / 64] &= !(1 << (document % 64));
                }
            }
        }
        for word in &words {
            count += word.count_ones();
        }
        Documents { words, count, all: count == segment.reader.max_doc() }
    }
}

impl Visible {
    /// For a viewer who may read these rows.
    #[must_use]
    pub fn new(rows: Bitmap) -> Visible {
        Visible { rows, memory: Mutex::default() }
    }

    /// The rows.
    #[must_use]
    pub const fn rows(&self) -> &Bitmap {
        &self.rows
    }

    fn with_memory<T>(&self, reader: &TextReader, work: impl FnOnce(&mut Memory) -> T) -> T {
        // What is remembered is whole at any time, so a panic elsewhere does no harm.
        let mut memory = self.memory.lock().unwrap_or_else(PoisonError::into_inner);
        if memory.index != reader.index() {
            *memory = Memory { index: reader.index(), ..Memory::default() };
        }
        work(&mut memory)
    }

    /// The readable documents of each segment, in the order of the reader.
    pub(super) fn documents(&self, reader: &TextReader) -> Vec<Arc<Documents>> {
        let mut known: Vec<Option<Arc<Documents>>> = self.with_memory(reader, |memory| {
            let segments = reader.segments().iter();
            segments.map(|segment| memory.documents.get(&segment.key).cloned()).collect()
        });
        if known.iter().any(Option::is_none) {
            for (known, segment) in known.iter_mut().zip(reader.segments()) {
                known.get_or_insert_with(|| Arc::new(Documents::of(segment, &self.rows)));
            }
            self.with_memory(reader, |memory| {
                let keys = reader.segments().iter().map(|segment| segment.key);
                memory.documents = keys.zip(known.iter().flatten().cloned()).collect();
            });
        }
        known.into_iter().flatten().collect()
    }

    /// The numbers over all readable documents.
    pub fn statistics(&self, reader: &TextReader) -> Statistics {
        if let Some(statistics) = self.with_memory(reader, |memory| memory.statistics) {
            return statistics;
        }
        let mut statistics = Statistics { n_documents: 0, lengths: [0; N_FIELDS] };
        for (segment, documents) in reader.segments().iter().zip(self.documents(reader)) {
            statistics.n_documents += u64::from(documents.count);
            let lengths = segment.columns().lengths_of(&documents);
            for (sum, length) in statistics.lengths.iter_mut().zip(lengths) {
                *sum += length;
            }
        }
        self.with_memory(reader, |memory| memory.statistics = Some(statistics));
        statistics
    }

    /// A document frequency, from memory if it was counted before.
    pub(super) fn frequency<E>(
        &self,
        reader: &TextReader,
        key: Vec<u8>,
        count: impl FnOnce() -> Result<u32, E>,
    ) -> Result<u32, E> {
        if let Some(known) =
            self.with_memory(reader, |memory| memory.frequencies.get(&key).copied())
        {
            return Ok(known);
        }
        let frequency = count()?;
        self.with_memory(reader, |memory| {
            memory.frequencies_bytes += key.len() + 64;
            if memory.frequencies_bytes > FREQUENCIES_BYTES_MAX {
                memory.frequencies.clear();
                memory.frequencies_bytes = key.len() + 64;
            }
            memory.frequencies.insert(key, frequency);
        });
        Ok(frequency)
    }
}
