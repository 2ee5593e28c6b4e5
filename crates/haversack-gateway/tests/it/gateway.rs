//! The gateway in front of a small real server: as a process, and over HTTP in both revisions.

#[expect(dead_code, reason = "the program's own beginning is not called here")]
#[path = "../../examples/wrapped.rs"]
mod wrapped;

use std::path::PathBuf;
use std::sync::Arc;

use haversack::Engine;
use haversack_eval::samples::{NOW, Sample};
use haversack_gateway::{Gateway, GatewayError, GatewaySettings, WrappedServer};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, ReadHalf, WriteHalf};

/// The example beside the tests.
fn program() -> WrappedServer {
    let mut path: PathBuf = std::env::current_exe().unwrap();
    path.pop();
    path.pop();
    path.push("examples");
    path.push(format!("wrapped{}", std::env::consts::EXE_SUFFIX));
    assert!(path.exists(), "{} is built with the tests", path.display());
    WrappedServer::Command(vec![path.display().to_string()])
}

/// A data folder with the sample of situations.
fn folder() -> (TempDir, Engine) {
    let folder = tempfile::tempdir().unwrap();
    let engine = Engine::builder().clock(|| NOW).open(folder.path()).unwrap();
    let workspace = engine.workspace("situation").unwrap();
    Sample::named("situation").unwrap().load(&**workspace.blocking_store()).unwrap();
    (folder, engine)
}

/// A client of a gateway.
struct GatewayClient {
    output: BufReader<ReadHalf<DuplexStream>>,
    input: WriteHalf<DuplexStream>,
    gateway: tokio::task::JoinHandle<Result<(), GatewayError>>,
    _folder: TempDir,
}

impl GatewayClient {
    fn start(settings: &str, wrapped: WrappedServer) -> GatewayClient {
        let (folder, engine) = folder();
        let settings: GatewaySettings = toml::from_str(settings).unwrap();
        let gateway = Gateway::new(settings, || Ok(engine), "situation", Some(wrapped)).unwrap();
        let (ours, theirs) = tokio::io::duplex(1 << 20);
        let (input, output) = tokio::io::split(theirs);
        let gateway = tokio::spawn(gateway.run(input, output));
        let (output, input) = tokio::io::split(ours);
        GatewayClient { output: BufReader::new(output), input, gateway, _folder: folder }
    }

    async fn send(&mut self, message: &Value) {
        self.input.write_all(format!("{message}\n").as_bytes()).await.unwrap();
    }

    async fn next(&mut self) -> Value {
        let mut line = String::new();
        self.output.read_line(&mut line).await.unwrap();
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line:?}"))
    }

    async fn ask(&mut self, message: Value) -> Value {
        self.send(&message).await;
        let answer = self.next().await;
        assert_eq!(answer["id"], message["id"], "{answer}");
        answer
    }

    /// Shakes hands as the older revisions do.
    async fn shake_hands(&mut self) -> Value {
        let hello = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
            "protocolVersion": "2025-06-18", "capabilities": {},
            "clientInfo": { "name": "test", "version": "1" } } });
        let answer = self.ask(hello).await;
        self.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })).await;
        answer
    }

    async fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let params = json!({ "name": tool, "arguments": arguments });
        self.ask(json!({ "jsonrpc": "2.0", "id": 9, "method": "tools/call", "params": params }))
            .await
    }

    /// Ends the session; the gateway ends with it.
    async fn end(mut self) {
        self.input.shutdown().await.unwrap();
        self.gateway.await.unwrap().unwrap();
    }
}

/// The arguments that a tool of the wrapped server received.
fn arguments_received(answer: &Value) -> Value {
    let text = answer["result"]["content"][0]["text"].as_str();
    serde_json::from_str(text.unwrap_or_else(|| panic!("{answer}"))).unwrap()
}

const SETTINGS: &str = "[context]\ncontext = \"task/refund-backfill\"\nbudget = 1000\n";

fn arguments() -> Value {
    json!({ "environment": "production", "statement": "update refunds set state = 'approved'" })
}

