//! The tools that read: packing, searching, explaining.

use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use haversack::receipt::ReceiptLine;
use haversack::{Assembled, Workspace};
use haversack_core::units::Tokens;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::caller::McpCaller;
use super::cursor;
use super::tools::{ToolResult, arguments, structured_result};
use crate::http::{context, search};
use crate::problem::ApiProblem;
use crate::state::ServerState;
use crate::wire::{WireSearch, count_within, parse_id};

/// The recipe when a call names none.
pub(crate) const RECIPE: &str = "everything";

/// The largest default budget: common clients truncate or refuse more.
const DEFAULT_TOKENS_MAX: u32 = 20_000;

/// The largest budget.
const TOKENS_MAX: u32 = 200_000;

/// Sources of a pack that are named beside it.
const SOURCES_MAX: usize = 200;

/// Longest page of a search or an explanation.
const PAGE_BYTES_MAX: usize = 24 << 10;

/// Hits that a search retrieves. Fixed, so that all pages belong to one list.
const HITS_SEARCHED: usize = 100;

/// Hits on a page of a search: the default and the maximum.
const HITS: usize = 10;
const HITS_MAX: usize = 50;

/// Lines on a page of an explanation: the default and the maximum.
const LINES: usize = 40;
const LINES_MAX: usize = 200;

/// What to pack.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct PackArguments {
    /// The question or task, in the user's words
    query: String,
    /// How to pack; the prompts list the recipes. Default: everything
    #[serde(default)]
    recipe: Option<String>,
    /// Most tokens. Default: the recipe's, at most 20000
    #[serde(default)]
    #[schemars(range(min = 1, max = 200_000))]
    budget: Option<u32>,
    /// The model that will read it; it decides how tokens are counted
    #[serde(default)]
    model: Option<String>,
    /// The recipe's own fields: opportunityId (proposal), threadId (prime), focus.blockId and type
    /// (workspace), currentContext and situation (situation), memoryTypes and dateFrom (memory),
    /// previous (receipt of the last pack in this conversation)
    #[serde(default)]
    options: Map<String, Value>,
    /// Only if not the default one
    #[serde(default)]
    workspace: Option<String>,
}

/// What a pack was made from. The pack itself is the text of the answer.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PackSummary {
    /// By which it can be explained.
    pub(crate) receipt: String,
    /// The recipe.
    pub(crate) recipe: String,
    /// Tokens of the text.
    pub(crate) tokens: u32,
    /// The most it could have.
    pub(crate) budget: u32,
    /// Who counted.
    pub(crate) tokenizer: String,
    /// The items in it, in the order of the text.
    pub(crate) sources: Vec<PackSource>,
    /// How many more there are.
    #[serde(skip_serializing_if = "is_zero")]
    #[schemars(default)]
    pub(crate) sources_unlisted: usize,
    /// What the caller should know.
    pub(crate) notices: Vec<String>,
}

/// An item in a pack.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PackSource {
    /// The item.
    pub(crate) item: String,
    /// How the text cites it.
    pub(crate) cite: String,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks by reference")]
const fn is_zero(count: &usize) -> bool {
    *count == 0
}

impl PackSummary {
    pub(crate) fn from_assembled(assembled: &Assembled) -> PackSummary {
        let citations = &assembled.pack.citations;
        let sources = citations.iter().take(SOURCES_MAX).map(|citation| PackSource {
            item: citation.candidate.item.as_str().to_owned(),
            cite: citation.id.clone(),
        });
        let notice =
            |notice: &haversack::Notice| format!("{}: {}", notice.code.as_str(), notice.message);
        PackSummary {
            receipt: assembled.receipt(),
            recipe: assembled.recipe.name.clone(),
            tokens: assembled.pack.tokens.get(),
            budget: assembled.pack.limit.get(),
            tokenizer: assembled.pack.tokenizer.clone(),
            sources: sources.collect(),
            sources_unlisted: citations.len().saturating_sub(SOURCES_MAX),
            notices: assembled.notices.iter().map(notice).collect(),
        }
    }
}

