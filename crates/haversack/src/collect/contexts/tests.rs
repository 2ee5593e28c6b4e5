use crate::collect::Subjects;
use haversack_core::query::analyse;
use haversack_core::units::Timestamp;
use haversack_store::store::viewer::Viewer;
use std::time::Duration;

use super::*;
use crate::collect::{SearchCache, table};
use crate::recipe::Settings;
use crate::situation::LocalJudge;
use crate::situation::testing::{ContextFixture, WRITTEN_AT, id, item};

fn spec() -> CollectorSpec {
    let settings = Settings::defaults(table::find(NAME).unwrap().settings);
    let deadline = Duration::from_secs(1);
    CollectorSpec { by: NAME.to_owned(), kinds: Vec::new(), settings, deadline }
}

/// Long after all was written, so that newness counts for nothing.
const LATER: Timestamp = Timestamp::from_millis(WRITTEN_AT.as_millis() + 1_000 * 3_600_000);

async fn question(place: &ContextFixture, request: Request) -> Question {
    Question {
        snapshot: place.snapshot(&request.viewer).await,
        now: LATER,
        analysis: analyse(&request.query, LATER),
        vector: None,
        subjects: Subjects::default(),
        judge: Arc::new(LocalJudge::new()),
        search_cache: SearchCache::default(),
        matches: None,
        focus_query: None,
        missing_summaries: None,
        request,
    }
}

fn request(context: &str, situation: &Value) -> Request {
    let mut request = Request::new("situation", "");
    request.context = Some(id(context));
    request.situation = situation.as_object().unwrap().clone();
    request
}

async fn collect(place: &ContextFixture, request: Request) -> CollectorOutput {
    let question = question(place, request).await;
    ContextsCollector::new().collect(&question, &spec(), &[]).await.unwrap()
}

fn ids(collected: &CollectorOutput) -> Vec<&str> {
    collected.candidates.iter().map(|candidate| candidate.id.item.as_str()).collect()
}

/// The contexts of a team that deploys, as in the examples.
fn team() -> Value {
    json!({
        "org": {
            "metadata": { "name": "Organisation", "type": "org" },
            "intent_context": { "business_goal": "Customers trust us", "intent_type": "lead" },
            "behavior_rules": [
                { "trigger": "a customer is affected", "action": "tell support first" },
                { "trigger": "it is Friday", "action": "deploy with care" },
            ],
            "injection_rules": [
                { "name": "production", "condition": "situation.environment == \"production\"",
                  "inject": ["helpers/production-guide", "helpers/gone"] },
            ],
        },
        "team/payments": {
            "metadata": { "name": "Payments", "type": "team" },
            "parent": "org",
            "intent_context": { "intent_type": "operate" },
            "behavior_rules": [{ "trigger": "It is Friday", "action": "do not deploy" }],
            "injection_rules": [
                { "name": "complexity_check", "condition": "task is complex",
                  "inject": ["helpers/complexity-guide"] },
                { "name": "refunds", "condition": "tool == \"refund\"", "inject": ["helpers/refunds"] },
            ],
            "body": "We own the ledger.",
        },
        "helpers/base": { "metadata": { "name": "Helpers" }, "body": "Ask before you guess." },
        "helpers/complexity-guide": {
            "metadata": { "name": "Complexity guide", "type": "guide" },
            "parent": "helpers/base",
            "body": "Split the task into parts that can be tested alone.",
        },
        "helpers/production-guide": {
            "metadata": { "name": "Production guide", "type": "guide" },
            "parents": ["helpers/base", "org"],
        },
        "helpers/refunds": { "metadata": { "name": "Refunds" } },
    })
}

#[tokio::test]
async fn the_chain_and_what_applying_rules_inject_is_collected_once_each_s3_s4() {
    let place = ContextFixture::new(&team()).await;
    let situation = json!({ "task": "Build distributed system", "environment": "production" });
    let collected = collect(&place, request("team/payments", &situation)).await;
    assert_eq!(
        ids(&collected),
        [
            "team/payments",
            "org",
            "helpers/complexity-guide",
            "helpers/base",
            "helpers/production-guide",
        ]
    );
    let texts: Vec<&str> = collected.candidates.iter().map(|one| &*one.text).collect();
    assert_eq!(
        texts,
        [
            "### Payments (team)\n- Business goal: Customers trust us\n- Intent: operate\n\
         - Behaviour rules:\n  - It is Friday: do not deploy\n\nWe own the ledger.",
            "### Organisation (org)\n- Intent: lead\n- Behaviour rules:\n  \
         - a customer is affected: tell support first",
            "### Complexity guide (guide)\n\nSplit the task into parts that can be tested alone.",
            "### Helpers\n\nAsk before you guess.",
            "### Production guide (guide)\n- Intent: lead",
        ]
    );
    let essential = collected.candidates[0].essential.as_ref().map(|essential| &*essential.text);
    let expected = "### Payments (team)\n- Business goal: Customers trust us\n- Intent: operate";
    assert_eq!(essential, Some(expected));
}

