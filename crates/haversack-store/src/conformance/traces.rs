//! What happened to items, and named documents.

use std::sync::Arc;

use super::{at, cases, id, item, only, user, view, write, write_items};
use crate::store::Store;
use crate::store::change::{Batch, Change};
use crate::store::item::{Event, Happening, Record, Shelf};
use crate::store::query::Usage;
use crate::store::viewer::Viewer;

cases![events_add_up, what_is_recent_comes_first, records_have_shelves, old_receipts_go];

fn event(name: &str, user: &str, happening: Happening, millis: i64) -> Change {
    Change::Note(Event { item: id(name), user: user.to_owned(), happening, at: at(millis) })
}

async fn events_add_up(store: Arc<dyn Store>) {
    write_items(&store, 1, vec![item("a", ""), only(&["anna"], item("secret", ""))]).await;
    let events = vec![
        event("a", "anna", Happening::Viewed, 10),
        event("a", "bob", Happening::Viewed, 30),
        event("a", "anna", Happening::Viewed, 20),
        event("a", "anna", Happening::Useful, 20),
        event("secret", "anna", Happening::Viewed, 20),
        event("not there", "anna", Happening::Viewed, 20),
    ];
    write(&store, 2, events).await;
    let ids = [id("a"), id("secret"), id("not there")];
    let bob = view(&store, &user("bob")).await;
    let usage = |happening, count, last| Usage { item: id("a"), happening, count, last: at(last) };
    let all = [usage(Happening::Useful, 1, 20), usage(Happening::Viewed, 3, 30)];
    assert_eq!(bob.usage(&ids, None).await.unwrap(), all);
    let bobs = [usage(Happening::Viewed, 1, 30)];
    assert_eq!(bob.usage(&ids, Some("bob")).await.unwrap(), bobs);
    let anna = view(&store, &user("anna")).await;
    assert_eq!(anna.usage(&ids, Some("anna")).await.unwrap().len(), 3);
    assert_eq!(anna.usage(&ids, Some("carl")).await.unwrap(), []);
}

async fn what_is_recent_comes_first(store: Arc<dyn Store>) {
    let items = vec![item("a", ""), item("b", ""), item("c", ""), only(&[], item("secret", ""))];
    write_items(&store, 1, items).await;
    let viewed = [("b", 10), ("a", 10), ("c", 30), ("secret", 40), ("b", 5)];
    let events = viewed.map(|(name, at)| event(name, "anna", Happening::Viewed, at));
    write(&store, 2, events.to_vec()).await;
    let anna = view(&store, &user("anna")).await;
    let recent = async |happening, since, limit| -> Vec<String> {
        let found = anna.recent("anna", happening, at(since), limit).await.unwrap();
        found.into_iter().map(|usage| usage.item.to_string()).collect()
    };
    assert_eq!(recent(Happening::Viewed, 0, 10).await, ["c", "a", "b"]);
    assert_eq!(recent(Happening::Viewed, 0, 2).await, ["c", "a"]);
    assert_eq!(recent(Happening::Viewed, 11, 10).await, ["c"]);
    assert_eq!(recent(Happening::Used, 0, 10).await, [] as [&str; 0]);
    // Who writes an item edits it.
    let mut batch = Batch::put(at(50), vec![item("c", "new"), item("a", "new")]);
    batch.author = Some("anna".to_owned());
    store.write(batch).await.unwrap();
    let anna = view(&store, &user("anna")).await;
    let edited = anna.recent("anna", Happening::Edited, at(0), 10).await.unwrap();
    let edited: Vec<&str> = edited.iter().map(|usage| usage.item.as_str()).collect();
    assert_eq!(edited, ["a", "c"]);
}

fn record(shelf: Shelf, name: &str, text: &str, millis: i64) -> Record {
    Record { shelf, name: name.to_owned(), text: text.to_owned(), at: at(millis) }
}

async fn records_have_shelves(store: Arc<dyn Store>) {
    let records = [
        record(Shelf::Template, "b", "one", 1),
        record(Shelf::Template, "a", "two", 1),
        record(Shelf::Ranker, "a", "three", 1),
        record(Shelf::Template, "b", "four", 2),
    ];
    write(&store, 1, records.iter().cloned().map(Change::Write).collect()).await;
    let view_now = async || view(&store, &Viewer::anyone()).await;
    let now = view_now().await;
    assert_eq!(now.record(Shelf::Template, "b").await.unwrap().as_ref(), Some(&records[3]));
    assert_eq!(now.record(Shelf::Recipe, "b").await.unwrap(), None);
    assert_eq!(now.records(Shelf::Template, None, 10).await.unwrap(), ["a", "b"]);
    assert_eq!(now.records(Shelf::Template, Some("a"), 10).await.unwrap(), ["b"]);
    assert_eq!(now.records(Shelf::Template, None, 1).await.unwrap(), ["a"]);
    write(&store, 2, vec![Change::Remove(Shelf::Template, "a".to_owned())]).await;
    let now = view_now().await;
    assert_eq!(now.records(Shelf::Template, None, 10).await.unwrap(), ["b"]);
    assert!(now.record(Shelf::Ranker, "a").await.unwrap().is_some());
}

async fn old_receipts_go(store: Arc<dyn Store>) {
    let receipt = |n: i64| Change::Write(record(Shelf::Receipt, &format!("r{n:06}"), "", n));
    write(&store, 1, (0..10_000).map(receipt).collect()).await;
    write(&store, 2, (10_000..10_003).map(receipt).collect()).await;
    let view = view(&store, &Viewer::anyone()).await;
    let first = view.records(Shelf::Receipt, None, 1).await.unwrap();
    assert_eq!(first, ["r000003"], "the oldest go first");
    let last = view.records(Shelf::Receipt, Some("r010001"), 10).await.unwrap();
    assert_eq!(last, ["r010002"]);
}
