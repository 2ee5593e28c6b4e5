//! X8: files that are uploaded, and folders that the server watches.

use std::time::{Duration, Instant};

use haversack_core::ids::ItemId;
use haversack_serve::sources::{Source, SourceWatchers};
use haversack_serve::who::{ActsAs, Grant, KeyScope};
use haversack_store::store::block_on;
use haversack_store::store::viewer::Viewer;
use serde_json::json;

use crate::support::{Running, config};

const FILES: &str = "/v1/workspaces/acme/files";

#[tokio::test(flavor = "multi_thread")]
async fn a_file_is_read_under_its_name_and_replaced_by_the_next_x8() {
    let running = Running::start().await;
    running.engine.workspace("acme").unwrap();
    let path = format!("{FILES}?name=notes/plan.md");
    let upload = |body: &'static [u8]| {
        let ask = running.ask("POST", &path).header("content-type", "application/octet-stream");
        ask.body(body).send()
    };
    let first = upload(b"# Plan\n\nThe well is dug in June.\n").await;
    assert_eq!((first.status, first.json()["stored"].clone()), (200, json!(1)), "{first:?}");
    let again = upload(b"# Plan\n\nThe well is dug in June.\n").await.json();
    assert_eq!((&again["stored"], &again["unchanged"]), (&json!(0), &json!(1)));
    upload(b"# Plan\n\nThe well is dug in July.\n").await;
    let item = running.get("/v1/workspaces/acme/items/notes%2Fplan.md").await.json();
    assert_eq!(item["title"], "Plan");
    assert!(item["body"].as_str().unwrap().contains("July"), "{item}");
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_form_brings_several_files_and_names_those_that_cannot_be_read_x8() {
    let running = Running::start().await;
    running.engine.workspace("acme").unwrap();
    let form = b"--xyz\r\ncontent-disposition: form-data; name=\"note\"\r\n\r\nnot a file\r\n\
        --xyz\r\ncontent-disposition: form-data; name=\"file\"; filename=\"rows.csv\"\r\n\r\n\
        name,town\nAnna,Oslo\nBen,Bergen\n\r\n\
        --xyz\r\ncontent-disposition: form-data; name=\"file\"; filename=\"photo.png\"\r\n\r\n\
        \x89PNG\r\n\0\0\r\n--xyz--\r\n";
    let kind = "multipart/form-data; boundary=xyz";
    let reply = running.ask("POST", FILES).header("content-type", kind).body(form).send().await;
    let added = reply.json();
    assert_eq!((reply.status, &added["stored"]), (200, &json!(2)), "{added}");
    let skipped = added["skipped"][0].as_str().unwrap();
    assert!(skipped.starts_with("photo.png: binary"), "{skipped}");
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn bad_uploads_are_refused_and_leave_nothing_x8() {
    let mut config = config();
    config.limits.stream_bytes = 1_000;
    let running = Running::with(config).await;
    running.engine.workspace("acme").unwrap();
    let send = |path: String, kind: &'static str, body: Vec<u8>| {
        let running = &running;
        async move { running.ask("POST", &path).header("content-type", kind).body(&body).send().await }
    };
    let plain = "application/octet-stream";
    for name in ["..%2Fup.md", "%2Fabs.md", "a%2F%2Fb.md", "x%0Ay.md", ""] {
        let reply = send(format!("{FILES}?name={name}"), plain, b"text".to_vec()).await;
        assert_eq!((reply.status, reply.json()["field"].clone()), (400, json!("name")), "{name}");
    }
    let unnamed = send(FILES.to_owned(), plain, b"text".to_vec()).await;
    assert!(unnamed.text.contains("?name=report.pdf"), "{}", unnamed.text);
    let long = send(format!("{FILES}?name=a.md"), plain, vec![b'x'; 2_000]).await;
    assert_eq!((long.status, long.code().as_str()), (413, "too_large"));
    let form = "multipart/form-data; boundary=xyz";
    let broken = send(FILES.to_owned(), form, b"--xyz\r\nnonsense".to_vec()).await;
    assert_eq!(broken.status, 400, "{}", broken.text);
    let empty = send(FILES.to_owned(), form, b"--xyz--\r\n".to_vec()).await;
    assert!(empty.text.contains("has no file"), "{}", empty.text);
    let items = running.get("/v1/workspaces/acme/items").await.json();
    assert_eq!(items["items"], json!([]));
    running.stop().await;
}

/// A user's file has the user's rights: it overwrites nothing that the user cannot read (X11).
#[tokio::test(flavor = "multi_thread")]
async fn an_upload_overwrites_nothing_that_its_user_cannot_read_x11() {
    let running = Running::locked().await;
    running.engine.workspace("acme").unwrap();
    let key = running.key(&[KeyScope::Write, KeyScope::Read], Grant::All, ActsAs::Trusted);
    let secret =
        json!([{ "id": "plan.md", "kind": "file", "body": "secret", "readers": ["user:anna"] }]);
    let stored =
        running.ask("POST", "/v1/workspaces/acme/items").key(&key).json(&secret).send().await;
    assert_eq!(stored.status, 200, "{}", stored.text);
    let ask = running.ask("POST", "/v1/workspaces/acme/files?name=plan.md").key(&key);
    let ask = ask.header("haversack-user", "ben").header("content-type", "text/markdown");
    let reply = ask.body(b"mine now").send().await;
    let item = running.ask("GET", "/v1/workspaces/acme/items/plan.md").key(&key);
    let item = item.header("haversack-user", "anna").send().await.json();
    assert_eq!(item["body"], "secret", "{}", reply.text);
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_source_is_kept_like_its_folder_x8() {
    let running = Running::start().await;
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a.md"), "# A\n\nHerons nest here.\n").unwrap();
    let source = Source {
        path: folder.path().to_owned(),
        workspace: "birds".to_owned(),
        ..Source::default()
    };
    let watchers = SourceWatchers::start(&running.engine, &[source]).unwrap();
    let workspace = running.engine.workspace("birds").unwrap();
    let name = folder.path().file_name().unwrap().to_str().unwrap();
    let has = |file: &str| {
        let id = ItemId::new(&format!("{name}/{file}")).unwrap();
        let snapshot = block_on(workspace.blocking_store().snapshot(&Viewer::owner())).unwrap();
        block_on(snapshot.exist(&[id])).unwrap() == [true]
    };
    let wait = |what: &str, done: &dyn Fn() -> bool| {
        let until = Instant::now() + Duration::from_secs(60);
        while !done() {
            assert!(Instant::now() < until, "{what}");
            std::thread::yield_now();
        }
    };
    wait("the first look", &|| has("a.md"));
    std::fs::write(folder.path().join("b.md"), "# B\n\nKestrels hunt there.\n").unwrap();
    wait("a new file", &|| has("b.md"));
    std::fs::remove_file(folder.path().join("a.md")).unwrap();
    wait("a deleted file", &|| !has("a.md"));
    drop(watchers);
    running.stop().await;
}
