//! Situations: contexts that inherit from each other, and rules that bring in more (S1 to S6).

mod judge;

pub use judge::{Judge, JudgeError, Verdict};
