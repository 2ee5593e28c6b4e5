//! Summaries by a model (W8): made in the background, kept with the texts they are of, cited as summaries.

use std::sync::Arc;
use std::time::Duration;

use haversack::pipeline::Assembled;
use haversack::{Engine, NoticeCode, Request, Workspace};
use haversack_core::ids::ItemId;
use haversack_core::item::Trust;
use haversack_store::store::item::Item;
use haversack_store::store::viewer::{Principal, Readers, Viewer};

use crate::models::{FakeProvider, item};

const SUMMARISE: &str = "[models.summarise]\nprovider = \"p\"\nmodel = \"s\"\n";
const SUMMARY: &str = "In short: nine rooms were painted";

fn id(name: &str) -> ItemId {
    ItemId::new(name).unwrap()
}

fn child(name: &str, kind: &str, parent: &str, position: i64, text: &str) -> Item {
    Item { parent: Some(id(parent)), position, ..item(name, kind, text) }
}

fn only(user: &str) -> Readers {
    Readers::Only([Principal::user(user).unwrap()].into())
}

/// A page of sixty paragraphs, one of which only Anna may read, with another under it.
async fn put_page(workspace: &Workspace) {
    let mut page = item("house", "page", "");
    page.title = "The house".to_owned();
    let mut items = vec![page];
    for n in 0..60 {
        let text = format!(
            "Room {n} was painted in spring by two people, and its floor was sanded twice."
        );
        items.push(child(&format!("p{n}"), "text", "house", n, &text));
    }
    let mut secret = child("secret", "text", "house", 100, "The safe opens with 4711.");
    (secret.readers, secret.trust) = (only("anna"), Trust::External);
    items.push(secret);
    items.push(child("below", "text", "secret", 1, "And with 1234 on Sundays."));
    workspace.put(items).await.unwrap();
}

fn about_page() -> Request {
    let mut request = Request::new("workspace", "summarise this page").within(900);
    request.page = Some(id("house"));
    request
}

async fn pack(workspace: &Workspace, request: Request) -> Arc<Assembled> {
    let pack = workspace.pack(request).await.unwrap();
    workspace.flush().await;
    pack
}

fn misses_summary(pack: &Assembled) -> bool {
    pack.notices.iter().any(|notice| notice.code == NoticeCode::NotSummarised)
}

fn wait(engine: &Engine) {
    assert!(engine.wait_for_summaries(Duration::from_secs(60)), "the summaries are not made");
}

#[tokio::test]
async fn a_page_gets_a_summary_of_what_all_its_readers_may_read_w8_w12() {
    let (provider, folder) = (FakeProvider::start(), tempfile::tempdir().unwrap());
    let engine = provider.engine(&folder, SUMMARISE);
    let workspace = engine.workspace("home").unwrap();
    put_page(&workspace).await;
    // A preview leaves nothing behind.
    let preview = pack(&workspace, Request { keep: false, ..about_page() }).await;
    assert!(misses_summary(&preview));
    wait(&engine);
    assert!(provider.summarised().is_empty());
    let before = pack(&workspace, about_page()).await;
    assert!(misses_summary(&before) && !before.text().contains(SUMMARY), "{}", before.text());
    wait(&engine);
    let asked = provider.summarised();
    assert!(asked.len() == 1 && asked[0].contains("Room 59"), "{asked:?}");
    assert!(!asked[0].contains("4711") && !asked[0].contains("1234"), "{asked:?}");
    // The owner and a user who cannot read all of the page see the same summary, as a summary.
    let mut guest = about_page();
    guest.viewer = Viewer::user("ben").unwrap();
    for request in [about_page(), guest] {
        let after = pack(&workspace, request).await;
        let text = after.text();
        assert!(text.contains("(Summary of this page by s@p) In short"), "{text}");
        assert!(!misses_summary(&after));
        assert!(after.pack.tokens.get() <= 900);
    }
    assert_eq!(provider.summarised().len(), 1, "it is made once");
    let found =
        workspace.pack(Request::new("everything", "cellar damp").within(500)).await.unwrap();
    assert!(!found.text().contains("cellar"), "summaries are not searched: {}", found.text());
    for receipt in [before.receipt(), pack(&workspace, about_page()).await.receipt()] {
        let replay = workspace.replay(&receipt, &Viewer::owner()).await.unwrap();
        assert!(replay.difference.same, "{:?}", replay.difference);
    }
    // A changed text makes the summary useless, and a new one is made.
    workspace.put(vec![child("p7", "text", "house", 7, "Room 7 was torn down.")]).await.unwrap();
    let changed = pack(&workspace, about_page()).await;
    assert!(misses_summary(&changed) && !changed.text().contains(SUMMARY));
    wait(&engine);
    assert_eq!(provider.summarised().len(), 2);
    assert!(pack(&workspace, about_page()).await.text().contains(SUMMARY));
}

