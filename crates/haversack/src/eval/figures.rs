//! Figures over many answers.

use std::time::Duration;

use haversack_core::units::Tokens;

use super::answer::Answer;
use super::remarks::Remarks;
use crate::pipeline::Timings;

/// How far a share may be from 1 by rounding and still be all.
const ALL: f64 = 1.0 - 1e-9;

/// What a set came to, and each set in it when it is a folder of several.
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    /// Its name: that of its folder.
    pub set: String,
    /// The recipe that answered.
    pub recipe: String,
    /// The kind that documents were stored as.
    pub kind: String,
    /// How many corpora were searched, each on its own.
    pub scopes: usize,
    /// The figures over all its questions.
    pub figures: Figures,
    /// How long storing took.
    pub ingest: Ingest,
    /// What is odd about it.
    pub remarks: Remarks,
    /// The sets in it, when it is a folder of several.
    pub sets: Vec<Report>,
}

/// Means over questions.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Figures {
    /// How many questions were asked.
    pub questions: usize,
    /// The mean of nDCG@10.
    pub ndcg: f64,
    /// The mean of recall@10.
    pub recall: f64,
    /// For each budget, smallest first.
    pub budgets: Vec<AtBudget>,
    /// Whether the evidence of some is known to the character.
    pub by_spans: bool,
    /// How long a pack took.
    pub latency: Latency,
    /// The same for each step, in order.
    pub steps: Vec<(&'static str, Latency)>,
}

/// Means over questions at one budget.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AtBudget {
    /// The budget.
    pub budget: Tokens,
    /// How much of a question's evidence is in its pack: ER.
    pub evidence: f64,
    /// How many questions have all their evidence in, as a part of all.
    pub all: f64,
    /// As `evidence`, by documents even where characters are known.
    pub documents: f64,
    /// As `all`, by documents even where characters are known.
    pub all_documents: f64,
    /// The size of a pack.
    pub tokens: f64,
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
        let Some(first) = answers.first() else { return Figures::default() };
        let mean = |value: &dyn Fn(&Answer) -> f64| -> f64 {
            answers.iter().map(|answer| value(answer)).sum::<f64>() / answers.len() as f64
        };
        let share = |of: f64| f64::from(u8::from(of >= ALL));
        let budgets = first.packs.iter().enumerate().map(|(index, pack)| AtBudget {
            budget: pack.budget,
            evidence: mean(&|answer| answer.packs[index].evidence),
            all: mean(&|answer| share(answer.packs[index].evidence)),
            documents: mean(&|answer| answer.packs[index].documents),
            all_documents: mean(&|answer| share(answer.packs[index].documents)),
            tokens: mean(&|answer| f64::from(answer.packs[index].tokens.get())),
        });
        let timings: Vec<Timings> = answers
            .iter()
            .flat_map(|answer| answer.packs.iter().map(|pack| pack.timings))
            .collect();
        let names = Timings::default().steps().into_iter().enumerate();
        let step = |index: usize| {
            Latency::of(timings.iter().map(|timings| timings.steps()[index].1).collect())
        };
        Figures {
            questions: answers.len(),
            ndcg: mean(&|answer| answer.ndcg),
            recall: mean(&|answer| answer.recall),
            budgets: budgets.collect(),
            by_spans: answers.iter().any(|answer| answer.by_spans),
            latency: Latency::of(timings.iter().map(Timings::total).collect()),
            steps: names.map(|(index, (name, _))| (name, step(index))).collect(),
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
