//! A store on this machine as the place where rows go.

use std::collections::BTreeSet;

use haversack_core::ids::ItemId;
use haversack_core::units::Timestamp;
use haversack_store::store::change::{Batch, Change};
use haversack_store::store::error::{ChangeProblem, CommitError};
use haversack_store::store::item::{DocumentKind, Item, PathEntry, Record};
use haversack_store::store::query::LIMIT_MAX;
use haversack_store::store::viewer::{Readers, Viewer};
use haversack_store::store::{Snapshot, Store, block_on};

use super::target::{RefusedItem, SyncBatch, SyncBatchReport, SyncTarget};
use super::{SyncError, SyncState, source_path};

/// Stored items that are compared at a time.
const COMPARED_AT_ONCE: usize = 64;

/// Most warnings of a batch.
const WARNINGS_MAX: usize = 20;

/// A store that takes rows with the rights of its owner. It must be a handle for blocking threads.
#[expect(missing_debug_implementations, reason = "it is a reference to a store, which has none")]
pub struct LocalTarget<'a> {
    store: &'a dyn Store,
}

impl<'a> LocalTarget<'a> {
    /// A store that takes rows.
    #[must_use]
    pub const fn new(store: &'a dyn Store) -> LocalTarget<'a> {
        LocalTarget { store }
    }

    fn snapshot(&self) -> Result<std::sync::Arc<dyn Snapshot>, SyncError> {
        Ok(block_on(self.store.snapshot(&Viewer::owner()))?)
    }
}

/// The name of a source's record.
fn record_name(name: &str) -> String {
    format!("sync:{name}")
}

impl SyncTarget for LocalTarget<'_> {
    fn state(&mut self, name: &str) -> Result<Option<SyncState>, SyncError> {
        let snapshot = self.snapshot()?;
        let record = block_on(snapshot.record(DocumentKind::Source, &record_name(name)))?;
        Ok(record.and_then(|record| SyncState::from_json(&record.text)))
    }

    fn ids_after(&mut self, name: &str, after: Option<&ItemId>) -> Result<Vec<ItemId>, SyncError> {
        let path = source_path(name);
        let moment = Timestamp::from_millis(0);
        let after = after.map(|id| PathEntry {
            id: id.clone(),
            path: path.clone(),
            bytes: 0,
            updated: moment,
            committed: moment,
        });
        let page = block_on(self.snapshot()?.under_path(&path, after.as_ref(), LIMIT_MAX))?;
        // Longer paths, as of another source, come after this one.
        let own = page.into_iter().take_while(|entry| entry.path == path);
        Ok(own.map(|entry| entry.id).collect())
    }

    fn write(&mut self, batch: SyncBatch) -> Result<SyncBatchReport, SyncError> {
        let snapshot = self.snapshot()?;
        let mut report = SyncBatchReport::default();
        let path = source_path(&batch.name);
        let mut changes = Vec::new();
        let mut items = batch.items;
        while !items.is_empty() {
            let rest = items.split_off(items.len().min(COMPARED_AT_ONCE));
            let chunk = std::mem::replace(&mut items, rest);
            changes.extend(compare(&*snapshot, chunk, &path, &mut report)?);
        }
        changes.extend(deletions(&*snapshot, &batch.deleted, &path)?);
        if batch.dry_run {
            let is_put = |change: &&Change| matches!(change, Change::Put(_));
            report.stored = changes.iter().filter(is_put).count() as u64;
            report.deleted = changes.len() as u64 - report.stored;
            return Ok(report);
        }
        if let Some(state) = batch.state {
            changes.push(Change::PutRecord(Record {
                document_kind: DocumentKind::Source,
                name: record_name(&batch.name),
                text: state.to_json().to_string(),
                at: batch.at,
            }));
        }
        self.commit((batch.at, &batch.origin), changes, &mut report)?;
        Ok(report)
    }
}

