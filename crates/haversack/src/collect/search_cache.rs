//! A cache of one question's searches, so that layers that search for the same share one search.

use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};

use haversack_store::store::error::ReadError;
use haversack_store::store::query::{Filter, FuzzySearch, Hit, TextSearch};
use tokio::sync::OnceCell;

/// A search, as the key of its hits.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum SearchKey {
    /// By words.
    Text(TextSearch),
    /// By the question's own vector, with a filter and a limit.
    Vector(Filter, usize),
    /// By spelling.
    Fuzzy(FuzzySearch),
}

/// The hits of a search, once it has succeeded.
type CachedHits = Arc<OnceCell<Arc<[Hit]>>>;

/// The searches of one question and their hits. Clones share the hits.
///
/// A snapshot does not change, so the same search always has the same hits. The cache belongs to
/// one question and therefore to one viewer.
#[derive(Debug, Clone, Default)]
pub struct SearchCache {
    entries: Arc<Mutex<Vec<(SearchKey, CachedHits)>>>,
    /// The largest planned limit of a hybrid search, by filter.
    planned_limits: Vec<(Filter, usize)>,
}

impl SearchCache {
    /// Creates an empty cache. Searches with the same filter share the largest limit planned for
    /// it.
    pub(super) fn with_planned_limits(
        planned: impl IntoIterator<Item = (Filter, usize)>,
    ) -> SearchCache {
        let mut planned_limits: Vec<(Filter, usize)> = Vec::new();
        for (filter, limit) in planned {
            match planned_limits.iter_mut().find(|(other, _)| *other == filter) {
                Some((_, largest)) => *largest = limit.max(*largest),
                None => planned_limits.push((filter, limit)),
            }
        }
        SearchCache { entries: Arc::default(), planned_limits }
    }

    /// Returns the limit to search with, at least `wanted`.
    pub(super) fn limit_for(&self, filter: &Filter, wanted: usize) -> usize {
        let planned = self.planned_limits.iter().find(|(other, _)| other == filter);
        planned.map_or(wanted, |(_, limit)| wanted.max(*limit))
    }

    /// Returns the hits of a search, and runs it if nobody has. A failed search is not cached: the
    /// next caller runs it again.
    pub(super) async fn get_or_search(
        &self,
        key: SearchKey,
        search: impl Future<Output = Result<Vec<Hit>, ReadError>>,
    ) -> Result<Arc<[Hit]>, ReadError> {
        let cached = self.entry(key);
        let hits = cached.get_or_try_init(|| async { search.await.map(Arc::from) }).await?;
        Ok(Arc::clone(hits))
    }

    /// Returns the entry of a key, and adds an empty one if there is none.
    fn entry(&self, key: SearchKey) -> CachedHits {
        // The list is valid after every statement, so a panic elsewhere cannot have broken it.
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, cached)) = entries.iter().find(|(other, _)| *other == key) {
            return Arc::clone(cached);
        }
        let cached = CachedHits::default();
        entries.push((key, Arc::clone(&cached)));
        cached
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[tokio::test]
    async fn a_search_runs_once_unless_it_failed() {
        let runs = Cell::new(0);
        let cache =
            SearchCache::with_planned_limits([(Filter::default(), 100), (Filter::default(), 500)]);
        let search = async |key: SearchKey, fails: bool| {
            let work = async {
                runs.set(runs.get() + 1);
                if fails {
                    return Err(ReadError::invalid("limit", "is too large"));
                }
                Ok(Vec::new())
            };
            cache.clone().get_or_search(key, work).await.is_ok()
        };
        let key = |limit| SearchKey::Vector(Filter::default(), limit);
        assert!(!search(key(1), true).await);
        assert!(search(key(1), false).await);
        assert!(search(key(1), true).await, "the hits come from the cache");
        assert_eq!(runs.get(), 2);
        assert!(search(key(2), false).await);
        assert_eq!(runs.get(), 3);
        assert_eq!(cache.limit_for(&Filter::default(), 7), 500);
        assert_eq!(cache.limit_for(&Filter::everything(), 7), 7);
    }
}
