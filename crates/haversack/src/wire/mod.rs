//! Requests as JSON.
//!
//! Domain types are not serialised. The types here convert into a [`Request`]; an error names the field
//! that is not valid.

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
pub use values::parse_json;
pub(crate) use values::{
    build_viewer, deserialize_budget, parse_id, parse_id_opt, parse_moment, parse_moment_in,
    parse_unit,
};
use values::{check_list_len, parse_ids, parse_kinds, parse_moment_opt, parse_zone};

/// Most entries of a list in a request.
pub const LIST_MAX: usize = 1_000;

/// Longest text in a request in bytes.
pub const TEXT_BYTES_MAX: usize = 1 << 20;

/// A request to any recipe. The five applications also have request types of their own.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "AnyRequest"))]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct WireRequest {
    /// The query in the user's words; may be empty.
    pub query: String,
    /// The user with whose permissions everything is read. Without a user and groups, it is read as the
    /// owner of the data.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// The user's groups.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<String>,
    /// The type of request, such as `assist`, `chat`, `search` or `automate`.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub request_type: Option<String>,
    /// What the user is looking at.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub focus: Option<WireFocus>,
    /// The ids of the items that the request is about, by the recipe's names for them.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub subjects: BTreeMap<String, String>,
    /// The id of the thread: the subject `thread`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thread_id: Option<String>,
    /// The id of the opportunity: the subject `opportunity`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub opportunity_id: Option<String>,
    /// The id of the current context.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub current_context: Option<String>,
    /// The facts of the situation by name, for the conditions of rules.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub situation: Map<String, Value>,
    /// The user's goal, in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub intent: Option<String>,
    /// The conversation so far, oldest turn first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conversation_history: Vec<WireTurn>,
    /// Items and kinds to include, exclude or prioritize.
    #[serde(skip_serializing_if = "WireHints::is_empty")]
    pub hints: WireHints,
    /// Only items with at least this confidence, from 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_confidence: Option<f64>,
    /// Only items with these fields; the values of a list are alternatives.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub fields: Map<String, Value>,
    /// Most items that a search returns; the recipe's own limit when left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<usize>,
    /// The budget in tokens, reserves included; the recipe's own when left out.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "deserialize_budget")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<u32>"))]
    pub token_budget: Option<u32>,
    /// Most tokens of layers, by layer name, in place of the recipe's own caps.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub caps: BTreeMap<String, u32>,
    /// Reserved tokens by name, in place of the recipe's own reserves.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub reserves: BTreeMap<String, u32>,
    /// The user's weight for each layer: 1 is the default, 2 doubles it, 0 drops the layer.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub priorities: BTreeMap<String, f64>,
    /// The model that will read the pack. It caps the budget and chooses the tokenizer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The tokenizer when no model is named: an encoding's name, or `characters/4`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokenizer: Option<String>,
    /// A template in place of the layers' own: a name, or the template itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub template: Option<WireTemplate>,
    /// Whether type, confidence and time are added after texts whose template shows none of them.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub include_metadata: bool,
    /// A ranker in place of the layers' own: a name, or `{"expression": "…"}`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ranker: Option<WireRanker>,
    /// Weights of the ranker `default`; they select that ranker when no ranker is named.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ranking_options: Option<RankingOptions>,
    /// A vector to search with in place of the query's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vector: Option<Vec<f32>>,
    /// The id of the receipt of the conversation's previous pack, whose beginning is kept unchanged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub previous: Option<String>,
    /// The current time; the server's clock when left out.
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
    /// Whether a pack may be made without a failed model; the recipe's own setting when left out.
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
    /// The id of the block in focus.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub block_id: Option<String>,
    /// The id of the open page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub page_id: Option<String>,
    /// The id of the open database.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub database_id: Option<String>,
}

/// A turn of a conversation.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Turn"))]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct WireTurn {
    /// The speaker's role: `user`, `assistant`, `system` or `tool`.
    pub role: String,
    /// The text of the turn.
    pub content: String,
    /// When the turn was said.
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
    /// The ids of items that must be candidates.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub include_blocks: Vec<String>,
    /// The ids of items that must not be in the pack.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub exclude_blocks: Vec<String>,
    /// The number of steps that relations are followed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_depth: Option<u32>,
}

impl WireHints {
    fn is_empty(&self) -> bool {
        *self == WireHints::default()
    }
}

