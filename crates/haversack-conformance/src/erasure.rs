//! Erasing a user, and removing what was purged from a store's files.

use std::sync::Arc;

use haversack_store::store::Store;
use haversack_store::store::change::{Batch, Change, WriteKey};
use haversack_store::store::error::CommitError;
use haversack_store::store::item::{Event, EventKind, Link};
use haversack_store::store::maintenance::Maintenance;
use haversack_store::store::viewer::{Readers, Viewer};

use super::{
    at, cases, found_ids, get, id, item, listed_ids, only, put, text_search, under, user, view,
    write, write_items,
};

cases![
    erasing_a_user_removes_what_only_they_can_read,
    erasing_a_user_removes_their_name,
    erasing_a_user_needs_the_owner,
    what_was_purged_leaves_the_files,
];

fn erase(name: &str) -> Change {
    Change::EraseUser(name.to_owned())
}

async fn write_as(store: &Arc<dyn Maintenance>, name: &str, changes: Vec<Change>) {
    store.write(Batch::new(at(1), changes).with_rights(user(name))).await.unwrap();
}

async fn erasing_a_user_removes_what_only_they_can_read(store: Arc<dyn Maintenance>) {
    let plain: Arc<dyn Store> = Arc::clone(&store) as Arc<dyn Store>;
    let items = vec![
        only(&["anna"], item("letter", "for anna alone")),
        only(&["anna", "bob"], item("both", "for both")),
        only(&["anna", "everyone"], item("all", "for all")),
        only(&["group:sales"], item("sales", "for a group")),
        only(&["annabel"], item("annabel", "of another user")),
        item("open", "for everyone"),
    ];
    write_items(&plain, 1, items).await;
    write_as(
        &store,
        "anna",
        vec![
            put(only(&["anna"], item("diary", "old words"))),
            put(under("diary", item("page", "below"))),
            put(under("diary", only(&["anna", "bob"], item("shared", "below, for both")))),
            put(only(&[], item("closed", "for nobody"))),
            put(only(&["anna"], item("deleted", "gone already"))),
        ],
    )
    .await;
    write_as(&store, "anna", vec![put(only(&["anna"], item("diary", "new words")))]).await;
    write_as(&store, "anna", vec![Change::Delete(id("deleted"))]).await;
    let found = store.user_items("anna").await.unwrap();
    let mut erased: Vec<&str> = found.erased.iter().map(|id| id.as_str()).collect();
    erased.sort_unstable();
    assert_eq!(erased, ["closed", "deleted", "diary", "letter", "page"]);
    let kept: Vec<&str> = found.kept.iter().map(|id| id.as_str()).collect();
    assert_eq!(kept, ["shared"]);
    let before = view(&plain, &Viewer::owner()).await.revision();
    let done = write(&plain, 5, vec![erase("anna"), put(item("later", "written after"))]).await;
    assert_eq!(done.deleted, 5);
    let left = ["all", "annabel", "both", "later", "open", "sales", "shared"];
    assert_eq!(listed_ids(&plain, &Viewer::owner()).await, left);
    assert_eq!(listed_ids(&plain, &user("anna")).await, ["all", "later", "open"]);
    assert_eq!(listed_ids(&plain, &user("bob")).await, ["all", "both", "later", "open", "shared"]);
    let shared = get(&plain, &Viewer::owner(), "shared").await.unwrap();
    assert_eq!(shared.item.parent, None, "its parent is gone");
    // Nor is anything found in the past, or again.
    let then = store.at_revision(&Viewer::owner(), before).await.unwrap();
    assert_eq!(found_ids(&then, &text_search("old new words letter")).await, [] as [&str; 0]);
    assert!(then.get(&[id("diary")]).await.unwrap()[0].is_none());
    assert_eq!(write(&plain, 6, vec![erase("anna"), erase("nobody")]).await.deleted, 0);
    assert!(store.check(false).await.unwrap().is_sound());
    assert_eq!(store.user_items("anna").await.unwrap(), Default::default());
}

