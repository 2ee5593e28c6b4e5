//! A snapshot of one state for one viewer: every answer passes through its visibility bitmap.

use std::borrow::Cow;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use haversack_core::ids::{CandidateId, ItemId};
use haversack_core::query::FieldRole;
use haversack_core::units::Score;
use rusqlite::Connection;

use super::paging;
use super::records::lines::VersionRow;
use super::records::{self, lookup, storage, structure, usage};
use super::row::{Bitmap, Row};
use super::state::WatchedState;
use super::text::VisibleRows;
use crate::kinds::Kinds;
use crate::prepare::SharedEmbedder;
use crate::revision::{Revision, StateToken};
use crate::store::error::ReadError;
use crate::store::item::{DocumentKind, Passage, Record, Stored, Version};
use crate::store::query::{
    FAMILY_MAX, Filter, Hit, LIMIT_MAX, ListOrder, PAGE_BYTES_MAX, Page, TreeDistance,
};

/// A snapshot of a state for one viewer.
#[derive(Debug)]
pub struct View {
    pub(super) watched: WatchedState,
    /// The revision: that of the watched state, or an earlier one.
    pub(super) revision: Revision,
    pub(super) visible: Arc<VisibleRows>,
    /// The token that identifies the state to this viewer.
    pub(super) token: StateToken,
    /// The activity number when the snapshot was taken.
    pub(super) activity: u64,
    pub(super) history_is_whole: bool,
}

impl View {
    /// The revision of this state.
    #[must_use]
    pub const fn revision(&self) -> Revision {
        self.revision
    }

    /// The token that identifies this state to the viewer.
    #[must_use]
    pub const fn token(&self) -> StateToken {
        self.token
    }

    /// Whether every version of this state is still kept; an old state may lack some.
    #[must_use]
    pub const fn history_is_whole(&self) -> bool {
        self.history_is_whole
    }

    /// The number of visible items.
    #[must_use]
    pub fn len(&self) -> usize {
        self.visible.rows().len()
    }

