//! Fuzzy search: documents whose title, path or short body shares trigrams with a query.

use std::collections::BTreeMap;

use haversack_core::text::trigram::{Trigram, first_trigrams, ratio};
use tantivy::schema::IndexRecordOption;

use super::TextError;
use super::cursor::{Cursor, WINDOW, next_window};
use super::reader::{TextReader, TextSegment};
use super::schema::{N_FIELDS, trigram_term};
use super::visible::{VisibleDocuments, VisibleRows};
use crate::embedded::row::{Bitmap, Row};

/// Trigrams of a query that are used, so that every indexed body can still be similar enough.
pub const QUERY_TRIGRAMS_MAX: usize = 76;

/// The default similarity threshold, the same as in PostgreSQL.
pub const SIMILARITY_MIN: f32 = 0.3;

/// The field in which a document is similar.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FuzzyField {
    /// The title, without headings. Found at the first chunk.
    Title,
    /// The path. Found at the first chunk.
    Path,
    /// The body, if it is short.
    Body,
}

const FIELDS: [FuzzyField; N_FIELDS] = [FuzzyField::Title, FuzzyField::Path, FuzzyField::Body];

/// A similar document.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FuzzyHit {
    /// The version of the item.
    pub row: Row,
    /// The chunk of it.
    pub chunk: u32,
    /// Shared trigrams divided by all distinct trigrams.
    pub similarity: f32,
    /// The most similar field.
    pub field: FuzzyField,
}

/// What a fuzzy search found.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct FuzzyHits {
    /// The most similar first; ties as in a full-text search.
    pub hits: Vec<FuzzyHit>,
    /// The query had more than [`QUERY_TRIGRAMS_MAX`] trigrams; the rest of it was ignored.
    pub cut: bool,
}

/// The trigrams of a query and the similarity threshold.
struct TrigramQuery {
    trigrams: Vec<Trigram>,
    threshold: f32,
    /// The least number of shared trigrams that can reach the threshold.
    shared_min: usize,
}

impl TrigramQuery {
    fn new(query: &str, threshold: f32) -> (Option<TrigramQuery>, bool) {
        let (trigrams, cut) = first_trigrams(query, QUERY_TRIGRAMS_MAX);
        // At best the document has no trigrams but the query's.
        let n = trigrams.len();
        let shared_min = (1..=n).find(|shared| ratio(*shared, n, *shared) >= threshold);
        let wanted = shared_min.map(|shared_min| TrigramQuery { trigrams, threshold, shared_min });
        (wanted, cut)
    }

    /// The similarity to a document of `size` trigrams, if it reaches the threshold.
    fn similarity(&self, shared: usize, size: usize) -> Option<f32> {
        let shared = shared.min(size);
        Some(ratio(shared, self.trigrams.len(), size)).filter(|ratio| *ratio >= self.threshold)
    }
}

impl TextReader {
    /// The documents of `among` that are at least `threshold` similar to the query, best first.
    ///
    /// A body of more than [`BODY_TRIGRAMS_MAX`](super::BODY_TRIGRAMS_MAX) trigrams is never found.
    ///
    /// # Errors
    /// If a file of the index cannot be read.
    pub fn fuzzy(
        &self,
        query: &str,
        visible: &VisibleRows,
        among: &Bitmap,
        limit: usize,
        threshold: f32,
    ) -> Result<FuzzyHits, TextError> {
        let (wanted, cut) = TrigramQuery::new(query, threshold);
        let Some(wanted) = wanted else { return Ok(FuzzyHits { hits: Vec::new(), cut }) };
        let mut found: Vec<(FuzzyHit, u64)> = Vec::new();
        let mut counts = Box::new([0_u8; WINDOW]);
        for (segment, documents) in self.segments().iter().zip(visible.documents(self)) {
            let mut best: BTreeMap<u32, (f32, FuzzyField)> = BTreeMap::new();
            for (at, field) in FIELDS.into_iter().enumerate() {
                let mut visit = |document, similarity| {
                    let known = best.entry(document).or_insert((similarity, field));
                    if known.0 < similarity {
                        *known = (similarity, field);
                    }
                };
                scan_field(segment, at, &documents, &wanted, &mut counts, &mut visit)?;
            }
            for (document, (similarity, field)) in best {
                let row = segment.row(document);
                if among.contains(row) {
                    let chunk = segment.chunk(document);
                    let hit = FuzzyHit { row, chunk, similarity, field };
                    found.push((hit, segment.tie(document)));
                }
            }
        }
        found.sort_unstable_by(|(a, a_tie), (b, b_tie)| {
            let similarity = b.similarity.total_cmp(&a.similarity);
            similarity.then_with(|| (a_tie, a.chunk, a.row).cmp(&(b_tie, b.chunk, b.row)))
        });
        found.truncate(limit);
        Ok(FuzzyHits { hits: found.into_iter().map(|(hit, _)| hit).collect(), cut })
    }
}

