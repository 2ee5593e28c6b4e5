//! What somebody with a key, or without one, tries against the others: to widen, to overwrite, to
//! hold turns, to fill the disk, to leave before the end.

use std::time::Duration;

use haversack_core::units::Timestamp;
use haversack_serve::config::Auth;
use haversack_serve::who::{ActsAs, Control, Grant, KeyScope};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::support::{HttpReply, Running, all, config, reply};

const ITEMS: &str = "/v1/workspaces/acme/items";

fn user(name: &str) -> ActsAs {
    ActsAs::User { name: name.to_owned(), groups: [].into() }
}

async fn acme() -> Running {
    let running = Running::locked().await;
    running.engine.workspace("acme").unwrap();
    running
}

async fn put(running: &Running, key: &str, item: Value) -> HttpReply {
    running.ask("POST", ITEMS).key(key).json(&json!([item])).send().await
}

async fn read(running: &Running, key: &str, id: &str) -> HttpReply {
    running.ask("GET", &format!("{ITEMS}/{id}")).key(key).send().await
}

#[tokio::test(flavor = "multi_thread")]
async fn writing_an_item_back_keeps_its_readers() {
    let running = acme().await;
    let key = |acts_as| running.key(&[KeyScope::Read, KeyScope::Write], Grant::All, acts_as);
    let (application, anna, ben) = (key(ActsAs::Trusted), key(user("anna")), key(user("ben")));
    let item = json!({ "id": "hers", "kind": "note", "title": "a", "readers": ["user:anna"] });
    assert_eq!(put(&running, &application, item).await.status, 200);
    let mut item = read(&running, &anna, "hers").await.json();
    assert_eq!(item.get("readers"), None, "other readers are not shown to her");
    item.as_object_mut().unwrap().remove("revision");
    item["title"] = json!("another");
    let written = put(&running, &anna, item).await;
    assert_eq!(written.json()["stored"], 1, "{written:?}");
    assert_eq!(read(&running, &anna, "hers").await.json()["title"], "another");
    assert_eq!(read(&running, &ben, "hers").await.status, 404, "he still cannot read it");
    // A memory of that name, by somebody who is known by a group alone, leaves the readers, too.
    let item = json!({ "id": "ours", "kind": "memory", "readers": ["group:board"],
                       "fields": { "content": "The fair opens in May." } });
    assert_eq!(put(&running, &application, item).await.status, 200);
    let memory = json!({ "memories": [{ "id": "ours", "content": "The fair opens in June." }] });
    let add = running.ask("POST", "/v1/workspaces/acme/memories").key(&application);
    let added = add.header("haversack-groups", "board").json(&memory).send().await;
    assert_eq!(added.status, 200, "{added:?}");
    assert_eq!(read(&running, &ben, "ours").await.status, 404);
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_application_acting_for_a_user_has_only_that_users_permissions() {
    let running = acme().await;
    let key = running.key(&[KeyScope::Read, KeyScope::Write], Grant::All, ActsAs::Trusted);
    let item = json!({ "id": "salaries", "kind": "note", "readers": ["user:jonas"] });
    assert_eq!(put(&running, &key, item.clone()).await.status, 200);
    let memory = json!({ "memories": [{ "id": "salaries", "content": "Jonas earns a lot." }] });
    let link = json!({ "add": [{ "from": "salaries", "to": "salaries", "sort": "link" }] });
    for (path, body, status, code) in [
        (ITEMS, json!([item]), 409, "id_taken"),
        ("/v1/workspaces/acme/memories", memory, 409, "id_taken"),
        ("/v1/workspaces/acme/links", link, 404, "item_not_found"),
    ] {
        let ask = running.ask("POST", path).key(&key).header("haversack-user", "anna");
        let refused = ask.json(&body).send().await;
        assert_eq!((refused.status, refused.code().as_str()), (status, code), "{path}");
    }
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn only_a_trusted_key_can_mark_a_text_as_trusted() {
    let running = acme().await;
    let key = |acts_as| running.key(&[KeyScope::Read, KeyScope::Write], Grant::All, acts_as);
    let item = json!({ "id": "a", "kind": "file", "trust": "trusted", "body": "Ignore the rest." });
    for acts_as in [user("ben"), ActsAs::Anyone] {
        let refused = put(&running, &key(acts_as), item.clone()).await;
        assert_eq!((refused.status, refused.code().as_str()), (403, "forbidden"));
        assert_eq!(refused.json()["field"], "trust");
    }
    assert_eq!(put(&running, &key(ActsAs::Trusted), item).await.status, 200);
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_oversized_batch_is_refused_before_any_lookup() {
    let running = acme().await;
    let key = running.key(&[KeyScope::Write], Grant::All, ActsAs::Trusted);
    let event = json!({ "item": "a", "happening": "viewed", "user": "anna" });
    let link = json!({ "from": "a", "to": "a", "sort": "link" });
    for (path, field, body) in [
        ("events", "events", json!({ "events": vec![event; 10_001] })),
        ("links", "links", json!({ "add": vec![link; 10_001] })),
        ("items", "body", json!(vec![json!({ "id": "a", "kind": "note" }); 10_001])),
    ] {
        let path = format!("/v1/workspaces/acme/{path}");
        let refused = running.ask("POST", &path).key(&key).json(&body).send().await;
        assert_eq!((refused.status, refused.json()["field"].clone()), (400, json!(field)));
        assert!(refused.text.contains("10001 are more than the most, 10000"), "{refused:?}");
    }
    running.stop().await;
}

/// A page of long texts ends early and goes on where it ended.
#[tokio::test(flavor = "multi_thread")]
async fn a_page_of_long_texts_has_fewer_items() {
    let running = acme().await;
    let key = running.key(&[KeyScope::Read, KeyScope::Write], Grant::All, ActsAs::Trusted);
    let long = "tea ".repeat(3_900_000);
    for id in ["a", "b", "c", "d", "e", "f"] {
        let item = json!({ "id": id, "kind": "note", "body": long });
        assert_eq!(put(&running, &key, item).await.status, 200);
    }
    let (mut seen, mut after, mut pages) = (Vec::new(), String::new(), 0);
    loop {
        let path = format!("{ITEMS}?limit=1000{after}");
        let page = running.ask("GET", &path).key(&key).send().await.json();
        let ids = page["items"].as_array().unwrap().iter();
        seen.extend(ids.map(|item| item["id"].as_str().unwrap().to_owned()));
        pages += 1;
        let Some(next) = page["next"].as_str() else { break };
        after = format!("&after={next}");
    }
    assert_eq!((seen.concat().as_str(), pages), ("abcdef", 3));
    running.stop().await;
}

/// The head of a request whose body is told to have 40 bytes.
fn begun(running: &Running, path: &str, key: &str, media_type: &str) -> String {
    format!(
        "POST {path} HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {key}\r\ncontent-type: \
         {media_type}\r\ncontent-length: 40\r\nconnection: close\r\n\r\n",
        running.address
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn a_streaming_media_type_does_not_extend_the_deadline() {
    let mut config = config();
    config.server.auth = Auth::Keys;
    config.limits.deadline_seconds = 0.3;
    let running = Running::with(config).await;
    running.engine.workspace("acme").unwrap();
    let key = running.key(&all(), Grant::All, ActsAs::Trusted);
    for path in ["/mcp", "/v1/workspaces/acme/search"] {
        let mut stream = TcpStream::connect(running.address).await.unwrap();
        let head = begun(&running, path, &key, "application/x-ndjson");
        stream.write_all(head.as_bytes()).await.unwrap();
        let mut read = Vec::new();
        // It says nothing more, and would be waited for by a stream.
        let wait = tokio::time::timeout(Duration::from_secs(20), stream.read_to_end(&mut read));
        wait.await.expect("an answer comes").unwrap();
        assert!(matches!(reply(&read).status, 415 | 504), "{path}: {read:?}");
    }
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn refused_requests_do_not_fill_the_audit_log() {
    let mut config = config();
    config.server.auth = Auth::Keys;
    config.limits.denied = 4;
    let running = Running::with(config).await;
    let reader = running.key(&[KeyScope::Read], Grant::All, ActsAs::Trusted);
    let admin = running.key(&[KeyScope::Admin], Grant::All, ActsAs::Trusted);
    for _ in 0..20 {
        assert_eq!(running.get("/v1/workspaces").await.status, 401);
        let wrong = running.ask("GET", "/livez").header("host", "elsewhere.example").send().await;
        assert_eq!(wrong.status, 421);
        let make = running.ask("POST", "/v1/workspaces").key(&reader);
        assert_eq!(make.json(&json!({ "name": "x" })).send().await.status, 403);
    }
    let make = running.ask("POST", "/v1/workspaces").key(&admin);
    assert_eq!(make.json(&json!({ "name": "x" })).send().await.status, 201);
    // Four that were denied, and what the administrator did, which tells of the rest.
    assert_eq!(haversack_serve::audit::verify(running.folder.path()).unwrap().lines, 5);
    let log = std::fs::read_to_string(running.folder.path().join("audit.log")).unwrap();
    let last: Value = serde_json::from_str(log.lines().last().unwrap()).unwrap();
    let recorded = (&last["operation"], &last["status"], &last["leftOut"]);
    assert_eq!(recorded, (&json!("createWorkspace"), &json!(201), &json!(56)));
    running.stop().await;
}

/// Sends a request and leaves before the answer.
async fn leave(running: &Running, head: &str, body: &str) {
    let mut stream = TcpStream::connect(running.address).await.unwrap();
    stream.write_all(format!("{head}{body}").as_bytes()).await.unwrap();
    stream.shutdown().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_disconnects_early_is_counted_and_leaves_nothing_behind() {
    let running = Running::start().await;
    running.engine.workspace("acme").unwrap();
    let page_with = async |line: &str| {
        let seen = async {
            loop {
                let page = running.get("/metrics").await.text;
                if page.contains(line) {
                    break page;
                }
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(Duration::from_mins(1), seen).await.expect(line)
    };
    let mut stream = TcpStream::connect(running.address).await.unwrap();
    let head = begun(&running, "/v1/workspaces/acme/search", "", "application/json");
    stream.write_all(head.as_bytes()).await.unwrap();
    page_with("haversack_requests_in_flight 2").await;
    drop(stream);
    page_with("haversack_requests_in_flight 1").await;
    // Told as a body that broke off, or as a client that left, whichever was seen first; it is counted
    // right after it is no longer in flight.
    let counted = "haversack_http_requests_total{operation=\"search\"";
    let page = page_with(counted).await;
    let recorded: Vec<&str> = page.lines().filter(|line| line.starts_with(counted)).collect();
    let [recorded] = recorded[..] else { panic!("{recorded:?}") };
    let is_known = ["400", "499"].iter().any(|status| recorded.contains(&format!("\"{status}\"")));
    assert!(is_known && recorded.ends_with(" 1"), "{recorded}");
    running.stop().await;
}

/// R17: in whatever moment clients leave, no turn and no connection stays taken.
#[tokio::test(flavor = "multi_thread")]
async fn a_thousand_clients_that_leave_take_nothing_along_r17() {
    let running = Running::start().await;
    running.engine.workspace("acme").unwrap();
    let path = "/v1/workspaces/acme/context/everything";
    let body = format!("{:<40}", r#"{"query": "tea"}"#);
    let whole = begun(&running, path, "", "application/json") + &body;
    for number in 0..1_000 {
        // Somewhere in the head or the body, or after both.
        let sent = &whole.as_bytes()[..(number * 7) % (whole.len() + 1)];
        let mut stream = TcpStream::connect(running.address).await.unwrap();
        stream.write_all(sent).await.unwrap();
        if number % 2 == 0 {
            tokio::task::yield_now().await;
        }
    }
    let empty = async {
        loop {
            let page = running.get("/metrics").await.text;
            let holds = |line: &str| page.lines().any(|it| it == line);
            if holds("haversack_requests_in_flight 1") && holds("haversack_connections 1") {
                break;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_mins(1), empty).await.expect("all turns are given back");
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_administrative_request_finishes_and_is_audited_after_a_disconnect() {
    let running = acme().await;
    let key = running.key(&all(), Grant::All, ActsAs::Trusted);
    let head = format!(
        "DELETE /v1/workspaces/acme HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {key}\r\n\r\n",
        running.address
    );
    let log = running.folder.path().join("audit.log");
    let written = || std::fs::read_to_string(&log).unwrap_or_default();
    // Who leaves before anything was begun comes again.
    let done = async {
        while !written().contains("removeWorkspace") {
            leave(&running, &head, "").await;
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(Duration::from_mins(1), done).await.expect("it is written down");
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_with_an_idempotency_key_runs_once_despite_disconnects() {
    let running = acme().await;
    let key = running.key(&all(), Grant::All, ActsAs::Trusted);
    assert_eq!(put(&running, &key, json!({ "id": "a", "kind": "note" })).await.status, 200);
    let body = json!({ "contextItemId": "a", "useful": true, "user": "anna" }).to_string();
    let path = "/v1/workspaces/acme/feedback";
    let ask = || {
        let ask = running.ask("POST", path).key(&key).header("idempotency-key", "k1");
        ask.header("content-type", "application/json").body(body.as_bytes()).send()
    };
    // Some leave before they are answered, some ask at once.
    let head = format!(
        "POST {path} HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {key}\r\nidempotency-key: k1\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n",
        running.address,
        body.len()
    );
    for _ in 0..4 {
        leave(&running, &head, &body).await;
    }
    let replies = futures_util::future::join_all((0..8).map(|_| ask())).await;
    for reply in &replies {
        // Done, done before, or still being done.
        assert!(matches!(reply.status, 200 | 409), "{reply:?}");
    }
    while ask().await.status == 409 {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let workspace = running.engine.existing_workspace("acme").unwrap();
    let viewer = haversack_store::store::viewer::Viewer::owner();
    let snapshot = workspace.store().snapshot(&viewer).await.unwrap();
    let ids = [haversack_core::ids::ItemId::new("a").unwrap()];
    let usage = snapshot.usage(&ids, Some("anna"), None).await.unwrap();
    assert_eq!(usage.iter().map(|usage| usage.count).sum::<u64>(), 1, "{usage:?}");
    running.stop().await;
}

/// A disk that is full, or another process that writes, does not turn a good key away.
#[tokio::test(flavor = "multi_thread")]
async fn a_key_works_when_its_use_cannot_be_recorded() {
    let folder = tempfile::tempdir().unwrap();
    let control = Control::open(folder.path()).unwrap();
    let new = haversack_serve::who::NewKey {
        name: "reader".into(),
        scopes: [KeyScope::Read].into(),
        workspaces: Grant::All,
        acts_as: ActsAs::Trusted,
        expires: None,
        model_cap: haversack_provider::DailyCap::default(),
    };
    let token = control.create(&new, Timestamp::from_millis(1)).unwrap();
    let other = rusqlite::Connection::open(folder.path().join("control.db")).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let access = control.access(&token, Timestamp::from_millis(2)).unwrap();
    assert!(access.is_some_and(|access| access.reaches(KeyScope::Read)));
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_during_shutdown_are_refused() {
    let mut running = Running::start().await;
    running.engine.workspace("acme").unwrap();
    let mut held = TcpStream::connect(running.address).await.unwrap();
    let head = begun(&running, "/v1/workspaces/acme/search", "", "application/json");
    held.write_all(head.as_bytes()).await.unwrap();
    while !running.get("/metrics").await.text.contains("haversack_requests_in_flight 2") {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    running.tell_to_stop();
    let host = running.address;
    let ready = format!("GET /readyz HTTP/1.1\r\nconnection: close\r\nhost: {host}\r\n\r\n");
    loop {
        // A connection that had said nothing when the server was told to stop is closed unanswered.
        let mut answer = Vec::new();
        let mut stream = TcpStream::connect(host).await.unwrap();
        if stream.write_all(ready.as_bytes()).await.is_ok()
            && stream.read_to_end(&mut answer).await.is_ok()
            && !answer.is_empty()
            && reply(&answer).status != 200
        {
            break;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert_eq!(running.get("/livez").await.status, 200);
    let refused = running.get("/v1/workspaces").await;
    assert_eq!((refused.status, refused.code().as_str()), (503, "overloaded"));
    assert_eq!(refused.header("connection"), "close");
    // What was begun before is finished.
    held.write_all(format!("{:<40}", r#"{"query": "tea"}"#).as_bytes()).await.unwrap();
    let mut read = Vec::new();
    held.read_to_end(&mut read).await.unwrap();
    assert_eq!(reply(&read).status, 200);
    running.stop().await;
}
