use std::sync::Mutex;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use haversack_core::units::Timestamp;
use haversack_store::store::viewer::Viewer;
use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::situation::inherit::ContextLoader;
use crate::situation::testing::{ContextFixture, id};

/// A judge that says yes to conditions with a word, records its calls, and fails on demand.
#[derive(Default)]
struct KeywordJudge {
    word: &'static str,
    fails: bool,
    few: bool,
    calls: Mutex<Vec<Vec<String>>>,
}

impl Judge for KeywordJudge {
    fn name(&self) -> &str {
        "oracle"
    }

    fn judge<'a>(
        &'a self,
        _: &'a Map<String, Value>,
        _: Timestamp,
        conditions: &'a [&'a str],
    ) -> BoxFuture<'a, Result<Vec<Verdict>, JudgeError>> {
        let recorded = conditions.iter().map(|condition| (*condition).to_owned()).collect();
        self.calls.lock().unwrap().push(recorded);
        let answer = if self.fails {
            Err(JudgeError { judge: "oracle".to_owned(), cause: "the line is dead".into() })
        } else {
            let verdict = |condition: &&str| Verdict {
                answer: if condition.contains(self.word) {
                    JudgeAnswer::Yes
                } else {
                    JudgeAnswer::No
                },
                sureness: Score::HALF,
                reason: None,
            };
            let count = if self.few { 0 } else { conditions.len() };
            Ok(conditions[..count].iter().map(verdict).collect())
        };
        async move { answer }.boxed()
    }
}

async fn judge_now(contexts: &Value, situation: &Value, judge: &dyn Judge) -> Rulings {
    let fixture = ContextFixture::new(contexts).await;
    let snapshot = fixture.snapshot(&Viewer::owner()).await;
    let chain = ContextLoader::new(&*snapshot, &[], 64).load_chain(&id("now")).await.unwrap();
    let situation = situation.as_object().unwrap();
    let facts = Facts::from_situation(situation, Some("ship it"), Timestamp::from_millis(0));
    judge_rules(&chain, &facts, &ConditionCache::new(), judge).await
}

/// `context rule judge yes|no`, for every rule.
fn summaries(rulings: &Rulings) -> Vec<String> {
    let line = |ruling: &Ruling| {
        let applies = if ruling.applies { "yes" } else { "no" };
        format!("{} {} {} {applies}", ruling.context, ruling.rule, ruling.judge)
    };
    rulings.rulings.iter().map(line).collect()
}

#[track_caller]
fn check_class(condition_text: &str, expected: &str) {
    let situation = json!({ "production": true, "tool": "deploy", "labels": ["a"] });
    let facts =
        Facts::from_situation(situation.as_object().unwrap(), None, Timestamp::from_millis(0));
    let found = match classify_condition(condition_text, &facts, &ConditionCache::new()) {
        RuleCondition::Always => "always",
        RuleCondition::Expression(_) => "expression",
        RuleCondition::Broken(_) => "broken",
        RuleCondition::PlainLanguage => "plain",
    };
    assert_eq!(found, expected, "{condition_text}");
}

#[test]
fn conditions_are_classified_s3() {
    for text in ["", "  \n"] {
        check_class(text, "always");
    }
    for text in [
        "situation.environment == \"production\"",
        "tool == \"deploy\" && params.force",
        "cel: tool == \"deploy\"",
        "CEL:production",
        "production",
        "!urgent",
        "tool in labels",
        "\"a\" in labels",
        "size(labels) > 3",
        "has(situation.tool)",
        "branch.startsWith(\"release/\")",
        "true",
    ] {
        check_class(text, "expression");
    }
    for text in [
        "task is complex",
        "complex",
        "user-facing",
        "bug in production",
        "tests in progress",
        "release.candidate",
        "deploy(production)",
        "latency > 200ms",
        "the plan: ship",
        "42",
        "\"quoted\"",
        "die Aufgabe ist schwierig",
        "任务很复杂",
    ] {
        check_class(text, "plain");
    }
    for text in ["cel: task is complex", "tool == \"deploy", "tool == lower(\"X\")", "a && && b"] {
        check_class(text, "broken");
    }
}

