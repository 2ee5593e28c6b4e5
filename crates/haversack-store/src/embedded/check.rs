//! Checking a workspace: the truth against itself, the indexes against the truth.

use std::collections::BTreeSet;

use haversack_core::units::Timestamp;
use rusqlite::Connection;

use super::catalogue::Catalogue;
use super::engine::EmbeddedStore;
use super::records::lines::{COLUMNS, COLUMNS_COUNT, TABLES, VersionRow};
use super::records::{lookup, storage, tables};
use super::row::Row;
use super::seals;
use super::state::{TextSnapshot, VectorSnapshot};
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
    // The cache of a connection in use would hide what happened to the disk since.
    let fresh = writer.shared.pool.connect().map_err(storage)?;
    let model = writer.indexes.stale_model().is_none().then_some(writer.model.number);
    for finding in tables::check(&fresh, model)? {
        push_finding(&mut report.damage, finding);
    }
    let mut chunks = BTreeSet::new();
    let read = add_times(&fresh, &mut report)
        .map_err(storage)
        .and_then(|()| check_versions(&fresh, &mut report))
        .and_then(|()| read_chunks(&fresh, &mut chunks))
        .and_then(|()| {
            report.chunks = chunks.len() as u64;
            check_text(writer, &chunks, &mut report);
            check_vectors(writer, &chunks, &mut report)?;
            if !Catalogue::read(&fresh)?.agrees_with(&writer.catalogue) {
                report.derived.push("the catalogue in memory differs from the store".to_owned());
            }
            Ok(())
        });
    match read {
        // The rest cannot be read, so nothing can be compared with it.
        Err(ReadError::Damaged { what }) => {
            push_finding(&mut report.damage, format!("{what} is damaged"));
            return Ok(report);
        }
        other => other?,
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

/// The times of commits, which tell of a clock that jumped.
fn add_times(connection: &Connection, report: &mut CheckReport) -> rusqlite::Result<()> {
    let latest: Option<i64> =
        connection.query_row("SELECT max(at) FROM commits", [], |line| line.get(0))?;
    report.latest_commit = latest.map(Timestamp::from_millis);
    report.set_back = connection.query_row(
        "SELECT count(*) FROM (SELECT at, lag(at) OVER (ORDER BY revision) AS before FROM commits) \
         WHERE at < before - 3600000",
        [],
        |line| line.get(0),
    )?;
    Ok(())
}

/// Every version against its hash and its seal.
fn check_versions(connection: &Connection, report: &mut CheckReport) -> Result<(), ReadError> {
    let sql = format!(
        "SELECT {COLUMNS}, i.body, (SELECT s.seal FROM seals s WHERE s.row = i.row) \
         FROM {TABLES} ORDER BY i.row"
    );
    let mut statement = connection.prepare(&sql).map_err(storage)?;
    let mut lines = statement.query([]).map_err(storage)?;
    while let Some(line) = lines.next().map_err(storage)? {
        report.versions += 1;
        let sealed: Option<[u8; 16]> = line.get(COLUMNS_COUNT + 1).map_err(storage)?;
        match VersionRow::read(line).map_err(storage)? {
            Ok(version) if version.is_whole() && sealed == Some(seal_of(&version)) => {}
            Ok(version) => push_finding(
                &mut report.damage,
                format!(
                    "item {}: row {} is not what was written",
                    version.item.id,
                    version.row.get()
                ),
            ),
            Err(error) => push_finding(&mut report.damage, error.to_string()),
        }
    }
    Ok(())
}

fn seal_of(version: &VersionRow) -> [u8; 16] {
    let updated = version.item.updated.unwrap_or(version.committed);
    seals::seal_to_bytes(seals::version_seal(&version.item, updated, version.author.as_deref()))
}

/// The chunks that both indexes must have.
fn read_chunks(
    connection: &Connection,
    chunks: &mut BTreeSet<(Row, u32)>,
) -> Result<(), ReadError> {
    let mut read = || -> rusqlite::Result<()> {
        let mut statement = connection.prepare("SELECT row, chunk FROM chunks")?;
        let mut lines = statement.query([])?;
        while let Some(line) = lines.next()? {
            chunks.insert((Row::new(line.get(0)?), line.get(1)?));
        }
        Ok(())
    };
    read().map_err(storage)
}

fn check_text(writer: &Writer, chunks: &BTreeSet<(Row, u32)>, report: &mut CheckReport) {
    for damage in writer.indexes.verify_text() {
        push_finding(&mut report.derived, format!("text index: {damage}"));
    }
    let (TextSnapshot::Ready(text), _) = writer.indexes.readers() else {
        push_finding(&mut report.derived, "text index: it is being rebuilt".to_owned());
        return;
    };
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
