//! Rows of a real PostgreSQL server.
#![cfg(all(feature = "postgres", unix))]
#![expect(clippy::unwrap_used, reason = "a test may fail by panicking, helpers included")]

mod failures;
mod tls;
mod types;

use haversack_database::{Address, Cell, Database, DatabaseError, DatabaseLimits, RowQuery};
use serde_json::Value;

fn open(address: &str) -> Result<Database, DatabaseError> {
    Database::open(&Address::parse(address, None)?, DatabaseLimits::default())
}

fn all(sql: &str) -> RowQuery<'_> {
    RowQuery { sql, id: "id", cursor: None, from: None }
}

fn rows(database: &mut Database, query: &RowQuery<'_>) -> Result<Vec<Vec<Cell>>, DatabaseError> {
    let mut rows = Vec::new();
    database.read(query, &mut |row| {
        rows.push(row);
        Ok::<(), DatabaseError>(())
    })?;
    Ok(rows)
}

/// The values of the first column.
fn firsts(rows: &[Vec<Cell>]) -> Vec<Value> {
    let first = |row: &Vec<Cell>| match &row[0] {
        Cell::Value(value) => value.clone(),
        Cell::Unreadable(name) => Value::String(format!("unreadable {name}")),
    };
    rows.iter().map(first).collect()
}
