//! Selection: which candidates fit a budget, and in which form.
//!
//! All possible steps are in one fixed order that does not depend on the budget: shares and spill
//! decide between layers, density or rank within one. A budget selects the longest prefix of that
//! order whose text, counted as a whole, fits; the next candidate is truncated into the remaining
//! budget. Hence a larger budget keeps everything that a smaller one selects and never has less
//! value, the budget at which a candidate gets in is known, and many budgets cost little more than
//! one.

mod exact;
mod fit;
mod schedule;
mod steps;
mod tally;

pub(crate) use fit::Fitted;
pub(crate) use schedule::Schedule;
pub(crate) use tally::RenderedPiece;
pub(crate) use tally::units_of;

use crate::assemble::{Choices, Layout};
use crate::pack::PackRequest;
use crate::units::{Share, Tokens};

/// How candidates are selected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Selector {
    /// The longest prefix of one fixed order: fast, and a larger budget keeps what a smaller one
    /// had.
    Greedy,
    /// The best subset by dynamic programming, never of less value than the greedy one. A larger
    /// budget may drop what a smaller one had.
    Exact,
}

/// The stop rule: end selection once both thresholds are reached (K5).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stop {
    /// The share of the budget that must be spent.
    pub fill: Share,
    /// The number of candidates that must be in.
    pub items: usize,
}

/// The selected pieces.
#[derive(Debug, Clone)]
pub(crate) struct Selection {
    /// The selected piece of each unit.
    pub(crate) choices: Choices,
    /// The unit truncated into the remaining budget, if any.
    pub(crate) cut: Option<Fitted>,
    /// Units of the whole text.
    pub(crate) units: u64,
    /// The value of the selection.
    pub(crate) value: f64,
    /// An upper bound on the value within the limit.
    pub(crate) bound: f64,
    /// The token limit.
    pub(crate) limit: Tokens,
    /// How many steps of the schedule were taken; `None` with the exact selector.
    pub(crate) n_steps: Option<usize>,
}

impl Selection {
    /// The selection of pinned units only.
    pub(crate) fn pinned_only(
        request: &PackRequest,
        layout: &Layout<'_>,
        schedule: &Schedule,
    ) -> Selection {
        Selection {
            choices: layout.pinned_choices(request),
            cut: None,
            units: schedule.fixed_units(),
            value: 0.0,
            bound: 0.0,
            limit: Tokens::ZERO,
            n_steps: Some(0),
        }
    }

    /// Whether only pinned units are selected.
    pub(crate) fn is_bare(&self) -> bool {
        self.n_steps == Some(0) && self.cut.is_none()
    }

    /// The number of selected units, whole or shortened.
    pub(crate) fn n_items(&self) -> usize {
        let cut_alone = self.cut.as_ref().is_some_and(|cut| self.choices[cut.unit].is_none());
        self.choices.iter().flatten().count() + usize::from(cut_alone)
    }
}

/// Selects within `limit` tokens; the pinned units must fit (see [`Schedule::least`]).
pub(crate) fn select(
    request: &PackRequest,
    layout: &Layout<'_>,
    schedule: &Schedule,
    limit: Tokens,
) -> Selection {
    let greedy = schedule.select(request, layout, limit);
    match request.selector {
        Selector::Greedy => greedy,
        Selector::Exact => {
            let exact = exact::select(request, layout, schedule, limit, greedy.bound);
            // Higher value wins; on a tie, up to rounding, the greedy selection with its
            // guarantees.
            if exact.value > greedy.value * (1.0 + 1e-9) { exact } else { greedy }
        }
    }
}
