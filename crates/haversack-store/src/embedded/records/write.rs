//! Writing: one batch inside the writer's transaction, and what it means for the indexes.

use std::collections::BTreeMap;

use haversack_core::ids::ItemId;
use haversack_core::units::Timestamp;
use rusqlite::{Connection, OptionalExtension, params};

use super::lines::{principals_text, trust_number};
use super::order::put_order;
use super::usage;
use crate::embedded::row::Row;
use crate::embedded::seals::{self, Seal};
use crate::kinds::{Fact, FactValue, author_facts};
use crate::prepare::{
    Hash, Prepared, PreparedItem, SharedEmbedder, embed_one, embedded_text, item_hash,
};
use crate::revision::Revision;
use crate::store::change::{Change, Committed, DEPTH_MAX};
use crate::store::error::{CommitError, Problem};
use crate::store::item::{Happening, Item};
use crate::store::viewer::{Principal, Readers};

/// What a batch means for the catalogue and the indexes.
#[derive(Debug, Default)]
pub(crate) struct Delta {
    /// New rows with the list of readers that counts for them.
    pub(crate) born: Vec<Birth>,
    /// Rows that are no longer the present version.
    pub(crate) died: Vec<Row>,
    /// Present rows for which another list counts now.
    pub(crate) relisted: Vec<(Row, u32)>,
    /// Rows that are gone for good.
    pub(crate) purged: Vec<Row>,
    /// Lists of readers that were not there before.
    pub(crate) lists: Vec<(u32, std::collections::BTreeSet<Principal>)>,
    /// Seals of links that came or, negated, went, with the lists of both ends.
    pub(crate) links: Vec<((u32, u32), Seal)>,
    /// The lists of items to which something happened, once for each event that tells what people do.
    pub(crate) noted: Vec<u32>,
}

/// A new row.
#[derive(Debug)]
pub(crate) struct Birth {
    pub(crate) row: Row,
    pub(crate) list: u32,
    /// A hash of what readers see of it.
    pub(crate) seal: Seal,
    /// Which of the batch's items it is.
    pub(crate) item: usize,
    /// For each chunk the number of its stored vector and, if it was stored just now, the vector.
    pub(crate) embeddings: Vec<u32>,
}

/// What SQLite or the batch itself says against a batch.
#[derive(Debug)]
pub(crate) enum WriteError {
    Sqlite(rusqlite::Error),
    Refused(CommitError),
}

impl From<rusqlite::Error> for WriteError {
    fn from(error: rusqlite::Error) -> WriteError {
        WriteError::Sqlite(error)
    }
}

pub(super) type Written<T> = Result<T, WriteError>;

/// One batch on its way into the tables.
pub(crate) struct Writing<'a> {
    pub(super) connection: &'a Connection,
    embedder: &'a SharedEmbedder,
    model: i64,
    pub(super) revision: Revision,
    /// No snapshot looks at states before this one.
    pub(super) horizon: Revision,
    pub(super) prepared: &'a Prepared,
    pub(super) delta: Delta,
    pub(super) committed: Committed,
    problems: Vec<Problem>,
    /// Puts that would make a circle unless one that comes later takes it apart.
    waiting: Vec<(usize, usize)>,
    /// List and depth of nodes that were looked up as parents.
    pub(super) lineage: BTreeMap<i64, (u32, usize)>,
    /// Which lists of readers the writer is on, as far as they were looked up.
    pub(super) readable: BTreeMap<u32, bool>,
}

/// Writes a batch as `revision`, or without one when it is quiet. The caller holds the transaction
/// and undoes it on an error.
pub(crate) fn write(
    connection: &Connection,
    embedder: &SharedEmbedder,
    model: i64,
    (revision, horizon): (Revision, Revision),
    prepared: &Prepared,
) -> Written<(Committed, Delta)> {
    let mut writing = Writing {
        connection,
        embedder,
        model,
        revision,
        horizon,
        prepared,
        delta: Delta::default(),
        committed: Committed { revision, ..Committed::default() },
        problems: Vec::new(),
        waiting: Vec::new(),
        lineage: BTreeMap::new(),
        readable: BTreeMap::new(),
    };
    if !prepared.batch.is_quiet() {
        writing.begin()?;
    }
    for change in put_order(prepared)? {
        writing.change(change)?;
    }
    writing.settle()?;
    if !writing.problems.is_empty() {
        return Err(WriteError::Refused(CommitError::Invalid(writing.problems)));
    }
    writing.committed.warnings.clone_from(&prepared.warnings);
    Ok((writing.committed, writing.delta))
}

