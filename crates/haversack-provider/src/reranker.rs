//! Reranking by a provider, and a deadline for rerankers of any sort.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicUsize, Ordering};
use std::time::Duration;

use haversack_core::rank::{RerankError, Reranker};
use haversack_core::units::Score;

use crate::allowance::Reservation;
use crate::error::ProviderError;
use crate::protocol::{RerankCall, add_extra};
use crate::provider::Provider;
use crate::settings::{ModelChoice, ModelRole};
use crate::usage::{Usage, UsageTotals};

/// How long a request waits for a reranker when the settings say nothing.
pub const RERANK_WITHIN: Duration = Duration::from_millis(1_000);

/// Texts of one call.
const BATCH: usize = 100;

/// A reranking model of a provider.
#[derive(Debug)]
pub struct RemoteReranker {
    provider: Arc<Provider>,
    choice: ModelChoice,
    name: String,
    /// Whether scores are logits: set, or seen once.
    is_raw: AtomicBool,
    totals: Arc<UsageTotals>,
}

impl RemoteReranker {
    pub(crate) fn new(
        provider: Arc<Provider>,
        choice: ModelChoice,
        totals: Arc<UsageTotals>,
    ) -> RemoteReranker {
        let model = if choice.model.is_empty() { "default" } else { &choice.model };
        let name = format!("{model}@{}", provider.name());
        let is_raw = AtomicBool::new(choice.raw_scores == Some(true));
        RemoteReranker { provider, choice, name, is_raw, totals }
    }

    /// Scores as the provider gives them, and the URL that was called.
    pub(crate) fn raw_scores(
        &self,
        query: &str,
        texts: &[&str],
    ) -> Result<(Vec<f64>, String), ProviderError> {
        let within = self.choice.deadline_ms.map_or(RERANK_WITHIN, Duration::from_millis);
        let mut all = Vec::with_capacity(texts.len());
        let mut called = String::new();
        for texts in texts.chunks(self.choice.batch.unwrap_or(BATCH).max(1)) {
            let call = RerankCall { model: &self.choice.model, query, texts };
            let mut outgoing = self.provider.protocol.rerank(&call).ok_or_else(|| {
                let what = format!("{}: its protocol has no reranking", self.provider.name());
                ProviderError::Settings { what }
            })?;
            add_extra(&mut outgoing.body, &self.choice.extra);
            let bytes = query.len() * texts.len() + texts.iter().map(|t| t.len()).sum::<usize>();
            let estimated = bytes as u64 / 4;
            let role = (ModelRole::Rerank, &self.choice);
            let _place = Reservation::take(estimated, role, &self.totals)?;
            let answered = self.provider.call_blocking(outgoing, estimated, within);
            let answered = answered.map_err(|failed| {
                let usage = Usage {
                    calls: failed.attempts,
                    failures: 1,
                    time: failed.time,
                    ..Usage::default()
                };
                self.totals.record(ModelRole::Rerank, &usage);
                *failed.error
            })?;
            let read = self.provider.protocol.read_scores(&answered.value, texts.len());
            let tokens = read.as_ref().ok().and_then(|read| read.tokens).unwrap_or(estimated);
            let usage = Usage {
                calls: answered.attempts,
                failures: u64::from(read.is_err()),
                tokens_in: tokens,
                time: answered.time,
                ..Usage::default()
            };
            self.totals.record(ModelRole::Rerank, &usage.with_cost(&self.choice));
            let read = read.map_err(|what| self.provider.malformed(&answered.url, what))?;
            all.extend(read.scores);
            called = answered.url;
        }
        Ok((all, called))
    }

    /// Maps scores to 0..1. Logits are recognised by a value outside of it, once and for all.
    fn to_unit(&self, scores: &[f64]) -> Vec<Score> {
        let is_outside = |score: &f64| !(0.0..=1.0).contains(score);
        if self.choice.raw_scores.is_none() && scores.iter().any(is_outside) {
            self.is_raw.store(true, Ordering::Relaxed);
        }
        let is_raw = self.is_raw.load(Ordering::Relaxed);
        let unit = |score: &f64| if is_raw { 1.0 / (1.0 + (-score).exp()) } else { *score };
        scores.iter().map(|score| Score::unit(unit(score))).collect()
    }
}

impl Reranker for RemoteReranker {
    fn name(&self) -> &str {
        &self.name
    }

    fn is_remote(&self) -> bool {
        true
    }

    fn scores(&self, query: &str, texts: &[&str]) -> Result<Vec<Score>, RerankError> {
        match self.raw_scores(query, texts) {
            Ok((scores, _)) => Ok(self.to_unit(&scores)),
            Err(error) => {
                Err(RerankError { reranker: self.name.clone(), cause: error.chain().into() })
            }
        }
    }
}

/// A reranker that answers in time or not at all. A local model cannot be interrupted, so it finishes on a thread
/// of its own after the caller has gone on.
#[derive(Debug)]
pub struct RerankDeadline {
    inner: Arc<dyn Reranker>,
    within: Duration,
    /// Calls that run on after their deadline: they would only make the next one late, too.
    late: Arc<AtomicUsize>,
}

/// One call on its own thread. When it ends, by a panic too, it no longer counts as late.
struct RunningCall {
    state: Arc<AtomicU8>,
    late: Arc<AtomicUsize>,
}

const RUNNING: u8 = 0;
const LATE: u8 = 1;
const ENDED: u8 = 2;

impl Drop for RunningCall {
    fn drop(&mut self) {
        if self.state.swap(ENDED, Ordering::AcqRel) == LATE {
            self.late.fetch_sub(1, Ordering::AcqRel);
        }
    }
}

impl RerankDeadline {
    /// Gives a reranker a deadline.
    #[must_use]
    pub fn new(inner: Arc<dyn Reranker>, within: Duration) -> RerankDeadline {
        RerankDeadline { inner, within, late: Arc::default() }
    }

    fn late_error(&self, what: &str) -> RerankError {
        let cause = format!("{what} the deadline of {} ms", self.within.as_millis());
        RerankError { reranker: self.inner.name().to_owned(), cause: cause.into() }
    }
}

impl Reranker for RerankDeadline {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn is_remote(&self) -> bool {
        // Whether an answer is in time is as little certain as that of a remote one.
        true
    }

    fn scores(&self, query: &str, texts: &[&str]) -> Result<Vec<Score>, RerankError> {
        if self.late.load(Ordering::Acquire) > 0 {
            return Err(self.late_error("an earlier call is still running after"));
        }
        let (sender, receiver) = std::sync::mpsc::sync_channel(1);
        let (inner, state) = (Arc::clone(&self.inner), Arc::new(AtomicU8::new(RUNNING)));
        let call = RunningCall { state: Arc::clone(&state), late: Arc::clone(&self.late) };
        let query = query.to_owned();
        let texts: Vec<String> = texts.iter().map(|text| (*text).to_owned()).collect();
        std::thread::spawn(move || {
            let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
            let scores = inner.scores(&query, &texts);
            drop(call);
            // The caller may have gone on.
            let _ = sender.send(scores);
        });
        receiver.recv_timeout(self.within).unwrap_or_else(|_| {
            // Counted before it is marked, so that a call that ends just now is taken off again.
            self.late.fetch_add(1, Ordering::AcqRel);
            let exchange = (Ordering::AcqRel, Ordering::Acquire);
            if state.compare_exchange(RUNNING, LATE, exchange.0, exchange.1).is_err() {
                self.late.fetch_sub(1, Ordering::AcqRel);
            }
            Err(self.late_error("not done within"))
        })
    }
}
