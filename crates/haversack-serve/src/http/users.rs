//! Erasing a user from all workspaces.

use std::sync::Arc;

use axum::http::StatusCode;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use haversack_store::store::viewer::{Principal, Viewer};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::call::{Call, RouteResult, json};
use crate::codes::Code;
use crate::erase::erase_user;
use crate::problem::ApiProblem;
use crate::state::on_blocking_thread;

/// A user.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "UserName")]
pub(crate) struct WireUserName {
    /// The user's name, as in lists of readers, without `user:`.
    user: String,
}

pub(crate) fn erase(mut call: Call) -> BoxFuture<'static, RouteResult> {
    async move {
        let wanted: WireUserName = call.read().await?;
        if !call.identity.enters_all() || call.viewer()? != Viewer::owner() {
            let detail = "erasing a user needs a trusted key for all workspaces, and no user it acts for";
            return Err(ApiProblem::new(Code::Forbidden, detail));
        }
        if let Err(error) = Principal::user(&wanted.user) {
            return Err(ApiProblem::invalid("user", error.to_string()));
        }
        let state = Arc::clone(&call.state);
        let erased = on_blocking_thread(move || {
            let folder = state.audit.folder();
            erase_user(&state.engine, folder, Some(&state.control), &wanted.user)
        });
        let erased = erased.await?.map_err(|error| {
            tracing::error!(target: "haversack", error = &error as &dyn std::error::Error, "a user was not erased completely");
            ApiProblem::new(Code::Storage, "not everything was erased; the cause is in the server's log: repeat it")
        })?;
        json(StatusCode::OK, &erased)
    }
    .boxed()
}
