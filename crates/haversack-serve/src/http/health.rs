//! How the server is.

use axum::body::Body;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use serde_json::json;

use crate::call::{Answer, Call, json, tagged};
use crate::codes::Code;
use crate::openapi::document;
use crate::problem::Problem;

/// What Prometheus reads.
pub(crate) const FIGURES: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

pub(crate) fn live(_: Call) -> BoxFuture<'static, Answer> {
    async { json(StatusCode::OK, &json!({ "status": "ok" })) }.boxed()
}

pub(crate) fn ready(call: Call) -> BoxFuture<'static, Answer> {
    async move {
        if call.state.is_stopping() {
            return Err(Problem::new(Code::Overloaded, "the server is stopping"));
        }
        json(StatusCode::OK, &json!({ "status": "ok" }))
    }
    .boxed()
}

pub(crate) fn health(call: Call) -> BoxFuture<'static, Answer> {
    async move {
        if call.state.is_stopping() {
            return Err(Problem::new(Code::Overloaded, "the server is stopping"));
        }
        let version = env!("CARGO_PKG_VERSION");
        json(StatusCode::OK, &json!({ "status": "ok", "version": version }))
    }
    .boxed()
}

pub(crate) fn metrics(call: Call) -> BoxFuture<'static, Answer> {
    async move {
        let page = call.state.metrics.page(call.state.gate.waiting());
        let page = page.map_err(|_| Problem::new(Code::Internal, "figures cannot be written"))?;
        let mut response = Response::new(Body::from(page));
        let media_type = HeaderValue::from_static(FIGURES);
        response.headers_mut().insert(header::CONTENT_TYPE, media_type);
        Ok(response)
    }
    .boxed()
}

pub(crate) fn openapi(call: Call) -> BoxFuture<'static, Answer> {
    async move { tagged(&call, document()) }.boxed()
}
