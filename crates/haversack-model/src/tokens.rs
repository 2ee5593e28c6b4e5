//! Tokenizes texts with the model's own `tokenizer.json`.

use std::fmt;
use std::path::Path;

use blake3::Hasher;
use tokenizers::{EncodeInput, Tokenizer, TruncationParams};

use crate::ModelError;
use crate::bert::Ids;
use crate::file::{TOKENIZER_BYTES_MAX, read};
use crate::settings::BertShape;

/// The file of the tokenizer.
pub(crate) const TOKENIZER: &str = "tokenizer.json";

/// Bytes of a text that are tokenized per token of the model's limit. A token has about four bytes,
/// so this only truncates very long texts early.
const BYTES_PER_TOKEN_MAX: usize = 64;

/// A tokenizer that truncates at its model's token limit.
pub(crate) struct ModelTokenizer {
    inner: Tokenizer,
    most: usize,
    types: usize,
}

impl fmt::Debug for ModelTokenizer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ModelTokenizer").field("most", &self.most).finish_non_exhaustive()
    }
}

impl ModelTokenizer {
    /// Reads the tokenizer of a folder, and hashes it.
    pub(crate) fn read(
        folder: &Path,
        shape: &BertShape,
        most: usize,
        hasher: &mut Hasher,
    ) -> Result<ModelTokenizer, ModelError> {
        let path = folder.join(TOKENIZER);
        let bytes = read(&path, TOKENIZER_BYTES_MAX)?;
        hasher.update(&bytes);
        let bad = |error: tokenizers::Error| ModelError::unreadable(&path, &error);
        let mut inner = Tokenizer::from_bytes(&bytes).map_err(bad)?;
        let truncation = TruncationParams { max_length: most, ..TruncationParams::default() };
        inner.with_truncation(Some(truncation)).map_err(bad)?;
        inner.with_padding(None);
        let largest = inner.get_vocab(true).into_values().max().unwrap_or(0);
        if largest as usize >= shape.vocab_size {
            let vocabulary = shape.vocab_size;
            return Err(ModelError::Vocabulary { path, largest, vocabulary });
        }
        Ok(ModelTokenizer { inner, most, types: shape.type_vocab_size })
    }

    /// The ids of a text, or of a query and a text, with the model's special tokens.
    pub(crate) fn ids(&self, text: &str, second: Option<&str>) -> Result<Ids, String> {
        let input = match second {
            None => EncodeInput::Single(self.cut(text).into()),
            Some(second) => EncodeInput::Dual(self.cut(text).into(), self.cut(second).into()),
        };
        let encoding = self.inner.encode_fast(input, true).map_err(|error| error.to_string())?;
        let ids = encoding.get_ids().to_vec();
        if ids.is_empty() || ids.len() > self.most {
            return Err(format!("a text became {} tokens; use 1 to {}", ids.len(), self.most));
        }
        let types = encoding.get_type_ids().to_vec();
        if types.iter().any(|kind| *kind as usize >= self.types) {
            return Err(format!("the tokenizer tells apart more than {} texts", self.types));
        }
        Ok(Ids { ids, types })
    }

    fn cut<'t>(&self, text: &'t str) -> &'t str {
        &text[..text.floor_char_boundary(self.most * BYTES_PER_TOKEN_MAX)]
    }
}
