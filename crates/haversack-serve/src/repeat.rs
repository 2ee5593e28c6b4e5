//! Idempotency keys: a repeated request gets the response of the first one and is not executed again.
//!
//! The store of a workspace records a key in the transaction of the write, so a key is used exactly if
//! its write is there, whatever was killed in between. Responses are stored beside it, after the write.
//! If the response of a write is missing, the handler makes it again from what the store recorded. Creating
//! a workspace records its key in the new workspace.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use axum::body::{Body, Bytes};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;
use haversack_provider::with_allowances;
use haversack_store::store::change::WriteKey;
use http_body_util::BodyExt;

use crate::call::{Call, RouteResult};
use crate::codes::Code;
use crate::problem::ApiProblem;
use crate::state::ServerState;
use crate::who::StoredResponse;

/// Longest key.
const KEY_BYTES_MAX: usize = 255;

/// The header of a response that a repeated request gets.
pub(crate) const REPLAYED: &str = "idempotent-replayed";

/// Longest response that is stored.
const RESPONSE_BYTES_MAX: usize = 1 << 20;

/// An idempotency key and the place where it applies.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct IdempotencyKey {
    place: String,
    key: String,
}

/// Requests in flight with an idempotency key. Only this process uses the data folder, so memory is
/// enough.
#[derive(Debug, Default)]
pub(crate) struct InFlight(Mutex<BTreeSet<IdempotencyKey>>);

/// Marks a key as in flight until it is dropped.
struct InFlightGuard {
    state: Arc<ServerState>,
    id: IdempotencyKey,
}

impl InFlightGuard {
    /// `None` if a request with the key is in flight already.
    fn new(state: &Arc<ServerState>, id: IdempotencyKey) -> Option<InFlightGuard> {
        let mut in_flight = state.keyed_requests.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_new = in_flight.insert(id.clone());
        drop(in_flight);
        is_new.then(|| InFlightGuard { state: Arc::clone(state), id })
    }
}

impl Drop for InFlightGuard {
    fn drop(&mut self) {
        let in_flight = &self.state.keyed_requests.0;
        in_flight.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.id);
    }
}

/// Runs a route once for each idempotency key. A started run finishes and its response is stored even
/// if the client disconnects, because the client will retry.
pub(crate) async fn run_once(mut call: Call) -> RouteResult {
    let Some(value) =
        call.headers.get("idempotency-key").filter(|_| call.route.takes_idempotency_key)
    else {
        return run_route(call).await;
    };
    let key = value.to_str().unwrap_or_default().to_owned();
    if key.is_empty() || key.len() > KEY_BYTES_MAX {
        let detail = format!("use 1 to {KEY_BYTES_MAX} visible characters");
        return Err(ApiProblem::invalid("Idempotency-Key", detail));
    }
    if call.is_lines() {
        let detail = "a stream cannot be retried as a whole: leave the key out, stored items stay";
        return Err(ApiProblem::invalid("Idempotency-Key", detail));
    }
    let body = call.bytes().await?;
    let id = IdempotencyKey { place: place(&call), key };
    let request = hash(&call, &body);
    let state = Arc::clone(&call.state);
    let Some(guard) = InFlightGuard::new(&state, id) else {
        let detail = "a request with this key is in flight: retry later";
        let problem = ApiProblem::new(Code::IdempotencyConflict, detail);
        return Err(ApiProblem { retry_after: Some(1), ..problem });
    };
    let IdempotencyKey { place, key } = &guard.id;
    let response =
        state.control.stored_response(place, key, state.key_time()).map_err(|error| {
            tracing::error!(target: "haversack", %error, "stored responses cannot be read");
            ApiProblem::new(Code::Storage, "the cause is in the server's log")
        })?;
    let write_key = write_key(&call, key, request);
    let (used_for, response) = if call.parameters.contains_key("ws") {
        let workspace = call.workspace().await?;
        let written = workspace.store().find_write(&write_key).await?;
        // Without a write the response is another workspace's, which had the same name.
        let response = response.filter(|_| written.is_some());
        let used_for = written.as_ref().map(|written| written.request);
        call.written = written.map(|written| written.report);
        (used_for, response)
    } else {
        // Only the new workspace knows whether it was created and is still there.
        (response.map(|response| response.request), None)
    };
    call.key = Some(write_key);
    if used_for.is_some_and(|used_for| used_for != request) {
        let detail = "this key was used for another request: use another key";
        return Err(ApiProblem::new(Code::IdempotencyConflict, detail));
    }
    if let Some(response) = response.filter(|response| response.request == request) {
        return Ok(stored_response(response));
    }
    // The handler reads it once more, and counts it.
    call.held.resize(0)?;
    call.body = Mutex::new(Body::from(body));
    match tokio::spawn(run_and_store(call, guard, request)).await {
        Ok(answer) => answer,
        Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
        Err(_) => Err(ApiProblem::new(Code::Internal, "the server is shutting down")),
    }
}

