//! The interface of judges, which decide whether conditions in plain language hold.

use std::time::Duration;

use futures_util::future::BoxFuture;
use haversack_core::units::{Score, Timestamp};
use haversack_store::store::error::Cause;
use serde_json::{Map, Value};
use thiserror::Error;

/// A judge's answer to whether a condition holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JudgeAnswer {
    /// It holds.
    Yes,
    /// It does not.
    No,
    /// The situation does not settle it.
    Undecided,
}

impl JudgeAnswer {
    /// The name on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            JudgeAnswer::Yes => "yes",
            JudgeAnswer::No => "no",
            JudgeAnswer::Undecided => "undecided",
        }
    }

    /// The answer to the negated condition; undecided stays undecided.
    #[must_use]
    pub const fn negated(self) -> JudgeAnswer {
        match self {
            JudgeAnswer::Yes => JudgeAnswer::No,
            JudgeAnswer::No => JudgeAnswer::Yes,
            JudgeAnswer::Undecided => JudgeAnswer::Undecided,
        }
    }
}

/// A judge's answer to one condition, with its sureness.
#[derive(Debug, Clone, PartialEq)]
pub struct Verdict {
    /// Whether the condition holds.
    pub answer: JudgeAnswer,
    /// How sure the judge is: 1 is certain, 0 is a coin toss. 0 when it is undecided.
    pub sureness: Score,
    /// Why, in the judge's own words, where it gives a reason.
    pub reason: Option<String>,
}

impl Verdict {
    /// The verdict of a judge that cannot tell.
    pub const UNDECIDED: Verdict =
        Verdict { answer: JudgeAnswer::Undecided, sureness: Score::ZERO, reason: None };
}

/// The error of a judge that failed.
#[derive(Debug, Error)]
#[error("{judge} could not decide")]
pub struct JudgeError {
    /// The judge's name.
    pub judge: String,
    /// Why not.
    #[source]
    pub cause: Cause,
}

/// Decides whether conditions in plain language hold in a situation, all of a request at once (S3).
pub trait Judge: Send + Sync {
    /// The judge's name in results, such as `local`.
    fn name(&self) -> &str;

    /// Whether the same question may be answered differently another time: the model is elsewhere.
    fn is_remote(&self) -> bool {
        false
    }

    /// How long it may take, on top of what a collector has.
    fn deadline(&self) -> Duration {
        Duration::ZERO
    }

    /// Returns one verdict for each condition, in order. `now` is the time of the request, by which
    /// conditions such as `the deadline has passed` are judged.
    fn judge<'a>(
        &'a self,
        situation: &'a Map<String, Value>,
        now: Timestamp,
        conditions: &'a [&'a str],
    ) -> BoxFuture<'a, Result<Vec<Verdict>, JudgeError>>;
}
