//! Where rows go: a store on this machine, or a workspace behind a server.

use haversack_core::ids::ItemId;
use haversack_core::units::Timestamp;
use haversack_store::store::item::Item;

use super::{SyncError, SyncState};

/// What takes the items of a source.
pub trait SyncTarget {
    /// What the source was when it was last read.
    ///
    /// # Errors
    /// When the workspace cannot be read.
    fn state(&mut self, name: &str) -> Result<Option<SyncState>, SyncError>;

    /// A page of the ids of the source's items in order, after one of them; empty at the end.
    ///
    /// # Errors
    /// When the workspace cannot be read.
    fn ids_after(&mut self, name: &str, after: Option<&ItemId>) -> Result<Vec<ItemId>, SyncError>;

    /// Writes a batch: all that is not refused, together with the state.
    ///
    /// # Errors
    /// When the workspace cannot be written.
    fn write(&mut self, batch: SyncBatch) -> Result<SyncBatchReport, SyncError>;
}

/// Items of a source, written together.
#[derive(Debug, Clone, PartialEq)]
pub struct SyncBatch {
    /// The name of the source.
    pub name: String,
    /// The time of the run.
    pub at: Timestamp,
    /// The name of the import.
    pub origin: String,
    /// Whether only to say what would happen.
    pub dry_run: bool,
    /// Items to add or to replace.
    pub items: Vec<Item>,
    /// Items to delete.
    pub deleted: Vec<ItemId>,
    /// What the source is after this batch, if that changes.
    pub state: Option<SyncState>,
}

/// What became of a batch.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SyncBatchReport {
    /// Items stored.
    pub stored: u64,
    /// Items that did not change.
    pub unchanged: u64,
    /// Items deleted.
    pub deleted: u64,
    /// Items that were not stored.
    pub refused: Vec<RefusedItem>,
    /// Warnings of the store.
    pub warnings: Vec<String>,
}

/// An item that was not stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefusedItem {
    /// Its id.
    pub id: String,
    /// The reason, with the name of the field.
    pub reason: String,
}
