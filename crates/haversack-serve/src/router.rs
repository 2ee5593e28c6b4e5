//! Dispatches requests to routes: host check, authentication, limits, deadline, log and audit.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use axum::Router;
use axum::extract::{RawPathParams, Request};
use axum::http::request::Parts;
use axum::http::{self, HeaderMap, HeaderValue, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodFilter, MethodRouter, any, on};
use futures_util::FutureExt;
use futures_util::future::ready;

use crate::audit::AuditEntry;
use crate::call::{Call, RouteResult};
use crate::codes::Code;
use crate::config::seconds;
use crate::decode::query_pairs;
use crate::freshness;
use crate::gate::network;
use crate::problem::ApiProblem;
use crate::repeat::run_once;
use crate::resource::{CredentialFault, challenge};
use crate::rest::UnreadBody;
use crate::route::{Method, ROUTES, Route};
use crate::state::{ServerState, SharedState};
use crate::trace::Traceparent;
use crate::who::{Access, ClaimedUser, Identity, KeyScope, KeyToken};

/// The status in log and metrics when the client disconnected before the response.
const CLIENT_DISCONNECTED: u16 = 499;

/// The address from which a connection comes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Peer(pub(crate) IpAddr);

/// Builds the router of all routes.
pub(crate) fn router(state: &SharedState) -> Router {
    let mut by_path: BTreeMap<&'static str, MethodRouter> = BTreeMap::new();
    for route in ROUTES {
        let state = Arc::clone(state);
        let filter = match route.method {
            Method::Get => MethodFilter::GET,
            Method::Post => MethodFilter::POST,
            Method::Put => MethodFilter::PUT,
            Method::Delete => MethodFilter::DELETE,
        };
        let handler = move |parameters: RawPathParams, request: Request| {
            let state = Arc::clone(&state);
            let parameters =
                parameters.iter().map(|(name, value)| (name.to_owned(), value.to_owned()));
            let parameters = parameters.collect();
            async move { respond(state, route, parameters, request).await }
        };
        let methods = by_path.remove(route.path).unwrap_or_default();
        let methods = methods.merge(on(filter, handler));
        by_path.insert(route.path, methods);
    }
    let mut router = Router::new();
    for (path, methods) in by_path {
        router = router.route(path, methods.fallback(fallback(state, &WRONG_METHOD)));
    }
    router.fallback(fallback(state, &NO_ROUTE))
}

/// Handles paths that no route has.
static NO_ROUTE: Route = Route::unlisted("nowhere", |_| {
    let detail = "there is no route here: /openapi.json lists the routes";
    ready(Err(ApiProblem::new(Code::NotFound, detail))).boxed()
});

/// Handles methods that a route does not have, and the preflight requests of browsers.
static WRONG_METHOD: Route = Route::unlisted("wrongMethod", |call| {
    let answer = if call.method == http::Method::OPTIONS {
        crate::call::no_content()
    } else {
        let detail = format!("{} is not among this route's methods", call.method);
        Err(ApiProblem::new(Code::MethodNotAllowed, detail))
    };
    ready(answer).boxed()
});

fn fallback(state: &SharedState, route: &'static Route) -> MethodRouter {
    let state = Arc::clone(state);
    any(move |request: Request| respond(Arc::clone(&state), route, BTreeMap::new(), request))
}

/// Responds to one request, whatever happens.
async fn respond(
    state: SharedState,
    route: &'static Route,
    parameters: BTreeMap<String, String>,
    request: Request,
) -> Response {
    let work = respond_and_log(state, route, parameters, request);
    if route.scope != Some(KeyScope::Admin) {
        return work.await;
    }
    // Administrative requests finish and are audited even if the client disconnects.
    tokio::spawn(work).await.unwrap_or_else(|error| {
        tracing::error!(target: "haversack", %error, "a request task failed");
        ApiProblem::new(Code::Internal, "the cause is in the server's log").into_response()
    })
}

