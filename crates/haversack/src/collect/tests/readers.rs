//! No collector finds an item that the viewer may not read, and such items change no output.

use haversack_store::store::viewer::Viewer;
use serde_json::json;

use super::*;

/// Items that everyone may read.
fn public_items() -> Vec<Item> {
    vec![
        with_title("Harbour", item("page", "page", "")),
        under("page", 1, item("block", "text", "The crane in the harbour")),
        under("page", 3, item("next", "text", "Another crane")),
        with_title("Deal", item("deal", "opportunity", "A crane for Globex")),
        with_title("Talk", item("thread", "thread", "")),
        item_with_fields(
            "card",
            "battlecard",
            json!({"competitorName": "Globex", "winThemes": ["x"]}),
        ),
        item_with_fields("profile", "company_profile", json!({"summary": "We make cranes"})),
    ]
}

/// Items that only Ada may read, wherever a collector looks.
fn hidden_items() -> Vec<Change> {
    let items = vec![
        under("page", 2, item("h-block", "text", "The secret crane in the harbour")),
        under("block", 1, item("h-child", "text", "The secret crane")),
        Item {
            path: Some("secret/plan.md".to_owned()),
            ..with_title("Secret plan", item("h-file", "file", "The crane plan"))
        },
        under("deal", 0, item("h-mail", "deal_context_item", "Globex has a crane")),
        under("thread", 0, item("h-message", "message", "About the crane")),
        item_with_fields(
            "h-reference",
            "reference",
            json!({"targetId": "h-file", "threadId": "thread", "excerpt": "plan"}),
        ),
        item_with_fields(
            "h-card",
            "battlecard",
            json!({"competitorName": "Globex", "winThemes": ["y"]}),
        ),
        item_with_fields(
            "h-profile",
            "company_profile",
            json!({"summary": "We make secret cranes"}),
        ),
    ];
    let mut changes = put(items.into_iter().map(|item| with_reader("ada", item)).collect());
    changes.push(link("block", "link", "h-block"));
    changes.push(link("h-block", "link", "next"));
    changes.push(event("bob", EventKind::Edited, "h-block", ago(1)));
    changes.push(event("bob", EventKind::Viewed, "h-file", ago(1)));
    changes
}

fn request(viewer: Viewer) -> Request {
    Request {
        viewer,
        user: Some("bob".to_owned()),
        focus: Some(id("block")),
        subjects: [("thread", "thread"), ("opportunity", "deal")]
            .map(|(name, item)| (name.to_owned(), id(item)))
            .into(),
        include: vec![id("h-file")],
        depth: Some(2),
        ..ask("the crane of @\"secret plan\" and secret/plan.md for Globex")
    }
}

/// Renders the output of every collector.
async fn all_outputs(store: &CollectorStore, viewer: &Viewer) -> String {
    let mut lines = Vec::new();
    for doc in table::BUILT_IN {
        let collector = (doc.create)();
        let kinds: &[&str] = match doc.name {
            "singleton" => &["company_profile"],
            "mentions" => &["battlecard"],
            _ => &[],
        };
        let spec = spec(doc.name, kinds);
        let question = store.question(request(viewer.clone())).await;
        let found = store.collect(&super::spec("text", &[]), question.request.clone()).await;
        let collected = collector.collect(&question, &spec, &found.candidates).await.unwrap();
        lines.push(format!("== {}", doc.name));
        lines.push(candidate_lines(&collected, &Component::ALL));
        lines.push(format!("{:?} {}", collected.notices, collected.facts));
    }
    lines.join("\n")
}

#[tokio::test]
async fn unreadable_items_change_no_output_w12_x3() {
    let without = CollectorStore::with(put(public_items())).await;
    let mut changes = put(public_items());
    changes.extend(hidden_items());
    let with = CollectorStore::with(changes).await;
    let (bob, ada) = (Viewer::user("bob").unwrap(), Viewer::user("ada").unwrap());
    let seen = all_outputs(&with, &bob).await;
    assert_eq!(seen, all_outputs(&without, &bob).await);
    let all = all_outputs(&with, &ada).await;
    for name in ["block", "child", "file", "mail", "message", "card", "profile"] {
        assert!(all.contains(&format!("\nh-{name}")), "{name} can be found at all:\n{all}");
    }
}

#[tokio::test]
async fn an_unreadable_focus_looks_like_a_missing_one_w12() {
    let mut changes = put(public_items());
    changes.extend(hidden_items());
    let store = CollectorStore::with(changes).await;
    let bob = Viewer::user("bob").unwrap();
    let request = Request { focus: Some(id("h-block")), ..request(bob) };
    let error = store.collect_after(&spec("focus", &[]), request, &[]).await.unwrap_err();
    let expected = "focus: there is no block \"h-block\" that this user can read";
    assert_eq!(error.to_string(), expected);
}