#[tokio::test]
async fn signals_give_the_seeds_priority_s5() {
    let place = ContextFixture::new(&team()).await;
    let situation = json!({ "task": "Build distributed system", "environment": "production" });
    let collected = collect(&place, request("team/payments", &situation)).await;
    let scoring = Scoring::situation();
    let scores: Vec<(f64, f64)> = collected
        .candidates
        .iter()
        .map(|one| {
            let aged = one.moment.map(|moment| Recency::SITUATION.score(moment, LATER));
            let signals = one.signals.clone().with(Component::Recency, aged.unwrap());
            let opinion = one.signals.get(Component::Collector).unwrap();
            (scoring.score(&signals).0.get(), (opinion.get() * 10.0).round() / 10.0)
        })
        .collect();
    assert_eq!(scores, [(3.5, 1.0), (2.5, 0.9), (1.0, 0.9), (1.0, 0.8), (1.0, 0.8)]);
    assert!(collected.candidates.iter().all(|one| one.moment == Some(WRITTEN_AT)));
    let ranks: Vec<u32> = collected.candidates.iter().map(|one| one.found[0].rank).collect();
    assert_eq!(ranks, [1, 2, 3, 4, 5]);
}

#[tokio::test]
async fn what_fails_to_load_is_a_notice_and_the_rules_are_told_s3_s4() {
    let place = ContextFixture::new(&team()).await;
    let situation = json!({ "task": "Build distributed system", "environment": "production" });
    let collected = collect(&place, request("team/payments", &situation)).await;
    let notices: Vec<(NoticeCode, &str)> =
        collected.notices.iter().map(|notice| (notice.code, notice.message.as_str())).collect();
    assert_eq!(
        notices,
        [
            (
                NoticeCode::JudgedLocally,
                "1 condition in plain language was judged by the local model",
            ),
            (
                NoticeCode::ContextNotLoaded,
                "a rule injects helpers/gone, which could not be loaded: helpers/gone (missing): there \
             is no such context",
            ),
        ]
    );
    let injected_by = &collected.notices[1].details["injectedBy"];
    assert_eq!(*injected_by, json!([{ "context": "org", "rule": "production" }]));
    let facts = &collected.facts;
    assert_eq!(
        facts["chain"],
        json!([{ "id": "team/payments", "distance": 0 }, { "id": "org", "distance": 1 }])
    );
    let rules: Vec<String> = facts["rules"]
        .as_array()
        .unwrap()
        .iter()
        .map(|rule| {
            let of = |name: &str| rule[name].to_string().replace('"', "");
            format!("{} {} {} {}", of("rule"), of("judge"), of("applies"), of("injected"))
        })
        .collect();
    assert_eq!(
        rules,
        [
            "complexity_check local true [helpers/complexity-guide]",
            "refunds cel false []",
            "production cel true [helpers/production-guide]",
        ]
    );
    assert_eq!(facts["rules"][1]["reason"], "the situation does not say \"tool\"");
    let replaced = json!([{ "context": "org", "rule": "it is Friday", "by": "team/payments" }]);
    assert_eq!(facts["replaced"], replaced);
    assert_eq!(facts["repeats"][0]["text"], "Customers trust us");
}

#[tokio::test]
async fn a_current_context_that_cannot_be_used_is_an_error_s2() {
    let place =
        ContextFixture::new(&json!({ "a": { "parent": "b" }, "b": { "parent": "a" } })).await;
    let check = async |context: &str, expected: &str| {
        let question = question(&place, request(context, &json!({}))).await;
        let error = ContextsCollector::new().collect(&question, &spec(), &[]).await.unwrap_err();
        assert_eq!(error.to_string(), format!("currentContext: {expected}"));
        let error =
            ContextsCollector::new().collect_contexts(&question, &spec()).await.unwrap_err();
        let error = crate::Error::from(error);
        assert_eq!(error.to_string(), format!("currentContext: {expected}"));
    };
    check("a", "a → b → a: a context cannot inherit from itself").await;
    check("nowhere", "nowhere (missing): there is no such context").await;
}

