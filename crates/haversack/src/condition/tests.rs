use proptest::prelude::*;
use serde_json::json;

use super::*;

fn facts(situation: &serde_json::Value, intent: Option<&str>) -> Facts {
    let situation = situation.as_object().unwrap();
    Facts::from_situation(situation, intent, Timestamp::from_millis(1_700_000_000_000))
}

/// The situation of the examples: a forced deployment to production.
fn deployment() -> Facts {
    let situation = json!({
        "tool": "deploy",
        "environment": "production",
        "params": { "force": true, "replicas": 12, "ratio": 0.5, "note": null },
        "labels": ["release", "urgent"],
        "count": 3,
        "large": 18_446_744_073_709_551_615_u64,
        "my-key": "found by index alone",
        "now": "a fact cannot take this name",
    });
    facts(&situation, Some("ship the release"))
}

#[track_caller]
fn check(source: &str, expected: bool) {
    let condition = Condition::compile_bounded(source).unwrap();
    assert_eq!(condition.evaluate(&deployment()), Ok(expected), "{source}");
    assert_eq!(condition.interpret(&deployment()), Ok(expected), "{source} in CEL");
}

#[test]
fn conditions_are_evaluated_against_the_situation_s3() {
    check("situation.environment == \"production\"", true);
    check("tool == \"deploy\" && params.force", true);
    check("tool == \"deploy\" && !params.force", false);
    check("params.replicas > 10 && params.replicas <= 12", true);
    check("params.replicas > 10.5 && 12.0 == params.replicas", true);
    check("-3 < count && count != 4", true);
    check("large > 9223372036854775807", true);
    check("\"urgent\" in labels && \"force\" in params", true);
    check("environment in [\"staging\", \"production\"]", true);
    check("has(params.force) && !has(params.dry_run)", true);
    check("params.note == null", true);
    check("environment.startsWith(\"prod\") && tool.contains(\"plo\")", true);
    check("intent.endsWith(\"release\")", true);
    check("now == 1700000000000", true);
    check("now - 1000 < 1700000000000 && size(labels) == 2", true);
    check("labels.exists(label, label == \"urgent\") && labels.all(label, size(label) > 3)", true);
    check("situation[\"my-key\"] == \"found by index alone\"", true);
    check("params.force ? count == 3 : false", true);
    check("count == \"3\" || tool == 3", false);
}

#[track_caller]
fn check_missing(source: &str, name: &str) {
    let condition = Condition::compile_bounded(source).unwrap();
    let expected = ConditionError::MissingFact { name: name.to_owned() };
    assert_eq!(condition.evaluate(&deployment()), Err(expected), "{source}");
}

#[test]
fn a_missing_fact_is_an_error_of_its_own_s3() {
    check_missing("branch == \"main\"", "branch");
    check_missing("params.dry_run", "dry_run");
    check_missing("!params.dry_run", "dry_run");
    check_missing("tool == \"deploy\" && branch == \"main\"", "branch");
    check_missing("situation.user.role == \"admin\"", "user");
    check_missing("tool.name == \"deploy\"", "a field of something without fields");
    check_missing("labels[7] == \"x\"", "an entry behind the end of a list");
    // One side of && or || may decide alone.
    check("branch == \"main\" || tool == \"deploy\"", true);
    check("branch == \"main\" && tool == \"build\"", false);
}

#[test]
fn comparing_values_of_different_types_fails_s3() {
    for source in ["tool > 3", "labels < 2", "params", "count && true", "size(count) > 1"] {
        let condition = Condition::compile_bounded(source).unwrap();
        let error = condition.evaluate(&deployment()).unwrap_err();
        let failed =
            matches!(error, ConditionError::Failed { .. } | ConditionError::NotBoolean { .. });
        assert!(failed, "{source}: {error:?}");
    }
}

#[track_caller]
fn check_refused(source: &str, expected: &str) {
    let message = Condition::compile_bounded(source).unwrap_err().to_string();
    assert!(message.contains(expected), "{source}: {message}");
}

