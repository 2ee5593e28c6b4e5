//! The middle of the gateway: which messages pass as they are, which are touched, and how.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use serde_json::{Map, Value, json};
use tokio::io::AsyncRead;
use tokio::sync::{mpsc, oneshot};
use tokio::task::{AbortHandle, JoinSet};

use super::GatewayError;
use super::assembler::{Assembler, Given, Wanted};
use super::known::{ARGUMENT, Known, Takes};
use super::lines::Reader;
use super::settings::{Give, Settings};
use crate::config::seconds;

/// Where a result says what was given.
const USED: &str = "contextUsed";

/// What the ids of the gateway's own requests begin with.
const OWN: &str = "haversack-gateway-";

/// Most pages of a list of tools that are read.
const PAGES_MAX: usize = 100;

/// Keys of `_meta` that belong to the protocol and are repeated in the gateway's own requests.
const PROTOCOL: &str = "io.modelcontextprotocol/";

/// A message on its way to the wrapped server.
#[derive(Debug)]
pub(super) struct Outgoing {
    /// As it is sent.
    pub(super) text: String,
    /// What it says.
    pub(super) message: Value,
}

/// What is done with the answer to a request.
#[derive(Debug)]
enum Pending {
    /// The tools in it are learned.
    List,
    /// What was given is added to it.
    Call(Value),
    /// It is the gateway's own.
    Own(oneshot::Sender<Map<String, Value>>),
}

/// The middle of a gateway.
#[derive(Debug)]
pub(super) struct Relay {
    settings: Settings,
    assembler: Assembler,
    /// Nothing once the client has said all.
    to_server: Mutex<Option<mpsc::Sender<Outgoing>>>,
    to_client: mpsc::Sender<String>,
    known: Mutex<Known>,
    pending: Mutex<BTreeMap<String, Pending>>,
    /// Calls whose context is being assembled.
    assembling: Mutex<BTreeMap<String, AbortHandle>>,
    count: AtomicU64,
}

fn held<T>(lock: &Mutex<T>) -> MutexGuard<'_, T> {
    lock.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Hands on what the client says, until it says no more and all of it is handed on.
pub(super) async fn questions(
    relay: Arc<Relay>,
    mut reader: Reader<impl AsyncRead + Unpin>,
) -> Result<(), GatewayError> {
    let mut calls = JoinSet::new();
    while let Some(line) = reader.next().await? {
        let Ok(message) = serde_json::from_str::<Value>(&line) else {
            let error = json!({ "code": -32700, "message": "the line is not JSON" });
            relay.tell(json!({ "jsonrpc": "2.0", "id": null, "error": error }).to_string()).await;
            continue;
        };
        let id = id_of(&message);
        let method = message.get("method").and_then(Value::as_str).unwrap_or_default();
        match (method, id) {
            ("tools/call", Some(id)) if relay.touches(&message) => {
                // It takes itself out, which it cannot before it is in.
                let mut assembling = held(&relay.assembling);
                let (relay, own) = (Arc::clone(&relay), id.clone());
                assembling.insert(id, calls.spawn(async move { relay.call(own, message).await }));
            }
            ("tools/list", Some(id)) => {
                held(&relay.pending).insert(id, Pending::List);
                relay.ask(Outgoing { text: line, message }).await;
            }
            ("notifications/cancelled", _) if relay.cancelled(&message) => {}
            _ => relay.ask(Outgoing { text: line, message }).await,
        }
        // Calls that are handed on need not be remembered.
        while calls.try_join_next().is_some() {}
    }
    while calls.join_next().await.is_some() {}
    // The server hears that this was all.
    held(&relay.to_server).take();
    Ok(())
}

/// Hands back what the wrapped server says, until it says no more.
pub(super) async fn answers(relay: Arc<Relay>, mut said: mpsc::Receiver<String>) {
    while let Some(line) = said.recv().await {
        if let Some(line) = relay.answered(line) {
            relay.tell(line).await;
        }
    }
}

/// A request's id as a key: 1 and "1" are two.
fn id_of(message: &Value) -> Option<String> {
    message.get("id").filter(|id| !id.is_null()).map(Value::to_string)
}

impl Relay {
    pub(super) fn new(
        settings: Settings,
        assembler: Assembler,
        to_server: mpsc::Sender<Outgoing>,
        to_client: mpsc::Sender<String>,
    ) -> Relay {
        Relay {
            settings,
            assembler,
            to_server: Mutex::new(Some(to_server)),
            to_client,
            known: Mutex::default(),
            pending: Mutex::default(),
            assembling: Mutex::default(),
            count: AtomicU64::new(0),
        }
    }

    /// When the server is gone, that is what the gateway ends with; so nothing is done here.
    async fn ask(&self, message: Outgoing) {
        let to_server = held(&self.to_server).clone();
        if let Some(to_server) = to_server {
            let _ = to_server.send(message).await;
        }
    }

    async fn tell(&self, line: String) {
        let _ = self.to_client.send(line).await;
    }

