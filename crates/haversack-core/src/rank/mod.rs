//! Ranking: the signals of a candidate become one score with visible parts.
//!
//! Ranking is independent of costs, budgets and sections.

mod diversity;
mod expression;
mod fusion;
mod measure;
mod recency;
mod relevance;
mod rerank;
mod safety;
mod scoring;
#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::Arc;

use thiserror::Error;

pub use diversity::{Pick, diversified, diversify, drop_repeats};
pub use expression::{EXPRESSION_BYTES_MAX, Expression, ExpressionError, Scorer};
pub use fusion::{Fused, RankedList, fuse_ranks, fuse_scores};
pub use measure::{Corpus, idf, keyword_match, structural, timing, usage};
pub use recency::Recency;
pub use relevance::Topic;
pub use rerank::{RerankError, Reranker};
pub use safety::{has_compound_of, is_safety_relevant};
pub use scoring::{Component, ScorePart, Scoring, Signals, WeightError};

use crate::candidate::Candidate;
use crate::ids::CandidateId;
use crate::units::Score;

/// A candidate with its score.
#[derive(Debug, Clone)]
pub struct Ranked {
    /// The candidate.
    pub candidate: Candidate,
    /// Its score.
    pub score: Score,
    /// The parts of the score. For an expression these are its inputs, with weight zero.
    pub parts: Vec<ScorePart>,
}

/// A score made by a function (M6). Finite, because a [`Score`] is.
pub type ScoreFunction = Arc<dyn Fn(&Candidate) -> Score + Send + Sync>;

/// How scores are computed.
#[derive(Clone)]
pub enum Ranker {
    /// A weighted sum of components.
    Sum(Scoring),
    /// A user's expression over the components.
    Expression(Expression),
    /// A function in Rust; its score has the measured components as parts of weight zero.
    Function(ScoreFunction),
}

impl Ranker {
    /// A stable description of the formula; a function is only named as such.
    #[must_use]
    pub fn source(&self) -> String {
        match self {
            Ranker::Sum(scoring) => scoring.to_string(),
            Ranker::Expression(expression) => expression.source().to_owned(),
            Ranker::Function(_) => "function".to_owned(),
        }
    }

    /// Whether the score may depend on a component; others need not be measured.
    #[must_use]
    pub fn uses(&self, component: Component) -> bool {
        match self {
            Ranker::Sum(scoring) => {
                scoring.weights().iter().any(|&(known, weight)| known == component && weight != 0.0)
            }
            Ranker::Expression(expression) => expression.names(component),
            Ranker::Function(_) => true,
        }
    }

    /// Removes a component from a weighted sum; other rankers stay as they are.
    #[must_use]
    pub fn without(self, component: Component) -> Ranker {
        match self {
            Ranker::Sum(scoring) => Ranker::Sum(scoring.without(component)),
            other => other,
        }
    }
}

impl fmt::Debug for Ranker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Ranker::Sum(scoring) => f.debug_tuple("Sum").field(scoring).finish(),
            Ranker::Expression(expression) => {
                f.debug_tuple("Expression").field(expression).finish()
            }
            Ranker::Function(_) => f.debug_tuple("Function").finish_non_exhaustive(),
        }
    }
}

/// Why ranking failed.
#[derive(Debug, Error)]
pub enum RankError {
    /// The expression failed on one candidate.
    #[error("ranking {id} failed")]
    Expression {
        /// The candidate.
        id: CandidateId,
        /// Why.
        #[source]
        source: ExpressionError,
    },
}

/// Scores every candidate and puts the best first; equal scores go by id.
///
/// # Errors
/// When a user's expression fails or yields something that is not a finite number.
pub fn rank(candidates: Vec<Candidate>, ranker: &Ranker) -> Result<Vec<Ranked>, RankError> {
    let mut ranked = match ranker {
        Ranker::Sum(scoring) => candidates
            .into_iter()
            .map(|candidate| {
                let (score, parts) = scoring.score(&candidate.signals);
                Ranked { candidate, score, parts }
            })
            .collect(),
        Ranker::Expression(expression) => by_expression(candidates, expression)?,
        Ranker::Function(function) => candidates
            .into_iter()
            .map(|candidate| {
                let score = function(&candidate);
                Ranked { parts: candidate.signals.as_parts(), score, candidate }
            })
            .collect(),
    };
    sort(&mut ranked);
    Ok(ranked)
}

fn by_expression(
    candidates: Vec<Candidate>,
    expression: &Expression,
) -> Result<Vec<Ranked>, RankError> {
    let scorer = expression.scorer();
    candidates
        .into_iter()
        .map(|candidate| match scorer.score(&candidate.signals) {
            Ok((score, parts)) => Ok(Ranked { candidate, score, parts }),
            Err(source) => Err(RankError::Expression { id: candidate.id, source }),
        })
        .collect()
}

/// Sorts ranked candidates by score, best first, then by id, then by their other fields, so that
/// the input order does not matter.
pub fn sort<R: AsRef<Ranked>>(ranked: &mut [R]) {
    ranked.sort_by(|a, b| {
        let (a, b) = (a.as_ref(), b.as_ref());
        b.score
            .cmp(&a.score)
            .then_with(|| a.candidate.id.cmp(&b.candidate.id))
            .then_with(|| a.candidate.text.cmp(&b.candidate.text))
            .then_with(|| a.candidate.kind.cmp(&b.candidate.kind))
            .then_with(|| a.candidate.place.key().cmp(&b.candidate.place.key()))
            .then_with(|| a.candidate.trust.cmp(&b.candidate.trust))
            .then_with(|| a.candidate.moment.cmp(&b.candidate.moment))
    });
}

impl AsRef<Ranked> for Ranked {
    fn as_ref(&self) -> &Ranked {
        self
    }
}
