//! Errors of the vector index.

use std::error::Error;
use std::io;
use std::path::PathBuf;

use thiserror::Error;

use super::{DIMENSIONS_MAX, RevisionRange};
use crate::revision::Revision;

/// Why the index could not be opened or written. Damage is not an error: see
/// `OpenedVectors::missing`.
#[derive(Debug, Error)]
pub enum VectorsError {
    /// The folder or a file could not be read or written.
    #[error("cannot {action} {path}", path = path.display())]
    Io {
        /// What was tried, as a verb.
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// A file was written by a newer program. It is left as it is.
    #[error(
        "{path} has format version {found}, this program knows {known}",
        path = path.display()
    )]
    NewerFormat {
        /// The file.
        path: PathBuf,
        /// The version in the file.
        found: u32,
        /// The version this program writes.
        known: u32,
    },
    /// The index is stale: it was made with another model. See `Vectors::discard`.
    #[error("{path} was made with model {found}, not {wanted}", path = path.display())]
    OtherModel {
        /// The file.
        path: PathBuf,
        /// The model in the file.
        found: String,
        /// The model asked for.
        wanted: String,
    },
    /// The model has no dimensions or too many.
    #[error("a model of {dimensions} dimensions is not within 1 to {DIMENSIONS_MAX}")]
    Dimensions {
        /// The model's.
        dimensions: u32,
    },
    /// A vector has the wrong length.
    #[error("vector of row {row}, chunk {chunk} has {found} dimensions, the index {wanted}")]
    VectorLength {
        /// The row's number.
        row: u32,
        /// The chunk.
        chunk: u32,
        /// The vector's dimensions.
        found: usize,
        /// The index's dimensions.
        wanted: usize,
    },
    /// A vector has a value that is no number, or infinite.
    #[error("vector of row {row}, chunk {chunk} has a value that is not finite")]
    VectorNotFinite {
        /// The row's number.
        row: u32,
        /// The chunk.
        chunk: u32,
    },
    /// Revisions must be appended in order.
    #[error("revision {revision} cannot be appended after revision {reached}")]
    OutOfOrder {
        /// The revision appended.
        revision: Revision,
        /// The revision that was appended or sealed before.
        reached: Revision,
    },
    /// The range to fill is not missing.
    #[error("revisions {range} are not missing")]
    NotMissing {
        /// The range.
        range: RevisionRange,
    },
}

/// Why a search failed; `E` is the error of the store that holds the exact vectors.
#[derive(Debug, Error)]
pub enum VectorSearchError<E: Error + 'static> {
    /// The query is of another model.
    #[error("the query has {found} dimensions, the index {wanted}")]
    QueryLength {
        /// The query's dimensions.
        found: usize,
        /// The index's dimensions.
        wanted: usize,
    },
    /// The query has a value that is no number, or infinite.
    #[error("the query has a value that is not finite")]
    QueryNotFinite,
    /// The exact vectors could not be read.
    #[error("cannot read {count} exact vectors")]
    Exact {
        /// How many were asked for.
        count: usize,
        /// The cause.
        source: E,
    },
    /// The store answered with more or fewer vectors than were asked for.
    #[error("asked for {wanted} exact vectors and got {found}")]
    ExactCount {
        /// How many came.
        found: usize,
        /// How many were asked for.
        wanted: usize,
    },
    /// A stored vector has the wrong length or a product that is not finite.
    #[error("exact vector {embedding} is damaged: {found} dimensions of {wanted}, or not finite")]
    ExactDamaged {
        /// Its number.
        embedding: u32,
        /// Its dimensions.
        found: usize,
        /// The index's dimensions.
        wanted: usize,
    },
}
