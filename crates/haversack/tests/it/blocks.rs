//! W: blocks, their collectors, scores and truncation, through whole packs.

use haversack::{Assembled, NoticeCode, Request};
use haversack_core::units::Timestamp;
use haversack_store::store::change::{Batch, Change};
use haversack_store::store::item::{Event, EventKind, Item, Link};
use haversack_store::store::viewer::{Principal, Readers};
use serde_json::json;

use crate::support::{
    Fixture, NOW, empty_workspace, id, item, ledger_ids, now, pack, packed_ids, refusal,
    user_request,
};

fn ago(hours: i64) -> Timestamp {
    Timestamp::from_millis(NOW - hours * 3_600_000)
}

/// A block under another, at a place among its siblings.
fn block(name: &str, kind: &str, text: &str, parent: &str, position: i64) -> Item {
    let fields =
        if kind == "db_row" { json!({ "properties": { "Name": text } }) } else { json!({}) };
    let body = if kind == "db_row" { "" } else { text };
    let mut block = item(name, kind, body, fields);
    block.title = if matches!(kind, "page" | "database") { text.to_owned() } else { String::new() };
    block.parent = (!parent.is_empty()).then(|| id(parent));
    block.position = position;
    block
}

fn link(from: &str, to: &str) -> Change {
    Change::Link(Link { from: id(from), to: id(to), link_type: "link".to_owned() })
}

fn event(user: &str, event_kind: EventKind, item: &str, at: Timestamp) -> Change {
    Change::AddEvent(Event { item: id(item), user: user.to_owned(), event_kind, at })
}

async fn change(fixture: &Fixture, changes: Vec<Change>) {
    fixture.write(Batch::new(now(), changes)).await.unwrap();
}

fn focused(query: &str, focus: &str) -> Request {
    Request { focus: Some(id(focus)), ..user_request("workspace", query, "mara") }
}

/// A part of a candidate's score in a layer.
#[track_caller]
fn part(assembled: &Assembled, layer: &str, name: &str, component: &str) -> f64 {
    let mut entries = assembled.pack.ledger.iter();
    let entry = entries.find(|entry| &*entry.layer == layer && entry.id.to_string() == name);
    let entry = entry.unwrap_or_else(|| panic!("{name} is not in {layer}"));
    let mut parts = entry.parts.iter();
    parts.find(|part| part.component.name() == component).unwrap().value.get()
}

#[track_caller]
fn check_part(assembled: &Assembled, place: (&str, &str, &str), expected: f64) {
    let (layer, name, component) = place;
    let found = part(assembled, layer, name, component);
    assert!((found - expected).abs() < 1e-9, "{component} of {name} is {found}, not {expected}");
}

/// Blocks of each kind in a tree, ordered, linked both ways, related, edited and viewed.
#[tokio::test]
async fn blocks_stand_in_a_tree_and_are_linked_related_edited_and_viewed_w1() {
    let fixture = empty_workspace();
    let kinds = ["text", "todo", "kanban_card", "code", "quote", "heading", "callout"];
    let mut items = vec![block("page", "page", "Moving house", "", 0)];
    // Written in one order, standing in another.
    for (place, kind) in (0i64..).zip(kinds) {
        let text = format!("The {kind} of the move");
        items.push(block(&format!("b-{kind}"), kind, &text, "page", 100 - place));
    }
    items.push(block("db", "database", "Boxes", "page", 200));
    items.push(block("row", "db_row", "Books", "db", 0));
    items.push(block("other", "db_row", "Shelves", "db", 1));
    items[9].fields.insert("relations".into(), json!([{"name": "For", "targetIds": ["other"]}]));
    items.push(block("out", "text", "Where the van is", "", 0));
    items.push(block("back", "text", "What speaks of the books", "", 0));
    fixture.put(items).await.unwrap();
    let events = vec![
        link("row", "out"),
        link("back", "row"),
        event("mara", EventKind::Edited, "b-todo", ago(2)),
        event("mara", EventKind::Viewed, "b-quote", ago(1)),
        event("jonas", EventKind::Edited, "b-code", ago(1)),
    ];
    change(&fixture, events).await;
    let page = pack(&fixture, focused("What is on this page?", "page").within(8_000)).await;
    let mut children: Vec<(u32, String)> = Vec::new();
    for entry in page.pack.ledger.iter().filter(|entry| &*entry.layer == "focus") {
        children.extend(entry.found.iter().map(|found| (found.rank, entry.id.to_string())));
    }
    children.sort();
    children.retain(|(_, name)| name.starts_with("b-"));
    let children: Vec<String> = children.into_iter().map(|(_, name)| name).collect();
    let expected: Vec<String> = kinds.iter().rev().map(|kind| format!("b-{kind}")).collect();
    assert_eq!(children, expected, "as they stand on the page");
    for kind in kinds {
        assert!(page.text().contains(&format!("[{kind}]")), "{kind}: {}", page.text());
    }
    assert_eq!(ledger_ids(&page, "activity"), ["b-todo", "b-quote"], "what mara did, not jonas");
    let row = pack(&fixture, focused("What is this?", "row")).await;
    let mut related = ledger_ids(&row, "relations");
    related.sort();
    assert_eq!(related, ["back", "other", "out"]);
    let database = pack(&fixture, focused("What is this?", "db")).await;
    let rows = packed_ids(&database, "focus");
    assert!(rows.contains(&"row".to_owned()) && rows.contains(&"other".to_owned()), "{rows:?}");
}

