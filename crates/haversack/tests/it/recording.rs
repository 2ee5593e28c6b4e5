//! A second implementation of the store's traits: it passes every call on and records its name. The
//! engine's tests run on it, so nothing in the engine can depend on which store it works on.

#![expect(clippy::needless_lifetimes, reason = "one macro writes all methods")]

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::{Arc, Mutex};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use haversack::{Builder, Engine, Error, Request};
use haversack_core::embed::{Embedder, Model};
use haversack_core::ids::{CandidateId, ItemId};
use haversack_core::query::FieldRole;
use haversack_core::units::Timestamp;
use haversack_store::DataFolder;
use haversack_store::kinds::Kinds;
use haversack_store::revision::{Revision, StateToken};
use haversack_store::store::change::{Batch, CommitReport, RecordedWrite, UndoReport, WriteKey};
use haversack_store::store::error::{CommitError, OpenError};
use haversack_store::store::health::HealthProblem;
use haversack_store::store::item::{
    Breadcrumb, DocumentKind, Event, EventKind, Link, Passage, PathEntry, Record, Stored, Version,
};
use haversack_store::store::journal::Freshness;
use haversack_store::store::maintenance::{
    CheckReport, Maintenance, MaintenanceProgress, StoreStats, Stores, UserItems,
};
use haversack_store::store::query::{
    Descendants, Descent, Direction, Excerpt, Filter, Frequencies, FuzzySearch, Hit, LinkedItem,
    Neighbours, Page, TextSearch, TreeDistance, Usage, VectorSearch,
};
use haversack_store::store::viewer::Viewer;
use haversack_store::store::{Snapshot, Store, StoreFuture};

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

    fn create(
        &self,
        name: &str,
        embedder: Arc<dyn Embedder>,
        first: Batch,
    ) -> Result<Arc<dyn Maintenance>, OpenError> {
        Ok(self.wrap(Stores::create(&self.inner, name, embedder, first)?))
    }

    fn names(&self) -> Result<Vec<String>, OpenError> {
        self.inner.names()
    }

    fn stored_model(&self, name: &str) -> Result<Option<Model>, OpenError> {
        self.inner.stored_model(name)
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
        snapshot: StoreFuture<'a, Arc<dyn Snapshot>>,
    ) -> StoreFuture<'a, Arc<dyn Snapshot>> {
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
        write(batch: Batch) -> BoxFuture<'a, Result<CommitReport, CommitError>>;
        find_write(key: &'a WriteKey) -> StoreFuture<'a, Option<RecordedWrite>>;
        undo(origin: &'a str, at: Timestamp) -> BoxFuture<'a, Result<UndoReport, CommitError>>;
        embedder() -> Arc<dyn Embedder>;
        kinds() -> &'a Arc<Kinds>;
    }

    fn snapshot<'a>(&'a self, viewer: &'a Viewer) -> StoreFuture<'a, Arc<dyn Snapshot>> {
        self.wrap(self.inner.snapshot(viewer))
    }

    fn as_of<'a>(
        &'a self,
        viewer: &'a Viewer,
        moment: Timestamp,
    ) -> StoreFuture<'a, Arc<dyn Snapshot>> {
        self.wrap(self.inner.as_of(viewer, moment))
    }

    fn at_revision<'a>(
        &'a self,
        viewer: &'a Viewer,
        revision: Revision,
    ) -> StoreFuture<'a, Arc<dyn Snapshot>> {
        self.wrap(self.inner.at_revision(viewer, revision))
    }

    fn at_token<'a>(
        &'a self,
        viewer: &'a Viewer,
        token: StateToken,
    ) -> StoreFuture<'a, Arc<dyn Snapshot>> {
        self.wrap(self.inner.at_token(viewer, token))
    }
}

impl Maintenance for RecordingStore {
    fn for_blocking_threads(&self) -> Arc<dyn Maintenance> {
        let (inner, calls) = (self.inner.for_blocking_threads(), Arc::clone(&self.calls));
        Arc::new(RecordingStore { inner, calls })
    }

    fn with_freshness(&self, freshness: Freshness) -> Arc<dyn Maintenance> {
        let (inner, calls) = (self.inner.with_freshness(freshness), Arc::clone(&self.calls));
        Arc::new(RecordingStore { inner, calls })
    }

