//! The means over all questions of a comparison.

use std::path::Path;

use haversack_core::text::tokenizer::Tokenizer;

use super::compare::{ContextReport, QuestionReport};
use crate::eval::{Mean, Metric};

/// Scores that differ by less are equal.
const SAME_SCORE: f64 = 0.005;

/// A comparison of all contexts in a file.
#[derive(Debug, Clone)]
pub struct ShadowReport {
    /// The file's name.
    pub file: String,
    /// The tokenizer that counted both contexts.
    pub tokenizer: String,
    /// The questions that were compared, in the file's order.
    pub questions: Vec<QuestionReport>,
    /// Those that were not.
    pub skipped: Vec<SkippedQuestion>,
}

/// A question without a comparison.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkippedQuestion {
    /// Its id.
    pub id: String,
    /// Why.
    pub reason: String,
}

/// Means of one side over all questions.
#[derive(Debug, Clone, PartialEq)]
pub struct SideSummary {
    /// The size in tokens.
    pub tokens: Mean,
    /// The number of sources.
    pub sources: Mean,
    /// The share of words that repeat a passage.
    pub repeated: Mean,
    /// The number of broken blocks.
    pub broken: Mean,
    /// The time in milliseconds.
    pub ms: Mean,
    /// The score by labels.
    pub score: Mean,
    /// Each metric of the ruler, in its order.
    pub metrics: Vec<(Metric, Mean)>,
}

/// Who scores higher on how many questions.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Verdicts {
    /// Ours is higher.
    pub ours: usize,
    /// Theirs is higher.
    pub theirs: usize,
    /// Both are equal.
    pub equal: usize,
    /// The mean of ours minus theirs.
    pub gain: f64,
    /// The standard error of the gain.
    pub error: f64,
}

impl SideSummary {
    fn of(contexts: &[&ContextReport]) -> SideSummary {
        let mean = |value: &dyn Fn(&ContextReport) -> Option<f64>| {
            Mean::of(contexts.iter().map(|context| value(context)))
        };
        let metrics = Metric::ALL.map(|metric| (metric, mean(&|one| one.shares.get(metric))));
        SideSummary {
            tokens: mean(&|one| Some(f64::from(one.tokens.get()))),
            sources: mean(&|one| Some(one.sources.len() as f64)),
            repeated: mean(&|one| Some(one.repeated)),
            broken: mean(&|one| Some(one.broken as f64)),
            ms: mean(&|one| one.ms),
            score: mean(&|one| one.score),
            metrics: metrics.to_vec(),
        }
    }

    /// The mean of a metric.
    #[must_use]
    pub fn metric(&self, metric: Metric) -> Mean {
        let found = self.metrics.iter().find(|(own, _)| *own == metric);
        found.map(|(_, mean)| *mean).unwrap_or_default()
    }
}

impl ShadowReport {
    pub(super) fn of(
        file: &Path,
        tokenizer: &dyn Tokenizer,
        questions: Vec<QuestionReport>,
        skipped: Vec<SkippedQuestion>,
    ) -> ShadowReport {
        let file = file.file_name().map(|name| name.to_string_lossy().into_owned());
        let (file, tokenizer) = (file.unwrap_or_default(), tokenizer.name().to_owned());
        ShadowReport { file, tokenizer, questions, skipped }
    }

    /// Means of their contexts, ours and the random ones.
    #[must_use]
    pub fn sides(&self) -> [SideSummary; 3] {
        let side = |of: fn(&QuestionReport) -> &ContextReport| {
            SideSummary::of(&self.questions.iter().map(of).collect::<Vec<_>>())
        };
        [side(|one| &one.theirs), side(|one| &one.ours), side(|one| &one.control)]
    }

    /// The mean of a value over all questions.
    #[must_use]
    pub fn mean(&self, value: impl Fn(&QuestionReport) -> f64) -> f64 {
        Mean::of(self.questions.iter().map(|one| Some(value(one)))).value
    }

    /// Who scores higher; `None` without a question whose labels measure.
    #[must_use]
    pub fn verdicts(&self) -> Option<Verdicts> {
        let gains: Vec<f64> = self.questions.iter().filter_map(QuestionReport::gain).collect();
        let n = gains.len() as f64;
        let gain = Mean::of(gains.iter().map(|gain| Some(*gain))).get()?;
        let spread: f64 = gains.iter().map(|one| (one - gain).powi(2)).sum();
        let error = if gains.len() > 1 { (spread / (n - 1.0) / n).sqrt() } else { 0.0 };
        let ours = gains.iter().filter(|gain| **gain > SAME_SCORE).count();
        let theirs = gains.iter().filter(|gain| **gain < -SAME_SCORE).count();
        Some(Verdicts { ours, theirs, equal: gains.len() - ours - theirs, gain, error })
    }

    /// What a reader has to know about the figures, in sentences.
    #[must_use]
    pub fn remarks(&self) -> Vec<String> {
        let count =
            |is: fn(&QuestionReport) -> bool| self.questions.iter().filter(|one| is(one)).count();
        let of = |n: usize| format!("{n} {}", if n == 1 { "question" } else { "questions" });
        let mut remarks = Vec::new();
        let hidden = count(|one| !one.data.hidden_sources.is_empty());
        if hidden > 0 {
            remarks.push(format!(
                "{}: their context has text that the asker may not read",
                of(hidden)
            ));
        }
        let missing = count(|one| one.data.missing > 0.5);
        if missing > 0 {
            let what =
                "more than half of their context is not in this workspace; add its documents";
            remarks.push(format!("{}: {what}", of(missing)));
        }
        let refused = count(|one| one.least_budget.is_some());
        if refused > 0 {
            let what = "theirs is smaller than the recipe's least budget, so ours is empty";
            remarks.push(format!("{}: {what}", of(refused)));
        }
        let evidence = count(|one| one.evidence_not_in_data > 0);
        if evidence > 0 {
            let what = "evidence is not in this workspace; it is looked for as an exact text";
            remarks.push(format!("{}: {what}", of(evidence)));
        }
        let nowhere = count(|one| one.answer_is_nowhere);
        if nowhere > 0 {
            let what = "no text has the expected answer word by word, so it measures nothing; give \
                        short answers or evidence";
            remarks.push(format!("{}: {what}", of(nowhere)));
        }
        if let [theirs, ours, control] = &self.sides()
            && let (Some(theirs), Some(ours), Some(chance)) =
                (theirs.score.get(), ours.score.get(), control.score.get())
            && chance >= 0.8 * theirs.max(ours)
        {
            remarks.push(format!(
                "random passages score {chance:.3}: these labels do not tell a good context from a \
                 random one"
            ));
        }
        remarks
    }
}

impl QuestionReport {
    /// Which side scores higher: `theirs`, `ours` or `equal`; `None` without labels that measure.
    #[must_use]
    pub fn winner(&self) -> Option<&'static str> {
        Some(match self.gain()? {
            gain if gain > SAME_SCORE => "ours",
            gain if gain < -SAME_SCORE => "theirs",
            _ => "equal",
        })
    }
}
