//! The embedded engine as an asynchronous store: blocking work runs on Tokio's blocking threads, a
//! bounded number at a time. A store for blocking threads does small reads on the calling thread.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use haversack_core::embed::Embedder;
use haversack_core::ids::{CandidateId, ItemId};
use haversack_core::query::FieldRole;
use haversack_core::units::Timestamp;
use tokio::sync::{Semaphore, mpsc, oneshot};

use super::engine::EmbeddedStore;
use super::replica::Look;
use super::view::View;
use crate::kinds::Kinds;
use crate::revision::{Revision, StateToken};
use crate::store::change::{Batch, CommitReport, RecordedWrite, UndoReport, WriteKey};
use crate::store::error::{CommitError, OpenError, ReadError};
use crate::store::health::HealthProblem;
use crate::store::item::{
    Breadcrumb, DocumentKind, Event, EventKind, Link, Passage, PathEntry, Record, Stored, Version,
};
use crate::store::journal::{Freshness, JournalSnapshot};
use crate::store::maintenance::{CheckReport, Maintenance, MaintenanceProgress, StoreStats};
use crate::store::query::{
    Descendants, Descent, Direction, Excerpt, Filter, Frequencies, FuzzySearch, Hit, LinkedItem,
    Neighbours, Page, TextSearch, TreeDistance, Usage, VectorSearch,
};
use crate::store::viewer::Viewer;
use crate::store::{Snapshot, Store, StoreFuture};

/// The most reads in flight; further ones wait.
const READS_MAX: usize = 32;

/// The most batches being prepared or committed; further ones wait.
const WRITES_MAX: usize = 32;

/// An embedded workspace as an asynchronous store. It needs a Tokio runtime, unless it is
/// [for blocking threads](Maintenance::for_blocking_threads).
#[derive(Debug, Clone)]
pub struct AsyncStore {
    engine: Arc<EmbeddedStore>,
    read_permits: Arc<Semaphore>,
    write_permits: Arc<Semaphore>,
    may_block: bool,
    freshness: Freshness,
}

impl AsyncStore {
    /// Wraps an embedded workspace.
    #[must_use]
    pub fn new(engine: Arc<EmbeddedStore>) -> AsyncStore {
        let permits = |most| Arc::new(Semaphore::new(most));
        let (read_permits, write_permits) = (permits(READS_MAX), permits(WRITES_MAX));
        let freshness = Freshness::default();
        AsyncStore { engine, read_permits, write_permits, may_block: false, freshness }
    }

    /// Makes the store as fresh as its reads are to be. Returns how old its state may be, if nobody
    /// looked or could look whether other nodes wrote.
    async fn refresh(&self) -> Result<Option<Duration>, ReadError> {
        let Some(link) = self.engine.link() else { return Ok(None) };
        let began = match link.look(self.freshness).await? {
            Look::Current(staleness) => return Ok(staleness),
            Look::Behind { began } => began,
        };
        let (engine, freshness) = (Arc::clone(&self.engine), self.freshness);
        let work = move || engine.catch_up_for(freshness, began);
        if self.may_block { work() } else { offload_read(&self.read_permits, work).await }
    }

