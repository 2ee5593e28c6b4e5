//! X: what holds for every recipe.

use haversack::recipe::BUILT_IN;
use haversack::{Engine, ErrorCode, Request};
use haversack_core::text::tokenizer::{Encoding, Tokenizer};
use haversack_core::units::{Span, Timestamp, Tokens};
use haversack_store::store::viewer::{Principal, Readers, Viewer};
use proptest::prelude::*;
use serde_json::json;

use crate::recording::OpenRecorded as _;
use crate::support::{
    empty_workspace, id, item, ledger_ids, now, pack, refusal, sample_workspace, user_request,
};

/// Each recipe with a matching sample and a request that uses its features.
fn questions() -> Vec<(&'static str, Request)> {
    let mut proposal = user_request("proposal", "Write the summary", "priya");
    proposal.set_subject("opportunity", Some(id("opp-harrowmere")));
    let mut prime = user_request("prime", "What must Nightjar cost?", "mara");
    prime.set_subject("thread", Some(id("t-price")));
    let mut workspace = user_request("workspace", "What about the goods lift?", "mara");
    workspace.focus = Some(id("task-periodicals"));
    let mut situation = user_request("situation", "Repair the refunds", "katja");
    situation.context = Some(id("task/refund-backfill"));
    situation.situation.insert("environment".into(), json!("production"));
    situation.situation.insert("tool".into(), json!("run_sql"));
    vec![
        ("proposal", proposal),
        ("prime", prime),
        ("workspace", workspace),
        ("situation", situation),
        ("memory", user_request("memory", "Where does Noor live?", "noor")),
        ("prime", user_request("everything", "What must Nightjar cost?", "mara")),
        ("workspace", user_request("everything", "What about the goods lift?", "mara")),
    ]
}

#[tokio::test]
async fn the_budget_holds_on_the_final_bytes_x1() {
    for (name, request) in questions() {
        let fixture = sample_workspace(name);
        for budget in [150, 300, 700, 1_500, 3_000, 8_000] {
            let total = budget + 2_300;
            match fixture.pack(request.clone().within(total)).await {
                Ok(assembled) => {
                    let counted = Encoding::O200k.count(assembled.text());
                    assert_eq!(counted, assembled.pack.tokens);
                    let over = assembled.pack.tokens > assembled.pack.limit;
                    assert!(!over || request.recipe == "proposal", "{name} at {total}");
                }
                Err(error) => assert_eq!(error.code(), ErrorCode::BudgetTooSmall, "{error}"),
            }
        }
    }
}

#[tokio::test]
async fn every_candidate_is_explained_x2() {
    for (name, request) in questions() {
        let assembled = pack(&sample_workspace(name), request).await;
        for entry in &assembled.pack.ledger {
            assert!(!entry.found.is_empty(), "{name}: who found {}", entry.id);
            let known = assembled.recipe.layers.iter().any(|layer| *layer.name == *entry.layer);
            assert!(known);
        }
        let kept = haversack::Receipt::from_assembled(&assembled, "");
        assert_eq!(kept.ledger.len() + kept.unlisted, assembled.pack.ledger.len());
    }
}

#[tokio::test]
async fn the_same_state_and_request_give_the_same_bytes_x2() {
    for (name, mut request) in questions() {
        request.cache = false;
        let fixture = sample_workspace(name);
        let first = pack(&fixture, request.clone()).await;
        fixture.flush().await;
        let second = pack(&fixture, request.clone()).await;
        assert_eq!(first.text(), second.text(), "{name}");
        assert_eq!(first.receipt(), second.receipt(), "{name}");
        let other = pack(&sample_workspace(name), request).await;
        assert_eq!(first.text(), other.text(), "{name}: in another store");
    }
}

#[tokio::test]
async fn receipts_replay_and_say_what_changed() {
    for (name, request) in questions() {
        let fixture = sample_workspace(name);
        let assembled = pack(&fixture, request.clone()).await;
        fixture.flush().await;
        let viewer = request.viewer.clone();
        // The items goes on; the receipt does not.
        let note = item("late", "note", "Nightjar lift Noor refunds summary", json!({}));
        fixture.put(vec![note]).await.unwrap();
        let replay = fixture.replay(&assembled.receipt(), &viewer).await.unwrap();
        assert!(replay.difference.same, "{name}: {:?}", replay.difference);
        assert_eq!(replay.assembled.text(), assembled.text());
        let mut later = request.clone();
        later.query.push_str(" And when?");
        let later = pack(&fixture, later).await;
        let difference =
            fixture.diff(&assembled.receipt(), &later.receipt(), &viewer).await.unwrap();
        let causes = format!("{:?}", difference.causes);
        assert!(causes.contains("query") && causes.contains("Data"), "{name}: {causes}");
    }
}

