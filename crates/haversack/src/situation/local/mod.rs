//! A judge without a language model: numbers, days, flags, values of facts, words, opposites and
//! negation (S3).
//!
//! It answers yes, no or undecided. It decides only by what the situation states literally: a number
//! compared with a bound, a day of the week, a fact that is false, the value of a fact that the
//! condition names, a word that excludes another. Where it finds no such evidence, or two findings
//! contradict each other, it does not guess. A negation inverts the answer to the rest of the
//! condition, so that a condition and its negation never get the same decided answer.

mod date_evidence;
mod dates;
mod evidence;
mod lexicon;
mod number_evidence;
mod parsed_condition;
mod quantity;
mod sentence_token;
mod situation_facts;
mod word_lists;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use haversack_core::units::{Score, Timestamp};
use serde_json::{Map, Value};

use super::judge::{Judge, JudgeAnswer, JudgeError, Verdict};
use evidence::{EvidenceFinding, EvidenceKind, collect_evidence};
use lexicon::Lexicon;
use parsed_condition::{ConditionClause, ParsedCondition};
use situation_facts::SituationFacts;

/// Judges conditions in plain language with built-in rules and word lists.
#[derive(Debug, Clone, Copy, Default)]
pub struct LocalJudge;

/// How sure each kind of evidence is: 1 is certain, 0 is a coin toss. A test measures them.
fn sureness(kind: EvidenceKind) -> f64 {
    match kind {
        EvidenceKind::Number | EvidenceKind::Date => 0.95,
        EvidenceKind::Limit | EvidenceKind::Flag | EvidenceKind::Choice => 0.93,
        EvidenceKind::Opposite | EvidenceKind::StatedWords | EvidenceKind::DeniedWords => 0.9,
    }
}

impl LocalJudge {
    /// The judge's name in results.
    pub const NAME: &'static str = "local";

    /// Creates the judge.
    #[must_use]
    pub const fn new() -> LocalJudge {
        LocalJudge
    }

    /// Returns one verdict for each condition, in order. `now` is today unless the situation states
    /// the date.
    #[must_use]
    pub fn verdicts(
        &self,
        situation: &Map<String, Value>,
        now: Timestamp,
        conditions: &[&str],
    ) -> Vec<Verdict> {
        let mut lexicon = Lexicon::default();
        let facts = SituationFacts::read(situation, Some(now.as_millis()), &mut lexicon);
        let verdict = |condition: &&str| {
            judge_condition(&ParsedCondition::parse(condition, &mut lexicon), &facts)
        };
        conditions.iter().map(verdict).collect()
    }
}

impl Judge for LocalJudge {
    fn name(&self) -> &str {
        LocalJudge::NAME
    }

    fn judge<'a>(
        &'a self,
        situation: &'a Map<String, Value>,
        now: Timestamp,
        conditions: &'a [&'a str],
    ) -> BoxFuture<'a, Result<Vec<Verdict>, JudgeError>> {
        async move { Ok(self.verdicts(situation, now, conditions)) }.boxed()
    }
}

fn judge_condition(condition: &ParsedCondition, facts: &SituationFacts) -> Verdict {
    match condition {
        ParsedCondition::Clause(clause) => judge_clause(clause, facts),
        ParsedCondition::Not(inner) => {
            let Verdict { answer, sureness, reason } = judge_condition(inner, facts);
            Verdict { answer: answer.negated(), sureness, reason }
        }
        ParsedCondition::All(parts) => judge_junction(parts, facts, JudgeAnswer::No),
        ParsedCondition::Any(parts) => judge_junction(parts, facts, JudgeAnswer::Yes),
        ParsedCondition::Unclear => Verdict::UNDECIDED,
    }
}

/// Judges parts joined by `and` (`settles` is no) or `or` (`settles` is yes): one part with that
/// answer decides the whole; otherwise all parts must be decided.
fn judge_junction(
    parts: &[ParsedCondition],
    facts: &SituationFacts,
    settles: JudgeAnswer,
) -> Verdict {
    let verdicts: Vec<Verdict> = parts.iter().map(|part| judge_condition(part, facts)).collect();
    let settled = verdicts.iter().filter(|verdict| verdict.answer == settles);
    if let Some(surest) = settled.max_by_key(|verdict| verdict.sureness) {
        return surest.clone();
    }
    if verdicts.iter().any(|verdict| verdict.answer == JudgeAnswer::Undecided) {
        return Verdict::UNDECIDED;
    }
    let least = verdicts.iter().map(|verdict| verdict.sureness).min().unwrap_or(Score::ZERO);
    Verdict { answer: settles.negated(), sureness: least, reason: None }
}

/// Judges a clause by all evidence on it; undecided when there is none or findings contradict.
fn judge_clause(clause: &ConditionClause, facts: &SituationFacts) -> Verdict {
    let findings = collect_evidence(clause, facts);
    let Some(EvidenceFinding { holds, .. }) = findings.first().copied() else {
        return Verdict::UNDECIDED;
    };
    if findings.iter().any(|finding| finding.holds != holds) {
        return Verdict::UNDECIDED;
    }
    let sureness = findings.iter().map(|finding| sureness(finding.kind)).fold(0.0, f64::max);
    Verdict {
        answer: if holds { JudgeAnswer::Yes } else { JudgeAnswer::No },
        sureness: Score::unit(sureness),
        reason: None,
    }
}

#[cfg(test)]
mod tests;
