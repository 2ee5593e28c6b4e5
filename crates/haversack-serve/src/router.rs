//! From a request to a route and back: who may, how much, how long, and one line for the log.

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

use crate::audit::Entry;
use crate::call::{Answer, Call, asserted};
use crate::codes::Code;
use crate::config::seconds;
use crate::gate::network;
use crate::problem::Problem;
use crate::repeat::repeated;
use crate::resource::{Fault, challenge};
use crate::rest::Rest;
use crate::route::{Method, ROUTES, Route};
use crate::state::{Shared, State, query};
use crate::trace::Traceparent;
use crate::who::{Access, Scope, Token};

/// What the log and the figures have in place of a status when the client left before the answer.
const CLIENT_LEFT: u16 = 499;

/// The address from which a connection comes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Peer(pub(crate) IpAddr);

/// The router of all routes.
pub(crate) fn router(state: &Shared) -> Router {
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
            async move { answer(state, route, parameters, request).await }
        };
        let methods = by_path.remove(route.path).unwrap_or_default();
        let methods = methods.merge(on(filter, handler));
        by_path.insert(route.path, methods);
    }
    let mut router = Router::new();
    for (path, methods) in by_path {
        router = router.route(path, methods.fallback(nowhere(state, &WRONG_METHOD)));
    }
    router.fallback(nowhere(state, &NOWHERE))
}

/// What is asked where there is nothing.
static NOWHERE: Route = Route::outside("nowhere", |_| {
    let detail = "there is nothing here: /openapi.json lists the routes";
    ready(Err(Problem::new(Code::NotFound, detail))).boxed()
});

/// What is asked of a route in a way that it does not have. A browser asks so whether a page may ask.
static WRONG_METHOD: Route = Route::outside("wrongMethod", |call| {
    let answer = if call.method == http::Method::OPTIONS {
        crate::call::nothing()
    } else {
        let detail = format!("{} is not among this route's methods", call.method);
        Err(Problem::new(Code::MethodNotAllowed, detail))
    };
    ready(answer).boxed()
});

fn nowhere(state: &Shared, route: &'static Route) -> MethodRouter {
    let state = Arc::clone(state);
    any(move |request: Request| answer(Arc::clone(&state), route, BTreeMap::new(), request))
}

/// Answers one request, whatever happens.
async fn answer(
    state: Shared,
    route: &'static Route,
    parameters: BTreeMap<String, String>,
    request: Request,
) -> Response {
    let work = answered(state, route, parameters, request);
    if route.scope != Some(Scope::Admin) {
        return work.await;
    }
    // What an administrator began is done, and written down, whoever still listens.
    tokio::spawn(work).await.unwrap_or_else(|error| {
        tracing::error!(target: "haversack", %error, "a request broke off");
        Problem::new(Code::Internal, "the cause is in the server's log").into_response()
    })
}

/// A request that is being answered. One whose client leaves before that is told of, too.
struct UnderWay<'s> {
    state: &'s State,
    operation: &'static str,
    request: &'s str,
    started: Instant,
    is_answered: bool,
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        self.state.metrics.in_flight.dec();
        if self.is_answered {
            return;
        }
        let took = self.started.elapsed();
        self.state.metrics.answered(self.operation, CLIENT_LEFT, took);
        tracing::info!(
            target: "haversack",
            request = self.request,
            operation = self.operation,
            status = CLIENT_LEFT,
            latencyMs = took.as_secs_f64() * 1_000.0,
            "request"
        );
    }
}

async fn answered(
    state: Shared,
    route: &'static Route,
    parameters: BTreeMap<String, String>,
    request: Request,
) -> Response {
    let started = Instant::now();
    let peer = peer(&request);
    let request_id = request_id(request.headers());
    let workspace = parameters.get("ws").cloned();
    let origin = request.headers().get(header::ORIGIN).cloned();
    let trace = Traceparent::of(request.headers());
    let span = state.tracer.request(route, request.method(), trace.as_ref());
    let (mut request, rest) = Rest::of(request);
    request.extensions_mut().insert(span.clone());
    state.metrics.in_flight.inc();
    let mut under_way = UnderWay {
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
            // The panic itself is told by the panic hook; here it is one failed request.
            tracing::error!(target: "haversack", request = request_id, "a request panicked");
            Problem::new(Code::Internal, "the cause is in the server's log").into_response()
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
    if let Ok(id) = HeaderValue::from_str(&request_id) {
        response.headers_mut().insert("x-request-id", id);
    }
    share(&state, origin, response.headers_mut());
    let nosniff = HeaderValue::from_static("nosniff");
    response.headers_mut().insert(header::X_CONTENT_TYPE_OPTIONS, nosniff);
    let status = response.status().as_u16();
    let took = started.elapsed();
    state.metrics.answered(route.operation, status, took);
    span.answered(status);
    let problem = response.extensions_mut().remove::<Problem>();
    if let Some(problem) = &problem {
        state.metrics.refused(problem);
    }
    let credential = caller.as_ref().map_or("none", |caller: &Caller| caller.credential.as_str());
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
    let request = Asked { route, peer, id: &request_id, caller: caller.as_ref(), workspace };
    audit(&state, request, status, code);
    response
}

/// What the audit has of a request.
struct Asked<'r> {
    route: &'r Route,
    peer: IpAddr,
    id: &'r str,
    caller: Option<&'r Caller>,
    workspace: Option<String>,
}

