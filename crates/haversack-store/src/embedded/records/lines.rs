//! Item versions as table rows: reading and decoding.

use std::collections::BTreeSet;
use std::sync::Arc;

use haversack_core::ids::ItemId;
use haversack_core::item::{Kind, Trust};
use haversack_core::units::{Score, Timestamp};
use rusqlite::Connection;

use super::storage;
use crate::embedded::row::Row;
use crate::kinds::Kinds;
use crate::prepare::{Hash, item_hash};
use crate::revision::Revision;
use crate::store::error::ReadError;
use crate::store::item::{Fields, Item, Stored};
use crate::store::viewer::{Principal, Readers};

/// The columns of a version, without its body.
pub(crate) const COLUMNS: &str = "i.row, n.id, i.born, c.at, i.kind, p.id, i.parent, \
    i.position, i.created, i.updated, i.confidence, l.principals, i.readers, i.trust, i.active, \
    i.author, i.path, i.title, i.fields, i.hash, i.died";

/// The number of [`COLUMNS`].
pub(crate) const COLUMNS_COUNT: usize = 21;

/// The joined tables of [`COLUMNS`].
pub(crate) const TABLES: &str = "items i JOIN nodes n ON n.node = i.node \
    JOIN commits c ON c.revision = i.born LEFT JOIN nodes p ON p.node = i.parent \
    LEFT JOIN lists l ON l.list = i.readers";

/// A version as stored.
#[derive(Debug, Clone)]
pub(crate) struct VersionRow {
    pub(crate) row: Row,
    pub(crate) parent: Option<i64>,
    pub(crate) died: Option<Revision>,
    pub(crate) hash: Hash,
    pub(crate) item: Item,
    pub(crate) revision: Revision,
    pub(crate) committed: Timestamp,
    pub(crate) author: Option<String>,
}

impl VersionRow {
    /// Reads [`COLUMNS`], and the body if a column follows them.
    pub(crate) fn read(
        line: &rusqlite::Row<'_>,
    ) -> rusqlite::Result<Result<VersionRow, ReadError>> {
        let raw = RawVersionRow::read(line, line.as_ref().column_count() > COLUMNS_COUNT)?;
        Ok(raw.check())
    }

    /// Reads [`COLUMNS`] alone, whatever follows them.
    pub(crate) fn read_head(
        line: &rusqlite::Row<'_>,
    ) -> rusqlite::Result<Result<VersionRow, ReadError>> {
        Ok(RawVersionRow::read(line, false)?.check())
    }

    /// The version as readers receive it.
    pub(crate) fn into_stored(self, kinds: &Arc<Kinds>) -> Stored {
        let VersionRow { item, revision, committed, author, .. } = self;
        Stored { item, revision, committed, author, kinds: Arc::clone(kinds) }
    }

    /// Whether the version matches its hash. Needs the body.
    ///
    /// The hash covers the item as given, where `updated` may have been empty.
    pub(crate) fn is_whole(&self) -> bool {
        let given = || item_hash(&Item { updated: None, ..self.item.clone() });
        item_hash(&self.item) == self.hash || given() == self.hash
    }
}

/// The raw columns, not yet validated.
struct RawVersionRow {
    row: u32,
    id: String,
    born: u64,
    at: i64,
    kind: String,
    parent_id: Option<String>,
    parent: Option<i64>,
    position: i64,
    created: Option<i64>,
    updated: i64,
    confidence: Option<f64>,
    principals: Option<String>,
    readers: Option<i64>,
    trust: i64,
    active: bool,
    author: Option<String>,
    path: Option<String>,
    title: String,
    fields: Option<String>,
    hash: Hash,
    died: Option<u64>,
    body: Option<String>,
}

