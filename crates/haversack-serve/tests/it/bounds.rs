//! What one caller may take from the others: memory, time and answers that are not read.

use std::io::{Read, Write};
use std::net::TcpStream as BlockingStream;
use std::sync::mpsc::channel;
use std::time::Duration;

use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};

use crate::support::{Running, config, reply};

const SEARCH: &str = "/v1/workspaces/acme/search";

/// A body that would take hundreds of times its length in memory is refused before it is parsed (P5).
#[tokio::test(flavor = "multi_thread")]
async fn json_of_too_many_values_is_refused_before_it_is_parsed_p5() {
    let running = Running::start().await;
    running.engine.workspace("acme").unwrap();
    let bomb = format!("[{}[]]", "[],".repeat(5 << 20));
    let post = |path: &'static str, media_type: &'static str, body: &[u8]| {
        running.ask("POST", path).header("content-type", media_type).body(body).send()
    };
    let (items, json) = ("/v1/workspaces/acme/items", "application/json");
    for (path, media_type) in [(SEARCH, json), (items, json), (items, "application/x-ndjson")] {
        let refused = post(path, media_type, bomb.as_bytes()).await;
        assert_eq!((refused.status, refused.code().as_str()), (413, "too_large"), "{path}");
        assert!(refused.text.contains("more than 500000 values"), "{}", refused.text);
    }
    let mcp = post("/mcp", json, bomb.as_bytes()).await;
    assert_eq!((mcp.status, mcp.code().as_str()), (413, "too_large"));
    let nested = [r#"{"a":"#.repeat(101), "1".to_owned(), "}".repeat(101)].concat();
    let refused = post(SEARCH, json, nested.as_bytes()).await;
    assert_eq!((refused.status, refused.code().as_str()), (400, "bad_json"));
    assert!(refused.text.contains("100 levels"), "{}", refused.text);
    running.stop().await;
}

/// Bodies that arrive slowly hold memory, and all of them together only so much of it (P5).
#[tokio::test(flavor = "multi_thread")]
async fn the_bodies_of_all_requests_share_one_budget_of_memory_p5() {
    let mut config = config();
    config.limits.memory_bytes = 1_000_000;
    let running = Running::with(config).await;
    running.engine.workspace("acme").unwrap();
    let head = format!(
        "POST {SEARCH} HTTP/1.1\r\nhost: {}\r\ncontent-length: 700000\r\n\
         content-type: application/json\r\n\r\n",
        running.address
    );
    // Half a megabyte came, the rest does not: the memory is held.
    let mut slow = TcpStream::connect(running.address).await.unwrap();
    slow.write_all(head.as_bytes()).await.unwrap();
    slow.write_all(&[b' '; 600_000]).await.unwrap();
    let body = json!({ "query": "x".repeat(450_000) });
    let refused = loop {
        // It may come before the slow one has arrived.
        let reply = running.post(SEARCH, &body).await;
        if reply.status == 503 {
            break reply;
        }
    };
    assert_eq!((refused.code().as_str(), refused.header("retry-after")), ("overloaded", "1"));
    assert!(refused.text.contains("1000000 bytes"), "{}", refused.text);
    drop(slow);
    while running.post(SEARCH, &body).await.status == 503 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let alone = json!({ "query": "x".repeat(600_000) });
    let refused = running.post(SEARCH, &alone).await;
    assert_eq!((refused.status, refused.code().as_str()), (413, "too_large"));
    assert!(refused.text.contains("limits.memory_bytes"), "{}", refused.text);
    running.stop().await;
}

/// Asks for a long answer and reads only its head.
async fn leave_unread(running: &Running) -> TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    // Little of the answer is kept by the system on the client's side.
    socket.set_recv_buffer_size(4_096).unwrap();
    let mut stream = socket.connect(running.address).await.unwrap();
    let ask = format!(
        "GET /v1/workspaces/acme/items/long HTTP/1.1\r\nhost: {}\r\nconnection: close\r\n\r\n",
        running.address
    );
    stream.write_all(ask.as_bytes()).await.unwrap();
    let mut head = [0; 15];
    stream.read_exact(&mut head).await.unwrap();
    assert_eq!(&head, b"HTTP/1.1 200 OK");
    stream
}

