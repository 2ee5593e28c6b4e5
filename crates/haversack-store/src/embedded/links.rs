//! Links of items, as far as both ends can be read.

use haversack_core::ids::ItemId;
use rusqlite::Connection;

use super::records::structure;
use super::view::{View, check_limit};
use crate::store::error::ReadError;
use crate::store::item::Link;
use crate::store::query::{Direction, LinkedItem, Neighbours};

impl View {
    /// The items linked with an item by these link types (all when empty), ordered by type and id.
    ///
    /// # Errors
    /// When the limit is too large or the store cannot be read.
    pub fn linked_items(
        &self,
        id: &ItemId,
        direction: Direction,
        link_types: &[String],
        limit: usize,
    ) -> Result<Vec<LinkedItem>, ReadError> {
        check_limit(limit)?;
        self.read(|connection| self.links(connection, id, direction, link_types, limit))
    }

    /// The outward and inward links of several items; see [`View::linked`].
    ///
    /// # Errors
    /// When the limit is too large or the store cannot be read.
    pub fn neighbours(
        &self,
        ids: &[ItemId],
        link_types: &[String],
        limit: usize,
    ) -> Result<Vec<Neighbours>, ReadError> {
        check_limit(limit)?;
        self.read(|connection| {
            let links = |id, direction| self.links(connection, id, direction, link_types, limit);
            ids.iter()
                .map(|id| {
                    let outward = links(id, Direction::Outward)?;
                    Ok(Neighbours { outward, inward: links(id, Direction::Inward)? })
                })
                .collect()
        })
    }

    fn links(
        &self,
        connection: &Connection,
        id: &ItemId,
        direction: Direction,
        link_types: &[String],
        limit: usize,
    ) -> Result<Vec<LinkedItem>, ReadError> {
        let Some((node, _)) = self.visible_place_of(connection, id)? else { return Ok(Vec::new()) };
        let mut ends = Vec::new();
        structure::each_link(
            connection,
            (node, direction),
            self.revision.get(),
            |link_type, end| {
                if link_types.is_empty() || link_types.iter().any(|wanted| wanted == link_type) {
                    ends.push((link_type.to_owned(), end));
                }
                true
            },
        )?;
        let mut found = Vec::new();
        for (link_type, end) in ends {
            let Some(row) = self.visible_row_of(connection, end)? else { continue };
            let Some(stored) = self.stored(connection, row)? else { continue };
            let other = stored.item.id.clone();
            let link = match direction {
                Direction::Outward => Link { from: id.clone(), to: other, link_type },
                Direction::Inward => Link { from: other, to: id.clone(), link_type },
            };
            found.push(LinkedItem { link, stored });
            if found.len() == limit {
                break;
            }
        }
        Ok(found)
    }
}
