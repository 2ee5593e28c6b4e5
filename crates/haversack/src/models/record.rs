//! What models answered while a pack was made. A remote model may answer differently another time, so a
//! receipt keeps the answers, and a replay uses them.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use haversack_core::embed::{EmbedError, Embedder, Model, Vector};
use haversack_core::rank::{RerankError, Reranker};
use haversack_core::units::{Score, Timestamp};
use haversack_provider::{Allowance, AllowanceScope, ScopedUsage, UsageScope};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::summaries::MissingSummaries;
use crate::situation::{Judge, JudgeAnswer, JudgeError, Verdict};

/// The cause of a recorded failure when it is replayed.
const FAILED_THEN: &str = "the model failed when the pack was made";

/// What models answered, as a receipt keeps it. A call that failed is kept as `null`: the fallback is part of the
/// pack.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct ModelAnswers {
    /// Vectors of queries in half precision, as hexadecimal digits, by a hash of the text.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub vectors: BTreeMap<String, Option<String>>,
    /// Verdicts on conditions, by the condition.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub verdicts: BTreeMap<String, Option<RecordedVerdict>>,
    /// Scores of a reranker, by a hash of the query and the text.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub scores: BTreeMap<String, Option<f64>>,
    /// Whether summaries by a model were looked up. They are items, so the state of the store has them.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub summaries: bool,
}

/// A verdict as a receipt keeps it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RecordedVerdict {
    /// `yes`, `no` or `undecided`.
    pub answer: String,
    /// How sure the judge was.
    pub sureness: f64,
    /// The judge's reason.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub reason: Option<String>,
}

impl ModelAnswers {
    /// Whether no remote model was asked.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == ModelAnswers::default()
    }
}

/// Records what models answer for one pack and what that uses, or answers from an earlier record.
#[derive(Debug, Default)]
pub(crate) struct ModelRecord {
    replayed: Option<ModelAnswers>,
    /// What the calls count against, whatever thread makes them.
    allowances: Vec<Arc<Allowance>>,
    state: Mutex<RecordState>,
}

#[derive(Debug, Default)]
struct RecordState {
    answers: ModelAnswers,
    usage: ScopedUsage,
}

impl ModelRecord {
    /// A record that answers from an earlier one where it can.
    fn replaying(replayed: Option<ModelAnswers>, allowances: Vec<Arc<Allowance>>) -> ModelRecord {
        ModelRecord { replayed, allowances, state: Mutex::default() }
    }

    /// What models answered, and what that used.
    pub(crate) fn so_far(&self) -> (ModelAnswers, ScopedUsage) {
        let state = self.lock();
        (state.answers.clone(), state.usage.clone())
    }

    fn lock(&self) -> MutexGuard<'_, RecordState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds what a call used.
    fn add_usage(&self, used: &ScopedUsage) {
        let usage = &mut self.lock().usage;
        for (role, used) in &used.by_role {
            usage.by_role.entry(*role).or_default().add(used);
        }
        for note in &used.notes {
            if !usage.notes.contains(note) {
                usage.notes.push(note);
            }
        }
    }

    /// Runs a blocking call and adds what it used.
    pub(crate) fn measured<T>(&self, call: impl FnOnce() -> T) -> T {
        let _allowances = AllowanceScope::enter(&self.allowances);
        let scope = UsageScope::start();
        let result = call();
        self.add_usage(&scope.finish());
        result
    }
}

/// The models of one pack: as they are, or recorded when an answer may differ another time.
#[derive(Clone)]
pub(crate) struct PackModels {
    pub(crate) embedder: Arc<dyn Embedder>,
    pub(crate) judge: Arc<dyn Judge>,
    pub(crate) reranker: Option<Arc<dyn Reranker>>,
    pub(crate) record: Arc<ModelRecord>,
    /// The summaries that the pack does without, if a model summarises.
    pub(crate) missing_summaries: Option<MissingSummaries>,
}

