//! State that the writer and all readers share: the published state and the snapshots in use.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, RwLock, Weak};

use haversack_core::embed::Model;
use haversack_core::ids::ItemId;
use haversack_core::query::FieldRole;

use super::catalogue::{Catalogue, Readable, ReaderLists};
use super::cleaner::Cleaner;
use super::health::StoreHealth;
use super::reader_caches::ReaderCaches;
use super::records::{ConnectionPool, filter, lookup};
use super::resources::Resources;
use super::row::{Bitmap, Row};
use super::text::{TextReader, VisibleRows};
use super::vectors::VectorReader;
use super::writer_queue::WriterQueue;
use crate::kinds::Kinds;
use crate::prepare::SharedEmbedder;
use crate::revision::{Revision, StateToken};
use crate::store::error::{CommitError, ReadError};
use crate::store::query::{FactFilter, Filter};
use crate::store::viewer::Viewer;

/// Viewers whose readable rows are cached per state.
const VIEWERS_MAX: usize = 64;

/// Filters whose rows are cached per state.
const FILTERS_MAX: usize = 64;

/// Item ids cached by row, about 20 MB; the cache is cleared when it is full.
const NAMES_MAX: usize = 300_000;

/// What a cached item id takes, roughly, and a cached filter beside its rows.
const NAME_BYTES: usize = 70;
const FILTER_BYTES: usize = 512;

/// The handles and caches that the writer and all readers of a workspace share.
#[derive(Debug)]
pub(crate) struct StoreHandles {
    pub(crate) folder: PathBuf,
    pub(crate) pool: ConnectionPool,
    pub(crate) kinds: Arc<Kinds>,
    /// The change of model that is running.
    model_change: Mutex<Option<ModelChange>>,
    state: RwLock<Arc<PublishedState>>,
    /// Activity counters by list of readers; see [`StoreHandles::bump_activity`].
    activity: Mutex<BTreeMap<u32, u64>>,
    /// The number of open snapshots per revision.
    watched: Mutex<BTreeMap<Revision, usize>>,
    /// Cached item ids by row. A row never changes its item, so entries are never stale.
    names: Mutex<HashMap<Row, ItemId>>,
    pub(crate) health: StoreHealth,
    /// The queue of the writer, and whether the text index waits there to be examined.
    writer: OnceLock<Weak<WriterQueue>>,
    text_suspected: AtomicBool,
    /// The caches of this and other workspaces.
    caches: Arc<ReaderCaches>,
    /// What removes from files what removals left behind.
    pub(crate) cleaner: Arc<Cleaner>,
    last_use: AtomicU64,
}

/// An embedding model as a workspace uses it.
#[derive(Debug)]
pub(crate) struct EmbeddingModel {
    /// Its key in the `models` table.
    pub(crate) number: i64,
    pub(crate) embedder: SharedEmbedder,
}

/// A change of model that is running.
#[derive(Debug)]
struct ModelChange {
    to: Model,
    /// The new model, once all stored texts have its vectors: writes then bring both vectors, or
    /// a busy workspace would never be ready to switch.
    embeds_writes: Option<Arc<EmbeddingModel>>,
}

/// The state after one commit, with caches of what readers derive from it.
#[derive(Debug)]
pub(crate) struct PublishedState {
    pub(crate) revision: Revision,
    pub(crate) catalogue: Catalogue,
    /// The model of new texts and queries; it made the vectors, unless they are stale.
    pub(crate) model: Arc<EmbeddingModel>,
    text: TextSnapshot,
    pub(crate) vectors: VectorSnapshot,
    seen: Mutex<Vec<(Viewer, Visibility)>>,
    filters: Mutex<Vec<(Filter, Option<Arc<Bitmap>>)>>,
    not_active: OnceLock<Bitmap>,
}

/// The part of a state that one viewer may read.
#[derive(Debug, Clone)]
pub(crate) struct Visibility {
    pub(crate) visible: Arc<VisibleRows>,
    /// The reader lists that include the viewer.
    pub(crate) lists: Arc<ReaderLists>,
    /// The token that identifies the state to this viewer.
    pub(crate) token: StateToken,
}

