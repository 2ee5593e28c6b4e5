//! Rows of a database: sent by a client, and read by the server itself.

use std::time::{Duration, Instant};

use haversack_core::ids::ItemId;
use haversack_serve::sources::{Source, SourceWatchers};
use haversack_serve::who::{ActsAs, Grant, KeyScope};
use haversack_store::store::block_on;
use haversack_store::store::viewer::Viewer;
use serde_json::{Value, json};

use crate::support::{Running, config};

const SOURCE: &str = "/v1/workspaces/acme/sources/shop%2Frow";

fn state(watermark: u64) -> Value {
    json!({ "format": 1, "watermark": watermark, "fullAt": 7, "source": "a", "mapping": "b" })
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_and_what_their_source_was_are_written_together() {
    let running = Running::start().await;
    running.engine.workspace("acme").unwrap();
    let none = running.get(SOURCE).await.json();
    assert_eq!(none, json!({ "state": null, "ids": [] }));
    let row = |id: &str, body: &str| json!({ "id": id, "kind": "row", "body": body, "path": "notes/a.md" });
    let rows =
        json!({ "items": [row("1", "a"), row("2", "b")], "state": state(2), "origin": "sync-1" });
    let written = running.post(SOURCE, &rows).await.json();
    assert_eq!((&written["stored"], &written["unchanged"]), (&json!(2), &json!(0)), "{written}");
    let page = running.get(SOURCE).await.json();
    assert_eq!(page, json!({ "state": state(2), "ids": ["1", "2"] }));
    // Whatever a row says, it is at the path of its source.
    let item = running.get("/v1/workspaces/acme/items/1").await.json();
    assert_eq!(item["path"], "db:shop/row");
    running
        .post("/v1/workspaces/acme/items", &json!([{ "id": "n", "kind": "note", "body": "mine" }]))
        .await;
    let more = json!({ "items": [row("1", "a"), row("n", "theirs")], "deleted": ["2", "n"], "state": state(3) });
    let dry = json!({ "items": more["items"], "deleted": more["deleted"], "dryRun": true });
    for (batch, watermark) in [(&dry, 2), (&more, 3)] {
        let written = running.post(SOURCE, batch).await.json();
        let counts = ["stored", "unchanged", "deleted"].map(|name| written[name].as_u64().unwrap());
        assert_eq!(counts, [0, 1, 1], "{written}");
        assert_eq!(written["refused"][0]["id"], "n");
        assert_eq!(running.get(SOURCE).await.json()["state"]["watermark"], watermark);
    }
    assert_eq!(running.get("/v1/workspaces/acme/items/n").await.json()["body"], "mine");
    assert_eq!(running.get("/v1/workspaces/acme/items/2").await.status, 404);
    let after = running.get(&format!("{SOURCE}?after=1")).await.json();
    assert_eq!(after["ids"], json!([]));
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn only_a_trusted_key_that_acts_for_nobody_has_sources() {
    let running = Running::locked().await;
    running.engine.workspace("acme").unwrap();
    let trusted = running.key(&[KeyScope::Write], Grant::All, ActsAs::Trusted);
    let user = running.key(
        &[KeyScope::Write],
        Grant::All,
        ActsAs::User { name: "anna".to_owned(), groups: [].into() },
    );
    let reader = running.key(&[KeyScope::Read], Grant::All, ActsAs::Trusted);
    let rows = json!({ "items": [{ "id": "1", "kind": "row", "body": "a" }] });
    for (key, acts_for, status) in [
        (&user, None, 403),
        (&reader, None, 403),
        (&trusted, Some("anna"), 403),
        (&trusted, None, 200),
    ] {
        for ask in [running.ask("GET", SOURCE), running.ask("POST", SOURCE).json(&rows)] {
            let ask = match acts_for {
                Some(name) => ask.header("haversack-user", name),
                None => ask,
            };
            let reply = ask.key(key).send().await;
            assert_eq!(reply.status, status, "{acts_for:?}: {}", reply.text);
        }
    }
    let broken = json!({ "state": { "format": 99 } });
    let reply = running.ask("POST", SOURCE).key(&trusted).json(&broken).send().await;
    assert_eq!(
        (reply.status, reply.json()["field"].clone()),
        (400, json!("state")),
        "{}",
        reply.text
    );
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_source_is_kept_like_a_query() {
    let running = Running::start().await;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("shop.db");
    let database = rusqlite::Connection::open(&path).unwrap();
    let sql = |statements: &str| database.execute_batch(statements).unwrap();
    sql("CREATE TABLE p (id TEXT, text TEXT, n INTEGER); INSERT INTO p VALUES ('a', 'Herons', 1)");
    let source = Source {
        database: Some(format!("sqlite:{}", path.display())),
        query: Some("select * from p".to_owned()),
        updated: Some("n".to_owned()),
        readers: Some(vec!["group:birds".to_owned()]),
        interval_seconds: Some(1),
        workspace: "birds".to_owned(),
        ..Source::default()
    };
    let watchers = SourceWatchers::start(&running.engine, &[source]).unwrap();
    let workspace = running.engine.workspace("birds").unwrap();
    let has = |id: &str, viewer: &Viewer| {
        let id = ItemId::new(id).unwrap();
        let snapshot = block_on(workspace.blocking_store().snapshot(viewer)).unwrap();
        block_on(snapshot.exist(&[id])).unwrap() == [true]
    };
    let wait = |what: &str, done: &dyn Fn() -> bool| {
        let until = Instant::now() + Duration::from_secs(60);
        while !done() {
            assert!(Instant::now() < until, "{what}");
            std::thread::yield_now();
        }
    };
    let owner = Viewer::owner();
    wait("the first run", &|| has("a", &owner));
    assert!(!has("a", &Viewer::anyone()), "its readers are a group");
    sql("INSERT INTO p VALUES ('b', 'Kestrels', 2)");
    wait("a new row", &|| has("b", &owner));
    drop(watchers);
    running.stop().await;
}

#[test]
fn settings_of_a_source_name_what_is_wrong() {
    let check = |toml: &str, expected: &str| {
        let parsed: Result<haversack_serve::Config, _> =
            toml::from_str(&format!("[[sources]]\n{toml}"));
        let mut settings = parsed.unwrap();
        settings.server = config().server;
        let text = match settings.check(false) {
            Ok(()) => "fine".to_owned(),
            Err(error) => error.to_string(),
        };
        assert!(text.contains(expected), "{toml}: {text}");
        assert!(!text.contains("hunter2"), "{text}");
    };
    let query = "workspace = 'w'\nquery = 'select 1 as id'\n";
    check(&format!("{query}database = 'sqlite:x.db'"), "fine");
    check(&format!("{query}database = 'postgres://a@h/d'\ninterval_seconds = 60"), "fine");
    check(&format!("{query}database = 'postgres://a:hunter2@h/d'"), "database_env");
    check(&format!("{query}database = 'mysql://a:hunter2@h/d'"), "postgres:// nor sqlite:");
    check(&format!("{query}database_env = 'NO_SUCH_VARIABLE'"), "NO_SUCH_VARIABLE is not set");
    check(query, "database: name the address");
    check("workspace = 'w'\ndatabase = 'sqlite:x.db'", "query: give the SELECT");
    check(&format!("{query}database = 'sqlite:x.db'\npath = 'docs'"), "give one of them");
    check(&format!("{query}database = 'sqlite:x.db'\ninterval_seconds = 0"), "interval_seconds");
    check("workspace = 'w'", "path: name the folder");
}
