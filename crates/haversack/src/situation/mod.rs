//! Situations: contexts that inherit from each other, and rules that bring in more (S1 to S6).

pub mod block;
pub mod context;
pub mod dedupe;
pub mod document;
pub mod inherit;
mod judge;
pub mod lint;
mod local;
pub mod rules;
#[cfg(test)]
pub(crate) mod testing;
pub mod trial;

pub use context::Context;
pub use dedupe::dedupe;
pub use document::items_from_folder;
pub use inherit::{Chain, ChainError, Library, SituationError};
pub use judge::{Answer, Judge, JudgeError, Verdict};
pub use lint::{lint, unknown_facts};
pub use local::LocalJudge;
