//! Workspaces: made, listed, removed.

use std::sync::{Arc, PoisonError};

use axum::http::StatusCode;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use haversack::revision::RevisionId;
use haversack_store::store::query::Filter;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::call::{Answer, Call, json, nothing};
use crate::codes::Code;
use crate::http::page::Asked;
use crate::problem::Problem;
use crate::state::blocking;

/// A workspace's name.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "WorkspaceName")]
pub(crate) struct WireName {
    /// 1 to 64 of a-z, 0-9, `-`, `_` and `.`, beginning with a letter or digit.
    name: String,
}

/// Workspaces.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Workspaces")]
pub(crate) struct WireWorkspaces {
    /// Those that the key reaches, by name.
    workspaces: Vec<WireName>,
    /// What to pass as `after` for the next page; left out on the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
}

/// A workspace.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Workspace")]
pub(crate) struct WireWorkspace {
    /// Its name.
    name: String,
    /// Its state.
    revision: RevisionId,
    /// How many items the viewer can read.
    items: u64,
}

pub(crate) fn list(call: Call) -> BoxFuture<'static, Answer> {
    async move {
        let engine = call.state.engine.clone();
        let asked = Asked::of(&call)?;
        let names = blocking(move || engine.workspaces()).await??;
        let reached = names.into_iter().filter(|name| call.access.enters(name)).collect();
        let (names, next) = asked.page(reached);
        let workspaces = names.into_iter().map(|name| WireName { name }).collect();
        json(StatusCode::OK, &WireWorkspaces { workspaces, next })
    }
    .boxed()
}

pub(crate) fn create(mut call: Call) -> BoxFuture<'static, Answer> {
    async move {
        let wanted: WireName = call.read().await?;
        if !call.access.enters(&wanted.name) {
            let detail = "this key is for other workspaces: use one that is for all or for this";
            return Err(Problem::new(Code::Forbidden, detail));
        }
        let (state, name) = (Arc::clone(&call.state), wanted.name.clone());
        let made = blocking(move || {
            // Of several that make the same one at once, one makes it.
            let _alone = state.making.lock().unwrap_or_else(PoisonError::into_inner);
            let there = state.engine.existing(&name).is_ok();
            if there { Ok(false) } else { state.engine.workspace(&name).map(|_| true) }
        });
        let made = made.await?.map_err(|error| match error {
            haversack::Error::Open(
                error @ haversack_store::store::error::OpenError::Name { .. },
            ) => Problem::invalid("name", error.to_string()),
            error => error.into(),
        })?;
        if !made {
            let detail = format!("there is a workspace {:?} already", wanted.name);
            return Err(Problem::new(Code::WorkspaceExists, detail));
        }
        json(StatusCode::CREATED, &wanted)
    }
    .boxed()
}

pub(crate) fn get(call: Call) -> BoxFuture<'static, Answer> {
    async move {
        let workspace = call.workspace().await?;
        let viewer = call.viewer()?;
        let snapshot = workspace.store().snapshot(&viewer).await?;
        let items = snapshot.count(&Filter::everything()).await?;
        let revision = RevisionId::of(&*snapshot, &viewer);
        let name = workspace.name().to_owned();
        json(StatusCode::OK, &WireWorkspace { name, revision, items })
    }
    .boxed()
}

pub(crate) fn remove(call: Call) -> BoxFuture<'static, Answer> {
    async move {
        call.workspace().await?;
        let (engine, name) = (call.state.engine.clone(), call.parameter("ws").to_owned());
        blocking(move || engine.remove(&name)).await??;
        nothing()
    }
    .boxed()
}
