//! Looking back at packs: receipts, replays, differences, feedback and citations.

use axum::http::StatusCode;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use haversack::receipt::Difference;
use haversack::recipes::{prime, result_of};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::call::{Answer, Call, json, tagged};
use crate::problem::Problem;
use crate::who::{Access, Asserted};
use crate::wire::id;

pub(crate) fn get(call: Call) -> BoxFuture<'static, Answer> {
    async move {
        let workspace = call.workspace().await?;
        let viewer = call.viewer()?;
        let receipt = workspace.receipt(call.parameter("id"), &viewer).await?;
        tagged(&call, &receipt.shown_to(&viewer))
    }
    .boxed()
}

/// A pack that was made again.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Replay")]
pub(crate) struct WireReplay {
    /// What differs from the first one: nothing, when the bytes are the same.
    difference: Difference,
    /// The pack, in the shape of its recipe.
    result: Value,
}

pub(crate) fn replay(call: Call) -> BoxFuture<'static, Answer> {
    async move {
        let workspace = call.workspace().await?;
        let viewer = call.viewer()?;
        let replay = workspace.replay(call.parameter("id"), &viewer);
        let replay = call.state.gate.compute(replay).await?;
        let result = result_of(&replay.assembled, false);
        json(StatusCode::OK, &WireReplay { difference: replay.difference, result })
    }
    .boxed()
}

pub(crate) fn diff(call: Call) -> BoxFuture<'static, Answer> {
    async move {
        let workspace = call.workspace().await?;
        let (a, b) = (call.parameter("a"), call.parameter("b"));
        json(StatusCode::OK, &workspace.diff(a, b, &call.viewer()?).await?)
    }
    .boxed()
}

/// Whether an item helped.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "Feedback")]
pub(crate) struct WireFeedback {
    /// The item.
    pub(crate) context_item_id: String,
    /// Whether it helped.
    pub(crate) useful: bool,
    /// Who says so; the key's user when left out.
    #[serde(default)]
    pub(crate) user: Option<String>,
}

/// That feedback was noted.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Noted")]
pub(crate) struct WireNoted {
    /// Always true: what cannot be noted is a problem (K8).
    success: bool,
}

pub(crate) fn feedback(mut call: Call) -> BoxFuture<'static, Answer> {
    async move {
        let workspace = call.workspace().await?;
        let feedback: WireFeedback = call.read().await?;
        note(&call.access, &call.asserted, &workspace, &feedback).await?;
        json(StatusCode::OK, &WireNoted { success: true })
    }
    .boxed()
}

/// Notes whether an item helped.
pub(crate) async fn note(
    access: &Access,
    asserted: &Asserted,
    workspace: &haversack::Workspace,
    feedback: &WireFeedback,
) -> Result<(), Problem> {
    let asserted = asserted.or_in_body(feedback.user.as_ref(), &[])?;
    let (viewer, user) = access.viewer(&asserted)?;
    let user = user.unwrap_or_else(|| access.credential.clone());
    let item = id("contextItemId", &feedback.context_item_id)?;
    match workspace.feedback(&viewer, &user, &item, feedback.useful).await {
        // The only thing that can be wrong with the item is that it is not there.
        Err(haversack::Error::Invalid { field, .. }) if field == "contextItemId" => {
            Err(Problem::no_item(item.as_str()))
        }
        noted => Ok(noted?),
    }
}

/// A response and the pack it was made with.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "CitationsRequest")]
pub(crate) struct WireCitations {
    /// The pack's receipt.
    receipt: String,
    /// What the model wrote.
    response: String,
}

/// What a response used.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Citations")]
pub(crate) struct WireCited {
    /// Every citation, with whether the response used it.
    citations: Vec<prime::Citation>,
    /// A block that names those that were used.
    sources: String,
}

pub(crate) fn citations(mut call: Call) -> BoxFuture<'static, Answer> {
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