/// A request in flight. Dropping it early logs that the client disconnected.
struct InFlightRequest<'s> {
    state: &'s ServerState,
    operation: &'static str,
    request: &'s str,
    started: Instant,
    is_answered: bool,
}

impl Drop for InFlightRequest<'_> {
    fn drop(&mut self) {
        self.state.metrics.in_flight.dec();
        if self.is_answered {
            return;
        }
        let took = self.started.elapsed();
        self.state.metrics.note_response(self.operation, CLIENT_DISCONNECTED, took);
        tracing::info!(
            target: "haversack",
            request = self.request,
            operation = self.operation,
            status = CLIENT_DISCONNECTED,
            latencyMs = took.as_secs_f64() * 1_000.0,
            "request"
        );
    }
}

async fn respond_and_log(
    state: SharedState,
    route: &'static Route,
    parameters: BTreeMap<String, String>,
    request: Request,
) -> Response {
    let started = Instant::now();
    let peer = peer(&request);
    let request_id = request_id(request.headers());
    let workspace = parameters.get("ws").cloned();
    let http_method = request.method().clone();
    let origin = request.headers().get(header::ORIGIN).cloned();
    let trace = Traceparent::from_headers(request.headers());
    let span = state.tracer.request(route, request.method(), trace.as_ref());
    let (mut request, rest) = UnreadBody::split_from(request);
    request.extensions_mut().insert(span.clone());
    state.metrics.in_flight.inc();
    let mut under_way = InFlightRequest {
        state: &state,
        operation: route.operation,
        request: &request_id,
        started,
        is_answered: false,
    };
    let mut caller = None;
    let work = serve(&state, route, &request_id, parameters, request, &mut caller);
    let answered = AssertUnwindSafe(work).catch_unwind().await;
    let mut response = match answered {
        Ok(Ok(response)) => response,
        Ok(Err(problem)) => problem.into_response(),
        Err(_) => {
            // The panic hook logs the panic itself.
            tracing::error!(target: "haversack", request = request_id, "a request panicked");
            ApiProblem::new(Code::Internal, "the cause is in the server's log").into_response()
        }
    };
    if response.status().is_client_error() || response.status().is_server_error() {
        let status = response.status().as_u16();
        if !rest.drain(matches!(status, 401 | 403 | 404 | 408 | 421 | 429 | 503)).await {
            response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
    }
    under_way.is_answered = true;
    drop(under_way);
    if response.status().is_success() {
        let headers = response.headers_mut();
        freshness::add_position(&state.engine, &http_method, workspace.as_deref(), headers);
    }
    add_common_headers(&state, &request_id, origin, response.headers_mut());
    note_rate(&state, route, caller.as_deref(), response.headers_mut());
    let status = response.status().as_u16();
    let took = started.elapsed();
    state.metrics.note_response(route.operation, status, took);
    span.end_with_status(status);
    let problem = response.extensions_mut().remove::<ApiProblem>();
    if let Some(problem) = &problem {
        state.metrics.note_refusal(problem);
    }
    let credential = caller.as_ref().map_or("none", |caller: &Arc<Identity>| caller.credential());
    let code = problem.as_ref().map(|problem| problem.code.row().name);
    tracing::info!(
        target: "haversack",
        request = request_id,
        operation = route.operation,
        status,
        code,
        credential,
        trace = trace.as_ref().map(Traceparent::trace),
        latencyMs = took.as_secs_f64() * 1_000.0,
        "request"
    );
    let request =
        AuditedRequest { route, peer, id: &request_id, caller: caller.as_deref(), workspace };
    audit(&state, request, status, code);
    response
}

/// Adds the headers that every response has.
fn add_common_headers(
    state: &ServerState,
    request_id: &str,
    origin: Option<HeaderValue>,
    headers: &mut HeaderMap,
) {
    if let Ok(id) = HeaderValue::from_str(request_id) {
        headers.insert("x-request-id", id);
    }
    allow_origin(state, origin, headers);
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
}

/// Says what is left of the caller's rate, which is for routes that need a key.
fn note_rate(
    state: &ServerState,
    route: &Route,
    caller: Option<&Identity>,
    headers: &mut HeaderMap,
) {
    let limited = caller.filter(|_| route.scope.is_some());
    let Some(quota) = limited.and_then(|caller| state.gate.rate_quota(caller.credential())) else {
        return;
    };
    for (name, value) in [("ratelimit-policy", quota.policy()), ("ratelimit", quota.state())] {
        if let Ok(value) = HeaderValue::from_str(&value) {
            headers.insert(name, value);
        }
    }
}

/// The parts of a request that the audit records.
struct AuditedRequest<'r> {
    route: &'r Route,
    peer: IpAddr,
    id: &'r str,
    caller: Option<&'r Identity>,
    workspace: Option<String>,
}