impl Visibility {
    pub(crate) fn new(catalogue: &Catalogue, viewer: &Viewer) -> Visibility {
        let Readable { rows, lists, token } = catalogue.readable(viewer);
        Visibility { visible: Arc::new(VisibleRows::new(rows)), lists: Arc::new(lists), token }
    }
}

/// The vector index as readers see it: searchable, or built with another model.
#[derive(Debug, Clone)]
pub(crate) enum VectorSnapshot {
    Ready(VectorReader),
    /// The stored vectors were made by this model, not the one in use.
    Stale(Model),
}

/// The text index as readers see it: searchable, or being rebuilt.
#[derive(Debug, Clone)]
pub(crate) enum TextSnapshot {
    Ready(TextReader),
    Rebuilding,
}

impl StoreHandles {
    pub(crate) fn new(
        folder: PathBuf,
        kinds: Arc<Kinds>,
        state: PublishedState,
        resources: &Resources,
    ) -> Arc<StoreHandles> {
        let pool = ConnectionPool::new(&folder, Arc::clone(&resources.spare_connections));
        let (caches, last_use) = (Arc::clone(&resources.reader_caches), AtomicU64::new(0));
        let (state, watched) = (RwLock::new(Arc::new(state)), Mutex::default());
        let (activity, names, model_change) =
            (Mutex::default(), Mutex::default(), Mutex::default());
        let health = StoreHealth::default();
        let (writer, text_suspected) = (OnceLock::new(), AtomicBool::new(false));
        let handles = Arc::new(StoreHandles {
            folder,
            pool,
            kinds,
            model_change,
            state,
            activity,
            watched,
            names,
            health,
            writer,
            text_suspected,
            caches,
            cleaner: Arc::clone(&resources.cleaner),
            last_use,
        });
        handles.caches.register(&handles);
        handles
    }

    /// Sets the queue of the writer.
    pub(crate) fn set_writer(&self, queue: Weak<WriterQueue>) {
        // A workspace has one writer, which is set once.
        let _ = self.writer.set(queue);
    }

    /// Has the writer examine the text index, because reading it failed.
    pub(crate) fn suspect_text(&self) {
        if self.text_suspected.swap(true, Ordering::AcqRel) {
            return;
        }
        let queue = self.writer.get().and_then(Weak::upgrade);
        if !queue.is_some_and(|queue| queue.repair_in_background()) {
            // The next failed read tries again.
            self.text_suspected.store(false, Ordering::Release);
        }
    }

    /// Whether the text index waits to be examined.
    pub(crate) fn is_text_suspected(&self) -> bool {
        self.text_suspected.load(Ordering::Acquire)
    }

    /// Accepts that the text index is examined again after this.
    pub(crate) fn trust_text(&self) {
        self.text_suspected.store(false, Ordering::Release);
    }

    /// The number of the last use; see [`ReaderCaches::next_use`].
    pub(crate) fn last_use(&self) -> u64 {
        self.last_use.load(Ordering::Relaxed)
    }

    /// The bytes of what readers have derived, roughly.
    pub(crate) fn cache_bytes(&self) -> usize {
        let state = Arc::clone(&self.state.read().unwrap_or_else(PoisonError::into_inner));
        lock(&self.names).len() * NAME_BYTES + state.cache_bytes()
    }

    /// Forgets what readers have derived. Those that are reading keep what they have.
    pub(crate) fn clear_caches(&self) {
        let state = Arc::clone(&self.state.read().unwrap_or_else(PoisonError::into_inner));
        lock(&state.seen).clear();
        lock(&state.filters).clear();
        *lock(&self.names) = HashMap::new();
    }

    /// The model of the latest state.
    pub(crate) fn model(&self) -> Arc<EmbeddingModel> {
        Arc::clone(&self.state.read().unwrap_or_else(PoisonError::into_inner).model)
    }

