//! What the database's errors mean for the journal.

use std::error::Error as StdError;
use std::time::Duration;

use haversack_store::store::error::Cause;
use haversack_store::store::journal::JournalError;
use thiserror::Error;
use tokio_postgres::Error;
use tokio_postgres::error::{DbError, Severity, SqlState};

/// Why a statement failed.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The client or the server says so.
    Postgres(Error),
    /// There was no answer in time.
    Timeout(Duration),
    /// It is an error of the journal already.
    Journal(JournalError),
}

/// A message of the server, with what it adds.
#[derive(Debug, Error)]
#[error("{message}")]
struct ServerMessage {
    message: String,
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        Failure::Postgres(error)
    }
}

impl From<JournalError> for Failure {
    fn from(error: JournalError) -> Failure {
        Failure::Journal(error)
    }
}

impl Failure {
    /// Whether the connection cannot be used any more, or nobody knows.
    pub(crate) fn breaks_connection(&self) -> bool {
        match self {
            Failure::Postgres(error) => {
                error.as_db_error().is_none_or(|refusal| !is_ordinary(refusal))
            }
            Failure::Timeout(_) => true,
            Failure::Journal(_) => false,
        }
    }

    fn cause(self) -> Cause {
        match self {
            Failure::Postgres(error) => match error.as_db_error() {
                Some(refusal) => ServerMessage { message: describe(refusal) }.into(),
                None => error.into(),
            },
            Failure::Timeout(limit) => {
                format!("the database did not answer within {} ms", limit.as_millis()).into()
            }
            Failure::Journal(error) => error.into(),
        }
    }

    /// The error of an append whose `COMMIT` was sent.
    pub(crate) fn after_commit(self) -> JournalError {
        if self.breaks_connection() {
            return JournalError::Unknown { cause: self.cause() };
        }
        self.into()
    }
}

/// Whether the statement alone failed: its transaction is over, and the connection goes on.
fn is_ordinary(refusal: &DbError) -> bool {
    let code = refusal.code();
    // Class 08 is how a pooler tells that it lost the server; 40003, that nobody knows the outcome.
    let is_lost =
        code.code().starts_with("08") || *code == SqlState::T_R_STATEMENT_COMPLETION_UNKNOWN;
    !is_lost && refusal.parsed_severity() == Some(Severity::Error)
}

fn describe(refusal: &DbError) -> String {
    let mut text = format!("{} ({})", refusal.message(), refusal.code().code());
    for more in [refusal.detail(), refusal.hint()].into_iter().flatten() {
        text.push_str(": ");
        text.push_str(more);
    }
    text
}

impl From<Failure> for JournalError {
    fn from(failure: Failure) -> JournalError {
        let kind = match &failure {
            Failure::Postgres(error) => error.code().map(|code| Meaning::of(code.code())),
            Failure::Timeout(_) => None,
            Failure::Journal(_) => {
                let Failure::Journal(error) = failure else { unreachable!("it was one") };
                return error;
            }
        };
        // What is no message of the server is a broken connection, unless a value could not be read.
        let kind = kind.unwrap_or(match &failure {
            Failure::Postgres(error) if is_conversion(error) => Meaning::Refused,
            _ => Meaning::Unavailable,
        });
        let cause = failure.cause();
        match kind {
            Meaning::Unavailable => JournalError::Unavailable { cause },
            Meaning::NotReady => JournalError::NotReady { cause },
            Meaning::Refused => JournalError::Refused { cause },
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Meaning {
    Unavailable,
    NotReady,
    Refused,
}

impl Meaning {
    /// What a code of PostgreSQL means.
    fn of(code: &str) -> Meaning {
        match code {
            // No such schema, table or column.
            "3F000" | "42P01" | "42703" => Meaning::NotReady,
            // A lock or statement that took too long, and a server that has become a replica.
            "55P03" | "57014" | "25006" | "25P03" | "25P04" => Meaning::Unavailable,
            _ => match &code[..2.min(code.len())] {
                // Lost connection, conflict of transactions, no resources, operator, system.
                "08" | "40" | "53" | "57" | "58" => Meaning::Unavailable,
                _ => Meaning::Refused,
            },
        }
    }
}

fn is_conversion(error: &Error) -> bool {
    let text = error.to_string();
    !error.is_closed() && text.starts_with("error ") && text.contains("serializing")
}

/// The same error once more, for another who waited for the same answer.
pub(crate) fn repeat(error: &JournalError) -> JournalError {
    let cause = || -> Cause {
        let mut text = String::new();
        let mut source = error.source();
        while let Some(error) = source {
            if !text.is_empty() {
                text.push_str(": ");
            }
            text.push_str(&error.to_string());
            source = error.source();
        }
        if text.is_empty() { error.to_string().into() } else { text.into() }
    };
    match error {
        JournalError::Unavailable { .. } => JournalError::Unavailable { cause: cause() },
        JournalError::Unknown { .. } => JournalError::Unknown { cause: cause() },
        JournalError::NotReady { .. } => JournalError::NotReady { cause: cause() },
        JournalError::Newer { found, known } => {
            JournalError::Newer { found: *found, known: *known }
        }
        JournalError::Damaged { what } => JournalError::Damaged { what: what.clone() },
        _ => JournalError::Refused { cause: cause() },
    }
}

pub(crate) fn unavailable(why: String) -> JournalError {
    JournalError::Unavailable { cause: why.into() }
}

pub(crate) fn refused(why: String) -> JournalError {
    JournalError::Refused { cause: why.into() }
}

pub(crate) const fn damaged(what: String) -> JournalError {
    JournalError::Damaged { what }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_of_postgresql_says_whether_to_try_again() {
        for (code, meaning) in [
            ("42P01", Meaning::NotReady),
            ("3F000", Meaning::NotReady),
            ("42501", Meaning::Refused),
            ("23505", Meaning::Refused),
            ("55P03", Meaning::Unavailable),
            ("25006", Meaning::Unavailable),
            ("40001", Meaning::Unavailable),
            ("53300", Meaning::Unavailable),
            ("57P01", Meaning::Unavailable),
            ("08006", Meaning::Unavailable),
        ] {
            assert_eq!(Meaning::of(code), meaning, "{code}");
        }
    }

    #[test]
    fn an_error_can_be_told_to_all_who_waited() {
        let first = unavailable("it is away".to_owned());
        let second = repeat(&first);
        assert_eq!(second.to_string(), first.to_string());
        assert_eq!(second.source().unwrap().to_string(), "it is away");
    }
}
