//! Requests as JSON.
//!
//! Domain types are not serialised. The types here are; each converts into a [`Request`] or reports
//! the field that is not valid.

mod values;

use std::collections::BTreeMap;

use haversack_core::embed::Vector;
use haversack_core::ids::ItemId;
use haversack_core::units::{Score, Timestamp, Tokens};
use haversack_core::zone::Zone;
use haversack_store::revision::StateToken;
use haversack_store::store::viewer::{Principal, Viewer};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

pub use crate::engine::WireTemplate;
use crate::error::Error;
use crate::recipes::memory::RankingOptions;
use crate::request::{AsOf, OPPORTUNITY, RankerChoice, Request, THREAD, Turn};
pub use values::read;
use values::{bounded, ids, kinds_in, moment_opt, zone};
pub(crate) use values::{budget, id, id_opt, moment, moment_in, part, viewer};

/// Most entries of a list in a request.
pub const LIST_MAX: usize = 1_000;

/// Longest text in a request in bytes.
pub const TEXT_BYTES_MAX: usize = 1 << 20;

/// A request to any recipe, as JSON. A recipe with a shape of its own also has a request type of its
/// own ([`crate::recipes`]).
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "AnyRequest"))]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct WireRequest {
    /// The query.
    pub query: String,
    /// The user; the owner of the data when neither user nor groups are named.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// The user's groups.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<String>,
    /// The type of request.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub request_type: Option<String>,
    /// What the user is looking at.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub focus: Option<WireFocus>,
    /// The subjects of the request, by the recipe's names for them.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub subjects: BTreeMap<String, String>,
    /// The subject `thread`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thread_id: Option<String>,
    /// The subject `opportunity`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub opportunity_id: Option<String>,
    /// The current context.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub current_context: Option<String>,
    /// The situation's facts.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub situation: Map<String, Value>,
    /// The user's goal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub intent: Option<String>,
    /// The conversation so far, oldest turn first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conversation_history: Vec<WireTurn>,
    /// Items and kinds to include, exclude or prioritize.
    #[serde(skip_serializing_if = "WireHints::is_empty")]
    pub hints: WireHints,
    /// The least confidence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_confidence: Option<f64>,
    /// Only items with these fields; the values of a list are alternatives.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub fields: Map<String, Value>,
    /// How many items a search finds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<usize>,
    /// The budget in tokens.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "budget")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<u32>"))]
    pub token_budget: Option<u32>,
    /// Caps of layers.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub caps: BTreeMap<String, u32>,
    /// Reserves.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub reserves: BTreeMap<String, u32>,
    /// The user's weights for layers; 1 is the default.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub priorities: BTreeMap<String, f64>,
    /// The model that will read the pack.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The tokenizer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokenizer: Option<String>,
    /// A template: a name, or the template itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub template: Option<WireTemplate>,
    /// Whether type, confidence and time follow texts whose template shows none of them.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub include_metadata: bool,
    /// A ranker: a name, or `{"expression": "…"}`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ranker: Option<WireRanker>,
    /// Weights of the ranker `default`; they select that ranker when no ranker is named.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ranking_options: Option<RankingOptions>,
    /// A vector to search with in place of the query's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vector: Option<Vec<f32>>,
    /// The receipt of the previous pack.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub previous: Option<String>,
    /// The current time.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<Moment>"))]
    pub now: Option<Value>,
    /// The time zone in which dates are read, by its IANA name; UTC when left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_zone: Option<String>,
    /// The past state to read: a moment, or `{"revision": …}` with the `revision` of an earlier answer. A
    /// moment also sets the time of the facts: later facts are unknown, and validity is judged then.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<PastState>"))]
    pub as_of: Option<Value>,
    /// Whether a pack may be made without a failed provider.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub degrade: Option<bool>,
    /// Whether a cached pack may be returned; yes when left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache: Option<bool>,
}

/// What the user is looking at (W9).
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Focus"))]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct WireFocus {
    /// A block.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub block_id: Option<String>,
    /// A page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub page_id: Option<String>,
    /// A database.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub database_id: Option<String>,
}

/// A turn of a conversation.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Turn"))]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct WireTurn {
    /// The speaker's role.
    pub role: String,
    /// The text of the turn.
    pub content: String,
    /// When.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<Moment>"))]
    pub timestamp: Option<Value>,
}

