//! `workspace`: blocks of a workspace, near the item in focus (W1 to W15).

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
use crate::wire::{
    WireFocus, WireHints, WireRequest, WireTurn, build_viewer, parse_turns, to_tokens,
};

/// The types of requests (W9).
pub const REQUEST_TYPES: [&str; 4] = ["assist", "chat", "search", "automate"];

/// A request of an assistant inside a workspace (W9).
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "WorkspaceRequest"))]
#[serde(rename_all = "camelCase")]
pub struct WorkspaceRequest {
    /// The query in the user's words.
    pub query: String,
    /// What the user is looking at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub focus: Option<WireFocus>,
    /// The type of request: `assist`, `chat`, `search` or `automate`. It sets the budgets of the
    /// sections, unless the request does.
    #[serde(rename = "type", default, skip_serializing_if = "Option::is_none")]
    pub request_type: Option<String>,
    /// The user: a name, or an object with `id` and `groups`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<WorkspaceUser>,
    /// The conversation so far, oldest turn first.
    #[serde(default, deserialize_with = "null_as_empty", skip_serializing_if = "Vec::is_empty")]
    pub conversation_history: Vec<WireTurn>,
    /// The budget: one number, or `total` and a cap for each section.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token_budget: Option<WorkspaceTokenBudget>,
    /// Items and kinds to include, exclude or prioritize.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hints: Option<WireHints>,
    /// The fields of all requests.
    #[serde(flatten)]
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub other: Map<String, Value>,
}

/// Reads a list; `null` is an empty one.
fn null_as_empty<'de, D: serde::Deserializer<'de>>(given: D) -> Result<Vec<WireTurn>, D::Error> {
    Ok(Option::<Vec<WireTurn>>::deserialize(given)?.unwrap_or_default())
}

/// The user with whose permissions everything is read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "WorkspaceUser"))]
#[serde(untagged)]
pub enum WorkspaceUser {
    /// The user's name.
    Name(String),
    /// The user's id and groups.
    Member {
        /// The user's name.
        id: String,
        /// The user's groups.
        #[serde(default)]
        groups: Vec<String>,
    },
}

/// A token budget, as a whole or by section.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema),
    schemars(rename = "WorkspaceTokenBudget")
)]
#[serde(untagged)]
pub enum WorkspaceTokenBudget {
    /// The total budget.
    Total(u32),
    /// The budget of each section, and `total`; `system` is reserved for the system prompt.
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
        let common: WireRequest = crate::wire::parse_json(Value::Object(self.other.clone()))?;
        let mut request = common.to_request(recipe)?;
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
                request.viewer = build_viewer(Some(name), groups)?;
                request.user = Some(name.clone());
            }
            Some(WorkspaceUser::Member { id, groups }) => {
                request.viewer = build_viewer(Some(id), groups)?;
                request.user = Some(id.clone());
            }
        }
        request.history = parse_turns("conversationHistory", &self.conversation_history)?;
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
                request.caps = to_tokens(&figures);
            }
        }
        Ok(request)
    }
}

/// The result of `workspace`, a payload for the model (W10).
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "WorkspaceContext"))]
#[serde(rename_all = "camelCase")]
pub struct WorkspaceContext {
    /// The sections, in order.
    pub sections: Vec<WorkspaceSection>,
    /// The metadata of the payload.
    pub metadata: WorkspaceMetadata,
    /// The final string.
    pub serialized: String,
    /// The final string, under the name that all recipes use.
    pub context: String,
    /// The part that the results of all recipes share.
    pub assembly: Assembly,
}

/// A section of the payload.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "WorkspaceSection"))]
#[serde(rename_all = "camelCase")]
pub struct WorkspaceSection {
    /// The type: `focus`, `semantic`, `relations`, `activity` or `history`.
    #[serde(rename = "type")]
    pub section_type: String,
    /// The section's title.
    pub title: String,
    /// The section's items, in order.
    pub items: Vec<WorkspaceItem>,
    /// The section's tokens.
    pub token_count: u32,
}

/// A block in a section.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "WorkspaceItem"))]
#[serde(rename_all = "camelCase")]
pub struct WorkspaceItem {
    /// The block's id.
    pub block_id: String,
    /// The block's type.
    pub block_type: String,
    /// The block's text in the pack.
    pub content: String,
    /// The block's score, from 0 to 1.
    pub relevance: f64,
    /// The block's metadata.
    pub metadata: WorkspaceItemMetadata,
}

/// The metadata of a block.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema),
    schemars(rename = "WorkspaceItemMetadata")
)]
#[serde(rename_all = "camelCase")]
pub struct WorkspaceItemMetadata {
    /// The title of the block's page, or its own.
    pub page_title: Option<String>,
    /// The titles of the block's ancestors, outermost first.
    pub path: Vec<String>,
    /// The time of the last change.
    pub last_modified: Option<String>,
}

/// The metadata of a payload.
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
    /// The id of the block in focus.
    pub focus_block_id: Option<String>,
    /// The id of the open page.
    pub focus_page_id: Option<String>,
    /// The time at which the pack was made.
    pub timestamp: String,
    /// The sections whose collectors found something: `focus`, `semantic`, `relations`, `activity`,
    /// `history`.
    pub collectors_used: Vec<String>,
    /// The number of blocks in the pack, each counted once. Turns of the conversation are not
    /// blocks.
    pub blocks_included: usize,
    /// The number of candidate blocks, included or left out, each counted once.
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
