//! A circuit breaker: a provider that keeps failing is left alone for a while, so that callers get their
//! fallback at once instead of waiting for a timeout each.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Failed calls in a row that open the circuit.
const FAILURES_MAX: u32 = 5;

/// How long the circuit stays open the first time; twice as long after each failed trial.
const OPEN_FIRST: Duration = Duration::from_secs(5);
const OPEN_MAX: Duration = Duration::from_secs(120);

/// Counts failures in a row and refuses calls after too many.
#[derive(Debug, Default)]
pub(crate) struct Breaker(Mutex<BreakerState>);

#[derive(Debug, Default)]
struct BreakerState {
    failures: u32,
    /// Until when calls are refused, and for how long that is.
    open: Option<(Instant, Duration)>,
    /// Whether one call tries the provider again.
    trial: bool,
}

impl Breaker {
    /// Lets a call through, or returns how long calls are refused.
    pub(crate) fn admit(&self, now: Instant) -> Result<(), Duration> {
        let mut state = self.lock();
        let Some((until, _)) = state.open else { return Ok(()) };
        if now < until {
            return Err(until - now);
        }
        if std::mem::replace(&mut state.trial, true) {
            return Err(OPEN_FIRST);
        }
        Ok(())
    }

    /// Closes the circuit: the provider answered.
    pub(crate) fn succeed(&self) {
        *self.lock() = BreakerState::default();
    }

    /// Counts a call that failed for want of the provider, and opens the circuit after too many.
    pub(crate) fn fail(&self, now: Instant) {
        let mut state = self.lock();
        state.failures += 1;
        state.trial = false;
        if state.failures >= FAILURES_MAX {
            let length = state.open.map_or(OPEN_FIRST, |(_, length)| (length * 2).min(OPEN_MAX));
            state.open = Some((now + length, length));
        }
    }

    /// Ends a trial that says nothing about the provider, such as one whose caller went away.
    pub(crate) fn forget_trial(&self) {
        self.lock().trial = false;
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BreakerState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_circuit_opens_after_failures_in_a_row_and_one_trial_closes_it() {
        let (breaker, start) = (Breaker::default(), Instant::now());
        for _ in 0..FAILURES_MAX {
            breaker.admit(start).unwrap();
            breaker.fail(start);
        }
        assert_eq!(breaker.admit(start), Err(OPEN_FIRST));
        let later = start + OPEN_FIRST;
        breaker.admit(later).unwrap();
        breaker.admit(later).unwrap_err();
        breaker.fail(later);
        assert_eq!(breaker.admit(later), Err(OPEN_FIRST * 2), "a failed trial doubles the wait");
        let later = later + OPEN_FIRST * 2;
        breaker.admit(later).unwrap();
        breaker.succeed();
        breaker.admit(later).unwrap();
        breaker.admit(later).unwrap();
    }

    #[test]
    fn a_success_between_failures_keeps_the_circuit_closed() {
        let (breaker, now) = (Breaker::default(), Instant::now());
        for _ in 0..20 {
            breaker.fail(now);
            breaker.fail(now);
            breaker.succeed();
        }
        breaker.admit(now).unwrap();
    }
}
