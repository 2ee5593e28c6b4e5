//! What a caller may not reach looks like what is not there, wherever a request can name it (S6, S8, S18).

use haversack_serve::who::{ActsAs, Grant, KeyScope};
use serde_json::{Value, json};

use crate::support::{HttpReply, Running};

/// An item of another workspace; in this one there is none of that id.
const FOREIGN: &str = "idq702";
/// An item that the caller may not read.
const HIDDEN: &str = "idq703";
/// No item at all, with an id that takes as many tokens as the others.
const ABSENT: &str = "idq701";

struct AbsentFixture {
    running: Running,
    ben: String,
    /// A receipt of another user's, and one of another workspace.
    receipts: [String; 2],
}

impl AbsentFixture {
    async fn new() -> AbsentFixture {
        let running = Running::locked().await;
        let all = [KeyScope::Read, KeyScope::Write];
        let application = running.key(&all, Grant::All, ActsAs::Trusted);
        let ben = ActsAs::User { name: "ben".into(), groups: [].into() };
        let ben = running.key(&all, Grant::Only(["acme".to_owned()].into()), ben);
        let mut receipts = Vec::new();
        for (workspace, items) in [
            (
                "acme",
                json!([
                    { "id": "open", "kind": "note", "body": "The fair is in May." },
                    { "id": HIDDEN, "kind": "note", "body": "The fair costs a lot.",
                      "readers": ["user:anna"] },
                ]),
            ),
            ("other", json!([{ "id": FOREIGN, "kind": "note", "body": "The fair is secret." }])),
        ] {
            running.engine.workspace(workspace).unwrap();
            let base = format!("/v1/workspaces/{workspace}");
            let path = format!("{base}/items");
            let stored = running.ask("POST", &path).key(&application).json(&items).send().await;
            assert_eq!(stored.status, 200, "{}", stored.text);
            let path = format!("{base}/context/everything");
            let question = json!({ "query": "when is the fair?", "user": "anna" });
            let packed = running.ask("POST", &path).key(&application).json(&question).send().await;
            let receipt = packed.json()["assembly"]["receipt"].as_str().unwrap().to_owned();
            running.engine.existing_workspace(workspace).unwrap().flush().await;
            receipts.push(receipt);
        }
        AbsentFixture { running, ben, receipts: receipts.try_into().unwrap() }
    }

    async fn send(&self, (method, path, body): &(&str, String, Value)) -> HttpReply {
        let path = format!("/v1/workspaces/acme/{path}");
        let ask = self.running.ask(method, &path).key(&self.ben);
        let ask = if body.is_null() { ask } else { ask.json(body) };
        ask.send().await
    }
}

/// A reply without its clock and its name, and with one name for all ids.
fn shown(reply: &HttpReply, id: &str) -> String {
    let mut headers = reply.headers.clone();
    for name in ["date", "server-timing", "x-request-id", "etag"] {
        headers.remove(name);
    }
    let text = match serde_json::from_str::<Value>(&reply.text) {
        Ok(mut body) => {
            if let Some(assembly) = body.get_mut("assembly").and_then(Value::as_object_mut) {
                assembly.remove("timingsMs");
                // The name of a pack follows from the request, which names the id.
                assembly.remove("receipt");
                headers.remove("content-length");
            }
            body.to_string()
        }
        Err(_) => reply.text.clone(),
    };
    format!("{} {headers:?} {text}", reply.status).replace(id, "ID")
}

