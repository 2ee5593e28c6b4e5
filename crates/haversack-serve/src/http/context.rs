//! Builds, previews and streams packs, and compares budgets.

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::body::{Body, Bytes};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;
use futures_util::future::BoxFuture;
use futures_util::{FutureExt, StreamExt, stream};
use haversack::messages::Format;
use haversack::pipeline::StageObserver;
use haversack::recipes::{RecipeResult, parse_request};
use haversack::{Assembled, Request, Workspace};
use haversack_core::units::Tokens;
use haversack_provider::with_allowances;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use tokio::sync::mpsc;

use crate::call::{Call, RouteResult, json};
use crate::codes::Code;
use crate::config::seconds;
use crate::problem::ApiProblem;
use crate::router::explain_failure;
use crate::state::ServerState;
use crate::trace::TraceSpan;
use crate::who::Identity;

/// Most budgets of one frontier.
const BUDGETS_MAX: usize = 100;

/// Events of a build that may queue.
const EVENTS_QUEUED_MAX: usize = 64;

/// Fields of a body that are not part of the recipe's request.
const EXPLAIN: &str = "explain";
const MESSAGES: &str = "messages";

/// What a response includes on request.
#[derive(Clone, Copy)]
struct ResponseOptions {
    preview: bool,
    /// Whether it includes the ledger and the quality.
    explain: bool,
    /// The format in which it includes the pack as messages.
    messages: Option<Format>,
}

pub(crate) fn build(mut call: Call) -> BoxFuture<'static, RouteResult> {
    async move {
        let workspace = call.workspace().await?;
        let (request, options) = read_request(&mut call, &workspace).await?;
        let accepts = call.headers.get(header::ACCEPT).and_then(|value| value.to_str().ok());
        if accepts.is_some_and(|accepts| accepts.contains("text/event-stream")) {
            return Ok(stream_build(call, workspace, request, options));
        }
        let made = build_pack(&call.state, &call.span, &workspace, request, None).await?;
        let mut response = Response::new(Body::from(serialize(&made.assembled, options)?));
        let media_type = HeaderValue::from_static("application/json");
        response.headers_mut().insert(header::CONTENT_TYPE, media_type);
        let timing = format!("pack;dur={:.3}", made.took.as_secs_f64() * 1_000.0);
        if let Ok(timing) = HeaderValue::try_from(timing) {
            response.headers_mut().insert("server-timing", timing);
        }
        Ok(response)
    }
    .boxed()
}

/// Reads the request, and what the response includes.
async fn read_request(
    call: &mut Call,
    workspace: &Workspace,
) -> Result<(Request, ResponseOptions), ApiProblem> {
    let (preview, mut explain) = (call.flag("preview")?, call.flag(EXPLAIN)?);
    let named = call.query.get(MESSAGES).map(|name| parse_format(name)).transpose()?;
    let Value::Object(mut body) = call.json().await? else {
        return Err(ApiProblem::invalid("request", "is not an object"));
    };
    explain |= take_explain(&mut body)?;
    let messages = take_messages(&mut body)?.or(named);
    let recipe = call.parameter("recipe");
    let mut request = permitted_request(&call.identity, workspace, recipe, body).await?;
    request.keep = !preview;
    Ok((request, ResponseOptions { preview, explain, messages }))
}

/// Takes `explain` out of the body.
fn take_explain(body: &mut Map<String, Value>) -> Result<bool, ApiProblem> {
    match body.shift_remove(EXPLAIN) {
        None | Some(Value::Null) => Ok(false),
        Some(Value::Bool(explain)) => Ok(explain),
        Some(_) => Err(ApiProblem::invalid(EXPLAIN, "is neither true nor false")),
    }
}

/// Takes `messages` out of the body.
fn take_messages(body: &mut Map<String, Value>) -> Result<Option<Format>, ApiProblem> {
    match body.shift_remove(MESSAGES) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(name)) => parse_format(&name).map(Some),
        Some(_) => Err(ApiProblem::invalid(MESSAGES, "is neither anthropic nor openai")),
    }
}

fn parse_format(name: &str) -> Result<Format, ApiProblem> {
    Format::parse(name).ok_or_else(|| {
        let name: String = name.chars().take(40).collect();
        ApiProblem::invalid(MESSAGES, format!("{name:?} is neither anthropic nor openai"))
    })
}

/// Reads a request in a recipe's own shape, and replaces the claimed identity with the permitted one.
pub(crate) async fn permitted_request(
    identity: &Identity,
    workspace: &Workspace,
    recipe: &str,
    body: Map<String, Value>,
) -> Result<Request, ApiProblem> {
    let recipe = workspace.recipe(recipe).await?;
    let mut request = parse_request(&recipe.name, recipe.shape, Value::Object(body))?;
    identity.apply_to(&mut request)?;
    Ok(request)
}

/// A pack and how long the engine took.
pub(crate) struct TimedPack {
    pub(crate) assembled: Arc<Assembled>,
    took: Duration,
}

/// Builds a pack and records its metrics.
pub(crate) async fn build_pack(
    state: &ServerState,
    span: &TraceSpan,
    workspace: &Workspace,
    request: Request,
    watch: Option<StageObserver>,
) -> Result<TimedPack, ApiProblem> {
    let work = async {
        let begun = Instant::now();
        let answer = workspace.answer(request, span.watch(watch)).await?;
        Ok::<_, haversack::Error>((answer, begun.elapsed()))
    };
    let (answer, took) = state.gate.compute(work).await?;
    state.metrics.note_assembly(&answer.assembled, answer.from_cache);
    Ok(TimedPack { assembled: answer.assembled, took })
}

