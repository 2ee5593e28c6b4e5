//! Trees, links and pages, with items that the viewer may not read.

use std::sync::Arc;

use haversack_core::item::Kind;

use super::{cases, id, ids_of, item, only, under, user, view, write, write_items};
use haversack_store::store::Store;
use haversack_store::store::change::Change;
use haversack_store::store::error::ReadError;
use haversack_store::store::item::{Breadcrumb, Item, Link};
use haversack_store::store::query::{
    Descent, Direction, Filter, LIMIT_MAX, ListOrder, Neighbours, Page,
};
use haversack_store::store::viewer::Viewer;

cases![
    children_and_siblings_have_an_order,
    tree_walks_stop_at_hidden_items,
    only_readable_descendants_are_counted,
    trails_start_at_the_outermost_readable_ancestor,
    distances_need_a_readable_path,
    links_are_visible_when_both_ends_are,
    pages_together_make_the_whole_list,
    limits_are_kept,
];

fn placed(position: i64, mut item: Item) -> Item {
    item.position = position;
    item
}

async fn children_and_siblings_have_an_order(store: Arc<dyn Store>) {
    let items = vec![
        item("p", ""),
        under("p", placed(2, item("a", ""))),
        under("p", placed(1, item("c", ""))),
        under("p", placed(1, item("b", ""))),
        under("p", placed(-1, only(&["anna"], item("hidden", "")))),
        under("p", placed(9, item("z", ""))),
    ];
    write_items(&store, 1, items).await;
    let bob = view(&store, &user("bob")).await;
    let children = bob.children(&id("p"), 10).await.unwrap();
    assert_eq!(ids_of(&children), ["b", "c", "a", "z"]);
    assert_eq!(ids_of(&bob.children(&id("p"), 2).await.unwrap()), ["b", "c"]);
    let (before, after) = bob.siblings(&id("a"), 1).await.unwrap();
    assert_eq!((ids_of(&before), ids_of(&after)), (vec!["c".to_owned()], vec!["z".to_owned()]));
    let (before, _) = bob.siblings(&id("b"), 5).await.unwrap();
    assert!(before.is_empty(), "what is hidden stands beside nobody");
    let anna = view(&store, &user("anna")).await;
    let (before, _) = anna.siblings(&id("b"), 5).await.unwrap();
    assert_eq!(ids_of(&before), ["hidden"]);
    let (before, after) = bob.siblings(&id("p"), 5).await.unwrap();
    assert!(before.is_empty() && after.is_empty());
}

/// a > b (hidden) > c > d; e is a child of a.
async fn broken_tree(store: &Arc<dyn Store>) {
    let items = vec![
        item("a", ""),
        under("a", only(&["anna"], item("b", ""))),
        under("b", only(&["everyone"], item("c", ""))),
        under("c", item("d", "")),
        under("a", item("e", "")),
    ];
    write_items(store, 1, items).await;
}

async fn tree_walks_stop_at_hidden_items(store: Arc<dyn Store>) {
    broken_tree(&store).await;
    let bob = view(&store, &user("bob")).await;
    assert_eq!(ids_of(&bob.ancestors(&id("d"), 10).await.unwrap()), ["c"]);
    assert_eq!(ids_of(&bob.children(&id("a"), 10).await.unwrap()), ["e"]);
    assert!(bob.children(&id("b"), 10).await.unwrap().is_empty());
    assert!(bob.ancestors(&id("b"), 10).await.unwrap().is_empty());
    let filter = Filter { under: Some(id("a")), ..Filter::everything() };
    let page = Page { order: ListOrder::Id, after: None, limit: 10 };
    assert_eq!(ids_of(&bob.list(&filter, &page).await.unwrap()), ["a", "e"]);
    let anna = view(&store, &user("anna")).await;
    assert_eq!(ids_of(&anna.ancestors(&id("d"), 10).await.unwrap()), ["c", "b", "a"]);
    assert_eq!(ids_of(&anna.ancestors(&id("d"), 2).await.unwrap()), ["c", "b"]);
    assert_eq!(anna.count(&filter).await.unwrap(), 5);
}