/// The address from which a request comes; nowhere when it did not come by a connection.
fn peer(request: &Request) -> IpAddr {
    request.extensions().get::<Peer>().map_or(IpAddr::from([0; 4]), |peer| peer.0)
}

/// Who called, for the log and the audit.
struct Caller {
    credential: String,
    user: Option<String>,
}

/// Writes down what was denied and what an administrator did. Of what one address is denied, only so
/// much is written that it cannot fill the disk; how many were left out is told by the next line.
fn audit(state: &State, request: Asked<'_>, status: u16, code: Option<&'static str>) {
    let Asked { route, peer, id, caller, workspace } = request;
    let foreign = code == Some(Code::WorkspaceNotFound.row().name);
    let denied = matches!(status, 401 | 403 | 421) || foreign;
    if !denied && route.scope != Some(Scope::Admin) {
        return;
    }
    if denied && !state.gate.is_audited(&network(peer)) {
        state.audit.leave_out();
        return;
    }
    let entry = Entry {
        at: Entry::time(state.now()),
        request: id.to_owned(),
        credential: caller.map_or_else(|| "none".to_owned(), |caller| caller.credential.clone()),
        user: caller.and_then(|caller| caller.user.clone()),
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

/// The client's own name for the request, or one of ours.
fn request_id(headers: &HeaderMap) -> String {
    let given = headers.get("x-request-id").and_then(|value| value.to_str().ok());
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    match given.filter(|id| (1..=64).contains(&id.len()) && id.chars().all(plain)) {
        Some(id) => id.to_owned(),
        None => {
            let mut bytes = [0; 8];
            // Without randomness requests share a name, and nothing worse.
            let _ = getrandom::fill(&mut bytes);
            bytes.iter().map(|byte| format!("{byte:02x}")).collect()
        }
    }
}

async fn serve(
    state: &Shared,
    route: &'static Route,
    request_id: &str,
    parameters: BTreeMap<String, String>,
    request: Request,
    caller: &mut Option<Caller>,
) -> Answer {
    let (mut head, body) = request.into_parts();
    check_host(state, &head.headers)?;
    let access = known_as(state, route, &head).await?;
    let asserted = asserted(&head.headers)?;
    *caller = Some(Caller { credential: access.credential.clone(), user: asserted.user.clone() });
    if let Some(scope) = route.scope.filter(|scope| !access.reaches(*scope)) {
        let detail = format!("this key does not reach {:?}", scope.as_str());
        let challenge = challenge(state, &head.headers, route.path, scope, Fault::Scope);
        let problem = Problem::new(Code::Forbidden, detail);
        return Err(Problem { challenge, ..problem });
    }
    if let Some(workspace) = parameters.get("ws")
        && !access.enters(workspace)
    {
        // The same words as for one that is not there.
        return Err(Problem::no_workspace(workspace));
    }
    if state.is_stopping() && route.scope.is_some() {
        return Err(Problem::new(Code::Overloaded, "the server is stopping: ask another"));
    }
    let query = query(head.uri.query())?;
    if let Some(unknown) = query.keys().find(|name| !known(route, name)) {
        return Err(Problem::invalid(unknown, "is not a parameter of this route"));
    }
    let turn = match route.scope {
        None => None,
        Some(_) => {
            state.gate.rate(&access.credential)?;
            let one_of_many = state.config.needs_keys().then_some(&*access.credential);
            Some(state.gate.enter(one_of_many).await?)
        }
    };
    let call = Call {
        state: Arc::clone(state),
        route,
        request: request_id.to_owned(),
        span: head.extensions.remove().unwrap_or_default(),
        access,
        asserted,
        parameters,
        query,
        method: head.method,
        headers: head.headers,
        body: Mutex::new(body),
        _turn: turn,
    };
    let workspace = call.parameters.get("ws").cloned();
    match within_time(call).await {
        Ok(answer) => Ok(answer),
        Err(problem) => Err(cause(state, workspace.as_deref(), problem).await),
    }
}

async fn within_time(call: Call) -> Answer {
    let deadline = seconds(call.state.config.limits.deadline_seconds);
    let streams = call.streams();
    let work = repeated(call);
    if streams {
        // A stream takes as long as it takes; its pauses are bounded.
        return work.await;
    }
    match tokio::time::timeout(deadline, work).await {
        Ok(answer) => answer,
        Err(_) => {
            let detail = format!("no answer within {} s", deadline.as_secs_f64());
            Err(Problem::new(Code::Deadline, detail))
        }
    }
}

/// What a problem comes from: a store fails whoever is at work in it when its workspace is removed.
pub(crate) async fn cause(state: &State, workspace: Option<&str>, problem: Problem) -> Problem {
    let Some(workspace) = workspace.filter(|_| problem.code.row().status == 500) else {
        return problem;
    };
    match state.workspace(workspace).await {
        Err(gone) if gone.code == Code::WorkspaceNotFound => {
            // How far a stream came still counts for something.
            Problem { line: problem.line, stored: problem.stored, ..gone }
        }
        _ => problem,
    }
}

/// Whether a route has a parameter. What is asked outside of any route has all: it is not the
/// parameter that is wrong there.
fn known(route: &Route, name: &str) -> bool {
    route.path.is_empty() || route.query.iter().any(|parameter| parameter.name == name)
}

/// Refuses requests for another host and from pages of other sites: a page that a browser on this
/// machine shows must not reach a server on this machine under a name of its own.
fn check_host(state: &State, headers: &HeaderMap) -> Result<(), Problem> {
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
        return Err(Problem::new(Code::WrongHost, detail));
    }
    if let Some(origin) = text(header::ORIGIN) {
        let same = origin.split_once("://").is_some_and(|(_, rest)| rest == host);
        if !same && !server.origins.iter().any(|known| known == origin) {
            let detail = "pages of this origin may not ask: add it to server.origins";
            return Err(Problem::new(Code::Forbidden, detail));
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

/// Lets pages of the configured origins read answers.
fn share(state: &State, origin: Option<HeaderValue>, headers: &mut HeaderMap) {
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
            "authorization, content-type, haversack-groups, haversack-user, haversack-workspace, \
             idempotency-key, if-none-match, mcp-method, mcp-name, mcp-protocol-version, \
             traceparent, x-request-id",
        ),
    );
    let told = text("etag, idempotent-replayed, retry-after, www-authenticate, x-request-id");
    headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, told);
    headers.insert(header::ACCESS_CONTROL_MAX_AGE, text("600"));
}

/// What the caller's credential grants.
async fn known_as(state: &State, route: &Route, head: &Parts) -> Result<Access, Problem> {
    let Some(scope) = route.scope else {
        return Ok(Access { scopes: [].into(), ..Access::local() });
    };
    if !state.config.needs_keys() {
        return Ok(Access::local());
    }
    let refused = |fault: Fault| {
        let detail = "send a key that is good: Authorization: Bearer hvs_…";
        let challenge = challenge(state, &head.headers, route.path, scope, fault);
        let problem = Problem::new(Code::Unauthenticated, detail);
        Problem { challenge, ..problem }
    };
    let value = head.headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    let bearer = value.and_then(|value| {
        let (scheme, token) = value.split_once(' ')?;
        scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
    });
    let bearer = bearer.ok_or_else(|| refused(Fault::Missing))?;
    let access = match (Token::parse(bearer), &state.signers) {
        (Some(token), _) => state.control.access(&token, state.now()).map_err(|error| {
            tracing::error!(target: "haversack", %error, "keys cannot be read");
            Problem::new(Code::Storage, "the cause is in the server's log")
        })?,
        (None, Some(signers)) => signers.access(bearer, Instant::now()).await,
        (None, None) => None,
    };
    if let Some(access) = access {
        return Ok(access);
    }
    let from = head.extensions.get::<Peer>().map_or(IpAddr::from([0; 4]), |peer| peer.0);
    state.gate.denied(from)?;
    Err(refused(Fault::Bad))
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
