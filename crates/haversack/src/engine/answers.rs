//! Answers that were just given: a bounded cache for each recipe, keyed by everything that decides
//! an answer (K9).

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use moka::sync::Cache;

use crate::pipeline::Assembled;
use crate::recipe::CacheSpec;

/// The answers of one workspace.
#[derive(Debug, Default)]
pub(crate) struct Answers(Mutex<BTreeMap<String, Kept>>);

/// The answers of one recipe, and how it wants them kept.
#[derive(Debug)]
struct Kept {
    spec: CacheSpec,
    answers: Cache<String, Arc<Assembled>>,
}

impl Answers {
    fn of(&self, recipe: &str, spec: CacheSpec) -> Cache<String, Arc<Assembled>> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
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
        self.of(recipe, spec).get(key)
    }

    /// Keeps an answer.
    pub(crate) fn put(&self, recipe: &str, spec: CacheSpec, key: String, answer: &Arc<Assembled>) {
        self.of(recipe, spec).insert(key, Arc::clone(answer));
    }

    /// Forgets the answers whose key holds this text; all of them when it is empty.
    pub(crate) fn forget(&self, pattern: &str) {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
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
