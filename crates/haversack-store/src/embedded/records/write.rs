//! Writes one batch inside the writer's transaction and collects the changes for the indexes.

use std::collections::BTreeMap;

use haversack_core::ids::ItemId;
use haversack_core::units::Timestamp;
use rusqlite::{Connection, OptionalExtension, params};

use super::lines::{principals_text, trust_number};
use super::order::change_order;
use super::residue::Residue;
use super::usage;
use crate::embedded::row::Row;
use crate::embedded::seals::{self, Seal};
use crate::kinds::{Fact, FactValue, author_facts};
use crate::prepare::{Hash, PreparedBatch, PreparedChunk, PreparedItem, item_hash};
use crate::revision::Revision;
use crate::store::change::{Change, CommitReport, DEPTH_MAX};
use crate::store::error::{ChangeProblem, CommitError};
use crate::store::item::{DocumentKind, EventKind, Item};
use crate::store::viewer::{Principal, Readers};

/// The changes of a batch to the catalogue and the indexes.
#[derive(Debug, Default)]
pub(crate) struct CommitDelta {
    /// New rows with their reader lists.
    pub(crate) born: Vec<NewVersion>,
    /// Rows that ended.
    pub(crate) died: Vec<Row>,
    /// Present rows with a changed reader list.
    pub(crate) relisted: Vec<(Row, u32)>,
    /// Rows that were removed for good.
    pub(crate) purged: Vec<Row>,
    /// What the removals have left behind in files.
    pub(crate) residue: Option<Residue>,
    /// Whether present rows were changed in place, so that the catalogue is read again.
    pub(crate) rewritten: bool,
    /// New reader lists.
    pub(crate) lists: Vec<(u32, std::collections::BTreeSet<Principal>)>,
    /// Seals of added links, negated for removed ones, with the lists of both ends.
    pub(crate) links: Vec<((u32, u32), Seal)>,
    /// The reader lists of items with new events, once per event; see
    /// `StoreHandles::bump_activity`.
    pub(crate) noted: Vec<u32>,
    /// Whether a named document that is no receipt was written or removed.
    pub(crate) documents: bool,
}

/// A new row.
#[derive(Debug)]
pub(crate) struct NewVersion {
    pub(crate) row: Row,
    pub(crate) list: u32,
    /// The seal of what readers see of it.
    pub(crate) seal: Seal,
    /// The index of its item among the batch's puts.
    pub(crate) item: usize,
    /// The number of each chunk's stored vector.
    pub(crate) embeddings: Vec<u32>,
}

/// Why a batch was not written.
#[derive(Debug)]
pub(crate) enum WriteError {
    Sqlite(rusqlite::Error),
    Refused(CommitError),
    /// The vectors of these texts were purged after the batch was prepared, or by the batch itself.
    VectorsPurged(Vec<Hash>),
}

impl From<rusqlite::Error> for WriteError {
    fn from(error: rusqlite::Error) -> WriteError {
        WriteError::Sqlite(error)
    }
}

pub(super) type WriteResult<T> = Result<T, WriteError>;

/// Writes one batch into the tables.
pub(crate) struct BatchWriter<'a> {
    pub(super) connection: &'a Connection,
    pub(super) revision: Revision,
    /// The oldest revision that a snapshot still uses.
    pub(super) horizon: Revision,
    pub(super) prepared: &'a PreparedBatch,
    pub(super) delta: CommitDelta,
    pub(super) committed: CommitReport,
    problems: Vec<ChangeProblem>,
    /// Puts that would make a cycle unless a later put resolves it.
    waiting: Vec<(usize, usize)>,
    /// Cached list and depth of parent nodes.
    pub(super) lineage: BTreeMap<i64, (u32, usize)>,
    /// Cached answers to whether the writer is on a reader list.
    pub(super) readable: BTreeMap<u32, bool>,
    /// Texts whose vectors the batch expects in the store and that are not there.
    purged_vectors: Vec<Hash>,
}

