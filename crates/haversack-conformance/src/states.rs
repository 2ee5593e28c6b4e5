//! State tokens, which reveal nothing about hidden items (X3, X11).

use std::sync::Arc;

use super::{
    at, cases, id, ids_of, item, listed_ids, only, put, under, user, view, write, write_items,
};
use haversack_store::revision::StateToken;
use haversack_store::store::change::Change;
use haversack_store::store::item::Link;
use haversack_store::store::query::{Filter, ListOrder, Page};
use haversack_store::store::viewer::Viewer;
use haversack_store::store::{Snapshot, Store};

cases![
    a_token_changes_with_visible_changes,
    a_token_does_not_change_with_hidden_changes,
    readers_and_hidden_parents_are_not_part_of_a_token,
    a_token_reopens_its_state,
    a_token_is_valid_for_its_viewer_only,
    trimmed_versions_of_hidden_items_are_not_reported,
];

async fn token(store: &Arc<dyn Store>, viewer: &Viewer) -> StateToken {
    view(store, viewer).await.token()
}

fn link(from: &str, to: &str) -> Link {
    Link { from: id(from), to: id(to), link_type: "link".to_owned() }
}

async fn a_token_changes_with_visible_changes(store: Arc<dyn Store>) {
    let bob = user("bob");
    let mut known = vec![token(&store, &bob).await];
    let steps = [
        vec![put(item("a", "one"))],
        vec![put(item("a", "two"))],
        vec![put(only(&["bob"], item("b", "one")))],
        vec![put(under("a", item("c", "")))],
        vec![put(item("d", "")), put(under("d", item("c", "")))],
        vec![Change::Link(link("a", "b"))],
        vec![put(only(&["anna"], item("b", "one")))],
        vec![put(only(&["anna", "bob"], item("b", "one")))],
        vec![Change::Unlink(link("a", "b"))],
        vec![Change::Delete(id("d"))],
        vec![Change::Purge(id("a"))],
    ];
    for (moment, changes) in (1..).zip(steps) {
        let what = format!("{changes:?}");
        write(&store, moment, changes).await;
        let now = token(&store, &bob).await;
        assert_ne!(now, *known.last().unwrap(), "{what}");
        known.push(now);
    }
    // Rewriting an identical item makes no new state.
    let last = token(&store, &bob).await;
    write_items(&store, 20, vec![only(&["anna", "bob"], item("b", "one"))]).await;
    assert_eq!(token(&store, &bob).await, last);
}

async fn a_token_does_not_change_with_hidden_changes(store: Arc<dyn Store>) {
    let (bob, hers) = (user("bob"), |name: &str, text: &str| only(&["anna"], item(name, text)));
    write_items(&store, 1, vec![item("page", ""), only(&["bob"], item("his", ""))]).await;
    let (before, annas) = (token(&store, &bob).await, token(&store, &user("anna")).await);
    let steps = [
        vec![put(hers("secret", "one")), put(under("page", hers("below", "")))],
        vec![put(hers("secret", "two"))],
        vec![Change::Link(link("secret", "page")), Change::Link(link("below", "his"))],
        vec![put(under("secret", item("deeper", "")))],
        vec![put(only(&["group:board"], item("secret", "two")))],
        vec![Change::Delete(id("below")), Change::Link(link("his", "secret"))],
        vec![Change::Purge(id("secret"))],
    ];
    let mut changed = 0;
    for (moment, changes) in (2..).zip(steps) {
        let what = format!("{changes:?}");
        write(&store, moment, changes).await;
        assert_eq!(token(&store, &bob).await, before, "{what}");
        changed += usize::from(token(&store, &user("anna")).await != annas);
    }
    assert!(changed > 3, "anna sees some of it");
}

