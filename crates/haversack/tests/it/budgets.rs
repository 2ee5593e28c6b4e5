//! A budget that is promised holds, in every recipe the same (P2, P3, X1): what does not fit is
//! refused, the error names the least budget, and that budget works.

use haversack::recipes::request_of;
use haversack::samples;
use haversack::{Assembled, Engine, Error, ErrorCode, NoticeCode, Request, Workspace};
use haversack_core::ledger::{Entry, Outcome, Reason};
use haversack_core::pack::{Overflow, PackError};
use haversack_core::text::tokenizer::{Encoding, Tokenizer};
use haversack_core::units::Tokens;
use serde_json::{Value, json};

use crate::recording::OpenRecorded as _;
use crate::support::{asked, empty, id, item, now, pack, refused, sample};

/// The least budget that an error names.
fn least_of(error: &Error) -> u32 {
    assert_eq!(error.code(), ErrorCode::BudgetTooSmall, "{error}");
    match error {
        Error::Pack(PackError::Infeasible { least, .. }) => least.get(),
        other => panic!("{other}"),
    }
}

/// Whether a pack is what its budget lets it be.
fn check_kept(assembled: &Assembled, budget: u32) {
    let counted = Encoding::O200k.count(assembled.text());
    let name = &assembled.recipe.name;
    assert_eq!(assembled.pack.tokens, counted);
    let may_exceed = assembled.recipe.budget.overflow == Overflow::Exceed;
    let reserved = assembled.core.budget.reserved().get();
    let has = |code| assembled.notices.iter().any(|notice| notice.code == code);
    let is_over = counted.get() > budget;
    let is_in_reserve = !is_over && counted.get() + reserved > budget;
    assert_eq!(has(NoticeCode::OverBudget), is_over, "{name} at {budget}: {counted}");
    assert_eq!(has(NoticeCode::ReservesUsed), is_in_reserve, "{name} at {budget}: {counted}");
    if is_over || is_in_reserve {
        assert!(may_exceed, "{name} at {budget}: {counted}");
        for (layer, section) in assembled.layers.iter().filter(|layer| layer.items > 0).zip(1..) {
            assert!(layer.pinned, "{name} at {budget}: section {section} is {}", layer.name);
        }
    }
}

/// Asks within a budget; what is refused is asked again within the least that the error names.
async fn check_budget(workspace: &Workspace, request: &Request, budget: u32) {
    match workspace.pack(request.clone().within(budget)).await {
        Ok(assembled) => {
            check_kept(&assembled, budget);
            // What its layer's cap keeps out, no budget lets in.
            let could_be_in = |entry: &Entry| match &entry.outcome {
                Outcome::Out(Reason::OverCap { .. }) => false,
                _ => entry.tokens_whole > Tokens::ZERO,
            };
            let found = assembled.pack.ledger.iter().any(could_be_in);
            assert!(!found || assembled.pack.n_items() > 0, "{} at {budget}", request.recipe);
        }
        Err(error) => {
            let least = least_of(&error);
            assert!(least > budget, "{error}");
            let assembled = pack(workspace, request.clone().within(least)).await;
            check_kept(&assembled, least);
            let less = workspace.pack(request.clone().within(least - 1)).await;
            assert_eq!(least_of(&less.unwrap_err()), least, "{}", request.recipe);
        }
    }
}

#[tokio::test]
async fn the_least_budget_of_an_error_works_in_every_recipe_x1() {
    for sample_of in samples::ALL {
        let fixture = sample(sample_of.name);
        for recipe in [sample_of.name, "everything"] {
            for question in sample_of.questions {
                let mut request = sample_of.request(question, 1_000).unwrap();
                if recipe != sample_of.name {
                    // Its layers are others.
                    request.recipe = recipe.to_owned();
                    request.caps.clear();
                    request.reserves.clear();
                }
                request.keep = false;
                request.cache = false;
                for budget in [1, 5, 30, 100, 300, 560, 700, 1_000, 2_000, 2_400] {
                    check_budget(&fixture, &request, budget).await;
                }
                for name in fixture.recipe(recipe).await.unwrap().budget.reserves.iter() {
                    request.reserves.insert(name.0.clone(), Tokens::ZERO);
                }
                for budget in [1, 100, 400] {
                    check_budget(&fixture, &request, budget).await;
                }
            }
        }
    }
}

/// A recipe that is another one at another budget still names a least budget that works.
#[tokio::test]
async fn a_recipe_that_adapts_to_its_budget_names_one_that_works_x1() {
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

/// A model's window ends what a budget can ask for: then it is the model that is too small.
#[tokio::test]
async fn a_model_without_room_is_named_p3() {
    let fixture = sample("memory");
    let mut request = asked("prime", "tea", "noor").within(9_000_000);
    request.model = Some("gpt-4o".to_owned());
    request.reserves.insert("system_prompt".to_owned(), Tokens::new(5_000_000));
    let message = refused(fixture.pack(request).await);
    assert!(message.starts_with("model: has room for"), "{message}");
}

#[tokio::test]
async fn a_budget_that_is_none_is_refused_by_name_x1() {
    let shapes = [
        ("proposal", "targetBudget", json!({ "opportunityId": "o", "userPrompt": "x" })),
        ("prime", "tokenBudget", json!({ "message": "x" })),
        ("memory", "tokenBudget", json!({ "query": "x" })),
        ("situation", "maxTokens", json!({ "situation": { "a": 1 } })),
        ("everything", "tokenBudget", json!({ "query": "x" })),
    ];
    let fixture = empty();
    for (recipe, field, body) in shapes {
        let shape = fixture.recipe(recipe).await.unwrap().shape;
        for budget in
            [json!(0), json!(-5), json!(1.5), json!("many"), json!(10_000_001_u64), json!(1e30)]
        {
            let mut body = body.clone();
            body[field] = budget.clone();
            let message = refused(request_of(recipe, shape, body));
            assert!(message.starts_with(field), "{recipe} {budget}: {message}");
            assert!(message.contains("from 1 to 10000000"), "{recipe} {budget}: {message}");
        }
        let mut body = body.clone();
        body[field] = Value::Null;
        assert!(request_of(recipe, shape, body).is_ok(), "{recipe}");
    }
    for budget in [0, 10_000_001] {
        let message = refused(fixture.pack(Request::new("everything", "x").within(budget)).await);
        assert!(message.contains("tokenBudget") && message.contains("10000000"), "{message}");
    }
}

/// Reserves are kept, and only for what may exceed the budget they give way (P2).
#[tokio::test]
async fn reserves_give_way_to_the_foundation_alone_p2() {
    let fixture = sample("proposal");
    let mut request = asked("proposal", "Write the executive summary", "priya");
    request.name_subject("opportunity", Some(id("opp-harrowmere")));
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
