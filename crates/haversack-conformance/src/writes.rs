//! Writing: storing, refusing, deleting, purging, history and undo.

use std::sync::Arc;

use haversack_core::ids::ID_BYTES_MAX;
use haversack_core::item::{Kind, Trust};
use haversack_core::units::Score;
use serde_json::json;

use super::{
    at, cases, expect_refused, found_ids, get, id, item, listed_ids, only, put, text_search, under,
    user, view, write, write_items,
};
use haversack_store::store::Store;
use haversack_store::store::change::{
    BATCH_CHANGES_MAX, BODY_BYTES_MAX, Batch, Change, DEPTH_MAX, LINE_BYTES_MAX, RECORD_BYTES_MAX,
};
use haversack_store::store::error::{CommitError, ReadError};
use haversack_store::store::item::{DocumentKind, Link, Record};
use haversack_store::store::viewer::Viewer;

cases![
    an_item_reads_back_as_it_was_written,
    writing_the_same_batch_again_changes_nothing,
    the_last_put_of_an_id_wins,
    deleting_removes_descendants,
    purging_leaves_no_trace,
    all_problems_are_reported_at_once,
    lines_and_bodies_have_limits,
    a_batch_has_a_limit,
    parents_may_follow_their_children_in_a_batch,
    a_missing_parent_is_refused_by_name,
    a_cycle_is_refused_by_name,
    crossing_moves_in_one_batch_are_resolved,
    depth_has_a_limit,
    odd_names_and_texts_are_kept,
    history_and_past_states_are_readable,
    past_states_are_addressed_by_revision,
    an_import_is_undone,
    an_undo_keeps_later_changes,
];

async fn an_item_reads_back_as_it_was_written(store: Arc<dyn Store>) {
    let mut full = under("root", only(&["anna", "group:sales", "everyone"], item("full", "body")));
    full.kind = Kind::new("page").unwrap();
    full.title = "A title".to_owned();
    full.fields.insert("summary".to_owned(), json!("short"));
    full.fields.insert("own".to_owned(), json!({"deep": [1, 2.5, null, true]}));
    full.path = Some("a/b c.md".to_owned());
    full.position = -7;
    (full.created, full.updated) = (Some(at(5)), Some(at(6)));
    full.confidence = Some(Score::unit(0.25));
    full.trust = Trust::External;
    full.active = false;
    let mut batch = Batch::put(at(1_000), vec![full.clone(), item("root", "")]);
    batch.author = Some("anna".to_owned());
    let done = store.write(batch).await.unwrap();
    assert_eq!((done.stored, done.unchanged, done.deleted), (2, 0, 0));
    let stored = get(&store, &Viewer::anyone(), "full").await.unwrap();
    assert_eq!(stored.item, full);
    assert_eq!((stored.revision, stored.committed), (done.revision, at(1_000)));
    assert_eq!(stored.author.as_deref(), Some("anna"));
    let root = get(&store, &Viewer::anyone(), "root").await.unwrap();
    assert_eq!(root.item.updated, Some(at(1_000)), "the time of the commit stands in");
    assert!(get(&store, &Viewer::anyone(), "none").await.is_none());
}

async fn writing_the_same_batch_again_changes_nothing(store: Arc<dyn Store>) {
    let first = write_items(&store, 1, vec![item("a", "one"), item("b", "two")]).await;
    let again = write_items(&store, 2, vec![item("b", "two"), item("a", "one")]).await;
    assert_eq!((again.stored, again.unchanged), (0, 2));
    assert_eq!(again.revision, first.revision);
    let third = write_items(&store, 3, vec![item("a", "one"), item("b", "three")]).await;
    assert_eq!((third.stored, third.unchanged), (1, 1));
    assert_eq!(third.revision, first.revision.next());
    assert_eq!(get(&store, &Viewer::anyone(), "b").await.unwrap().item.body, "three");
}

async fn the_last_put_of_an_id_wins(store: Arc<dyn Store>) {
    let items = vec![under("a", item("x", "child")), item("a", "one"), item("a", "two")];
    write_items(&store, 1, items).await;
    assert_eq!(get(&store, &Viewer::anyone(), "a").await.unwrap().item.body, "two");
    let view = view(&store, &Viewer::anyone()).await;
    assert_eq!(found_ids(&view, &text_search("one")).await, [] as [&str; 0]);
    assert_eq!(view.count(&haversack_store::store::query::Filter::everything()).await.unwrap(), 2);
}