/// Every place of a request that can hold an item's id.
fn item_places(id: &str) -> Vec<(&'static str, String, Value)> {
    let pack = |recipe: &str, body: Value| ("POST", format!("context/{recipe}"), body);
    let with = |field: &str, value: Value| json!({ "query": "when is the fair?", field: value });
    let link = |from: &str, to: &str| {
        let link = json!({ "from": from, "to": to, "sort": "link" });
        ("POST", "links".to_owned(), json!({ "add": [link] }))
    };
    vec![
        ("GET", format!("items/{id}"), Value::Null),
        ("DELETE", format!("items/{id}"), Value::Null),
        ("DELETE", format!("items/{id}?purge=true"), Value::Null),
        ("GET", format!("items?parent={id}"), Value::Null),
        ("GET", format!("items?after={id}"), Value::Null),
        link(id, "open"),
        link("open", id),
        ("POST", "events".into(), json!({ "events": [{ "item": id, "happening": "viewed" }] })),
        ("POST", "feedback".into(), json!({ "contextItemId": id, "useful": true })),
        pack("workspace", with("focus", json!({ "blockId": id }))),
        pack("workspace", with("focus", json!({ "pageId": id }))),
        pack("workspace", with("focus", json!({ "databaseId": id }))),
        pack("prime", json!({ "message": "when is the fair?", "threadId": id })),
        pack("proposal", json!({ "opportunityId": id, "userPrompt": "Write the summary" })),
        pack("situation", json!({ "currentContext": id, "situation": {} })),
        pack("memory", with("conversationId", json!(id))),
        pack("everything", with("hints", json!({ "includeBlocks": [id] }))),
        pack("everything", with("hints", json!({ "excludeBlocks": [id] }))),
        pack("everything", with("subjects", json!({ "thread": id }))),
        pack("everything", with("fields", json!({ "threadId": id }))),
        ("POST", "search".into(), with("under", json!(id))),
        ("GET", format!("receipts/{id}"), Value::Null),
        ("POST", format!("receipts/{id}/replay"), Value::Null),
        ("GET", format!("templates/{id}"), Value::Null),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn hidden_and_foreign_ids_look_like_absent_ones_s6_s18() {
    let fixture = AbsentFixture::new().await;
    let places = |id| item_places(id).into_iter();
    for ((absent, foreign), hidden) in places(ABSENT).zip(places(FOREIGN)).zip(places(HIDDEN)) {
        let expected = fixture.send(&absent).await;
        assert!(expected.status < 500, "{absent:?}: {expected:?}");
        let expected = shown(&expected, ABSENT);
        assert_eq!(shown(&fixture.send(&foreign).await, FOREIGN), expected, "{foreign:?}");
        assert_eq!(shown(&fixture.send(&hidden).await, HIDDEN), expected, "{hidden:?}");
    }
    // An item under one: the parent is refused in the same words.
    let under = |id: &str| {
        let child = json!([{ "id": "child", "kind": "note", "body": "x", "parent": id }]);
        ("POST", "items".to_owned(), child)
    };
    let expected = shown(&fixture.send(&under(ABSENT)).await, ABSENT);
    for id in [FOREIGN, HIDDEN] {
        assert_eq!(shown(&fixture.send(&under(id)).await, id), expected, "{id}");
    }
    fixture.running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn receipts_of_others_look_like_absent_ones_s6_s18() {
    let fixture = AbsentFixture::new().await;
    let none = "0".repeat(fixture.receipts[0].len());
    let question = ("POST", "context/everything".to_owned(), json!({ "query": "the fair" }));
    let own = fixture.send(&question).await.json();
    let own = own["assembly"]["receipt"].as_str().unwrap().to_owned();
    fixture.running.engine.existing_workspace("acme").unwrap().flush().await;
    let places = |id: &str| {
        let cited = json!({ "receipt": id, "response": "As [not-00000] says." });
        let after = json!({ "query": "when is the fair?", "previous": id });
        vec![
            ("GET", format!("receipts/{id}"), Value::Null),
            ("POST", format!("receipts/{id}/replay"), Value::Null),
            ("GET", format!("receipts/{id}/diff/{own}"), Value::Null),
            ("GET", format!("receipts/{own}/diff/{id}"), Value::Null),
            ("POST", "citations".to_owned(), cited),
            ("POST", "context/everything".to_owned(), after),
        ]
    };
    for receipt in &fixture.receipts {
        for (absent, given) in places(&none).into_iter().zip(places(receipt)) {
            let expected = fixture.send(&absent).await;
            assert!(expected.status < 500, "{absent:?}: {expected:?}");
            let reply = fixture.send(&given).await;
            assert_eq!(shown(&reply, receipt), shown(&expected, &none), "{given:?}");
        }
    }
    // The search for differences works: what is the caller's own does differ.
    let path = format!("receipts/{own}");
    assert_eq!(fixture.send(&("GET", path, Value::Null)).await.status, 200);
    fixture.running.stop().await;
}

/// Every tool and method of MCP with a key of each scope: what needs another scope is refused, and says so
/// in the audit log.
#[tokio::test(flavor = "multi_thread")]
async fn every_tool_refuses_callers_without_its_scope_s8() {
    let running = Running::locked().await;
    running.sample("memory");
    let only = || Grant::Only(["memory".to_owned()].into());
    let owner = running.key(&KeyScope::ALL, only(), ActsAs::Trusted);
    let listed = crate::mcp::ask(&running, Some(&owner), "tools/list", json!({})).await.json();
    let tools = listed["result"]["tools"].as_array().unwrap().clone();
    assert!(tools.len() >= 6, "{listed}");
    let mut denied = 0;
    for scope in KeyScope::ALL {
        let key = running.key(&[scope], only(), ActsAs::Trusted);
        let list = crate::mcp::ask(&running, Some(&key), "tools/list", json!({})).await;
        // Asking at all needs `read`; an administrator may do everything.
        let may_ask = matches!(scope, KeyScope::Read | KeyScope::Admin);
        assert_eq!(list.status == 200, may_ask, "{scope:?}: {list:?}");
        for tool in &tools {
            let name = tool["name"].as_str().unwrap();
            let reads = tool["annotations"]["readOnlyHint"] == true;
            let params = json!({ "name": name, "arguments": { "workspace": "memory" } });
            let reply = crate::mcp::ask(&running, Some(&key), "tools/call", params).await;
            if !may_ask {
                assert_eq!(reply.status, 403, "{name} with {scope:?}: {reply:?}");
                denied += 1;
                continue;
            }
            let text = reply.json()["result"]["content"][0]["text"].as_str().unwrap().to_owned();
            let is_forbidden = text.starts_with("forbidden");
            let may = reads || scope == KeyScope::Admin;
            assert_eq!(is_forbidden, !may, "{name} with {scope:?}: {text}");
            denied += u64::from(is_forbidden);
        }
    }
    assert!(denied >= 15, "{denied}");
    let lines = haversack_serve::audit::verify(running.folder.path()).unwrap().lines;
    assert!(lines >= denied, "{lines} lines for {denied} refusals");
    running.stop().await;
}
