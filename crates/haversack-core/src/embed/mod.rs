//! Texts as vectors: what a vector is, what made it, and who can make one.
//!
//! Only vectors of the same [`Model`] can be compared. Embedders across a network or with weights
//! on disk live further along the line of crates and implement [`Embedder`] there.

mod built_in;
mod features;
mod half;
mod maxsim;
mod pieces;
mod table;
mod vector;

use std::error::Error as StdError;
use std::fmt;

use thiserror::Error;

pub use built_in::BuiltIn;
pub use features::TextFeatures;
pub use half::from_half;
pub use maxsim::{MaxSim, Met, PieceId, pieces};
pub use vector::{Vector, VectorError};

/// What made a vector: two vectors are comparable only when these are equal.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Model {
    /// The model's name, as its makers spell it.
    pub name: String,
    /// Which weights: another version gives other vectors.
    pub version: String,
    /// How many numbers a vector has.
    pub dimensions: usize,
}

impl fmt::Display for Model {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}/{}", self.name, self.version, self.dimensions)
    }
}

/// Turns texts into vectors.
pub trait Embedder: Send + Sync + fmt::Debug {
    /// What makes the vectors.
    fn model(&self) -> &Model;

    /// One vector for each text, in the order of the texts.
    ///
    /// # Errors
    ///
    /// When one text fails, all fail; the variant says what to do next.
    fn embed(&self, texts: &[&str]) -> Result<Vec<Vector>, EmbedError>;

    /// The vector of a question, to be compared with those of texts. Most models treat the two
    /// alike; some were taught to tell them apart, by words put before a question.
    ///
    /// # Errors
    ///
    /// As [`Embedder::embed`].
    fn embed_query(&self, query: &str) -> Result<Vector, EmbedError> {
        self.embed(&[query])?.pop().ok_or_else(|| EmbedError::NeverRetry {
            model: self.model().clone(),
            cause: "no vector came back for the query".into(),
        })
    }
}

/// Why texts have no vectors, by what the caller can do about it.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum EmbedError {
    /// The same call may succeed later: overload, a lost connection, a timeout.
    #[error("{model} cannot embed at the moment")]
    RetryLater {
        /// Who failed.
        model: Model,
        /// Why.
        #[source]
        cause: Box<dyn StdError + Send + Sync>,
    },
    /// The same call will always fail: a refused key, an unknown model, an answer that makes no
    /// sense.
    #[error("{model} cannot embed these texts")]
    NeverRetry {
        /// Who failed.
        model: Model,
        /// Why.
        #[source]
        cause: Box<dyn StdError + Send + Sync>,
    },
    /// One text is longer than the model reads; the others may be sent again without it.
    #[error("text {place} has {bytes} bytes, which is more than {model} reads")]
    TooLong {
        /// Who refused it.
        model: Model,
        /// Its place among the texts, from zero.
        place: usize,
        /// Its length.
        bytes: usize,
    },
}

#[cfg(test)]
mod tests;
