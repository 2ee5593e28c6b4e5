//! The relay between client and server: which messages pass unchanged, which get context, and how.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use serde_json::{Map, Value, json};
use tokio::io::AsyncRead;
use tokio::sync::{mpsc, oneshot};
use tokio::task::{AbortHandle, JoinSet};

use haversack_serve::config::seconds;

use crate::GatewayError;
use crate::assembler::{Assembler, ToolCall, ToolContext};
use crate::lines::LineReader;
use crate::settings::{GatewaySettings, GiveContext};
use crate::tools::{ARGUMENT, ContextForm, ListedTools};

/// The key in a result's `_meta` that reports the context.
const REPORT: &str = "contextUsed";

/// Prefix of the ids of the gateway's own requests.
const ID_PREFIX: &str = "haversack-gateway-";

/// Most pages of a list of tools that are read.
const PAGES_MAX: usize = 100;

/// Prefix of the `_meta` keys of the protocol, which the gateway copies to its own requests.
const PROTOCOL: &str = "io.modelcontextprotocol/";

/// A message on its way to the wrapped server.
#[derive(Debug)]
pub(crate) struct OutgoingMessage {
    /// The bytes to send.
    pub(crate) text: String,
    /// The same, parsed.
    pub(crate) message: Value,
}

/// What to do with the reply to a request.
#[derive(Debug)]
enum PendingReply {
    /// Read the listed tools.
    List,
    /// Add the report on the context.
    Call(Value),
    /// Hand it to the gateway, which sent the request.
    Own(oneshot::Sender<Map<String, Value>>),
}

/// The state that both directions share.
#[derive(Debug)]
pub(crate) struct Relay {
    settings: GatewaySettings,
    assembler: Assembler,
    /// `None` after the client closed its input.
    to_server: Mutex<Option<mpsc::Sender<OutgoingMessage>>>,
    to_client: mpsc::Sender<String>,
    tools: Mutex<ListedTools>,
    pending: Mutex<BTreeMap<String, PendingReply>>,
    /// Calls in flight whose context is being assembled.
    assembling: Mutex<BTreeMap<String, AbortHandle>>,
    count: AtomicU64,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Relays the client's messages to the server until the client closes its input.
pub(crate) async fn relay_requests(
    relay: Arc<Relay>,
    mut reader: LineReader<impl AsyncRead + Unpin>,
) -> Result<(), GatewayError> {
    let mut calls = JoinSet::new();
    while let Some(line) = reader.next().await? {
        let Ok(message) = serde_json::from_str::<Value>(&line) else {
            let error = json!({ "code": -32700, "message": "the line is not JSON" });
            relay
                .send_to_client(json!({ "jsonrpc": "2.0", "id": null, "error": error }).to_string())
                .await;
            continue;
        };
        let id = id_of(&message);
        let method = message.get("method").and_then(Value::as_str).unwrap_or_default();
        match (method, id) {
            ("tools/call", Some(id)) if relay.adds_context_to(&message) => {
                // The lock is held until the task is in the map, because the task removes itself.
                let mut assembling = lock(&relay.assembling);
                let (relay, key) = (Arc::clone(&relay), id.clone());
                assembling.insert(
                    id,
                    calls.spawn(async move { relay.send_with_context(key, message).await }),
                );
            }
            ("tools/list", Some(id)) => {
                lock(&relay.pending).insert(id, PendingReply::List);
                relay.send_to_server(OutgoingMessage { text: line, message }).await;
            }
            ("notifications/cancelled", _) if relay.cancel(&message) => {}
            _ => relay.send_to_server(OutgoingMessage { text: line, message }).await,
        }
        // Forget finished calls.
        while calls.try_join_next().is_some() {}
    }
    while calls.join_next().await.is_some() {}
    // Dropping the sender closes the server's input.
    lock(&relay.to_server).take();
    Ok(())
}

/// Relays the server's messages to the client until the server closes its output.
pub(crate) async fn relay_replies(relay: Arc<Relay>, mut replies: mpsc::Receiver<String>) {
    while let Some(line) = replies.recv().await {
        if let Some(line) = relay.process_reply(line) {
            relay.send_to_client(line).await;
        }
    }
}

/// A request's id as a key; 1 and "1" differ.
fn id_of(message: &Value) -> Option<String> {
    message.get("id").filter(|id| !id.is_null()).map(Value::to_string)
}

impl Relay {
    pub(crate) fn new(
        settings: GatewaySettings,
        assembler: Assembler,
        to_server: mpsc::Sender<OutgoingMessage>,
        to_client: mpsc::Sender<String>,
    ) -> Relay {
        Relay {
            settings,
            assembler,
            to_server: Mutex::new(Some(to_server)),
            to_client,
            tools: Mutex::default(),
            pending: Mutex::default(),
            assembling: Mutex::default(),
            count: AtomicU64::new(0),
        }
    }

