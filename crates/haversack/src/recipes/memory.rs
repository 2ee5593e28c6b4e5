//! `memory`: long-term memories for one message (M1 to M12).

use std::collections::BTreeMap;

use haversack_core::ids::CandidateId;
use haversack_core::rank::Ranked;
use haversack_core::units::{Score, Tokens};
use haversack_store::store::item::Stored;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::Assembly;
use crate::engine::Workspace;
use crate::error::Error;
use crate::pipeline::Assembled;
use crate::request::{RankerChoice, RankingWeights, TemplateChoice};
use crate::wire::{
    WireRanker, WireRequest, WireTemplate, parse_moment_in, parse_unit, parse_vector,
};

/// How deep relationships are followed when the request names no depth.
const DEFAULT_DEPTH: u32 = 1;

/// How many memories a search returns when the request names no limit.
pub const SEARCH_LIMIT: usize = 10;

/// A request of a chat assistant (M3).
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "MemoryRequest"))]
#[serde(rename_all = "camelCase", default)]
pub struct MemoryRequest {
    /// The user's message.
    pub query: String,
    /// A vector to search with in place of the query's own (M2).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vector: Option<Vec<f32>>,
    /// Most memories that are retrieved, related ones excluded. When left out, a search returns 10
    /// and a context as many as fit the budget.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<usize>,
    /// Only memories of these types.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub memory_types: Vec<String>,
    /// Only memories from this moment on.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<crate::wire::Moment>"))]
    pub date_from: Option<Value>,
    /// Only memories from before this moment.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<crate::wire::Moment>"))]
    pub date_to: Option<Value>,
    /// Only memories with at least this confidence, from 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_confidence: Option<f64>,
    /// Only memories of this conversation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub conversation_id: Option<String>,
    /// Whether related memories are included.
    pub include_relationships: bool,
    /// The number of steps that relationships are followed; 1 when left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub relationship_depth: Option<u32>,
    /// A template: `chat`, `detailed`, `summary`, the name of a registered one, or the template
    /// itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub template: Option<WireTemplate>,
    /// The budget in tokens; 2,000 when left out.
    #[serde(
        skip_serializing_if = "Option::is_none",
        deserialize_with = "crate::wire::deserialize_budget"
    )]
    #[cfg_attr(feature = "schema", schemars(with = "Option<u32>"))]
    pub token_budget: Option<u32>,
    /// A ranker: `default`, `bySimilarity`, `byRecency`, `byConfidence`, a registered one, or
    /// `{"expression": "…"}`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ranker: Option<WireRanker>,
    /// Whether type, confidence and time are shown. Without a template, this selects the template
    /// `detailed`.
    pub include_metadata: bool,
    /// The fields of all requests.
    #[serde(flatten)]
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub other: Map<String, Value>,
}

/// Weights of the components of the ranker `default`, each from 0 to 1 (M6).
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "RankingOptions"))]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct RankingOptions {
    /// The weight of semantic similarity; 0.6 when left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub similarity_weight: Option<f64>,
    /// The weight of recency, 1 / (1 + days); 0.2 when left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recency_weight: Option<f64>,
    /// The weight of the memory's confidence; 0.2 when left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confidence_weight: Option<f64>,
}

impl RankingOptions {
    /// Sets these weights on a request.
    ///
    /// # Errors
    /// When a weight is not from 0 to 1, or the request names a ranker that takes no weights.
    pub(crate) fn apply(self, request: &mut crate::Request) -> Result<(), Error> {
        let usual = RankingWeights::default();
        let weight = |name: &str, given: Option<f64>, usual: f64| -> Result<f64, Error> {
            let field = format!("rankingOptions.{name}");
            given.map_or(Ok(usual), |given| Ok(parse_unit(&field, given)?.get()))
        };
        request.ranking = Some(RankingWeights {
            similarity: weight("similarityWeight", self.similarity_weight, usual.similarity)?,
            recency: weight("recencyWeight", self.recency_weight, usual.recency)?,
            confidence: weight("confidenceWeight", self.confidence_weight, usual.confidence)?,
        });
        let default = || RankerChoice::Named("default".to_owned());
        request.ranker.get_or_insert_with(default);
        check_weights(request)
    }

    /// The options that set these weights.
    pub(crate) fn from_weights(weights: RankingWeights) -> RankingOptions {
        RankingOptions {
            similarity_weight: Some(weights.similarity),
            recency_weight: Some(weights.recency),
            confidence_weight: Some(weights.confidence),
        }
    }
}

