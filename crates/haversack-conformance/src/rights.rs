//! Write permissions, checked inside the write (X11).

use std::sync::Arc;

use super::{at, cases, get, id, item, listed_ids, only, put, under, user, write_items};
use haversack_store::store::Store;
use haversack_store::store::change::{Batch, Change, CommitReport};
use haversack_store::store::error::{CommitError, Denial};
use haversack_store::store::item::{Item, Link};
use haversack_store::store::viewer::{Principal, Readers, Viewer};

cases![
    an_edit_keeps_readers_and_parent_that_it_leaves_out,
    only_the_creator_changes_readers,
    only_the_creator_moves_an_item,
    unreadable_items_cannot_be_overwritten,
    the_id_of_a_deleted_hidden_item_cannot_be_taken_over,
    a_parent_must_be_readable,
    hidden_descendants_survive_a_deletion,
    linking_needs_two_readable_ends,
    rewriting_the_same_item_changes_nothing,
];

async fn write_as(
    store: &Arc<dyn Store>,
    name: &str,
    changes: Vec<Change>,
) -> Result<CommitReport, CommitError> {
    store.write(Batch::new(at(9), changes).with_rights(user(name))).await
}

async fn put_as(
    store: &Arc<dyn Store>,
    name: &str,
    item: Item,
) -> Result<CommitReport, CommitError> {
    write_as(store, name, vec![put(item)]).await
}

#[track_caller]
fn assert_denied(outcome: Result<CommitReport, CommitError>, expected: Denial) {
    match outcome {
        Err(CommitError::Denied { denial, .. }) => assert_eq!(denial, expected),
        other => panic!("{other:?} instead of {expected:?}"),
    }
}

async fn an_edit_keeps_readers_and_parent_that_it_leaves_out(store: Arc<dyn Store>) {
    let folder = only(&["anna"], item("folder", ""));
    let shared = under("folder", only(&["anna", "bob"], item("shared", "before")));
    let inheriting = under("folder", item("inheriting", "before"));
    write_items(&store, 1, vec![folder, shared, inheriting]).await;
    // Bob cannot see the folder, so he cannot name it as parent.
    put_as(&store, "bob", item("shared", "by bob")).await.unwrap();
    put_as(&store, "anna", item("inheriting", "by anna")).await.unwrap();
    assert_eq!(listed_ids(&store, &Viewer::anyone()).await, [] as [&str; 0]);
    assert_eq!(listed_ids(&store, &user("bob")).await, ["shared"]);
    for (name, text) in [("shared", "by bob"), ("inheriting", "by anna")] {
        let stored = get(&store, &Viewer::owner(), name).await.unwrap();
        assert_eq!(stored.item.parent, Some(id("folder")), "{name}");
        assert_eq!(stored.item.body, text);
    }
}

async fn only_the_creator_changes_readers(store: Arc<dyn Store>) {
    write_items(&store, 1, vec![item("public", "text")]).await;
    put_as(&store, "anna", only(&["anna", "bob"], item("hers", "text"))).await.unwrap();
    let open = |name: &str| only(&["everyone"], item(name, "text"));
    assert_denied(put_as(&store, "bob", open("hers")).await, Denial::Readers);
    assert_denied(
        put_as(&store, "bob", only(&["bob"], item("public", "t"))).await,
        Denial::Readers,
    );
    // Editing does not make Bob the creator.
    for version in 0..20 {
        put_as(&store, "bob", item("hers", &format!("version {version}"))).await.unwrap();
    }
    assert_denied(put_as(&store, "bob", open("hers")).await, Denial::Readers);
    put_as(&store, "anna", open("hers")).await.unwrap();
    assert_eq!(listed_ids(&store, &user("carl")).await, ["hers", "public"]);
    let stored = get(&store, &Viewer::owner(), "hers").await.unwrap();
    assert_eq!(stored.item.readers, Readers::Only([Principal::everyone()].into()));
}