#[tokio::test]
async fn a_receipt_is_readable_only_by_its_viewer_and_the_owner_x3() {
    let fixture = sample_workspace("memory");
    let assembled = pack(&fixture, user_request("memory", "Noor", "noor")).await;
    let stranger = Viewer::user("stranger").unwrap();
    let error = fixture.receipt(&assembled.receipt(), &stranger).await.unwrap_err();
    assert_eq!(error.code(), ErrorCode::ReceiptNotFound);
    assert!(fixture.receipt(&assembled.receipt(), &Viewer::owner()).await.is_ok());
}

#[tokio::test]
async fn workspaces_are_isolated_x3() {
    let folder = tempfile::tempdir().unwrap();
    let engine = Engine::builder().clock(now).open_recorded(folder.path()).unwrap();
    let (one, other) = (engine.workspace("one").unwrap(), engine.workspace("other").unwrap());
    one.put(vec![item("secret", "note", "The code is 4711.", json!({}))]).await.unwrap();
    other.put(vec![item("note", "note", "The code is elsewhere.", json!({}))]).await.unwrap();
    let pack = other.pack(Request::new("everything", "what is the code?")).await.unwrap();
    assert!(
        !pack.text().contains("4711") && ledger_ids(&pack, "found") == ["note"],
        "{}",
        pack.text()
    );
}

#[tokio::test]
async fn a_recipe_is_data_x6() {
    let fixture = sample_workspace("memory");
    let source = r#"
haversack = 1
name = "brief"
description = "Two memories"
extends = "memory"

[budget]
total = 100

[[layer]]
name = "memories"
limit = 2
"#;
    fixture.put_recipe("brief", source).await.unwrap();
    let assembled = pack(&fixture, Request::new("brief", "Where does Noor live?")).await;
    assert!(assembled.pack.citations.len() <= 2);
    assert_eq!(assembled.core.budget.total(), Tokens::new(100));
    let wrong = source.replace("limit = 2", "limti = 2\ntemplate = \"nope\"");
    let message = refusal(fixture.put_recipe("wrong", &wrong).await);
    assert!(
        message.contains("limti") && message.contains("nope"),
        "all problems at once: {message}"
    );
    let missing = fixture.pack(Request::new("breif", "x")).await.unwrap_err();
    assert_eq!(missing.code(), ErrorCode::RecipeNotFound);
    assert!(missing.to_string().contains("brief"));
}

#[tokio::test]
async fn long_text_comes_back_with_its_place_x7() {
    let fixture = empty_workspace();
    let mut text = String::from("# Handbook\n\n");
    for n in 0..60 {
        text.push_str(&format!("## Chapter {n}\n\nThis chapter tells of matter {n}. "));
        text.push_str(&"It goes on about other things for a while. ".repeat(12));
        text.push_str("\n\n");
    }
    text.push_str("## Keys\n\nThe spare key hangs behind the blue door.\n");
    let mut file = item("handbook", "file", &text, json!({}));
    file.path = Some("handbook.md".to_owned());
    fixture.put(vec![file]).await.unwrap();
    let assembled =
        pack(&fixture, Request::new("everything", "where is the spare key?").within(600)).await;
    let citation = &assembled.pack.citations[0];
    assert!(citation.place.breadcrumb.contains(&"Keys".to_owned()), "{citation:?}");
    let has_it = |span: &Span| span.slice(&text).unwrap().contains("spare key");
    assert!(citation.spans.iter().any(has_it), "{citation:?}");
    assert!(citation.place.lines.is_some());
}

