//! The tree, the links and the traces of use, as numbers of nodes and rows.
//!
//! What a viewer may see of them is decided by the caller, row by row.

use haversack_core::units::Timestamp;
use rusqlite::{Connection, params};

use super::storage;
use crate::embedded::row::Row;
use crate::store::error::ReadError;
use crate::store::item::Happening;
use crate::store::query::Direction;

/// What happened to a node, as the table has it.
#[derive(Debug, Clone)]
pub(crate) struct Trace {
    pub(crate) node: i64,
    pub(crate) happening: Happening,
    pub(crate) count: u64,
    pub(crate) last: Timestamp,
}

/// Calls `visit` with the versions under a node, in order, until it says stop.
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

/// The node a row's version hangs under.
pub(crate) fn parent_of(connection: &Connection, row: Row) -> Result<Option<i64>, ReadError> {
    connection
        .prepare_cached("SELECT parent FROM items WHERE row = ?")
        .and_then(|mut statement| statement.query_row([row.get()], |line| line.get(0)))
        .map_err(storage)
}

/// Calls `visit` with sort and other end of a node's links at a revision, in order.
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

/// What a user's doings are known from.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Trail {
    /// What was noted as it happened.
    Noted,
    /// What they wrote: who writes an item edits it, whether or not anybody says so.
    Written,
}

/// Calls `visit` with the nodes a user did something to since a moment, and when, the latest first,
/// until it says stop. A node may come more than once.
pub(crate) fn each_recent(
    connection: &Connection,
    (user, trail): (&str, Trail),
    (happening, since): (Happening, Timestamp),
    mut visit: impl FnMut(i64, i64) -> bool,
) -> Result<(), ReadError> {
    let sql = match trail {
        Trail::Noted => {
            "SELECT u.node, u.last FROM usage u JOIN nodes n ON n.node = u.node \
             WHERE u.user = ?1 AND u.happening = ?2 AND u.last >= ?3 ORDER BY u.last DESC, n.id"
        }
        Trail::Written => {
            "SELECT i.node, c.at FROM items i JOIN commits c ON c.revision = i.born \
             WHERE i.author = ?1 AND ?2 = 'edited' AND c.at >= ?3 ORDER BY i.born DESC"
        }
    };
    let mut walk = || -> rusqlite::Result<()> {
        let mut statement = connection.prepare_cached(sql)?;
        let mut lines = statement.query(params![user, happening.as_str(), since.as_millis()])?;
        while let Some(line) = lines.next()? {
            if !visit(line.get(0)?, line.get(1)?) {
                break;
            }
        }
        Ok(())
    };
    walk().map_err(storage)
}

/// How often a user did something to a node since a moment, and when last.
pub(crate) fn trace(
    connection: &Connection,
    node: i64,
    user: &str,
    (happening, since): (Happening, Timestamp),
) -> Result<Trace, ReadError> {
    connection
        .prepare_cached(
            "SELECT sum(count), max(last) FROM (
               SELECT count, last FROM usage
               WHERE node = ?1 AND user = ?2 AND happening = ?3 AND last >= ?4
               UNION ALL
               SELECT 1, c.at FROM items i JOIN commits c ON c.revision = i.born
               WHERE i.node = ?1 AND i.author = ?2 AND ?3 = 'edited' AND c.at >= ?4)",
        )
        .and_then(|mut statement| {
            let since = since.as_millis();
            statement.query_row(params![node, user, happening.as_str(), since], |line| {
                let last = Timestamp::from_millis(line.get(1)?);
                Ok(Trace { node, happening, count: line.get(0)?, last })
            })
        })
        .map_err(storage)
}

/// What happened to a node at the hand of one user, or of all.
pub(crate) fn traces(
    connection: &Connection,
    node: i64,
    user: Option<&str>,
) -> Result<Vec<Trace>, ReadError> {
    let read = || -> rusqlite::Result<Vec<Trace>> {
        let mut statement = connection.prepare_cached(
            "SELECT happening, sum(count), max(last) FROM usage \
             WHERE node = ?1 AND (?2 IS NULL OR user = ?2) GROUP BY happening ORDER BY happening",
        )?;
        let mut traces = Vec::new();
        let mut lines = statement.query(params![node, user])?;
        while let Some(line) = lines.next()? {
            if let Some(happening) = Happening::named(line.get_ref(0)?.as_str()?) {
                let last = Timestamp::from_millis(line.get(2)?);
                traces.push(Trace { node, happening, count: line.get(1)?, last });
            }
        }
        Ok(traces)
    };
    read().map_err(storage)
}
