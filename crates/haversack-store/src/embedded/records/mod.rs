//! The SQLite tables, the source of truth. Knows neither the indexes nor who may see a row.

pub(crate) mod filter;
pub(crate) mod keys;
pub(crate) mod lines;
mod linking;
pub(crate) mod lookup;
mod order;
pub(crate) mod remove;
mod rights;
pub(crate) mod schema;
pub(crate) mod structure;
pub(crate) mod traces;
pub(crate) mod usage;
pub(crate) mod write;

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use haversack_core::embed::Model;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use self::schema::SchemaError;
use crate::store::error::{Cause, OpenError, ReadError};

/// Idle connections kept for readers; further ones are closed.
const IDLE_MAX: usize = 8;

/// The SQLite file of a workspace.
pub(crate) fn file(folder: &Path) -> PathBuf {
    folder.join("store.db")
}

/// Opens the SQLite file for the writer, creating and migrating it as needed.
pub(crate) fn open(folder: &Path, references: &[String]) -> Result<Connection, OpenError> {
    let path = file(folder);
    let failed = |error: rusqlite::Error| open_error(&path, error);
    let mut connection = Connection::open(&path).map_err(failed)?;
    // Checked before anything is written: the file may belong to another program.
    let refuse = |error| match error {
        SchemaError::Newer(found) => {
            OpenError::Newer { path: path.clone(), found, known: schema::FORMAT }
        }
        SchemaError::Foreign => OpenError::Damaged {
            path: path.clone(),
            cause: "it is an SQLite file of another program".into(),
        },
        SchemaError::Sqlite(error) => open_error(&path, error),
    };
    schema::format_of(&connection).map_err(refuse)?;
    schema::configure(&connection).map_err(failed)?;
    schema::migrate(&mut connection).map_err(refuse)?;
    schema::create_indexes(&connection, references).map_err(failed)?;
    Ok(connection)
}

/// The model whose vectors the workspace in a folder has, if there is one. Nothing is written, so a
/// workspace of an older version stays as it is.
pub(crate) fn stored_model(folder: &Path) -> Result<Option<Model>, OpenError> {
    let path = file(folder);
    if !path.exists() {
        return Ok(None);
    }
    let failed = |error: rusqlite::Error| open_error(&path, error);
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(&path, flags).map_err(failed)?;
    usage::model(&connection).map_err(failed)
}

fn open_error(path: &Path, error: rusqlite::Error) -> OpenError {
    use rusqlite::ErrorCode::{DatabaseCorrupt, NotADatabase};
    let path = path.to_owned();
    match error.sqlite_error_code() {
        Some(DatabaseCorrupt | NotADatabase) => OpenError::Damaged { path, cause: error.into() },
        _ => OpenError::Io { path, cause: error.into() },
    }
}

/// A pool of read-only connections.
#[derive(Debug)]
pub(crate) struct ConnectionPool {
    path: PathBuf,
    idle: Mutex<Vec<Connection>>,
}

impl ConnectionPool {
    pub(crate) fn new(folder: &Path) -> ConnectionPool {
        ConnectionPool { path: file(folder), idle: Mutex::new(Vec::new()) }
    }

    /// Runs a query on a pooled connection.
    pub(crate) fn read<T>(
        &self,
        question: impl FnOnce(&Connection) -> Result<T, ReadError>,
    ) -> Result<T, ReadError> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let connection = match idle {
            Some(connection) => connection,
            None => self.connect().map_err(storage)?,
        };
        // One transaction for all statements: each alone would take and release the file's locks.
        let run = |sql| connection.prepare_cached(sql)?.execute([]);
        run("BEGIN").map_err(storage)?;
        let answer = question(&connection)?;
        run("COMMIT").map_err(storage)?;
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() < IDLE_MAX {
            idle.push(connection);
        }
        Ok(answer)
    }

    fn connect(&self) -> rusqlite::Result<Connection> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(&self.path, flags)?;
        connection.busy_timeout(std::time::Duration::from_secs(5))?;
        connection.set_prepared_statement_cache_capacity(64);
        // Otherwise SQLite replans a cached statement with every new binding.
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
        connection.execute_batch(
            "PRAGMA query_only = ON;
             PRAGMA cache_size = -16384;
             PRAGMA mmap_size = 2147418112;
             PRAGMA trusted_schema = OFF;",
        )?;
        Ok(connection)
    }
}

/// Converts an SQLite error for a reader.
pub(crate) fn storage(error: rusqlite::Error) -> ReadError {
    use rusqlite::ErrorCode::{DatabaseCorrupt, NotADatabase};
    match error.sqlite_error_code() {
        Some(DatabaseCorrupt | NotADatabase) => ReadError::Damaged { what: "the store".to_owned() },
        _ => ReadError::Storage { cause: Cause::from(error) },
    }
}
