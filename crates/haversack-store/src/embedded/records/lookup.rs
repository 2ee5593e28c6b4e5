//! Looking up: items, passages, vectors, and which rows pass a filter.

use std::ops::Range;

use haversack_core::embed::Vector;
use haversack_core::ids::ItemId;
use haversack_core::units::Span;
use rusqlite::types::Value as SqlValue;
use rusqlite::{Connection, OptionalExtension, params_from_iter};
use serde_json::Value;

use super::lines::{COLUMNS, Line, TABLES};
use super::storage;
use crate::embedded::row::{Bitmap, Row};
use crate::prepare::Hash;
use crate::store::error::ReadError;
use crate::store::item::Passage;
use crate::store::query::Filter;

/// The number of a name.
pub(crate) fn node(connection: &Connection, id: &ItemId) -> Result<Option<i64>, ReadError> {
    connection
        .prepare_cached("SELECT node FROM nodes WHERE id = ?")
        .and_then(|mut statement| statement.query_row([id.as_str()], |line| line.get(0)).optional())
        .map_err(storage)
}

/// The rows of a node, the latest first.
pub(crate) fn rows_of(connection: &Connection, node: i64) -> Result<Vec<Row>, ReadError> {
    connection
        .prepare_cached("SELECT row FROM items WHERE node = ? ORDER BY born DESC, row DESC")
        .and_then(|mut statement| {
            statement.query_map([node], |line| line.get(0).map(Row::new))?.collect()
        })
        .map_err(storage)
}

/// The version in a row, with or without its body.
pub(crate) fn line(
    connection: &Connection,
    row: Row,
    with_body: bool,
) -> Result<Option<Line>, ReadError> {
    let body = if with_body { ", i.body" } else { "" };
    let sql = format!("SELECT {COLUMNS}{body} FROM {TABLES} WHERE i.row = ?");
    connection
        .prepare_cached(&sql)
        .and_then(|mut statement| statement.query_row([row.get()], Line::read).optional())
        .map_err(storage)?
        .transpose()
}

/// The name that a row is a version of.
pub(crate) fn id_of(connection: &Connection, row: Row) -> Result<Option<ItemId>, ReadError> {
    let id: Option<String> = connection
        .prepare_cached("SELECT n.id FROM items i JOIN nodes n ON n.node = i.node WHERE i.row = ?")
        .and_then(|mut statement| statement.query_row([row.get()], |line| line.get(0)).optional())
        .map_err(storage)?;
    let damaged = |_| ReadError::Damaged { what: format!("the name of row {}", row.get()) };
    id.map(|id| ItemId::new(&id).map_err(damaged)).transpose()
}

/// A chunk of a row with its place.
pub(crate) fn passage(
    connection: &Connection,
    row: Row,
    chunk: u32,
) -> Result<Option<Passage>, ReadError> {
    let Some(line) = line(connection, row, false)? else { return Ok(None) };
    // Only the bytes of the chunk are copied: the whole text may be long.
    let raw = connection
        .prepare_cached(
            "SELECT c.start, c.stop, c.line_first, c.line_last, c.headings, i.language, \
             substr(CAST(coalesce(i.text, i.body) AS BLOB), c.start + 1, c.stop - c.start) \
             FROM chunks c JOIN items i ON i.row = c.row WHERE c.row = ? AND c.chunk = ?",
        )
        .and_then(|mut statement| {
            statement
                .query_row([row.get(), chunk], |line| {
                    let span: (usize, usize) = (line.get(0)?, line.get(1)?);
                    let lines = (line.get(2)?, line.get(3)?);
                    // SQLite takes nothing out of an empty text.
                    let text = line.get::<_, Option<Vec<u8>>>(6)?.unwrap_or_default();
                    Ok((span, lines, line.get::<_, Option<String>>(4)?, line.get(5)?, text))
                })
                .optional()
        })
        .map_err(storage)?;
    let Some((span, lines, headings, language, text)) = raw else { return Ok(None) };
    let what = || ReadError::Damaged { what: format!("item {}", line.stored.item.id) };
    let span = Span::recorded(span.0, span.1).ok_or_else(what)?;
    let text = String::from_utf8(text).map_err(|_| what())?;
    if text.len() != span.len() {
        return Err(what());
    }
    let headings = match headings {
        Some(headings) => serde_json::from_str(&headings).map_err(|_| what())?,
        None => Vec::new(),
    };
    Ok(Some(Passage { stored: line.stored, chunk, span, text, lines, headings, language }))
}

/// A chunk of a row, as the table has it.
pub(crate) struct Piece {
    pub(crate) chunk: u32,
    pub(crate) bytes: Range<usize>,
    /// `None` when they cannot be read.
    pub(crate) headings: Option<Vec<String>>,
    pub(crate) hash: Hash,
}