    /// Starts a change of model, which ends when the guard is dropped.
    pub(crate) fn begin_model_change(
        &self,
        to: &Model,
    ) -> Result<ModelChangeGuard<'_>, CommitError> {
        let mut running = lock(&self.model_change);
        if let Some(running) = &*running {
            return Err(CommitError::ModelChanging { to: running.to.clone() });
        }
        *running = Some(ModelChange { to: to.clone(), embeds_writes: None });
        Ok(ModelChangeGuard { shared: self })
    }

    /// The model that embeds writes beside the one in use, if the workspace is about to switch.
    pub(crate) fn next_model(&self) -> Option<Arc<EmbeddingModel>> {
        lock(&self.model_change).as_ref()?.embeds_writes.clone()
    }

    /// Raises the activity counters of these lists. Call it after the commit: a reader that sees
    /// the new number must find the events.
    pub(crate) fn bump_activity<'l>(&self, noted: impl Iterator<Item = &'l u32>) {
        let mut activity = lock(&self.activity);
        for list in noted {
            *activity.entry(*list).or_insert(0) += 1;
        }
    }

    /// The sum of the activity counters of these lists.
    pub(crate) fn activity(&self, lists: &ReaderLists) -> u64 {
        let activity = lock(&self.activity);
        activity.iter().filter(|(list, _)| lists.contains(list)).map(|(_, count)| count).sum()
    }

    /// The item ids of rows, in their order; `None` for a row that is no longer in the store.
    pub(crate) fn item_ids(&self, rows: &[Row]) -> Result<Vec<Option<ItemId>>, ReadError> {
        let known = lock(&self.names);
        let mut names: Vec<Option<ItemId>> =
            rows.iter().map(|row| known.get(row).cloned()).collect();
        drop(known);
        if names.iter().all(Option::is_some) {
            return Ok(names);
        }
        self.pool.read(|connection| {
            for (name, row) in names.iter_mut().zip(rows).filter(|(name, _)| name.is_none()) {
                *name = lookup::id_of(connection, *row)?;
            }
            Ok(())
        })?;
        let mut known = lock(&self.names);
        if known.len() + rows.len() > NAMES_MAX {
            known.clear();
        }
        for (name, row) in names.iter().zip(rows) {
            known.extend(name.clone().map(|name| (*row, name)));
        }
        drop(known);
        self.caches.note_addition();
        Ok(names)
    }

    /// Removes purged rows from the id cache.
    pub(crate) fn forget_item_ids(&self, rows: &[Row]) {
        let mut known = lock(&self.names);
        for row in rows {
            known.remove(row);
        }
    }

    /// The latest state. Its history is kept until the returned guard is dropped.
    pub(crate) fn watch(self: &Arc<StoreHandles>) -> WatchedState {
        // Taken under this lock, so that the horizon cannot move past the state in between.
        let mut watched = lock(&self.watched);
        let state = Arc::clone(&self.state.read().unwrap_or_else(PoisonError::into_inner));
        *watched.entry(state.revision).or_insert(0) += 1;
        drop(watched);
        self.last_use.store(self.caches.next_use(), Ordering::Relaxed);
        WatchedState { shared: Arc::clone(self), revision: state.revision, state }
    }

    /// Makes a state current for new readers.
    pub(crate) fn publish(&self, state: PublishedState) {
        *self.state.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(state);
    }

    /// Whether a snapshot is open or the model is being changed.
    pub(crate) fn is_in_use(&self) -> bool {
        !lock(&self.watched).is_empty() || lock(&self.model_change).is_some()
    }

    /// The oldest revision that a snapshot still uses; older versions may be trimmed.
    pub(crate) fn horizon(&self) -> Revision {
        let watched = lock(&self.watched);
        let now = self.state.read().unwrap_or_else(PoisonError::into_inner).revision;
        watched.keys().next().map_or(now, |oldest| now.min(*oldest))
    }
}

impl PublishedState {
    pub(crate) fn new(
        revision: Revision,
        catalogue: Catalogue,
        model: Arc<EmbeddingModel>,
        (text, vectors): (TextSnapshot, VectorSnapshot),
    ) -> PublishedState {
        let (seen, filters) = (Mutex::default(), Mutex::default());
        let not_active = OnceLock::new();
        PublishedState { revision, catalogue, model, text, vectors, seen, filters, not_active }
    }

    /// The text index, if it is searchable now.
    pub(crate) fn text(&self) -> Result<&TextReader, ReadError> {
        match &self.text {
            TextSnapshot::Ready(text) => Ok(text),
            TextSnapshot::Rebuilding => Err(ReadError::Rebuilding),
        }
    }

