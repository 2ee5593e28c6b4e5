//! The ways from the top of the tree to items, for people to read.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

use haversack_core::ids::ItemId;
use rusqlite::Connection;

use super::records::lookup;
use super::view::View;
use crate::store::error::ReadError;
use crate::store::item::Crumb;

/// What is known of a node: nothing when the viewer may not read it, else what it is and hangs under.
type Known = Option<(Crumb, Option<i64>)>;

impl View {
    /// What each of these items hangs under, outermost first, beginning where the viewer may read
    /// on; nothing for an item that is not there or not readable.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn trails(&self, ids: &[ItemId]) -> Result<Vec<Vec<Crumb>>, ReadError> {
        self.read(|connection| {
            // Items of one place share what is above them.
            let mut known = BTreeMap::new();
            ids.iter().map(|id| self.trail(connection, id, &mut known)).collect()
        })
    }

    fn trail(
        &self,
        connection: &Connection,
        id: &ItemId,
        known: &mut BTreeMap<i64, Known>,
    ) -> Result<Vec<Crumb>, ReadError> {
        let mut trail = Vec::new();
        let mut seen = BTreeSet::new();
        let mut next = lookup::node(connection, id)?;
        // A circle cannot be written; should a damaged store hold one, it ends here.
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

    fn crumb(&self, connection: &Connection, node: i64) -> Result<Known, ReadError> {
        match self.row_of(connection, node)? {
            Some(row) => lookup::crumb(connection, row),
            None => Ok(None),
        }
    }
}
