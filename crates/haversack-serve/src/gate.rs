//! Admission control: bounds the requests in flight and in the queue, and the queue time; the rest is
//! refused with 503. CPU-bound work is bounded by the number of processors, so that refusals stay fast.
//! Requests are rate-limited per key, failed logins per address.

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
use crate::problem::ApiProblem;

/// Most buckets in memory. An evicted key starts with a full bucket.
const BUCKETS_MAX: u64 = 100_000;

/// Admits requests.
#[derive(Debug)]
pub(crate) struct Gate {
    permits: Arc<Semaphore>,
    processors: Semaphore,
    /// Pages that are read and written out at once, because each may take many times its length.
    pages: Semaphore,
    waiting: AtomicUsize,
    queue: usize,
    queue_timeout: Duration,
    rates: RateLimiter,
    denied: RateLimiter,
    audited: RateLimiter,
    /// Requests in flight per key, and their maximum: less than all, so that one slow key cannot block
    /// the others.
    in_flight: Arc<Mutex<BTreeMap<String, usize>>>,
    in_flight_per_key_max: usize,
}

/// Counts a request as in flight until it is dropped.
#[derive(Debug)]
pub(crate) struct RequestPermit {
    _permit: OwnedSemaphorePermit,
    _share: Option<KeyShare>,
}

/// Counts a key's request as in flight until it is dropped.
#[derive(Debug)]
struct KeyShare {
    credential: String,
    in_flight: Arc<Mutex<BTreeMap<String, usize>>>,
}

impl Drop for KeyShare {
    fn drop(&mut self) {
        let mut in_flight = self.in_flight.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = in_flight.get_mut(&self.credential) {
            *count -= 1;
            if *count == 0 {
                in_flight.remove(&self.credential);
            }
        }
    }
}

/// A place in the queue, released when it is dropped.
struct QueuePlace<'g>(&'g AtomicUsize);

impl Drop for QueuePlace<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Gate {
    ///
    /// `calls_models` says that packs may wait for models elsewhere: then processors are not what limits them.
    pub(crate) fn new(limits: &Limits, calls_models: bool) -> Gate {
        let at_once = if calls_models { limits.concurrent } else { processors() };
        Gate {
            permits: Arc::new(Semaphore::new(limits.concurrent)),
            processors: Semaphore::new(at_once),
            pages: Semaphore::new(processors()),
            waiting: AtomicUsize::new(0),
            queue: limits.queue,
            queue_timeout: seconds(limits.queue_seconds),
            rates: RateLimiter::new(limits.rate, limits.burst),
            denied: RateLimiter::new(f64::from(limits.denied) / 60.0, f64::from(limits.denied)),
            audited: RateLimiter::new(f64::from(limits.denied) / 60.0, f64::from(limits.denied)),
            in_flight: Arc::default(),
            in_flight_per_key_max: (limits.concurrent * 3 / 4).max(1),
        }
    }

    /// Waits for admission, within bounds. With several keys each is limited to its share.
    pub(crate) async fn enter(
        &self,
        limited_key: Option<&str>,
    ) -> Result<RequestPermit, ApiProblem> {
        let share = limited_key.map(|credential| self.share(credential)).transpose()?;
        Ok(RequestPermit { _permit: self.permit().await?, _share: share })
    }

    fn share(&self, credential: &str) -> Result<KeyShare, ApiProblem> {
        let mut in_flight = self.in_flight.lock().unwrap_or_else(PoisonError::into_inner);
        let count = in_flight.entry(credential.to_owned()).or_default();
        if *count >= self.in_flight_per_key_max {
            let detail = format!("this key has {count} requests in flight: wait for one of them");
            return Err(ApiProblem::new(Code::RateLimited, detail));
        }
        *count += 1;
        Ok(KeyShare { credential: credential.to_owned(), in_flight: Arc::clone(&self.in_flight) })
    }

