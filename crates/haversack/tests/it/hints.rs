//! W: included, excluded and prioritized items; limits of reading; validation of payloads.

use std::sync::Arc;

use haversack::recipes::parse_request;
use haversack::recipes::workspace::{Payload, WorkspaceContext};
use haversack::{Assembled, NoticeCode, Request};
use haversack_core::assemble::TemplateText;
use haversack_core::text::tokenizer::Encoding;
use haversack_core::units::Tokens;
use haversack_store::store::item::Item;
use haversack_store::store::viewer::{Principal, Readers, Viewer};
use serde_json::{Value, json};

use crate::support::{
    Fixture, empty_workspace, id, item, ledger_ids, pack, packed_ids, sample_workspace,
    user_request,
};

fn block(name: &str, kind: &str, text: &str, parent: &str, position: i64) -> Item {
    let mut block = item(name, kind, text, json!({}));
    block.parent = (!parent.is_empty()).then(|| id(parent));
    block.position = position;
    block
}

fn hidden(mut item: Item) -> Item {
    item.readers = Readers::Only([Principal::user("boss").unwrap()].into());
    item
}

fn messages(assembled: &Assembled, code: NoticeCode) -> Vec<String> {
    let notices = assembled.notices.iter().filter(|notice| notice.code == code);
    notices.map(|notice| notice.message.clone()).collect()
}

fn focused(query: &str, focus: &str) -> Request {
    Request { focus: Some(id(focus)), ..user_request("workspace", query, "mara") }
}

/// Every collector that stops at a limit reports the numbers; unreadable items are not counted.
#[tokio::test]
async fn a_collector_that_stops_at_a_limit_adds_a_notice_w2() {
    let fixture = empty_workspace();
    let mut items =
        vec![block("list", "page", "", "", 0), block("here", "todo", "Pack", "list", 5)];
    items[0].title = "Chores".to_owned();
    for n in 0..9 {
        items.push(block(&format!("child-{n}"), "text", &format!("Box {n}"), "here", n));
        items.push(block(&format!("chore-{n}"), "todo", &format!("Chore {n}"), "list", n + 10));
        let secret = block(&format!("secret-{n}"), "text", &format!("Secret {n}"), "here", n);
        items.push(hidden(secret));
        let relations = json!({ "relations": [{ "name": "For", "targetIds": ["here"] }] });
        let mut row = item(&format!("secret-row-{n}"), "db_row", "", relations.clone());
        row.title = format!("Hidden row {n}");
        items.push(hidden(row.clone()));
        for half in ["a", "b"] {
            let mut row = item(&format!("row-{n}{half}"), "db_row", "", relations.clone());
            row.title = format!("Row {n}{half}");
            items.push(row);
        }
    }
    fixture.put(items).await.unwrap();
    let mut request = focused("what is this?", "here");
    for n in 0..25 {
        let content = format!("Turn {n}");
        request.history.push(haversack::request::Turn {
            role: "user".to_owned(),
            content,
            at: None,
        });
    }
    let assembled = pack(&fixture, request).await;
    let notices = messages(&assembled, NoticeCode::MoreMatches);
    for expected in [
        "5 of 9 blocks under todo \"here\" were read",
        "2 of 9 blocks beside todo \"here\" were read",
        "10 of 18 related items were read",
        "20 of 25 turns of the conversation were read",
    ] {
        assert!(notices.iter().any(|notice| notice == expected), "{expected}: {notices:?}");
    }
    let page = pack(&fixture, focused("what is this?", "list")).await;
    let read = messages(&page, NoticeCode::MoreMatches);
    assert!(!read.iter().any(|notice| notice.contains("Chores")), "all of it was read: {read:?}");
}

