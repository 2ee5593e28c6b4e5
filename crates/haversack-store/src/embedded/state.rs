//! What is shared by the writer and all readers: the published state and who looks at which.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, RwLock};

use haversack_core::embed::Model;
use haversack_core::ids::ItemId;
use haversack_core::query::FieldRole;

use super::catalogue::{Catalogue, Lists, Readable};
use super::records::{Pool, filter, lookup};
use super::row::{Bitmap, Row};
use super::text::{TextReader, Visible};
use super::vectors::VectorReader;
use crate::kinds::Kinds;
use crate::prepare::SharedEmbedder;
use crate::revision::{Revision, StateToken};
use crate::store::error::ReadError;
use crate::store::query::{FactFilter, Filter};
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
    pub(crate) kinds: Arc<Kinds>,
    /// The number of the embedder's model in the tables.
    pub(crate) model: i64,
    state: RwLock<Arc<State>>,
    /// Numbers that rise with events, by list of readers; see [`Shared::stir`].
    activity: Mutex<BTreeMap<u32, u64>>,
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
    seen: Mutex<Vec<(Viewer, Seen)>>,
    filters: Mutex<Vec<(Filter, Option<Arc<Bitmap>>)>>,
    not_active: OnceLock<Bitmap>,
}

/// What a viewer may see of a state.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    pub(crate) visible: Arc<Visible>,
    /// The lists of readers that the viewer is on.
    pub(crate) lists: Arc<Lists>,
    /// The viewer's name for the state.
    pub(crate) token: StateToken,
}

impl Seen {
    pub(crate) fn new(catalogue: &Catalogue, viewer: &Viewer) -> Seen {
        let Readable { rows, lists, token } = catalogue.readable(viewer);
        Seen { visible: Arc::new(Visible::new(rows)), lists: Arc::new(lists), token }
    }
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
        (embedder, model): (SharedEmbedder, i64),
        kinds: Arc<Kinds>,
        state: State,
    ) -> Shared {
        let pool = Pool::new(&folder);
        let (state, watched) = (RwLock::new(Arc::new(state)), Mutex::default());
        let (activity, names) = (Mutex::default(), Mutex::default());
        Shared { folder, pool, embedder, kinds, model, state, activity, watched, names }
    }

    /// Says that something happened to items under these lists. To be called after it was committed:
    /// who sees the new number must find the events.
    pub(crate) fn stir<'l>(&self, noted: impl Iterator<Item = &'l u32>) {
        let mut activity = lock(&self.activity);
        for list in noted {
            *activity.entry(*list).or_insert(0) += 1;
        }
    }

    /// A number that rises with what happens to items under these lists.
    pub(crate) fn activity(&self, lists: &Lists) -> u64 {
        let activity = lock(&self.activity);
        activity.iter().filter(|(list, _)| lists.contains(list)).map(|(_, count)| count).sum()
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
        Watched { shared: Arc::clone(self), revision: state.revision, state }
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
        let (seen, filters) = (Mutex::default(), Mutex::default());
        let not_active = OnceLock::new();
        State { revision, catalogue, text, vectors, seen, filters, not_active }
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
    pub(crate) fn seen(&self, viewer: &Viewer) -> Seen {
        if let Some((_, seen)) = lock(&self.seen).iter().find(|(who, _)| who == viewer) {
            return seen.clone();
        }
        let seen = Seen::new(&self.catalogue, viewer);
        let mut known = lock(&self.seen);
        if known.len() >= VIEWERS_MAX {
            known.remove(0);
        }
        known.push((viewer.clone(), seen.clone()));
        seen
    }

    /// Rows of any time that pass a filter, whoever may read them; `None` when all do.
    pub(crate) fn passing(
        &self,
        shared: &Shared,
        wanted: &Filter,
    ) -> Result<Option<Arc<Bitmap>>, ReadError> {
        let known = lock(&self.filters).iter().find(|(known, _)| known == wanted).cloned();
        if let Some((_, rows)) = known {
            return Ok(rows);
        }
        let references = shared.kinds.references();
        let rows =
            shared.pool.read(|connection| filter::passing(connection, references, wanted))?;
        let rows = rows.map(Arc::new);
        // What names an item in a field is asked for one item; it would drive out what is asked often.
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
        Ok(rows)
    }
}

/// A state that history is kept for as long as somebody looks at it.
#[derive(Debug)]
pub(crate) struct Watched {
    pub(crate) shared: Arc<Shared>,
    pub(crate) state: Arc<State>,
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
