//! A pack as messages for a model provider, cut where a prompt cache can reuse the beginning.
//!
//! A pack goes from stable to volatile, and is cut only where one class of stability ends, between
//! two sections. The parts, joined, are the pack's text byte for byte. The body lacks what a pack
//! does not know: the model, tools and limits.
//!
//! Turns of the request's conversation become messages only if the recipe has no collector
//! `history`. A recipe with one decides within its budget which turns the pack shows, and turns that
//! it leaves out do not come back as messages, which no budget counts.

use haversack_core::assemble::Variable;
use haversack_core::layer::Stability;
use haversack_core::pack::{Pack, PackRequest};
use haversack_core::text::tokenizer::Tokenizer;
use haversack_core::units::Tokens;
use serde::Serialize;
use serde_json::json;

use crate::notice::{Notice, NoticeCode};
use crate::pipeline::Assembled;
use crate::request::Turn;

/// The fewest tokens of a block with a breakpoint of its own. No model of Anthropic caches less;
/// some need more, and ignore a breakpoint that comes too early.
pub const CACHED_BLOCK_TOKENS_MIN: Tokens = Tokens::new(1_024);

/// The provider's API whose request body is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Format {
    /// Anthropic's Messages API.
    Anthropic,
    /// OpenAI's Chat Completions API, and what is compatible with it.
    OpenAi,
}

impl Format {
    /// All formats.
    pub const ALL: [Format; 2] = [Format::Anthropic, Format::OpenAi];

    /// The name on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Format::Anthropic => "anthropic",
            Format::OpenAi => "openai",
        }
    }

    /// Returns the format of this name.
    #[must_use]
    pub fn parse(name: &str) -> Option<Format> {
        Format::ALL.into_iter().find(|format| format.as_str() == name)
    }
}

/// Part of a request body, in a provider's own form.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema),
    schemars(rename = "ProviderMessages", example = example())
)]
#[serde(untagged)]
pub enum ProviderMessages {
    /// For Anthropic.
    Anthropic(AnthropicMessages),
    /// For OpenAI.
    OpenAi(OpenAiMessages),
}

/// Part of a body of Anthropic's Messages API.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema),
    schemars(rename = "AnthropicMessages")
)]
pub struct AnthropicMessages {
    /// The pack's text. Its foundational and its stable part end with a breakpoint each, so at most
    /// two of the API's four are used.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub system: Vec<TextBlock>,
    /// The conversation, then the query.
    pub messages: Vec<ProviderMessage>,
}

/// Part of a body of OpenAI's Chat Completions API.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "OpenAiMessages"))]
pub struct OpenAiMessages {
    /// The stable part of the pack's text as the system's message, the conversation, and the rest of
    /// the text before the query. Caching is automatic and by prefix, so the order is all that counts.
    pub messages: Vec<ProviderMessage>,
    /// A hash of workspace and recipe, so that requests with equal prefixes reach one cache.
    pub prompt_cache_key: String,
}

/// A message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "ProviderMessage"))]
pub struct ProviderMessage {
    /// The speaker's role.
    pub role: MessageRole,
    /// The text.
    pub content: MessageContent,
}

/// The role of a message's speaker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "MessageRole"))]
#[serde(rename_all = "lowercase")]
pub enum MessageRole {
    /// The application.
    System,
    /// The user.
    User,
    /// The model.
    Assistant,
}

/// The text of a message, whole or in parts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "MessageContent"))]
#[serde(untagged)]
pub enum MessageContent {
    /// One text.
    Text(String),
    /// Several parts.
    Blocks(Vec<TextBlock>),
}

/// A part of a text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "TextBlock"))]
pub struct TextBlock {
    /// Always `text`.
    #[serde(rename = "type")]
    pub block_type: &'static str,
    /// The text.
    pub text: String,
    /// A breakpoint: everything up to the end of this block is cached.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_control: Option<CacheControl>,
}

