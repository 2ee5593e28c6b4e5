//! Present rows and the reader list that applies to each: the source of every visibility bitmap.

use std::collections::{BTreeMap, BTreeSet};
use std::iter::repeat_n;
use std::sync::Arc;

use rusqlite::{Connection, params_from_iter};

use super::records::lines::reader_lists;
use super::records::storage;
use super::records::write::{CommitDelta, EVERYONE};
use super::row::{Bitmap, Row};
use super::seals::{self, Seal, StateNamer};
use crate::revision::{Revision, StateToken};
use crate::store::error::ReadError;
use crate::store::viewer::{Principal, Viewer};

/// Rows per block: small enough to copy on a change, large enough to keep blocks few.
const BLOCK_ROWS: usize = 8_192;

/// The rows of the shortest block. The last block grows from here, so that a small workspace is small
/// in memory; all others are full.
const BLOCK_ROWS_MIN: usize = 128;

/// The list number of a row that is not present.
const ABSENT: u32 = u32::MAX;

/// Reader lists, by number.
pub(crate) type ReaderLists = BTreeSet<u32>;

/// Sums of link seals, by the reader lists of both ends.
pub(crate) type LinkSeals = BTreeMap<(u32, u32), Seal>;

/// The rows of one state. A clone shares all unchanged blocks.
#[derive(Debug, Clone, Default)]
pub(crate) struct Catalogue {
    blocks: Vec<Arc<[u32]>>,
    /// The seals of the rows, in blocks of the same size.
    seals: Vec<Arc<[Seal]>>,
    links: Arc<LinkSeals>,
    lists: Arc<BTreeMap<u32, BTreeSet<Principal>>>,
}

/// The rows that a viewer may read, and what follows from them.
#[derive(Debug)]
pub(crate) struct Readable {
    pub(crate) rows: Bitmap,
    /// The reader lists that include the viewer.
    pub(crate) lists: ReaderLists,
    /// The token that identifies the state to this viewer.
    pub(crate) token: StateToken,
}

impl Catalogue {
    /// Reads the present state.
    pub(crate) fn read(connection: &Connection) -> Result<Catalogue, ReadError> {
        let sql = "SELECT i.list, i.row, s.seal FROM items i LEFT JOIN seals s ON s.row = i.row \
                   WHERE i.died IS NULL";
        Catalogue::read_rows(connection, sql, None)
    }

    /// Reads the state after an earlier commit, with the reader lists that apply now.
    pub(crate) fn read_at(
        connection: &Connection,
        revision: Revision,
    ) -> Result<Catalogue, ReadError> {
        let sql = "SELECT i.list, i.row, s.seal FROM items i LEFT JOIN seals s ON s.row = i.row \
                   WHERE i.born <= ?1 AND (i.died IS NULL OR i.died > ?1)";
        Catalogue::read_rows(connection, sql, Some(revision))
    }

    fn read_rows(
        connection: &Connection,
        sql: &str,
        revision: Option<Revision>,
    ) -> Result<Catalogue, ReadError> {
        let mut blocks: Vec<Vec<u32>> = Vec::new();
        let mut sealed: Vec<Vec<Seal>> = Vec::new();
        let mut read = || -> rusqlite::Result<LinkSeals> {
            let mut statement = connection.prepare_cached(sql)?;
            let mut lines = statement.query(params_from_iter(revision.map(Revision::get)))?;
            while let Some(line) = lines.next()? {
                let (list, row): (u32, u32) = (line.get(0)?, line.get(1)?);
                let seal: Option<[u8; 16]> = line.get(2)?;
                let (block, at) = block_position(Row::new(row));
                if block >= blocks.len() {
                    blocks.resize_with(block + 1, Vec::new);
                    sealed.resize_with(block + 1, Vec::new);
                }
                if at >= blocks[block].len() {
                    blocks[block].resize(block_len(at), ABSENT);
                    sealed[block].resize(block_len(at), 0);
                }
                blocks[block][at] = list;
                sealed[block][at] = seal.map_or(0, seals::seal_from_bytes);
            }
            seals::link_seals(connection, revision)
        };
        let links = Arc::new(read().map_err(storage)?);
        let lists = Arc::new(reader_lists(connection)?.into_iter().collect());
        if let ([full @ .., _], [full_seals @ .., _]) = (&mut blocks[..], &mut sealed[..]) {
            full.iter_mut().for_each(|block| block.resize(BLOCK_ROWS, ABSENT));
            full_seals.iter_mut().for_each(|block| block.resize(BLOCK_ROWS, 0));
        }
        let blocks = blocks.into_iter().map(Arc::from).collect();
        let seals = sealed.into_iter().map(Arc::from).collect();
        Ok(Catalogue { blocks, seals, links, lists })
    }

    /// Applies a committed batch.
    pub(crate) fn apply(&mut self, delta: &CommitDelta) {
        if !delta.lists.is_empty() {
            let lists = Arc::make_mut(&mut self.lists);
            lists.extend(delta.lists.iter().cloned());
        }
        if !delta.links.is_empty() {
            let links = Arc::make_mut(&mut self.links);
            for (ends, seal) in &delta.links {
                let sum = links.entry(*ends).or_insert(0);
                *sum = sum.wrapping_add(*seal);
            }
        }
        for birth in &delta.born {
            self.set_list(birth.row, birth.list);
            let (block, at) = block_position(birth.row);
            Arc::make_mut(&mut self.seals[block])[at] = birth.seal;
        }
        for (row, list) in &delta.relisted {
            self.set_list(*row, *list);
        }
        // A row can be created and ended in one batch, so ends are applied last.
        for row in delta.died.iter().chain(&delta.purged) {
            self.set_list(*row, ABSENT);
        }
    }