/// Refuses weights when the request names a ranker that takes none.
fn check_weights(request: &crate::Request) -> Result<(), Error> {
    let is_default = match &request.ranker {
        Some(RankerChoice::Named(name)) => name == "default",
        _ => false,
    };
    if request.ranking.is_none() || is_default {
        return Ok(());
    }
    let message = "weights are those of the ranker \"default\"; the one that is named has none";
    Err(Error::invalid("rankingOptions", message))
}

impl MemoryRequest {
    /// Makes a request with all other fields at their defaults.
    #[must_use]
    pub fn new(query: &str) -> MemoryRequest {
        MemoryRequest { query: query.to_owned(), ..MemoryRequest::default() }
    }

    /// Converts a request of the application into the engine's request.
    ///
    /// # Errors
    /// When a field is invalid; the error names it.
    pub fn to_request(&self) -> Result<crate::Request, Error> {
        self.to_request_for("memory")
    }

    pub(super) fn to_request_for(&self, recipe: &str) -> Result<crate::Request, Error> {
        let common: WireRequest = crate::wire::parse_json(Value::Object(self.other.clone()))?;
        let mut request = common.to_request(recipe)?;
        request.query.clone_from(&self.query);
        request.vector = self.vector.as_deref().map(parse_vector).transpose()?;
        request.limit = self.limit.or(request.limit);
        if request.limit == Some(0) {
            return Err(Error::invalid("limit", "is 0: ask for one memory or more"));
        }
        if request.query.trim().is_empty() && request.vector.is_none() {
            return Err(Error::invalid(
                "query",
                "is missing: say what to remember, or give a vector",
            ));
        }
        let from = parse_moment_in(&request.time_zone, "dateFrom", self.date_from.as_ref())?;
        let to = parse_moment_in(&request.time_zone, "dateTo", self.date_to.as_ref())?;
        if let (Some(from), Some(to)) = (from, to)
            && from >= to
        {
            let message = format!("{to} is not after dateFrom, {from}");
            return Err(Error::invalid("dateTo", message));
        }
        request.time = (from, to);
        request.confidence_least =
            self.min_confidence.map(|least| parse_unit("minConfidence", least)).transpose()?;
        if !self.memory_types.is_empty() {
            let types = self.memory_types.iter().map(|name| json!(name)).collect();
            request.fields.push(("type".to_owned(), types));
        }
        if let Some(conversation) = &self.conversation_id {
            request.fields.push(("conversation".to_owned(), vec![json!(conversation)]));
        }
        request.depth = match (self.include_relationships, self.relationship_depth) {
            (true, depth) => Some(depth.unwrap_or(DEFAULT_DEPTH)),
            (false, _) => request.depth,
        };
        request.metadata = self.include_metadata && self.template.is_some();
        request.template = match (&self.template, self.include_metadata) {
            (Some(template), _) => Some(template.to_choice()),
            (None, true) => Some(TemplateChoice::Named("detailed".to_owned())),
            (None, false) => request.template,
        };
        request.budget = self.token_budget.map(Tokens::new).or(request.budget);
        if let Some(ranker) = &self.ranker {
            request.ranker = Some(ranker.clone().into());
            check_weights(&request)?;
        }
        Ok(request)
    }
}

/// A memory (M1).
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Memory"))]
pub struct Memory {
    /// The memory's id.
    pub id: String,
    /// The memory's text.
    pub content: String,
    /// The type, such as `fact` or `preference`.
    #[serde(rename = "type")]
    pub memory_type: Option<String>,
    /// The confidence of the memory's source, from 0 to 1.
    pub confidence: Option<f64>,
    /// The creation time.
    pub created_at: Option<String>,
    /// The conversation that the memory comes from.
    pub conversation: Option<String>,
}

/// A memory that matches a search.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema),
    schemars(rename = "MemorySearchResult")
)]
#[serde(rename_all = "camelCase")]
pub struct MemorySearchResult {
    /// The memory.
    pub memory: Memory,
    /// The similarity to the query, from 0 to 1.
    pub score: f64,
    /// The score after ranking.
    pub rank: f64,
    /// The remark that the pack adds to the memory, such as `outdated since 2025-09-07`.
    pub note: Option<String>,
    /// The related memories, if the request asks for them: those that were included because of this
    /// one, and other matches that are linked with it.
    pub relationships: Vec<RelatedMemory>,
}

