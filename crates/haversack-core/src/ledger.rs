//! The ledger: what became of each candidate, and why. It records; it decides nothing.

use std::fmt;
use std::sync::Arc;

use crate::candidate::Found;
use crate::ids::CandidateId;
use crate::item::Kind;
use crate::rank::{Part, Ranked};
use crate::units::{Score, Tokens};

/// What became of a candidate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// In the pack, whole.
    In,
    /// In the pack, shortened.
    Cut {
        /// In which way.
        how: Shortened,
        /// The whole budget, reserves included, at which it is in whole, or as far as its layer's
        /// cap lets it; `None` when that cap is what shortened it.
        whole_from: Option<Tokens>,
    },
    /// Not in the pack.
    Out(Reason),
}

/// How a candidate was shortened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shortened {
    /// Its text was cut to the room that was left, or to the sentences that say most.
    Trimmed,
    /// Its essential form stands for it.
    Essential,
}

/// Why a candidate is not in the pack.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reason {
    /// The budget was spent on what came before it.
    OverBudget {
        /// The budget, reserves included, at which it is in whole, or as far as its layer's cap
        /// lets it. (Shortened it may be in a little before.)
        whole_from: Tokens,
        /// Whether it is the least such budget. The exact selector only knows that this one is
        /// enough; with a tokenizer whose seams are presumed it is an estimate.
        least: bool,
    },
    /// Its layer's cap was reached; no budget changes that.
    OverCap {
        /// The layer's cap.
        cap: Tokens,
        /// The cap at which it is in, the budget allowing.
        needs: Tokens,
    },
    /// The pack was full enough (K5).
    FullEnough {
        /// The budget, reserves included, at which it is in whole.
        whole_from: Tokens,
    },
    /// Enough better ones were found for its layer.
    OverLimit {
        /// How many candidates the layer considers.
        limit: usize,
    },
    /// It says what another candidate says.
    Repeats {
        /// The candidate it repeats.
        of: CandidateId,
    },
    /// Another layer of the same pack has it as a candidate, and comes first.
    Elsewhere {
        /// That layer.
        layer: Arc<str>,
    },
    /// It has no text.
    Empty,
    /// The request excludes it.
    Excluded,
    /// Nothing speaks for it.
    Irrelevant,
    /// Its layer's finds are unlikely to have to do with the query.
    BelowFloor {
        /// How likely it is that the layer's finds have to do with the query.
        best: Score,
        /// The least that counts.
        floor: Score,
    },
    /// It meets far less of the query than the best of its layer.
    FarFromBest {
        /// How well it meets the query's words, 0 to 1.
        meets: Score,
        /// The least that counts beside the best.
        least: Score,
    },
    /// Its score is below the layer's minimum.
    BelowMinimum {
        /// The minimum.
        minimum: Score,
    },
}

impl Reason {
    /// What it is called where programs read it.
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

    /// The budget from which the candidate is in whole, where a budget decides that.
    #[must_use]
    pub const fn whole_from(&self) -> Option<Tokens> {
        match self {
            Reason::OverBudget { whole_from, .. } | Reason::FullEnough { whole_from } => {
                Some(*whole_from)
            }
            _ => None,
        }
    }

    /// The candidate or the layer that stands in its place.
    #[must_use]
    pub fn instead(&self) -> Option<String> {
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
                write!(f, "full enough: whole from {whole_from} tokens")
            }
            Reason::OverLimit { limit } => write!(f, "not among the layer's best {limit}"),
            Reason::Repeats { of } => write!(f, "repeats {of}"),
            Reason::Elsewhere { layer } => write!(f, "left to {layer}"),
            Reason::Empty => f.write_str("has no text"),
            Reason::Irrelevant => f.write_str("nothing speaks for it"),
            Reason::Excluded => f.write_str("excluded by the request"),
            Reason::BelowFloor { best, floor } => write!(
                f,
                "nothing relevant was found: relevance {best} is below the layer's floor of {floor}"
            ),
            Reason::FarFromBest { meets, least } => write!(
                f,
                "too little to do with the query beside better finds: meets {meets} of it, the least is {least}"
            ),
            Reason::BelowMinimum { minimum } => write!(f, "scores below {minimum}"),
        }
    }
}

/// One candidate's line.
#[derive(Debug, Clone)]
pub struct Entry {
    /// Whose line.
    pub id: CandidateId,
    /// The layer it was found for.
    pub layer: Arc<str>,
    /// What sort of item it is.
    pub kind: Kind,
    /// Who found it.
    pub found: Vec<Found>,
    /// Its score.
    pub score: Score,
    /// How the score came about.
    pub parts: Vec<Part>,
    /// What it costs whole, its wrapping included.
    pub tokens_whole: Tokens,
    /// What it costs in this pack.
    pub tokens: Tokens,
    /// What became of it.
    pub outcome: Outcome,
    /// The last candidate that was bought before the budget kept this one out; `None` when the
    /// exact selector chose, which has no order.
    pub displaced_by: Option<CandidateId>,
}

/// A candidate that was taken out before selection, with its reason.
#[derive(Debug, Clone)]
pub struct Dropped {
    /// The layer it was found for.
    pub layer: Arc<str>,
    /// What was dropped.
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

/// Something the caller should know about a pack.
#[derive(Debug, Clone, PartialEq)]
pub enum Notice {
    /// More than a fifth of a layer was left out or cut (P12).
    Truncated {
        /// The layer.
        layer: Arc<str>,
        /// What it would have had.
        wanted: Tokens,
        /// What it has.
        given: Tokens,
    },
    /// What is never cut is larger than the budget, and the request wants it all the same (P2).
    OverBudget {
        /// What the pack has.
        tokens: Tokens,
        /// What it should have had at most.
        limit: Tokens,
    },
    /// Tokens are not counted by the model's own vocabulary.
    Estimated {
        /// The tokenizer.
        tokenizer: String,
    },
}
