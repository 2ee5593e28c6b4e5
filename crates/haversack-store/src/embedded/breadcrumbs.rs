//! Breadcrumb paths from the top of the tree to items.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

use haversack_core::ids::ItemId;
use rusqlite::Connection;

use super::records::lookup;
use super::view::View;
use crate::store::error::ReadError;
use crate::store::item::Breadcrumb;

/// A node's crumb and parent; `None` if the viewer may not read it.
type NodeCrumb = Option<(Breadcrumb, Option<i64>)>;

impl View {
    /// The readable ancestors of each item, outermost first; empty for an item that is missing or
    /// not readable.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn breadcrumbs(&self, ids: &[ItemId]) -> Result<Vec<Vec<Breadcrumb>>, ReadError> {
        self.read(|connection| {
            // Neighbouring items share their ancestors.
            let mut known = BTreeMap::new();
            ids.iter().map(|id| self.trail(connection, id, &mut known)).collect()
        })
    }

    fn trail(
        &self,
        connection: &Connection,
        id: &ItemId,
        known: &mut BTreeMap<i64, NodeCrumb>,
    ) -> Result<Vec<Breadcrumb>, ReadError> {
        let mut trail = Vec::new();
        let mut seen = BTreeSet::new();
        let mut next = lookup::node_of(connection, id)?;
        // Cycles cannot be written; this ends the walk should a damaged store hold one.
        while let Some(node) = next.filter(|node| seen.insert(*node)) {
            let here = match known.entry(node) {
                Entry::Occupied(known) => known.into_mut(),
                Entry::Vacant(unknown) => unknown.insert(self.crumb(connection, node)?),
            };
            let Some((crumb, parent)) = here else { break };
            trail.push(crumb.clone());
            next = *parent;
        }
        // The first is the item itself.
        Ok(trail.into_iter().skip(1).rev().collect())
    }

    fn crumb(&self, connection: &Connection, node: i64) -> Result<NodeCrumb, ReadError> {
        match self.visible_row_of(connection, node)? {
            Some(row) => lookup::crumb(connection, row),
            None => Ok(None),
        }
    }
}