    async fn permit(&self) -> Result<OwnedSemaphorePermit, ApiProblem> {
        if let Ok(permit) = Arc::clone(&self.permits).try_acquire_owned() {
            return Ok(permit);
        }
        let full =
            || ApiProblem::new(Code::Overloaded, "too many requests at once: try again soon");
        if self.waiting.fetch_add(1, Ordering::Relaxed) >= self.queue {
            self.waiting.fetch_sub(1, Ordering::Relaxed);
            return Err(full());
        }
        let _place = QueuePlace(&self.waiting);
        let turn = Arc::clone(&self.permits).acquire_owned();
        match tokio::time::timeout(self.queue_timeout, turn).await {
            Ok(Ok(permit)) => Ok(permit),
            // Timed out; the semaphore is never closed.
            _ => Err(full()),
        }
    }

    /// Runs CPU-bound work when a processor is free.
    pub(crate) async fn compute<T>(&self, work: impl Future<Output = T>) -> T {
        // The semaphore is never closed.
        let _processor = self.processors.acquire().await.ok();
        work.await
    }

    /// Reads whole items when few others do.
    pub(crate) async fn read_page<T>(&self, work: impl Future<Output = T>) -> T {
        // The semaphore is never closed.
        let _page = self.pages.acquire().await.ok();
        work.await
    }

    /// The length of the queue.
    pub(crate) fn waiting(&self) -> usize {
        self.waiting.load(Ordering::Relaxed)
    }

    /// Applies the key's rate limit.
    pub(crate) fn check_rate(&self, credential: &str) -> Result<(), ApiProblem> {
        self.rates.take(credential, Instant::now()).map_err(|wait| {
            let detail = format!("this key may make {} requests a second", self.rates.rate);
            let retry_after = u32::try_from(wait).ok();
            ApiProblem { retry_after, ..ApiProblem::new(Code::RateLimited, detail) }
        })
    }

    /// What is left of a key's rate, if rates are limited and the key has made a request.
    pub(crate) fn rate_quota(&self, credential: &str) -> Option<RateQuota> {
        self.rates.quota(credential, Instant::now())
    }

    /// Whether a refusal of this network or key gets its own audit line.
    pub(crate) fn is_audited(&self, whom: &str) -> bool {
        self.audited.take(whom, Instant::now()).is_ok()
    }

    /// Records a failed login and applies the rate limit of its address. Valid credentials are never
    /// limited here, so that many clients can share an address.
    pub(crate) fn note_denied(&self, address: IpAddr) -> Result<(), ApiProblem> {
        self.denied.take(&network(address), Instant::now()).map_err(|wait| {
            let detail = "too many failed logins from this address";
            let retry_after = u32::try_from(wait).ok();
            ApiProblem { retry_after, ..ApiProblem::new(Code::TooManyDenied, detail) }
        })
    }
}

/// What is left of a rate, for the headers `RateLimit-Policy` and `RateLimit`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct RateQuota {
    burst: f64,
    rate: f64,
    tokens: f64,
}

impl RateQuota {
    /// How many requests may be made at once, and in how many seconds they come back.
    pub(crate) fn policy(self) -> String {
        format!("\"key\";q={:.0};w={:.0}", self.burst.floor(), (self.burst / self.rate).ceil())
    }

    /// How many requests are left, and in how many seconds all are there again.
    pub(crate) fn state(self) -> String {
        let full_in = (self.burst - self.tokens) / self.rate;
        format!("\"key\";r={:.0};t={:.0}", self.tokens.floor(), full_in.ceil())
    }
}

/// The network that one client controls: an IPv4 address or an IPv6 /64.
pub(crate) fn network(address: IpAddr) -> String {
    match address.to_canonical() {
        IpAddr::V4(address) => address.to_string(),
        IpAddr::V6(address) => {
            let [a, b, c, d, ..] = address.segments();
            Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0).to_string()
        }
    }
}

/// CPU-bound work at once: one more than there are processors, because some waits for the disk.
fn processors() -> usize {
    std::thread::available_parallelism().map_or(2, NonZero::get) + 1
}

