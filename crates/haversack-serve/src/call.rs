//! One call of a route: who calls, what was said, and how the body is read within its limits.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::body::{Body, BodyDataStream};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::response::Response;
use bytes::{Bytes, BytesMut};
use futures_util::StreamExt;
use haversack::Workspace;
use haversack_store::store::viewer::Viewer;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::time::Instant;

use crate::codes::Code;
use crate::config::seconds;
use crate::gate::Turn;
use crate::problem::Problem;
use crate::route::Route;
use crate::state::State;
use crate::trace::Span;
use crate::who::{Access, Asserted};

/// What an answer is.
pub(crate) type Answer = Result<Response, Problem>;

/// A call.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) state: Arc<State>,
    pub(crate) route: &'static Route,
    /// The name of the request, as its answer is told.
    pub(crate) request: String,
    pub(crate) span: Span,
    pub(crate) access: Access,
    pub(crate) asserted: Asserted,
    pub(crate) parameters: BTreeMap<String, String>,
    pub(crate) query: BTreeMap<String, String>,
    pub(crate) method: Method,
    pub(crate) headers: HeaderMap,
    /// A body can be sent to another thread but not shared; the lock, which nobody ever waits for,
    /// makes up for it.
    pub(crate) body: Mutex<Body>,
    /// Its turn, for as long as it is worked on.
    pub(crate) _turn: Option<Turn>,
}

impl Call {
    /// A part of the path.
    pub(crate) fn parameter(&self, name: &str) -> &str {
        self.parameters.get(name).map_or("", String::as_str)
    }

    /// The workspace of the path, if it is there for this key.
    pub(crate) async fn workspace(&self) -> Result<Workspace, Problem> {
        self.state.workspace(self.parameter("ws")).await
    }

    /// Who asks, where no body says so.
    pub(crate) fn viewer(&self) -> Result<Viewer, Problem> {
        Ok(self.access.viewer(&self.asserted)?.0)
    }

    /// For whom the body says it asks, unless the headers say so.
    pub(crate) fn asserted(
        &self,
        user: Option<&String>,
        groups: &[String],
    ) -> Result<Asserted, Problem> {
        self.asserted.or_in_body(user, groups)
    }

    /// A whole number of the query string, with its bounds.
    pub(crate) fn count(&self, name: &str, default: usize, most: usize) -> Result<usize, Problem> {
        let Some(text) = self.query.get(name) else { return Ok(default) };
        match text.parse() {
            Ok(count) if (1..=most).contains(&count) => Ok(count),
            _ => Err(Problem::invalid(name, format!("{text:?} is not a number from 1 to {most}"))),
        }
    }

    /// Whether the query string says yes.
    pub(crate) fn flag(&self, name: &str) -> Result<bool, Problem> {
        match self.query.get(name).map(String::as_str) {
            None | Some("false") => Ok(false),
            Some("true" | "") => Ok(true),
            Some(other) => {
                Err(Problem::invalid(name, format!("{other:?} is neither true nor false")))
            }
        }
    }

    fn media_type(&self) -> String {
        let text = self.headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
        let text = text.unwrap_or("application/json");
        text.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
    }

    /// Whether the body is a stream of lines.
    pub(crate) fn is_lines(&self) -> bool {
        matches!(self.media_type().as_str(), "application/x-ndjson" | "application/jsonl")
    }

    /// Whether the body is such a stream, and the route takes one: it takes as long as it takes.
    pub(crate) fn streams(&self) -> bool {
        self.is_lines() && self.route.body.is_some_and(|body| body.lines.is_some())
    }

    /// The whole body.
    pub(crate) async fn bytes(&mut self) -> Result<Bytes, Problem> {
        let limits = &self.state.config.limits;
        let most = limits.body_bytes;
        let mut pieces = self.pieces();
        let mut whole = BytesMut::new();
        while let Some(piece) = pieces.next().await? {
            if whole.len() + piece.len() > most {
                return Err(too_large(most));
            }
            whole.extend_from_slice(&piece);
        }
        Ok(whole.freeze())
    }

    /// The body in pieces, each within its time.
    pub(crate) fn pieces(&mut self) -> Pieces {
        let body = self.body.get_mut().unwrap_or_else(PoisonError::into_inner);
        let body = std::mem::replace(body, Body::empty());
        let patience = seconds(self.state.config.limits.body_seconds);
        Pieces { stream: body.into_data_stream(), patience, since: Instant::now(), bytes: 0 }
    }

    /// The body as JSON.
    pub(crate) async fn json(&mut self) -> Result<Value, Problem> {
        let media_type = self.media_type();
        if media_type != "application/json" {
            let detail = format!("{media_type:?} is not understood here: send application/json");
            return Err(Problem::new(Code::UnsupportedMediaType, detail));
        }
        let bytes = self.bytes().await?;
        serde_json::from_slice(&bytes)
            .map_err(|error| Problem::new(Code::BadJson, error.to_string()))
    }

    /// The body as a shape.
    pub(crate) async fn read<T: DeserializeOwned>(&mut self) -> Result<T, Problem> {
        Ok(haversack::wire::read(self.json().await?)?)
    }

    /// Whether the client has what this tag names.
    pub(crate) fn has(&self, tag: &str) -> bool {
        let known = self.headers.get_all(header::IF_NONE_MATCH).iter();
        let mut tags = known.filter_map(|value| value.to_str().ok()).flat_map(|all| all.split(','));
        tags.any(|known| {
            let known = known.trim();
            known == "*" || known.strip_prefix("W/").unwrap_or(known) == tag
        })
    }
}