#[test]
fn invalid_and_unbounded_conditions_are_refused() {
    check_refused("tool ==", "cannot be read");
    check_refused("task is complex", "cannot be read");
    check_refused("lower(tool) == \"deploy\"", "no function lower");
    check_refused("count + 1", "neither true nor false");
    check_refused("\"text\"", "neither true nor false");
    check_refused("user-facing", "neither true nor false");
    check_refused("labels.map(x, x).size() > 1", "a loop other than exists and all");
    check_refused("labels.filter(x, true) == []", "a loop other than exists and all");
    check_refused("labels.exists_one(x, true)", "a loop other than exists and all");
    check_refused("labels.all(x, labels.all(y, x == y))", "a loop inside a loop");
    check_refused("labels.all(x, [labels, labels] == x)", "a list or map inside a loop");
    check_refused("labels.all(x, size(x + x) > 1)", "a sum inside a loop");
    check_refused(&format!("tool == \"{}\"", "x".repeat(1_024)), "longer than the limit of 1024");
    check_refused(&"(".repeat(1_000), "cannot be read");
    check_refused(&"!".repeat(1_000), "cannot be read");
}

#[test]
fn a_bounded_loop_over_a_huge_situation_fails_at_once() {
    let entries: Vec<usize> = (0..100_000).collect();
    let situation = json!({ "entries": entries });
    let condition = Condition::compile_bounded("entries.all(entry, entry < 0)").unwrap();
    let cause = "a loop over 100002 values is too long".to_owned();
    assert_eq!(condition.evaluate(&facts(&situation, None)), Err(ConditionError::Failed { cause }));
    let condition = Condition::compile("entries.all(entry, entry < 0)").unwrap();
    assert_eq!(condition.evaluate(&facts(&situation, None)), Ok(false));
}

#[track_caller]
fn check_unbounded(source: &str, names: &[&str], expected: bool) {
    let condition = Condition::compile(source).unwrap();
    assert_eq!(condition.names().collect::<Vec<_>>(), names, "{source}");
    assert_eq!(condition.evaluate(&deployment()), Ok(expected), "{source}");
    assert!(Condition::compile_bounded(source).is_err(), "{source}");
}

#[test]
fn recipes_may_use_all_of_cel_p17() {
    check_unbounded(
        "labels.map(x, x + tool).size() == count - 1",
        &["count", "labels", "tool"],
        true,
    );
    check_unbounded("labels.filter(x, x == tool) == []", &["labels", "tool"], true);
    check_unbounded("labels.exists_one(x, x == 'urgent')", &["labels"], true);
    check_unbounded("labels.all(x, labels.exists(y, x == y))", &["labels"], true);
    check_unbounded("bytes(tool) == b'deploy'", &["tool"], true);
}

#[test]
fn loops_over_written_lists_are_refused_by_their_steps() {
    let tens = "[0,1,2,3,4,5,6,7,8,9]";
    let nested = |depth: usize| {
        let open: String = (0..depth).map(|n| format!("{tens}.all(x{n}, ")).collect();
        format!("{open}tool != \"\"{}", ")".repeat(depth))
    };
    let error = Condition::compile(&nested(8)).unwrap_err();
    assert!(matches!(error, ConditionError::TooCostly { steps: 2_000_001.., .. }), "{error:?}");
    let message = error.to_string();
    assert!(message.contains("[0,1,2") && message.contains("limit of 2000000"), "{message}");
    let condition = Condition::compile(&nested(3)).unwrap();
    assert_eq!(condition.evaluate(&deployment()), Ok(true));
}

#[track_caller]
fn check_out_of_steps(source: &str, situation: &serde_json::Value) {
    let condition = Condition::compile(source).unwrap();
    let facts = facts(situation, None);
    let error = condition.evaluate(&facts).unwrap_err();
    let out = matches!(error, ConditionError::OutOfSteps { limit: STEPS_MAX, .. });
    assert!(out, "{source}: {error:?}");
    let message = error.to_string();
    assert!(message.contains("limit of 2000000 steps"), "{message}");
}

