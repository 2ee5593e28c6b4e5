//! Memories of mem0: the answer of `get_all` as JSON, and the history that it keeps in `SQLite`.

use std::collections::{BTreeMap, BTreeSet};

use rusqlite::Row;
use serde_json::Value;

use super::{fields, sqlite};
use crate::conversations::json::{self, Shape, read_pieces};
use crate::conversations::turn::{Keys, Tally, grouped, hash};
use crate::conversations::when::moment;
use crate::part::{Part, PartSink, ReadFailure};
use crate::source::{FileHead, SourceFile};
use crate::table::Reader;

/// The reader of memories.
pub(crate) const READER: Reader = Reader {
    name: "mem0 memories",
    extensions: &["json"],
    recognises: is_json,
    is_isolated: false,
    read: read_json,
};

/// The reader of histories of memories.
pub(crate) const HISTORY_READER: Reader = Reader {
    name: "mem0 history",
    extensions: &["db", "sqlite"],
    recognises: is_history,
    is_isolated: true,
    read: read_history,
};

/// Where lists of memories stand.
const PATHS: &[(&str, &[&str])] =
    &[("results[]", &["results", "*"]), ("memories[]", &["memories", "*"]), ("[]", &["*"])];

/// Whether it is a list of memories.
fn is_json(head: &FileHead) -> bool {
    path(&Shape::of(head.text())).is_some()
}

fn path(shape: &Shape) -> Option<&'static [&'static str]> {
    let owners = ["user_id", "agent_id", "run_id", "hash", "categories", "created_at"];
    let is_list = |start: &str| {
        let has = |name: &str| shape.has(&format!("{start}.{name}"));
        has("memory") && has("id") && owners.into_iter().any(has)
    };
    PATHS.iter().find(|(start, _)| is_list(start)).map(|(_, path)| *path)
}

/// Whether it is the history of mem0.
fn is_history(head: &FileHead) -> bool {
    let text = String::from_utf8_lossy(&head.bytes);
    sqlite::has_tables(head, &["history"])
        && ["memory_id", "old_memory", "new_memory"].iter().all(|name| text.contains(name))
}

/// Reads a list of memories.
fn read_json(source: &mut SourceFile<'_>, sink: &mut PartSink<'_>) -> Result<(), ReadFailure> {
    let path = path(&Shape::of(source.head()?.text())).unwrap_or(&["results", "*"]);
    let (mut keys, mut tally, mut users) = (Keys::default(), Tally::default(), BTreeSet::new());
    let mut position = 0;
    read_pieces(source.rewound()?, path, &mut |_, memory| {
        let Some(mut part) = memory_part(&memory, &mut keys, &mut tally) else { return Ok(()) };
        users.extend(json::text(&memory, "user_id").map(str::to_owned));
        part.position = position;
        position += 1;
        tally.take("memories");
        sink.part(part)
    })?;
    if !users.is_empty() {
        tally.remarks.push(format!("users: {}", grouped(users.len() as u64)));
    }
    tally.give_summary(sink)
}

fn memory_part(memory: &Value, keys: &mut Keys, tally: &mut Tally) -> Option<Part> {
    let event = json::text(memory, "event").unwrap_or_default();
    if json::flag(memory, "is_deleted") || event == "DELETE" {
        tally.leave("deleted memories");
        return None;
    }
    let Some(text) = ["memory", "text", "data"].iter().find_map(|it| json::text(memory, it)) else {
        tally.leave("memories without text");
        return None;
    };
    let id = json::id(memory, "id").unwrap_or_else(|| hash(&[text]));
    let mut part = new_memory(keys.key(&id), text);
    part.created = moment(&memory["created_at"]);
    part.updated = moment(&memory["updated_at"]).or(part.created);
    part.set_field("user", json::text(memory, "user_id").unwrap_or_default());
    let metadata = memory["metadata"].as_object().cloned().unwrap_or_default();
    fields::keep(&metadata, &["data"], &mut part, tally);
    // The score belongs to the query that was asked, and the hash to the other system.
    let known = [
        "id",
        "memory",
        "text",
        "data",
        "user_id",
        "metadata",
        "created_at",
        "updated_at",
        "score",
        "hash",
        "event",
        "embedding",
        "vector",
    ];
    fields::keep(memory.as_object()?, &known, &mut part, tally);
    Some(part)
}

