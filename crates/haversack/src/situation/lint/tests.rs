use haversack_core::item::Kind;
use haversack_store::store::item::Item;
use serde_json::json;

use super::*;

fn contexts(all: &Value) -> Vec<ContextDocument> {
    let context = |(id, fields): (&String, &Value)| {
        let (id, kind) = (ItemId::new(id).unwrap(), Kind::new("context").unwrap());
        let fields = fields.as_object().unwrap().clone();
        ContextDocument::of_item(&Item { fields, ..Item::new(id, kind, "") })
    };
    all.as_object().unwrap().iter().map(context).collect()
}

#[track_caller]
fn check(all: &Value, expected: &[&str]) {
    let found: Vec<String> = lint(&contexts(all))
        .iter()
        .map(|finding| format!("{}: {finding}", finding.code.as_str()))
        .collect();
    assert_eq!(found, expected);
}

#[test]
fn a_sound_set_has_no_findings() {
    check(
        &json!({
            "org": { "behavior_rules": [{ "trigger": "asked", "action": "answer" }] },
            "team": { "parent": "org", "injection_rules": [
                { "name": "one", "condition": "task is complex", "inject": ["guide"] },
                { "name": "two", "condition": "tool == \"deploy\"", "inject": ["guide"] },
                { "inject": ["guide"] },
            ] },
            "guide": { "parents": ["org"] },
        }),
        &[],
    );
}

#[test]
fn circles_and_missing_contexts_are_found() {
    check(
        &json!({
            "a": { "parent": "b", "injection_rules": [{ "name": "r", "inject": ["c", "x"] }] },
            "b": { "parents": ["a", "gone"] },
            "c": { "injection_rules": [{ "inject": ["d"] }] },
            "d": { "injection_rules": [{ "inject": ["c"] }, { "inject": ["d"] }] },
        }),
        &[
            "inheritance-cycle: a: a → b → a: a context cannot inherit from itself",
            "missing-injected: a, rule r: injects x, which is missing",
            "inheritance-cycle: b: b → a → b: a context cannot inherit from itself",
            "missing-parent: b: b → gone (missing)",
            "injection-circle: c: c → d → c: rules that inject each other; what is injected is \
             shown once, and its own rules are not followed",
            "injects-ancestor: d, rule #2: injects its own context",
        ],
    );
}

#[test]
fn conflicts_in_a_chain_say_which_one_counts() {
    check(
        &json!({
            "org": {
                "behavior_rules": [
                    { "trigger": "Friday", "action": "deploy" },
                    { "trigger": "friday", "action": "rest" },
                ],
                "injection_rules": [{ "name": "r", "inject": ["team"] }],
            },
            "team": {
                "parent": "org",
                "behavior_rules": [{ "trigger": "friday", "action": "never deploy" }],
                "injection_rules": [
                    { "name": "r", "inject": ["org"] },
                    { "name": "s", "inject": [] },
                ],
            },
        }),
        &[
            "injection-circle: org: org → team → org: rules that inject each other; what is \
             injected is shown once, and its own rules are not followed",
            "contradiction: org: when \"friday\", this context says both \"deploy\" and \"rest\": \
             both are heard",
            "injects-ancestor: team, rule r: injects org, an ancestor, which is there anyway",
            "same-name: team, rule r: org has a rule of this name, too: the nearer one counts",
            "contradiction: team: when \"friday\", team says \"never deploy\" and org says \
             \"deploy\": the nearer one, team, counts",
            "injects-nothing: team, rule s: injects nothing",
        ],
    );
}

#[test]
fn conditions_that_never_change_or_cannot_be_used_are_found() {
    let rule = |condition: &str| json!({ "condition": condition, "inject": ["x"] });
    check(
        &json!({ "x": {}, "y": { "injection_rules": [
            rule("true"), rule("1 > 2"), rule("tool == \"x\" || true"), rule("type == \"x\""),
            rule("!has(situation.x)"), rule("tool == \"deploy"), rule("cel: task is complex"),
        ] } }),
        &[
            "constant-condition: y, rule #1: the condition is always true: leave it out",
            "constant-condition: y, rule #2: the condition is always false: the rule never \
             applies",
            "constant-condition: y, rule #3: the condition is always true: leave it out",
            "broken-condition: y, rule #6: the rule never applies: the condition cannot be \
             read at line 1, column 9: token recognition error at: '\"deploy'",
            "broken-condition: y, rule #7: the rule never applies: the condition cannot be \
             read at line 1, column 6: unexpected 'is'",
        ],
    );
}

/// S3: what looks like an expression and is none, and names that are misspelt.
#[test]
fn expressions_that_are_none_and_facts_that_nobody_has_are_found_s3() {
    let all = contexts(&json!({ "a": { "injection_rules": [
        { "name": "sign", "condition": "environment = production", "inject": ["b"] },
        { "name": "one", "condition": "situation.severity == \"high\"", "inject": ["b"] },
        { "name": "two", "condition": "severity == \"low\"", "inject": ["b"] },
        { "name": "slip", "condition": "situation.severty == \"low\"", "inject": ["b"] },
        { "name": "root", "condition": "situaton.approved == true", "inject": ["b"] },
        { "name": "words", "condition": "the build is green", "inject": ["b"] },
    ] }, "b": {} }));
    let found: Vec<(String, String)> =
        lint(&all).into_iter().map(|finding| (finding.rule.unwrap(), finding.message)).collect();
    let asks = |name: &str, near: &str| {
        format!("asks for {name}, which no situation has; did you mean {near}?")
    };
    assert_eq!(found.len(), 3, "{found:?}");
    assert_eq!(found[0].0, "sign");
    assert!(found[0].1.starts_with("the condition looks like an expression"), "{found:?}");
    assert_eq!(found[1], ("root".to_owned(), asks("situaton", "situation")));
    assert_eq!(found[2], ("slip".to_owned(), asks("severty", "severity")));
    let condition = "situation.row > 5 && situation.tool == \"x\"";
    let all = contexts(&json!({ "a": { "injection_rules": [
        { "name": "r", "condition": condition, "inject": ["a"] },
    ] } }));
    let situation = json!({ "rows": 7, "tool": "x" });
    let found = unknown_facts(&all, &[situation.as_object().unwrap().clone()]);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].message, "asks for row, which no situation has; did you mean rows?");
}
