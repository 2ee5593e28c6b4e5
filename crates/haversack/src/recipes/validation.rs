//! Validates a payload of `workspace` that may have come from a client (W11).

use std::sync::Arc;

use haversack_core::assemble::fence::NOTE_START;
use haversack_core::ids::ItemId;
use haversack_core::text::tokenizer::Tokenizer;
use haversack_store::store::item::Stored;
use haversack_store::store::viewer::Viewer;
use serde::{Deserialize, Serialize};

use super::workspace::{WorkspaceContext, WorkspaceItem, WorkspaceSection};
use crate::engine::Workspace;
use crate::engine::blocking::on_blocking_thread;
use crate::error::Error;

/// The text after a payload's last section.
const SECTIONS_END: &str = "---\n\nUser Query:";

/// The mark in place of omitted text.
const OMISSION_MARK: char = '…';

/// The part of a payload that is validated. Other fields are ignored, so that a client can send
/// back a whole result, or only the fields of the application's own document.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Payload"))]
#[serde(rename_all = "camelCase")]
pub struct Payload {
    /// The payload's sections.
    pub sections: Vec<PayloadSection>,
    /// The payload's metadata.
    pub metadata: PayloadMetadata,
    /// The final string.
    pub serialized: String,
    /// The limit and the tokenizer of the payload, if known.
    #[serde(default)]
    pub assembly: Option<PayloadAssembly>,
}

/// A section of a payload.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct PayloadSection {
    /// The type of the section.
    #[serde(rename = "type")]
    pub section_type: String,
    /// The section's title.
    pub title: String,
    /// The section's items, in order.
    pub items: Vec<PayloadItem>,
    /// The section's tokens.
    pub token_count: u32,
}

/// A block in a section of a payload.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct PayloadItem {
    /// The block's id.
    pub block_id: String,
    /// The block's type.
    #[serde(default)]
    pub block_type: Option<String>,
    /// The block's text in the pack.
    pub content: String,
}

/// The metadata of a payload that is validated.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct PayloadMetadata {
    /// Tokens of the final string.
    pub total_tokens: u32,
    /// The number of blocks in the pack.
    pub blocks_included: usize,
    /// The number of candidate blocks.
    #[serde(default)]
    pub blocks_considered: Option<usize>,
}

/// The limit and the tokenizer of a payload.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct PayloadAssembly {
    /// Most tokens of the final string.
    pub limit: u32,
    /// The tokenizer that counted the tokens.
    pub tokenizer: String,
}

impl From<&WorkspaceContext> for Payload {
    fn from(context: &WorkspaceContext) -> Payload {
        let item = |item: &WorkspaceItem| PayloadItem {
            block_id: item.block_id.clone(),
            block_type: Some(item.block_type.clone()),
            content: item.content.clone(),
        };
        let section = |section: &WorkspaceSection| PayloadSection {
            section_type: section.section_type.clone(),
            title: section.title.clone(),
            items: section.items.iter().map(item).collect(),
            token_count: section.token_count,
        };
        Payload {
            sections: context.sections.iter().map(section).collect(),
            metadata: PayloadMetadata {
                total_tokens: context.metadata.total_tokens,
                blocks_included: context.metadata.blocks_included,
                blocks_considered: Some(context.metadata.blocks_considered),
            },
            serialized: context.serialized.clone(),
            assembly: Some(PayloadAssembly {
                limit: context.assembly.limit,
                tokenizer: context.assembly.tokenizer.clone(),
            }),
        }
    }
}

/// The result of a validation (W11).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema),
    schemars(rename = "WorkspaceValidation")
)]
#[serde(rename_all = "camelCase")]
pub struct Validation {
    /// Whether the payload has no problems.
    pub valid: bool,
    /// The problems that were found.
    pub problems: Vec<String>,
}

impl Workspace {
    /// Validates a payload (W11): it is within its budget, every block is readable by this viewer
    /// now, occurs once and has its own text, and the counts and sections are correct. A payload
    /// that a client sends back is treated like one that was just made.
    ///
    /// # Errors
    /// When the store cannot be read, or a block id in the payload is invalid.
    pub async fn validate(
        &self,
        payload: &Payload,
        viewer: &Viewer,
        tokenizer: Arc<dyn Tokenizer>,
    ) -> Result<Validation, Error> {
        let copy = payload.clone();
        // A long text takes a while to count.
        let mut problems = on_blocking_thread(async move { check_text(&copy, &*tokenizer) }).await;
        let mut ids = Vec::new();
        for item in payload.items().filter(|item| !is_turn(item)) {
            ids.push(crate::wire::parse_id("sections.items.blockId", &item.block_id)?);
        }
        let snapshot = self.store().snapshot(viewer).await?;
        let stored = snapshot.get(&ids).await?;
        let items = payload.items().filter(|item| !is_turn(item));
        for ((item, id), stored) in items.zip(&ids).zip(stored) {
            problems.extend(match stored {
                Some(stored) => check_block(item, &stored),
                None => Some(format!("block {:?} is not there for this reader", id.as_str())),
            });
        }
        Ok(Validation { valid: problems.is_empty(), problems })
    }
}

impl Payload {
    fn items(&self) -> impl Iterator<Item = &PayloadItem> {
        self.sections.iter().flat_map(|section| &section.items)
    }
}

