//! The traits of a store and the types that they use.
//!
//! A store is one workspace, isolated from all others. A write is acknowledged when it is durable
//! and searchable. A [`Snapshot`] is one state of the store as one viewer may see it: items that
//! the viewer may not read change no result, score, count or order. A store retrieves and lists; it
//! does not fuse or rank, and knows no recipes.

pub mod change;
pub mod error;
pub mod health;
pub mod item;
pub mod journal;
pub mod maintenance;
pub mod query;
pub mod viewer;

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use haversack_core::embed::{Embedder, Model};
use haversack_core::ids::{CandidateId, ItemId};
use haversack_core::query::FieldRole;
use haversack_core::units::Timestamp;

use self::change::{Batch, CommitReport, RecordedWrite, UndoReport, WriteKey};
use self::error::{CommitError, ReadError};
use self::item::{
    Breadcrumb, DocumentKind, Event, EventKind, Link, Passage, PathEntry, Record, Stored, Version,
};
use self::query::{
    Descendants, Descent, Direction, Excerpt, Filter, Frequencies, FuzzySearch, Hit, LinkedItem,
    Neighbours, Page, TextSearch, TreeDistance, Usage, VectorSearch,
};
use self::viewer::Viewer;
use crate::kinds::Kinds;
use crate::revision::{Revision, StateToken};

/// The future of a read.
pub type StoreFuture<'a, T> = BoxFuture<'a, Result<T, ReadError>>;

/// Blocks this thread until a future is ready. The futures of
/// [`maintenance::Maintenance::for_blocking_threads`] need no runtime.
pub fn block_on<T>(future: impl Future<Output = T>) -> T {
    // On a thread of tokio its budget would run out: from then on its channels only wake the future again,
    // and this thread would spin for ever.
    futures_executor::block_on(tokio::task::unconstrained(future))
}

/// One workspace: takes writes and gives snapshots to read from.
pub trait Store: Send + Sync {
    /// Writes a batch, all or nothing. When it returns, the batch is durable and searchable. A batch
    /// whose key was used already is not written again; it gets the report of the first one.
    fn write(&self, batch: Batch) -> BoxFuture<'_, Result<CommitReport, CommitError>>;

    /// The batch that was written with a key, if it was written within
    /// [`change::WRITE_KEYS_KEPT_MS`] before the time of the key.
    fn find_write<'a>(&'a self, key: &'a WriteKey) -> StoreFuture<'a, Option<RecordedWrite>>;

    /// Undoes an import, except for items that were changed since.
    fn undo<'a>(
        &'a self,
        origin: &'a str,
        at: Timestamp,
    ) -> BoxFuture<'a, Result<UndoReport, CommitError>>;

    /// A snapshot of the present state for a viewer.
    fn snapshot<'a>(&'a self, viewer: &'a Viewer) -> StoreFuture<'a, Arc<dyn Snapshot>>;

    /// A snapshot of the state at a moment, by the viewer's present permissions.
    fn as_of<'a>(
        &'a self,
        viewer: &'a Viewer,
        moment: Timestamp,
    ) -> StoreFuture<'a, Arc<dyn Snapshot>>;

    /// A snapshot of a revision, by the viewer's present permissions. A revision above the present
    /// one is an error.
    fn at_revision<'a>(
        &'a self,
        viewer: &'a Viewer,
        revision: Revision,
    ) -> StoreFuture<'a, Arc<dyn Snapshot>>;

    /// A snapshot of the last state with this token ([`Snapshot::token`]). It is an error if the
    /// token is another viewer's, or if the state cannot be read again because items were purged,
    /// versions trimmed, or readers changed.
    fn at_token<'a>(
        &'a self,
        viewer: &'a Viewer,
        token: StateToken,
    ) -> StoreFuture<'a, Arc<dyn Snapshot>>;

    /// The model that embeds new texts and queries.
    fn model(&self) -> Model {
        self.embedder().model().clone()
    }

    /// The embedder of new texts. For queries, use [`Snapshot::embedder`]: the model may change
    /// between two calls.
    fn embedder(&self) -> Arc<dyn Embedder>;

    /// The definitions of kinds in use.
    fn kinds(&self) -> &Arc<Kinds>;

    /// Makes the store as fresh as its reads are to be, so that the next read finds nothing to do.
    ///
    /// # Errors
    /// When the shared journal cannot be followed: [`ReadError::Outdated`] asks to open the store again.
    fn refresh(&self) -> StoreFuture<'_, ()> {
        Box::pin(async { Ok(()) })
    }

    /// A number that rises when another node wrote or removed a named document that is no receipt, so
    /// that what was derived from these documents is derived anew.
    fn documents_version(&self) -> u64 {
        0
    }
}

