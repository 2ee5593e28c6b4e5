//! Which rows are present and which list of readers counts for each: the source of every bitmap.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use rusqlite::{Connection, params_from_iter};

use super::records::lines::lists;
use super::records::storage;
use super::records::write::{Delta, EVERYONE};
use super::row::{Bitmap, Row};
use super::seals::{self, Namer, Seal};
use crate::revision::{Revision, StateToken};
use crate::store::error::ReadError;
use crate::store::viewer::{Principal, Viewer};

/// Rows to a block: small enough to copy when one of them changes, large enough to be few.
const BLOCK_ROWS: usize = 8_192;

/// The list number that stands for a row which is not present.
const ABSENT: u32 = u32::MAX;

/// Lists of readers, by their numbers.
pub(crate) type Lists = BTreeSet<u32>;

/// Sums of the seals of links, by the lists of both ends.
pub(crate) type LinkSeals = BTreeMap<(u32, u32), Seal>;

/// One state. A copy shares all blocks that do not change.
#[derive(Debug, Clone, Default)]
pub(crate) struct Catalogue {
    blocks: Vec<Arc<[u32]>>,
    /// The seals of the rows, in blocks as well.
    seals: Vec<Arc<[Seal]>>,
    links: Arc<LinkSeals>,
    lists: Arc<BTreeMap<u32, BTreeSet<Principal>>>,
}

/// What a viewer may read.
#[derive(Debug)]
pub(crate) struct Readable {
    pub(crate) rows: Bitmap,
    /// The lists of readers that the viewer is on.
    pub(crate) lists: Lists,
    /// The viewer's name for the state.
    pub(crate) token: StateToken,
}

impl Catalogue {
    /// Reads the present state.
    pub(crate) fn read(connection: &Connection) -> Result<Catalogue, ReadError> {
        let sql = "SELECT i.list, i.row, s.seal FROM items i LEFT JOIN seals s ON s.row = i.row \
                   WHERE i.died IS NULL";
        Catalogue::select(connection, sql, None)
    }

    /// Reads the state after an earlier commit, with the lists of readers that count now.
    pub(crate) fn read_at(
        connection: &Connection,
        revision: Revision,
    ) -> Result<Catalogue, ReadError> {
        let sql = "SELECT i.list, i.row, s.seal FROM items i LEFT JOIN seals s ON s.row = i.row \
                   WHERE i.born <= ?1 AND (i.died IS NULL OR i.died > ?1)";
        Catalogue::select(connection, sql, Some(revision))
    }

    fn select(
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
                let (block, at) = (row as usize / BLOCK_ROWS, row as usize % BLOCK_ROWS);
                if block >= blocks.len() {
                    blocks.resize_with(block + 1, || vec![ABSENT; BLOCK_ROWS]);
                    sealed.resize_with(block + 1, || vec![0; BLOCK_ROWS]);
                }
                blocks[block][at] = list;
                sealed[block][at] = seal.map_or(0, seals::seal_of);
            }
            seals::of_links(connection, revision)
        };
        let links = Arc::new(read().map_err(storage)?);
        let lists = Arc::new(lists(connection)?.into_iter().collect());
        let blocks = blocks.into_iter().map(Arc::from).collect();
        let seals = sealed.into_iter().map(Arc::from).collect();
        Ok(Catalogue { blocks, seals, links, lists })
    }

    /// The state after a batch.
    pub(crate) fn apply(&mut self, delta: &Delta) {
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
            self.set(birth.row, birth.list);
            let (block, at) = place(birth.row);
            Arc::make_mut(&mut self.seals[block])[at] = birth.seal;
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
        let (block, at) = place(row);
        while block >= self.blocks.len() {
            self.blocks.push(Arc::from(vec![ABSENT; BLOCK_ROWS]));
            self.seals.push(Arc::from(vec![0; BLOCK_ROWS]));
        }
        Arc::make_mut(&mut self.blocks[block])[at] = list;
    }

    /// The rows that a viewer may read. This is the one place that decides.
    pub(crate) fn readable(&self, viewer: &Viewer) -> Readable {
        let among = self.lists.iter().filter(|(_, readers)| viewer.is_among(readers));
        let mut lists: Lists = among.map(|(list, _)| *list).collect();
        if viewer.is_among(&[Principal::everyone()].into()) {
            lists.insert(EVERYONE);
        }
        // A list that is not known cannot be checked, so nobody is on it.
        let may_read = |list: u32| list != ABSENT && lists.contains(&list);
        let mut readable = Bitmap::new();
        let mut digest: Seal = 0;
        // Neighbours mostly share a list.
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
        Readable { rows: readable, lists, token: Namer::new(viewer).name(digest) }
    }

    /// The list and the seal of each row.
    fn sealed_rows(&self) -> impl Iterator<Item = (u32, Seal)> {
        let blocks = self.blocks.iter().zip(&self.seals);
        blocks.flat_map(|(lists, seals)| lists.iter().copied().zip(seals.iter().copied()))
    }

    /// Whether both have the same rows under the same lists, and the same links between them.
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

/// The block of a row, and its place in there.
const fn place(row: Row) -> (usize, usize) {
    let row = row.get() as usize;
    (row / BLOCK_ROWS, row % BLOCK_ROWS)
}
