//! What a viewer may not read is found by no collector, and changes nothing.

use haversack_store::store::viewer::Viewer;
use serde_json::json;

use super::*;

/// What everyone may read.
fn open() -> Vec<Item> {
    vec![
        titled("Harbour", item("page", "page", "")),
        under("page", 1, item("block", "text", "The crane in the harbour")),
        under("page", 3, item("next", "text", "Another crane")),
        titled("Deal", item("deal", "opportunity", "A crane for Globex")),
        titled("Talk", item("thread", "thread", "")),
        fielded("card", "battlecard", json!({"competitorName": "Globex", "winThemes": ["x"]})),
        fielded("profile", "company_profile", json!({"summary": "We make cranes"})),
    ]
}

/// What only Ada may read, in every place where a collector looks.
fn hidden() -> Vec<Change> {
    let items = vec![
        under("page", 2, item("h-block", "text", "The secret crane in the harbour")),
        under("block", 1, item("h-child", "text", "The secret crane")),
        Item {
            path: Some("secret/plan.md".to_owned()),
            ..titled("Secret plan", item("h-file", "file", "The crane plan"))
        },
        under("deal", 0, item("h-mail", "deal_context_item", "Globex has a crane")),
        under("thread", 0, item("h-message", "message", "About the crane")),
        fielded(
            "h-reference",
            "reference",
            json!({"targetId": "h-file", "threadId": "thread", "excerpt": "plan"}),
        ),
        fielded("h-card", "battlecard", json!({"competitorName": "Globex", "winThemes": ["y"]})),
        fielded("h-profile", "company_profile", json!({"summary": "We make secret cranes"})),
    ];
    let mut changes = put(items.into_iter().map(|item| only("ada", item)).collect());
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

/// What every collector says, in full.
async fn everything(place: &Place, viewer: &Viewer) -> String {
    let mut lines = Vec::new();
    for doc in table::BUILT_IN {
        let collector = (doc.create)();
        let kinds: &[&str] = match doc.name {
            "singleton" => &["company_profile"],
            "mentions" => &["battlecard"],
            _ => &[],
        };
        let spec = spec(doc.name, kinds);
        let question = place.question(request(viewer.clone())).await;
        let found = place.collect(&super::spec("text", &[]), question.request.clone()).await;
        let collected = collector.collect(&question, &spec, &found.candidates).await.unwrap();
        lines.push(format!("== {}", doc.name));
        lines.push(shown(&collected, &Component::ALL));
        lines.push(format!("{:?} {}", collected.notices, collected.facts));
    }
    lines.join("\n")
}

#[tokio::test]
async fn what_may_not_be_read_is_as_if_it_were_not_there_w12_x3() {
    let without = Place::with(put(open())).await;
    let mut changes = put(open());
    changes.extend(hidden());
    let with = Place::with(changes).await;
    let (bob, ada) = (Viewer::user("bob").unwrap(), Viewer::user("ada").unwrap());
    let seen = everything(&with, &bob).await;
    assert_eq!(seen, everything(&without, &bob).await);
    let all = everything(&with, &ada).await;
    for name in ["block", "child", "file", "mail", "message", "card", "profile"] {
        assert!(all.contains(&format!("\nh-{name}")), "{name} can be found at all:\n{all}");
    }
}

#[tokio::test]
async fn a_focus_that_may_not_be_read_looks_like_none_w12() {
    let mut changes = put(open());
    changes.extend(hidden());
    let place = Place::with(changes).await;
    let bob = Viewer::user("bob").unwrap();
    let request = Request { focus: Some(id("h-block")), ..request(bob) };
    let error = place.collect_after(&spec("focus", &[]), request, &[]).await.unwrap_err();
    let expected = "focus: there is no block \"h-block\" that this user can read";
    assert_eq!(error.to_string(), expected);
}
