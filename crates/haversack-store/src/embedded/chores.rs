//! Maintenance of a workspace on its writer, in transactions of their own.

use rusqlite::Connection;

use super::commit_failure::CommitFailure;
use super::records;
use super::replica::{AppendError, FollowError};
use super::writer::Writer;
use crate::store::error::ReadError;

impl Writer {
    /// Runs maintenance work in a transaction.
    pub(crate) fn chore<T>(
        &mut self,
        work: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, ReadError> {
        let locked = self.lock_head().map_err(FollowError::into_read_error)?;
        let done = (|| {
            self.connection.execute_batch("BEGIN IMMEDIATE")?;
            let done = work(&self.connection)?;
            Ok((done, self.append_and_commit(locked, std::iter::empty())?))
        })();
        match done {
            Ok((done, appended)) => {
                self.note_appended(appended);
                Ok(done)
            }
            Err(failure) => {
                self.roll_back();
                Err(self.chore_failed(failure))
            }
        }
    }

    fn chore_failed(&mut self, failure: CommitFailure) -> ReadError {
        match failure {
            CommitFailure::Sqlite { error, committing } => {
                self.stop_if_in_doubt(&error, committing);
                records::storage(error)
            }
            CommitFailure::Journal(AppendError::Journal(error) | AppendError::Unknown(error)) => {
                ReadError::Unavailable { cause: error.into() }
            }
            CommitFailure::Journal(AppendError::Sqlite(error)) => records::storage(error),
        }
    }
}
