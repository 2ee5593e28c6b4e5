//! Estimated counts for models without a public vocabulary.

use std::sync::Arc;

use super::{Accuracy, CodecError, Tokenizer};
use crate::units::Tokens;

/// One token per four characters (M10): the last resort, named as an estimate in every result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CharacterEstimate;

impl Tokenizer for CharacterEstimate {
    fn name(&self) -> &str {
        "characters/4"
    }

    fn accuracy(&self) -> Accuracy {
        Accuracy::Estimate
    }

    fn units(&self, text: &str) -> u64 {
        text.chars().count() as u64
    }

    fn tokens(&self, units: u64) -> Tokens {
        Tokens::saturating_from(units.div_ceil(4))
    }

    fn seam(&self, _before: char, _after: char) -> bool {
        true
    }

    fn encode(&self, _text: &str) -> Result<Vec<u32>, CodecError> {
        Err(CodecError::NoIds { name: self.name().to_owned() })
    }

    fn decode(&self, _ids: &[u32]) -> Result<String, CodecError> {
        Err(CodecError::NoIds { name: self.name().to_owned() })
    }
}

/// Another tokenizer's count raised by a margin, for models whose vocabulary is not public.
#[derive(Debug, Clone)]
pub struct UpperEstimate {
    base: Arc<dyn Tokenizer>,
    margin_percent: u32,
    name: String,
}

impl UpperEstimate {
    /// Largest margin in percent; a higher one is taken as this.
    pub const MARGIN_PERCENT_MAX: u32 = 1_000;

    /// `base`, raised by `margin_percent`.
    #[must_use]
    pub fn new(base: Arc<dyn Tokenizer>, margin_percent: u32) -> UpperEstimate {
        let margin_percent = margin_percent.min(UpperEstimate::MARGIN_PERCENT_MAX);
        let name = format!("{}+{margin_percent}%", base.name());
        UpperEstimate { base, margin_percent, name }
    }
}

impl Tokenizer for UpperEstimate {
    fn name(&self) -> &str {
        &self.name
    }

    fn accuracy(&self) -> Accuracy {
        Accuracy::Upper { margin_percent: self.margin_percent }
    }

    fn units(&self, text: &str) -> u64 {
        self.base.units(text)
    }

    fn tokens(&self, units: u64) -> Tokens {
        let base = u64::from(self.base.tokens(units).get());
        Tokens::saturating_from((base * u64::from(100 + self.margin_percent)).div_ceil(100))
    }

    fn seam(&self, before: char, after: char) -> bool {
        self.base.seam(before, after)
    }

    fn seams_are_proved(&self) -> bool {
        self.base.seams_are_proved()
    }

    fn encode(&self, _text: &str) -> Result<Vec<u32>, CodecError> {
        Err(CodecError::NoIds { name: self.name.clone() })
    }

    fn decode(&self, _ids: &[u32]) -> Result<String, CodecError> {
        Err(CodecError::NoIds { name: self.name.clone() })
    }
}