/// Serializes a pack in the application's own format.
fn serialize(assembled: &Assembled, options: ResponseOptions) -> Result<Vec<u8>, ApiProblem> {
    let mut result = if options.preview {
        RecipeResult::preview_from_assembled(assembled, options.explain)
    } else {
        RecipeResult::from_assembled(assembled, options.explain)
    };
    if let Some(format) = options.messages {
        result.assembly_mut().add_messages(assembled, format);
    }
    serde_json::to_vec(&result).map_err(|error| {
        tracing::error!(target: "haversack", %error, "a pack cannot be serialized");
        ApiProblem::new(Code::Internal, "the pack cannot be serialized")
    })
}

/// Streams a build: `stage` for each step, `warning` for each notice, then `result` or `problem`.
/// Closing the connection cancels the build.
fn stream_build(
    call: Call,
    workspace: Workspace,
    request: Request,
    options: ResponseOptions,
) -> Response {
    let (sender, receiver) = mpsc::channel(EVENTS_QUEUED_MAX);
    let stages = sender.clone();
    let watch: StageObserver = Arc::new(move |stage: &'static str, took: Duration| {
        let data = json!({ "stage": stage, "ms": took.as_secs_f64() * 1_000.0 });
        // A slow reader misses a step, not the result.
        let _ = stages.try_send(event("stage", &data.to_string()));
    });
    // The build outlives the handler, and still counts against the caller's key.
    let allowances = call.state.allowances_of(&call.identity);
    let build = with_allowances(allowances, async move {
        let built = async {
            let made =
                build_pack(&call.state, &call.span, &workspace, request, Some(watch)).await?;
            let result = serialize(&made.assembled, options)?;
            Ok::<_, ApiProblem>((made.assembled, result))
        };
        let deadline = seconds(call.state.config.limits.deadline_seconds);
        let built = tokio::time::timeout(deadline, built).await.unwrap_or_else(|_| {
            let detail = format!("no answer within {} s", deadline.as_secs_f64());
            Err(ApiProblem::new(Code::Deadline, detail))
        });
        let mut events = Vec::new();
        match built {
            Ok((assembled, result)) => {
                let omitted =
                    options.messages.and_then(|format| assembled.omitted_turns_notice(format));
                for notice in assembled.notices.iter().chain(&omitted) {
                    let notice = haversack::recipes::WireNotice::from_notice(notice);
                    let data = serde_json::to_string(&notice).unwrap_or_default();
                    events.push(event("warning", &data));
                }
                events.push(event("result", &String::from_utf8_lossy(&result)));
            }
            Err(problem) => {
                let problem =
                    explain_failure(&call.state, Some(call.parameter("ws")), problem).await;
                // The response started with 200, so the router does not count this.
                call.state.metrics.note_refusal(&problem);
                let data = serde_json::to_string(&problem.wire()).unwrap_or_default();
                events.push(event("problem", &data));
            }
        }
        for event in events {
            if sender.send(event).await.is_err() {
                return;
            }
        }
    });
    // The body drives the build, so closing the connection cancels it.
    let build = stream::once(build).filter_map(|()| async { None });
    let events = stream::unfold(receiver, |mut receiver| async move {
        receiver.recv().await.map(|event| (event, receiver))
    });
    let events = stream::select(build, events).map(Ok::<Bytes, std::convert::Infallible>);
    let mut response = Response::new(Body::from_stream(events));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    response
}

/// An event of a stream. JSON has no line breaks of its own, so the data is one line.
fn event(name: &str, data: &str) -> Bytes {
    Bytes::from(format!("event: {name}\ndata: {data}\n\n"))
}

/// A request, and the budgets to pack it at.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "FrontierRequest")]
pub(crate) struct WireFrontierRequest {
    /// The request, in the recipe's own shape.
    #[serde(default)]
    request: Map<String, Value>,
    /// The budgets; 25 from the smallest to the largest possible by default.
    #[serde(default)]
    #[schemars(length(max = 100))]
    budgets: Vec<u32>,
}

/// The packs of several budgets, as figures.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Frontier")]
pub(crate) struct WireFrontier {
    /// One point for each budget, smallest first. Infeasible budgets are left out.
    points: Vec<WirePoint>,
}

/// The figures of the pack at one budget.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "FrontierPoint")]
pub(crate) struct WirePoint {
    /// The budget.
    budget: u32,
    /// Tokens of the pack.
    tokens: u32,
    /// Candidates in it.
    items: usize,
    /// Its value.
    value: f64,
    /// The share of all candidates' value that is in the pack.
    coverage: f64,
}

pub(crate) fn frontier(mut call: Call) -> BoxFuture<'static, RouteResult> {
    async move {
        let workspace = call.workspace().await?;
        let wanted: WireFrontierRequest = call.read().await?;
        if wanted.budgets.len() > BUDGETS_MAX {
            let detail =
                format!("{} budgets are more than the most, {BUDGETS_MAX}", wanted.budgets.len());
            return Err(ApiProblem::invalid("budgets", detail));
        }
        let recipe = call.parameter("recipe");
        let mut request =
            permitted_request(&call.identity, &workspace, recipe, wanted.request).await?;
        request.keep = false;
        let budgets: Vec<Tokens> = wanted.budgets.iter().copied().map(Tokens::new).collect();
        let points = call.state.gate.compute(workspace.frontier(request, &budgets)).await?;
        let points = points.iter().map(point).collect();
        json(StatusCode::OK, &WireFrontier { points })
    }
    .boxed()
}

fn point(point: &haversack_core::pack::Point) -> WirePoint {
    WirePoint {
        budget: point.total.get(),
        tokens: point.tokens.get(),
        items: point.n_items,
        value: point.worth.value,
        coverage: point.worth.coverage().get(),
    }
}
