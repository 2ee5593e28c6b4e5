//! The public byte-pair encodings: exact counts by the vocabularies that models ship with.

use std::sync::OnceLock;

use tiktoken::CoreBpe;

use super::{Accuracy, CodecError, Tokenizer, count_long_words_by_bytes};

/// A vocabulary inside the binary. Loading one takes about a tenth of a second, once per process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Encoding {
    /// GPT-4o, GPT-4.1, GPT-5 and the o-series.
    O200k,
    /// GPT-4, GPT-3.5 Turbo and OpenAI's embedding models.
    Cl100k,
    /// GPT-3 davinci-002/003 and Codex.
    P50k,
    /// GPT-2 and the first GPT-3 models.
    R50k,
    /// Llama 3.
    Llama3,
    /// DeepSeek V3 and R1.
    DeepSeekV3,
    /// Qwen 2, 2.5 and 3.
    Qwen2,
    /// Mistral's Tekken.
    MistralV3,
    /// Kimi K2.
    KimiK2,
    /// GLM 4.
    Glm4,
    /// GLM 5.
    Glm5,
    /// MiniMax M2.
    MiniMaxM2,
}

impl Encoding {
    /// Every encoding in the binary.
    pub const ALL: [Encoding; 12] = [
        Encoding::O200k,
        Encoding::Cl100k,
        Encoding::P50k,
        Encoding::R50k,
        Encoding::Llama3,
        Encoding::DeepSeekV3,
        Encoding::Qwen2,
        Encoding::MistralV3,
        Encoding::KimiK2,
        Encoding::Glm4,
        Encoding::Glm5,
        Encoding::MiniMaxM2,
    ];

    /// The encoding of that name, such as `o200k_base`.
    #[must_use]
    pub fn by_name(name: &str) -> Option<Encoding> {
        Encoding::ALL.into_iter().find(|encoding| encoding.id() == name)
    }

    const fn id(self) -> &'static str {
        match self {
            Encoding::O200k => "o200k_base",
            Encoding::Cl100k => "cl100k_base",
            Encoding::P50k => "p50k_base",
            Encoding::R50k => "r50k_base",
            Encoding::Llama3 => "llama3",
            Encoding::DeepSeekV3 => "deepseek_v3",
            Encoding::Qwen2 => "qwen2",
            Encoding::MistralV3 => "mistral_v3",
            Encoding::KimiK2 => "kimi_k2",
            Encoding::Glm4 => "glm4",
            Encoding::Glm5 => "glm5",
            Encoding::MiniMaxM2 => "minimax_m2",
        }
    }

    fn bpe(self) -> &'static CoreBpe {
        // Counting a word takes a tenth of a microsecond; looking a name up would take as long.
        static LOADED: [OnceLock<&'static CoreBpe>; 12] = [const { OnceLock::new() }; 12];
        LOADED[self as usize].get_or_init(|| {
            tiktoken::get_encoding(self.id()).expect("every encoding named here is compiled in")
        })
    }

    /// Whether a run of line breaks is one piece whatever follows it. The oldest two patterns give
    /// the last break of a run to what comes next.
    const fn breaks_lines_first(self) -> bool {
        !matches!(self, Encoding::P50k | Encoding::R50k)
    }
}

impl Tokenizer for Encoding {
    fn name(&self) -> &str {
        self.id()
    }

    fn accuracy(&self) -> Accuracy {
        Accuracy::Exact
    }

    fn units(&self, text: &str) -> u64 {
        count_long_words_by_bytes(self, text, |text| self.bpe().count(text) as u64)
    }

    /// Each of these vocabularies first splits a text by a pattern and then merges inside the
    /// pieces. No piece of any pattern goes on from a visible character into a space, and none
    /// looks ahead from one; likewise from a Han, Kana or Hangul letter into full-width
    /// punctuation. Where line breaks come first, a piece that ends in one goes on only into more
    /// white space or, in some patterns, into slashes.
    fn seam(&self, before: char, after: char) -> bool {
        match after {
            ' ' => !before.is_whitespace(),
            '，' | '。' | '、' | '！' | '？' | '；' | '：' => is_east_asian_letter(before),
            '/' => false,
            _ => before == '\n' && self.breaks_lines_first() && !after.is_whitespace(),
        }
    }

    fn encode(&self, text: &str) -> Result<Vec<u32>, CodecError> {
        Ok(self.bpe().encode(text))
    }

    fn decode(&self, ids: &[u32]) -> Result<String, CodecError> {
        let bpe = self.bpe();
        // The crate skips ids it does not know; a text with silent holes is worse than an error.
        let unknown = ids.iter().find(|&&id| bpe.decode(&[id]).is_empty());
        if let Some(&id) = unknown {
            return Err(CodecError::UnknownId { name: self.id().to_owned(), id });
        }
        String::from_utf8(bpe.decode(ids))
            .map_err(|error| CodecError::NotText { at: error.utf8_error().valid_up_to() })
    }
}

const fn is_east_asian_letter(c: char) -> bool {
    matches!(c, '\u{3041}'..='\u{3096}' | '\u{30A1}'..='\u{30FA}' | '\u{4E00}'..='\u{9FA5}'
        | '\u{AC00}'..='\u{D7A3}')
}
