//! One call of a route: its identity, parameters and body, which is read within limits.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::body::{Body, BodyDataStream};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::response::Response;
use bytes::{Bytes, BytesMut};
use futures_util::StreamExt;
use haversack::Workspace;
use haversack_store::store::change::{CommitReport, WriteKey};
use haversack_store::store::viewer::Viewer;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::time::Instant;

use crate::codes::Code;
use crate::config::seconds;
use crate::freshness;
use crate::gate::RequestPermit;
use crate::json_body;
use crate::memory::HeldBytes;
use crate::problem::ApiProblem;
use crate::route::Route;
use crate::state::ServerState;
use crate::trace::TraceSpan;
use crate::who::Identity;

/// The response of a route.
pub(crate) type RouteResult = Result<Response, ApiProblem>;

/// A call of a route.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) state: Arc<ServerState>,
    pub(crate) route: &'static Route,
    /// The request id, which the response repeats.
    pub(crate) request: String,
    pub(crate) span: TraceSpan,
    pub(crate) identity: Arc<Identity>,
    pub(crate) parameters: BTreeMap<String, String>,
    pub(crate) query: BTreeMap<String, String>,
    pub(crate) method: Method,
    pub(crate) headers: HeaderMap,
    /// A body is `Send` but not `Sync`; the lock, which is never contended, makes the call `Sync`.
    pub(crate) body: Mutex<Body>,
    /// The idempotency key of what the call writes.
    pub(crate) key: Option<WriteKey>,
    /// What the call wrote, if an earlier one with the same key did so already.
    pub(crate) written: Option<CommitReport>,
    /// The memory that the body takes.
    pub(crate) held: HeldBytes,
    /// Counts the request as in flight until it is dropped.
    pub(crate) _turn: Option<RequestPermit>,
}

impl Call {
    /// A path parameter.
    pub(crate) fn parameter(&self, name: &str) -> &str {
        self.parameters.get(name).map_or("", String::as_str)
    }

    /// Opens the workspace of the path, with reads as fresh as the headers ask for.
    pub(crate) async fn workspace(&self) -> Result<Workspace, ApiProblem> {
        freshness::open(&self.state, &self.headers, self.parameter("ws")).await
    }

    /// The viewer, where no body names a user.
    pub(crate) fn viewer(&self) -> Result<Viewer, ApiProblem> {
        self.identity.viewer()
    }

    /// Reads a count from the query string and checks its bounds.
    pub(crate) fn count(
        &self,
        name: &str,
        default: usize,
        most: usize,
    ) -> Result<usize, ApiProblem> {
        let Some(text) = self.query.get(name) else { return Ok(default) };
        match text.parse() {
            Ok(count) if (1..=most).contains(&count) => Ok(count),
            _ => {
                Err(ApiProblem::invalid(name, format!("{text:?} is not a number from 1 to {most}")))
            }
        }
    }

    /// Reads a flag from the query string.
    pub(crate) fn flag(&self, name: &str) -> Result<bool, ApiProblem> {
        match self.query.get(name).map(String::as_str) {
            None | Some("false") => Ok(false),
            Some("true" | "") => Ok(true),
            Some(other) => {
                Err(ApiProblem::invalid(name, format!("{other:?} is neither true nor false")))
            }
        }
    }

    pub(crate) fn media_type(&self) -> String {
        let text = self.headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
        let text = text.unwrap_or("application/json");
        text.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
    }

    /// Whether the body is NDJSON.
    pub(crate) fn is_lines(&self) -> bool {
        matches!(self.media_type().as_str(), "application/x-ndjson" | "application/jsonl")
    }

    /// Whether the body is NDJSON or a file, and the route accepts it. Such a request has no deadline.
    pub(crate) fn is_streamed_body(&self) -> bool {
        self.route.takes_files
            || self.is_lines() && self.route.body.is_some_and(|body| body.lines.is_some())
    }

    /// Reads the whole body.
    pub(crate) async fn bytes(&mut self) -> Result<Bytes, ApiProblem> {
        let limits = &self.state.config.limits;
        let most = limits.body_bytes;
        let mut pieces = self.body_chunks();
        let mut whole = BytesMut::new();
        while let Some(piece) = pieces.next().await? {
            if whole.len() + piece.len() > most {
                return Err(too_large(most));
            }
            self.held.grow(piece.len())?;
            whole.extend_from_slice(&piece);
        }
        Ok(whole.freeze())
    }

    /// The body as chunks, each with a timeout.
    pub(crate) fn body_chunks(&mut self) -> BodyChunks {
        let body = self.body.get_mut().unwrap_or_else(PoisonError::into_inner);
        let body = std::mem::replace(body, Body::empty());
        let pause_max = seconds(self.state.config.limits.body_seconds);
        BodyChunks { stream: body.into_data_stream(), pause_max, since: Instant::now(), bytes: 0 }
    }

    /// Reads the body as JSON.
    pub(crate) async fn json(&mut self) -> Result<Value, ApiProblem> {
        self.read_with(Ok).await
    }

