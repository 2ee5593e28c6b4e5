//! Lookups of items, passages and vectors.

use std::ops::Range;
use std::sync::{Arc, LazyLock};

use haversack_core::embed::{TextFeatures, Vector};
use haversack_core::ids::ItemId;
use haversack_core::item::Kind;
use haversack_core::units::Span;
use rusqlite::{Connection, OptionalExtension};

use super::lines::{COLUMNS, COLUMNS_COUNT, TABLES, VersionRow};
use super::storage;
use crate::embedded::row::{Bitmap, Row};
use crate::kinds::Kinds;
use crate::prepare::Hash;
use crate::store::error::ReadError;
use crate::store::item::{Breadcrumb, Passage};

/// The node of an item id.
pub(crate) fn node_of(connection: &Connection, id: &ItemId) -> Result<Option<i64>, ReadError> {
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

/// The node of an item id with each of its rows, the latest first.
pub(crate) fn rows_of_id(
    connection: &Connection,
    id: &ItemId,
) -> Result<Vec<(i64, Row)>, ReadError> {
    connection
        .prepare_cached(
            "SELECT i.node, i.row FROM nodes n CROSS JOIN items i ON i.node = n.node WHERE n.id = ? \
             ORDER BY i.born DESC, i.row DESC",
        )
        .and_then(|mut statement| {
            let place = |line: &rusqlite::Row<'_>| Ok((line.get(0)?, Row::new(line.get(1)?)));
            statement.query_map([id.as_str()], place)?.collect()
        })
        .map_err(storage)
}

static LINE: LazyLock<String> =
    LazyLock::new(|| format!("SELECT {COLUMNS} FROM {TABLES} WHERE i.row = ?"));

static LINE_WITH_BODY: LazyLock<String> =
    LazyLock::new(|| format!("SELECT {COLUMNS}, i.body FROM {TABLES} WHERE i.row = ?"));

/// The version in a row, with or without its body.
pub(crate) fn version(
    connection: &Connection,
    row: Row,
    with_body: bool,
) -> Result<Option<VersionRow>, ReadError> {
    let sql = if with_body { &LINE_WITH_BODY } else { &LINE };
    connection
        .prepare_cached(sql)
        .and_then(|mut statement| statement.query_row([row.get()], VersionRow::read).optional())
        .map_err(storage)?
        .transpose()
}

/// The item id of a row.
pub(crate) fn id_of(connection: &Connection, row: Row) -> Result<Option<ItemId>, ReadError> {
    let id: Option<String> = connection
        .prepare_cached("SELECT n.id FROM items i JOIN nodes n ON n.node = i.node WHERE i.row = ?")
        .and_then(|mut statement| statement.query_row([row.get()], |line| line.get(0)).optional())
        .map_err(storage)?;
    let damaged = |_| ReadError::Damaged { what: format!("the item id of row {}", row.get()) };
    id.map(|id| ItemId::new(&id).map_err(damaged)).transpose()
}

/// The breadcrumb of a row and the node of its parent.
pub(crate) fn crumb(
    connection: &Connection,
    row: Row,
) -> Result<Option<(Breadcrumb, Option<i64>)>, ReadError> {
    let raw: Option<(String, String, String, Option<i64>)> = connection
        .prepare_cached(
            "SELECT n.id, i.kind, i.title, i.parent FROM items i JOIN nodes n ON n.node = i.node \
             WHERE i.row = ?",
        )
        .and_then(|mut statement| {
            statement
                .query_row([row.get()], |line| {
                    Ok((line.get(0)?, line.get(1)?, line.get(2)?, line.get(3)?))
                })
                .optional()
        })
        .map_err(storage)?;
    let Some((id, kind, title, parent)) = raw else { return Ok(None) };
    let damaged = || ReadError::Damaged { what: format!("item {id}") };
    let crumb = Breadcrumb {
        id: ItemId::new(&id).map_err(|_| damaged())?,
        kind: Kind::new(&kind).map_err(|_| damaged())?,
        title,
    };
    Ok(Some((crumb, parent)))
}

/// The longest text in bytes from which SQL cuts a chunk, reading the whole text. From a longer
/// text only the chunk is read, at the cost of another statement.
const TEXT_BYTES_MAX: usize = 32 << 10;

/// Selects a chunk with its item; the text is null for a chunk of a long text.
static PASSAGE: LazyLock<String> = LazyLock::new(|| {
    format!(
        "SELECT {COLUMNS}, k.start, k.stop, k.line_first, k.line_last, k.headings, i.language, \
         CASE WHEN coalesce(octet_length(i.text), octet_length(i.body)) <= {TEXT_BYTES_MAX} THEN \
         substr(CAST(coalesce(i.text, i.body) AS BLOB), k.start + 1, k.stop - k.start) END, \
         NOT EXISTS (SELECT 1 FROM chunks o WHERE o.row = k.row AND o.chunk <> k.chunk), \
         CASE WHEN i.text IS NULL THEN 'body' ELSE 'text' END, k.features \
         FROM {TABLES} JOIN chunks k ON k.row = i.row WHERE i.row = ? AND k.chunk = ?"
    )
});

/// A chunk of a row with its position, and the node of the item's parent.
pub(crate) fn passage(
    connection: &Connection,
    kinds: &Arc<Kinds>,
    row: Row,
    chunk: u32,
) -> Result<Option<(Passage, Option<i64>)>, ReadError> {
    let read = |line: &rusqlite::Row<'_>| {
        let item = VersionRow::read_head(line)?;
        let at = |column: usize| COLUMNS_COUNT + column;
        let span: (usize, usize) = (line.get(at(0))?, line.get(at(1))?);
        let lines = (line.get(at(2))?, line.get(at(3))?);
        let headings: Option<String> = line.get(at(4))?;
        let language: String = line.get(at(5))?;
        let text = match line.get::<_, Option<Vec<u8>>>(at(6))? {
            Some(text) => text,
            None => text_slice(connection, &line.get::<_, String>(at(8))?, row, span.0..span.1)?,
        };
        let features = match (str::from_utf8(&text), line.get_ref(at(9))?.as_blob_or_null()?) {
            (Ok(text), Some(bytes)) => TextFeatures::from_bytes(text, bytes).map(Arc::new),
            _ => None,
        };
        Ok((item, span, lines, headings, language, text, line.get(at(7))?, features))
    };
    let raw = connection
        .prepare_cached(&PASSAGE)
        .and_then(|mut statement| statement.query_row([row.get(), chunk], read).optional())
        .map_err(storage)?;
    let Some((item, span, lines, headings, language, text, is_whole, features)) = raw else {
        return Ok(None);
    };
    let item = item?;
    let (parent, stored) = (item.parent, item.into_stored(kinds));
    let what = || ReadError::Damaged { what: format!("item {}", stored.item.id) };
    let span = Span::recorded(span.0, span.1).ok_or_else(what)?;
    let text = String::from_utf8(text).map_err(|_| what())?;
    if text.len() != span.len() {
        return Err(what());
    }
    let headings = match headings {
        Some(headings) => serde_json::from_str(&headings).map_err(|_| what())?,
        None => Vec::new(),
    };
    let passage =
        Passage { stored, chunk, is_whole, span, text, features, lines, headings, language };
    Ok(Some((passage, parent)))
}