/// A page is read to its full depth; a notice counts the blocks that did not fit.
#[tokio::test]
async fn a_page_is_read_whole_and_a_notice_counts_its_packed_blocks_w2() {
    let fixture = empty_workspace();
    let mut items = vec![block("page", "page", "", "", 0)];
    items[0].title = "Manual".to_owned();
    for n in 0..60 {
        let text = format!("Step {n}: turn the handle of valve {n} until it clicks.");
        items.push(block(&format!("s{n:02}"), "text", &text, "page", n));
    }
    items.push(block("deep-1", "toggle", "Valves in the cellar", "page", 100));
    items.push(block("deep-2", "list", "The second level", "deep-1", 0));
    items.push(block("deep-3", "text", "The zirconium gasket is under the stairs.", "deep-2", 0));
    items.push(hidden(block("secret", "text", "The zirconium safe", "page", 101)));
    fixture.put(items).await.unwrap();
    let request = focused("Where is the zirconium gasket?", "page");
    let mut small = request.clone().within(900);
    small.caps.insert("focus".to_owned(), Tokens::new(400));
    let assembled = pack(&fixture, small).await;
    let ids = packed_ids(&assembled, "focus");
    for name in ["page", "deep-1", "deep-2", "deep-3"] {
        assert!(ids.contains(&name.to_owned()), "{name}: {ids:?}");
    }
    let notices = messages(&assembled, NoticeCode::ContextTruncated);
    let in_page = ids.len() - 1;
    let expected = format!("{in_page} of 63 blocks of page \"Manual\" are in");
    assert!(notices.contains(&expected), "{expected}: {notices:?}");
    let suggestions: Vec<&String> =
        assembled.notices.iter().flat_map(|notice| &notice.suggestions).collect();
    assert!(suggestions.iter().any(|it| it.contains("above 400 tokens")), "{suggestions:?}");
    // More room only adds.
    let mut larger = request.clone().within(1_800);
    larger.caps.insert("focus".to_owned(), Tokens::new(1_200));
    let more = packed_ids(&*pack(&fixture, larger).await, "focus");
    assert!(ids.iter().all(|id| more.contains(id)), "{ids:?} {more:?}");
    // One level is one level, and a notice counts the rest.
    let flat = pack(&fixture, Request { depth: Some(1), ..request.within(8_000) }).await;
    assert!(!packed_ids(&flat, "focus").contains(&"deep-3".to_owned()));
    let notices = messages(&flat, NoticeCode::MoreMatches);
    assert!(notices.iter().any(|notice| notice.contains("61 of 63 blocks of page")), "{notices:?}");
}

/// A block that is too large is truncated, not dropped, and its content is only its text.
#[tokio::test]
async fn large_included_blocks_are_truncated_not_dropped_w9() {
    let fixture = empty_workspace();
    let mut text = String::new();
    for n in 0..120 {
        text.push_str(&format!("Paragraph {n} speaks of the weather on the coast.\n\n"));
        if n == 80 {
            text.push_str("The heron nests on the north bank of the river.\n\n");
        }
    }
    let mut items: Vec<Item> =
        (0..3).map(|n| block(&format!("long-{n}"), "text", &text, "", 0)).collect();
    let bird = |n: i64| block(&format!("t{n}"), "text", &format!("Bird {n} flies."), "", 0);
    items.extend((0..30).map(bird));
    fixture.put(items).await.unwrap();
    let mut request = user_request("workspace", "Where does the heron nest?", "mara").within(1_200);
    request.include = vec![id("long-0"), id("long-1"), id("missing")];
    request.exclude = vec![id("t1"), id("t-none")];
    let assembled = pack(&fixture, request).await;
    assert!(assembled.pack.tokens <= assembled.pack.limit);
    let context = WorkspaceContext::from_assembled(&assembled, false);
    let included =
        context.sections.iter().find(|section| section.section_type == "included").unwrap();
    let names: Vec<&str> = included.items.iter().map(|item| item.block_id.as_str()).collect();
    assert_eq!(names, ["long-0", "long-1"]);
    for item in &included.items {
        assert!(item.content.contains("heron nests"), "{}", item.content);
        for part in item.content.split('…').map(str::trim) {
            assert!(text.contains(part), "{part:?} is not of the block");
        }
    }
    let notices = messages(&assembled, NoticeCode::NotFound);
    assert!(notices.iter().any(|notice| notice.contains("\"missing\"")), "{notices:?}");
    assert!(notices.iter().any(|notice| notice.contains("\"t-none\"")), "{notices:?}");
}

/// Prioritized kinds are found and rank before better matches of other kinds.
#[tokio::test]
async fn prioritized_kinds_rank_first_w9() {
    let fixture = empty_workspace();
    let note = |n: i64| {
        let text = format!("The goods lift, note {n}: the goods lift is late.");
        block(&format!("n{n:02}"), "text", &text, "", 0)
    };
    let mut items: Vec<Item> = (0..60).map(note).collect();
    for n in 0..3 {
        let text = format!("Card {n}: ask the workshop about the lift and its goods, in writing.");
        items.push(block(&format!("c{n}"), "kanban_card", &text, "", 0));
        let text = format!("Bread order {n}");
        items.push(block(&format!("x{n}"), "kanban_card", &text, "", 0));
    }
    fixture.put(items).await.unwrap();
    let mut request = user_request("workspace", "goods lift", "mara").within(900);
    request.prioritize = vec![haversack_core::item::Kind::new("kanban_card").unwrap()];
    let assembled = pack(&fixture, request).await;
    let ids = packed_ids(&assembled, "semantic");
    let mut first = ids[..3].to_vec();
    first.sort();
    assert_eq!(first, ["c0", "c1", "c2"], "{ids:?}");
    assert!(ids.len() > 3, "the others follow: {ids:?}");
}

