//! Texts as word pieces, by the rules of BERT's uncased vocabulary.
//!
//! Words are lower case without accents, punctuation and Han letters stand alone, and a word is
//! read as the longest pieces from left to right. Printable ASCII is read here, because the general
//! way is a hundred times slower; everything else goes through the tokenizers crate, whose rules
//! these are.

use tokenizers::normalizers::BertNormalizer;
use tokenizers::pre_tokenizers::bert::BertPreTokenizer;
use tokenizers::{
    NormalizedString, Normalizer, OffsetReferential, OffsetType, PreTokenizedString, PreTokenizer,
};

use super::table::{Place, Row, Table};

/// Pieces of a text that are read, unknown words included: about 2 KB of English.
pub(super) const PIECES_MAX: usize = 512;
/// Bytes of a text that are read, for texts that hardly have pieces.
const BYTES_MAX: usize = 16 * 1024;
/// Longer words are unknown.
const WORD_CHARS_MAX: usize = 100;
/// Punctuation outside ASCII that is frequent in English and changes under no rule.
const SEPARATORS: [char; 9] = ['‘', '’', '“', '”', '–', '—', '…', '•', '·'];

/// The rows of the pieces at the start of `text`, in order; unknown words have none.
pub(super) fn rows(text: &str, table: &Table) -> Vec<Row> {
    let text = &text[..text.floor_char_boundary(BYTES_MAX)];
    let mut reading = Reading { table, rows: Vec::with_capacity(text.len() / 4), read: 0 };
    for segment in text.split([' ', '\n', '\t', '\r']) {
        if reading.read >= PIECES_MAX {
            break;
        }
        reading.segment(segment);
    }
    reading.rows
}

struct Reading<'a> {
    table: &'a Table,
    rows: Vec<Row>,
    /// Pieces and unknown words so far.
    read: usize,
}

impl Reading<'_> {
    fn segment(&mut self, segment: &str) {
        if segment.bytes().all(|byte| byte.is_ascii_graphic()) {
            self.ascii(segment.as_bytes());
            return;
        }
        for part in segment.split_inclusive(SEPARATORS) {
            let (part, separator) = match part.char_indices().next_back() {
                Some((at, last)) if SEPARATORS.contains(&last) => part.split_at(at),
                _ => (part, ""),
            };
            if part.bytes().all(|byte| byte.is_ascii_graphic()) {
                self.ascii(part.as_bytes());
            } else {
                self.general(part);
            }
            if !separator.is_empty() {
                self.word(separator.as_bytes());
            }
        }
    }

    fn ascii(&mut self, segment: &[u8]) {
        let mut lower = [0u8; WORD_CHARS_MAX];
        for run in segment.chunk_by(|a, b| a.is_ascii_alphanumeric() && b.is_ascii_alphanumeric()) {
            match lower.get_mut(..run.len()) {
                Some(lower) => {
                    lower.copy_from_slice(run);
                    lower.make_ascii_lowercase();
                    self.word(lower);
                }
                None => self.read += 1,
            }
        }
    }

    fn general(&mut self, segment: &str) {
        let mut normal = NormalizedString::from(segment);
        if BertNormalizer::new(true, true, None, true).normalize(&mut normal).is_err() {
            return;
        }
        let mut words = PreTokenizedString::from(normal);
        if BertPreTokenizer.pre_tokenize(&mut words).is_err() {
            return;
        }
        for (word, ..) in words.get_splits(OffsetReferential::Normalized, OffsetType::Byte) {
            if word.chars().count() <= WORD_CHARS_MAX {
                self.word(word.as_bytes());
            } else {
                self.read += 1;
            }
        }
    }

    /// A word counts only if pieces cover the whole of it.
    fn word(&mut self, word: &[u8]) {
        let before = self.rows.len();
        let mut rest = word;
        let mut place = Place::Start;
        while !rest.is_empty() {
            let Some((row, length)) = self.table.longest(rest, place) else {
                self.rows.truncate(before);
                self.read += 1;
                return;
            };
            self.rows.push(row);
            rest = &rest[length..];
            place = Place::Inside;
        }
        self.read += self.rows.len() - before;
        if let Some(over) = self.read.checked_sub(PIECES_MAX) {
            self.rows.truncate(self.rows.len().saturating_sub(over).max(before));
            self.read = PIECES_MAX;
        }
    }
}
