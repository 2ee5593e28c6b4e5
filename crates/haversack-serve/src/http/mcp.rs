//! MCP as a route: the checks of every route stand before it, the protocol behind it.

use std::sync::Arc;

use axum::body::Body;
use axum::http::{HeaderValue, Request, StatusCode, header};
use axum::response::Response;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use http_body_util::Full;
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use serde::de::IgnoredAny;
use serde_json::json;

use crate::call::{Answer, Call, json as answer};
use crate::mcp::{Caller, Handler};
use crate::problem::Problem;

/// The header that names the workspace when calls do not.
const WORKSPACE: &str = "haversack-workspace";

pub(crate) fn post(mut call: Call) -> BoxFuture<'static, Answer> {
    async move {
        let body = call.bytes().await?;
        // The library answers 415 to what is not JSON; a client that made a mistake there should
        // hear of that one.
        if let Err(error) = serde_json::from_slice::<IgnoredAny>(&body) {
            return not_json(&error);
        }
        let workspace = match call.headers.get(WORKSPACE).map(HeaderValue::to_str) {
            None => None,
            Some(Ok(name)) => Some(name.to_owned()),
            Some(Err(_)) => return Err(Problem::invalid(WORKSPACE, "is not a workspace's name")),
        };
        let caller = Caller {
            access: call.access.clone(),
            asserted: call.asserted.clone(),
            workspace,
            request: call.request.clone(),
            span: call.span.clone(),
        };
        let mut request = Request::new(Full::new(body));
        *request.method_mut() = axum::http::Method::POST;
        *request.uri_mut() = axum::http::Uri::from_static("/mcp");
        std::mem::swap(request.headers_mut(), &mut call.headers);
        request.extensions_mut().insert(caller);
        let state = Arc::clone(&call.state);
        // Names of this server and origins of pages were checked before, as on every route; keys and
        // sessions have nothing to do with each other, so there are no sessions.
        let config = StreamableHttpServerConfig::default()
            .disable_allowed_hosts()
            .disable_allowed_origins()
            .with_legacy_session_mode(false)
            .with_json_response(true)
            .with_sse_keep_alive(None)
            .with_max_request_body_bytes(state.config.limits.body_bytes);
        let handler = move || Ok(Handler::new(Arc::clone(&state)));
        let sessions = Arc::new(NeverSessionManager::default());
        let response = StreamableHttpService::new(handler, sessions, config).handle(request).await;
        let mut response = response.map(Body::new);
        let private = HeaderValue::from_static("no-store");
        response.headers_mut().insert(header::CACHE_CONTROL, private);
        Ok(response)
    }
    .boxed()
}

/// What JSON-RPC says to a body that is not JSON.
fn not_json(error: &serde_json::Error) -> Result<Response, Problem> {
    let message = format!("the body is not JSON: {error}");
    let error = json!({ "code": -32700, "message": message });
    answer(StatusCode::BAD_REQUEST, &json!({ "jsonrpc": "2.0", "id": null, "error": error }))
}