async fn erasing_a_user_removes_their_name(store: Arc<dyn Maintenance>) {
    let plain: Arc<dyn Store> = Arc::clone(&store) as Arc<dyn Store>;
    let event = |user: &str| {
        let (item, user) = (id("hers"), user.to_owned());
        Change::AddEvent(Event { item, user, event_kind: EventKind::Useful, at: at(1) })
    };
    write_as(&store, "anna", vec![put(item("hers", "first")), event("anna")]).await;
    write_as(&store, "bob", vec![put(item("hers", "second")), put(item("his", ""))]).await;
    write(&plain, 2, vec![event("bob")]).await;
    let link = Link { from: id("hers"), to: id("his"), link_type: "see".to_owned() };
    write(&plain, 2, vec![Change::Link(link)]).await;
    let list = only(&["anna", "bob"], item("list", ""));
    write_items(&plain, 2, vec![list, only(&["bob"], item("bobs", ""))]).await;
    let key = |name: &str| {
        let scope = format!("jwt:{name} putItems");
        Some(WriteKey { scope, name: "k".to_owned(), request: [1; 32], at: at(4) })
    };
    for name in ["anna", "annabel"] {
        let batch = Batch::put(at(3), vec![item("keyed", name)]).with_key(key(name));
        store.write(batch).await.unwrap();
    }
    write(&plain, 4, vec![erase("anna")]).await;
    let owner = Viewer::owner();
    let now = view(&plain, &owner).await;
    let history = now.history(&id("hers")).await.unwrap();
    let authors: Vec<Option<&str>> =
        history.iter().map(|version| version.stored.author.as_deref()).collect();
    assert_eq!(authors, [Some("bob"), None]);
    assert_eq!(now.usage(&[id("hers")], None, None).await.unwrap()[0].count, 1, "bob's alone");
    assert_eq!(now.events_of(&[id("hers")]).await.unwrap().len(), 1);
    let recent = now.recent("anna", EventKind::Edited, at(0), None, 10).await.unwrap();
    assert!(recent.is_empty(), "{recent:?}");
    let list = get(&plain, &owner, "list").await.unwrap();
    assert_eq!(list.item.readers, only(&["bob"], item("list", "")).readers);
    assert!(store.find_write(&key("anna").unwrap()).await.unwrap().is_none());
    assert!(store.find_write(&key("annabel").unwrap()).await.unwrap().is_some());
    // A later user of the same name has no rights to what the former one made.
    let closed = Batch::new(at(5), vec![put(only(&["anna"], item("hers", "mine")))]);
    let taken = store.write(closed.with_rights(user("anna"))).await;
    assert!(matches!(taken, Err(CommitError::Denied { .. })), "{taken:?}");
    // What others wrote is what it was: writing it again changes nothing.
    let again = write_items(&plain, 6, vec![only(&["bob"], item("bobs", ""))]).await;
    assert_eq!(again.unchanged, 1);
    let hers = get(&plain, &user("bob"), "hers").await.unwrap();
    assert_eq!((hers.item.body.as_str(), hers.item.readers), ("second", Readers::Inherit));
    assert!(store.check(false).await.unwrap().is_sound());
}

async fn erasing_a_user_needs_the_owner(store: Arc<dyn Maintenance>) {
    write_as(&store, "anna", vec![put(only(&["anna"], item("hers", "")))]).await;
    for name in ["anna", "bob"] {
        let batch = Batch::new(at(2), vec![erase("anna")]).with_rights(user(name));
        let refused = store.write(batch).await;
        assert!(matches!(refused, Err(CommitError::Invalid(_))), "{refused:?}");
    }
    for name in ["", "a\nb"] {
        let refused = store.write(Batch::new(at(2), vec![erase(name)])).await;
        assert!(matches!(refused, Err(CommitError::Invalid(_))), "{name:?}: {refused:?}");
    }
    let plain: Arc<dyn Store> = store;
    assert_eq!(listed_ids(&plain, &Viewer::owner()).await, ["hers"]);
}

async fn what_was_purged_leaves_the_files(store: Arc<dyn Maintenance>) {
    let plain: Arc<dyn Store> = Arc::clone(&store) as Arc<dyn Store>;
    let items = (0..30).map(|n| item(&format!("n{n:02}"), &format!("word{n} in a text")));
    write_items(&plain, 1, items.collect()).await;
    let purge = |n: usize| Change::Purge(id(&format!("n{n:02}")));
    write(&plain, 2, (0..30).filter(|n| n % 3 == 0).map(purge).collect()).await;
    for rewrite in [false, true] {
        assert_eq!(store.expunge(rewrite).await.unwrap(), [] as [String; 0]);
        let now = view(&plain, &Viewer::owner()).await;
        assert_eq!(found_ids(&now, &text_search("word4")).await, ["n04"]);
        assert_eq!(listed_ids(&plain, &Viewer::owner()).await.len(), 20);
        assert!(store.check(false).await.unwrap().is_sound());
    }
    write_items(&plain, 3, vec![item("n00", "zebra again")]).await;
    let now = view(&plain, &Viewer::owner()).await;
    assert_eq!(found_ids(&now, &text_search("zebra")).await, ["n00"]);
}
