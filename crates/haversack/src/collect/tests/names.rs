//! Collectors by name.

use serde_json::json;

use super::*;
use crate::notice::NoticeCode;

fn file(name: &str, path: &str, body: &str) -> Item {
    Item { path: Some(path.to_owned()), ..item(name, "file", body) }
}

fn reference(name: &str, target: &str, hours: i64) -> Item {
    let fields = json!({
        "targetId": target,
        "excerpt": "the very words",
        "source": "notes/lost.md",
        "threadId": "thread",
    });
    Item { created: Some(ago(hours)), ..item_with_fields(name, "reference", fields) }
}

#[tokio::test]
async fn references_of_a_thread_are_followed_k2() {
    let store = CollectorStore::with(put(vec![
        item("thread", "thread", "Talk"),
        reference("r1", "plan", 3),
        reference("r2", "gone", 2),
        file("plan", "docs/plan.md", "The plan in all its glory, with the very words in it."),
    ]))
    .await;
    let request = ask("hello").about("thread", id("thread"));
    let collected = store.collect(&spec("references", &[]), request).await;
    let measured = [Component::Collector, Component::SourcePriority];
    assert_eq!(candidate_lines(&collected, &measured), "r2 1.000 1.000\nplan 1.000 1.000");
    let [lost, plan] = &collected.candidates[..] else { unreachable!() };
    assert_eq!(
        (&*lost.text, lost.place.path.as_deref()),
        ("the very words", Some("notes/lost.md"))
    );
    assert_eq!(&*plan.text, "The plan in all its glory, with the very words in it.");
    let quoted = plan.essential.as_ref().map(|essential| &*essential.text);
    assert_eq!(quoted, Some("the very words"));
}

#[tokio::test]
async fn names_and_paths_of_a_query_are_looked_up_k2() {
    let store = CollectorStore::with(put(vec![
        file("1", "project/src/main.rs", "fn main() {}"),
        file("2", "project/src/lib.rs", "pub mod main;"),
        file("3", "notes/budget.md", "What the main thing costs."),
        with_title("Quarterly report", item("4", "file", "Numbers.")),
        with_title("Quarterly report", item("5", "note", "Not a file.")),
        file("6", "archive/old/budget-2019.md", "What it cost."),
    ]))
    .await;
    let files = spec("references", &["file"]);
    let check = async |query: &str, expected: &[&str]| {
        store.check_ids(&files, ask(query), expected).await;
    };
    check("what does @3 say", &["3"]).await;
    check("compare @\"quarterly report\" with @budget", &["4", "3"]).await;
    check("explain src/main.rs please", &["1"]).await;
    check("explain ./project/src/lib.rs and main.rs", &["2", "1"]).await;
    check("open notes/buget.md", &["3"]).await;
    check("@nobody knows something.rs", &[]).await;
    check("what is the main thing?", &[]).await;
}

#[tokio::test]
async fn included_items_are_collected_or_reported_missing_w9() {
    let store = CollectorStore::with(put(vec![
        item("a", "text", "a"),
        item("b", "text", "b"),
        Item { active: false, ..item("old", "text", "old") },
    ]))
    .await;
    let include = vec![id("b"), id("gone"), id("a"), id("old")];
    let one = with_settings(spec("references", &[]), &[("limit", Setting::Count(1))]);
    let collected = store.collect(&one, Request { include, ..ask("") }).await;
    assert_eq!(candidate_lines(&collected, &[]), "b\na");
    let notices: Vec<_> = collected.notices.iter().map(|n| (n.code, n.message.as_str())).collect();
    let missed = |message| (NoticeCode::NotFound, message);
    let expected = [
        missed("include: there is no item \"gone\" that this user can read"),
        missed("include: there is no item \"old\" that this user can read"),
    ];
    assert_eq!(notices, expected);
}

#[tokio::test]
async fn mentioned_competitors_come_first_exact_before_misspelt_p9() {
    let card = |name: &str, competitor: &str, aliases: &[&str]| {
        let fields = json!({
            "competitorName": competitor,
            "aliases": aliases,
            "winThemes": ["we are faster"],
            "strengths": ["they are larger than anybody would think"],
        });
        item_with_fields(name, "battlecard", fields)
    };
    let store = CollectorStore::with(put(vec![
        with_title(
            "Deal",
            item_with_fields("deal", "opportunity", json!({"summary": "They use Globex now"})),
        ),
        under("deal", 0, item("mail", "deal_context_item", "We also talked to innitech.")),
        card("c1", "Initech", &[]),
        card("c2", "Globex", &[]),
        card("c3", "Umbrella Corporation", &["Umbrella"]),
        card("c4", "Hooli", &[]),
        Item { active: false, ..card("c5", "Umbrella", &[]) },
    ]))
    .await;
    let request = ask("How do we beat umbrella?").about("opportunity", id("deal"));
    let cards = spec("mentions", &["battlecard"]);
    store.check(&cards, request.clone(), "c3 1.000\nc2 1.000\nc1 0.900").await;
    let collected = store.collect(&cards, request).await;
    let c3 = &collected.candidates[0];
    let essential = c3.essential.as_ref().map(|essential| &*essential.text);
    assert_eq!(essential, Some("Competitor name: Umbrella Corporation\nWin themes: we are faster"));
    assert_eq!(candidate_lines(&collected, &[Component::Mention]), "c3 1.000\nc2 1.000\nc1 0.900");
    store.check_ids(&cards, ask("nothing of note"), &[]).await;
}