fn too_large(most: usize) -> Problem {
    let detail = format!("the body is longer than {most} bytes: send it in parts, or as lines");
    Problem::new(Code::TooLarge, detail)
}

/// The least that a body brings in a second, beyond the time that a pause may take: who sends a byte
/// now and then only keeps a turn from others.
const BYTES_LEAST: f64 = 64.0;

/// A body in pieces.
pub(crate) struct Pieces {
    stream: BodyDataStream,
    patience: Duration,
    since: Instant,
    bytes: u64,
}

impl Pieces {
    /// The next piece.
    pub(crate) async fn next(&mut self) -> Result<Option<Bytes>, Problem> {
        match tokio::time::timeout(self.patience, self.stream.next()).await {
            Ok(None) => Ok(None),
            Ok(Some(Ok(piece))) => {
                self.bytes += piece.len() as u64;
                if self.is_a_trickle() {
                    let detail = "the body comes too slowly: send what there is, then more";
                    return Err(Problem::new(Code::SlowClient, detail));
                }
                Ok(Some(piece))
            }
            Ok(Some(Err(error))) => {
                Err(Problem::new(Code::BadJson, format!("the body broke off: {error}")))
            }
            Err(_) => Err(Problem::new(Code::SlowClient, "the body paused for too long")),
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "streams are far shorter than 2^52 bytes")]
    fn is_a_trickle(&self) -> bool {
        let beyond = self.since.elapsed().saturating_sub(self.patience).as_secs_f64();
        (self.bytes as f64) < beyond * BYTES_LEAST
    }
}

/// An answer as JSON.
pub(crate) fn json(status: StatusCode, value: &impl Serialize) -> Answer {
    Ok(in_json(status, bytes_of(value)?))
}

fn bytes_of(value: &impl Serialize) -> Result<Vec<u8>, Problem> {
    serde_json::to_vec(value).map_err(|error| {
        tracing::error!(target: "haversack", %error, "an answer cannot be written");
        Problem::new(Code::Internal, "the answer cannot be written")
    })
}

fn in_json(status: StatusCode, body: Vec<u8>) -> Response {
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = status;
    let media_type = HeaderValue::from_static("application/json");
    response.headers_mut().insert(header::CONTENT_TYPE, media_type);
    response
}

/// An answer as JSON that a client may have already. Its tag follows from its bytes and from who asks,
/// so it changes with what they are shown and with nothing else.
pub(crate) fn tagged(call: &Call, value: &impl Serialize) -> Answer {
    let body = bytes_of(value)?;
    let viewer = call.viewer().ok();
    let mut hasher = blake3::Hasher::new();
    hasher.update(format!("{viewer:?}\n").as_bytes()).update(&body);
    let tag = format!("\"{}\"", &hasher.finalize().to_hex()[..32]);
    let mut response = if call.has(&tag) {
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

/// An answer without a body.
pub(crate) fn nothing() -> Answer {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::NO_CONTENT;
    Ok(response)
}

/// For whom the headers say that a request is made. Names are percent-encoded where they hold more
/// than plain ASCII, or a comma.
pub(crate) fn asserted(headers: &HeaderMap) -> Result<Asserted, Problem> {
    let text = |name: &'static str| -> Result<Option<&str>, Problem> {
        let Some(value) = headers.get(name) else { return Ok(None) };
        match value.to_str().map(str::trim) {
            Ok("") => {
                // An application that forgot who asks must not get what nobody in particular, or
                // everybody, would.
                Err(Problem::invalid(name, "is empty: say who asks, or leave it out"))
            }
            Ok(text) => Ok(Some(text)),
            Err(_) => Err(Problem::invalid(name, "is not ASCII: percent-encode it")),
        }
    };
    let user = text("haversack-user")?;
    let user = user.map(|user| percent_decoded("haversack-user", user)).transpose()?;
    let groups: Result<BTreeSet<String>, Problem> = text("haversack-groups")?
        .unwrap_or_default()
        .split(',')
        .map(str::trim)
        .filter(|group| !group.is_empty())
        .map(|group| percent_decoded("haversack-groups", group))
        .collect();
    Ok(Asserted { user, groups: groups? })
}

/// A percent-encoded text.
pub(crate) fn percent_decoded(field: &str, text: &str) -> Result<String, Problem> {
    let wrong = || Problem::invalid(field, format!("{text:?} is not percent-encoded UTF-8"));
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let digit = |byte: Option<u8>| char::from(byte?).to_digit(16);
        let (high, low) = (digit(rest.next()), digit(rest.next()));
        let (high, low) = high.zip(low).ok_or_else(wrong)?;
        bytes.push(u8::try_from(high * 16 + low).map_err(|_| wrong())?);
    }
    String::from_utf8(bytes).map_err(|_| wrong())
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use futures_util::stream::unfold;

    use super::*;

    /// A byte every twenty seconds pauses for less than is allowed, and is still too little.
    #[tokio::test(start_paused = true)]
    async fn a_body_that_trickles_is_not_waited_for() {
        let drops = unfold((), |()| async {
            tokio::time::sleep(Duration::from_secs(20)).await;
            Some((Ok::<_, Infallible>(Bytes::from_static(b"x")), ()))
        });
        let (patience, since) = (Duration::from_secs(30), Instant::now());
        let stream = Body::from_stream(drops).into_data_stream();
        let mut pieces = Pieces { stream, patience, since, bytes: 0 };
        assert!(pieces.next().await.unwrap().is_some(), "a slow start is no trickle");
        let problem = pieces.next().await.unwrap_err();
        assert_eq!((problem.code, since.elapsed().as_secs()), (Code::SlowClient, 40));
    }
}