#[tokio::test]
async fn rules_of_the_context_and_its_ancestors_are_judged_in_one_call_s3() {
    let judge = KeywordJudge { word: "complex", ..KeywordJudge::default() };
    let rulings = judge_now(
        &json!({
            "org": { "injection_rules": [
                { "name": "far", "condition": "the task is complex", "inject": ["x"] },
                { "condition": "situation.environment == \"production\"", "inject": ["x"] },
            ] },
            "now": { "parent": "org", "injection_rules": [
                { "name": "always", "inject": ["x"] },
                { "name": "hard", "condition": "task is complex", "inject": ["x"] },
                { "name": "again", "condition": "task is complex", "inject": ["y"] },
                { "name": "easy", "condition": "task is easy", "inject": ["x"] },
                { "name": "tool", "condition": "tool == \"deploy\" && params.force", "inject": ["x"] },
            ] },
        }),
        &json!({ "task": "Build distributed system", "environment": "production" }),
        &judge,
    )
    .await;
    assert_eq!(
        summaries(&rulings),
        [
            "now always always yes",
            "now hard oracle yes",
            "now again oracle yes",
            "now easy oracle no",
            "now tool cel no",
            "org far oracle yes",
            "org #2 cel yes",
        ]
    );
    let calls = judge.calls.into_inner().unwrap();
    assert_eq!(calls, [["task is complex", "task is easy", "the task is complex"]]);
    let sureness: Vec<f64> = rulings.rulings.iter().map(|r| r.sureness.get()).collect();
    assert_eq!(sureness, [1.0, 0.5, 0.5, 0.5, 1.0, 0.5, 1.0]);
    let reason = rulings.rulings[4].reason.as_deref();
    assert_eq!(reason, Some("the situation does not say \"params\""));
    assert!(rulings.notices.is_empty(), "only the local judge needs a notice");
}

#[tokio::test]
async fn the_local_judge_says_what_it_decided_and_how_sure_it_was_s3() {
    let rulings = judge_now(
        &json!({ "now": { "injection_rules": [
            { "name": "complexity_check", "condition": "task is complex", "inject": ["x"] },
        ] } }),
        &json!({ "task": "Build distributed system" }),
        &LocalJudge::new(),
    )
    .await;
    assert_eq!(summaries(&rulings), ["now complexity_check local yes"]);
    let [notice] = rulings.notices.as_slice() else { panic!("{:?}", rulings.notices) };
    assert_eq!(notice.code, NoticeCode::JudgedLocally);
    assert_eq!(notice.message, "1 condition in plain language was judged by the local model");
    let details = &notice.details[0];
    assert_eq!(details["rule"], "complexity_check");
    assert_eq!(details["condition"], "task is complex");
    assert_eq!((&details["judge"], &details["applies"]), (&json!("local"), &json!(true)));
    assert_eq!(details["sureness"], json!(round_sureness(rulings.rulings[0].sureness)));
}

#[tokio::test]
async fn a_judge_that_fails_is_replaced_and_a_notice_says_so_s3() {
    for judge in [
        KeywordJudge { fails: true, ..KeywordJudge::default() },
        KeywordJudge { few: true, ..KeywordJudge::default() },
    ] {
        let rulings = judge_now(
            &json!({ "now": { "injection_rules": [
                { "condition": "task is complex", "inject": ["x"] },
            ] } }),
            &json!({ "task": "Build distributed system" }),
            &judge,
        )
        .await;
        assert_eq!(summaries(&rulings), ["now #1 local yes"]);
        let codes: Vec<NoticeCode> = rulings.notices.iter().map(|notice| notice.code).collect();
        assert_eq!(codes, [NoticeCode::Degraded, NoticeCode::JudgedLocally]);
    }
}

#[tokio::test]
async fn a_condition_that_cannot_be_used_leaves_its_rule_out_with_a_notice_s3() {
    let rulings = judge_now(
        &json!({ "now": { "injection_rules": [
            { "name": "broken", "condition": "tool == \"deploy", "inject": ["x"] },
            { "name": "failed", "condition": "tool > 3", "inject": ["x"] },
        ] } }),
        &json!({ "tool": "deploy" }),
        &LocalJudge::new(),
    )
    .await;
    assert_eq!(summaries(&rulings), ["now broken cel no", "now failed cel no"]);
    let codes: Vec<NoticeCode> = rulings.notices.iter().map(|notice| notice.code).collect();
    assert_eq!(codes, [NoticeCode::RuleFailed, NoticeCode::RuleFailed]);
    let message = &rulings.notices[0].message;
    assert!(message.starts_with("the rule broken of now was left out: "), "{message}");
}