/// How long a breakpoint is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "CacheControl"))]
pub struct CacheControl {
    /// Always `ephemeral`.
    #[serde(rename = "type")]
    pub control_type: &'static str,
}

impl TextBlock {
    fn new(text: &str, cache_control: Option<CacheControl>) -> TextBlock {
        TextBlock { block_type: "text", text: text.to_owned(), cache_control }
    }

    fn plain(text: &str) -> TextBlock {
        TextBlock::new(text, None)
    }

    fn cached(text: &str) -> TextBlock {
        TextBlock::new(text, Some(CacheControl { control_type: "ephemeral" }))
    }
}

impl ProviderMessage {
    fn new(role: MessageRole, text: &str) -> ProviderMessage {
        ProviderMessage { role, content: MessageContent::Text(text.to_owned()) }
    }

    /// Makes the user's message of the texts that are not blank; `None` if all are.
    fn of_user(texts: &[&str]) -> Option<ProviderMessage> {
        let texts: Vec<&str> =
            texts.iter().copied().filter(|text| !text.trim().is_empty()).collect();
        let content = match texts[..] {
            [] => return None,
            [text] => MessageContent::Text(text.to_owned()),
            _ => MessageContent::Blocks(texts.into_iter().map(TextBlock::plain).collect()),
        };
        Some(ProviderMessage { role: MessageRole::User, content })
    }
}

impl Assembled {
    /// Makes the part of a request body that holds this pack, the conversation as far as the pack
    /// does not already show it, and the query. A request without a query ends without its message.
    #[must_use]
    pub fn to_messages(&self, format: Format) -> ProviderMessages {
        let borders = stable_borders(&self.pack, &self.core);
        let turns = self.conversation(format).messages;
        match format {
            Format::Anthropic => {
                let query = ProviderMessage::of_user(&[&self.request.query]);
                ProviderMessages::Anthropic(AnthropicMessages {
                    system: system_blocks(self.text(), &borders, &*self.core.tokenizer),
                    messages: turns.into_iter().chain(query).collect(),
                })
            }
            Format::OpenAi => {
                let (stable, rest) = self.text().split_at(borders.last().copied().unwrap_or(0));
                let system =
                    (!stable.is_empty()).then(|| ProviderMessage::new(MessageRole::System, stable));
                let user = ProviderMessage::of_user(&[rest, &self.request.query]);
                ProviderMessages::OpenAi(OpenAiMessages {
                    messages: system.into_iter().chain(turns).chain(user).collect(),
                    prompt_cache_key: self.prompt_cache_key(),
                })
            }
        }
    }

    /// Returns a notice if [`Assembled::to_messages`] omits turns of the conversation that the
    /// provider does not take.
    #[must_use]
    pub fn omitted_turns_notice(&self, format: Format) -> Option<Notice> {
        let n_omitted = self.conversation(format).n_omitted;
        (n_omitted > 0).then(|| {
            let message = format!(
                "{n_omitted} of {} turns of the conversation are not among the messages: only turns \
                 of user and assistant are, and those for Anthropic begin with the user's",
                self.request.history.len()
            );
            let details = json!({ "turns": self.request.history.len(), "omitted": n_omitted });
            Notice { details, ..Notice::new(NoticeCode::TurnsOmitted, message) }
        })
    }

    fn conversation(&self, format: Format) -> Conversation {
        let mut collectors = self.recipe.layers.iter().flat_map(|layer| &layer.collect);
        if collectors.any(|collector| collector.by == "history") {
            return Conversation::default();
        }
        Conversation::new(&self.request.history, &self.request.query, format)
    }

    /// A hash, so that no tenant's name leaves the house. OpenAI takes at most 64 characters.
    fn prompt_cache_key(&self) -> String {
        // The seed of the fences is the workspace's, and so is the text that they begin.
        let names = format!("{}\n{}", self.core.seed, self.recipe.name);
        format!("haversack-{}", &blake3::hash(names.as_bytes()).to_hex()[..32])
    }
}

