//! A query for rows, and the cells that it gives.

use serde_json::Value;

use crate::error::DatabaseError;

/// The longest query in bytes.
const QUERY_BYTES_MAX: usize = 64 << 10;

/// A column of a query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// Its name, as the database has it.
    pub name: String,
    /// Its type, if the database declares one.
    pub type_name: Option<String>,
}

/// The value of a column in one row.
#[derive(Debug, Clone, PartialEq)]
pub enum Cell {
    /// A value. Moments are RFC 3339 in UTC, exact numbers that JSON cannot hold are texts.
    Value(Value),
    /// A value of a type that is not read, by the type's name.
    Unreadable(String),
}

/// The rows to read. All names are column names as the database has them.
#[derive(Debug, Clone, Copy)]
pub struct RowQuery<'a> {
    /// The query: one `SELECT`, without parameters.
    pub sql: &'a str,
    /// The column that identifies a row. It breaks ties in the order.
    pub id: &'a str,
    /// The column that rows are ordered by.
    pub cursor: Option<&'a str>,
    /// Only rows whose cursor is at least this, or NULL.
    pub from: Option<&'a Value>,
}

impl RowQuery<'_> {
    /// The statement, with `parameter` for the value that the cursor starts at. The value itself is bound.
    pub(crate) fn statement(&self, parameter: &str) -> String {
        let sql = self.sql.trim().trim_end_matches(';');
        let id = quote_name(self.id);
        // The line breaks end a comment at the end of the query.
        let mut statement = format!("SELECT * FROM (\n{sql}\n) AS source");
        match self.cursor.map(quote_name) {
            Some(cursor) => {
                if self.from.is_some() {
                    statement
                        .push_str(&format!(" WHERE {cursor} >= {parameter} OR {cursor} IS NULL"));
                }
                statement.push_str(&format!(" ORDER BY {cursor}, {id}"));
            }
            None => statement.push_str(&format!(" ORDER BY {id}")),
        }
        statement
    }
}

/// A name in double quotes, as both databases take it.
fn quote_name(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// Checks that a query can be one that reads, and returns it without the semicolon at its end.
pub(crate) fn check_query(sql: &str) -> Result<&str, DatabaseError> {
    let statement = |message: String| Err(DatabaseError::Statement { message });
    if sql.len() > QUERY_BYTES_MAX {
        let bytes = sql.len();
        return statement(format!("{bytes} bytes are over the limit of {QUERY_BYTES_MAX}"));
    }
    let sql = sql.trim().trim_end_matches(';').trim_end();
    let first = skip_comments(sql).split(|c: char| !c.is_ascii_alphabetic()).next();
    let first = first.map(str::to_ascii_uppercase);
    match first.as_deref() {
        Some("SELECT" | "WITH" | "VALUES" | "TABLE") => Ok(sql),
        _ => statement("it must be one SELECT (or WITH, VALUES, TABLE)".to_owned()),
    }
}

fn skip_comments(sql: &str) -> &str {
    let mut rest = sql.trim_start_matches(|c: char| c.is_whitespace() || c == '(');
    loop {
        let after = if let Some(line) = rest.strip_prefix("--") {
            line.split_once('\n').map_or("", |(_, after)| after)
        } else if let Some(block) = rest.strip_prefix("/*") {
            block.split_once("*/").map_or("", |(_, after)| after)
        } else {
            return rest;
        };
        rest = after.trim_start_matches(|c: char| c.is_whitespace() || c == '(');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_reads() {
        for sql in
            ["select 1", " WITH a AS (select 1) select * from a; ", "-- x\n/* y */ (select 1)"]
        {
            assert!(check_query(sql).is_ok(), "{sql}");
        }
        for sql in ["", "delete from a", "update a set b = 1", "pragma x", "-- select", "selects 1"]
        {
            assert!(check_query(sql).is_err(), "{sql}");
        }
        assert!(check_query(&format!("select '{}'", "x".repeat(QUERY_BYTES_MAX))).is_err());
    }

    #[test]
    fn names_are_quoted_and_values_are_bound() {
        let from = Value::from(7);
        let query = RowQuery {
            sql: "select * from t -- all;",
            id: "a\"b",
            cursor: Some("updated"),
            from: Some(&from),
        };
        assert_eq!(
            query.statement("$1"),
            "SELECT * FROM (\nselect * from t -- all\n) AS source WHERE \"updated\" >= $1 OR \"updated\" IS \
             NULL ORDER BY \"updated\", \"a\"\"b\""
        );
    }
}