#[tokio::test]
async fn the_earlier_part_of_a_conversation_is_summarised_w8() {
    let (provider, folder) = (FakeProvider::start(), tempfile::tempdir().unwrap());
    let engine = provider.engine(&folder, SUMMARISE);
    let workspace = engine.workspace("home").unwrap();
    let mut items = vec![item("talk", "thread", "")];
    for n in 0..45 {
        let mut message =
            child(&format!("m{n:02}"), "message", "talk", n, &format!("We speak about room {n}."));
        message.created = Some(haversack_core::units::Timestamp::from_millis(1_000 * (n + 1)));
        items.push(message);
    }
    workspace.put(items).await.unwrap();
    let request = || {
        let mut request = Request::new("prime", "What did we say about the rooms?").within(3_000);
        request.set_subject("thread", Some(id("talk")));
        request
    };
    let before = pack(&workspace, request()).await;
    assert!(before.text().contains("room 44") && misses_summary(&before), "{}", before.text());
    wait(&engine);
    let asked = provider.summarised();
    assert!(asked.len() == 1 && asked[0].contains("room 0."), "{asked:?}");
    let after = pack(&workspace, request()).await;
    let text = after.text();
    let summary = text.find("(Summary of the first 25 messages by s@p) In short").expect(text);
    assert!(summary < text.find("room 44").unwrap(), "it stands before the later messages: {text}");
    // A few further messages still go with it; many make a new one.
    let later = |n: i64| child(&format!("m{n}"), "message", "talk", n, "One more word.");
    workspace.put((45..50).map(later).collect()).await.unwrap();
    assert!(pack(&workspace, request()).await.text().contains("the first 25 messages"));
    workspace.put((50..70).map(later).collect()).await.unwrap();
    pack(&workspace, request()).await;
    wait(&engine);
    assert_eq!(provider.summarised().len(), 2);
}

pub(crate) const SHORT: &str = r#"
haversack = 1
[[layer]]
name = "notes"
title = "Notes"
cut = "summarize"
share = 1.0
collect = [{ by = "hybrid", limit = 20 }]
"#;

#[tokio::test]
async fn a_text_that_does_not_fit_gives_way_to_its_summary_w8() {
    let (provider, folder) = (FakeProvider::start(), tempfile::tempdir().unwrap());
    let engine = provider.engine(&folder, SUMMARISE);
    let workspace = engine.workspace("home").unwrap();
    let long: String =
        (0..80).map(|n| format!("On day {n} the painters worked in the hall. ")).collect();
    let mut note = item("diary", "note", &long);
    note.title = "Diary of the painters".to_owned();
    workspace.put(vec![note]).await.unwrap();
    workspace.put_recipe("short", SHORT).await.unwrap();
    let request = |budget| Request::new("short", "painters").within(budget);
    let before = pack(&workspace, request(200)).await;
    assert!(misses_summary(&before));
    wait(&engine);
    let after = pack(&workspace, request(200)).await;
    assert!(after.text().contains("(Summary of this text by s@p) In short"), "{}", after.text());
    assert!(!after.text().contains("On day 0"), "{}", after.text());
    // With room for the text itself there is no summary.
    let whole = pack(&workspace, request(2_000)).await;
    assert!(whole.text().contains("On day 79") && !whole.text().contains(SUMMARY));
}

#[tokio::test]
async fn a_summary_that_fails_is_not_asked_for_at_every_pack_w8() {
    let (provider, folder) = (FakeProvider::start(), tempfile::tempdir().unwrap());
    let engine = provider.engine(&folder, SUMMARISE);
    let workspace = engine.workspace("home").unwrap();
    put_page(&workspace).await;
    provider.fail();
    for _ in 0..3 {
        let pack = pack(&workspace, about_page()).await;
        assert!(misses_summary(&pack));
        wait(&engine);
    }
    assert_eq!(provider.summarised().len(), 1);
}

#[tokio::test]
async fn without_a_model_pages_have_no_summary_and_nothing_is_looked_up_w8() {
    let folder = tempfile::tempdir().unwrap();
    let workspace = Engine::open(folder.path()).unwrap().workspace("home").unwrap();
    put_page(&workspace).await;
    let pack = pack(&workspace, about_page()).await;
    assert!(!misses_summary(&pack) && !pack.text().contains("Summary of"), "{}", pack.text());
}