/// The turns of a conversation as messages.
#[derive(Debug, Default)]
struct Conversation {
    messages: Vec<ProviderMessage>,
    /// Turns with a text that are not among the messages.
    n_omitted: usize,
}

impl Conversation {
    /// Converts turns, oldest first. Roles other than user and assistant are omitted: a tool's output
    /// needs the call that it answers, and it is not the user's word. A last turn that is the query
    /// itself is left to the query.
    fn new(turns: &[Turn], query: &str, format: Format) -> Conversation {
        let turns = match turns {
            [turns @ .., last] if last.role == "user" && last.content.trim() == query.trim() => {
                turns
            }
            turns => turns,
        };
        let mut conversation = Conversation::default();
        for turn in turns.iter().filter(|turn| !turn.content.trim().is_empty()) {
            let is_first = conversation.messages.is_empty();
            let role = match turn.role.as_str() {
                "user" => MessageRole::User,
                // Anthropic refuses a conversation that the assistant begins.
                "assistant" if !(is_first && format == Format::Anthropic) => MessageRole::Assistant,
                _ => {
                    conversation.n_omitted += 1;
                    continue;
                }
            };
            conversation.messages.push(ProviderMessage::new(role, &turn.content));
        }
        conversation
    }
}

/// Returns where the foundational and the stable part of a pack end, as far as it has them. What
/// shows the query is volatile, whatever its layer says, and so is all that follows it.
fn stable_borders(pack: &Pack, request: &PackRequest) -> Vec<usize> {
    if request.frame.before.shows(Variable::Query) {
        return Vec::new();
    }
    let stability_of = |name: &str| {
        let layer =
            request.layers.iter().map(|(layer, _)| layer).find(|layer| *layer.name == *name);
        layer
            .filter(|layer| !layer.template.frames_show(Variable::Query))
            .map_or(Stability::Volatile, |layer| layer.stability)
    };
    let sections = pack.sections.iter();
    let ends = sections.map(|section| (stability_of(&section.layer), section.span.end()));
    class_ends(&pack.text, ends)
}

/// Returns the last end of each class before the first volatile section. Blank text cannot be a
/// message of its own: at the beginning it is no part, and at the end it belongs to the part before.
fn class_ends(text: &str, sections: impl Iterator<Item = (Stability, usize)>) -> Vec<usize> {
    let mut ends: Vec<(Stability, usize)> = Vec::new();
    for (stability, end) in sections.take_while(|(stability, _)| *stability != Stability::Volatile)
    {
        let end = if text[end..].trim().is_empty() { text.len() } else { end };
        match ends.last_mut() {
            Some((last, last_end)) if *last == stability => *last_end = end,
            _ => ends.push((stability, end)),
        }
    }
    ends.retain(|(_, end)| !text[..*end].trim().is_empty());
    let mut ends: Vec<usize> = ends.into_iter().map(|(_, end)| end).collect();
    ends.dedup();
    ends
}

/// Cuts a text at its borders. A part that is too small to be cached joins the next one.
fn system_blocks(text: &str, borders: &[usize], tokenizer: &dyn Tokenizer) -> Vec<TextBlock> {
    let mut blocks = Vec::new();
    let mut start = 0;
    for &border in borders {
        let part = &text[start..border];
        if tokenizer.count(part) >= CACHED_BLOCK_TOKENS_MIN {
            blocks.push(TextBlock::cached(part));
            start = border;
        }
    }
    blocks.extend((start < text.len()).then(|| TextBlock::plain(&text[start..])));
    blocks
}

#[cfg(feature = "schema")]
fn example() -> ProviderMessages {
    ProviderMessages::Anthropic(AnthropicMessages {
        system: vec![
            TextBlock::cached("## Company\n\nHarrowmere builds lighthouses. …\n\n"),
            TextBlock::plain("## What was found\n\nDiscounts above 10 % need the CFO.\n"),
        ],
        messages: vec![ProviderMessage::new(MessageRole::User, "who approves a discount?")],
    })
}

#[cfg(test)]
mod tests;
