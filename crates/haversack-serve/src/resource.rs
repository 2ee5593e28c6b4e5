//! Hints for clients without a valid credential: the authorization server (RFC 9728) and the missing
//! scope (RFC 6750).

use axum::http::{HeaderMap, HeaderValue, header};
use schemars::JsonSchema;
use serde::Serialize;

use crate::router::host_name;
use crate::state::ServerState;
use crate::who::KeyScope;

/// Where the description of the server as a protected resource is.
pub(crate) const WELL_KNOWN: &str = "/.well-known/oauth-protected-resource";

/// The server's metadata as a protected resource (RFC 9728).
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ProtectedResource")]
pub(crate) struct WireResource {
    /// The resource's URL.
    resource: String,
    /// The servers that issue tokens for it.
    authorization_servers: Vec<String>,
    /// The scopes that a token can have.
    scopes_supported: Vec<&'static str>,
    /// The ways in which a token can be sent.
    bearer_methods_supported: Vec<&'static str>,
}

/// The metadata of the resource at a path; `None` without signed tokens.
pub(crate) fn resource_metadata(
    state: &ServerState,
    headers: &HeaderMap,
    path: &str,
) -> Option<WireResource> {
    let jwt = state.config.jwt.as_ref()?;
    Some(WireResource {
        resource: format!("{}{path}", base_url(state, headers)),
        authorization_servers: vec![jwt.issuer.clone()],
        scopes_supported: KeyScope::ALL.map(KeyScope::as_str).to_vec(),
        bearer_methods_supported: vec!["header"],
    })
}

/// The URL under which the client reached the server: the configured one, or one made from the request's
/// checked host name. Configured host names are assumed to be behind a TLS proxy.
fn base_url(state: &ServerState, headers: &HeaderMap) -> String {
    let server = &state.config.server;
    if !server.url.is_empty() {
        return server.url.trim_end_matches('/').to_owned();
    }
    let host = headers.get(header::HOST).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let name = host_name(host);
    // Only the name was checked.
    let port = host[name.len()..].strip_prefix(':').and_then(|port| port.parse::<u16>().ok());
    let port = port.map_or_else(String::new, |port| format!(":{port}"));
    let listed = server.hosts.iter().any(|known| known.eq_ignore_ascii_case(name));
    format!("{}://{name}{port}", if listed { "https" } else { "http" })
}

/// Why a credential was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CredentialFault {
    /// There was none.
    Missing,
    /// It is invalid.
    Bad,
    /// It lacks the scope.
    Scope,
}

/// The value of `WWW-Authenticate`.
pub(crate) fn challenge(
    state: &ServerState,
    headers: &HeaderMap,
    path: &str,
    scope: KeyScope,
    fault: CredentialFault,
) -> Option<Box<HeaderValue>> {
    let is_open = state.config.jwt.is_some();
    let mut parts = Vec::new();
    if is_open {
        // MCP clients look for metadata of their own.
        let path = if path == "/mcp" { path } else { "" };
        parts.push(format!("resource_metadata=\"{}{WELL_KNOWN}{path}\"", base_url(state, headers)));
    }
    if is_open || fault == CredentialFault::Scope {
        parts.push(format!("scope=\"{}\"", scope.as_str()));
    }
    match fault {
        CredentialFault::Bad if is_open => parts.push("error=\"invalid_token\"".to_owned()),
        CredentialFault::Scope => parts.push("error=\"insufficient_scope\"".to_owned()),
        CredentialFault::Missing | CredentialFault::Bad => {}
    }
    let value = parts.join(", ");
    let value = if value.is_empty() { "Bearer".to_owned() } else { format!("Bearer {value}") };
    HeaderValue::from_str(&value).ok().map(Box::new)
}
