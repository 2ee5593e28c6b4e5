//! What is shared by the writer and all readers: the published state and who looks at which.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, RwLock};

use haversack_core::embed::Model;
use haversack_core::ids::ItemId;

use super::catalogue::Catalogue;
use super::records::{Pool, filter, lookup};
use super::row::{Bitmap, Row};
use super::text::{TextReader, Visible};
use super::vectors::VectorReader;
use crate::prepare::SharedEmbedder;
use crate::revision::Revision;
use crate::store::error::ReadError;
use crate::store::query::Filter;
use crate::store::viewer::Viewer;

/// Viewers whose readable rows are remembered for one state.
const VIEWERS_MAX: usize = 64;

/// Filters whose rows are remembered for one state.
const FILTERS_MAX: usize = 64;

/// Names of rows that are remembered, some 20 MB; then all are forgotten and it starts over.
const NAMES_MAX: usize = 300_000;

/// What readers and writer share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) folder: PathBuf,
    pub(crate) pool: Pool,
    pub(crate) embedder: SharedEmbedder,
    /// The number of the embedder's model in the tables.
    pub(crate) model: i64,
    state: RwLock<Arc<State>>,
    /// A number that rises with events; see [`Shared::stir`].
    activity: AtomicU64,
    /// How many snapshots look at each state.
    watched: Mutex<BTreeMap<Revision, usize>>,
    /// Names of rows that were found. A row never changes its name, so this is never wrong.
    names: Mutex<HashMap<Row, ItemId>>,
}

/// One published state.
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) revision: Revision,
    pub(crate) catalogue: Catalogue,
    pub(crate) text: TextReader,
    pub(crate) vectors: Vectored,
    visible: Mutex<Vec<(Viewer, Arc<Visible>)>>,
    filters: Mutex<Vec<(Filter, Option<Arc<Bitmap>>)>>,
    not_active: OnceLock<Bitmap>,
}

/// Vectors, or why there are none to search.
#[derive(Debug, Clone)]
pub(crate) enum Vectored {
    Ready(VectorReader),
    /// The vectors are of this other model.
    Stale(Model),
}

impl Shared {
    pub(crate) fn new(
        folder: PathBuf,
        embedder: SharedEmbedder,
        (model, activity): (i64, u64),
        state: State,
    ) -> Shared {
        let pool = Pool::new(&folder);
        let (state, watched) = (RwLock::new(Arc::new(state)), Mutex::default());
        let (activity, names) = (AtomicU64::new(activity), Mutex::default());
        Shared { folder, pool, embedder, model, state, activity, watched, names }
    }

    /// Says that this many events were noted that tell what people do. To be called after they were
    /// committed: who sees the new number must find the events.
    pub(crate) fn stir(&self, events: u64) {
        self.activity.fetch_add(events, Ordering::Release);
    }

    /// The names of rows, in their order; `None` for what is no longer in the store.
    pub(crate) fn names(&self, rows: &[Row]) -> Result<Vec<Option<ItemId>>, ReadError> {
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
        Ok(names)
    }

    /// Forgets the names of rows that were purged.
    pub(crate) fn forget(&self, rows: &[Row]) {
        let mut known = lock(&self.names);
        for row in rows {
            known.remove(row);
        }
    }

    /// The latest state, watched until the guard goes.
    pub(crate) fn watch(self: &Arc<Shared>) -> Watched {
        // Under the lock of the watched, so that the horizon cannot pass in between.
        let mut watched = lock(&self.watched);
        let state = Arc::clone(&self.state.read().unwrap_or_else(PoisonError::into_inner));
        *watched.entry(state.revision).or_insert(0) += 1;
        drop(watched);
        let (revision, activity) = (state.revision, self.activity.load(Ordering::Acquire));
        Watched { shared: Arc::clone(self), revision, state, activity }
    }

    /// Makes a state the one that new readers see.
    pub(crate) fn publish(&self, state: State) {
        *self.state.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(state);
    }

    /// No reader looks at states before this one.
    pub(crate) fn horizon(&self) -> Revision {
        let watched = lock(&self.watched);
        let now = self.state.read().unwrap_or_else(PoisonError::into_inner).revision;
        watched.keys().next().map_or(now, |oldest| now.min(*oldest))
    }
}

impl State {
    pub(crate) fn new(
        revision: Revision,
        catalogue: Catalogue,
        text: TextReader,
        vectors: Vectored,
    ) -> State {
        let (visible, filters) = (Mutex::default(), Mutex::default());
        let not_active = OnceLock::new();
        State { revision, catalogue, text, vectors, visible, filters, not_active }
    }

    /// Rows of any time that are not in use.
    pub(crate) fn not_active(&self, pool: &Pool) -> Result<&Bitmap, ReadError> {
        if let Some(known) = self.not_active.get() {
            return Ok(known);
        }
        let rows = pool.read(lookup::not_active)?;
        Ok(self.not_active.get_or_init(|| rows))
    }

    /// What a viewer may read in this state.
    pub(crate) fn visible(&self, viewer: &Viewer) -> Arc<Visible> {
        if let Some((_, visible)) = lock(&self.visible).iter().find(|(who, _)| who == viewer) {
            return Arc::clone(visible);
        }
        let visible = Arc::new(Visible::new(self.catalogue.readable(viewer)));
        let mut known = lock(&self.visible);
        if known.len() >= VIEWERS_MAX {
            known.remove(0);
        }
        known.push((viewer.clone(), Arc::clone(&visible)));
        visible
    }

    /// Rows of any time that pass a filter, whoever may read them; `None` when all do.
    pub(crate) fn passing(
        &self,
        pool: &Pool,
        wanted: &Filter,
    ) -> Result<Option<Arc<Bitmap>>, ReadError> {
        let known = lock(&self.filters).iter().find(|(known, _)| known == wanted).cloned();
        if let Some((_, rows)) = known {
            return Ok(rows);
        }
        let rows = pool.read(|connection| filter::passing(connection, wanted))?.map(Arc::new);
        let mut known = lock(&self.filters);
        if known.len() >= FILTERS_MAX {
            known.remove(0);
        }
        known.push((wanted.clone(), rows.clone()));
        Ok(rows)
    }
}

/// A state that history is kept for as long as somebody looks at it.
#[derive(Debug)]
pub(crate) struct Watched {
    pub(crate) shared: Arc<Shared>,
    pub(crate) state: Arc<State>,
    /// The number of activity when it was looked at.
    pub(crate) activity: u64,
    revision: Revision,
}

impl Drop for Watched {
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
    // What is guarded is whole after every statement, so a panic elsewhere has not torn it.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
