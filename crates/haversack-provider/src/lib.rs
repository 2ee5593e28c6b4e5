//! Calls to model providers: embeddings, reranking and chat over HTTP.
//!
//! [`ModelSet`] opens what a [`ModelsConfig`] names and hands out an [`Embedder`](haversack_core::embed::Embedder), a
//! [`Reranker`](haversack_core::rank::Reranker) and [`ChatModel`]s. Every call has a deadline, bounded retries, rate
//! limits and a circuit breaker; keys come from the environment and reach nothing but the provider's own headers.
//!
//! ```
//! use haversack_provider::{ModelSet, ModelsConfig};
//!
//! let config = ModelsConfig::parse(
//!     r#"
//! [providers.ollama]
//! protocol = "openai"
//! base_url = "http://127.0.0.1:11434"
//!
//! [models.embed]
//! provider = "ollama"
//! model = "nomic-embed-text"
//! dimensions = 768
//! "#,
//! )?;
//! let models = ModelSet::open(config, None, &|name| std::env::var(name).ok())?;
//! let embedder = models.embedder()?.expect("one is configured");
//! assert_eq!(embedder.model().dimensions, 768); // nothing was called yet
//! # Ok::<(), haversack_provider::ProviderError>(())
//! ```

#![forbid(unsafe_code)]

mod allowance;
mod allowance_book;
mod breaker;
mod chat;
mod embedder;
mod error;
pub mod http;
mod limits;
mod model_set;
mod protocol;
mod provider;
mod reranker;
mod settings;
mod shared_cache;
mod token_counter;
mod usage;

pub use allowance::{
    Allowance, AllowanceScope, AllowanceStatus, DailyCap, current_allowances, with_allowances,
};
pub use chat::{ChatModel, ChatQuestion};
pub use embedder::RemoteEmbedder;
pub use error::ProviderError;
pub use model_set::{ModelSet, TrialReport};
pub use protocol::{OutputMode, TextRole};
pub use reranker::{RERANK_WITHIN, RemoteReranker, RerankDeadline};
pub use settings::{
    CacheSettings, LOCAL, MODELS_FILE, MODELS_FILE_BYTES_MAX, ModelChoice, ModelChoices, ModelRole,
    ModelsConfig, ProviderSettings,
};
pub use shared_cache::{SharedCacheEmbedder, SharedVectorCache};
pub use token_counter::TokenCounter;
pub use usage::{ScopedUsage, Usage, UsageByRole, UsageScope, UsageTotals, record_in_scope};