    /// Ignores a server that is gone: the gateway ends with that error anyway.
    async fn send_to_server(&self, message: OutgoingMessage) {
        let to_server = lock(&self.to_server).clone();
        if let Some(to_server) = to_server {
            let _ = to_server.send(message).await;
        }
    }

    async fn send_to_client(&self, line: String) {
        let _ = self.to_client.send(line).await;
    }

    /// Whether a tool call is to get context.
    fn adds_context_to(&self, message: &Value) -> bool {
        let tool = message.pointer("/params/name").and_then(Value::as_str);
        tool.is_some_and(|tool| self.settings.rule(tool).give != GiveContext::Never)
    }

    /// Cancels a call. Returns whether it had not been sent yet, so that the server need not know.
    fn cancel(&self, message: &Value) -> bool {
        let Some(id) = message.pointer("/params/requestId").map(Value::to_string) else {
            return false;
        };
        lock(&self.pending).remove(&id);
        let task = lock(&self.assembling).remove(&id);
        task.is_some_and(|task| {
            task.abort();
            true
        })
    }

    /// Sends a call with its context, or without it and with the reason.
    async fn send_with_context(&self, id: String, mut message: Value) {
        let started = Instant::now();
        let report = match self.context_for(&message).await {
            Ok((form, context)) => {
                let argument = match form {
                    ContextForm::Text => json!(context.text),
                    ContextForm::Object | ContextForm::Nothing => context.to_argument(),
                };
                match add_argument(&mut message, argument) {
                    Ok(()) => context.to_report(),
                    Err(reason) => json!({ "given": false, "reason": reason }),
                }
            }
            Err(reason) => json!({ "given": false, "reason": reason }),
        };
        tracing::debug!(
            target: "haversack",
            given = report["given"].as_bool(),
            latencyMs = started.elapsed().as_secs_f64() * 1_000.0,
            "gateway"
        );
        lock(&self.pending).insert(id.clone(), PendingReply::Call(report));
        lock(&self.assembling).remove(&id);
        self.send_to_server(OutgoingMessage { text: message.to_string(), message }).await;
    }

    /// Assembles the context for a call, and says in which form the tool takes it.
    async fn context_for(&self, message: &Value) -> Result<(ContextForm, ToolContext), String> {
        let deadline = self.settings.context.deadline_seconds;
        let work = async {
            let params = &message["params"];
            let tool = params["name"].as_str().unwrap_or_default();
            let none = Map::new();
            let arguments = match params.get("arguments") {
                None | Some(Value::Null) => &none,
                Some(Value::Object(arguments)) => arguments,
                Some(_) => return Err("the call's arguments are not an object".to_owned()),
            };
            if arguments.contains_key(ARGUMENT) {
                return Err(format!("the call brought its own {ARGUMENT}"));
            }
            let rule = self.settings.rule(tool);
            let takes = match (rule.give, self.context_form(tool, params).await) {
                (GiveContext::Always, takes) => takes.unwrap_or(ContextForm::Object),
                (_, Some(ContextForm::Nothing)) => {
                    return Err(format!("the tool's schema takes no {ARGUMENT}"));
                }
                (_, Some(takes)) => takes,
                (_, None) => return Err("the server does not list this tool".to_owned()),
            };
            let call = ToolCall { tool, arguments, rule, context: &self.settings.context };
            Ok((takes, self.assembler.assemble(call).await?))
        };
        match tokio::time::timeout(seconds(deadline), work).await {
            Ok(context) => context,
            Err(_) => Err(format!("no context within {deadline} s")),
        }
    }