/// Token buckets: each fills at the rate, up to the burst, and each request takes one token.
#[derive(Debug)]
struct RateLimiter {
    rate: f64,
    burst: f64,
    buckets: Cache<String, Arc<Mutex<Bucket>>>,
}

#[derive(Debug)]
struct Bucket {
    tokens: f64,
    at: Instant,
}

impl RateLimiter {
    fn new(rate: f64, burst: f64) -> RateLimiter {
        RateLimiter { rate, burst: burst.max(1.0), buckets: Cache::new(BUCKETS_MAX) }
    }

    fn quota(&self, name: &str, now: Instant) -> Option<RateQuota> {
        if self.rate <= 0.0 {
            return None;
        }
        let bucket = self.buckets.get(name)?;
        let mut bucket = bucket.lock().unwrap_or_else(PoisonError::into_inner);
        self.refill(&mut bucket, now);
        Some(RateQuota { burst: self.burst, rate: self.rate, tokens: bucket.tokens })
    }

    fn refill(&self, bucket: &mut Bucket, now: Instant) {
        let since = now.saturating_duration_since(bucket.at).as_secs_f64();
        bucket.tokens = (bucket.tokens + since * self.rate).min(self.burst);
        bucket.at = now;
    }

    /// Takes a token, or returns the seconds until there is one.
    fn take(&self, name: &str, now: Instant) -> Result<(), u64> {
        if self.rate <= 0.0 {
            return Ok(());
        }
        let full = || Arc::new(Mutex::new(Bucket { tokens: self.burst, at: now }));
        let bucket = self.buckets.get_with_by_ref(name, full);
        let mut bucket = bucket.lock().unwrap_or_else(PoisonError::into_inner);
        self.refill(&mut bucket, now);
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
    fn the_rate_limit_of_one_key_does_not_affect_others() {
        let rates = RateLimiter::new(2.0, 3.0);
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
    fn what_is_left_of_a_rate_is_told_and_looking_takes_nothing() {
        let rates = RateLimiter::new(0.5, 3.0);
        let start = Instant::now();
        assert_eq!(rates.quota("a", start), None, "it has made no request");
        let check = |seconds: u64, expected: &str| {
            let quota = rates.quota("a", start + Duration::from_secs(seconds)).unwrap();
            assert_eq!(quota.policy(), "\"key\";q=3;w=6");
            assert_eq!(quota.state(), expected);
        };
        rates.take("a", start).unwrap();
        check(0, "\"key\";r=2;t=2");
        rates.take("a", start).unwrap();
        rates.take("a", start).unwrap();
        check(0, "\"key\";r=0;t=6");
        check(1, "\"key\";r=0;t=5");
        check(2, "\"key\";r=1;t=4");
        check(60, "\"key\";r=3;t=0");
        assert_eq!(RateLimiter::new(0.0, 3.0).quota("a", start), None, "without a rate");
    }

    #[test]
    fn addresses_of_one_network_share_a_bucket() {
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
        let gate = Gate::new(&Limits::default(), false);
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
    async fn requests_beyond_the_queue_or_its_timeout_are_refused() {
        let limits = Limits { concurrent: 1, queue: 1, queue_seconds: 5.0, ..Limits::default() };
        let gate = Arc::new(Gate::new(&limits, false));
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
        assert_eq!(refused.code, Code::Overloaded, "the queue timeout passes");
        assert_eq!(gate.waiting(), 0);
        drop(held);
    }

    #[tokio::test]
    async fn one_key_cannot_use_all_permits() {
        let gate = Gate::new(&Limits { concurrent: 4, ..Limits::default() }, false);
        let mut held = Vec::new();
        for _ in 0..3 {
            held.push(gate.enter(Some("slow")).await.unwrap());
        }
        assert_eq!(gate.enter(Some("slow")).await.unwrap_err().code, Code::RateLimited);
        drop(gate.enter(Some("other")).await.unwrap());
        held.pop();
        gate.enter(Some("slow")).await.unwrap();
        held.clear();
        assert!(gate.in_flight.lock().unwrap().is_empty(), "an idle key uses no memory");
    }
}
