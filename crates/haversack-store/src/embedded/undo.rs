//! Undoing an import: restores what it wrote, unless it was changed since.

use std::collections::{BTreeMap, BTreeSet};

use haversack_core::ids::ItemId;
use haversack_core::units::Timestamp;
use rusqlite::{Connection, OptionalExtension, params};

use super::engine::EmbeddedStore;
use super::records::lookup;
use super::records::storage;
use super::row::Row;
use crate::store::change::{BATCH_CHANGES_MAX, Batch, Change, UndoReport};
use crate::store::error::{ChangeProblem, CommitError, ReadError};
use crate::store::item::Item;

/// What an undo does with one item.
enum UndoStep {
    Remove(i64, ItemId),
    Restore(Box<Item>),
    Keep(ItemId),
}

impl EmbeddedStore {
    /// Reverts what an import wrote, except items that were changed since.
    ///
    /// # Errors
    /// When there was no such import, or the store cannot be read or written.
    pub fn undo(&self, origin: &str, at: Timestamp) -> Result<UndoReport, CommitError> {
        let read = |connection: &Connection| {
            let known = connection
                .prepare_cached("SELECT 1 FROM commits WHERE origin = ?")
                .and_then(|mut statement| statement.exists([origin]))
                .map_err(storage)?;
            Ok(if known { Some(undo_steps(connection, origin)?) } else { None })
        };
        let steps = self.shared.pool.read(read);
        let steps = steps.map_err(|error| CommitError::Storage { cause: error.into() })?;
        let missing = || ChangeProblem {
            change: 0,
            item: None,
            message: format!("there is no import {origin:?}"),
        };
        let steps = steps.ok_or_else(|| CommitError::Invalid(vec![missing()]))?;
        let mut undone = UndoReport::default();
        // Restoring comes first, so that parents exist; removing comes last.
        let (mut restored, mut removed) = (Vec::new(), BTreeMap::new());
        for step in steps {
            match step {
                UndoStep::Restore(item) => restored.push(Change::Put(item)),
                UndoStep::Remove(node, id) => _ = removed.insert(node, id),
                UndoStep::Keep(id) => undone.kept.push(id),
            }
        }
        undone.restored = restored.len();
        self.write_changes(origin, at, &restored, &mut undone)?;
        let holding =
            self.shared.pool.read(|connection| nodes_with_kept_descendants(connection, &removed));
        for node in holding.map_err(|error| CommitError::Storage { cause: error.into() })? {
            undone.kept.extend(removed.remove(&node));
        }
        undone.kept.sort();
        let removed: Vec<_> = removed.into_values().map(Change::Delete).collect();
        self.write_changes(origin, at, &removed, &mut undone)?;
        Ok(undone)
    }

    fn write_changes(
        &self,
        origin: &str,
        at: Timestamp,
        changes: &[Change],
        undone: &mut UndoReport,
    ) -> Result<(), CommitError> {
        for changes in changes.chunks(BATCH_CHANGES_MAX) {
            let mut batch = Batch::new(at, changes.to_vec());
            // So that the undo can itself be undone.
            batch.origin = Some(format!("undo of {origin}"));
            let committed = self.write(batch)?;
            undone.revision = committed.revision;
            undone.removed += committed.deleted;
        }
        Ok(())
    }
}

/// The nodes to remove that have a descendant which is to stay.
fn nodes_with_kept_descendants(
    connection: &Connection,
    removed: &BTreeMap<i64, ItemId>,
) -> Result<BTreeSet<i64>, ReadError> {
    let walk = || -> rusqlite::Result<BTreeSet<i64>> {
        let mut children = connection
            .prepare_cached("SELECT node FROM items WHERE parent = ? AND died IS NULL")?;
        let mut parent = connection
            .prepare_cached("SELECT parent FROM items WHERE node = ? AND died IS NULL")?;
        let mut holding = BTreeSet::new();
        for node in removed.keys() {
            let below = children
                .query_map([node], |line| line.get(0))?
                .collect::<rusqlite::Result<Vec<i64>>>()?;
            if below.iter().all(|child| removed.contains_key(child)) {
                continue;
            }
            let mut at = Some(*node);
            while let Some(node) = at.filter(|node| removed.contains_key(node)) {
                if !holding.insert(node) {
                    break;
                }
                at = parent.query_row([node], |line| line.get(0)).optional()?.flatten();
            }
        }
        Ok(holding)
    };
    walk().map_err(storage)
}

/// The undo steps of an import, ordered by item id.
fn undo_steps(connection: &Connection, origin: &str) -> Result<Vec<UndoStep>, ReadError> {
    let touched = nodes_written_by(connection, origin).map_err(storage)?;
    let mut steps = Vec::new();
    for (node, first) in touched {
        let present = present_row(connection, node, origin).map_err(storage)?;
        let Some((row, by_import)) = present else { continue };
        let Some(line) = lookup::version(connection, row, false)? else { continue };
        let id = line.item.id;
        if !by_import {
            steps.push(UndoStep::Keep(id));
            continue;
        }
        steps.push(match version_before(connection, node, first).map_err(storage)? {
            PriorVersion::Nothing => UndoStep::Remove(node, id),
            PriorVersion::Version(row) => match lookup::version(connection, row, true)? {
                Some(line) => UndoStep::Restore(Box::new(line.item)),
                None => UndoStep::Keep(id),
            },
            PriorVersion::Forgotten => UndoStep::Keep(id),
        });
    }
    Ok(steps)
}

/// The nodes that an import wrote, each with the first revision that did.
fn nodes_written_by(connection: &Connection, origin: &str) -> rusqlite::Result<Vec<(i64, u64)>> {
    connection
        .prepare_cached(
            "SELECT i.node, min(i.born) FROM commits c JOIN items i ON i.born = c.revision \
             JOIN nodes n ON n.node = i.node WHERE c.origin = ? GROUP BY i.node ORDER BY n.id",
        )?
        .query_map([origin], |line| Ok((line.get(0)?, line.get(1)?)))?
        .collect()
}

/// The present version of a node, and whether the import wrote it.
fn present_row(
    connection: &Connection,
    node: i64,
    origin: &str,
) -> rusqlite::Result<Option<(Row, bool)>> {
    connection
        .prepare_cached(
            "SELECT i.row, c.origin IS ?2 FROM items i JOIN commits c ON c.revision = i.born \
             WHERE i.node = ?1 AND i.died IS NULL",
        )?
        .query_row(params![node, origin], |line| Ok((Row::new(line.get(0)?), line.get(1)?)))
        .optional()
}

/// The version of a node before a revision.
enum PriorVersion {
    Nothing,
    Version(Row),
    Forgotten,
}

fn version_before(
    connection: &Connection,
    node: i64,
    revision: u64,
) -> rusqlite::Result<PriorVersion> {
    let last: Option<(u32, u64)> = connection
        .prepare_cached(
            "SELECT row, died FROM items WHERE node = ? AND born < ? \
             ORDER BY born DESC, row DESC LIMIT 1",
        )?
        .query_row(params![node, revision], |line| Ok((line.get(0)?, line.get(1)?)))
        .optional()?;
    Ok(match last {
        // It was present until the import replaced it.
        Some((row, died)) if died >= revision => PriorVersion::Version(Row::new(row)),
        Some(_) => PriorVersion::Nothing,
        None if super::records::usage::trimmed_revision(connection)? >= revision => {
            PriorVersion::Forgotten
        }
        None => PriorVersion::Nothing,
    })
}
