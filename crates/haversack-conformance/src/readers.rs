//! Read permissions: who sees what, and that hidden items leak nowhere (X3, W12).

use std::sync::Arc;

use super::{
    at, cases, found_ids, get, id, item, listed_ids, only, put, text_search, under, user, view,
    write, write_items,
};
use haversack_store::store::Store;
use haversack_store::store::change::Change;
use haversack_store::store::query::Filter;
use haversack_store::store::viewer::{Readers, Viewer};

cases![
    a_list_names_users_groups_or_everyone,
    readers_are_inherited,
    a_moved_subtree_inherits_its_new_readers,
    revoked_access_takes_effect_at_once,
    an_item_below_a_private_parent_can_be_public,
    a_hidden_parent_is_not_revealed,
    past_states_use_present_readers,
];

async fn a_list_names_users_groups_or_everyone(store: Arc<dyn Store>) {
    let items = vec![
        only(&[], item("nobody", "note")),
        only(&["anna"], item("anna's", "note")),
        only(&["group:sales"], item("of sales", "note")),
        only(&["everyone"], item("open", "note")),
        item("plain", "note"),
    ];
    write_items(&store, 1, items).await;
    let sales = user("bob").in_group("sales").unwrap();
    // A user may be called like a group.
    let cases = [
        (Viewer::anyone(), vec!["open", "plain"]),
        (user("anna"), vec!["anna's", "open", "plain"]),
        (sales, vec!["of sales", "open", "plain"]),
        (user("sales"), vec!["open", "plain"]),
        (Viewer::owner(), vec!["anna's", "nobody", "of sales", "open", "plain"]),
    ];
    for (viewer, expected) in cases {
        assert_eq!(listed_ids(&store, &viewer).await, expected, "{viewer:?}");
        let view = view(&store, &viewer).await;
        assert_eq!(view.count(&Filter::everything()).await.unwrap(), expected.len() as u64);
        let mut hits = found_ids(&view, &text_search("note")).await;
        hits.sort();
        assert_eq!(hits, expected, "{viewer:?}");
    }
}

async fn readers_are_inherited(store: Arc<dyn Store>) {
    let items = vec![
        under("mid", item("leaf", "")),
        under("top", item("mid", "")),
        only(&["anna"], item("top", "")),
        under("mid", only(&["bob"], item("bob's", ""))),
    ];
    write_items(&store, 1, items).await;
    assert_eq!(listed_ids(&store, &user("anna")).await, ["leaf", "mid", "top"]);
    assert_eq!(listed_ids(&store, &user("bob")).await, ["bob's"]);
    write_items(&store, 2, vec![item("top", "")]).await;
    assert_eq!(listed_ids(&store, &Viewer::anyone()).await, ["leaf", "mid", "top"]);
    write_items(&store, 3, vec![under("top", only(&["bob"], item("mid", "")))]).await;
    assert_eq!(listed_ids(&store, &Viewer::anyone()).await, ["top"]);
    assert_eq!(listed_ids(&store, &user("bob")).await, ["bob's", "leaf", "mid", "top"]);
}

async fn a_moved_subtree_inherits_its_new_readers(store: Arc<dyn Store>) {
    let items = vec![
        only(&["anna"], item("closed", "")),
        item("open", ""),
        under("open", item("folder", "")),
        under("folder", item("leaf", "secret")),
    ];
    write_items(&store, 1, items).await;
    let before = view(&store, &user("bob")).await;
    write_items(&store, 2, vec![under("closed", item("folder", ""))]).await;
    assert_eq!(listed_ids(&store, &user("bob")).await, ["open"]);
    assert_eq!(listed_ids(&store, &user("anna")).await, ["closed", "folder", "leaf", "open"]);
    assert_eq!(
        found_ids(&before, &text_search("secret")).await,
        ["leaf"],
        "a snapshot stays what it is"
    );
    write_items(&store, 3, vec![item("folder", "")]).await;
    assert_eq!(listed_ids(&store, &user("bob")).await, ["folder", "leaf", "open"]);
}

