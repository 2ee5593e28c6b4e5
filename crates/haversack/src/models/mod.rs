//! Models from providers as the engine uses them: a judge of conditions, summaries, memories from
//! conversations, and a record of what they answered, so that a receipt replays.

mod extraction;
mod judge;
mod prompt;
mod record;
mod summaries;

use std::sync::Arc;

use haversack_core::embed::Embedder;
use haversack_core::rank::Reranker;
use haversack_provider::{ModelRole, ModelSet, ProviderError, UsageByRole};

use crate::embed::CachingEmbedder;
use crate::situation::Judge;

pub use extraction::{ExtractedMemory, Extraction, ExtractionOptions};
pub use judge::ChatJudge;
pub use record::{ModelAnswers, RecordedVerdict};
pub(crate) use record::{ModelRecord, PackModels};
pub use summaries::MissingSummaries;
pub(crate) use summaries::{
    SUMMARY, SummaryWorker, add_summaries, conversation_summary, page_summary,
};

/// Vectors of queries that are cached for each workspace where workspaces must not share.
const WORKSPACE_ENTRIES: u64 = 1_000;

/// How long those are cached.
const WORKSPACE_KEPT: std::time::Duration = std::time::Duration::from_secs(24 * 60 * 60);

/// The configured models, opened for an engine.
#[derive(Debug)]
pub(crate) struct EngineModels {
    set: Arc<ModelSet>,
    pub(crate) extractor: Option<Arc<haversack_provider::ChatModel>>,
    pub(crate) counter: Option<Arc<haversack_provider::TokenCounter>>,
    pub(crate) summaries: Option<SummaryWorker>,
    has_shared_cache: bool,
}

/// What the settings bring to an engine that its application does not bring itself.
pub(crate) struct ConfiguredModels {
    pub(crate) embedder: Option<Arc<dyn Embedder>>,
    pub(crate) judge: Option<Arc<dyn Judge>>,
    pub(crate) reranker: Option<Arc<dyn Reranker>>,
    pub(crate) models: EngineModels,
}

impl ConfiguredModels {
    /// Opens the models of a set. The dimensions of an embedder may have to be learnt by a call.
    pub(crate) fn open(set: Arc<ModelSet>) -> Result<ConfiguredModels, ProviderError> {
        let judge = set.chat(ModelRole::Judge)?;
        Ok(ConfiguredModels {
            embedder: set.embedder()?,
            judge: judge.map(|model| Arc::new(ChatJudge::new(model)) as Arc<dyn Judge>),
            reranker: set.reranker()?,
            models: EngineModels {
                extractor: set.chat(ModelRole::Extract)?,
                counter: set.counter()?,
                summaries: set.chat(ModelRole::Summarise)?.map(SummaryWorker::new),
                has_shared_cache: set.config().cache.is_some(),
                set,
            },
        })
    }
}

impl EngineModels {
    /// The models as they were opened.
    pub(crate) fn set(&self) -> &ModelSet {
        &self.set
    }

    /// What was used of all models.
    pub(crate) fn usage(&self) -> UsageByRole {
        self.set.usage().snapshot()
    }

    /// The embedder of one workspace. Where a shared cache is configured, each workspace has its own keys.
    pub(crate) fn embedder_for(
        &self,
        embedder: &Arc<CachingEmbedder>,
        workspace: &str,
    ) -> Arc<dyn Embedder> {
        if !self.has_shared_cache || !embedder.is_remote() {
            return Arc::clone(embedder) as Arc<dyn Embedder>;
        }
        let shared = self.set.for_workspace(embedder.uncached(), workspace);
        Arc::new(CachingEmbedder::with_limits(shared, WORKSPACE_ENTRIES, WORKSPACE_KEPT))
    }
}
