//! State tokens that reveal nothing about hidden items.
//!
//! Each version of an item and each link has a seal: a hash of what its readers see of it. The
//! seals of everything that a viewer can read are summed into a digest, and viewer and digest are
//! hashed into the token. A sum has no order, so it can be updated in place, and hidden rows are
//! not part of it.

use std::collections::{BTreeMap, BTreeSet};

use haversack_core::ids::ItemId;
use haversack_core::units::Timestamp;
use rusqlite::{Connection, params};

use super::catalogue::{LinkSeals, ReaderLists};
use super::records::lines::{COLUMNS, TABLES, VersionRow};
use super::records::storage;
use crate::revision::{Revision, StateToken};
use crate::store::error::ReadError;
use crate::store::item::Item;
use crate::store::viewer::{Readers, Viewer};

/// A hash that can be added to a sum and subtracted again.
pub(crate) type Seal = u128;

/// Rows sealed per transaction.
const ROWS_AT_ONCE: usize = 4_000;

/// Hashes parts, each prefixed with its length, so that different lists never collide.
struct PartsHasher(blake3::Hasher);

impl PartsHasher {
    fn new(purpose: &str) -> PartsHasher {
        let mut parts = PartsHasher(blake3::Hasher::new());
        parts.add_part(purpose);
        parts
    }

    fn add_part(&mut self, part: &str) {
        self.0.update(&(part.len() as u64).to_le_bytes());
        self.0.update(part.as_bytes());
    }

    fn seal(&self) -> Seal {
        Seal::from_le_bytes(first_half(&self.0.finalize()))
    }
}

fn first_half(hash: &blake3::Hash) -> [u8; 16] {
    let mut half = [0; 16];
    half.copy_from_slice(&hash.as_bytes()[..16]);
    half
}

/// The seal of a version: a hash of everything its readers see. The readers are not part of it.
///
/// The parent is included only if the item inherits its readers, who can then read the parent. An
/// item with its own list may have a parent that its readers cannot read.
pub(crate) fn version_seal(item: &Item, updated: Timestamp, author: Option<&str>) -> Seal {
    let mut parts = PartsHasher::new("version");
    parts.add_part(item.id.as_str());
    parts.add_part(item.kind.as_str());
    parts.add_part(&item.title);
    parts.add_part(&item.body);
    parts.add_part(&serde_json::Value::Object(item.fields.clone()).to_string());
    parts.add_part(item.path.as_deref().unwrap_or("\0"));
    parts.add_part(author.unwrap_or("\0"));
    let parent = item.parent.as_ref().filter(|_| item.readers == Readers::Inherit);
    parts.add_part(parent.map_or("\0", ItemId::as_str));
    let confidence = item.confidence.map(|confidence| confidence.get().to_bits());
    let (created, updated) = (item.created.map(|at| at.as_millis()), updated.as_millis());
    let (position, trust, active) = (item.position, item.trust, item.active);
    parts.add_part(&format!("{position} {created:?} {updated} {confidence:?} {trust} {active}"));
    parts.seal()
}

/// The seal of a link.
pub(crate) fn link_seal(from: &str, link_type: &str, to: &str) -> Seal {
    let mut parts = PartsHasher::new("link");
    for part in [from, link_type, to] {
        parts.add_part(part);
    }
    parts.seal()
}

/// Encodes a seal for storage.
pub(crate) const fn seal_to_bytes(seal: Seal) -> [u8; 16] {
    seal.to_le_bytes()
}

/// Decodes a stored seal.
pub(crate) const fn seal_from_bytes(bytes: [u8; 16]) -> Seal {
    Seal::from_le_bytes(bytes)
}

/// Computes the state tokens of one viewer.
pub(crate) struct StateNamer(blake3::Hasher);

impl StateNamer {
    pub(crate) fn new(viewer: &Viewer) -> StateNamer {
        let mut parts = PartsHasher::new("state");
        match viewer.principals() {
            None => parts.add_part("owner"),
            Some(principals) => {
                parts.add_part("viewer");
                principals.iter().for_each(|principal| parts.add_part(principal.as_str()));
            }
        }
        StateNamer(parts.0)
    }

    /// The token of the state in which the seals of all readable rows sum to `digest`.
    pub(crate) fn name(&self, digest: Seal) -> StateToken {
        let mut hasher = self.0.clone();
        hasher.update(&seal_to_bytes(digest));
        StateToken::new(first_half(&hasher.finalize()))
    }
}

/// Seals versions written by a program without seals. Rows are sealed in order, so exactly those
/// above the last sealed row lack one.
pub(crate) fn seal_missing_rows(connection: &mut Connection) -> rusqlite::Result<()> {
    let sql = format!(
        "SELECT {COLUMNS}, i.body FROM {TABLES} \
         WHERE i.row > (SELECT coalesce(max(row), 0) FROM seals) ORDER BY i.row LIMIT {ROWS_AT_ONCE}"
    );
    loop {
        let transaction = connection.transaction()?;
        let mut sealed = 0;
        {
            let mut statement = transaction.prepare_cached(&sql)?;
            let mut lines = statement.query([])?;
            while let Some(line) = lines.next()? {
                let row: u32 = line.get(0)?;
                // `check` reports damaged rows; here they only get a zero seal.
                let seal = VersionRow::read(line)?.map_or(0, |line| {
                    let updated = line.item.updated.unwrap_or(line.committed);
                    version_seal(&line.item, updated, line.author.as_deref())
                });
                write_seal(&transaction, row, seal)?;
                sealed += 1;
            }
        }
        transaction.commit()?;
        if sealed < ROWS_AT_ONCE {
            return Ok(());
        }
    }
}

