//! An immutable snapshot of the index, as of one commit.

use std::fmt;
use std::sync::{Arc, OnceLock};

use tantivy::columnar::Column;
use tantivy::directory::{Directory, META_LOCK};
use tantivy::fieldnorm::FieldNormReader;
use tantivy::index::{InvertedIndexReader, SegmentId, SegmentReader};
use tantivy::{Index, TantivyError};

use super::TextError;
use super::schema::{CHUNK, IndexFields, N_FIELDS, ROW, SIZES, TIE};
use super::visible::VisibleDocuments;
use crate::embedded::row::Row;

/// Identifies a segment and its deletions: a removal changes the key.
pub(super) type SegmentKey = (SegmentId, Option<u64>);

/// A snapshot of the index that later commits do not change. Clones share it.
#[derive(Debug, Clone)]
pub struct TextReader {
    inner: Arc<TextSnapshot>,
}

#[derive(Debug)]
struct TextSnapshot {
    segments: Vec<Arc<TextSegment>>,
    index: u64,
}

/// An opened segment with the readers that searches need.
pub(super) struct TextSegment {
    pub(super) reader: SegmentReader,
    pub(super) key: SegmentKey,
    pub(super) words: [Arc<InvertedIndexReader>; N_FIELDS],
    pub(super) trigrams: [Arc<InvertedIndexReader>; N_FIELDS],
    pub(super) sizes: [Column<u64>; N_FIELDS],
    pub(super) names: Arc<InvertedIndexReader>,
    /// The encoded lengths of title, path and body.
    norms: [FieldNormReader; N_FIELDS],
    rows: Column<u64>,
    chunks: Column<u64>,
    ties: Column<u64>,
    columns: OnceLock<SegmentColumns>,
}

impl fmt::Debug for TextSegment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("TextSegment").field(&self.key).finish()
    }
}

/// Columns unpacked for fast access.
#[derive(Debug)]
pub(super) struct SegmentColumns {
    pub(super) rows: Vec<u32>,
    /// Encoded lengths of title, path and body.
    pub(super) norms: [Vec<u8>; N_FIELDS],
    lengths: [u64; N_FIELDS],
}

impl SegmentColumns {
    /// The summed lengths of these documents, by field.
    pub(super) fn lengths_of(&self, documents: &VisibleDocuments) -> [u64; N_FIELDS] {
        if documents.all {
            return self.lengths;
        }
        std::array::from_fn(|field| {
            let mut sum = 0;
            for (word, norms) in documents.words.iter().zip(self.norms[field].chunks(64)) {
                let mut word = *word;
                while word != 0 {
                    sum += length_of(norms[word.trailing_zeros() as usize]);
                    word &= word - 1;
                }
            }
            sum
        })
    }
}

fn length_of(norm: u8) -> u64 {
    u64::from(FieldNormReader::id_to_fieldnorm(norm))
}

impl TextSegment {
    fn open(reader: SegmentReader, fields: &IndexFields) -> tantivy::Result<TextSegment> {
        let open = |fields: [_; N_FIELDS]| -> tantivy::Result<[_; N_FIELDS]> {
            let [title, path, body] = fields.map(|field| reader.inverted_index(field));
            Ok([title?, path?, body?])
        };
        // Read here, where a failure is an error.
        let [title, path, body] = fields.words.map(|field| reader.get_fieldnorms_reader(field));
        let norms = [title?, path?, body?];
        let columns = reader.fast_fields();
        let [title, path, body] = SIZES.map(|name| columns.u64(name));
        Ok(TextSegment {
            norms,
            key: (reader.segment_id(), reader.delete_opstamp()),
            words: open(fields.words)?,
            trigrams: open(fields.trigrams)?,
            sizes: [title?, path?, body?],
            names: reader.inverted_index(fields.name)?,
            rows: columns.u64(ROW)?,
            chunks: columns.u64(CHUNK)?,
            ties: columns.u64(TIE)?,
            columns: OnceLock::new(),
            reader,
        })
    }

    pub(super) fn columns(&self) -> &SegmentColumns {
        self.columns.get_or_init(|| {
            let max = self.reader.max_doc();
            let rows = (0..max).map(|document| number(&self.rows, document)).collect();
            let norms = self.norms.each_ref().map(|norms| {
                (0..max).map(|document| norms.fieldnorm_id(document)).collect::<Vec<u8>>()
            });
            let lengths = std::array::from_fn(|field| {
                let norms: &Vec<u8> = &norms[field];
                norms.iter().map(|norm| length_of(*norm)).sum()
            });
            SegmentColumns { rows, norms, lengths }
        })
    }

    pub(super) fn row(&self, document: u32) -> Row {
        Row::new(number(&self.rows, document))
    }

    pub(super) fn chunk(&self, document: u32) -> u32 {
        number(&self.chunks, document)
    }

    pub(super) fn tie(&self, document: u32) -> u64 {
        self.ties.first(document).unwrap_or(0)
    }
}

fn number(column: &Column<u64>, document: u32) -> u32 {
    column.first(document).and_then(|value| u32::try_from(value).ok()).unwrap_or(0)
}

impl TextReader {
    /// Opens the last commit, reusing the segments that `before` has open.
    pub(super) fn open(
        index: &Index,
        fields: &IndexFields,
        before: Option<&TextReader>,
        number: u64,
    ) -> Result<TextReader, TextError> {
        let read = |error: TantivyError| TextError::Read(error);
        // Keeps files from being deleted between listing and opening them.
        let _lock = index.directory().acquire_lock(&META_LOCK).map_err(|e| read(e.into()))?;
        let mut segments = Vec::new();
        for segment in index.searchable_segments().map_err(read)? {
            let key = (segment.id(), segment.meta().delete_opstamp());
            let known = before.and_then(|before| {
                before.segments().iter().find(|known| known.key == key).cloned()
            });
            segments.push(match known {
                Some(known) => known,
                None => {
                    let opened = SegmentReader::open(&segment);
                    let opened = opened.and_then(|reader| TextSegment::open(reader, fields));
                    Arc::new(opened.map_err(read)?)
                }
            });
        }
        Ok(TextReader { inner: Arc::new(TextSnapshot { segments, index: number }) })
    }

    pub(super) fn segments(&self) -> &[Arc<TextSegment>] {
        &self.inner.segments
    }

    /// The process-wide number of the index.
    pub(super) fn index(&self) -> u64 {
        self.inner.index
    }

    /// The number of segments; fewer are faster.
    #[must_use]
    pub fn n_segments(&self) -> usize {
        self.inner.segments.len()
    }

    /// Every live document, in no particular order.
    pub fn documents(&self) -> impl Iterator<Item = (Row, u32)> + '_ {
        self.segments().iter().flat_map(|segment| {
            segment
                .reader
                .doc_ids_alive()
                .map(move |document| (segment.row(document), segment.chunk(document)))
        })
    }
}
