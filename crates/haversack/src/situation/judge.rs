//! Who decides whether a condition in plain language holds.

use futures_util::future::BoxFuture;
use haversack_core::units::Score;
use haversack_store::store::error::Cause;
use serde_json::{Map, Value};
use thiserror::Error;

/// A decision on one condition.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Verdict {
    /// Whether the condition holds.
    pub applies: bool,
    /// How sure the judge is: 1 is certain, 0 is a toss of a coin.
    pub sureness: Score,
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

    /// One verdict for each condition, in their order.
    fn judge<'a>(
        &'a self,
        situation: &'a Map<String, Value>,
        conditions: &'a [&'a str],
    ) -> BoxFuture<'a, Result<Vec<Verdict>, JudgeError>>;
}
