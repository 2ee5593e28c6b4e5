//! How fresh reads are when several nodes share a journal: what headers ask for, and the token that a
//! write returns.

use std::time::{Duration, Instant};

use axum::http::{HeaderMap, HeaderName, HeaderValue, Method};
use haversack::{Engine, Workspace};
use haversack_store::store::journal::Freshness;

use crate::codes::Code;
use crate::config::{JournalSource, seconds};
use crate::problem::ApiProblem;
use crate::state::ServerState;

/// The header of a request: `strong` (the default) or `bounded`.
pub(crate) const CONSISTENCY: HeaderName = HeaderName::from_static("haversack-consistency");

/// The header of a request that waits for a write; its value is what that write returned.
pub(crate) const AT_LEAST: HeaderName = HeaderName::from_static("haversack-at-least");

/// The header of the response to a write.
pub(crate) const POSITION: HeaderName = HeaderName::from_static("haversack-position");

/// How long a request waits for a workspace that is opened again, because it can follow its journal no more.
const REOPEN_FOR: Duration = Duration::from_secs(10);
const REOPEN_EVERY: Duration = Duration::from_millis(20);

/// Opens a workspace with reads as fresh as the headers ask for, and makes it so fresh.
pub(crate) async fn open(
    state: &ServerState,
    headers: &HeaderMap,
    name: &str,
) -> Result<Workspace, ApiProblem> {
    let began = Instant::now();
    loop {
        let opened = match state.workspace(name).await {
            Ok(workspace) if state.config.journal.is_none() => {
                return apply(headers, workspace, None);
            }
            Ok(workspace) => {
                let workspace = apply(headers, workspace, state.config.journal.as_ref())?;
                let refreshed = workspace.store().refresh().await;
                refreshed.map(|()| workspace).map_err(ApiProblem::from)
            }
            Err(problem) => Err(problem),
        };
        match opened {
            Err(problem) if problem.code == Code::NotReady && began.elapsed() < REOPEN_FOR => {
                tokio::time::sleep(REOPEN_EVERY).await;
            }
            opened => return opened,
        }
    }
}

/// The workspace with reads as fresh as the headers ask for. Without a journal all reads are fresh.
fn apply(
    headers: &HeaderMap,
    workspace: Workspace,
    journal: Option<&JournalSource>,
) -> Result<Workspace, ApiProblem> {
    let text = |name: &HeaderName| headers.get(name).map(|value| value.to_str().unwrap_or("?"));
    let freshness = match (text(&CONSISTENCY), text(&AT_LEAST)) {
        (None, None) => return Ok(workspace),
        (Some(_), Some(_)) => {
            let message = "leave out haversack-consistency: the read waits for the write";
            return Err(ApiProblem::invalid("haversack-at-least", message));
        }
        (None, Some(token)) => workspace
            .blocking_store()
            .at_least(token)
            .map_err(|error| ApiProblem::invalid("haversack-at-least", error.to_string()))?,
        (Some("strong"), None) => Freshness::Strong,
        (Some("bounded"), None) => Freshness::Bounded(bound(journal)),
        (Some(other), None) => {
            let message = format!("{other:?} is neither strong nor bounded");
            return Err(ApiProblem::invalid("haversack-consistency", message));
        }
    };
    Ok(workspace.with_freshness(freshness))
}

fn bound(journal: Option<&JournalSource>) -> Duration {
    journal.map_or(Duration::ZERO, |journal| seconds(journal.bounded_seconds))
}

/// The header of a response that was made while the journal could not be reached: its age in seconds.
pub(crate) const STALE: HeaderName = HeaderName::from_static("haversack-stale");

/// Adds a token of everything that is written so far to the response of a write, and to any response how old
/// it may be.
pub(crate) fn add_position(
    engine: &Engine,
    method: &Method,
    workspace: Option<&str>,
    headers: &mut HeaderMap,
) {
    let Some(workspace) = workspace.and_then(|name| engine.get_if_open(name)) else { return };
    let store = workspace.blocking_store();
    let token = if method.is_safe() { None } else { store.position_token() };
    if let Some(token) = token.and_then(|token| HeaderValue::from_str(&token).ok()) {
        headers.insert(POSITION, token);
    }
    if let Some(age) = store.staleness() {
        headers.insert(STALE, HeaderValue::from(age.as_secs().max(1)));
    }
}
