//! The head of the log in the control database: how many lines there are and the hash of the last. A
//! log that was emptied, cut or replaced as a whole has a sound chain, but another head.

use std::io;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use haversack_core::units::Timestamp;
use rusqlite::{Connection, OpenFlags, OptionalExtension, params};

/// How long to wait for another process's write.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// Breaks that are kept; the oldest say most.
const BREAKS_MAX: u32 = 1_000;

const SCHEMA: &str = "
CREATE TABLE IF NOT EXISTS audit_head (
  one INTEGER PRIMARY KEY CHECK (one = 1), lines INTEGER NOT NULL, hash TEXT NOT NULL
) STRICT;
CREATE TABLE IF NOT EXISTS audit_breaks (
  number INTEGER PRIMARY KEY, at INTEGER NOT NULL, what TEXT NOT NULL
) STRICT;";

/// The last line of a log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Head {
    /// Lines up to and with it.
    pub(super) lines: u64,
    pub(super) hash: String,
}

/// A moment at which the log did not end as it had been left.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditBreak {
    /// When it was found.
    pub at: Timestamp,
    /// What was found.
    pub what: String,
}

/// The record of the head.
#[derive(Debug)]
pub(super) struct HeadRecord(Mutex<Connection>);

impl HeadRecord {
    /// Opens the record of a data folder.
    pub(super) fn open(folder: &Path) -> io::Result<HeadRecord> {
        let open = || {
            let connection = Connection::open(file(folder))?;
            connection.busy_timeout(BUSY_TIMEOUT)?;
            connection.pragma_update(None, "journal_mode", "WAL")?;
            connection.pragma_update(None, "secure_delete", "ON")?;
            connection.execute_batch(SCHEMA)?;
            Ok(connection)
        };
        Ok(HeadRecord(Mutex::new(open().map_err(failed)?)))
    }

    fn lock(&self) -> MutexGuard<'_, Connection> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The head, if there is one yet.
    pub(super) fn head(&self) -> io::Result<Option<Head>> {
        read_head(&self.lock()).map_err(failed)
    }

    pub(super) fn set_head(&self, head: &Head) -> io::Result<()> {
        let sql = "INSERT OR REPLACE INTO audit_head (one, lines, hash) VALUES (1, ?1, ?2)";
        self.lock()
            .prepare_cached(sql)
            .and_then(|mut statement| statement.execute(params![head.lines, head.hash]))
            .map(drop)
            .map_err(failed)
    }

    pub(super) fn add_break(&self, found: &AuditBreak) -> io::Result<()> {
        let connection = self.lock();
        let sql = "INSERT INTO audit_breaks (at, what) SELECT ?1, ?2 \
                   WHERE (SELECT count(*) FROM audit_breaks) < ?3";
        let values = params![found.at.as_millis(), found.what, BREAKS_MAX];
        connection.execute(sql, values).map(drop).map_err(failed)
    }

    pub(super) fn breaks(&self) -> io::Result<Vec<AuditBreak>> {
        read_breaks(&self.lock()).map_err(failed)
    }

    /// Forgets the breaks; returns how many there were.
    pub(super) fn accept(&self) -> io::Result<usize> {
        self.lock().execute("DELETE FROM audit_breaks", []).map_err(failed)
    }
}

fn file(folder: &Path) -> std::path::PathBuf {
    folder.join("control.db")
}

fn failed(error: rusqlite::Error) -> io::Error {
    io::Error::other(error)
}

/// Reads head and breaks without writing anything; nothing if there is no record.
pub(super) fn read(folder: &Path) -> io::Result<(Option<Head>, Vec<AuditBreak>)> {
    let path = file(folder);
    if !path.exists() {
        return Ok((None, Vec::new()));
    }
    let read = || {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(&path, flags)?;
        connection.busy_timeout(BUSY_TIMEOUT)?;
        let query = "SELECT 1 FROM sqlite_schema WHERE name = 'audit_breaks'";
        // A folder of an earlier version.
        if connection.query_row(query, [], |_| Ok(())).optional()?.is_none() {
            return Ok((None, Vec::new()));
        }
        Ok((read_head(&connection)?, read_breaks(&connection)?))
    };
    read().map_err(failed)
}

fn read_head(connection: &Connection) -> rusqlite::Result<Option<Head>> {
    connection
        .prepare_cached("SELECT lines, hash FROM audit_head")?
        .query_row([], |row| Ok(Head { lines: row.get(0)?, hash: row.get(1)? }))
        .optional()
}

fn read_breaks(connection: &Connection) -> rusqlite::Result<Vec<AuditBreak>> {
    let mut statement = connection.prepare("SELECT at, what FROM audit_breaks ORDER BY number")?;
    let breaks = statement.query_map([], |row| {
        Ok(AuditBreak { at: Timestamp::from_millis(row.get(0)?), what: row.get(1)? })
    })?;
    breaks.collect()
}