impl LocalTarget<'_> {
    /// Writes changes together, without the items that the store refuses.
    fn commit(
        &self,
        (at, origin): (Timestamp, &str),
        mut changes: Vec<Change>,
        report: &mut SyncBatchReport,
    ) -> Result<(), SyncError> {
        while !changes.is_empty() {
            let mut batch = Batch::new(at, changes.clone());
            batch.origin = Some(origin.to_owned());
            let problems = match block_on(self.store.write(batch)) {
                Ok(done) => {
                    report.stored += done.stored as u64;
                    report.unchanged += done.unchanged as u64;
                    report.deleted += done.deleted as u64;
                    let warnings = done.warnings.iter().take(WARNINGS_MAX);
                    report.warnings.extend(warnings.map(ToString::to_string));
                    return Ok(());
                }
                Err(CommitError::Invalid(problems)) => problems,
                Err(error) => return Err(error.into()),
            };
            let refused = refusals(&changes, &problems, report);
            if refused.is_empty() {
                return Err(CommitError::Invalid(problems).into());
            }
            let mut index = 0;
            changes.retain(|_| {
                index += 1;
                !refused.contains(&(index - 1))
            });
        }
        Ok(())
    }
}

/// The places of items that the store refuses, which are reported. Anything else is an error of ours.
fn refusals(
    changes: &[Change],
    problems: &[ChangeProblem],
    report: &mut SyncBatchReport,
) -> BTreeSet<usize> {
    let mut refused = BTreeSet::new();
    for problem in problems {
        if let Some(Change::Put(item)) = changes.get(problem.change)
            && refused.insert(problem.change)
        {
            let (id, reason) = (item.id.as_str().to_owned(), problem.message.clone());
            report.refused.push(RefusedItem { id, reason });
        }
    }
    refused
}

/// The changes that items make: none for those that are stored already, and none for an id of another source.
fn compare(
    snapshot: &dyn Snapshot,
    items: Vec<Item>,
    path: &str,
    report: &mut SyncBatchReport,
) -> Result<Vec<Change>, SyncError> {
    let ids: Vec<ItemId> = items.iter().map(|item| item.id.clone()).collect();
    let stored = block_on(snapshot.get(&ids))?;
    let mut changes = Vec::with_capacity(items.len());
    for (mut item, stored) in items.into_iter().zip(stored) {
        // Whatever the caller says, rows are at the path of their source alone.
        item.path = Some(path.to_owned());
        let Some(stored) = stored else {
            changes.push(Change::Put(Box::new(item)));
            continue;
        };
        if stored.item.path.as_deref() != Some(path) {
            let from = stored.item.path.as_deref().unwrap_or("elsewhere");
            let reason = format!(
                "an item from {from} has this id: tell the two apart by a prefix of the ids"
            );
            report.refused.push(RefusedItem { id: item.id.as_str().to_owned(), reason });
            continue;
        }
        if item.readers == Readers::Inherit {
            item.readers.clone_from(&stored.item.readers);
        }
        if says_the_same(&item, &stored.item) {
            report.unchanged += 1;
        } else {
            changes.push(Change::Put(Box::new(item)));
        }
    }
    Ok(changes)
}

/// Whether a row says what its item says. That it was touched is no reason for a version, and what else an
/// item has is made from its fields.
fn says_the_same(item: &Item, stored: &Item) -> bool {
    item.kind == stored.kind
        && item.title == stored.title
        && item.body == stored.body
        && item.fields == stored.fields
        && item.readers == stored.readers
        && item.created.is_none_or(|created| stored.created == Some(created))
}

/// Deletes items of the source alone.
fn deletions(
    snapshot: &dyn Snapshot,
    ids: &[ItemId],
    path: &str,
) -> Result<Vec<Change>, SyncError> {
    let mut changes = Vec::new();
    for ids in ids.chunks(COMPARED_AT_ONCE) {
        for stored in block_on(snapshot.get(ids))?.into_iter().flatten() {
            if stored.item.path.as_deref() == Some(path) {
                changes.push(Change::Delete(stored.item.id));
            }
        }
    }
    Ok(changes)
}