    /// In which form a tool takes context. Asks the server for its list if the tool is not known.
    async fn context_form(&self, tool: &str, params: &Value) -> Option<ContextForm> {
        if let Some(takes) = lock(&self.tools).context_form(tool) {
            return Some(takes);
        }
        let meta: Map<String, Value> = params
            .get("_meta")
            .and_then(Value::as_object)
            .into_iter()
            .flatten()
            .filter(|(name, _)| name.starts_with(PROTOCOL))
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect();
        let mut cursor = None;
        for _ in 0..PAGES_MAX {
            let mut params = Map::new();
            if !meta.is_empty() {
                params.insert("_meta".to_owned(), Value::Object(meta.clone()));
            }
            if let Some(cursor) = cursor {
                params.insert("cursor".to_owned(), cursor);
            }
            let result = self.request_tool_list(params).await?;
            lock(&self.tools).learn(&result);
            if let Some(takes) = lock(&self.tools).context_form(tool) {
                return Some(takes);
            }
            cursor = Some(result.get("nextCursor").filter(|next| next.is_string())?.clone());
        }
        None
    }

    /// Requests a page of the server's tool list.
    async fn request_tool_list(&self, params: Map<String, Value>) -> Option<Map<String, Value>> {
        let id = json!(format!("{ID_PREFIX}{}", self.count.fetch_add(1, Ordering::Relaxed)));
        let (sender, answer) = oneshot::channel();
        lock(&self.pending).insert(id.to_string(), PendingReply::Own(sender));
        let mut message = json!({ "jsonrpc": "2.0", "id": id, "method": "tools/list" });
        if !params.is_empty() {
            message["params"] = Value::Object(params);
        }
        self.send_to_server(OutgoingMessage { text: message.to_string(), message }).await;
        answer.await.ok()
    }

    /// The message that the client gets for a message of the server; usually the same one.
    fn process_reply(&self, line: String) -> Option<String> {
        let Ok(mut message) = serde_json::from_str::<Value>(&line) else { return Some(line) };
        if let Some(method) = message.get("method") {
            if method == "notifications/tools/list_changed" {
                lock(&self.tools).forget();
            }
            return Some(line);
        }
        let pending = id_of(&message).and_then(|id| lock(&self.pending).remove(&id));
        let result = message.get_mut("result").and_then(Value::as_object_mut);
        match (pending, result) {
            (Some(PendingReply::Own(sender)), result) => {
                // The receiver may have timed out. An error counts as a list without tools.
                let _ = sender.send(result.map(std::mem::take).unwrap_or_default());
                None
            }
            (Some(PendingReply::List), Some(result)) => {
                lock(&self.tools).learn(result);
                Some(line)
            }
            (Some(PendingReply::Call(used)), Some(result)) => {
                let meta = result.entry("_meta").or_insert_with(|| Value::Object(Map::new()));
                match meta {
                    Value::Object(meta) => {
                        meta.insert(REPORT.to_owned(), used);
                        Some(message.to_string())
                    }
                    // An invalid `_meta` passes unchanged.
                    _ => Some(line),
                }
            }
            _ => Some(line),
        }
    }
}

/// Adds context to a call's arguments.
fn add_argument(message: &mut Value, context: Value) -> Result<(), &'static str> {
    let params = message.get_mut("params").and_then(Value::as_object_mut);
    let params = params.ok_or("the call has no parameters")?;
    let arguments = params.entry("arguments").or_insert(Value::Null);
    if arguments.is_null() {
        *arguments = Value::Object(Map::new());
    }
    let arguments = arguments.as_object_mut().ok_or("the call's arguments are not an object")?;
    arguments.insert(ARGUMENT.to_owned(), context);
    Ok(())
}