#[tokio::test(flavor = "multi_thread")]
async fn each_call_brings_its_context_and_says_what_it_was_s7() {
    let mut client = GatewayClient::start(SETTINGS, program());
    client.shake_hands().await;
    let answer = client.call("open", arguments()).await;
    let given = arguments_received(&answer);
    assert_eq!(given["statement"], arguments()["statement"], "its own arguments are there");
    let context = given["_context"]["context"].as_str().unwrap();
    assert!(context.contains("refund"), "{context}");
    let used = &answer["result"]["_meta"]["contextUsed"];
    assert_eq!((&used["given"], &used["recipe"]), (&json!(true), &json!("situation")));
    assert_eq!(used["receipt"], given["_context"]["receipt"]);
    assert_eq!(used["items"], given["_context"]["items"]);
    let items = used["items"].as_array().unwrap();
    assert!(items.contains(&json!("task/refund-backfill")), "{used}");
    // What a rule over the call's own arguments brings in.
    assert!(items.contains(&json!("helpers/production-access")), "{used}");
    let tokens = used["tokens"].as_u64().unwrap();
    assert!((1..=1000).contains(&tokens), "{tokens}");
    let text = client.call("text", json!({})).await;
    assert!(arguments_received(&text)["_context"].is_string(), "as its schema has it");
    client.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn everything_else_passes_untouched_s7() {
    let settings = format!("{SETTINGS}[tools.open]\ngive = \"never\"\n");
    let mut client = GatewayClient::start(&settings, program());
    let hello = client.shake_hands().await;
    assert_eq!(hello["result"]["instructions"], "Only for trying.");
    let list = client.ask(json!({ "jsonrpc": "2.0", "id": "l", "method": "tools/list" })).await;
    let names: Vec<&str> = list["result"]["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| tool["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["open", "closed", "text", "broken", "wrong"]);
    assert!(!list.to_string().contains("contextUsed"));
    let never = client.call("open", json!({ "a": 1 })).await;
    assert_eq!(arguments_received(&never), json!({ "a": 1 }));
    assert!(never["result"].get("_meta").is_none(), "{never}");
    let closed = client.call("closed", json!({ "a": 1 })).await;
    assert_eq!(arguments_received(&closed), json!({ "a": 1 }), "its schema takes nothing more");
    assert_eq!(closed["result"]["_meta"]["contextUsed"]["given"], false);
    let broken = client.call("broken", json!({})).await;
    let expected =
        json!({ "code": -32050, "message": "it is broken", "data": { "hint": "on purpose" } });
    assert_eq!(broken["error"], expected);
    let wrong = client.call("wrong", json!({})).await;
    assert_eq!(wrong["result"]["isError"], true);
    let own = client.call("text", json!({ "_context": "mine" })).await;
    assert_eq!(
        arguments_received(&own),
        json!({ "_context": "mine" }),
        "what the call brought stays"
    );
    assert_eq!(own["result"]["_meta"]["contextUsed"]["given"], false);
    let none = client.call("none", json!({})).await;
    assert_eq!(none["error"]["code"], -32602, "the server's own error: {none}");
    client.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_without_context_goes_through_and_says_why_s7() {
    let mut client = GatewayClient::start("[context]\nrecipe = \"none\"\n", program());
    client.shake_hands().await;
    let answer = client.call("open", json!({ "a": 1 })).await;
    assert_eq!(arguments_received(&answer), json!({ "a": 1 }));
    let used = &answer["result"]["_meta"]["contextUsed"];
    assert_eq!(used["given"], false);
    assert!(used["reason"].as_str().unwrap().contains("none"), "{used}");
    client.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_newer_era_passes_through_as_well_s7() {
    let mut client = GatewayClient::start(SETTINGS, program());
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let params = json!({ "name": "open", "arguments": arguments(), "_meta": meta });
    let message = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
    let answer = client.ask(message).await;
    assert_eq!(answer["result"]["_meta"]["contextUsed"]["given"], true, "{answer}");
    assert_eq!(answer["result"]["resultType"], "complete");
    client.end().await;
}

/// The wrapped server over HTTP; with sessions and events, as older servers have them, or without.
async fn over_http(sessions: bool) -> WrappedServer {
    let config = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(sessions)
        .with_json_response(!sessions);
    let manager = Arc::new(LocalSessionManager::default());
    let service = StreamableHttpService::new(|| Ok(wrapped::EchoServer), manager, config);
    let router = axum::Router::new().route_service("/mcp", service);
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            let service = hyper_util::service::TowerToHyperService::new(router.clone());
            let io = hyper_util::rt::TokioIo::new(stream);
            tokio::spawn(hyper::server::conn::http1::Builder::new().serve_connection(io, service));
        }
    });
    WrappedServer::Url(format!("http://{address}/mcp"))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_over_http_is_wrapped_the_same_way_s7() {
    for sessions in [true, false] {
        let mut client = GatewayClient::start(SETTINGS, over_http(sessions).await);
        let hello = client.shake_hands().await;
        assert_eq!(hello["result"]["protocolVersion"], "2025-06-18", "{hello}");
        let answer = client.call("open", arguments()).await;
        assert_eq!(answer["result"]["_meta"]["contextUsed"]["given"], true, "{answer}");
        let broken = client.call("broken", json!({})).await;
        assert_eq!(broken["error"]["code"], -32050, "{broken}");
        client.end().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_not_there_is_an_error_and_not_a_silence_s7() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let mut client =
        GatewayClient::start(SETTINGS, WrappedServer::Url(format!("http://{address}/mcp")));
    let answer = client.ask(json!({ "jsonrpc": "2.0", "id": 3, "method": "ping" })).await;
    assert_eq!(answer["error"]["code"], -32603, "{answer}");
    client.end().await;
    let missing = WrappedServer::Command(vec!["/no/such/program".into()]);
    let client = GatewayClient::start(SETTINGS, missing);
    let error = client.gateway.await.unwrap().unwrap_err().to_string();
    assert_eq!(error, "cannot start \"/no/such/program\"");
    let (_folder, engine) = folder();
    let file = WrappedServer::Url("file:///etc/passwd".into());
    let refused = Gateway::new(GatewaySettings::default(), || Ok(engine), "situation", Some(file));
    assert!(refused.unwrap_err().to_string().contains("only http and https"));
}

/// A secret goes by https or stays on this machine, whichever server it is for.
#[test]
fn secrets_are_not_sent_in_the_clear_s7() {
    let check = |settings: &str, wrapped: Option<&str>, expected: &str| {
        let (_folder, engine) = folder();
        let settings: GatewaySettings = toml::from_str(settings).unwrap();
        let wrapped = wrapped.map(|url| WrappedServer::Url(url.to_owned()));
        let made = Gateway::new(settings, || Ok(engine), "situation", wrapped);
        let message = made.map_or_else(|error| error.to_string(), |_| String::new());
        assert!(
            message.contains(expected) && message.is_empty() == expected.is_empty(),
            "{message}"
        );
    };
    let plain = "http://tools.example/mcp";
    // A variable that is always set stands for the secret.
    let with_token = "[server]\nbearer_env = \"PATH\"\n";
    check("", Some(plain), "");
    check(with_token, Some(plain), "use https");
    check(&format!("{with_token}url = \"{plain}\"\n"), None, "use https");
    check(with_token, Some("http://127.0.0.1:1/mcp"), "");
    check(with_token, Some("https://tools.example/mcp"), "");
    let server = "[context]\nserver = \"http://haversack.example\"\n";
    check(server, Some(plain), "");
    check(&format!("{server}key_env = \"PATH\"\n"), Some(plain), "use https");
}

/// With a Haversack server the gateway needs no data folder.
#[tokio::test(flavor = "multi_thread")]
async fn context_can_come_from_a_server_s7() {
    let (data, engine) = folder();
    let mut config = haversack_serve::Config::default();
    config.server.listen = ([127, 0, 0, 1], 0).into();
    let server = haversack_serve::Server::bind(engine, data.path(), config, false).await.unwrap();
    let address = server.address().unwrap();
    tokio::spawn(server.run(std::future::pending()));
    let settings = format!("{SETTINGS}server = \"http://{}\"\n", address);
    let mut client = GatewayClient::start(&settings, program());
    client.shake_hands().await;
    let answer = client.call("open", arguments()).await;
    let used = &answer["result"]["_meta"]["contextUsed"];
    assert_eq!(used["given"], true, "{answer}");
    assert!(used["items"].as_array().unwrap().contains(&json!("task/refund-backfill")), "{used}");
    client.end().await;
}
