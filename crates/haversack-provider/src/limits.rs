//! Limits on calls to one provider: calls in flight, requests and tokens a minute.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The share of a minute's allowance that may be used at once.
const BURST: f64 = 0.25;

/// Limits the rate of requests and of tokens.
#[derive(Debug)]
pub(crate) struct RateLimiter {
    requests: Option<Mutex<Bucket>>,
    tokens: Option<Mutex<Bucket>>,
}

impl RateLimiter {
    /// A limiter with these allowances a minute; `None` is no limit.
    pub(crate) fn new(requests: Option<u32>, tokens: Option<u32>, now: Instant) -> RateLimiter {
        let bucket = |per_minute: Option<u32>| {
            per_minute.map(|per_minute| Mutex::new(Bucket::new(f64::from(per_minute), now)))
        };
        RateLimiter { requests: bucket(requests), tokens: bucket(tokens) }
    }

    /// Takes one request with its tokens from the allowances, or returns how long to wait first.
    pub(crate) fn take(&self, tokens: u64, now: Instant) -> Option<Duration> {
        let wait = |bucket: &Option<Mutex<Bucket>>| {
            let mut bucket = bucket.as_ref()?.lock().unwrap_or_else(PoisonError::into_inner);
            bucket.wait(now)
        };
        // Both are asked before either is charged, so that waiting for one costs nothing of the other.
        let wait = wait(&self.requests).max(wait(&self.tokens));
        if wait.is_some() {
            return wait;
        }
        let charge = |bucket: &Option<Mutex<Bucket>>, cost: f64| {
            if let Some(bucket) = bucket {
                bucket.lock().unwrap_or_else(PoisonError::into_inner).balance -= cost;
            }
        };
        charge(&self.requests, 1.0);
        #[expect(clippy::cast_precision_loss, reason = "token counts are far below 2^52")]
        charge(&self.tokens, tokens as f64);
        None
    }
}

/// An allowance that refills steadily. A call may start while the balance is positive and may overdraw
/// it, so that a call larger than the burst still goes out.
#[derive(Debug)]
struct Bucket {
    per_second: f64,
    capacity: f64,
    balance: f64,
    since: Instant,
}

impl Bucket {
    fn new(per_minute: f64, now: Instant) -> Bucket {
        let capacity = (per_minute * BURST).max(1.0);
        Bucket { per_second: per_minute / 60.0, capacity, balance: capacity, since: now }
    }

    /// Refills the balance, and returns how long it takes until it is positive.
    fn wait(&mut self, now: Instant) -> Option<Duration> {
        let passed = now.saturating_duration_since(self.since).as_secs_f64();
        self.since = now;
        self.balance = (self.balance + passed * self.per_second).min(self.capacity);
        // At least one request, or one token, must be there in full.
        let missing = 1.0 - self.balance;
        (missing > 1e-9).then(|| Duration::from_secs_f64((missing / self.per_second).min(3600.0)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_spread_over_the_minute() {
        let start = Instant::now();
        let limiter = RateLimiter::new(Some(8), None, start);
        assert_eq!(limiter.take(0, start), None, "a quarter of a minute's requests at once");
        assert_eq!(limiter.take(0, start), None);
        let wait = limiter.take(0, start).unwrap();
        assert!((wait.as_secs_f64() - 7.5).abs() < 0.01, "{wait:?}");
        assert_eq!(limiter.take(0, start + wait), None);
    }

    #[test]
    fn a_large_call_goes_out_and_the_next_waits_for_its_tokens() {
        let start = Instant::now();
        let limiter = RateLimiter::new(None, Some(600), start);
        assert_eq!(limiter.take(600, start), None);
        let wait = limiter.take(1, start).unwrap();
        assert!((wait.as_secs_f64() - 45.1).abs() < 0.1, "{wait:?}");
    }

    #[test]
    fn without_limits_nothing_waits() {
        let limiter = RateLimiter::new(None, None, Instant::now());
        assert!((0..1_000).all(|_| limiter.take(1_000_000, Instant::now()).is_none()));
    }
}
