//! Means over many answers.

use std::time::Duration;

use haversack_core::units::Tokens;

use super::answer::EvalAnswer;
use super::question::AnswerSkip;
use super::ruler::{Metric, PackMeasurement};
use super::warnings::SetWarnings;
use haversack::pipeline::Timings;

/// A share from here on counts as all; the rest is rounding.
const ALL: f64 = 1.0 - 1e-9;

/// The report on a set, and on each set in it when it is a folder of sets.
#[derive(Debug, Clone, PartialEq)]
pub struct EvalReport {
    /// The name of its folder.
    pub set: String,
    /// The recipe that answered; `None` when the packs came from a file.
    pub recipe: Option<String>,
    /// The kind of the stored documents; empty when none were stored.
    pub kind: String,
    /// The number of candidates of a search, if it is not the recipe's own.
    pub candidates: Option<usize>,
    /// The number of corpora, each searched separately.
    pub scopes: usize,
    /// The metrics over all its questions.
    pub metrics: EvalMetrics,
    /// The results for off-topic questions, if any were asked.
    pub off_topic: Option<OffTopic>,
    /// The ingest time.
    pub ingest: IngestTiming,
    /// The warnings about its files.
    pub warnings: SetWarnings,
    /// The sets in it, when it is a folder of sets.
    pub sets: Vec<EvalReport>,
}

/// A mean and its sample size.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Mean {
    /// The mean; 0 without values.
    pub value: f64,
    /// The number of values.
    pub n: usize,
}

impl Mean {
    /// The mean of the values that are `Some`.
    pub(crate) fn of(values: impl IntoIterator<Item = Option<f64>>) -> Mean {
        let (mut sum, mut n) = (0.0, 0);
        for value in values.into_iter().flatten() {
            sum += value;
            n += 1;
        }
        Mean { value: if n == 0 { 0.0 } else { sum / n as f64 }, n }
    }

    /// The mean, unless there are no values.
    #[must_use]
    pub fn get(self) -> Option<f64> {
        (self.n > 0).then_some(self.value)
    }
}

/// Means over questions.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct EvalMetrics {
    /// The number of labelled questions.
    pub questions: usize,
    /// The number of unlabelled questions. They count only in
    /// [`BudgetMetrics::tokens_without_evidence`].
    pub without_evidence: usize,
    /// The mean of nDCG@10.
    pub ndcg: Mean,
    /// The mean of recall@10.
    pub recall: Mean,
    /// For each budget, smallest first.
    pub budgets: Vec<BudgetMetrics>,
    /// Questions whose gold answer is not checked: yes or no, in the question, in no labelled
    /// document.
    pub skipped: [usize; 3],
    /// The time for a pack.
    pub latency: Latency,
    /// The time for each stage, in order, if known.
    pub steps: Vec<(&'static str, Latency)>,
}

/// Means over questions at one budget.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BudgetMetrics {
    /// The budget.
    pub budget: Tokens,
    shares: [Mean; Metric::ALL.len()],
    /// The share of questions with all `must` strings in the pack.
    pub must_all: Mean,
    /// The number of broken blocks in a pack.
    pub broken: Mean,
    /// The share of packs with a broken block.
    pub broken_packs: Mean,
    /// The size of a pack.
    pub tokens: Mean,
    /// The time for a pack, in milliseconds.
    pub ms: Mean,
    /// The size of a pack for an unlabelled question.
    pub tokens_without_evidence: Mean,
}

impl BudgetMetrics {
    /// The mean of a metric over the questions that have it.
    #[must_use]
    pub const fn mean(&self, metric: Metric) -> Mean {
        self.shares[metric as usize]
    }

    fn of(
        labelled: &[&EvalAnswer],
        unlabelled: &[&EvalAnswer],
        index: usize,
    ) -> Option<BudgetMetrics> {
        let packs = |answers: &[&EvalAnswer]| -> Vec<PackMeasurement> {
            answers.iter().filter_map(|answer| answer.packs.get(index).copied()).collect()
        };
        let (own, others) = (packs(labelled), packs(unlabelled));
        let budget = own.iter().chain(&others).next()?.budget;
        let mean =
            |value: &dyn Fn(&PackMeasurement) -> Option<f64>| Mean::of(own.iter().map(value));
        let is = |truth: bool| f64::from(u8::from(truth));
        let tokens = |pack: &PackMeasurement| Some(f64::from(pack.tokens.get()));
        Some(BudgetMetrics {
            budget,
            shares: Metric::ALL.map(|metric| mean(&|pack| pack.shares.get(metric))),
            must_all: mean(&|pack| pack.shares.get(Metric::Must).map(|share| is(share >= ALL))),
            broken: mean(&|pack| Some(pack.broken as f64)),
            broken_packs: mean(&|pack| Some(is(pack.broken > 0))),
            tokens: mean(&tokens),
            ms: mean(&|pack| Some(pack.time.as_secs_f64() * 1e3)),
            tokens_without_evidence: Mean::of(others.iter().map(tokens)),
        })
    }
}

