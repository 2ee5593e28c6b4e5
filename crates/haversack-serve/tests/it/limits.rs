//! What a server bears, and what it says when it is too much.

use std::time::Duration;

use haversack_serve::config::Auth;
use haversack_serve::who::{ActsAs, Grant, KeyScope};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::support::{Running, config, reply};

#[tokio::test(flavor = "multi_thread")]
async fn bodies_have_a_size_a_depth_and_a_type() {
    let mut config = config();
    config.limits.body_bytes = 1_000;
    let running = Running::with(config).await;
    running.engine.workspace("acme").unwrap();
    let path = "/v1/workspaces/acme/search";
    let long = json!({ "query": "x".repeat(2_000) });
    let reply = running.post(path, &long).await;
    assert_eq!((reply.status, reply.code().as_str()), (413, "too_large"));
    assert!(reply.text.contains("1000 bytes"), "{}", reply.text);
    let deep = ["[".repeat(400), "]".repeat(400)].concat();
    for (body, status) in [
        (deep.as_bytes(), 400),
        (b"{\"query\": \xff}", 400),
        (b"{\"query\": 1e400}", 400),
        (b"{\"query\": \"a\", \"query\": \"b\"}", 400),
        (b"", 400),
    ] {
        let ask = running.ask("POST", path).header("content-type", "application/json").body(body);
        let reply = ask.send().await;
        assert_eq!(reply.status, status, "{:?}: {}", String::from_utf8_lossy(body), reply.text);
    }
    let ask = running.ask("POST", path).header("content-type", "text/xml").body(b"<a/>");
    assert_eq!(ask.send().await.code(), "unsupported_media_type");
    running.stop().await;
}

/// A key of JSON that is there twice is refused in bodies, lines and calls of MCP.
#[tokio::test(flavor = "multi_thread")]
async fn a_key_that_is_there_twice_is_refused() {
    let running = Running::start().await;
    running.engine.workspace("acme").unwrap();
    let items = "/v1/workspaces/acme/items";
    let twice = r#"{"id":"a","kind":"note","body":"x","fields":{"who":"anna","who":"bob"}}"#;
    let ask = |kind| running.ask("POST", items).header("content-type", kind).body(twice.as_bytes());
    for kind in ["application/json", "application/x-ndjson"] {
        let refused = ask(kind).send().await;
        assert_eq!((refused.status, refused.code().as_str()), (400, "bad_json"), "{kind}");
        assert!(refused.text.contains("is there twice at line 1 column"), "{}", refused.text);
    }
    assert_eq!(running.get("/v1/workspaces/acme/items/a").await.status, 404);
    let call = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","method":"ping"}"#;
    let refused = running.ask("POST", "/mcp").header("content-type", "application/json");
    let refused = refused.body(call.as_bytes()).send().await;
    assert_eq!(refused.status, 400, "{refused:?}");
    assert!(refused.text.contains("is there twice"), "{}", refused.text);
    running.stop().await;
}