/// Writes the seal of a row.
pub(crate) fn write_seal(connection: &Connection, row: u32, seal: Seal) -> rusqlite::Result<()> {
    connection
        .prepare_cached("INSERT OR REPLACE INTO seals (row, seal) VALUES (?, ?)")?
        .execute(params![row, seal_to_bytes(seal)])?;
    Ok(())
}

/// Sums the seals of links with two present ends, by the reader lists of those ends.
pub(crate) fn link_seals(
    connection: &Connection,
    revision: Option<Revision>,
) -> rusqlite::Result<LinkSeals> {
    let there = |table: &str| match revision {
        None => format!("{table}.died IS NULL"),
        Some(at) => {
            format!("{table}.born <= {at} AND ({table}.died IS NULL OR {table}.died > {at})")
        }
    };
    let sql = format!(
        "SELECT s.list, t.list, sn.id, l.sort, tn.id FROM links l \
         JOIN items s ON s.node = l.source AND {} JOIN items t ON t.node = l.target AND {} \
         JOIN nodes sn ON sn.node = l.source JOIN nodes tn ON tn.node = l.target WHERE {}",
        there("s"),
        there("t"),
        there("l")
    );
    let mut statement = connection.prepare(&sql)?;
    let mut lines = statement.query([])?;
    let mut sums = LinkSeals::new();
    while let Some(line) = lines.next()? {
        let text = |column: usize| line.get_ref(column).and_then(|value| Ok(value.as_str()?));
        let sum = sums.entry((line.get(0)?, line.get(1)?)).or_insert(0);
        *sum = sum.wrapping_add(link_seal(text(2)?, text(3)?, text(4)?));
    }
    Ok(sums)
}

/// Finds the last state with this token for a viewer who can read these lists, by today's
/// permissions. `None` if there was none, or if some of its items are no longer kept or no longer
/// readable.
pub(crate) fn find_state(
    connection: &Connection,
    namer: &StateNamer,
    lists: &ReaderLists,
    token: StateToken,
) -> Result<Option<Revision>, ReadError> {
    let mut changes: BTreeMap<u64, Seal> = BTreeMap::new();
    let mut change = |revision: u64, seal: Seal| {
        let sum = changes.entry(revision).or_insert(0);
        *sum = sum.wrapping_add(seal);
    };
    let mut read = || -> rusqlite::Result<()> {
        let mut statement = connection.prepare(
            "SELECT i.born, i.died, i.list, s.seal FROM items i JOIN seals s ON s.row = i.row",
        )?;
        let mut lines = statement.query([])?;
        while let Some(line) = lines.next()? {
            if !lists.contains(&line.get::<_, u32>(2)?) {
                continue;
            }
            let seal = seal_from_bytes(line.get(3)?);
            change(line.get(0)?, seal);
            if let Some(died) = line.get(1)? {
                change(died, seal.wrapping_neg());
            }
        }
        each_link_change(connection, lists, &mut change)
    };
    read().map_err(storage)?;
    let (mut digest, mut found) = (0, (namer.name(0) == token).then_some(Revision::ZERO));
    for (revision, seal) in changes {
        digest = seal.wrapping_add(digest);
        if namer.name(digest) == token {
            found = Some(Revision::new(revision));
        }
    }
    Ok(found)
}

/// Calls `change` with each revision in which a link between readable items appeared or
/// disappeared. A link exists while it and a version of each end exist.
fn each_link_change(
    connection: &Connection,
    lists: &ReaderLists,
    change: &mut impl FnMut(u64, Seal),
) -> rusqlite::Result<()> {
    let mut statement = connection.prepare(
        "SELECT l.born, l.died, s.born, s.died, t.born, t.died, s.list, t.list, sn.id, l.sort, tn.id \
         FROM links l JOIN items s ON s.node = l.source JOIN items t ON t.node = l.target \
         JOIN nodes sn ON sn.node = l.source JOIN nodes tn ON tn.node = l.target",
    )?;
    let mut lines = statement.query([])?;
    while let Some(line) = lines.next()? {
        let text = |column: usize| line.get_ref(column).and_then(|value| Ok(value.as_str()?));
        let readable: BTreeSet<u32> = [line.get(6)?, line.get(7)?].into();
        if !readable.is_subset(lists) {
            continue;
        }
        let (mut born, mut died) = (0, u64::MAX);
        for column in [0, 2, 4] {
            born = born.max(line.get(column)?);
            died = died.min(line.get::<_, Option<u64>>(column + 1)?.unwrap_or(u64::MAX));
        }
        if born < died {
            let seal = link_seal(text(8)?, text(9)?, text(10)?);
            change(born, seal);
            if died < u64::MAX {
                change(died, seal.wrapping_neg());
            }
        }
    }
    Ok(())
}
