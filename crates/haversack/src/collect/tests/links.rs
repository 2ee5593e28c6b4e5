//! Collectors by links.

use serde_json::json;

use super::*;

async fn linked_items() -> CollectorStore {
    let mut changes = put(vec![
        item_with_fields(
            "row",
            "db_row",
            json!({
                "properties": {"Name": "Launch"},
                "relations": [{"name": "Project", "targetIds": ["project", "gone"]}],
            }),
        ),
        item_with_fields("project", "db_row", json!({"properties": {"Name": "Apollo"}})),
        item("out", "text", "what the row links to"),
        item("back", "text", "what links to the row"),
        item("far", "text", "one step further"),
        item("farther", "text", "two steps further"),
        Item { active: false, ..item("old", "text", "not in use") },
    ]);
    changes.extend([
        link("row", "link", "out"),
        link("row", "link", "old"),
        link("back", "link", "row"),
        link("out", "cites", "far"),
        link("project", "link", "out"),
        link("far", "link", "farther"),
        link("far", "link", "row"),
    ]);
    CollectorStore::with(changes).await
}

#[tokio::test]
async fn rows_links_and_backlinks_come_nearest_first_w4() {
    let store = linked_items().await;
    let request = Request { focus: Some(id("row")), ..ask("") };
    let expected = "
        project 0.750
        out 0.700
        back 0.650
        far 0.650
        farther 0.560";
    store.check(&spec("relations", &[]), request.clone(), expected).await;
    let one = Request { depth: Some(1), ..request.clone() };
    store.check_ids(&spec("relations", &[]), one, &["project", "out", "back", "far"]).await;
    let none = Request { depth: Some(0), ..request.clone() };
    store.check_ids(&spec("relations", &[]), none, &[]).await;
    let two = with_settings(spec("relations", &[]), &[("limit", Setting::Count(2))]);
    store.check_ids(&two, request.clone(), &["project", "out"]).await;
    let cites = with_settings(spec("relations", &[]), &[("sorts", one_text("cites"))]);
    store.check_ids(&cites, request.clone(), &[]).await;
    let rows = with_settings(spec("relations", &[]), &[("sorts", one_text("relation"))]);
    store.check_ids(&rows, request.clone(), &["project"]).await;
    // Items of other kinds are not collected, but their links are followed.
    let only_rows = spec("relations", &["text"]);
    store.check_ids(&only_rows, request, &["out", "back", "far", "farther"]).await;
}

fn memory(name: &str, related: &[(&str, &str)]) -> Item {
    let related: Vec<Value> =
        related.iter().map(|(to, link_type)| json!({"target": to, "type": link_type})).collect();
    item_with_fields(
        name,
        "memory",
        json!({"content": format!("memory {name}"), "relationships": related}),
    )
}

#[tokio::test]
async fn memories_are_expanded_along_their_relationships_m7() {
    let mut changes = put(vec![
        memory("a", &[("b", "supports"), ("c", "contradicts")]),
        memory("b", &[("a", "supports"), ("d", "follows")]),
        memory("c", &[]),
        memory("d", &[]),
        memory("e", &[]),
    ]);
    changes.push(link("e", "supersedes", "a"));
    let store = CollectorStore::with(changes).await;
    let mut hits = store.collect(&spec("text", &[]), ask("memory a")).await.candidates;
    hits.retain(|candidate| candidate.id.item == id("a"));
    hits[0].signals.set(Component::Semantic, haversack_core::units::Score::HALF);
    let expand = |depth: u32| {
        let request = Request { depth: Some(depth), ..ask("memory a") };
        let (store, hits) = (&store, &hits);
        async move { store.collect_after(&spec("expand", &[]), request, hits).await.unwrap() }
    };
    assert_eq!(expand(0).await.candidates.len(), 0);
    let two = expand(2).await;
    let components = [Component::Collector, Component::Semantic];
    let expected = "
        b 0.700 0.350
        c 0.700 0.350
        e 0.650 0.325
        d 0.560 0.280";
    assert_eq!(candidate_lines(&two, &components), trim_lines(expected));
    let expected = json!({"related": [
        {"id": "b", "start": "a", "from": "a", "sort": "supports", "direction": "outward", "depth": 1},
        {"id": "c", "start": "a", "from": "a", "sort": "contradicts", "direction": "outward", "depth": 1},
        {"id": "e", "start": "a", "from": "a", "sort": "supersedes", "direction": "inward", "depth": 1},
        {"id": "d", "start": "a", "from": "b", "sort": "follows", "direction": "outward", "depth": 2},
    ]});
    assert_eq!(two.facts, expected);
    assert_eq!(candidate_lines(&expand(1).await, &[]), "b\nc\ne");
}