    pass_on! {
        must_reopen() -> bool;
        repaired() -> &'a [String];
        health() -> Vec<HealthProblem>;
        is_in_use() -> bool;
        stats() -> StoreFuture<'a, StoreStats>;
        check(repair: bool) -> BoxFuture<'a, Result<CheckReport, CommitError>>;
        reembed(progress: &'a mut (dyn FnMut(MaintenanceProgress) + Send)) -> BoxFuture<'a, Result<MaintenanceProgress, CommitError>>;
        change_model(embedder: Arc<dyn Embedder>, progress: &'a mut (dyn FnMut(MaintenanceProgress) + Send)) -> BoxFuture<'a, Result<MaintenanceProgress, CommitError>>;
        user_items(user: &'a str) -> StoreFuture<'a, UserItems>;
        expunge(rewrite: bool) -> BoxFuture<'a, Result<Vec<String>, CommitError>>;
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
        embedder() -> Arc<dyn Embedder>;
        get(ids: &'a [ItemId]) -> StoreFuture<'a, Vec<Option<Stored>>>;
        exist(ids: &'a [ItemId]) -> StoreFuture<'a, Vec<bool>>;
        list(filter: &'a Filter, page: &'a Page) -> StoreFuture<'a, Vec<Stored>>;
        count(filter: &'a Filter) -> StoreFuture<'a, u64>;
        search_text(search: &'a TextSearch) -> StoreFuture<'a, Vec<Hit>>;
        search_vectors(search: &'a VectorSearch) -> StoreFuture<'a, Vec<Hit>>;
        search_fuzzy(search: &'a FuzzySearch) -> StoreFuture<'a, Vec<Hit>>;
        chunks_by_name(keys: &'a [String], filter: &'a Filter, most: usize) -> StoreFuture<'a, Vec<Vec<CandidateId>>>;
        frequencies(text: &'a str) -> StoreFuture<'a, Frequencies>;
        have_facts(facts: &'a [(FieldRole, String)]) -> StoreFuture<'a, Vec<bool>>;
        passages(ids: &'a [CandidateId]) -> StoreFuture<'a, Vec<Option<Passage>>>;
        ancestors(id: &'a ItemId, limit: usize) -> StoreFuture<'a, Vec<Stored>>;
        breadcrumbs(ids: &'a [ItemId]) -> StoreFuture<'a, Vec<Vec<Breadcrumb>>>;
        children(id: &'a ItemId, limit: usize) -> StoreFuture<'a, Vec<Stored>>;
        descendants(id: &'a ItemId, descent: &'a Descent) -> StoreFuture<'a, Descendants>;
        siblings(id: &'a ItemId, either_side: usize) -> StoreFuture<'a, (Vec<Stored>, Vec<Stored>)>;
        adjacent(ids: &'a [ItemId]) -> StoreFuture<'a, Vec<Vec<ItemId>>>;
        linked_items(id: &'a ItemId, direction: Direction, link_types: &'a [String], limit: usize) -> StoreFuture<'a, Vec<LinkedItem>>;
        neighbours(ids: &'a [ItemId], link_types: &'a [String], limit: usize) -> StoreFuture<'a, Vec<Neighbours>>;
        distances(from: &'a ItemId, to: &'a [ItemId]) -> StoreFuture<'a, Vec<TreeDistance>>;
        activity() -> u64;
        recent(user: &'a str, event_kind: EventKind, since: Timestamp, until: Option<Timestamp>, limit: usize) -> StoreFuture<'a, Vec<Usage>>;
        usage(ids: &'a [ItemId], user: Option<&'a str>, until: Option<Timestamp>) -> StoreFuture<'a, Vec<Usage>>;
        history(id: &'a ItemId) -> StoreFuture<'a, Vec<Version>>;
        at_path(path: &'a str, limit: usize) -> StoreFuture<'a, (Vec<PathEntry>, u64)>;
        under_path(prefix: &'a str, after: Option<&'a PathEntry>, limit: usize) -> StoreFuture<'a, Vec<PathEntry>>;
        ids_parents_first() -> StoreFuture<'a, Vec<ItemId>>;
        links_from(ids: &'a [ItemId]) -> StoreFuture<'a, Vec<Link>>;
        events_of(ids: &'a [ItemId]) -> StoreFuture<'a, Vec<Event>>;
        record(document_kind: DocumentKind, name: &'a str) -> StoreFuture<'a, Option<Record>>;
        records(document_kind: DocumentKind, after: Option<&'a str>, limit: usize) -> StoreFuture<'a, Vec<String>>;
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
        workspace.flush().await;
    }
    let calls = calls.lock().unwrap().clone();
    let expected =
        ["write", "embedder", "search_text", "search_vectors", "passages", "neighbours", "record"];
    for expected in expected {
        assert!(calls.contains(expected), "{expected} is not among {calls:?}");
    }
}
