//! What can go wrong with a database. No message holds a password: addresses are shown without it.

use std::error::Error as StdError;

use thiserror::Error;

/// Why a database cannot be read.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum DatabaseError {
    /// The address is malformed.
    #[error("the address of the database is not valid: {message}")]
    Address {
        /// What is wrong with it.
        message: String,
    },
    /// It is a PostgreSQL database, and this build reads SQLite only.
    #[error("this build of haversack reads SQLite only: build it with the feature `postgres`")]
    NotBuilt,
    /// There is no connection.
    #[error("cannot connect to {database}")]
    Unreachable {
        /// The address without the password.
        database: String,
        /// Why not.
        #[source]
        cause: Box<dyn StdError + Send + Sync>,
    },
    /// The server refuses the login or the connection.
    #[error("{database} refuses the connection: {message}")]
    Denied {
        /// The address without the password.
        database: String,
        /// The server's message.
        message: String,
    },
    /// The query is not one that can be read.
    #[error("the query cannot be used: {message}")]
    Statement {
        /// What is wrong with it.
        message: String,
    },
    /// The database refuses the query.
    #[error("{database} refuses the query: {message}")]
    Query {
        /// The address without the password.
        database: String,
        /// The database's message.
        message: String,
    },
    /// The query tried to change something.
    #[error("the query tries to write, and may only read: {message}")]
    Writes {
        /// The database's message.
        message: String,
    },
    /// The database took too long.
    #[error(
        "{database} gave no rows within {seconds} seconds: simplify the query, index the column that it is \
         sorted by, or raise the timeout"
    )]
    Timeout {
        /// The address without the password.
        database: String,
        /// The timeout.
        seconds: u64,
    },
    /// The connection broke.
    #[error("the connection to {database} was lost")]
    Lost {
        /// The address without the password.
        database: String,
        /// Why.
        #[source]
        cause: Box<dyn StdError + Send + Sync>,
    },
}
