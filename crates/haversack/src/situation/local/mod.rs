//! A judge without a language model: numbers, days, flags, values of facts, words, opposites and
//! negation (S3).
//!
//! It answers yes, no or undecided. What decides is what stands in the situation by the letter: a
//! number against a bound, a day of the week, a fact that is false, the value of a fact that the
//! condition names, a word that excludes another. Where nothing of the sort is found, or two
//! findings contradict each other, it does not guess. A negation turns the answer to what is left of
//! the condition, so that a condition and its negation are never both answered the same way.

mod claim;
mod evidence;
mod measure;
mod moment;
mod moments;
mod number;
mod token;
mod told;
mod word;
mod words;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use haversack_core::units::{Score, Timestamp};
use serde_json::{Map, Value};

use super::judge::{Answer, Judge, JudgeError, Verdict};
use claim::{Asked, Claim};
use evidence::{Finding, Sort, findings};
use told::Told;
use word::Lexicon;

/// Judges conditions in plain language with what is built in.
#[derive(Debug, Clone, Copy, Default)]
pub struct LocalJudge;

/// How sure each sort of evidence is: 1 is certain, 0 is a toss of a coin. A test measures them.
fn sureness(sort: Sort) -> f64 {
    match sort {
        Sort::Number | Sort::Moment => 0.95,
        Sort::Limit | Sort::Flag | Sort::Choice => 0.93,
        Sort::Opposite | Sort::Words | Sort::Denied => 0.9,
    }
}

impl LocalJudge {
    /// What the result calls it.
    pub const NAME: &'static str = "local";

    /// The judge.
    #[must_use]
    pub const fn new() -> LocalJudge {
        LocalJudge
    }

    /// One verdict for each condition, in their order. Days are counted from `now` unless the
    /// situation says what day it is.
    #[must_use]
    pub fn verdicts(
        &self,
        situation: &Map<String, Value>,
        now: Timestamp,
        conditions: &[&str],
    ) -> Vec<Verdict> {
        let mut lexicon = Lexicon::default();
        let told = Told::read(situation, Some(now.as_millis()), &mut lexicon);
        let verdict = |condition: &&str| verdict(&Asked::read(condition, &mut lexicon), &told);
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

fn verdict(asked: &Asked, told: &Told) -> Verdict {
    match asked {
        Asked::One(claim) => of_claim(claim, told),
        Asked::Not(inner) => {
            let Verdict { answer, sureness } = verdict(inner, told);
            Verdict { answer: answer.turned(), sureness }
        }
        Asked::All(parts) => joined(parts, told, Answer::No),
        Asked::Any(parts) => joined(parts, told, Answer::Yes),
        Asked::Unclear => Verdict::UNDECIDED,
    }
}

/// One part that settles it settles the whole; else all must be decided.
fn joined(parts: &[Asked], told: &Told, settles: Answer) -> Verdict {
    let verdicts: Vec<Verdict> = parts.iter().map(|part| verdict(part, told)).collect();
    let settled = verdicts.iter().filter(|verdict| verdict.answer == settles);
    if let Some(surest) = settled.max_by_key(|verdict| verdict.sureness) {
        return *surest;
    }
    if verdicts.iter().any(|verdict| verdict.answer == Answer::Undecided) {
        return Verdict::UNDECIDED;
    }
    let least = verdicts.iter().map(|verdict| verdict.sureness).min().unwrap_or(Score::ZERO);
    Verdict { answer: settles.turned(), sureness: least }
}

/// What the findings on a claim come to, if none contradicts another.
fn of_claim(claim: &Claim, told: &Told) -> Verdict {
    let findings = findings(claim, told);
    let Some(Finding { holds, .. }) = findings.first().copied() else { return Verdict::UNDECIDED };
    if findings.iter().any(|finding| finding.holds != holds) {
        return Verdict::UNDECIDED;
    }
    let sureness = findings.iter().map(|finding| sureness(finding.sort)).fold(0.0, f64::max);
    Verdict {
        answer: if holds { Answer::Yes } else { Answer::No },
        sureness: Score::unit(sureness),
    }
}

#[cfg(test)]
mod tests;
