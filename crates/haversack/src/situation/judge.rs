//! Who decides whether a condition in plain language holds.

use futures_util::future::BoxFuture;
use haversack_core::units::{Score, Timestamp};
use haversack_store::store::error::Cause;
use serde_json::{Map, Value};
use thiserror::Error;

/// Whether a condition holds, as far as a judge can tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// It holds.
    Yes,
    /// It does not.
    No,
    /// What the situation says does not settle it.
    Undecided,
}

impl Answer {
    /// The name on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Answer::Yes => "yes",
            Answer::No => "no",
            Answer::Undecided => "undecided",
        }
    }

    /// The answer to the opposite question. Who does not know the one does not know the other.
    #[must_use]
    pub const fn turned(self) -> Answer {
        match self {
            Answer::Yes => Answer::No,
            Answer::No => Answer::Yes,
            Answer::Undecided => Answer::Undecided,
        }
    }
}

/// A judge's answer on one condition.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Verdict {
    /// Whether the condition holds.
    pub answer: Answer,
    /// How sure the judge is: 1 is certain, 0 is a toss of a coin. 0 when it is undecided.
    pub sureness: Score,
}

impl Verdict {
    /// The verdict of a judge that cannot tell.
    pub const UNDECIDED: Verdict = Verdict { answer: Answer::Undecided, sureness: Score::ZERO };
}

/// A judge that could not decide.
#[derive(Debug, Error)]
#[error("{judge} could not decide")]
pub struct JudgeError {
    /// Which judge.
    pub judge: String,
    /// Why not.
    #[source]
    pub cause: Cause,
}

/// Decides whether conditions in plain language hold in a situation, all of a request at once (S3).
pub trait Judge: Send + Sync {
    /// What the result calls it, such as `local`.
    fn name(&self) -> &str;

    /// One verdict for each condition, in their order. `now` is the time of the request, against
    /// which conditions such as `the deadline has passed` are read.
    fn judge<'a>(
        &'a self,
        situation: &'a Map<String, Value>,
        now: Timestamp,
        conditions: &'a [&'a str],
    ) -> BoxFuture<'a, Result<Vec<Verdict>, JudgeError>>;
}
