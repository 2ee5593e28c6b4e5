//! The embedding model of the server and of each workspace, and changing it while it answers.

use axum::http::StatusCode;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use haversack::engine::ModelStatus;
use haversack_provider::AllowanceStatus;
use haversack_store::store::viewer::Viewer;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::call::{Call, RouteResult, json};
use crate::codes::Code;
use crate::problem::ApiProblem;
use crate::state::on_blocking_thread;

/// The name of an embedding model.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "ModelName")]
pub(crate) struct WireModelName {
    /// `built-in`, the name of a model in the server's data folder, or `embed` for the one that its
    /// settings name.
    name: String,
}

/// The embedding model of new workspaces.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "DefaultModel")]
pub(crate) struct WireDefaultModel {
    /// The model: its name, version and dimensions.
    model: String,
}

/// The embedding model of a workspace.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "WorkspaceModel")]
pub(crate) struct WireModelStatus {
    /// The model whose vectors are searched: its name, version and dimensions.
    model: String,
    /// A change to another model that is running, or that has failed; absent otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    change: Option<WireModelChange>,
    /// What the workspace used of models today, where it has a cap. Only for callers who see everything, because
    /// it tells what others do.
    #[serde(skip_serializing_if = "Option::is_none")]
    usage: Option<WireAllowance>,
    /// What the requests of the caller's key used of models today, where it has a cap.
    #[serde(skip_serializing_if = "Option::is_none")]
    key_usage: Option<WireAllowance>,
}

/// A cap on what is used of models in a day (UTC), and what was used of it today.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ModelAllowance")]
pub(crate) struct WireAllowance {
    /// Tokens used today.
    tokens: u64,
    /// Most tokens of a day.
    #[serde(skip_serializing_if = "Option::is_none")]
    tokens_per_day: Option<u64>,
    /// Cost of today, by the prices of the settings.
    cost: f64,
    /// Highest cost of a day.
    #[serde(skip_serializing_if = "Option::is_none")]
    cost_per_day: Option<f64>,
    /// When the count begins again.
    until: String,
}

impl From<AllowanceStatus> for WireAllowance {
    fn from(status: AllowanceStatus) -> WireAllowance {
        WireAllowance {
            tokens: status.tokens,
            tokens_per_day: status.cap.tokens,
            cost: status.cost,
            cost_per_day: status.cap.cost,
            until: status.until.to_string(),
        }
    }
}

/// A change to another embedding model. Until it is done the old one answers.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ModelChange")]
pub(crate) struct WireModelChange {
    /// The model that the workspace changes to.
    to: String,
    /// Versions of items that have new vectors.
    done: u64,
    /// All versions; 0 until the change begins.
    total: u64,
    /// Why it failed. The old model stays, and a new try continues where this one stopped.
    #[serde(skip_serializing_if = "Option::is_none")]
    failure: Option<String>,
}

impl From<ModelStatus> for WireModelStatus {
    fn from(status: ModelStatus) -> WireModelStatus {
        let change = status.change.map(|change| WireModelChange {
            to: change.to.to_string(),
            done: change.progress.done,
            total: change.progress.total,
            failure: change.failure,
        });
        let model = status.model.to_string();
        WireModelStatus { model, change, usage: None, key_usage: None }
    }
}

pub(crate) fn get_default(call: Call) -> BoxFuture<'static, RouteResult> {
    async move {
        let model = call.state.engine.model().to_string();
        json(StatusCode::OK, &WireDefaultModel { model })
    }
    .boxed()
}

pub(crate) fn set_default(mut call: Call) -> BoxFuture<'static, RouteResult> {
    async move {
        let wanted: WireModelName = call.read().await?;
        if !call.identity.enters_all() {
            let detail = "this key is for some workspaces only: use one for all of them";
            return Err(ApiProblem::new(Code::Forbidden, detail));
        }
        let engine = call.state.engine.clone();
        let model = on_blocking_thread(move || engine.use_model(&wanted.name)).await??;
        json(StatusCode::OK, &WireDefaultModel { model: model.to_string() })
    }
    .boxed()
}

pub(crate) fn get(call: Call) -> BoxFuture<'static, RouteResult> {
    async move {
        let workspace = call.workspace().await?;
        let mut status = WireModelStatus::from(workspace.model_status());
        let sees_everything = call.viewer().is_ok_and(|viewer| viewer == Viewer::owner());
        let usage = workspace.allowance_status().filter(|_| sees_everything);
        status.usage = usage.map(WireAllowance::from);
        let of_key = call.state.allowances_of(&call.identity).pop();
        status.key_usage = of_key.map(|allowance| allowance.status().into());
        json(StatusCode::OK, &status)
    }
    .boxed()
}

pub(crate) fn change(mut call: Call) -> BoxFuture<'static, RouteResult> {
    async move {
        let workspace = call.workspace().await?;
        let wanted: WireModelName = call.read().await?;
        let start = move || workspace.start_model_change(&wanted.name);
        let status = on_blocking_thread(start).await??;
        json(StatusCode::ACCEPTED, &WireModelStatus::from(status))
    }
    .boxed()
}
