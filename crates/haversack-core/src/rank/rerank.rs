//! Rerankers: who reads a question and a text together and says how well they belong.

use std::error::Error as StdError;
use std::fmt;

use thiserror::Error;

use crate::units::Score;

/// Scores texts for a question. It sees both at once, which is better and far slower than comparing
/// vectors: it is for the few that a search has found.
pub trait Reranker: Send + Sync + fmt::Debug {
    /// Who scores, with the version: two of the same name give the same scores.
    fn name(&self) -> &str;

    /// One score between 0 and 1 for each text, in the order of the texts.
    ///
    /// # Errors
    /// When one text fails, all fail.
    fn scores(&self, query: &str, texts: &[&str]) -> Result<Vec<Score>, RerankError>;
}

/// Why texts have no scores.
#[derive(Debug, Error)]
#[error("{reranker} cannot score these texts")]
pub struct RerankError {
    /// Who failed.
    pub reranker: String,
    /// Why.
    #[source]
    pub cause: Box<dyn StdError + Send + Sync>,
}
