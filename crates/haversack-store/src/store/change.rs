//! What can be written, and what came of it.

use std::fmt;

use haversack_core::ids::ItemId;
use haversack_core::units::Timestamp;

use super::item::{DocumentKind, Event, Item, Link, Record};
use super::viewer::Viewer;
use crate::revision::Revision;

/// Most changes in one batch.
pub const BATCH_CHANGES_MAX: usize = 10_000;

/// Most bytes of text in one batch.
pub const BATCH_BYTES_MAX: usize = 64 << 20;

/// Longest body of an item in bytes.
pub const BODY_BYTES_MAX: usize = 16 << 20;

/// Longest title, path, author, origin or name in bytes.
pub const LINE_BYTES_MAX: usize = 4_096;

/// Longest text of a record in bytes.
pub const RECORD_BYTES_MAX: usize = 4 << 20;

/// Deepest tree of parents.
pub const DEPTH_MAX: usize = 256;

/// One thing to write.
#[derive(Debug, Clone, PartialEq)]
pub enum Change {
    /// Adds an item or replaces it; the earlier version is kept, within bounds.
    Put(Box<Item>),
    /// Takes an item and what hangs under it out of sight; the history stays, within bounds.
    Delete(ItemId),
    /// Removes an item, what hangs under it and their history for good.
    Purge(ItemId),
    /// Adds a link; one that is there stays.
    Link(Link),
    /// Takes a link away.
    Unlink(Link),
    /// Notes that something happened.
    Note(Event),
    /// Writes a named document.
    Write(Record),
    /// Removes a named document.
    Remove(DocumentKind, String),
}

impl Change {
    /// Whether the items stay as they are: events and named documents have no versions.
    #[must_use]
    pub const fn is_quiet(&self) -> bool {
        matches!(self, Change::Note(_) | Change::Write(_) | Change::Remove(..))
    }
}

/// Changes that are made together or not at all. A batch of nothing but events and named documents
/// makes no new state.
#[derive(Debug, Clone, PartialEq)]
pub struct Batch {
    /// The time of the commit.
    pub at: Timestamp,
    /// Who writes.
    pub author: Option<String>,
    /// The import this belongs to, by which it can be undone.
    pub origin: Option<String>,
    /// With whose rights it is written. The owner of the data may do everything; anybody else
    /// changes what they can read, and says who may read an item, or where it hangs, only of what is
    /// their own.
    pub rights: Viewer,
    /// What to write, in this order; items may come before their parents.
    pub changes: Vec<Change>,
}

impl Batch {
    /// A batch at a time by nobody in particular.
    #[must_use]
    pub const fn new(at: Timestamp, changes: Vec<Change>) -> Batch {
        Batch { at, author: None, origin: None, rights: Viewer::owner(), changes }
    }

    /// Whether it makes no new state.
    #[must_use]
    pub fn is_quiet(&self) -> bool {
        self.changes.iter().all(Change::is_quiet)
    }

    /// The same batch, written by somebody under their name and with their rights.
    #[must_use]
    pub fn by(mut self, rights: Viewer) -> Batch {
        self.author = rights.name().map(str::to_owned);
        self.rights = rights;
        self
    }

    /// A batch that puts items.
    #[must_use]
    pub fn put(at: Timestamp, items: Vec<Item>) -> Batch {
        Batch::new(at, items.into_iter().map(|item| Change::Put(Box::new(item))).collect())
    }
}

/// What a batch did. It is durable, and searches from now on see it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Committed {
    /// The state it made; the last one when no item or link changed.
    pub revision: Revision,
    /// Items added or replaced.
    pub stored: usize,
    /// Items that were there already, just so.
    pub unchanged: usize,
    /// Items taken out of sight or purged, those below them included.
    pub deleted: usize,
    /// What the writer should know.
    pub warnings: Vec<Warning>,
}

/// Something about a written item that its author should know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warning {
    /// Which item.
    pub item: ItemId,
    /// What about it.
    pub message: String,
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.item, self.message)
    }
}

/// What undoing an import did.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Undone {
    /// The state it made.
    pub revision: Revision,
    /// Items that were new with the import and are gone now.
    pub removed: usize,
    /// Items that are again as they were before.
    pub restored: usize,
    /// Items that were changed since, whose earlier text is no longer kept, or under which
    /// something hangs that the import did not bring: left as they are.
    pub kept: Vec<ItemId>,
}
