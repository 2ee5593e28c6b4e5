//! Reading posting lists in windows of neighbouring documents.

use tantivy::TERMINATED;
use tantivy::postings::BlockSegmentPostings;
use tantivy::schema::IndexRecordOption;

use super::TextError;
use super::reader::TextSegment;
use super::schema::N_FIELDS;

/// Documents per window: small enough for the sums to stay in the CPU's first-level cache.
pub(super) const WINDOW: usize = 8_192;
pub(super) const WINDOW_WORDS: usize = WINDOW / 64;

/// A position in a posting list.
pub(super) struct Cursor {
    postings: BlockSegmentPostings,
    at: usize,
    /// Title, path or body.
    pub(super) field: usize,
}

impl Cursor {
    pub(super) fn new(postings: BlockSegmentPostings, field: usize) -> Cursor {
        Cursor { postings, at: 0, field }
    }

    /// The current document; [`TERMINATED`] at the end.
    pub(super) fn document(&self) -> u32 {
        self.postings.docs().get(self.at).copied().unwrap_or(TERMINATED)
    }

    pub(super) fn length(&self) -> u32 {
        self.postings.doc_freq()
    }

    /// Calls `visit` with slices of documents before `end` and their frequencies, and advances.
    #[inline]
    pub(super) fn each_before(&mut self, end: u32, mut visit: impl FnMut(&[u32], &[u32])) {
        loop {
            let documents = &self.postings.docs()[self.at..];
            let Some(last) = documents.last() else { return };
            let n = if *last < end {
                documents.len()
            } else {
                documents.partition_point(|document| *document < end)
            };
            let frequencies = self.postings.freqs();
            // Without frequencies their list may be shorter.
            let frequencies = frequencies.get(self.at..self.at + n).unwrap_or(&[]);
            visit(&documents[..n], frequencies);
            if n < documents.len() {
                self.at += n;
                return;
            }
            self.postings.advance();
            self.at = 0;
        }
    }

    /// Advances to the first document at or after `target`; returns whether it is `target`.
    pub(super) fn seek(&mut self, target: u32) -> bool {
        if self.document() < target {
            self.at = self.postings.seek(target);
        }
        self.document() == target
    }
}

/// Cursors of the terms of a group in all fields of a segment: by field, then by term.
pub(super) fn cursors(
    segment: &TextSegment,
    terms: &[String],
    record: IndexRecordOption,
) -> Result<Vec<Cursor>, TextError> {
    let mut cursors = Vec::new();
    for field in 0..N_FIELDS {
        let index = &segment.words[field];
        for term in terms {
            if let Some(info) = index.terms().get(term.as_bytes()).map_err(TextError::read)? {
                let postings = index.read_block_postings_from_terminfo(&info, record);
                cursors.push(Cursor::new(postings.map_err(TextError::read)?, field));
            }
        }
    }
    Ok(cursors)
}

/// The start of the next window that holds a document of any list.
pub(super) fn next_window<'c>(cursors: impl Iterator<Item = &'c Cursor>) -> Option<u32> {
    let first = cursors.map(Cursor::document).min().filter(|first| *first != TERMINATED)?;
    #[expect(clippy::cast_possible_truncation, reason = "a window is small")]
    Some(first - first % WINDOW as u32)
}