impl PackModels {
    /// Wraps the models that are remote; their calls count against the allowances. A replay looks up summaries
    /// if the first pack did.
    pub(crate) fn new(
        embedder: Arc<dyn Embedder>,
        judge: Arc<dyn Judge>,
        reranker: Option<Arc<dyn Reranker>>,
        summarises: bool,
        (replayed, allowances): (Option<ModelAnswers>, Vec<Arc<Allowance>>),
    ) -> PackModels {
        let summarises = replayed.as_ref().map_or(summarises, |replayed| replayed.summaries);
        let record = Arc::new(ModelRecord::replaying(replayed, allowances));
        record.lock().answers.summaries = summarises;
        let recorded = || Arc::clone(&record);
        PackModels {
            embedder: match embedder.is_remote() {
                true => Arc::new(RecordedEmbedder { inner: embedder, record: recorded() }),
                false => embedder,
            },
            judge: match judge.is_remote() {
                true => Arc::new(RecordedJudge { inner: judge, record: recorded() }),
                false => judge,
            },
            reranker: reranker.map(|reranker| match reranker.is_remote() {
                true => Arc::new(RecordedReranker { inner: reranker, record: recorded() }) as _,
                false => reranker,
            }),
            record,
            missing_summaries: summarises.then(MissingSummaries::default),
        }
    }
}

#[derive(Debug)]
struct RecordedEmbedder {
    inner: Arc<dyn Embedder>,
    record: Arc<ModelRecord>,
}

impl Embedder for RecordedEmbedder {
    fn model(&self) -> &Model {
        self.inner.model()
    }

    fn is_remote(&self) -> bool {
        true
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Vector>, EmbedError> {
        self.inner.embed(texts)
    }

    /// Vectors are rounded to half precision, so that the record has all their bits.
    fn embed_query(&self, query: &str) -> Result<Vector, EmbedError> {
        let key = short_hash(&[query]);
        let replayed = self.record.replayed.as_ref().and_then(|known| known.vectors.get(&key));
        let vector = match replayed {
            Some(Some(digits)) => {
                let vector = bytes_of(digits).and_then(|bytes| Vector::from_half(&bytes).ok());
                vector.ok_or_else(|| self.failed("the recorded vector is damaged"))
            }
            Some(None) => Err(self.failed(FAILED_THEN)),
            None => {
                let vector = self.record.measured(|| self.inner.embed_query(query));
                vector.map(|vector| Vector::from_half(&vector.to_half()).unwrap_or(vector))
            }
        };
        let kept = vector.as_ref().ok().map(|vector| digits_of(&vector.to_half()));
        self.record.lock().answers.vectors.insert(key, kept);
        vector
    }
}

impl RecordedEmbedder {
    fn failed(&self, cause: &str) -> EmbedError {
        EmbedError::RetryLater { model: self.model().clone(), cause: cause.into() }
    }
}

#[derive(Debug)]
struct RecordedReranker {
    inner: Arc<dyn Reranker>,
    record: Arc<ModelRecord>,
}

impl Reranker for RecordedReranker {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn is_remote(&self) -> bool {
        true
    }

    fn scores(&self, query: &str, texts: &[&str]) -> Result<Vec<Score>, RerankError> {
        let keys: Vec<String> = texts.iter().map(|text| short_hash(&[query, text])).collect();
        let replayed = self.record.replayed.as_ref();
        let known: Option<Vec<Option<f64>>> = replayed.and_then(|replayed| {
            keys.iter().map(|key| replayed.scores.get(key).copied()).collect()
        });
        let scores = match known {
            Some(known) => match known.into_iter().collect::<Option<Vec<f64>>>() {
                Some(scores) => Ok(scores.into_iter().map(Score::unit).collect()),
                None => {
                    Err(RerankError { reranker: self.name().to_owned(), cause: FAILED_THEN.into() })
                }
            },
            None => self.record.measured(|| self.inner.scores(query, texts)),
        };
        let mut state = self.record.lock();
        for (place, key) in keys.into_iter().enumerate() {
            let score = scores.as_ref().ok().and_then(|scores: &Vec<Score>| scores.get(place));
            state.answers.scores.insert(key, score.map(|score| score.get()));
        }
        drop(state);
        scores
    }
}

struct RecordedJudge {
    inner: Arc<dyn Judge>,
    record: Arc<ModelRecord>,
}

impl RecordedJudge {
    fn replayed(&self, conditions: &[&str]) -> Option<Result<Vec<Verdict>, JudgeError>> {
        let known = &self.record.replayed.as_ref()?.verdicts;
        let known: Option<Vec<Option<RecordedVerdict>>> =
            conditions.iter().map(|condition| known.get(*condition).cloned()).collect();
        let verdicts: Option<Vec<RecordedVerdict>> = known?.into_iter().collect();
        Some(match verdicts {
            Some(verdicts) => Ok(verdicts.iter().map(RecordedVerdict::verdict).collect()),
            None => Err(JudgeError { judge: self.name().to_owned(), cause: FAILED_THEN.into() }),
        })
    }
}

impl Judge for RecordedJudge {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn is_remote(&self) -> bool {
        true
    }

