//! Compiled conditions by their source: each is compiled once, however many requests evaluate it.

use moka::sync::Cache;

use super::{CONDITION_BYTES_MAX, Condition, ConditionError};

/// Most sources in the cache; the least used are evicted.
pub const CONDITIONS_CACHED_MAX: u64 = 20_000;

type CompileResult = Result<Condition, ConditionError>;

/// Bounded conditions by their source. Shared by all requests; cheap to clone.
#[derive(Debug, Clone)]
pub struct ConditionCache {
    compiled: Cache<Box<str>, CompileResult>,
}

impl Default for ConditionCache {
    fn default() -> ConditionCache {
        ConditionCache::new()
    }
}

impl ConditionCache {
    /// Creates an empty cache.
    #[must_use]
    pub fn new() -> ConditionCache {
        ConditionCache { compiled: Cache::new(CONDITIONS_CACHED_MAX) }
    }

    /// Compiles a source, or returns its condition from the cache.
    ///
    /// # Errors
    /// As [`Condition::compile_bounded`].
    pub fn compile_bounded(&self, source: &str) -> CompileResult {
        // A text over the limit is refused by its length and is not worth a cache entry.
        if source.len() > CONDITION_BYTES_MAX {
            return Condition::compile_bounded(source);
        }
        if let Some(compiled) = self.compiled.get(source) {
            return compiled;
        }
        let compiled = Condition::compile_bounded(source);
        self.compiled.insert(source.into(), compiled.clone());
        compiled
    }
}
