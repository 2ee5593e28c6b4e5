//! Embeddings from a provider: in batches, several at once, checked and normalised.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use haversack_core::embed::{EmbedError, Embedder, Model, Vector};

use crate::allowance::Reservation;
use crate::error::ProviderError;
use crate::protocol::{EmbedCall, Embeddings, TextRole, add_extra};
use crate::provider::{Failed, Provider};
use crate::settings::{ModelChoice, ModelRole};
use crate::usage::{Usage, UsageTotals};

/// How long stored texts may wait for the provider, rate limits included: an import goes on at the provider's
/// speed.
const PASSAGES_WITHIN: Duration = Duration::from_secs(15 * 60);

/// Most bytes of one call's texts.
const BATCH_BYTES_MAX: usize = 512 << 10;

/// An embedding model of a provider.
#[derive(Debug)]
pub struct RemoteEmbedder {
    inner: Arc<EmbeddingCalls>,
    model: Model,
}

/// The calls of one embedding model, shared with the tasks that make them.
#[derive(Debug)]
struct EmbeddingCalls {
    provider: Arc<Provider>,
    choice: ModelChoice,
    /// Texts per call; smaller once a call was too large.
    batch: AtomicUsize,
    totals: Arc<UsageTotals>,
}

impl RemoteEmbedder {
    /// An embedder whose dimensions are set or were learnt before.
    pub(crate) fn new(
        provider: Arc<Provider>,
        choice: ModelChoice,
        dimensions: usize,
        totals: Arc<UsageTotals>,
    ) -> RemoteEmbedder {
        let version = fingerprint(&provider, &choice);
        let model = Model { name: choice.model.clone(), version, dimensions };
        let batch = choice.batch.unwrap_or_else(|| provider.protocol.batch());
        let batch = AtomicUsize::new(batch);
        let inner = Arc::new(EmbeddingCalls { provider, choice, batch, totals });
        RemoteEmbedder { inner, model }
    }

    /// Embeds one short text, unlike any word of an error message, to learn how long the model's vectors are. Returns the URL that was called, too.
    ///
    /// # Errors
    /// When the provider does not answer or its answer cannot be used.
    pub(crate) fn learn_dimensions(
        provider: &Arc<Provider>,
        choice: &ModelChoice,
    ) -> Result<(usize, String), ProviderError> {
        let call = EmbedCall {
            model: &choice.model,
            texts: &["Zwölf Boxkämpfer jagen Viktor quer über den Sylter Deich."],
            role: TextRole::Query,
            dimensions: choice.dimensions,
        };
        let mut outgoing = provider.protocol.embed(&call).ok_or_else(|| unsupported(provider))?;
        add_extra(&mut outgoing.body, &choice.extra);
        let within = provider.timeout() * 2;
        let answered =
            provider.call_blocking(outgoing, 4, within).map_err(|failed| *failed.error)?;
        let read = provider.protocol.read_embeddings(&answered.value, 1);
        let mut read = read.map_err(|what| provider.malformed(&answered.url, what))?;
        let dimensions = read.vectors.pop().unwrap_or_default().len();
        match choice.dimensions {
            _ if dimensions == 0 => {
                Err(provider.malformed(&answered.url, "the vector is empty".to_owned()))
            }
            Some(expected) if expected != dimensions => Err(provider.malformed(
                &answered.url,
                format!(
                    "its vectors have {dimensions} dimensions, but models.embed.dimensions is {expected}"
                ),
            )),
            _ => Ok((dimensions, answered.url)),
        }
    }

    fn embed_as(
        &self,
        texts: &[&str],
        role: TextRole,
        within: Duration,
    ) -> Result<Vec<Vector>, EmbedError> {
        if texts.is_empty() {
            return Ok(Vec::new());
        }
        let (choice, totals) = (&self.inner.choice, &self.inner.totals);
        let _place = Reservation::take(estimated_tokens(texts), (ModelRole::Embed, choice), totals)
            .map_err(|error| self.embed_error(error))?;
        let (result, usage) = self.inner.embed_blocking(texts, role, within, self.model.dimensions);
        totals.record(ModelRole::Embed, &usage.with_cost(choice));
        result.map_err(|error| self.embed_error(error))
    }