/// A memory that is related to another (M7).
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "MemoryRelated"))]
#[serde(rename_all = "camelCase")]
pub struct RelatedMemory {
    /// The memory.
    pub memory: Memory,
    /// The link that relates the two.
    pub relationship: MemoryRelationship,
    /// The number of links between the two.
    pub depth: u64,
}

/// A link between two memories.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Relationship"))]
#[serde(rename_all = "camelCase")]
pub struct MemoryRelationship {
    /// The type of the link, such as `supersedes`.
    #[serde(rename = "type")]
    pub relationship_type: String,
    /// The direction: `outward` from the nearer memory to the farther, `inward` the other way.
    pub direction: String,
    /// The id of the memory at which the link starts.
    pub source: String,
    /// The id of the memory at which the link ends.
    pub target: String,
}

/// The result of `memory`: memories for a prompt (M9).
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "MemoryContext"))]
#[serde(rename_all = "camelCase")]
pub struct MemoryContext {
    /// The final string.
    pub context: String,
    /// Tokens of the final string.
    pub token_count: u32,
    /// The memories in the pack, best first.
    pub memories: Vec<MemorySearchResult>,
    /// Whether the budget truncated or excluded a candidate.
    pub truncated: bool,
    /// The name of the template that rendered the memories.
    pub template: String,
    /// The part that the results of all recipes share.
    pub assembly: Assembly,
}

/// A preview of a memory context, with the scores that decided it (M9).
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "MemoryPreview"))]
#[serde(rename_all = "camelCase")]
pub struct MemoryPreview {
    /// The context that a build would return.
    #[serde(flatten)]
    pub context: MemoryContext,
    /// The ids of the memories in the pack.
    pub memory_ids: Vec<String>,
    /// The score of every relevant memory, by id.
    pub ranking_scores: BTreeMap<String, f64>,
    /// The used part of the budget, in percent.
    pub budget_used: f64,
}

impl MemoryContext {
    /// Makes the result of a pack in this shape.
    #[must_use]
    pub fn from_assembled(assembled: &Assembled, explain: bool) -> MemoryContext {
        let sections = &assembled.pack.sections;
        let items = sections.iter().flat_map(|section| &section.items);
        let mut memories: Vec<(&Ranked, String)> = items
            .filter_map(|item| Some((assembled.ranked(&item.id)?, assembled.content(item))))
            .collect();
        memories.sort_by(|(a, _), (b, _)| {
            b.score.cmp(&a.score).then_with(|| a.candidate.id.cmp(&b.candidate.id))
        });
        let template = assembled.request.template.as_ref();
        MemoryContext {
            context: assembled.text().to_owned(),
            token_count: assembled.pack.tokens.get(),
            memories: memories
                .into_iter()
                .map(|(ranked, content)| search_result(assembled, ranked, content))
                .collect(),
            truncated: assembled.layers.iter().any(crate::pipeline::LayerReport::is_truncated),
            template: template
                .map_or_else(|| assembled.template_name(), |template| template.name().to_owned()),
            assembly: Assembly::from_assembled(assembled, explain),
        }
    }
}

impl MemoryPreview {
    /// Makes the preview of a pack.
    #[must_use]
    pub fn from_assembled(assembled: &Assembled, explain: bool) -> MemoryPreview {
        let context = MemoryContext::from_assembled(assembled, explain);
        let used = f64::from(assembled.pack.tokens.get()) * 100.0;
        MemoryPreview {
            memory_ids: context.memories.iter().map(|found| found.memory.id.clone()).collect(),
            ranking_scores: ranking_scores(assembled),
            budget_used: used / f64::from(assembled.pack.limit.get().max(1)),
            context,
        }
    }
}

fn search_result(assembled: &Assembled, ranked: &Ranked, content: String) -> MemorySearchResult {
    let candidate = &ranked.candidate;
    let fields = assembled.fields.get(&candidate.id.item);
    let text = |name: &str| {
        let value = fields.and_then(|fields| fields.get(name));
        value.and_then(Value::as_str).map(str::to_owned)
    };
    MemorySearchResult {
        memory: Memory {
            id: candidate.id.item.as_str().to_owned(),
            content,
            memory_type: text("type"),
            confidence: candidate.confidence.map(Score::get),
            created_at: candidate.moment.map(|moment| moment.to_string()),
            conversation: text("conversation"),
        },
        score: candidate.signals.similarity().map_or(0.0, Score::get),
        rank: ranked.score.get(),
        note: candidate.place.note.clone(),
        relationships: related_memories(assembled, &candidate.id),
    }
}

