//! Document frequencies over readable documents, and prefix expansion.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use tantivy::schema::IndexRecordOption;

use super::TextError;
use super::cursor::{Cursor, WINDOW, WINDOW_WORDS, cursors, next_window};
use super::query::TermGroup;
use super::reader::{TextReader, TextSegment};
use super::schema::N_FIELDS;
use super::visible::{VisibleDocuments, VisibleRows};

/// The most terms that a prefix expands to: those in the most readable documents.
pub const EXPANSION_MAX: usize = 64;

/// The longest suffix that a stemmer may remove, in characters.
const SUFFIX_CHARACTERS_MAX: usize = 5;
const STEM_CHARACTERS_MIN: usize = 4;

/// Frequencies of groups with more terms than this are not cached.
const REMEMBERED_TERMS_MAX: usize = 8;

/// The number of readable documents that have any of the terms in any field.
pub(super) fn frequency(
    reader: &TextReader,
    visible: &VisibleRows,
    terms: &[String],
) -> Result<u32, TextError> {
    let count = || {
        let mut count = 0;
        for (segment, documents) in reader.segments().iter().zip(visible.documents(reader)) {
            let cursors = cursors(segment, terms, IndexRecordOption::Basic)?;
            count += count_union(cursors, &documents);
        }
        Ok(count)
    };
    if terms.len() > REMEMBERED_TERMS_MAX {
        return count();
    }
    // Terms hold no zero byte.
    visible.frequency(reader, terms.join("\0").into_bytes(), count)
}

impl TextReader {
    /// The number of readable documents that have a term in any field.
    ///
    /// # Errors
    /// If a file of the index cannot be read.
    pub fn frequency(&self, visible: &VisibleRows, term: &str) -> Result<u64, TextError> {
        frequency(self, visible, &[term.to_owned()]).map(u64::from)
    }
}

/// The number of readable documents in any of the posting lists.
fn count_union(mut cursors: Vec<Cursor>, documents: &VisibleDocuments) -> u32 {
    if let [only] = cursors.as_mut_slice() {
        return if documents.all { only.length() } else { count_single(only, documents) };
    }
    let mut count = 0;
    let mut found = [0_u64; WINDOW_WORDS];
    while let Some(base) = next_window(cursors.iter()) {
        #[expect(clippy::cast_possible_truncation, reason = "a window is small")]
        let end = base + WINDOW as u32;
        for cursor in &mut cursors {
            cursor.each_before(end, |list, _| {
                for document in list {
                    let at = (document - base) as usize;
                    found[at / 64 % WINDOW_WORDS] |= 1 << (at % 64);
                }
            });
        }
        let readable = &documents.words[base as usize / 64..];
        for (found, readable) in found.iter_mut().zip(readable) {
            count += (*found & readable).count_ones();
            *found = 0;
        }
    }
    count
}

fn count_single(cursor: &mut Cursor, documents: &VisibleDocuments) -> u32 {
    let mut count = 0;
    cursor.each_before(tantivy::TERMINATED, |list, _| {
        for document in list {
            count += u32::from(documents.contains(*document));
        }
    });
    count
}

/// The terms of a group and of its prefix, sorted.
pub(super) fn expand_prefix(
    reader: &TextReader,
    visible: &VisibleRows,
    group: &TermGroup,
) -> Result<Vec<String>, TextError> {
    let Some(prefix) = &group.prefix else { return Ok(group.terms.clone()) };
    let mut terms: BTreeSet<String> = most_frequent(reader, visible, prefix)?.into_iter().collect();
    if terms.is_empty() && frequency(reader, visible, &group.terms)? == 0 {
        terms.extend(find_stem(reader, visible, prefix)?);
    }
    terms.extend(group.terms.iter().cloned());
    Ok(terms.into_iter().collect())
}

/// The terms with this prefix that are in the most readable documents.
///
/// The frequency over all documents only orders the counting; it does not affect the result.
fn most_frequent(
    reader: &TextReader,
    visible: &VisibleRows,
    prefix: &str,
) -> Result<Vec<String>, TextError> {
    let mut upper: BTreeMap<Vec<u8>, u64> = BTreeMap::new();
    for segment in reader.segments() {
        for index in &segment.words {
            let range = index.terms().range().ge(prefix.as_bytes());
            let mut stream = range.into_stream().map_err(TextError::read)?;
            while let Some((term, info)) = stream.next() {
                if !term.starts_with(prefix.as_bytes()) {
                    break;
                }
                match upper.get_mut(term) {
                    Some(sum) => *sum += u64::from(info.doc_freq),
                    None => drop(upper.insert(term.to_owned(), u64::from(info.doc_freq))),
                }
            }
        }
    }
    let mut candidates: Vec<(Reverse<u64>, Vec<u8>)> =
        upper.into_iter().map(|(term, sum)| (Reverse(sum), term)).collect();
    candidates.sort_unstable();
    let documents = visible.documents(reader);
    let mut best: BTreeSet<(Reverse<u64>, Vec<u8>)> = BTreeSet::new();
    for (Reverse(sum), term) in candidates {
        if best.len() == EXPANSION_MAX && best.last().is_some_and(|(least, _)| sum < least.0) {
            break;
        }
        let mut readable = 0;
        for (segment, documents) in reader.segments().iter().zip(&documents) {
            readable += occurrences(segment, documents, &term)?;
        }
        if readable > 0 {
            best.insert((Reverse(readable), term));
            if best.len() > EXPANSION_MAX {
                best.pop_last();
            }
        }
    }
    Ok(best.into_iter().filter_map(|(_, term)| String::from_utf8(term).ok()).collect())
}

/// The number of readable documents with a term, summed over the fields.
fn occurrences(
    segment: &TextSegment,
    documents: &VisibleDocuments,
    term: &[u8],
) -> Result<u64, TextError> {
    let mut sum = 0;
    for field in 0..N_FIELDS {
        let index = &segment.words[field];
        if let Some(info) = index.terms().get(term).map_err(TextError::read)? {
            if documents.all {
                sum += u64::from(info.doc_freq);
                continue;
            }
            let postings = index.read_block_postings_from_terminfo(&info, IndexRecordOption::Basic);
            let mut cursor = Cursor::new(postings.map_err(TextError::read)?, field);
            sum += u64::from(count_single(&mut cursor, documents));
        }
    }
    Ok(sum)
}

/// The longest readable term that may be the stem of a nearly complete word.
fn find_stem(
    reader: &TextReader,
    visible: &VisibleRows,
    prefix: &str,
) -> Result<Option<String>, TextError> {
    let ends: Vec<usize> = prefix.char_indices().map(|(at, _)| at).collect();
    for end in ends.iter().skip(STEM_CHARACTERS_MIN).rev().take(SUFFIX_CHARACTERS_MAX) {
        let stem = prefix[..*end].to_owned();
        if frequency(reader, visible, std::slice::from_ref(&stem))? > 0 {
            return Ok(Some(stem));
        }
    }
    Ok(None)
}