/// The client's address; unspecified if the request did not come through a connection.
fn peer(request: &Request) -> IpAddr {
    request.extensions().get::<Peer>().map_or(IpAddr::from([0; 4]), |peer| peer.0)
}

/// Audits refused and administrative requests. Refusals are rate-limited per address so that they cannot
/// fill the disk; the next line says how many were left out.
fn audit(
    state: &ServerState,
    request: AuditedRequest<'_>,
    status: u16,
    code: Option<&'static str>,
) {
    let AuditedRequest { route, peer, id, caller, workspace } = request;
    let foreign = code == Some(Code::WorkspaceNotFound.row().name);
    let denied = matches!(status, 401 | 403 | 421) || foreign;
    if !denied && route.scope != Some(KeyScope::Admin) {
        return;
    }
    if denied && !state.gate.is_audited(&network(peer)) {
        state.audit.count_left_out();
        return;
    }
    let entry = AuditEntry {
        at: AuditEntry::time(state.now()),
        request: id.to_owned(),
        credential: caller.map_or("none", Identity::credential).to_owned(),
        user: caller.and_then(Identity::claimed_user).map(str::to_owned),
        operation: route.operation.to_owned(),
        workspace: workspace.map(|name| name.chars().take(64).collect()),
        key: None,
        status,
        code: code.map(str::to_owned),
        left_out: 0,
    };
    if let Err(error) = state.audit.write(&entry) {
        tracing::error!(target: "haversack", %error, "the audit log cannot be written");
    }
}

/// The client's request id, or a generated one.
fn request_id(headers: &HeaderMap) -> String {
    let given = headers.get("x-request-id").and_then(|value| value.to_str().ok());
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    match given.filter(|id| (1..=64).contains(&id.len()) && id.chars().all(plain)) {
        Some(id) => id.to_owned(),
        None => {
            let mut bytes = [0; 8];
            // Without randomness requests only share an id.
            let _ = getrandom::fill(&mut bytes);
            bytes.iter().map(|byte| format!("{byte:02x}")).collect()
        }
    }
}

