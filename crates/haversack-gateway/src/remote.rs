//! A wrapped server over Streamable HTTP, in any revision: each message is a POST, each reply JSON or
//! an event stream.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::http::{HeaderValue, Response, header};
use bytes::{Bytes, BytesMut};
use haversack_serve::client::{CallError, Client, read_whole};
use haversack_serve::config::seconds;
use http_body_util::BodyExt;
use hyper::body::Incoming;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use crate::GatewayError;
use crate::relay::OutgoingMessage;
use crate::settings::{RemoteSettings, read_secret};

const SESSION: &str = "mcp-session-id";
const VERSION: &str = "mcp-protocol-version";
const VERSION_META: &str = "/params/_meta/io.modelcontextprotocol~1protocolVersion";

/// Requests in flight at once; more wait.
const CONCURRENT_MAX: usize = 64;

/// A server over HTTP.
struct HttpServer {
    client: Client,
    bytes_max: usize,
    timeout: Duration,
    /// The session id and the protocol version, for older revisions.
    session: Mutex<(Option<HeaderValue>, Option<HeaderValue>)>,
}

/// Sends messages to the server and relays its replies until the channel closes.
pub(crate) async fn run(
    url: &str,
    settings: &RemoteSettings,
    bytes_max: usize,
    mut messages: mpsc::Receiver<OutgoingMessage>,
    replies: mpsc::Sender<String>,
) -> Result<(), GatewayError> {
    let token = read_secret("server.bearer_env", settings.bearer_env.as_ref())?;
    let remote = Arc::new(HttpServer {
        client: Client::new(url, token.as_deref())?,
        bytes_max,
        timeout: seconds(settings.timeout_seconds),
        session: Mutex::default(),
    });
    let mut calls = JoinSet::new();
    while let Some(message) = messages.recv().await {
        // Initialization and notifications complete before the next message is sent.
        let first = message.message.get("id").is_none()
            || message.message.get("method").is_some_and(|method| method == "initialize");
        if first {
            remote.exchange(message, &replies).await;
            continue;
        }
        while calls.len() >= CONCURRENT_MAX {
            calls.join_next().await;
        }
        let (remote, replies) = (Arc::clone(&remote), replies.clone());
        calls.spawn(async move { remote.exchange(message, &replies).await });
    }
    while calls.join_next().await.is_some() {}
    Ok(())
}

impl HttpServer {
    /// Sends a message and relays its replies. A request without a reply gets an error.
    async fn exchange(&self, sent: OutgoingMessage, replies: &mpsc::Sender<String>) {
        let id = sent.message.get("id").filter(|_| sent.message.get("method").is_some()).cloned();
        let answered = tokio::time::timeout(self.timeout, self.post(sent, replies)).await;
        let reason = match answered {
            Ok(Ok(true)) => return,
            Ok(Ok(false)) => "the wrapped server gave no answer".to_owned(),
            Ok(Err(error)) => {
                tracing::warn!(target: "haversack", %error, "the wrapped server failed");
                "the wrapped server cannot be reached".to_owned()
            }
            Err(_) => format!("no answer within {} s", self.timeout.as_secs_f64()),
        };
        if let Some(id) = id {
            let error = json!({ "code": -32603, "message": reason });
            let message = json!({ "jsonrpc": "2.0", "id": id, "error": error });
            let _ = replies.send(message.to_string()).await;
        }
    }

    /// Posts a message and relays its replies. Returns whether the last one came.
    async fn post(
        &self,
        sent: OutgoingMessage,
        replies: &mpsc::Sender<String>,
    ) -> Result<bool, CallError> {
        let headers = self.headers(&sent.message)?;
        let to = self.client.address();
        let response = self.client.post(to, headers, Bytes::from(sent.text)).await?;
        let begins = sent.message.get("method").is_some_and(|method| method == "initialize");
        if begins {
            let name = response.headers().get(SESSION).cloned();
            self.session.lock().unwrap_or_else(PoisonError::into_inner).0 = name;
        }
        let media_type = response.headers().get(header::CONTENT_TYPE);
        let media_type = media_type.and_then(|value| value.to_str().ok()).unwrap_or_default();
        let id = sent.message.get("id");
        if media_type.starts_with("text/event-stream") {
            return self.events(response, id, begins, replies).await;
        }
        let status = response.status();
        let body = read_whole(response.into_body(), self.bytes_max).await?;
        let Ok(answer) = serde_json::from_slice::<Value>(&body) else {
            // The reply to a notification has no body.
            let is_good = status.is_success() && id.is_none();
            return if is_good { Ok(true) } else { Err(format!("it answered {status}").into()) };
        };
        if answer.get("jsonrpc").is_none() {
            return Err(format!("it answered {status}").into());
        }
        self.set_version(begins, &answer);
        let _ = replies.send(String::from_utf8_lossy(&body).replace(['\n', '\r'], " ")).await;
        Ok(true)
    }

