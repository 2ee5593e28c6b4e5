//! What a viewer cannot read changes nothing that they are given: no field, header, tag, count or name
//! of a state, over HTTP and MCP (X3, X11).

use haversack_serve::who::{ActsAs, Grant, KeyScope};
use serde_json::{Value, json};

use crate::support::{HttpReply, Running};

const BASE: &str = "/v1/workspaces/acme";

fn user(name: &str) -> ActsAs {
    ActsAs::User { name: name.to_owned(), groups: [].into() }
}

/// A server with what Ben can read, his key and the application's.
async fn filled() -> (Running, String, String) {
    let running = Running::locked().await;
    running.engine.workspace("acme").unwrap();
    let key = |acts_as| running.key(&[KeyScope::Read, KeyScope::Write], Grant::All, acts_as);
    let (ben, application) = (key(user("ben")), key(ActsAs::Trusted));
    (running, ben, application)
}

async fn post(running: &Running, key: &str, path: &str, body: &Value) -> HttpReply {
    let reply = running.ask("POST", &format!("{BASE}/{path}")).key(key).json(body).send().await;
    assert!(reply.status < 300, "{path} {body}: {reply:?}");
    reply
}

async fn write_visible(running: &Running, application: &str) {
    let items = json!([
        { "id": "launch", "kind": "note", "title": "Launch", "body": "The launch is in May." },
        { "id": "venue", "kind": "note", "body": "The venue for the launch seats ninety.",
          "parent": "launch" },
        { "id": "his", "kind": "memory", "readers": ["user:ben"],
          "fields": { "content": "Ben likes green tea at the launch." } },
    ]);
    post(running, application, "items", &items).await;
    let links = json!({ "add": [{ "from": "launch", "to": "venue", "sort": "relation" }] });
    post(running, application, "links", &links).await;
}

/// Writes what Ben cannot read: items near and under what he can, links, events, deletions.
async fn write_hidden(running: &Running, application: &str, round: usize) {
    let text =
        format!("The secret launch number {round} is in April at the old venue, with green tea.");
    // What is visible may not be there yet.
    let parent = if round >= 3 { "launch" } else { "secret" };
    let items = json!([
        { "id": "secret", "kind": "note", "title": "Launch", "body": text, "readers": ["user:anna"] },
        { "id": "under", "kind": "note", "body": text, "parent": parent, "readers": ["group:board"] },
        { "id": "hers", "kind": "memory", "readers": ["user:anna"], "fields": { "content": text } },
    ]);
    post(running, application, "items", &items).await;
    let links = json!({ "add": [{ "from": "secret", "to": "launch", "sort": "relation" }] });
    post(running, application, "links", &links).await;
    let events = json!({ "events": [{ "item": "secret", "user": "anna", "happening": "viewed" }] });
    post(running, application, "events", &events).await;
    let path = format!("{BASE}/items/under");
    assert_eq!(running.ask("DELETE", &path).key(application).send().await.status, 200);
}

/// What is a clock's doing and no viewer's business is the same here, too, as time stands still.
const TIMED: [&str; 4] = ["date", "server-timing", "x-request-id", "content-length"];

fn shown(reply: &HttpReply) -> String {
    let mut headers = reply.headers.clone();
    TIMED.iter().for_each(|name| _ = headers.remove(*name));
    headers.retain(|name, _| !name.contains("request-id") && !name.starts_with("ratelimit"));
    let body = serde_json::from_str::<Value>(&reply.text).map(|mut body| {
        untimed(&mut body);
        body.to_string()
    });
    format!("{} {headers:?} {}", reply.status, body.unwrap_or_else(|_| reply.text.clone()))
}

/// Takes away what says how long something took.
fn untimed(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|name, _| !name.to_lowercase().contains("ms") || name == "items");
            fields.values_mut().for_each(untimed);
        }
        Value::Array(values) => values.iter_mut().for_each(untimed),
        // Tools answer with JSON in a text as well.
        Value::String(text) => {
            if let Ok(mut inner @ Value::Object(_)) = serde_json::from_str(text) {
                untimed(&mut inner);
                *text = inner.to_string();
            }
        }
        _ => {}
    }
}

async fn tool(running: &Running, key: &str, name: &str, arguments: Value) -> HttpReply {
    let meta = json!({ "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": {} });
    let mut arguments = arguments;
    arguments["workspace"] = json!("acme");
    let message = json!({ "jsonrpc": "2.0", "id": 7, "method": "tools/call",
        "params": { "name": name, "arguments": arguments, "_meta": meta } });
    let ask = running.ask("POST", "/mcp").key(key);
    let ask = ask.header("accept", "application/json, text/event-stream");
    let ask = ask.header("mcp-protocol-version", "2026-07-28");
    let ask = ask.header("mcp-method", "tools/call").header("mcp-name", name);
    let reply = ask.json(&message).send().await;
    assert!(reply.status == 200 && !reply.text.contains("\"isError\":true"), "{reply:?}");
    reply
}

