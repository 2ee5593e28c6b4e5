//! Tokenizers: one trait for every way to count tokens, exact wherever a vocabulary is public.
//!
//! Recounting whole texts would dominate the running time, so the trait has *units* and *seams*.
//! Units are additive, and tokens are computed from units at the end (one unit is one token of a
//! vocabulary, or a quarter token of a character estimate). A seam is a boundary between two
//! characters where a tokenizer always starts a new token, whatever the context: there, and only
//! there, counts of parts add up to the count of the whole. [`Counter`] and the selection's tally
//! rely on that.

mod bpe;
mod counted;
mod counter;
mod cut;
mod estimate;
mod hugging_face;

use std::fmt;

use thiserror::Error;

pub use bpe::Encoding;
pub use counted::Counted;
pub use counter::Counter;
pub use estimate::{CharacterEstimate, UpperEstimate};
pub use hugging_face::{HuggingFace, HuggingFaceError};

use crate::units::Tokens;

/// Longest word, in bytes, that is merged into tokens. A longer one counts a token for each byte, which is
/// never too low: merging takes more memory and time than such a word is worth.
pub const WORD_BYTES_MAX: usize = 256 << 10;

/// The accuracy of a count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Accuracy {
    /// Exact, by the model's own vocabulary.
    Exact,
    /// A public vocabulary's count plus a margin, for models whose own is secret: an upper bound.
    Upper {
        /// By how many percent the base count is raised.
        margin_percent: u32,
    },
    /// An estimate from the number of characters. It undercounts JSON by half and Chinese by four
    /// fifths.
    Estimate,
}

impl fmt::Display for Accuracy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Accuracy::Exact => f.write_str("exact"),
            Accuracy::Upper { margin_percent } => {
                write!(f, "upper estimate (+{margin_percent} %)")
            }
            Accuracy::Estimate => f.write_str("estimate"),
        }
    }
}

/// Why encoding or decoding failed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum CodecError {
    /// The tokenizer counts without knowing ids.
    #[error("the tokenizer {name} only counts: it has no token ids")]
    NoIds {
        /// The tokenizer's name.
        name: String,
    },
    /// An id outside the vocabulary.
    #[error("token id {id} is not in the vocabulary of {name}")]
    UnknownId {
        /// The tokenizer's name.
        name: String,
        /// The offending id.
        id: u32,
    },
    /// The ids decode to bytes that are not valid text, such as half a character.
    #[error("these token ids do not decode to valid UTF-8 (first bad byte at {at})")]
    NotText {
        /// Byte offset of the first bad byte.
        at: usize,
    },
    /// The tokenizer's own code refused.
    #[error("the tokenizer {name} failed: {cause}")]
    Failed {
        /// The tokenizer's name.
        name: String,
        /// What it said.
        cause: String,
    },
}

/// Counts the tokens of a text as one model sees them.
pub trait Tokenizer: fmt::Debug + Send + Sync {
    /// The name results carry, such as `o200k_base`.
    fn name(&self) -> &str;

    /// The accuracy of [`Tokenizer::count`].
    fn accuracy(&self) -> Accuracy;

    /// The text's size in units. Units add up at seams.
    fn units(&self, text: &str) -> u64;

    /// Converts units to tokens: monotone, and zero for zero.
    fn tokens(&self, units: u64) -> Tokens {
        Tokens::saturating_from(units)
    }

    /// Whether units add up when a text is split between `before` and `after`, whatever the
    /// context.
    fn seam(&self, before: char, after: char) -> bool;

    /// Whether [`Tokenizer::seam`] is proved correct, not only assumed.
    fn seams_are_proved(&self) -> bool {
        true
    }

    /// The text's token ids.
    ///
    /// # Errors
    /// When the tokenizer only counts, or its vocabulary cannot express the text.
    fn encode(&self, text: &str) -> Result<Vec<u32>, CodecError>;

    /// Decodes token ids to text.
    ///
    /// # Errors
    /// When an id is unknown or the ids do not make up whole characters.
    fn decode(&self, ids: &[u32]) -> Result<String, CodecError>;

