//! Tree and link queries, by node and row numbers.
//!
//! The caller checks visibility row by row.

use rusqlite::{Connection, params};

use super::storage;
use crate::embedded::row::Row;
use crate::store::error::ReadError;
use crate::store::query::Direction;

/// Calls `visit` with the children of a node, in order, until it returns false.
pub(crate) fn each_child(
    connection: &Connection,
    node: i64,
    mut visit: impl FnMut(i64, Row) -> bool,
) -> Result<(), ReadError> {
    let mut walk = || -> rusqlite::Result<()> {
        let mut statement = connection.prepare_cached(
            "SELECT i.node, i.row FROM items i JOIN nodes n ON n.node = i.node \
             WHERE i.parent = ? ORDER BY i.position, n.id, i.row",
        )?;
        let mut lines = statement.query([node])?;
        while let Some(line) = lines.next()? {
            if !visit(line.get(0)?, Row::new(line.get(1)?)) {
                break;
            }
        }
        Ok(())
    };
    walk().map_err(storage)
}

/// A child of a node.
pub(crate) struct ChildRow {
    pub(crate) node: i64,
    pub(crate) row: Row,
    pub(crate) kind: String,
}

/// The active children of a node that `is_seen` accepts, in order, at most `most`.
pub(crate) fn active_children(
    connection: &Connection,
    node: i64,
    most: usize,
    is_seen: impl Fn(Row) -> bool,
) -> Result<Vec<ChildRow>, ReadError> {
    let read = || -> rusqlite::Result<Vec<ChildRow>> {
        let mut statement = connection.prepare_cached(
            "SELECT i.node, i.row, i.kind FROM items i JOIN nodes n ON n.node = i.node \
             WHERE i.parent = ? AND i.active ORDER BY i.position, n.id, i.row",
        )?;
        let mut lines = statement.query([node])?;
        let mut children = Vec::new();
        while children.len() < most
            && let Some(line) = lines.next()?
        {
            let row = Row::new(line.get(1)?);
            if is_seen(row) {
                children.push(ChildRow { node: line.get(0)?, row, kind: line.get(2)? });
            }
        }
        Ok(children)
    };
    read().map_err(storage)
}

/// The parent node of a row.
pub(crate) fn parent_of(connection: &Connection, row: Row) -> Result<Option<i64>, ReadError> {
    connection
        .prepare_cached("SELECT parent FROM items WHERE row = ?")
        .and_then(|mut statement| statement.query_row([row.get()], |line| line.get(0)))
        .map_err(storage)
}

/// Calls `visit` with the type and other end of a node's links at a revision, in order.
pub(crate) fn each_link(
    connection: &Connection,
    (node, direction): (i64, Direction),
    revision: u64,
    mut visit: impl FnMut(&str, i64) -> bool,
) -> Result<(), ReadError> {
    let sql = match direction {
        Direction::Outward => {
            "SELECT l.sort, l.target FROM links l JOIN nodes n ON n.node = l.target \
             WHERE l.source = ?1 AND l.born <= ?2 AND (l.died IS NULL OR l.died > ?2) \
             ORDER BY l.sort, n.id"
        }
        Direction::Inward => {
            "SELECT l.sort, l.source FROM links l JOIN nodes n ON n.node = l.source \
             WHERE l.target = ?1 AND l.born <= ?2 AND (l.died IS NULL OR l.died > ?2) \
             ORDER BY l.sort, n.id"
        }
    };
    let mut walk = || -> rusqlite::Result<()> {
        let mut statement = connection.prepare_cached(sql)?;
        let mut lines = statement.query(params![node, revision])?;
        while let Some(line) = lines.next()? {
            if !visit(line.get_ref(0)?.as_str()?, line.get(1)?) {
                break;
            }
        }
        Ok(())
    };
    walk().map_err(storage)
}