/// All that Ben can request, and the responses.
async fn asked(running: &Running, ben: &str) -> Vec<(String, String)> {
    let mut responses = Vec::new();
    for path in [
        "",
        "/items",
        "/items?limit=1",
        "/items/launch",
        "/items/venue",
        "/items/his",
        "/items/none",
        "/recipes",
    ] {
        let reply = running.ask("GET", &format!("{BASE}{path}")).key(ben).send().await;
        responses.push((path.to_owned(), shown(&reply)));
    }
    let query = json!({ "query": "When is the launch, and who likes green tea?" });
    let found = post(running, ben, "search", &query).await;
    responses.push(("search".to_owned(), shown(&found)));
    for recipe in ["everything", "memory", "prime"] {
        let path = format!("context/{recipe}?explain=true");
        let pack = post(running, ben, &path, &query).await;
        // What was used is noted behind the answer, and counts in the next one.
        running.engine.existing_workspace("acme").unwrap().flush().await;
        responses.push((path, shown(&pack)));
        let receipt = pack.json()["assembly"]["receipt"].as_str().unwrap().to_owned();
        let path = format!("{BASE}/receipts/{receipt}");
        let kept = running.ask("GET", &path).key(ben).send().await;
        assert_eq!(kept.json().get("at"), None, "the number is not shown");
        responses.push((path.clone(), shown(&kept)));
        let again = running.ask("POST", &format!("{path}/replay")).key(ben).send().await;
        responses.push((format!("{path}/replay"), shown(&again)));
        let packed =
            tool(running, ben, "context_pack", json!({ "recipe": recipe, "query": "launch" }));
        responses.push((format!("tool {recipe}"), shown(&packed.await)));
        running.engine.existing_workspace("acme").unwrap().flush().await;
    }
    let found = tool(running, ben, "context_search", json!({ "query": "launch" })).await;
    responses.push(("tool search".to_owned(), shown(&found)));
    responses
}

#[track_caller]
fn same(before: &[(String, String)], after: &[(String, String)]) {
    for ((question, before), (_, after)) in before.iter().zip(after) {
        assert_eq!(before, after, "{question}");
    }
    assert_eq!(before.len(), after.len());
}

#[tokio::test(flavor = "multi_thread")]
async fn hidden_writes_change_no_response_for_a_viewer_x3() {
    let (plain, plain_ben, application) = filled().await;
    write_visible(&plain, &application).await;
    // Another store, in which much is hidden from Ben, before, between and after.
    let (full, ben, application) = filled().await;
    for round in 0..3 {
        write_hidden(&full, &application, round).await;
    }
    write_visible(&full, &application).await;
    for round in 3..6 {
        same(&asked(&plain, &plain_ben).await, &asked(&full, &ben).await);
        write_hidden(&full, &application, round).await;
    }
    plain.stop().await;
    // Viewers who see everything get numbers, which do change.
    let of =
        async |key: &str| full.ask("GET", BASE).key(key).send().await.json()["revision"].clone();
    let (his, theirs) = (of(&ben).await, of(&application).await);
    assert!(his.as_str().unwrap().starts_with("s-") && theirs.is_u64(), "{his} {theirs}");
    full.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_visible_write_changes_etags_and_revisions() {
    let (running, ben, application) = filled().await;
    write_visible(&running, &application).await;
    let get = async |path: &str, tag: &str| {
        let path = format!("{BASE}/{path}");
        let ask = running.ask("GET", &path).key(&ben);
        ask.header("if-none-match", tag).send().await
    };
    let mut tags = Vec::new();
    for path in ["items", "items/launch"] {
        let tag = get(path, "x").await.header("etag").to_owned();
        assert_eq!(get(path, &tag).await.status, 304);
        tags.push((path, tag));
    }
    write_hidden(&running, &application, 0).await;
    for (path, tag) in &tags {
        assert_eq!(get(path, tag).await.status, 304, "{path}: a hidden write");
    }
    let before = running.ask("GET", BASE).key(&ben).send().await.json()["revision"].clone();
    let item = json!([{ "id": "launch", "kind": "note", "title": "Launch", "body": "The launch is in June." }]);
    let written = post(&running, &ben, "items", &item).await.json()["revision"].clone();
    assert!(written.is_string() && written != before, "{written} {before}");
    for (path, tag) in &tags {
        assert_eq!(get(path, tag).await.status, 200, "{path}: a visible write");
    }
    running.stop().await;
}

/// A viewer's name for a state leads back to it, and is nobody else's; numbers are for those who see
/// everything.
#[tokio::test(flavor = "multi_thread")]
async fn as_of_accepts_a_viewers_revision_token() {
    let (running, ben, application) = filled().await;
    write_visible(&running, &application).await;
    let anna = running.key(&[KeyScope::Read], Grant::All, user("anna"));
    let pack = async |key: &str, revision: Option<Value>| {
        let as_of = revision.map(|revision| json!({ "revision": revision }));
        let body = json!({ "query": "When is the launch?", "asOf": as_of });
        running.ask("POST", &format!("{BASE}/context/everything")).key(key).json(&body).send().await
    };
    let first = pack(&ben, None).await.json();
    let revision = first["assembly"]["revision"].clone();
    write_hidden(&running, &application, 0).await;
    let item = json!([{ "id": "launch", "kind": "note", "title": "Launch", "body": "The launch is in June." }]);
    post(&running, &application, "items", &item).await;
    let now = pack(&ben, None).await;
    assert!(now.text.contains("June") && !now.text.contains(revision.as_str().unwrap()));
    let then = pack(&ben, Some(revision.clone())).await;
    assert!(then.text.contains("May") && !then.text.contains("June"), "{then:?}");
    assert_eq!(then.json()["assembly"]["revision"], revision);
    for (key, revision, word) in [
        (&anna, revision.clone(), "names no state"),
        (&ben, json!(1), "callers who see everything"),
        (&ben, json!("s-1"), "begins with s-"),
        (&ben, json!(format!("s-{}", "0".repeat(32))), "names no state"),
    ] {
        let refused = pack(key, Some(revision.clone())).await;
        assert!(refused.status == 400 && refused.text.contains(word), "{revision}: {refused:?}");
    }
    let number = pack(&application, None).await.json()["assembly"]["revision"].clone();
    assert_eq!(pack(&application, Some(number)).await.status, 200);
    running.stop().await;
}
