//! Memories: stored if they say something new, and searched.

use axum::http::StatusCode;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use haversack::Workspace;
use haversack::models::{ExtractedMemory, Extraction, ExtractionOptions};
use haversack::recipes::memory;
use haversack::remember::SkipReason;
use haversack::revision::RevisionId;
use haversack::wire::WireTurn;
use haversack_core::ids::ItemId;
use haversack_core::item::Kind;
use haversack_core::units::Tokens;
use haversack_store::store::change::WriteKey;
use haversack_store::store::item::Item;
use haversack_store::store::viewer::{Principal, Readers};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::call::{Call, RouteResult, json};
use crate::http::items::revision_after;
use crate::problem::ApiProblem;
use crate::state::ServerState;
use crate::who::{Actor, Identity};

/// Most memories or searches in one request.
const MANY_MAX: usize = 1_000;

/// A budget that fits all hits: a search ranks and does not select.
const SEARCH_BUDGET: u32 = 1_000_000;

/// Memories to add.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "NewMemories")]
pub(crate) struct WireMemories {
    /// The owner of the memories, who alone can read them; the key's user by default.
    #[serde(default)]
    pub(crate) user: Option<String>,
    /// The memories to add.
    #[schemars(length(min = 1, max = 1000))]
    pub(crate) memories: Vec<WireNewMemory>,
}

/// A memory to add.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "NewMemory")]
pub(crate) struct WireNewMemory {
    /// The memory's text.
    #[schemars(length(min = 1))]
    pub(crate) content: String,
    /// The memory's id; derived from its content by default. A memory with this id is replaced.
    #[serde(default)]
    pub(crate) id: Option<String>,
    /// The type: `fact`, `preference`, `event`, …
    #[serde(default, rename = "type")]
    pub(crate) sort: Option<String>,
    /// The confidence of the memory's source, from 0 to 1.
    #[serde(default)]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub(crate) confidence: Option<f64>,
    /// The conversation that the memory comes from.
    #[serde(default, alias = "conversation")]
    pub(crate) conversation_id: Option<String>,
    /// The creation time; now by default.
    #[serde(default, alias = "created_at")]
    #[schemars(with = "Option<haversack::wire::Moment>")]
    pub(crate) created_at: Option<Value>,
}

/// The result of adding memories.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Remembered")]
pub(crate) struct WireRemembered {
    /// The revision after the write.
    revision: RevisionId,
    /// The ids of memories stored or unchanged.
    pub(crate) stored: Vec<String>,
    /// The memories left out, each with its reason.
    pub(crate) left_out: Vec<WireLeftOut>,
}

/// A memory that was not stored.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "LeftOut")]
pub(crate) struct WireLeftOut {
    /// The memory's id.
    id: String,
    /// `repeats` (says what another does) or `echoes` (was in a pack).
    reason: &'static str,
    /// The item that it repeats or echoes.
    of: Vec<String>,
}

pub(crate) fn add(mut call: Call) -> BoxFuture<'static, RouteResult> {
    async move {
        let workspace = call.workspace().await?;
        let wanted: WireMemories = call.read().await?;
        let key = call.key.clone();
        let remembered = remember(&call.state, &call.identity, &workspace, wanted, key).await?;
        json(StatusCode::OK, &remembered)
    }
    .boxed()
}

/// Stores memories that say something new.
pub(crate) async fn remember(
    state: &ServerState,
    identity: &Identity,
    workspace: &Workspace,
    wanted: WireMemories,
    key: Option<WriteKey>,
) -> Result<WireRemembered, ApiProblem> {
    if wanted.memories.len() > MANY_MAX {
        let detail = format!("{} are more than the most, {MANY_MAX}", wanted.memories.len());
        return Err(ApiProblem::invalid("memories", detail));
    }
    let Actor { viewer, user } = identity.actor(wanted.user.as_ref(), &[])?;
    let items: Result<Vec<Item>, ApiProblem> =
        wanted.memories.iter().map(|memory| item(memory, workspace, user.as_deref())).collect();
    let items = items?;
    let mut ids: Vec<String> = items.iter().map(|item| item.id.as_str().to_owned()).collect();
    let remembered = state.gate.compute(workspace.remember_once(&viewer, items, key)).await?;
    let left_out: Vec<WireLeftOut> = remembered.left_out.iter().map(left_out).collect();
    ids.retain(|id| left_out.iter().all(|left_out| left_out.id != *id));
    ids.dedup();
    state.metrics.note_stored(u64::try_from(remembered.committed.stored).unwrap_or(u64::MAX));
    let revision = revision_after(workspace, &viewer, remembered.committed.revision).await?;
    Ok(WireRemembered { revision, stored: ids, left_out })
}

