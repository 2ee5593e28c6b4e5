//! The collector `focus`.

use serde_json::json;

use super::*;

async fn page() -> CollectorStore {
    let text = |name: &str, body: &str| item(name, "text", body);
    let mut items = vec![
        with_title("Workspace", item("top", "page", "")),
        under("top", 1, with_title("Team", item("team", "page", ""))),
        under(
            "team",
            1,
            with_title("Launch", item_with_fields("page", "page", json!({"summary": "The plan"}))),
        ),
        under("page", 1, text("b1", "one")),
        under("page", 2, text("b2", "two")),
        under("page", 3, item("list", "list", "three things")),
        under("page", 4, text("b4", "four")),
        under("page", 5, text("b5", "five")),
        under("page", 6, Item { active: false, ..text("old", "no longer") }),
        under("page", 7, text("b7", "seven")),
        under("list", 1, text("l1", "first thing")),
        under("list", 2, text("l2", "second thing")),
    ];
    items.extend((1..=8).map(|n| under("b4", n, text(&format!("c{n}"), "child"))));
    CollectorStore::with(put(items)).await
}

#[tokio::test]
async fn a_block_comes_with_its_surroundings_w2() {
    let store = page().await;
    let request = Request { focus: Some(id("b4")), ..ask("") };
    let expected = "
        b4 1.000
        page 0.900
        c1 0.850
        team 0.800
        c2 0.800
        list 0.800
        c3 0.750
        b5 0.750
        top 0.700
        c4 0.700
        b2 0.700
        c5 0.650
        b7 0.650";
    store.check(&spec("focus", &[]), request.clone(), expected).await;
    let collected = store.collect(&spec("focus", &[]), request.clone()).await;
    for candidate in &collected.candidates {
        // The collector's score is also the semantic score (W6).
        let signal = |component| candidate.signals.get(component);
        assert_eq!(signal(Component::Semantic), signal(Component::Collector));
    }
    let little = [("ancestors", 0), ("siblings", 1), ("children", 0)];
    let little = little.map(|(name, count)| (name, Setting::Count(count)));
    let spec = with_settings(spec("focus", &[]), &little);
    store.check(&spec, request, "b4 1.000\nlist 0.800\nb5 0.750").await;
}

#[tokio::test]
async fn a_page_comes_with_its_summary_and_its_blocks_in_order_w2() {
    let store = page().await;
    let expected = "
        page 1.000
        b1 0.850
        b2 0.849
        list 0.848
        l1 0.847
        l2 0.846
        b4 0.845
        c1 0.844
        c2 0.843
        c3 0.842
        c4 0.841
        c5 0.840
        c6 0.839
        c7 0.838
        c8 0.837
        b5 0.836
        b7 0.835";
    let request = Request { page: Some(id("page")), ..ask("Summarize this page") };
    store.check(&spec("focus", &[]), request.clone(), expected).await;
    // The item's kind decides that it is a page, not the request's field.
    let request = Request { page: None, focus: Some(id("page")), ..request };
    store.check(&spec("focus", &[]), request.clone(), expected).await;
    let collected = store.collect(&spec("focus", &[]), request).await;
    let page = &collected.candidates[0];
    assert_eq!((&*page.text, page.place.title.as_deref()), ("Summary: The plan", Some("Launch")));
}

#[tokio::test]
async fn a_database_comes_with_its_schema_and_rows_w2() {
    let schema = json!({"schema": [{"name": "Owner", "type": "person"}]});
    let mut items = vec![with_title("Tasks", item_with_fields("tasks", "database", schema))];
    for n in 1..=12 {
        let row = item_with_fields(
            &format!("r{n:02}"),
            "db_row",
            json!({"properties": {"Owner": "Ada"}}),
        );
        items.push(under("tasks", n, row));
    }
    let store = CollectorStore::with(put(items)).await;
    let request = Request { database: Some(id("tasks")), ..ask("") };
    let collected = store.collect(&spec("focus", &[]), request.clone()).await;
    let texts: Vec<&str> = collected.candidates.iter().map(|c| &*c.text).collect();
    assert_eq!(texts[..2], ["Schema: Name: Owner; Type: person", "Owner: Ada"]);
    assert_eq!(texts.len(), 11, "ten rows");
    let spec = with_settings(spec("focus", &[]), &[("rows", Setting::Count(2))]);
    store.check(&spec, request, "tasks 1.000\nr01 0.850\nr02 0.849").await;
}

#[tokio::test]
async fn a_missing_focus_is_an_error_w12() {
    let store = page().await;
    let request = Request { focus: Some(id("nowhere")), ..ask("") };
    for by in ["focus", "relations"] {
        let error = store.collect_after(&spec(by, &[]), request.clone(), &[]).await.unwrap_err();
        let expected = "focus: there is no block \"nowhere\" that this user can read";
        assert_eq!(error.to_string(), expected);
        store.check(&spec(by, &[]), ask(""), "").await;
    }
}