/// Rows that refer to a row by a column or a relation are found from it; unreadable ones are not.
#[tokio::test]
async fn relations_by_field_are_followed_both_ways_w4() {
    let fixture = empty_workspace();
    let row = |name: &str, fields: Value| {
        let mut row = item(name, "db_row", "", fields);
        row.title = format!("Row {name}");
        row
    };
    let relation = |to: &str| json!({ "relations": [{ "name": "Of", "targetIds": [to] }] });
    let items = vec![
        row("Hub", json!({ "properties": { "Out": "spoke" } })),
        row("spoke", json!({})),
        row("by-relation", relation("Hub")),
        row("by-column", json!({ "properties": { "Hub": ["Hub"] } })),
        row("second", relation("by-column")),
        hidden(row("secret", relation("Hub"))),
    ];
    fixture.put(items).await.unwrap();
    let assembled = pack(&fixture, focused("what is this?", "Hub")).await;
    let mut related = ledger_ids(&assembled, "relations");
    related.sort();
    assert_eq!(related, ["by-column", "by-relation", "second", "spoke"]);
    assert!(!assembled.text().contains("Row secret"));
    let facts = assembled.facts["relations.relations"].to_string();
    assert!(!facts.contains("secret") && facts.contains("inward"), "{facts}");
    let mut near = focused("what is this?", "Hub");
    near.depth = Some(1);
    assert!(!ledger_ids(&*pack(&fixture, near).await, "relations").contains(&"second".to_owned()));
}

/// A focus that the viewer cannot read is not searched by.
#[tokio::test]
async fn unreadable_text_of_the_focus_is_not_searched_by_w12() {
    let mut packs = Vec::new();
    for with_secret in [false, true] {
        let fixture = empty_workspace();
        let mut items = vec![
            block("here", "todo", "Paint the boat shed", "", 0),
            block("alike", "todo", "Paint the boat house at the pier", "", 0),
            block("other", "todo", "Negotiate the merger with Quillfeather", "", 0),
        ];
        if with_secret {
            let text = "Negotiate the merger with Quillfeather in secret";
            items.push(hidden(block("secret", "text", text, "here", 0)));
        }
        fixture.put(items).await.unwrap();
        let assembled = pack(&fixture, focused("Break this task into subtasks", "here")).await;
        let ids = packed_ids(&assembled, "semantic");
        assert!(ids.contains(&"alike".to_owned()), "{ids:?}");
        packs.push((assembled.text().to_owned(), format!("{:?}", assembled.pack.ledger)));
    }
    assert_eq!(packs[0], packs[1]);
}

async fn problems(fixture: &Fixture, payload: &Value, user: &str) -> Vec<String> {
    let payload: Payload = serde_json::from_value(payload.clone()).unwrap();
    let viewer = Viewer::user(user).unwrap();
    let checked = fixture.validate(&payload, &viewer, Arc::new(Encoding::O200k)).await.unwrap();
    assert_eq!(checked.valid, checked.problems.is_empty());
    checked.problems
}

