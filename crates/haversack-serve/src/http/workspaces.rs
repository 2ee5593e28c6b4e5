//! Creates, lists and removes workspaces.

use std::sync::{Arc, PoisonError};

use axum::http::{HeaderValue, StatusCode};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use haversack::revision::RevisionId;
use haversack_store::store::block_on;
use haversack_store::store::change::WriteKey;
use haversack_store::store::error::OpenError;
use haversack_store::store::query::Filter;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::call::{Call, RouteResult, json, no_content};
use crate::codes::Code;
use crate::http::page::PageParams;
use crate::problem::ApiProblem;
use crate::repeat::REPLAYED;
use crate::state::{ServerState, on_blocking_thread};

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
        let (state, name, key) = (Arc::clone(&call.state), wanted.name.clone(), call.key.clone());
        let created = on_blocking_thread(move || create_once(&state, &name, key)).await??;
        let mut response = json(StatusCode::CREATED, &wanted)?;
        if created == Created::Before {
            response.headers_mut().insert(REPLAYED, HeaderValue::from_static("true"));
        }
        Ok(response)
    }
    .boxed()
}

/// When a workspace was created.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Created {
    Now,
    /// By an earlier request with the same key.
    Before,
}

/// Creates a workspace unless there is one. One that was created by the same request is taken for it.
fn create_once(
    state: &ServerState,
    name: &str,
    key: Option<WriteKey>,
) -> Result<Created, ApiProblem> {
    // Of concurrent requests for the same name, one succeeds.
    let _alone = state.creating.lock().unwrap_or_else(PoisonError::into_inner);
    let Ok(workspace) = state.engine.existing_workspace(name) else {
        return match state.engine.create_workspace(name, key) {
            Ok(_) => Ok(Created::Now),
            Err(haversack::Error::Open(error @ OpenError::Name { .. })) => {
                Err(ApiProblem::invalid("name", error.to_string()))
            }
            Err(error) => Err(error.into()),
        };
    };
    let written = match &key {
        Some(key) => block_on(workspace.blocking_store().find_write(key))?,
        None => None,
    };
    match (written, key) {
        (Some(written), Some(key)) if written.request == key.request => Ok(Created::Before),
        _ => Err(ApiProblem::workspace_exists(name)),
    }
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
