//! Rules tried out on situations before anybody depends on them: which rules are expected to apply,
//! and which do.

use std::collections::BTreeMap;

use haversack_core::ids::ItemId;
use haversack_core::units::Timestamp;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::context::Context;
use super::inherit::Chain;
use super::judge::{Answer, Judge};
use super::rules::{Ruling, judge_rules};
use crate::condition::{ConditionCache, Facts};

/// Most cases of a file.
pub const CASES_MAX: usize = 10_000;

/// A situation and what is expected of the rules in it.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// What people call it.
    pub name: String,
    /// The current context, by id.
    pub context: String,
    /// The situation's facts.
    #[serde(default)]
    pub situation: Map<String, Value>,
    /// What is to be reached.
    #[serde(default)]
    pub intent: Option<String>,
    /// Rules that are expected to apply, each by its name or as `context#name`.
    #[serde(default)]
    pub apply: Vec<String>,
    /// Rules that are expected not to.
    #[serde(default)]
    pub skip: Vec<String>,
    /// Rules that no judge is expected to decide.
    #[serde(default)]
    pub undecided: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    case: Vec<Case>,
}

/// Reads a file of cases, in TOML.
///
/// # Errors
/// When it is no TOML, has a field that is not known, or more than [`CASES_MAX`] cases; in words.
pub fn parse(text: &str) -> Result<Vec<Case>, String> {
    let File { case } = toml::from_str(text).map_err(|error| error.to_string())?;
    match case.len() {
        0 => Err("there is no [[case]] in it".to_owned()),
        1..=CASES_MAX => Ok(case),
        count => Err(format!("{count} cases are more than the limit of {CASES_MAX}")),
    }
}

/// What is wrong in each case, in their order: nothing where all is as expected.
pub async fn try_rules(
    contexts: &[Context],
    cases: &[Case],
    judge: &dyn Judge,
    now: Timestamp,
) -> Vec<Vec<String>> {
    let known: BTreeMap<&ItemId, &Context> =
        contexts.iter().map(|context| (&context.id, context)).collect();
    let conditions = ConditionCache::new();
    let mut all = Vec::with_capacity(cases.len());
    for case in cases {
        let chain = ItemId::new(&case.context).ok().and_then(|id| Chain::among(&known, &id));
        let Some(chain) = chain else {
            all.push(vec![format!("there is no context {}", case.context)]);
            continue;
        };
        let facts = Facts::of_situation(&case.situation, case.intent.as_deref(), now);
        let rulings = judge_rules(&chain, &facts, &conditions, judge).await.rulings;
        let expected = case.apply.iter().map(|rule| (rule, Expected::Applies));
        let expected = expected.chain(case.skip.iter().map(|rule| (rule, Expected::Skipped)));
        let expected =
            expected.chain(case.undecided.iter().map(|rule| (rule, Expected::Undecided)));
        all.push(expected.filter_map(|(rule, expected)| wrong(rule, expected, &rulings)).collect());
    }
    all
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Expected {
    Applies,
    Skipped,
    Undecided,
}

/// What is wrong with one expectation.
fn wrong(rule: &str, expected: Expected, rulings: &[Ruling]) -> Option<String> {
    let is_meant = |ruling: &&Ruling| {
        ruling.rule == rule || format!("{}#{}", ruling.context, ruling.rule) == rule
    };
    let meant: Vec<&Ruling> = rulings.iter().filter(is_meant).collect();
    let [ruling] = meant.as_slice() else {
        let names: Vec<String> =
            rulings.iter().map(|ruling| format!("{}#{}", ruling.context, ruling.rule)).collect();
        let what = if meant.is_empty() { "no rule is called" } else { "several rules are called" };
        return Some(format!("{what} {rule}; there are {}", names.join(", ")));
    };
    let is_as_expected = match expected {
        Expected::Applies => ruling.applies,
        Expected::Skipped => !ruling.applies,
        Expected::Undecided => ruling.answer == Answer::Undecided,
    };
    if is_as_expected {
        return None;
    }
    let found = if ruling.applies { "applies" } else { "does not apply" };
    let why = match (&ruling.reason, ruling.answer) {
        (Some(reason), _) => reason.clone(),
        (None, Answer::Undecided) => {
            format!("{} could not decide {:?}", ruling.judge, ruling.condition)
        }
        (None, answer) => format!(
            "{} answered {} to {:?} with a sureness of {:.2}",
            ruling.judge,
            answer.as_str(),
            ruling.condition,
            ruling.sureness.get()
        ),
    };
    let wanted = match expected {
        Expected::Applies => "should apply",
        Expected::Skipped => "should not apply",
        Expected::Undecided => "should be left undecided",
    };
    Some(format!("{rule} of {} {wanted} and {found}: {why}", ruling.context))
}

#[cfg(test)]
mod tests {
    use haversack_core::item::Kind;
    use haversack_store::store::item::Item;
    use serde_json::json;

    use super::*;
    use crate::situation::LocalJudge;

    fn context(id: &str, fields: &Value) -> Context {
        let (id, kind) = (ItemId::new(id).unwrap(), Kind::new("context").unwrap());
        let fields = fields.as_object().unwrap().clone();
        Context::of_item(&Item { fields, ..Item::new(id, kind, "") })
    }

    /// S3: rules are tried with a file; what is not as expected is told with the reason.
    #[tokio::test]
    async fn rules_are_tried_on_situations_s3() {
        let contexts = [
            context(
                "org",
                &json!({ "injection_rules": [
                { "name": "live", "condition": "touches production", "inject": ["x"] },
                { "name": "moon", "condition": "the moon is full", "inject": ["x"] },
            ] }),
            ),
            context("task", &json!({ "parent": "org" })),
        ];
        let cases = parse(
            r#"
            [[case]]
            name = "right"
            context = "task"
            situation = { environment = "production" }
            apply = ["live"]
            skip = ["org#moon"]
            undecided = ["moon"]
            [[case]]
            name = "wrong"
            context = "task"
            situation = { environment = "staging" }
            apply = ["live", "liv"]
            [[case]]
            name = "nowhere"
            context = "tusk"
            "#,
        )
        .unwrap();
        let now = Timestamp::from_millis(0);
        let wrong = try_rules(&contexts, &cases, &LocalJudge::new(), now).await;
        assert!(wrong[0].is_empty(), "{wrong:?}");
        assert!(wrong[1][0].starts_with("live of org should apply and does not apply: local"));
        assert_eq!(wrong[1][1], "no rule is called liv; there are org#live, org#moon");
        assert_eq!(wrong[2], ["there is no context tusk"]);
        assert!(parse("[[case]]\nnam = 1").unwrap_err().contains("nam"));
        assert!(parse("").is_err());
    }
}
