//! What keeps a store from writing or from searching everything.

use thiserror::Error;

/// A reason why a store does not write, or does not find everything. The message says what to do.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum HealthProblem {
    /// The disk failed in a commit, so its content is unknown. Writing has stopped.
    #[error("the disk failed and writing has stopped ({cause}): open the store again to recover")]
    DiskFailed {
        /// The first failure.
        cause: String,
    },
    /// The thread that writes ended with an error of ours.
    #[error("the writer has ended unexpectedly: open the store again to recover")]
    WriterDead,
    /// Too little space is free. Only batches that remove are written until there is more.
    #[error(
        "only {free_bytes} bytes are free on the disk, and writing needs {needed_bytes}: free some \\
         disk space"
    )]
    DiskFull {
        /// The bytes that are free.
        free_bytes: u64,
        /// The bytes that must stay free.
        needed_bytes: u64,
    },
    /// An index lags behind the records and is being rebuilt or retried. Writes are durable.
    #[error(
        "an index is being brought up to date again ({cause}): searches may miss items until then"
    )]
    IndexBehind {
        /// Why it lags.
        cause: String,
    },
    /// Stored data does not read back as it was written.
    #[error("{what} is damaged: run `haversack check`, and restore a backup")]
    Damaged {
        /// The damaged part.
        what: String,
    },
}

impl HealthProblem {
    /// A short name for machines.
    #[must_use]
    pub const fn as_str(&self) -> &'static str {
        match self {
            HealthProblem::DiskFailed { .. } => "disk_failed",
            HealthProblem::WriterDead => "writer_dead",
            HealthProblem::DiskFull { .. } => "disk_full",
            HealthProblem::IndexBehind { .. } => "index_behind",
            HealthProblem::Damaged { .. } => "damaged",
        }
    }
}
