//! Budgets hold in every recipe (P2, P3, X1): a budget that is too small is refused, the error names
//! the least budget, and that budget works.

use haversack::recipes::parse_request;
use haversack::{Assembled, Engine, Request};
use haversack_core::units::Tokens;
use serde_json::{Value, json};

use crate::budget_checks::{check_budget, check_kept};
use crate::recording::OpenRecorded as _;
use crate::support::{
    empty_workspace, id, item, now, pack, refusal, sample_workspace, user_request,
};

/// A recipe that adapts to its budget still names a least budget that works.
#[tokio::test]
async fn the_least_budget_of_an_adapting_recipe_works_x1() {
    let adapting = r#"
haversack = 1
name = "adapting"
[budget]
total = 100
reserve = { answer = 20 }
[[layer]]
name = "words"
share = 1.0
collect = [{ by = "newest", kinds = ["memory"], of = "workspace" }]
template = { header = "A header that takes its part of the room\n", item = "{{content}}\n" }
[[adapt]]
when = "budget < 60"
caps = { words = 18 }
"#;
    let folder = tempfile::tempdir().unwrap();
    let engine = Engine::builder().clock(now).recipe("adapting", adapting);
    let workspace = engine.open_recorded(folder.path()).unwrap().workspace("w").unwrap();
    let body = "Rocket one started in May and came down in June, as planned.";
    workspace.put(vec![item("a", "memory", body, json!({}))]).await.unwrap();
    for budget in [1, 10, 25, 33, 40, 61] {
        check_budget(&workspace, &Request::new("adapting", "rocket"), budget).await;
    }
}

/// A model's context size caps the budget: the error then names the model.
#[tokio::test]
async fn the_error_names_a_model_whose_context_is_too_small_p3() {
    let fixture = sample_workspace("memory");
    let mut request = user_request("prime", "tea", "noor").within(9_000_000);
    request.model = Some("gpt-4o".to_owned());
    request.reserves.insert("system_prompt".to_owned(), Tokens::new(5_000_000));
    let message = refusal(fixture.pack(request).await);
    assert!(message.starts_with("model: has room for"), "{message}");
}

#[tokio::test]
async fn an_invalid_budget_is_refused_with_its_field_x1() {
    let shapes = [
        ("proposal", "targetBudget", json!({ "opportunityId": "o", "userPrompt": "x" })),
        ("prime", "tokenBudget", json!({ "message": "x" })),
        ("memory", "tokenBudget", json!({ "query": "x" })),
        ("situation", "maxTokens", json!({ "situation": { "a": 1 } })),
        ("everything", "tokenBudget", json!({ "query": "x" })),
    ];
    let fixture = empty_workspace();
    for (recipe, field, body) in shapes {
        let shape = fixture.recipe(recipe).await.unwrap().shape;
        for budget in
            [json!(0), json!(-5), json!(1.5), json!("many"), json!(10_000_001_u64), json!(1e30)]
        {
            let mut body = body.clone();
            body[field] = budget.clone();
            let message = refusal(parse_request(recipe, shape, body));
            assert!(message.starts_with(field), "{recipe} {budget}: {message}");
            assert!(message.contains("from 1 to 10000000"), "{recipe} {budget}: {message}");
        }
        let mut body = body.clone();
        body[field] = Value::Null;
        assert!(parse_request(recipe, shape, body).is_ok(), "{recipe}");
    }
    for budget in [0, 10_000_001] {
        let message = refusal(fixture.pack(Request::new("everything", "x").within(budget)).await);
        assert!(message.contains("tokenBudget") && message.contains("10000000"), "{message}");
    }
}

/// Reserves hold, except for the foundation, which may use them (P2).
#[tokio::test]
async fn only_the_foundation_may_use_reserves_p2() {
    let fixture = sample_workspace("proposal");
    let mut request = user_request("proposal", "Write the executive summary", "priya");
    request.set_subject("opportunity", Some(id("opp-harrowmere")));
    let whole = pack(&fixture, request.clone()).await;
    let foundation = ["companyProfile", "brandContext"];
    for budget in [200, 600, 1_000, 2_300, 2_500] {
        let small = pack(&fixture, request.clone().within(budget)).await;
        check_kept(&small, budget);
        for layer in foundation {
            let text = |assembled: &Assembled| {
                let section = assembled.section(layer).unwrap();
                section.span.slice(assembled.text()).unwrap().to_owned()
            };
            assert_eq!(text(&small), text(&whole), "{layer} at {budget}");
        }
    }
}
