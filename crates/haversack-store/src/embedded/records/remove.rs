//! Taking away: deletion, which history survives; purging, which nothing does; trimming.

use haversack_core::ids::ItemId;
use rusqlite::params;

use super::usage;
use super::write::{Writing, Written};
use crate::embedded::row::Row;

/// Versions of one item that are kept beside the present one.
pub(crate) const HISTORY_MAX: usize = 16;

impl Writing<'_> {
    /// Removes the oldest versions of a node beyond what is kept.
    pub(super) fn trim(&mut self, node: i64) -> Written<()> {
        let mut statement = self.connection.prepare_cached(
            "SELECT row, died FROM items WHERE node = ? AND died IS NOT NULL \
             ORDER BY born DESC, row DESC LIMIT -1 OFFSET ?",
        )?;
        let old = statement
            .query_map(params![node, HISTORY_MAX as u64], |line| Ok((line.get(0)?, line.get(1)?)))?
            .collect::<rusqlite::Result<Vec<(u32, u64)>>>()?;
        for (row, died) in old {
            // A snapshot may still look at it; the next change of the item will get it.
            if died <= self.horizon.get() {
                self.forget(Row::new(row))?;
                usage::raise_trimmed(self.connection, node, died)?;
            }
        }
        Ok(())
    }

    /// Removes a version for good.
    fn forget(&mut self, row: Row) -> Written<()> {
        for table in ["chunks", "facts", "seals", "items"] {
            let sql = &format!("DELETE FROM {table} WHERE row = ?");
            self.connection.prepare_cached(sql)?.execute([row.get()])?;
        }
        self.delta.purged.push(row);
        Ok(())
    }

    /// The present nodes at and below a node.
    pub(super) fn subtree(&self, node: i64) -> Written<Vec<(i64, Row)>> {
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

    pub(super) fn delete(&mut self, id: &ItemId) -> Written<()> {
        let Some(node) = self.node_if_known(id)? else { return Ok(()) };
        for (node, row) in self.removable(id, node)? {
            let list = self.present(node)?.map(|present| present.list);
            self.shift_links(node, list, None)?;
            self.end(row)?;
            self.committed.deleted += 1;
        }
        self.lineage.clear();
        Ok(())
    }

    pub(super) fn purge(&mut self, id: &ItemId) -> Written<()> {
        let Some(node) = self.node_if_known(id)? else { return Ok(()) };
        let mut nodes: Vec<i64> =
            self.removable(id, node)?.into_iter().map(|(node, _)| node).collect();
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

    fn purge_node(&mut self, node: i64) -> Written<()> {
        let list = self.present(node)?.map(|present| present.list);
        self.shift_links(node, list, None)?;
        let rows = self
            .connection
            .prepare_cached("SELECT row FROM items WHERE node = ?")?
            .query_map([node], |line| line.get(0))?
            .collect::<rusqlite::Result<Vec<u32>>>()?;
        let mut hashes = Vec::new();
        for row in rows {
            let mut statement =
                self.connection.prepare_cached("SELECT hex(hash) FROM chunks WHERE row = ?")?;
            for hash in statement.query_map([row], |line| line.get::<_, String>(0))? {
                hashes.push(hash?);
            }
            self.delta.died.push(Row::new(row));
            self.forget(Row::new(row))?;
        }
        // One walk over the chunks for all of them: other items may hold the same text.
        self.connection
            .prepare_cached(
                "WITH gone (hash) AS (SELECT unhex(value) FROM json_each(?1)),
                 used (hash) AS (SELECT hash FROM chunks WHERE hash IN gone)
                 DELETE FROM embeddings WHERE hash IN gone AND hash NOT IN used",
            )?
            .execute([serde_json::Value::from(hashes).to_string()])?;
        for sql in [
            "DELETE FROM links WHERE source = ?1 OR target = ?1",
            "DELETE FROM events WHERE node = ?1",
            "DELETE FROM usage WHERE node = ?1",
            "DELETE FROM trims WHERE node = ?1",
        ] {
            self.connection.prepare_cached(sql)?.execute([node])?;
        }
        Ok(())
    }
}
