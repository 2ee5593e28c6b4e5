//! Opens `SQLite` files from memory, read-only, without trust in their schema.

use rusqlite::{Connection, MAIN_DB};

use crate::part::ReadFailure;
use crate::source::{FileHead, SourceFile};

/// Whether it is an `SQLite` file whose first pages define these tables.
pub(super) fn has_tables(head: &FileHead, tables: &[&str]) -> bool {
    let is_sqlite = head.bytes.starts_with(b"SQLite format 3\0");
    let schema = String::from_utf8_lossy(&head.bytes).to_lowercase().replace(['"', '`'], "");
    is_sqlite
        && tables.iter().all(|table| {
            schema.contains(&format!("create table {table} "))
                || schema.contains(&format!("create table {table}("))
                || schema.contains(&format!("create table if not exists {table}"))
        })
}

/// Opens a file.
pub(super) fn open(source: &mut SourceFile<'_>) -> Result<Connection, ReadFailure> {
    let mut bytes = source.read_all()?;
    // A file in WAL mode cannot be opened from memory. What is only in its log beside it is not read.
    for mode in bytes.iter_mut().skip(18).take(2).filter(|mode| **mode == 2) {
        *mode = 1;
    }
    let mut connection = Connection::open_in_memory().map_err(failure)?;
    let length = bytes.len();
    connection.deserialize_read_exact(MAIN_DB, bytes.as_slice(), length, true).map_err(failure)?;
    connection
        .execute_batch("PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON;")
        .map_err(failure)?;
    Ok(connection)
}

/// Checks that names are those of tables; a view could compute for ever.
pub(super) fn check_tables(connection: &Connection, tables: &[&str]) -> Result<(), ReadFailure> {
    for table in tables {
        let sql = "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = ?1 \
                   AND sql NOT LIKE 'CREATE VIRTUAL%'";
        let count: i64 = connection.query_row(sql, [table], |row| row.get(0)).map_err(failure)?;
        if count != 1 {
            return Err(ReadFailure::malformed(format!("it has no table {table}")));
        }
    }
    Ok(())
}

/// The columns of a table.
pub(super) fn columns(connection: &Connection, table: &str) -> Result<Vec<String>, ReadFailure> {
    let mut statement =
        connection.prepare("SELECT name FROM pragma_table_info(?1)").map_err(failure)?;
    let names = statement.query_map([table], |row| row.get(0)).map_err(failure)?;
    names.collect::<Result<_, _>>().map_err(failure)
}

/// A failure of the database.
#[expect(clippy::needless_pass_by_value, reason = "it is used as a function of map_err")]
pub(super) fn failure(error: rusqlite::Error) -> ReadFailure {
    ReadFailure::malformed(format!("its database cannot be read: {error}"))
}