/// A part for a memory.
pub(super) fn new_memory(key: String, text: &str) -> Part {
    let (kind, body) = ("memory".to_owned(), text.trim().to_owned());
    Part { key, kind, body, is_markdown: true, ..Part::default() }
}

/// A memory as its history leaves it.
#[derive(Default)]
struct State {
    text: Option<String>,
    created: Option<i64>,
    updated: Option<i64>,
    actor: Option<String>,
    changes: u64,
}

/// Reads the history of mem0: the last state of each memory.
pub(crate) fn read_history(
    source: &mut SourceFile<'_>,
    sink: &mut PartSink<'_>,
) -> Result<(), ReadFailure> {
    let connection = sqlite::open(source)?;
    sqlite::check_tables(&connection, &["history"])?;
    let columns = sqlite::columns(&connection, "history")?;
    let column = |name: &str| match columns.iter().any(|it| it == name) {
        true => name.to_owned(),
        false => format!("NULL AS {name}"),
    };
    let names =
        ["memory_id", "new_memory", "event", "created_at", "updated_at", "is_deleted", "actor_id"];
    let list = names.map(column).join(", ");
    let mut statement = connection
        .prepare(&format!("SELECT {list} FROM history ORDER BY rowid"))
        .map_err(sqlite::failure)?;
    let mut states: BTreeMap<String, State> = BTreeMap::new();
    let mut rows = statement.query([]).map_err(sqlite::failure)?;
    while let Some(row) = rows.next().map_err(sqlite::failure)? {
        if let Some(id) = text_at(row, 0) {
            change(states.entry(id).or_default(), row);
        }
    }
    let (mut keys, mut tally) = (Keys::default(), Tally::default());
    for (position, (id, state)) in states.into_iter().enumerate() {
        let Some(text) = state.text.filter(|text| !text.trim().is_empty()) else {
            tally.leave("deleted memories");
            continue;
        };
        let mut part = new_memory(keys.key(&id), &text);
        part.created = state.created;
        part.updated = state.updated.or(state.created);
        part.position = i64::try_from(position).unwrap_or_default();
        part.set_field("author", state.actor.as_deref().unwrap_or_default());
        tally.take("memories");
        tally.leave_many("earlier versions", state.changes.saturating_sub(1));
        sink.part(part)?;
    }
    tally.give_summary(sink)
}

fn change(state: &mut State, row: &Row<'_>) {
    let [text, event, created, updated, deleted, actor] =
        [1, 2, 3, 4, 5, 6].map(|at| text_at(row, at));
    let at = |time: Option<String>| time.and_then(|time| moment(&Value::from(time)));
    let is_deleted = event.as_deref() == Some("DELETE") || deleted.as_deref() == Some("1");
    state.text = text.filter(|_| !is_deleted);
    state.created = state.created.or(at(created));
    state.updated = at(updated).or(state.updated);
    state.actor = actor.or(state.actor.take());
    state.changes += 1;
}

/// A value as text, whatever its type.
pub(super) fn text_at(row: &Row<'_>, at: usize) -> Option<String> {
    use rusqlite::types::ValueRef;
    match row.get_ref(at).ok()? {
        ValueRef::Text(text) => Some(String::from_utf8_lossy(text).into_owned()),
        ValueRef::Integer(number) => Some(number.to_string()),
        ValueRef::Real(number) => Some(number.to_string()),
        ValueRef::Null | ValueRef::Blob(_) => None,
    }
}