impl RawVersionRow {
    fn read(line: &rusqlite::Row<'_>, with_body: bool) -> rusqlite::Result<RawVersionRow> {
        Ok(RawVersionRow {
            row: line.get(0)?,
            id: line.get(1)?,
            born: line.get(2)?,
            at: line.get(3)?,
            kind: line.get(4)?,
            parent_id: line.get(5)?,
            parent: line.get(6)?,
            position: line.get(7)?,
            created: line.get(8)?,
            updated: line.get(9)?,
            confidence: line.get(10)?,
            principals: line.get(11)?,
            readers: line.get(12)?,
            trust: line.get(13)?,
            active: line.get(14)?,
            author: line.get(15)?,
            path: line.get(16)?,
            title: line.get(17)?,
            fields: line.get(18)?,
            hash: line.get(19)?,
            died: line.get(20)?,
            body: if with_body { line.get(COLUMNS_COUNT)? } else { None },
        })
    }

    fn check(self) -> Result<VersionRow, ReadError> {
        let damaged = || ReadError::Damaged { what: format!("item {}", self.id) };
        let id = ItemId::new(&self.id).map_err(|_| damaged())?;
        let readers = match (self.readers, &self.principals) {
            (None, _) => Readers::Inherit,
            (Some(_), Some(principals)) => {
                Readers::Only(parse_principals(principals).ok_or_else(damaged)?)
            }
            (Some(0), None) => Readers::Only([Principal::everyone()].into()),
            (Some(_), None) => return Err(damaged()),
        };
        let fields = match &self.fields {
            Some(fields) => serde_json::from_str(fields).map_err(|_| damaged())?,
            None => Fields::new(),
        };
        let parent = match &self.parent_id {
            Some(parent) => Some(ItemId::new(parent).map_err(|_| damaged())?),
            None => None,
        };
        let item = Item {
            kind: Kind::new(&self.kind).map_err(|_| damaged())?,
            confidence: match self.confidence {
                Some(confidence) => Some(Score::new(confidence).ok_or_else(damaged)?),
                None => None,
            },
            trust: trust_from_number(self.trust).ok_or_else(damaged)?,
            id,
            title: self.title,
            body: self.body.unwrap_or_default(),
            fields,
            path: self.path,
            parent,
            position: self.position,
            created: self.created.map(Timestamp::from_millis),
            updated: Some(Timestamp::from_millis(self.updated)),
            readers,
            active: self.active,
        };
        Ok(VersionRow {
            row: Row::new(self.row),
            parent: self.parent,
            died: self.died.map(Revision::new),
            hash: self.hash,
            item,
            revision: Revision::new(self.born),
            committed: Timestamp::from_millis(self.at),
            author: self.author,
        })
    }
}

/// Encodes a trust level for storage.
pub(crate) const fn trust_number(trust: Trust) -> i64 {
    match trust {
        Trust::External => 0,
        Trust::Internal => 1,
        Trust::Trusted => 2,
    }
}

const fn trust_from_number(number: i64) -> Option<Trust> {
    match number {
        0 => Some(Trust::External),
        1 => Some(Trust::Internal),
        2 => Some(Trust::Trusted),
        _ => None,
    }
}

/// Encodes principals for storage: sorted, as JSON.
pub(crate) fn principals_text(principals: &BTreeSet<Principal>) -> String {
    let names: Vec<&str> = principals.iter().map(Principal::as_str).collect();
    serde_json::Value::from(names).to_string()
}

/// Decodes stored principals.
pub(crate) fn parse_principals(text: &str) -> Option<BTreeSet<Principal>> {
    let names: Vec<String> = serde_json::from_str(text).ok()?;
    names.iter().map(|name| Principal::parse(name).ok()).collect()
}

/// Every reader list with its number.
pub(crate) fn reader_lists(
    connection: &Connection,
) -> Result<Vec<(u32, BTreeSet<Principal>)>, ReadError> {
    let mut statement =
        connection.prepare_cached("SELECT list, principals FROM lists").map_err(storage)?;
    let lists = statement
        .query_map([], |line| Ok((line.get::<_, u32>(0)?, line.get::<_, String>(1)?)))
        .map_err(storage)?;
    lists
        .map(|list| {
            let (list, text) = list.map_err(storage)?;
            let damaged = || ReadError::Damaged { what: format!("list of readers {list}") };
            Ok((list, parse_principals(&text).ok_or_else(damaged)?))
        })
        .collect()
}
