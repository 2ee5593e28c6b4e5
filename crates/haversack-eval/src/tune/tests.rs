//! Tunes a recipe that overrates recency on questions whose answers are old.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicI64, Ordering};

use haversack_core::ids::ItemId;
use haversack_core::item::Kind;
use haversack_core::units::Timestamp;
use haversack_store::store::item::Item;
use haversack_store::store::viewer::Viewer;
use tempfile::TempDir;

use super::*;
use crate::eval::Metric;
use haversack::engine::Engine;
use haversack::request::Request;

const NEWEST: &str = r#"
haversack = 1
name = "newest"
[output]
fence = "off"
[[layer]]
name = "found"
share = 1.0
collect = [{ by = "text", kinds = ["memory"], limit = 20 }]
score = { text_similarity = 0.3, recency = 0.9 }
order = "rank"
template = { item = "{{content}}", separator = "\n" }
"#;

const THINGS: [&str; 12] = [
    "kettle", "ladder", "lantern", "anvil", "compass", "bellows", "trowel", "sextant", "loom",
    "plough", "chisel", "barrel",
];

fn old(thing: &str) -> String {
    format!("The {thing} is kept in the cellar.")
}

fn new(thing: &str) -> String {
    format!("Somebody spoke of a {thing} lately.")
}

fn question(thing: &str) -> String {
    format!("Which {thing} is in the cellar?")
}

fn set() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let (mut corpus, mut questions, mut labels) = (String::new(), String::new(), String::new());
    for thing in THINGS {
        for (age, text, date) in
            [("old", old(thing), "2001-05-01"), ("new", new(thing), "2025-12-30")]
        {
            let line = serde_json::json!({
                "id": format!("{age}-{thing}"), "text": text, "meta": { "date": date }
            });
            writeln!(corpus, "{line}").unwrap();
        }
        let line = serde_json::json!({ "id": thing, "text": question(thing) });
        writeln!(questions, "{line}").unwrap();
        writeln!(labels, "{thing}\told-{thing}\t1").unwrap();
    }
    for (name, text) in
        [("corpus.jsonl", corpus), ("queries.jsonl", questions), ("qrels.tsv", labels)]
    {
        fs::write(folder.path().join(name), text).unwrap();
    }
    folder
}

fn options() -> TuneOptions {
    TuneOptions {
        recipe: "newest".to_owned(),
        name: "better".to_owned(),
        budgets: vec![14],
        tries: 12,
        ..TuneOptions::default()
    }
}

async fn tune(set: &Path, options: &TuneOptions) -> Result<TuneReport, EvalError> {
    let scratch = tempfile::tempdir().unwrap();
    let builder = || Engine::builder().recipe("newest", NEWEST);
    tune_on_set(set, options, scratch.path(), &builder, &mut |_| Ok(())).await
}

/// Checks that the tuned recipe lowers recency, reports it, and extends the original.
#[track_caller]
fn check_better(report: &TuneReport) {
    assert_eq!((report.questions, report.tries), (12, 12));
    assert!(report.before < 0.1 && report.after > 0.9, "{report:?}");
    assert!(report.gain > report.error && report.expected > 0.9, "{report:?}");
    let turned = |name: &str| report.changes.iter().find(|change| change.name == name);
    let ratio = |name: &str, was: f64| turned(name).map_or(1.0, |change| change.after / was);
    assert!(ratio("recency", 0.9) < ratio("text_similarity", 0.3), "{:?}", report.changes);
    let source = report.source.as_deref().expect("it is better");
    assert!(source.contains("extends = \"newest\""), "{source}");
}

#[tokio::test(flavor = "multi_thread")]
async fn labelled_questions_improve_the_weights() {
    let set = set();
    let report = tune(set.path(), &options()).await.unwrap();
    check_better(&report);
    assert_eq!(report, tune(set.path(), &options()).await.unwrap(), "the same again");

    let source = report.source.unwrap();
    let scratch = tempfile::tempdir().unwrap();
    let builder = || Engine::builder().recipe("newest", NEWEST).recipe("better", &source);
    let evaluated =
        EvalOptions { recipe: "better".to_owned(), budgets: vec![14], ..EvalOptions::default() };
    let mut watch = |_: EvalEvent<'_>| Ok(());
    let report_again = eval::run(set.path(), &evaluated, scratch.path(), &builder, &mut watch);
    let evidence = report_again.await.unwrap().metrics.budgets[0].mean(Metric::Evidence).value;
    assert!((evidence - report.after).abs() < 1e-9, "the written recipe scores as measured");
}

#[tokio::test(flavor = "multi_thread")]
async fn feedback_improves_the_weights_k8() {
    let folder = tempfile::tempdir().unwrap();
    let clock = Arc::new(AtomicI64::new(NOW.as_millis()));
    let builder = || {
        let clock = Arc::clone(&clock);
        let tick = move || Timestamp::from_millis(clock.fetch_add(1_000, Ordering::Relaxed));
        Engine::builder().recipe("newest", NEWEST).clock(tick)
    };
    {
        let workspace = builder().open(folder.path()).unwrap().workspace("home").unwrap();
        let item = |id: String, text: &str, at: i64| {
            let mut item = Item::new(ItemId::new(&id).unwrap(), Kind::new("memory").unwrap(), text);
            item.updated = Some(Timestamp::from_millis(at));
            item
        };
        let items = THINGS.iter().flat_map(|thing| {
            let old = item(format!("old-{thing}"), &old(thing), 1_000);
            [old, item(format!("new-{thing}"), &new(thing), NOW.as_millis() - 1_000)]
        });
        workspace.put(items.collect()).await.unwrap();
        for thing in THINGS {
            let mut request = Request::new("newest", &question(thing));
            request.user = Some("mara".to_owned());
            workspace.pack(request).await.unwrap();
            workspace.flush().await;
            let useful = ItemId::new(&format!("old-{thing}")).unwrap();
            workspace.feedback(&Viewer::owner(), "mara", &useful, true).await.unwrap();
        }
        workspace.blocking_store().close().await;
    }
    let mut watch = |_: EvalEvent<'_>| Ok(());
    let report = tune_on_feedback(folder.path(), "home", &options(), &builder, &mut watch).await;
    check_better(&report.unwrap());
}

const NOW: Timestamp = Timestamp::from_millis(1_767_225_600_000);

#[tokio::test(flavor = "multi_thread")]
async fn errors_say_why_a_recipe_cannot_be_tuned() {
    let set = set();
    let check = async |options: TuneOptions, expected: &str| {
        let error = tune(set.path(), &options).await.unwrap_err();
        assert!(error.to_string().starts_with(expected), "{error}");
    };
    check(TuneOptions { tries: 1, ..options() }, "tries: 1 is not between 2 and 60").await;
    check(TuneOptions { folds: 1, ..options() }, "folds: 1 is not between 2 and 10").await;
    check(TuneOptions { name: "newest".to_owned(), ..options() }, "name: \"newest\" is the").await;
    check(TuneOptions { limit: Some(5), ..options() }, "questions: 5 with labels are too few")
        .await;
    check(TuneOptions { recipe: "nobody".to_owned(), ..options() }, "there is no recipe").await;
}