#[tokio::test]
async fn without_a_context_the_default_one_counts_if_there_is_one_s1() {
    let with =
        ContextFixture::new(&json!({ "default": { "metadata": { "name": "Usual" } } })).await;
    assert_eq!(ids(&collect(&with, Request::new("situation", "")).await), ["default"]);
    for place in [
        ContextFixture::new(&json!({ "other": {} })).await,
        ContextFixture::new(&json!({ "default": { "kind": "page" } })).await,
        ContextFixture::new(&json!({ "default": { "active": false } })).await,
        ContextFixture::new(&json!({ "default": { "readers": ["anna"] } })).await,
    ] {
        let mut request = Request::new("situation", "");
        request.viewer = Viewer::user("bert").unwrap();
        let collected = collect(&place, request).await;
        assert!(collected.candidates.is_empty() && collected.notices.is_empty());
        assert_eq!(collected.facts, Value::Null);
    }
}

#[tokio::test]
async fn what_a_viewer_may_not_read_changes_nothing_w12_x3() {
    let mut secret = team();
    secret["helpers/gone"] = json!({ "readers": ["anna"], "body": "Ask before you guess." });
    let (with, without) = (ContextFixture::new(&secret).await, ContextFixture::new(&team()).await);
    let ask = |viewer: Viewer| {
        let mut request =
            request("team/payments", &json!({ "task": "easy", "environment": "production" }));
        request.viewer = viewer;
        request
    };
    let bert = Viewer::user("bert").unwrap();
    let hidden = collect(&with, ask(bert.clone())).await;
    let absent = collect(&without, ask(bert)).await;
    assert_eq!(format!("{hidden:?}"), format!("{absent:?}"));
    let anna = collect(&with, ask(Viewer::user("anna").unwrap())).await;
    assert!(ids(&anna).contains(&"helpers/gone"));
}

#[tokio::test]
async fn a_newer_context_keeps_what_two_say_s5() {
    let paragraph = "Write down who agreed to the change and when, before you make it.";
    let place = ContextFixture::with_items(vec![
        item("now", &json!({ "injection_rules": [{ "inject": ["old", "new"] }] })),
        item("old", &json!({ "body": paragraph, "hours": 500 })),
        item("new", &json!({ "body": paragraph, "hours": 1 })),
    ])
    .await;
    let mut question = question(&place, request("now", &json!({}))).await;
    question.now = WRITTEN_AT;
    let collected = ContextsCollector::new().collect(&question, &spec(), &[]).await.unwrap();
    let texts: Vec<&str> = collected.candidates.iter().map(|one| &*one.text).collect();
    assert_eq!(texts, ["### now", &format!("### new\n\n{paragraph}"), "### old"]);
    let repeats = json!([{ "context": "old", "text": paragraph, "keptIn": "new" }]);
    assert_eq!(collected.facts["repeats"], repeats);
}

#[tokio::test]
async fn what_the_request_excludes_stays_out() {
    let place = ContextFixture::new(&team()).await;
    let mut request = request("team/payments", &json!({}));
    request.exclude = vec![id("org")];
    assert_eq!(ids(&collect(&place, request).await), ["team/payments"]);
}

#[tokio::test]
async fn the_same_contexts_give_the_same_in_any_order_of_writing_x2() {
    let all = team();
    let mut items: Vec<_> =
        all.as_object().unwrap().iter().map(|(id, fields)| item(id, fields)).collect();
    let situation = json!({ "task": "Build distributed system", "environment": "production" });
    let forward = ContextFixture::with_items(items.clone()).await;
    items.reverse();
    let backward = ContextFixture::with_items(items).await;
    let one = collect(&forward, request("team/payments", &situation)).await;
    let other = collect(&backward, request("team/payments", &situation)).await;
    assert_eq!(format!("{one:?}"), format!("{other:?}"));
}

/// The seed's own test case: a rule of a context in a folder injects a helper when the task is
/// complex.
#[tokio::test]
async fn a_folder_of_documents_works_as_the_seed_says_s1_s3() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("helpers")).unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    write(
        "test.yaml",
        "metadata: { name: Test Context }\n\
         injection_rules:\n\
         - name: complexity_check\n  \
           condition: task is complex\n  \
           inject: ['helpers/complexity-guide']\n",
    );
    write("helpers/complexity-guide.md", "---\nmetadata: { type: guide }\n---\nSplit the task.\n");
    let items = crate::situation::items_from_folder(folder.path()).unwrap();
    let place = ContextFixture::with_items(items).await;
    let complex = json!({ "task": "Build distributed system" });
    let collected = collect(&place, request("test", &complex)).await;
    let texts: Vec<&str> = collected.candidates.iter().map(|one| &*one.text).collect();
    let guide = "### helpers/complexity-guide (guide)\n\nSplit the task.";
    assert_eq!(texts, ["### Test Context", guide]);
    let simple = json!({ "task": "Fix a typo" });
    assert_eq!(ids(&collect(&place, request("test", &simple)).await), ["test"]);
}
