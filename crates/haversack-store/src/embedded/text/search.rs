//! Scoring by BM25F over readable documents, term at a time in windows.
//!
//! Floating-point sums depend on their order. Each document's score is summed in the order of the
//! query's terms, and each term's weight in the order of fields, regardless of segments and merges.
//! All statistics are counted over readable documents only.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use tantivy::fieldnorm::FieldNormReader;
use tantivy::schema::IndexRecordOption;

use super::count::{expand_prefix, frequency};
use super::cursor::{Cursor, WINDOW, WINDOW_WORDS, cursors, next_window};
use super::phrase::documents_with_phrases;
use super::query::TextQuery;
use super::reader::{SegmentColumns, TextReader, TextSegment};
use super::schema::N_FIELDS;
use super::visible::{Statistics, VisibleDocuments, VisibleRows};
use super::{TextError, TextHit};
use crate::embedded::row::Bitmap;

/// The parameters of BM25F.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Weights {
    /// Term frequency saturation.
    pub k1: f32,
    /// The weights of title, path and body.
    pub fields: [f32; N_FIELDS],
    /// Length normalisation of title, path and body, from 0 to 1.
    pub b: [f32; N_FIELDS],
}

impl Weights {
    /// Tuned on public question sets.
    pub const DEFAULT: Weights = Weights { k1: 1.2, fields: [2.0, 0.8, 1.0], b: [0.4, 0.4, 0.4] };
}

impl Default for Weights {
    fn default() -> Weights {
        Weights::DEFAULT
    }
}

/// The weight of a term occurrence, by field and encoded field length.
pub(super) struct WeightTables {
    pub(super) k1: f32,
    worth: [[f32; 256]; N_FIELDS],
}

impl WeightTables {
    pub(super) fn new(weights: &Weights, statistics: &Statistics) -> WeightTables {
        let worth = std::array::from_fn(|field| {
            let n_documents = statistics.n_documents.max(1) as f64;
            #[expect(clippy::cast_possible_truncation, reason = "an average needs few digits")]
            let average = (statistics.lengths[field] as f64 / n_documents) as f32;
            let b = weights.b[field];
            std::array::from_fn(|norm| {
                let norm = u8::try_from(norm).unwrap_or(u8::MAX);
                let length = FieldNormReader::id_to_fieldnorm(norm) as f32;
                let relative = if average > 0.0 { length / average } else { 1.0 };
                weights.fields[field] / (1.0 - b + b * relative)
            })
        });
        WeightTables { k1: weights.k1, worth }
    }
}

/// The inverse document frequency of a term in `frequency` of `n_documents`.
pub(super) fn idf(frequency: u32, n_documents: u64) -> f32 {
    let (frequency, n_documents) = (f64::from(frequency), n_documents as f64);
    #[expect(clippy::cast_possible_truncation, reason = "scores have single precision")]
    let idf = libm::log1p((n_documents - frequency + 0.5) / (frequency + 0.5)) as f32;
    idf
}

/// A term group of the query with its expanded terms and weight.
struct ScoredGroup {
    terms: Vec<String>,
    weight: f32,
    required: bool,
}

impl TextReader {
    /// The best `limit` documents of `among`, scored over all readable documents.
    ///
    /// Ties go to the lower `tie`, then the lower chunk, then the lower row. Rows of `among` that
    /// are not readable are not found.
    ///
    /// # Errors
    /// If a file of the index cannot be read.
    pub fn search(
        &self,
        query: &TextQuery,
        visible: &VisibleRows,
        among: &Bitmap,
        limit: usize,
    ) -> Result<Vec<TextHit>, TextError> {
        self.search_with(query, visible, among, limit, &Weights::DEFAULT)
    }

