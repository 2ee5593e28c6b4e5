//! From a request to a pack: resolve, analyse, collect, measure, rank, select, assemble.
//!
//! Each step is a file. What differs between applications is in their recipes; nothing here knows
//! one by name.

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

pub use assembled::{Assembled, Delta, LayerReport, Timings};
pub(crate) use assembled::{assembled, finish, too_small, truncated};
pub(crate) use features::FeatureCache;
pub use fields::Matches;
pub(crate) use illustrate::illustrate;
pub use quality::Quality;
pub use resolve::BUDGET_MAX;
pub(crate) use resolve::counter;
pub use run::Watch;
pub(crate) use run::{Prepared, Start, prepare};
