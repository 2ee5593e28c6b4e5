//! `workspace`: blocks around what the asker looks at (W1 to W15).

use std::collections::{BTreeMap, BTreeSet};

use haversack_core::assemble::PackedItem as PackItem;
use haversack_core::assemble::Section as PackSection;
use haversack_core::candidate::Candidate;
use haversack_core::ids::ItemId;
use haversack_core::text::tokenizer::Tokenizer;
use haversack_core::units::Tokens;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::Assembly;
pub use super::validation::{
    Payload, PayloadAssembly, PayloadItem, PayloadMetadata, PayloadSection, Validation,
};
use crate::engine::Workspace;
use crate::error::Error;
use crate::pipeline::Assembled;
use crate::wire::{WireFocus, WireHints, WireRequest, WireTurn, tokens, turns, viewer};

/// The types of requests (W9).
pub const REQUEST_TYPES: [&str; 4] = ["assist", "chat", "search", "automate"];

/// What an assistant inside a workspace asks (W9).
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "WorkspaceRequest"))]
#[serde(rename_all = "camelCase")]
pub struct WorkspaceRequest {
    /// The question.
    pub query: String,
    /// What the asker looks at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub focus: Option<WireFocus>,
    /// What the request is for: `assist`, `chat`, `search` or `automate`. It chooses the budgets
    /// of the sections when the request does not.
    #[serde(rename = "type", default, skip_serializing_if = "Option::is_none")]
    pub request_type: Option<String>,
    /// Who asks: a name, or an object with `id` and `groups`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<WorkspaceUser>,
    /// What was said before.
    #[serde(default, deserialize_with = "null_as_empty", skip_serializing_if = "Vec::is_empty")]
    pub conversation_history: Vec<WireTurn>,
    /// The budget: a number for all of it, or `total` and a cap for each section.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token_budget: Option<WorkspaceTokenBudget>,
    /// What else to consider, prefer or leave out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hints: Option<WireHints>,
    /// What every recipe can be asked.
    #[serde(flatten)]
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub other: Map<String, Value>,
}

/// Reads a list; `null` is an empty one.
fn null_as_empty<'de, D: serde::Deserializer<'de>>(given: D) -> Result<Vec<WireTurn>, D::Error> {
    Ok(Option::<Vec<WireTurn>>::deserialize(given)?.unwrap_or_default())
}

/// Who asks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "WorkspaceUser"))]
#[serde(untagged)]
pub enum WorkspaceUser {
    /// By name.
    Name(String),
    /// With groups.
    Member {
        /// The name.
        id: String,
        /// The groups.
        #[serde(default)]
        groups: Vec<String>,
    },
}

/// A budget.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema),
    schemars(rename = "WorkspaceTokenBudget")
)]
#[serde(untagged)]
pub enum WorkspaceTokenBudget {
    /// All of it.
    Total(u32),
    /// By section; `system` is kept free for the system prompt.
    Sections(BTreeMap<String, u32>),
}

impl WorkspaceRequest {
    /// Makes a request with all other fields at their defaults.
    #[must_use]
    pub fn new(query: &str) -> WorkspaceRequest {
        WorkspaceRequest { query: query.to_owned(), ..WorkspaceRequest::default() }
    }

    /// Converts a request of the application into the engine's request.
    ///
    /// # Errors
    /// When a field is invalid; the error names it.
    pub fn to_request(&self) -> Result<crate::Request, Error> {
        self.to_request_for("workspace")
    }