async fn revoked_access_takes_effect_at_once(store: Arc<dyn Store>) {
    write_items(&store, 1, vec![only(&["anna", "bob"], item("a", "shared words"))]).await;
    assert_eq!(found_ids(&view(&store, &user("bob")).await, &text_search("shared")).await, ["a"]);
    write_items(&store, 2, vec![only(&["anna"], item("a", "shared words"))]).await;
    let bob = view(&store, &user("bob")).await;
    assert!(found_ids(&bob, &text_search("shared")).await.is_empty());
    assert!(get(&store, &user("bob"), "a").await.is_none());
    assert!(bob.history(&id("a")).await.unwrap().is_empty());
    assert!(get(&store, &user("anna"), "a").await.is_some());
    write_items(&store, 3, vec![only(&[], item("a", "shared words"))]).await;
    assert!(get(&store, &user("anna"), "a").await.is_none());
}

async fn an_item_below_a_private_parent_can_be_public(store: Arc<dyn Store>) {
    let items = vec![
        only(&["anna"], item("closed", "")),
        under("closed", only(&["everyone"], item("open", ""))),
        under("open", item("below", "")),
    ];
    write_items(&store, 1, items).await;
    assert_eq!(listed_ids(&store, &Viewer::anyone()).await, ["below", "open"]);
    let below = get(&store, &Viewer::anyone(), "below").await.unwrap();
    assert_eq!((below.item.parent, below.item.readers), (Some(id("open")), Readers::Inherit));
}

async fn a_hidden_parent_is_not_revealed(store: Arc<dyn Store>) {
    let items = vec![
        only(&["anna"], item("secret", "")),
        under("secret", only(&["bob"], item("child", "text of the child"))),
    ];
    write_items(&store, 1, items).await;
    let bob = view(&store, &user("bob")).await;
    let child = bob.get(&[id("child")]).await.unwrap().remove(0).unwrap();
    assert_eq!(child.item.parent, None);
    assert!(bob.ancestors(&id("child"), 10).await.unwrap().is_empty());
    let hits = bob.search_text(&text_search("child")).await.unwrap();
    let passages = bob.passages(&[hits[0].id.clone()]).await.unwrap();
    assert_eq!(passages[0].as_ref().unwrap().stored.item.parent, None);
    let history = bob.history(&id("child")).await.unwrap();
    assert_eq!(history[0].stored.item.parent, None);
    // Descendants of a hidden item are found neither by walking nor by a filter.
    assert!(bob.children(&id("secret"), 10).await.unwrap().is_empty());
    let filter = Filter { under: Some(id("secret")), ..Filter::everything() };
    assert_eq!(bob.count(&filter).await.unwrap(), 0);
}

async fn past_states_use_present_readers(store: Arc<dyn Store>) {
    let tree = vec![item("folder", ""), under("folder", item("leaf", "amber"))];
    write_items(&store, 10, tree).await;
    write_items(&store, 20, vec![under("folder", item("leaf", "basil"))]).await;
    write_items(&store, 30, vec![only(&["anna"], item("folder", ""))]).await;
    for (viewer, count) in [(user("bob"), 0), (user("anna"), 2)] {
        let then = store.as_of(&viewer, at(10)).await.unwrap();
        assert_eq!(then.count(&Filter::everything()).await.unwrap(), count);
        assert_eq!(found_ids(&then, &text_search("amber")).await.len() as u64, count / 2);
    }
    // Deleted and rewritten for other readers: its history follows them.
    write(&store, 40, vec![Change::Delete(id("folder"))]).await;
    write(&store, 50, vec![put(only(&["bob"], item("folder", "")))]).await;
    let then = store.as_of(&user("anna"), at(35)).await.unwrap();
    assert!(then.get(&[id("folder")]).await.unwrap()[0].is_none());
    let then = store.as_of(&user("bob"), at(35)).await.unwrap();
    assert!(then.get(&[id("folder")]).await.unwrap()[0].is_some());
}