#[tokio::test]
async fn a_request_can_read_a_past_state() {
    let fixture = empty_workspace();
    let at = |hour: i64| Timestamp::from_millis(hour * 3_600_000);
    for (hour, city) in [(1, "Ghent"), (2, "Mechelen")] {
        let memory = item("home", "memory", &format!("Noor lives in {city}."), json!({}));
        let batch = haversack_store::store::change::Batch::put(at(hour), vec![memory]);
        fixture.write(batch).await.unwrap();
    }
    let mut request = Request::new("memory", "Where does Noor live?");
    assert!(pack(&fixture, request.clone()).await.text().contains("Mechelen"));
    request.as_of = Some(haversack::request::AsOf::Moment(at(1)));
    assert!(pack(&fixture, request).await.text().contains("Ghent"));
}

#[test]
fn the_built_in_recipes_are_six() {
    let names: Vec<&str> = BUILT_IN.iter().map(|(name, _)| *name).collect();
    assert_eq!(names, ["everything", "memory", "prime", "proposal", "situation", "workspace"]);
}

/// Random items that share many words, some readable by everyone and some by one user.
#[derive(Debug, Clone)]
struct RandomItems {
    items: Vec<(u8, String, bool)>,
    order: Vec<usize>,
}

fn random_items() -> impl Strategy<Value = RandomItems> {
    let word =
        prop::sample::select(vec!["lift", "price", "Noor", "refund", "tea", "plan", "late", "key"]);
    let text = prop::collection::vec(word, 2..20).prop_map(|words| words.join(" "));
    let item = (0u8..5, text, any::<bool>());
    prop::collection::vec(item, 1..25).prop_flat_map(|items| {
        let order: Vec<usize> = (0..items.len()).collect();
        (Just(items), Just(order).prop_shuffle())
            .prop_map(|(items, order)| RandomItems { items, order })
    })
}

impl RandomItems {
    fn items(&self, hidden: bool, shuffled: bool) -> Vec<haversack_store::store::item::Item> {
        let order: Vec<usize> =
            if shuffled { self.order.clone() } else { (0..self.items.len()).collect() };
        order
            .into_iter()
            .filter(|&at| hidden || self.items[at].2)
            .map(|at| {
                let (kind, text, open) = &self.items[at];
                let kind = ["memory", "file", "todo", "product", "note"][usize::from(*kind)];
                let fields =
                    if kind == "product" { json!({ "name": format!("P{at}") }) } else { json!({}) };
                let mut item = item(&format!("i{at}"), kind, text, fields);
                item.updated = Some(Timestamp::from_millis(1_000_000 * i64::try_from(at).unwrap()));
                if !open {
                    item.readers = Readers::Only([Principal::user("boss").unwrap()].into());
                }
                item
            })
            .collect()
    }
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_time()
        .build()
        .unwrap()
        .block_on(future)
}

fn stable_result(assembled: &haversack::Assembled) -> String {
    let value = haversack::recipes::result_json(assembled, true);
    let mut value = value;
    let assembly = value["assembly"].as_object_mut().unwrap();
    assembly.remove("timingsMs");
    assembly.remove("revision");
    value.to_string()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

    /// Non-interference, determinism over insertion order, and the budget, end to end, for each
    /// recipe that needs only a query.
    #[test]
    fn random_workspaces_keep_budget_determinism_and_isolation(items in random_items(), budget in 60u32..900, query in "(lift|price|Noor|tea|plan)( late| key)?") {
        block_on(async {
            for recipe in ["everything", "memory", "prime", "workspace"] {
                let total = budget + 700;
                let request = user_request(recipe, &query, "anna").within(total);
                let (with, without) = (empty_workspace(), empty_workspace());
                with.put(items.items(true, false)).await.unwrap();
                let shuffled = items.items(false, true);
                if !shuffled.is_empty() {
                    without.put(shuffled).await.unwrap();
                }
                let seen = with.pack(request.clone()).await.unwrap();
                let alone = without.pack(request.clone()).await.unwrap();
                assert_eq!(stable_result(&seen), stable_result(&alone), "{recipe}");
                assert!(seen.pack.tokens <= seen.pack.limit);
                assert_eq!(Encoding::O200k.count(seen.text()), seen.pack.tokens);
                with.flush().await;
                let replay = with.replay(&seen.receipt(), &request.viewer).await.unwrap();
                assert!(replay.difference.same, "{recipe}: {:?}", replay.difference);
            }
        });
    }
}
