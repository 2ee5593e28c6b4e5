//! Language models: context windows, output limits and tokenizers.
//!
//! A name is looked up, never guessed: an unknown name is an error with suggestions. Callers can
//! override the table. The table's figures and their sources are in `table`.

mod name;
mod table;

use std::fmt;
use std::sync::Arc;

use thiserror::Error;

use super::spelling;
use super::tokenizer::{Encoding, Tokenizer, UpperEstimate};
use crate::units::Tokens;

/// Default output reserve, unless the model's output limit is lower (P3).
const OUTPUT_RESERVE: Tokens = Tokens::new(4_000);

/// The vendor of a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Vendor {
    /// Qwen.
    Alibaba,
    /// Claude.
    Anthropic,
    /// DeepSeek.
    DeepSeek,
    /// Gemini.
    Google,
    /// Llama.
    Meta,
    /// MiniMax.
    MiniMax,
    /// Mistral.
    Mistral,
    /// Kimi.
    Moonshot,
    /// GPT and the o-series.
    OpenAi,
    /// GLM.
    Zhipu,
}

impl fmt::Display for Vendor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Vendor::Alibaba => "Alibaba",
            Vendor::Anthropic => "Anthropic",
            Vendor::DeepSeek => "DeepSeek",
            Vendor::Google => "Google",
            Vendor::Meta => "Meta",
            Vendor::MiniMax => "MiniMax",
            Vendor::Mistral => "Mistral",
            Vendor::Moonshot => "Moonshot",
            Vendor::OpenAi => "OpenAI",
            Vendor::Zhipu => "Zhipu",
        })
    }
}

/// How a model's tokens are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counting {
    /// By its own vocabulary.
    Exact(Encoding),
    /// By another model's vocabulary, raised, because its own is not public.
    Upper {
        /// The vocabulary that is counted with.
        base: Encoding,
        /// By how many percent that count is raised.
        margin_percent: u32,
    },
}

impl Counting {
    const fn base(self) -> Encoding {
        match self {
            Counting::Exact(base) | Counting::Upper { base, .. } => base,
        }
    }
}

/// A language model of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LanguageModel {
    name: &'static str,
    aliases: &'static [&'static str],
    vendor: Vendor,
    window: Tokens,
    input_max: Tokens,
    output_max: Tokens,
    counting: Counting,
}

impl LanguageModel {
    /// The name the table is sorted by, such as `claude-3-5-sonnet`.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// Other names for the same model. Dated and prefixed forms need none: see [`find`].
    #[must_use]
    pub const fn aliases(&self) -> &'static [&'static str] {
        self.aliases
    }

    /// Its vendor.
    #[must_use]
    pub const fn vendor(&self) -> Vendor {
        self.vendor
    }

    /// Tokens that input and output share.
    #[must_use]
    pub const fn window(&self) -> Tokens {
        self.window
    }

    /// Most tokens of input: the window, unless the vendor sets a lower limit.
    #[must_use]
    pub const fn input_max(&self) -> Tokens {
        self.input_max
    }

    /// Most tokens of output; zero for a model that only embeds.
    #[must_use]
    pub const fn output_max(&self) -> Tokens {
        self.output_max
    }

    /// Tokens kept free for the answer: 4,000, or all the model can write if that is less.
    #[must_use]
    pub fn output_reserve(&self) -> Tokens {
        OUTPUT_RESERVE.min(self.output_max)
    }

    /// How its tokens are counted.
    #[must_use]
    pub const fn counting(&self) -> Counting {
        self.counting
    }

    /// Most tokens of context: the window less the output reserve, and never more than the input
    /// limit.
    #[must_use]
    pub fn context_max(&self) -> Tokens {
        self.window.saturating_sub(self.output_reserve()).min(self.input_max)
    }

    /// The tokenizer that counts for this model.
    #[must_use]
    pub fn tokenizer(&self) -> Arc<dyn Tokenizer> {
        let base = Arc::new(self.counting.base());
        match self.counting {
            Counting::Exact(_) => base,
            Counting::Upper { margin_percent, .. } => {
                Arc::new(UpperEstimate::new(base, margin_percent))
            }
        }
    }

    /// Applies a caller's overrides.
    ///
    /// # Errors
    /// When the output reserve leaves nothing of the window.
    pub fn resolve(&self, wishes: &ModelOverride) -> Result<ResolvedModel, ResolveError> {
        let window = wishes.window.unwrap_or(self.window);
        let reserve = wishes.output_reserve.unwrap_or_else(|| self.output_reserve());
        let resolved = ResolvedModel::new(self.name, window, reserve, wishes.tokenizer_for(self))?;
        // A caller's window overrides the table's input limit.
        let input_max = if wishes.window.is_some() { window } else { self.input_max };
        Ok(ResolvedModel { input_max, ..resolved })
    }
}

