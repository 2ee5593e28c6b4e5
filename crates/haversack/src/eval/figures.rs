//! Figures over many answers.

use std::time::Duration;

use haversack_core::units::Tokens;

use super::answer::Answer;
use super::question::LeftOut;
use super::remarks::Remarks;
use super::ruler::{Figure, Packed};
use crate::pipeline::Timings;

/// How far a share may be from 1 by rounding and still be all.
const ALL: f64 = 1.0 - 1e-9;

/// What a set came to, and each set in it when it is a folder of several.
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    /// Its name: that of its folder.
    pub set: String,
    /// The recipe that answered; `None` when the packs came from a file.
    pub recipe: Option<String>,
    /// The kind that documents were stored as; empty when none were.
    pub kind: String,
    /// How many items a search found, where that is not the recipe's own number.
    pub candidates: Option<usize>,
    /// How many corpora were searched, each on its own.
    pub scopes: usize,
    /// The figures over all its questions.
    pub figures: Figures,
    /// What became of questions that have nothing to do with the corpus, where some were asked.
    pub off_topic: Option<OffTopic>,
    /// How long storing took.
    pub ingest: Ingest,
    /// What is odd about it.
    pub remarks: Remarks,
    /// The sets in it, when it is a folder of several.
    pub sets: Vec<Report>,
}

/// A mean, and over how many values.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Mean {
    /// The mean; 0 of nothing.
    pub value: f64,
    /// How many values there were.
    pub n: usize,
}

impl Mean {
    /// The mean of the values that are there.
    pub(super) fn of(values: impl IntoIterator<Item = Option<f64>>) -> Mean {
        let (mut sum, mut n) = (0.0, 0);
        for value in values.into_iter().flatten() {
            sum += value;
            n += 1;
        }
        Mean { value: if n == 0 { 0.0 } else { sum / n as f64 }, n }
    }

    /// The mean, when there is one.
    #[must_use]
    pub fn get(self) -> Option<f64> {
        (self.n > 0).then_some(self.value)
    }
}

/// Means over questions.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Figures {
    /// How many questions with labels were asked.
    pub questions: usize,
    /// How many questions without labels were asked. They count in no other figure but
    /// [`AtBudget::tokens_without_evidence`].
    pub without_evidence: usize,
    /// The mean of nDCG@10.
    pub ndcg: Mean,
    /// The mean of recall@10.
    pub recall: Mean,
    /// For each budget, smallest first.
    pub budgets: Vec<AtBudget>,
    /// Questions whose right answer is not looked for: yes or no, in the question, in no labelled
    /// document.
    pub left_out: [usize; 3],
    /// How long a pack took.
    pub latency: Latency,
    /// The same for each step, in order, where it is known.
    pub steps: Vec<(&'static str, Latency)>,
}

/// Means over questions at one budget.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AtBudget {
    /// The budget.
    pub budget: Tokens,
    shares: [Mean; Figure::ALL.len()],
    /// The share of questions all of whose `must` are in.
    pub must_all: Mean,
    /// The number of broken blocks in a pack.
    pub broken: Mean,
    /// The share of packs with a broken block.
    pub broken_packs: Mean,
    /// The size of a pack.
    pub tokens: Mean,
    /// The time for a pack, in milliseconds.
    pub ms: Mean,
    /// The size of a pack for a question without labels.
    pub tokens_without_evidence: Mean,
}

impl AtBudget {
    /// The mean of a share over the questions that have it.
    #[must_use]
    pub const fn mean(&self, figure: Figure) -> Mean {
        self.shares[figure as usize]
    }

    fn of(labelled: &[&Answer], unlabelled: &[&Answer], index: usize) -> Option<AtBudget> {
        let packs = |answers: &[&Answer]| -> Vec<Packed> {
            answers.iter().filter_map(|answer| answer.packs.get(index).copied()).collect()
        };
        let (own, others) = (packs(labelled), packs(unlabelled));
        let budget = own.iter().chain(&others).next()?.budget;
        let mean = |value: &dyn Fn(&Packed) -> Option<f64>| Mean::of(own.iter().map(value));
        let is = |truth: bool| f64::from(u8::from(truth));
        let tokens = |pack: &Packed| Some(f64::from(pack.tokens.get()));
        Some(AtBudget {
            budget,
            shares: Figure::ALL.map(|figure| mean(&|pack| pack.shares.get(figure))),
            must_all: mean(&|pack| pack.shares.get(Figure::Must).map(|share| is(share >= ALL))),
            broken: mean(&|pack| Some(pack.broken as f64)),
            broken_packs: mean(&|pack| Some(is(pack.broken > 0))),
            tokens: mean(&tokens),
            ms: mean(&|pack| Some(pack.time.as_secs_f64() * 1e3)),
            tokens_without_evidence: Mean::of(others.iter().map(tokens)),
        })
    }
}

/// What became of questions that have nothing to do with the corpus.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct OffTopic {
    /// How many were asked.
    pub questions: usize,
    /// For each budget, smallest first: the share of packs with any text of a document, and the
    /// size of a pack.
    pub budgets: Vec<(Tokens, Mean, Mean)>,
}

/// A pack for a question that has nothing to do with the corpus.
#[derive(Debug, Clone, Copy)]
pub(super) struct OffTopicPack {
    pub(super) budget: Tokens,
    pub(super) has_text: bool,
    pub(super) tokens: Tokens,
}

impl OffTopic {
    /// Means over questions that all have the same budgets; `None` when there are none.
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

/// How long something took: half of the times no longer than this, and 95 of 100.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Latency {
    /// The median.
    pub p50: Duration,
    /// The 95th percentile.
    pub p95: Duration,
}

/// How long storing took.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Ingest {
    /// How many items were stored.
    pub items: u64,
    /// In which time.
    pub elapsed: Duration,
}

impl Ingest {
    /// Items a second.
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

impl Figures {
    /// Means over answers that all have the same budgets.
    pub(super) fn of(answers: &[&Answer]) -> Figures {
        let (labelled, unlabelled): (Vec<&Answer>, Vec<&Answer>) =
            answers.iter().partition(|answer| answer.is_labelled);
        let n_budgets = answers.first().map_or(0, |answer| answer.packs.len());
        let budgets = (0..n_budgets).filter_map(|at| AtBudget::of(&labelled, &unlabelled, at));
        let packs: Vec<&Packed> = labelled.iter().flat_map(|answer| &answer.packs).collect();
        let timings: Vec<Timings> = packs.iter().filter_map(|pack| pack.steps).collect();
        let names = Timings::default().steps().into_iter().enumerate();
        let step = |index: usize| {
            Latency::of(timings.iter().map(|timings| timings.steps()[index].1).collect())
        };
        let steps = names.map(|(index, (name, _))| (name, step(index)));
        let left_out = [LeftOut::YesNo, LeftOut::InQuestion, LeftOut::Nowhere]
            .map(|why| labelled.iter().filter(|answer| answer.left_out == Some(why)).count());
        Figures {
            questions: labelled.len(),
            without_evidence: unlabelled.len(),
            ndcg: Mean::of(labelled.iter().map(|answer| answer.ndcg)),
            recall: Mean::of(labelled.iter().map(|answer| answer.recall)),
            budgets: budgets.collect(),
            left_out,
            latency: Latency::of(packs.iter().map(|pack| pack.time).collect()),
            steps: if timings.is_empty() { Vec::new() } else { steps.collect() },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_times_that_were_met() {
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