    fn embed_error(&self, error: ProviderError) -> EmbedError {
        let (model, is_transient) = (self.model.clone(), error.is_transient());
        let cause = error.into();
        if is_transient {
            EmbedError::RetryLater { model, cause }
        } else {
            EmbedError::NeverRetry { model, cause }
        }
    }
}

impl Embedder for RemoteEmbedder {
    fn model(&self) -> &Model {
        &self.model
    }

    fn is_remote(&self) -> bool {
        true
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Vector>, EmbedError> {
        self.embed_as(texts, TextRole::Passage, PASSAGES_WITHIN)
    }

    fn embed_query(&self, query: &str) -> Result<Vector, EmbedError> {
        let deadline = self.inner.choice.deadline_ms.map(Duration::from_millis);
        let within = deadline.unwrap_or_else(|| self.inner.provider.timeout());
        let mut vectors = self.embed_as(&[query], TextRole::Query, within)?;
        vectors.pop().ok_or_else(|| EmbedError::NeverRetry {
            model: self.model.clone(),
            cause: "the embedder returned no vector for the query".into(),
        })
    }
}

/// Estimates the tokens of texts by their length.
fn estimated_tokens(texts: &[&str]) -> u64 {
    texts.iter().map(|text| text.len() as u64 / 4 + 1).sum()
}

/// Identifies everything that decides a vector: vectors of different fingerprints are not comparable.
fn fingerprint(provider: &Provider, choice: &ModelChoice) -> String {
    let mut hasher = blake3::Hasher::new();
    let dimensions = choice.dimensions.map(|count| count.to_string()).unwrap_or_default();
    let extra = serde_json::Value::Object(choice.extra.clone()).to_string();
    let parts = [
        provider.protocol.name(),
        provider.base(),
        &choice.model,
        &choice.query_prefix,
        &choice.passage_prefix,
        &dimensions,
        &extra,
    ];
    for part in parts {
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part.as_bytes());
    }
    format!("remote-{}", &hasher.finalize().to_hex()[..12])
}

fn unsupported(provider: &Provider) -> ProviderError {
    let what = format!("{}: its protocol has no embeddings", provider.name());
    ProviderError::Settings { what }
}

type BatchFuture<'a> =
    Pin<Box<dyn Future<Output = (Result<Vec<Vector>, ProviderError>, Usage)> + Send + 'a>>;

impl EmbeddingCalls {
    /// Embeds texts in batches that run at once as far as the provider's limits allow, and blocks this thread.
    fn embed_blocking(
        self: &Arc<Self>,
        texts: &[&str],
        role: TextRole,
        within: Duration,
        dimensions: usize,
    ) -> (Result<Vec<Vector>, ProviderError>, Usage) {
        let prefix = match role {
            TextRole::Query => &self.choice.query_prefix,
            TextRole::Passage => &self.choice.passage_prefix,
        };
        let (sender, receiver) = std::sync::mpsc::channel();
        let batches = self.batches(texts);
        let count = batches.len();
        for (place, batch) in batches.into_iter().enumerate() {
            let batch: Vec<String> = batch.iter().map(|text| format!("{prefix}{text}")).collect();
            let (calls, sender) = (Arc::clone(self), sender.clone());
            self.provider.spawn(async move {
                let made = calls.embed_batch(&batch, role, within, dimensions).await;
                // Nobody waits any more once a batch failed.
                let _ = sender.send((place, made));
            });
        }
        drop(sender);
        let mut usage = Usage::default();
        let mut made: Vec<Option<Vec<Vector>>> = vec![None; count];
        for (place, (result, used)) in receiver {
            usage.add(&used);
            match result {
                Ok(vectors) => made[place] = Some(vectors),
                Err(error) => return (Err(error), usage),
            }
        }
        if made.iter().any(Option::is_none) {
            let (provider, what) = (self.provider.name().to_owned(), "a thread");
            return (Err(ProviderError::Queued { provider, what }), usage);
        }
        (Ok(made.into_iter().flatten().flatten().collect()), usage)
    }