/// Reads a byte range of a text column. Empty ranges come here, too: SQL returns null for them.
fn text_slice(
    connection: &Connection,
    column: &str,
    row: Row,
    bytes: Range<usize>,
) -> rusqlite::Result<Vec<u8>> {
    if bytes.is_empty() {
        return Ok(Vec::new());
    }
    let text = connection.blob_open("main", "items", column, i64::from(row.get()), true)?;
    // A damaged length must not allocate memory.
    let mut part = vec![0; if bytes.end <= text.len() { bytes.len() } else { 0 }];
    text.read_at_exact(&mut part, bytes.start.min(text.len()))?;
    Ok(part)
}

/// A chunk of a row as stored.
pub(crate) struct ChunkRow {
    pub(crate) chunk: u32,
    pub(crate) bytes: Range<usize>,
    /// `None` when they cannot be read.
    pub(crate) headings: Option<Vec<String>>,
    pub(crate) hash: Hash,
}

/// The chunks of a row, in order.
pub(crate) fn chunks_of(connection: &Connection, row: Row) -> rusqlite::Result<Vec<ChunkRow>> {
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
            Ok(ChunkRow { chunk: line.get(0)?, bytes, headings, hash: line.get(4)? })
        })?
        .collect()
}

/// Stored vectors of a model by number; `None` for a purged one, whose number another model's
/// vector may have by now.
pub(crate) fn vectors(
    connection: &Connection,
    model: i64,
    embeddings: &[u32],
) -> Result<Vec<Option<Vec<f32>>>, ReadError> {
    let mut statement = connection
        .prepare_cached("SELECT vector FROM embeddings WHERE embedding = ? AND model = ?")
        .map_err(storage)?;
    embeddings
        .iter()
        .map(|embedding| {
            let damaged = || ReadError::Damaged { what: format!("vector {embedding}") };
            let read =
                |line: &rusqlite::Row<'_>| Ok(Vector::from_half(line.get_ref(0)?.as_blob()?));
            let vector =
                statement.query_row((embedding, model), read).optional().map_err(storage)?;
            let Some(vector) = vector else { return Ok(None) };
            Ok(Some(vector.map_err(|_| damaged())?.into_numbers()))
        })
        .collect()
}

/// Whether any row with a fact is visible.
pub(crate) fn any_with_fact(
    connection: &Connection,
    role: &str,
    text: &str,
    is_seen: impl Fn(Row) -> bool,
) -> Result<bool, ReadError> {
    let find = || -> rusqlite::Result<bool> {
        let mut statement =
            connection.prepare_cached("SELECT row FROM facts WHERE role = ? AND text = ?")?;
        let mut lines = statement.query([role, text])?;
        while let Some(line) = lines.next()? {
            if is_seen(Row::new(line.get(0)?)) {
                return Ok(true);
            }
        }
        Ok(false)
    };
    find().map_err(storage)
}

/// Whether each text hash has a vector of a model.
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

/// The rows of any revision whose item is inactive.
pub(crate) fn inactive_rows(connection: &Connection) -> Result<Bitmap, ReadError> {
    connection
        .prepare_cached("SELECT row FROM items WHERE active = 0")
        .and_then(|mut statement| {
            statement.query_map([], |line| line.get(0).map(Row::new))?.collect()
        })
        .map_err(storage)
}
