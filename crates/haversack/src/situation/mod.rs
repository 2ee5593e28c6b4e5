//! Situations: contexts that inherit from each other, and rules that bring in more (S1 to S6).

pub mod block;
pub mod context;
pub mod dedupe;
pub mod expression;
pub mod inherit;
mod judge;
mod local;
pub mod rules;

pub use context::Context;
pub use dedupe::dedupe;
pub use inherit::{Chain, ChainError, Library, SituationError};
pub use judge::{Judge, JudgeError, Verdict};
pub use local::LocalJudge;