fn left_out(left_out: &haversack::remember::SkippedItem) -> WireLeftOut {
    let names = |ids: &[ItemId]| ids.iter().map(|id| id.as_str().to_owned()).collect();
    let (reason, of) = match &left_out.why {
        SkipReason::Repeats { of } => ("repeats", names(std::slice::from_ref(of))),
        SkipReason::Echoes { of } => ("echoes", names(of)),
    };
    WireLeftOut { id: left_out.id.as_str().to_owned(), reason, of }
}

fn item(
    memory: &WireNewMemory,
    workspace: &Workspace,
    user: Option<&str>,
) -> Result<Item, ApiProblem> {
    let content = memory.content.trim();
    if content.is_empty() {
        return Err(ApiProblem::invalid("memories.content", "is empty: name what to remember"));
    }
    let id = memory.id.clone().unwrap_or_else(|| {
        let hash = blake3::hash(format!("{}\n{content}", user.unwrap_or_default()).as_bytes());
        format!("mem-{}", &hash.to_hex()[..16])
    });
    let wrong =
        |error: haversack_core::ids::IdError| ApiProblem::invalid("memories.id", error.to_string());
    let kind = Kind::new("memory").map_err(wrong)?;
    let mut item = Item::new(ItemId::new(&id).map_err(wrong)?, kind, "");
    let now = json!(workspace.now().as_millis());
    let fields = [
        ("content", Some(json!(content))),
        ("type", memory.sort.as_ref().map(|sort| json!(sort))),
        ("conversation", memory.conversation_id.as_ref().map(|id| json!(id))),
        ("confidence", memory.confidence.map(|confidence| json!(confidence))),
        ("created_at", Some(memory.created_at.clone().unwrap_or(now))),
    ];
    item.fields =
        fields.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect();
    if let Some(user) = user {
        let reader =
            Principal::user(user).map_err(|e| ApiProblem::invalid("user", e.to_string()))?;
        item.readers = Readers::Only([reader].into());
    }
    Ok(item)
}

/// A conversation to extract memories from.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "ConversationToExtract")]
pub(crate) struct WireConversation {
    /// The turns, oldest first.
    #[schemars(length(min = 1, max = 2000))]
    pub(crate) conversation: Vec<WireTurn>,
    /// The conversation's id, kept with each memory.
    #[serde(default)]
    pub(crate) conversation_id: Option<String>,
    /// The memories' owner, who alone can read them; the key's user by default.
    #[serde(default)]
    pub(crate) user: Option<String>,
    /// Whether nothing is stored: the result shows what would be.
    #[serde(default)]
    pub(crate) dry_run: bool,
}

/// The memories of a conversation.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ExtractedMemories")]
pub(crate) struct WireExtraction {
    /// The memories that say something new.
    memories: Vec<WireExtracted>,
    /// The memories that are known already, each with its reason.
    left_out: Vec<WireLeftOut>,
    /// Whether they were stored.
    stored: bool,
    /// The model that found them.
    model: String,
}

/// A memory that a model found in a conversation.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ExtractedMemory")]
pub(crate) struct WireExtracted {
    /// Its id.
    id: String,
    /// Its text.
    content: String,
    /// Its type.
    #[serde(rename = "type")]
    memory_type: String,
    /// How sure the model is.
    confidence: f64,
    /// The turn it comes from, from zero.
    #[serde(skip_serializing_if = "Option::is_none")]
    turn: Option<usize>,
    /// When it happened or was said, in Unix milliseconds.
    created_at: i64,
    /// The older memories that it makes out of date.
    supersedes: Vec<String>,
}

