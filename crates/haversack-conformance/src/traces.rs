//! Events on items, and named documents.

use std::sync::Arc;

use super::{at, cases, id, item, only, put, user, view, write, write_items};
use haversack_store::store::Store;
use haversack_store::store::change::{Batch, Change, CommitReport};
use haversack_store::store::item::{DocumentKind, Event, EventKind, Record};
use haversack_store::store::query::Usage;
use haversack_store::store::viewer::Viewer;

cases![
    events_add_up,
    recent_items_are_ordered_by_last_event,
    events_after_the_moment_do_not_count,
    events_and_records_make_no_revision,
    the_activity_number_changes_with_visible_events,
    records_are_separated_by_document_kind,
    the_oldest_receipts_are_removed,
];

fn event(name: &str, user: &str, event_kind: EventKind, millis: i64) -> Change {
    Change::AddEvent(Event { item: id(name), user: user.to_owned(), event_kind, at: at(millis) })
}

async fn events_add_up(store: Arc<dyn Store>) {
    write_items(&store, 1, vec![item("a", ""), only(&["anna"], item("secret", ""))]).await;
    let events = vec![
        event("a", "anna", EventKind::Viewed, 10),
        event("a", "bob", EventKind::Viewed, 30),
        event("a", "anna", EventKind::Viewed, 20),
        event("a", "anna", EventKind::Useful, 20),
        event("secret", "anna", EventKind::Viewed, 20),
        event("not there", "anna", EventKind::Viewed, 20),
    ];
    write(&store, 2, events).await;
    let ids = [id("a"), id("secret"), id("not there")];
    let bob = view(&store, &user("bob")).await;
    let usage =
        |event_kind, count, last| Usage { item: id("a"), event_kind, count, last: at(last) };
    let all = [usage(EventKind::Useful, 1, 20), usage(EventKind::Viewed, 3, 30)];
    assert_eq!(bob.usage(&ids, None, None).await.unwrap(), all);
    let bobs = [usage(EventKind::Viewed, 1, 30)];
    assert_eq!(bob.usage(&ids, Some("bob"), None).await.unwrap(), bobs);
    let anna = view(&store, &user("anna")).await;
    assert_eq!(anna.usage(&ids, Some("anna"), None).await.unwrap().len(), 3);
    assert_eq!(anna.usage(&ids, Some("carl"), None).await.unwrap(), []);
}

async fn recent_items_are_ordered_by_last_event(store: Arc<dyn Store>) {
    let items = vec![item("a", ""), item("b", ""), item("c", ""), only(&[], item("secret", ""))];
    write_items(&store, 1, items).await;
    let viewed = [("b", 10), ("a", 10), ("c", 30), ("secret", 40), ("b", 5)];
    let events = viewed.map(|(name, at)| event(name, "anna", EventKind::Viewed, at));
    write(&store, 2, events.to_vec()).await;
    let anna = view(&store, &user("anna")).await;
    let recent = async |event_kind, since, limit| -> Vec<String> {
        let found = anna.recent("anna", event_kind, at(since), None, limit).await.unwrap();
        found.into_iter().map(|usage| usage.item.to_string()).collect()
    };
    assert_eq!(recent(EventKind::Viewed, 0, 10).await, ["c", "a", "b"]);
    assert_eq!(recent(EventKind::Viewed, 0, 2).await, ["c", "a"]);
    assert_eq!(recent(EventKind::Viewed, 11, 10).await, ["c"]);
    assert_eq!(recent(EventKind::Used, 0, 10).await, [] as [&str; 0]);
    // Writing an item counts as editing it.
    let mut batch = Batch::put(at(50), vec![item("c", "new"), item("a", "new")]);
    batch.author = Some("anna".to_owned());
    store.write(batch).await.unwrap();
    let anna = view(&store, &user("anna")).await;
    let edited = anna.recent("anna", EventKind::Edited, at(0), None, 10).await.unwrap();
    let edited: Vec<&str> = edited.iter().map(|usage| usage.item.as_str()).collect();
    assert_eq!(edited, ["a", "c"]);
}