/// Whether an item is a turn of the conversation, which is not stored.
fn is_turn(item: &PayloadItem) -> bool {
    item.block_id.starts_with("turn:")
}

/// Finds contradictions within a payload.
fn check_text(payload: &Payload, tokenizer: &dyn Tokenizer) -> Vec<String> {
    let mut problems = Vec::new();
    let counted = tokenizer.count(&payload.serialized).get();
    if let Some(limit) = payload.assembly.as_ref().map(|assembly| assembly.limit)
        && counted > limit
    {
        problems.push(format!("{counted} tokens are more than the {limit} there are"));
    }
    let metadata = &payload.metadata;
    if counted != metadata.total_tokens {
        problems
            .push(format!("totalTokens says {}, the text has {counted}", metadata.total_tokens));
    }
    let mut blocks: Vec<&str> =
        payload.items().filter(|item| !is_turn(item)).map(|item| &*item.block_id).collect();
    blocks.sort_unstable();
    for pair in blocks.windows(2).filter(|pair| pair[0] == pair[1]) {
        problems.push(format!("block {:?} is in twice", pair[0]));
    }
    blocks.dedup();
    if blocks.len() != metadata.blocks_included {
        let n = metadata.blocks_included;
        problems.push(format!("blocksIncluded says {n}, there are {}", blocks.len()));
    }
    if metadata.blocks_considered.is_some_and(|considered| considered < blocks.len()) {
        problems.push("blocksConsidered says less than blocksIncluded".to_owned());
    }
    let mut types: Vec<&str> =
        payload.sections.iter().map(|section| &*section.section_type).collect();
    types.sort_unstable();
    for pair in types.windows(2).filter(|pair| pair[0] == pair[1]) {
        problems.push(format!("section {:?} is in twice", pair[0]));
    }
    check_sections(payload, tokenizer, &mut problems);
    problems
}

/// Compares every section with its part of the final string.
fn check_sections(payload: &Payload, tokenizer: &dyn Tokenizer, problems: &mut Vec<String>) {
    let text = &*payload.serialized;
    let end = text.rfind(SECTIONS_END).unwrap_or(text.len());
    let mut starts: Vec<usize> = Vec::new();
    let mut from = 0;
    for section in &payload.sections {
        let Some(start) = find_heading(&text[..end], from, &section.title) else {
            let (section_type, title) = (&section.section_type, &section.title);
            problems.push(format!(
                "section {section_type:?}: {title:?} is no heading of the text here"
            ));
            return;
        };
        starts.push(start);
        from = start + section.title.len();
    }
    starts.push(end);
    for (section, range) in payload.sections.iter().zip(starts.windows(2)) {
        let (section_type, part) = (&section.section_type, &text[range[0]..range[1]]);
        // The note on fences may stand between two sections and belongs to neither.
        let part = part.find(NOTE_START).map_or(part, |note| &part[..note]);
        let counted = tokenizer.count(part).get();
        if counted != section.token_count {
            let said = section.token_count;
            problems.push(format!(
                "section {section_type:?}: tokenCount says {said}, it has {counted}"
            ));
        }
        let part = spaced_words(part);
        for item in &section.items {
            // Pieces of one block may be apart in the text.
            let mut pieces = item.content.split(OMISSION_MARK).map(spaced_words);
            if !pieces.all(|piece| part.contains(&piece)) {
                let id = &item.block_id;
                problems
                    .push(format!("block {id:?}: its content is not in section {section_type:?}"));
            }
        }
    }
}

/// Finds the heading line with this title.
fn find_heading(text: &str, from: usize, title: &str) -> Option<usize> {
    let mut at = from;
    for line in text[from..].split_inclusive('\n') {
        if line.starts_with('#') && line.trim_matches(['#', ' ', '\n', '\r']) == title.trim() {
            return Some(at);
        }
        at += line.len();
    }
    None
}

/// Checks an item against its stored block.
fn check_block(item: &PayloadItem, stored: &Stored) -> Option<String> {
    let block = &stored.item;
    let id = ItemId::as_str(&block.id);
    if item.block_type.as_deref().is_some_and(|said| said != block.kind.as_str()) {
        return Some(format!("block {id:?} is a {}", block.kind));
    }
    let own = stored.text();
    let own = spaced_words(&format!("{}\n{own}", block.title));
    // A message is shown after the role of its speaker.
    let said = item.content.split_once(": ").map_or("", |(_, said)| said);
    let is_own = |content: &str| {
        let mut from = 0;
        content.split(OMISSION_MARK).map(spaced_words).all(|piece| match own[from..].find(&piece) {
            // The space after the last word is also the one before the next piece.
            Some(at) => {
                from += at + piece.len() - 1;
                true
            }
            None => false,
        })
    };
    let is_message = block.kind.as_str() == "message";
    let is_same = is_own(&item.content) || is_message && is_own(said);
    (!is_same).then(|| format!("block {id:?}: its content is not the block's text"))
}

/// Returns the words of a text, each between two spaces, because a rendered text may differ from the stored
/// one in punctuation and spacing.
fn spaced_words(text: &str) -> String {
    let mut words = String::with_capacity(text.len() + 2);
    words.push(' ');
    for word in text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()) {
        words.push_str(word);
        words.push(' ');
    }
    words
}