/// Overrides of the table. Empty by default.
#[derive(Debug, Clone, Default)]
pub struct ModelOverride {
    /// Another window; it also replaces the input limit.
    pub window: Option<Tokens>,
    /// Another output reserve.
    pub output_reserve: Option<Tokens>,
    /// Another tokenizer, such as the model's own `tokenizer.json`.
    pub tokenizer: Option<Arc<dyn Tokenizer>>,
    /// Another margin, on the given tokenizer or else on the table's vocabulary.
    pub margin_percent: Option<u32>,
}

impl ModelOverride {
    fn tokenizer_for(&self, model: &LanguageModel) -> Arc<dyn Tokenizer> {
        let Some(margin_percent) = self.margin_percent else {
            return self.tokenizer.clone().unwrap_or_else(|| model.tokenizer());
        };
        let base = self.tokenizer.clone().unwrap_or_else(|| Arc::new(model.counting.base()));
        Arc::new(UpperEstimate::new(base, margin_percent))
    }
}

/// A model ready for use: one from the table with its overrides, or one the table does not know.
#[derive(Debug, Clone)]
pub struct ResolvedModel {
    name: String,
    window: Tokens,
    input_max: Tokens,
    output_reserve: Tokens,
    tokenizer: Arc<dyn Tokenizer>,
}

impl ResolvedModel {
    /// A model of the caller's own.
    ///
    /// # Errors
    /// When the output reserve leaves nothing of the window.
    pub fn new(
        name: &str,
        window: Tokens,
        output_reserve: Tokens,
        tokenizer: Arc<dyn Tokenizer>,
    ) -> Result<ResolvedModel, ResolveError> {
        let name = name.to_owned();
        if output_reserve >= window {
            return Err(ResolveError::NothingLeft { name, window, output_reserve });
        }
        Ok(ResolvedModel { name, window, input_max: window, output_reserve, tokenizer })
    }

    /// The model's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Tokens that input and output share.
    #[must_use]
    pub const fn window(&self) -> Tokens {
        self.window
    }

    /// Tokens kept free for the answer; always fewer than the window.
    #[must_use]
    pub const fn output_reserve(&self) -> Tokens {
        self.output_reserve
    }

    /// The tokenizer that counts for this model.
    #[must_use]
    pub fn tokenizer(&self) -> &Arc<dyn Tokenizer> {
        &self.tokenizer
    }

    /// Most tokens of context; never zero.
    #[must_use]
    pub fn context_max(&self) -> Tokens {
        self.window.saturating_sub(self.output_reserve).min(self.input_max)
    }
}

/// Why a model cannot be used as configured.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ResolveError {
    /// The output reserve takes the whole window.
    #[error(
        "output reserve of {output_reserve} tokens leaves nothing of the {window}-token window \
         of {name}"
    )]
    NothingLeft {
        /// The model.
        name: String,
        /// Its window.
        window: Tokens,
        /// The reserve.
        output_reserve: Tokens,
    },
}

/// A name that is not in the table.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("unknown model \"{name}\"{}", suggestion(nearest))]
pub struct UnknownModel {
    /// The name as given: at most 100 characters of it, control characters blanked.
    pub name: String,
    /// Up to three names from the table that are spelt most alike, nearest first.
    pub nearest: Vec<&'static str>,
}

fn suggestion(nearest: &[&str]) -> String {
    match nearest {
        [] => String::new(),
        [one] => format!(": nearest is {one}"),
        many => format!(": nearest are {}", many.join(", ")),
    }
}

/// The model of that name.
///
/// Upper and lower case are the same. A name that is neither in the table nor an alias loses, as
/// long as nothing is found, first what hosts put in front and then what versions add behind:
///
/// 1. known path prefixes: `openai/`, `models/`, `openrouter/anthropic/`…
/// 2. known dotted prefixes: a region and a maker, as in `us.anthropic.`
/// 3. one at a time from the end: `@20250929`, `@default`, `-v1:0`, `:0`, `-v2`, `-2024-08-06`,
///    `-20241022`, `-001`, `-latest`
///
/// Nothing else is stripped: a four-digit ending such as `-2407` or a size can mean another model
/// with another vocabulary.
///
/// # Errors
/// When no model has that name, with the nearest ones.
pub fn find(name: &str) -> Result<&'static LanguageModel, UnknownModel> {
    name::forms(name).iter().find_map(|form| find_exact(form)).ok_or_else(|| UnknownModel {
        name: spelling::printable_name(name),
        nearest: name::nearest(name),
    })
}

/// Every model, sorted by name.
#[must_use]
pub fn all_models() -> &'static [LanguageModel] {
    table::MODELS
}

fn find_exact(name: &str) -> Option<&'static LanguageModel> {
    all_models().iter().find(|model| model.name == name || model.aliases.contains(&name))
}

#[cfg(test)]
mod tests;
