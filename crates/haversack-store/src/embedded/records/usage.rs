//! Data without versions: events and their totals, named documents, settings.

use haversack_core::embed::Model;
use haversack_core::units::Timestamp;
use rusqlite::{Connection, OptionalExtension, params};

use crate::store::item::{DocumentKind, Event, Record};

/// The most events kept; their totals are kept forever.
const EVENTS_MAX: i64 = 1_000_000;

/// The most receipts kept.
const RECEIPTS_MAX: i64 = 10_000;

/// How much later a receipt is dated that a clock wrote which was ahead: a day.
const AHEAD_MS: i64 = 24 * 60 * 60 * 1_000;

/// Stores an event and adds it to the totals.
pub(super) fn record_event(
    connection: &Connection,
    node: i64,
    event: &Event,
) -> rusqlite::Result<()> {
    let event_kind = event.event_kind.as_str();
    let at = event.at.as_millis();
    connection
        .prepare_cached("INSERT INTO events (node, user, happening, at) VALUES (?, ?, ?, ?)")?
        .execute(params![node, event.user, event_kind, at])?;
    let oldest = connection.last_insert_rowid() - EVENTS_MAX;
    connection.prepare_cached("DELETE FROM events WHERE event <= ?")?.execute([oldest])?;
    connection
        .prepare_cached(
            "INSERT INTO usage (node, user, happening, count, last) VALUES (?1, ?2, ?3, 1, ?4) \
             ON CONFLICT DO UPDATE SET count = count + 1, last = max(last, ?4)",
        )?
        .execute(params![node, event.user, event_kind, at])?;
    Ok(())
}

/// Writes a named document.
pub(super) fn write_record(connection: &Connection, record: &Record) -> rusqlite::Result<()> {
    let document_kind = record.document_kind.as_str();
    connection
        .prepare_cached(
            "INSERT INTO records (shelf, name, text, at) VALUES (?1, ?2, ?3, ?4) \
             ON CONFLICT DO UPDATE SET text = ?3, at = ?4",
        )?
        .execute(params![document_kind, record.name, record.text, record.at.as_millis()])?;
    if record.document_kind == DocumentKind::Receipt {
        // Those of a clock that was ahead are counted by themselves, or they would outlive all others.
        let ahead = record.at.as_millis().saturating_add(AHEAD_MS);
        for sql in [
            "DELETE FROM records WHERE shelf = ?1 AND name IN (SELECT name FROM records \
             WHERE shelf = ?1 AND at <= ?3 ORDER BY at DESC, name DESC LIMIT -1 OFFSET ?2)",
            "DELETE FROM records WHERE shelf = ?1 AND name IN (SELECT name FROM records \
             WHERE shelf = ?1 AND at > ?3 ORDER BY at DESC, name DESC LIMIT -1 OFFSET ?2)",
        ] {
            connection.prepare_cached(sql)?.execute(params![document_kind, RECEIPTS_MAX, ahead])?;
        }
    }
    Ok(())
}

/// Removes a named document.
pub(super) fn remove_record(
    connection: &Connection,
    document_kind: DocumentKind,
    name: &str,
) -> rusqlite::Result<()> {
    connection
        .prepare_cached("DELETE FROM records WHERE shelf = ? AND name = ?")?
        .execute(params![document_kind.as_str(), name])?;
    Ok(())
}

/// A named document.
pub(crate) fn record(
    connection: &Connection,
    document_kind: DocumentKind,
    name: &str,
) -> rusqlite::Result<Option<Record>> {
    connection
        .prepare_cached("SELECT text, at FROM records WHERE shelf = ? AND name = ?")?
        .query_row(params![document_kind.as_str(), name], |line| {
            Ok(Record {
                document_kind,
                name: name.to_owned(),
                text: line.get(0)?,
                at: Timestamp::from_millis(line.get(1)?),
            })
        })
        .optional()
}

/// The names of a kind of document, after a name.
pub(crate) fn records(
    connection: &Connection,
    document_kind: DocumentKind,
    after: Option<&str>,
    limit: usize,
) -> rusqlite::Result<Vec<String>> {
    connection
        .prepare_cached(
            "SELECT name FROM records WHERE shelf = ?1 AND (?2 IS NULL OR name > ?2) \
             ORDER BY name LIMIT ?3",
        )?
        .query_map(params![document_kind.as_str(), after, limit as u64], |line| line.get(0))?
        .collect()
}

/// The latest revision.
pub(crate) fn revision(connection: &Connection) -> rusqlite::Result<u64> {
    connection.query_row("SELECT coalesce(max(revision), 0) FROM commits", [], |line| line.get(0))
}

/// The latest revision at a moment.
pub(crate) fn revision_at(connection: &Connection, at: Timestamp) -> rusqlite::Result<u64> {
    connection.query_row(
        "SELECT coalesce(max(revision), 0) FROM commits WHERE at <= ?",
        [at.as_millis()],
        |line| line.get(0),
    )
}