async fn deleting_removes_descendants(store: Arc<dyn Store>) {
    let tree = vec![
        item("a", "oak"),
        under("a", item("b", "branch")),
        under("b", item("c", "leaf")),
        item("d", "leaf"),
    ];
    write_items(&store, 1, tree).await;
    let before = view(&store, &Viewer::anyone()).await;
    let done = write(&store, 2, vec![Change::Delete(id("a")), Change::Delete(id("none"))]).await;
    assert_eq!(done.deleted, 3);
    assert_eq!(listed_ids(&store, &Viewer::owner()).await, ["d"]);
    let after = view(&store, &Viewer::anyone()).await;
    assert_eq!(found_ids(&after, &text_search("leaf")).await, ["d"]);
    assert_eq!(found_ids(&before, &text_search("oak")).await, ["a"], "a snapshot stays what it is");
    // A child of a deleted item cannot be restored alone.
    let problems = expect_refused(&store, vec![put(under("b", item("c", "leaf again")))]).await;
    assert!(problems[0].message.contains("parent") && problems[0].message.contains('b'));
    write_items(&store, 3, vec![item("b", "branch")]).await;
    assert_eq!(listed_ids(&store, &Viewer::owner()).await, ["b", "d"]);
}

async fn purging_leaves_no_trace(store: Arc<dyn Store>) {
    let tree = vec![item("a", "old"), under("a", item("b", "below")), item("c", "beside")];
    write_items(&store, 1, tree).await;
    write_items(&store, 2, vec![item("a", "new")]).await;
    let done = write(&store, 3, vec![Change::Purge(id("a"))]).await;
    assert_eq!(done.deleted, 2);
    let owner = Viewer::owner();
    assert_eq!(listed_ids(&store, &owner).await, ["c"]);
    for moment in [1, 2] {
        let then = store.as_of(&owner, at(moment)).await.unwrap();
        assert!(then.get(&[id("a"), id("b")]).await.unwrap().iter().all(Option::is_none));
        assert_eq!(found_ids(&then, &text_search("old new below")).await, [] as [&str; 0]);
    }
    // Put and purged in one batch, with a text that another item has.
    let changes = vec![put(item("d", "beside")), Change::Purge(id("c")), Change::Purge(id("d"))];
    write(&store, 4, changes).await;
    assert_eq!(listed_ids(&store, &owner).await, [] as [&str; 0]);
    write_items(&store, 5, vec![item("a", "again")]).await;
    let now = view(&store, &owner).await;
    assert_eq!(now.history(&id("a")).await.unwrap().len(), 1, "a new life has no past");
}

async fn all_problems_are_reported_at_once(store: Arc<dyn Store>) {
    let mut title = item("long", "");
    title.title = "x".repeat(LINE_BYTES_MAX + 1);
    let itself = under("self", item("self", ""));
    let mut nul = item("nul", "");
    nul.path = Some("a\0b".to_owned());
    let link = Link { from: id("a"), to: id("b"), link_type: String::new() };
    let changes =
        vec![put(item("fine", "x")), put(title), put(itself), put(nul), Change::Link(link)];
    let problems = expect_refused(&store, changes).await;
    let named: Vec<(usize, bool)> = problems
        .iter()
        .zip(["title", "parent", "path", "sort"])
        .map(|(problem, field)| (problem.change, problem.message.contains(field)))
        .collect();
    assert_eq!(named, [(1, true), (2, true), (3, true), (4, true)], "{problems:?}");
    assert!(get(&store, &Viewer::owner(), "fine").await.is_none(), "all or nothing");
}

