//! A judge without a language model: words and what they mean by the built-in vectors, names and
//! values of facts, numbers, opposites and negation (S3).
//!
//! For English. It reads what a condition says by the letter and knows little of the world: that
//! `money back` speaks of a refund is written in a table. What it measures is weighed by a logistic
//! regression whose weights come from judgements made by hand (`judgements.txt`). Of those that were
//! held out nine in ten are right, and sureness means what it says; in trades that its words were
//! not chosen for it is right three times in four, and surer than it should be. Where much hangs on
//! a rule, write an expression or configure a language model.

mod evidence;
mod reading;
mod words;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use haversack_core::units::Score;
use serde_json::{Map, Value};

use super::judge::{Judge, JudgeError, Verdict};
use evidence::{MEASURES, weigh};
use reading::{Condition, Lexicon, Told};

/// What each measure counts for; a test derives them from the judgements again.
const WEIGHTS: [f64; MEASURES] = [-2.20, 2.23, 2.19, 1.38, -1.37, 3.55];

/// Judges conditions in plain language with what is built in.
#[derive(Debug, Clone, Copy, Default)]
pub struct LocalJudge;

impl LocalJudge {
    /// What the result calls it.
    pub const NAME: &'static str = "local";

    /// The judge.
    #[must_use]
    pub const fn new() -> LocalJudge {
        LocalJudge
    }

    /// One verdict for each condition, in their order.
    #[must_use]
    pub fn verdicts(&self, situation: &Map<String, Value>, conditions: &[&str]) -> Vec<Verdict> {
        let mut lexicon = Lexicon::default();
        let told = Told::read(situation, &mut lexicon);
        let verdict = |condition: &&str| {
            let condition = Condition::read(condition, &mut lexicon);
            verdict(&weigh(&condition, &told), condition.is_negated)
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
        conditions: &'a [&'a str],
    ) -> BoxFuture<'a, Result<Vec<Verdict>, JudgeError>> {
        async move { Ok(self.verdicts(situation, conditions)) }.boxed()
    }
}

/// Weighs what was measured of a condition; a negated one holds when the rest of it does not.
fn verdict(measures: &[f64; MEASURES], is_negated: bool) -> Verdict {
    let sum: f64 = measures.iter().zip(WEIGHTS).map(|(measure, weight)| measure * weight).sum();
    // The odds of being right are e^|sum| to 1; a toss of a coin has a sureness of nothing.
    let wrong = exp_of_minus(sum.abs());
    let sureness = Score::unit((1.0 - wrong) / (1.0 + wrong));
    Verdict { applies: (sum > 0.0) != is_negated, sureness }
}

/// e to the minus `x`, for `x` of 0 and above, by sums and products alone: the platform's own
/// differs in the last bit, and with it the bytes.
fn exp_of_minus(x: f64) -> f64 {
    const HALVINGS: u32 = 12;
    let small = -x.min(50.0) / f64::from(1 << HALVINGS);
    let near_one = 1.0 + small * (1.0 + small / 2.0 * (1.0 + small / 3.0 * (1.0 + small / 4.0)));
    (0..HALVINGS).fold(near_one, |power, _| power * power)
}

#[cfg(test)]
mod tests;
