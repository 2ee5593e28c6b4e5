//! Health, metrics and the OpenAPI document.

use axum::body::Body;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use haversack_store::descriptors;
use serde_json::json;

use crate::call::{Call, RouteResult, json, json_with_etag};
use crate::codes::Code;
use crate::openapi::document;
use crate::problem::ApiProblem;

/// The media type of metrics.
pub(crate) const METRICS_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

pub(crate) fn live(_: Call) -> BoxFuture<'static, RouteResult> {
    async { json(StatusCode::OK, &json!({ "status": "ok" })) }.boxed()
}

pub(crate) fn ready(call: Call) -> BoxFuture<'static, RouteResult> {
    async move {
        if call.state.is_stopping() {
            return Err(ApiProblem::new(Code::Overloaded, "the server is shutting down"));
        }
        if !descriptors::suffice() {
            let detail = "the server has too many files and connections open to read and write";
            return Err(ApiProblem::new(Code::Overloaded, detail));
        }
        call.state.readiness.check(&call.state.engine).await?;
        json(StatusCode::OK, &json!({ "status": "ok" }))
    }
    .boxed()
}

pub(crate) fn health(call: Call) -> BoxFuture<'static, RouteResult> {
    async move {
        if call.state.is_stopping() {
            return Err(ApiProblem::new(Code::Overloaded, "the server is shutting down"));
        }
        let version = env!("CARGO_PKG_VERSION");
        json(StatusCode::OK, &json!({ "status": "ok", "version": version }))
    }
    .boxed()
}

pub(crate) fn metrics(call: Call) -> BoxFuture<'static, RouteResult> {
    async move {
        let models = call.state.engine.model_usage();
        call.state.metrics.note_open_workspaces(call.state.engine.n_open());
        let page = call.state.metrics.page(call.state.gate.waiting(), &models);
        let page =
            page.map_err(|_| ApiProblem::new(Code::Internal, "metrics cannot be written"))?;
        let mut response = Response::new(Body::from(page));
        let media_type = HeaderValue::from_static(METRICS_TYPE);
        response.headers_mut().insert(header::CONTENT_TYPE, media_type);
        Ok(response)
    }
    .boxed()
}

pub(crate) fn openapi(call: Call) -> BoxFuture<'static, RouteResult> {
    async move { json_with_etag(&call, document()) }.boxed()
}