    /// [`TextReader::search`] with other weights.
    ///
    /// # Errors
    /// If a file of the index cannot be read.
    pub fn search_with(
        &self,
        query: &TextQuery,
        visible: &VisibleRows,
        among: &Bitmap,
        limit: usize,
        weights: &Weights,
    ) -> Result<Vec<TextHit>, TextError> {
        if query.is_empty() || limit == 0 {
            return Ok(Vec::new());
        }
        let statistics = visible.statistics(self);
        let mut groups = Vec::with_capacity(query.groups.len());
        for group in &query.groups {
            let terms = expand_prefix(self, visible, group)?;
            let frequency = frequency(self, visible, &terms)?;
            let required = query.require_all && !group.whole;
            if frequency > 0 {
                let weight = group.count as f32 * idf(frequency, statistics.n_documents);
                groups.push(ScoredGroup { terms, weight, required });
            } else if required {
                return Ok(Vec::new());
            }
        }
        let tables = WeightTables::new(weights, &statistics);
        let mut top = TopHits::new(limit, (among != visible.rows()).then_some(among));
        let mut sums = WindowSums::new();
        for (segment, documents) in self.segments().iter().zip(visible.documents(self)) {
            if documents.count == 0 {
                continue;
            }
            let mut narrowed = None;
            if !query.phrases.is_empty() {
                match documents_with_phrases(segment, &documents, &query.phrases)? {
                    Some(found) => narrowed = Some(found),
                    None => continue,
                }
            }
            let documents = narrowed.as_ref().unwrap_or(&documents);
            score_segment(segment, documents, &groups, &tables, &mut sums, &mut top)?;
        }
        Ok(top.into_hits())
    }
}

fn score_segment(
    segment: &TextSegment,
    documents: &VisibleDocuments,
    groups: &[ScoredGroup],
    tables: &WeightTables,
    sums: &mut WindowSums,
    top: &mut TopHits<'_>,
) -> Result<(), TextError> {
    let mut lists = Vec::with_capacity(groups.len());
    for group in groups {
        lists.push(cursors(segment, &group.terms, IndexRecordOption::WithFreqs)?);
    }
    let n_required = groups.iter().filter(|group| group.required).count();
    let columns = segment.columns();
    while let Some(base) = next_window(lists.iter().flatten()) {
        let window = ScoreWindow { base, columns, documents };
        for (group, list) in groups.iter().zip(&mut lists) {
            match list.as_mut_slice() {
                [] => {}
                [only] => sums.add_single(only, &window, group, tables),
                several => sums.add_several(several, &window, group, tables),
            }
        }
        if n_required > 0 {
            sums.keep_complete(n_required);
        }
        top.collect(segment, &window, &mut sums.scores);
    }
    Ok(())
}

/// A window of neighbouring documents of a segment.
struct ScoreWindow<'w> {
    base: u32,
    columns: &'w SegmentColumns,
    documents: &'w VisibleDocuments,
}

impl<'w> ScoreWindow<'w> {
    #[expect(clippy::cast_possible_truncation, reason = "a window is small")]
    const fn end(&self) -> u32 {
        self.base + WINDOW as u32
    }

    fn norms(&self, field: usize) -> &'w [u8] {
        &self.columns.norms[field][self.base as usize..]
    }

    /// The readable documents of the window.
    fn readable(&self) -> &'w [u64] {
        &self.documents.words[self.base as usize / 64..]
    }
}

/// Score accumulators for the documents of a window.
struct WindowSums {
    scores: Box<[f32; WINDOW]>,
    /// Weighted frequencies of one group.
    weighted: Box<[f32; WINDOW]>,
    /// Documents that contain the group.
    found: [u64; WINDOW_WORDS],
    /// The number of required groups found per document.
    n_found: Box<[u8; WINDOW]>,
}

impl WindowSums {
    fn new() -> WindowSums {
        WindowSums {
            scores: Box::new([0.0; WINDOW]),
            weighted: Box::new([0.0; WINDOW]),
            found: [0; WINDOW_WORDS],
            n_found: Box::new([0; WINDOW]),
        }
    }

    /// Adds a group with one posting list: the same sums without the intermediate step.
    fn add_single(
        &mut self,
        cursor: &mut Cursor,
        window: &ScoreWindow<'_>,
        group: &ScoredGroup,
        tables: &WeightTables,
    ) {
        let norms = window.norms(cursor.field);
        let worth = &tables.worth[cursor.field];
        let (k1, weight, base) = (tables.k1, group.weight, window.base);
        let readable = (!window.documents.all).then(|| window.readable());
        let (scores, n_found) = (&mut self.scores, &mut self.n_found);
        cursor.each_before(window.end(), |documents, frequencies| {
            for (document, frequency) in documents.iter().zip(frequencies) {
                let at = (document - base) as usize % WINDOW;
                if readable.is_some_and(|words| words[at / 64] >> (at % 64) & 1 == 0) {
                    continue;
                }
                let weighted = *frequency as f32 * worth[usize::from(norms[at])];
                scores[at] += weight * (weighted / (k1 + weighted));
                n_found[at] += u8::from(group.required);
            }
        });
    }

