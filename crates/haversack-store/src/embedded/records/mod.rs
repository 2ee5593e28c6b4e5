//! The SQLite tables, the source of truth. Knows neither the indexes nor who may see a row.

mod add_checksums;
pub(crate) mod erase;
pub(crate) mod filter;
pub(crate) mod keys;
pub(crate) mod lines;
mod linking;
pub(crate) mod lookup;
mod order;
pub(crate) mod remove;
pub(crate) mod residue;
mod rights;
pub(crate) mod schema;
pub(crate) mod structure;
pub(crate) mod tables;
pub(crate) mod traces;
pub(crate) mod usage;
pub(crate) mod write;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use haversack_core::embed::Model;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use self::schema::SchemaError;
use super::pages::{self, LogTail};
use super::resources::SpareConnections;
use crate::descriptors;
use crate::store::error::{Cause, OpenError, ReadError};

/// Idle connections kept for the readers of a workspace; further ones are closed.
const IDLE_MAX: usize = 8;

/// The SQLite file of a workspace.
pub(crate) fn file(folder: &Path) -> PathBuf {
    folder.join("store.db")
}

/// The records of a workspace, opened for the writer.
pub(crate) struct OpenedRecords {
    pub(crate) connection: Connection,
    /// Whether the last transaction of the log was interrupted; see [`LogTail::Torn`].
    pub(crate) was_interrupted: bool,
}

/// Opens the SQLite file for the writer, creating and migrating it as needed.
pub(crate) fn open(folder: &Path, references: &[String]) -> Result<OpenedRecords, OpenError> {
    let path = file(folder);
    let failed = |error: rusqlite::Error| open_error(&path, error);
    // Checked before anything is written: the file may belong to another program.
    let refuse = |error| match error {
        SchemaError::Newer(found) => {
            OpenError::Newer { path: path.clone(), found, known: schema::FORMAT }
        }
        SchemaError::Foreign => OpenError::Damaged {
            path: path.clone(),
            cause: "it is an SQLite file of another program".into(),
        },
        SchemaError::Unchecked => OpenError::Damaged {
            path: path.clone(),
            cause: "the checksums of its pages are missing".into(),
        },
        SchemaError::Sqlite(error) => open_error(&path, error),
    };
    let was_interrupted = check_log(&path)?;
    let mut connection = pages::open(&path, OpenFlags::default()).map_err(failed)?;
    schema::format_of(&connection).map_err(refuse)?;
    let is_empty = |count: u32| count == 0;
    if connection.pragma_query_value(None, "page_count", |line| line.get(0)).is_ok_and(is_empty) {
        pages::reserve(&connection).map_err(failed)?;
    }
    schema::configure(&connection).map_err(failed)?;
    schema::migrate(&mut connection).map_err(refuse)?;
    if !pages::have_checksums(&connection).map_err(failed)? {
        connection = add_checksums::add(&path, connection)?;
        schema::configure(&connection).map_err(failed)?;
    }
    schema::create_indexes(&connection, references).map_err(failed)?;
    Ok(OpenedRecords { connection, was_interrupted })
}

/// Examines the log that a process left behind when it did not end by itself.
fn check_log(path: &Path) -> Result<bool, OpenError> {
    let log = with_suffix(path, "-wal");
    match pages::inspect_log(&log) {
        Ok(LogTail::Whole) => Ok(false),
        Ok(LogTail::Torn) => Ok(true),
        Ok(LogTail::Damaged { frame }) => {
            let cause = format!("commits after frame {frame} cannot be read").into();
            Err(OpenError::Damaged { path: log, cause })
        }
        Err(error) => Err(OpenError::Io { path: log, cause: error.into() }),
    }
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
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
    let connection = pages::open(&path, flags).map_err(failed)?;
    usage::model(&connection).map_err(failed)
}

pub(crate) fn open_error(path: &Path, error: rusqlite::Error) -> OpenError {
    let path = path.to_owned();
    match damage(&error) {
        Some(what) => OpenError::Damaged { path, cause: format!("{what}: {error}").into() },
        None => OpenError::Io { path, cause: error.into() },
    }
}