    fn set_list(&mut self, row: Row, list: u32) {
        let (block, at) = block_position(row);
        while block >= self.blocks.len() {
            self.grow_last_block(BLOCK_ROWS);
            self.blocks.push(Arc::from([]));
            self.seals.push(Arc::from([]));
        }
        if at >= self.blocks[block].len() {
            self.grow_last_block(block_len(at));
        }
        Arc::make_mut(&mut self.blocks[block])[at] = list;
    }

    /// Lengthens the last block to this many rows.
    fn grow_last_block(&mut self, rows: usize) {
        let (Some(lists), Some(seals)) = (self.blocks.last_mut(), self.seals.last_mut()) else {
            return;
        };
        if lists.len() < rows {
            let rest = rows - lists.len();
            *lists = lists.iter().copied().chain(repeat_n(ABSENT, rest)).collect();
            *seals = seals.iter().copied().chain(repeat_n(0, rest)).collect();
        }
    }

    /// The rows that a viewer may read. Visibility is decided here and nowhere else.
    pub(crate) fn readable(&self, viewer: &Viewer) -> Readable {
        let among = self.lists.iter().filter(|(_, readers)| viewer.is_among(readers));
        let mut lists: ReaderLists = among.map(|(list, _)| *list).collect();
        if viewer.is_among(&[Principal::everyone()].into()) {
            lists.insert(EVERYONE);
        }
        // An unknown list cannot be checked, so it includes nobody.
        let may_read = |list: u32| list != ABSENT && lists.contains(&list);
        let mut readable = Bitmap::new();
        let mut digest: Seal = 0;
        // Neighbouring rows mostly share a list.
        let mut last = (ABSENT, false);
        for (number, (list, seal)) in (0u32..).zip(self.sealed_rows()) {
            if list != last.0 {
                last = (list, may_read(list));
            }
            if last.1 {
                readable.insert(Row::new(number));
                digest = digest.wrapping_add(seal);
            }
        }
        for ((from, to), seal) in &*self.links {
            if lists.contains(from) && lists.contains(to) {
                digest = digest.wrapping_add(*seal);
            }
        }
        Readable { rows: readable, lists, token: StateNamer::new(viewer).name(digest) }
    }

    /// The list and the seal of each row.
    fn sealed_rows(&self) -> impl Iterator<Item = (u32, Seal)> {
        let blocks = self.blocks.iter().zip(&self.seals);
        blocks.flat_map(|(lists, seals)| lists.iter().copied().zip(seals.iter().copied()))
    }

    /// Whether both hold the same rows, reader lists and links.
    pub(crate) fn agrees_with(&self, other: &Catalogue) -> bool {
        let rows = |catalogue: &Catalogue| {
            let rows: Vec<(u32, Seal)> = catalogue.sealed_rows().collect();
            (0u32..).zip(rows).filter(|(_, (list, _))| *list != ABSENT)
        };
        let links = |catalogue: &Catalogue| {
            let links = catalogue.links.iter().filter(|(_, seal)| **seal != 0);
            links.map(|(ends, seal)| (*ends, *seal)).collect::<LinkSeals>()
        };
        rows(self).eq(rows(other)) && self.lists == other.lists && links(self) == links(other)
    }
}

/// The length of a block whose last row is at this index.
fn block_len(at: usize) -> usize {
    (at + 1).next_power_of_two().clamp(BLOCK_ROWS_MIN, BLOCK_ROWS)
}

/// The block of a row and its index within the block.
const fn block_position(row: Row) -> (usize, usize) {
    let row = row.get() as usize;
    (row / BLOCK_ROWS, row % BLOCK_ROWS)
}

#[cfg(test)]
mod tests {
    use super::{BLOCK_ROWS, BLOCK_ROWS_MIN, Catalogue};
    use crate::embedded::row::Row;

    /// Blocks grow with the rows, in whatever order these come, and the last one stays short.
    #[test]
    fn a_small_catalogue_is_short_and_a_large_one_has_no_holes() {
        let rows = [0, 5, 127, 128, 200, 8_191, 8_192, 8_400, 33_000];
        let mut catalogue = Catalogue::default();
        for (nth, row) in rows.iter().enumerate() {
            catalogue.set_list(Row::new(*row), 7);
            let present: Vec<usize> = (0..)
                .zip(catalogue.sealed_rows())
                .filter(|(_, (list, _))| *list == 7)
                .map(|(row, _)| row)
                .collect();
            let expected: Vec<usize> = rows[..=nth].iter().map(|row| *row as usize).collect();
            assert_eq!(present, expected);
        }
        let (last, full) = catalogue.blocks.split_last().unwrap();
        assert!(full.iter().all(|block| block.len() == BLOCK_ROWS));
        assert!(last.len() < BLOCK_ROWS, "{}", last.len());
        let mut small = Catalogue::default();
        small.set_list(Row::new(3), 7);
        assert_eq!(small.blocks[0].len(), BLOCK_ROWS_MIN);
    }
}