    /// Reads the body as JSON and converts it.
    pub(crate) async fn read_with<T: Send + 'static>(
        &mut self,
        convert: impl FnOnce(Value) -> Result<T, ApiProblem> + Send + 'static,
    ) -> Result<T, ApiProblem> {
        let media_type = self.media_type();
        if media_type != "application/json" {
            let detail = format!("{media_type:?} is not understood here: send application/json");
            return Err(ApiProblem::new(Code::UnsupportedMediaType, detail));
        }
        let bytes = self.bytes().await?;
        let values_max = self.state.config.limits.body_values;
        json_body::parse(bytes, values_max, &mut self.held, convert).await
    }

    /// Reads the body into a wire type.
    pub(crate) async fn read<T: DeserializeOwned + Send + 'static>(
        &mut self,
    ) -> Result<T, ApiProblem> {
        self.read_with(|value| Ok(haversack::wire::parse_json(value)?)).await
    }

    /// Whether the client's `If-None-Match` names this tag.
    pub(crate) fn has_tag(&self, tag: &str) -> bool {
        let known = self.headers.get_all(header::IF_NONE_MATCH).iter();
        let mut tags = known.filter_map(|value| value.to_str().ok()).flat_map(|all| all.split(','));
        tags.any(|known| {
            let known = known.trim();
            known == "*" || known.strip_prefix("W/").unwrap_or(known) == tag
        })
    }
}

fn too_large(most: usize) -> ApiProblem {
    let detail = format!("the body is longer than {most} bytes: send it in parts, or as lines");
    ApiProblem::new(Code::TooLarge, detail)
}

/// Slowest body, after the time that one pause may take. A client that trickles bytes would block
/// others.
const BYTES_LEAST: f64 = 64.0;

/// A body as chunks.
pub(crate) struct BodyChunks {
    stream: BodyDataStream,
    pause_max: Duration,
    since: Instant,
    bytes: u64,
}

impl BodyChunks {
    /// Reads the next chunk.
    pub(crate) async fn next(&mut self) -> Result<Option<Bytes>, ApiProblem> {
        match tokio::time::timeout(self.pause_max, self.stream.next()).await {
            Ok(None) => Ok(None),
            Ok(Some(Ok(piece))) => {
                self.bytes += piece.len() as u64;
                if self.is_too_slow() {
                    let detail = "the body arrives too slowly: send what you have, then more";
                    return Err(ApiProblem::new(Code::SlowClient, detail));
                }
                Ok(Some(piece))
            }
            Ok(Some(Err(error))) => {
                Err(ApiProblem::new(Code::BadJson, format!("the body ended early: {error}")))
            }
            Err(_) => Err(ApiProblem::new(Code::SlowClient, "the body paused for too long")),
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "streams are far shorter than 2^52 bytes")]
    fn is_too_slow(&self) -> bool {
        let beyond = self.since.elapsed().saturating_sub(self.pause_max).as_secs_f64();
        (self.bytes as f64) < beyond * BYTES_LEAST
    }
}

/// A JSON response.
pub(crate) fn json(status: StatusCode, value: &impl Serialize) -> RouteResult {
    Ok(in_json(status, bytes_of(value)?))
}

fn bytes_of(value: &impl Serialize) -> Result<Vec<u8>, ApiProblem> {
    serde_json::to_vec(value).map_err(|error| {
        tracing::error!(target: "haversack", %error, "a response cannot be serialized");
        ApiProblem::new(Code::Internal, "the response cannot be serialized")
    })
}

fn in_json(status: StatusCode, body: Vec<u8>) -> Response {
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = status;
    let media_type = HeaderValue::from_static("application/json");
    response.headers_mut().insert(header::CONTENT_TYPE, media_type);
    response
}

/// A JSON response with an `ETag`, or 304. The tag is a hash of the bytes and the viewer, so it changes
/// only with what the viewer sees.
pub(crate) fn json_with_etag(call: &Call, value: &impl Serialize) -> RouteResult {
    let body = bytes_of(value)?;
    let viewer = call.viewer().ok();
    let mut hasher = blake3::Hasher::new();
    hasher.update(format!("{viewer:?}\n").as_bytes()).update(&body);
    let tag = format!("\"{}\"", &hasher.finalize().to_hex()[..32]);
    let mut response = if call.has_tag(&tag) {
        let mut response = Response::new(Body::empty());
        *response.status_mut() = StatusCode::NOT_MODIFIED;
        response
    } else {
        in_json(StatusCode::OK, body)
    };
    if let Ok(tag) = HeaderValue::from_str(&tag) {
        response.headers_mut().insert(header::ETAG, tag);
    }
    let private = HeaderValue::from_static("private, no-cache");
    response.headers_mut().insert(header::CACHE_CONTROL, private);
    Ok(response)
}

/// A response without a body.
pub(crate) fn no_content() -> RouteResult {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::NO_CONTENT;
    Ok(response)
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use futures_util::stream::unfold;

    use super::*;

    /// One byte every twenty seconds never pauses for too long, but is still too slow.
    #[tokio::test(start_paused = true)]
    async fn a_body_that_trickles_is_refused() {
        let drops = unfold((), |()| async {
            tokio::time::sleep(Duration::from_secs(20)).await;
            Some((Ok::<_, Infallible>(Bytes::from_static(b"x")), ()))
        });
        let (pause_max, since) = (Duration::from_secs(30), Instant::now());
        let stream = Body::from_stream(drops).into_data_stream();
        let mut pieces = BodyChunks { stream, pause_max, since, bytes: 0 };
        assert!(pieces.next().await.unwrap().is_some(), "a slow start is allowed");
        let problem = pieces.next().await.unwrap_err();
        assert_eq!((problem.code, since.elapsed().as_secs()), (Code::SlowClient, 40));
    }
}