async fn serve(
    state: &SharedState,
    route: &'static Route,
    request_id: &str,
    parameters: BTreeMap<String, String>,
    request: Request,
    caller: &mut Option<Arc<Identity>>,
) -> RouteResult {
    let (mut head, body) = request.into_parts();
    check_host(state, &head.headers)?;
    let access = authenticate(state, route, &head).await?;
    let identity = Arc::new(Identity::new(access, ClaimedUser::from_headers(&head.headers)?));
    *caller = Some(Arc::clone(&identity));
    if let Some(scope) = route.scope.filter(|scope| !identity.reaches(*scope)) {
        let detail = format!("this key lacks the scope {:?}", scope.as_str());
        let challenge = challenge(state, &head.headers, route.path, scope, CredentialFault::Scope);
        let problem = ApiProblem::new(Code::Forbidden, detail);
        return Err(ApiProblem { challenge, ..problem });
    }
    if let Some(workspace) = parameters.get("ws")
        && !identity.enters(workspace)
    {
        // The same message as for a workspace that does not exist.
        return Err(ApiProblem::no_workspace(workspace));
    }
    if state.is_stopping() && route.scope.is_some() {
        return Err(ApiProblem::new(Code::Overloaded, "the server is shutting down: use another"));
    }
    let query = query_pairs(head.uri.query())?;
    if let Some(unknown) = query.keys().find(|name| !has_parameter(route, name)) {
        return Err(ApiProblem::invalid(unknown, "is not a parameter of this route"));
    }
    let turn = match route.scope {
        None => None,
        Some(_) => {
            state.gate.check_rate(identity.credential())?;
            let limited_key = state.config.needs_keys().then(|| identity.credential());
            Some(state.gate.enter(limited_key).await?)
        }
    };
    let call = Call {
        state: Arc::clone(state),
        route,
        request: request_id.to_owned(),
        span: head.extensions.remove().unwrap_or_default(),
        identity,
        parameters,
        query,
        method: head.method,
        headers: head.headers,
        body: Mutex::new(body),
        key: None,
        written: None,
        held: state.memory.hold(),
        _turn: turn,
    };
    let workspace = call.parameters.get("ws").cloned();
    match run_with_deadline(call).await {
        Ok(answer) => Ok(answer),
        Err(problem) => Err(explain_failure(state, workspace.as_deref(), problem).await),
    }
}

async fn run_with_deadline(call: Call) -> RouteResult {
    let deadline = seconds(call.state.config.limits.deadline_seconds);
    let is_streamed = call.is_streamed_body();
    let work = run_once(call);
    if is_streamed {
        // A stream has no deadline; its pauses are bounded.
        return work.await;
    }
    match tokio::time::timeout(deadline, work).await {
        Ok(answer) => answer,
        Err(_) => {
            let detail = format!("no answer within {} s", deadline.as_secs_f64());
            Err(ApiProblem::new(Code::Deadline, detail))
        }
    }
}

/// Replaces a failure of the store by "not found" if the workspace was removed meanwhile.
pub(crate) async fn explain_failure(
    state: &ServerState,
    workspace: Option<&str>,
    problem: ApiProblem,
) -> ApiProblem {
    let Some(workspace) = workspace.filter(|_| problem.code.row().status == 500) else {
        return problem;
    };
    match state.workspace(workspace).await {
        Err(gone) if gone.code == Code::WorkspaceNotFound => {
            // The progress of a stream is kept.
            ApiProblem { line: problem.line, stored: problem.stored, ..gone }
        }
        _ => problem,
    }
}

/// Whether a route has a query parameter. Requests without a route may have any: the path is wrong, not
/// the parameter.
fn has_parameter(route: &Route, name: &str) -> bool {
    route.path.is_empty() || route.query.iter().any(|parameter| parameter.name == name)
}

/// Refuses requests for other host names and from pages of other origins, so that a web page cannot
/// reach a server on this machine by DNS rebinding.
fn check_host(state: &ServerState, headers: &HeaderMap) -> Result<(), ApiProblem> {
    let server = &state.config.server;
    let text = |name: header::HeaderName| headers.get(name).and_then(|value| value.to_str().ok());
    let host = text(header::HOST).unwrap_or_default();
    let name = host_name(host);
    let own = || {
        let address = name.trim_matches(['[', ']']).parse::<IpAddr>();
        // An address cannot be rebound; a name can.
        address.is_ok() || name.eq_ignore_ascii_case("localhost")
    };
    let listed = || server.hosts.iter().any(|known| known.eq_ignore_ascii_case(name));
    if !own() && !listed() {
        let shown: String = name.chars().take(64).collect();
        let detail = format!("{shown:?} is not a name of this server: add it to server.hosts");
        return Err(ApiProblem::new(Code::WrongHost, detail));
    }
    if let Some(origin) = text(header::ORIGIN) {
        let same = origin.split_once("://").is_some_and(|(_, rest)| rest == host);
        if !same && !server.origins.iter().any(|known| known == origin) {
            let detail = "pages of this origin are not allowed: add it to server.origins";
            return Err(ApiProblem::new(Code::Forbidden, detail));
        }
    }
    Ok(())
}

