//! Whole workspaces: what is at which path, and everything in an order that can be written out.

use std::collections::BTreeMap;

use haversack_core::ids::ItemId;
use haversack_core::units::Timestamp;
use rusqlite::params;

use super::records::storage;
use super::row::Row;
use super::view::{View, check_limit};
use crate::store::error::ReadError;
use crate::store::item::{Event, Happening, Link, Stored};

/// An item at a path, without its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Glance {
    /// Its name.
    pub id: ItemId,
    /// Where it is.
    pub path: String,
    /// How long its body is.
    pub bytes: u64,
    /// When it last changed at its source.
    pub updated: Timestamp,
    /// When it was written here.
    pub committed: Timestamp,
}

impl View {
    /// The items at one path and how many more there are, by id.
    ///
    /// # Errors
    /// When the limit is too large or the store cannot be read.
    pub fn at_path(&self, path: &str, limit: usize) -> Result<(Vec<Glance>, u64), ReadError> {
        check_limit(limit)?;
        let mut found = Vec::new();
        let mut more = 0;
        let sql = "SELECT i.row, n.id, i.path, octet_length(i.body), i.updated, c.at \
             FROM items i JOIN nodes n ON n.node = i.node \
             JOIN commits c ON c.revision = i.born WHERE i.path = ?1 ORDER BY n.id, i.row";
        self.glances(sql, params![path], &mut |glance| {
            if found.len() < limit {
                found.push(glance);
            } else {
                more += 1;
            }
            true
        })?;
        Ok((found, more))
    }

    /// The items whose path starts so, by path and id, after one of them.
    ///
    /// # Errors
    /// When the limit is too large or the store cannot be read.
    pub fn under_path(
        &self,
        prefix: &str,
        after: Option<&Glance>,
        limit: usize,
    ) -> Result<Vec<Glance>, ReadError> {
        check_limit(limit)?;
        let mut found = Vec::new();
        // No character is above this one, so it ends the range of paths that start so.
        let end = format!("{prefix}\u{10ffff}");
        let (path, id) = after.map_or((prefix, ""), |after| (&after.path, after.id.as_str()));
        let sql = "SELECT i.row, n.id, i.path, octet_length(i.body), i.updated, c.at \
             FROM items i JOIN nodes n ON n.node = i.node \
             JOIN commits c ON c.revision = i.born WHERE i.path >= ?1 AND i.path < ?2 AND (i.path > ?1 OR n.id > ?3) \
             ORDER BY i.path, n.id, i.row";
        self.glances(sql, params![path, end, id], &mut |glance| {
            found.push(glance);
            found.len() < limit
        })?;
        Ok(found)
    }

    fn glances(
        &self,
        sql: &str,
        values: &[&dyn rusqlite::ToSql],
        visit: &mut dyn FnMut(Glance) -> bool,
    ) -> Result<(), ReadError> {
        self.read(|connection| {
            let mut statement = connection.prepare_cached(sql).map_err(storage)?;
            let mut lines = statement.query(values).map_err(storage)?;
            while let Some(line) = lines.next().map_err(storage)? {
                if !self.sees(Row::new(line.get(0).map_err(storage)?)) {
                    continue;
                }
                let id: String = line.get(1).map_err(storage)?;
                let glance = Glance {
                    id: id_of(&id)?,
                    path: line.get(2).map_err(storage)?,
                    bytes: line.get(3).map_err(storage)?,
                    updated: Timestamp::from_millis(line.get(4).map_err(storage)?),
                    committed: Timestamp::from_millis(line.get(5).map_err(storage)?),
                };
                if !visit(glance) {
                    break;
                }
            }
            Ok(())
        })
    }