async fn only_readable_descendants_are_counted(store: Arc<dyn Store>) {
    broken_tree(&store).await;
    let idle = Item { active: false, ..under("a", item("idle", "")) };
    let more = ["f", "g"].map(|name| under("e", item(name, "")));
    write_items(&store, 2, more.into_iter().chain([idle]).collect()).await;
    let shown = async |name: &str, depth: usize, closed: &[&str], limit: usize| {
        let closed = closed.iter().map(|kind| Kind::new(kind).unwrap()).collect();
        let descent = Descent { depth, closed, limit };
        let found = view(&store, &user(name)).await.descendants(&id("a"), &descent).await.unwrap();
        let line = |(level, stored): &(usize, haversack_store::store::item::Stored)| {
            format!("{}{}", "-".repeat(*level), stored.item.id)
        };
        (found.found.iter().map(line).collect::<Vec<_>>().join(" "), found.total)
    };
    let whole = "-b --c ---d -e --f --g".to_owned();
    assert_eq!(shown("anna", 9, &[], 100).await, (whole, 6));
    assert_eq!(shown("bob", 9, &[], 100).await, ("-e --f --g".to_owned(), 3));
    assert_eq!(shown("bob", 9, &[], 1).await, ("-e".to_owned(), 3));
    assert_eq!(shown("anna", 1, &[], 100).await, ("-b -e".to_owned(), 2));
    assert_eq!(shown("anna", 9, &["note"], 100).await, ("-b -e".to_owned(), 2));
    assert_eq!(shown("anna", 0, &[], 100).await, (String::new(), 0));
    let missing = view(&store, &user("bob")).await;
    let descent = Descent { depth: 1, closed: Vec::new(), limit: 10 };
    assert_eq!(missing.descendants(&id("b"), &descent).await.unwrap().total, 0);
}

async fn trails_start_at_the_outermost_readable_ancestor(store: Arc<dyn Store>) {
    broken_tree(&store).await;
    let titled = Item { title: "The top".to_owned(), ..item("a", "") };
    write_items(&store, 2, vec![titled]).await;
    let ids = ["d", "c", "b", "a", "e", "none", "d"].map(id);
    let shown = async |name: &str| -> Vec<String> {
        let trails = view(&store, &user(name)).await.breadcrumbs(&ids).await.unwrap();
        let line = |trail: &Vec<Breadcrumb>| {
            trail.iter().map(|crumb| crumb.id.as_str()).collect::<Vec<_>>().join(" > ")
        };
        trails.iter().map(line).collect()
    };
    assert_eq!(shown("anna").await, ["a > b > c", "a > b", "a", "", "a", "", "a > b > c"]);
    assert_eq!(shown("bob").await, ["c", "", "", "", "a", "", "c"]);
    let bob = view(&store, &user("bob")).await;
    let (kind, title) = (Kind::new("note").unwrap(), "The top".to_owned());
    let top = Breadcrumb { id: id("a"), kind, title };
    assert_eq!(bob.breadcrumbs(&[id("e")]).await.unwrap(), [[top]]);
    assert!(bob.breadcrumbs(&[]).await.unwrap().is_empty());
}

async fn distances_need_a_readable_path(store: Arc<dyn Store>) {
    broken_tree(&store).await;
    let to = ["a", "b", "c", "d", "e", "none"].map(id);
    let anna = view(&store, &user("anna")).await.distances(&id("d"), &to).await.unwrap();
    assert_eq!(anna, [Some(3), Some(2), Some(1), Some(0), Some(4), None]);
    let bob = view(&store, &user("bob")).await.distances(&id("d"), &to).await.unwrap();
    assert_eq!(bob, [None, None, Some(1), Some(0), None, None]);
}

async fn links_are_visible_when_both_ends_are(store: Arc<dyn Store>) {
    let items = vec![item("a", ""), item("b", ""), only(&["anna"], item("secret", ""))];
    write_items(&store, 1, items).await;
    let link = |from: &str, to: &str, link_type: &str| Link {
        from: id(from),
        to: id(to),
        link_type: link_type.to_owned(),
    };
    let links = [
        link("a", "secret", "link"),
        link("a", "b", "supports"),
        link("a", "b", "link"),
        link("a", "later", "link"),
        link("secret", "a", "link"),
    ];
    write(&store, 2, links.iter().cloned().map(Change::Link).collect()).await;
    let shown = async |viewer: &Viewer, direction, link_types: &[&str]| -> Vec<(String, String)> {
        let link_types: Vec<String> = link_types.iter().map(|name| (*name).to_owned()).collect();
        let view = view(&store, viewer).await;
        let linked = view.linked_items(&id("a"), direction, &link_types, 10).await.unwrap();
        let all = view.neighbours(&[id("none"), id("a")], &link_types, 10).await.unwrap();
        let Neighbours { outward, inward } = &all[1];
        assert_eq!(if direction == Direction::Outward { outward } else { inward }, &linked);
        assert_eq!((&all[0], all.len()), (&Neighbours::default(), 2));
        let shown = |linked: haversack_store::store::query::LinkedItem| {
            (linked.link.link_type, linked.stored.item.id.to_string())
        };
        linked.into_iter().map(shown).collect()
    };
    let pairs = |list: &[(&str, &str)]| -> Vec<(String, String)> {
        list.iter().map(|(link_type, end)| ((*link_type).to_owned(), (*end).to_owned())).collect()
    };
    let (bob, anna) = (user("bob"), user("anna"));
    let out = Direction::Outward;
    assert_eq!(shown(&bob, out, &[]).await, pairs(&[("link", "b"), ("supports", "b")]));
    assert_eq!(shown(&bob, Direction::Inward, &[]).await, []);
    assert_eq!(
        shown(&anna, out, &[]).await,
        pairs(&[("link", "b"), ("link", "secret"), ("supports", "b")])
    );
    assert_eq!(shown(&anna, Direction::Inward, &[]).await, pairs(&[("link", "secret")]));
    assert_eq!(shown(&anna, out, &["supports"]).await, pairs(&[("supports", "b")]));
    write_items(&store, 3, vec![item("later", "")]).await;
    assert_eq!(shown(&bob, out, &["link"]).await, pairs(&[("link", "b"), ("link", "later")]));
    write(&store, 4, vec![Change::Unlink(link("a", "b", "link"))]).await;
    assert_eq!(shown(&bob, out, &["link"]).await, pairs(&[("link", "later")]));
}