/// The nearest twenty are all unreadable: a filter after the search would leave nothing.
#[tokio::test]
async fn permissions_are_applied_inside_the_search_w3() {
    let fixture = empty_workspace();
    let mut items = vec![block("open", "text", "The lift is a nice machine.", "", 0)];
    for n in 0..60 {
        let text = format!("When does the goods lift work again? Question {n}.");
        let mut secret = block(&format!("s{n}"), "text", &text, "", 0);
        secret.readers = Readers::Only([Principal::user("boss").unwrap()].into());
        items.push(secret);
    }
    fixture.put(items).await.unwrap();
    let query = "When does the goods lift work again?";
    let mara = pack(&fixture, user_request("workspace", query, "mara")).await;
    assert_eq!(ledger_ids(&mara, "semantic"), ["open"]);
    let boss = pack(&fixture, user_request("workspace", query, "boss")).await;
    let found = ledger_ids(&boss, "semantic").len();
    assert!((15..=20).contains(&found), "{found}");
}

#[tokio::test]
async fn items_below_the_least_similarity_are_not_found_w3() {
    let fixture = empty_workspace();
    let texts = ["The goods lift is late.", "Bread is baked at night.", "A lift for goods."];
    let items =
        texts.iter().enumerate().map(|(n, text)| block(&format!("t{n}"), "text", text, "", 0));
    fixture.put(items.collect()).await.unwrap();
    let source = |minimum: f64| {
        format!(
            "haversack = 1\nextends = \"workspace\"\n[[layer]]\nname = \"semantic\"\n\
             collect = [{{ by = \"semantic\", limit = 20, minimum = {minimum:?} }}]\n"
        )
    };
    let mut counts = Vec::new();
    for minimum in [0.0, 0.5, 1.0] {
        fixture.put_recipe("strict", &source(minimum)).await.unwrap();
        let assembled = pack(&fixture, user_request("strict", "the goods lift", "mara")).await;
        for name in ledger_ids(&assembled, "semantic") {
            assert!(part(&assembled, "semantic", &name, "semantic") >= minimum);
        }
        counts.push(ledger_ids(&assembled, "semantic").len());
    }
    assert!(counts[0] == 3 && counts[1] < 3 && counts[1] > 0 && counts[2] == 0, "{counts:?}");
}