    /// Every row to see, parents before what hangs under them, level by level and by id.
    pub(crate) fn rows_parents_first(&self) -> Result<Vec<Row>, ReadError> {
        let mut places: Vec<(Row, i64, Option<i64>)> = Vec::with_capacity(self.len());
        self.read(|connection| {
            let mut statement = connection
                .prepare_cached(
                    "SELECT i.row, i.node, i.parent FROM nodes n JOIN items i ON i.node = n.node \
                     ORDER BY n.id, i.row",
                )
                .map_err(storage)?;
            let mut lines = statement.query([]).map_err(storage)?;
            while let Some(line) = lines.next().map_err(storage)? {
                let row = Row::new(line.get(0).map_err(storage)?);
                if self.sees(row) {
                    let (node, parent) =
                        (line.get(1).map_err(storage)?, line.get(2).map_err(storage)?);
                    places.push((row, node, parent));
                }
            }
            Ok(())
        })?;
        let parents: BTreeMap<i64, Option<i64>> =
            places.iter().map(|(_, node, parent)| (*node, *parent)).collect();
        let depth = |start: i64| {
            let mut depth = 0usize;
            let mut next = parents.get(&start).copied().flatten();
            // A circle cannot be written; should a damaged store hold one, it ends here.
            while let Some(node) = next.filter(|_| depth <= parents.len()) {
                let Some(parent) = parents.get(&node) else { break };
                depth += 1;
                next = *parent;
            }
            depth
        };
        // Stable, so that each level stays in the order of ids.
        places.sort_by_cached_key(|(_, node, parent)| parent.map_or(0, |_| depth(*node)));
        Ok(places.into_iter().map(|(row, _, _)| row).collect())
    }

    /// The versions in rows that the viewer sees, with their bodies.
    pub(crate) fn stored_rows(&self, rows: &[Row]) -> Result<Vec<Stored>, ReadError> {
        self.read(|connection| {
            rows.iter().filter_map(|row| self.stored(connection, *row).transpose()).collect()
        })
    }

    /// Calls `visit` with every link between items that can be read, by start, sort and end, until
    /// it says stop.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn each_link(&self, visit: &mut dyn FnMut(Link) -> bool) -> Result<(), ReadError> {
        self.read(|connection| {
            let mut statement = connection
                .prepare_cached(
                    "SELECT a.row, b.row, f.id, t.id, l.sort FROM links l \
                     JOIN nodes f ON f.node = l.source JOIN nodes t ON t.node = l.target \
                     JOIN items a ON a.node = l.source JOIN items b ON b.node = l.target \
                     WHERE l.born <= ?1 AND (l.died IS NULL OR l.died > ?1) \
                     ORDER BY f.id, l.sort, t.id",
                )
                .map_err(storage)?;
            let mut lines = statement.query([self.revision().get()]).map_err(storage)?;
            while let Some(line) = lines.next().map_err(storage)? {
                let row = |index: usize| line.get(index).map(Row::new).map_err(storage);
                if !self.sees(row(0)?) || !self.sees(row(1)?) {
                    continue;
                }
                let text = |index: usize| line.get::<_, String>(index).map_err(storage);
                let link = Link { from: id_of(&text(2)?)?, to: id_of(&text(3)?)?, sort: text(4)? };
                if !visit(link) {
                    break;
                }
            }
            Ok(())
        })
    }

    /// Calls `visit` with every kept event of items that can be read, by item, time, user and
    /// happening, until it says stop.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn each_event(&self, visit: &mut dyn FnMut(Event) -> bool) -> Result<(), ReadError> {
        self.read(|connection| {
            let mut statement = connection
                .prepare_cached(
                    "SELECT i.row, n.id, e.user, e.happening, e.at FROM events e \
                     JOIN nodes n ON n.node = e.node JOIN items i ON i.node = e.node \
                     ORDER BY n.id, e.at, e.user, e.happening, e.event",
                )
                .map_err(storage)?;
            let mut lines = statement.query([]).map_err(storage)?;
            while let Some(line) = lines.next().map_err(storage)? {
                if !self.sees(Row::new(line.get(0).map_err(storage)?)) {
                    continue;
                }
                let text = |index: usize| line.get::<_, String>(index).map_err(storage);
                let Some(happening) = Happening::named(&text(3)?) else { continue };
                let at = Timestamp::from_millis(line.get(4).map_err(storage)?);
                let event = Event { item: id_of(&text(1)?)?, user: text(2)?, happening, at };
                if !visit(event) {
                    break;
                }
            }
            Ok(())
        })
    }
}

fn id_of(id: &str) -> Result<ItemId, ReadError> {
    ItemId::new(id).map_err(|_| ReadError::Damaged { what: format!("the name {id:?}") })
}
