//! The ledger: the outcome of every candidate and the reason for it. It records decisions made
//! elsewhere.

use std::fmt;
use std::sync::Arc;

use crate::candidate::FoundBy;
use crate::ids::CandidateId;
use crate::item::Kind;
use crate::rank::{Ranked, ScorePart};
use crate::units::{Score, Tokens};

/// The outcome of a candidate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// In the pack, whole.
    In,
    /// In the pack, shortened.
    Cut {
        /// How it was shortened.
        how: Shortened,
        /// The budget, reserves included, at which it is whole, or as large as its layer's cap
        /// allows; `None` when the cap is what shortened it.
        whole_from: Option<Tokens>,
    },
    /// Not in the pack.
    Out(Reason),
}

/// How a candidate was shortened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shortened {
    /// Its text was truncated to the remaining budget, or to its most important sentences.
    Trimmed,
    /// Its essential form replaces it.
    Essential,
}

/// Why a candidate is not in the pack.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reason {
    /// The budget was spent on candidates before it.
    OverBudget {
        /// The budget, reserves included, at which it is whole, or as large as its layer's cap
        /// allows. It may be in, shortened, at a slightly smaller one.
        whole_from: Tokens,
        /// Whether it is the smallest such budget. The exact selector only knows that it is
        /// enough; with a tokenizer whose seams are not proved it is an estimate.
        least: bool,
    },
    /// Its layer's cap was reached; a larger budget does not help.
    OverCap {
        /// The layer's cap.
        cap: Tokens,
        /// The cap at which it would be in, budget permitting.
        needs: Tokens,
    },
    /// The stop rule ended selection before it (K5).
    FullEnough {
        /// The budget, reserves included, at which it is whole.
        whole_from: Tokens,
    },
    /// It ranks below its layer's candidate limit.
    OverLimit {
        /// How many candidates the layer considers.
        limit: usize,
    },
    /// It duplicates another candidate.
    Repeats {
        /// The candidate it duplicates.
        of: CandidateId,
    },
    /// A layer with precedence has the same candidate.
    Elsewhere {
        /// That layer.
        layer: Arc<str>,
    },
    /// It has no text.
    Empty,
    /// The request excludes it.
    Excluded,
    /// It has no relevance signal.
    Irrelevant,
    /// Its layer's candidates are unlikely to be relevant to the query.
    BelowFloor {
        /// The estimated relevance of the layer's candidates.
        best: Score,
        /// The layer's minimum.
        floor: Score,
    },
    /// It matches far less of the query than the best of its layer.
    FarFromBest {
        /// How much of the query it matches, 0 to 1.
        meets: Score,
        /// The minimum relative to the best.
        least: Score,
    },
    /// Its score is below the layer's minimum.
    BelowMinimum {
        /// The minimum.
        minimum: Score,
    },
}