    /// The number of tokens of `text`.
    fn count(&self, text: &str) -> Tokens {
        self.tokens(self.units(text))
    }
}

impl dyn Tokenizer + '_ {
    /// The longest prefix of `text` within `limit` tokens, whole characters only.
    ///
    /// Longest means: no longer prefix that ends inside the same run of text between two seams
    /// fits. A run of more than 512 bytes without a (proved) seam is searched by halving.
    #[must_use]
    pub fn prefix<'t>(&self, text: &'t str, limit: Tokens) -> &'t str {
        &text[..cut::prefix_end(self, text, limit)]
    }

    /// The longest suffix of `text` within `limit` tokens, whole characters only.
    #[must_use]
    pub fn suffix<'t>(&self, text: &'t str, limit: Tokens) -> &'t str {
        &text[cut::suffix_start(self, text, limit)..]
    }

    /// Exact counts of many substrings of one text, each in microseconds where seams are proved;
    /// otherwise each is counted again.
    #[must_use]
    pub fn counter<'t>(&'t self, text: &'t str) -> Counter<'t> {
        Counter::new(self, text)
    }

    /// Where a part of `text` ends that is counted apart: at the first seam after `bytes`, else at the
    /// end. The counts of such parts add up to the count of the text, if seams are proved; otherwise
    /// there is one part.
    #[must_use]
    pub fn part_end(&self, text: &str, bytes: usize) -> usize {
        if !self.seams_are_proved() || text.len() <= bytes {
            return text.len();
        }
        let start = text.floor_char_boundary(bytes);
        let mut before = text[..start].chars().next_back();
        for (at, after) in text[start..].char_indices() {
            if before.is_some_and(|before| self.seam(before, after)) {
                return start + at;
            }
            before = Some(after);
        }
        text.len()
    }

    /// Where the first run of `text` ends: at its first seam if seams are proved, else at its end.
    fn first_run(&self, text: &str) -> usize {
        let seam = if self.seams_are_proved() { self.first_seam(text) } else { None };
        seam.unwrap_or(text.len())
    }

    /// Where the last run of `text` starts.
    fn last_run(&self, text: &str) -> usize {
        let seam = if self.seams_are_proved() { self.last_seam(text) } else { None };
        seam.unwrap_or(0)
    }

    /// The first seam of `text`, as a byte offset strictly inside it.
    pub(crate) fn first_seam(&self, text: &str) -> Option<usize> {
        let mut characters = text.char_indices();
        let (_, mut before) = characters.next()?;
        characters.find_map(|(at, after)| {
            let seam = self.seam(before, after);
            before = after;
            seam.then_some(at)
        })
    }

    /// The last seam of `text`, as a byte offset strictly inside it.
    pub(crate) fn last_seam(&self, text: &str) -> Option<usize> {
        let mut characters = text.char_indices().rev();
        let (mut at, mut after) = characters.next()?;
        for (before_at, before) in characters {
            if self.seam(before, after) {
                return Some(at);
            }
            (at, after) = (before_at, before);
        }
        None
    }
}

/// Counts a text by `merge`, but the bytes of each run between two seams that is longer than
/// [`WORD_BYTES_MAX`].
fn count_long_words_by_bytes(
    tokenizer: &dyn Tokenizer,
    text: &str,
    merge: impl Fn(&str) -> u64,
) -> u64 {
    if text.len() <= WORD_BYTES_MAX {
        return merge(text);
    }
    let (mut units, mut merged, mut run) = (0, 0, 0);
    let mut before = None;
    let ends = text.char_indices().filter_map(|(at, after)| {
        let is_seam = before.is_some_and(|before| tokenizer.seam(before, after));
        before = Some(after);
        is_seam.then_some(at)
    });
    for end in ends.chain([text.len()]) {
        if end - run > WORD_BYTES_MAX {
            units += merge(&text[merged..run]) + (end - run) as u64;
            merged = end;
        }
        run = end;
    }
    units + merge(&text[merged..])
}

#[cfg(test)]
mod tests;