#[tokio::test]
async fn a_nearer_rule_of_the_same_name_counts_s2() {
    let rulings = judge_now(
        &json!({
            "org": { "injection_rules": [{ "name": "one", "inject": ["x"] }] },
            "now": { "parent": "org", "injection_rules": [{ "name": "one", "inject": ["y"] }] },
        }),
        &json!({}),
        &LocalJudge::new(),
    )
    .await;
    assert_eq!(summaries(&rulings), ["now one always yes"]);
    let replaced =
        ReplacedRule { context: id("org"), rule: "one".to_owned(), replaced_by: id("now") };
    assert_eq!(rulings.replaced, [replaced]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    /// Texts that are taken for sentences without parsing do not compile.
    #[test]
    fn a_sentence_is_no_expression(
        words in prop::collection::vec(prop_oneof![
            prop::sample::select(&[
                "in", "a", "task", "true", "1", "1u", "==", "!", "(", ")", "[", "]", ".x", "a.b", "?", ":",
                ",", "{", "}", "-", "not", "has(a.b)", "ü", "a,", "(a", "b)", "a[0]", "null", "&&", "<",
            ][..]).prop_map(str::to_owned),
            "[a-z]{1,3}",
        ], 0..8),
    ) {
        let text = words.join(" ");
        if is_sentence(&text) {
            prop_assert!(Condition::compile(&text).is_err(), "{text}");
        }
    }
}

#[tokio::test]
async fn too_many_rules_are_cut_off_with_a_notice_s3() {
    let mut contexts = json!({});
    for level in 0..26 {
        let rules: Vec<Value> = (0..200).map(|_| json!({ "inject": ["x"] })).collect();
        let name = if level == 0 { "now".to_owned() } else { format!("level-{level}") };
        let mut context = json!({ "injection_rules": rules });
        if level < 25 {
            context["parent"] = json!(format!("level-{}", level + 1));
        }
        contexts[name] = context;
    }
    let rulings = judge_now(&contexts, &json!({}), &LocalJudge::new()).await;
    assert_eq!(rulings.rulings.len(), RULES_MAX);
    let message = &rulings.notices[0].message;
    assert_eq!(message, "of 5200 rules the nearest 5000 were judged, the limit");
}

/// S3: a rule says what happens when the judge cannot decide, a notice lists such rules, and a rule
/// can require more sureness than an answer has.
#[tokio::test]
async fn a_rule_says_what_happens_when_its_condition_is_undecided_s3() {
    let rulings = judge_now(
        &json!({ "now": { "injection_rules": [
            { "name": "careful", "condition": "the moon is made of cheese", "unsure": "inject", "inject": ["x"] },
            { "name": "plain", "condition": "the moon is made of cheese", "inject": ["x"] },
            { "name": "sure", "condition": "touches production", "threshold": 0.5, "inject": ["x"] },
            { "name": "surer", "condition": "touches production", "threshold": 1.0, "unsure": "skip", "inject": ["x"] },
        ] } }),
        &json!({ "environment": "production" }),
        &LocalJudge::new(),
    )
    .await;
    let decisions: Vec<(&str, bool, JudgeAnswer)> = rulings
        .rulings
        .iter()
        .map(|ruling| (ruling.rule.as_str(), ruling.applies, ruling.answer))
        .collect();
    let expected = [
        ("careful", true, JudgeAnswer::Undecided),
        ("plain", false, JudgeAnswer::Undecided),
        ("sure", true, JudgeAnswer::Yes),
        ("surer", false, JudgeAnswer::Undecided),
    ];
    assert_eq!(decisions, expected);
    let notice = rulings.notices.iter().find(|one| one.code == NoticeCode::RulesUndecided).unwrap();
    assert_eq!(
        notice.message,
        "3 rules could not be decided; brought in anyway: careful of now; left out: plain of now, \
         surer of now"
    );
    assert_eq!(rulings.rulings[0].details()["answer"], "undecided");
}