/// A payload with the fields of the application's own document is checked like any other.
#[tokio::test]
async fn validation_finds_altered_payloads_w11() {
    let fixture = sample_workspace("workspace");
    let request = json!({
        "query": "What about the goods lift?",
        "type": "chat",
        "user": { "id": "mara", "name": "Mara" },
        "focus": { "blockId": "task-periodicals" },
        "conversationHistory": [{ "role": "user", "content": "Is the lift late?" }],
        "tokenBudget": { "total": 3000, "focus": 600, "semantic": 1200, "history": 300, "system": 100 },
    });
    let shape = haversack::recipe::Shape::Workspace;
    let request = parse_request("workspace", shape, request).unwrap();
    let assembled = pack(&fixture, request).await;
    let mut sound =
        serde_json::to_value(WorkspaceContext::from_assembled(&assembled, false)).unwrap();
    let fields = sound.as_object_mut().unwrap();
    for own in ["assembly", "context"] {
        fields.remove(own).unwrap();
    }
    assert_eq!(problems(&fixture, &sound, "mara").await, Vec::<String>::new());
    assert_eq!(sound["metadata"]["focusPageId"], Value::Null);
    let place = |sort: &str| {
        let sections = sound["sections"].as_array().unwrap();
        sections.iter().position(|section| section["type"] == sort).unwrap()
    };
    let semantic = format!("/sections/{}", place("semantic"));
    let altered = |pointer: &str, value: Value| {
        let mut altered = sound.clone();
        *altered.pointer_mut(pointer).unwrap() = value;
        altered
    };
    let text = sound["serialized"].as_str().unwrap();
    let first = sound.pointer(&format!("{semantic}/items/0")).unwrap().clone();
    let said = first["content"].as_str().unwrap();
    let mut emptied = sound["sections"].as_array().unwrap().clone();
    emptied.remove(place("focus"));
    let both = {
        let mut both = altered(&format!("{semantic}/items/0/content"), json!("The lift is new"));
        both["serialized"] = json!(text.replacen(said, "The lift is new", 1));
        both
    };
    for (payload, expected) in [
        (altered("/serialized", json!(text.replacen("lift", "boat", 1))), "section"),
        (altered(&format!("{semantic}/items/0/content"), json!("The lift is new")), "content"),
        (both, "is not the block's text"),
        (altered(&format!("{semantic}/tokenCount"), json!(1)), "tokenCount"),
        (altered("/metadata/totalTokens", json!(1)), "totalTokens"),
        (altered("/metadata/blocksIncluded", json!(99)), "blocksIncluded"),
        (altered(&format!("{semantic}/items/0/blockId"), json!("lead-contracts")), "not there"),
        (altered(&format!("{semantic}/items/1"), first), "twice"),
        (altered("/sections", json!(emptied)), "blocksIncluded"),
        (altered(&format!("{semantic}/title"), json!("Other Content")), "heading"),
    ] {
        let found = problems(&fixture, &payload, "mara").await;
        assert!(found.iter().any(|found| found.contains(expected)), "{expected}: {found:?}");
    }
}

/// Each layer has its own threshold for duplicates of earlier texts.
#[tokio::test]
async fn each_layer_sets_its_own_duplicate_threshold() {
    let fixture = empty_workspace();
    let text = "The goods lift in the north wing is out of order until the end of November.";
    let near = "The goods lift in the north wing is out of order until the end of December.";
    let mut items = vec![item("first", "note", text, json!({}))];
    items.push(item("strict", "memo", near, json!({})));
    items.push(item("lenient", "letter", &format!("{near} Ask Ines."), json!({})));
    fixture.put(items).await.unwrap();
    let layer = |name: &str, kind: &str, repeats: f64| {
        format!(
            "[[layer]]\nname = \"{name}\"\nshare = 0.3\n\
             collect = [{{ by = \"newest\", kinds = [\"{kind}\"], of = \"workspace\" }}]\n\
             score = {{ recency = 1.0 }}\nrepeats = {repeats:?}\ntemplate = \"plain\"\n"
        )
    };
    let source = format!(
        "haversack = 1\nname = \"by-layer\"\ndescription = \"d\"\n[budget]\ntotal = 500\n{}{}{}",
        layer("one", "note", 1.0),
        layer("two", "memo", 0.4),
        layer("three", "letter", 1.0),
    );
    fixture.put_recipe("by-layer", &source).await.unwrap();
    let assembled = pack(&fixture, Request::new("by-layer", "lift")).await;
    assert_eq!(packed_ids(&assembled, "one"), ["first"]);
    assert!(packed_ids(&assembled, "two").is_empty(), "too alike for its layer");
    assert_eq!(packed_ids(&assembled, "three"), ["lenient"]);
}

/// A named template shows breadcrumbs like an inline one.
#[tokio::test]
async fn named_templates_show_breadcrumbs_w10() {
    let fixture = sample_workspace("workspace");
    let source = "haversack = 1\nextends = \"everything\"\n";
    fixture.put_recipe("plainly", source).await.unwrap();
    let item = "{{breadcrumb}} | {{content}}";
    let text = TemplateText { header: "", item, separator: "\n", footer: "\n", empty: None };
    fixture.put_template("crumbs", text).await.unwrap();
    let mut request = user_request("plainly", "what about the goods lift?", "mara");
    request.template = Some(haversack::request::TemplateChoice::Named("crumbs".to_owned()));
    let assembled = pack(&fixture, request).await;
    assert!(assembled.text().contains(" › "), "{}", assembled.text());
}
