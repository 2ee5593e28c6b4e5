//! Earlier packs: receipts, replays, differences, feedback and citations.

use axum::http::StatusCode;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use haversack::receipt::Difference;
use haversack::recipes::{prime, result_json};
use haversack_store::store::change::WriteKey;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::call::{Call, RouteResult, json, json_with_etag};
use crate::problem::ApiProblem;
use crate::who::{Actor, Identity};
use crate::wire::parse_id;

pub(crate) fn get(call: Call) -> BoxFuture<'static, RouteResult> {
    async move {
        let workspace = call.workspace().await?;
        let viewer = call.viewer()?;
        let receipt = workspace.receipt(call.parameter("id"), &viewer).await?;
        json_with_etag(&call, &receipt.redacted_for(&viewer))
    }
    .boxed()
}

/// A replayed pack.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Replay")]
pub(crate) struct WireReplay {
    /// The difference from the original pack; empty if the bytes are the same.
    difference: Difference,
    /// The new pack, in the shape of its recipe.
    result: Value,
}

pub(crate) fn replay(call: Call) -> BoxFuture<'static, RouteResult> {
    async move {
        let workspace = call.workspace().await?;
        let viewer = call.viewer()?;
        let replay = workspace.replay(call.parameter("id"), &viewer);
        let replay = call.state.gate.compute(replay).await?;
        let result = result_json(&replay.assembled, false);
        json(StatusCode::OK, &WireReplay { difference: replay.difference, result })
    }
    .boxed()
}

pub(crate) fn diff(call: Call) -> BoxFuture<'static, RouteResult> {
    async move {
        let workspace = call.workspace().await?;
        let (a, b) = (call.parameter("a"), call.parameter("b"));
        json(StatusCode::OK, &workspace.diff(a, b, &call.viewer()?).await?)
    }
    .boxed()
}

/// Feedback: whether an item was useful.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "Feedback")]
pub(crate) struct WireFeedback {
    /// The item's id.
    pub(crate) context_item_id: String,
    /// Whether the item was useful.
    pub(crate) useful: bool,
    /// The user; the key's own by default.
    #[serde(default)]
    pub(crate) user: Option<String>,
}

/// The result of recording feedback.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Noted")]
pub(crate) struct WireNoted {
    /// Always true: a failure is a problem (K8).
    success: bool,
}

pub(crate) fn feedback(mut call: Call) -> BoxFuture<'static, RouteResult> {
    async move {
        let workspace = call.workspace().await?;
        let feedback: WireFeedback = call.read().await?;
        if call.written.is_none() {
            record_feedback(&call.identity, &workspace, &feedback, call.key.clone()).await?;
        }
        json(StatusCode::OK, &WireNoted { success: true })
    }
    .boxed()
}

/// Records whether an item helped.
pub(crate) async fn record_feedback(
    identity: &Identity,
    workspace: &haversack::Workspace,
    feedback: &WireFeedback,
    key: Option<WriteKey>,
) -> Result<(), ApiProblem> {
    let Actor { viewer, user } = identity.actor(feedback.user.as_ref(), &[])?;
    let user = user.unwrap_or_else(|| identity.credential().to_owned());
    let item = parse_id("contextItemId", &feedback.context_item_id)?;
    match workspace.feedback_once(&viewer, &user, (&item, feedback.useful), key).await {
        // An invalid item id means that the item does not exist.
        Err(haversack::Error::Invalid { field, .. }) if field == "contextItemId" => {
            Err(ApiProblem::no_item(item.as_str()))
        }
        noted => Ok(noted?),
    }
}

/// A model's response, and the receipt of the pack it was given.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "CitationsRequest")]
pub(crate) struct WireCitations {
    /// The id of the pack's receipt.
    receipt: String,
    /// The text that the model wrote.
    response: String,
}

/// The citations that a response used.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Citations")]
pub(crate) struct WireCited {
    /// Every citation, and whether the response used it.
    citations: Vec<prime::PrimeCitation>,
    /// A block that lists the used ones.
    sources: String,
}

pub(crate) fn citations(mut call: Call) -> BoxFuture<'static, RouteResult> {
    async move {
        let workspace = call.workspace().await?;
        let wanted: WireCitations = call.read().await?;
        let viewer = call.viewer()?;
        let replay = workspace.replay(&wanted.receipt, &viewer);
        let replay = call.state.gate.compute(replay).await?;
        let cited = prime::cite(&replay.assembled, &wanted.response);
        let (citations, sources) = (cited.citations, cited.sources);
        json(StatusCode::OK, &WireCited { citations, sources })
    }
    .boxed()
}
