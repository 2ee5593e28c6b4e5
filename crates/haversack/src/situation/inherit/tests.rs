use haversack_store::store::viewer::Viewer;
use serde_json::{Value, json};

use super::*;
use crate::situation::testing::{ContextFixture, id};

async fn resolve(
    fixture: &ContextFixture,
    viewer: &Viewer,
    of: &str,
) -> Result<Chain, SituationError> {
    let snapshot = fixture.snapshot(viewer).await;
    ContextLoader::new(&*snapshot, &[], 4).load_chain(&id(of)).await
}

fn ids_with_distances(chain: &Chain) -> Vec<String> {
    let member = |member: &ChainMember| format!("{}@{}", member.context.id, member.distance);
    chain.members().iter().map(member).collect()
}

#[track_caller]
fn check(found: Result<Chain, SituationError>, expected: &[&str]) {
    assert_eq!(ids_with_distances(&found.unwrap()), expected);
}

#[track_caller]
fn check_refused(found: Result<Chain, SituationError>, expected: &str) {
    assert_eq!(found.unwrap_err().to_string(), expected);
}

#[tokio::test]
async fn a_chain_holds_each_ancestor_once_at_its_least_distance_s2() {
    let fixture = ContextFixture::new(&json!({
        "org": {},
        "team": { "parent": "org" },
        "guild": { "parents": ["org"] },
        "person": { "parent": "team", "parents": ["guild", "org", "team"] },
        "page": { "kind": "page" },
        "hung": { "under": "team" },
        "lone": { "under": "page" },
        "both": { "under": "team", "parent": "guild" },
    }))
    .await;
    let owner = Viewer::owner();
    let person = resolve(&fixture, &owner, "person").await;
    check(person, &["person@0", "team@1", "guild@1", "org@1"]);
    check(resolve(&fixture, &owner, "hung").await, &["hung@0", "team@1", "org@2"]);
    check(resolve(&fixture, &owner, "lone").await, &["lone@0"]);
    check(resolve(&fixture, &owner, "both").await, &["both@0", "guild@1", "org@2"]);
}

#[tokio::test]
async fn a_cycle_names_the_chain_s2() {
    let fixture = ContextFixture::new(&json!({
        "a": { "parent": "b" },
        "b": { "parent": "a" },
        "self": { "parent": "self" },
        "start": { "parents": ["fine", "a"] },
        "fine": {},
    }))
    .await;
    let owner = Viewer::owner();
    let end = "a context cannot inherit from itself";
    check_refused(resolve(&fixture, &owner, "a").await, &format!("a → b → a: {end}"));
    check_refused(resolve(&fixture, &owner, "self").await, &format!("self → self: {end}"));
    check_refused(resolve(&fixture, &owner, "start").await, &format!("start → a → b → a: {end}"));
}

#[tokio::test]
async fn a_missing_parent_names_the_chain_and_a_secret_one_reads_the_same_s2() {
    let fixture = ContextFixture::new(&json!({
        "team/x": { "parent": "org" },
        "team/y": { "parent": "secret" },
        "secret": { "readers": ["anna"] },
        "old": { "active": false },
        "page": { "kind": "page" },
        "on-old": { "parent": "old" },
        "on-page": { "parents": ["page"] },
    }))
    .await;
    let (anna, bert) = (Viewer::user("anna").unwrap(), Viewer::user("bert").unwrap());
    let end = "there is no such context";
    check_refused(
        resolve(&fixture, &bert, "team/x").await,
        &format!("team/x → org (missing): {end}"),
    );
    check_refused(
        resolve(&fixture, &bert, "team/y").await,
        &format!("team/y → secret (missing): {end}"),
    );
    check(resolve(&fixture, &anna, "team/y").await, &["team/y@0", "secret@1"]);
    check_refused(resolve(&fixture, &bert, "secret").await, &format!("secret (missing): {end}"));
    check_refused(
        resolve(&fixture, &bert, "on-old").await,
        "on-old → old (not in use): put it to use again or name another",
    );
    check_refused(
        resolve(&fixture, &bert, "on-page").await,
        "on-page → page (a page): only a context can be inherited or injected",
    );
    let error = Error::from(resolve(&fixture, &bert, "team/x").await.unwrap_err());
    let expected = format!("currentContext: team/x → org (missing): {end}");
    assert_eq!(error.to_string(), expected);
    assert_eq!(error.code(), crate::ErrorCode::Validation);
}