/// A range of time.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Range"))]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct WireRange {
    /// The start, inclusive.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<Moment>"))]
    pub start: Option<Value>,
    /// The end, exclusive.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<Moment>"))]
    pub end: Option<Value>,
}

/// A ranker: the name of one, or an expression (M6).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Ranker"))]
#[serde(untagged)]
pub enum WireRanker {
    /// The name of a built-in or registered ranker.
    Name(String),
    /// An expression over the components of a score.
    Expression {
        /// The expression, such as `semantic * 0.7 + recency * 0.3`.
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

/// A past state: a moment, or the revision of an earlier answer.
#[cfg(feature = "schema")]
#[derive(Debug, schemars::JsonSchema)]
#[serde(untagged)]
pub enum PastState {
    /// The state at a moment.
    Moment(Moment),
    /// The state from which an earlier answer to the same caller was made.
    Revision {
        /// The `revision` of that answer.
        revision: crate::revision::RevisionId,
    },
}

/// Converts the turns of a conversation.
///
/// # Errors
/// When a time is not valid; the error names it.
pub fn conversation(field: &str, turns: &[WireTurn]) -> Result<Vec<Turn>, Error> {
    let turn = |(n, turn): (usize, &WireTurn)| {
        let field = format!("{field}[{n}].timestamp");
        let at = parse_moment_opt(&field, turn.timestamp.as_ref())?;
        Ok(Turn { role: turn.role.clone(), content: turn.content.clone(), at })
    };
    turns.iter().enumerate().map(turn).collect()
}

pub(crate) fn parse_turns(field: &str, turns: &[WireTurn]) -> Result<Vec<Turn>, Error> {
    check_list_len(field, turns.len())?;
    conversation(field, turns)
}

pub(crate) fn to_tokens(figures: &BTreeMap<String, u32>) -> BTreeMap<String, Tokens> {
    figures.iter().map(|(name, tokens)| (name.clone(), Tokens::new(*tokens))).collect()
}

/// Converts fields and their values; the values of a list are alternatives.
pub(crate) fn field_filters(fields: &Map<String, Value>) -> Vec<(String, Vec<Value>)> {
    let values = |value: &Value| match value {
        Value::Array(values) => values.clone(),
        value => vec![value.clone()],
    };
    fields.iter().map(|(name, value)| (name.clone(), values(value))).collect()
}

impl WireHints {
    /// Copies the hints into a request. `field` is the name of the field that holds them, for errors.
    pub(crate) fn apply(&self, field: &str, request: &mut Request) -> Result<(), Error> {
        let name = |hint: &str| format!("{field}.{hint}");
        // Applications write type names in either case.
        let types: Vec<String> = self.prioritize_types.iter().map(|t| t.to_lowercase()).collect();
        request.prioritize = parse_kinds(&name("prioritizeTypes"), &types)?;
        request.include = parse_ids(&name("includeBlocks"), &self.include_blocks)?;
        request.exclude = parse_ids(&name("excludeBlocks"), &self.exclude_blocks)?;
        request.depth = self.max_depth;
        if let Some(range) = &self.time_range {
            let start = parse_moment_opt(&name("timeRange.start"), range.start.as_ref())?;
            let end = parse_moment_opt(&name("timeRange.end"), range.end.as_ref())?;
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
        request.focus = parse_id_opt("focus.blockId", self.block_id.as_ref())?;
        request.page = parse_id_opt("focus.pageId", self.page_id.as_ref())?;
        request.database = parse_id_opt("focus.databaseId", self.database_id.as_ref())?;
        Ok(())
    }
}

impl WireRequest {
    /// Converts this into a request to a recipe.
    ///
    /// # Errors
    /// When a field is not valid; the error names it.
    pub fn to_request(&self, recipe: &str) -> Result<Request, Error> {
        if self.query.len() > TEXT_BYTES_MAX {
            let message = format!("is longer than {TEXT_BYTES_MAX} bytes, the limit");
            return Err(Error::invalid("query", message));
        }
        let mut request = Request::new(recipe, &self.query);
        request.viewer = build_viewer(self.user.as_ref(), &self.groups)?;
        request.user.clone_from(&self.user);
        request.request_type.clone_from(&self.request_type);
        if let Some(focus) = &self.focus {
            focus.apply(&mut request)?;
        }
        for (name, subject) in &self.subjects {
            request.subjects.insert(name.clone(), parse_id(&format!("subjects.{name}"), subject)?);
        }
        request.set_subject(THREAD, parse_id_opt("threadId", self.thread_id.as_ref())?);
        request
            .set_subject(OPPORTUNITY, parse_id_opt("opportunityId", self.opportunity_id.as_ref())?);
        request.context = parse_id_opt("currentContext", self.current_context.as_ref())?;
        request.situation.clone_from(&self.situation);
        request.intent.clone_from(&self.intent);
        request.history = parse_turns("conversationHistory", &self.conversation_history)?;
        self.hints.apply("hints", &mut request)?;
        request.confidence_least =
            self.min_confidence.map(|least| parse_unit("minConfidence", least)).transpose()?;
        request.fields = field_filters(&self.fields);
        request.limit = self.limit;
        request.budget = self.token_budget.map(Tokens::new);
        request.caps = to_tokens(&self.caps);
        request.reserves = to_tokens(&self.reserves);
        request.priorities.clone_from(&self.priorities);
        request.model.clone_from(&self.model);
        request.tokenizer.clone_from(&self.tokenizer);
        request.template = self.template.as_ref().map(WireTemplate::to_choice);
        request.metadata = self.include_metadata;
        request.time_zone = parse_zone(self.time_zone.as_deref())?;
        request.ranker = self.ranker.clone().map(RankerChoice::from);
        if let Some(options) = self.ranking_options {
            options.apply(&mut request)?;
        }
        request.vector = self.vector.as_deref().map(parse_vector).transpose()?;
        request.previous.clone_from(&self.previous);
        request.now = parse_moment_opt("now", self.now.as_ref())?;
        request.as_of = self.as_of.as_ref().map(parse_as_of).transpose()?;
        request.degrade = self.degrade;
        request.cache = self.cache.unwrap_or(true);
        Ok(request)
    }

    /// Converts a request into its JSON form. A ranker that is a function cannot be serialised: it is
    /// named `function`, and a replay must provide it.
    #[must_use]
    pub fn from_request(request: &Request) -> WireRequest {
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
            conversation_history: request.history.iter().map(WireTurn::from_turn).collect(),
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
            template: request.template.as_ref().map(WireTemplate::from_choice),
            include_metadata: request.metadata,
            time_zone: Some(request.time_zone.name().to_owned())
                .filter(|_| request.time_zone != Zone::UTC),
            ranker: request.ranker.as_ref().map(WireRanker::from_choice),
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
    fn from_turn(turn: &Turn) -> WireTurn {
        WireTurn {
            role: turn.role.clone(),
            content: turn.content.clone(),
            timestamp: turn.at.map(|at| json!(at.as_millis())),
        }
    }
}

impl WireRanker {
    fn from_choice(choice: &RankerChoice) -> WireRanker {
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

/// Returns the principals of a viewer as text; `None` for the owner.
pub(crate) fn principals_of(viewer: &Viewer) -> Option<Vec<String>> {
    let principals = viewer.principals()?;
    Some(principals.iter().map(|principal| principal.as_str().to_owned()).collect())
}

/// Returns the viewer with these principals, such as `user:mara`; the owner for `None`.
///
/// # Errors
/// When one of them is not a principal.
pub fn viewer_from_principals(principals: Option<&[String]>) -> Result<Viewer, Error> {
    let Some(principals) = principals else { return Ok(Viewer::owner()) };
    let parsed = principals.iter().map(|text| {
        Principal::parse(text).map_err(|error| Error::invalid("viewer", error.to_string()))
    });
    Ok(Viewer::with_principals(parsed.collect::<Result<_, _>>()?))
}

pub(crate) fn parse_vector(numbers: &[f32]) -> Result<Vector, Error> {
    Vector::new(numbers.to_vec()).map_err(|error| Error::invalid("vector", error.to_string()))
}

pub(crate) fn parse_as_of(value: &Value) -> Result<AsOf, Error> {
    match value.get("revision") {
        Some(revision) => {
            let token = || revision.as_str().and_then(StateToken::parse).map(AsOf::Token);
            let message = "is not the revision of an earlier answer: a number, or a text that begins with \
                           s-";
            let number = revision.as_u64().map(AsOf::Revision);
            number.or_else(token).ok_or_else(|| Error::invalid("asOf.revision", message))
        }
        None => parse_moment("asOf", value).map(AsOf::Moment),
    }
}
