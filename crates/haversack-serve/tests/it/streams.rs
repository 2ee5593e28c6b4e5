//! Lines in, events out.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::support::{HttpReply, Running, config, reply};

#[tokio::test(flavor = "multi_thread")]
async fn lines_are_stored_as_they_arrive_and_an_invalid_one_is_named() {
    let mut config = config();
    config.limits.batch_lines = 10;
    let running = Running::with(config).await;
    running.engine.workspace("acme").unwrap();
    let line =
        |n: usize| json!({ "id": format!("n{n}"), "kind": "note", "body": "text" }).to_string();
    let good: String = (0..25).map(|n| line(n) + "\n").collect();
    let path = "/v1/workspaces/acme/items";
    let stored = running.ask("POST", path).lines(&good).send().await;
    assert_eq!((stored.status, stored.json()["stored"].clone()), (200, json!(25)), "{stored:?}");
    let bad = format!("{}\n\n{}\n{{\"id\": 7}}\n{}\n", line(30), line(31), line(32));
    let wrong = running.ask("POST", path).lines(&bad).send().await;
    assert_eq!(wrong.status, 400);
    let problem = wrong.json();
    assert_eq!((problem["line"].clone(), problem["stored"].clone()), (json!(4), json!(2)));
    assert_eq!(problem["field"], "id");
    assert_eq!(running.get(&format!("{path}/n31")).await.status, 200);
    assert_eq!(running.get(&format!("{path}/n32")).await.status, 404);
    let unended = running.ask("POST", path).lines(&line(40)).send().await;
    assert_eq!(unended.json()["stored"], 1, "a last line needs no end");
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_build_can_be_streamed_p12() {
    let running = Running::start().await;
    running.sample("proposal");
    let opportunity = "opp-harrowmere";
    let prompt = haversack_eval::samples::Sample::named("proposal").unwrap().questions[0].text;
    // So little that a category must be cut by more than a fifth.
    let body = json!({ "opportunityId": opportunity, "userPrompt": prompt, "targetBudget": 5_000 });
    let path = "/v1/workspaces/proposal/context/proposal";
    let ask = running.ask("POST", path).header("accept", "text/event-stream").json(&body);
    let reply = ask.send().await;
    assert_eq!((reply.status, reply.header("content-type")), (200, "text/event-stream"));
    let events: Vec<(&str, Value)> = reply
        .text
        .split("\n\n")
        .filter_map(|event| event.strip_prefix("event: ")?.split_once("\ndata: "))
        .map(|(name, data)| (name, serde_json::from_str(data).unwrap()))
        .collect();
    let stages: Vec<&str> = events
        .iter()
        .filter(|(name, _)| *name == "stage")
        .map(|(_, data)| data["stage"].as_str().unwrap())
        .collect();
    assert_eq!(stages, ["analyse", "embed", "collect", "measure", "rank", "pack"]);
    let warned = events.iter().any(|(name, data)| {
        *name == "warning"
            && data["type"] == "warning"
            && data["code"] == "CONTEXT_TRUNCATED"
            && data["details"].as_array().is_some_and(|details| !details.is_empty())
    });
    assert!(warned, "{:?}", events.iter().map(|(name, _)| name).collect::<Vec<_>>());
    let (name, result) = events.last().unwrap();
    assert_eq!(*name, "result");
    let whole = running.post(path, &body).await.json();
    assert_eq!(result["context"], whole["context"]);
    let wrong =
        json!({ "opportunityId": opportunity, "userPrompt": "x", "model": "no-such-model" });
    let ask = running.ask("POST", path).header("accept", "text/event-stream").json(&wrong);
    let reply = ask.send().await;
    assert!(reply.text.starts_with("event: problem\n"), "{}", reply.text);
    running.stop().await;
}

/// A body that is sent in parts, as long as the server reads.
async fn send_on(running: &Running, writer: usize, removed: &AtomicBool) -> HttpReply {
    let mut stream = TcpStream::connect(running.address).await.unwrap();
    let head = format!(
        "POST /v1/workspaces/acme/items HTTP/1.1\r\nhost: {}\r\nconnection: close\r\n\
         content-type: application/x-ndjson\r\ntransfer-encoding: chunked\r\n\r\n",
        running.address
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut more = 0;
    for n in 0.. {
        let item = json!({ "id": format!("w{writer}-{n}"), "kind": "note", "body": "An oldword." });
        let part = format!("{item}\n");
        let part = format!("{:x}\r\n{part}\r\n", part.len());
        if stream.write_all(part.as_bytes()).await.is_err() {
            break;
        }
        // Some more after the workspace went, then the end.
        more += usize::from(removed.load(Ordering::Relaxed));
        if more > 100 {
            let _ = stream.write_all(b"0\r\n\r\n").await;
            break;
        }
        tokio::task::yield_now().await;
    }
    let mut read = Vec::new();
    stream.read_to_end(&mut read).await.unwrap();
    reply(&read)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_workspace_removed_during_a_request_is_not_found() {
    let mut config = config();
    config.limits.batch_lines = 10;
    let running = Arc::new(Running::with(config).await);
    running.engine.workspace("acme").unwrap();
    let removed = Arc::new(AtomicBool::new(false));
    let writers: Vec<_> = (0..4)
        .map(|writer| {
            let (running, removed) = (Arc::clone(&running), Arc::clone(&removed));
            tokio::spawn(async move { send_on(&running, writer, &removed).await })
        })
        .collect();
    let readers: Vec<_> = (0..4)
        .map(|reader| {
            let running = Arc::clone(&running);
            let place = ["search", "context/everything", "context/memory", "frontier/everything"];
            let path = format!("/v1/workspaces/acme/{}", place[reader]);
            let body = json!({ "query": "oldword" });
            let body = if reader == 3 { json!({ "request": body }) } else { body };
            tokio::spawn(async move {
                loop {
                    let reply = running.post(&path, &body).await;
                    match reply.status {
                        200 => {}
                        404 => break reply,
                        other => panic!("{path} answered {other}: {}", reply.text),
                    }
                }
            })
        })
        .collect();
    // Everybody is at work when it goes.
    while running.get("/v1/workspaces/acme").await.json()["items"].as_u64().unwrap() < 100 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let gone = running.ask("DELETE", "/v1/workspaces/acme").send().await;
    assert_eq!(gone.status, 204, "{}", gone.text);
    removed.store(true, Ordering::Relaxed);
    for writer in writers {
        let reply = writer.await.unwrap();
        assert_eq!(
            (reply.status, reply.code().as_str()),
            (404, "workspace_not_found"),
            "{reply:?}"
        );
        assert!(reply.json()["stored"].as_u64().is_some(), "how far it came: {}", reply.text);
    }
    for reader in readers {
        assert_eq!(reader.await.unwrap().code(), "workspace_not_found");
    }
    let left = std::fs::read_dir(running.folder.path().join("workspaces")).unwrap();
    let left: Vec<_> = left.map(|entry| entry.unwrap().file_name()).collect();
    assert!(left.is_empty(), "{left:?}");
    // A workspace of the same name has nothing of it.
    running.post("/v1/workspaces", &json!({ "name": "acme" })).await;
    let again = running.get("/v1/workspaces/acme").await.json();
    assert_eq!((again["items"].clone(), again["revision"].clone()), (json!(0), json!(0)));
    let found = running.post("/v1/workspaces/acme/search", &json!({ "query": "oldword" })).await;
    assert!(!found.text.contains("oldword"), "{}", found.text);
    let page = running.get("/metrics").await.text;
    assert!(page.contains("haversack_requests_in_flight 1"), "only this one: {page}");
    Arc::into_inner(running).unwrap().stop().await;
}

/// A client that is still sending when something is wrong reads the answer all the same.
#[tokio::test(flavor = "multi_thread")]
async fn an_early_response_reaches_a_client_that_is_still_sending() {
    let running = Running::start().await;
    running.engine.workspace("acme").unwrap();
    let mut lines = "{\"id\": 7}\n".to_owned();
    for n in 0..40_000 {
        let item = json!({ "id": format!("n{n}"), "kind": "note", "body": "x".repeat(200) });
        lines.push_str(&format!("{item}\n"));
    }
    let wrong = running.ask("POST", "/v1/workspaces/acme/items").lines(&lines).send().await;
    assert_eq!((wrong.status, wrong.json()["line"].clone()), (400, json!(1)));
    // And one that keeps its connection can go on with it.
    let body = json!({ "query": "x".repeat(1_000) }).to_string();
    let refused = format!(
        "POST /v1/workspaces/nobody/search HTTP/1.1\r\nhost: {}\r\ncontent-length: {}\r\n\
         content-type: application/json\r\n\r\n{body}GET /livez HTTP/1.1\r\nhost: {}\r\n\
         connection: close\r\n\r\n",
        running.address,
        body.len(),
        running.address
    );
    let answers = String::from_utf8(running.raw(refused.as_bytes()).await).unwrap();
    assert!(answers.starts_with("HTTP/1.1 404 "), "{answers}");
    assert!(answers.contains("HTTP/1.1 200 OK"), "the connection was lost: {answers}");
    running.stop().await;
}