async fn events_after_the_moment_do_not_count(store: Arc<dyn Store>) {
    let items = ["a", "b", "c"].map(|name| item(name, ""));
    let secret = only(&["bob"], item("secret", ""));
    write_items(&store, 1, items.into_iter().chain([secret]).collect()).await;
    let viewed = [("a", "anna", 10), ("a", "bob", 20), ("a", "anna", 30), ("b", "anna", 20)];
    let later = [("a", "anna", 50), ("c", "anna", 40), ("secret", "anna", 15)];
    let events = viewed.into_iter().chain(later);
    let events = events.map(|(name, user, at)| event(name, user, EventKind::Viewed, at));
    write(&store, 2, events.collect()).await;
    let mut batch = Batch::put(at(60), vec![item("b", "new")]);
    batch.author = Some("anna".to_owned());
    store.write(batch).await.unwrap();
    let anna = view(&store, &user("anna")).await;
    let shown = |usages: Vec<Usage>| {
        let line = |usage: Usage| {
            let last = usage.last.as_millis();
            format!("{} {} times, last at {last}", usage.item, usage.count)
        };
        usages.into_iter().map(line).collect::<Vec<_>>()
    };
    let recent = async |event_kind, since, until, limit| {
        shown(anna.recent("anna", event_kind, at(since), Some(at(until)), limit).await.unwrap())
    };
    let a_at_30 = "a 2 times, last at 30";
    let b_at_20 = "b 1 times, last at 20";
    assert_eq!(recent(EventKind::Viewed, 0, 30, 10).await, [a_at_30, b_at_20]);
    assert_eq!(recent(EventKind::Viewed, 0, 30, 1).await, [a_at_30]);
    assert_eq!(recent(EventKind::Viewed, 25, 49, 10).await, ["c 1 times, last at 40", a_at_30]);
    assert_eq!(recent(EventKind::Viewed, 0, 29, 10).await, [b_at_20, "a 1 times, last at 10"]);
    assert_eq!(recent(EventKind::Viewed, 11, 19, 10).await, [] as [&str; 0]);
    assert_eq!(recent(EventKind::Viewed, 0, 9, 10).await, [] as [&str; 0]);
    assert_eq!(recent(EventKind::Edited, 0, 59, 10).await, [] as [&str; 0]);
    assert_eq!(recent(EventKind::Edited, 0, 60, 10).await, ["b 1 times, last at 60"]);
    let ids = ["a", "b", "c", "secret"].map(id);
    let usage = async |user, until| shown(anna.usage(&ids, user, Some(at(until))).await.unwrap());
    assert_eq!(usage(None, 9).await, [] as [&str; 0]);
    assert_eq!(usage(None, 29).await, ["a 2 times, last at 20", b_at_20]);
    assert_eq!(usage(Some("anna"), 29).await, ["a 1 times, last at 10", b_at_20]);
    assert_eq!(usage(None, 49).await, ["a 3 times, last at 30", b_at_20, "c 1 times, last at 40"]);
    assert_eq!(usage(None, 99).await, shown(anna.usage(&ids, None, None).await.unwrap()));
}

async fn events_and_records_make_no_revision(store: Arc<dyn Store>) {
    let first = write_items(&store, 1, vec![item("a", "amber")]).await.revision;
    let template = || record(DocumentKind::Template, "t", "text", 2);
    let viewed = || event("a", "anna", EventKind::Viewed, 2);
    let quiet = [
        vec![viewed()],
        vec![event("not there yet", "anna", EventKind::Used, 2)],
        vec![Change::PutRecord(template()), viewed()],
        vec![Change::RemoveRecord(DocumentKind::Template, "t".to_owned())],
        vec![Change::RemoveRecord(DocumentKind::Template, "none".to_owned())],
    ];
    let before = view(&store, &Viewer::anyone()).await;
    for changes in quiet {
        let done = write(&store, 2, changes).await;
        assert_eq!(done, CommitReport { revision: first, ..CommitReport::default() });
    }
    for view in [before, view(&store, &Viewer::anyone()).await] {
        assert_eq!(view.revision(), first);
        assert_eq!(view.usage(&[id("a")], None, None).await.unwrap()[0].count, 2);
    }
    let mixed = write(&store, 3, vec![viewed(), put(item("b", "basil"))]).await.revision;
    assert_eq!(mixed, first.next());
    assert_eq!(write(&store, 4, vec![viewed()]).await.revision, mixed);
    // Events recorded before an item exists are kept for it.
    write_items(&store, 5, vec![item("not there yet", "")]).await;
    let now = view(&store, &Viewer::anyone()).await;
    assert_eq!(now.usage(&[id("not there yet")], None, None).await.unwrap()[0].count, 1);
    assert_eq!(now.usage(&[id("a")], None, None).await.unwrap()[0].count, 4);
    let then = store.as_of(&Viewer::anyone(), at(2)).await.unwrap();
    assert_eq!(then.revision(), first);
}

