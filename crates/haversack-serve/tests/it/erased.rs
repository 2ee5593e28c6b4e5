//! A user who is erased over HTTP is in no file any more (S23).

use std::fs;
use std::path::{Path, PathBuf};

use haversack_serve::audit;
use haversack_serve::who::{ActsAs, Grant, KeyScope};
use serde_json::json;

use crate::support::{HttpReply, Running, all};

const NAME: &str = "annemarie";

/// The files below a folder that hold one of these texts.
fn holders(folder: &Path, texts: &[&str]) -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        if entry.file_type().unwrap().is_dir() {
            found.extend(holders(&entry.path(), texts));
            continue;
        }
        let bytes = fs::read(entry.path()).unwrap();
        let stands = |text: &&&str| bytes.windows(text.len()).any(|at| at == text.as_bytes());
        found.extend(texts.iter().filter(stands).map(|text| (entry.path(), (*text).to_owned())));
    }
    found
}

#[track_caller]
fn ok(reply: HttpReply) -> HttpReply {
    assert!((200..300).contains(&reply.status), "{reply:?}");
    reply
}

/// A key that acts as a user.
fn key_of(server: &Running, name: &str) -> String {
    let acts_as = ActsAs::User { name: name.to_owned(), groups: [].into() };
    server.key(&[KeyScope::Read, KeyScope::Write], Grant::All, acts_as)
}

/// What the user writes and does, and what others do.
async fn live(server: &Running, (hers, bobs, admin): (&str, &str, &str)) {
    let items = |name: &str| format!("/v1/workspaces/{name}/items");
    for workspace in ["acme", "other"] {
        let body = json!({ "name": workspace });
        ok(server.ask("POST", "/v1/workspaces").key(admin).json(&body).send().await);
        for (id, text, readers) in [
            ("diary", "zqdiary of one person alone", json!([NAME])),
            ("notes", "some notes of the whole team", json!(null)),
        ] {
            let mut item = json!({ "id": id, "kind": "note", "body": text });
            if !readers.is_null() {
                item["readers"] = readers;
            }
            let path = items(workspace);
            let ask = server.ask("POST", &path).key(hers).header("idempotency-key", id);
            ok(ask.json(&item).send().await);
        }
        let path = items(workspace);
        let item = json!({ "id": "bobs", "kind": "note", "body": "bob for two", "readers": [NAME, "bob"] });
        ok(server.ask("POST", &path).key(bobs).json(&item).send().await);
    }
    let pack = json!({ "query": "zqdiary of one person", "tokenBudget": 900 });
    let path = "/v1/workspaces/acme/context/everything";
    ok(server.ask("POST", path).key(hers).json(&pack).send().await);
    let useful = json!({ "contextItemId": "notes", "useful": true });
    ok(server.ask("POST", "/v1/workspaces/acme/feedback").key(hers).json(&useful).send().await);
    // A trusted application acts for her, without the right to: a line of the audit log with her name.
    let reader = server.key(&[KeyScope::Read], Grant::All, ActsAs::Trusted);
    let path = items("acme");
    let item = json!({ "id": "x", "kind": "note", "body": "" });
    let refused = server.ask("POST", &path).key(&reader).header("haversack-user", NAME);
    assert_eq!(refused.json(&item).send().await.status, 403);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_user_is_erased_by_one_request_s23() {
    let server = Running::locked().await;
    let admin = server.key(&all(), Grant::All, ActsAs::Trusted);
    let (hers, bobs) = (key_of(&server, NAME), key_of(&server, "bob"));
    live(&server, (&hers, &bobs, &admin)).await;
    let folder = server.folder.path().to_owned();
    let texts = [NAME, "zqdiary"];
    let erase = |key: String, user: &'static str| {
        let server = &server;
        async move {
            let body = json!({ "user": user });
            server.ask("POST", "/v1/users/erase").key(&key).json(&body).send().await
        }
    };
    // Not by a key of a user, nor by one for some workspaces, nor with a name that is none.
    for (key, status) in [
        (hers.clone(), 403),
        (server.key(&all(), Grant::Only(["acme".to_owned()].into()), ActsAs::Trusted), 403),
        (server.key(&all(), Grant::All, ActsAs::Anyone), 403),
    ] {
        assert_eq!(erase(key, NAME).await.status, status);
    }
    assert_eq!(erase(admin.clone(), "a\nb").await.status, 400);
    assert!(holders(&folder, &texts).len() > 4, "{:?}", holders(&folder, &texts));

    let erased = ok(erase(admin.clone(), NAME).await).json();
    assert_eq!(erased["left"], json!([]), "{erased}");
    assert_eq!(erased["keys"], 1);
    assert!(erased["auditLines"].as_u64().unwrap() > 0);
    assert!(erased["filesSearched"].as_u64().unwrap() > 10);
    let done = |workspace: &str, receipts: u64| {
        json!({
            "workspace": workspace, "erased": 1, "kept": 1, "receipts": receipts,
        })
    };
    assert_eq!(erased["workspaces"], json!([done("acme", 1), done("other", 0)]));
    assert_eq!(holders(&folder, &texts), []);

    // Her key is gone; others go on as before.
    assert_eq!(server.ask("GET", "/v1/workspaces/acme").key(&hers).send().await.status, 401);
    let path = "/v1/workspaces/acme/items/bobs";
    let bobs_item = ok(server.ask("GET", path).key(&bobs).send().await);
    assert!(!bobs_item.text.contains(NAME), "{}", bobs_item.text);
    let path = "/v1/workspaces/acme/items/diary";
    assert_eq!(server.ask("GET", path).key(&admin).send().await.status, 404);
    assert!(audit::verify(&folder).unwrap().breaks.is_empty());

    // Again: there is nothing left to erase.
    let again = ok(erase(admin.clone(), NAME).await).json();
    assert_eq!((&again["workspaces"], &again["left"]), (&json!([]), &json!([])), "{again}");

    // What others wrote about her is named, and stays.
    let item = json!({ "id": "about", "kind": "note", "body": "a word about annemarie" });
    ok(server.ask("POST", "/v1/workspaces/acme/items").key(&bobs).json(&item).send().await);
    let left = ok(erase(admin, NAME).await).json()["left"].clone();
    let whys: Vec<&str> =
        left.as_array().unwrap().iter().map(|left| left["why"].as_str().unwrap()).collect();
    assert!(!whys.is_empty() && whys.iter().all(|why| why.contains("item about")), "{left}");
    server.stop().await;
}
