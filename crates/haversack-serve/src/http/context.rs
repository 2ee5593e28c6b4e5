//! Packs: built, previewed, watched, and compared over budgets.

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::body::{Body, Bytes};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;
use futures_util::future::BoxFuture;
use futures_util::{FutureExt, StreamExt, stream};
use haversack::pipeline::Watch;
use haversack::recipe::Shape;
use haversack::recipes::{bytes_of, memory, request_of};
use haversack::{Assembled, Request, Workspace};
use haversack_core::units::Tokens;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use tokio::sync::mpsc;

use crate::call::{Answer, Call, json};
use crate::codes::Code;
use crate::config::seconds;
use crate::problem::Problem;
use crate::router::cause;
use crate::state::State;
use crate::trace::Span;
use crate::who::{Access, Asserted};

/// Most budgets of one frontier.
const BUDGETS_MAX: usize = 100;

/// Events of a build that may wait for their reader.
const EVENTS_WAITING: usize = 64;

/// What a body may say beside what is asked of the recipe.
const EXPLAIN: &str = "explain";

pub(crate) fn build(mut call: Call) -> BoxFuture<'static, Answer> {
    async move {
        let workspace = call.workspace().await?;
        let (request, explain) = asked(&mut call, &workspace).await?;
        let accepts = call.headers.get(header::ACCEPT).and_then(|value| value.to_str().ok());
        if accepts.is_some_and(|accepts| accepts.contains("text/event-stream")) {
            return Ok(watched(call, workspace, request, explain));
        }
        let preview = !request.keep;
        let made = made(&call.state, &call.span, &workspace, request, None).await?;
        let mut response = Response::new(Body::from(bytes(&made.assembled, explain, preview)?));
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

/// What is asked, by whom it may be asked, and whether the answer is to explain itself.
async fn asked(call: &mut Call, workspace: &Workspace) -> Result<(Request, bool), Problem> {
    let (preview, mut explain) = (call.flag("preview")?, call.flag(EXPLAIN)?);
    let Value::Object(mut body) = call.json().await? else {
        return Err(Problem::invalid("request", "is not an object"));
    };
    explain |= told(&mut body)?;
    let recipe = call.parameter("recipe");
    let mut request = request(&call.access, &call.asserted, workspace, recipe, body).await?;
    request.keep = !preview;
    Ok((request, explain))
}

/// Whether the body asks for an explanation.
fn told(body: &mut Map<String, Value>) -> Result<bool, Problem> {
    match body.shift_remove(EXPLAIN) {
        None | Some(Value::Null) => Ok(false),
        Some(Value::Bool(explain)) => Ok(explain),
        Some(_) => Err(Problem::invalid(EXPLAIN, "is neither true nor false")),
    }
}

/// A request in a recipe's own shape, made that of who may ask it.
pub(crate) async fn request(
    access: &Access,
    asserted: &Asserted,
    workspace: &Workspace,
    recipe: &str,
    body: Map<String, Value>,
) -> Result<Request, Problem> {
    let recipe = workspace.recipe(recipe).await?;
    let mut request = request_of(&recipe.name, recipe.shape, Value::Object(body))?;
    access.impose(&mut request, asserted)?;
    Ok(request)
}

/// A pack, and how long the engine had it in hand.
pub(crate) struct Made {
    pub(crate) assembled: Arc<Assembled>,
    took: Duration,
}

/// Makes a pack and notes its figures.
pub(crate) async fn made(
    state: &State,
    span: &Span,
    workspace: &Workspace,
    request: Request,
    watch: Option<Watch>,
) -> Result<Made, Problem> {
    let work = async {
        let begun = Instant::now();
        let answer = workspace.answer(request, span.watch(watch)).await?;
        Ok::<_, haversack::Error>((answer, begun.elapsed()))
    };
    let (answer, took) = state.gate.compute(work).await?;
    state.metrics.assembled(&answer.assembled, answer.repeated);
    Ok(Made { assembled: answer.assembled, took })
}

/// A pack as the application's own document has it. The preview of memories has more in it.
fn bytes(assembled: &Assembled, explain: bool, preview: bool) -> Result<Vec<u8>, Problem> {
    let written = if preview && assembled.recipe.shape == Shape::Memory {
        serde_json::to_vec(&memory::Preview::of(assembled, explain))
    } else {
        bytes_of(assembled, explain)
    };
    written.map_err(|error| {
        tracing::error!(target: "haversack", %error, "a pack cannot be written");
        Problem::new(Code::Internal, "the pack cannot be written")
    })
}

/// A build as it goes: `stage` for each step, `warning` for each notice, then `result` or `problem`.
/// When the reader goes away, the build ends.
fn watched(call: Call, workspace: Workspace, request: Request, explain: bool) -> Response {
    let (sender, receiver) = mpsc::channel(EVENTS_WAITING);
    let stages = sender.clone();
    let watch: Watch = Arc::new(move |stage: &'static str, took: Duration| {
        let data = json!({ "stage": stage, "ms": took.as_secs_f64() * 1_000.0 });
        // A reader who is that slow misses a step, not the result.
        let _ = stages.try_send(event("stage", &data.to_string()));
    });
    let build = async move {
        let preview = !request.keep;
        let built = async {
            let made = made(&call.state, &call.span, &workspace, request, Some(watch)).await?;
            let result = bytes(&made.assembled, explain, preview)?;
            Ok::<_, Problem>((made.assembled, result))
        };
        let deadline = seconds(call.state.config.limits.deadline_seconds);
        let built = tokio::time::timeout(deadline, built).await.unwrap_or_else(|_| {
            let detail = format!("no answer within {} s", deadline.as_secs_f64());
            Err(Problem::new(Code::Deadline, detail))
        });
        let mut events = Vec::new();
        match built {
            Ok((assembled, result)) => {
                for notice in &assembled.notices {
                    let notice = haversack::recipes::WireNotice::of(notice);
                    let data = serde_json::to_string(&notice).unwrap_or_default();
                    events.push(event("warning", &data));
                }
                events.push(event("result", &String::from_utf8_lossy(&result)));
            }
            Err(problem) => {
                let problem = cause(&call.state, Some(call.parameter("ws")), problem).await;
                // The answer as a whole began well, so nobody else counts this.
                call.state.metrics.refused(&problem);
                let data = serde_json::to_string(&problem.wire()).unwrap_or_default();
                events.push(event("problem", &data));
            }
        }
        for event in events {
            if sender.send(event).await.is_err() {
                return;
            }
        }
    };
    // The build is driven by the body, so it ends with the connection.
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

/// A request and the budgets to try it at.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "FrontierRequest")]
pub(crate) struct WireFrontierRequest {
    /// What the recipe is asked.
    #[serde(default)]
    request: Map<String, Value>,
    /// The budgets; 25 from the least to the most when left out.
    #[serde(default)]
    #[schemars(length(max = 100))]
    budgets: Vec<u32>,
}

/// What each budget would give.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Frontier")]
pub(crate) struct WireFrontier {
    /// From the smallest budget on; those that cannot be met are left out.
    points: Vec<WirePoint>,
}

/// What one budget would give.
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
    /// What it is worth.
    value: f64,
    /// How much of all that was found is in, by value.
    coverage: f64,
}

pub(crate) fn frontier(mut call: Call) -> BoxFuture<'static, Answer> {
    async move {
        let workspace = call.workspace().await?;
        let wanted: WireFrontierRequest = call.read().await?;
        if wanted.budgets.len() > BUDGETS_MAX {
            let detail =
                format!("{} budgets are more than the most, {BUDGETS_MAX}", wanted.budgets.len());
            return Err(Problem::invalid("budgets", detail));
        }
        let recipe = call.parameter("recipe");
        let mut request =
            request(&call.access, &call.asserted, &workspace, recipe, wanted.request).await?;
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