/// Counts shared trigrams in one field and calls `visit` with documents that reach the threshold.
///
/// A document that shares enough trigrams is in some of the shorter lists, even if it is in all of
/// the longest. So the longest lists are not scanned; candidates are looked up in them.
fn scan_field(
    segment: &TextSegment,
    field: usize,
    documents: &VisibleDocuments,
    wanted: &TrigramQuery,
    counts: &mut [u8; WINDOW],
    visit: &mut impl FnMut(u32, f32),
) -> Result<(), TextError> {
    let mut short = trigram_cursors(segment, field, wanted)?;
    if short.len() < wanted.shared_min || documents.count == 0 {
        return Ok(());
    }
    short.sort_by_key(Cursor::length);
    let n_long = wanted.shared_min / 2;
    let mut long = short.split_off(short.len() - n_long);
    let count_min = wanted.shared_min - n_long;
    while let Some(base) = next_window(short.iter()) {
        #[expect(clippy::cast_possible_truncation, reason = "a window is small")]
        let end = base + WINDOW as u32;
        for cursor in &mut short {
            cursor.each_before(end, |list, _| {
                for document in list {
                    counts[(document - base) as usize % WINDOW] += 1;
                }
            });
        }
        for (at, counts) in counts.chunks(64).enumerate() {
            let greatest = counts.iter().fold(0, |a: u8, b| a.max(*b));
            if usize::from(greatest) < count_min {
                continue;
            }
            for (bit, count) in counts.iter().enumerate() {
                #[expect(clippy::cast_possible_truncation, reason = "a window is small")]
                let document = base + (at * 64 + bit) as u32;
                let count = usize::from(*count);
                if count < count_min || !documents.contains(document) {
                    continue;
                }
                let size = segment.sizes[field].first(document).unwrap_or(0);
                let size = usize::try_from(size).unwrap_or(usize::MAX / 2);
                if wanted.similarity(count + n_long, size).is_none() {
                    continue;
                }
                let shared = count
                    + long.iter_mut().filter_map(|list| list.seek(document).then_some(())).count();
                if let Some(similarity) = wanted.similarity(shared, size) {
                    visit(document, similarity);
                }
            }
        }
        counts.fill(0);
    }
    Ok(())
}

fn trigram_cursors(
    segment: &TextSegment,
    field: usize,
    wanted: &TrigramQuery,
) -> Result<Vec<Cursor>, TextError> {
    let index = &segment.trigrams[field];
    let mut lists = Vec::with_capacity(wanted.trigrams.len());
    for trigram in &wanted.trigrams {
        let info = index.terms().get(trigram_term(*trigram)).map_err(TextError::read)?;
        if let Some(info) = info {
            let list = index.read_block_postings_from_terminfo(&info, IndexRecordOption::Basic);
            lists.push(Cursor::new(list.map_err(TextError::read)?, field));
        }
    }
    Ok(lists)
}