    /// Whether no item is visible.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.visible.rows().is_empty()
    }

    pub(super) fn read<T>(
        &self,
        question: impl FnOnce(&Connection) -> Result<T, ReadError>,
    ) -> Result<T, ReadError> {
        self.watched.shared.pool.read(question)
    }

    /// Whether the viewer may see a row. Every answer goes through this check.
    pub(super) fn sees(&self, row: Row) -> bool {
        self.visible.rows().contains(row)
    }

    /// The row of a node in this state, if the viewer may see it.
    pub(super) fn visible_row_of(
        &self,
        connection: &Connection,
        node: i64,
    ) -> Result<Option<Row>, ReadError> {
        Ok(lookup::rows_of(connection, node)?.into_iter().find(|row| self.sees(*row)))
    }

    /// The node and row of an item id in this state, if the viewer may see it.
    pub(super) fn visible_place_of(
        &self,
        connection: &Connection,
        id: &ItemId,
    ) -> Result<Option<(i64, Row)>, ReadError> {
        Ok(lookup::rows_of_id(connection, id)?.into_iter().find(|(_, row)| self.sees(*row)))
    }

    fn visible_row_of_id(
        &self,
        connection: &Connection,
        id: &ItemId,
    ) -> Result<Option<Row>, ReadError> {
        Ok(self.visible_place_of(connection, id)?.map(|(_, row)| row))
    }

    /// The embedder of queries to this state.
    #[must_use]
    pub fn embedder(&self) -> SharedEmbedder {
        Arc::clone(&self.watched.state.model.embedder)
    }

    /// The kinds of this workspace.
    #[must_use]
    pub fn kinds(&self) -> &Arc<Kinds> {
        &self.watched.shared.kinds
    }

    /// A version as the viewer may see it: without a parent they cannot read.
    fn without_hidden_parent(
        &self,
        connection: &Connection,
        line: VersionRow,
    ) -> Result<Stored, ReadError> {
        let parent = line.parent;
        let mut stored = line.into_stored(&self.watched.shared.kinds);
        if let Some(parent) = parent
            && self.visible_row_of(connection, parent)?.is_none()
        {
            stored.item.parent = None;
        }
        Ok(stored)
    }

    pub(super) fn stored(
        &self,
        connection: &Connection,
        row: Row,
    ) -> Result<Option<Stored>, ReadError> {
        match lookup::version(connection, row, true)? {
            Some(line) if self.sees(row) => self.without_hidden_parent(connection, line).map(Some),
            _ => Ok(None),
        }
    }

    /// The items with these ids, in their order.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn get(&self, ids: &[ItemId]) -> Result<Vec<Option<Stored>>, ReadError> {
        self.read(|connection| {
            ids.iter()
                .map(|id| match self.visible_row_of_id(connection, id)? {
                    Some(row) => self.stored(connection, row),
                    None => Ok(None),
                })
                .collect()
        })
    }

    /// Whether each of these items is visible, without reading it.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn exist(&self, ids: &[ItemId]) -> Result<Vec<bool>, ReadError> {
        self.read(|connection| {
            ids.iter().map(|id| Ok(self.visible_row_of_id(connection, id)?.is_some())).collect()
        })
    }

    /// The visible rows that pass a filter.
    pub(super) fn rows_matching(&self, filter: &Filter) -> Result<Cow<'_, Bitmap>, ReadError> {
        records::filter::check_limits(filter)?;
        let whole = Filter { active_only: false, under: None, ..filter.clone() };
        let passing = self.watched.state.rows_passing(&self.watched.shared, &whole)?;
        let mut rows = Cow::Borrowed(self.visible.rows());
        if let Some(passing) = passing {
            rows.to_mut().intersect(&passing);
        }
        if filter.active_only {
            let not_active = self.watched.state.inactive_rows(&self.watched.shared.pool)?;
            for row in not_active.iter().filter(|row| self.sees(*row)) {
                rows.to_mut().remove(row);
            }
        }
        if let Some(root) = &filter.under {
            let below = self.read(|connection| self.rows_below(connection, root))?;
            rows.to_mut().intersect(&below);
        }
        Ok(rows)
    }

    /// The visible rows of an item and its descendants; hidden rows end the walk.
    fn rows_below(&self, connection: &Connection, root: &ItemId) -> Result<Bitmap, ReadError> {
        let mut below = Bitmap::new();
        let Some(node) = lookup::node_of(connection, root)? else { return Ok(below) };
        let Some(row) = self.visible_row_of(connection, node)? else { return Ok(below) };
        below.insert(row);
        let mut pending = vec![node];
        while let Some(node) = pending.pop() {
            structure::each_child(connection, node, |child, row| {
                if self.sees(row) && !below.contains(row) {
                    below.insert(row);
                    pending.push(child);
                }
                true
            })?;
        }
        Ok(below)
    }

    /// The number of visible items that pass a filter.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn count(&self, filter: &Filter) -> Result<u64, ReadError> {
        Ok(self.rows_matching(filter)?.len() as u64)
    }

    /// A page of the visible items that pass a filter.
    ///
    /// # Errors
    /// When the limit is too large, `after` is not visible, or the store cannot be read.
    pub fn list(&self, filter: &Filter, page: &Page) -> Result<Vec<Stored>, ReadError> {
        check_limit(page.limit)?;
        let among = self.rows_matching(filter)?;
        self.read(|connection| {
            let rows = match page.order {
                ListOrder::Id => paging::page_by_id(connection, page, &among),
                ListOrder::Newest => {
                    let after = page.after.as_ref().map(|id| self.updated_of(id)).transpose()?;
                    paging::page_by_time(connection, page, after, &among)
                }
            };
            let mut page = Vec::new();
            let mut bytes = 0;
            for row in rows.map_err(storage)? {
                page.extend(self.stored(connection, row)?);
                bytes += page.last().map_or(0, |last: &Stored| last.item.bytes());
                if bytes > PAGE_BYTES_MAX {
                    break;
                }
            }
            Ok(page)
        })
    }

    fn updated_of(&self, id: &ItemId) -> Result<i64, ReadError> {
        let found = self.get(std::slice::from_ref(id))?.pop().flatten();
        let missing = || ReadError::invalid("after", format!("there is no item {id}"));
        let updated = found.and_then(|stored| stored.item.updated).ok_or_else(missing)?;
        Ok(updated.as_millis())
    }

    /// Converts index results to hits; rows that are no longer in the store are left out.
    pub(super) fn to_hits(
        &self,
        found: impl Iterator<Item = (Row, u32, f32)>,
    ) -> Result<Vec<Hit>, ReadError> {
        let found: Vec<(Row, u32, f32)> = found.collect();
        let rows: Vec<Row> = found.iter().map(|(row, _, _)| *row).collect();
        let names = self.watched.shared.item_ids(&rows)?;
        let hit = |((_, chunk, score), name): ((Row, u32, f32), Option<ItemId>)| {
            let id = CandidateId::chunk(name?, chunk);
            Some(Hit { id, score: Score::new(f64::from(score))? })
        };
        Ok(found.into_iter().zip(names).filter_map(hit).collect())
    }

    /// The texts and positions of chunks, in their order; an item id stands for its first chunk.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn passages(&self, ids: &[CandidateId]) -> Result<Vec<Option<Passage>>, ReadError> {
        self.read(|connection| {
            // Neighbouring chunks share their parent.
            let mut parents: BTreeMap<i64, bool> = BTreeMap::new();
            ids.iter()
                .map(|id| {
                    let Some(row) = self.visible_row_of_id(connection, &id.item)? else {
                        return Ok(None);
                    };
                    let found = lookup::passage(
                        connection,
                        &self.watched.shared.kinds,
                        row,
                        id.chunk.unwrap_or(0),
                    )?;
                    let Some((mut passage, parent)) = found else { return Ok(None) };
                    if let Some(parent) = parent {
                        let is_seen = match parents.get(&parent) {
                            Some(known) => *known,
                            None => self.visible_row_of(connection, parent)?.is_some(),
                        };
                        parents.insert(parent, is_seen);
                        if !is_seen {
                            passage.stored.item.parent = None;
                        }
                    }
                    Ok(Some(passage))
                })
                .collect()
        })
    }

    /// Whether a readable item has each of these values, in lower case, in a field of that role.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn have_facts(&self, facts: &[(FieldRole, String)]) -> Result<Vec<bool>, ReadError> {
        self.read(|connection| {
            let have = |(role, text): &(FieldRole, String)| {
                lookup::any_with_fact(connection, role.as_str(), text, |row| self.sees(row))
            };
            facts.iter().map(have).collect()
        })
    }

    /// The ancestors of an item, nearest first, up to the first hidden one.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn ancestors(&self, id: &ItemId, limit: usize) -> Result<Vec<Stored>, ReadError> {
        check_limit(limit)?;
        self.read(|connection| {
            let chain = self.ancestor_chain(connection, id)?;
            let above = chain.into_iter().skip(1).take(limit);
            above.filter_map(|(_, row)| self.stored(connection, row).transpose()).collect()
        })
    }

    /// The nodes and rows of an item and its ancestors, up to the first hidden one.
    fn ancestor_chain(
        &self,
        connection: &Connection,
        id: &ItemId,
    ) -> Result<Vec<(i64, Row)>, ReadError> {
        let mut chain = Vec::new();
        let mut seen = BTreeSet::new();
        let mut next = lookup::node_of(connection, id)?;
        while let Some(node) = next {
            let Some(row) = self.visible_row_of(connection, node)? else { break };
            if !seen.insert(node) {
                break;
            }
            chain.push((node, row));
            next = structure::parent_of(connection, row)?;
        }
        Ok(chain)
    }

    /// The visible children of a node, in order.
    fn visible_children(
        &self,
        connection: &Connection,
        node: i64,
        limit: usize,
    ) -> Result<Vec<(i64, Row)>, ReadError> {
        let mut rows = Vec::new();
        structure::each_child(connection, node, |child, row| {
            if self.sees(row) {
                rows.push((child, row));
            }
            rows.len() < limit
        })?;
        rows.truncate(limit);
        Ok(rows)
    }

    /// The children of an item, in order.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn children(&self, id: &ItemId, limit: usize) -> Result<Vec<Stored>, ReadError> {
        check_limit(limit)?;
        self.read(|connection| {
            let Some(node) = lookup::node_of(connection, id)? else { return Ok(Vec::new()) };
            // The children of a hidden item are hidden, too.
            if self.visible_row_of(connection, node)?.is_none() {
                return Ok(Vec::new());
            }
            let rows = self.visible_children(connection, node, limit)?;
            rows.into_iter()
                .filter_map(|(_, row)| self.stored(connection, row).transpose())
                .collect()
        })
    }

    /// The readable neighbours before and after an item under the same parent, in order.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn siblings(
        &self,
        id: &ItemId,
        either_side: usize,
    ) -> Result<(Vec<Stored>, Vec<Stored>), ReadError> {
        check_limit(either_side)?;
        self.read(|connection| {
            let chain = self.ancestor_chain(connection, id)?;
            let [(_, row), (parent, _), ..] = chain[..] else { return Ok((vec![], vec![])) };
            let rows = self.visible_children(connection, parent, usize::MAX)?;
            let at = rows.iter().position(|(_, sibling)| *sibling == row).unwrap_or(0);
            let fetch = |rows: &[(i64, Row)]| -> Result<Vec<Stored>, ReadError> {
                rows.iter()
                    .filter_map(|(_, row)| self.stored(connection, *row).transpose())
                    .collect()
            };
            let before = fetch(&rows[at.saturating_sub(either_side)..at])?;
            let after = rows.get(at + 1..).unwrap_or(&[]);
            Ok((before, fetch(&after[..either_side.min(after.len())])?))
        })
    }

    /// The siblings right before and right after each of these items.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn adjacent(&self, ids: &[ItemId]) -> Result<Vec<Vec<ItemId>>, ReadError> {
        let mut families: BTreeMap<i64, Vec<(i64, Row)>> = BTreeMap::new();
        let found: Vec<Vec<Row>> = self.read(|connection| {
            let mut found = Vec::with_capacity(ids.len());
            for id in ids {
                let chain = self.ancestor_chain(connection, id)?;
                let [(_, row), (parent, _), ..] = chain[..] else {
                    found.push(Vec::new());
                    continue;
                };
                if let Entry::Vacant(family) = families.entry(parent) {
                    let mut rows = self.visible_children(connection, parent, FAMILY_MAX + 1)?;
                    if rows.len() > FAMILY_MAX {
                        rows.clear();
                    }
                    family.insert(rows);
                }
                let family = &families[&parent];
                let at = family.iter().position(|(_, sibling)| *sibling == row);
                let near = at.map_or_else(Vec::new, |at| {
                    let before = at.checked_sub(1).and_then(|at| family.get(at));
                    before.into_iter().chain(family.get(at + 1)).map(|(_, row)| *row).collect()
                });
                found.push(near);
            }
            Ok(found)
        })?;
        let rows: Vec<Row> = found.iter().flatten().copied().collect();
        let mut names = self.watched.shared.item_ids(&rows)?.into_iter();
        let mut name = |_: &Row| names.next()?;
        Ok(found.iter().map(|rows| rows.iter().filter_map(&mut name).collect()).collect())
    }

    /// The tree distances of items from one item; `None` where no visible path connects them.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn distances(&self, from: &ItemId, to: &[ItemId]) -> Result<Vec<TreeDistance>, ReadError> {
        self.read(|connection| {
            let start = self.ancestor_chain(connection, from)?;
            let steps_up: BTreeMap<i64, u32> =
                start.iter().zip(0u32..).map(|((node, _), steps)| (*node, steps)).collect();
            to.iter()
                .map(|id| {
                    let chain = self.ancestor_chain(connection, id)?;
                    let meet = chain
                        .iter()
                        .zip(0u32..)
                        .find_map(|((node, _), down)| steps_up.get(node).map(|up| up + down));
                    Ok(meet)
                })
                .collect()
        })
    }

    /// The kept versions of an item, the latest first, if the viewer may read it now.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn history(&self, id: &ItemId) -> Result<Vec<Version>, ReadError> {
        self.read(|connection| {
            let Some(node) = lookup::node_of(connection, id)? else { return Ok(Vec::new()) };
            if self.visible_row_of(connection, node)?.is_none() {
                return Ok(Vec::new());
            }
            let mut versions = Vec::new();
            for row in lookup::rows_of(connection, node)? {
                let Some(line) = lookup::version(connection, row, true)? else { continue };
                if line.revision > self.revision {
                    continue;
                }
                let until = line.died.filter(|died| *died <= self.revision);
                versions
                    .push(Version { stored: self.without_hidden_parent(connection, line)?, until });
            }
            Ok(versions)
        })
    }

    /// A named document.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn record(
        &self,
        document_kind: DocumentKind,
        name: &str,
    ) -> Result<Option<Record>, ReadError> {
        self.read(|connection| usage::record(connection, document_kind, name).map_err(storage))
    }

    /// The names of a kind of document, in order, after a name.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn records(
        &self,
        document_kind: DocumentKind,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<String>, ReadError> {
        check_limit(limit)?;
        self.read(|connection| {
            usage::records(connection, document_kind, after, limit).map_err(storage)
        })
    }
}

/// Checks the limit of a query.
pub(super) fn check_limit(limit: usize) -> Result<(), ReadError> {
    if limit <= LIMIT_MAX {
        return Ok(());
    }
    Err(ReadError::invalid("limit", format!("{limit} is over the limit of {LIMIT_MAX}")))
}