/// Writes a batch as `revision`, or without a revision when it is quiet. The caller holds the
/// transaction and rolls it back on an error.
pub(crate) fn write(
    connection: &Connection,
    (revision, horizon): (Revision, Revision),
    prepared: &PreparedBatch,
) -> WriteResult<(CommitReport, CommitDelta)> {
    let mut writing = BatchWriter {
        connection,
        revision,
        horizon,
        prepared,
        delta: CommitDelta::default(),
        committed: CommitReport { revision, ..CommitReport::default() },
        problems: Vec::new(),
        waiting: Vec::new(),
        lineage: BTreeMap::new(),
        readable: BTreeMap::new(),
        purged_vectors: Vec::new(),
    };
    if !prepared.batch.is_unversioned() {
        writing.insert_commit()?;
    }
    for change in change_order(prepared)? {
        writing.apply_change(change)?;
    }
    writing.retry_waiting_puts()?;
    if !writing.problems.is_empty() {
        return Err(WriteError::Refused(CommitError::Invalid(writing.problems)));
    }
    if !writing.purged_vectors.is_empty() {
        return Err(WriteError::VectorsPurged(writing.purged_vectors));
    }
    writing.committed.warnings.clone_from(&prepared.warnings);
    Ok((writing.committed, writing.delta))
}

