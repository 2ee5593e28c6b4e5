//! How much at once: a bounded number of requests is worked on, a bounded number waits for a bounded
//! time, and the rest is told to come again. Of those that are worked on, no more compute at once
//! than there are processors for, so that there is always one to tell the rest. Each key has a rate,
//! and so has each address for credentials that are not good.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv6Addr};
use std::num::NonZero;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use moka::sync::Cache;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::codes::Code;
use crate::config::{Limits, seconds};
use crate::problem::Problem;

/// Keys whose rate is remembered. A key that is forgotten begins with a full bucket.
const BUCKETS_MAX: u64 = 100_000;

/// The way in.
#[derive(Debug)]
pub(crate) struct Gate {
    permits: Arc<Semaphore>,
    processors: Semaphore,
    waiting: AtomicUsize,
    queue: usize,
    patience: Duration,
    rates: Rates,
    denied: Rates,
    audited: Rates,
    /// How many turns each key has, and how many one may have: not all, or one alone could keep the
    /// others out by being slow.
    turns: Arc<Mutex<BTreeMap<String, usize>>>,
    turns_max: usize,
}

/// A turn, given back when it goes.
#[derive(Debug)]
pub(crate) struct Turn {
    _permit: OwnedSemaphorePermit,
    _share: Option<Share>,
}

/// One of a key's turns.
#[derive(Debug)]
struct Share {
    credential: String,
    turns: Arc<Mutex<BTreeMap<String, usize>>>,
}

impl Drop for Share {
    fn drop(&mut self) {
        let mut turns = self.turns.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = turns.get_mut(&self.credential) {
            *count -= 1;
            if *count == 0 {
                turns.remove(&self.credential);
            }
        }
    }
}

/// A place among those who wait, given back however the wait ends.
struct Place<'g>(&'g AtomicUsize);

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Gate {
    pub(crate) fn new(limits: &Limits) -> Gate {
        Gate {
            permits: Arc::new(Semaphore::new(limits.concurrent)),
            processors: Semaphore::new(processors()),
            waiting: AtomicUsize::new(0),
            queue: limits.queue,
            patience: seconds(limits.queue_seconds),
            rates: Rates::new(limits.rate, limits.burst),
            denied: Rates::new(f64::from(limits.denied) / 60.0, f64::from(limits.denied)),
            audited: Rates::new(f64::from(limits.denied) / 60.0, f64::from(limits.denied)),
            turns: Arc::default(),
            turns_max: (limits.concurrent * 3 / 4).max(1),
        }
    }

    /// Waits for a turn, within bounds. A key that is one of many gets no more than its share.
    pub(crate) async fn enter(&self, one_of_many: Option<&str>) -> Result<Turn, Problem> {
        let share = one_of_many.map(|credential| self.share(credential)).transpose()?;
        Ok(Turn { _permit: self.permit().await?, _share: share })
    }

    fn share(&self, credential: &str) -> Result<Share, Problem> {
        let mut turns = self.turns.lock().unwrap_or_else(PoisonError::into_inner);
        let count = turns.entry(credential.to_owned()).or_default();
        if *count >= self.turns_max {
            let detail = format!("this key has {count} requests under way: wait for one of them");
            return Err(Problem::new(Code::RateLimited, detail));
        }
        *count += 1;
        Ok(Share { credential: credential.to_owned(), turns: Arc::clone(&self.turns) })
    }

    async fn permit(&self) -> Result<OwnedSemaphorePermit, Problem> {
        if let Ok(permit) = Arc::clone(&self.permits).try_acquire_owned() {
            return Ok(permit);
        }
        let full = || Problem::new(Code::Overloaded, "too many requests at once: try again soon");
        if self.waiting.fetch_add(1, Ordering::Relaxed) >= self.queue {
            self.waiting.fetch_sub(1, Ordering::Relaxed);
            return Err(full());
        }
        let _place = Place(&self.waiting);
        let turn = Arc::clone(&self.permits).acquire_owned();
        match tokio::time::timeout(self.patience, turn).await {
            Ok(Ok(permit)) => Ok(permit),
            // The semaphore is never closed; out of patience is the other case.
            _ => Err(full()),
        }
    }

    /// Does work that takes a processor for milliseconds, when it is its turn.
    pub(crate) async fn compute<T>(&self, work: impl Future<Output = T>) -> T {
        // The semaphore is never closed.
        let _processor = self.processors.acquire().await.ok();
        work.await
    }

    /// How many wait.
    pub(crate) fn waiting(&self) -> usize {
        self.waiting.load(Ordering::Relaxed)
    }

    /// Whether a credential may ask once more now.
    pub(crate) fn rate(&self, credential: &str) -> Result<(), Problem> {
        self.rates.take(credential, Instant::now()).map_err(|wait| {
            let detail = format!("this key may make {} requests a second", self.rates.rate);
            let retry_after = u32::try_from(wait).ok();
            Problem { retry_after, ..Problem::new(Code::RateLimited, detail) }
        })
    }

    /// Whether what a network or a key is denied now has a line of its own in the audit.
    pub(crate) fn is_audited(&self, whom: &str) -> bool {
        self.audited.take(whom, Instant::now()).is_ok()
    }

    /// Notes that a credential from this address was not good, and says when there were too many:
    /// who guesses learns nothing more, and the audit log does not grow with each guess. Whoever has
    /// a good one is never asked, so that many can stand behind one address.
    pub(crate) fn denied(&self, address: IpAddr) -> Result<(), Problem> {
        self.denied.take(&network(address), Instant::now()).map_err(|wait| {
            let detail = "too many credentials that are not good came from this address";
            let retry_after = u32::try_from(wait).ok();
            Problem { retry_after, ..Problem::new(Code::TooManyDenied, detail) }
        })
    }
}