/// The score of every relevant memory; a long memory has the score of its best part.
fn ranking_scores(assembled: &Assembled) -> BTreeMap<String, f64> {
    let mut scores: BTreeMap<String, f64> = BTreeMap::new();
    for ranked in assembled.core.layers.iter().flat_map(|(_, ranked)| ranked) {
        let score = ranked.score.get();
        let id = ranked.candidate.id.item.as_str().to_owned();
        let best = scores.entry(id).or_insert(score);
        *best = best.max(score);
    }
    scores
}

/// Converts a stored item into a memory.
fn stored_memory(stored: &Stored) -> Memory {
    let item = &stored.item;
    let text = |name: &str| item.fields.get(name).and_then(Value::as_str).map(str::to_owned);
    Memory {
        id: item.id.as_str().to_owned(),
        content: stored.text(),
        memory_type: text("type"),
        confidence: item.confidence.map(Score::get),
        created_at: item.created.or(item.updated).map(|moment| moment.to_string()),
        conversation: text("conversation"),
    }
}

/// The memories related to a memory: those reached from it, and those linked with it directly.
fn related_memories(assembled: &Assembled, id: &CandidateId) -> Vec<RelatedMemory> {
    let facts = assembled.facts.values().filter_map(|facts| facts.get("related"));
    let entries = facts.filter_map(Value::as_array).flatten();
    let own = id.item.as_str();
    let related = |entry: &Value| {
        let text = |name: &str| entry.get(name).and_then(Value::as_str);
        let (to, from) = (text("id")?, text("from")?);
        if from != own && text("start") != Some(own) {
            return None;
        }
        let stored = assembled.related.iter().find(|(id, _)| id.as_str() == to);
        let direction = text("direction")?;
        let (source, target) = if direction == "outward" { (from, to) } else { (to, from) };
        Some(RelatedMemory {
            memory: stored_memory(stored?.1),
            relationship: MemoryRelationship {
                relationship_type: text("sort")?.to_owned(),
                direction: direction.to_owned(),
                source: source.to_owned(),
                target: target.to_owned(),
            },
            depth: entry.get("depth").and_then(Value::as_u64).unwrap_or(1),
        })
    };
    entries.filter_map(related).collect()
}

impl Workspace {
    /// Packs memories for a prompt (`buildContext`, and `buildContextByVector` with a vector).
    ///
    /// # Errors
    /// As [`Workspace::pack`].
    pub async fn memory(&self, request: &MemoryRequest) -> Result<MemoryContext, Error> {
        Ok(MemoryContext::from_assembled(&*self.pack(request.to_request()?).await?, false))
    }

    /// Returns what a build would give, without storing a receipt or recording a use.
    ///
    /// # Errors
    /// As [`Workspace::pack`].
    pub async fn preview_memory(&self, request: &MemoryRequest) -> Result<MemoryPreview, Error> {
        let mut request = request.to_request()?;
        request.keep = false;
        Ok(MemoryPreview::from_assembled(&*self.pack(request).await?, false))
    }

    /// Returns matching memories, best first, without a context (`search`, `searchByVector`).
    ///
    /// # Errors
    /// As [`Workspace::pack`].
    pub async fn search_memories(
        &self,
        request: &MemoryRequest,
    ) -> Result<Vec<MemorySearchResult>, Error> {
        let mut request = request.to_request()?;
        request.keep = false;
        request.limit.get_or_insert(SEARCH_LIMIT);
        // A search only needs the order, so the budget has room for everything.
        request.budget = Some(Tokens::new(1_000_000));
        request.model = None;
        let assembled = self.pack(request).await?;
        Ok(MemoryContext::from_assembled(&assembled, false).memories)
    }

    /// Runs many searches at once and returns their results in order (M12).
    ///
    /// # Errors
    /// The first error of a search.
    pub async fn search_memories_batch(
        &self,
        requests: &[MemoryRequest],
    ) -> Result<Vec<Vec<MemorySearchResult>>, Error> {
        let searches = requests.iter().map(|request| self.search_memories(request));
        futures_util::future::try_join_all(searches).await
    }
}
