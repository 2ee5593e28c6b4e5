//! Recent packs: a bounded cache for each recipe, keyed by everything that decides a pack (K9). The
//! packs themselves are in one cache of the engine, bounded over all workspaces.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use moka::sync::Cache;

use super::caches::EngineCaches;
use crate::pipeline::Assembled;
use crate::recipe::CacheSpec;

/// Cache hits and misses (K11, K12). Requests to recipes without a cache, and requests that bypass
/// the cache, do not count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CacheCounts {
    /// Requests that were answered from the cache.
    pub hits: u64,
    /// Requests that were not in the cache.
    pub misses: u64,
}

impl CacheCounts {
    /// The share of requests that were hits; 0 without requests.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
    pub fn hit_rate(&self) -> f64 {
        self.hits as f64 / (self.hits + self.misses).max(1) as f64
    }
}

/// The cached packs of one workspace.
#[derive(Debug)]
pub(crate) struct PackCache {
    engine: Arc<EngineCaches>,
    recipes: Mutex<BTreeMap<String, RecipeCache>>,
    hits: AtomicU64,
    misses: AtomicU64,
}

/// The cached packs of one recipe, and its cache settings.
#[derive(Debug)]
struct RecipeCache {
    spec: CacheSpec,
    /// The number of each pack in the engine's cache, by its key.
    packs: Cache<String, u64>,
}

impl Drop for PackCache {
    fn drop(&mut self) {
        // Frees the packs in the engine's cache now, not when others need the room.
        self.invalidate_matching("");
        let recipes = self.recipes.get_mut().unwrap_or_else(PoisonError::into_inner);
        recipes.values().for_each(|recipe| recipe.packs.run_pending_tasks());
    }
}

impl PackCache {
    pub(super) fn new(engine: Arc<EngineCaches>) -> PackCache {
        let (recipes, hits, misses) = (Mutex::default(), AtomicU64::new(0), AtomicU64::new(0));
        PackCache { engine, recipes, hits, misses }
    }

    /// Returns the cache of a recipe; an empty one when its settings have changed.
    fn recipe_cache(&self, recipe: &str, spec: CacheSpec) -> Cache<String, u64> {
        let mut recipes = self.recipes.lock().unwrap_or_else(PoisonError::into_inner);
        let cached = recipes.get(recipe).filter(|cached| cached.spec == spec);
        if let Some(cached) = cached {
            return cached.packs.clone();
        }
        let engine = Arc::clone(&self.engine);
        let packs = Cache::builder()
            .max_capacity(spec.entries)
            .time_to_idle(spec.idle)
            .support_invalidation_closures()
            .eviction_listener(move |_, number, _| engine.packs().invalidate(&number))
            .build();
        recipes.insert(recipe.to_owned(), RecipeCache { spec, packs: packs.clone() });
        packs
    }

    /// Returns the cached pack for this key, and counts a hit or a miss.
    pub(crate) fn get(&self, recipe: &str, spec: CacheSpec, key: &str) -> Option<Arc<Assembled>> {
        let number = self.recipe_cache(recipe, spec).get(key);
        let pack = number.and_then(|number| self.engine.packs().get(&number));
        let count = if pack.is_some() { &self.hits } else { &self.misses };
        count.fetch_add(1, Ordering::Relaxed);
        pack
    }

    /// Returns the hits and misses so far.
    pub(crate) fn counts(&self) -> CacheCounts {
        CacheCounts {
            hits: self.hits.load(Ordering::Relaxed),
            misses: self.misses.load(Ordering::Relaxed),
        }
    }

    /// Caches a pack.
    pub(crate) fn put(&self, recipe: &str, spec: CacheSpec, key: String, pack: &Arc<Assembled>) {
        let number = self.engine.next_number();
        self.engine.packs().insert(number, Arc::clone(pack));
        self.recipe_cache(recipe, spec).insert(key, number);
    }

    /// Removes the packs whose key contains this text; all of them when it is empty.
    pub(crate) fn invalidate_matching(&self, pattern: &str) {
        let recipes = self.recipes.lock().unwrap_or_else(PoisonError::into_inner);
        for recipe in recipes.values() {
            if pattern.is_empty() {
                recipe.packs.invalidate_all();
                continue;
            }
            let pattern = pattern.to_owned();
            // Fails only without support for closures, which `recipe_cache` enables.
            let result = recipe.packs.invalidate_entries_if(move |key, _| key.contains(&pattern));
            debug_assert!(result.is_ok(), "invalidation closures are supported");
        }
    }
}
