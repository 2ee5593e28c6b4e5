//! Idempotency keys: which keyed batches were written, and what they did. A key is recorded in the
//! transaction of its batch, so neither can be there without the other.

use haversack_core::units::Timestamp;
use rusqlite::{Connection, OptionalExtension, params};

use crate::revision::Revision;
use crate::store::change::{
    CommitReport, RecordedWrite, WRITE_KEYS_KEPT_MS, WRITE_KEYS_MAX, WriteKey,
};

/// The write that a key was used for, within the time that keys are kept.
pub(crate) fn find(
    connection: &Connection,
    key: &WriteKey,
    now: Timestamp,
) -> rusqlite::Result<Option<RecordedWrite>> {
    let mut statement = connection.prepare_cached(
        "SELECT request, revision, stored, unchanged, deleted FROM write_keys \
         WHERE scope = ? AND name = ? AND at > ?",
    )?;
    let since = now.as_millis().saturating_sub(WRITE_KEYS_KEPT_MS);
    let found = statement.query_row(params![key.scope, key.name, since], |line| {
        Ok(RecordedWrite {
            request: line.get(0)?,
            report: CommitReport {
                revision: Revision::new(line.get(1)?),
                stored: line.get(2)?,
                unchanged: line.get(3)?,
                deleted: line.get(4)?,
                // They may quote what is purged later.
                warnings: Vec::new(),
                position: None,
            },
        })
    });
    found.optional()
}

/// Records what the batch of a key did, and removes the oldest keys.
pub(crate) fn record(
    connection: &Connection,
    key: &WriteKey,
    at: Timestamp,
    report: &CommitReport,
) -> rusqlite::Result<()> {
    connection
        .prepare_cached(
            "INSERT OR REPLACE INTO write_keys \
             (scope, name, request, at, revision, stored, unchanged, deleted) \
             VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        )?
        .execute(params![
            key.scope,
            key.name,
            key.request,
            at.as_millis(),
            report.revision.get(),
            report.stored,
            report.unchanged,
            report.deleted,
        ])?;
    let number = connection.last_insert_rowid();
    connection.prepare_cached("DELETE FROM write_keys WHERE number <= ?1 OR at <= ?2")?.execute(
        [number.saturating_sub(WRITE_KEYS_MAX), at.as_millis().saturating_sub(WRITE_KEYS_KEPT_MS)],
    )?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::schema;
    use super::*;

    const fn at(millis: i64) -> Timestamp {
        Timestamp::from_millis(millis)
    }

    fn key(name: &str) -> WriteKey {
        WriteKey { scope: "anna feedback".into(), name: name.into(), request: [7; 32] }
    }

    #[test]
    fn a_key_is_kept_for_a_day_and_belongs_to_its_scope() {
        let connection = schema::open_in_memory();
        let report = CommitReport { revision: Revision::new(3), stored: 2, ..Default::default() };
        record(&connection, &key("a"), at(1_000), &report).unwrap();
        let found = find(&connection, &key("a"), at(1_000 + WRITE_KEYS_KEPT_MS - 1)).unwrap();
        assert_eq!(found, Some(RecordedWrite { request: [7; 32], report: report.clone() }));
        let elsewhere = WriteKey { scope: "bob feedback".into(), ..key("a") };
        assert_eq!(find(&connection, &elsewhere, at(1_000)).unwrap(), None);
        let later = at(1_000 + WRITE_KEYS_KEPT_MS);
        assert_eq!(find(&connection, &key("a"), later).unwrap(), None);
        record(&connection, &key("b"), later, &report).unwrap();
        let left: i64 = connection
            .query_row("SELECT count(*) FROM write_keys", [], |line| line.get(0))
            .unwrap();
        assert_eq!(left, 1, "the old one is removed");
    }

    #[test]
    fn the_oldest_keys_go_first_when_there_are_too_many() {
        let connection = schema::open_in_memory();
        record(&connection, &key("old"), at(1), &CommitReport::default()).unwrap();
        connection.execute("UPDATE write_keys SET number = 5 - ?1", [WRITE_KEYS_MAX]).unwrap();
        let sql = "INSERT INTO write_keys (number, scope, name, request, at, revision, stored, \
                   unchanged, deleted) VALUES (4, '', '', x'', 1, 0, 0, 0, 0)";
        connection.execute(sql, []).unwrap();
        record(&connection, &key("new"), at(1), &CommitReport::default()).unwrap();
        assert_eq!(find(&connection, &key("old"), at(1)).unwrap(), None);
        assert!(find(&connection, &key("new"), at(1)).unwrap().is_some());
    }

    #[test]
    fn old_keys_are_found_by_an_index() {
        let connection = schema::open_in_memory();
        let sql = "EXPLAIN QUERY PLAN DELETE FROM write_keys WHERE number <= ?1 OR at <= ?2";
        let mut statement = connection.prepare(sql).unwrap();
        let lines = statement.query_map([1, 2], |line| line.get(3)).unwrap();
        let plan = lines.collect::<rusqlite::Result<Vec<String>>>().unwrap().join("\n");
        assert!(plan.contains("write_keys_by_time") && !plan.contains("SCAN"), "{plan}");
    }
}
