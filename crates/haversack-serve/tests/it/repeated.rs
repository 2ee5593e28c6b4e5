//! Idempotency keys: a key and its write are there together or not at all.

use haversack_core::ids::ItemId;
use haversack_store::store::item::EventKind;
use haversack_store::store::viewer::Viewer;
use rusqlite::Connection;
use serde_json::{Value, json};

use crate::support::{HttpReply, Running};

async fn ask(running: &Running, method: &str, path: &str, body: &Value, key: &str) -> HttpReply {
    let ask = running.ask(method, path).header("idempotency-key", key);
    if body.is_null() { ask.send().await } else { ask.json(body).send().await }
}

/// Loses all stored responses, as when the server is killed after a write and before its answer.
fn lose_responses(running: &Running) {
    let control = Connection::open(running.folder.path().join("control.db")).unwrap();
    control.execute("DELETE FROM repeats", []).unwrap();
}

/// How often an item was found useful.
pub(crate) async fn count_useful(engine: &haversack::Engine, item: &str) -> u64 {
    let workspace = engine.existing_workspace("acme").unwrap();
    let snapshot = workspace.store().snapshot(&Viewer::owner()).await.unwrap();
    let ids = [ItemId::new(item).unwrap()];
    let usage = snapshot.usage(&ids, None, None).await.unwrap();
    let useful = usage.iter().filter(|usage| usage.event_kind == EventKind::Useful);
    useful.map(|usage| usage.count).sum()
}

const ITEMS: &str = "/v1/workspaces/acme/items";
const FEEDBACK: &str = "/v1/workspaces/acme/feedback";
const EVENTS: &str = "/v1/workspaces/acme/events";

fn useful(item: &str) -> Value {
    json!({ "contextItemId": item, "useful": true, "user": "anna" })
}

/// A write whose answer was lost is not repeated, whatever it wrote (P1).
#[tokio::test(flavor = "multi_thread")]
async fn a_write_is_not_repeated_when_its_answer_was_lost_p1() {
    let running = Running::start().await;
    running.engine.workspace("acme").unwrap();
    let note = |id: &str, body: &str| json!({ "id": id, "kind": "note", "body": body });
    for id in ["a", "b", "c"] {
        assert_eq!(running.post(ITEMS, &note(id, "first")).await.status, 200);
    }
    let viewed = json!({ "events": [{ "item": "a", "happening": "useful", "user": "bob" }] });
    let link = json!({ "add": [{ "from": "a", "to": "b", "sort": "link" }] });
    let memory = json!({ "user": "anna", "memories": [{ "content": "Anna likes tea." }] });
    let requests = [
        ("POST", FEEDBACK, useful("a")),
        ("POST", EVENTS, viewed),
        ("POST", "/v1/workspaces/acme/links", link),
        ("POST", ITEMS, note("b", "second")),
        ("POST", ITEMS, note("b", "second")),
        ("DELETE", "/v1/workspaces/acme/items/c", Value::Null),
        ("POST", "/v1/workspaces/acme/memories", memory),
    ];
    let mut answers = Vec::new();
    for (n, (method, path, body)) in requests.iter().enumerate() {
        let answer = ask(&running, method, path, body, &format!("key-{n}")).await;
        assert_eq!((answer.status, answer.header("idempotent-replayed")), (200, ""), "{answer:?}");
        answers.push(answer.json());
    }
    // Meanwhile others go on.
    assert_eq!(running.post(ITEMS, &note("b", "third")).await.status, 200);
    assert_eq!(running.ask("DELETE", "/v1/workspaces/acme/items/a").send().await.status, 200);
    let workspace = running.get("/v1/workspaces/acme").await.json();
    for is_lost in [false, true, true] {
        if is_lost {
            lose_responses(&running);
        }
        for (n, (method, path, body)) in requests.iter().enumerate() {
            let again = ask(&running, method, path, body, &format!("key-{n}")).await;
            assert_eq!(again.status, 200, "{path}: {again:?}");
            assert_eq!(again.header("idempotent-replayed"), "true", "{path}");
            if !path.ends_with("memories") || !is_lost {
                assert_eq!(again.json(), answers[n], "{path}");
            }
        }
    }
    assert_eq!(running.get("/v1/workspaces/acme").await.json(), workspace, "no revision was made");
    assert_eq!(running.post(ITEMS, &note("a", "again")).await.status, 200);
    assert_eq!(count_useful(&running.engine, "a").await, 2);
    let body = running.get("/v1/workspaces/acme/items/b").await.json();
    assert_eq!(body["body"], "third", "an old write does not come back");
    // The key stays that of its request.
    lose_responses(&running);
    let other = ask(&running, "POST", FEEDBACK, &useful("b"), "key-0").await;
    assert_eq!((other.status, other.code().as_str()), (409, "idempotency_conflict"));
    let other = ask(&running, "DELETE", "/v1/workspaces/acme/items/b", &Value::Null, "key-5").await;
    assert_eq!((other.status, other.code().as_str()), (409, "idempotency_conflict"));
    running.stop().await;
}

/// A workspace is created once for a key, and what tells so is the workspace itself.
#[tokio::test(flavor = "multi_thread")]
async fn a_workspace_is_created_once_when_its_answer_was_lost_p1() {
    let running = Running::start().await;
    let acme = json!({ "name": "acme" });
    let create = |key: &'static str| ask(&running, "POST", "/v1/workspaces", &acme, key);
    let first = create("k").await;
    assert_eq!((first.status, first.header("idempotent-replayed")), (201, ""), "{first:?}");
    for is_lost in [false, true, true] {
        if is_lost {
            lose_responses(&running);
        }
        let again = create("k").await;
        assert_eq!((again.status, again.header("idempotent-replayed")), (201, "true"), "{again:?}");
        assert_eq!(again.json(), first.json());
    }
    for other in [create("other").await, running.post("/v1/workspaces", &acme).await] {
        assert_eq!((other.status, other.code().as_str()), (409, "workspace_exists"));
    }
    let other = ask(&running, "POST", "/v1/workspaces", &json!({ "name": "beta" }), "k").await;
    assert_eq!((other.status, other.code().as_str()), (409, "idempotency_conflict"));
    // The answer is gone with the workspace.
    assert_eq!(running.ask("DELETE", "/v1/workspaces/acme").send().await.status, 204);
    let made = create("k").await;
    assert_eq!((made.status, made.header("idempotent-replayed")), (201, ""), "{made:?}");
    running.stop().await;
}

/// A workspace that is made again under its name has nothing of the keys of the one before.
#[tokio::test(flavor = "multi_thread")]
async fn keys_are_removed_with_their_workspace() {
    let running = Running::start().await;
    for _ in 0..2 {
        let made = running.post("/v1/workspaces", &json!({ "name": "acme" })).await;
        assert_eq!(made.status, 201);
        let note = json!({ "id": "a", "kind": "note", "body": "text" });
        let put = ask(&running, "POST", ITEMS, &note, "k").await;
        assert_eq!((put.status, put.header("idempotent-replayed")), (200, ""));
        let noted = ask(&running, "POST", FEEDBACK, &useful("a"), "k").await;
        assert_eq!((noted.status, noted.header("idempotent-replayed")), (200, ""));
        assert_eq!(count_useful(&running.engine, "a").await, 1);
        let removed = running.ask("DELETE", "/v1/workspaces/acme").send().await;
        assert_eq!(removed.status, 204);
    }
    running.stop().await;
}