/// Runs the route. What it uses of models counts against the caller's key.
async fn run_route(call: Call) -> RouteResult {
    let allowances = call.state.allowances_of(&call.identity);
    with_allowances(allowances, (call.route.run)(call)).await
}

/// Credential, operation and workspace: the same key elsewhere is a different key.
fn place(call: &Call) -> String {
    let workspace = call.parameters.get("ws").map_or("", String::as_str);
    format!("{} {} {workspace}", call.identity.credential(), call.route.operation)
}

/// The key of what the call writes. The store is the workspace's own, so the workspace is not part of it.
fn write_key(call: &Call, name: &str, request: [u8; 32]) -> WriteKey {
    let scope = format!("{} {}", call.identity.credential(), call.route.operation);
    WriteKey { scope, name: name.to_owned(), request, at: call.state.key_time() }
}

fn hash(call: &Call, body: &Bytes) -> [u8; 32] {
    let claims = (call.headers.get("haversack-user"), call.headers.get("haversack-groups"));
    let about = (&call.parameters, &call.query);
    let mut hasher = blake3::Hasher::new();
    hasher.update(format!("{claims:?} {about:?}\n").as_bytes()).update(body);
    *hasher.finalize().as_bytes()
}

async fn run_and_store(call: Call, guard: InFlightGuard, request: [u8; 32]) -> RouteResult {
    let is_replay = call.written.is_some();
    let response = run_route(call).await?;
    let (mut head, body) = response.into_parts();
    // The responses of these routes are in memory already.
    let collected = body
        .collect()
        .await
        .map_err(|_| ApiProblem::new(Code::Internal, "the response ended early"))?;
    let body = collected.to_bytes();
    if body.len() <= RESPONSE_BYTES_MAX {
        let repeat = StoredResponse { request, status: head.status.as_u16(), body: body.to_vec() };
        let InFlightGuard { state, id: IdempotencyKey { place, key } } = &guard;
        if let Err(error) = state.control.store_response(place, key, &repeat, state.key_time()) {
            // The request succeeded, so a failure to store its response is not reported.
            tracing::error!(target: "haversack", %error, "a response cannot be stored");
        }
    }
    if is_replay {
        head.headers.insert(REPLAYED, HeaderValue::from_static("true"));
    }
    Ok(Response::from_parts(head, Body::from(body)))
}

fn stored_response(repeat: StoredResponse) -> Response {
    let has_body = !repeat.body.is_empty();
    let mut response = Response::new(Body::from(repeat.body));
    *response.status_mut() = StatusCode::from_u16(repeat.status).unwrap_or(StatusCode::OK);
    if has_body {
        let media_type = HeaderValue::from_static("application/json");
        response.headers_mut().insert(header::CONTENT_TYPE, media_type);
    }
    response.headers_mut().insert(REPLAYED, HeaderValue::from_static("true"));
    response
}
