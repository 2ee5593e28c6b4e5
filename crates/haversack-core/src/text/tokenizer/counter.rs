//! Exact counts of many substrings of one text, by prefix sums over blocks that end at seams.

use std::ops::Range;

use super::Tokenizer;
use crate::units::Tokens;

/// Shortest block in bytes. Longer blocks cost more per question, shorter ones more to set up.
const BLOCK_BYTES_MIN: usize = 48;

/// A text counted once, with fast token counts of any substring.
///
/// Between two block borders the count is a subtraction; only the two ends are counted again. Every
/// border is a seam, so the sum is exact.
#[derive(Debug)]
pub struct Counter<'t> {
    tokenizer: &'t dyn Tokenizer,
    text: &'t str,
    /// Ends of the blocks, and the units up to there. The first is (0, 0), the last the whole text.
    borders: Vec<(usize, u64)>,
}

impl<'t> Counter<'t> {
    pub(super) fn new(tokenizer: &'t dyn Tokenizer, text: &'t str) -> Counter<'t> {
        let mut borders = vec![(0, 0)];
        let mut total = 0;
        let mut from = 0;
        let mut before = None;
        let proved = tokenizer.seams_are_proved();
        for (at, after) in text.char_indices().take_while(|_| proved) {
            let seam = at - from >= BLOCK_BYTES_MIN
                && before.is_some_and(|before| tokenizer.seam(before, after));
            if seam {
                total += tokenizer.units(&text[from..at]);
                borders.push((at, total));
                from = at;
            }
            before = Some(after);
        }
        if from < text.len() {
            total += tokenizer.units(&text[from..]);
            borders.push((text.len(), total));
        }
        Counter { tokenizer, text, borders }
    }

    /// The text that is counted.
    #[must_use]
    pub fn text(&self) -> &'t str {
        self.text
    }

    /// Tokens of the whole text.
    #[must_use]
    pub fn total(&self) -> Tokens {
        self.tokenizer.tokens(self.borders.last().map_or(0, |&(_, units)| units))
    }

    /// Tokens of a part of the text.
    ///
    /// # Panics
    /// When the range is not one of the text: out of bounds, or inside a character.
    #[must_use]
    pub fn count(&self, range: Range<usize>) -> Tokens {
        self.tokenizer.tokens(self.units(range))
    }

    /// Units of a part of the text.
    ///
    /// # Panics
    /// When the range is not one of the text.
    #[must_use]
    pub fn units(&self, range: Range<usize>) -> u64 {
        let part = &self.text[range.clone()];
        let first = self.borders.partition_point(|&(at, _)| at < range.start);
        let last = self.borders.partition_point(|&(at, _)| at <= range.end).saturating_sub(1);
        if part.is_empty() || first >= last {
            return self.tokenizer.units(part);
        }
        let (from, units_from) = self.borders[first];
        let (to, units_to) = self.borders[last];
        let head = self.tokenizer.units(&self.text[range.start..from]);
        let tail = self.tokenizer.units(&self.text[to..range.end]);
        head + (units_to - units_from) + tail
    }
}