/// What one client has of addresses: one of the old sort, or a network of 2^64 of the new.
pub(crate) fn network(address: IpAddr) -> String {
    match address.to_canonical() {
        IpAddr::V4(address) => address.to_string(),
        IpAddr::V6(address) => {
            let [a, b, c, d, ..] = address.segments();
            Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0).to_string()
        }
    }
}

/// How many compute at once: one more than there are processors, as each waits for a disk at times.
fn processors() -> usize {
    std::thread::available_parallelism().map_or(2, NonZero::get) + 1
}

/// A bucket for each name: it fills at the rate, up to the burst, and each request takes one.
#[derive(Debug)]
struct Rates {
    rate: f64,
    burst: f64,
    buckets: Cache<String, Arc<Mutex<Bucket>>>,
}

#[derive(Debug)]
struct Bucket {
    tokens: f64,
    at: Instant,
}

impl Rates {
    fn new(rate: f64, burst: f64) -> Rates {
        Rates { rate, burst: burst.max(1.0), buckets: Cache::new(BUCKETS_MAX) }
    }

    /// Takes one, or says after how many seconds there is one.
    fn take(&self, name: &str, now: Instant) -> Result<(), u64> {
        if self.rate <= 0.0 {
            return Ok(());
        }
        let full = || Arc::new(Mutex::new(Bucket { tokens: self.burst, at: now }));
        let bucket = self.buckets.get_with_by_ref(name, full);
        let mut bucket = bucket.lock().unwrap_or_else(PoisonError::into_inner);
        let since = now.saturating_duration_since(bucket.at).as_secs_f64();
        bucket.tokens = (bucket.tokens + since * self.rate).min(self.burst);
        bucket.at = now;
        if bucket.tokens >= 1.0 {
            bucket.tokens -= 1.0;
            return Ok(());
        }
        let wait = ((1.0 - bucket.tokens) / self.rate).ceil();
        // At most an hour, so that the cast below is exact.
        Err(Duration::from_secs_f64(wait.clamp(1.0, 3_600.0)).as_secs())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_at_its_rate_waits_and_others_do_not() {
        let rates = Rates::new(2.0, 3.0);
        let start = Instant::now();
        for _ in 0..3 {
            rates.take("a", start).unwrap();
        }
        assert_eq!(rates.take("a", start), Err(1));
        rates.take("b", start).unwrap();
        rates.take("a", start + Duration::from_millis(500)).unwrap();
        assert!(rates.take("a", start + Duration::from_millis(500)).is_err());
    }

    #[test]
    fn an_address_is_counted_with_those_its_client_could_take_as_well() {
        for (address, expected) in [
            ("192.0.2.7", "192.0.2.7"),
            ("::ffff:192.0.2.7", "192.0.2.7"),
            ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::"),
            ("2001:db8:1:2::9", "2001:db8:1:2::"),
            ("2001:db8:1:3::9", "2001:db8:1:3::"),
        ] {
            assert_eq!(network(address.parse().unwrap()), expected);
        }
    }

    #[tokio::test]
    async fn no_more_compute_at_once_than_there_are_processors_for() {
        let gate = Gate::new(&Limits::default());
        let (now, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let work = || async {
            most.fetch_max(now.fetch_add(1, Ordering::Relaxed) + 1, Ordering::Relaxed);
            tokio::task::yield_now().await;
            now.fetch_sub(1, Ordering::Relaxed);
        };
        let all = (0..4 * processors()).map(|_| gate.compute(work()));
        futures_util::future::join_all(all).await;
        assert_eq!(most.into_inner(), processors());
    }

    #[tokio::test(start_paused = true)]
    async fn what_neither_fits_nor_can_wait_is_told_so() {
        let limits = Limits { concurrent: 1, queue: 1, queue_seconds: 5.0, ..Limits::default() };
        let gate = Arc::new(Gate::new(&limits));
        let first = gate.enter(None).await.unwrap();
        let waiting = tokio::spawn({
            let gate = Arc::clone(&gate);
            async move { gate.enter(None).await.map(drop) }
        });
        tokio::task::yield_now().await;
        assert_eq!(gate.waiting(), 1);
        assert_eq!(gate.enter(None).await.unwrap_err().code, Code::Overloaded);
        drop(first);
        waiting.await.unwrap().unwrap();
        let held = gate.enter(None).await.unwrap();
        let refused = gate.enter(None).await.unwrap_err();
        assert_eq!(refused.code, Code::Overloaded, "patience ends");
        assert_eq!(gate.waiting(), 0);
        drop(held);
    }

    #[tokio::test]
    async fn one_key_cannot_have_all_turns() {
        let gate = Gate::new(&Limits { concurrent: 4, ..Limits::default() });
        let mut held = Vec::new();
        for _ in 0..3 {
            held.push(gate.enter(Some("slow")).await.unwrap());
        }
        assert_eq!(gate.enter(Some("slow")).await.unwrap_err().code, Code::RateLimited);
        drop(gate.enter(Some("other")).await.unwrap());
        held.pop();
        gate.enter(Some("slow")).await.unwrap();
        held.clear();
        assert!(gate.turns.lock().unwrap().is_empty(), "a key that waits takes no room");
    }
}