    /// Runs a write on this thread if it may block, or on a blocking thread otherwise.
    fn run_write<'a, T: Send + 'static>(
        &self,
        work: impl FnOnce(&EmbeddedStore) -> Result<T, CommitError> + Send + 'static,
    ) -> BoxFuture<'a, Result<T, CommitError>> {
        let engine = Arc::clone(&self.engine);
        if self.may_block {
            return async move { work(&engine) }.boxed();
        }
        let offloaded = offload(Arc::clone(&self.write_permits), move || work(&engine));
        async move {
            offloaded.await.unwrap_or_else(|why| Err(CommitError::Storage { cause: why.into() }))
        }
        .boxed()
    }

    /// Runs a long write; its progress is reported where the future is polled.
    fn run_with_progress<'a>(
        &'a self,
        progress: &'a mut (dyn FnMut(MaintenanceProgress) + Send),
        work: impl FnOnce(
            &EmbeddedStore,
            &mut dyn FnMut(MaintenanceProgress),
        ) -> Result<MaintenanceProgress, CommitError>
        + Send
        + 'static,
    ) -> BoxFuture<'a, Result<MaintenanceProgress, CommitError>> {
        if self.may_block {
            return async move { work(&self.engine, progress) }.boxed();
        }
        let (sender, mut reports) = mpsc::unbounded_channel();
        let done = self.run_write(move |engine| {
            work(engine, &mut |progress| {
                // If the receiver is gone, the caller has dropped the future.
                let _ = sender.send(progress);
            })
        });
        async move {
            let report = async {
                while let Some(report) = reports.recv().await {
                    progress(report);
                }
            };
            futures_util::future::join(done, report).await.0
        }
        .boxed()
    }

    fn take_snapshot<'a>(
        &'a self,
        take_view: impl FnOnce(&EmbeddedStore) -> Result<View, ReadError> + Send + 'static,
    ) -> StoreFuture<'a, Arc<dyn Snapshot>> {
        let (engine, read_permits, may_block) =
            (Arc::clone(&self.engine), Arc::clone(&self.read_permits), self.may_block);
        let take = move |staleness| {
            let view = Arc::new(take_view(&engine)?);
            let snapshot = AsyncSnapshot { view, read_permits, may_block, staleness };
            Ok(Arc::new(snapshot) as Arc<dyn Snapshot>)
        };
        async move {
            let staleness = self.refresh().await?;
            if may_block {
                return take(staleness);
            }
            offload_read(&self.read_permits, move || take(staleness)).await
        }
        .boxed()
    }
}

/// Runs blocking work on a blocking thread; `Err` if it could not finish.
async fn offload<T: Send + 'static>(
    permits: Arc<Semaphore>,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, &'static str> {
    let permit = permits.acquire_owned().await.map_err(|_| "the store is closed")?;
    let done = tokio::task::spawn_blocking(move || {
        let _permit = permit;
        work()
    });
    done.await.map_err(|_| "the work was cancelled or panicked")
}

/// Runs a read on a blocking thread.
fn offload_read<'a, T: Send + 'static>(
    permits: &Arc<Semaphore>,
    work: impl FnOnce() -> Result<T, ReadError> + Send + 'static,
) -> StoreFuture<'a, T> {
    let offloaded = offload(Arc::clone(permits), work);
    async move {
        offloaded.await.unwrap_or_else(|why| Err(ReadError::Storage { cause: why.into() }))
    }
    .boxed()
}

