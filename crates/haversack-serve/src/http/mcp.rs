//! MCP as a route, behind the checks of every route.

use std::sync::Arc;

use axum::body::Body;
use axum::http::{HeaderValue, Request, StatusCode, header};
use axum::response::Response;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use http_body_util::Full;
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use serde_json::json;

use crate::call::{Call, RouteResult, json as answer};
use crate::json_body::{self, UniqueKeys};
use crate::mcp::{Handler, McpCaller};
use crate::problem::ApiProblem;

/// The header that names the workspace when calls do not.
const WORKSPACE: &str = "haversack-workspace";

pub(crate) fn post(mut call: Call) -> BoxFuture<'static, RouteResult> {
    async move {
        let body = call.bytes().await?;
        let values_max = call.state.config.limits.body_values;
        let size = json_body::check_size(&body, values_max)?;
        call.held.grow(size)?;
        // The library would respond 415 to invalid JSON, which hides the mistake, and take the last of two
        // values of a key.
        if let Err(error) = serde_json::from_slice::<UniqueKeys>(&body) {
            return not_json(&error);
        }
        let workspace = match call.headers.get(WORKSPACE).map(HeaderValue::to_str) {
            None => None,
            Some(Ok(name)) => Some(name.to_owned()),
            Some(Err(_)) => {
                return Err(ApiProblem::invalid(WORKSPACE, "is not a workspace's name"));
            }
        };
        let caller = McpCaller {
            identity: Arc::clone(&call.identity),
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
        // The router checked host and origin already. Each request has its own key, so there are no
        // sessions.
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

/// The JSON-RPC error for a body that is not JSON.
fn not_json(error: &serde_json::Error) -> Result<Response, ApiProblem> {
    let message = format!("the body is not JSON: {error}");
    let error = json!({ "code": -32700, "message": message });
    answer(StatusCode::BAD_REQUEST, &json!({ "jsonrpc": "2.0", "id": null, "error": error }))
}
