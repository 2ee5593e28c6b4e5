//! Why a transaction of the writer was not committed: by SQLite, or by the journal.

use super::replica::AppendError;

/// Why a transaction was not committed.
#[derive(Debug)]
pub(crate) enum CommitFailure {
    Sqlite { error: rusqlite::Error, committing: bool },
    Journal(AppendError),
}

impl From<rusqlite::Error> for CommitFailure {
    fn from(error: rusqlite::Error) -> CommitFailure {
        CommitFailure::Sqlite { error, committing: false }
    }
}

impl From<AppendError> for CommitFailure {
    fn from(error: AppendError) -> CommitFailure {
        match error {
            AppendError::Sqlite(error) => CommitFailure::from(error),
            other => CommitFailure::Journal(other),
        }
    }
}