    /// Whether a call of a tool is to be given context.
    fn touches(&self, message: &Value) -> bool {
        let tool = message.pointer("/params/name").and_then(Value::as_str);
        tool.is_some_and(|tool| self.settings.rule(tool).give != Give::Never)
    }

    /// Whether what is cancelled was still here: then the server need not hear of it.
    fn cancelled(&self, message: &Value) -> bool {
        let Some(id) = message.pointer("/params/requestId").map(Value::to_string) else {
            return false;
        };
        held(&self.pending).remove(&id);
        let task = held(&self.assembling).remove(&id);
        task.is_some_and(|task| {
            task.abort();
            true
        })
    }

    /// Hands on a call with its context, or without it and the reason.
    async fn call(&self, id: String, mut message: Value) {
        let started = Instant::now();
        let used = match self.given(&message).await {
            Ok((takes, given)) => {
                let context = match takes {
                    Takes::Text => json!(given.text),
                    Takes::Object | Takes::Nothing => given.argument(),
                };
                match put(&mut message, context) {
                    Ok(()) => given.used(),
                    Err(reason) => json!({ "given": false, "reason": reason }),
                }
            }
            Err(reason) => json!({ "given": false, "reason": reason }),
        };
        tracing::debug!(
            target: "haversack",
            given = used["given"].as_bool(),
            latencyMs = started.elapsed().as_secs_f64() * 1_000.0,
            "gateway"
        );
        held(&self.pending).insert(id.clone(), Pending::Call(used));
        held(&self.assembling).remove(&id);
        self.ask(Outgoing { text: message.to_string(), message }).await;
    }

    /// What a call is given, and in which form.
    async fn given(&self, message: &Value) -> Result<(Takes, Given), String> {
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
            let takes = match (rule.give, self.takes(tool, params).await) {
                (Give::Always, takes) => takes.unwrap_or(Takes::Object),
                (_, Some(Takes::Nothing)) => {
                    return Err(format!("the tool's schema takes no {ARGUMENT}"));
                }
                (_, Some(takes)) => takes,
                (_, None) => return Err("the server does not list this tool".to_owned()),
            };
            let wanted = Wanted { tool, arguments, rule, context: &self.settings.context };
            Ok((takes, self.assembler.assemble(wanted).await?))
        };
        match tokio::time::timeout(seconds(deadline), work).await {
            Ok(given) => given,
            Err(_) => Err(format!("no context within {deadline} s")),
        }
    }

    /// In which form a tool takes context; the server is asked for its list if need be.
    async fn takes(&self, tool: &str, params: &Value) -> Option<Takes> {
        if let Some(takes) = held(&self.known).takes(tool) {
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
            let result = self.listed(params).await?;
            held(&self.known).learn(&result);
            if let Some(takes) = held(&self.known).takes(tool) {
                return Some(takes);
            }
            cursor = Some(result.get("nextCursor").filter(|next| next.is_string())?.clone());
        }
        None
    }

    /// A page of the server's list of tools, asked for by the gateway itself.
    async fn listed(&self, params: Map<String, Value>) -> Option<Map<String, Value>> {
        let id = json!(format!("{OWN}{}", self.count.fetch_add(1, Ordering::Relaxed)));
        let (sender, answer) = oneshot::channel();
        held(&self.pending).insert(id.to_string(), Pending::Own(sender));
        let mut message = json!({ "jsonrpc": "2.0", "id": id, "method": "tools/list" });
        if !params.is_empty() {
            message["params"] = Value::Object(params);
        }
        self.ask(Outgoing { text: message.to_string(), message }).await;
        answer.await.ok()
    }

    /// What the client is told of a message of the server: most often, that message.
    fn answered(&self, line: String) -> Option<String> {
        let Ok(mut message) = serde_json::from_str::<Value>(&line) else { return Some(line) };
        if let Some(method) = message.get("method") {
            if method == "notifications/tools/list_changed" {
                held(&self.known).forget();
            }
            return Some(line);
        }
        let pending = id_of(&message).and_then(|id| held(&self.pending).remove(&id));
        let result = message.get_mut("result").and_then(Value::as_object_mut);
        match (pending, result) {
            (Some(Pending::Own(sender)), result) => {
                // Whoever asked may have run out of time. An error is a list without tools.
                let _ = sender.send(result.map(std::mem::take).unwrap_or_default());
                None
            }
            (Some(Pending::List), Some(result)) => {
                held(&self.known).learn(result);
                Some(line)
            }
            (Some(Pending::Call(used)), Some(result)) => {
                let meta = result.entry("_meta").or_insert_with(|| Value::Object(Map::new()));
                match meta {
                    Value::Object(meta) => {
                        meta.insert(USED.to_owned(), used);
                        Some(message.to_string())
                    }
                    // Not as the protocol has it: then it is the server's own affair.
                    _ => Some(line),
                }
            }
            _ => Some(line),
        }
    }
}

/// Puts context among a call's arguments.
fn put(message: &mut Value, context: Value) -> Result<(), &'static str> {
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
