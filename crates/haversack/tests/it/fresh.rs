//! Nothing stale is served (P14), and an empty folder is all that is needed (X4).

use std::process::Command;
use std::sync::Arc;

use haversack::{Engine, Request};
use haversack_core::units::Timestamp;
use haversack_store::store::block_on;
use haversack_store::store::change::{Batch, Change};
use haversack_store::store::query::{Filter, TextSearch};
use haversack_store::store::viewer::Viewer;
use serde_json::json;

use crate::recording::OpenRecorded as _;
use crate::support::{
    NOW, empty_workspace, id, item, ledger_ids, now, pack, packed_ids, sample_workspace,
    user_request,
};

#[tokio::test]
async fn a_recipe_is_compiled_once_and_again_after_it_is_written_p14() {
    let fixture = sample_workspace("memory");
    let source =
        |total: u32| format!("haversack = 1\nextends = \"memory\"\n[budget]\ntotal = {total}\n");
    fixture.put_recipe("brief", &source(100)).await.unwrap();
    let first = fixture.recipe("brief").await.unwrap();
    pack(&fixture, Request::new("brief", "Where does Noor live?")).await;
    let again = fixture.recipe("brief").await.unwrap();
    assert!(Arc::ptr_eq(&first, &again), "it is not read and parsed again");
    fixture.put_recipe("brief", &source(140)).await.unwrap();
    let assembled = pack(&fixture, Request::new("brief", "Where does Noor live?")).await;
    assert_eq!(assembled.core.budget.total().get(), 140);
    // What a recipe extends counts as the recipe itself.
    fixture.put_recipe("memory", &source(90).replace("memory", "everything")).await.unwrap();
    let other = fixture.recipe("brief").await.unwrap();
    assert!(!Arc::ptr_eq(&assembled.recipe, &other));
}

#[tokio::test]
async fn the_latest_profile_and_brand_are_packed_p14() {
    let fixture = sample_workspace("proposal");
    let mut request = user_request("proposal", "Write the summary", "priya");
    request.set_subject("opportunity", Some(id("opp-harrowmere")));
    let profile = packed_ids(&*pack(&fixture, request.clone()).await, "companyProfile").remove(0);
    for summary in ["We build lighthouses.", "We build windmills."] {
        let fields = json!({ "summary": summary });
        fixture.put(vec![item(&profile, "company_profile", "", fields)]).await.unwrap();
        assert!(pack(&fixture, request.clone()).await.text().contains(summary));
    }
    let gone = Batch::new(now(), vec![Change::Delete(id(&profile))]);
    fixture.write(gone).await.unwrap();
    let without = pack(&fixture, request).await;
    assert!(packed_ids(&without, "companyProfile").is_empty(), "{}", without.text());
}

/// For every recipe with a cache: written items are in the next pack.
#[tokio::test]
async fn written_items_are_found_at_once_p14() {
    for (recipe, kind) in
        [("prime", "file"), ("memory", "memory"), ("workspace", "text"), ("everything", "note")]
    {
        let fixture = empty_workspace();
        let request = || user_request(recipe, "Where is the spare key?", "mara");
        for (name, place) in [("one", "blue door"), ("two", "green gate"), ("three", "old well")] {
            let text = format!("The spare key hangs behind the {place}.");
            fixture.put(vec![item(name, kind, &text, json!({}))]).await.unwrap();
            let assembled = pack(&fixture, request()).await;
            assert!(assembled.text().contains(place), "{recipe}: {}", assembled.text());
        }
        let gone = Batch::new(now(), vec![Change::Delete(id("two"))]);
        fixture.write(gone).await.unwrap();
        let assembled = pack(&fixture, request()).await;
        assert!(!assembled.text().contains("green gate"), "{recipe}: {}", assembled.text());
    }
}

/// Items that are imported today keep their own dates.
#[tokio::test]
async fn imported_items_keep_their_own_dates() {
    let fixture = empty_workspace();
    let day = |days: i64| Timestamp::from_millis(NOW - days * 86_400_000);
    let mut old = item("old", "file", "The price of green coffee.", json!({}));
    old.created = Some(day(900));
    let unknown = item("unknown", "file", "The price of roasted coffee.", json!({}));
    fixture.put(vec![old.clone(), unknown]).await.unwrap();
    let updated = async |name: &str| {
        let snapshot = fixture.store().snapshot(&Request::new("", "").viewer).await.unwrap();
        snapshot.get(&[id(name)]).await.unwrap().remove(0).unwrap().item.updated
    };
    assert_eq!(updated("old").await, Some(day(900)));
    assert_eq!(updated("unknown").await, Some(now()), "nobody says how old it is");
    let assembled = pack(&fixture, user_request("prime", "price of coffee", "mara")).await;
    let recency = |name: &str| {
        let mut entries = assembled.pack.ledger.iter();
        let entry = entries.find(|entry| entry.id.to_string() == name).unwrap();
        let part = entry.parts.iter().find(|part| part.component.name() == "recency");
        part.unwrap().value.get()
    };
    assert!(recency("old") < 0.01 && recency("unknown") > 0.99);
    // What was here before and is written anew was changed now.
    old.body.push_str(" It rose.");
    fixture.put(vec![old.clone()]).await.unwrap();
    assert_eq!(updated("old").await, Some(now()));
    assert_eq!(fixture.put(vec![old]).await.unwrap().unchanged, 1);
    assert!(fixture.blocking_store().check(false).await.unwrap().is_sound());
}

