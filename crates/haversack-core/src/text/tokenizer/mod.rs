//! Tokens: one trait over every way to count them, exact wherever a vocabulary is public.
//!
//! Counting whole texts again and again would be the cost of everything else put together, so the
//! trait speaks of *units* and *seams*. Units are what adds up; tokens are made from units at the
//! very end (they are the same thing for a vocabulary, quarter tokens for a character estimate).
//! A seam is a place between two characters where a tokenizer always starts anew, whatever
//! stands further left or right: there, and only there, counts of parts add up to the count of the
//! whole. [`Counter`] and the selection's tally are built on nothing else.

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

/// How far a count can be trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Accuracy {
    /// The model's own vocabulary: the count is the count.
    Exact,
    /// A public vocabulary's count raised by a margin, for models whose own is secret: meant never
    /// to be too low.
    Upper {
        /// By how many percent the base count is raised.
        margin_percent: u32,
    },
    /// A guess from characters. It undercounts JSON by half and Chinese by four fifths.
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

/// A text or ids that a tokenizer cannot turn into the other.
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
    /// The ids stand for bytes that are not text, such as half a character.
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

    /// How far [`Tokenizer::count`] can be trusted.
    fn accuracy(&self) -> Accuracy;

    /// The text's size in units. Units add up at seams.
    fn units(&self, text: &str) -> u64;

    /// How many tokens a number of units makes: monotone, and zero for zero.
    fn tokens(&self, units: u64) -> Tokens {
        Tokens::saturating_from(units)
    }

    /// Whether units add up where a text is parted between `before` and `after`, whatever else
    /// surrounds them.
    fn seam(&self, before: char, after: char) -> bool;

    /// Whether [`Tokenizer::seam`] is known to be right, not only presumed.
    fn seams_are_proved(&self) -> bool {
        true
    }

    /// The text's token ids.
    ///
    /// # Errors
    /// When the tokenizer only counts, or its vocabulary cannot express the text.
    fn encode(&self, text: &str) -> Result<Vec<u32>, CodecError>;

    /// The text that token ids stand for.
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
    /// otherwise each is counted anew.
    #[must_use]
    pub fn counter<'t>(&'t self, text: &'t str) -> Counter<'t> {
        Counter::new(self, text)
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

#[cfg(test)]
mod tests;
