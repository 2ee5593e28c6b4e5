//! Searching.

use std::time::Instant;

use axum::http::StatusCode;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use haversack::Workspace;
use haversack::search::{HybridHit, HybridResults, Search, SearchError, SearchMethod};
use haversack_store::store::query::LIMIT_MAX;
use haversack_store::store::viewer::Viewer;
use serde_json::Value;

use crate::call::{Call, RouteResult, json};
use crate::problem::ApiProblem;
use crate::state::ServerState;
use crate::wire::{WireFound, WireHit, WireSearch, count_within, parse_id, parse_kind};

/// Answers when nobody says how many, and how many of them from one item.
const LIMIT: usize = 10;
const PER_ITEM: usize = 2;

/// Longest excerpt in characters, when nobody says how long, and the most.
const EXCERPT: usize = 280;
const EXCERPT_MAX: usize = 10_000;

pub(crate) fn search(mut call: Call) -> BoxFuture<'static, RouteResult> {
    async move {
        let workspace = call.workspace().await?;
        let wanted: WireSearch = call.read().await?;
        let viewer = call.identity.actor(wanted.user.as_ref(), &wanted.groups)?.viewer;
        let answers = answers(&call.state, &workspace, viewer, to_search(wanted)?).await?;
        let found = answers.found.into_iter().map(hit).collect();
        json(StatusCode::OK, &WireFound { found, notices: answers.notices })
    }
    .boxed()
}

/// What a search finds for a viewer.
pub(crate) async fn answers(
    state: &ServerState,
    workspace: &Workspace,
    viewer: Viewer,
    search: Search,
) -> Result<HybridResults, ApiProblem> {
    let started = Instant::now();
    let answers = state.gate.compute(workspace.search(&viewer, search)).await;
    let answers = answers.map_err(|error| match error {
        SearchError::Read(error) => haversack::Error::from(error).into(),
        SearchError::Embed(error) => haversack::Error::from(error).into(),
        error => ApiProblem::new(crate::codes::Code::Search, error.to_string()),
    })?;
    state.metrics.note_search(answers.found.len(), started.elapsed());
    Ok(answers)
}

pub(crate) fn to_search(wanted: WireSearch) -> Result<Search, ApiProblem> {
    let mut search =
        Search::new(&wanted.query, count_within("limit", wanted.limit, LIMIT, LIMIT_MAX)?);
    search.per_item_max = count_within("perItem", wanted.per_item, PER_ITEM, LIMIT_MAX)?;
    search.excerpt_chars_max = count_within("excerpt", wanted.excerpt, EXCERPT, EXCERPT_MAX)?;
    search.only = wanted.way.map(SearchMethod::from);
    for name in &wanted.kinds {
        search.filter.kinds.push(parse_kind("kinds", name)?);
    }
    search.filter.path_prefix = wanted.path;
    search.filter.under = wanted.under.map(|under| parse_id("under", &under)).transpose()?;
    search.filter.fields = wanted
        .fields
        .into_iter()
        .map(|(name, value)| match value {
            Value::Array(values) => (name, values),
            value => (name, vec![value]),
        })
        .collect();
    Ok(search)
}

pub(crate) fn hit(found: HybridHit) -> WireHit {
    let pages = found.pages();
    let item = found.passage.stored.item;
    WireHit {
        id: item.id.as_str().to_owned(),
        chunk: found.passage.chunk,
        score: found.score.get(),
        ranks: found.ranks.iter().map(|(way, rank)| (way.as_str(), *rank)).collect(),
        kind: item.kind.to_string(),
        title: item.title,
        path: item.path,
        headings: found.passage.headings,
        lines: found.passage.lines,
        pages,
        hits: found.excerpt.hits.iter().map(|range| (range.start, range.end)).collect(),
        excerpt: found.excerpt.text,
    }
}
