//! The server as a protected resource (RFC 9728): who gives tokens for it.

use axum::http::StatusCode;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;

use crate::call::{Call, RouteResult, json};
use crate::codes::Code;
use crate::problem::ApiProblem;
use crate::resource::resource_metadata;

pub(crate) fn metadata(call: Call) -> BoxFuture<'static, RouteResult> {
    async move { answer(&call, "") }.boxed()
}

pub(crate) fn mcp_metadata(call: Call) -> BoxFuture<'static, RouteResult> {
    async move { answer(&call, "/mcp") }.boxed()
}

fn answer(call: &Call, path: &str) -> RouteResult {
    match resource_metadata(&call.state, &call.headers, path) {
        Some(resource) => json(StatusCode::OK, &resource),
        None => {
            let detail = "this server has no authorization server: it accepts API keys";
            Err(ApiProblem::new(Code::NotFound, detail))
        }
    }
}
