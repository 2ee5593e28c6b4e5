//! `workspace`: blocks around what the asker looks at (W1 to W15).

use std::collections::BTreeMap;
use std::sync::Arc;

use haversack_core::assemble::Item as PackItem;
use haversack_core::assemble::Section as PackSection;
use haversack_core::text::tokenizer::Tokenizer;
use haversack_core::units::Tokens;
use haversack_store::store::viewer::Viewer;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::Assembly;
use crate::engine::Workspace;
use crate::engine::apart::apart;
use crate::error::Error;
use crate::pipeline::Assembled;
use crate::wire::{WireFocus, WireHints, WireRequest, WireTurn, tokens, turns, viewer};

/// What a request can be for (W9).
pub const TYPES: [&str; 4] = ["assist", "chat", "search", "automate"];

/// What an assistant inside a workspace asks (W9).
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "WorkspaceRequest"))]
#[serde(rename_all = "camelCase", default)]
pub struct Request {
    /// The question.
    pub query: String,
    /// What the asker looks at.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub focus: Option<WireFocus>,
    /// What the request is for: `assist`, `chat`, `search` or `automate`. It chooses the budgets
    /// of the sections when the request does not.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub sort: Option<String>,
    /// Who asks: a name, or an object with `id` and `groups`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<User>,
    /// What was said before.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conversation_history: Vec<WireTurn>,
    /// The budget: a number for all of it, or `total` and a cap for each section.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token_budget: Option<TokenBudget>,
    /// What else to consider, prefer or leave out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hints: Option<WireHints>,
    /// What every recipe can be asked.
    #[serde(flatten)]
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub other: Map<String, Value>,
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
        request.sort.clone_from(&self.sort);
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
    /// The title of the page it is on, or its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub page_title: Option<String>,
    /// The titles of what it hangs under, outermost first.
    pub path: Vec<String>,
    /// When it last changed.
    #[serde(skip_serializing_if = "Option::is_none")]
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
    #[serde(skip_serializing_if = "Option::is_none")]
    pub focus_block_id: Option<String>,
    /// The page that was looked at.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub focus_page_id: Option<String>,
    /// What time it was.
    pub timestamp: String,
    /// The collectors that answered.
    pub collectors_used: Vec<String>,
    /// How many blocks are in.
    pub blocks_included: usize,
    /// How many were considered.
    pub blocks_considered: usize,
}

impl Context {
    /// What was assembled, in this shape.
    #[must_use]
    pub fn of(assembled: &Assembled, explain: bool) -> Context {
        let request = &assembled.request;
        let sections = &assembled.pack.sections;
        let text = |id: &haversack_core::ids::ItemId| id.as_str().to_owned();
        Context {
            sections: sections.iter().map(|section| shown(assembled, section)).collect(),
            metadata: Metadata {
                total_tokens: assembled.pack.tokens.get(),
                focus_block_id: request.focus.as_ref().map(text),
                focus_page_id: request.page.as_ref().map(text),
                timestamp: assembled.now.to_string(),
                collectors_used: assembled.collectors.clone(),
                blocks_included: sections.iter().map(|section| section.items.len()).sum(),
                blocks_considered: assembled.pack.ledger.len(),
            },
            serialized: assembled.text().to_owned(),
            context: assembled.text().to_owned(),
            assembly: Assembly::of(assembled, explain),
        }
    }
}

fn shown(assembled: &Assembled, section: &PackSection) -> Section {
    let item = |item: &PackItem| {
        let ranked = assembled.ranked(&item.id)?;
        let candidate = &ranked.candidate;
        let path = candidate.place.breadcrumb.clone();
        Some(Item {
            block_id: item.id.item.as_str().to_owned(),
            block_type: candidate.kind.to_string(),
            content: assembled.content(item),
            relevance: ranked.score.get().clamp(0.0, 1.0),
            metadata: ItemMetadata {
                page_title: path.last().cloned().or_else(|| candidate.place.title.clone()),
                path,
                last_modified: candidate.moment.map(|moment| moment.to_string()),
            },
        })
    };
    Section {
        sort: section.layer.to_string(),
        title: section.title.clone(),
        items: section.items.iter().filter_map(item).collect(),
        token_count: section.tokens.get(),
    }
}

/// The tokens of a payload's final string, counted, not estimated (W11).
#[must_use]
pub fn estimate_tokens(context: &Context, tokenizer: &dyn Tokenizer) -> Tokens {
    tokenizer.count(&context.serialized)
}

