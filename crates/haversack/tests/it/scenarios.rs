//! The applications as their users would judge them: every scenario of `scenarios/`, on the built-in
//! recipes as they are.

use haversack::Engine;
use haversack::scenarios::{BUILT_IN, Suite};

use crate::recording::OpenRecorded as _;

/// Runs a suite. What does not hold yet says so in its file, and may not hold unnoticed. `HAVERSACK_SHOW`
/// fails with the packs of scenarios whose names hold its value.
async fn check(name: &str) {
    let (_, text, data) = BUILT_IN.into_iter().find(|(known, ..)| *known == name).unwrap();
    let suite = Suite::parse(text).unwrap();
    let now = suite.present().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let engine = Engine::builder().clock(move || now).open_recorded(folder.path()).unwrap();
    let workspace = engine.workspace("test").unwrap();
    suite.load(&workspace, data.as_bytes()).unwrap();
    let outcomes = suite.run(&workspace).await.unwrap();
    let mut report = String::new();
    let shown = std::env::var("HAVERSACK_SHOW").unwrap_or_default();
    for outcome in &outcomes {
        let name = &outcome.scenario.name;
        if !shown.is_empty() && name.contains(&shown) {
            report
                .push_str(&format!("\n==== {name}\n{:?}\n----\n{}\n", outcome.wrong, outcome.text));
        }
        match (&outcome.wrong[..], &outcome.scenario.pending) {
            ([], None) | ([_, ..], Some(_)) => {}
            ([], Some(_)) => report.push_str(&format!("\n{name}\n  holds: it is not pending\n")),
            (wrong, None) => {
                report.push_str(&format!("\n{name}\n  {}\n", wrong.join("\n  ")));
            }
        }
    }
    assert!(outcomes.len() >= 12, "an application has twelve scenarios or more");
    assert!(report.is_empty(), "{report}");
}

#[tokio::test]
async fn proposal() {
    check("proposal").await;
}

#[tokio::test]
async fn prime() {
    check("prime").await;
}

#[tokio::test]
async fn workspace() {
    check("workspace").await;
}

#[tokio::test]
async fn memory() {
    check("memory").await;
}

#[tokio::test]
async fn situation() {
    check("situation").await;
}