/// Items and kinds to include, exclude or prioritize (W9).
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Hints"))]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct WireHints {
    /// Kinds that rank higher.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub prioritize_types: Vec<String>,
    /// Only items that changed in this range.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_range: Option<WireRange>,
    /// Items that must be candidates.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub include_blocks: Vec<String>,
    /// Items that must not be in the pack.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub exclude_blocks: Vec<String>,
    /// How many steps relations are followed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_depth: Option<u32>,
}

impl WireHints {
    fn is_empty(&self) -> bool {
        *self == WireHints::default()
    }
}

/// A range of time; the end is exclusive.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Range"))]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct WireRange {
    /// From.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<Moment>"))]
    pub start: Option<Value>,
    /// To.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<Moment>"))]
    pub end: Option<Value>,
}

/// A ranker by name or as an expression (M6).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Ranker"))]
#[serde(untagged)]
pub enum WireRanker {
    /// By name.
    Name(String),
    /// As an expression over the components.
    Expression {
        /// Such as `semantic * 0.7 + recency * 0.3`.
        expression: String,
    },
}

/// A moment, in any of these forms.
#[cfg(feature = "schema")]
#[derive(Debug, schemars::JsonSchema)]
#[serde(untagged)]
pub enum Moment {
    /// RFC 3339, such as `2026-01-31T09:30:00Z`, or a day, such as `2026-01-31`.
    Written(String),
    /// Milliseconds since 1970.
    Milliseconds(i64),
}

/// A past state.
#[cfg(feature = "schema")]
#[derive(Debug, schemars::JsonSchema)]
#[serde(untagged)]
pub enum PastState {
    /// The state at a moment.
    Moment(Moment),
    /// The state of an earlier answer to the same caller.
    Revision {
        /// The answer's `revision`.
        revision: crate::revision::RevisionId,
    },
}

pub(crate) fn turns(field: &str, turns: &[WireTurn]) -> Result<Vec<Turn>, Error> {
    bounded(field, turns.len())?;
    let turn = |(n, turn): (usize, &WireTurn)| {
        let field = format!("{field}[{n}].timestamp");
        let at = moment_opt(&field, turn.timestamp.as_ref())?;
        Ok(Turn { role: turn.role.clone(), content: turn.content.clone(), at })
    };
    turns.iter().enumerate().map(turn).collect()
}

pub(crate) fn tokens(figures: &BTreeMap<String, u32>) -> BTreeMap<String, Tokens> {
    figures.iter().map(|(name, tokens)| (name.clone(), Tokens::new(*tokens))).collect()
}

/// Converts fields and their values; the values of a list are alternatives.
pub(crate) fn fields(fields: &Map<String, Value>) -> Vec<(String, Vec<Value>)> {
    let values = |value: &Value| match value {
        Value::Array(values) => values.clone(),
        value => vec![value.clone()],
    };
    fields.iter().map(|(name, value)| (name.clone(), values(value))).collect()
}

impl WireHints {
    /// Copies the hints into a request. `field` is the field that holds them.
    pub(crate) fn apply(&self, field: &str, request: &mut Request) -> Result<(), Error> {
        let name = |hint: &str| format!("{field}.{hint}");
        // Applications write type names in either case.
        let types: Vec<String> = self.prioritize_types.iter().map(|t| t.to_lowercase()).collect();
        request.prioritize = kinds_in(&name("prioritizeTypes"), &types)?;
        request.include = ids(&name("includeBlocks"), &self.include_blocks)?;
        request.exclude = ids(&name("excludeBlocks"), &self.exclude_blocks)?;
        request.depth = self.max_depth;
        if let Some(range) = &self.time_range {
            let start = moment_opt(&name("timeRange.start"), range.start.as_ref())?;
            let end = moment_opt(&name("timeRange.end"), range.end.as_ref())?;
            if let (Some(start), Some(end)) = (start, end)
                && start >= end
            {
                let message = format!("starts at {start} and ends at {end}, before it starts");
                return Err(Error::invalid(name("timeRange"), message));
            }
            request.time = (start, end);
        }
        Ok(())
    }
}

impl WireFocus {
    /// Copies the focus into a request.
    pub(crate) fn apply(&self, request: &mut Request) -> Result<(), Error> {
        request.focus = id_opt("focus.blockId", self.block_id.as_ref())?;
        request.page = id_opt("focus.pageId", self.page_id.as_ref())?;
        request.database = id_opt("focus.databaseId", self.database_id.as_ref())?;
        Ok(())
    }
}