/// Builds a pack within the token limits of a tool result.
pub(crate) async fn build_within_limits(
    state: &ServerState,
    caller: &McpCaller,
    workspace: &Workspace,
    recipe: &str,
    body: Map<String, Value>,
) -> Result<Arc<Assembled>, ApiProblem> {
    let mut request = context::permitted_request(&caller.identity, workspace, recipe, body).await?;
    request.budget = Some(match request.budget {
        Some(budget) if budget.get() > TOKENS_MAX => {
            let detail = format!("{budget} tokens are more than the most, {TOKENS_MAX}");
            return Err(ApiProblem::invalid("budget", detail));
        }
        Some(budget) => budget,
        None => {
            let usual = workspace.recipe(recipe).await?.budget.total;
            if usual.get() <= DEFAULT_TOKENS_MAX {
                let made =
                    context::build_pack(state, &caller.span, workspace, request, None).await?;
                return Ok(made.assembled);
            }
            Tokens::new(DEFAULT_TOKENS_MAX)
        }
    });
    Ok(context::build_pack(state, &caller.span, workspace, request, None).await?.assembled)
}

pub(crate) fn pack(
    state: Arc<ServerState>,
    caller: McpCaller,
    given: Map<String, Value>,
) -> BoxFuture<'static, Result<ToolResult, ApiProblem>> {
    async move {
        let wanted: PackArguments = arguments(given)?;
        let workspace = caller.workspace(&state, wanted.workspace.as_deref()).await?;
        let mut body = wanted.options;
        body.insert("query".to_owned(), json!(wanted.query));
        if let Some(budget) = wanted.budget {
            body.insert("tokenBudget".to_owned(), json!(budget));
        }
        if let Some(model) = wanted.model {
            body.insert("model".to_owned(), json!(model));
        }
        let recipe = wanted.recipe.as_deref().unwrap_or(RECIPE);
        let assembled = build_within_limits(&state, &caller, &workspace, recipe, body).await?;
        let result: ToolResult = structured_result(&PackSummary::from_assembled(&assembled))?;
        // The specification asks for the structured content as text too. Here the text is the pack
        // and the structured content its sources: sending the pack twice would cost its budget twice.
        Ok(ToolResult { text: assembled.text().to_owned(), ..result })
    }
    .boxed()
}

/// What to look for.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct SearchArguments {
    /// Words, a question or a name
    query: String,
    /// Only these kinds, such as note, file, memory
    #[serde(default)]
    kinds: Vec<String>,
    /// How many on a page. Default: 10
    #[serde(default)]
    #[schemars(range(min = 1, max = 50))]
    limit: Option<usize>,
    /// The next of the page before
    #[serde(default)]
    cursor: Option<String>,
    /// Only if not the default one
    #[serde(default)]
    workspace: Option<String>,
}

/// What was found.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct FoundPage {
    /// Best first.
    found: Vec<SearchHit>,
    /// The cursor of the next page.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
    /// What the asker should know.
    notices: Vec<String>,
}

/// One answer.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct SearchHit {
    /// The item.
    item: String,
    /// Its kind.
    kind: String,
    /// Its title.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schemars(default)]
    title: String,
    /// Its path.
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<String>,
    /// First and last line in its text.
    lines: [u32; 2],
    #[serde(skip_serializing_if = "Option::is_none")]
    pages: Option<[u32; 2]>,
    /// The most telling stretch.
    excerpt: String,
}

pub(crate) fn find(
    state: Arc<ServerState>,
    caller: McpCaller,
    given: Map<String, Value>,
) -> BoxFuture<'static, Result<ToolResult, ApiProblem>> {
    async move {
        let wanted: SearchArguments = arguments(given)?;
        let workspace = caller.workspace(&state, wanted.workspace.as_deref()).await?;
        let limit = count_within("limit", wanted.limit, HITS, HITS_MAX)?;
        let question = format!("{:?} {:?}", wanted.query, wanted.kinds);
        let start = cursor::position_of(&question, wanted.cursor.as_deref())?;
        let wire = WireSearch {
            query: wanted.query,
            kinds: wanted.kinds,
            limit: Some(HITS_SEARCHED),
            ..WireSearch::default()
        };
        let viewer = caller.viewer()?;
        let answers = search::answers(&state, &workspace, viewer, search::to_search(wire)?).await?;
        let there = answers.found.len();
        let hits = answers.found.into_iter().skip(start).take(limit).map(hit);
        let found = take_page(hits);
        let end = start + found.len();
        let next = (end < there).then(|| cursor::cursor_at(&question, end));
        structured_result(&FoundPage { found, next, notices: answers.notices })
    }
    .boxed()
}

