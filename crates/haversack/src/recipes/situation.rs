//! `situation`: guidance from inherited contexts and the rules that apply (S1 to S6).

use haversack_core::ids::ItemId;
use haversack_core::units::Tokens;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::Assembly;
use super::sections::{Item, items};
use crate::engine::Workspace;
use crate::error::Error;
use crate::pipeline::Assembled;
use crate::wire::{WireRequest, id_opt};

/// What a tool or an agent asks.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "SituationRequest"))]
#[serde(rename_all = "camelCase", default)]
pub struct Request {
    /// The current context, by id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub current_context: Option<String>,
    /// The situation's facts, by name.
    pub situation: Map<String, Value>,
    /// What is to be reached.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub intent: Option<String>,
    /// The budget in tokens; 4,000 when left out.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "crate::wire::budget")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<u32>"))]
    pub max_tokens: Option<u32>,
    /// What every recipe can be asked.
    #[serde(flatten)]
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub other: Map<String, Value>,
}

impl Request {
    /// A situation in a context.
    #[must_use]
    pub fn new(context: &str, situation: Map<String, Value>) -> Request {
        let current_context = Some(context.to_owned()).filter(|context| !context.is_empty());
        Request { current_context, situation, ..Request::default() }
    }

    /// The request that this says.
    ///
    /// # Errors
    /// When a field is wrong; the error names it.
    pub fn request(&self) -> Result<crate::Request, Error> {
        self.request_to("situation")
    }

    pub(super) fn request_to(&self, recipe: &str) -> Result<crate::Request, Error> {
        let common: WireRequest = crate::wire::read(Value::Object(self.other.clone()))?;
        let mut request = common.request(recipe)?;
        request.context = id_opt("currentContext", self.current_context.as_ref())?;
        request.situation.clone_from(&self.situation);
        request.intent.clone_from(&self.intent);
        request.budget = self.max_tokens.map(Tokens::new).or(request.budget);
        Ok(request)
    }
}

/// Guidance for a situation (S6).
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "SituationContext"))]
#[serde(rename_all = "camelCase")]
pub struct Context {
    /// The final string.
    pub context: String,
    /// Its tokens.
    pub token_count: u32,
    /// The contexts that hold, in the order of the text.
    pub contexts: Vec<Item>,
    /// What was said before.
    pub history: Vec<Item>,
    /// The rules that were judged: each with who judged it, whether it applies, how sure that is,
    /// and what it brought in.
    pub rules: Value,
    /// The current context and its ancestors, with their distance.
    pub chain: Value,
    /// How the context came about.
    pub metadata: Metadata,
    /// What every result shares.
    pub assembly: Assembly,
}

/// How the context came about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema),
    schemars(rename = "SituationMetadata")
)]
#[serde(rename_all = "camelCase")]
pub struct Metadata {
    /// The current context.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub current_context: Option<String>,
    /// How many contexts are in.
    pub contexts_loaded: usize,
    /// What time it was.
    pub assembly_time: String,
}

impl Context {
    /// What was assembled, in this shape.
    #[must_use]
    pub fn of(assembled: &Assembled, explain: bool) -> Context {
        let shown = |layer: &str| {
            assembled.section(layer).map_or_else(Vec::new, |section| items(assembled, section))
        };
        let contexts = shown("contexts");
        let fact = |name: &str| {
            let facts = assembled.facts.get("contexts.contexts");
            let none = || Value::Array(Vec::new());
            facts.and_then(|facts| facts.get(name)).cloned().unwrap_or_else(none)
        };
        Context {
            context: assembled.text().to_owned(),
            token_count: assembled.pack.tokens.get(),
            metadata: Metadata {
                current_context: assembled.request.context.as_ref().map(ItemId::to_string),
                contexts_loaded: contexts.len(),
                assembly_time: assembled.now.to_string(),
            },
            contexts,
            history: shown("history"),
            rules: fact("rules"),
            chain: fact("chain"),
            assembly: Assembly::of(assembled, explain),
        }
    }
}

impl Workspace {
    /// Guidance for a situation.
    ///
    /// # Errors
    /// As [`Workspace::pack`].
    pub async fn situation(&self, request: &Request) -> Result<Context, Error> {
        Ok(Context::of(&*self.pack(request.request()?).await?, false))
    }
}
