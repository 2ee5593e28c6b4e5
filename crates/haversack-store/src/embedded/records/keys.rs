//! Idempotency keys: which keyed batches were written, and what they did. A key is recorded in the
//! transaction of its batch, so neither can be there without the other.

use rusqlite::{Connection, OptionalExtension, params};

use crate::revision::Revision;
use crate::store::change::{
    CommitReport, RecordedWrite, WRITE_KEYS_KEPT_MS, WRITE_KEYS_MAX, WriteKey,
};

/// The write that a key was used for, within the time that keys are kept.
///
/// A key from far in the future was recorded by a clock that was ahead, so nobody knows how old it is. Its
/// request is still not done twice, but it does not keep the name from another request.
pub(crate) fn find(
    connection: &Connection,
    key: &WriteKey,
) -> rusqlite::Result<Option<RecordedWrite>> {
    let mut statement = connection.prepare_cached(
        "SELECT request, revision, stored, unchanged, deleted FROM write_keys \
         WHERE scope = ?1 AND name = ?2 AND at > ?3 AND (at < ?4 OR request = ?5)",
    )?;
    let now = key.at.as_millis();
    let since = now.saturating_sub(WRITE_KEYS_KEPT_MS);
    let ahead = now.saturating_add(WRITE_KEYS_KEPT_MS);
    let found =
        statement.query_row(params![key.scope, key.name, since, ahead, key.request], |line| {
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

/// Records what the batch of a key did, and removes the oldest keys. Those of a clock that was ahead are
/// kept from now on as long as this one.
pub(crate) fn record(
    connection: &Connection,
    key: &WriteKey,
    report: &CommitReport,
) -> rusqlite::Result<()> {
    let now = key.at.as_millis();
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
            now,
            report.revision.get(),
            report.stored,
            report.unchanged,
            report.deleted,
        ])?;
    let number = connection.last_insert_rowid();
    connection
        .prepare_cached("UPDATE write_keys SET at = ?1 WHERE at >= ?2")?
        .execute([now, now.saturating_add(WRITE_KEYS_KEPT_MS)])?;
    connection
        .prepare_cached("DELETE FROM write_keys WHERE number <= ?1 OR at <= ?2")?
        .execute([number.saturating_sub(WRITE_KEYS_MAX), now.saturating_sub(WRITE_KEYS_KEPT_MS)])?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use haversack_core::units::Timestamp;

    use super::super::schema;
    use super::*;

    fn key(name: &str, millis: i64) -> WriteKey {
        let (scope, name) = ("anna feedback".into(), name.into());
        WriteKey { scope, name, request: [7; 32], at: Timestamp::from_millis(millis) }
    }

    #[test]
    fn a_key_is_kept_for_a_day_and_belongs_to_its_scope() {
        let connection = schema::open_in_memory();
        let report = CommitReport { revision: Revision::new(3), stored: 2, ..Default::default() };
        record(&connection, &key("a", 1_000), &report).unwrap();
        let found = find(&connection, &key("a", 1_000 + WRITE_KEYS_KEPT_MS - 1)).unwrap();
        assert_eq!(found, Some(RecordedWrite { request: [7; 32], report: report.clone() }));
        let elsewhere = WriteKey { scope: "bob feedback".into(), ..key("a", 1_000) };
        assert_eq!(find(&connection, &elsewhere).unwrap(), None);
        let later = 1_000 + WRITE_KEYS_KEPT_MS;
        assert_eq!(find(&connection, &key("a", later)).unwrap(), None);
        record(&connection, &key("b", later), &report).unwrap();
        let left: i64 = connection
            .query_row("SELECT count(*) FROM write_keys", [], |line| line.get(0))
            .unwrap();
        assert_eq!(left, 1, "the old one is removed");
    }

    #[test]
    fn a_key_of_a_clock_that_was_ahead_repeats_nothing_and_does_not_stay_for_ever() {
        let connection = schema::open_in_memory();
        let (now, report) = (1_000, CommitReport::default());
        let year_ahead = now + 365 * WRITE_KEYS_KEPT_MS;
        for name in ["a", "b"] {
            record(&connection, &key(name, year_ahead), &report).unwrap();
        }
        // The clock is right again.
        assert!(find(&connection, &key("a", now)).unwrap().is_some(), "it is not done twice");
        let other = WriteKey { request: [8; 32], ..key("a", now) };
        assert_eq!(find(&connection, &other).unwrap(), None, "it refuses no other request");
        record(&connection, &other, &report).unwrap();
        assert_eq!(find(&connection, &other).unwrap().unwrap().request, [8; 32]);
        assert!(find(&connection, &key("b", now)).unwrap().is_some());
        let later = now + WRITE_KEYS_KEPT_MS;
        assert_eq!(find(&connection, &key("b", later)).unwrap(), None, "it ends after a day");
    }

    #[test]
    fn the_oldest_keys_go_first_when_there_are_too_many() {
        let connection = schema::open_in_memory();
        record(&connection, &key("old", 1), &CommitReport::default()).unwrap();
        connection.execute("UPDATE write_keys SET number = 5 - ?1", [WRITE_KEYS_MAX]).unwrap();
        let sql = "INSERT INTO write_keys (number, scope, name, request, at, revision, stored, \
                   unchanged, deleted) VALUES (4, '', '', x'', 1, 0, 0, 0, 0)";
        connection.execute(sql, []).unwrap();
        record(&connection, &key("new", 1), &CommitReport::default()).unwrap();
        assert_eq!(find(&connection, &key("old", 1)).unwrap(), None);
        assert!(find(&connection, &key("new", 1)).unwrap().is_some());
    }

    #[test]
    fn old_keys_are_found_by_an_index() {
        let connection = schema::open_in_memory();
        for sql in [
            "DELETE FROM write_keys WHERE number <= ?1 OR at <= ?2",
            "UPDATE write_keys SET at = ?1 WHERE at >= ?2",
        ] {
            let mut statement = connection.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
            let lines = statement.query_map([1, 2], |line| line.get(3)).unwrap();
            let plan = lines.collect::<rusqlite::Result<Vec<String>>>().unwrap().join("\n");
            assert!(plan.contains("write_keys_by_time") && !plan.contains("SCAN"), "{plan}");
        }
    }
}
