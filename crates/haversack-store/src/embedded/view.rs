//! One state as one viewer may see it: every answer passes through its bitmap.

use std::borrow::Cow;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use haversack_core::ids::{CandidateId, ItemId};
use haversack_core::query::FieldRole;
use haversack_core::units::Score;
use rusqlite::Connection;

use super::paging;
use super::records::lines::Line;
use super::records::{self, lookup, storage, structure, usage};
use super::row::{Bitmap, Row};
use super::state::Watched;
use super::text::Visible;
use crate::kinds::Kinds;
use crate::revision::{Revision, StateToken};
use crate::store::error::ReadError;
use crate::store::item::{Passage, Record, Shelf, Stored, Version};
use crate::store::query::{
    FAMILY_MAX, Filter, Hit, LIMIT_MAX, Order, PAGE_BYTES_MAX, Page, TreeDistance,
};

/// A state as a viewer may see it.
#[derive(Debug)]
pub struct View {
    pub(super) watched: Watched,
    /// Which state: the watched one, or one before it.
    pub(super) revision: Revision,
    pub(super) visible: Arc<Visible>,
    /// The viewer's name for the state.
    pub(super) token: StateToken,
    /// The number of activity when it was looked at.
    pub(super) activity: u64,
    pub(super) history_is_whole: bool,
}

impl View {
    /// Which state this is.
    #[must_use]
    pub const fn revision(&self) -> Revision {
        self.revision
    }

    /// The viewer's name for this state.
    #[must_use]
    pub const fn token(&self) -> StateToken {
        self.token
    }

    /// Whether every version of this state is still kept; a state of long ago may miss some.
    #[must_use]
    pub const fn history_is_whole(&self) -> bool {
        self.history_is_whole
    }

    /// How many items there are to see.
    #[must_use]
    pub fn len(&self) -> usize {
        self.visible.rows().len()
    }

    /// Whether there is nothing to see.
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

    /// Whether the viewer may see a row. There is no other way to an answer.
    pub(super) fn sees(&self, row: Row) -> bool {
        self.visible.rows().contains(row)
    }

    /// The version of a node that belongs to this state, if the viewer may see it.
    pub(super) fn row_of(
        &self,
        connection: &Connection,
        node: i64,
    ) -> Result<Option<Row>, ReadError> {
        Ok(lookup::rows_of(connection, node)?.into_iter().find(|row| self.sees(*row)))
    }

    /// The node of a name and its version in this state, if the viewer may see it.
    pub(super) fn place_of(
        &self,
        connection: &Connection,
        id: &ItemId,
    ) -> Result<Option<(i64, Row)>, ReadError> {
        Ok(lookup::places(connection, id)?.into_iter().find(|(_, row)| self.sees(*row)))
    }

    fn row_of_id(&self, connection: &Connection, id: &ItemId) -> Result<Option<Row>, ReadError> {
        Ok(self.place_of(connection, id)?.map(|(_, row)| row))
    }

    /// The kinds that are known here.
    #[must_use]
    pub fn kinds(&self) -> &Arc<Kinds> {
        &self.watched.shared.kinds
    }

    /// A version without what the viewer may not know: a parent they cannot read.
    fn shown(&self, connection: &Connection, line: Line) -> Result<Stored, ReadError> {
        let parent = line.parent;
        let mut stored = line.stored(&self.watched.shared.kinds);
        if let Some(parent) = parent
            && self.row_of(connection, parent)?.is_none()
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
        match lookup::line(connection, row, true)? {
            Some(line) if self.sees(row) => self.shown(connection, line).map(Some),
            _ => Ok(None),
        }
    }

