//! The reranker trait.

use std::error::Error as StdError;
use std::fmt;

use thiserror::Error;

use crate::units::Score;

/// Scores texts for a query, reading both together. More accurate and far slower than comparing
/// vectors, so it is used for the top candidates only.
pub trait Reranker: Send + Sync + fmt::Debug {
    /// Its name and version; the same name gives the same scores.
    fn name(&self) -> &str;

    /// Whether the same texts may get other scores another time: the model is elsewhere, or has a deadline.
    fn is_remote(&self) -> bool {
        false
    }

    /// One score between 0 and 1 for each text, in the order of the texts.
    ///
    /// # Errors
    /// When one text fails, all fail.
    fn scores(&self, query: &str, texts: &[&str]) -> Result<Vec<Score>, RerankError>;
}

/// Why reranking failed.
#[derive(Debug, Error)]
#[error("{reranker} cannot score these texts")]
pub struct RerankError {
    /// The reranker.
    pub reranker: String,
    /// The cause.
    #[source]
    pub cause: Box<dyn StdError + Send + Sync>,
}
