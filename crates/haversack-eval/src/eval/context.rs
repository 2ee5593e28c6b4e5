//! Measures a context that belongs to no set, by the same metrics as packs.

use std::ops::Range;
use std::time::Duration;

use haversack_core::units::Tokens;

use super::cover::Cover;
use super::library::TextLibrary;
use super::question::EvalQuestion;
use super::ruler::{Metric, MetricShares, PackText, measure};
use super::words::NormalizedWords;

/// The metrics of the objective: their mean says how good a pack is for a question.
const OBJECTIVE: [Metric; 4] = [Metric::Answer, Metric::Evidence, Metric::Spans, Metric::Must];

impl MetricShares {
    /// The mean of answer, evidence, spans and required texts, as far as the question has the
    /// labels; `None` when it has none.
    #[must_use]
    pub fn objective(&self) -> Option<f64> {
        let (mut sum, mut n) = (0.0, 0);
        for share in OBJECTIVE.iter().filter_map(|metric| self.get(*metric)) {
            sum += share;
            n += 1;
        }
        (n > 0).then(|| sum / f64::from(n))
    }
}

/// A context, and the documents' bytes that stand in it.
pub(crate) struct GivenContext<'c> {
    pub(crate) text: &'c str,
    pub(crate) budget: Tokens,
    pub(crate) tokens: Tokens,
    pub(crate) parts: Vec<(String, Range<usize>)>,
}

/// The metrics of a context and the number of broken blocks in it.
pub(crate) fn measure_context(
    given: GivenContext<'_>,
    question: &EvalQuestion,
    library: &TextLibrary,
) -> (MetricShares, usize) {
    let GivenContext { text, budget, tokens, parts } = given;
    let cover = Cover::of(parts);
    let pack = PackText { budget, text, tokens, time: Duration::ZERO, steps: None, cover };
    let measured = measure(&pack, question, library);
    let mut shares = measured.shares;
    // In a set an answer is checked against labelled documents first; here it may stand alone.
    if !question.is_labelled() {
        let is_in = question.gold.is_in(&NormalizedWords::of(text));
        shares.set(Metric::Answer, is_in.map(|is_in| f64::from(u8::from(is_in))));
    }
    (shares, measured.broken)
}