async fn the_activity_number_changes_with_visible_events(store: Arc<dyn Store>) {
    write_items(&store, 1, vec![item("a", "")]).await;
    let activity = async || view(&store, &Viewer::anyone()).await.activity();
    let mut last = activity().await;
    for event_kind in EventKind::ALL {
        let before = view(&store, &Viewer::anyone()).await;
        write(&store, 2, vec![event("a", "anna", event_kind, 2)]).await;
        let now = activity().await;
        assert_eq!(now != last, event_kind != EventKind::Used, "{event_kind:?}");
        assert_eq!(before.activity(), last, "a snapshot stays what it is");
        last = now;
    }
    write(&store, 3, vec![Change::PutRecord(record(DocumentKind::Receipt, "r", "", 3))]).await;
    write_items(&store, 3, vec![item("a", "new")]).await;
    assert_eq!(activity().await, last);
    let noted = event("a", "anna", EventKind::Viewed, 4);
    write(&store, 4, vec![put(item("b", "")), noted.clone()]).await;
    assert_ne!(activity().await, last, "beside an item, too");
    // A purge removes events; later ones still change the number.
    last = activity().await;
    write(&store, 5, vec![Change::Purge(id("a"))]).await;
    write(&store, 6, vec![put(item("a", "")), noted]).await;
    assert_ne!(activity().await, last);
    // Events on hidden items do not change the number.
    last = activity().await;
    let hidden = put(only(&["anna"], item("hers", "")));
    write(&store, 7, vec![hidden, event("hers", "anna", EventKind::Viewed, 7)]).await;
    assert_eq!(activity().await, last);
}

fn record(document_kind: DocumentKind, name: &str, text: &str, millis: i64) -> Record {
    Record { document_kind, name: name.to_owned(), text: text.to_owned(), at: at(millis) }
}

async fn records_are_separated_by_document_kind(store: Arc<dyn Store>) {
    let records = [
        record(DocumentKind::Template, "b", "one", 1),
        record(DocumentKind::Template, "a", "two", 1),
        record(DocumentKind::Ranker, "a", "three", 1),
        record(DocumentKind::Template, "b", "four", 2),
    ];
    write(&store, 1, records.iter().cloned().map(Change::PutRecord).collect()).await;
    let view_now = async || view(&store, &Viewer::anyone()).await;
    let now = view_now().await;
    assert_eq!(now.record(DocumentKind::Template, "b").await.unwrap().as_ref(), Some(&records[3]));
    assert_eq!(now.record(DocumentKind::Recipe, "b").await.unwrap(), None);
    assert_eq!(now.records(DocumentKind::Template, None, 10).await.unwrap(), ["a", "b"]);
    assert_eq!(now.records(DocumentKind::Template, Some("a"), 10).await.unwrap(), ["b"]);
    assert_eq!(now.records(DocumentKind::Template, None, 1).await.unwrap(), ["a"]);
    write(&store, 2, vec![Change::RemoveRecord(DocumentKind::Template, "a".to_owned())]).await;
    let now = view_now().await;
    assert_eq!(now.records(DocumentKind::Template, None, 10).await.unwrap(), ["b"]);
    assert!(now.record(DocumentKind::Ranker, "a").await.unwrap().is_some());
}

async fn the_oldest_receipts_are_removed(store: Arc<dyn Store>) {
    let receipt =
        |n: i64| Change::PutRecord(record(DocumentKind::Receipt, &format!("r{n:06}"), "", n));
    write(&store, 1, (0..10_000).map(receipt).collect()).await;
    write(&store, 2, (10_000..10_003).map(receipt).collect()).await;
    let view = view(&store, &Viewer::anyone()).await;
    let first = view.records(DocumentKind::Receipt, None, 1).await.unwrap();
    assert_eq!(first, ["r000003"], "the oldest go first");
    let last = view.records(DocumentKind::Receipt, Some("r010001"), 10).await.unwrap();
    assert_eq!(last, ["r010002"]);
}