    /// Splits texts by the number and the bytes that one call may have.
    fn batches<'t>(&self, texts: &'t [&'t str]) -> Vec<&'t [&'t str]> {
        let limit = self.batch.load(Ordering::Relaxed).max(1);
        let mut batches = Vec::new();
        let (mut start, mut bytes) = (0, 0);
        for (place, text) in texts.iter().enumerate() {
            let is_full = place - start == limit || bytes + text.len() > BATCH_BYTES_MAX;
            if place > start && is_full {
                batches.push(&texts[start..place]);
                (start, bytes) = (place, 0);
            }
            bytes += text.len();
        }
        batches.push(&texts[start..]);
        batches
    }

    /// Embeds one batch; one that the provider finds too large is halved.
    fn embed_batch<'a>(
        &'a self,
        texts: &'a [String],
        role: TextRole,
        within: Duration,
        dimensions: usize,
    ) -> BatchFuture<'a> {
        Box::pin(async move {
            let borrowed: Vec<&str> = texts.iter().map(String::as_str).collect();
            let call = EmbedCall {
                model: &self.choice.model,
                texts: &borrowed,
                role,
                dimensions: self.choice.dimensions,
            };
            let Some(mut outgoing) = self.provider.protocol.embed(&call) else {
                return (Err(unsupported(&self.provider)), Usage::default());
            };
            add_extra(&mut outgoing.body, &self.choice.extra);
            let estimated = estimated_tokens(&borrowed);
            let answered = match self.provider.call(&outgoing, estimated, within).await {
                Ok(answered) => answered,
                Err(failed) => return self.halve(texts, role, within, dimensions, failed).await,
            };
            let read = self.provider.protocol.read_embeddings(&answered.value, texts.len());
            let mut usage = Usage {
                calls: answered.attempts,
                tokens_in: estimated,
                time: answered.time,
                ..Usage::default()
            };
            let read = read.and_then(|Embeddings { vectors, tokens }| {
                usage.tokens_in = tokens.unwrap_or(estimated);
                checked(vectors, dimensions)
            });
            match read {
                Ok(vectors) => {
                    usage.texts = vectors.len() as u64;
                    (Ok(vectors), usage)
                }
                Err(what) => {
                    usage.failures = 1;
                    (Err(self.provider.malformed(&answered.url, what)), usage)
                }
            }
        })
    }

    async fn halve(
        &self,
        texts: &[String],
        role: TextRole,
        within: Duration,
        dimensions: usize,
        failed: Failed,
    ) -> (Result<Vec<Vector>, ProviderError>, Usage) {
        let mut usage = Usage { calls: failed.attempts, time: failed.time, ..Usage::default() };
        if texts.len() < 2 || !failed.error.may_be_too_large() {
            usage.failures = 1;
            return (Err(*failed.error), usage);
        }
        let (first, second) = texts.split_at(texts.len() / 2);
        let mut vectors = Vec::with_capacity(texts.len());
        for half in [first, second] {
            let (made, used) = self.embed_batch(half, role, within, dimensions).await;
            usage.add(&used);
            match made {
                Ok(made) => vectors.extend(made),
                Err(error) => return (Err(error), usage),
            }
        }
        // Both halves were accepted, so the size was the trouble.
        self.batch.fetch_min(texts.len() / 2, Ordering::Relaxed);
        (Ok(vectors), usage)
    }
}

/// Normalises vectors and checks that they have the model's dimensions.
fn checked(vectors: Vec<Vec<f32>>, dimensions: usize) -> Result<Vec<Vector>, String> {
    let check = |(place, numbers): (usize, Vec<f32>)| {
        let found = numbers.len();
        if found != dimensions {
            return Err(format!("vector {place} has {found} dimensions, not {dimensions}"));
        }
        Vector::new(numbers).map_err(|error| format!("vector {place}: {error}"))
    };
    vectors.into_iter().enumerate().map(check).collect()
}