/// Reads what is left of an answer. Returns how many bytes came.
async fn read_rest(mut stream: TcpStream) -> usize {
    let (mut count, mut buffer) = (0, vec![0; 1 << 16]);
    loop {
        match stream.read(&mut buffer).await {
            Ok(0) | Err(_) => return count,
            Ok(read) => count += read,
        }
    }
}

/// Clients that do not read their answers hold no more memory than one budget for all of them: the one
/// that has waited longest is cut, and nobody else (P5).
#[tokio::test(flavor = "multi_thread")]
async fn the_slowest_reader_is_cut_when_too_much_is_unread_p5() {
    const LENGTH: usize = 15 << 20;
    let mut config = config();
    config.limits.unread_bytes = 2 * LENGTH + (1 << 20);
    config.limits.write_seconds = 600.0;
    let running = Running::with(config).await;
    running.engine.workspace("acme").unwrap();
    let item = json!({ "id": "long", "kind": "note", "body": "\n".repeat(LENGTH / 2) });
    let stored = running.post("/v1/workspaces/acme/items", &item).await;
    assert_eq!(stored.status, 200, "{}", stored.text);
    // A line break is two characters in JSON.
    let first = leave_unread(&running).await;
    let second = leave_unread(&running).await;
    let third = leave_unread(&running).await;
    let (first, second, third) =
        tokio::join!(read_rest(first), read_rest(second), read_rest(third));
    assert!(first < LENGTH, "the first was cut after {first} bytes");
    assert!(second > LENGTH && third > LENGTH, "{second} and {third} bytes came");
    running.stop().await;
}

/// Health checks have a thread of their own: they are answered while nothing else is (P5).
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn health_is_answered_while_all_other_threads_are_blocked_p5() {
    let running = Running::start().await;
    assert_eq!(running.get("/livez").await.status, 200);
    let mut releases = Vec::new();
    for _ in 0..2 {
        let (release, released) = channel::<()>();
        let (begin, begun) = channel();
        releases.push(release);
        tokio::spawn(async move {
            begin.send(()).unwrap();
            // This worker is stuck until the test is done.
            let _ = released.recv();
        });
        begun.recv().unwrap();
    }
    for path in ["/livez", "/readyz", "/healthz"] {
        let mut stream = BlockingStream::connect(running.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_mins(1))).unwrap();
        // The first bytes alone do not say what is asked.
        stream.write_all(b"GET /").unwrap();
        let rest = format!("{} HTTP/1.1\r\nhost: {}\r\n\r\n", &path[1..], running.address);
        stream.write_all(rest.as_bytes()).unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).expect("it is answered");
        let answer = reply(&answer);
        assert_eq!((answer.status, answer.json()["status"].as_str()), (200, Some("ok")), "{path}");
    }
    drop(releases);
    assert_eq!(running.get("/v1/workspaces").await.status, 200);
    running.stop().await;
}

/// A text is counted in parts, and the parts add up, also around a word that is too long to merge.
#[tokio::test(flavor = "multi_thread")]
async fn long_texts_are_counted_in_parts() {
    use haversack_core::text::tokenizer::{Encoding, Tokenizer};
    let running = Running::start().await;
    running.engine.workspace("acme").unwrap();
    let words = "Many words make a text, and many lines.\n".repeat(8_000);
    let text = format!("{words}{}{words}", "x".repeat(300 << 10));
    let path = "/v1/workspaces/acme/estimate";
    let body = json!({ "text": text, "tokenizer": "o200k_base" });
    let counted = running.post(path, &body).await;
    assert_eq!(counted.status, 200, "{}", counted.text);
    assert_eq!(counted.json()["tokens"], Encoding::O200k.count(&text).get());
    running.stop().await;
}