/// One state of a workspace as one viewer may see it.
pub trait Snapshot: Send + Sync {
    /// The revision of the state. It also counts commits that the viewer cannot see, so reveal it
    /// only to viewers who see everything.
    fn revision(&self) -> Revision;

    /// The token that identifies the state to this viewer. It depends only on the viewer and on the
    /// items and links that they can read.
    fn token(&self) -> StateToken;

    /// How old the state may be, if the shared journal could not be reached: what other nodes wrote
    /// since may be missing.
    fn staleness(&self) -> Option<Duration> {
        None
    }

    /// Whether every version of this state is still kept; an old state may lack some.
    fn history_is_whole(&self) -> bool;

    /// The definitions of kinds in use.
    fn kinds(&self) -> &Arc<Kinds>;

    /// The embedder of queries to this snapshot: its model made the vectors that
    /// [`Snapshot::search_vectors`] searches, unless they are stale.
    fn embedder(&self) -> Arc<dyn Embedder>;

    /// The items with these ids, in their order; `None` if an item does not exist or is not
    /// readable.
    fn get<'a>(&'a self, ids: &'a [ItemId]) -> StoreFuture<'a, Vec<Option<Stored>>>;

    /// Whether each of these items exists and is readable, without reading it.
    fn exist<'a>(&'a self, ids: &'a [ItemId]) -> StoreFuture<'a, Vec<bool>>;