/// Without a meter each of these runs for hours, or until the memory is used up.
#[test]
fn loops_that_do_not_end_in_time_run_out_of_steps() {
    let list: Vec<usize> = (0..100).collect();
    let situation = json!({ "list": list, "text": "x".repeat(1_000) });
    let nested = |name: &str, leaf: &str| {
        let open: String = (0..8).map(|n| format!("list.{name}(x{n}, ")).collect();
        format!("{open}{leaf}{}", ")".repeat(8))
    };
    check_out_of_steps(&nested("all", "tool != 1"), &json!({ "list": list, "tool": 2 }));
    check_out_of_steps(&nested("exists", "x0 < 0"), &situation);
    // Errors inside of `exists` are absorbed, and what follows may decide alone.
    check_out_of_steps(&format!("{} || true", nested("exists", "missing")), &situation);
    check_out_of_steps(&format!("{}.size() > 0", nested("map", "x0")), &situation);
    let filters: String = (0..8).map(|n| format!("list.filter(x{n}, ")).collect();
    check_out_of_steps(&format!("{filters}true{}", ").size() >= 0".repeat(8)), &situation);
    check_out_of_steps(&nested("exists_one", "true"), &situation);
    for doubling in ["x + x", "[x, x]", "{1: x, 2: x}"] {
        let doublings = format!(".map(x, {doubling})").repeat(40);
        let start = if doubling == "x + x" { "[text]" } else { "[list]" };
        check_out_of_steps(&format!("{start}{doublings} == []"), &situation);
    }
    // Comparing long values in each round costs their length.
    check_out_of_steps("list.all(a, list.all(b, list.all(c, situation == situation)))", &situation);
}

#[test]
fn all_conditions_of_a_request_share_steps() {
    let list: Vec<usize> = (0..1_000).collect();
    let facts = facts(&json!({ "list": list }), None);
    let slow = Condition::compile("list.all(a, list.all(b, list.all(c, a >= 0)))").unwrap();
    let quick = Condition::compile("list.exists(a, a == 999)").unwrap();
    assert_eq!(quick.evaluate(&facts), Ok(true));
    let mut limits = Vec::new();
    while let ConditionError::OutOfSteps { limit, .. } = slow.evaluate(&facts).unwrap_err() {
        limits.push(limit);
        if limit == 0 {
            break;
        }
    }
    assert_eq!(limits[..4], [STEPS_MAX; 4], "{limits:?}");
    assert!(limits.len() == 6 && limits[4] < STEPS_MAX, "{limits:?}");
    assert!(quick.evaluate(&facts).is_err(), "nothing is left");
}

#[test]
fn a_condition_that_uses_no_fact_is_constant() {
    let constant = |source: &str| Condition::compile_bounded(source).unwrap().constant_value();
    assert_eq!(constant("true"), Some(true));
    assert_eq!(constant("1 > 2 || 3 == 4"), Some(false));
    assert_eq!(constant("tool == \"x\""), None);
    assert_eq!(constant("tool == \"x\" && 1 > 2"), Some(false));
    assert_eq!(constant("size(1) > 2"), Some(false), "it fails, whatever the situation");
    assert_eq!(constant("now > 0"), None);
    assert_eq!(constant("!has(situation.tool)"), None);
    assert_eq!(constant("type == \"x\""), None);
}

/// Values that facts and expressions are made of.
const SCALARS: [&str; 14] = [
    "null",
    "true",
    "false",
    "0",
    "1",
    "-1",
    "3",
    "9223372036854775807",
    "0.5",
    "1.0",
    "-2.5",
    "\"\"",
    "\"deploy\"",
    "\"de\"",
];

const PATHS: [&str; 12] = [
    "a",
    "b",
    "c",
    "situation.a",
    "situation.b.x",
    "b.x",
    "b.x.y",
    "c.x",
    "type",
    "int.x",
    "missing",
    "situation.missing.x",
];

