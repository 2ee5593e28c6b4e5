//! Situations: contexts that inherit from each other, and rules that inject more contexts (S1 to S6).

pub mod block;
pub mod context;
pub mod dedupe;
pub mod document;
pub mod inherit;
mod judge;
pub mod lint;
mod local;
pub mod rule_cases;
pub mod rules;
#[cfg(test)]
pub(crate) mod testing;

pub use context::ContextDocument;
pub use dedupe::dedupe;
pub use document::items_from_folder;
pub use inherit::{Chain, ChainError, ContextLoader, SituationError};
pub use judge::{Judge, JudgeAnswer, JudgeError, Verdict};
pub use lint::{lint, unknown_facts};
pub use local::LocalJudge;