impl Store for AsyncStore {
    fn write(&self, batch: Batch) -> BoxFuture<'_, Result<CommitReport, CommitError>> {
        let engine = Arc::clone(&self.engine);
        self.run_write(move |_| {
            let written = engine.write(batch);
            engine.snapshot_if_due();
            written
        })
    }

    fn find_write<'a>(
        &'a self,
        key: &'a WriteKey,
        now: Timestamp,
    ) -> StoreFuture<'a, Option<RecordedWrite>> {
        let (engine, key) = (Arc::clone(&self.engine), key.clone());
        let work = move || engine.find_write(&key, now);
        async move {
            self.refresh().await?;
            if self.may_block { work() } else { offload_read(&self.read_permits, work).await }
        }
        .boxed()
    }

    fn undo<'a>(
        &'a self,
        origin: &'a str,
        at: Timestamp,
    ) -> BoxFuture<'a, Result<UndoReport, CommitError>> {
        let origin = origin.to_owned();
        async move {
            let fresh = self.refresh().await;
            fresh.map_err(|error| CommitError::Unavailable { cause: error.into() })?;
            self.run_write(move |engine| engine.undo(&origin, at)).await
        }
        .boxed()
    }

    fn snapshot<'a>(&'a self, viewer: &'a Viewer) -> StoreFuture<'a, Arc<dyn Snapshot>> {
        let viewer = viewer.clone();
        self.take_snapshot(move |engine| Ok(engine.view(&viewer)))
    }

    fn as_of<'a>(
        &'a self,
        viewer: &'a Viewer,
        moment: Timestamp,
    ) -> StoreFuture<'a, Arc<dyn Snapshot>> {
        let viewer = viewer.clone();
        self.take_snapshot(move |engine| engine.as_of(&viewer, moment))
    }

    fn at_revision<'a>(
        &'a self,
        viewer: &'a Viewer,
        revision: Revision,
    ) -> StoreFuture<'a, Arc<dyn Snapshot>> {
        let viewer = viewer.clone();
        self.take_snapshot(move |engine| engine.at_revision(&viewer, revision))
    }

    fn at_token<'a>(
        &'a self,
        viewer: &'a Viewer,
        token: StateToken,
    ) -> StoreFuture<'a, Arc<dyn Snapshot>> {
        let viewer = viewer.clone();
        self.take_snapshot(move |engine| engine.at_token(&viewer, token))
    }

    fn embedder(&self) -> Arc<dyn Embedder> {
        self.engine.embedder()
    }

    fn kinds(&self) -> &Arc<Kinds> {
        self.engine.kinds()
    }

    fn documents_version(&self) -> u64 {
        self.engine.link().map_or(0, |link| link.documents_version())
    }
}

impl Maintenance for AsyncStore {
    /// Searches still run on Rayon's threads, one per processor, so that several run in parallel.
    fn for_blocking_threads(&self) -> Arc<dyn Maintenance> {
        Arc::new(AsyncStore { may_block: true, ..self.clone() })
    }

    fn with_freshness(&self, freshness: Freshness) -> Arc<dyn Maintenance> {
        Arc::new(AsyncStore { freshness, ..self.clone() })
    }

    fn must_reopen(&self) -> bool {
        self.engine.link().is_some_and(|link| link.outdated().is_some())
    }

    fn position_token(&self) -> Option<String> {
        self.engine.link().map(|link| link.position_token())
    }

    fn at_least(&self, token: &str) -> Result<Freshness, ReadError> {
        match self.engine.link() {
            Some(link) => Ok(Freshness::AtLeast(link.position_of(token)?)),
            None => Ok(Freshness::Strong),
        }
    }

    fn snapshot_to_journal(
        &self,
        keep: bool,
    ) -> BoxFuture<'_, Result<Option<JournalSnapshot>, CommitError>> {
        self.run_write(move |engine| engine.snapshot_to_journal(keep))
    }

    fn repaired(&self) -> &[String] {
        self.engine.repaired()
    }

    fn health(&self) -> Vec<HealthProblem> {
        self.engine.health()
    }

    fn stats(&self) -> StoreFuture<'_, StoreStats> {
        let engine = Arc::clone(&self.engine);
        if self.may_block {
            return async move { engine.stats() }.boxed();
        }
        offload_read(&self.read_permits, move || engine.stats())
    }

    fn check(&self, repair: bool) -> BoxFuture<'_, Result<CheckReport, CommitError>> {
        self.run_write(move |engine| engine.check(repair))
    }

    fn reembed<'a>(
        &'a self,
        progress: &'a mut (dyn FnMut(MaintenanceProgress) + Send),
    ) -> BoxFuture<'a, Result<MaintenanceProgress, CommitError>> {
        self.run_with_progress(progress, |engine, progress| engine.reembed(progress))
    }

    fn change_model<'a>(
        &'a self,
        embedder: Arc<dyn Embedder>,
        progress: &'a mut (dyn FnMut(MaintenanceProgress) + Send),
    ) -> BoxFuture<'a, Result<MaintenanceProgress, CommitError>> {
        self.run_with_progress(progress, |engine, progress| engine.change_model(embedder, progress))
    }

    fn backup<'a>(&'a self, folder: &'a Path) -> BoxFuture<'a, Result<(), OpenError>> {
        let (engine, target) = (Arc::clone(&self.engine), folder.to_owned());
        if self.may_block {
            return async move { engine.backup(&target) }.boxed();
        }
        let offloaded = offload(Arc::clone(&self.read_permits), move || engine.backup(&target));
        let failed = |why: &str| OpenError::Io { path: folder.to_owned(), cause: why.into() };
        async move { offloaded.await.unwrap_or_else(|why| Err(failed(why))) }.boxed()
    }

    fn is_in_use(&self) -> bool {
        // Work on a blocking thread holds its permit, even when its caller is gone.
        self.engine.is_in_use()
            || self.read_permits.available_permits() < READS_MAX
            || self.write_permits.available_permits() < WRITES_MAX
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        let engine = Arc::clone(&self.engine);
        if self.may_block {
            return async move { engine.close() }.boxed();
        }
        let closed = offload(Arc::clone(&self.write_permits), move || engine.close());
        // Every caller that waited for a write has been told of a panic of the writer.
        async move { _ = closed.await }.boxed()
    }
}