/// A `Host` header without its port.
pub(crate) fn host_name(host: &str) -> &str {
    if host.starts_with('[') {
        return host.find(']').map_or(host, |end| &host[..=end]);
    }
    host.rsplit_once(':').map_or(host, |(name, _)| name)
}

/// Lets pages of the configured origins read responses.
fn allow_origin(state: &ServerState, origin: Option<HeaderValue>, headers: &mut HeaderMap) {
    let origins = &state.config.server.origins;
    let Some(origin) = origin.filter(|_| !origins.is_empty()) else { return };
    let allowed = origin.to_str().is_ok_and(|origin| origins.iter().any(|known| known == origin));
    if !allowed {
        return;
    }
    let text = HeaderValue::from_static;
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    headers.insert(header::VARY, text("origin"));
    headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, text("GET, POST, PUT, DELETE"));
    headers.insert(
        header::ACCESS_CONTROL_ALLOW_HEADERS,
        text(
            "authorization, content-type, haversack-at-least, haversack-consistency, \
             haversack-groups, haversack-user, haversack-workspace, idempotency-key, if-none-match, mcp-method, mcp-name, mcp-protocol-version, \
             traceparent, x-request-id",
        ),
    );
    let exposed = text(
        "etag, haversack-position, haversack-stale, idempotent-replayed, retry-after, www-authenticate, \
         x-request-id",
    );
    headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, exposed);
    headers.insert(header::ACCESS_CONTROL_MAX_AGE, text("600"));
}

/// Checks the caller's credential and returns what it grants.
async fn authenticate(
    state: &ServerState,
    route: &Route,
    head: &Parts,
) -> Result<Access, ApiProblem> {
    let Some(scope) = route.scope else {
        return Ok(Access { scopes: [].into(), ..Access::local() });
    };
    if !state.config.needs_keys() {
        return Ok(Access::local());
    }
    let refused = |fault: CredentialFault| {
        let detail = "send a valid key: Authorization: Bearer hvs_…";
        let challenge = challenge(state, &head.headers, route.path, scope, fault);
        let problem = ApiProblem::new(Code::Unauthenticated, detail);
        ApiProblem { challenge, ..problem }
    };
    let value = head.headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    let bearer = value.and_then(|value| {
        let (scheme, token) = value.split_once(' ')?;
        scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
    });
    let bearer = bearer.ok_or_else(|| refused(CredentialFault::Missing))?;
    let access = match (KeyToken::parse(bearer), &state.signers) {
        (Some(token), _) => state.control.access(&token, state.now()).map_err(|error| {
            tracing::error!(target: "haversack", %error, "keys cannot be read");
            ApiProblem::new(Code::Storage, "the cause is in the server's log")
        })?,
        (None, Some(signers)) => signers.access(bearer, Instant::now()).await,
        (None, None) => None,
    };
    if let Some(access) = access {
        return Ok(access);
    }
    let from = head.extensions.get::<Peer>().map_or(IpAddr::from([0; 4]), |peer| peer.0);
    state.gate.note_denied(from)?;
    Err(refused(CredentialFault::Bad))
}

#[cfg(test)]
mod tests {
    use super::host_name;

    #[test]
    fn a_host_is_read_without_its_port() {
        for (host, name) in
            [("localhost:7077", "localhost"), ("[::1]:7077", "[::1]"), ("a.b", "a.b"), ("", "")]
        {
            assert_eq!(host_name(host), name);
        }
    }
}
