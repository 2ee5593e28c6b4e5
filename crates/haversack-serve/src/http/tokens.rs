//! Counting and checking what was packed (W11).

use axum::http::StatusCode;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use haversack::recipes::workspace::{Payload, WorkspaceUser};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::call::{Call, RouteResult, json};
use crate::problem::ApiProblem;
use crate::state::on_blocking_thread;

/// A text to count, or a payload whose final string is counted.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[schemars(rename = "EstimateRequest")]
pub(crate) struct WireEstimate {
    /// The text.
    text: Option<String>,
    /// The result of a build.
    payload: Option<WirePayloadText>,
    /// The model that will read the text.
    model: Option<String>,
    /// The tokenizer, if no model is named.
    tokenizer: Option<String>,
}

/// The part of a payload that is counted; other fields are ignored.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "PayloadText")]
pub(crate) struct WirePayloadText {
    /// The final string, under the name that all recipes use.
    context: Option<String>,
    /// The final string, under the name that `workspace` also uses.
    serialized: Option<String>,
}

/// A token count.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Count")]
pub(crate) struct WireCount {
    /// The count.
    tokens: u32,
    /// The tokenizer that counted the tokens.
    tokenizer: String,
    /// The accuracy of the count.
    accuracy: String,
}

pub(crate) fn estimate(mut call: Call) -> BoxFuture<'static, RouteResult> {
    async move {
        call.workspace().await?;
        let wanted: WireEstimate = call.read().await?;
        let text = match (wanted.text, wanted.payload) {
            (Some(text), None) => text,
            (None, Some(payload)) => {
                let missing = || ApiProblem::invalid("payload.serialized", "is missing");
                payload.serialized.or(payload.context).ok_or_else(missing)?
            }
            (Some(_), Some(_)) => {
                return Err(ApiProblem::invalid(
                    "text",
                    "stands beside a payload: send one of them",
                ));
            }
            (None, None) => return Err(ApiProblem::invalid("text", "is missing, or a payload is")),
        };
        let (model, name) = (wanted.model.as_deref(), wanted.tokenizer.as_deref());
        let tokenizer = call.state.engine.tokenizer_for(model, name)?;
        let count = move || WireCount {
            tokens: tokenizer.count(&text).get(),
            tokenizer: tokenizer.name().to_owned(),
            accuracy: tokenizer.accuracy().to_string(),
        };
        json(StatusCode::OK, &call.state.gate.compute(on_blocking_thread(count)).await?)
    }
    .boxed()
}

/// A payload to validate.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "ValidateRequest")]
pub(crate) struct WireValidate {
    /// The result of a `workspace` build.
    payload: Payload,
    /// For whom: a name, or an object with `id` and `groups`; the key's user when left out.
    #[serde(default)]
    user: Option<WorkspaceUser>,
    /// The user's groups.
    #[serde(default)]
    groups: Vec<String>,
}

pub(crate) fn validate(mut call: Call) -> BoxFuture<'static, RouteResult> {
    async move {
        let workspace = call.workspace().await?;
        let wanted: WireValidate = call.read().await?;
        let (user, mut groups) = match wanted.user {
            Some(WorkspaceUser::Member { id, groups }) => (Some(id), groups),
            Some(WorkspaceUser::Name(name)) => (Some(name), Vec::new()),
            None => (None, Vec::new()),
        };
        groups.extend(wanted.groups);
        let viewer = call.identity.actor(user.as_ref(), &groups)?.viewer;
        let assembly = wanted.payload.assembly.as_ref();
        let name = assembly.map(|assembly| assembly.tokenizer.as_str());
        let tokenizer = call.state.engine.tokenizer_for(None, name)?;
        let check = workspace.validate(&wanted.payload, &viewer, tokenizer);
        let checked = call.state.gate.compute(check).await?;
        json(StatusCode::OK, &checked)
    }
    .boxed()
}
