//! Precomputed token counts of parts of a text.

use std::ops::Range;

use super::Tokenizer;

/// A part of a text between two seams, and its token count.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Counted {
    /// Its bytes in the text.
    pub range: Range<usize>,
    /// Its size in units of the tokenizer.
    pub units: u64,
}

impl Counted {
    /// Counts a part of a text between its first and last seam; `None` without seams.
    ///
    /// # Panics
    /// When `part` is not one of the text: out of bounds, or inside a character.
    #[must_use]
    pub fn count_part(
        tokenizer: &dyn Tokenizer,
        text: &str,
        part: Range<usize>,
    ) -> Option<Counted> {
        let inside = &text[part.clone()];
        let range = tokenizer.first_seam(inside)?..tokenizer.last_seam(inside)?;
        if range.is_empty() {
            return None;
        }
        let units = tokenizer.units(&inside[range.clone()]);
        Some(Counted { range: part.start + range.start..part.start + range.end, units })
    }
}
