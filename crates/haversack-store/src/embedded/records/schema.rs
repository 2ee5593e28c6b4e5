//! The tables of a workspace, their format version and migrations.

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OptionalExtension, TransactionBehavior};

use crate::embedded::pages;

/// The newest format this code writes. Formats are numbered from 1; 0 is an empty file.
///
/// Format 3 is format 2 with a checksum in every page; older programs would not write them.
pub(crate) const FORMAT: u32 = 3;

/// The newest format that statements make from the one before it.
const TABLES_FORMAT: u32 = 2;

/// Marks the file as one of ours ("Hvsk").
const APPLICATION_ID: u32 = 0x4876_736b;

/// Migrations: each makes the format of its number from the previous one.
const STEPS: [&str; TABLES_FORMAT as usize] =
    [include_str!("format_1.sql"), include_str!("format_2.sql")];

/// The indexed SQL expression of a reference field. SQLite matches the index by this exact text.
///
/// Invalid JSON gives null: otherwise a damaged item could be neither ended nor purged.
pub(crate) fn reference_expression(field: &str) -> String {
    format!("CASE WHEN json_valid(fields) THEN json_extract(fields, '$.{field}') END")
}

/// Why the tables cannot be used.
#[derive(Debug)]
pub(crate) enum SchemaError {
    /// Written by a newer version of Haversack.
    Newer(u32),
    /// The file belongs to another program.
    Foreign,
    /// Its pages must have checksums and have none.
    Unchecked,
    /// SQLite failed.
    Sqlite(rusqlite::Error),
}

impl From<rusqlite::Error> for SchemaError {
    fn from(error: rusqlite::Error) -> SchemaError {
        SchemaError::Sqlite(error)
    }
}

/// Memory for the pages that all connections of the process cache, together. Near the limit a
/// connection reuses its own pages instead of taking more.
const CACHES_BYTES_MAX: usize = 256 << 20;

/// Configures the writer's connection.
pub(crate) fn configure(connection: &Connection) -> rusqlite::Result<()> {
    connection.busy_timeout(std::time::Duration::from_secs(5))?;
    connection.set_prepared_statement_cache_capacity(128);
    // Otherwise SQLite replans a cached statement with every new binding.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    connection.execute_batch(&format!("PRAGMA soft_heap_limit = {CACHES_BYTES_MAX}"))?;
    connection.execute_batch(
        "PRAGMA journal_mode = WAL;
         PRAGMA synchronous = FULL;
         PRAGMA secure_delete = ON;
         PRAGMA temp_store = MEMORY;
         PRAGMA cache_size = -32768;
         PRAGMA wal_autocheckpoint = 8192;
         PRAGMA journal_size_limit = 67108864;
         PRAGMA trusted_schema = OFF;",
    )
}

/// The format of the file, which must be ours or empty.
pub(crate) fn format_of(connection: &Connection) -> Result<u32, SchemaError> {
    let format: u32 = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
    let id: u32 = connection.pragma_query_value(None, "application_id", |row| row.get(0))?;
    let tables: Option<i64> = connection
        .query_row("SELECT 1 FROM sqlite_schema LIMIT 1", [], |row| row.get(0))
        .optional()?;
    match (format, id) {
        (0, 0) if tables.is_none() => Ok(0),
        (_, APPLICATION_ID) if format > FORMAT => Err(SchemaError::Newer(format)),
        (1.., APPLICATION_ID) => Ok(format),
        _ => Err(SchemaError::Foreign),
    }
}

/// Migrates the tables to the current format, one transaction per step, so that an interruption
/// leaves a complete older format. Pages without checksums stay so; only their copy gets them.
pub(crate) fn migrate(connection: &mut Connection) -> Result<(), SchemaError> {
    let format = format_of(connection)?;
    let checked = pages::have_checksums(connection)?;
    if format > TABLES_FORMAT && !checked {
        return Err(SchemaError::Unchecked);
    }
    let last = if checked { FORMAT } else { TABLES_FORMAT };
    for (step, sql) in (1u32..).zip(STEPS).skip(format as usize) {
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        transaction.execute_batch(sql)?;
        transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
        transaction.pragma_update(None, "user_version", step)?;
        transaction.commit()?;
    }
    if format < last {
        connection.pragma_update(None, "user_version", last)?;
    }
    Ok(())
}

/// Creates missing indexes and derived tables. SQLite maintains them for older programs, too, so
/// they are not part of the format.
pub(crate) fn create_indexes(
    connection: &Connection,
    references: &[String],
) -> rusqlite::Result<()> {
    // Earlier versions indexed three fields by name.
    connection.execute_batch(
        "DROP INDEX IF EXISTS items_by_opportunity;
         DROP INDEX IF EXISTS items_by_thread;
         DROP INDEX IF EXISTS items_by_conversation;",
    )?;
    for field in references {
        let reference = reference_expression(field);
        connection.execute_batch(&format!(
            "CREATE INDEX IF NOT EXISTS items_by_field_{field} ON items ({reference}) \
             WHERE {reference} IS NOT NULL"
        ))?;
    }
    // `seals` holds the seals of versions; `seals::seal_missing_rows` fills gaps. `trims` holds the
    // revision at which the last trimmed version of an item ended; items that reached the bound
    // before the table existed get an entry. The event indexes serve usage at a moment, by item and
    // by user. Chunks are found by the beginning of their text's hash, which is short and tells
    // almost all of them apart. `write_keys` holds the idempotency keys of a day: an older program forgets none of them,
    // it only does not heed them.
    connection.execute_batch(
        "CREATE TABLE IF NOT EXISTS seals (row INTEGER PRIMARY KEY, seal BLOB NOT NULL) STRICT;
         CREATE TABLE IF NOT EXISTS trims (node INTEGER PRIMARY KEY, died INTEGER NOT NULL) STRICT;
         CREATE INDEX IF NOT EXISTS trims_by_end ON trims (died);
         INSERT INTO trims SELECT node, min(born) FROM items
           WHERE EXISTS (SELECT 1 FROM settings WHERE name = 'trimmed')
             AND NOT EXISTS (SELECT 1 FROM trims)
           GROUP BY node HAVING count(*) > 16;
         CREATE INDEX IF NOT EXISTS chunks_by_hash ON chunks (substr(hash, 1, 4));
         CREATE INDEX IF NOT EXISTS events_by_node ON events (node, happening, at, user);
         CREATE INDEX IF NOT EXISTS events_by_user ON events (user, happening, at, node);
         CREATE TABLE IF NOT EXISTS write_keys (
           number INTEGER PRIMARY KEY, scope TEXT NOT NULL, name TEXT NOT NULL,
           request BLOB NOT NULL, at INTEGER NOT NULL, revision INTEGER NOT NULL,
           stored INTEGER NOT NULL, unchanged INTEGER NOT NULL, deleted INTEGER NOT NULL,
           UNIQUE (scope, name)
         ) STRICT;
         CREATE INDEX IF NOT EXISTS write_keys_by_time ON write_keys (at);",
    )
}

/// Empty tables in memory, for tests.
#[cfg(test)]
pub(crate) fn open_in_memory() -> Connection {
    let mut connection = Connection::open_in_memory().expect("SQLite opens in memory");
    migrate(&mut connection).expect("the tables of the present format");
    create_indexes(&connection, crate::kinds::Kinds::built_in().references())
        .expect("the indexes of the present format");
    connection
}