fn any_condition() -> impl Strategy<Value = String> {
    let path = || prop::sample::select(&PATHS[..]);
    let scalar = || prop::sample::select(&SCALARS[..]);
    let operator = prop::sample::select(&["==", "!=", "<", "<=", ">", ">="][..]);
    let test = prop::sample::select(&["contains", "startsWith", "endsWith"][..]);
    let leaf = prop_oneof![
        4 => (path(), operator.clone(), scalar()).prop_map(|(p, o, s)| format!("{p} {o} {s}")),
        2 => (scalar(), operator, path()).prop_map(|(s, o, p)| format!("{s} {o} {p}")),
        1 => path().prop_map(str::to_owned),
        1 => path().prop_map(|p| format!("has({p}.x)")),
        1 => (path(), scalar(), scalar()).prop_map(|(p, s, t)| format!("{p} in [{s}, {t}]")),
        1 => (scalar(), path()).prop_map(|(s, p)| format!("{s} in {p}")),
        1 => (path(), test).prop_map(|(p, t)| format!("{p}.{t}(\"de\")")),
        1 => prop::bool::ANY.prop_map(|yes| yes.to_string()),
    ];
    leaf.prop_recursive(4, 24, 2, |inner| {
        prop_oneof![
            (inner.clone(), inner.clone()).prop_map(|(l, r)| format!("({l}) && ({r})")),
            (inner.clone(), inner.clone()).prop_map(|(l, r)| format!("({l}) || ({r})")),
            inner.prop_map(|inner| format!("!({inner})")),
        ]
    })
}

fn any_value() -> impl Strategy<Value = serde_json::Value> {
    let scalar = prop_oneof![
        8 => prop::sample::select(&SCALARS[..]).prop_map(|text| serde_json::from_str(text).unwrap()),
        1 => Just(json!(18_446_744_073_709_551_615_u64)),
    ];
    scalar.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(serde_json::Value::from),
            prop::collection::btree_map("[xyde]", inner, 0..4)
                .prop_map(|map| { serde_json::Value::Object(map.into_iter().collect()) }),
        ]
    })
}

fn any_situation() -> impl Strategy<Value = serde_json::Value> {
    let name = prop::sample::select(&["a", "b", "c", "type"][..]).prop_map(str::to_owned);
    prop::collection::btree_map(name, any_value(), 0..4)
        .prop_map(|map| serde_json::Value::Object(map.into_iter().collect()))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4_000))]

    /// The fast path gives what the interpreter gives, or leaves it to the interpreter.
    #[test]
    fn the_fast_path_agrees_with_the_interpreter_s3(source in any_condition(), situation in any_situation()) {
        let condition = Condition::compile_bounded(&source).unwrap();
        let facts = facts(&situation, None);
        let fast = condition.compiled.fast.as_ref().expect("every shape here has a fast form");
        let interpreted = condition.interpret(&facts);
        match fast.evaluate(&facts) {
            Ok(holds) => prop_assert_eq!(interpreted, Ok(holds)),
            Err(NotDecided::MissingFact(name)) => {
                let name = name.to_owned();
                prop_assert_eq!(interpreted, Err(ConditionError::MissingFact { name }));
            }
            Err(NotDecided::NeedsInterpreter) => {}
        }
    }

    /// Compiling never panics, nor does evaluating what compiled.
    #[test]
    fn any_text_compiles_or_is_refused(
        pieces in prop::collection::vec(prop_oneof![
            prop::sample::select(&[
                "a", "b.x", "situation", "intent", "now", "1", "1u", "-2", "0.5", "\"x\"", "'y'", "b\"z\"",
                "true", "null", "==", "!=", "<", ">=", "&&", "||", "!", "in", "(", ")", "[", "]", "{", "}",
                ",", ":", "?", ".", "+", "-", "*", "/", "%", " ", "has(a.x)", "a.exists(x, x)", "size(a)",
                "a.all(x, x == 1)", "a[0]", "a.?x", "[?a]", "{?a: 1}", "T{x: 1}", ".a", "@in", "`a`",
            ][..]).prop_map(str::to_owned),
            any::<char>().prop_map(String::from),
        ], 0..14),
        situation in any_situation(),
    ) {
        let source = pieces.concat();
        for compiled in [Condition::compile(&source), Condition::compile_bounded(&source)] {
            let Ok(condition) = compiled else { continue };
            let facts = facts(&situation, None);
            let _ = (condition.evaluate(&facts), condition.looks_like_cel(&facts), condition.constant_value());
        }
    }
}
