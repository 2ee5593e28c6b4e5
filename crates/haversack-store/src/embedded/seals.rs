//! Names of states that tell nothing of what is hidden.
//!
//! Each version of an item has a seal, a hash of what its readers see of it, and so has each link. The
//! seals of all that a viewer can read add up to a digest, and viewer and digest to the state's name.
//! A sum has no order, so it can be kept up to date, and rows that are hidden are simply not in it.

use std::collections::{BTreeMap, BTreeSet};

use haversack_core::ids::ItemId;
use haversack_core::units::Timestamp;
use rusqlite::{Connection, params};

use super::catalogue::{LinkSeals, Lists};
use super::records::lines::{COLUMNS, Line, TABLES};
use super::records::storage;
use crate::revision::{Revision, StateToken};
use crate::store::error::ReadError;
use crate::store::item::Item;
use crate::store::viewer::{Readers, Viewer};

/// A hash that is added to others, and taken away again.
pub(crate) type Seal = u128;

/// Rows that are sealed in one transaction.
const ROWS_AT_ONCE: usize = 4_000;

/// Hashes parts, each with its length, so that no two lists of parts are one text.
struct Parts(blake3::Hasher);

impl Parts {
    fn new(purpose: &str) -> Parts {
        let mut parts = Parts(blake3::Hasher::new());
        parts.add(purpose);
        parts
    }

    fn add(&mut self, part: &str) {
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

/// The seal of a version: all that its readers see of it. Who they are is not among that.
///
/// The parent counts where the item inherits its readers, who then can read the parent. An item with
/// a list of its own may hang under what its readers cannot read.
pub(crate) fn of_version(item: &Item, updated: Timestamp, author: Option<&str>) -> Seal {
    let mut parts = Parts::new("version");
    parts.add(item.id.as_str());
    parts.add(item.kind.as_str());
    parts.add(&item.title);
    parts.add(&item.body);
    parts.add(&serde_json::Value::Object(item.fields.clone()).to_string());
    parts.add(item.path.as_deref().unwrap_or("\0"));
    parts.add(author.unwrap_or("\0"));
    let parent = item.parent.as_ref().filter(|_| item.readers == Readers::Inherit);
    parts.add(parent.map_or("\0", ItemId::as_str));
    let confidence = item.confidence.map(|confidence| confidence.get().to_bits());
    let (created, updated) = (item.created.map(|at| at.as_millis()), updated.as_millis());
    let (position, trust, active) = (item.position, item.trust, item.active);
    parts.add(&format!("{position} {created:?} {updated} {confidence:?} {trust} {active}"));
    parts.seal()
}

/// The seal of a link.
pub(crate) fn of_link(from: &str, sort: &str, to: &str) -> Seal {
    let mut parts = Parts::new("link");
    for part in [from, sort, to] {
        parts.add(part);
    }
    parts.seal()
}

/// A seal as it is kept.
pub(crate) const fn bytes_of(seal: Seal) -> [u8; 16] {
    seal.to_le_bytes()
}

/// A kept seal.
pub(crate) const fn seal_of(bytes: [u8; 16]) -> Seal {
    Seal::from_le_bytes(bytes)
}

/// Names the states of one viewer.
pub(crate) struct Namer(blake3::Hasher);

impl Namer {
    pub(crate) fn new(viewer: &Viewer) -> Namer {
        let mut parts = Parts::new("state");
        match viewer.principals() {
            None => parts.add("owner"),
            Some(principals) => {
                parts.add("viewer");
                principals.iter().for_each(|principal| parts.add(principal.as_str()));
            }
        }
        Namer(parts.0)
    }

    /// The name of the state in which the seals of all that can be read add up to `digest`.
    pub(crate) fn name(&self, digest: Seal) -> StateToken {
        let mut hasher = self.0.clone();
        hasher.update(&bytes_of(digest));
        StateToken::new(first_half(&hasher.finalize()))
    }
}

/// Seals the versions that an earlier program wrote. Rows are sealed in their order, so all above the
/// last that has a seal have none.
pub(crate) fn complete(connection: &mut Connection) -> rusqlite::Result<()> {
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
                // What a damaged table says is left for `check` to find.
                let seal = Line::read(line)?.map_or(0, |line| {
                    let updated = line.item.updated.unwrap_or(line.committed);
                    of_version(&line.item, updated, line.author.as_deref())
                });
                keep(&transaction, row, seal)?;
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
pub(crate) fn keep(connection: &Connection, row: u32, seal: Seal) -> rusqlite::Result<()> {
    connection
        .prepare_cached("INSERT OR REPLACE INTO seals (row, seal) VALUES (?, ?)")?
        .execute(params![row, bytes_of(seal)])?;
    Ok(())
}

/// The seals of the links of a state whose ends are both present, added up by the lists of their ends.
pub(crate) fn of_links(
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
        *sum = sum.wrapping_add(of_link(text(2)?, text(3)?, text(4)?));
    }
    Ok(sums)
}

/// The last state that has this name for a viewer who can read these lists, by the readers of today.
/// None when it never had that name, or what was in it is no longer all kept or all readable.
pub(crate) fn find(
    connection: &Connection,
    namer: &Namer,
    lists: &Lists,
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
            let seal = seal_of(line.get(3)?);
            change(line.get(0)?, seal);
            if let Some(died) = line.get(1)? {
                change(died, seal.wrapping_neg());
            }
        }
        each_link(connection, lists, &mut change)
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

/// Calls `change` with the states in which links between readable items came and went: a link is there
/// while it and a version of each end are.
fn each_link(
    connection: &Connection,
    lists: &Lists,
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
            let seal = of_link(text(8)?, text(9)?, text(10)?);
            change(born, seal);
            if died < u64::MAX {
                change(died, seal.wrapping_neg());
            }
        }
    }
    Ok(())
}