/// A view of an embedded workspace as an asynchronous snapshot.
struct AsyncSnapshot {
    view: Arc<View>,
    read_permits: Arc<Semaphore>,
    may_block: bool,
    staleness: Option<Duration>,
}

impl AsyncSnapshot {
    /// Runs a short read on this thread if it may block, or on a blocking thread otherwise.
    fn read<'a, T: Send + 'static>(
        &self,
        work: impl FnOnce(&View) -> Result<T, ReadError> + Send + 'static,
    ) -> StoreFuture<'a, T> {
        let view = Arc::clone(&self.view);
        if self.may_block {
            return async move { work(&view) }.boxed();
        }
        offload_read(&self.read_permits, move || work(&view))
    }

    /// Runs a search on a thread of its own, in parallel with other searches.
    fn search<'a, T: Send + 'static>(
        &self,
        work: impl FnOnce(&View) -> Result<T, ReadError> + Send + 'static,
    ) -> StoreFuture<'a, T> {
        if !self.may_block {
            return self.read(work);
        }
        let view = Arc::clone(&self.view);
        let (sender, receiver) = oneshot::channel();
        async move {
            rayon::spawn(move || {
                // A panic drops the sender, which fails the receiver.
                let work = AssertUnwindSafe(|| work(&view));
                if let Ok(result) = catch_unwind(work) {
                    // If the receiver is gone, the caller has dropped the future.
                    let _ = sender.send(result);
                }
            });
            let panicked = |_| Err(ReadError::Storage { cause: "the search panicked".into() });
            receiver.await.unwrap_or_else(panicked)
        }
        .boxed()
    }
}

impl Snapshot for AsyncSnapshot {
    fn revision(&self) -> Revision {
        self.view.revision()
    }

    fn token(&self) -> StateToken {
        self.view.token()
    }

    fn staleness(&self) -> Option<Duration> {
        self.staleness
    }

    fn history_is_whole(&self) -> bool {
        self.view.history_is_whole()
    }

    fn kinds(&self) -> &Arc<Kinds> {
        self.view.kinds()
    }

    fn embedder(&self) -> Arc<dyn Embedder> {
        self.view.embedder()
    }

    fn get<'a>(&'a self, ids: &'a [ItemId]) -> StoreFuture<'a, Vec<Option<Stored>>> {
        let ids = ids.to_vec();
        self.read(move |view| view.get(&ids))
    }

    fn exist<'a>(&'a self, ids: &'a [ItemId]) -> StoreFuture<'a, Vec<bool>> {
        let ids = ids.to_vec();
        self.read(move |view| view.exist(&ids))
    }