async fn pages_together_make_the_whole_list(store: Arc<dyn Store>) {
    let items = (0..25)
        .map(|n| {
            let mut item = item(&format!("n{n:02}"), "");
            item.updated = Some(super::at(i64::from(n % 4)));
            if n % 5 == 0 { only(&["anna"], item) } else { item }
        })
        .collect();
    write_items(&store, 1, items).await;
    let bob = view(&store, &user("bob")).await;
    for order in [ListOrder::Id, ListOrder::Newest] {
        let whole = Page { order, after: None, limit: 100 };
        let whole = ids_of(&bob.list(&Filter::everything(), &whole).await.unwrap());
        assert_eq!(whole.len(), 20);
        let (mut joined, mut after) = (Vec::new(), None);
        loop {
            let page = Page { order, after: after.take(), limit: 3 };
            let found = bob.list(&Filter::everything(), &page).await.unwrap();
            joined.extend(ids_of(&found));
            match found.last() {
                Some(last) if found.len() == 3 => after = Some(last.item.id.clone()),
                _ => break,
            }
        }
        assert_eq!(joined, whole, "{order:?}");
    }
    let newest = Page { order: ListOrder::Newest, after: None, limit: 2 };
    assert_eq!(ids_of(&bob.list(&Filter::everything(), &newest).await.unwrap()), ["n03", "n07"]);
    // Paging after an unreadable item must not reveal its position.
    let after = Page { order: ListOrder::Newest, after: Some(id("n00")), limit: 3 };
    let hidden = bob.list(&Filter::everything(), &after).await;
    let after = Page { after: Some(id("none")), ..after };
    let missing = bob.list(&Filter::everything(), &after).await;
    assert!(matches!(hidden, Err(ReadError::Invalid { .. })), "{hidden:?}");
    assert!(matches!(missing, Err(ReadError::Invalid { .. })), "{missing:?}");
}

async fn limits_are_kept(store: Arc<dyn Store>) {
    write_items(&store, 1, vec![item("a", "word")]).await;
    let view = view(&store, &Viewer::anyone()).await;
    let page = |limit| Page { order: ListOrder::Id, after: None, limit };
    let text_search =
        |limit| haversack_store::store::query::TextSearch { limit, ..super::text_search("word") };
    assert_eq!(view.list(&Filter::everything(), &page(LIMIT_MAX)).await.unwrap().len(), 1);
    assert_eq!(view.search_text(&text_search(LIMIT_MAX)).await.unwrap().len(), 1);
    assert_eq!(view.search_text(&text_search(0)).await.unwrap().len(), 0);
    assert_eq!(view.list(&Filter::everything(), &page(0)).await.unwrap().len(), 0);
    let over = [
        view.list(&Filter::everything(), &page(LIMIT_MAX + 1)).await.err(),
        view.search_text(&text_search(LIMIT_MAX + 1)).await.err(),
        view.children(&id("a"), LIMIT_MAX + 1).await.err(),
        view.linked_items(&id("a"), Direction::Inward, &[], LIMIT_MAX + 1).await.err(),
    ];
    for error in over {
        let message = error.expect("over the limit").to_string();
        assert!(message.contains("limit") && message.contains("1000"), "{message}");
    }
}