    /// Relays the events of a stream until the reply comes or the stream ends.
    async fn events(
        &self,
        response: Response<Incoming>,
        id: Option<&Value>,
        begins: bool,
        replies: &mpsc::Sender<String>,
    ) -> Result<bool, CallError> {
        let mut body = response.into_body();
        let mut events = EventParser::default();
        while let Some(frame) = body.frame().await {
            let Ok(piece) = frame?.into_data() else { continue };
            if events.rest.len() + events.data.len() + piece.len() > self.bytes_max {
                return Err("an event is too long".into());
            }
            for message in events.feed(&piece) {
                let Ok(read) = serde_json::from_str::<Value>(&message) else { continue };
                let is_last = read.get("method").is_none() && read.get("id") == id;
                if is_last {
                    self.set_version(begins, &read);
                }
                let _ = replies.send(message).await;
                if is_last {
                    return Ok(true);
                }
            }
        }
        Ok(id.is_none())
    }

    /// Keeps the protocol version that an older server agreed to.
    fn set_version(&self, begins: bool, answer: &Value) {
        let version = answer.pointer("/result/protocolVersion").and_then(Value::as_str);
        if begins && let Some(version) = version {
            let value = HeaderValue::from_str(version).ok();
            self.session.lock().unwrap_or_else(PoisonError::into_inner).1 = value;
        }
    }

    /// The transport's headers, which must agree with the message.
    fn headers(&self, message: &Value) -> Result<Vec<(&'static str, HeaderValue)>, CallError> {
        let both = HeaderValue::from_static("application/json, text/event-stream");
        let mut headers = vec![("accept", both)];
        let (session, version) = {
            let held = self.session.lock().unwrap_or_else(PoisonError::into_inner);
            held.clone()
        };
        let own = message.pointer(VERSION_META).and_then(Value::as_str);
        if let Some(own) = own {
            headers.push((VERSION, HeaderValue::from_str(own)?));
            if let Some(method) = message.get("method").and_then(Value::as_str) {
                headers.push(("mcp-method", HeaderValue::from_str(method)?));
            }
            let name = ["/params/name", "/params/uri"];
            let name = name.iter().find_map(|place| message.pointer(place)?.as_str());
            if let Some(name) = name.and_then(|name| HeaderValue::from_str(name).ok()) {
                headers.push(("mcp-name", name));
            }
            return Ok(headers);
        }
        headers.extend(session.map(|session| (SESSION, session)));
        headers.extend(version.map(|version| (VERSION, version)));
        Ok(headers)
    }
}

/// An incremental parser of an event stream.
#[derive(Debug, Default)]
struct EventParser {
    rest: BytesMut,
    data: String,
}

impl EventParser {
    /// Adds bytes, and returns the data of the events that they complete.
    fn feed(&mut self, piece: &[u8]) -> Vec<String> {
        self.rest.extend_from_slice(piece);
        let mut whole = Vec::new();
        while let Some(end) = self.rest.iter().position(|byte| *byte == b'\n') {
            let line = self.rest.split_to(end + 1);
            let line = String::from_utf8_lossy(line.trim_ascii_end()).into_owned();
            if line.is_empty() {
                if !self.data.is_empty() {
                    whole.push(std::mem::take(&mut self.data));
                }
            } else if let Some(data) = line.strip_prefix("data:") {
                // The lines of one event are one JSON document; a space replaces the line break.
                if !self.data.is_empty() {
                    self.data.push(' ');
                }
                self.data.push_str(data.strip_prefix(' ').unwrap_or(data));
            }
        }
        whole
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_complete_wherever_the_stream_is_split() {
        let stream =
            b": hello\r\nid: 0\r\ndata: \r\n\r\nevent: message\ndata: {\"a\":\ndata: 1}\n\n\
                       data:{\"b\":2}\n\n";
        for size in 1..stream.len() {
            let mut events = EventParser::default();
            let mut all = Vec::new();
            for piece in stream.chunks(size) {
                all.extend(events.feed(piece));
            }
            assert_eq!(all, [r#"{"a": 1}"#, r#"{"b":2}"#], "{size}");
        }
    }
}
