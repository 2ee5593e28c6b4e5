//! Any model's own `tokenizer.json`, by the library that wrote it.

use std::fmt;

use thiserror::Error;

use super::{Accuracy, CodecError, Tokenizer, count_long_words_by_bytes};

/// Largest `tokenizer.json` in bytes: the largest in use are below 40 MB.
pub(super) const TOKENIZER_BYTES_MAX: usize = 128 << 20;

/// A `tokenizer.json` that is not one.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum HuggingFaceError {
    /// Refused before parsing.
    #[error(
        "tokenizer {name} has {bytes} bytes, more than the limit of {TOKENIZER_BYTES_MAX}: \
         is it a tokenizer.json?"
    )]
    TooLarge {
        /// The name the caller gave it.
        name: String,
        /// Its size.
        bytes: usize,
    },
    /// The library could not read it.
    #[error("tokenizer {name} is not a readable tokenizer.json: {cause}")]
    Unreadable {
        /// The name the caller gave it.
        name: String,
        /// What the library said.
        cause: String,
    },
}

/// A Hugging Face tokenizer: exact for the model it came with.
#[derive(Clone)]
pub struct HuggingFace {
    name: String,
    inner: tokenizers::Tokenizer,
}

impl HuggingFace {
    /// Reads the bytes of a `tokenizer.json`.
    ///
    /// Truncation and padding in the file are switched off: they would make every
    /// count a lie.
    ///
    /// # Errors
    /// When the bytes are too many or are not a tokenizer.
    pub fn from_bytes(name: &str, bytes: &[u8]) -> Result<HuggingFace, HuggingFaceError> {
        let name = name.to_owned();
        if bytes.len() > TOKENIZER_BYTES_MAX {
            return Err(HuggingFaceError::TooLarge { name, bytes: bytes.len() });
        }
        let unreadable = |error: tokenizers::Error| HuggingFaceError::Unreadable {
            name: name.clone(),
            cause: error.to_string(),
        };
        let mut inner = tokenizers::Tokenizer::from_bytes(bytes).map_err(unreadable)?;
        inner.with_truncation(None).map_err(unreadable)?;
        inner.with_padding(None);
        Ok(HuggingFace { name, inner })
    }

    fn failed(&self, error: &tokenizers::Error) -> CodecError {
        CodecError::Failed { name: self.name.clone(), cause: error.to_string() }
    }
}

impl fmt::Debug for HuggingFace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HuggingFace").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Tokenizer for HuggingFace {
    fn name(&self) -> &str {
        &self.name
    }

    fn accuracy(&self) -> Accuracy {
        Accuracy::Exact
    }

    /// A text the vocabulary cannot express at all is counted by bytes: too high, never too low.
    fn units(&self, text: &str) -> u64 {
        count_long_words_by_bytes(self, text, |text| {
            self.inner
                .encode_fast(text, false)
                .map_or(text.len() as u64, |encoding| encoding.get_ids().len() as u64)
        })
    }

    /// Assumed, not proved: an unknown file may have any pattern. Most restart at a space after
    /// a visible character; where one does not, the pack's final count notices.
    fn seam(&self, before: char, after: char) -> bool {
        after == ' ' && !before.is_whitespace()
    }

    fn seams_are_proved(&self) -> bool {
        false
    }

    fn encode(&self, text: &str) -> Result<Vec<u32>, CodecError> {
        let encoding = self.inner.encode_fast(text, false).map_err(|error| self.failed(&error))?;
        Ok(encoding.get_ids().to_vec())
    }

    fn decode(&self, ids: &[u32]) -> Result<String, CodecError> {
        if let Some(&id) = ids.iter().find(|&&id| self.inner.id_to_token(id).is_none()) {
            return Err(CodecError::UnknownId { name: self.name.clone(), id });
        }
        self.inner.decode(ids, false).map_err(|error| self.failed(&error))
    }
}