#[tokio::test]
async fn a_chain_is_bounded_in_length_and_width_s2() {
    let long: serde_json::Map<String, Value> =
        (0..9).map(|at| (format!("c{at}"), json!({ "parent": format!("c{}", at + 1) }))).collect();
    let mut long = Value::Object(long);
    long["c9"] = json!({});
    let fixture = ContextFixture::new(&long).await;
    let owner = Viewer::owner();
    let end = "a chain of parents has 4 steps at most";
    let expected = format!("c0 → c1 → c2 → c3 → c4 → c5 → c6: {end}");
    check_refused(resolve(&fixture, &owner, "c0").await, &expected);
    let expected = format!("c4 → c5 → c6 → c7 → c8 → c9: {end}");
    check_refused(resolve(&fixture, &owner, "c4").await, &expected);
    check(resolve(&fixture, &owner, "c5").await, &["c5@0", "c6@1", "c7@2", "c8@3", "c9@4"]);

    let mut wide = serde_json::Map::new();
    for middle in 0..10 {
        let parents: Vec<String> = (0..250).map(|at| format!("top-{middle}-{at}")).collect();
        wide.insert(format!("middle-{middle}"), json!({ "parents": parents }));
    }
    let middles: Vec<String> = wide.keys().cloned().collect();
    wide.insert("first".to_owned(), json!({ "parents": middles }));
    for middle in 0..10 {
        for at in 0..250 {
            wide.insert(format!("top-{middle}-{at}"), json!({}));
        }
    }
    let fixture = ContextFixture::new(&Value::Object(wide)).await;
    let error = resolve(&fixture, &owner, "first").await.unwrap_err().to_string();
    assert!(error.ends_with("a request reads 2000 contexts at most"), "{error}");
}

#[tokio::test]
async fn a_child_overrides_and_lists_are_joined_nearest_first_s2() {
    let rule = |trigger: &str, action: &str| json!({ "trigger": trigger, "action": action });
    let fixture = ContextFixture::new(&json!({
        "org": {
            "metadata": { "name": "Organisation", "type": "org" },
            "intent_context": { "business_goal": "Grow", "intent_type": "lead" },
            "behavior_rules": [rule("asked", "answer"), rule("Friday", "deploy")],
            "injection_rules": [
                { "name": "shared", "inject": ["x"] },
                { "name": "own", "inject": ["y"] },
            ],
            "adaptations": "German",
        },
        "team": {
            "parent": "org",
            "metadata": { "name": "Team" },
            "intent_context": { "business_goal": "No lost order" },
            "behavior_rules": [rule("friday", "rest"), rule("asked", "answer")],
            "injection_rules": [{ "name": "shared", "inject": ["z"] }, { "inject": ["w"] }],
            "adaptations": ["short answers", "German"],
        },
    }))
    .await;
    let chain = resolve(&fixture, &Viewer::owner(), "team").await.unwrap();
    let effective = chain.effective();
    let of = |name: &str| format!("{}: {}", effective.id, name);
    assert_eq!(of(&effective.name), "team: Team");
    assert_eq!((effective.goal.as_str(), effective.intent.as_str()), ("No lost order", "lead"));
    assert_eq!(effective.adaptations, ["short answers", "German"]);
    let behaviour: Vec<String> = effective
        .behaviour_rules
        .iter()
        .map(|rule| format!("{}: {}", rule.trigger, rule.action))
        .collect();
    assert_eq!(behaviour, ["friday: rest", "asked: answer"]);
    let injection: Vec<&str> =
        effective.injection_rules.iter().map(|rule| rule.inject[0].as_str()).collect();
    assert_eq!(injection, ["z", "w", "y"]);
    let replaced = |rule: &str| ReplacedRule {
        context: id("org"),
        rule: rule.to_owned(),
        replaced_by: id("team"),
    };
    assert_eq!(chain.behaviour_rules().1, [replaced("Friday")]);
    assert_eq!(chain.injection_rules().1, [replaced("shared")]);
}
