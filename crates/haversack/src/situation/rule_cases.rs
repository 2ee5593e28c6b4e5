//! Test cases for injection rules: situations, and which rules are expected to apply in each.

use std::collections::BTreeMap;

use haversack_core::ids::ItemId;
use haversack_core::units::Timestamp;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::context::ContextDocument;
use super::inherit::Chain;
use super::judge::{Judge, JudgeAnswer};
use super::rules::{Ruling, judge_rules};
use crate::condition::{ConditionCache, Facts};

/// Most cases of a file.
pub const CASES_MAX: usize = 10_000;

/// A situation and the expected outcomes of rules in it.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RuleCase {
    /// Its display name.
    pub name: String,
    /// The current context, by id.
    pub context: String,
    /// The situation's facts.
    #[serde(default)]
    pub situation: Map<String, Value>,
    /// The intent of the request.
    #[serde(default)]
    pub intent: Option<String>,
    /// Rules that are expected to apply, each by name or as `context#name`.
    #[serde(default)]
    pub apply: Vec<String>,
    /// Rules that are expected not to apply.
    #[serde(default)]
    pub skip: Vec<String>,
    /// Rules that the judge is expected to leave undecided.
    #[serde(default)]
    pub undecided: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RuleCaseFile {
    #[serde(default)]
    case: Vec<RuleCase>,
}

/// Parses a file of cases in TOML.
///
/// # Errors
/// A message when it is not TOML, has an unknown field, no case, or more than [`CASES_MAX`].
pub fn parse(text: &str) -> Result<Vec<RuleCase>, String> {
    let RuleCaseFile { case } = toml::from_str(text).map_err(|error| error.to_string())?;
    match case.len() {
        0 => Err("there is no [[case]] in it".to_owned()),
        1..=CASES_MAX => Ok(case),
        count => Err(format!("{count} cases are more than the limit of {CASES_MAX}")),
    }
}

/// Runs each case and returns, in order, a message for each expectation that fails.
pub async fn check_rule_cases(
    contexts: &[ContextDocument],
    cases: &[RuleCase],
    judge: &dyn Judge,
    now: Timestamp,
) -> Vec<Vec<String>> {
    let by_id: BTreeMap<&ItemId, &ContextDocument> =
        contexts.iter().map(|context| (&context.id, context)).collect();
    let conditions = ConditionCache::new();
    let mut all = Vec::with_capacity(cases.len());
    for case in cases {
        let chain =
            ItemId::new(&case.context).ok().and_then(|id| Chain::from_contexts(&by_id, &id));
        let Some(chain) = chain else {
            all.push(vec![format!("there is no context {}", case.context)]);
            continue;
        };
        let facts = Facts::from_situation(&case.situation, case.intent.as_deref(), now);
        let rulings = judge_rules(&chain, &facts, &conditions, judge).await.rulings;
        let expected = case.apply.iter().map(|rule| (rule, ExpectedRuling::Applies));
        let expected = expected.chain(case.skip.iter().map(|rule| (rule, ExpectedRuling::Skipped)));
        let expected =
            expected.chain(case.undecided.iter().map(|rule| (rule, ExpectedRuling::Undecided)));
        all.push(
            expected
                .filter_map(|(rule, expected)| failure_message(rule, expected, &rulings))
                .collect(),
        );
    }
    all
}

/// What a case expects of a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ExpectedRuling {
    Applies,
    Skipped,
    Undecided,
}

/// The message of an expectation that fails; `None` when it is met.
fn failure_message(rule: &str, expected: ExpectedRuling, rulings: &[Ruling]) -> Option<String> {
    let is_named = |ruling: &&Ruling| {
        ruling.rule == rule || format!("{}#{}", ruling.context, ruling.rule) == rule
    };
    let matching: Vec<&Ruling> = rulings.iter().filter(is_named).collect();
    let [ruling] = matching.as_slice() else {
        let names: Vec<String> =
            rulings.iter().map(|ruling| format!("{}#{}", ruling.context, ruling.rule)).collect();
        let what =
            if matching.is_empty() { "no rule is called" } else { "several rules are called" };
        return Some(format!("{what} {rule}; there are {}", names.join(", ")));
    };
    let is_as_expected = match expected {
        ExpectedRuling::Applies => ruling.applies,
        ExpectedRuling::Skipped => !ruling.applies,
        ExpectedRuling::Undecided => ruling.answer == JudgeAnswer::Undecided,
    };
    if is_as_expected {
        return None;
    }
    let found = if ruling.applies { "applies" } else { "does not apply" };
    let why = match (&ruling.reason, ruling.answer) {
        (Some(reason), _) => reason.clone(),
        (None, JudgeAnswer::Undecided) => {
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
        ExpectedRuling::Applies => "should apply",
        ExpectedRuling::Skipped => "should not apply",
        ExpectedRuling::Undecided => "should be left undecided",
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

    fn context(id: &str, fields: &Value) -> ContextDocument {
        let (id, kind) = (ItemId::new(id).unwrap(), Kind::new("context").unwrap());
        let fields = fields.as_object().unwrap().clone();
        ContextDocument::of_item(&Item { fields, ..Item::new(id, kind, "") })
    }

    /// S3: a file of cases tests rules; each failed expectation is reported with the reason.
    #[tokio::test]
    async fn rule_cases_report_failed_expectations_s3() {
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
        let wrong = check_rule_cases(&contexts, &cases, &LocalJudge::new(), now).await;
        assert!(wrong[0].is_empty(), "{wrong:?}");
        assert!(wrong[1][0].starts_with("live of org should apply and does not apply: local"));
        assert_eq!(wrong[1][1], "no rule is called liv; there are org#live, org#moon");
        assert_eq!(wrong[2], ["there is no context tusk"]);
        assert!(parse("[[case]]\nnam = 1").unwrap_err().contains("nam"));
        assert!(parse("").is_err());
    }
}