/// The chunks of a row, in order.
pub(crate) fn chunks_of(connection: &Connection, row: Row) -> rusqlite::Result<Vec<Piece>> {
    connection
        .prepare_cached(
            "SELECT chunk, start, stop, headings, hash FROM chunks WHERE row = ? ORDER BY chunk",
        )?
        .query_map([row.get()], |line| {
            let headings: Option<String> = line.get(3)?;
            let headings = match headings {
                Some(headings) => serde_json::from_str(&headings).ok(),
                None => Some(Vec::new()),
            };
            let bytes = line.get(1)?..line.get(2)?;
            Ok(Piece { chunk: line.get(0)?, bytes, headings, hash: line.get(4)? })
        })?
        .collect()
}

/// Stored vectors by their numbers, `None` for what was purged since.
pub(crate) fn vectors(
    connection: &Connection,
    embeddings: &[u32],
) -> Result<Vec<Option<Vec<f32>>>, ReadError> {
    let mut statement = connection
        .prepare_cached("SELECT vector FROM embeddings WHERE embedding = ?")
        .map_err(storage)?;
    embeddings
        .iter()
        .map(|embedding| {
            let damaged = || ReadError::Damaged { what: format!("vector {embedding}") };
            let half: Option<Vec<u8>> =
                statement.query_row([embedding], |line| line.get(0)).optional().map_err(storage)?;
            let Some(half) = half else { return Ok(None) };
            let vector = Vector::from_half(&half).map_err(|_| damaged())?;
            Ok(Some(vector.as_slice().to_vec()))
        })
        .collect()
}

/// Which texts have vectors by a model.
pub(crate) fn have_vectors(
    connection: &Connection,
    hashes: &[Hash],
    model: i64,
) -> Result<Vec<bool>, ReadError> {
    let mut statement = connection
        .prepare_cached("SELECT 1 FROM embeddings WHERE hash = ? AND model = ?")
        .map_err(storage)?;
    hashes.iter().map(|hash| statement.exists((hash, model)).map_err(storage)).collect()
}

/// The rows, of any time, that pass a filter, but for its tree (`under`); `None` when all do.
pub(crate) fn passing(
    connection: &Connection,
    filter: &Filter,
) -> Result<Option<Bitmap>, ReadError> {
    let mut conditions = Vec::new();
    let mut values: Vec<SqlValue> = Vec::new();
    if !filter.kinds.is_empty() {
        conditions.push(format!("kind IN ({})", vec!["?"; filter.kinds.len()].join(", ")));
        values.extend(filter.kinds.iter().map(|kind| kind.as_str().to_owned().into()));
    }
    if let Some(from) = filter.updated.0 {
        conditions.push("updated >= ?".to_owned());
        values.push(from.as_millis().into());
    }
    if let Some(until) = filter.updated.1 {
        conditions.push("updated < ?".to_owned());
        values.push(until.as_millis().into());
    }
    if let Some(least) = filter.confidence_least {
        conditions.push("(confidence IS NULL OR confidence >= ?)".to_owned());
        values.push(least.get().into());
    }
    if let Some(prefix) = &filter.path_prefix {
        // No character is above this one, so it ends the range of paths that start so.
        conditions.push("path >= ? AND path < ?".to_owned());
        values.push(prefix.clone().into());
        values.push(format!("{prefix}\u{10ffff}").into());
    }
    for (name, value) in &filter.fields {
        conditions.push("json_extract(fields, ?) IS ?".to_owned());
        values.push(format!("$.\"{}\"", name.replace('"', "\\\"")).into());
        values.push(sql_value(name, value)?);
    }
    if conditions.is_empty() {
        return Ok(None);
    }
    let sql = format!("SELECT row FROM items WHERE {}", conditions.join(" AND "));
    let rows: rusqlite::Result<Bitmap> =
        connection.prepare_cached(&sql).and_then(|mut statement| {
            statement
                .query_map(params_from_iter(values), |line| line.get(0).map(Row::new))?
                .collect()
        });
    rows.map(Some).map_err(storage)
}

fn sql_value(name: &str, value: &Value) -> Result<SqlValue, ReadError> {
    match value {
        Value::Null => Ok(SqlValue::Null),
        Value::Bool(yes) => Ok(i64::from(*yes).into()),
        Value::Number(number) => Ok(match number.as_i64() {
            Some(integer) => integer.into(),
            None => number.as_f64().unwrap_or(f64::MAX).into(),
        }),
        Value::String(text) => Ok(text.clone().into()),
        Value::Array(_) | Value::Object(_) => Err(ReadError::Invalid {
            what: format!("fields.{name}: a filter compares with a text, number, yes or no"),
        }),
    }
}

/// The rows, of any time, that are not in use.
pub(crate) fn not_active(connection: &Connection) -> Result<Bitmap, ReadError> {
    connection
        .prepare_cached("SELECT row FROM items WHERE active = 0")
        .and_then(|mut statement| {
            statement.query_map([], |line| line.get(0).map(Row::new))?.collect()
        })
        .map_err(storage)
}
