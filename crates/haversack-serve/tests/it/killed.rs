//! Kills a server between writes and their answers, many times, and repeats what was not answered.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use haversack::Engine;
use haversack_core::ids::ItemId;
use haversack_core::item::Kind;
use haversack_serve::Server;
use haversack_store::store::item::Item;
use haversack_store::store::viewer::Viewer;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::repeated::count_useful;
use crate::support::{HttpReply, config, reply};

/// The child's folder; without it the child's test does nothing.
const FOLDER: &str = "SERVED_FOLDER";

/// The file in which the child says where it listens.
const ADDRESS: &str = "address";

const CYCLES: u64 = 24;

/// Requests of one cycle, all at once.
const REQUESTS: u64 = 12;

#[tokio::test(flavor = "multi_thread")]
async fn serves_until_it_is_killed() {
    let Ok(folder) = std::env::var(FOLDER) else { return };
    let folder = Path::new(&folder);
    let engine = Engine::open(folder).unwrap();
    let server = Server::bind(engine, folder, config(), false).await.unwrap();
    let address = server.address().unwrap().to_string();
    let written = folder.join("address.new");
    std::fs::write(&written, address).unwrap();
    std::fs::rename(written, folder.join(ADDRESS)).unwrap();
    server.run(std::future::pending()).await.unwrap();
}

/// Starts a server in a process of its own and waits until it listens.
async fn start(folder: &Path) -> (Child, SocketAddr) {
    let file = folder.join(ADDRESS);
    let _ = std::fs::remove_file(&file);
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "killed::serves_until_it_is_killed", "--nocapture"])
        .env(FOLDER, folder)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    loop {
        if let Ok(address) = std::fs::read_to_string(&file) {
            return (child, address.parse().unwrap());
        }
        assert!(child.try_wait().unwrap().is_none(), "the server did not start");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Sends a request with the key of its number; `None` when the server was killed before its answer.
async fn send(address: SocketAddr, number: u64) -> Option<HttpReply> {
    let (method, path, body) = request(number);
    let bytes = format!(
        "{method} {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\
         idempotency-key: key-{number}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    let mut stream = TcpStream::connect(address).await.ok()?;
    stream.write_all(bytes.as_bytes()).await.ok()?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.ok()?;
    (!answer.is_empty()).then(|| reply(&answer))
}

/// Each number is another request: feedback, an event, an item, or the deletion of one.
fn request(number: u64) -> (&'static str, String, String) {
    let path = |end: &str| format!("/v1/workspaces/acme/{end}");
    let useful = json!({ "contextItemId": "a", "useful": true, "user": "anna" });
    let event = json!({ "events": [{ "item": "a", "happening": "useful", "user": "bob" }] });
    let item = json!({ "id": format!("n{number}"), "kind": "note", "body": "" });
    match number % 4 {
        0 => ("POST", path("feedback"), useful.to_string()),
        1 => ("POST", path("events"), event.to_string()),
        2 => ("POST", path("items"), item.to_string()),
        _ => ("DELETE", path(&format!("items/d{number}")), String::new()),
    }
}

/// P1: whatever is killed when, a repeated request has one effect and gets the answer of the first.
#[tokio::test(flavor = "multi_thread")]
async fn a_kill_between_write_and_answer_repeats_nothing_p1() {
    let folder = tempfile::tempdir().unwrap();
    let revision_before = {
        let engine = Engine::open(folder.path()).unwrap();
        let workspace = engine.workspace("acme").unwrap();
        let note = |id: &str| Item::new(ItemId::new(id).unwrap(), Kind::new("note").unwrap(), "");
        let doomed = (0..CYCLES * REQUESTS).filter(|number| number % 4 == 3);
        let doomed = doomed.map(|number| note(&format!("d{number}")));
        let items = doomed.chain([note("a")]).collect();
        workspace.put(items).await.unwrap().revision.get()
    };
    let mut unanswered = BTreeSet::new();
    let mut repeated = 0;
    for cycle in 0..CYCLES {
        let (mut child, address) = start(folder.path()).await;
        // What was not answered is asked again, and is answered now.
        repeated += unanswered.len();
        for number in std::mem::take(&mut unanswered) {
            let answer = send(address, number).await.expect("nobody kills this one");
            assert_eq!(answer.status, 200, "{number}: {answer:?}");
        }
        let new = cycle * REQUESTS..(cycle + 1) * REQUESTS;
        let sent = new.clone().map(|number| tokio::spawn(send(address, number)));
        let sent: Vec<_> = sent.collect();
        // From before the first write to after the last answer, over all cycles.
        tokio::time::sleep(Duration::from_millis(cycle * 2)).await;
        child.kill().unwrap();
        child.wait().unwrap();
        for (number, sent) in new.zip(sent) {
            match sent.await.unwrap() {
                Some(answer) => assert_eq!(answer.status, 200, "{number}: {answer:?}"),
                None => _ = unanswered.insert(number),
            }
        }
    }
    let (mut child, address) = start(folder.path()).await;
    for number in 0..CYCLES * REQUESTS {
        let answer = send(address, number).await.expect("nobody kills this one");
        assert_eq!(answer.status, 200, "{number}: {answer:?}");
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(repeated > 0, "no kill came in between");
    let engine = Engine::open(folder.path()).unwrap();
    assert_eq!(count_useful(&engine, "a").await, CYCLES * REQUESTS / 2, "{repeated} were repeated");
    let workspace = engine.existing_workspace("acme").unwrap();
    let owner = Viewer::owner();
    let revision = workspace.store().snapshot(&owner).await.unwrap().revision().get();
    assert_eq!(revision - revision_before, CYCLES * REQUESTS / 2, "items and deletions");
}