/// The results for questions that are off topic for the corpus.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct OffTopic {
    /// The number of questions.
    pub questions: usize,
    /// For each budget, smallest first: the share of packs with any text of a document, and the
    /// size of a pack.
    pub budgets: Vec<(Tokens, Mean, Mean)>,
}

/// A pack for an off-topic question.
#[derive(Debug, Clone, Copy)]
pub(super) struct OffTopicPack {
    pub(super) budget: Tokens,
    pub(super) has_text: bool,
    pub(super) tokens: Tokens,
}

impl OffTopic {
    /// Means over questions with the same budgets; `None` without questions.
    pub(super) fn of(asked: &[&Vec<OffTopicPack>]) -> Option<OffTopic> {
        let budgets = asked.first()?.iter().enumerate().map(|(index, pack)| {
            let packs = asked.iter().filter_map(|packs| packs.get(index));
            let packed = packs.clone().map(|pack| Some(f64::from(u8::from(pack.has_text))));
            let tokens = packs.map(|pack| Some(f64::from(pack.tokens.get())));
            (pack.budget, Mean::of(packed), Mean::of(tokens))
        });
        Some(OffTopic { questions: asked.len(), budgets: budgets.collect() })
    }
}

/// Percentiles of a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Latency {
    /// The median.
    pub p50: Duration,
    /// The 95th percentile.
    pub p95: Duration,
}

/// How many items were ingested in which time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct IngestTiming {
    /// The number of stored items.
    pub items: u64,
    /// The time it took.
    pub elapsed: Duration,
}

impl IngestTiming {
    /// Items per second.
    #[must_use]
    pub fn rate(&self) -> f64 {
        let seconds = self.elapsed.as_secs_f64();
        if seconds > 0.0 { self.items as f64 / seconds } else { 0.0 }
    }
}

impl Latency {
    fn of(mut times: Vec<Duration>) -> Latency {
        times.sort_unstable();
        let at = |percent: usize| {
            let place = (times.len() * percent).div_ceil(100).max(1) - 1;
            times.get(place).copied().unwrap_or_default()
        };
        Latency { p50: at(50), p95: at(95) }
    }
}

impl EvalMetrics {
    /// Means over answers with the same budgets.
    pub(super) fn of(answers: &[&EvalAnswer]) -> EvalMetrics {
        let (labelled, unlabelled): (Vec<&EvalAnswer>, Vec<&EvalAnswer>) =
            answers.iter().partition(|answer| answer.is_labelled);
        let n_budgets = answers.first().map_or(0, |answer| answer.packs.len());
        let budgets = (0..n_budgets).filter_map(|at| BudgetMetrics::of(&labelled, &unlabelled, at));
        let packs: Vec<&PackMeasurement> =
            labelled.iter().flat_map(|answer| &answer.packs).collect();
        let timings: Vec<Timings> = packs.iter().filter_map(|pack| pack.steps).collect();
        let names = Timings::default().steps().into_iter().enumerate();
        let step = |index: usize| {
            Latency::of(timings.iter().map(|timings| timings.steps()[index].1).collect())
        };
        let steps = names.map(|(index, (name, _))| (name, step(index)));
        let skipped = [AnswerSkip::YesNo, AnswerSkip::InQuestion, AnswerSkip::Nowhere]
            .map(|why| labelled.iter().filter(|answer| answer.skipped == Some(why)).count());
        EvalMetrics {
            questions: labelled.len(),
            without_evidence: unlabelled.len(),
            ndcg: Mean::of(labelled.iter().map(|answer| answer.ndcg)),
            recall: Mean::of(labelled.iter().map(|answer| answer.recall)),
            budgets: budgets.collect(),
            skipped,
            latency: Latency::of(packs.iter().map(|pack| pack.time).collect()),
            steps: if timings.is_empty() { Vec::new() } else { steps.collect() },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_measured_times() {
        let check = |millis: &[u64], p50: u64, p95: u64| {
            let times = millis.iter().map(|&millis| Duration::from_millis(millis)).collect();
            let latency = Latency::of(times);
            assert_eq!(latency.p50, Duration::from_millis(p50), "{millis:?}");
            assert_eq!(latency.p95, Duration::from_millis(p95), "{millis:?}");
        };
        check(&[], 0, 0);
        check(&[7], 7, 7);
        check(&[3, 1, 2], 2, 3);
        check(&[4, 3, 2, 1], 2, 4);
        check(&(1..=100).collect::<Vec<_>>(), 50, 95);
    }
}
