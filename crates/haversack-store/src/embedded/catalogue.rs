//! Which rows are present and which list of readers counts for each: the source of every bitmap.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use rusqlite::Connection;

use super::records::lines::lists;
use super::records::storage;
use super::records::write::{Delta, EVERYONE};
use super::row::{Bitmap, Row};
use crate::revision::Revision;
use crate::store::error::ReadError;
use crate::store::viewer::{Principal, Viewer};

/// Rows to a block: small enough to copy when one of them changes, large enough to be few.
const BLOCK_ROWS: usize = 8_192;

/// The list number that stands for a row which is not present.
const ABSENT: u32 = u32::MAX;

/// One state. A copy shares all blocks that do not change.
#[derive(Debug, Clone, Default)]
pub(crate) struct Catalogue {
    blocks: Vec<Arc<[u32]>>,
    lists: Arc<BTreeMap<u32, BTreeSet<Principal>>>,
}

impl Catalogue {
    /// Reads the present state.
    pub(crate) fn read(connection: &Connection) -> Result<Catalogue, ReadError> {
        Catalogue::select(connection, "SELECT list, row FROM items WHERE died IS NULL", [])
    }

    /// Reads the state after an earlier commit, with the lists of readers that count now.
    pub(crate) fn read_at(
        connection: &Connection,
        revision: Revision,
    ) -> Result<Catalogue, ReadError> {
        let sql = "SELECT list, row FROM items WHERE born <= ?1 AND (died IS NULL OR died > ?1)";
        Catalogue::select(connection, sql, [revision.get()])
    }

    fn select<P: rusqlite::Params>(
        connection: &Connection,
        sql: &str,
        params: P,
    ) -> Result<Catalogue, ReadError> {
        let mut blocks: Vec<Vec<u32>> = Vec::new();
        let read = || -> rusqlite::Result<()> {
            let mut statement = connection.prepare_cached(sql)?;
            let mut lines = statement.query(params)?;
            while let Some(line) = lines.next()? {
                let (list, row): (u32, u32) = (line.get(0)?, line.get(1)?);
                let block = row as usize / BLOCK_ROWS;
                if block >= blocks.len() {
                    blocks.resize_with(block + 1, || vec![ABSENT; BLOCK_ROWS]);
                }
                blocks[block][row as usize % BLOCK_ROWS] = list;
            }
            Ok(())
        };
        read().map_err(storage)?;
        let lists = lists(connection)?.into_iter().collect();
        let blocks = blocks.into_iter().map(Arc::from).collect();
        Ok(Catalogue { blocks, lists: Arc::new(lists) })
    }

    /// The state after a batch.
    pub(crate) fn apply(&mut self, delta: &Delta) {
        if !delta.lists.is_empty() {
            let lists = Arc::make_mut(&mut self.lists);
            lists.extend(delta.lists.iter().cloned());
        }
        for birth in &delta.born {
            self.set(birth.row, birth.list);
        }
        for (row, list) in &delta.relisted {
            self.set(*row, *list);
        }
        // A row can be born and end in one batch, so ends come last.
        for row in delta.died.iter().chain(&delta.purged) {
            self.set(*row, ABSENT);
        }
    }

    fn set(&mut self, row: Row, list: u32) {
        let at = row.get() as usize / BLOCK_ROWS;
        while at >= self.blocks.len() {
            self.blocks.push(Arc::from(vec![ABSENT; BLOCK_ROWS]));
        }
        let block = Arc::make_mut(&mut self.blocks[at]);
        block[row.get() as usize % BLOCK_ROWS] = list;
    }

    /// The rows that a viewer may read. This is the one place that decides.
    pub(crate) fn readable(&self, viewer: &Viewer) -> Bitmap {
        let allowed: BTreeMap<u32, bool> =
            self.lists.iter().map(|(list, readers)| (*list, viewer.is_among(readers))).collect();
        let everyone = viewer.is_among(&[Principal::everyone()].into());
        let may_read = |list: u32| match list {
            ABSENT => false,
            EVERYONE => everyone,
            // A list that is not known cannot be checked, so nobody is on it.
            list => allowed.get(&list).copied().unwrap_or(false),
        };
        let mut readable = Bitmap::new();
        // Neighbours mostly share a list.
        let mut last = (ABSENT, false);
        for (number, list) in (0u32..).zip(self.blocks.iter().flat_map(|block| block.iter())) {
            if *list != last.0 {
                last = (*list, may_read(*list));
            }
            if last.1 {
                readable.insert(Row::new(number));
            }
        }
        readable
    }

    /// Whether both have the same rows under the same lists.
    pub(crate) fn agrees_with(&self, other: &Catalogue) -> bool {
        let rows = |catalogue: &Catalogue| {
            let lists = catalogue.blocks.iter().flat_map(|block| block.iter().copied());
            (0u32..).zip(lists.collect::<Vec<_>>()).filter(|(_, list)| *list != ABSENT)
        };
        rows(self).eq(rows(other)) && self.lists == other.lists
    }
}