impl BatchWriter<'_> {
    fn insert_commit(&self) -> WriteResult<()> {
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

    /// Retries waiting puts until none is left or all remaining ones form cycles, which are
    /// refused.
    fn retry_waiting_puts(&mut self) -> WriteResult<()> {
        let mut count = usize::MAX;
        while !self.waiting.is_empty() && self.waiting.len() < count {
            count = self.waiting.len();
            for change in std::mem::take(&mut self.waiting) {
                self.apply_change(change)?;
            }
        }
        let prepared = self.prepared;
        for (index, _) in std::mem::take(&mut self.waiting) {
            let Change::Put(item) = &prepared.batch.changes[index] else { continue };
            let Some(parent) = &item.parent else { continue };
            let message =
                format!("parent: {parent} is below {}, which would make a cycle", item.id);
            self.add_problem(index, item, message);
        }
        Ok(())
    }

    fn apply_change(&mut self, (index, item): (usize, usize)) -> WriteResult<()> {
        let prepared = self.prepared;
        if prepared.batch.changes[index].is_removal() {
            self.retry_waiting_puts()?;
        }
        match &prepared.batch.changes[index] {
            Change::Put(put) => self.put(index, put, item),
            Change::Delete(id) => self.delete(id),
            Change::Purge(id) => self.purge(id),
            Change::EraseUser(user) => self.erase_user(index, user),
            Change::Link(link) => self.link(link),
            Change::Unlink(link) => self.unlink(link),
            Change::AddEvent(event) => {
                self.check_readable(&event.item)?;
                let node = self.node_or_insert(&event.item)?;
                // Use in a pack is caused by packing itself, not by people.
                if event.event_kind != EventKind::Used
                    && let Some(present) = self.present_version(node)?
                {
                    self.delta.noted.push(present.list);
                }
                Ok(usage::record_event(self.connection, node, event)?)
            }
            Change::PutRecord(record) => {
                self.delta.documents |= record.document_kind != DocumentKind::Receipt;
                Ok(usage::write_record(self.connection, record)?)
            }
            Change::RemoveRecord(document_kind, name) => {
                self.delta.documents |= *document_kind != DocumentKind::Receipt;
                Ok(usage::remove_record(self.connection, *document_kind, name)?)
            }
        }
    }

    fn add_problem(&mut self, change: usize, item: &Item, message: String) {
        self.problems.push(ChangeProblem { change, item: Some(item.id.clone()), message });
    }

    /// The node of an item id, inserted if it is new.
    pub(super) fn node_or_insert(&self, id: &ItemId) -> WriteResult<i64> {
        match self.node_of(id)? {
            Some(node) => Ok(node),
            None => self.insert_node(id),
        }
    }

    fn insert_node(&self, id: &ItemId) -> WriteResult<i64> {
        self.connection
            .prepare_cached("INSERT INTO nodes (id) VALUES (?)")?
            .execute([id.as_str()])?;
        Ok(self.connection.last_insert_rowid())
    }

    pub(super) fn node_of(&self, id: &ItemId) -> WriteResult<Option<i64>> {
        let mut statement =
            self.connection.prepare_cached("SELECT node FROM nodes WHERE id = ?")?;
        Ok(statement.query_row([id.as_str()], |line| line.get(0)).optional()?)
    }

    /// The present version of a node.
    pub(super) fn present_version(&self, node: i64) -> WriteResult<Option<PresentVersion>> {
        let mut statement = self.connection.prepare_cached(
            "SELECT row, hash, list, parent, readers FROM items WHERE node = ? AND died IS NULL",
        )?;
        let present = statement.query_row([node], |line| {
            Ok(PresentVersion {
                row: Row::new(line.get(0)?),
                hash: line.get(1)?,
                list: line.get(2)?,
                parent: line.get(3)?,
                readers: line.get(4)?,
            })
        });
        Ok(present.optional()?)
    }

    fn put(&mut self, change: usize, item: &Item, index: usize) -> WriteResult<()> {
        let prepared = &self.prepared.items[index];
        let known = self.node_of(&item.id)?;
        let (node, present) = match known {
            Some(node) => (node, self.present_version(node)?),
            None => (self.insert_node(&item.id)?, None),
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
        let Some((parent, inherited)) = self.resolve_parent((change, index), item, node)? else {
            return Ok(());
        };
        let own = match &item.readers {
            Readers::Inherit => None,
            Readers::Only(principals) => Some(self.list_number(principals)?),
        };
        let list = own.unwrap_or(inherited);
        if self.prepared.items[index].single
            && let Some(other) = self.other_of_kind(item, node, list)?
        {
            let kind = &item.kind;
            let message = format!("kind: there already is a {kind}, {other}: write to that id");
            self.add_problem(change, item, message);
            return Ok(());
        }
        if let Some(present) = &present {
            self.end_version(present.row)?;
            self.lineage.clear();
        }
        // A new item may be old at its source; a new version of a present item is not.
        let source = item.created.filter(|_| present.is_none());
        let updated = item.updated.or(source).unwrap_or(self.prepared.batch.at);
        let row =
            self.insert_version(item, (prepared, hash), node, (parent, own, list), updated)?;
        let author = self.prepared.batch.author.as_deref();
        write_facts(self.connection, row, self.prepared.items[index].facts.clone(), author)?;
        let seal = seals::version_seal(item, updated, author);
        seals::write_seal(self.connection, row.get(), seal)?;
        let mut embeddings = Vec::with_capacity(prepared.chunks.len());
        for (number, chunk) in (0..).zip(&prepared.chunks) {
            embeddings.push(self.insert_chunk(row, number, chunk)?);
        }
        self.delta.born.push(NewVersion { row, list, seal, item: index, embeddings });
        self.committed.stored += 1;
        if present.is_none() {
            self.record_maker(node)?;
        }
        if known.is_some() {
            // An item that returns after a deletion has history, too.
            let list_before = present.map(|present| present.list);
            if list_before != Some(list) {
                self.change_reader_list(node, list_before, list)?;
            }
            self.trim_history(node)?;
        }
        Ok(())
    }

    /// Another present item of the same kind for the same readers.
    fn other_of_kind(&self, item: &Item, node: i64, list: u32) -> WriteResult<Option<String>> {
        let mut statement = self.connection.prepare_cached(
            "SELECT n.id FROM items i JOIN nodes n ON n.node = i.node \
             WHERE i.kind = ? AND i.died IS NULL AND i.node <> ? AND i.list = ? LIMIT 1",
        )?;
        let id = statement.query_row(params![item.kind.as_str(), node, list], |line| line.get(0));
        Ok(id.optional()?)
    }

    /// The parent's node and inherited list; `None` if it was refused or has to wait.
    fn resolve_parent(
        &mut self,
        (change, index): (usize, usize),
        item: &Item,
        node: i64,
    ) -> WriteResult<Option<(Option<i64>, u32)>> {
        let Some(id) = &item.parent else { return Ok(Some((None, EVERYONE))) };
        let Some(parent) = self.node_of(id)? else {
            self.add_problem(change, item, format!("parent: there is no item {id}"));
            return Ok(None);
        };
        match self.lineage_of(parent, node)? {
            Lineage::Known { list, .. } => Ok(Some((Some(parent), list))),
            Lineage::Missing => {
                self.add_problem(change, item, format!("parent: there is no item {id}"));
                Ok(None)
            }
            Lineage::Cycle => {
                self.waiting.push((change, index));
                Ok(None)
            }
            Lineage::TooDeep => {
                let message = format!("parent: {id} is already at the depth limit of {DEPTH_MAX}");
                self.add_problem(change, item, message);
                Ok(None)
            }
        }
    }

    /// The reader list and depth of a node, or why it cannot be the parent of `child`.
    fn lineage_of(&mut self, node: i64, child: i64) -> WriteResult<Lineage> {
        let mut chain = Vec::new();
        let mut at = Some(node);
        let (mut list, mut depth) = (EVERYONE, 0);
        while let Some(here) = at {
            if here == child {
                return Ok(Lineage::Cycle);
            }
            if let Some((known_list, known_depth)) = self.lineage.get(&here) {
                (list, depth) = (*known_list, *known_depth);
                break;
            }
            let Some(present) = self.present_version(here)? else { return Ok(Lineage::Missing) };
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

    /// The number of a reader list, inserted if it is new.
    pub(super) fn list_number(
        &mut self,
        principals: &std::collections::BTreeSet<Principal>,
    ) -> WriteResult<u32> {
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

    fn insert_version(
        &self,
        item: &Item,
        (prepared, hash): (&PreparedItem, Hash),
        node: i64,
        (parent, own, list): (Option<i64>, Option<u32>, u32),
        updated: Timestamp,
    ) -> WriteResult<Row> {
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
    fn insert_chunk(&mut self, row: Row, number: u32, chunk: &PreparedChunk) -> WriteResult<u32> {
        let headings = (!chunk.headings.is_empty())
            .then(|| serde_json::Value::from(chunk.headings.clone()).to_string());
        let mut statement = self.connection.prepare_cached(
            "INSERT INTO chunks \
             (row, chunk, start, stop, line_first, line_last, headings, hash, features) \
             VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        )?;
        statement.execute(params![
            row.get(),
            number,
            chunk.span.start() as u64,
            chunk.span.end() as u64,
            chunk.lines.0,
            chunk.lines.1,
            headings,
            chunk.hash,
            chunk.features,
        ])?;
        if let Some((model, vector)) = &chunk.next_vector {
            self.insert_embedding(*model, &chunk.hash, vector)?;
        }
        let model = self.prepared.model;
        if let Some(vector) = &chunk.vector {
            return self.insert_embedding(model, &chunk.hash, vector);
        }
        if let Some(embedding) = self.find_embedding(model, &chunk.hash)? {
            return Ok(embedding);
        }
        self.purged_vectors.push(chunk.hash);
        // The batch fails after its last change, so nothing refers to this number.
        Ok(0)
    }

    fn find_embedding(&self, model: i64, hash: &Hash) -> WriteResult<Option<u32>> {
        let mut statement = self
            .connection
            .prepare_cached("SELECT embedding FROM embeddings WHERE hash = ? AND model = ?")?;
        Ok(statement.query_row(params![hash, model], |line| line.get(0)).optional()?)
    }

    fn insert_embedding(&self, model: i64, hash: &Hash, vector: &[u8]) -> WriteResult<u32> {
        let mut statement = self.connection.prepare_cached(
            "INSERT INTO embeddings (model, hash, vector) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
        )?;
        if statement.execute(params![model, hash, vector])? == 0 {
            let known = self.find_embedding(model, hash)?;
            return known.ok_or(WriteError::Sqlite(rusqlite::Error::QueryReturnedNoRows));
        }
        let embedding = self.connection.last_insert_rowid();
        u32::try_from(embedding)
            .map_err(|_| WriteError::Sqlite(rusqlite::Error::IntegralValueOutOfRange(0, embedding)))
    }

    /// Marks a present version as ended.
    pub(super) fn end_version(&mut self, row: Row) -> WriteResult<()> {
        self.connection
            .prepare_cached("UPDATE items SET died = ? WHERE row = ?")?
            .execute(params![self.revision.get(), row.get()])?;
        self.delta.died.push(row);
        Ok(())
    }

    /// Changes the reader list of all versions of a node and of what inherits from it.
    ///
    /// Past versions, too: a user who may not read an item now may not read its history.
    fn change_reader_list(&mut self, node: i64, before: Option<u32>, list: u32) -> WriteResult<()> {
        let mut pending = vec![(node, before)];
        while let Some((node, before)) = pending.pop() {
            self.reseal_links_of(node, before, Some(list))?;
            self.connection
                .prepare_cached("UPDATE items SET list = ? WHERE node = ?")?
                .execute(params![list, node])?;
            if let Some(present) = self.present_version(node)? {
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

/// Writes the facts of a row.
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

/// The number of the list that includes everyone.
pub(crate) const EVERYONE: u32 = 0;

pub(super) struct PresentVersion {
    pub(super) row: Row,
    hash: Hash,
    pub(super) list: u32,
    pub(super) parent: Option<i64>,
    /// The item's own list, if it does not inherit.
    pub(super) readers: Option<u32>,
}

enum Lineage {
    Known { list: u32 },
    Missing,
    Cycle,
    TooDeep,
}