async fn lines_and_bodies_have_limits(store: Arc<dyn Store>) {
    let sized = |name: &str, bytes: usize| {
        let mut item = item(name, "");
        item.title = "t".repeat(bytes);
        item.path = Some("p".repeat(bytes));
        item
    };
    write_items(&store, 1, vec![sized("line", LINE_BYTES_MAX)]).await;
    assert_eq!(
        expect_refused(&store, vec![put(sized("line2", LINE_BYTES_MAX + 1))]).await.len(),
        2
    );
    let problems =
        expect_refused(&store, vec![put(item("body", &" ".repeat(BODY_BYTES_MAX + 1)))]).await;
    assert!(problems[0].message.starts_with("body"), "{problems:?}");
    let record = |bytes: usize| {
        let (name, text) = ("r".to_owned(), "x".repeat(bytes));
        Change::PutRecord(Record { document_kind: DocumentKind::Recipe, name, text, at: at(1) })
    };
    write(&store, 1, vec![record(RECORD_BYTES_MAX)]).await;
    expect_refused(&store, vec![record(RECORD_BYTES_MAX + 1)]).await;
}

async fn a_batch_has_a_limit(store: Arc<dyn Store>) {
    let deletes = |count: usize| vec![Change::Delete(id("none")); count];
    write(&store, 1, deletes(BATCH_CHANGES_MAX)).await;
    match store.write(Batch::new(at(1), deletes(BATCH_CHANGES_MAX + 1))).await {
        Err(CommitError::TooLarge { found, limit, .. }) => {
            assert_eq!((found, limit), (BATCH_CHANGES_MAX + 1, BATCH_CHANGES_MAX));
        }
        other => panic!("not refused: {other:?}"),
    }
    write(&store, 1, Vec::new()).await;
}

async fn parents_may_follow_their_children_in_a_batch(store: Arc<dyn Store>) {
    let link = Change::Link(Link { from: id("c"), to: id("a"), link_type: "link".to_owned() });
    let changes = vec![
        put(under("b", item("c", ""))),
        link,
        put(under("a", item("b", ""))),
        put(item("a", "")),
    ];
    write(&store, 1, changes).await;
    let above = view(&store, &Viewer::anyone()).await.ancestors(&id("c"), 10).await.unwrap();
    assert_eq!(super::ids_of(&above), ["b", "a"]);
}

async fn a_missing_parent_is_refused_by_name(store: Arc<dyn Store>) {
    let problems =
        expect_refused(&store, vec![put(item("a", "")), put(under("none", item("b", "")))]).await;
    assert_eq!((problems.len(), problems[0].change), (1, 1));
    assert_eq!(problems[0].item, Some(id("b")));
    assert!(problems[0].message.contains("parent") && problems[0].message.contains("none"));
    // An id that is only a link target does not exist as a parent.
    let link = Link { from: id("a"), to: id("ghost"), link_type: "link".to_owned() };
    write(&store, 1, vec![Change::Link(link)]).await;
    expect_refused(&store, vec![put(under("ghost", item("b", "")))]).await;
}

async fn a_cycle_is_refused_by_name(store: Arc<dyn Store>) {
    let cycle = ["a", "b", "c"].into_iter().zip(["b", "c", "a"]);
    let changes = cycle.map(|(name, parent)| put(under(parent, item(name, "")))).collect();
    let problems = expect_refused(&store, changes).await;
    let message = &problems[0].message;
    assert!(message.contains("cycle") && message.contains("a > b > c > a"), "{message}");
    write_items(&store, 1, vec![item("x", ""), under("x", item("y", ""))]).await;
    let problems = expect_refused(&store, vec![put(under("y", item("x", "")))]).await;
    let message = &problems[0].message;
    assert!(message.contains("cycle") && message.contains('y'), "{message}");
}

async fn crossing_moves_in_one_batch_are_resolved(store: Arc<dyn Store>) {
    // x > y > m becomes y > m > x.
    let tree = vec![item("x", ""), under("x", item("y", "")), under("y", item("m", ""))];
    write_items(&store, 1, tree).await;
    write_items(&store, 2, vec![under("m", item("x", "")), item("y", "")]).await;
    let above = view(&store, &Viewer::anyone()).await.ancestors(&id("x"), 10).await.unwrap();
    assert_eq!(super::ids_of(&above), ["m", "y"]);
}

