//! The store: what every engine promises, in its own words and types.
//!
//! A store is one workspace. Nothing crosses it. A write is acknowledged when it is durable and
//! searchable. A [`Snapshot`] is one state of the store as one viewer may see it: what the viewer
//! may not read changes no answer, score, count or order. Engines find and list; they do not fuse,
//! rank or know recipes.

pub mod change;
pub mod error;
pub mod item;
pub mod maintenance;
pub mod query;
pub mod viewer;

use std::sync::Arc;

use futures_util::future::BoxFuture;
use haversack_core::embed::{Embedder, Model};
use haversack_core::ids::{CandidateId, ItemId};
use haversack_core::query::FieldRole;
use haversack_core::units::Timestamp;

use self::change::{Batch, Committed, Undone};
use self::error::{CommitError, ReadError};
use self::item::{
    Crumb, DocumentKind, Event, EventKind, Link, Passage, PathEntry, Record, Stored, Version,
};
use self::query::{
    Descendants, Descent, Direction, Excerpt, Filter, Frequencies, FuzzySearch, Hit, Linked,
    Neighbours, Page, TextSearch, TreeDistance, Usage, VectorSearch,
};
use self::viewer::Viewer;
use crate::kinds::Kinds;
use crate::revision::{Revision, StateToken};

/// What a read comes to.
pub type Answer<'a, T> = BoxFuture<'a, Result<T, ReadError>>;

/// Blocks this thread until a future is ready. No runtime is needed for the futures of
/// [`maintenance::Maintenance::for_blocking_threads`].
pub fn wait<T>(future: impl Future<Output = T>) -> T {
    futures_executor::block_on(future)
}

/// One workspace: writes, and snapshots to read from.
pub trait Store: Send + Sync {
    /// Writes a batch, all or nothing. When it returns, the batch is durable and searchable.
    fn write(&self, batch: Batch) -> BoxFuture<'_, Result<Committed, CommitError>>;

    /// Takes back what an import wrote, where nobody has changed it since.
    fn undo<'a>(
        &'a self,
        origin: &'a str,
        at: Timestamp,
    ) -> BoxFuture<'a, Result<Undone, CommitError>>;

    /// The present state, for a viewer.
    fn snapshot<'a>(&'a self, viewer: &'a Viewer) -> Answer<'a, Arc<dyn Snapshot>>;

    /// The state at a moment, for a viewer who may read these items today.
    fn as_of<'a>(&'a self, viewer: &'a Viewer, moment: Timestamp) -> Answer<'a, Arc<dyn Snapshot>>;

    /// The state of a number, for a viewer who may read these items today. The present number is
    /// the present state; one above it is refused.
    fn at<'a>(&'a self, viewer: &'a Viewer, revision: Revision) -> Answer<'a, Arc<dyn Snapshot>>;

    /// The last state that the viewer knows by this name ([`Snapshot::token`]). A name of another
    /// viewer is refused, and so is one of a state that is no longer what it was: items were purged,
    /// versions trimmed, or readers changed.
    fn named_state<'a>(
        &'a self,
        viewer: &'a Viewer,
        token: StateToken,
    ) -> Answer<'a, Arc<dyn Snapshot>>;

    /// The model that embeds new texts and queries.
    fn model(&self) -> &Model {
        self.embedder().model()
    }

    /// What embeds new texts and queries.
    fn embedder(&self) -> &Arc<dyn Embedder>;

    /// The kinds that are known here.
    fn kinds(&self) -> &Arc<Kinds>;
}

/// One state of a workspace as one viewer may see it.
pub trait Snapshot: Send + Sync {
    /// Which state. The number counts what the viewer cannot see, too: only those who see everything
    /// may be told.
    fn revision(&self) -> Revision;

    /// The viewer's own name for the state. It follows from who they are and from what they can read,
    /// items and links, and from nothing else.
    fn token(&self) -> StateToken;

    /// Whether every version of this state is still kept; a state of long ago may miss some.
    fn history_is_whole(&self) -> bool;

    /// The kinds that are known here.
    fn kinds(&self) -> &Arc<Kinds>;

    /// The items of these names, in their order; `None` for what is not there or not readable.
    fn get<'a>(&'a self, ids: &'a [ItemId]) -> Answer<'a, Vec<Option<Stored>>>;

    /// Whether each of these items is there and readable, without reading it.
    fn are_there<'a>(&'a self, ids: &'a [ItemId]) -> Answer<'a, Vec<bool>>;

