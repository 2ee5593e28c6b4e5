//! Checking a workspace: the truth against itself, the indexes against the truth.

use std::collections::BTreeSet;

use rusqlite::Connection;

use super::catalogue::Catalogue;
use super::engine::EmbeddedStore;
use super::records::lines::{COLUMNS, TABLES, VersionRow};
use super::records::{lookup, storage};
use super::row::Row;
use super::state::VectorSnapshot;
use super::writer::Writer;
use crate::store::error::{CommitError, ReadError, error_chain};
use crate::store::maintenance::CheckReport;

/// Most findings that are listed.
const FINDINGS_MAX: usize = 100;

impl EmbeddedStore {
    /// Verifies everything; with `repair`, makes anew what is derived and wrong.
    ///
    /// # Errors
    /// When the store cannot be read at all.
    pub fn check(&self, repair: bool) -> Result<CheckReport, CommitError> {
        self.call_writer(move |writer| {
            let report = check(writer, repair);
            report.map_err(|error| CommitError::Storage { cause: error.into() })
        })?
    }
}

fn check(writer: &mut Writer, repair: bool) -> Result<CheckReport, ReadError> {
    let mut report = CheckReport::default();
    check_tables(&writer.connection, &mut report)?;
    let chunks = check_versions(&writer.connection, &mut report)?;
    check_text(writer, &chunks, &mut report);
    check_vectors(writer, &chunks, &mut report)?;
    if !Catalogue::read(&writer.connection)?.agrees_with(&writer.catalogue) {
        report.derived.push("the catalogue in memory differs from the store".to_owned());
    }
    if repair && !report.derived.is_empty() && writer.indexes.stale_model().is_none() {
        let model = writer.model.embedder.model().clone();
        let rebuilt = writer.indexes.rebuild(&writer.connection, &model, writer.revision);
        match rebuilt.and_then(|()| writer.catch_up()) {
            Ok(()) => report.repaired = true,
            Err(error) => {
                report.derived.push(format!("cannot be made anew: {}", error_chain(&error)))
            }
        }
    }
    Ok(report)
}

fn push_finding(findings: &mut Vec<String>, finding: String) {
    if findings.len() < FINDINGS_MAX {
        findings.push(finding);
    }
}

/// SQLite's own check, and the lists that readers depend on.
fn check_tables(connection: &Connection, report: &mut CheckReport) -> Result<(), ReadError> {
    let run = || -> rusqlite::Result<Vec<String>> {
        let mut statement = connection.prepare("PRAGMA integrity_check(100)")?;
        statement.query_map([], |line| line.get(0))?.collect()
    };
    for finding in run().map_err(storage)?.into_iter().filter(|finding| finding != "ok") {
        push_finding(&mut report.damage, finding);
    }
    // The list that counts is that of the nearest item above with one of its own.
    let sql = "SELECT n.id FROM items i JOIN nodes n ON n.node = i.node
         LEFT JOIN items p ON p.node = i.parent AND p.died IS NULL
         WHERE i.died IS NULL AND i.list <> coalesce(i.readers, p.list, 0)
         UNION ALL
         SELECT n.id FROM items i JOIN nodes n ON n.node = i.node
         LEFT JOIN items p ON p.node = i.parent AND p.died IS NULL
         WHERE i.died IS NULL AND i.parent IS NOT NULL AND p.row IS NULL";
    let run = || -> rusqlite::Result<Vec<String>> {
        connection.prepare(sql)?.query_map([], |line| line.get(0))?.collect()
    };
    for id in run().map_err(storage)? {
        push_finding(&mut report.damage, format!("item {id}: readers or parent do not fit"));
    }
    Ok(())
}

/// Every version against its hash; returns the chunks that both indexes must have.
fn check_versions(
    connection: &Connection,
    report: &mut CheckReport,
) -> Result<BTreeSet<(Row, u32)>, ReadError> {
    let sql = format!("SELECT {COLUMNS}, i.body FROM {TABLES} ORDER BY i.row");
    let mut statement = connection.prepare(&sql).map_err(storage)?;
    let mut lines = statement.query([]).map_err(storage)?;
    let mut chunks = BTreeSet::new();
    while let Some(line) = lines.next().map_err(storage)? {
        report.versions += 1;
        match VersionRow::read(line).map_err(storage)? {
            Ok(line) if line.is_whole() => {}
            Ok(line) => push_finding(
                &mut report.damage,
                format!("item {}: row {} is not what was written", line.item.id, line.row.get()),
            ),
            Err(error) => push_finding(&mut report.damage, error.to_string()),
        }
    }
    let mut read = || -> rusqlite::Result<()> {
        let mut statement = connection.prepare("SELECT row, chunk FROM chunks")?;
        let mut lines = statement.query([])?;
        while let Some(line) = lines.next()? {
            chunks.insert((Row::new(line.get(0)?), line.get(1)?));
        }
        Ok(())
    };
    read().map_err(storage)?;
    report.chunks = chunks.len() as u64;
    Ok(chunks)
}

fn check_text(writer: &Writer, chunks: &BTreeSet<(Row, u32)>, report: &mut CheckReport) {
    let (text, _) = writer.indexes.readers();
    let mut seen = BTreeSet::new();
    for document in text.documents() {
        if !chunks.contains(&document) || !seen.insert(document) {
            let (row, chunk) = (document.0.get(), document.1);
            push_finding(
                &mut report.derived,
                format!("text index: row {row}#{chunk} is one too many"),
            );
        }
    }
    for (row, chunk) in chunks.difference(&seen) {
        push_finding(
            &mut report.derived,
            format!("text index: row {}#{chunk} is missing", row.get()),
        );
    }
}

fn check_vectors(
    writer: &Writer,
    chunks: &BTreeSet<(Row, u32)>,
    report: &mut CheckReport,
) -> Result<(), ReadError> {
    let (_, VectorSnapshot::Ready(vectors)) = writer.indexes.readers() else {
        return Ok(());
    };
    for damaged in vectors.verify() {
        let range = damaged.range;
        push_finding(&mut report.derived, format!("vector index: revisions {range} are damaged"));
    }
    let mut seen = BTreeSet::new();
    for (index, slot) in vectors.slots().enumerate() {
        let (row, chunk) = (slot.row, slot.chunk);
        // What was purged stays in a segment until it is written anew, seen by nobody.
        if !chunks.contains(&(row, chunk)) {
            continue;
        }
        let stored = lookup::vectors(&writer.connection, writer.model.number, &[slot.embedding]);
        let fits =
            matches!(stored.as_deref(), Ok([Some(stored)]) if vectors.matches(index, stored));
        if !fits || !seen.insert((row, chunk)) {
            let row = row.get();
            push_finding(
                &mut report.derived,
                format!("vector index: row {row}#{chunk} is not as stored"),
            );
        }
    }
    for (row, chunk) in chunks.difference(&seen) {
        push_finding(
            &mut report.derived,
            format!("vector index: row {}#{chunk} is missing", row.get()),
        );
    }
    Ok(())
}