    fn list<'a>(&'a self, filter: &'a Filter, page: &'a Page) -> StoreFuture<'a, Vec<Stored>> {
        let (filter, page) = (filter.clone(), page.clone());
        self.read(move |view| view.list(&filter, &page))
    }

    fn count<'a>(&'a self, filter: &'a Filter) -> StoreFuture<'a, u64> {
        let filter = filter.clone();
        self.read(move |view| view.count(&filter))
    }

    fn search_text<'a>(&'a self, search: &'a TextSearch) -> StoreFuture<'a, Vec<Hit>> {
        let search = search.clone();
        self.search(move |view| view.search_text(&search))
    }

    fn search_vectors<'a>(&'a self, search: &'a VectorSearch) -> StoreFuture<'a, Vec<Hit>> {
        let search = search.clone();
        self.search(move |view| view.search_vectors(&search))
    }

    fn search_fuzzy<'a>(&'a self, search: &'a FuzzySearch) -> StoreFuture<'a, Vec<Hit>> {
        let search = search.clone();
        self.search(move |view| view.search_fuzzy(&search))
    }

    fn chunks_by_name<'a>(
        &'a self,
        keys: &'a [String],
        filter: &'a Filter,
        most: usize,
    ) -> StoreFuture<'a, Vec<Vec<CandidateId>>> {
        let (keys, filter) = (keys.to_vec(), filter.clone());
        self.read(move |view| view.chunks_by_name(&keys, &filter, most))
    }

    fn frequencies<'a>(&'a self, text: &'a str) -> StoreFuture<'a, Frequencies> {
        let text = text.to_owned();
        self.read(move |view| view.frequencies(&text))
    }

    fn have_facts<'a>(&'a self, facts: &'a [(FieldRole, String)]) -> StoreFuture<'a, Vec<bool>> {
        let facts = facts.to_vec();
        self.read(move |view| view.have_facts(&facts))
    }

    fn passages<'a>(&'a self, ids: &'a [CandidateId]) -> StoreFuture<'a, Vec<Option<Passage>>> {
        let ids = ids.to_vec();
        self.read(move |view| view.passages(&ids))
    }

    fn excerpts(&self, passages: &[&Passage], query: &str, characters_max: usize) -> Vec<Excerpt> {
        self.view.excerpts(passages, query, characters_max)
    }

    fn ancestors<'a>(&'a self, id: &'a ItemId, limit: usize) -> StoreFuture<'a, Vec<Stored>> {
        let id = id.clone();
        self.read(move |view| view.ancestors(&id, limit))
    }

    fn breadcrumbs<'a>(&'a self, ids: &'a [ItemId]) -> StoreFuture<'a, Vec<Vec<Breadcrumb>>> {
        let ids = ids.to_vec();
        self.read(move |view| view.breadcrumbs(&ids))
    }

    fn adjacent<'a>(&'a self, ids: &'a [ItemId]) -> StoreFuture<'a, Vec<Vec<ItemId>>> {
        let ids = ids.to_vec();
        self.read(move |view| view.adjacent(&ids))
    }

    fn children<'a>(&'a self, id: &'a ItemId, limit: usize) -> StoreFuture<'a, Vec<Stored>> {
        let id = id.clone();
        self.read(move |view| view.children(&id, limit))
    }

    fn descendants<'a>(
        &'a self,
        id: &'a ItemId,
        descent: &'a Descent,
    ) -> StoreFuture<'a, Descendants> {
        let (id, descent) = (id.clone(), descent.clone());
        self.read(move |view| view.descendants(&id, &descent))
    }

    fn siblings<'a>(
        &'a self,
        id: &'a ItemId,
        either_side: usize,
    ) -> StoreFuture<'a, (Vec<Stored>, Vec<Stored>)> {
        let id = id.clone();
        self.read(move |view| view.siblings(&id, either_side))
    }

    fn linked_items<'a>(
        &'a self,
        id: &'a ItemId,
        direction: Direction,
        link_types: &'a [String],
        limit: usize,
    ) -> StoreFuture<'a, Vec<LinkedItem>> {
        let (id, link_types) = (id.clone(), link_types.to_vec());
        self.read(move |view| view.linked_items(&id, direction, &link_types, limit))
    }

    fn neighbours<'a>(
        &'a self,
        ids: &'a [ItemId],
        link_types: &'a [String],
        limit: usize,
    ) -> StoreFuture<'a, Vec<Neighbours>> {
        let (ids, link_types) = (ids.to_vec(), link_types.to_vec());
        self.read(move |view| view.neighbours(&ids, &link_types, limit))
    }

    fn distances<'a>(
        &'a self,
        from: &'a ItemId,
        to: &'a [ItemId],
    ) -> StoreFuture<'a, Vec<TreeDistance>> {
        let (from, to) = (from.clone(), to.to_vec());
        self.read(move |view| view.distances(&from, &to))
    }

    fn activity(&self) -> u64 {
        self.view.activity()
    }

    fn recent<'a>(
        &'a self,
        user: &'a str,
        event_kind: EventKind,
        since: Timestamp,
        until: Option<Timestamp>,
        limit: usize,
    ) -> StoreFuture<'a, Vec<Usage>> {
        let user = user.to_owned();
        self.read(move |view| view.recent(&user, event_kind, since, until, limit))
    }

    fn usage<'a>(
        &'a self,
        ids: &'a [ItemId],
        user: Option<&'a str>,
        until: Option<Timestamp>,
    ) -> StoreFuture<'a, Vec<Usage>> {
        let (ids, user) = (ids.to_vec(), user.map(str::to_owned));
        self.read(move |view| view.usage(&ids, user.as_deref(), until))
    }

    fn history<'a>(&'a self, id: &'a ItemId) -> StoreFuture<'a, Vec<Version>> {
        let id = id.clone();
        self.read(move |view| view.history(&id))
    }

    fn at_path<'a>(
        &'a self,
        path: &'a str,
        limit: usize,
    ) -> StoreFuture<'a, (Vec<PathEntry>, u64)> {
        let path = path.to_owned();
        self.read(move |view| view.at_path(&path, limit))
    }

    fn under_path<'a>(
        &'a self,
        prefix: &'a str,
        after: Option<&'a PathEntry>,
        limit: usize,
    ) -> StoreFuture<'a, Vec<PathEntry>> {
        let (prefix, after) = (prefix.to_owned(), after.cloned());
        self.read(move |view| view.under_path(&prefix, after.as_ref(), limit))
    }

    fn ids_parents_first(&self) -> StoreFuture<'_, Vec<ItemId>> {
        self.read(View::ids_parents_first)
    }

    fn links_from<'a>(&'a self, ids: &'a [ItemId]) -> StoreFuture<'a, Vec<Link>> {
        let ids = ids.to_vec();
        self.read(move |view| view.links_from(&ids))
    }

    fn events_of<'a>(&'a self, ids: &'a [ItemId]) -> StoreFuture<'a, Vec<Event>> {
        let ids = ids.to_vec();
        self.read(move |view| view.events_of(&ids))
    }

    fn record<'a>(
        &'a self,
        document_kind: DocumentKind,
        name: &'a str,
    ) -> StoreFuture<'a, Option<Record>> {
        let name = name.to_owned();
        self.read(move |view| view.record(document_kind, &name))
    }

    fn records<'a>(
        &'a self,
        document_kind: DocumentKind,
        after: Option<&'a str>,
        limit: usize,
    ) -> StoreFuture<'a, Vec<String>> {
        let after = after.map(str::to_owned);
        self.read(move |view| view.records(document_kind, after.as_deref(), limit))
    }
}