async fn depth_has_a_limit(store: Arc<dyn Store>) {
    let name = |depth: usize| format!("d{depth}");
    let chain = |depths: std::ops::RangeInclusive<usize>| {
        depths
            .map(|depth| match depth {
                1 => item("d1", ""),
                _ => under(&name(depth - 1), item(&name(depth), "")),
            })
            .rev()
            .collect::<Vec<_>>()
    };
    write_items(&store, 1, chain(1..=DEPTH_MAX)).await;
    let deepest = id(&name(DEPTH_MAX));
    let above = view(&store, &Viewer::anyone()).await.ancestors(&deepest, 1_000).await.unwrap();
    assert_eq!(above.len(), DEPTH_MAX - 1);
    let next = chain(DEPTH_MAX + 1..=DEPTH_MAX + 1).into_iter().map(put).collect();
    let problems = expect_refused(&store, next).await;
    assert!(problems[0].message.contains(&DEPTH_MAX.to_string()), "{problems:?}");
    let mut fresh = chain(1..=DEPTH_MAX + 1);
    for item in &mut fresh {
        item.id = id(&format!("e{}", item.id));
        item.parent = item.parent.take().map(|parent| id(&format!("e{parent}")));
    }
    let problems = expect_refused(&store, fresh.into_iter().map(put).collect()).await;
    let message = &problems[0].message;
    assert!(message.contains(&DEPTH_MAX.to_string()) && !message.contains("cycle"), "{message}");
}

async fn odd_names_and_texts_are_kept(store: Arc<dyn Store>) {
    let long = "ü".repeat(ID_BYTES_MAX / 2);
    let odd = ["a b", "it's", "\"q\"", "%_*?", "日本語 🦀", "a#1", "../x", "-- ;", "$.x", &long];
    let texts = ["", " ", "a\0b", "\u{feff}bom", "line\r\nline", "🦀🦀", "\u{202e}rtl", "null"];
    let mut items: Vec<_> = odd.iter().map(|name| item(name, "odd name")).collect();
    items.extend(texts.iter().enumerate().map(|(n, text)| item(&format!("text {n}"), text)));
    items.push(under("a b", item("child of odd", "")));
    let count = items.len();
    write_items(&store, 1, items.clone()).await;
    for item in &items {
        let stored = get(&store, &Viewer::anyone(), item.id.as_str()).await.unwrap();
        assert_eq!((&stored.item.body, &stored.item.parent), (&item.body, &item.parent));
    }
    let view = view(&store, &Viewer::anyone()).await;
    assert_eq!(found_ids(&view, &text_search("odd")).await.len(), odd.len());
    assert_eq!(listed_ids(&store, &Viewer::anyone()).await.len(), count);
    for query in ["", "\"", "\0", "a\0b", "*", "🦀", "AND OR NOT", "((", &"x ".repeat(5_000)] {
        view.search_text(&text_search(query)).await.unwrap();
    }
}

async fn history_and_past_states_are_readable(store: Arc<dyn Store>) {
    for (moment, body) in [(10, "amber"), (20, "basil"), (30, "coral")] {
        write_items(&store, moment, vec![item("a", body)]).await;
    }
    write(&store, 40, vec![Change::Delete(id("a"))]).await;
    let anyone = Viewer::anyone();
    for (moment, body) in [(9, None), (10, Some("amber")), (29, Some("basil")), (39, Some("coral"))]
    {
        let then = store.as_of(&anyone, at(moment)).await.unwrap();
        let stored = then.get(&[id("a")]).await.unwrap().remove(0);
        assert_eq!(stored.as_ref().map(|stored| stored.item.body.as_str()), body, "at {moment}");
        let hits = found_ids(&then, &text_search("amber basil coral")).await;
        assert_eq!(hits.len(), usize::from(body.is_some()), "at {moment}");
    }
    assert!(view(&store, &anyone).await.history(&id("a")).await.unwrap().is_empty());
    write_items(&store, 50, vec![only(&["anna"], item("a", "denim"))]).await;
    let history = view(&store, &user("anna")).await.history(&id("a")).await.unwrap();
    let bodies: Vec<&str> = history.iter().map(|v| v.stored.item.body.as_str()).collect();
    assert_eq!(bodies, ["denim", "coral", "basil", "amber"]);
    assert_eq!(history[0].until, None);
    assert_eq!(history[2].until, Some(history[1].stored.revision));
    // A viewer who may not read it now may not read its history (X3).
    let then = store.as_of(&anyone, at(20)).await.unwrap();
    assert!(then.get(&[id("a")]).await.unwrap()[0].is_none());
    assert!(view(&store, &anyone).await.history(&id("a")).await.unwrap().is_empty());
}

