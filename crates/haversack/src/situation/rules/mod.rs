//! Which injection rules apply: expressions here and now, plain language by a judge, all of a
//! request's conditions in one call (S3).

use haversack_core::ids::ItemId;
use haversack_core::units::{Score, Timestamp};
use serde_json::{Map, Value, json};

use super::context::Unsure;
use super::inherit::{Chain, Replaced};
use super::judge::{Answer, Judge, JudgeError, Verdict};
use super::local::LocalJudge;
use crate::condition::{Condition, ConditionCache, ConditionError, Facts};
use crate::notice::{Notice, NoticeCode};

/// What a condition begins with to be read as an expression whatever it looks like.
pub const EXPRESSION_PREFIX: &str = "cel:";

/// Signs that no sentence has. A text that has one and cannot be read is a mistake, not a sentence.
const SIGNS: [&str; 4] = ["==", "!=", "&&", "||"];

/// Most rules of a chain that are judged, nearest first.
pub const RULES_MAX: usize = 5_000;

/// Most rules that a message names.
const NAMED_MAX: usize = 10;

/// How the result calls those who decided, beside a judge's own name.
const ALWAYS: &str = "always";
const CEL: &str = "cel";

/// A rule of the chain, and what was decided about it.
#[derive(Debug, Clone, PartialEq)]
pub struct Ruling {
    /// The context that has the rule.
    pub context: ItemId,
    /// How far that is from the current context.
    pub distance: usize,
    /// The rule's name, or its place such as `#2`.
    pub rule: String,
    /// Its condition; empty for none.
    pub condition: String,
    /// Who decided: `always` where there is no condition, `cel` for an expression, else a judge's
    /// name.
    pub judge: String,
    /// What was answered. Undecided, too, when the answer was less sure than the rule asks for.
    pub answer: Answer,
    /// Whether the rule applies: the answer, or what the rule says for when there is none.
    pub applies: bool,
    /// How sure that is: 1 is certain.
    pub sureness: Score,
    /// Why it does not apply, where that is not the condition's own doing.
    pub reason: Option<String>,
    /// What the rule brings in.
    pub inject: Vec<ItemId>,
    /// What the rule says for when there is no answer.
    pub unsure: Unsure,
    threshold: Score,
}

/// What became of all rules of a chain.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Rulings {
    /// Every rule that counts, nearest context first.
    pub rulings: Vec<Ruling>,
    /// Rules that gave way to a nearer one of the same name.
    pub replaced: Vec<Replaced>,
    /// What the caller should know.
    pub notices: Vec<Notice>,
}

/// How the condition of a rule is read.
#[derive(Debug)]
pub enum RuleCondition {
    /// There is none: the rule always applies.
    Always,
    /// An expression in CEL.
    Expression(Condition),
    /// An expression that does not compile.
    Broken(ConditionError),
    /// Plain language.
    Plain,
}

/// Reads the condition of a rule as an expression or as plain language.
///
/// A text after `cel:` is an expression. Without the prefix, a text is one when it compiles and
/// either has something that no sentence has (a comparison, `&&`, a call, a quoted text) or names
/// nothing but facts. A text that has `==`, `!=`, `&&` or `||` and does not compile is a mistake.
/// Everything else is plain language.
#[must_use]
pub fn read_condition(text: &str, facts: &Facts, conditions: &ConditionCache) -> RuleCondition {
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
    let has_signs = SIGNS.iter().any(|sign| text.contains(sign));
    if !has_signs && is_sentence(text) {
        return RuleCondition::Plain;
    }
    match conditions.compile_bounded(text) {
        Ok(expression) if expression.is_meant(facts) => RuleCondition::Expression(expression),
        Err(error) if has_signs => RuleCondition::Broken(error),
        Ok(_) | Err(_) => RuleCondition::Plain,
    }
}

/// Whether two words stand side by side, as they cannot in an expression. It spares sentences the
/// parser, which takes longest to find out that something is none of its own.
fn is_sentence(text: &str) -> bool {
    // Inside of quotes and behind a comment's sign everything may stand.
    if text.contains(['"', '\'', '`']) || text.contains("//") {
        return false;
    }
    let words: Vec<&str> = text.split_whitespace().collect();
    let is_word = |word: &str| word.starts_with(char::is_alphabetic) && word != "in";
    let ends = |word: &str| word.ends_with(char::is_alphanumeric) && word != "in";
    words.windows(2).any(|pair| ends(pair[0]) && is_word(pair[1]))
}

