//! Decides which injection rules apply: evaluates expressions, and sends all conditions in plain
//! language of a request to a judge in one call (S3).

use haversack_core::ids::ItemId;
use haversack_core::units::{Score, Timestamp};
use haversack_store::store::error::error_chain;
use serde_json::{Map, Value, json};

use super::context::UndecidedAction;
use super::inherit::{Chain, ReplacedRule};
use super::judge::{Judge, JudgeAnswer, JudgeError, Verdict};
use super::local::LocalJudge;
use crate::condition::{Condition, ConditionCache, ConditionError, Facts};
use crate::notice::{Notice, NoticeCode};

/// Prefix of a condition that is always an expression.
pub const EXPRESSION_PREFIX: &str = "cel:";

/// Operators that no sentence has. A text with one that does not compile is a mistake, not a sentence.
const OPERATORS: [&str; 4] = ["==", "!=", "&&", "||"];

/// Most rules of a chain that are judged; the nearest come first.
pub const RULES_MAX: usize = 5_000;

/// Most rules that a message names.
const NAMED_MAX: usize = 10;

/// The `judge` of a rule without a condition.
const ALWAYS: &str = "always";
/// The `judge` of a rule whose condition is an expression.
const CEL: &str = "cel";

/// A rule of the chain and the decision on it.
#[derive(Debug, Clone, PartialEq)]
pub struct Ruling {
    /// The context that has the rule.
    pub context: ItemId,
    /// Steps from the current context to that one.
    pub distance: usize,
    /// The rule's name, or its position such as `#2`.
    pub rule: String,
    /// Its condition; empty if it has none.
    pub condition: String,
    /// What decided: `always` for a rule without a condition, `cel` for an expression, else a
    /// judge's name.
    pub judge: String,
    /// The answer. It is also undecided when the verdict was less sure than the rule requires.
    pub answer: JudgeAnswer,
    /// Whether the rule applies: by the answer, or by `when_undecided` if there is none.
    pub applies: bool,
    /// How sure the answer is: 1 is certain.
    pub sureness: Score,
    /// Why it does not apply, if the condition could not be evaluated.
    pub reason: Option<String>,
    /// The reason that a judge gave for its answer.
    pub judge_reason: Option<String>,
    /// The contexts that the rule injects.
    pub inject: Vec<ItemId>,
    /// What the rule does when there is no answer.
    pub when_undecided: UndecidedAction,
    threshold: Score,
}

/// The decisions on all rules of a chain.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Rulings {
    /// Every rule in effect, nearest context first.
    pub rulings: Vec<Ruling>,
    /// Rules that a nearer one of the same name overrides.
    pub replaced: Vec<ReplacedRule>,
    /// Notices for the caller.
    pub notices: Vec<Notice>,
}

/// How the condition of a rule is to be decided.
#[derive(Debug)]
pub enum RuleCondition {
    /// There is no condition: the rule always applies.
    Always,
    /// An expression in CEL.
    Expression(Condition),
    /// An expression that does not compile.
    Broken(ConditionError),
    /// Plain language, for a judge.
    PlainLanguage,
}

/// Classifies the condition of a rule as an expression or as plain language.
///
/// A text after `cel:` is an expression. Without the prefix, a text is an expression when it compiles
/// and either has something that no sentence has (a comparison, `&&`, a call, a quoted text) or
/// consists only of names of facts. A text that has `==`, `!=`, `&&` or `||` and does not compile is
/// a mistake. Everything else is plain language.
#[must_use]
pub fn classify_condition(text: &str, facts: &Facts, conditions: &ConditionCache) -> RuleCondition {
    let text = text.trim();
    if text.is_empty() {
        return RuleCondition::Always;
    }
    let prefix = text.get(..EXPRESSION_PREFIX.len());
    if prefix.is_some_and(|prefix| prefix.eq_ignore_ascii_case(EXPRESSION_PREFIX)) {
        let source = text[EXPRESSION_PREFIX.len()..].trim();
        return match conditions.compile_bounded(source) {
            Ok(expression) => RuleCondition::Expression(expression),
            Err(error) => RuleCondition::Broken(error),
        };
    }
    let has_operator = OPERATORS.iter().any(|operator| text.contains(operator));
    if !has_operator && is_sentence(text) {
        return RuleCondition::PlainLanguage;
    }
    match conditions.compile_bounded(text) {
        Ok(expression) if expression.looks_like_cel(facts) => RuleCondition::Expression(expression),
        Err(error) if has_operator => RuleCondition::Broken(error),
        Ok(_) | Err(_) => RuleCondition::PlainLanguage,
    }
}