impl WireRequest {
    /// Converts this into a request to a recipe.
    ///
    /// # Errors
    /// When a field is not valid; the error names it.
    pub fn request(&self, recipe: &str) -> Result<Request, Error> {
        if self.query.len() > TEXT_BYTES_MAX {
            let message = format!("is longer than {TEXT_BYTES_MAX} bytes, the limit");
            return Err(Error::invalid("query", message));
        }
        let mut request = Request::new(recipe, &self.query);
        request.viewer = viewer(self.user.as_ref(), &self.groups)?;
        request.user.clone_from(&self.user);
        request.request_type.clone_from(&self.request_type);
        if let Some(focus) = &self.focus {
            focus.apply(&mut request)?;
        }
        for (name, subject) in &self.subjects {
            request.subjects.insert(name.clone(), id(&format!("subjects.{name}"), subject)?);
        }
        request.set_subject(THREAD, id_opt("threadId", self.thread_id.as_ref())?);
        request.set_subject(OPPORTUNITY, id_opt("opportunityId", self.opportunity_id.as_ref())?);
        request.context = id_opt("currentContext", self.current_context.as_ref())?;
        request.situation.clone_from(&self.situation);
        request.intent.clone_from(&self.intent);
        request.history = turns("conversationHistory", &self.conversation_history)?;
        self.hints.apply("hints", &mut request)?;
        request.confidence_least =
            self.min_confidence.map(|least| part("minConfidence", least)).transpose()?;
        request.fields = fields(&self.fields);
        request.limit = self.limit;
        request.budget = self.token_budget.map(Tokens::new);
        request.caps = tokens(&self.caps);
        request.reserves = tokens(&self.reserves);
        request.priorities.clone_from(&self.priorities);
        request.model.clone_from(&self.model);
        request.tokenizer.clone_from(&self.tokenizer);
        request.template = self.template.as_ref().map(WireTemplate::choice);
        request.metadata = self.include_metadata;
        request.time_zone = zone(self.time_zone.as_deref())?;
        request.ranker = self.ranker.clone().map(RankerChoice::from);
        if let Some(options) = self.ranking_options {
            options.apply(&mut request)?;
        }
        request.vector = self.vector.as_deref().map(vector).transpose()?;
        request.previous.clone_from(&self.previous);
        request.now = moment_opt("now", self.now.as_ref())?;
        request.as_of = self.as_of.as_ref().map(as_of).transpose()?;
        request.degrade = self.degrade;
        request.cache = self.cache.unwrap_or(true);
        Ok(request)
    }

    /// Converts a request into its JSON form. A ranker that is a function cannot be serialised: it is
    /// named `function`, and a replay must provide it.
    #[must_use]
    pub fn of(request: &Request) -> WireRequest {
        let text = |id: &ItemId| id.as_str().to_owned();
        let texts = |ids: &[ItemId]| ids.iter().map(text).collect::<Vec<String>>();
        let focus = WireFocus {
            block_id: request.focus.as_ref().map(text),
            page_id: request.page.as_ref().map(text),
            database_id: request.database.as_ref().map(text),
        };
        let time = |moment: Option<Timestamp>| moment.map(|moment| json!(moment.as_millis()));
        let range = WireRange { start: time(request.time.0), end: time(request.time.1) };
        let bare = |figures: &BTreeMap<String, Tokens>| {
            figures.iter().map(|(name, tokens)| (name.clone(), tokens.get())).collect()
        };
        WireRequest {
            query: request.query.clone(),
            user: request.user.clone(),
            groups: groups_of(&request.viewer),
            request_type: request.request_type.clone(),
            focus: Some(focus).filter(|focus| *focus != WireFocus::default()),
            subjects: request
                .subjects
                .iter()
                .filter(|(name, _)| !matches!(name.as_str(), THREAD | OPPORTUNITY))
                .map(|(name, id)| (name.clone(), text(id)))
                .collect(),
            thread_id: request.subjects.get(THREAD).map(text),
            opportunity_id: request.subjects.get(OPPORTUNITY).map(text),
            current_context: request.context.as_ref().map(text),
            situation: request.situation.clone(),
            intent: request.intent.clone(),
            conversation_history: request.history.iter().map(WireTurn::of).collect(),
            hints: WireHints {
                prioritize_types: request.prioritize.iter().map(ToString::to_string).collect(),
                time_range: Some(range).filter(|range| *range != WireRange::default()),
                include_blocks: texts(&request.include),
                exclude_blocks: texts(&request.exclude),
                max_depth: request.depth,
            },
            min_confidence: request.confidence_least.map(Score::get),
            fields: request
                .fields
                .iter()
                .map(|(name, values)| (name.clone(), Value::Array(values.clone())))
                .collect(),
            limit: request.limit,
            token_budget: request.budget.map(Tokens::get),
            caps: bare(&request.caps),
            reserves: bare(&request.reserves),
            priorities: request.priorities.clone(),
            model: request.model.clone(),
            tokenizer: request.tokenizer.clone(),
            template: request.template.as_ref().map(WireTemplate::of),
            include_metadata: request.metadata,
            time_zone: Some(request.time_zone.name().to_owned())
                .filter(|_| request.time_zone != Zone::UTC),
            ranker: request.ranker.as_ref().map(WireRanker::of),
            ranking_options: request.ranking.map(RankingOptions::from_weights),
            vector: request.vector.as_ref().map(|vector| vector.as_slice().to_vec()),
            previous: request.previous.clone(),
            now: time(request.now),
            as_of: request.as_of.map(|as_of| match as_of {
                AsOf::Moment(moment) => json!(moment.as_millis()),
                AsOf::Revision(revision) => json!({ "revision": revision }),
                AsOf::Token(token) => json!({ "revision": token.to_string() }),
            }),
            degrade: request.degrade,
            cache: Some(request.cache).filter(|cache| !cache),
        }
    }
}

