//! A second implementation of the store's traits: it passes every call on and records its name. The
//! engine's tests run on it, so nothing in the engine can depend on which store it works on.

#![expect(clippy::needless_lifetimes, reason = "one macro writes all methods")]

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::{Arc, Mutex};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use haversack::{Builder, Engine, Error, Request};
use haversack_core::embed::Embedder;
use haversack_core::ids::{CandidateId, ItemId};
use haversack_core::query::FieldRole;
use haversack_core::units::Timestamp;
use haversack_store::DataFolder;
use haversack_store::kinds::Kinds;
use haversack_store::revision::{Revision, StateToken};
use haversack_store::store::change::{Batch, Committed, Undone};
use haversack_store::store::error::{CommitError, OpenError};
use haversack_store::store::item::{
    Crumb, DocumentKind, Event, EventKind, Link, Passage, PathEntry, Record, Stored, Version,
};
use haversack_store::store::maintenance::{CheckReport, Maintenance, Progress, Stats, Stores};
use haversack_store::store::query::{
    Descendants, Descent, Direction, Excerpt, Filter, Frequencies, FuzzySearch, Hit, Linked,
    Neighbours, Page, TextSearch, TreeDistance, Usage, VectorSearch,
};
use haversack_store::store::viewer::Viewer;
use haversack_store::store::{Answer, Snapshot, Store};

/// The names of methods that were called.
type Calls = Arc<Mutex<BTreeSet<&'static str>>>;

/// The stores of a data folder, behind the wrapper.
#[derive(Debug)]
struct RecordingStores {
    inner: DataFolder,
    calls: Calls,
}

struct RecordingStore {
    inner: Arc<dyn Maintenance>,
    calls: Calls,
}

struct RecordingSnapshot {
    inner: Arc<dyn Snapshot>,
    calls: Calls,
}

/// Passes methods on to the inner store, with a note of each.
macro_rules! pass_on {
    ($($name:ident($($argument:ident: $type:ty),*) -> $output:ty;)*) => {$(
        fn $name<'a>(&'a self, $($argument: $type),*) -> $output {
            self.calls.lock().unwrap().insert(stringify!($name));
            self.inner.$name($($argument),*)
        }
    )*};
}

impl RecordingStores {
    fn wrap(&self, inner: Arc<dyn Maintenance>) -> Arc<dyn Maintenance> {
        Arc::new(RecordingStore { inner, calls: Arc::clone(&self.calls) })
    }
}

impl Stores for RecordingStores {
    fn open(
        &self,
        name: &str,
        embedder: Arc<dyn Embedder>,
    ) -> Result<Arc<dyn Maintenance>, OpenError> {
        Ok(self.wrap(self.inner.open(name, embedder)?))
    }

    fn open_existing(
        &self,
        name: &str,
        embedder: Arc<dyn Embedder>,
    ) -> Result<Arc<dyn Maintenance>, OpenError> {
        Ok(self.wrap(self.inner.open_existing(name, embedder)?))
    }

    fn names(&self) -> Result<Vec<String>, OpenError> {
        self.inner.names()
    }

    fn remove(&self, name: &str) -> Result<(), OpenError> {
        Stores::remove(&self.inner, name)
    }

    fn kinds(&self) -> &Arc<Kinds> {
        self.inner.kinds()
    }
}

impl RecordingStore {
    fn wrap<'a>(
        &'a self,
        snapshot: Answer<'a, Arc<dyn Snapshot>>,
    ) -> Answer<'a, Arc<dyn Snapshot>> {
        let calls = Arc::clone(&self.calls);
        async move {
            let inner = snapshot.await?;
            Ok(Arc::new(RecordingSnapshot { inner, calls }) as Arc<dyn Snapshot>)
        }
        .boxed()
    }
}

impl Store for RecordingStore {
    pass_on! {
        write(batch: Batch) -> BoxFuture<'a, Result<Committed, CommitError>>;
        undo(origin: &'a str, at: Timestamp) -> BoxFuture<'a, Result<Undone, CommitError>>;
        embedder() -> &'a Arc<dyn Embedder>;
        kinds() -> &'a Arc<Kinds>;
    }

    fn snapshot<'a>(&'a self, viewer: &'a Viewer) -> Answer<'a, Arc<dyn Snapshot>> {
        self.wrap(self.inner.snapshot(viewer))
    }

    fn as_of<'a>(&'a self, viewer: &'a Viewer, moment: Timestamp) -> Answer<'a, Arc<dyn Snapshot>> {
        self.wrap(self.inner.as_of(viewer, moment))
    }

    fn at<'a>(&'a self, viewer: &'a Viewer, revision: Revision) -> Answer<'a, Arc<dyn Snapshot>> {
        self.wrap(self.inner.at(viewer, revision))
    }

    fn named_state<'a>(
        &'a self,
        viewer: &'a Viewer,
        token: StateToken,
    ) -> Answer<'a, Arc<dyn Snapshot>> {
        self.wrap(self.inner.named_state(viewer, token))
    }
}

impl Maintenance for RecordingStore {
    fn for_blocking_threads(&self) -> Arc<dyn Maintenance> {
        let (inner, calls) = (self.inner.for_blocking_threads(), Arc::clone(&self.calls));
        Arc::new(RecordingStore { inner, calls })
    }