    /// A page of the items that pass a filter. It has fewer than there are, but one at least, when
    /// their texts and fields have more than [`query::PAGE_BYTES_MAX`] together.
    fn list<'a>(&'a self, filter: &'a Filter, page: &'a Page) -> Answer<'a, Vec<Stored>>;

    /// How many items pass a filter.
    fn count<'a>(&'a self, filter: &'a Filter) -> Answer<'a, u64>;

    /// Chunks that hold the words, best first.
    fn text<'a>(&'a self, search: &'a TextSearch) -> Answer<'a, Vec<Hit>>;

    /// Chunks that mean the same, nearest first.
    fn vector<'a>(&'a self, search: &'a VectorSearch) -> Answer<'a, Vec<Hit>>;

    /// Chunks whose title, path or short text is spelt alike, most similar first.
    fn fuzzy<'a>(&'a self, search: &'a FuzzySearch) -> Answer<'a, Vec<Hit>>;

    /// The first chunks of items whose titles have these keys ([`haversack_core::text::names`]), by
    /// key; none for a key that more than `most` items have.
    fn named<'a>(
        &'a self,
        keys: &'a [String],
        filter: &'a Filter,
        most: usize,
    ) -> Answer<'a, Vec<Vec<CandidateId>>>;

    /// In how many readable chunks the terms of a text occur, in the language that it seems to be in.
    fn frequencies<'a>(&'a self, text: &'a str) -> Answer<'a, Frequencies>;

    /// Whether a readable item has each of these values, in lower case, in a field of that role.
    fn have_facts<'a>(&'a self, facts: &'a [(FieldRole, String)]) -> Answer<'a, Vec<bool>>;

    /// The texts and places of chunks, in their order.
    fn passages<'a>(&'a self, ids: &'a [CandidateId]) -> Answer<'a, Vec<Option<Passage>>>;

    /// The most telling stretch of each passage for a query, with the hits marked.
    fn excerpts(&self, passages: &[&Passage], query: &str, characters_max: usize) -> Vec<Excerpt>;

    /// What an item hangs under, nearest first, up to where the viewer may not read on.
    fn ancestors<'a>(&'a self, id: &'a ItemId, limit: usize) -> Answer<'a, Vec<Stored>>;

    /// What each of these items hangs under, outermost first, beginning where the viewer may read
    /// on; nothing for an item that is not there or not readable.
    fn trails<'a>(&'a self, ids: &'a [ItemId]) -> Answer<'a, Vec<Vec<Crumb>>>;

    /// What hangs under an item, in order.
    fn children<'a>(&'a self, id: &'a ItemId, limit: usize) -> Answer<'a, Vec<Stored>>;

    /// What hangs under an item and is in use, level by level as it stands on a page; what is not read
    /// for the limit is counted.
    fn descendants<'a>(&'a self, id: &'a ItemId, descent: &'a Descent) -> Answer<'a, Descendants>;

    /// The readable neighbours before and after an item under the same parent, in order.
    fn siblings<'a>(
        &'a self,
        id: &'a ItemId,
        either_side: usize,
    ) -> Answer<'a, (Vec<Stored>, Vec<Stored>)>;

    /// What stands right before and right after each of these items under the same parent, unless
    /// that has more than [`query::FAMILY_MAX`] children.
    fn beside<'a>(&'a self, ids: &'a [ItemId]) -> Answer<'a, Vec<Vec<ItemId>>>;

    /// What is linked with an item, by sort of link (all when empty), ordered by sort and id.
    fn linked<'a>(
        &'a self,
        id: &'a ItemId,
        direction: Direction,
        sorts: &'a [String],
        limit: usize,
    ) -> Answer<'a, Vec<Linked>>;

    /// What is linked with each of several items, outward and inward, as [`Snapshot::linked`] has it.
    fn neighbours<'a>(
        &'a self,
        ids: &'a [ItemId],
        sorts: &'a [String],
        limit: usize,
    ) -> Answer<'a, Vec<Neighbours>>;

    /// How far items are from one in the tree; `None` where no readable way leads.
    fn distances<'a>(&'a self, from: &'a ItemId, to: &'a [ItemId])
    -> Answer<'a, Vec<TreeDistance>>;

    /// A number that is another one in snapshots taken after an event was noted of something that the
    /// viewer can read, but for [`EventKind::Used`]: what was answered from events before may be answered so again until it
    /// changes. It means nothing after the store was opened again.
    fn activity(&self) -> u64;

    /// What a user viewed, edited or used since a moment, the latest first. With `until`, what was
    /// noted or written after that moment does not count.
    fn recent<'a>(
        &'a self,
        user: &'a str,
        event_kind: EventKind,
        since: Timestamp,
        until: Option<Timestamp>,
        limit: usize,
    ) -> Answer<'a, Vec<Usage>>;

    /// What happened to items at the hand of one user, or of all when `None`. With `until`, what
    /// was noted after that moment does not count.
    fn usage<'a>(
        &'a self,
        ids: &'a [ItemId],
        user: Option<&'a str>,
        until: Option<Timestamp>,
    ) -> Answer<'a, Vec<Usage>>;

    /// The versions of an item that are kept, the latest first.
    fn history<'a>(&'a self, id: &'a ItemId) -> Answer<'a, Vec<Version>>;

    /// The items at one path, by id and without their texts, and how many there are beyond the limit.
    fn at_path<'a>(&'a self, path: &'a str, limit: usize) -> Answer<'a, (Vec<PathEntry>, u64)>;

    /// The items whose path starts with a prefix, by path and id, after one of them.
    fn under_path<'a>(
        &'a self,
        prefix: &'a str,
        after: Option<&'a PathEntry>,
        limit: usize,
    ) -> Answer<'a, Vec<PathEntry>>;

    /// The ids of all items, parents before children, level by level and by id.
    fn ids_parents_first(&self) -> Answer<'_, Vec<ItemId>>;

    /// The links that start at each of these items, item by item, ordered by type and target.
    fn links_from<'a>(&'a self, ids: &'a [ItemId]) -> Answer<'a, Vec<Link>>;

    /// The events that are kept of each of these items, item by item, ordered by time, user and type.
    fn events_of<'a>(&'a self, ids: &'a [ItemId]) -> Answer<'a, Vec<Event>>;

    /// A named document.
    fn record<'a>(
        &'a self,
        document_kind: DocumentKind,
        name: &'a str,
    ) -> Answer<'a, Option<Record>>;

    /// The names of the documents of one kind, in order, after a name.
    fn records<'a>(
        &'a self,
        document_kind: DocumentKind,
        after: Option<&'a str>,
        limit: usize,
    ) -> Answer<'a, Vec<String>>;
}
