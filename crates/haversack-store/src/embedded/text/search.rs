//! Scoring by BM25F over readable documents, term at a time in windows.
//!
//! A sum depends on its order. Here each document's score is summed in the order of the query's
//! terms, and each term's weight in the order of fields, whatever segments and merges there are;
//! and every number that goes into it is counted over readable documents alone.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use tantivy::fieldnorm::FieldNormReader;
use tantivy::schema::IndexRecordOption;

use super::count::{expand, frequency};
use super::cursor::{Cursor, WINDOW, WINDOW_WORDS, cursors, next_window};
use super::phrase::matching;
use super::query::TextQuery;
use super::reader::{Columns, Segment, TextReader};
use super::schema::N_FIELDS;
use super::visible::{Documents, Statistics, Visible};
use super::{Hit, TextError};
use crate::embedded::row::Bitmap;

/// How scores are made.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Weights {
    /// How soon more of the same term stops counting.
    pub k1: f32,
    /// What a term in title, path and body is worth.
    pub fields: [f32; N_FIELDS],
    /// How much long titles, paths and bodies are discounted, from 0 to 1.
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

/// What a term's occurrence is worth, by field and code of the field's length.
pub(super) struct Tables {
    pub(super) k1: f32,
    worth: [[f32; 256]; N_FIELDS],
}

impl Tables {
    pub(super) fn new(weights: &Weights, statistics: &Statistics) -> Tables {
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
        Tables { k1: weights.k1, worth }
    }
}

/// How much a term tells that is in `frequency` of `n_documents`.
pub(super) fn idf(frequency: u32, n_documents: u64) -> f32 {
    let (frequency, n_documents) = (f64::from(frequency), n_documents as f64);
    #[expect(clippy::cast_possible_truncation, reason = "scores have single precision")]
    let idf = libm::log1p((n_documents - frequency + 0.5) / (frequency + 0.5)) as f32;
    idf
}

/// A group of the query with its forms and its weight.
struct Scored {
    terms: Vec<String>,
    weight: f32,
    required: bool,
}

impl TextReader {
    /// The best `limit` documents of `among`, scored by what is readable.
    ///
    /// Ties go to the lower `tie`, then the lower chunk, then the lower row. Rows of `among` that
    /// are not readable are not found.
    ///
    /// # Errors
    /// If a file of the index cannot be read.
    pub fn search(
        &self,
        query: &TextQuery,
        visible: &Visible,
        among: &Bitmap,
        limit: usize,
    ) -> Result<Vec<Hit>, TextError> {
        self.search_with(query, visible, among, limit, &Weights::DEFAULT)
    }

    /// The same with other weights.
    ///
    /// # Errors
    /// If a file of the index cannot be read.
    pub fn search_with(
        &self,
        query: &TextQuery,
        visible: &Visible,
        among: &Bitmap,
        limit: usize,
        weights: &Weights,
    ) -> Result<Vec<Hit>, TextError> {
        if query.is_empty() || limit == 0 {
            return Ok(Vec::new());
        }
        let statistics = visible.statistics(self);
        let mut groups = Vec::with_capacity(query.groups.len());
        for group in &query.groups {
            let terms = expand(self, visible, group)?;
            let frequency = frequency(self, visible, &terms)?;
            let required = query.require_all && !group.whole;
            if frequency > 0 {
                let weight = group.count as f32 * idf(frequency, statistics.n_documents);
                groups.push(Scored { terms, weight, required });
            } else if required {
                return Ok(Vec::new());
            }
        }
        let tables = Tables::new(weights, &statistics);
        let mut top = Top::new(limit, (among != visible.rows()).then_some(among));
        let mut sums = Sums::new();
        for (segment, documents) in self.segments().iter().zip(visible.documents(self)) {
            if documents.count == 0 {
                continue;
            }
            let mut narrowed = None;
            if !query.phrases.is_empty() {
                match matching(segment, &documents, &query.phrases)? {
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
    segment: &Segment,
    documents: &Documents,
    groups: &[Scored],
    tables: &Tables,
    sums: &mut Sums,
    top: &mut Top<'_>,
) -> Result<(), TextError> {
    let mut lists = Vec::with_capacity(groups.len());
    for group in groups {
        lists.push(cursors(segment, &group.terms, IndexRecordOption::WithFreqs)?);
    }
    let n_required = groups.iter().filter(|group| group.required).count();
    let columns = segment.columns();
    while let Some(base) = next_window(lists.iter().flatten()) {
        let window = Window { base, columns, documents };
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

/// A stretch of neighbouring documents of a segment.
struct Window<'w> {
    base: u32,
    columns: &'w Columns,
    documents: &'w Documents,
}

impl<'w> Window<'w> {
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

/// Sums for the documents of a window.
struct Sums {
    scores: Box<[f32; WINDOW]>,
    /// Weighted frequencies of one group.
    weighted: Box<[f32; WINDOW]>,
    /// Documents that the group was found in.
    found: [u64; WINDOW_WORDS],
    /// How many required groups were found.
    n_found: Box<[u8; WINDOW]>,
}

impl Sums {
    fn new() -> Sums {
        Sums {
            scores: Box::new([0.0; WINDOW]),
            weighted: Box::new([0.0; WINDOW]),
            found: [0; WINDOW_WORDS],
            n_found: Box::new([0; WINDOW]),
        }
    }

    /// A group with one list: the same sums without the detour.
    fn add_single(
        &mut self,
        cursor: &mut Cursor,
        window: &Window<'_>,
        group: &Scored,
        tables: &Tables,
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
        window: &Window<'_>,
        group: &Scored,
        tables: &Tables,
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

    /// Forgets the scores of documents that lack a required group.
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
struct Top<'t> {
    limit: usize,
    among: Option<&'t Bitmap>,
    /// The worst is on top.
    best: BinaryHeap<Best>,
    /// What a score must reach to be looked at.
    least: f32,
}

#[derive(Debug, Clone, Copy)]
struct Best {
    hit: Hit,
    tie: u64,
}

impl Ord for Best {
    fn cmp(&self, other: &Best) -> Ordering {
        let score = other.hit.score.total_cmp(&self.hit.score);
        score.then_with(|| {
            let key = |best: &Best| (best.tie, best.hit.chunk, best.hit.row);
            key(self).cmp(&key(other))
        })
    }
}

impl PartialOrd for Best {
    fn partial_cmp(&self, other: &Best) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Best {
    fn eq(&self, other: &Best) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Best {}

impl<'t> Top<'t> {
    fn new(limit: usize, among: Option<&'t Bitmap>) -> Top<'t> {
        Top { limit, among, best: BinaryHeap::new(), least: f32::MIN_POSITIVE }
    }

    /// Takes the readable documents of a window and clears its scores.
    fn collect(&mut self, segment: &Segment, window: &Window<'_>, scores: &mut [f32; WINDOW]) {
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

    fn offer(&mut self, segment: &Segment, document: u32, score: f32) {
        let row = segment.row(document);
        if self.among.is_some_and(|among| !among.contains(row)) {
            return;
        }
        let hit = Hit { row, chunk: segment.chunk(document), score };
        self.best.push(Best { hit, tie: segment.tie(document) });
        if self.best.len() > self.limit {
            self.best.pop();
        }
        if self.best.len() == self.limit
            && let Some(worst) = self.best.peek()
        {
            self.least = worst.hit.score;
        }
    }

    fn into_hits(self) -> Vec<Hit> {
        self.best.into_sorted_vec().into_iter().map(|best| best.hit).collect()
    }
}