async fn past_states_are_addressed_by_revision(store: Arc<dyn Store>) {
    let mut revisions = vec![view(&store, &Viewer::anyone()).await.revision()];
    for body in ["amber", "basil", "coral"] {
        revisions.push(write_items(&store, 1, vec![item("a", body)]).await.revision);
    }
    let anyone = Viewer::anyone();
    for (revision, body) in
        revisions.iter().zip([None, Some("amber"), Some("basil"), Some("coral")])
    {
        let then = store.at_revision(&anyone, *revision).await.unwrap();
        assert_eq!((then.revision(), then.history_is_whole()), (*revision, true));
        let stored = then.get(&[id("a")]).await.unwrap().remove(0);
        assert_eq!(stored.as_ref().map(|stored| stored.item.body.as_str()), body);
        let hits = found_ids(&then, &text_search("amber basil coral")).await;
        assert_eq!(hits.len(), usize::from(body.is_some()), "at {revision}");
    }
    let now = revisions[3];
    match store.at_revision(&anyone, now.next()).await.map(|view| view.revision()) {
        Err(error @ ReadError::Invalid { .. }) => {
            let expected = format!("revision: {} is above the present one, {now}", now.next());
            assert_eq!(error.to_string(), expected);
        }
        other => panic!("not refused: {other:?}"),
    }
    // A viewer who may not read it now may not read its history (X3).
    write_items(&store, 2, vec![only(&["anna"], item("a", "denim"))]).await;
    let then = store.at_revision(&anyone, now).await.unwrap();
    assert!(then.get(&[id("a")]).await.unwrap()[0].is_none());
}

async fn import(
    store: &Arc<dyn Store>,
    millis: i64,
    items: Vec<haversack_store::store::item::Item>,
) {
    let mut batch = Batch::put(at(millis), items);
    batch.origin = Some("import".to_owned());
    store.write(batch).await.unwrap();
}

async fn an_import_is_undone(store: Arc<dyn Store>) {
    write_items(&store, 1, vec![item("old", "before"), item("mine", "before")]).await;
    let new = vec![item("old", "imported"), item("mine", "imported"), item("new", "imported")];
    import(&store, 2, new).await;
    import(&store, 3, vec![item("old", "imported twice"), under("new", item("newer", ""))]).await;
    write_items(&store, 4, vec![item("mine", "changed since")]).await;
    let undone = store.undo("import", at(5)).await.unwrap();
    assert_eq!((undone.removed, undone.restored, undone.kept), (2, 1, vec![id("mine")]));
    assert_eq!(listed_ids(&store, &Viewer::owner()).await, ["mine", "old"]);
    assert_eq!(get(&store, &Viewer::owner(), "old").await.unwrap().item.body, "before");
    assert_eq!(get(&store, &Viewer::owner(), "mine").await.unwrap().item.body, "changed since");
    let view = view(&store, &Viewer::owner()).await;
    assert_eq!(found_ids(&view, &text_search("imported")).await, [] as [&str; 0]);
    match store.undo("no such import", at(6)).await {
        Err(CommitError::Invalid(problems)) => {
            assert!(problems[0].message.contains("no such import"));
        }
        other => panic!("not refused: {other:?}"),
    }
}

async fn an_undo_keeps_later_changes(store: Arc<dyn Store>) {
    import(&store, 1, vec![item("folder", ""), under("folder", item("sub", "")), item("c", "")])
        .await;
    write_items(&store, 2, vec![under("sub", item("mine", "kept"))]).await;
    let undone = store.undo("import", at(3)).await.unwrap();
    assert_eq!((undone.removed, undone.kept), (1, vec![id("folder"), id("sub")]));
    assert_eq!(listed_ids(&store, &Viewer::owner()).await, ["folder", "mine", "sub"]);
}