impl WireExtraction {
    fn from_extraction(extraction: &Extraction) -> WireExtraction {
        WireExtraction {
            memories: extraction.memories.iter().map(WireExtracted::from_memory).collect(),
            left_out: extraction.left_out.iter().map(left_out).collect(),
            stored: extraction.committed.is_some(),
            model: extraction.model.clone(),
        }
    }
}

impl WireExtracted {
    fn from_memory(memory: &ExtractedMemory) -> WireExtracted {
        let fields = &memory.item.fields;
        let text =
            |name: &str| fields.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        WireExtracted {
            id: memory.item.id.as_str().to_owned(),
            content: text("content"),
            memory_type: text("type"),
            confidence: fields.get("confidence").and_then(Value::as_f64).unwrap_or_default(),
            turn: memory.turn,
            created_at: fields.get("created_at").and_then(Value::as_i64).unwrap_or_default(),
            supersedes: memory.supersedes.iter().map(|id| id.as_str().to_owned()).collect(),
        }
    }
}

/// An extraction as the server answers it.
#[must_use]
pub fn extraction_document(extraction: &Extraction) -> Value {
    serde_json::to_value(WireExtraction::from_extraction(extraction)).unwrap_or_default()
}

pub(crate) fn extract(mut call: Call) -> BoxFuture<'static, RouteResult> {
    async move {
        let workspace = call.workspace().await?;
        let wanted: WireConversation = call.read().await?;
        let extraction = extract_memories(&call.identity, &workspace, wanted).await?;
        json(StatusCode::OK, &extraction)
    }
    .boxed()
}

/// Extracts memories from a conversation, for the caller or the user that they name.
pub(crate) async fn extract_memories(
    identity: &Identity,
    workspace: &Workspace,
    wanted: WireConversation,
) -> Result<WireExtraction, ApiProblem> {
    let Actor { viewer, user } = identity.actor(wanted.user.as_ref(), &[])?;
    let turns = haversack::wire::conversation("conversation", &wanted.conversation)?;
    let reader = user.as_deref().map(Principal::user).transpose();
    let reader = reader.map_err(|e| ApiProblem::invalid("user", e.to_string()))?;
    let options = ExtractionOptions {
        conversation: wanted.conversation_id,
        readers: reader.map(|reader| Readers::Only([reader].into())),
        dry_run: wanted.dry_run,
    };
    // It waits for a model and computes little, so it takes no processor's place.
    let extraction = workspace.extract_memories(&viewer, &turns, &options).await?;
    Ok(WireExtraction::from_extraction(&extraction))
}

/// Searches for memories.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "MemorySearch")]
pub(crate) struct WireMemorySearch {
    /// The queries, each with its own options.
    #[schemars(length(min = 1, max = 1000))]
    searches: Vec<memory::MemoryRequest>,
}

/// The results of searches for memories.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "MemoryResults")]
pub(crate) struct WireMemoryResults {
    /// The matching memories of each query, in order, best first.
    results: Vec<Vec<memory::MemorySearchResult>>,
}

pub(crate) fn search(mut call: Call) -> BoxFuture<'static, RouteResult> {
    async move {
        let workspace = call.workspace().await?;
        let wanted: WireMemorySearch = call.read().await?;
        if wanted.searches.len() > MANY_MAX {
            let detail = format!("{} are more than the most, {MANY_MAX}", wanted.searches.len());
            return Err(ApiProblem::invalid("searches", detail));
        }
        if wanted.searches.is_empty() {
            return Err(ApiProblem::invalid("searches", "there has to be one"));
        }
        let mut results = Vec::with_capacity(wanted.searches.len());
        for search in &wanted.searches {
            let mut request = search.to_request()?;
            call.identity.apply_to(&mut request)?;
            request.keep = false;
            request.limit.get_or_insert(memory::SEARCH_LIMIT);
            request.budget = Some(Tokens::new(SEARCH_BUDGET));
            request.model = None;
            let answer =
                call.state.gate.compute(workspace.answer(request, call.span.watch(None))).await?;
            let took = answer.assembled.timings.total();
            let found = memory::MemoryContext::from_assembled(&answer.assembled, false).memories;
            call.state.metrics.note_search(found.len(), took);
            results.push(found);
        }
        json(StatusCode::OK, &WireMemoryResults { results })
    }
    .boxed()
}
