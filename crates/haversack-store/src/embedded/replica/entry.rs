//! Journal entries: what one transaction of the writer did to the tables, and to the catalogue.

use std::collections::BTreeSet;

use rusqlite::Connection;

use super::bytes::{BadEntry, EntryReader, EntryWriter};
use super::tables::{self, ApplyError, Capture};
use crate::embedded::records::residue::Residue;
use crate::embedded::records::write::{CommitDelta, NewVersion};
use crate::embedded::row::Row;
use crate::store::journal::EntryId;
use crate::store::viewer::Principal;

/// The newest form of entries that this code reads and writes.
const FORMAT: u8 = 1;

/// What an entry is.
const CHANGES: u8 = 0;
const SNAPSHOT: u8 = 1;

/// An entry of the journal, read from its bytes.
#[derive(Debug)]
pub(super) struct Entry<'a> {
    /// The id of the entry before it.
    pub(super) previous: EntryId,
    pub(super) content: Content<'a>,
}

#[derive(Debug)]
pub(super) enum Content<'a> {
    /// Rows of the tables, and what changed in the catalogue.
    Changes { deltas: Vec<CommitDelta>, rows: EntryReader<'a> },
    /// Everything up to here is in a snapshot alone: the workspace came from elsewhere.
    Snapshot,
}

/// Writes the entry of a transaction.
pub(super) fn write(
    connection: &Connection,
    capture: &Capture,
    previous: EntryId,
    deltas: &[&CommitDelta],
) -> rusqlite::Result<Vec<u8>> {
    let mut out = head(previous, CHANGES);
    out.count(deltas.len());
    for delta in deltas {
        write_delta(&mut out, delta);
    }
    capture.write(connection, &mut out)?;
    Ok(out.0)
}

/// Writes an entry with everything that a store has.
pub(super) fn write_all(
    connection: &Connection,
    capture: &Capture,
    previous: EntryId,
) -> rusqlite::Result<Vec<u8>> {
    let mut out = head(previous, CHANGES);
    // It is read by those who have nothing yet: they make their catalogue from the tables.
    out.count(0);
    capture.write_all(connection, &mut out)?;
    Ok(out.0)
}

/// Writes the entry of a workspace that is in a snapshot.
pub(super) fn write_snapshot(previous: EntryId) -> Vec<u8> {
    head(previous, SNAPSHOT).0
}

fn head(previous: EntryId, content: u8) -> EntryWriter {
    let mut out = EntryWriter::default();
    out.u8(FORMAT);
    out.0.extend_from_slice(&previous.0);
    out.u8(content);
    out
}

/// Reads an entry. Its rows are read when they are applied.
pub(super) fn read(body: &[u8]) -> Result<Entry<'_>, BadEntry> {
    let mut body = EntryReader(body);
    let format = body.u8()?;
    if format != FORMAT {
        return Err(BadEntry(format!(
            "an entry has format {format}, and this version of haversack reads {FORMAT}: use a newer one"
        )));
    }
    let previous = EntryId(body.array()?);
    let content = match body.u8()? {
        CHANGES => Content::Changes { deltas: body.list(read_delta)?, rows: body },
        SNAPSHOT => Content::Snapshot,
        other => return Err(BadEntry(format!("an entry is of the unknown sort {other}"))),
    };
    Ok(Entry { previous, content })
}

/// Makes the rows of an entry those of a store, in the caller's transaction.
pub(super) fn apply(connection: &Connection, rows: EntryReader<'_>) -> Result<(), ApplyError> {
    tables::apply(connection, rows)
}

fn write_delta(out: &mut EntryWriter, delta: &CommitDelta) {
    let CommitDelta { born, died, relisted, purged, lists, links, noted, documents, .. } = delta;
    let CommitDelta { residue, rewritten, .. } = delta;
    out.count(born.len());
    for version in born {
        out.u32(version.row.get());
        out.u32(version.list);
        out.u128(version.seal);
    }
    for rows in [died, purged] {
        out.count(rows.len());
        rows.iter().for_each(|row| out.u32(row.get()));
    }
    out.count(relisted.len());
    for (row, list) in relisted {
        out.u32(row.get());
        out.u32(*list);
    }
    out.count(lists.len());
    for (list, principals) in lists {
        out.u32(*list);
        out.count(principals.len());
        principals.iter().for_each(|principal| out.bytes(principal.as_str().as_bytes()));
    }
    out.count(links.len());
    for ((from, to), seal) in links {
        out.u32(*from);
        out.u32(*to);
        out.u128(*seal);
    }
    out.count(noted.len());
    noted.iter().for_each(|list| out.u32(*list));
    out.u8(u8::from(*documents));
    out.u8(Residue::to_number(*residue));
    out.u8(u8::from(*rewritten));
}

fn read_delta(body: &mut EntryReader<'_>) -> Result<CommitDelta, BadEntry> {
    let row = |body: &mut EntryReader<'_>| body.u32().map(Row::new);
    let born = body.list(|body| {
        let (row, list, seal) = (row(body)?, body.u32()?, body.u128()?);
        Ok(NewVersion { row, list, seal, item: 0, embeddings: Vec::new() })
    })?;
    let (died, purged) = (body.list(row)?, body.list(row)?);
    let relisted = body.list(|body| Ok((row(body)?, body.u32()?)))?;
    let lists = body.list(|body| {
        let list = body.u32()?;
        let principals = body.list(|body| {
            Principal::parse(body.text()?)
                .map_err(|_| BadEntry("an entry names an impossible reader".to_owned()))
        })?;
        Ok((list, principals.into_iter().collect::<BTreeSet<_>>()))
    })?;
    let links = body.list(|body| Ok(((body.u32()?, body.u32()?), body.u128()?)))?;
    let noted = body.list(EntryReader::u32)?;
    let documents = body.u8()? != 0;
    let (residue, rewritten) = (Residue::from_number(body.u8()?), body.u8()? != 0);
    let changed = CommitDelta { born, died, relisted, purged, ..CommitDelta::default() };
    Ok(CommitDelta { lists, links, noted, documents, residue, rewritten, ..changed })
}
