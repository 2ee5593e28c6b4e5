//! What was used of models: calls, tokens, time and cache hits, for metrics and for each pack.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::time::Duration;

use crate::allowance;
use crate::settings::{ModelChoice, ModelRole};

/// What was used of one model.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Usage {
    /// Calls that were made, retries included.
    pub calls: u64,
    /// Calls that failed in the end.
    pub failures: u64,
    /// Calls that were not made, because a cap was reached.
    pub refused: u64,
    /// Texts that were embedded.
    pub texts: u64,
    /// Answers that came from a cache.
    pub cache_hits: u64,
    /// Tokens of input, as the provider counted them, else as estimated.
    pub tokens_in: u64,
    /// Tokens of output.
    pub tokens_out: u64,
    /// Time spent waiting for answers.
    pub time: Duration,
    /// The cost, where the settings have prices.
    pub cost: f64,
}

impl Usage {
    /// Adds another figure.
    pub fn add(&mut self, other: &Usage) {
        self.calls += other.calls;
        self.failures += other.failures;
        self.refused += other.refused;
        self.texts += other.texts;
        self.cache_hits += other.cache_hits;
        self.tokens_in += other.tokens_in;
        self.tokens_out += other.tokens_out;
        self.time += other.time;
        self.cost += other.cost;
    }

    /// Sets the cost by a model's prices.
    pub(crate) fn with_cost(mut self, choice: &ModelChoice) -> Usage {
        #[expect(clippy::cast_precision_loss, reason = "token counts are far below 2^52")]
        let price = |tokens: u64, price: Option<f64>| tokens as f64 * price.unwrap_or(0.0) / 1e6;
        self.cost =
            price(self.tokens_in, choice.price_in) + price(self.tokens_out, choice.price_out);
        self
    }
}

/// Usage by role.
pub type UsageByRole = BTreeMap<ModelRole, Usage>;

/// Adds up the usage of all callers.
#[derive(Debug, Default)]
pub struct UsageTotals(Mutex<UsageByRole>);

impl UsageTotals {
    /// The totals so far.
    #[must_use]
    pub fn snapshot(&self) -> UsageByRole {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Adds to the totals and to the scope that this thread measures, and charges the thread's allowances.
    pub(crate) fn record(&self, role: ModelRole, usage: &Usage) {
        let mut totals = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        totals.entry(role).or_default().add(usage);
        drop(totals);
        record_in_scope(role, usage);
        allowance::charge(usage);
    }
}

/// What some work used of models, and what its caller should know about them.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ScopedUsage {
    /// The usage by role.
    pub by_role: UsageByRole,
    /// Things that went wrong without harm, such as a cache that cannot be reached; each once.
    pub notes: Vec<&'static str>,
}

thread_local! {
    /// What the work on this thread used, while somebody measures it.
    static SCOPE: RefCell<Option<ScopedUsage>> = const { RefCell::new(None) };
}

/// Measures what the work on this thread uses until it is finished or dropped. A pack is made on one
/// thread, and models are called from it, so nothing has to be passed through.
#[derive(Debug)]
pub struct UsageScope(());

impl UsageScope {
    /// Starts to measure. A scope within another one takes its place.
    #[must_use]
    pub fn start() -> UsageScope {
        SCOPE.set(Some(ScopedUsage::default()));
        UsageScope(())
    }

    /// What was used since the start.
    #[must_use]
    pub fn finish(self) -> ScopedUsage {
        SCOPE.take().unwrap_or_default()
    }
}

impl Drop for UsageScope {
    fn drop(&mut self) {
        SCOPE.set(None);
    }
}

/// Adds to the scope that this thread measures, if there is one.
pub fn record_in_scope(role: ModelRole, usage: &Usage) {
    SCOPE.with_borrow_mut(|scope| {
        if let Some(scope) = scope {
            scope.by_role.entry(role).or_default().add(usage);
        }
    });
}

/// Leaves a note in the scope that this thread measures, if there is one.
pub(crate) fn note_in_scope(note: &'static str) {
    SCOPE.with_borrow_mut(|scope| {
        if let Some(scope) = scope
            && !scope.notes.contains(&note)
        {
            scope.notes.push(note);
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scope_measures_its_own_thread_only() {
        let totals = UsageTotals::default();
        let one = Usage { calls: 1, tokens_in: 10, ..Usage::default() };
        totals.record(ModelRole::Embed, &one);
        let scope = UsageScope::start();
        totals.record(ModelRole::Embed, &one);
        std::thread::scope(|threads| {
            threads.spawn(|| totals.record(ModelRole::Embed, &one));
        });
        assert_eq!(scope.finish().by_role[&ModelRole::Embed].calls, 1);
        assert_eq!(totals.snapshot()[&ModelRole::Embed].tokens_in, 30);
        assert!(UsageScope::start().finish().by_role.is_empty());
    }
}
