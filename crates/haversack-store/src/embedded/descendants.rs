//! The descendants of an item, in page order.

use haversack_core::ids::ItemId;

use super::records::structure::{ChildRow, active_children};
use super::view::{View, check_limit};
use crate::store::error::ReadError;
use crate::store::query::{Descendants, Descent, FAMILY_MAX};

impl View {
    /// The active descendants of an item; those beyond the limit are counted but not read.
    ///
    /// # Errors
    /// When the limit is too large or the store cannot be read.
    pub fn descendants(&self, id: &ItemId, descent: &Descent) -> Result<Descendants, ReadError> {
        check_limit(descent.limit)?;
        self.read(|connection| {
            let mut below = Descendants::default();
            let Some((root, _)) = self.visible_place_of(connection, id)? else { return Ok(below) };
            let children = |node: i64| {
                let mut children =
                    active_children(connection, node, FAMILY_MAX, |row| self.sees(row))?;
                // Reversed, because the last entry is popped first.
                children.reverse();
                Ok::<Vec<ChildRow>, ReadError>(children)
            };
            let mut pending: Vec<(usize, ChildRow)> = Vec::new();
            if descent.depth > 0 {
                pending.extend(children(root)?.into_iter().map(|child| (1, child)));
            }
            while let Some((level, child)) = pending.pop()
                && below.total < FAMILY_MAX
            {
                below.total += 1;
                if below.found.len() < descent.limit {
                    let stored = self.stored(connection, child.row)?;
                    below.found.extend(stored.map(|stored| (level, stored)));
                }
                let is_closed = descent.closed.iter().any(|kind| *kind.as_str() == *child.kind);
                if level < descent.depth && !is_closed {
                    let next = children(child.node)?.into_iter();
                    pending.extend(next.map(|child| (level + 1, child)));
                }
            }
            Ok(below)
        })
    }
}