    /// A page of the items that pass a filter. A page ends early, after at least one item, when its
    /// texts and fields exceed [`query::PAGE_BYTES_MAX`].
    fn list<'a>(&'a self, filter: &'a Filter, page: &'a Page) -> StoreFuture<'a, Vec<Stored>>;

    /// The number of items that pass a filter.
    fn count<'a>(&'a self, filter: &'a Filter) -> StoreFuture<'a, u64>;

    /// Chunks that match a full-text query, best first.
    fn search_text<'a>(&'a self, search: &'a TextSearch) -> StoreFuture<'a, Vec<Hit>>;

    /// Chunks nearest to a vector, nearest first.
    fn search_vectors<'a>(&'a self, search: &'a VectorSearch) -> StoreFuture<'a, Vec<Hit>>;

    /// Chunks whose title, path or short text has similar trigrams, most similar first.
    fn search_fuzzy<'a>(&'a self, search: &'a FuzzySearch) -> StoreFuture<'a, Vec<Hit>>;

    /// The first chunks of the items whose titles have these name keys
    /// ([`haversack_core::text::names`]), by key; none for a key that more than `most` items share.
    fn chunks_by_name<'a>(
        &'a self,
        keys: &'a [String],
        filter: &'a Filter,
        most: usize,
    ) -> StoreFuture<'a, Vec<Vec<CandidateId>>>;

    /// The document frequencies of a text's terms among readable chunks. The language is detected.
    fn frequencies<'a>(&'a self, text: &'a str) -> StoreFuture<'a, Frequencies>;

    /// Whether a readable item has each of these values, in lower case, in a field of that role.
    fn have_facts<'a>(&'a self, facts: &'a [(FieldRole, String)]) -> StoreFuture<'a, Vec<bool>>;

    /// The texts and positions of chunks, in their order.
    fn passages<'a>(&'a self, ids: &'a [CandidateId]) -> StoreFuture<'a, Vec<Option<Passage>>>;

    /// The excerpt of each passage that matches a query best, with the matches marked.
    fn excerpts(&self, passages: &[&Passage], query: &str, characters_max: usize) -> Vec<Excerpt>;

    /// The ancestors of an item, nearest first, up to the first that the viewer may not read.
    fn ancestors<'a>(&'a self, id: &'a ItemId, limit: usize) -> StoreFuture<'a, Vec<Stored>>;

    /// The ancestors of each of these items, outermost first, from below the nearest one that the
    /// viewer may not read; empty for an item that does not exist or is not readable.
    fn breadcrumbs<'a>(&'a self, ids: &'a [ItemId]) -> StoreFuture<'a, Vec<Vec<Breadcrumb>>>;

    /// The children of an item, in order.
    fn children<'a>(&'a self, id: &'a ItemId, limit: usize) -> StoreFuture<'a, Vec<Stored>>;

    /// The active descendants of an item in document order. Descendants beyond the limit are
    /// counted but not read.
    fn descendants<'a>(
        &'a self,
        id: &'a ItemId,
        descent: &'a Descent,
    ) -> StoreFuture<'a, Descendants>;

    /// The readable siblings before and after an item, in order.
    fn siblings<'a>(
        &'a self,
        id: &'a ItemId,
        either_side: usize,
    ) -> StoreFuture<'a, (Vec<Stored>, Vec<Stored>)>;

    /// The siblings right before and right after each of these items; none if the parent has more
    /// than [`query::FAMILY_MAX`] children.
    fn adjacent<'a>(&'a self, ids: &'a [ItemId]) -> StoreFuture<'a, Vec<Vec<ItemId>>>;

    /// The items that links of these types (all types if empty) connect with an item, ordered by
    /// link type and id.
    fn linked_items<'a>(
        &'a self,
        id: &'a ItemId,
        direction: Direction,
        link_types: &'a [String],
        limit: usize,
    ) -> StoreFuture<'a, Vec<LinkedItem>>;

    /// The linked items of several items, outward and inward; see [`Snapshot::linked_items`].
    fn neighbours<'a>(
        &'a self,
        ids: &'a [ItemId],
        link_types: &'a [String],
        limit: usize,
    ) -> StoreFuture<'a, Vec<Neighbours>>;

    /// The distances in the tree from one item to others; `None` if no readable path connects them.
    fn distances<'a>(
        &'a self,
        from: &'a ItemId,
        to: &'a [ItemId],
    ) -> StoreFuture<'a, Vec<TreeDistance>>;

    /// A counter that changes when an event other than [`EventKind::Used`] is recorded of an item
    /// that the viewer can read. A result that depends on events may be reused while the counter is
    /// the same. Counters of different openings of the store are not comparable.
    fn activity(&self) -> u64;

    /// The items that a user viewed, edited or used since a moment, the latest first. Events and
    /// items that were written after `until` are left out.
    fn recent<'a>(
        &'a self,
        user: &'a str,
        event_kind: EventKind,
        since: Timestamp,
        until: Option<Timestamp>,
        limit: usize,
    ) -> StoreFuture<'a, Vec<Usage>>;

    /// The usage of items by one user, or by all users if `None`. Events that were recorded after
    /// `until` are left out.
    fn usage<'a>(
        &'a self,
        ids: &'a [ItemId],
        user: Option<&'a str>,
        until: Option<Timestamp>,
    ) -> StoreFuture<'a, Vec<Usage>>;

    /// The kept versions of an item, the latest first.
    fn history<'a>(&'a self, id: &'a ItemId) -> StoreFuture<'a, Vec<Version>>;

    /// The items at a path, by id and without their texts, and how many more there are than the
    /// limit.
    fn at_path<'a>(&'a self, path: &'a str, limit: usize)
    -> StoreFuture<'a, (Vec<PathEntry>, u64)>;

    /// The items whose path starts with a prefix, by path and id, after one of them.
    fn under_path<'a>(
        &'a self,
        prefix: &'a str,
        after: Option<&'a PathEntry>,
        limit: usize,
    ) -> StoreFuture<'a, Vec<PathEntry>>;

    /// The ids of all items, parents before children, level by level and by id.
    fn ids_parents_first(&self) -> StoreFuture<'_, Vec<ItemId>>;

    /// The outgoing links of these items, item by item, ordered by type and target.
    fn links_from<'a>(&'a self, ids: &'a [ItemId]) -> StoreFuture<'a, Vec<Link>>;

    /// The kept events of these items, item by item, ordered by time, user and kind.
    fn events_of<'a>(&'a self, ids: &'a [ItemId]) -> StoreFuture<'a, Vec<Event>>;

    /// A named document.
    fn record<'a>(
        &'a self,
        document_kind: DocumentKind,
        name: &'a str,
    ) -> StoreFuture<'a, Option<Record>>;

    /// The names of the documents of one kind, in order, after a name.
    fn records<'a>(
        &'a self,
        document_kind: DocumentKind,
        after: Option<&'a str>,
        limit: usize,
    ) -> StoreFuture<'a, Vec<String>>;
}