/// What of a payload is looked at when it is checked; the rest is ignored, so that a result can be
/// handed back as it came.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Payload"))]
#[serde(rename_all = "camelCase")]
pub struct Payload {
    /// The sections.
    pub sections: Vec<PayloadSection>,
    /// What the payload says of itself.
    pub metadata: PayloadMetadata,
    /// The final string.
    pub serialized: String,
    /// What the payload was made within.
    pub assembly: PayloadAssembly,
}

/// A section of a payload.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct PayloadSection {
    /// Its items.
    pub items: Vec<PayloadItem>,
}

/// An item of a payload.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct PayloadItem {
    /// The block.
    pub block_id: String,
    /// Its text as it is in.
    pub content: String,
}

/// What a payload says of itself.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct PayloadMetadata {
    /// Tokens of the final string.
    pub total_tokens: u32,
    /// How many blocks are in.
    pub blocks_included: usize,
}

/// What a payload was made within.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct PayloadAssembly {
    /// What the final string can have at most.
    pub limit: u32,
    /// Who counted.
    pub tokenizer: String,
}

impl From<&Context> for Payload {
    fn from(context: &Context) -> Payload {
        let item = |item: &Item| PayloadItem {
            block_id: item.block_id.clone(),
            content: item.content.clone(),
        };
        let section =
            |section: &Section| PayloadSection { items: section.items.iter().map(item).collect() };
        Payload {
            sections: context.sections.iter().map(section).collect(),
            metadata: PayloadMetadata {
                total_tokens: context.metadata.total_tokens,
                blocks_included: context.metadata.blocks_included,
            },
            serialized: context.serialized.clone(),
            assembly: PayloadAssembly {
                limit: context.assembly.limit,
                tokenizer: context.assembly.tokenizer.clone(),
            },
        }
    }
}

/// What is wrong with a payload (W11).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema),
    schemars(rename = "WorkspaceValidation")
)]
#[serde(rename_all = "camelCase")]
pub struct Validation {
    /// Whether nothing is.
    pub valid: bool,
    /// What is.
    pub problems: Vec<String>,
}

impl Workspace {
    /// A payload for a question inside the workspace.
    ///
    /// # Errors
    /// As [`Workspace::pack`].
    pub async fn blocks(&self, request: &Request) -> Result<Context, Error> {
        Ok(Context::of(&*self.pack(request.request()?).await?, false))
    }

    /// Whether a payload is within its budget, holds no block that its reader may not read now,
    /// none twice, and sections that are what they say (W11). A payload that came over a wire is as
    /// good as one that was just made.
    ///
    /// # Errors
    /// When the store cannot be read, or the payload names a block by what cannot be a name.
    pub async fn validate(
        &self,
        payload: &Payload,
        viewer: &Viewer,
        tokenizer: Arc<dyn Tokenizer>,
    ) -> Result<Validation, Error> {
        let mut problems = Vec::new();
        let text = payload.serialized.clone();
        // A long text takes a while to count.
        let counted = apart(async move { tokenizer.count(&text).get() }).await;
        let limit = payload.assembly.limit;
        if counted > limit {
            problems.push(format!("{counted} tokens are more than the {limit} there are"));
        }
        if counted != payload.metadata.total_tokens {
            let said = payload.metadata.total_tokens;
            problems.push(format!("totalTokens says {said}, the text has {counted}"));
        }
        let items: Vec<&PayloadItem> =
            payload.sections.iter().flat_map(|section| &section.items).collect();
        if items.len() != payload.metadata.blocks_included {
            let said = payload.metadata.blocks_included;
            problems.push(format!("blocksIncluded says {said}, there are {}", items.len()));
        }
        let stored = items.iter().filter(|item| !item.block_id.starts_with("turn:"));
        let mut ids = Vec::new();
        for item in stored {
            ids.push(crate::wire::id("sections.items.blockId", &item.block_id)?);
        }
        let snapshot = self.store().snapshot(viewer).await?;
        for (id, is_there) in ids.iter().zip(snapshot.are_there(&ids).await?) {
            if !is_there {
                problems
                    .push(format!("block {id:?} is not there for this reader", id = id.as_str()));
            }
        }
        let mut contents: Vec<(&str, &str)> =
            items.iter().map(|item| (item.block_id.as_str(), item.content.as_str())).collect();
        contents.sort_unstable();
        for pair in contents.windows(2).filter(|pair| pair[0] == pair[1]) {
            problems.push(format!("block {:?} is in twice", pair[0].0));
        }
        Ok(Validation { valid: problems.is_empty(), problems })
    }
}