async fn only_the_creator_moves_an_item(store: Arc<dyn Store>) {
    write_items(&store, 1, vec![item("a", ""), item("b", ""), under("a", item("leaf", "x"))]).await;
    assert_denied(put_as(&store, "bob", under("b", item("leaf", "y"))).await, Denial::Move);
    put_as(&store, "bob", under("a", item("leaf", "y"))).await.unwrap();
    put_as(&store, "bob", under("a", item("own", ""))).await.unwrap();
    put_as(&store, "bob", under("b", item("own", ""))).await.unwrap();
    let stored = get(&store, &Viewer::owner(), "own").await.unwrap();
    assert_eq!(stored.item.parent, Some(id("b")));
}

async fn unreadable_items_cannot_be_overwritten(store: Arc<dyn Store>) {
    write_items(&store, 1, vec![only(&["anna"], item("hers", "text"))]).await;
    // Not even the identical text is accepted, which would reveal it.
    for text in ["text", "other"] {
        assert_denied(put_as(&store, "bob", item("hers", text)).await, Denial::Id);
    }
    for change in [Change::Delete(id("hers")), Change::Purge(id("hers"))] {
        assert_denied(write_as(&store, "bob", vec![change]).await, Denial::Missing);
    }
    assert_eq!(listed_ids(&store, &user("anna")).await, ["hers"]);
}

async fn the_id_of_a_deleted_hidden_item_cannot_be_taken_over(store: Arc<dyn Store>) {
    write_items(&store, 1, vec![only(&["anna"], item("gone", "a secret"))]).await;
    store.write(Batch::new(at(2), vec![Change::Delete(id("gone"))])).await.unwrap();
    assert_denied(put_as(&store, "bob", item("gone", "mine")).await, Denial::Id);
    put_as(&store, "anna", item("gone", "again")).await.unwrap();
}

async fn a_parent_must_be_readable(store: Arc<dyn Store>) {
    write_items(&store, 1, vec![only(&["anna"], item("hers", ""))]).await;
    for parent in ["hers", "nowhere"] {
        let child = under(parent, item("child", ""));
        assert_denied(put_as(&store, "bob", child).await, Denial::Parent);
    }
    let family = vec![put(under("new", item("child", ""))), put(item("new", ""))];
    write_as(&store, "bob", family).await.unwrap();
}

async fn hidden_descendants_survive_a_deletion(store: Arc<dyn Store>) {
    let items = vec![
        item("page", ""),
        under("page", item("open", "")),
        under("page", only(&["anna"], item("secret", "hidden"))),
        under("secret", item("below", "hidden")),
    ];
    write_items(&store, 1, items).await;
    let committed = write_as(&store, "bob", vec![Change::Delete(id("page"))]).await.unwrap();
    assert_eq!(committed.deleted, 2, "no more than bob can count");
    assert_eq!(listed_ids(&store, &user("anna")).await, ["below", "secret"]);
    assert_eq!(listed_ids(&store, &user("bob")).await, [] as [&str; 0]);
    let secret = get(&store, &user("anna"), "secret").await.unwrap();
    assert_eq!(secret.item.parent, None);
    // Its readers and the owner can still change it.
    put_as(&store, "anna", item("secret", "changed")).await.unwrap();
    assert_eq!(listed_ids(&store, &user("bob")).await, [] as [&str; 0]);
    write_items(&store, 12, vec![only(&["anna"], item("secret", "again"))]).await;
}

async fn linking_needs_two_readable_ends(store: Arc<dyn Store>) {
    write_items(&store, 1, vec![item("open", ""), only(&["anna"], item("hers", ""))]).await;
    let link = Link { from: id("open"), to: id("hers"), link_type: "link".to_owned() };
    for change in [Change::Link(link.clone()), Change::Unlink(link.clone())] {
        assert_denied(write_as(&store, "bob", vec![change]).await, Denial::Missing);
    }
    write_as(&store, "anna", vec![Change::Link(link)]).await.unwrap();
}

async fn rewriting_the_same_item_changes_nothing(store: Arc<dyn Store>) {
    let page = only(&["anna", "bob"], item("page", ""));
    write_items(&store, 1, vec![page, under("page", item("leaf", "text"))]).await;
    let committed = put_as(&store, "bob", item("leaf", "text")).await.unwrap();
    assert_eq!((committed.stored, committed.unchanged), (0, 1));
}
