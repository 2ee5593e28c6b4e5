//! Rows of a database, read only: PostgreSQL and SQLite behind one address.
//!
//! [`Address`] says which database, [`Database`] runs one query in a read-only transaction and hands out its
//! rows one by one, in bounded memory and with a timeout. It knows nothing of items. Connections to
//! PostgreSQL ([`postgres::connect`]) serve whoever else needs one. Passwords are in no message.
#![forbid(unsafe_code)]

mod address;
mod error;
mod moment;
pub mod postgres;
mod query;
mod sqlite;

use std::time::Duration;

pub use address::Address;
pub use error::DatabaseError;
pub use moment::{earlier, moment_millis};
pub use query::{Cell, Column, RowQuery};

use crate::query::check_query;

/// How long a database may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DatabaseLimits {
    /// To connect.
    pub connect: Duration,
    /// For the next rows of a query.
    pub statement: Duration,
}

impl Default for DatabaseLimits {
    fn default() -> DatabaseLimits {
        DatabaseLimits { connect: Duration::from_secs(10), statement: Duration::from_secs(60) }
    }
}

/// An open database. It blocks the calling thread, which must not drive a runtime.
#[derive(Debug)]
pub struct Database(Engine);

#[derive(Debug)]
enum Engine {
    Sqlite(sqlite::SqliteDatabase),
    Postgres(postgres::PostgresDatabase),
}

impl Database {
    /// Opens a database for reading.
    ///
    /// # Errors
    /// When it cannot be reached or refuses the login.
    pub fn open(address: &Address, limits: DatabaseLimits) -> Result<Database, DatabaseError> {
        Ok(Database(match address {
            Address::Sqlite(path) => Engine::Sqlite(sqlite::SqliteDatabase::open(path, limits)?),
            Address::Postgres(address) => {
                Engine::Postgres(postgres::PostgresDatabase::open(address, limits)?)
            }
        }))
    }

    /// The columns of a query, in order.
    ///
    /// # Errors
    /// When the query is not a single `SELECT`, or the database refuses it.
    pub fn columns(&mut self, sql: &str) -> Result<Vec<Column>, DatabaseError> {
        let sql = check_query(sql)?;
        let columns = match &mut self.0 {
            Engine::Sqlite(database) => database.columns(sql)?,
            Engine::Postgres(database) => database.columns(sql)?,
        };
        for (index, column) in columns.iter().enumerate() {
            if columns[..index].iter().any(|other| other.name == column.name) {
                let message = format!("two columns are called {:?}: name one with AS", column.name);
                return Err(DatabaseError::Statement { message });
            }
        }
        Ok(columns)
    }

    /// Runs a query in a read-only transaction and hands out its rows in order. The cells of a row stand in
    /// the order of [`Database::columns`]. The sink may take its time: the timeout is for the database alone.
    ///
    /// # Errors
    /// When the database refuses the query, takes too long or goes away; and the first error of the sink,
    /// which ends the query.
    pub fn read<E: From<DatabaseError>>(
        &mut self,
        query: &RowQuery<'_>,
        sink: &mut dyn FnMut(Vec<Cell>) -> Result<(), E>,
    ) -> Result<(), E> {
        check_query(query.sql)?;
        match &mut self.0 {
            Engine::Sqlite(database) => database.read(query, sink),
            Engine::Postgres(database) => database.read(query, sink),
        }
    }
}