#[tokio::test]
async fn dropping_engine_and_workspaces_unlocks_the_folder() {
    let folder = tempfile::tempdir().unwrap();
    for round in 0..3 {
        let engine = Engine::builder().clock(now).open_recorded(folder.path()).unwrap();
        let workspace = engine.workspace("test").unwrap();
        drop(engine);
        let note = item(&format!("note-{round}"), "note", "A note on keys.", json!({}));
        workspace.put(vec![note]).await.unwrap();
        let assembled = pack(&workspace, Request::new("everything", "keys")).await;
        assert_eq!(ledger_ids(&assembled, "found").len(), round + 1);
        workspace.flush().await;
    }
}

/// Run by [`an_empty_environment_and_a_folder_are_enough_x4`], in a process of its own without an environment.
#[tokio::test]
async fn every_recipe_answers_in_a_fresh_folder_x4() {
    let folder = tempfile::tempdir().unwrap();
    let engine = Engine::open(folder.path().join("made/on/the/way")).unwrap();
    let workspace = engine.workspace("w").unwrap();
    let note = |kind: &str| item(&format!("a-{kind}"), kind, "Green tea at four.", json!({}));
    workspace.put(["note", "file", "memory", "text"].map(note).to_vec()).await.unwrap();
    for recipe in ["everything", "prime", "memory", "workspace"] {
        let assembled = pack(&workspace, Request::new(recipe, "When is tea?")).await;
        assert!(assembled.text().contains("Green tea"), "{recipe}: {}", assembled.text());
        assert!(!assembled.is_degraded(), "{recipe}: {:?}", assembled.notices);
    }
    let context = json!({ "metadata": { "name": "Tea", "type": "task" } });
    let deal = json!({ "name": "Tea house" });
    workspace
        .put(vec![item("c", "context", "", context), item("o", "opportunity", "", deal)])
        .await
        .unwrap();
    let situation = Request { context: Some(id("c")), ..Request::new("situation", "Make tea") };
    assert!(pack(&workspace, situation).await.text().contains("Tea"));
    let proposal = Request::new("proposal", "Write").about("opportunity", id("o"));
    assert!(!pack(&workspace, proposal).await.is_degraded());
}

/// No environment variable, key or service is needed: the environment is empty and, where the system
/// allows it, there is no network.
#[test]
fn an_empty_environment_and_a_folder_are_enough_x4() {
    let this = std::env::current_exe().unwrap();
    let test = "fresh::every_recipe_answers_in_a_fresh_folder_x4";
    let run = |mut command: Command| command.env_clear().args(["--exact", test]).output();
    let bare = run(Command::new(&this)).unwrap();
    let said = String::from_utf8_lossy(&bare.stdout).into_owned();
    assert!(bare.status.success() && said.contains("1 passed"), "{said}");
    let mut alone = Command::new("unshare");
    alone.args(["--user", "--net", "--"]).arg(&this);
    // A system that cannot take the network away has shown what it can.
    if let Ok(output) = run(alone)
        && !String::from_utf8_lossy(&output.stderr).contains("unshare")
    {
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success() && said.contains("1 passed"), "{said}");
    }
}

/// Reads that block a thread of tokio end, however many there are: tokio's budget of polls does not stop
/// them. (Without that, the 129th would spin for ever.)
#[tokio::test]
async fn blocking_reads_on_a_runtime_thread_end() {
    let fixture = sample_workspace("memory");
    let snapshot = fixture.blocking_store().snapshot(&Viewer::owner()).await.unwrap();
    for _ in 0..300 {
        let search = TextSearch {
            query: "Noor".to_owned(),
            unfinished: false,
            all_words: false,
            filter: Filter::default(),
            limit: 1,
        };
        assert_eq!(block_on(snapshot.search_text(&search)).unwrap().len(), 1);
    }
}
