//! Caps on what is used of models in a day: whose they are, what is used of them, and the refusal of a call that
//! would go beyond one.
//!
//! Models are called on the thread that does the work, so a thread carries the allowances that count for it. A
//! call reserves its estimated size before it is sent, and is charged for what the provider reports.

use std::cell::RefCell;
use std::fmt;
use std::future::Future;
use std::marker::PhantomData;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use haversack_core::units::Timestamp;
use serde::{Deserialize, Serialize};

use crate::error::ProviderError;
use crate::settings::{ModelChoice, ModelRole};
use crate::usage::{Usage, UsageTotals};

/// Returns the current time.
pub(crate) type Clock = Arc<dyn Fn() -> Timestamp + Send + Sync>;

const DAY_MS: i64 = 24 * 60 * 60 * 1_000;

/// The most that may be used of models in one day (UTC).
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct DailyCap {
    /// Tokens of input and output.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// Cost by the prices of the settings.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
}

impl DailyCap {
    /// Whether nothing is capped.
    #[must_use]
    pub fn is_none(&self) -> bool {
        self.tokens.is_none() && self.cost.is_none()
    }
}

/// What was used in a day.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub(crate) struct DayTally {
    pub(crate) tokens: u64,
    pub(crate) cost: f64,
}

/// A cap and what was used of it today.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AllowanceStatus {
    /// The cap.
    pub cap: DailyCap,
    /// Tokens used today.
    pub tokens: u64,
    /// Cost of today.
    pub cost: f64,
    /// When the count begins again.
    pub until: Timestamp,
}

/// What somebody may use of models each day.
pub struct Allowance {
    owner: String,
    clock: Clock,
    state: Mutex<AllowanceState>,
    /// Called after each charge.
    on_charge: Box<dyn Fn() + Send + Sync>,
}

#[derive(Debug, Default)]
struct AllowanceState {
    cap: DailyCap,
    day: i64,
    used: DayTally,
    /// The estimated sizes of calls in flight.
    reserved: DayTally,
    /// Whether a refusal was logged as a warning on this day.
    is_logged: bool,
}

impl fmt::Debug for Allowance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Allowance").field("owner", &self.owner).finish_non_exhaustive()
    }
}

impl Allowance {
    /// An allowance that starts with what was used already on a day.
    pub(crate) fn new(
        owner: &str,
        cap: DailyCap,
        clock: Clock,
        (day, used): (i64, DayTally),
        on_charge: Box<dyn Fn() + Send + Sync>,
    ) -> Allowance {
        let state = AllowanceState { cap, day, used, ..AllowanceState::default() };
        Allowance { owner: owner.to_owned(), clock, state: Mutex::new(state), on_charge }
    }

    /// Whose it is, such as `workspace acme` or `key 1f3a`.
    #[must_use]
    pub fn owner(&self) -> &str {
        &self.owner
    }

    /// The cap, and what was used of it today.
    #[must_use]
    pub fn status(&self) -> AllowanceStatus {
        let state = self.today();
        let AllowanceState { cap, day, used, .. } = *state;
        AllowanceStatus { cap, tokens: used.tokens, cost: used.cost, until: end_of(day) }
    }

    /// The day that was counted last, and what was used on it.
    pub(crate) fn tally(&self) -> (i64, DayTally) {
        let state = self.today();
        (state.day, state.used)
    }

    pub(crate) fn set_cap(&self, cap: DailyCap) {
        self.today().cap = cap;
    }

    /// The state, set back if a new day has begun.
    fn today(&self) -> MutexGuard<'_, AllowanceState> {
        let today = day_of((self.clock)());
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        // A clock that was set back does not give the allowance anew.
        if today > state.day {
            (state.day, state.used, state.is_logged) = (today, DayTally::default(), false);
        }
        state
    }

    /// Reserves the estimated size of a call, unless that goes beyond the cap.
    fn reserve(&self, size: DayTally) -> Result<(), ProviderError> {
        let mut state = self.today();
        if let Some((used, limit)) = state.refusal(size) {
            let (owner, until) = (self.owner.clone(), end_of(state.day));
            let is_first = !std::mem::replace(&mut state.is_logged, true);
            drop(state);
            let error = ProviderError::CapReached { owner, used, limit, until };
            if is_first {
                tracing::warn!(target: "haversack", %error, "a cap on models is reached");
            }
            return Err(error);
        }
        state.reserved.tokens += size.tokens;
        state.reserved.cost += size.cost;
        Ok(())
    }

    fn release(&self, size: DayTally) {
        let mut state = self.today();
        state.reserved.tokens = state.reserved.tokens.saturating_sub(size.tokens);
        state.reserved.cost = (state.reserved.cost - size.cost).max(0.0);
    }

    fn charge(&self, used: DayTally) {
        if used == DayTally::default() {
            return;
        }
        let mut state = self.today();
        state.used.tokens += used.tokens;
        state.used.cost += used.cost;
        drop(state);
        (self.on_charge)();
    }
}