fn hit(found: haversack::search::HybridHit) -> SearchHit {
    let hit = search::hit(found);
    SearchHit {
        item: hit.id,
        kind: hit.kind,
        title: hit.title,
        path: hit.path,
        lines: [hit.lines.0, hit.lines.1],
        pages: hit.pages,
        excerpt: hit.excerpt,
    }
}

/// Takes as many as fit on a page, but at least one.
fn take_page<T: Serialize>(parts: impl Iterator<Item = T>) -> Vec<T> {
    let (mut page, mut bytes) = (Vec::new(), 0);
    for part in parts {
        // A part that cannot be serialized fails later.
        bytes += serde_json::to_vec(&part).map_or(0, |written| written.len());
        if bytes > PAGE_BYTES_MAX && !page.is_empty() {
            break;
        }
        page.push(part);
    }
    page
}

/// Which pack to explain.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct ExplainArguments {
    /// The receipt of a pack
    receipt: String,
    /// Only about this item
    #[serde(default)]
    item: Option<String>,
    /// Only what is in, or only what is out
    #[serde(default)]
    only: Option<Side>,
    /// How many lines on a page. Default: 40
    #[serde(default)]
    #[schemars(range(min = 1, max = 200))]
    limit: Option<usize>,
    /// The next of the page before
    #[serde(default)]
    cursor: Option<String>,
    /// Only if not the default one
    #[serde(default)]
    workspace: Option<String>,
}

/// Which side of the choice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Side {
    /// What is in, whole or shortened.
    In,
    /// What is out.
    Out,
}

/// Why a pack is as it is.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Explanation {
    /// The recipe.
    recipe: String,
    /// What was asked.
    query: String,
    /// Tokens of the pack.
    tokens: u32,
    /// The most it could have.
    budget: u32,
    /// What became of each candidate: those that are in first.
    lines: Vec<LedgerLine>,
    /// The cursor of the next page.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
}

/// What became of a candidate.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct LedgerLine {
    /// The item.
    item: String,
    /// The layer it was found for.
    layer: String,
    /// `in`, `cut`, `essential` or `out`.
    outcome: String,
    /// Why.
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<String>,
    /// What it costs in the pack.
    tokens: u32,
    /// What it costs whole.
    tokens_whole: u32,
    /// Who found it, with its place in their lists.
    found: std::collections::BTreeMap<String, u32>,
}

pub(crate) fn explain(
    state: Arc<ServerState>,
    caller: McpCaller,
    given: Map<String, Value>,
) -> BoxFuture<'static, Result<ToolResult, ApiProblem>> {
    async move {
        let wanted: ExplainArguments = arguments(given)?;
        let workspace = caller.workspace(&state, wanted.workspace.as_deref()).await?;
        let limit = count_within("limit", wanted.limit, LINES, LINES_MAX)?;
        let item = wanted.item.map(|item| parse_id("item", &item)).transpose()?;
        let question = format!("{} {item:?} {:?}", wanted.receipt, wanted.only);
        let start = cursor::position_of(&question, wanted.cursor.as_deref())?;
        let receipt = workspace.receipt(&wanted.receipt, &caller.viewer()?).await?;
        let about = |line: &&ReceiptLine| {
            let side = if line.outcome == "out" { Side::Out } else { Side::In };
            wanted.only.is_none_or(|only| only == side)
                && item.as_ref().is_none_or(|item| item.as_str() == line.item)
        };
        let all: Vec<&ReceiptLine> = receipt.ledger.iter().filter(about).collect();
        let lines = take_page(all.iter().skip(start).take(limit).map(|line| ledger_line(line)));
        let end = start + lines.len();
        structured_result(&Explanation {
            recipe: receipt.recipe.clone(),
            query: receipt.request.query.clone(),
            tokens: receipt.tokens,
            budget: receipt.limit,
            lines,
            next: (end < all.len()).then(|| cursor::cursor_at(&question, end)),
        })
    }
    .boxed()
}

fn ledger_line(line: &ReceiptLine) -> LedgerLine {
    LedgerLine {
        item: line.name(),
        layer: line.layer.clone(),
        outcome: line.outcome.clone(),
        why: line.why.clone(),
        tokens: line.tokens,
        tokens_whole: line.tokens_whole,
        found: line.found.clone(),
    }
}
