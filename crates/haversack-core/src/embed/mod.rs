//! Embeddings: vectors, the models that produce them, and the [`Embedder`] trait.
//!
//! Only vectors of the same [`Model`] are comparable. Embedders that need a network or files are in
//! other crates.

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
pub use maxsim::{MaxSim, PieceId, PieceMatches, pieces};
pub use vector::{Vector, VectorError};

/// Identifies an embedding model. Vectors are comparable only if their models are equal.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Model {
    /// The model's name, as its vendor spells it.
    pub name: String,
    /// The version of its weights.
    pub version: String,
    /// The length of its vectors.
    pub dimensions: usize,
}

impl fmt::Display for Model {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}/{}", self.name, self.version, self.dimensions)
    }
}

/// Turns texts into vectors.
pub trait Embedder: Send + Sync + fmt::Debug {
    /// The model.
    fn model(&self) -> &Model;

    /// Whether texts leave this process. The same text may then have another vector another time, and
    /// embedding may take long.
    fn is_remote(&self) -> bool {
        false
    }

    /// One vector for each text, in the order of the texts.
    ///
    /// # Errors
    ///
    /// When one text fails, all fail; the variant says what to do next.
    fn embed(&self, texts: &[&str]) -> Result<Vec<Vector>, EmbedError>;

    /// Embeds a query, to be compared with vectors of texts. Most models embed both alike; some
    /// expect a prefix before a query.
    ///
    /// # Errors
    ///
    /// As [`Embedder::embed`].
    fn embed_query(&self, query: &str) -> Result<Vector, EmbedError> {
        self.embed(&[query])?.pop().ok_or_else(|| EmbedError::NeverRetry {
            model: self.model().clone(),
            cause: "the embedder returned no vector for the query".into(),
        })
    }
}

/// Why embedding failed, by what the caller can do about it.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum EmbedError {
    /// A retry may succeed: overload, a lost connection, a timeout.
    #[error("{model} cannot embed at the moment")]
    RetryLater {
        /// The model.
        model: Model,
        /// The cause.
        #[source]
        cause: Box<dyn StdError + Send + Sync>,
    },
    /// A retry will fail again: a rejected key, an unknown model, a malformed response.
    #[error("{model} cannot embed these texts")]
    NeverRetry {
        /// The model.
        model: Model,
        /// The cause.
        #[source]
        cause: Box<dyn StdError + Send + Sync>,
    },
    /// One text exceeds the model's limit; retry without it.
    #[error("text {place} has {bytes} bytes, which is more than {model} reads")]
    TooLong {
        /// The model.
        model: Model,
        /// Its index, from zero.
        place: usize,
        /// Its length.
        bytes: usize,
    },
}

#[cfg(test)]
mod tests;
