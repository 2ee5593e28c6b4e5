//! The caches of all workspaces of an engine: bounded over all of them, however many are open.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use haversack_core::embed::{Embedder, Model};
use moka::sync::Cache;

use super::CompiledRecipe;
use crate::embed::CachingEmbedder;
use crate::pipeline::Assembled;
use crate::receipt::Receipt;

/// How long a compiled recipe is reused before its source is read again (P14).
const COMPILED_TTL: Duration = Duration::from_secs(300);

/// Most compiled recipes in the cache.
const COMPILED_MAX: u64 = 1_024;

/// Most receipts in the cache, which serves them until they are written.
const RECEIPTS_MAX: u64 = 4_096;

/// Most bytes of cached packs, roughly.
const PACKS_BYTES_MAX: u64 = 64 << 20;

/// What a cached pack and each of its candidates take beside texts and features, roughly.
const PACK_BYTES: usize = 16 << 10;
const CANDIDATE_BYTES: usize = 3 << 10;

/// Models that workspaces use beside the engine's own and that stay loaded.
const MODELS_MAX: u64 = 4;

/// Vectors of queries that are cached for a provider's model, which each workspace opens for itself.
const REMOTE_VECTORS_MAX: u64 = 1_000;
const REMOTE_VECTORS_KEPT: Duration = Duration::from_secs(24 * 60 * 60);

/// The caches of an engine. Their keys begin with a number of the opened workspace, so that a
/// workspace which is removed, or closed and opened again, finds nothing of its former self.
#[derive(Debug)]
pub(crate) struct EngineCaches {
    n_numbers: AtomicU64,
    compiled: Cache<(u64, u64, String), Arc<CompiledRecipe>>,
    receipts: Cache<(u64, String), Arc<Receipt>>,
    packs: Cache<u64, Arc<Assembled>>,
    embedders: Cache<String, Arc<CachingEmbedder>>,
}

/// The bytes of a pack, roughly: what it considered takes more than what it says.
fn pack_bytes(pack: &Assembled) -> u32 {
    let ranked = pack.core.layers.iter().flat_map(|(_, ranked)| ranked);
    let candidates = ranked.map(|ranked| {
        let features = ranked.candidate.features.as_ref().map_or(0, |features| features.size());
        CANDIDATE_BYTES + ranked.candidate.text.len() + features
    });
    let bytes = PACK_BYTES + pack.pack.text.len() + candidates.sum::<usize>();
    u32::try_from(bytes).unwrap_or(u32::MAX)
}

impl Default for EngineCaches {
    fn default() -> EngineCaches {
        EngineCaches {
            n_numbers: AtomicU64::new(0),
            compiled: Cache::builder()
                .max_capacity(COMPILED_MAX)
                .time_to_live(COMPILED_TTL)
                .build(),
            receipts: Cache::new(RECEIPTS_MAX),
            packs: Cache::builder()
                .max_capacity(PACKS_BYTES_MAX)
                .weigher(|_, pack: &Arc<Assembled>| pack_bytes(pack))
                .build(),
            embedders: Cache::new(MODELS_MAX),
        }
    }
}

impl EngineCaches {
    /// A number that no workspace, pack or other user of the caches has.
    pub(super) fn next_number(&self) -> u64 {
        self.n_numbers.fetch_add(1, Ordering::Relaxed)
    }

    /// The embedder of a model on this machine, loaded once for all workspaces; that of a provider is
    /// opened for each.
    pub(super) fn embedder(
        &self,
        model: &Model,
        open: impl FnOnce() -> Option<Arc<dyn Embedder>>,
    ) -> Option<Arc<dyn Embedder>> {
        let name = model.to_string();
        if let Some(embedder) = self.embedders.get(&name) {
            return Some(embedder);
        }
        let embedder = open()?;
        if embedder.is_remote() {
            let (most, kept) = (REMOTE_VECTORS_MAX, REMOTE_VECTORS_KEPT);
            return Some(Arc::new(CachingEmbedder::with_limits(embedder, most, kept)));
        }
        let embedder = Arc::new(CachingEmbedder::new(embedder));
        self.embedders.insert(name, Arc::clone(&embedder));
        Some(embedder)
    }

    /// The packs, by a number of each.
    pub(super) const fn packs(&self) -> &Cache<u64, Arc<Assembled>> {
        &self.packs
    }
}

/// One workspace's part of the caches of recipes and receipts.
#[derive(Debug)]
pub(super) struct WorkspaceCaches {
    caches: Arc<EngineCaches>,
    /// The number of the workspace; another one after everything was forgotten.
    workspace: AtomicU64,
    /// Rises when recipes, templates or rankers change.
    rules: AtomicU64,
}

impl WorkspaceCaches {
    pub(super) fn new(caches: Arc<EngineCaches>) -> WorkspaceCaches {
        let workspace = AtomicU64::new(caches.next_number());
        WorkspaceCaches { workspace, caches, rules: AtomicU64::new(0) }
    }

    /// Finds nothing of what was cached before.
    pub(super) fn forget(&self) {
        self.workspace.store(self.caches.next_number(), Ordering::Release);
    }

    fn number(&self) -> u64 {
        self.workspace.load(Ordering::Acquire)
    }

    /// The state of the rules; a recipe that was compiled from it is cached under it.
    pub(super) fn rules(&self) -> u64 {
        self.rules.load(Ordering::Acquire)
    }

    /// Forgets compiled recipes, because what they were compiled from has changed.
    pub(super) fn bump_rules(&self) {
        self.rules.fetch_add(1, Ordering::AcqRel);
    }

    pub(super) fn compiled(&self, rules: u64, name: &str) -> Option<Arc<CompiledRecipe>> {
        self.caches.compiled.get(&(self.number(), rules, name.to_owned()))
    }

    pub(super) fn add_compiled(&self, rules: u64, name: &str, recipe: Arc<CompiledRecipe>) {
        self.caches.compiled.insert((self.number(), rules, name.to_owned()), recipe);
    }

    pub(super) fn receipt(&self, id: &str) -> Option<Arc<Receipt>> {
        self.caches.receipts.get(&(self.number(), id.to_owned()))
    }

    pub(super) fn add_receipt(&self, receipt: Arc<Receipt>) {
        self.caches.receipts.insert((self.number(), receipt.id.clone()), receipt);
    }
}
