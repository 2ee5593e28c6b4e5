//! Token budgets, and the order in which they are distributed over layers.

mod flow;

use thiserror::Error;

pub use flow::{Demand, DueStep, due_order, levels};

use crate::units::Tokens;

/// Why a budget is invalid.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum BudgetError {
    /// The reserves exceed the total.
    #[error(
        "reserves of {reserved} tokens do not fit a budget of {total}; the smallest that works is {reserved}"
    )]
    NothingLeft {
        /// The total.
        total: Tokens,
        /// The sum of the reserves.
        reserved: Tokens,
    },
}

/// A token budget: a total, and reserves that are subtracted before packing (P3, K5).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Budget {
    total: Tokens,
    reserves: Vec<(String, Tokens)>,
}

impl Budget {
    /// The proposal writer's safety buffer (P3).
    pub const SAFETY_BUFFER: Tokens = Tokens::new(1_300);

    /// A budget without reserves. Zero is valid and holds the empty pack.
    #[must_use]
    pub const fn new(total: Tokens) -> Budget {
        Budget { total, reserves: Vec::new() }
    }

    /// Adds a named reserve: the system prompt, a safety buffer, the answer.
    ///
    /// # Errors
    /// When the reserves would exceed the total.
    pub fn reserve(mut self, name: &str, tokens: Tokens) -> Result<Budget, BudgetError> {
        let reserved = self.reserved() + tokens;
        if reserved > self.total {
            return Err(BudgetError::NothingLeft { total: self.total, reserved });
        }
        self.reserves.push((name.to_owned(), tokens));
        Ok(self)
    }

    /// A budget whose reserves may exceed the total; the plan then decides whether any pack fits.
    #[must_use]
    pub const fn with_reserves(total: Tokens, reserves: Vec<(String, Tokens)>) -> Budget {
        Budget { total, reserves }
    }

    /// The same reserves with another total; `None` when they do not fit.
    #[must_use]
    pub fn with_total(&self, total: Tokens) -> Option<Budget> {
        (self.reserved() <= total).then(|| Budget { total, reserves: self.reserves.clone() })
    }

    /// The total.
    #[must_use]
    pub const fn total(&self) -> Tokens {
        self.total
    }

    /// The reserves, by name.
    #[must_use]
    pub fn reserves(&self) -> &[(String, Tokens)] {
        &self.reserves
    }

    /// The sum of the reserves.
    #[must_use]
    pub fn reserved(&self) -> Tokens {
        self.reserves.iter().map(|&(_, tokens)| tokens).sum()
    }

    /// The tokens that the final string may have.
    #[must_use]
    pub fn spendable(&self) -> Tokens {
        self.total.saturating_sub(self.reserved())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_total_keeps_the_reserves_if_they_fit() {
        let budget = Budget::new(Tokens::new(100)).reserve("system", Tokens::new(40)).unwrap();
        let spendable = |total| budget.with_total(Tokens::new(total)).map(|it| it.spendable());
        assert_eq!(spendable(200), Some(Tokens::new(160)));
        assert_eq!(spendable(40), Some(Tokens::ZERO));
        assert_eq!(spendable(39), None);
        assert!(budget.clone().reserve("answer", Tokens::new(60)).is_ok(), "to the last token");
        assert!(budget.reserve("answer", Tokens::new(61)).is_err());
    }

    #[test]
    fn reserves_are_subtracted_first() {
        // P3's worked example: 32,000 − 1,700 − 1,300 = 29,000.
        let budget = Budget::new(Tokens::new(32_000))
            .reserve("foundation", Tokens::new(1_700))
            .and_then(|budget| budget.reserve("safety buffer", Budget::SAFETY_BUFFER))
            .unwrap();
        assert_eq!(budget.spendable(), Tokens::new(29_000));
        let error = Budget::new(Tokens::new(400)).reserve("system", Tokens::new(500)).unwrap_err();
        assert_eq!(
            error.to_string(),
            "reserves of 500 tokens do not fit a budget of 400; the smallest that works is 500"
        );
        assert_eq!(Budget::new(Tokens::ZERO).spendable(), Tokens::ZERO);
    }
}