#[tokio::test]
async fn relations_score_by_type_and_reach_two_steps_w4() {
    let fixture = empty_workspace();
    let mut row = block("row", "db_row", "Launch", "", 0);
    row.fields.insert("relations".into(), json!([{"name": "Of", "targetIds": ["project"]}]));
    let mut items = vec![row, block("project", "db_row", "Apollo", "", 0)];
    let names = ["out", "back", "second", "third"];
    items.extend(names.map(|name| block(name, "text", &format!("The {name} block"), "", 0)));
    fixture.put(items).await.unwrap();
    let links = vec![
        link("row", "out"),
        link("back", "row"),
        link("out", "second"),
        link("second", "third"),
    ];
    change(&fixture, links).await;
    let assembled = pack(&fixture, focused("rockets", "row")).await;
    let related = ledger_ids(&assembled, "relations");
    assert!(!related.contains(&"third".to_owned()), "three steps are too many: {related:?}");
    for (name, expected) in [("project", 0.75), ("out", 0.7), ("back", 0.65)] {
        check_part(&assembled, ("relations", name, "semantic"), expected);
    }
    let second = part(&assembled, "relations", "second", "semantic");
    assert!(second < 0.65, "what is farther is worth less: {second}");
    let many = (0..30).map(|n| block(&format!("n{n}"), "text", &format!("Block {n}"), "", 0));
    fixture.put(many.collect()).await.unwrap();
    change(&fixture, (0..30).map(|n| link("row", &format!("n{n}"))).collect()).await;
    let assembled = pack(&fixture, focused("rockets", "row")).await;
    assert_eq!(ledger_ids(&assembled, "relations").len(), 10);
}

#[tokio::test]
async fn the_last_edits_and_views_count_by_their_place_w5() {
    let fixture = empty_workspace();
    let names: Vec<String> = (0..24).map(|n| format!("a{n:02}")).collect();
    let items = names.iter().map(|name| block(name, "text", &format!("The text {name}"), "", 0));
    fixture.put(items.collect()).await.unwrap();
    // Twelve edits and seven views in the last days, and one of each that is too long ago.
    let mut events: Vec<Change> = (0..12)
        .map(|n| event("mara", EventKind::Edited, &names[usize::try_from(n).unwrap()], ago(n + 1)))
        .collect();
    events.extend((12..19).map(|n| {
        event("mara", EventKind::Viewed, &names[usize::try_from(n).unwrap()], ago(n + 1))
    }));
    events.push(event("mara", EventKind::Edited, "a20", ago(73)));
    events.push(event("mara", EventKind::Viewed, "a21", ago(73)));
    change(&fixture, events).await;
    let assembled = pack(&fixture, user_request("workspace", "", "mara")).await;
    let mut expected = names[0..10].to_vec();
    expected.extend_from_slice(&names[12..17]);
    let mut found = ledger_ids(&assembled, "activity");
    found.sort();
    assert_eq!(found, expected, "ten edits, five views, none older than three days");
    for (first, from, count) in [(0, 0.6, 10), (12, 0.5, 5)] {
        for place in 0..count {
            let relevance = from - 0.02 * f64::from(u8::try_from(place).unwrap());
            check_part(&assembled, ("activity", &names[first + place], "semantic"), relevance);
        }
    }
    let nobody = Request { user: None, ..user_request("workspace", "", "mara") };
    assert!(ledger_ids(&*pack(&fixture, nobody).await, "activity").is_empty());
}

#[tokio::test]
async fn a_score_is_the_weighted_sum_of_five_parts_w6() {
    let fixture = empty_workspace();
    let mut items = vec![
        block("root", "page", "Everything", "", 0),
        block("near", "page", "The move", "root", 0),
        block("far", "page", "The rest", "root", 1),
        block("here", "text", "What the asker looks at", "near", 0),
        block("beside", "text", "The lift is late", "near", 1),
        block("away", "text", "A lift for goods", "far", 0),
    ];
    let day = |days: i64| Some(ago(days * 24));
    items[4].updated = day(15);
    items[5].updated = day(60);
    fixture.put(items).await.unwrap();
    let mut events: Vec<Change> =
        (0..3).map(|n| event("mara", EventKind::Viewed, "away", ago(200 + n))).collect();
    events.extend((0..9).map(|n| event("jonas", EventKind::Viewed, "beside", ago(200 + n))));
    change(&fixture, events).await;
    let assembled = pack(&fixture, focused("the lift", "here")).await;
    let weights = [
        ("semantic", 0.35),
        ("recency", 0.15),
        ("structural", 0.25),
        ("type_match", 0.15),
        ("affinity", 0.10),
    ];
    let mut scored = 0;
    for entry in assembled.pack.ledger.iter().filter(|entry| &*entry.layer != "history") {
        let parts: Vec<_> =
            entry.parts.iter().map(|part| (part.component.name(), part.weight)).collect();
        assert_eq!(parts, weights, "{}", entry.id);
        let sum: f64 = entry.parts.iter().map(|part| part.value.get() * part.weight).sum();
        assert!((sum - entry.score.get()).abs() < 1e-9, "{}", entry.id);
        scored += 1;
    }
    assert!(scored > 3, "{scored}");
    // Two steps in the tree, four steps; half of thirty days, twice as much as thirty days.
    check_part(&assembled, ("semantic", "beside", "structural"), 0.8);
    check_part(&assembled, ("semantic", "away", "structural"), 0.6);
    check_part(&assembled, ("semantic", "beside", "recency"), 0.5);
    check_part(&assembled, ("semantic", "away", "recency"), 0.0);
    // Three views of mara's own; what jonas did says nothing of her.
    check_part(&assembled, ("semantic", "away", "affinity"), 0.3);
    check_part(&assembled, ("semantic", "beside", "affinity"), 0.0);
    let nowhere = pack(&fixture, user_request("workspace", "the lift", "mara")).await;
    check_part(&nowhere, ("semantic", "away", "structural"), 0.5);
    // A prioritized kind matches fully.
    let mut first = user_request("workspace", "the lift", "mara");
    first.prioritize = vec![haversack_core::item::Kind::new("text").unwrap()];
    check_part(&*pack(&fixture, first).await, ("semantic", "away", "type_match"), 1.0);
}

