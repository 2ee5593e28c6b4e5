//! The database of Chroma (`chroma.sqlite3`): documents of its collections, without their vectors.

use rusqlite::types::ValueRef;
use rusqlite::{Connection, Row};
use serde_json::{Map, Value};

use super::mem0::text_at;
use super::{fields, sqlite};
use crate::conversations::turn::{Keys, Tally, grouped, name};
use crate::conversations::when::moment;
use crate::part::{Part, PartSink, ReadFailure};
use crate::source::{FileHead, SourceFile};
use crate::table::Reader;

/// The reader of databases of Chroma.
pub(crate) const READER: Reader = Reader {
    name: "Chroma database",
    extensions: &["sqlite3"],
    recognises: is_chroma,
    is_isolated: true,
    read,
};

const TABLES: &[&str] = &["collections", "segments", "embeddings", "embedding_metadata"];

/// Whether it is such a database.
fn is_chroma(head: &FileHead) -> bool {
    let is_sqlite = head.bytes.starts_with(b"SQLite format 3\0");
    is_sqlite && (head.name == "chroma.sqlite3" || sqlite::has_tables(head, TABLES))
}

/// Reads the documents.
fn read(source: &mut SourceFile<'_>, sink: &mut PartSink<'_>) -> Result<(), ReadFailure> {
    let connection = sqlite::open(source)?;
    sqlite::check_tables(&connection, TABLES)?;
    let (mut keys, mut tally) = (Keys::default(), Tally::default());
    let collections = collections(&connection)?;
    for (id, title) in &collections {
        read_collection(&connection, id, title, &mut keys, &mut tally, sink)?;
    }
    let count = grouped(collections.len() as u64);
    tally.remarks.push(format!("collections: {count}; vectors are computed again"));
    tally.give_summary(sink)
}

fn collections(connection: &Connection) -> Result<Vec<(String, String)>, ReadFailure> {
    let mut statement = connection
        .prepare("SELECT id, name FROM collections ORDER BY name, id LIMIT 10000")
        .map_err(sqlite::failure)?;
    let rows = statement.query_map([], |row| Ok((text_at(row, 0), text_at(row, 1))));
    let rows =
        rows.map_err(sqlite::failure)?.collect::<Result<Vec<_>, _>>().map_err(sqlite::failure)?;
    Ok(rows.into_iter().filter_map(|(id, name)| Some((id?, name?))).collect())
}

/// A document while the rows of its metadata come.
struct Entry {
    number: i64,
    id: String,
    created: Option<String>,
    document: Option<String>,
    metadata: Map<String, Value>,
}

fn read_collection(
    connection: &Connection,
    id: &str,
    collection: &str,
    keys: &mut Keys,
    tally: &mut Tally,
    sink: &mut PartSink<'_>,
) -> Result<(), ReadFailure> {
    let sql = "SELECT e.id, e.embedding_id, e.created_at, m.key, m.string_value, m.int_value, \
               m.float_value, m.bool_value FROM embeddings e \
               JOIN segments s ON s.id = e.segment_id \
               LEFT JOIN embedding_metadata m ON m.id = e.id \
               WHERE s.collection = ?1 ORDER BY e.id, m.key";
    let mut statement = connection.prepare(sql).map_err(sqlite::failure)?;
    let mut rows = statement.query([id]).map_err(sqlite::failure)?;
    let mut open: Option<Entry> = None;
    let mut position = 0;
    while let Some(row) = rows.next().map_err(sqlite::failure)? {
        let number: i64 = row.get(0).map_err(sqlite::failure)?;
        if open.as_ref().is_some_and(|entry| entry.number != number)
            && let Some(entry) = open.take()
        {
            write(entry, collection, &mut position, keys, tally, sink)?;
        }
        let entry = open.get_or_insert_with(|| Entry {
            number,
            id: text_at(row, 1).unwrap_or_else(|| number.to_string()),
            created: text_at(row, 2),
            document: None,
            metadata: Map::new(),
        });
        match text_at(row, 3).as_deref() {
            Some("chroma:document") => entry.document = text_at(row, 4),
            Some(key) => {
                entry.metadata.insert(key.to_owned(), value(row));
            }
            None => {}
        }
    }
    match open {
        Some(entry) => write(entry, collection, &mut position, keys, tally, sink),
        None => Ok(()),
    }
}

fn value(row: &Row<'_>) -> Value {
    if let Some(text) = text_at(row, 4) {
        return Value::from(text);
    }
    match (row.get_ref(5), row.get_ref(6), row.get_ref(7)) {
        (Ok(ValueRef::Integer(number)), _, _) => Value::from(number),
        (_, Ok(ValueRef::Real(number)), _) => Value::from(number),
        (_, _, Ok(ValueRef::Integer(flag))) => Value::from(flag != 0),
        _ => Value::Null,
    }
}

fn write(
    entry: Entry,
    collection: &str,
    position: &mut i64,
    keys: &mut Keys,
    tally: &mut Tally,
    sink: &mut PartSink<'_>,
) -> Result<(), ReadFailure> {
    let Some(document) = entry.document.filter(|text| !text.trim().is_empty()) else {
        tally.leave("entries without text");
        return Ok(());
    };
    let mut part = Part::of_file(&fields::title(&entry.metadata), document);
    part.key = keys.key(&format!("{collection}:{}", entry.id));
    part.created = entry.created.and_then(|time| moment(&Value::from(time)));
    part.position = *position;
    *position += 1;
    part.set_field("collection", &name(collection));
    // Nodes of LlamaIndex carry a copy of themselves.
    fields::keep(&entry.metadata, &["_node_content", "collection"], &mut part, tally);
    tally.take("documents");
    sink.part(part)
}
