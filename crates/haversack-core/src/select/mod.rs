//! What fits, and at which size.
//!
//! Everything that could be bought stands in one fixed order, made without looking at the budget:
//! shares and spill decide between layers, value for tokens or rank inside one. A budget buys the
//! longest beginning of that order whose text, counted as a whole, fits; what would come next is
//! shortened into the room that is left. From this alone follows what Haversack promises: a larger
//! budget keeps all that a smaller one had and is never worth less, the budget at which a candidate
//! gets in can be read off, and many budgets cost little more than one.

mod exact;
mod fit;
mod schedule;
mod steps;
mod tally;

pub(crate) use fit::Fitted;
pub(crate) use schedule::Schedule;
pub(crate) use tally::Piece;
pub(crate) use tally::units_of;

use crate::assemble::{Choices, Layout};
use crate::pack::Request;
use crate::units::{Share, Tokens};

/// How candidates are chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Selector {
    /// The beginning of one fixed order: microseconds, and every promise about budgets holds.
    Greedy,
    /// The best subset by dynamic programming, never worth less than the greedy one. It does not
    /// promise that a larger budget keeps what a smaller one had.
    Exact,
}

/// Enough is enough: when so much of the budget is spent on so many, stop (K5).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stop {
    /// The part of the budget that must be spent.
    pub fill: Share,
    /// How many candidates must be in.
    pub items: usize,
}

/// What was chosen.
#[derive(Debug, Clone)]
pub(crate) struct Selection {
    /// The piece that stands for each unit.
    pub(crate) choices: Choices,
    /// The unit that was shortened into the last room, if any.
    pub(crate) cut: Option<Fitted>,
    /// Units of the whole text.
    pub(crate) units: u64,
    /// Sum of what is in.
    pub(crate) value: f64,
    /// No choice within the budget is worth more.
    pub(crate) bound: f64,
    /// The tokens it was made for.
    pub(crate) limit: Tokens,
    /// How many steps of the schedule were bought; `None` when the exact selector chose.
    pub(crate) n_steps: Option<usize>,
}

impl Selection {
    /// Nothing but what is pinned.
    pub(crate) fn bare(request: &Request, layout: &Layout<'_>, schedule: &Schedule) -> Selection {
        Selection {
            choices: layout.pinned(request),
            cut: None,
            units: schedule.fixed_units(),
            value: 0.0,
            bound: 0.0,
            limit: Tokens::ZERO,
            n_steps: Some(0),
        }
    }

    /// Whether nothing was bought: a smaller limit would change nothing.
    pub(crate) fn is_bare(&self) -> bool {
        self.n_steps == Some(0) && self.cut.is_none()
    }

    /// Units that are in, whole or shortened.
    pub(crate) fn n_items(&self) -> usize {
        let cut_alone = self.cut.as_ref().is_some_and(|cut| self.choices[cut.unit].is_none());
        self.choices.iter().flatten().count() + usize::from(cut_alone)
    }
}

/// Chooses within `limit` tokens; the pinned parts must fit (see [`Schedule::least`]).
pub(crate) fn select(
    request: &Request,
    layout: &Layout<'_>,
    schedule: &Schedule,
    limit: Tokens,
) -> Selection {
    let greedy = schedule.select(request, layout, limit);
    match request.selector {
        Selector::Greedy => greedy,
        Selector::Exact => {
            let exact = exact::select(request, layout, schedule, limit, greedy.bound);
            // Value decides; at equal value, but for rounding, the one that keeps its promises.
            if exact.value > greedy.value * (1.0 + 1e-9) { exact } else { greedy }
        }
    }
}
