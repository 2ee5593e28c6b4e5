//! What a client without a good credential is told: where tokens come from (RFC 9728), and which scope
//! was missing (RFC 6750).

use axum::http::{HeaderMap, HeaderValue, header};
use schemars::JsonSchema;
use serde::Serialize;

use crate::router::host_name;
use crate::state::State;
use crate::who::Scope;

/// Where the description of the server as a protected resource is.
pub(crate) const WELL_KNOWN: &str = "/.well-known/oauth-protected-resource";

/// The server as a protected resource. The names are those of RFC 9728.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ProtectedResource")]
pub(crate) struct WireResource {
    /// The resource, as a URL.
    resource: String,
    /// Who gives tokens for it.
    authorization_servers: Vec<String>,
    /// What a token can be for.
    scopes_supported: Vec<&'static str>,
    /// How a token is sent.
    bearer_methods_supported: Vec<&'static str>,
}

/// The description of what is at a path; `None` when no tokens of others are good here.
pub(crate) fn described(state: &State, headers: &HeaderMap, path: &str) -> Option<WireResource> {
    let jwt = state.config.jwt.as_ref()?;
    Some(WireResource {
        resource: format!("{}{path}", base(state, headers)),
        authorization_servers: vec![jwt.issuer.clone()],
        scopes_supported: Scope::ALL.map(Scope::as_str).to_vec(),
        bearer_methods_supported: vec!["header"],
    })
}

/// The URL under which the client reached the server: the one that is set, or else by the name that
/// the request has, which is one of this server's. Names are reached through a proxy that speaks TLS.
fn base(state: &State, headers: &HeaderMap) -> String {
    let server = &state.config.server;
    if !server.url.is_empty() {
        return server.url.trim_end_matches('/').to_owned();
    }
    let host = headers.get(header::HOST).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let name = host_name(host);
    // What was checked is the name alone.
    let port = host[name.len()..].strip_prefix(':').and_then(|port| port.parse::<u16>().ok());
    let port = port.map_or_else(String::new, |port| format!(":{port}"));
    let listed = server.hosts.iter().any(|known| known.eq_ignore_ascii_case(name));
    format!("{}://{name}{port}", if listed { "https" } else { "http" })
}

/// Why a credential did not do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// There was none.
    Missing,
    /// It is not good.
    Bad,
    /// It does not reach the scope.
    Scope,
}

/// The value of `WWW-Authenticate`.
pub(crate) fn challenge(
    state: &State,
    headers: &HeaderMap,
    path: &str,
    scope: Scope,
    fault: Fault,
) -> Option<Box<HeaderValue>> {
    let is_open = state.config.jwt.is_some();
    let mut parts = Vec::new();
    if is_open {
        // MCP is a resource of its own, as clients of it look for its description.
        let path = if path == "/mcp" { path } else { "" };
        parts.push(format!("resource_metadata=\"{}{WELL_KNOWN}{path}\"", base(state, headers)));
    }
    if is_open || fault == Fault::Scope {
        parts.push(format!("scope=\"{}\"", scope.as_str()));
    }
    match fault {
        Fault::Bad if is_open => parts.push("error=\"invalid_token\"".to_owned()),
        Fault::Scope => parts.push("error=\"insufficient_scope\"".to_owned()),
        Fault::Missing | Fault::Bad => {}
    }
    let said = parts.join(", ");
    let said = if said.is_empty() { "Bearer".to_owned() } else { format!("Bearer {said}") };
    HeaderValue::from_str(&said).ok().map(Box::new)
}