/// Whether two words follow each other, as they cannot in an expression. Checking this first avoids
/// the parser for sentences, on which it is slowest.
fn is_sentence(text: &str) -> bool {
    // Anything can follow inside quotes and after a comment sign.
    if text.contains(['"', '\'', '`']) || text.contains("//") {
        return false;
    }
    let words: Vec<&str> = text.split_whitespace().collect();
    let is_word = |word: &str| word.starts_with(char::is_alphabetic) && word != "in";
    let ends = |word: &str| word.ends_with(char::is_alphanumeric) && word != "in";
    words.windows(2).any(|pair| ends(pair[0]) && is_word(pair[1]))
}

/// Judges the injection rules of a context and its ancestors. It never fails: a rule whose condition
/// cannot be evaluated does not apply, and a notice says so; when the judge fails, the local judge
/// decides.
pub async fn judge_rules(
    chain: &Chain,
    facts: &Facts,
    conditions: &ConditionCache,
    judge: &dyn Judge,
) -> Rulings {
    let (mut rules, replaced) = chain.injection_rules();
    let mut notices = Vec::new();
    if rules.len() > RULES_MAX {
        notices.push(Notice::new(
            NoticeCode::RuleFailed,
            format!("of {} rules the nearest {RULES_MAX} were judged, the limit", rules.len()),
        ));
        rules.truncate(RULES_MAX);
    }
    let mut plain: Vec<usize> = Vec::new();
    let mut rulings: Vec<Ruling> = Vec::with_capacity(rules.len());
    for (member, index, rule) in rules {
        let member = &chain.members()[member];
        let mut ruling = Ruling {
            context: member.context.id.clone(),
            distance: member.distance,
            rule: member.context.rule_name(index),
            condition: rule.condition.clone(),
            judge: CEL.to_owned(),
            answer: JudgeAnswer::No,
            applies: false,
            sureness: Score::ONE,
            reason: None,
            judge_reason: None,
            inject: rule.inject.clone(),
            when_undecided: rule.when_undecided,
            threshold: rule.threshold,
        };
        match classify_condition(&rule.condition, facts, conditions) {
            RuleCondition::Always => {
                ruling.judge = ALWAYS.to_owned();
                ruling.answer = JudgeAnswer::Yes;
            }
            RuleCondition::Expression(expression) => match expression.evaluate(facts) {
                Ok(true) => ruling.answer = JudgeAnswer::Yes,
                Ok(false) => {}
                Err(ConditionError::MissingFact { name }) => {
                    ruling.reason = Some(format!("the situation does not say {name:?}"));
                }
                Err(error) => record_failure(&mut ruling, error.to_string(), &mut notices),
            },
            RuleCondition::Broken(error) => {
                record_failure(&mut ruling, error.to_string(), &mut notices);
            }
            RuleCondition::PlainLanguage => plain.push(rulings.len()),
        }
        ruling.applies = ruling.answer == JudgeAnswer::Yes;
        rulings.push(ruling);
    }
    if !plain.is_empty() {
        judge_plain_conditions(&mut rulings, &plain, facts, judge, &mut notices).await;
    }
    Rulings { rulings, replaced, notices }
}

/// Notes why a rule could not be evaluated, on the rule and in a notice.
fn record_failure(ruling: &mut Ruling, reason: String, notices: &mut Vec<Notice>) {
    let Ruling { context, rule, condition, .. } = &*ruling;
    notices.push(Notice {
        details: json!({ "context": context.as_str(), "rule": rule, "condition": condition }),
        suggestions: vec![format!("correct the condition of {rule} in {context}")],
        ..Notice::new(
            NoticeCode::RuleFailed,
            format!("the rule {rule} of {context} was left out: {reason}"),
        )
    });
    ruling.reason = Some(reason);
}

/// Has the judge decide the conditions in plain language, each once.
async fn judge_plain_conditions(
    rulings: &mut [Ruling],
    plain: &[usize],
    facts: &Facts,
    judge: &dyn Judge,
    notices: &mut Vec<Notice>,
) {
    let mut conditions: Vec<String> =
        plain.iter().map(|&at| rulings[at].condition.clone()).collect();
    conditions.sort_unstable();
    conditions.dedup();
    let unique: Vec<&str> = conditions.iter().map(String::as_str).collect();
    let situation = facts.situation_with_intent();
    let (name, verdicts) = match request_verdicts(judge, &situation, facts.now(), &unique).await {
        Ok(verdicts) => (judge.name().to_owned(), verdicts),
        Err(error) => {
            let error = error_chain(&error);
            tracing::warn!(judge = judge.name(), error, "conditions are judged locally");
            notices.push(Notice::new(
                NoticeCode::Degraded,
                format!("{error}: the local model decided {} conditions instead", unique.len()),
            ));
            let local = LocalJudge::new();
            (local.name().to_owned(), local.verdicts(&situation, facts.now(), &unique))
        }
    };
    for &at in plain {
        let ruling = &mut rulings[at];
        let index = conditions.binary_search(&ruling.condition);
        let Some(verdict) = index.ok().and_then(|index| verdicts.get(index)) else { continue };
        ruling.judge.clone_from(&name);
        ruling.apply_verdict(verdict);
    }
    let judged: Vec<&Ruling> = plain.iter().map(|&at| &rulings[at]).collect();
    if name == LocalJudge::NAME {
        notices.push(judged_locally_notice(&judged));
    }
    notices.extend(undecided_notice(&judged));
}

