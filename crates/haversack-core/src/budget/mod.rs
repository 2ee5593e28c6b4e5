//! What may be spent, and in which order layers come by their parts.

mod flow;

use thiserror::Error;

pub use flow::{Demand, Due, due_order, levels};

use crate::units::Tokens;

/// A budget that leaves nothing.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum BudgetError {
    /// The reserves are larger than the whole.
    #[error(
        "reserves of {reserved} tokens do not fit a budget of {total}; the least is {reserved}"
    )]
    NothingLeft {
        /// The whole budget.
        total: Tokens,
        /// What was to be set aside.
        reserved: Tokens,
    },
}

/// A token budget: the whole, and what is set aside of it before anything is packed (P3, K5).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Budget {
    total: Tokens,
    reserves: Vec<(String, Tokens)>,
}

impl Budget {
    /// The proposal writer's safety buffer (P3).
    pub const SAFETY_BUFFER: Tokens = Tokens::new(1_300);

    /// All of `total` for the pack. Zero is a budget too: it holds the empty pack.
    #[must_use]
    pub const fn new(total: Tokens) -> Budget {
        Budget { total, reserves: Vec::new() }
    }

    /// Sets tokens aside for something named: the system prompt, a safety buffer, the answer.
    ///
    /// # Errors
    /// When the reserves would exceed the whole.
    pub fn reserve(mut self, name: &str, tokens: Tokens) -> Result<Budget, BudgetError> {
        let reserved = self.reserved() + tokens;
        if reserved > self.total {
            return Err(BudgetError::NothingLeft { total: self.total, reserved });
        }
        self.reserves.push((name.to_owned(), tokens));
        Ok(self)
    }

    /// All of `total`, with reserves that may leave nothing of it: whether any pack fits then is for
    /// its plan to say.
    #[must_use]
    pub const fn with_reserves(total: Tokens, reserves: Vec<(String, Tokens)>) -> Budget {
        Budget { total, reserves }
    }

    /// The same reserves out of another whole; `None` when they do not fit.
    #[must_use]
    pub fn with_total(&self, total: Tokens) -> Option<Budget> {
        (self.reserved() <= total).then(|| Budget { total, reserves: self.reserves.clone() })
    }

    /// The whole.
    #[must_use]
    pub const fn total(&self) -> Tokens {
        self.total
    }

    /// What was set aside, by name.
    #[must_use]
    pub fn reserves(&self) -> &[(String, Tokens)] {
        &self.reserves
    }

    /// The sum of what was set aside.
    #[must_use]
    pub fn reserved(&self) -> Tokens {
        self.reserves.iter().map(|&(_, tokens)| tokens).sum()
    }

    /// What the final string may have.
    #[must_use]
    pub fn spendable(&self) -> Tokens {
        self.total.saturating_sub(self.reserved())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reserves_come_off_first() {
        // P3's worked example: 32,000 − 1,700 − 1,300 = 29,000.
        let budget = Budget::new(Tokens::new(32_000))
            .reserve("foundation", Tokens::new(1_700))
            .and_then(|budget| budget.reserve("safety buffer", Budget::SAFETY_BUFFER))
            .unwrap();
        assert_eq!(budget.spendable(), Tokens::new(29_000));
        let error = Budget::new(Tokens::new(400)).reserve("system", Tokens::new(500)).unwrap_err();
        assert_eq!(
            error.to_string(),
            "reserves of 500 tokens do not fit a budget of 400; the least is 500"
        );
        assert_eq!(Budget::new(Tokens::ZERO).spendable(), Tokens::ZERO);
    }
}
