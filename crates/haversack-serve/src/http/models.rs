//! The embedding model of the server and of each workspace, and changing it while it answers.

use axum::http::StatusCode;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use haversack::engine::ModelStatus;
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
        WireModelStatus { model: status.model.to_string(), change }
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
        json(StatusCode::OK, &WireModelStatus::from(workspace.model_status()))
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