fn cutting(cut: &str) -> String {
    format!(
        r#"haversack = 1
name = "cutting"
description = "One text that does not fit"
[budget]
total = 60
[output]
fence = "off"
[[layer]]
name = "found"
title = "Found"
share = 1.0
collect = [{{ by = "newest", kinds = ["note"], of = "workspace", limit = 1 }}]
score = {{ recency = 1.0 }}
order = "rank"
cut = "{cut}"
template = "plain"
"#
    )
}

#[tokio::test]
async fn a_text_is_truncated_by_four_strategies_w8() {
    let fixture = empty_workspace();
    let mut text = String::from("The first sentence opens the report. ");
    for n in 0..30 {
        text.push_str(&format!("Paragraph {n} goes on about the weather. "));
        if n == 15 {
            text.push_str("The heron nests on the north bank. It has four eggs. ");
        }
    }
    text.push_str("The last sentence closes the report.");
    fixture.put(vec![item("report", "note", &text, json!({}))]).await.unwrap();
    let ask = async |cut: &str| {
        fixture.put_recipe("cutting", &cutting(cut)).await.unwrap();
        let assembled = pack(&fixture, Request::new("cutting", "Where does the heron nest?")).await;
        assert!(assembled.pack.tokens <= assembled.pack.limit);
        assembled
    };
    let start = ask("keep_start").await;
    assert!(start.text().starts_with("The first sentence") && !start.text().contains("The last"));
    let end = ask("keep_end").await;
    assert!(
        end.text().trim_end().ends_with("closes the report.") && !end.text().contains("The first")
    );
    let extractive = ask("extractive").await;
    assert!(extractive.text().contains("heron nests on the north bank"), "{}", extractive.text());
    let places: Vec<usize> = extractive
        .text()
        .split(['.', '…'])
        .map(str::trim)
        .filter(|sentence| !sentence.is_empty())
        .map(|sentence| text.find(sentence).unwrap_or_else(|| panic!("{sentence:?} is made up")))
        .collect();
    assert!(places.is_sorted(), "in their order: {}", extractive.text());
    let said = |assembled: &Assembled| {
        assembled.notices.iter().any(|notice| notice.code == NoticeCode::NotSummarised)
    };
    assert!(!said(&extractive));
    // Without a model the most important sentences are kept, and a notice says so.
    let summary = ask("summarize").await;
    assert_eq!(summary.text(), extractive.text());
    assert!(said(&summary), "{:?}", summary.notices);
    let unknown = fixture.put_recipe("cutting", &cutting("middle")).await;
    assert!(refusal(unknown).contains("keep_start"));
    // Extractive is what a layer does when its recipe says nothing.
    let silent = cutting("extractive").replace("cut = \"extractive\"\n", "");
    fixture.put_recipe("cutting", &silent).await.unwrap();
    let silent = pack(&fixture, Request::new("cutting", "Where does the heron nest?")).await;
    assert_eq!(silent.text(), extractive.text());
}