impl AllowanceState {
    /// What is used and the limit, as text, if a call of this size goes beyond a limit.
    fn refusal(&self, size: DayTally) -> Option<(String, String)> {
        let (used, reserved) = (self.used, self.reserved);
        let tokens = used.tokens + reserved.tokens;
        if let Some(limit) = self.cap.tokens
            && (tokens >= limit || tokens + size.tokens > limit)
        {
            return Some((tokens.to_string(), format!("{limit} tokens a day")));
        }
        let cost = used.cost + reserved.cost;
        let limit = self.cap.cost?;
        let is_beyond = cost >= limit || cost + size.cost > limit;
        is_beyond.then(|| (format!("{cost:.4}"), format!("cost of {limit} a day")))
    }
}

pub(crate) fn day_of(now: Timestamp) -> i64 {
    now.as_millis().div_euclid(DAY_MS)
}

fn end_of(day: i64) -> Timestamp {
    Timestamp::from_millis((day + 1) * DAY_MS)
}

thread_local! {
    /// The allowances of the work on this thread.
    static ALLOWANCES: RefCell<Vec<Arc<Allowance>>> = const { RefCell::new(Vec::new()) };
}

/// The allowances that count for the work on this thread.
#[must_use]
pub fn current_allowances() -> Vec<Arc<Allowance>> {
    ALLOWANCES.with_borrow(Clone::clone)
}

/// Lets allowances count for the work on this thread until it is dropped, beside those that count already.
#[derive(Debug)]
pub struct AllowanceScope {
    before: usize,
    /// It ends on the thread that it began on.
    _not_send: PhantomData<*const ()>,
}

impl AllowanceScope {
    /// Adds allowances. One that counts already is not counted twice.
    #[must_use]
    pub fn enter(allowances: &[Arc<Allowance>]) -> AllowanceScope {
        ALLOWANCES.with_borrow_mut(|current| {
            let before = current.len();
            for allowance in allowances {
                if !current.iter().any(|known| Arc::ptr_eq(known, allowance)) {
                    current.push(Arc::clone(allowance));
                }
            }
            AllowanceScope { before, _not_send: PhantomData }
        })
    }
}

impl Drop for AllowanceScope {
    fn drop(&mut self) {
        // Scopes end in the reverse order of their beginnings, so what was there before stands first.
        ALLOWANCES.with_borrow_mut(|current| current.truncate(self.before));
    }
}

/// Lets allowances count for a future, whatever thread polls it.
pub async fn with_allowances<F: Future>(allowances: Vec<Arc<Allowance>>, work: F) -> F::Output {
    let mut work = pin!(work);
    AllowedFuture { allowances, work: work.as_mut() }.await
}

struct AllowedFuture<'w, F> {
    allowances: Vec<Arc<Allowance>>,
    work: Pin<&'w mut F>,
}

impl<F: Future> Future for AllowedFuture<'_, F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let _scope = AllowanceScope::enter(&self.allowances);
        self.work.as_mut().poll(context)
    }
}

/// The place of a call in the allowances of its thread, until it is answered.
#[derive(Debug)]
pub(crate) struct Reservation {
    allowances: Vec<Arc<Allowance>>,
    size: DayTally,
}

impl Reservation {
    /// Reserves room for a call of this many tokens of input in all allowances of this thread.
    ///
    /// # Errors
    /// When one of them has no room for it. The refusal is counted.
    pub(crate) fn take(
        tokens: u64,
        (role, choice): (ModelRole, &ModelChoice),
        totals: &UsageTotals,
    ) -> Result<Reservation, ProviderError> {
        let cost = Usage { tokens_in: tokens, ..Usage::default() }.with_cost(choice).cost;
        let size = DayTally { tokens, cost };
        let mut reservation = Reservation { allowances: Vec::new(), size };
        for allowance in current_allowances() {
            if let Err(error) = allowance.reserve(size) {
                totals.record(role, &Usage { refused: 1, ..Usage::default() });
                return Err(error);
            }
            reservation.allowances.push(allowance);
        }
        Ok(reservation)
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.allowances.iter().for_each(|allowance| allowance.release(self.size));
    }
}

