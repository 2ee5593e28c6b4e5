//! From a request to a pack: resolve, analyse, collect, measure, rank, select, assemble.
//!
//! Each step is a file. The applications differ only in their recipes; nothing here knows a recipe
//! by name.

mod assembled;
mod carry;
mod cleaning;
mod collecting;
mod currency;
mod documents;
mod features;
mod fields;
mod hints;
mod illustrate;
mod interaction;
mod measure;
mod openings;
mod outline;
mod quality;
mod ranking;
mod reranking;
mod resolve;
mod run;
mod subjects;
mod words;

pub use assembled::{Assembled, LayerReport, PackDelta, ProviderCount, Timings};
pub(crate) use assembled::{
    budget_too_small, describe_pack, select_and_assemble, truncated_layers,
};
pub(crate) use features::FeatureCache;
pub use fields::FieldMatches;
pub(crate) use illustrate::add_fields_and_excerpts;
pub use quality::Quality;
pub use resolve::BUDGET_MAX;
pub(crate) use resolve::find_tokenizer;
pub use run::StageObserver;
pub(crate) use run::{PackInputs, PreparedPack, prepare};