    pass_on! {
        repaired() -> &'a [String];
        stats() -> Answer<'a, Stats>;
        check(repair: bool) -> BoxFuture<'a, Result<CheckReport, CommitError>>;
        reembed(progress: &'a mut (dyn FnMut(Progress) + Send)) -> BoxFuture<'a, Result<Progress, CommitError>>;
        backup(folder: &'a Path) -> BoxFuture<'a, Result<(), OpenError>>;
        close() -> BoxFuture<'a, ()>;
    }
}

impl Snapshot for RecordingSnapshot {
    fn excerpts(&self, passages: &[&Passage], query: &str, characters_max: usize) -> Vec<Excerpt> {
        self.inner.excerpts(passages, query, characters_max)
    }

    pass_on! {
        revision() -> Revision;
        token() -> StateToken;
        history_is_whole() -> bool;
        kinds() -> &'a Arc<Kinds>;
        get(ids: &'a [ItemId]) -> Answer<'a, Vec<Option<Stored>>>;
        are_there(ids: &'a [ItemId]) -> Answer<'a, Vec<bool>>;
        list(filter: &'a Filter, page: &'a Page) -> Answer<'a, Vec<Stored>>;
        count(filter: &'a Filter) -> Answer<'a, u64>;
        text(search: &'a TextSearch) -> Answer<'a, Vec<Hit>>;
        vector(search: &'a VectorSearch) -> Answer<'a, Vec<Hit>>;
        fuzzy(search: &'a FuzzySearch) -> Answer<'a, Vec<Hit>>;
        named(keys: &'a [String], filter: &'a Filter, most: usize) -> Answer<'a, Vec<Vec<CandidateId>>>;
        frequencies(text: &'a str) -> Answer<'a, Frequencies>;
        have_facts(facts: &'a [(FieldRole, String)]) -> Answer<'a, Vec<bool>>;
        passages(ids: &'a [CandidateId]) -> Answer<'a, Vec<Option<Passage>>>;
        ancestors(id: &'a ItemId, limit: usize) -> Answer<'a, Vec<Stored>>;
        trails(ids: &'a [ItemId]) -> Answer<'a, Vec<Vec<Crumb>>>;
        children(id: &'a ItemId, limit: usize) -> Answer<'a, Vec<Stored>>;
        descendants(id: &'a ItemId, descent: &'a Descent) -> Answer<'a, Descendants>;
        siblings(id: &'a ItemId, either_side: usize) -> Answer<'a, (Vec<Stored>, Vec<Stored>)>;
        beside(ids: &'a [ItemId]) -> Answer<'a, Vec<Vec<ItemId>>>;
        linked(id: &'a ItemId, direction: Direction, sorts: &'a [String], limit: usize) -> Answer<'a, Vec<Linked>>;
        neighbours(ids: &'a [ItemId], sorts: &'a [String], limit: usize) -> Answer<'a, Vec<Neighbours>>;
        distances(from: &'a ItemId, to: &'a [ItemId]) -> Answer<'a, Vec<TreeDistance>>;
        activity() -> u64;
        recent(user: &'a str, event_kind: EventKind, since: Timestamp, until: Option<Timestamp>, limit: usize) -> Answer<'a, Vec<Usage>>;
        usage(ids: &'a [ItemId], user: Option<&'a str>, until: Option<Timestamp>) -> Answer<'a, Vec<Usage>>;
        history(id: &'a ItemId) -> Answer<'a, Vec<Version>>;
        at_path(path: &'a str, limit: usize) -> Answer<'a, (Vec<PathEntry>, u64)>;
        under_path(prefix: &'a str, after: Option<&'a PathEntry>, limit: usize) -> Answer<'a, Vec<PathEntry>>;
        ids_parents_first() -> Answer<'a, Vec<ItemId>>;
        links_from(ids: &'a [ItemId]) -> Answer<'a, Vec<Link>>;
        events_of(ids: &'a [ItemId]) -> Answer<'a, Vec<Event>>;
        record(document_kind: DocumentKind, name: &'a str) -> Answer<'a, Option<Record>>;
        records(document_kind: DocumentKind, after: Option<&'a str>, limit: usize) -> Answer<'a, Vec<String>>;
    }
}

/// Opens engines on the wrapper.
pub(crate) trait OpenRecorded {
    fn open_recorded(self, folder: impl AsRef<Path>) -> Result<Engine, Error>;
}

impl OpenRecorded for Builder {
    fn open_recorded(self, folder: impl AsRef<Path>) -> Result<Engine, Error> {
        self.open_on(Arc::new(recorded(folder.as_ref())?))
    }
}

fn recorded(folder: &Path) -> Result<RecordingStores, Error> {
    Ok(RecordingStores { inner: DataFolder::open(folder)?, calls: Calls::default() })
}

#[tokio::test]
async fn packs_of_every_application_are_made_through_the_traits_alone() {
    let folder = tempfile::tempdir().unwrap();
    let stores = recorded(folder.path()).unwrap();
    let calls = Arc::clone(&stores.calls);
    let engine = Engine::builder().clock(crate::support::now).open_on(Arc::new(stores)).unwrap();
    let questions = [
        ("proposal", "Write the executive summary of our proposal for the hospital board"),
        ("prime", "What does the cost model say?"),
        ("workspace", "Which tasks of the launch are open?"),
        ("situation", "deploy the release to production"),
        ("memory", "What does she like to drink?"),
    ];
    for (name, question) in questions {
        let workspace = engine.workspace(name).unwrap();
        crate::support::import_sample(&workspace, name);
        let pack = workspace.pack(Request::new("everything", question)).await.unwrap();
        assert!(!pack.text().is_empty(), "{name}");
        workspace.settle().await;
    }
    let calls = calls.lock().unwrap().clone();
    for expected in ["write", "text", "vector", "passages", "frequencies", "neighbours", "record"] {
        assert!(calls.contains(expected), "{expected} is not among {calls:?}");
    }
}