    /// Rows of any revision whose item is inactive.
    pub(crate) fn inactive_rows(&self, pool: &ConnectionPool) -> Result<&Bitmap, ReadError> {
        if let Some(known) = self.not_active.get() {
            return Ok(known);
        }
        let rows = pool.read(lookup::inactive_rows)?;
        Ok(self.not_active.get_or_init(|| rows))
    }

    fn cache_bytes(&self) -> usize {
        let seen: usize = lock(&self.seen).iter().map(|(_, seen)| seen.visible.bytes()).sum();
        let rows = |rows: &Option<Arc<Bitmap>>| rows.as_ref().map_or(0, |rows| rows.bytes());
        let filters = lock(&self.filters);
        seen + filters.iter().map(|(_, passing)| FILTER_BYTES + rows(passing)).sum::<usize>()
    }

    /// The visibility of this state for a viewer, cached.
    fn visibility_of(&self, shared: &StoreHandles, viewer: &Viewer) -> Visibility {
        if let Some((_, seen)) = lock(&self.seen).iter().find(|(who, _)| who == viewer) {
            return seen.clone();
        }
        let seen = Visibility::new(&self.catalogue, viewer);
        let mut known = lock(&self.seen);
        if known.len() >= VIEWERS_MAX {
            known.remove(0);
        }
        known.push((viewer.clone(), seen.clone()));
        drop(known);
        shared.caches.note_addition();
        seen
    }

    /// Rows of any revision that pass a filter, regardless of permissions; `None` when all pass.
    pub(crate) fn rows_passing(
        &self,
        shared: &StoreHandles,
        wanted: &Filter,
    ) -> Result<Option<Arc<Bitmap>>, ReadError> {
        let known = lock(&self.filters).iter().find(|(known, _)| known == wanted).cloned();
        if let Some((_, rows)) = known {
            return Ok(rows);
        }
        let references = shared.kinds.references();
        let rows =
            shared.pool.read(|connection| filter::rows_passing(connection, references, wanted))?;
        let rows = rows.map(Arc::new);
        // Relation filters name a single item and would evict the filters that repeat.
        let by_relation =
            |fact: &FactFilter| matches!(fact, FactFilter::OneOf(FieldRole::Relation, _));
        if wanted.facts.iter().any(by_relation) {
            return Ok(rows);
        }
        let mut known = lock(&self.filters);
        if known.len() >= FILTERS_MAX {
            known.remove(0);
        }
        known.push((wanted.clone(), rows.clone()));
        drop(known);
        shared.caches.note_addition();
        Ok(rows)
    }
}

/// A guard on the one change of model that may run.
#[derive(Debug)]
pub(crate) struct ModelChangeGuard<'a> {
    shared: &'a StoreHandles,
}

impl ModelChangeGuard<'_> {
    /// Has writes embedded by the new model, too.
    pub(crate) fn embed_writes(&self, model: &Arc<EmbeddingModel>) {
        if let Some(change) = lock(&self.shared.model_change).as_mut() {
            change.embeds_writes = Some(Arc::clone(model));
        }
    }
}

impl Drop for ModelChangeGuard<'_> {
    fn drop(&mut self) {
        *lock(&self.shared.model_change) = None;
    }
}

/// A guard on a state: its history is kept until the guard is dropped.
#[derive(Debug)]
pub(crate) struct WatchedState {
    pub(crate) shared: Arc<StoreHandles>,
    pub(crate) state: Arc<PublishedState>,
    revision: Revision,
}

impl WatchedState {
    /// The visibility of the state for a viewer, cached.
    pub(crate) fn visibility_of(&self, viewer: &Viewer) -> Visibility {
        self.state.visibility_of(&self.shared, viewer)
    }
}

impl Drop for WatchedState {
    fn drop(&mut self) {
        let mut watched = lock(&self.shared.watched);
        if let Some(count) = watched.get_mut(&self.revision) {
            *count -= 1;
            if *count == 0 {
                watched.remove(&self.revision);
            }
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Guarded values are consistent after every statement, so a poisoned lock is safe to use.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
