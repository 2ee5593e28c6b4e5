//! The rows visible to one viewer at one revision, with statistics over them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use super::reader::{SegmentKey, TextReader, TextSegment};
use super::schema::N_FIELDS;
use crate::embedded::row::{Bitmap, Row};

/// The approximate size limit of cached document frequencies, in bytes.
const FREQUENCIES_BYTES_MAX: usize = 1 << 20;

/// The rows that a viewer may read, with cached statistics over them.
///
/// Every row must be in the index before the first search, as rows of a committed revision are.
/// Otherwise counts that were cached too early stay too small.
#[derive(Debug, Default)]
pub struct VisibleRows {
    rows: Bitmap,
    cache: Mutex<CountCache>,
}

#[derive(Debug, Default)]
struct CountCache {
    /// The number of the index that the counts belong to.
    index: u64,
    statistics: Option<Statistics>,
    documents: BTreeMap<SegmentKey, Arc<VisibleDocuments>>,
    frequencies: BTreeMap<Vec<u8>, u32>,
    frequencies_bytes: usize,
}

/// Statistics over all readable documents.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Statistics {
    /// The number of documents, which are chunks.
    pub n_documents: u64,
    /// The summed lengths of title, path and body in terms, at the precision of the index.
    pub lengths: [u64; N_FIELDS],
}

/// The readable documents of a segment.
#[derive(Debug)]
pub(super) struct VisibleDocuments {
    pub(super) words: Vec<u64>,
    pub(super) count: u32,
    /// Every document of the segment is readable and alive.
    pub(super) all: bool,
}

impl VisibleDocuments {
    #[inline]
    pub(super) fn contains(&self, document: u32) -> bool {
        self.words[document as usize / 64] >> (document % 64) & 1 == 1
    }

    fn from_rows(segment: &TextSegment, rows: &Bitmap) -> VisibleDocuments {
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
        VisibleDocuments { words, count, all: count == segment.reader.max_doc() }
    }
}

impl VisibleRows {
    /// The visibility of a viewer who may read these rows.
    #[must_use]
    pub fn new(rows: Bitmap) -> VisibleRows {
        VisibleRows { rows, cache: Mutex::default() }
    }

    /// The rows.
    #[must_use]
    pub const fn rows(&self) -> &Bitmap {
        &self.rows
    }

    /// The bytes that the rows and what is cached with them take, roughly.
    pub(crate) fn bytes(&self) -> usize {
        let cache = self.cache.lock().unwrap_or_else(PoisonError::into_inner);
        let documents = cache.documents.values().map(|documents| documents.words.len() * 8);
        self.rows.bytes() + cache.frequencies_bytes + documents.sum::<usize>()
    }

    fn with_cache<T>(&self, reader: &TextReader, work: impl FnOnce(&mut CountCache) -> T) -> T {
        // The cache is consistent at any time, so a poisoned lock is safe to use.
        let mut cache = self.cache.lock().unwrap_or_else(PoisonError::into_inner);
        if cache.index != reader.index() {
            *cache = CountCache { index: reader.index(), ..CountCache::default() };
        }
        work(&mut cache)
    }

    /// The readable documents of each segment, in the order of the reader.
    pub(super) fn documents(&self, reader: &TextReader) -> Vec<Arc<VisibleDocuments>> {
        let mut known: Vec<Option<Arc<VisibleDocuments>>> = self.with_cache(reader, |cache| {
            let segments = reader.segments().iter();
            segments.map(|segment| cache.documents.get(&segment.key).cloned()).collect()
        });
        if known.iter().any(Option::is_none) {
            for (known, segment) in known.iter_mut().zip(reader.segments()) {
                known.get_or_insert_with(|| {
                    Arc::new(VisibleDocuments::from_rows(segment, &self.rows))
                });
            }
            self.with_cache(reader, |cache| {
                let keys = reader.segments().iter().map(|segment| segment.key);
                cache.documents = keys.zip(known.iter().flatten().cloned()).collect();
            });
        }
        known.into_iter().flatten().collect()
    }

    /// The statistics over all readable documents, cached.
    pub fn statistics(&self, reader: &TextReader) -> Statistics {
        if let Some(statistics) = self.with_cache(reader, |cache| cache.statistics) {
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
        self.with_cache(reader, |cache| cache.statistics = Some(statistics));
        statistics
    }

    /// A document frequency, cached.
    pub(super) fn frequency<E>(
        &self,
        reader: &TextReader,
        key: Vec<u8>,
        count: impl FnOnce() -> Result<u32, E>,
    ) -> Result<u32, E> {
        if let Some(known) = self.with_cache(reader, |cache| cache.frequencies.get(&key).copied()) {
            return Ok(known);
        }
        let frequency = count()?;
        self.with_cache(reader, |cache| {
            cache.frequencies_bytes += key.len() + 64;
            if cache.frequencies_bytes > FREQUENCIES_BYTES_MAX {
                cache.frequencies.clear();
                cache.frequencies_bytes = key.len() + 64;
            }
            cache.frequencies.insert(key, frequency);
        });
        Ok(frequency)
    }
}
