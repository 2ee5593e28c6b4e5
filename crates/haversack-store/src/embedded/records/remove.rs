//! Removal: deletion keeps history, purging keeps nothing, trimming bounds history.

use haversack_core::ids::ItemId;
use rusqlite::params;

use super::residue::{self, Residue};
use super::usage;
use super::write::{BatchWriter, WriteResult};
use crate::embedded::row::Row;
use crate::prepare::Hash;

/// Earlier versions kept per item.
pub(crate) const HISTORY_MAX: usize = 16;

impl BatchWriter<'_> {
    /// Removes the oldest versions of a node beyond [`HISTORY_MAX`].
    pub(super) fn trim_history(&mut self, node: i64) -> WriteResult<()> {
        let mut statement = self.connection.prepare_cached(
            "SELECT row, died FROM items WHERE node = ? AND died IS NOT NULL \
             ORDER BY born DESC, row DESC LIMIT -1 OFFSET ?",
        )?;
        let old = statement
            .query_map(params![node, HISTORY_MAX as u64], |line| Ok((line.get(0)?, line.get(1)?)))?
            .collect::<rusqlite::Result<Vec<(u32, u64)>>>()?;
        for (row, died) in old {
            // A snapshot may still need it; the next change of the item removes it.
            if died <= self.horizon.get() {
                self.remove_version(Row::new(row))?;
                usage::record_trim(self.connection, node, died)?;
                residue::record(self.connection, Residue::Trimmed)?;
                self.delta.residue = self.delta.residue.max(Some(Residue::Trimmed));
            }
        }
        Ok(())
    }

    /// Removes a version for good, and the vectors of texts that no other version has.
    fn remove_version(&mut self, row: Row) -> WriteResult<()> {
        let hashes = self
            .connection
            .prepare_cached("SELECT DISTINCT hash FROM chunks WHERE row = ?")?
            .query_map([row.get()], |line| line.get(0))?
            .collect::<rusqlite::Result<Vec<Hash>>>()?;
        for table in ["chunks", "facts", "seals", "items"] {
            let sql = &format!("DELETE FROM {table} WHERE row = ?");
            self.connection.prepare_cached(sql)?.execute([row.get()])?;
        }
        let mut remove_unused = self.connection.prepare_cached(
            "DELETE FROM embeddings WHERE hash = ?1 AND NOT EXISTS (SELECT 1 FROM chunks \
             WHERE substr(hash, 1, 4) = substr(?1, 1, 4) AND hash = ?1)",
        )?;
        for hash in hashes {
            remove_unused.execute([hash])?;
        }
        self.delta.purged.push(row);
        Ok(())
    }

    /// The present nodes at and below a node.
    pub(super) fn subtree(&self, node: i64) -> WriteResult<Vec<(i64, Row)>> {
        let mut statement = self.connection.prepare_cached(
            "WITH RECURSIVE below (node) AS (
               SELECT ?1 UNION
               SELECT i.node FROM below JOIN items i ON i.parent = below.node WHERE i.died IS NULL
             )
             SELECT i.node, i.row FROM below JOIN items i ON i.node = below.node
             WHERE i.died IS NULL ORDER BY i.row",
        )?;
        let subtree = statement
            .query_map([node], |line| Ok((line.get(0)?, Row::new(line.get(1)?))))?
            .collect::<rusqlite::Result<Vec<_>>>()?;
        Ok(subtree)
    }

    pub(super) fn delete(&mut self, id: &ItemId) -> WriteResult<()> {
        let Some(node) = self.node_of(id)? else { return Ok(()) };
        for (node, row) in self.removable_subtree(id, node)? {
            let list = self.present_version(node)?.map(|present| present.list);
            self.reseal_links_of(node, list, None)?;
            self.end_version(row)?;
            self.committed.deleted += 1;
        }
        self.lineage.clear();
        Ok(())
    }

    pub(super) fn purge(&mut self, id: &ItemId) -> WriteResult<()> {
        let Some(node) = self.node_of(id)? else { return Ok(()) };
        let mut nodes: Vec<i64> =
            self.removable_subtree(id, node)?.into_iter().map(|(node, _)| node).collect();
        if !nodes.contains(&node) {
            nodes.push(node);
        }
        for node in nodes {
            self.purge_node(node)?;
            self.committed.deleted += 1;
        }
        self.lineage.clear();
        Ok(())
    }

    /// Removes all versions of a node, and everything about it.
    pub(super) fn purge_node(&mut self, node: i64) -> WriteResult<()> {
        let list = self.present_version(node)?.map(|present| present.list);
        self.reseal_links_of(node, list, None)?;
        let rows = self
            .connection
            .prepare_cached("SELECT row FROM items WHERE node = ?")?
            .query_map([node], |line| line.get(0))?
            .collect::<rusqlite::Result<Vec<u32>>>()?;
        for row in rows {
            self.delta.died.push(Row::new(row));
            self.remove_version(Row::new(row))?;
        }
        for sql in [
            "DELETE FROM links WHERE source = ?1 OR target = ?1",
            "DELETE FROM events WHERE node = ?1",
            "DELETE FROM usage WHERE node = ?1",
            "DELETE FROM trims WHERE node = ?1",
            // The id may say something, too. Earlier versions of other items may be below it.
            "DELETE FROM nodes WHERE node = ?1 AND NOT EXISTS (SELECT 1 FROM items WHERE parent = ?1)",
        ] {
            self.connection.prepare_cached(sql)?.execute([node])?;
        }
        residue::record(self.connection, Residue::Purged)?;
        self.delta.residue = Some(Residue::Purged);
        Ok(())
    }
}
