//! `situation`: guidance from inherited contexts and the rules that apply (S1 to S6).

use haversack_core::ids::ItemId;
use haversack_core::units::Tokens;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::Assembly;
use super::sections::{SectionsItem, section_items};
use crate::engine::Workspace;
use crate::error::Error;
use crate::pipeline::Assembled;
use crate::wire::{WireRequest, parse_id_opt};

/// A request of a tool or an agent.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "SituationRequest"))]
#[serde(rename_all = "camelCase", default)]
pub struct SituationRequest {
    /// The id of the current context.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub current_context: Option<String>,
    /// The facts of the situation by name.
    pub situation: Map<String, Value>,
    /// The user's goal, in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub intent: Option<String>,
    /// The budget in tokens; 4,000 when left out.
    #[serde(
        skip_serializing_if = "Option::is_none",
        deserialize_with = "crate::wire::deserialize_budget"
    )]
    #[cfg_attr(feature = "schema", schemars(with = "Option<u32>"))]
    pub max_tokens: Option<u32>,
    /// The fields of all requests.
    #[serde(flatten)]
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub other: Map<String, Value>,
}

impl SituationRequest {
    /// Makes a request for a situation in a context; an empty context is none.
    #[must_use]
    pub fn new(context: &str, situation: Map<String, Value>) -> SituationRequest {
        let current_context = Some(context.to_owned()).filter(|context| !context.is_empty());
        SituationRequest { current_context, situation, ..SituationRequest::default() }
    }

    /// Converts a request of the application into the engine's request.
    ///
    /// # Errors
    /// When a field is invalid; the error names it.
    pub fn to_request(&self) -> Result<crate::Request, Error> {
        self.to_request_for("situation")
    }

    pub(super) fn to_request_for(&self, recipe: &str) -> Result<crate::Request, Error> {
        let common: WireRequest = crate::wire::parse_json(Value::Object(self.other.clone()))?;
        let mut request = common.to_request(recipe)?;
        request.context = parse_id_opt("currentContext", self.current_context.as_ref())?;
        request.situation.clone_from(&self.situation);
        request.intent.clone_from(&self.intent);
        request.budget = self.max_tokens.map(Tokens::new).or(request.budget);
        Ok(request)
    }
}

/// The result of `situation`: guidance (S6).
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "SituationContext"))]
#[serde(rename_all = "camelCase")]
pub struct SituationContext {
    /// The final string.
    pub context: String,
    /// Tokens of the final string.
    pub token_count: u32,
    /// The contexts that apply, in the order of the text.
    pub contexts: Vec<SectionsItem>,
    /// The turns of the conversation, in the order of the text.
    pub history: Vec<SectionsItem>,
    /// The evaluated rules, each with its judge, whether it applies, the confidence, and the
    /// contexts that it loaded.
    pub rules: Value,
    /// The current context and its ancestors, with their distance.
    pub chain: Value,
    /// The metadata of the pack.
    pub metadata: SituationMetadata,
    /// The part that the results of all recipes share.
    pub assembly: Assembly,
}

/// The metadata of a `situation` pack.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema),
    schemars(rename = "SituationMetadata")
)]
#[serde(rename_all = "camelCase")]
pub struct SituationMetadata {
    /// The id of the current context.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub current_context: Option<String>,
    /// The number of contexts in the pack.
    pub contexts_loaded: usize,
    /// The time at which the pack was made.
    pub assembly_time: String,
}

impl SituationContext {
    /// Makes the result of a pack in this shape.
    #[must_use]
    pub fn from_assembled(assembled: &Assembled, explain: bool) -> SituationContext {
        let layer_items = |layer: &str| {
            assembled
                .section(layer)
                .map_or_else(Vec::new, |section| section_items(assembled, section))
        };
        let contexts = layer_items("contexts");
        let fact = |name: &str| {
            let facts = assembled.facts.get("contexts.contexts");
            let none = || Value::Array(Vec::new());
            facts.and_then(|facts| facts.get(name)).cloned().unwrap_or_else(none)
        };
        SituationContext {
            context: assembled.text().to_owned(),
            token_count: assembled.pack.tokens.get(),
            metadata: SituationMetadata {
                current_context: assembled.request.context.as_ref().map(ItemId::to_string),
                contexts_loaded: contexts.len(),
                assembly_time: assembled.now.to_string(),
            },
            contexts,
            history: layer_items("history"),
            rules: fact("rules"),
            chain: fact("chain"),
            assembly: Assembly::from_assembled(assembled, explain),
        }
    }
}

impl Workspace {
    /// Packs the guidance for a situation.
    ///
    /// # Errors
    /// As [`Workspace::pack`].
    pub async fn situation(&self, request: &SituationRequest) -> Result<SituationContext, Error> {
        Ok(SituationContext::from_assembled(&*self.pack(request.to_request()?).await?, false))
    }
}
