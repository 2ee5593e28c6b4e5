//! Answers that were just given: a bounded cache for each recipe, keyed by everything that decides
//! an answer (K9).

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use moka::sync::Cache;

use crate::pipeline::Assembled;
use crate::recipe::CacheSpec;

/// How often an answer was asked for again (K11, K12). Questions to recipes without a cache, and those
/// that want a fresh answer, do not count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Repeats {
    /// Questions that were answered from what was there.
    pub hits: u64,
    /// Questions that were answered anew.
    pub misses: u64,
}

impl Repeats {
    /// The part that was answered from what was there; nothing when nothing was asked.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
    pub fn hit_rate(&self) -> f64 {
        self.hits as f64 / (self.hits + self.misses).max(1) as f64
    }
}

/// The answers of one workspace.
#[derive(Debug, Default)]
pub(crate) struct Answers {
    kept: Mutex<BTreeMap<String, Kept>>,
    hits: AtomicU64,
    misses: AtomicU64,
}

/// The answers of one recipe, and how it wants them kept.
#[derive(Debug)]
struct Kept {
    spec: CacheSpec,
    answers: Cache<String, Arc<Assembled>>,
}

impl Answers {
    fn of(&self, recipe: &str, spec: CacheSpec) -> Cache<String, Arc<Assembled>> {
        let mut all = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = all.get(recipe).filter(|kept| kept.spec == spec);
        if let Some(kept) = kept {
            return kept.answers.clone();
        }
        let answers = Cache::builder()
            .max_capacity(spec.entries)
            .time_to_idle(spec.idle)
            .support_invalidation_closures()
            .build();
        all.insert(recipe.to_owned(), Kept { spec, answers: answers.clone() });
        answers
    }

    /// The answer to this very question, if it was just given.
    pub(crate) fn get(&self, recipe: &str, spec: CacheSpec, key: &str) -> Option<Arc<Assembled>> {
        let answer = self.of(recipe, spec).get(key);
        let count = if answer.is_some() { &self.hits } else { &self.misses };
        count.fetch_add(1, Ordering::Relaxed);
        answer
    }

    /// How often an answer was asked for again.
    pub(crate) fn repeats(&self) -> Repeats {
        Repeats {
            hits: self.hits.load(Ordering::Relaxed),
            misses: self.misses.load(Ordering::Relaxed),
        }
    }

    /// Keeps an answer.
    pub(crate) fn put(&self, recipe: &str, spec: CacheSpec, key: String, answer: &Arc<Assembled>) {
        self.of(recipe, spec).insert(key, Arc::clone(answer));
    }

    /// Forgets the answers whose key holds this text; all of them when it is empty.
    pub(crate) fn forget(&self, pattern: &str) {
        let all = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        for kept in all.values() {
            if pattern.is_empty() {
                kept.answers.invalidate_all();
                continue;
            }
            let pattern = pattern.to_owned();
            // Refused only without support for closures, which `of` asks for.
            let refused = kept.answers.invalidate_entries_if(move |key, _| key.contains(&pattern));
            debug_assert!(refused.is_ok(), "invalidation closures are supported");
        }
    }
}
