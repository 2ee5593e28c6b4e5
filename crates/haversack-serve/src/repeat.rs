//! Idempotency keys: the same request again gets the same answer, and is not done again.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use axum::body::{Body, Bytes};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;
use http_body_util::BodyExt;

use crate::call::{Answer, Call};
use crate::codes::Code;
use crate::problem::Problem;
use crate::state::State;
use crate::who::Repeat;

/// Longest key.
const KEY_BYTES_MAX: usize = 255;

/// Longest answer that is kept.
const ANSWER_BYTES_MAX: usize = 1 << 20;

/// Where and under which key something is done.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Named {
    place: String,
    key: String,
}

/// What is being done under a key. Only this process has the data folder, so memory will do.
#[derive(Debug, Default)]
pub(crate) struct Doing(Mutex<BTreeSet<Named>>);

/// That something is being done, until it goes.
struct Begun {
    state: Arc<State>,
    named: Named,
}

impl Begun {
    /// `None` when it is being done already.
    fn new(state: &Arc<State>, named: Named) -> Option<Begun> {
        let mut doing = state.doing.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_new = doing.insert(named.clone());
        drop(doing);
        is_new.then(|| Begun { state: Arc::clone(state), named })
    }
}

impl Drop for Begun {
    fn drop(&mut self) {
        let doing = &self.state.doing.0;
        doing.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.named);
    }
}

/// Does what a route does, once for each idempotency key. Once begun it is done to its end, and its
/// answer kept, even if the client leaves: it will ask again.
pub(crate) async fn repeated(mut call: Call) -> Answer {
    let Some(value) = call.headers.get("idempotency-key").filter(|_| call.route.repeats) else {
        return (call.route.run)(call).await;
    };
    let key = value.to_str().unwrap_or_default().to_owned();
    if key.is_empty() || key.len() > KEY_BYTES_MAX {
        let detail = format!("use 1 to {KEY_BYTES_MAX} visible characters");
        return Err(Problem::invalid("Idempotency-Key", detail));
    }
    if call.is_lines() {
        let detail = "a stream cannot be repeated whole: leave it out, items that are there stay";
        return Err(Problem::invalid("Idempotency-Key", detail));
    }
    let body = call.bytes().await?;
    let named = Named { place: place(&call), key };
    let request = hash(&call, &body);
    let state = Arc::clone(&call.state);
    let Some(begun) = Begun::new(&state, named) else {
        let detail = "a request with this key is still being worked on: ask again";
        let problem = Problem::new(Code::IdempotencyConflict, detail);
        return Err(Problem { retry_after: Some(1), ..problem });
    };
    let Named { place, key } = &begun.named;
    let known = state.control.repeat(place, key, state.now()).map_err(|error| {
        tracing::error!(target: "haversack", %error, "repeated requests cannot be read");
        Problem::new(Code::Storage, "the cause is in the server's log")
    })?;
    match known {
        Some(known) if known.request == request => return Ok(kept(known)),
        Some(_) => {
            let detail = "this key was used for another request: take another";
            return Err(Problem::new(Code::IdempotencyConflict, detail));
        }
        None => {}
    }
    call.body = Mutex::new(Body::from(body));
    match tokio::spawn(done(call, begun, request)).await {
        Ok(answer) => answer,
        Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
        Err(_) => Err(Problem::new(Code::Internal, "the server is stopping")),
    }
}

/// Who asks for what where: the same key elsewhere is another one.
fn place(call: &Call) -> String {
    let workspace = call.parameters.get("ws").map_or("", String::as_str);
    format!("{} {} {workspace}", call.access.credential, call.route.operation)
}

fn hash(call: &Call, body: &Bytes) -> [u8; 32] {
    let said = (call.headers.get("haversack-user"), call.headers.get("haversack-groups"));
    let mut hasher = blake3::Hasher::new();
    hasher.update(format!("{said:?}\n").as_bytes()).update(body);
    *hasher.finalize().as_bytes()
}

async fn done(call: Call, begun: Begun, request: [u8; 32]) -> Answer {
    let response = (call.route.run)(call).await?;
    let (head, body) = response.into_parts();
    // Answers of these routes are in memory already.
    let collected = body.collect().await.map_err(|_| Problem::new(Code::Internal, "broke off"))?;
    let body = collected.to_bytes();
    if body.len() <= ANSWER_BYTES_MAX {
        let repeat = Repeat { request, status: head.status.as_u16(), body: body.to_vec() };
        let Begun { state, named: Named { place, key } } = &begun;
        if let Err(error) = state.control.keep(place, key, &repeat, state.now()) {
            // It is done; that it could be done again is no reason to say that it was not.
            tracing::error!(target: "haversack", %error, "an answer cannot be kept");
        }
    }
    Ok(Response::from_parts(head, Body::from(body)))
}

fn kept(repeat: Repeat) -> Response {
    let has_body = !repeat.body.is_empty();
    let mut response = Response::new(Body::from(repeat.body));
    *response.status_mut() = StatusCode::from_u16(repeat.status).unwrap_or(StatusCode::OK);
    if has_body {
        let media_type = HeaderValue::from_static("application/json");
        response.headers_mut().insert(header::CONTENT_TYPE, media_type);
    }
    response.headers_mut().insert("idempotent-replayed", HeaderValue::from_static("true"));
    response
}