/// A workspace that nobody uses is closed after a while, and opened by the next request.
#[tokio::test(flavor = "multi_thread")]
async fn unused_workspaces_are_closed_by_time() {
    let mut config = config();
    config.limits.workspace_idle_seconds = 0.2;
    let running = Running::with(config).await;
    let made = running.post("/v1/workspaces", &json!({ "name": "acme" })).await;
    assert_eq!(made.status, 201);
    let start = std::time::Instant::now();
    while running.engine.n_open() > 0 {
        assert!(start.elapsed() < Duration::from_secs(60), "it stays open");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(running.get("/v1/workspaces/acme").await.status, 200);
    assert_eq!(running.engine.n_open(), 1);
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn excess_requests_are_refused_with_retry_after() {
    let mut config = config();
    config.limits.concurrent = 1;
    config.limits.queue = 0;
    let running = Running::with(config).await;
    running.engine.workspace("acme").unwrap();
    let head = format!(
        "POST /v1/workspaces/acme/search HTTP/1.1\r\nhost: {}\r\ncontent-length: 50\r\n\
         content-type: application/json\r\n\r\n{{",
        running.address
    );
    let (slow, refused) = loop {
        // One request holds the only turn: its body does not end. It is sent again as long as it may
        // have come while another had the turn.
        let mut slow = TcpStream::connect(running.address).await.unwrap();
        slow.write_all(head.as_bytes()).await.unwrap();
        tokio::time::sleep(Duration::from_millis(50)).await;
        let reply = running.get("/v1/workspaces").await;
        if reply.status != 200 {
            break (slow, reply);
        }
    };
    assert_eq!((refused.status, refused.code().as_str()), (503, "overloaded"));
    assert_eq!(refused.header("retry-after"), "1");
    assert_eq!(running.get("/livez").await.status, 200, "health is asked past the queue");
    drop(slow);
    let served = loop {
        let reply = running.get("/v1/workspaces").await;
        if reply.status == 200 {
            break true;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    };
    assert!(served, "a client that went away gives its turn back");
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_has_a_rate() {
    let mut config = config();
    config.limits.rate = 0.01;
    config.limits.burst = 3.0;
    let running = Running::with(config).await;
    for left in [2, 1, 0] {
        let reply = running.get("/v1/workspaces").await;
        assert_eq!((reply.status, reply.header("ratelimit-policy")), (200, "\"key\";q=3;w=300"));
        let state = reply.header("ratelimit");
        assert!(state.starts_with(&format!("\"key\";r={left};t=")), "{state}");
    }
    let refused = running.get("/v1/workspaces").await;
    assert_eq!((refused.status, refused.code().as_str()), (429, "rate_limited"));
    assert!(refused.header("retry-after").parse::<u64>().unwrap() > 1);
    assert!(refused.header("ratelimit").starts_with("\"key\";r=0;t="), "{refused:?}");
    let health = running.get("/healthz").await;
    assert_eq!((health.status, health.header("ratelimit")), (200, ""), "it needs no key");
    running.stop().await;
}

/// Behind a proxy everybody comes from one address: who guesses there is held up, and nobody else.
#[tokio::test(flavor = "multi_thread")]
async fn failed_logins_are_rate_limited_per_address_and_valid_keys_are_not() {
    let mut config = config();
    config.server.auth = Auth::Keys;
    config.limits.denied = 3;
    let running = Running::with(config).await;
    let good = running.key(&KeyScope::ALL, Grant::All, ActsAs::Trusted);
    let ask = || running.ask("GET", "/v1/workspaces");
    for guess in 0..3 {
        assert_eq!(ask().key(&format!("guess-{guess}")).send().await.status, 401);
        assert_eq!(ask().key(&good).send().await.status, 200, "a good key counts as none");
        assert_eq!(ask().send().await.status, 401, "and so does nothing at all");
    }
    for _ in 0..5 {
        let refused = ask().key("guess").send().await;
        assert_eq!((refused.status, refused.code().as_str()), (429, "too_many_denied"));
        // One comes every twenty seconds.
        assert!((1..=20).contains(&refused.header("retry-after").parse::<u64>().unwrap()));
        assert_eq!(ask().key(&good).send().await.status, 200, "a good key is never locked out");
        assert_eq!(ask().send().await.status, 401, "without a credential one is requested");
    }
    let page = running.ask("GET", "/metrics").key(&good).send().await.text;
    for family in ["auth_denied", "limited"] {
        let line = format!("haversack_{family}_total{{reason=\"too_many_denied\"}} 5");
        assert!(page.contains(&line), "{line} in {page}");
    }
    // Who guesses cannot fill the disk.
    assert_eq!(haversack_serve::audit::verify(running.folder.path()).unwrap().lines, 3);
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn slow_clients_are_disconnected() {
    let mut config = config();
    config.limits.head_seconds = 0.2;
    config.limits.body_seconds = 0.2;
    let running = Running::with(config).await;
    running.engine.workspace("acme").unwrap();
    let closed = running.raw(b"GET /livez HTTP/1.1\r\nhost: lo").await;
    assert!(closed.is_empty() || closed.starts_with(b"HTTP/1.1 4"), "the head never ended");
    let head = format!(
        "POST /v1/workspaces/acme/search HTTP/1.1\r\nhost: {}\r\ncontent-length: 50\r\n\
         connection: close\r\ncontent-type: application/json\r\n\r\n{{",
        running.address
    );
    let answered = reply(&running.raw(head.as_bytes()).await);
    assert_eq!((answered.status, answered.code().as_str()), (408, "slow_client"));
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_beyond_the_limit_gets_503() {
    let mut config = config();
    config.limits.connections = 1;
    let running = Running::with(config).await;
    let held = TcpStream::connect(running.address).await.unwrap();
    let reply = loop {
        let mut stream = TcpStream::connect(running.address).await.unwrap();
        let mut read = Vec::new();
        let reading = stream.read_to_end(&mut read);
        if tokio::time::timeout(Duration::from_millis(500), reading).await.is_ok() {
            break read;
        }
    };
    assert!(reply.starts_with(b"HTTP/1.1 503 "), "{:?}", String::from_utf8_lossy(&reply));
    drop(held);
    running.stop().await;
}