    fn add_several(
        &mut self,
        cursors: &mut [Cursor],
        window: &ScoreWindow<'_>,
        group: &ScoredGroup,
        tables: &WeightTables,
    ) {
        let base = window.base;
        for cursor in cursors {
            let norms = window.norms(cursor.field);
            let worth = &tables.worth[cursor.field];
            let (weighted, found) = (&mut self.weighted, &mut self.found);
            cursor.each_before(window.end(), |documents, frequencies| {
                for (document, frequency) in documents.iter().zip(frequencies) {
                    let at = (document - base) as usize % WINDOW;
                    found[at / 64] |= 1 << (at % 64);
                    weighted[at] += *frequency as f32 * worth[usize::from(norms[at])];
                }
            });
        }
        for (word_at, found) in self.found.iter_mut().enumerate() {
            let mut word = std::mem::take(found);
            while word != 0 {
                let at = (word_at * 64 + word.trailing_zeros() as usize) % WINDOW;
                word &= word - 1;
                let weighted = std::mem::take(&mut self.weighted[at]);
                self.scores[at] += group.weight * (weighted / (tables.k1 + weighted));
                self.n_found[at] += u8::from(group.required);
            }
        }
    }

    /// Clears the scores of documents that lack a required group.
    fn keep_complete(&mut self, n_required: usize) {
        for (score, n_found) in self.scores.iter_mut().zip(self.n_found.iter_mut()) {
            if usize::from(*n_found) < n_required {
                *score = 0.0;
            }
            *n_found = 0;
        }
    }
}

/// The best documents so far.
struct TopHits<'t> {
    limit: usize,
    among: Option<&'t Bitmap>,
    /// A heap with the worst hit on top.
    best: BinaryHeap<RankedHit>,
    /// The least score that can still enter.
    least: f32,
}

#[derive(Debug, Clone, Copy)]
struct RankedHit {
    hit: TextHit,
    tie: u64,
}

impl Ord for RankedHit {
    fn cmp(&self, other: &RankedHit) -> Ordering {
        let score = other.hit.score.total_cmp(&self.hit.score);
        score.then_with(|| {
            let key = |best: &RankedHit| (best.tie, best.hit.chunk, best.hit.row);
            key(self).cmp(&key(other))
        })
    }
}

impl PartialOrd for RankedHit {
    fn partial_cmp(&self, other: &RankedHit) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for RankedHit {
    fn eq(&self, other: &RankedHit) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for RankedHit {}

impl<'t> TopHits<'t> {
    fn new(limit: usize, among: Option<&'t Bitmap>) -> TopHits<'t> {
        TopHits { limit, among, best: BinaryHeap::new(), least: f32::MIN_POSITIVE }
    }

    /// Collects the readable documents of a window and clears its scores.
    fn collect(
        &mut self,
        segment: &TextSegment,
        window: &ScoreWindow<'_>,
        scores: &mut [f32; WINDOW],
    ) {
        for (at, (readable, scores)) in window.readable().iter().zip(scores.chunks(64)).enumerate()
        {
            let greatest = scores.iter().fold(0.0_f32, |a, b| if *b > a { *b } else { a });
            if *readable == 0 || greatest < self.least {
                continue;
            }
            for (bit, score) in scores.iter().enumerate() {
                if *score >= self.least && readable >> bit & 1 == 1 {
                    #[expect(clippy::cast_possible_truncation, reason = "a window is small")]
                    self.offer(segment, window.base + (at * 64 + bit) as u32, *score);
                }
            }
        }
        scores.fill(0.0);
    }

    fn offer(&mut self, segment: &TextSegment, document: u32, score: f32) {
        let row = segment.row(document);
        if self.among.is_some_and(|among| !among.contains(row)) {
            return;
        }
        let hit = TextHit { row, chunk: segment.chunk(document), score };
        self.best.push(RankedHit { hit, tie: segment.tie(document) });
        if self.best.len() > self.limit {
            self.best.pop();
        }
        if self.best.len() == self.limit
            && let Some(worst) = self.best.peek()
        {
            self.least = worst.hit.score;
        }
    }

    fn into_hits(self) -> Vec<TextHit> {
        self.best.into_sorted_vec().into_iter().map(|best| best.hit).collect()
    }
}