/// Judges the injection rules of a context and its ancestors. It never fails: a rule that cannot
/// be judged does not apply, and a notice says so; when the judge fails, the local one decides.
pub async fn judge_rules(
    chain: &Chain,
    facts: &Facts,
    conditions: &ConditionCache,
    judge: &dyn Judge,
) -> Rulings {
    let (mut rules, replaced) = chain.injection();
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
            answer: Answer::No,
            applies: false,
            sureness: Score::ONE,
            reason: None,
            inject: rule.inject.clone(),
            unsure: rule.unsure,
            threshold: rule.threshold,
        };
        match read_condition(&rule.condition, facts, conditions) {
            RuleCondition::Always => {
                ruling.judge = ALWAYS.to_owned();
                ruling.answer = Answer::Yes;
            }
            RuleCondition::Expression(expression) => match expression.evaluate(facts) {
                Ok(true) => ruling.answer = Answer::Yes,
                Ok(false) => {}
                Err(ConditionError::MissingFact { name }) => {
                    ruling.reason = Some(format!("the situation does not say {name:?}"));
                }
                Err(error) => fail(&mut ruling, error.to_string(), &mut notices),
            },
            RuleCondition::Broken(error) => fail(&mut ruling, error.to_string(), &mut notices),
            RuleCondition::Plain => plain.push(rulings.len()),
        }
        ruling.applies = ruling.answer == Answer::Yes;
        rulings.push(ruling);
    }
    if !plain.is_empty() {
        decide(&mut rulings, &plain, facts, judge, &mut notices).await;
    }
    Rulings { rulings, replaced, notices }
}

fn fail(ruling: &mut Ruling, reason: String, notices: &mut Vec<Notice>) {
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

/// Has the plain conditions judged, each once.
async fn decide(
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
    let asked: Vec<&str> = conditions.iter().map(String::as_str).collect();
    let situation = facts.situation_with_intent();
    let (name, verdicts) = match ask(judge, &situation, facts.now(), &asked).await {
        Ok(verdicts) => (judge.name().to_owned(), verdicts),
        Err(error) => {
            tracing::warn!(judge = judge.name(), error = %error, "conditions are judged locally");
            notices.push(Notice::new(
                NoticeCode::Degraded,
                format!("{error}: the local model decided {} conditions instead", asked.len()),
            ));
            let local = LocalJudge::new();
            (local.name().to_owned(), local.verdicts(&situation, facts.now(), &asked))
        }
    };
    for &at in plain {
        let ruling = &mut rulings[at];
        let place = conditions.binary_search(&ruling.condition);
        let Some(verdict) = place.ok().and_then(|place| verdicts.get(place)) else { continue };
        ruling.judge.clone_from(&name);
        ruling.decide(*verdict);
    }
    let judged: Vec<&Ruling> = plain.iter().map(|&at| &rulings[at]).collect();
    if name == LocalJudge::NAME {
        notices.push(judged_locally(&judged));
    }
    notices.extend(undecided(&judged));
}

/// One verdict for each condition, or an error.
async fn ask(
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

/// Which rules no judge could decide, and what was done.
fn undecided(rulings: &[&Ruling]) -> Option<Notice> {
    let open: Vec<&&Ruling> =
        rulings.iter().filter(|ruling| ruling.answer == Answer::Undecided).collect();
    if open.is_empty() {
        return None;
    }
    let list = |unsure: Unsure| {
        let named = open.iter().filter(|ruling| ruling.unsure == unsure);
        named.map(|ruling| format!("{} of {}", ruling.rule, ruling.context)).collect::<Vec<_>>()
    };
    let (injected, skipped) = (list(Unsure::Inject), list(Unsure::Skip));
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

fn judged_locally(rulings: &[&Ruling]) -> Notice {
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

/// To three places: more would pretend to a precision that no judge has.
fn rounded(sureness: Score) -> f64 {
    (sureness.get() * 1_000.0).round() / 1_000.0
}

impl Ruling {
    /// The decision, for programs.
    pub(crate) fn details(&self) -> Value {
        json!({
            "context": self.context.as_str(),
            "rule": self.rule,
            "condition": self.condition,
            "judge": self.judge,
            "applies": self.applies,
            "answer": self.answer.as_str(),
            "unsure": self.unsure.as_str(),
            "sureness": rounded(self.sureness),
        })
    }

    /// Takes a judge's answer over, unless the rule asks for a surer one.
    fn decide(&mut self, verdict: Verdict) {
        self.sureness = verdict.sureness;
        let is_sure = verdict.sureness >= self.threshold;
        self.answer = if is_sure { verdict.answer } else { Answer::Undecided };
        self.applies = match self.answer {
            Answer::Yes => true,
            Answer::No => false,
            Answer::Undecided => self.unsure == Unsure::Inject,
        };
    }
}

#[cfg(test)]
mod tests;