/// Asks the judge, and checks that it returned one verdict for each condition.
async fn request_verdicts(
    judge: &dyn Judge,
    situation: &Map<String, Value>,
    now: Timestamp,
    conditions: &[&str],
) -> Result<Vec<Verdict>, JudgeError> {
    let verdicts = judge.judge(situation, now, conditions).await?;
    let (found, wanted) = (verdicts.len(), conditions.len());
    if found == wanted {
        return Ok(verdicts);
    }
    let cause = format!("it gave {found} verdicts on {wanted} conditions").into();
    Err(JudgeError { judge: judge.name().to_owned(), cause })
}

/// A notice of the rules that the judge could not decide, and what they did.
fn undecided_notice(rulings: &[&Ruling]) -> Option<Notice> {
    let open: Vec<&&Ruling> =
        rulings.iter().filter(|ruling| ruling.answer == JudgeAnswer::Undecided).collect();
    if open.is_empty() {
        return None;
    }
    let names_with = |action: UndecidedAction| {
        let named = open.iter().filter(|ruling| ruling.when_undecided == action);
        named.map(|ruling| format!("{} of {}", ruling.rule, ruling.context)).collect::<Vec<_>>()
    };
    let (injected, skipped) =
        (names_with(UndecidedAction::Inject), names_with(UndecidedAction::Skip));
    let mut done = Vec::new();
    for (rules, what) in [(injected, "brought in anyway"), (skipped, "left out")] {
        let more = rules.len().saturating_sub(NAMED_MAX);
        let rest = if more > 0 { format!(" and {more} more") } else { String::new() };
        if !rules.is_empty() {
            let named = rules[..rules.len() - more].join(", ");
            done.push(format!("{what}: {named}{rest}"));
        }
    }
    let (count, noun) = (open.len(), if open.len() == 1 { "rule" } else { "rules" });
    Some(Notice {
        details: open.iter().map(|ruling| ruling.details()).collect(),
        suggestions: vec![
            "say with unsure = \"inject\" or \"skip\" what such a rule does".to_owned(),
            "write its condition as an expression, or tell the fact it asks for".to_owned(),
        ],
        ..Notice::new(
            NoticeCode::RulesUndecided,
            format!("{count} {noun} could not be decided; {}", done.join("; ")),
        )
    })
}

/// A notice that the local judge decided conditions.
fn judged_locally_notice(rulings: &[&Ruling]) -> Notice {
    let details: Vec<Value> = rulings.iter().map(|ruling| ruling.details()).collect();
    let count = details.len();
    let (noun, verb) = if count == 1 { ("condition", "was") } else { ("conditions", "were") };
    let message = format!("{count} {noun} in plain language {verb} judged by the local model");
    Notice {
        details: Value::Array(details),
        suggestions: vec![
            "write conditions as expressions, such as situation.environment == \"production\""
                .to_owned(),
            "configure a language model as judge".to_owned(),
        ],
        ..Notice::new(NoticeCode::JudgedLocally, message)
    }
}

/// Rounds to three decimal places, because no judge is more precise.
fn round_sureness(sureness: Score) -> f64 {
    (sureness.get() * 1_000.0).round() / 1_000.0
}

impl Ruling {
    /// The decision as JSON.
    pub(crate) fn details(&self) -> Value {
        let mut details = json!({
            "context": self.context.as_str(),
            "rule": self.rule,
            "condition": self.condition,
            "judge": self.judge,
            "applies": self.applies,
            "answer": self.answer.as_str(),
            "unsure": self.when_undecided.as_str(),
            "sureness": round_sureness(self.sureness),
        });
        if let Some(reason) = &self.judge_reason {
            details["reason"] = json!(reason);
        }
        details
    }

    /// Applies a judge's verdict; one that is less sure than the rule requires counts as undecided.
    fn apply_verdict(&mut self, verdict: &Verdict) {
        self.sureness = verdict.sureness;
        self.judge_reason.clone_from(&verdict.reason);
        let is_sure = verdict.sureness >= self.threshold;
        self.answer = if is_sure { verdict.answer } else { JudgeAnswer::Undecided };
        self.applies = match self.answer {
            JudgeAnswer::Yes => true,
            JudgeAnswer::No => false,
            JudgeAnswer::Undecided => self.when_undecided == UndecidedAction::Inject,
        };
    }
}

#[cfg(test)]
mod tests;
