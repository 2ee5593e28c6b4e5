//! Lines in, events out.

use serde_json::{Value, json};

use crate::support::{Running, config};

#[tokio::test(flavor = "multi_thread")]
async fn lines_are_stored_as_they_come_and_a_wrong_one_is_named() {
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
async fn a_build_can_be_watched_p12() {
    let running = Running::start().await;
    running.sample("proposal");
    let opportunity = "opp-harrowmere";
    let prompt = haversack::samples::Sample::named("proposal").unwrap().questions[0].text;
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
        *name == "warning" && data["code"] == "CONTEXT_TRUNCATED" && data["details"].is_object()
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

/// A client that is still sending when something is wrong reads the answer all the same.
#[tokio::test(flavor = "multi_thread")]
async fn an_early_answer_reaches_a_client_that_is_still_sending() {
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