impl WireTurn {
    fn of(turn: &Turn) -> WireTurn {
        WireTurn {
            role: turn.role.clone(),
            content: turn.content.clone(),
            timestamp: turn.at.map(|at| json!(at.as_millis())),
        }
    }
}

impl WireRanker {
    fn of(choice: &RankerChoice) -> WireRanker {
        match choice {
            RankerChoice::Named(name) => WireRanker::Name(name.clone()),
            RankerChoice::Expression(source) => {
                WireRanker::Expression { expression: source.clone() }
            }
            RankerChoice::Given(_) => WireRanker::Name("function".to_owned()),
        }
    }
}

impl From<WireRanker> for RankerChoice {
    fn from(ranker: WireRanker) -> RankerChoice {
        match ranker {
            WireRanker::Name(name) => RankerChoice::Named(name),
            WireRanker::Expression { expression } => RankerChoice::Expression(expression),
        }
    }
}

fn groups_of(viewer: &Viewer) -> Vec<String> {
    let principals = viewer.principals().into_iter().flatten();
    principals.filter_map(|p| p.as_str().strip_prefix("group:")).map(str::to_owned).collect()
}

/// The principals of a viewer as text; `None` for the owner.
pub(crate) fn principals_of(viewer: &Viewer) -> Option<Vec<String>> {
    let principals = viewer.principals()?;
    Some(principals.iter().map(|principal| principal.as_str().to_owned()).collect())
}

/// The viewer who reads as these principals, such as `user:mara`; the owner for `None`.
///
/// # Errors
/// When one of them is not a principal.
pub fn viewer_of(principals: Option<&[String]>) -> Result<Viewer, Error> {
    let Some(principals) = principals else { return Ok(Viewer::owner()) };
    let parsed = principals.iter().map(|text| {
        Principal::parse(text).map_err(|error| Error::invalid("viewer", error.to_string()))
    });
    Ok(Viewer::with_principals(parsed.collect::<Result<_, _>>()?))
}

pub(crate) fn vector(numbers: &[f32]) -> Result<Vector, Error> {
    Vector::new(numbers.to_vec()).map_err(|error| Error::invalid("vector", error.to_string()))
}

pub(crate) fn as_of(value: &Value) -> Result<AsOf, Error> {
    match value.get("revision") {
        Some(revision) => {
            let token = || revision.as_str().and_then(StateToken::parse).map(AsOf::Token);
            let message = "is not the revision of an earlier answer: a number, or a text that begins with \
                           s-";
            let number = revision.as_u64().map(AsOf::Revision);
            number.or_else(token).ok_or_else(|| Error::invalid("asOf.revision", message))
        }
        None => moment("asOf", value).map(AsOf::Moment),
    }
}
