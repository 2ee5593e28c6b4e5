//! Word-piece tokenization by the rules of BERT's uncased vocabulary.
//!
//! Words are lower-cased and stripped of accents, punctuation and Han characters are separate
//! words, and a word is split greedily into its longest pieces. Printable ASCII has a fast path, a
//! hundred times faster than the tokenizers crate, which handles everything else.

use tokenizers::normalizers::BertNormalizer;
use tokenizers::pre_tokenizers::bert::BertPreTokenizer;
use tokenizers::{
    NormalizedString, Normalizer, OffsetReferential, OffsetType, PreTokenizedString, PreTokenizer,
};

use super::table::{PiecePosition, PieceTable, TableRow};

/// Maximum number of pieces per text, unknown words included: about 2 KB of English.
pub(super) const PIECES_MAX: usize = 512;
/// Maximum number of bytes per text, for texts with few pieces.
const BYTES_MAX: usize = 16 * 1024;
/// Longer words are unknown.
const WORD_CHARS_MAX: usize = 100;
/// Common non-ASCII punctuation that no rule changes.
const SEPARATORS: [char; 9] = ['‘', '’', '“', '”', '–', '—', '…', '•', '·'];

/// The rows of a text's pieces, in order; unknown words have none.
pub(super) fn rows(text: &str, table: &PieceTable) -> Vec<TableRow> {
    let text = &text[..text.floor_char_boundary(BYTES_MAX)];
    let mut reading = PieceReader { table, rows: Vec::with_capacity(text.len() / 4), read: 0 };
    for segment in text.split([' ', '\n', '\t', '\r']) {
        if reading.read >= PIECES_MAX {
            break;
        }
        reading.read_segment(segment);
    }
    reading.rows
}

struct PieceReader<'a> {
    table: &'a PieceTable,
    rows: Vec<TableRow>,
    /// Pieces and unknown words so far.
    read: usize,
}

impl PieceReader<'_> {
    fn read_segment(&mut self, segment: &str) {
        if segment.bytes().all(|byte| byte.is_ascii_graphic()) {
            self.read_ascii(segment.as_bytes());
            return;
        }
        for part in segment.split_inclusive(SEPARATORS) {
            let (part, separator) = match part.char_indices().next_back() {
                Some((at, last)) if SEPARATORS.contains(&last) => part.split_at(at),
                _ => (part, ""),
            };
            if part.bytes().all(|byte| byte.is_ascii_graphic()) {
                self.read_ascii(part.as_bytes());
            } else {
                self.read_unicode(part);
            }
            if !separator.is_empty() {
                self.read_word(separator.as_bytes());
            }
        }
    }

    fn read_ascii(&mut self, segment: &[u8]) {
        let mut lower = [0u8; WORD_CHARS_MAX];
        for run in segment.chunk_by(|a, b| a.is_ascii_alphanumeric() && b.is_ascii_alphanumeric()) {
            match lower.get_mut(..run.len()) {
                Some(lower) => {
                    lower.copy_from_slice(run);
                    lower.make_ascii_lowercase();
                    self.read_word(lower);
                }
                None => self.read += 1,
            }
        }
    }

    fn read_unicode(&mut self, segment: &str) {
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
                self.read_word(word.as_bytes());
            } else {
                self.read += 1;
            }
        }
    }

    /// Adds the pieces of a word, if they cover it completely.
    fn read_word(&mut self, word: &[u8]) {
        let before = self.rows.len();
        let mut rest = word;
        let mut place = PiecePosition::Start;
        while !rest.is_empty() {
            let Some((row, length)) = self.table.longest(rest, place) else {
                self.rows.truncate(before);
                self.read += 1;
                return;
            };
            self.rows.push(row);
            rest = &rest[length..];
            place = PiecePosition::Inside;
        }
        self.read += self.rows.len() - before;
        if let Some(over) = self.read.checked_sub(PIECES_MAX) {
            self.rows.truncate(self.rows.len().saturating_sub(over).max(before));
            self.read = PIECES_MAX;
        }
    }
}
