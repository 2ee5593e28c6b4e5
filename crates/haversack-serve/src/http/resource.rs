//! The server as a protected resource (RFC 9728): who gives tokens for it.

use axum::http::StatusCode;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;

use crate::call::{Answer, Call, json};
use crate::codes::Code;
use crate::problem::Problem;
use crate::resource::described;

pub(crate) fn whole(call: Call) -> BoxFuture<'static, Answer> {
    async move { answer(&call, "") }.boxed()
}

pub(crate) fn mcp(call: Call) -> BoxFuture<'static, Answer> {
    async move { answer(&call, "/mcp") }.boxed()
}

fn answer(call: &Call, path: &str) -> Answer {
    match described(&call.state, &call.headers, path) {
        Some(resource) => json(StatusCode::OK, &resource),
        None => {
            let detail = "nobody else gives tokens for this server: it takes keys of its own";
            Err(Problem::new(Code::NotFound, detail))
        }
    }
}
