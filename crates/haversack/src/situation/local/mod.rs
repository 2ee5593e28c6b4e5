//! A judge without a language model: words, meaning by the built-in vectors, numbers, negation.

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use haversack_core::embed::BuiltIn;
use haversack_core::units::Score;
use serde_json::{Map, Value};

use super::judge::{Judge, JudgeError, Verdict};

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
        let model = BuiltIn::new();
        let told = model.vector(&Value::Object(situation.clone()).to_string());
        let verdict = |condition: &&str| {
            let likeness = f64::from(told.dot(&model.vector(condition)));
            Verdict { applies: likeness > 0.3, sureness: Score::unit((likeness - 0.3).abs()) }
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