/// The newest revision that lost a version to trimming.
pub(crate) fn trimmed_revision(connection: &Connection) -> rusqlite::Result<u64> {
    let trimmed = connection
        .prepare_cached("SELECT value FROM settings WHERE name = 'trimmed'")?
        .query_row([], |line| line.get(0))
        .optional()?;
    Ok(trimmed.unwrap_or(0))
}

/// The reader lists of items whose version in this revision was trimmed.
pub(crate) fn trimmed_lists(connection: &Connection, revision: u64) -> rusqlite::Result<Vec<u32>> {
    connection
        .prepare_cached(
            "SELECT DISTINCT i.list FROM trims t JOIN items i ON i.node = t.node WHERE t.died > ?",
        )?
        .query_map([revision], |line| line.get(0))?
        .collect()
}

/// Records that a version of a node which ended in `revision` was trimmed.
pub(super) fn record_trim(
    connection: &Connection,
    node: i64,
    revision: u64,
) -> rusqlite::Result<()> {
    connection
        .prepare_cached(
            "INSERT INTO trims (node, died) VALUES (?1, ?2) \
             ON CONFLICT DO UPDATE SET died = max(died, ?2)",
        )?
        .execute(params![node, revision])?;
    connection
        .prepare_cached(
            "INSERT INTO settings (name, value) VALUES ('trimmed', ?1) \
             ON CONFLICT DO UPDATE SET value = max(value, ?1)",
        )?
        .execute([revision])?;
    Ok(())
}

/// The key of a model, if it has one.
pub(crate) fn find_model(connection: &Connection, model: &Model) -> rusqlite::Result<Option<i64>> {
    connection
        .prepare_cached(
            "SELECT model FROM models WHERE name = ? AND version = ? AND dimensions = ?",
        )?
        .query_row(params![model.name, model.version, model.dimensions as u64], |line| line.get(0))
        .optional()
}

/// The key of a model, inserting it if it is new.
pub(crate) fn model_number(connection: &Connection, model: &Model) -> rusqlite::Result<i64> {
    let dimensions = model.dimensions as u64;
    connection
        .prepare_cached(
            "INSERT INTO models (name, version, dimensions) VALUES (?, ?, ?) \
             ON CONFLICT DO NOTHING",
        )?
        .execute(params![model.name, model.version, dimensions])?;
    connection
        .prepare_cached(
            "SELECT model FROM models WHERE name = ? AND version = ? AND dimensions = ?",
        )?
        .query_row(params![model.name, model.version, dimensions], |line| line.get(0))
}

/// The version that computed the features of all chunks.
pub(crate) fn features_version(connection: &Connection) -> rusqlite::Result<Option<String>> {
    connection
        .query_row("SELECT value FROM settings WHERE name = 'features'", [], |line| line.get(0))
        .optional()
}

/// Records the version that computed the features of all chunks.
pub(crate) fn set_features_version(connection: &Connection, version: &str) -> rusqlite::Result<()> {
    connection.execute(
        "INSERT INTO settings (name, value) VALUES ('features', ?1) \
         ON CONFLICT DO UPDATE SET value = ?1",
        [version],
    )?;
    Ok(())
}

/// The model whose vectors are searched, if one is set.
pub(crate) fn model(connection: &Connection) -> rusqlite::Result<Option<Model>> {
    connection
        .query_row(
            "SELECT m.name, m.version, m.dimensions FROM settings s \
             JOIN models m ON m.model = s.value WHERE s.name = 'model'",
            [],
            |line| {
                Ok(Model {
                    name: line.get(0)?,
                    version: line.get(1)?,
                    dimensions: usize::try_from(line.get::<_, u32>(2)?).unwrap_or(0),
                })
            },
        )
        .optional()
}

/// Sets the model whose vectors are searched.
pub(crate) fn set_model(connection: &Connection, model: i64) -> rusqlite::Result<()> {
    connection.execute(
        "INSERT INTO settings (name, value) VALUES ('model', ?1) \
         ON CONFLICT DO UPDATE SET value = ?1",
        [model],
    )?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::schema;
    use super::*;

    #[test]
    fn receipts_of_a_clock_that_was_ahead_do_not_push_out_later_ones() {
        let connection = schema::open_in_memory();
        let write = |name: String, millis: i64| {
            let (document_kind, text) = (DocumentKind::Receipt, "{}".to_owned());
            let record = Record { document_kind, name, text, at: Timestamp::from_millis(millis) };
            write_record(&connection, &record).unwrap();
        };
        let year_2100 = 4_102_444_800_000;
        let most = RECEIPTS_MAX;
        for n in 0..most {
            write(format!("ahead {n}"), year_2100 + n);
        }
        for n in 0..most + 5 {
            write(format!("now {n:06}"), 1_000_000 + n);
        }
        let count = |pattern: &str| -> i64 {
            let sql = "SELECT count(*) FROM records WHERE name GLOB ?";
            connection.query_row(sql, [pattern], |line| line.get(0)).unwrap()
        };
        assert_eq!((count("now *"), count("ahead *")), (most, most));
        assert_eq!((count("now 000000"), count(&format!("now {:06}", most + 4))), (0, 1));
    }
}
