//! Write permissions, checked inside the write.
//!
//! The data owner may do everything. Other users change what they can read; only the creator of an
//! item may move it or set its readers. Items that a user cannot read stay, even below an item that
//! the user deletes: they have readers of their own, or the user could read them.

use std::collections::BTreeSet;

use haversack_core::ids::ItemId;
use rusqlite::{OptionalExtension, params};

use super::lines::parse_principals;
use super::write::{BatchWriter, EVERYONE, PresentVersion, WriteError, WriteResult};
use crate::embedded::row::Row;
use crate::store::error::{CommitError, Denial};
use crate::store::item::Item;
use crate::store::viewer::{Principal, Readers, Viewer};

fn deny<T>(item: &ItemId, denial: Denial) -> WriteResult<T> {
    Err(WriteError::Refused(CommitError::Denied { item: item.clone(), denial }))
}

impl BatchWriter<'_> {
    fn is_owner(&self) -> bool {
        self.prepared.batch.rights == Viewer::owner()
    }

    /// Whether the writer is on a reader list.
    fn may_read(&mut self, list: u32) -> WriteResult<bool> {
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
            // An unreadable list cannot be checked, so it includes nobody.
            self.principals(list)?.is_some_and(|list| rights.is_among(&list))
        };
        self.readable.insert(list, may);
        Ok(may)
    }

    /// Whether the writer may read a node's present version.
    fn may_read_present(&mut self, node: i64) -> WriteResult<bool> {
        match self.present_version(node)? {
            Some(present) => self.may_read(present.list),
            None => Ok(false),
        }
    }

    /// Denies access to an item that the writer cannot read.
    pub(super) fn check_readable(&mut self, id: &ItemId) -> WriteResult<()> {
        if self.is_owner() {
            return Ok(());
        }
        let is_there = match self.node_of(id)? {
            Some(node) => self.may_read_present(node)?,
            None => false,
        };
        if is_there { Ok(()) } else { deny(id, Denial::Missing) }
    }

    /// Checks that the writer may overwrite an item. Returns the item completed with the stored
    /// parent and readers where the writer, who may not see them, left them out.
    pub(super) fn check_put(
        &mut self,
        item: &Item,
        node: i64,
        present: Option<&PresentVersion>,
    ) -> WriteResult<Option<Item>> {
        if self.is_owner() {
            return Ok(None);
        }
        if let Some(list) = self.latest_list(node)?
            && !self.may_read(list)?
        {
            return deny(&item.id, Denial::Id);
        }
        let parent = match &item.parent {
            Some(parent) => match self.node_of(parent)? {
                Some(above) if self.may_read_present(above)? => Some(above),
                _ => return deny(parent, Denial::Parent),
            },
            None => None,
        };
        let Some(present) = present else { return Ok(None) };
        let mut completed = item.clone();
        match parent {
            // A writer who cannot see the parent cannot repeat it.
            None => completed.parent = self.present_id(present.parent)?,
            moved if moved != present.parent && !self.is_maker(node)? => {
                return deny(&item.id, Denial::Move);
            }
            _ => {}
        }
        match &item.readers {
            Readers::Inherit => completed.readers = self.stored_readers(present)?,
            Readers::Only(principals) => {
                let list = self.list_number(principals)?;
                if present.readers != Some(list) && !self.is_maker(node)? {
                    return deny(&item.id, Denial::Readers);
                }
            }
        }
        Ok(Some(completed))
    }

    /// The id of a present node.
    fn present_id(&self, node: Option<i64>) -> WriteResult<Option<ItemId>> {
        let Some(node) = node else { return Ok(None) };
        if self.present_version(node)?.is_none() {
            return Ok(None);
        }
        let mut statement =
            self.connection.prepare_cached("SELECT id FROM nodes WHERE node = ?")?;
        let id: String = statement.query_row([node], |line| line.get(0))?;
        Ok(ItemId::new(&id).ok())
    }

    /// The stored readers of an item.
    fn stored_readers(&self, present: &PresentVersion) -> WriteResult<Readers> {
        let Some(list) = present.readers else { return Ok(Readers::Inherit) };
        if list == EVERYONE {
            return Ok(Readers::Only([Principal::everyone()].into()));
        }
        // An unreadable list includes nobody.
        Ok(Readers::Only(self.principals(list)?.unwrap_or_default()))
    }

    fn principals(&self, list: u32) -> WriteResult<Option<BTreeSet<Principal>>> {
        let text: Option<String> = self
            .connection
            .prepare_cached("SELECT principals FROM lists WHERE list = ?")?
            .query_row([list], |line| line.get(0))
            .optional()?;
        Ok(text.and_then(|text| parse_principals(&text)))
    }

    /// The reader list of a node's latest version, deleted or not.
    fn latest_list(&self, node: i64) -> WriteResult<Option<u32>> {
        let mut statement = self.connection.prepare_cached(
            "SELECT list FROM items WHERE node = ? ORDER BY born DESC, row DESC LIMIT 1",
        )?;
        Ok(statement.query_row([node], |line| line.get(0)).optional()?)
    }

    /// Whether the writer created the item of a node.
    fn is_maker(&self, node: i64) -> WriteResult<bool> {
        let mut statement =
            self.connection.prepare_cached("SELECT owner FROM nodes WHERE node = ?")?;
        let owner: Option<String> = statement.query_row([node], |line| line.get(0))?;
        Ok(owner.is_some() && owner == self.prepared.batch.author)
    }

    /// Records the writer as the creator of a node's item.
    pub(super) fn record_maker(&self, node: i64) -> WriteResult<()> {
        self.connection
            .prepare_cached("UPDATE nodes SET owner = ? WHERE node = ?")?
            .execute(params![self.prepared.batch.author, node])?;
        Ok(())
    }

    /// The nodes that deleting an item removes: itself and the descendants that the writer can
    /// read.
    pub(super) fn removable_subtree(
        &mut self,
        id: &ItemId,
        node: i64,
    ) -> WriteResult<Vec<(i64, Row)>> {
        if self.is_owner() {
            return self.subtree(node);
        }
        let Some(present) = self.present_version(node)? else { return Ok(Vec::new()) };
        if !self.may_read(present.list)? {
            return deny(id, Denial::Missing);
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
