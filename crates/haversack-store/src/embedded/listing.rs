//! Whole workspaces: what is at which path, and everything in an order that can be written out.

use std::collections::BTreeMap;

use haversack_core::ids::ItemId;
use haversack_core::units::Timestamp;
use rusqlite::params;

use super::records::storage;
use super::row::Row;
use super::view::{View, check_limit};
use crate::store::error::ReadError;
use crate::store::item::{Event, EventKind, Link, PathEntry};

impl View {
    /// The items at one path and how many more there are, by id.
    ///
    /// # Errors
    /// When the limit is too large or the store cannot be read.
    pub fn at_path(&self, path: &str, limit: usize) -> Result<(Vec<PathEntry>, u64), ReadError> {
        check_limit(limit)?;
        let mut found = Vec::new();
        let mut more = 0;
        let sql = "SELECT i.row, n.id, i.path, octet_length(i.body), i.updated, c.at \
             FROM items i JOIN nodes n ON n.node = i.node \
             JOIN commits c ON c.revision = i.born WHERE i.path = ?1 ORDER BY n.id, i.row";
        self.path_entries(sql, params![path], &mut |entry| {
            if found.len() < limit {
                found.push(entry);
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
        after: Option<&PathEntry>,
        limit: usize,
    ) -> Result<Vec<PathEntry>, ReadError> {
        check_limit(limit)?;
        let mut found = Vec::new();
        // No character is above this one, so it ends the range of paths that start so.
        let end = format!("{prefix}\u{10ffff}");
        let (path, id) = after.map_or((prefix, ""), |after| (&after.path, after.id.as_str()));
        let sql = "SELECT i.row, n.id, i.path, octet_length(i.body), i.updated, c.at \
             FROM items i JOIN nodes n ON n.node = i.node \
             JOIN commits c ON c.revision = i.born WHERE i.path >= ?1 AND i.path < ?2 AND (i.path > ?1 OR n.id > ?3) \
             ORDER BY i.path, n.id, i.row";
        self.path_entries(sql, params![path, end, id], &mut |entry| {
            found.push(entry);
            found.len() < limit
        })?;
        Ok(found)
    }

    fn path_entries(
        &self,
        sql: &str,
        values: &[&dyn rusqlite::ToSql],
        visit: &mut dyn FnMut(PathEntry) -> bool,
    ) -> Result<(), ReadError> {
        self.read(|connection| {
            let mut statement = connection.prepare_cached(sql).map_err(storage)?;
            let mut lines = statement.query(values).map_err(storage)?;
            while let Some(line) = lines.next().map_err(storage)? {
                if !self.sees(Row::new(line.get(0).map_err(storage)?)) {
                    continue;
                }
                let id: String = line.get(1).map_err(storage)?;
                let entry = PathEntry {
                    id: id_of(&id)?,
                    path: line.get(2).map_err(storage)?,
                    bytes: line.get(3).map_err(storage)?,
                    updated: Timestamp::from_millis(line.get(4).map_err(storage)?),
                    committed: Timestamp::from_millis(line.get(5).map_err(storage)?),
                };
                if !visit(entry) {
                    break;
                }
            }
            Ok(())
        })
    }

    /// The ids of all items, parents before children, level by level and by id.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn ids_parents_first(&self) -> Result<Vec<ItemId>, ReadError> {
        let mut places: Vec<(ItemId, i64, Option<i64>)> = Vec::with_capacity(self.len());
        self.read(|connection| {
            let mut statement = connection
                .prepare_cached(
                    "SELECT i.row, i.node, i.parent, n.id FROM nodes n JOIN items i ON i.node = n.node \
                     ORDER BY n.id, i.row",
                )
                .map_err(storage)?;
            let mut lines = statement.query([]).map_err(storage)?;
            while let Some(line) = lines.next().map_err(storage)? {
                let row = Row::new(line.get(0).map_err(storage)?);
                if self.sees(row) {
                    let (node, parent) =
                        (line.get(1).map_err(storage)?, line.get(2).map_err(storage)?);
                    let id: String = line.get(3).map_err(storage)?;
                    places.push((id_of(&id)?, node, parent));
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
        Ok(places.into_iter().map(|(id, _, _)| id).collect())
    }

    /// The links that start at each of these items and lead to readable ones, item by item, ordered
    /// by type and target.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn links_from(&self, ids: &[ItemId]) -> Result<Vec<Link>, ReadError> {
        let sql = "SELECT b.row, t.id, l.sort FROM links l \
             JOIN nodes t ON t.node = l.target JOIN items b ON b.node = l.target \
             WHERE l.source = ?1 AND l.born <= ?2 AND (l.died IS NULL OR l.died > ?2) \
             ORDER BY l.sort, t.id";
        self.read(|connection| {
            let mut links = Vec::new();
            let mut statement = connection.prepare_cached(sql).map_err(storage)?;
            for from in ids {
                let Some((node, _)) = self.visible_place_of(connection, from)? else { continue };
                let values = params![node, self.revision().get()];
                let mut lines = statement.query(values).map_err(storage)?;
                while let Some(line) = lines.next().map_err(storage)? {
                    if self.sees(Row::new(line.get(0).map_err(storage)?)) {
                        let text = |index: usize| line.get::<_, String>(index).map_err(storage);
                        let (to, link_type) = (id_of(&text(1)?)?, text(2)?);
                        links.push(Link { from: from.clone(), to, link_type });
                    }
                }
            }
            Ok(links)
        })
    }

    /// The events that are kept of each of these items, item by item, ordered by time, user and
    /// type.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn events_of(&self, ids: &[ItemId]) -> Result<Vec<Event>, ReadError> {
        let sql = "SELECT user, happening, at FROM events WHERE node = ?1 \
             ORDER BY at, user, happening, event";
        self.read(|connection| {
            let mut events = Vec::new();
            let mut statement = connection.prepare_cached(sql).map_err(storage)?;
            for item in ids {
                let Some((node, _)) = self.visible_place_of(connection, item)? else { continue };
                let mut lines = statement.query([node]).map_err(storage)?;
                while let Some(line) = lines.next().map_err(storage)? {
                    let text = |index: usize| line.get::<_, String>(index).map_err(storage);
                    let Some(event_kind) = EventKind::from_name(&text(1)?) else { continue };
                    let at = Timestamp::from_millis(line.get(2).map_err(storage)?);
                    events.push(Event { item: item.clone(), user: text(0)?, event_kind, at });
                }
            }
            Ok(events)
        })
    }
}

fn id_of(id: &str) -> Result<ItemId, ReadError> {
    ItemId::new(id).map_err(|_| ReadError::Damaged { what: format!("the name {id:?}") })
}
