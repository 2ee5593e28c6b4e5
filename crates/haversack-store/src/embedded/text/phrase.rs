//! Phrase matching: documents with words at fixed distances.

use tantivy::postings::{Postings, SegmentPostings};
use tantivy::schema::IndexRecordOption;
use tantivy::{DocSet, TERMINATED};

use super::TextError;
use super::query::{Phrase, PhraseSlot};
use super::reader::TextSegment;
use super::schema::N_FIELDS;
use super::visible::VisibleDocuments;

/// The readable documents that contain every phrase, each within one field; `None` if none does.
pub(super) fn documents_with_phrases(
    segment: &TextSegment,
    documents: &VisibleDocuments,
    phrases: &[Phrase],
) -> Result<Option<VisibleDocuments>, TextError> {
    let mut words = documents.words.clone();
    for phrase in phrases {
        let mut found = vec![0_u64; words.len()];
        for field in 0..N_FIELDS {
            mark_field(segment, field, phrase, &words, &mut found)?;
        }
        words = found;
    }
    let count = words.iter().map(|word| word.count_ones()).sum();
    Ok((count > 0).then_some(VisibleDocuments { words, count, all: false }))
}

/// Marks the wanted documents in which a field holds the phrase.
fn mark_field(
    segment: &TextSegment,
    field: usize,
    phrase: &Phrase,
    wanted: &[u64],
    found: &mut [u64],
) -> Result<(), TextError> {
    let mut slots = Vec::with_capacity(phrase.slots.len());
    for slot in &phrase.slots {
        let lists = PositionLists::open(segment, field, slot)?;
        if lists.lists.is_empty() {
            return Ok(());
        }
        slots.push(lists);
    }
    // The rarest word drives the search.
    slots.sort_by_key(|slot| slot.length);
    let Some((rarest, others)) = slots.split_first_mut() else { return Ok(()) };
    let (mut starts, mut next) = (Vec::new(), Vec::new());
    while let Some(document) = rarest.next() {
        let (word, bit) = (document as usize / 64, document % 64);
        if wanted[word] >> bit & 1 == 0 || !others.iter_mut().all(|slot| slot.seek(document)) {
            continue;
        }
        rarest.phrase_starts(document, &mut starts);
        for slot in others.iter_mut() {
            slot.phrase_starts(document, &mut next);
            starts.retain(|start| next.binary_search(start).is_ok());
        }
        if !starts.is_empty() {
            found[word] |= 1 << bit;
        }
    }
    Ok(())
}

/// The posting lists of the forms of one word.
struct PositionLists {
    offset: u32,
    length: u64,
    lists: Vec<SegmentPostings>,
    done: Option<u32>,
}

impl PositionLists {
    fn open(
        segment: &TextSegment,
        field: usize,
        slot: &PhraseSlot,
    ) -> Result<PositionLists, TextError> {
        let index = &segment.words[field];
        let mut lists =
            PositionLists { offset: slot.offset, length: 0, lists: Vec::new(), done: None };
        for term in &slot.terms {
            if let Some(info) = index.terms().get(term.as_bytes()).map_err(TextError::read)? {
                let record = IndexRecordOption::WithFreqsAndPositions;
                let list = index.read_postings_from_terminfo(&info, record);
                lists.lists.push(list.map_err(TextError::read)?);
                lists.length += u64::from(info.doc_freq);
            }
        }
        Ok(lists)
    }

    /// The next document in any list.
    fn next(&mut self) -> Option<u32> {
        if let Some(done) = self.done {
            for list in &mut self.lists {
                if list.doc() == done {
                    list.advance();
                }
            }
        }
        let next = self.lists.iter().map(DocSet::doc).min().filter(|next| *next != TERMINATED)?;
        self.done = Some(next);
        Some(next)
    }

    fn seek(&mut self, document: u32) -> bool {
        let mut has = false;
        for list in &mut self.lists {
            if list.doc() < document {
                list.seek(document);
            }
            has |= list.doc() == document;
        }
        has
    }

    /// The positions where a phrase with this word at its offset would begin, sorted.
    fn phrase_starts(&mut self, document: u32, starts: &mut Vec<u32>) {
        starts.clear();
        for list in &mut self.lists {
            if list.doc() == document {
                list.append_positions_with_offset(0, starts);
            }
        }
        starts.retain(|position| *position >= self.offset);
        starts.iter_mut().for_each(|position| *position -= self.offset);
        starts.sort_unstable();
    }
}