    pub(super) fn to_request_for(&self, recipe: &str) -> Result<crate::Request, Error> {
        let common: WireRequest = crate::wire::read(Value::Object(self.other.clone()))?;
        let mut request = common.request(recipe)?;
        request.query.clone_from(&self.query);
        if let Some(focus) = &self.focus {
            focus.apply(&mut request)?;
        }
        if let Some(given) = &self.request_type
            && !REQUEST_TYPES.contains(&given.as_str())
        {
            let message = format!("{given:?} is not one of {}", REQUEST_TYPES.join(", "));
            return Err(Error::invalid("type", message));
        }
        request.request_type.clone_from(&self.request_type);
        match &self.user {
            None => {}
            Some(WorkspaceUser::Name(name)) => {
                let groups = common.groups.as_slice();
                request.viewer = viewer(Some(name), groups)?;
                request.user = Some(name.clone());
            }
            Some(WorkspaceUser::Member { id, groups }) => {
                request.viewer = viewer(Some(id), groups)?;
                request.user = Some(id.clone());
            }
        }
        request.history = turns("conversationHistory", &self.conversation_history)?;
        if let Some(hints) = &self.hints {
            hints.apply("hints", &mut request)?;
        }
        match &self.token_budget {
            None => {}
            Some(WorkspaceTokenBudget::Total(total)) => request.budget = Some(Tokens::new(*total)),
            Some(WorkspaceTokenBudget::Sections(figures)) => {
                let mut figures = figures.clone();
                request.budget = figures.remove("total").map(Tokens::new).or(request.budget);
                if let Some(system) = figures.remove("system") {
                    request.reserves.insert("system".to_owned(), Tokens::new(system));
                }
                request.caps = tokens(&figures);
            }
        }
        Ok(request)
    }
}

/// A payload for the model (W10).
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "WorkspaceContext"))]
#[serde(rename_all = "camelCase")]
pub struct WorkspaceContext {
    /// The sections, in order.
    pub sections: Vec<WorkspaceSection>,
    /// What is known of the payload.
    pub metadata: WorkspaceMetadata,
    /// The final string.
    pub serialized: String,
    /// The same, under the name that every recipe's result has it.
    pub context: String,
    /// What every result shares.
    pub assembly: Assembly,
}

/// A section.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "WorkspaceSection"))]
#[serde(rename_all = "camelCase")]
pub struct WorkspaceSection {
    /// Which: `focus`, `semantic`, `relations`, `activity`, `history`.
    #[serde(rename = "type")]
    pub section_type: String,
    /// Its title.
    pub title: String,
    /// Its items.
    pub items: Vec<WorkspaceItem>,
    /// Its tokens.
    pub token_count: u32,
}

/// An item of a section.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "WorkspaceItem"))]
#[serde(rename_all = "camelCase")]
pub struct WorkspaceItem {
    /// The block.
    pub block_id: String,
    /// Its type.
    pub block_type: String,
    /// Its text as it is in.
    pub content: String,
    /// Its score, between 0 and 1.
    pub relevance: f64,
    /// What else is known.
    pub metadata: WorkspaceItemMetadata,
}

/// What else is known of an item.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema),
    schemars(rename = "WorkspaceItemMetadata")
)]
#[serde(rename_all = "camelCase")]
pub struct WorkspaceItemMetadata {
    /// The title of what it is on, or its own.
    pub page_title: Option<String>,
    /// The titles of what it hangs under, outermost first.
    pub path: Vec<String>,
    /// When it last changed.
    pub last_modified: Option<String>,
}

/// What is known of a payload.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema),
    schemars(rename = "WorkspaceMetadata")
)]
#[serde(rename_all = "camelCase")]
pub struct WorkspaceMetadata {
    /// Tokens of the final string.
    pub total_tokens: u32,
    /// The block that was looked at.
    pub focus_block_id: Option<String>,
    /// The page that was looked at.
    pub focus_page_id: Option<String>,
    /// What time it was.
    pub timestamp: String,
    /// The sections whose collectors found something: `focus`, `semantic`, `relations`, `activity`,
    /// `history`.
    pub collectors_used: Vec<String>,
    /// How many blocks are in, each counted once; turns of the conversation are none.
    pub blocks_included: usize,
    /// How many blocks were found that the reader can read, in or not, each counted once.
    pub blocks_considered: usize,
}