    /// The items of these names, in their order.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn get(&self, ids: &[ItemId]) -> Result<Vec<Option<Stored>>, ReadError> {
        self.read(|connection| {
            ids.iter()
                .map(|id| match self.row_of_id(connection, id)? {
                    Some(row) => self.stored(connection, row),
                    None => Ok(None),
                })
                .collect()
        })
    }

    /// Whether each of these items is there for the viewer, without reading it.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn are_there(&self, ids: &[ItemId]) -> Result<Vec<bool>, ReadError> {
        self.read(|connection| {
            ids.iter().map(|id| Ok(self.row_of_id(connection, id)?.is_some())).collect()
        })
    }

    /// The rows that the viewer sees and that pass a filter.
    pub(super) fn among(&self, filter: &Filter) -> Result<Cow<'_, Bitmap>, ReadError> {
        records::filter::check(filter)?;
        let whole = Filter { active_only: false, under: None, ..filter.clone() };
        let passing = self.watched.state.passing(&self.watched.shared, &whole)?;
        let mut rows = Cow::Borrowed(self.visible.rows());
        if let Some(passing) = passing {
            rows.to_mut().intersect(&passing);
        }
        if filter.active_only {
            let not_active = self.watched.state.not_active(&self.watched.shared.pool)?;
            for row in not_active.iter().filter(|row| self.sees(*row)) {
                rows.to_mut().remove(row);
            }
        }
        if let Some(root) = &filter.under {
            let below = self.read(|connection| self.below(connection, root))?;
            rows.to_mut().intersect(&below);
        }
        Ok(rows)
    }

    /// The rows at and below an item, as far as the viewer can walk.
    fn below(&self, connection: &Connection, root: &ItemId) -> Result<Bitmap, ReadError> {
        let mut below = Bitmap::new();
        let Some(node) = lookup::node(connection, root)? else { return Ok(below) };
        let Some(row) = self.row_of(connection, node)? else { return Ok(below) };
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

    /// How many items pass a filter.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn count(&self, filter: &Filter) -> Result<u64, ReadError> {
        Ok(self.among(filter)?.len() as u64)
    }

    /// A page of the items that pass a filter.
    ///
    /// # Errors
    /// When the page is too large, its start is not there, or the store cannot be read.
    pub fn list(&self, filter: &Filter, page: &Page) -> Result<Vec<Stored>, ReadError> {
        check_limit(page.limit)?;
        let among = self.among(filter)?;
        self.read(|connection| {
            let rows = match page.order {
                Order::Id => paging::by_id(connection, page, &among),
                Order::Newest => {
                    let after = page.after.as_ref().map(|id| self.updated_of(id)).transpose()?;
                    paging::by_time(connection, page, after, &among)
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

    /// Rows and chunks of an index as hits; what is no longer in the store is left out.
    pub(super) fn hits(
        &self,
        found: impl Iterator<Item = (Row, u32, f32)>,
    ) -> Result<Vec<Hit>, ReadError> {
        let found: Vec<(Row, u32, f32)> = found.collect();
        let rows: Vec<Row> = found.iter().map(|(row, _, _)| *row).collect();
        let names = self.watched.shared.names(&rows)?;
        let hit = |((_, chunk, score), name): ((Row, u32, f32), Option<ItemId>)| {
            let id = CandidateId::chunk(name?, chunk);
            Some(Hit { id, score: Score::new(f64::from(score))? })
        };
        Ok(found.into_iter().zip(names).filter_map(hit).collect())
    }

    /// The texts and places of chunks, in their order; a whole item stands for its first chunk.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn passages(&self, ids: &[CandidateId]) -> Result<Vec<Option<Passage>>, ReadError> {
        self.read(|connection| {
            // Chunks of one place share what they hang under.
            let mut parents: BTreeMap<i64, bool> = BTreeMap::new();
            ids.iter()
                .map(|id| {
                    let Some(row) = self.row_of_id(connection, &id.item)? else { return Ok(None) };
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
                            None => self.row_of(connection, parent)?.is_some(),
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

    /// What an item hangs under, nearest first, up to where the viewer may not read on.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn ancestors(&self, id: &ItemId, limit: usize) -> Result<Vec<Stored>, ReadError> {
        check_limit(limit)?;
        self.read(|connection| {
            let chain = self.chain(connection, id)?;
            let above = chain.into_iter().skip(1).take(limit);
            above.filter_map(|(_, row)| self.stored(connection, row).transpose()).collect()
        })
    }

    /// An item and what it hangs under, as nodes and rows, up to where the viewer may not read on.
    fn chain(&self, connection: &Connection, id: &ItemId) -> Result<Vec<(i64, Row)>, ReadError> {
        let mut chain = Vec::new();
        let mut seen = BTreeSet::new();
        let mut next = lookup::node(connection, id)?;
        while let Some(node) = next {
            let Some(row) = self.row_of(connection, node)? else { break };
            if !seen.insert(node) {
                break;
            }
            chain.push((node, row));
            next = structure::parent_of(connection, row)?;
        }
        Ok(chain)
    }

    /// The rows under a node that the viewer sees, in order.
    fn children_rows(
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

    /// What hangs under an item, in order.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn children(&self, id: &ItemId, limit: usize) -> Result<Vec<Stored>, ReadError> {
        check_limit(limit)?;
        self.read(|connection| {
            let Some(node) = lookup::node(connection, id)? else { return Ok(Vec::new()) };
            // Who may not see the item is not told what is under it, either.
            if self.row_of(connection, node)?.is_none() {
                return Ok(Vec::new());
            }
            let rows = self.children_rows(connection, node, limit)?;
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
            let chain = self.chain(connection, id)?;
            let [(_, row), (parent, _), ..] = chain[..] else { return Ok((vec![], vec![])) };
            let rows = self.children_rows(connection, parent, usize::MAX)?;
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

    /// What stands right before and right after each of these items under the same parent.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn beside(&self, ids: &[ItemId]) -> Result<Vec<Vec<ItemId>>, ReadError> {
        let mut families: BTreeMap<i64, Vec<(i64, Row)>> = BTreeMap::new();
        let found: Vec<Vec<Row>> = self.read(|connection| {
            let mut found = Vec::with_capacity(ids.len());
            for id in ids {
                let chain = self.chain(connection, id)?;
                let [(_, row), (parent, _), ..] = chain[..] else {
                    found.push(Vec::new());
                    continue;
                };
                if let Entry::Vacant(family) = families.entry(parent) {
                    let mut rows = self.children_rows(connection, parent, FAMILY_MAX + 1)?;
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
        let mut names = self.watched.shared.names(&rows)?.into_iter();
        let mut name = |_: &Row| names.next()?;
        Ok(found.iter().map(|rows| rows.iter().filter_map(&mut name).collect()).collect())
    }

    /// How far items are from one in the tree; `None` where no readable way leads.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn distances(&self, from: &ItemId, to: &[ItemId]) -> Result<Vec<TreeDistance>, ReadError> {
        self.read(|connection| {
            let start = self.chain(connection, from)?;
            let steps_up: BTreeMap<i64, u32> =
                start.iter().zip(0u32..).map(|((node, _), steps)| (*node, steps)).collect();
            to.iter()
                .map(|id| {
                    let chain = self.chain(connection, id)?;
                    let meet = chain
                        .iter()
                        .zip(0u32..)
                        .find_map(|((node, _), down)| steps_up.get(node).map(|up| up + down));
                    Ok(meet)
                })
                .collect()
        })
    }

    /// The versions of an item that are kept, the latest first, if the viewer may read it now.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn history(&self, id: &ItemId) -> Result<Vec<Version>, ReadError> {
        self.read(|connection| {
            let Some(node) = lookup::node(connection, id)? else { return Ok(Vec::new()) };
            if self.row_of(connection, node)?.is_none() {
                return Ok(Vec::new());
            }
            let mut versions = Vec::new();
            for row in lookup::rows_of(connection, node)? {
                let Some(line) = lookup::line(connection, row, true)? else { continue };
                if line.revision > self.revision {
                    continue;
                }
                let until = line.died.filter(|died| *died <= self.revision);
                versions.push(Version { stored: self.shown(connection, line)?, until });
            }
            Ok(versions)
        })
    }

    /// A named document.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn record(&self, shelf: Shelf, name: &str) -> Result<Option<Record>, ReadError> {
        self.read(|connection| usage::record(connection, shelf, name).map_err(storage))
    }

    /// The names on a shelf, in order, after a name.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn records(
        &self,
        shelf: Shelf,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<String>, ReadError> {
        check_limit(limit)?;
        self.read(|connection| usage::records(connection, shelf, after, limit).map_err(storage))
    }
}

/// A question may not ask for more than anybody can read.
pub(super) fn check_limit(limit: usize) -> Result<(), ReadError> {
    if limit <= LIMIT_MAX {
        return Ok(());
    }
    Err(ReadError::invalid("limit", format!("{limit} is over the most, {LIMIT_MAX}")))
}