/// The token depends neither on an item's other readers nor on its hidden parent.
async fn readers_and_hidden_parents_are_not_part_of_a_token(store: Arc<dyn Store>) {
    let timed = |names: &[&str], parent: Option<&str>| {
        let mut shared = only(names, item("shared", "text"));
        (shared.updated, shared.parent) = (Some(at(1)), parent.map(id));
        shared
    };
    let hers = only(&["anna"], item("hers", ""));
    write_items(&store, 1, vec![hers, timed(&["anna", "bob"], Some("hers"))]).await;
    let before = token(&store, &user("bob")).await;
    for version in [timed(&["bob"], None), timed(&["everyone"], Some("hers"))] {
        write_items(&store, 2, vec![version]).await;
        assert_eq!(token(&store, &user("bob")).await, before);
    }
}

async fn texts(snapshot: &Arc<dyn Snapshot>) -> Vec<String> {
    let page = Page { order: ListOrder::Id, after: None, limit: 100 };
    let items = snapshot.list(&Filter::everything(), &page).await.unwrap();
    items.iter().map(|stored| format!("{} {}", stored.item.id, stored.item.body)).collect()
}

async fn a_token_reopens_its_state(store: Arc<dyn Store>) {
    let bob = user("bob");
    let mut seen = Vec::new();
    let steps = [
        vec![put(item("a", "one"))],
        vec![put(only(&["anna"], item("secret", "one")))],
        vec![put(item("a", "two")), put(item("b", "")), Change::Link(link("a", "b"))],
        vec![put(only(&["anna"], item("secret", "two")))],
        vec![Change::Unlink(link("a", "b"))],
        vec![put(item("b", "two"))],
        vec![Change::Delete(id("b"))],
    ];
    seen.push(view(&store, &bob).await);
    for (moment, changes) in (1..).zip(steps) {
        write(&store, moment, changes).await;
        seen.push(view(&store, &bob).await);
    }
    for snapshot in seen {
        let again = store.at_token(&bob, snapshot.token()).await.unwrap();
        assert_eq!(again.token(), snapshot.token());
        assert_eq!(texts(&again).await, texts(&snapshot).await);
        let neighbours = |snapshot: Arc<dyn Snapshot>| async move {
            format!("{:?}", snapshot.neighbours(&[id("a"), id("b")], &[], 10).await.unwrap())
        };
        assert_eq!(neighbours(again).await, neighbours(snapshot).await);
    }
    // A moment leads to the same states.
    let then = store.as_of(&bob, at(3)).await.unwrap();
    let named = store.at_token(&bob, then.token()).await.unwrap();
    assert_eq!(
        ids_of(&named.get(&[id("b")]).await.unwrap().into_iter().flatten().collect::<Vec<_>>()),
        ["b"]
    );
}

async fn a_token_is_valid_for_its_viewer_only(store: Arc<dyn Store>) {
    let viewers = [user("anna"), user("bob"), Viewer::anyone(), Viewer::owner()];
    write_items(&store, 1, vec![item("a", "")]).await;
    for viewer in &viewers {
        let named = token(&store, viewer).await;
        assert!(store.at_token(viewer, named).await.is_ok());
        for other in viewers.iter().filter(|other| *other != viewer) {
            let refused = store.at_token(other, named).await.err().unwrap().to_string();
            assert!(refused.contains(&named.to_string()), "{refused}");
        }
    }
    // A state of which less is readable now is not reopened.
    write_items(&store, 2, vec![only(&["bob"], item("b", ""))]).await;
    let named = token(&store, &user("bob")).await;
    write_items(&store, 3, vec![only(&["anna"], item("b", "")), item("c", "")]).await;
    assert_eq!(listed_ids(&store, &user("bob")).await, ["a", "c"]);
    assert!(store.at_token(&user("bob"), named).await.is_err());
}

async fn trimmed_versions_of_hidden_items_are_not_reported(store: Arc<dyn Store>) {
    write_items(&store, 1, vec![item("a", ""), only(&["anna"], item("secret", "first"))]).await;
    for version in 2..60 {
        let text = format!("version {version}");
        write_items(&store, version, vec![only(&["anna"], item("secret", &text))]).await;
    }
    let is_whole =
        async |name: &str| store.as_of(&user(name), at(5)).await.unwrap().history_is_whole();
    assert!(!is_whole("anna").await);
    assert!(is_whole("bob").await);
}
