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

/// What a request can be for (W9).
pub const TYPES: [&str; 4] = ["assist", "chat", "search", "automate"];

/// What an assistant inside a workspace asks (W9).
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "WorkspaceRequest"))]
#[serde(rename_all = "camelCase")]
pub struct Request {
    /// The question.
    pub query: String,
    /// What the asker looks at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub focus: Option<WireFocus>,
    /// What the request is for: `assist`, `chat`, `search` or `automate`. It chooses the budgets
    /// of the sections when the request does not.
    #[serde(rename = "type", default, skip_serializing_if = "Option::is_none")]
    pub sort: Option<String>,
    /// Who asks: a name, or an object with `id` and `groups`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<User>,
    /// What was said before.
    #[serde(default, deserialize_with = "or_nothing", skip_serializing_if = "Vec::is_empty")]
    pub conversation_history: Vec<WireTurn>,
    /// The budget: a number for all of it, or `total` and a cap for each section.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token_budget: Option<TokenBudget>,
    /// What else to consider, prefer or leave out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hints: Option<WireHints>,
    /// What every recipe can be asked.
    #[serde(flatten)]
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub other: Map<String, Value>,
}

/// A list, where `null` is an empty one.
fn or_nothing<'de, D: serde::Deserializer<'de>>(given: D) -> Result<Vec<WireTurn>, D::Error> {
    Ok(Option::<Vec<WireTurn>>::deserialize(given)?.unwrap_or_default())
}

/// Who asks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "WorkspaceUser"))]
#[serde(untagged)]
pub enum User {
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
pub enum TokenBudget {
    /// All of it.
    Total(u32),
    /// By section; `system` is kept free for the system prompt.
    Sections(BTreeMap<String, u32>),
}

impl Request {
    /// A question, with nothing else said.
    #[must_use]
    pub fn new(query: &str) -> Request {
        Request { query: query.to_owned(), ..Request::default() }
    }

    /// The request that this says.
    ///
    /// # Errors
    /// When a field is wrong; the error names it.
    pub fn request(&self) -> Result<crate::Request, Error> {
        self.request_to("workspace")
    }

    pub(super) fn request_to(&self, recipe: &str) -> Result<crate::Request, Error> {
        let common: WireRequest = crate::wire::read(Value::Object(self.other.clone()))?;
        let mut request = common.request(recipe)?;
        request.query.clone_from(&self.query);
        if let Some(focus) = &self.focus {
            focus.apply(&mut request)?;
        }
        if let Some(sort) = &self.sort
            && !TYPES.contains(&sort.as_str())
        {
            let message = format!("{sort:?} is not one of {}", TYPES.join(", "));
            return Err(Error::invalid("type", message));
        }
        request.request_type.clone_from(&self.sort);
        match &self.user {
            None => {}
            Some(User::Name(name)) => {
                let groups = common.groups.as_slice();
                request.viewer = viewer(Some(name), groups)?;
                request.user = Some(name.clone());
            }
            Some(User::Member { id, groups }) => {
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
            Some(TokenBudget::Total(total)) => request.budget = Some(Tokens::new(*total)),
            Some(TokenBudget::Sections(figures)) => {
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
pub struct Context {
    /// The sections, in order.
    pub sections: Vec<Section>,
    /// What is known of the payload.
    pub metadata: Metadata,
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
pub struct Section {
    /// Which: `focus`, `semantic`, `relations`, `activity`, `history`.
    #[serde(rename = "type")]
    pub sort: String,
    /// Its title.
    pub title: String,
    /// Its items.
    pub items: Vec<Item>,
    /// Its tokens.
    pub token_count: u32,
}

/// An item of a section.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "WorkspaceItem"))]
#[serde(rename_all = "camelCase")]
pub struct Item {
    /// The block.
    pub block_id: String,
    /// Its type.
    pub block_type: String,
    /// Its text as it is in.
    pub content: String,
    /// Its score, between 0 and 1.
    pub relevance: f64,
    /// What else is known.
    pub metadata: ItemMetadata,
}

/// What else is known of an item.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema),
    schemars(rename = "WorkspaceItemMetadata")
)]
#[serde(rename_all = "camelCase")]
pub struct ItemMetadata {
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
pub struct Metadata {
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

impl Context {
    /// What was assembled, in this shape.
    #[must_use]
    pub fn of(assembled: &Assembled, explain: bool) -> Context {
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
        Context {
            sections: sections.iter().map(|section| shown(assembled, section)).collect(),
            metadata: Metadata {
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
            assembly: Assembly::of(assembled, explain),
        }
    }
}

/// The title of what a block is on; its own when it hangs under nothing that has one.
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

/// The entries of one section: one for each block, however many pieces it has.
fn shown(assembled: &Assembled, section: &PackSection) -> Section {
    let item = |item: &PackItem| {
        let ranked = assembled.ranked(&item.id)?;
        let candidate = &ranked.candidate;
        Some(Item {
            block_id: item.id.item.as_str().to_owned(),
            block_type: candidate.kind.to_string(),
            content: assembled.content(item),
            relevance: ranked.score.get().clamp(0.0, 1.0),
            metadata: ItemMetadata {
                page_title: page_title(candidate),
                path: candidate.place.breadcrumb.clone(),
                last_modified: candidate.moment.map(|moment| moment.to_string()),
            },
        })
    };
    let mut items: Vec<Item> = Vec::new();
    for next in section.items.iter().filter_map(item) {
        match items.iter_mut().find(|known| known.block_id == next.block_id) {
            Some(known) => {
                known.content.push_str("\n\n…\n\n");
                known.content.push_str(&next.content);
                known.relevance = known.relevance.max(next.relevance);
            }
            None => items.push(next),
        }
    }
    Section {
        sort: section.layer.to_string(),
        title: section.title.clone(),
        items,
        token_count: section.tokens.get(),
    }
}

/// The tokens of a payload's final string, counted, not estimated (W11).
#[must_use]
pub fn estimate_tokens(context: &Context, tokenizer: &dyn Tokenizer) -> Tokens {
    tokenizer.count(&context.serialized)
}

impl Workspace {
    /// A payload for a question inside the workspace.
    ///
    /// # Errors
    /// As [`Workspace::pack`].
    pub async fn blocks(&self, request: &Request) -> Result<Context, Error> {
        Ok(Context::of(&*self.pack(request.request()?).await?, false))
    }
}
