//! Creates, lists and removes workspaces.

use std::sync::{Arc, PoisonError};

use axum::http::StatusCode;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use haversack::revision::RevisionId;
use haversack_store::store::query::Filter;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::call::{Call, RouteResult, json, no_content};
use crate::codes::Code;
use crate::http::page::PageParams;
use crate::problem::ApiProblem;
use crate::state::on_blocking_thread;

/// The name of a new workspace.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "WorkspaceName")]
pub(crate) struct WireName {
    /// The name: 1 to 64 of a-z, 0-9, `-`, `_` and `.`, beginning with a letter or digit.
    name: String,
}

/// A page of workspaces.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Workspaces")]
pub(crate) struct WireWorkspaces {
    /// The names of the workspaces that the key may use, sorted.
    workspaces: Vec<WireName>,
    /// The value of `after` for the next page; absent on the last page.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
}

/// A workspace.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Workspace")]
pub(crate) struct WireWorkspace {
    /// The workspace's name.
    name: String,
    /// The workspace's revision.
    revision: RevisionId,
    /// The number of items that the caller can read.
    items: u64,
}

pub(crate) fn list(call: Call) -> BoxFuture<'static, RouteResult> {
    async move {
        let engine = call.state.engine.clone();
        let params = PageParams::from_call(&call)?;
        let names = on_blocking_thread(move || engine.workspaces()).await??;
        let reached = names.into_iter().filter(|name| call.identity.enters(name)).collect();
        let (names, next) = params.take_page(reached);
        let workspaces = names.into_iter().map(|name| WireName { name }).collect();
        json(StatusCode::OK, &WireWorkspaces { workspaces, next })
    }
    .boxed()
}

pub(crate) fn create(mut call: Call) -> BoxFuture<'static, RouteResult> {
    async move {
        let wanted: WireName = call.read().await?;
        if !call.identity.enters(&wanted.name) {
            let detail = "this key is for other workspaces: use a key for all or for this one";
            return Err(ApiProblem::new(Code::Forbidden, detail));
        }
        let (state, name) = (Arc::clone(&call.state), wanted.name.clone());
        let made = on_blocking_thread(move || {
            // Of concurrent requests for the same name, one succeeds.
            let _alone = state.creating.lock().unwrap_or_else(PoisonError::into_inner);
            let there = state.engine.existing_workspace(&name).is_ok();
            if there { Ok(false) } else { state.engine.workspace(&name).map(|_| true) }
        });
        let made = made.await?.map_err(|error| match error {
            haversack::Error::Open(
                error @ haversack_store::store::error::OpenError::Name { .. },
            ) => ApiProblem::invalid("name", error.to_string()),
            error => error.into(),
        })?;
        if !made {
            let detail = format!("there is a workspace {:?} already", wanted.name);
            return Err(ApiProblem::new(Code::WorkspaceExists, detail));
        }
        json(StatusCode::CREATED, &wanted)
    }
    .boxed()
}

pub(crate) fn get(call: Call) -> BoxFuture<'static, RouteResult> {
    async move {
        let workspace = call.workspace().await?;
        let viewer = call.viewer()?;
        let snapshot = workspace.store().snapshot(&viewer).await?;
        let items = snapshot.count(&Filter::everything()).await?;
        let revision = RevisionId::for_viewer(&*snapshot, &viewer);
        let name = workspace.name().to_owned();
        json(StatusCode::OK, &WireWorkspace { name, revision, items })
    }
    .boxed()
}

pub(crate) fn remove(call: Call) -> BoxFuture<'static, RouteResult> {
    async move {
        call.workspace().await?;
        let (engine, name) = (call.state.engine.clone(), call.parameter("ws").to_owned());
        let state = Arc::clone(&call.state);
        on_blocking_thread(move || {
            engine.remove(&name)?;
            // A workspace of the same name is another one, so its keys are new.
            if let Err(error) = state.control.forget_responses(&name) {
                tracing::error!(target: "haversack", %error, "stored responses cannot be removed");
            }
            Ok::<_, haversack::Error>(())
        })
        .await??;
        no_content()
    }
    .boxed()
}
