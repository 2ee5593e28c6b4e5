//! Runs every built-in scenario suite on the built-in recipes.

use haversack::{Engine, Request};
use haversack_core::ids::ItemId;
use haversack_eval::samples;
use haversack_eval::scenarios::{BUILT_IN, Suite};
use haversack_store::store::viewer::Viewer;

/// The built-in suite of this name, and its data.
fn built_in(name: &str) -> (Suite, &'static str) {
    let (_, text, data) = BUILT_IN.into_iter().find(|(known, ..)| *known == name).unwrap();
    (Suite::parse(text).unwrap(), data)
}

/// Runs a suite. Fails when a scenario fails that is not pending, or a pending one passes. With
/// `HAVERSACK_SHOW` it also fails with the packs of scenarios whose names contain that value.
async fn check(name: &str) {
    let (suite, data) = built_in(name);
    let now = suite.present().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let engine = Engine::builder().clock(move || now).open(folder.path()).unwrap();
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
            ([], Some(_)) => {
                report.push_str(&format!("\n{name}\n  passes, but is marked as pending\n"));
            }
            (wrong, None) => {
                report.push_str(&format!("\n{name}\n  {}\n", wrong.join("\n  ")));
            }
        }
    }
    assert!(outcomes.len() >= 12, "each application has at least twelve scenarios");
    assert!(report.is_empty(), "{report}");
}

#[tokio::test]
async fn proposal_scenarios_pass() {
    check("proposal").await;
}

#[tokio::test]
async fn prime_scenarios_pass() {
    check("prime").await;
}

#[tokio::test]
async fn workspace_scenarios_pass() {
    check("workspace").await;
}

#[tokio::test]
async fn memory_scenarios_pass() {
    check("memory").await;
}

#[tokio::test]
async fn situation_scenarios_pass() {
    check("situation").await;
}

/// At no budget are 200 tokens left while an older item of a deal is left out.
#[tokio::test]
async fn the_rest_of_the_budget_is_used_p7() {
    let folder = tempfile::tempdir().unwrap();
    let engine = Engine::builder().clock(|| samples::NOW).open(folder.path()).unwrap();
    let workspace = engine.workspace("test").unwrap();
    let (suite, data) = built_in("proposal");
    suite.load(&workspace, data.as_bytes()).unwrap();
    let mut wasted = Vec::new();
    for opportunity in ["opp-skerry", "opp-brack", "opp-brennwerder"] {
        for budget in (3_500..9_000).step_by(170) {
            let mut request = Request::new("proposal", "What is still open?").within(budget);
            request.viewer = Viewer::user("rory").unwrap();
            request.user = Some("rory".to_owned());
            request.set_subject("opportunity", Some(ItemId::new(opportunity).unwrap()));
            let assembled = workspace.pack(request).await.unwrap();
            let left = assembled.pack.limit.get() - assembled.pack.tokens.get();
            let deal = assembled.layer("dealContext").unwrap();
            // Where an item was truncated, its next sentence is longer than the rest.
            if left >= 200 && deal.removed > 0 && deal.cut == 0 {
                wasted.push((opportunity, budget, left));
            }
        }
    }
    assert!(wasted.is_empty(), "{wasted:?}");
}
