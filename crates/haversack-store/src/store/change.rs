//! Batches of changes, and the reports of what they did.

use std::fmt;

use haversack_core::ids::ItemId;
use haversack_core::units::Timestamp;

use super::item::{DocumentKind, Event, Item, Link, Record};
use super::journal::Position;
use super::viewer::Viewer;
use crate::revision::Revision;

/// The most changes in one batch.
pub const BATCH_CHANGES_MAX: usize = 10_000;

/// The most bytes of text in one batch.
pub const BATCH_BYTES_MAX: usize = 64 << 20;

/// The longest body of an item in bytes.
pub const BODY_BYTES_MAX: usize = 16 << 20;

/// The longest title, path, author, origin or name in bytes.
pub const LINE_BYTES_MAX: usize = 4_096;

/// The longest text of a record in bytes.
pub const RECORD_BYTES_MAX: usize = 4 << 20;

/// The greatest depth of a tree of parents.
pub const DEPTH_MAX: usize = 256;

/// How long the key of a batch is kept, in milliseconds: a day.
pub const WRITE_KEYS_KEPT_MS: i64 = 24 * 60 * 60 * 1_000;

/// The most keys of batches that are kept.
pub const WRITE_KEYS_MAX: i64 = 100_000;

/// One change to a store.
#[derive(Debug, Clone, PartialEq)]
pub enum Change {
    /// Adds an item or replaces it. Earlier versions are kept, up to a limit.
    Put(Box<Item>),
    /// Deletes an item and its descendants. Their history is kept, up to a limit.
    Delete(ItemId),
    /// Erases an item, its descendants and their history.
    Purge(ItemId),
    /// Erases a user, by name. What nobody else can read is purged, whoever wrote it, together with
    /// what the user made and closed to everyone. Other items of theirs stay, without their name as
    /// the creator and as the author; so do others' items below what is purged. The user leaves all
    /// lists of readers, and what they did goes: events, usage, idempotency keys. Only the owner of
    /// the data may do this. Named documents and the texts of others stay as they are.
    EraseUser(String),
    /// Adds a link. A link that exists stays as it is.
    Link(Link),
    /// Removes a link.
    Unlink(Link),
    /// Records an event.
    AddEvent(Event),
    /// Adds or replaces a named document.
    PutRecord(Record),
    /// Removes a named document.
    RemoveRecord(DocumentKind, String),
}

impl Change {
    /// Whether it removes items. Changes that come before it are written before it.
    #[must_use]
    pub const fn is_removal(&self) -> bool {
        matches!(self, Change::Delete(_) | Change::Purge(_) | Change::EraseUser(_))
    }

    /// Whether it makes no revision: events and named documents have no versions.
    #[must_use]
    pub const fn is_unversioned(&self) -> bool {
        matches!(self, Change::AddEvent(_) | Change::PutRecord(_) | Change::RemoveRecord(..))
    }
}

/// Changes that are written together or not at all. A batch of only events and named documents
/// makes no revision.
#[derive(Debug, Clone, PartialEq)]
pub struct Batch {
    /// The time of the commit.
    pub at: Timestamp,
    /// The author.
    pub author: Option<String>,
    /// The name of the import that it belongs to, by which it can be undone.
    pub origin: Option<String>,
    /// The viewer with whose rights it is written. The owner of the data may change everything. Any
    /// other viewer may change items that they can read, and may set the readers or the parent only
    /// of items that they created.
    pub rights: Viewer,
    /// The changes, in this order. Items may come before their parents.
    pub changes: Vec<Change>,
    /// The idempotency key: batches with the same key are written once, and all get the report of
    /// the one that was written.
    pub key: Option<Box<WriteKey>>,
}

/// The idempotency key of a batch. It is recorded in the batch's own transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WriteKey {
    /// Where the key applies, such as one caller's use of one operation.
    pub scope: String,
    /// The key, as the caller chose it.
    pub name: String,
    /// A hash of the request. Another request with the same key is refused.
    pub request: [u8; 32],
    /// When it is used, by a clock that does not jump: a key would be forgotten too early otherwise.
    pub at: Timestamp,
}

/// The write that a key was used for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordedWrite {
    /// The hash of its request.
    pub request: [u8; 32],
    /// What it did, without its warnings.
    pub report: CommitReport,
}

impl Batch {
    /// A batch without an author, with the owner's rights.
    #[must_use]
    pub const fn new(at: Timestamp, changes: Vec<Change>) -> Batch {
        Batch { at, author: None, origin: None, rights: Viewer::owner(), changes, key: None }
    }

    /// Whether it makes no revision.
    #[must_use]
    pub fn is_unversioned(&self) -> bool {
        self.changes.iter().all(Change::is_unversioned)
    }

    /// The same batch with a viewer's name as the author and with their rights.
    #[must_use]
    pub fn with_rights(mut self, rights: Viewer) -> Batch {
        self.author = rights.name().map(str::to_owned);
        self.rights = rights;
        self
    }

    /// The same batch with an idempotency key, if there is one.
    #[must_use]
    pub fn with_key(mut self, key: Option<WriteKey>) -> Batch {
        self.key = key.map(Box::new);
        self
    }

    /// A batch that adds or replaces items.
    #[must_use]
    pub fn put(at: Timestamp, items: Vec<Item>) -> Batch {
        Batch::new(at, items.into_iter().map(|item| Change::Put(Box::new(item))).collect())
    }
}

/// The result of a batch that was written. It is durable and searchable.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CommitReport {
    /// The revision that it made, or the last one if no item or link changed.
    pub revision: Revision,
    /// Items added or replaced.
    pub stored: usize,
    /// Items that the store already had in the same form.
    pub unchanged: usize,
    /// Items deleted or purged, including descendants.
    pub deleted: usize,
    /// The position in the journal that has it, if there is a journal. A read that asks for at least this
    /// position sees the batch on any node.
    pub position: Option<Position>,
    /// Warnings for the author.
    pub warnings: Vec<Warning>,
}

/// A warning about a written item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warning {
    /// The item.
    pub item: ItemId,
    /// The warning.
    pub message: String,
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.item, self.message)
    }
}

/// The result of undoing an import.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct UndoReport {
    /// The revision that it made.
    pub revision: Revision,
    /// Items that the import added and that are deleted now.
    pub removed: usize,
    /// Items that have their version from before the import again.
    pub restored: usize,
    /// Items that were left as they are: they were changed since, their earlier version is no
    /// longer kept, or they have descendants that the import did not add.
    pub kept: Vec<ItemId>,
}