/// Charges the allowances of this thread.
pub(crate) fn charge(usage: &Usage) {
    let used = DayTally { tokens: usage.tokens_in + usage.tokens_out, cost: usage.cost };
    // Not while the list is borrowed: the book that is told of a charge has locks of its own.
    current_allowances().iter().for_each(|allowance| allowance.charge(used));
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicI64, Ordering};

    use super::*;

    const NOON: i64 = 20_000 * DAY_MS + DAY_MS / 2;

    fn allowance(cap: DailyCap) -> (Arc<Allowance>, Arc<AtomicI64>) {
        let now = Arc::new(AtomicI64::new(NOON));
        let clock = Arc::clone(&now);
        let clock: Clock = Arc::new(move || Timestamp::from_millis(clock.load(Ordering::SeqCst)));
        let none = (0, DayTally::default());
        let allowance = Allowance::new("workspace acme", cap, clock, none, Box::new(|| {}));
        (Arc::new(allowance), now)
    }

    fn tokens(limit: u64) -> DailyCap {
        DailyCap { tokens: Some(limit), cost: None }
    }

    fn call(size: u64) -> Result<(), ProviderError> {
        let (totals, choice) = (UsageTotals::default(), ModelChoice::default());
        let _place = Reservation::take(size, (ModelRole::Judge, &choice), &totals)?;
        totals.record(ModelRole::Judge, &Usage { tokens_in: size, ..Usage::default() });
        Ok(())
    }

    #[test]
    fn a_cap_refuses_a_call_by_name_and_is_lifted_at_midnight() {
        let (allowance, now) = allowance(tokens(100));
        let _scope = AllowanceScope::enter(std::slice::from_ref(&allowance));
        call(60).unwrap();
        call(40).unwrap();
        let refused = call(1).unwrap_err();
        let expected = "workspace acme has used 100 of its 100 tokens a day for models, which leaves too little for \
                        this call; the cap is lifted at 2024-10-05T00:00:00Z";
        assert_eq!(refused.to_string(), expected);
        assert_eq!(allowance.status().tokens, 100);
        now.fetch_add(DAY_MS / 2, Ordering::SeqCst);
        call(100).unwrap();
        now.fetch_sub(DAY_MS, Ordering::SeqCst);
        call(1).expect_err("a clock that is set back gives nothing anew");
    }

    #[test]
    fn calls_in_flight_count_until_they_end() {
        let (allowance, _) = allowance(tokens(100));
        let _scope = AllowanceScope::enter(std::slice::from_ref(&allowance));
        let (totals, choice) = (UsageTotals::default(), ModelChoice::default());
        let place = Reservation::take(90, (ModelRole::Embed, &choice), &totals).unwrap();
        call(20).unwrap_err();
        drop(place);
        call(20).unwrap();
    }

    #[test]
    fn a_cost_is_capped_by_prices() {
        let (allowance, _) = allowance(DailyCap { tokens: None, cost: Some(0.001) });
        let _scope = AllowanceScope::enter(std::slice::from_ref(&allowance));
        let totals = UsageTotals::default();
        let choice = ModelChoice { price_in: Some(2.0), ..ModelChoice::default() };
        let role = ModelRole::Embed;
        drop(Reservation::take(400, (role, &choice), &totals).unwrap());
        let error = Reservation::take(600, (role, &choice), &totals).unwrap_err();
        assert!(error.to_string().contains("0.0000 of its cost of 0.001 a day"), "{error}");
        assert_eq!(totals.snapshot()[&role].refused, 1);
        let used = Usage { tokens_in: 500, ..Usage::default() }.with_cost(&choice);
        totals.record(role, &used);
        drop(Reservation::take(1, (role, &choice), &totals).unwrap_err());
    }

    #[test]
    fn allowances_of_nested_work_add_up_and_none_counts_twice() {
        let ((workspace, _), (key, _)) = (allowance(tokens(100)), allowance(tokens(50)));
        let of_workspace = AllowanceScope::enter(std::slice::from_ref(&workspace));
        {
            let _of_key = AllowanceScope::enter(&[Arc::clone(&key), Arc::clone(&workspace)]);
            call(50).unwrap();
            call(1).unwrap_err();
        }
        call(50).unwrap();
        drop(of_workspace);
        call(1_000).unwrap();
        assert_eq!((workspace.status().tokens, key.status().tokens), (100, 50));
    }

    #[test]
    fn a_future_brings_its_allowances_to_every_thread() {
        let (allowance, _) = allowance(tokens(10));
        let work = with_allowances(vec![Arc::clone(&allowance)], async { call(10) });
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
            runtime.block_on(work).unwrap();
            assert!(current_allowances().is_empty());
        })
        .join()
        .unwrap();
        assert_eq!(allowance.status().tokens, 10);
    }
}