/// What is damaged, if that is why SQLite failed.
pub(crate) fn damage(error: &rusqlite::Error) -> Option<String> {
    use rusqlite::ErrorCode::{DatabaseCorrupt, NotADatabase};
    let what = pages::take_damage();
    match error.sqlite_error_code() {
        Some(DatabaseCorrupt | NotADatabase) => {
            Some(what.unwrap_or_else(|| "the store".to_owned()))
        }
        // A checksum failed in a statement whose error is another one, or a value has a type that
        // nobody writes.
        _ => what.or_else(|| is_foreign_value(error).then(|| "the store".to_owned())),
    }
}

/// Whether a stored value is of a type or in a range that is never written.
const fn is_foreign_value(error: &rusqlite::Error) -> bool {
    use rusqlite::Error::{
        FromSqlConversionFailure, IntegralValueOutOfRange, InvalidColumnType, Utf8Error,
    };
    matches!(
        error,
        FromSqlConversionFailure(..)
            | IntegralValueOutOfRange(..)
            | InvalidColumnType(..)
            | Utf8Error(..)
    )
}

/// A pool of read-only connections. It keeps one, and more while all workspaces together have few.
#[derive(Debug)]
pub(crate) struct ConnectionPool {
    path: PathBuf,
    idle: Mutex<Vec<Connection>>,
    /// The first damage that a reader met.
    damage: OnceLock<String>,
    spare: Arc<SpareConnections>,
}

impl Drop for ConnectionPool {
    fn drop(&mut self) {
        let idle = self.idle.get_mut().unwrap_or_else(PoisonError::into_inner);
        self.spare.release(idle.len().saturating_sub(1));
    }
}

impl ConnectionPool {
    pub(crate) fn new(folder: &Path, spare: Arc<SpareConnections>) -> ConnectionPool {
        let (idle, damage) = (Mutex::default(), OnceLock::new());
        ConnectionPool { path: file(folder), idle, damage, spare }
    }

    /// Runs a query on a pooled connection.
    pub(crate) fn read<T>(
        &self,
        question: impl FnOnce(&Connection) -> Result<T, ReadError>,
    ) -> Result<T, ReadError> {
        let answer = self.read_with(self.take_idle(), question);
        if let Err(ReadError::Damaged { what }) = &answer {
            self.damage.get_or_init(|| what.clone());
        }
        answer
    }

    /// The first damage that a reader met, if any.
    pub(crate) fn damage(&self) -> Option<&str> {
        self.damage.get().map(String::as_str)
    }

    fn read_with<T>(
        &self,
        idle: Option<Connection>,
        question: impl FnOnce(&Connection) -> Result<T, ReadError>,
    ) -> Result<T, ReadError> {
        let connection = match idle {
            Some(connection) => connection,
            None => self.connect().map_err(unless_too_many_files)?,
        };
        // One transaction for all statements: each alone would take and release the file's locks.
        let run = |sql| connection.prepare_cached(sql)?.execute([]);
        run("BEGIN").map_err(unless_too_many_files)?;
        // What an earlier read met is not why this one fails.
        pages::take_damage();
        let answer = question(&connection)?;
        run("COMMIT").map_err(storage)?;
        self.keep(connection);
        Ok(answer)
    }

    fn take_idle(&self) -> Option<Connection> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let taken = idle.pop();
        if !idle.is_empty() {
            self.spare.release(1);
        }
        taken
    }

    fn keep(&self, connection: Connection) {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.is_empty() || (idle.len() < IDLE_MAX && self.spare.reserve()) {
            idle.push(connection);
        }
    }

    /// A connection that has read nothing yet, so that everything it reads comes from the disk.
    pub(crate) fn connect(&self) -> rusqlite::Result<Connection> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = pages::open(&self.path, flags)?;
        connection.busy_timeout(std::time::Duration::from_secs(5))?;
        connection.set_prepared_statement_cache_capacity(64);
        // Otherwise SQLite replans a cached statement with every new binding.
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
        connection.execute_batch(
            "PRAGMA query_only = ON;
             PRAGMA cache_size = -16384;
             PRAGMA trusted_schema = OFF;",
        )?;
        Ok(connection)
    }
}

/// Converts the error of a connection that cannot open its files.
fn unless_too_many_files(error: rusqlite::Error) -> ReadError {
    match descriptors::why_not_opened() {
        Some(too_many) => ReadError::TooManyFiles(too_many),
        None => storage(error),
    }
}

/// Converts an SQLite error for a reader.
pub(crate) fn storage(error: rusqlite::Error) -> ReadError {
    match damage(&error) {
        Some(what) => ReadError::Damaged { what },
        None => ReadError::Storage { cause: Cause::from(error) },
    }
}