impl Writing<'_> {
    fn begin(&self) -> Written<()> {
        let batch = &self.prepared.batch;
        self.connection
            .prepare_cached(
                "INSERT INTO commits (revision, at, author, origin) VALUES (?, ?, ?, ?)",
            )?
            .execute(params![
                self.revision.get(),
                batch.at.as_millis(),
                batch.author,
                batch.origin
            ])?;
        Ok(())
    }

    /// Makes the puts that waited, and refuses those that go in a circle still.
    fn settle(&mut self) -> Written<()> {
        let mut count = usize::MAX;
        while !self.waiting.is_empty() && self.waiting.len() < count {
            count = self.waiting.len();
            for change in std::mem::take(&mut self.waiting) {
                self.change(change)?;
            }
        }
        let prepared = self.prepared;
        for (index, _) in std::mem::take(&mut self.waiting) {
            let Change::Put(item) = &prepared.batch.changes[index] else { continue };
            let Some(parent) = &item.parent else { continue };
            let message = format!("parent: {parent} hangs under {}, which makes a circle", item.id);
            self.refuse(index, item, message);
        }
        Ok(())
    }

    fn change(&mut self, (index, item): (usize, usize)) -> Written<()> {
        let prepared = self.prepared;
        if matches!(&prepared.batch.changes[index], Change::Delete(_) | Change::Purge(_)) {
            self.settle()?;
        }
        match &prepared.batch.changes[index] {
            Change::Put(put) => self.put(index, put, item),
            Change::Delete(id) => self.delete(id),
            Change::Purge(id) => self.purge(id),
            Change::Link(link) => self.link(link),
            Change::Unlink(link) => self.unlink(link),
            Change::Note(event) => {
                self.check_there(&event.item)?;
                let node = self.node(&event.item)?;
                // That something was used in a pack tells what the store itself was asked for.
                if event.happening != Happening::Used
                    && let Some(present) = self.present(node)?
                {
                    self.delta.noted.push(present.list);
                }
                Ok(usage::note(self.connection, node, event)?)
            }
            Change::Write(record) => Ok(usage::write(self.connection, record)?),
            Change::Remove(shelf, name) => Ok(usage::remove(self.connection, *shelf, name)?),
        }
    }

    fn refuse(&mut self, change: usize, item: &Item, message: String) {
        self.problems.push(Problem { change, item: Some(item.id.clone()), message });
    }

    /// The number of a name, given when it is new.
    pub(super) fn node(&self, id: &ItemId) -> Written<i64> {
        match self.node_if_known(id)? {
            Some(node) => Ok(node),
            None => self.new_node(id),
        }
    }

    fn new_node(&self, id: &ItemId) -> Written<i64> {
        self.connection
            .prepare_cached("INSERT INTO nodes (id) VALUES (?)")?
            .execute([id.as_str()])?;
        Ok(self.connection.last_insert_rowid())
    }

    pub(super) fn node_if_known(&self, id: &ItemId) -> Written<Option<i64>> {
        let mut statement =
            self.connection.prepare_cached("SELECT node FROM nodes WHERE id = ?")?;
        Ok(statement.query_row([id.as_str()], |line| line.get(0)).optional()?)
    }

    /// The present version of a node.
    pub(super) fn present(&self, node: i64) -> Written<Option<Present>> {
        let mut statement = self.connection.prepare_cached(
            "SELECT row, hash, list, parent, readers FROM items WHERE node = ? AND died IS NULL",
        )?;
        let present = statement.query_row([node], |line| {
            Ok(Present {
                row: Row::new(line.get(0)?),
                hash: line.get(1)?,
                list: line.get(2)?,
                parent: line.get(3)?,
                readers: line.get(4)?,
            })
        });
        Ok(present.optional()?)
    }

    fn put(&mut self, change: usize, item: &Item, index: usize) -> Written<()> {
        let prepared = &self.prepared.items[index];
        let known = self.node_if_known(&item.id)?;
        let (node, present) = match known {
            Some(node) => (node, self.present(node)?),
            None => (self.new_node(&item.id)?, None),
        };
        let completed = self.check_put(item, node, present.as_ref())?;
        let (item, hash) = match &completed {
            Some(item) => (item, item_hash(item)),
            None => (item, prepared.hash),
        };
        if present.as_ref().is_some_and(|present| present.hash == hash) {
            self.committed.unchanged += 1;
            return Ok(());
        }
        let Some((parent, inherited)) = self.parent((change, index), item, node)? else {
            return Ok(());
        };
        let own = match &item.readers {
            Readers::Inherit => None,
            Readers::Only(principals) => Some(self.list(principals)?),
        };
        let list = own.unwrap_or(inherited);
        if self.prepared.items[index].single
            && let Some(other) = self.other_of_kind(item, node, list)?
        {
            let kind = &item.kind;
            let message = format!("kind: there is a {kind} already, {other}: write to that id");
            self.refuse(change, item, message);
            return Ok(());
        }
        if let Some(present) = &present {
            self.end(present.row)?;
            self.lineage.clear();
        }
        // What is new here may be old at its source; a new version of what is here is not.
        let source = item.created.filter(|_| present.is_none());
        let updated = item.updated.or(source).unwrap_or(self.prepared.batch.at);
        let row = self.insert(item, (prepared, hash), node, (parent, own, list), updated)?;
        let author = self.prepared.batch.author.as_deref();
        write_facts(self.connection, row, self.prepared.items[index].facts.clone(), author)?;
        let seal = seals::of_version(item, updated, author);
        seals::keep(self.connection, row.get(), seal)?;
        let mut embeddings = Vec::with_capacity(prepared.chunks.len());
        for chunk in 0..prepared.chunks.len() {
            embeddings.push(self.insert_chunk(item, prepared, row, chunk)?);
        }
        self.delta.born.push(Birth { row, list, seal, item: index, embeddings });
        self.committed.stored += 1;
        if present.is_none() {
            self.own(node)?;
        }
        if known.is_some() {
            // One that comes back after a deletion has a past as well.
            let list_before = present.map(|present| present.list);
            if list_before != Some(list) {
                self.relist(node, list_before, list)?;
            }
            self.trim(node)?;
        }
        Ok(())
    }

    /// Another present item of the same kind for the same readers.
    fn other_of_kind(&self, item: &Item, node: i64, list: u32) -> Written<Option<String>> {
        let mut statement = self.connection.prepare_cached(
            "SELECT n.id FROM items i JOIN nodes n ON n.node = i.node \
             WHERE i.kind = ? AND i.died IS NULL AND i.node <> ? AND i.list = ? LIMIT 1",
        )?;
        let id = statement.query_row(params![item.kind.as_str(), node, list], |line| line.get(0));
        Ok(id.optional()?)
    }

    /// The parent's node and the list it passes on; `None` when it cannot be the parent, or not yet.
    fn parent(
        &mut self,
        (change, index): (usize, usize),
        item: &Item,
        node: i64,
    ) -> Written<Option<(Option<i64>, u32)>> {
        let Some(id) = &item.parent else { return Ok(Some((None, EVERYONE))) };
        let Some(parent) = self.node_if_known(id)? else {
            self.refuse(change, item, format!("parent: there is no item {id}"));
            return Ok(None);
        };
        match self.lineage_of(parent, node)? {
            Lineage::Known { list, .. } => Ok(Some((Some(parent), list))),
            Lineage::Missing => {
                self.refuse(change, item, format!("parent: there is no item {id}"));
                Ok(None)
            }
            Lineage::Circle => {
                self.waiting.push((change, index));
                Ok(None)
            }
            Lineage::TooDeep => {
                let message =
                    format!("parent: {id} is {DEPTH_MAX} deep already, which is the limit");
                self.refuse(change, item, message);
                Ok(None)
            }
        }
    }

    /// Which list counts for a node and how deep it is, unless `child` is above it.
    fn lineage_of(&mut self, node: i64, child: i64) -> Written<Lineage> {
        let mut chain = Vec::new();
        let mut at = Some(node);
        let (mut list, mut depth) = (EVERYONE, 0);
        while let Some(here) = at {
            if here == child {
                return Ok(Lineage::Circle);
            }
            if let Some((known_list, known_depth)) = self.lineage.get(&here) {
                (list, depth) = (*known_list, *known_depth);
                break;
            }
            let Some(present) = self.present(here)? else { return Ok(Lineage::Missing) };
            chain.push((here, present.list));
            at = present.parent;
            if chain.len() >= DEPTH_MAX {
                return Ok(Lineage::TooDeep);
            }
        }
        for (here, present_list) in chain.into_iter().rev() {
            list = present_list;
            depth += 1;
            self.lineage.insert(here, (list, depth));
        }
        Ok(if depth >= DEPTH_MAX { Lineage::TooDeep } else { Lineage::Known { list } })
    }

    /// The number of a list of readers, given when it is new.
    pub(super) fn list(
        &mut self,
        principals: &std::collections::BTreeSet<Principal>,
    ) -> Written<u32> {
        let text = principals_text(principals);
        if principals.len() == 1 && principals.contains(&Principal::everyone()) {
            return Ok(EVERYONE);
        }
        let mut statement =
            self.connection.prepare_cached("SELECT list FROM lists WHERE principals = ?")?;
        if let Some(list) = statement.query_row([&text], |line| line.get(0)).optional()? {
            return Ok(list);
        }
        let mut statement = self
            .connection
            .prepare_cached("INSERT INTO lists (principals) VALUES (?) RETURNING list")?;
        let list: u32 = statement.query_row([&text], |line| line.get(0))?;
        self.delta.lists.push((list, principals.clone()));
        Ok(list)
    }

    fn insert(
        &self,
        item: &Item,
        (prepared, hash): (&PreparedItem, Hash),
        node: i64,
        (parent, own, list): (Option<i64>, Option<u32>, u32),
        updated: Timestamp,
    ) -> Written<Row> {
        let batch = &self.prepared.batch;
        let fields = (!item.fields.is_empty())
            .then(|| serde_json::Value::Object(item.fields.clone()).to_string());
        let mut statement = self.connection.prepare_cached(
            "INSERT INTO items (node, born, kind, parent, position, created, updated, confidence, \
             readers, list, trust, active, language, hash, author, path, title, fields, body, text) \
             VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        )?;
        statement.execute(params![
            node,
            self.revision.get(),
            item.kind.as_str(),
            parent,
            item.position,
            item.created.map(|at| at.as_millis()),
            updated.as_millis(),
            item.confidence.map(|confidence| confidence.get()),
            own,
            list,
            trust_number(item.trust),
            item.active,
            prepared.language.code(),
            hash,
            batch.author,
            item.path,
            item.title,
            fields,
            item.body,
            prepared.text,
        ])?;
        let row = self.connection.last_insert_rowid();
        let full = |_| {
            WriteError::Refused(CommitError::TooLarge {
                unit: "versions in a workspace",
                found: usize::MAX,
                limit: u32::MAX as usize,
            })
        };
        u32::try_from(row).map(Row::new).map_err(full)
    }

    /// Writes a chunk and returns the number of its vector.
    fn insert_chunk(
        &self,
        item: &Item,
        prepared: &PreparedItem,
        row: Row,
        index: usize,
    ) -> Written<u32> {
        let chunk = &prepared.chunks[index];
        let headings = (!chunk.headings.is_empty())
            .then(|| serde_json::Value::from(chunk.headings.clone()).to_string());
        let mut statement = self.connection.prepare_cached(
            "INSERT INTO chunks \
             (row, chunk, start, stop, line_first, line_last, headings, hash, features) \
             VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        )?;
        statement.execute(params![
            row.get(),
            index as u64,
            chunk.span.start() as u64,
            chunk.span.end() as u64,
            chunk.lines.0,
            chunk.lines.1,
            headings,
            chunk.hash,
            chunk.features,
        ])?;
        if let Some(vector) = &chunk.vector {
            return self.embedding(&chunk.hash, vector);
        }
        if let Some(embedding) = self.known_embedding(&chunk.hash)? {
            return Ok(embedding);
        }
        // It was there when the batch was prepared and has been purged since.
        let text = prepared.text.as_deref().unwrap_or(&item.body);
        let body = chunk.span.slice(text).unwrap_or("");
        let text = embedded_text(&item.title, &chunk.headings, body);
        let vector = embed_one(&text, &**self.embedder)
            .map_err(|error| WriteError::Refused(CommitError::Embed(error)))?;
        self.embedding(&chunk.hash, &vector)
    }

    fn known_embedding(&self, hash: &Hash) -> Written<Option<u32>> {
        let mut statement = self
            .connection
            .prepare_cached("SELECT embedding FROM embeddings WHERE hash = ? AND model = ?")?;
        Ok(statement.query_row(params![hash, self.model], |line| line.get(0)).optional()?)
    }

    fn embedding(&self, hash: &Hash, vector: &[u8]) -> Written<u32> {
        let mut statement = self.connection.prepare_cached(
            "INSERT INTO embeddings (model, hash, vector) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
        )?;
        if statement.execute(params![self.model, hash, vector])? == 0 {
            let known = self.known_embedding(hash)?;
            return known.ok_or(WriteError::Sqlite(rusqlite::Error::QueryReturnedNoRows));
        }
        let embedding = self.connection.last_insert_rowid();
        u32::try_from(embedding)
            .map_err(|_| WriteError::Sqlite(rusqlite::Error::IntegralValueOutOfRange(0, embedding)))
    }

    /// Ends the life of a present version.
    pub(super) fn end(&mut self, row: Row) -> Written<()> {
        self.connection
            .prepare_cached("UPDATE items SET died = ? WHERE row = ?")?
            .execute(params![self.revision.get(), row.get()])?;
        self.delta.died.push(row);
        Ok(())
    }

    /// Makes another list count for all versions of a node and for what inherits from it.
    ///
    /// Versions of the past too: who may not read an item now may not read what it was.
    fn relist(&mut self, node: i64, before: Option<u32>, list: u32) -> Written<()> {
        let mut pending = vec![(node, before)];
        while let Some((node, before)) = pending.pop() {
            self.shift_links(node, before, Some(list))?;
            self.connection
                .prepare_cached("UPDATE items SET list = ? WHERE node = ?")?
                .execute(params![list, node])?;
            if let Some(present) = self.present(node)? {
                self.delta.relisted.push((present.row, list));
            }
            let mut statement = self.connection.prepare_cached(
                "SELECT DISTINCT node, list FROM items \
                 WHERE parent = ? AND readers IS NULL AND died IS NULL AND list <> ?",
            )?;
            let children = statement
                .query_map(params![node, list], |line| Ok((line.get(0)?, line.get(1)?)))?;
            for child in children {
                pending.push(child?);
            }
        }
        self.lineage.clear();
        Ok(())
    }
}

/// Writes what an item's fields say.
pub(crate) fn write_facts(
    connection: &Connection,
    row: Row,
    mut facts: Vec<Fact>,
    author: Option<&str>,
) -> rusqlite::Result<()> {
    facts.extend(author.into_iter().flat_map(author_facts));
    facts.sort();
    facts.dedup();
    let mut statement = connection
        .prepare_cached("INSERT INTO facts (row, role, number, text) VALUES (?, ?, ?, ?)")?;
    for Fact { role, value } in facts {
        let (number, text) = match value {
            FactValue::Number(number) => (Some(number), None),
            FactValue::Text(text) => (None, Some(text)),
        };
        statement.execute(params![row.get(), role.as_str(), number, text])?;
    }
    Ok(())
}

/// The list that stands for everyone in the workspace.
pub(crate) const EVERYONE: u32 = 0;

pub(super) struct Present {
    pub(super) row: Row,
    hash: Hash,
    pub(super) list: u32,
    pub(super) parent: Option<i64>,
    /// Its own list, when it has one.
    pub(super) readers: Option<u32>,
}

enum Lineage {
    Known { list: u32 },
    Missing,
    Circle,
    TooDeep,
}