    fn deadline(&self) -> std::time::Duration {
        self.inner.deadline()
    }

    fn judge<'a>(
        &'a self,
        situation: &'a Map<String, Value>,
        now: Timestamp,
        conditions: &'a [&'a str],
    ) -> BoxFuture<'a, Result<Vec<Verdict>, JudgeError>> {
        async move {
            let verdicts = match self.replayed(conditions) {
                Some(verdicts) => verdicts,
                None => {
                    let call = self.inner.judge(situation, now, conditions);
                    MeasuredFuture { inner: call, record: &self.record }.await
                }
            };
            let mut state = self.record.lock();
            for (place, condition) in conditions.iter().enumerate() {
                let verdict = verdicts.as_ref().ok().and_then(|verdicts| verdicts.get(place));
                let kept = verdict.map(RecordedVerdict::of);
                state.answers.verdicts.insert((*condition).to_owned(), kept);
            }
            drop(state);
            verdicts
        }
        .boxed()
    }
}

impl RecordedVerdict {
    fn of(verdict: &Verdict) -> RecordedVerdict {
        RecordedVerdict {
            answer: verdict.answer.as_str().to_owned(),
            sureness: verdict.sureness.get(),
            reason: verdict.reason.clone(),
        }
    }

    fn verdict(&self) -> Verdict {
        let answer = match self.answer.as_str() {
            "yes" => JudgeAnswer::Yes,
            "no" => JudgeAnswer::No,
            _ => JudgeAnswer::Undecided,
        };
        Verdict { answer, sureness: Score::unit(self.sureness), reason: self.reason.clone() }
    }
}

/// Adds what a future uses to a record, poll by poll: other packs may be polled on the same thread in between.
struct MeasuredFuture<'a, F> {
    inner: F,
    record: &'a ModelRecord,
}

impl<F: Future + Unpin> Future for MeasuredFuture<'_, F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let record = self.record;
        record.measured(|| Pin::new(&mut self.inner).poll(context))
    }
}

fn short_hash(parts: &[&str]) -> String {
    let mut hasher = blake3::Hasher::new();
    for part in parts {
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part.as_bytes());
    }
    hasher.finalize().to_hex()[..16].to_owned()
}

fn digits_of(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn bytes_of(digits: &str) -> Option<Vec<u8>> {
    let byte = |at: usize| u8::from_str_radix(digits.get(at..at + 2)?, 16).ok();
    (0..digits.len()).step_by(2).map(byte).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug)]
    struct Fickle(Mutex<f32>, Model);

    impl Embedder for Fickle {
        fn model(&self) -> &Model {
            &self.1
        }
        fn is_remote(&self) -> bool {
            true
        }
        fn embed(&self, texts: &[&str]) -> Result<Vec<Vector>, EmbedError> {
            let mut turn = self.0.lock().unwrap();
            *turn += 0.1;
            Ok(texts.iter().map(|_| Vector::new(vec![*turn, 1.0]).unwrap()).collect())
        }
    }

    #[test]
    fn a_replay_gets_the_vector_of_the_first_time_x2() {
        let model = Model { name: "m".into(), version: "1".into(), dimensions: 2 };
        let fickle: Arc<dyn Embedder> = Arc::new(Fickle(Mutex::new(0.0), model));
        let judge = || Arc::new(crate::situation::LocalJudge::new()) as Arc<dyn Judge>;
        let first = PackModels::new(Arc::clone(&fickle), judge(), None, false, (None, Vec::new()));
        let vector = first.embedder.embed_query("tea").unwrap();
        let (answers, _) = first.record.so_far();
        assert_eq!(answers.vectors.len(), 1);
        let replayed = (Some(answers), Vec::new());
        let again = PackModels::new(Arc::clone(&fickle), judge(), None, false, replayed);
        assert_eq!(again.embedder.embed_query("tea").unwrap(), vector);
        assert_ne!(again.embedder.embed_query("coffee").unwrap(), vector, "not recorded: asked");
    }

    #[test]
    fn digits_round_trip() {
        let bytes: Vec<u8> = (0..=255).collect();
        assert_eq!(bytes_of(&digits_of(&bytes)), Some(bytes));
        assert_eq!(bytes_of("0g"), None);
    }
}