impl WorkspaceContext {
    /// Makes the result of a pack in this shape.
    #[must_use]
    pub fn from_assembled(assembled: &Assembled, explain: bool) -> WorkspaceContext {
        let request = &assembled.request;
        let sections = &assembled.pack.sections;
        let text = |id: &ItemId| id.as_str().to_owned();
        let blocks = |ids: &mut dyn Iterator<Item = &ItemId>| {
            let blocks: BTreeSet<&ItemId> = ids.filter(|id| !assembled.is_synthetic(id)).collect();
            blocks.len()
        };
        let entries = &assembled.pack.ledger;
        let items = sections.iter().flat_map(|section| &section.items);
        let found_some = |layer: &&str| entries.iter().any(|entry| *entry.layer == **layer);
        let layers = assembled.recipe.layers.iter().map(|layer| layer.name.as_str());
        WorkspaceContext {
            sections: sections.iter().map(|section| to_section(assembled, section)).collect(),
            metadata: WorkspaceMetadata {
                total_tokens: assembled.pack.tokens.get(),
                focus_block_id: request.focus.as_ref().map(text),
                focus_page_id: request.page.as_ref().map(text),
                timestamp: assembled.now.to_string(),
                collectors_used: layers.filter(found_some).map(str::to_owned).collect(),
                blocks_included: blocks(&mut items.map(|item| &item.id.item)),
                blocks_considered: blocks(&mut entries.iter().map(|entry| &entry.id.item)),
            },
            serialized: assembled.text().to_owned(),
            context: assembled.text().to_owned(),
            assembly: Assembly::from_assembled(assembled, explain),
        }
    }
}

/// The title of the page that a block is on, or the block's own when no ancestor has one.
fn page_title(candidate: &Candidate) -> Option<String> {
    let path = &candidate.place.breadcrumb;
    let own = candidate.place.title.as_ref();
    let is_page = matches!(candidate.kind.as_str(), "page" | "database");
    let above = match (path.last(), own) {
        (Some(last), Some(own)) if last == own && !is_page => path.iter().rev().nth(1),
        (last, _) => last,
    };
    above.or(own).cloned()
}

/// Converts a section of a pack. Pieces of one block become one item.
fn to_section(assembled: &Assembled, section: &PackSection) -> WorkspaceSection {
    let item = |item: &PackItem| {
        let ranked = assembled.ranked(&item.id)?;
        let candidate = &ranked.candidate;
        Some(WorkspaceItem {
            block_id: item.id.item.as_str().to_owned(),
            block_type: candidate.kind.to_string(),
            content: assembled.content(item),
            relevance: ranked.score.get().clamp(0.0, 1.0),
            metadata: WorkspaceItemMetadata {
                page_title: page_title(candidate),
                path: candidate.place.breadcrumb.clone(),
                last_modified: candidate.moment.map(|moment| moment.to_string()),
            },
        })
    };
    let mut items: Vec<WorkspaceItem> = Vec::new();
    for next in section.items.iter().filter_map(item) {
        match items.iter_mut().find(|item| item.block_id == next.block_id) {
            Some(item) => {
                item.content.push_str("\n\n…\n\n");
                item.content.push_str(&next.content);
                item.relevance = item.relevance.max(next.relevance);
            }
            None => items.push(next),
        }
    }
    WorkspaceSection {
        section_type: section.layer.to_string(),
        title: section.title.clone(),
        items,
        token_count: section.tokens.get(),
    }
}

/// Counts the tokens of a payload's final string; it is not an estimate (W11).
#[must_use]
pub fn estimate_tokens(context: &WorkspaceContext, tokenizer: &dyn Tokenizer) -> Tokens {
    tokenizer.count(&context.serialized)
}

impl Workspace {
    /// Packs a payload for a question inside the workspace.
    ///
    /// # Errors
    /// As [`Workspace::pack`].
    pub async fn blocks(&self, request: &WorkspaceRequest) -> Result<WorkspaceContext, Error> {
        Ok(WorkspaceContext::from_assembled(&*self.pack(request.to_request()?).await?, false))
    }
}
