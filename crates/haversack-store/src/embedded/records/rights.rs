//! What somebody may change, looked up in the write itself.
//!
//! The owner of the data may do everything. Anybody else changes what they can read; who may read
//! an item and where it hangs is for whoever made it to say. What they cannot read stays as it is,
//! also under what they take away: it has readers of its own, or they could read it.

use std::collections::BTreeSet;

use haversack_core::ids::ItemId;
use rusqlite::{OptionalExtension, params};

use super::lines::principals_of;
use super::write::{EVERYONE, Present, WriteError, Writing, Written};
use crate::embedded::row::Row;
use crate::store::error::{CommitError, Denial};
use crate::store::item::Item;
use crate::store::viewer::{Principal, Readers, Viewer};

fn denied<T>(item: &ItemId, denial: Denial) -> Written<T> {
    Err(WriteError::Refused(CommitError::Denied { item: item.clone(), denial }))
}

impl Writing<'_> {
    fn is_owner(&self) -> bool {
        self.prepared.batch.rights == Viewer::owner()
    }

    /// Whether the writer may read what is under a list of readers.
    fn may_read(&mut self, list: u32) -> Written<bool> {
        if self.is_owner() {
            return Ok(true);
        }
        if let Some(known) = self.readable.get(&list) {
            return Ok(*known);
        }
        let rights = &self.prepared.batch.rights;
        let may = if list == EVERYONE {
            rights.is_among(&[Principal::everyone()].into())
        } else {
            // A list that cannot be read cannot be checked, so nobody is on it.
            self.principals(list)?.is_some_and(|list| rights.is_among(&list))
        };
        self.readable.insert(list, may);
        Ok(may)
    }

    /// Whether the writer may read a node's present version.
    fn sees(&mut self, node: i64) -> Written<bool> {
        match self.present(node)? {
            Some(present) => self.may_read(present.list),
            None => Ok(false),
        }
    }

    /// Refuses to speak of an item that the writer cannot read.
    pub(super) fn check_there(&mut self, id: &ItemId) -> Written<()> {
        if self.is_owner() {
            return Ok(());
        }
        let is_there = match self.node_if_known(id)? {
            Some(node) => self.sees(node)?,
            None => false,
        };
        if is_there { Ok(()) } else { denied(id, Denial::Missing) }
    }

    /// Refuses to write over what is not the writer's to change. Where the writer leaves out what
    /// they may not have been told, gives the item with what is stored.
    pub(super) fn check_put(
        &mut self,
        item: &Item,
        node: i64,
        present: Option<&Present>,
    ) -> Written<Option<Item>> {
        if self.is_owner() {
            return Ok(None);
        }
        if let Some(list) = self.last_list(node)?
            && !self.may_read(list)?
        {
            return denied(&item.id, Denial::Id);
        }
        let parent = match &item.parent {
            Some(parent) => match self.node_if_known(parent)? {
                Some(above) if self.sees(above)? => Some(above),
                _ => return denied(parent, Denial::Parent),
            },
            None => None,
        };
        let Some(present) = present else { return Ok(None) };
        let mut completed = item.clone();
        match parent {
            // Whoever does not see where an item hangs cannot say it again.
            None => completed.parent = self.present_id(present.parent)?,
            moved if moved != present.parent && !self.is_own(node)? => {
                return denied(&item.id, Denial::Move);
            }
            _ => {}
        }
        match &item.readers {
            Readers::Inherit => completed.readers = self.own_readers(present)?,
            Readers::Only(principals) => {
                let list = self.list(principals)?;
                if present.readers != Some(list) && !self.is_own(node)? {
                    return denied(&item.id, Denial::Readers);
                }
            }
        }
        Ok(Some(completed))
    }

    /// The id of a node that is there.
    fn present_id(&self, node: Option<i64>) -> Written<Option<ItemId>> {
        let Some(node) = node else { return Ok(None) };
        if self.present(node)?.is_none() {
            return Ok(None);
        }
        let mut statement =
            self.connection.prepare_cached("SELECT id FROM nodes WHERE node = ?")?;
        let id: String = statement.query_row([node], |line| line.get(0))?;
        Ok(ItemId::new(&id).ok())
    }

    /// An item's own list of readers, as it is stored.
    fn own_readers(&self, present: &Present) -> Written<Readers> {
        let Some(list) = present.readers else { return Ok(Readers::Inherit) };
        if list == EVERYONE {
            return Ok(Readers::Only([Principal::everyone()].into()));
        }
        // A list that cannot be read is nobody's.
        Ok(Readers::Only(self.principals(list)?.unwrap_or_default()))
    }

    fn principals(&self, list: u32) -> Written<Option<BTreeSet<Principal>>> {
        let text: Option<String> = self
            .connection
            .prepare_cached("SELECT principals FROM lists WHERE list = ?")?
            .query_row([list], |line| line.get(0))
            .optional()?;
        Ok(text.and_then(|text| principals_of(&text)))
    }

    /// The list of a node's last version, also when it was deleted since.
    fn last_list(&self, node: i64) -> Written<Option<u32>> {
        let mut statement = self.connection.prepare_cached(
            "SELECT list FROM items WHERE node = ? ORDER BY born DESC, row DESC LIMIT 1",
        )?;
        Ok(statement.query_row([node], |line| line.get(0)).optional()?)
    }

    /// Whether the writer made the item of a node.
    fn is_own(&self, node: i64) -> Written<bool> {
        let mut statement =
            self.connection.prepare_cached("SELECT owner FROM nodes WHERE node = ?")?;
        let owner: Option<String> = statement.query_row([node], |line| line.get(0))?;
        Ok(owner.is_some() && owner == self.prepared.batch.author)
    }

    /// Notes who made the item of a node.
    pub(super) fn own(&self, node: i64) -> Written<()> {
        self.connection
            .prepare_cached("UPDATE nodes SET owner = ? WHERE node = ?")?
            .execute(params![self.prepared.batch.author, node])?;
        Ok(())
    }

    /// What goes when an item goes: itself and what hangs under it, as far as the writer can read.
    pub(super) fn removable(&mut self, id: &ItemId, node: i64) -> Written<Vec<(i64, Row)>> {
        if self.is_owner() {
            return self.subtree(node);
        }
        let Some(present) = self.present(node)? else { return Ok(Vec::new()) };
        if !self.may_read(present.list)? {
            return denied(id, Denial::Missing);
        }
        let mut removable = vec![(node, present.row)];
        let mut at = 0;
        while let Some((above, _)) = removable.get(at).copied() {
            at += 1;
            let below: Vec<(i64, u32, u32)> = self
                .connection
                .prepare_cached(
                    "SELECT node, row, list FROM items WHERE parent = ? AND died IS NULL ORDER BY row",
                )?
                .query_map([above], |line| Ok((line.get(0)?, line.get(1)?, line.get(2)?)))?
                .collect::<rusqlite::Result<_>>()?;
            for (node, row, list) in below {
                if self.may_read(list)? {
                    removable.push((node, Row::new(row)));
                }
            }
        }
        Ok(removable)
    }
}
