//! Taking an import back: what it wrote and nobody changed since is as it was before.

use std::collections::{BTreeMap, BTreeSet};

use haversack_core::ids::ItemId;
use haversack_core::units::Timestamp;
use rusqlite::{Connection, OptionalExtension, params};

use super::engine::Embedded;
use super::records::lookup;
use super::records::storage;
use super::row::Row;
use crate::store::change::{BATCH_CHANGES_MAX, Batch, Change, Undone};
use crate::store::error::{CommitError, Problem, ReadError};
use crate::store::item::Item;

/// What undoing does with one item.
enum Step {
    Remove(i64, ItemId),
    Restore(Box<Item>),
    Keep(ItemId),
}

impl Embedded {
    /// Takes back what an import wrote, where nobody has changed it since.
    ///
    /// # Errors
    /// When there was no such import, or the store cannot be read or written.
    pub fn undo(&self, origin: &str, at: Timestamp) -> Result<Undone, CommitError> {
        let read = |connection: &Connection| {
            let known = connection
                .prepare_cached("SELECT 1 FROM commits WHERE origin = ?")
                .and_then(|mut statement| statement.exists([origin]))
                .map_err(storage)?;
            Ok(if known { Some(steps(connection, origin)?) } else { None })
        };
        let steps = self.shared.pool.read(read);
        let steps = steps.map_err(|error| CommitError::Storage { cause: error.into() })?;
        let missing =
            || Problem { change: 0, item: None, message: format!("there is no import {origin:?}") };
        let steps = steps.ok_or_else(|| CommitError::Invalid(vec![missing()]))?;
        let mut undone = Undone::default();
        // What is restored comes first, so that parents are there; what is removed goes last.
        let (mut restored, mut removed) = (Vec::new(), BTreeMap::new());
        for step in steps {
            match step {
                Step::Restore(item) => restored.push(Change::Put(item)),
                Step::Remove(node, id) => _ = removed.insert(node, id),
                Step::Keep(id) => undone.kept.push(id),
            }
        }
        undone.restored = restored.len();
        self.take_back(origin, at, &restored, &mut undone)?;
        let holding = self.shared.pool.read(|connection| holding(connection, &removed));
        for node in holding.map_err(|error| CommitError::Storage { cause: error.into() })? {
            undone.kept.extend(removed.remove(&node));
        }
        undone.kept.sort();
        let removed: Vec<_> = removed.into_values().map(Change::Delete).collect();
        self.take_back(origin, at, &removed, &mut undone)?;
        Ok(undone)
    }

    fn take_back(
        &self,
        origin: &str,
        at: Timestamp,
        changes: &[Change],
        undone: &mut Undone,
    ) -> Result<(), CommitError> {
        for changes in changes.chunks(BATCH_CHANGES_MAX) {
            let mut batch = Batch::new(at, changes.to_vec());
            // So that it can be undone in its turn.
            batch.origin = Some(format!("undo of {origin}"));
            let committed = self.write(batch)?;
            undone.revision = committed.revision;
            undone.removed += committed.deleted;
        }
        Ok(())
    }
}

/// Those of the nodes to remove under which something hangs that is to stay.
fn holding(
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

/// What to do with each item that an import touched, by id.
fn steps(connection: &Connection, origin: &str) -> Result<Vec<Step>, ReadError> {
    let touched = touched(connection, origin).map_err(storage)?;
    let mut steps = Vec::new();
    for (node, first) in touched {
        let present = present(connection, node, origin).map_err(storage)?;
        let Some((row, by_import)) = present else { continue };
        let Some(line) = lookup::line(connection, row, false)? else { continue };
        let id = line.item.id;
        if !by_import {
            steps.push(Step::Keep(id));
            continue;
        }
        steps.push(match before(connection, node, first).map_err(storage)? {
            Before::Nothing => Step::Remove(node, id),
            Before::Version(row) => match lookup::line(connection, row, true)? {
                Some(line) => Step::Restore(Box::new(line.item)),
                None => Step::Keep(id),
            },
            Before::Forgotten => Step::Keep(id),
        });
    }
    Ok(steps)
}

/// The nodes an import wrote, each with the first revision in which it did.
fn touched(connection: &Connection, origin: &str) -> rusqlite::Result<Vec<(i64, u64)>> {
    connection
        .prepare_cached(
            "SELECT i.node, min(i.born) FROM commits c JOIN items i ON i.born = c.revision \
             JOIN nodes n ON n.node = i.node WHERE c.origin = ? GROUP BY i.node ORDER BY n.id",
        )?
        .query_map([origin], |line| Ok((line.get(0)?, line.get(1)?)))?
        .collect()
}

/// The present version of a node, and whether the import wrote it.
fn present(
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

/// What there was of a node before a revision.
enum Before {
    Nothing,
    Version(Row),
    Forgotten,
}

fn before(connection: &Connection, node: i64, revision: u64) -> rusqlite::Result<Before> {
    let last: Option<(u32, u64)> = connection
        .prepare_cached(
            "SELECT row, died FROM items WHERE node = ? AND born < ? \
             ORDER BY born DESC, row DESC LIMIT 1",
        )?
        .query_row(params![node, revision], |line| Ok((line.get(0)?, line.get(1)?)))
        .optional()?;
    Ok(match last {
        // It was there until the import replaced it.
        Some((row, died)) if died >= revision => Before::Version(Row::new(row)),
        Some(_) => Before::Nothing,
        None if super::records::usage::trimmed(connection)? >= revision => Before::Forgotten,
        None => Before::Nothing,
    })
}