impl Reason {
    /// Its machine-readable code.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Reason::OverBudget { .. } => "over_budget",
            Reason::OverCap { .. } => "over_cap",
            Reason::FullEnough { .. } => "full_enough",
            Reason::OverLimit { .. } => "over_limit",
            Reason::Repeats { .. } => "repeats",
            Reason::Elsewhere { .. } => "elsewhere",
            Reason::Empty => "empty",
            Reason::Excluded => "excluded",
            Reason::Irrelevant => "irrelevant",
            Reason::BelowFloor { .. } => "below_floor",
            Reason::FarFromBest { .. } => "far_from_best",
            Reason::BelowMinimum { .. } => "below_minimum",
        }
    }

    /// The budget at which the candidate is whole, if the budget is the reason.
    #[must_use]
    pub const fn whole_from(&self) -> Option<Tokens> {
        match self {
            Reason::OverBudget { whole_from, .. } | Reason::FullEnough { whole_from } => {
                Some(*whole_from)
            }
            _ => None,
        }
    }

    /// Returns the candidate or layer that is in the pack in its place, if any.
    #[must_use]
    pub fn replaced_by(&self) -> Option<String> {
        match self {
            Reason::Repeats { of } => Some(of.to_string()),
            Reason::Elsewhere { layer } => Some(layer.to_string()),
            _ => None,
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reason::OverBudget { whole_from, least: true } => {
                write!(f, "over budget: whole from {whole_from} tokens")
            }
            Reason::OverBudget { whole_from, least: false } => {
                write!(f, "over budget: whole by {whole_from} tokens")
            }
            Reason::OverCap { cap, needs } => {
                write!(f, "over the layer's cap of {cap}: in from a cap of {needs}")
            }
            Reason::FullEnough { whole_from } => {
                write!(f, "stop rule reached: whole from {whole_from} tokens")
            }
            Reason::OverLimit { limit } => write!(f, "below the layer's top {limit} candidates"),
            Reason::Repeats { of } => write!(f, "repeats {of}"),
            Reason::Elsewhere { layer } => write!(f, "already a candidate of layer {layer}"),
            Reason::Empty => f.write_str("has no text"),
            Reason::Irrelevant => f.write_str("no relevance signal"),
            Reason::Excluded => f.write_str("excluded by the request"),
            Reason::BelowFloor { best, floor } => write!(
                f,
                "nothing relevant was found: relevance {best} is below the layer's floor of {floor}"
            ),
            Reason::FarFromBest { meets, least } => write!(
                f,
                "too little to do with the query beside better finds: meets {meets} of it, the least is {least}"
            ),
            Reason::BelowMinimum { minimum } => {
                write!(f, "scores below the layer's minimum of {minimum}")
            }
        }
    }
}

/// One candidate's line in the ledger.
#[derive(Debug, Clone)]
pub struct Entry {
    /// The candidate.
    pub id: CandidateId,
    /// The layer it was retrieved for.
    pub layer: Arc<str>,
    /// The item's kind.
    pub kind: Kind,
    /// The collectors that retrieved it.
    pub found: Vec<FoundBy>,
    /// Its score.
    pub score: Score,
    /// The components of the score.
    pub parts: Vec<ScorePart>,
    /// Its token cost when whole, rendering included.
    pub tokens_whole: Tokens,
    /// Its token cost in this pack.
    pub tokens: Tokens,
    /// Its outcome.
    pub outcome: Outcome,
    /// The last candidate selected before the budget excluded this one; `None` with the exact
    /// selector, which has no order.
    pub displaced_by: Option<CandidateId>,
}

/// A candidate dropped before selection.
#[derive(Debug, Clone)]
pub struct Dropped {
    /// The layer it was retrieved for.
    pub layer: Arc<str>,
    /// The candidate.
    pub ranked: Ranked,
    /// Why.
    pub reason: Reason,
}

impl Entry {
    pub(crate) fn of_dropped(dropped: &Dropped) -> Entry {
        let Dropped { layer, ranked, reason } = dropped;
        let outcome = Outcome::Out(reason.clone());
        Entry::new(layer, ranked, Tokens::ZERO, Tokens::ZERO, outcome)
    }

    pub(crate) fn new(
        layer: &Arc<str>,
        ranked: &Ranked,
        tokens_whole: Tokens,
        tokens: Tokens,
        outcome: Outcome,
    ) -> Entry {
        Entry {
            id: ranked.candidate.id.clone(),
            layer: layer.clone(),
            kind: ranked.candidate.kind.clone(),
            found: ranked.candidate.found.clone(),
            score: ranked.score,
            parts: ranked.parts.clone(),
            tokens_whole,
            tokens,
            outcome,
            displaced_by: None,
        }
    }
}

/// A notice for the caller about a pack.
#[derive(Debug, Clone, PartialEq)]
pub enum PackNotice {
    /// More than a fifth of a layer was dropped or truncated (P12).
    Truncated {
        /// The layer.
        layer: Arc<str>,
        /// The tokens of all its candidates.
        wanted: Tokens,
        /// The tokens that are in the pack.
        given: Tokens,
    },
    /// Pinned layers exceed the budget, and the request allows that (P2).
    OverBudget {
        /// The tokens of the pack.
        tokens: Tokens,
        /// The limit it exceeds.
        limit: Tokens,
    },
    /// Token counts are estimates, not made with the model's own vocabulary.
    Estimated {
        /// The tokenizer.
        tokenizer: String,
    },
}
