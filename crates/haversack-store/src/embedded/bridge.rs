//! The embedded engine as an asynchronous store: its blocking work goes to threads made for that,
//! a bounded number at a time. On such a thread small questions are answered at once.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use haversack_core::embed::Embedder;
use haversack_core::ids::{CandidateId, ItemId};
use haversack_core::query::FieldRole;
use haversack_core::units::Timestamp;
use tokio::sync::{Semaphore, mpsc, oneshot};

use super::engine::Embedded;
use super::view::View;
use crate::kinds::Kinds;
use crate::revision::{Revision, StateToken};
use crate::store::change::{Batch, Committed, Undone};
use crate::store::error::{CommitError, OpenError, ReadError};
use crate::store::item::{
    Crumb, DocumentKind, Event, EventKind, Link, Passage, PathEntry, Record, Stored, Version,
};
use crate::store::maintenance::{CheckReport, Maintenance, Progress, Stats};
use crate::store::query::{
    Descendants, Descent, Direction, Excerpt, Filter, Frequencies, FuzzySearch, Hit, Linked,
    Neighbours, Page, TextSearch, TreeDistance, Usage, VectorSearch,
};
use crate::store::viewer::Viewer;
use crate::store::{Answer, Snapshot, Store};

/// Questions that are answered at one time; more wait.
const READS_MAX: usize = 32;

/// Batches that are prepared or wait for their commit at one time; more wait.
const WRITES_MAX: usize = 32;

/// An embedded workspace as an asynchronous store. Needs a Tokio runtime, unless it is
/// [for blocking threads](Maintenance::for_blocking_threads).
#[derive(Debug, Clone)]
pub struct Offloaded {
    engine: Arc<Embedded>,
    reads: Arc<Semaphore>,
    writes: Arc<Semaphore>,
    may_block: bool,
}

impl Offloaded {
    /// Makes an embedded workspace awaitable.
    #[must_use]
    pub fn new(engine: Arc<Embedded>) -> Offloaded {
        let permits = |most| Arc::new(Semaphore::new(most));
        let (reads, writes) = (permits(READS_MAX), permits(WRITES_MAX));
        Offloaded { engine, reads, writes, may_block: false }
    }

    /// Runs a write on this thread if it may block, else on one that may.
    fn commit<'a, T: Send + 'static>(
        &self,
        work: impl FnOnce(&Embedded) -> Result<T, CommitError> + Send + 'static,
    ) -> BoxFuture<'a, Result<T, CommitError>> {
        let engine = Arc::clone(&self.engine);
        if self.may_block {
            return async move { work(&engine) }.boxed();
        }
        let offloaded = offload(Arc::clone(&self.writes), move || work(&engine));
        async move {
            offloaded.await.unwrap_or_else(|why| Err(CommitError::Storage { cause: why.into() }))
        }
        .boxed()
    }

    fn look<'a>(
        &self,
        take: impl FnOnce(&Embedded) -> Result<View, ReadError> + Send + 'static,
    ) -> Answer<'a, Arc<dyn Snapshot>> {
        let (engine, reads, may_block) =
            (Arc::clone(&self.engine), Arc::clone(&self.reads), self.may_block);
        let work = move || {
            let view = Arc::new(take(&engine)?);
            Ok(Arc::new(OffloadedView { view, reads, may_block }) as Arc<dyn Snapshot>)
        };
        if may_block { async { work() }.boxed() } else { answer(&self.reads, work) }
    }
}

/// Runs blocking work elsewhere; `Err` when it could not run to its end.
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

fn answer<'a, T: Send + 'static>(
    permits: &Arc<Semaphore>,
    work: impl FnOnce() -> Result<T, ReadError> + Send + 'static,
) -> Answer<'a, T> {
    let offloaded = offload(Arc::clone(permits), work);
    async move {
        offloaded.await.unwrap_or_else(|why| Err(ReadError::Storage { cause: why.into() }))
    }
    .boxed()
}

impl Store for Offloaded {
    fn write(&self, batch: Batch) -> BoxFuture<'_, Result<Committed, CommitError>> {
        self.commit(move |engine| engine.write(batch))
    }

    fn undo<'a>(
        &'a self,
        origin: &'a str,
        at: Timestamp,
    ) -> BoxFuture<'a, Result<Undone, CommitError>> {
        let origin = origin.to_owned();
        self.commit(move |engine| engine.undo(&origin, at))
    }

    fn snapshot<'a>(&'a self, viewer: &'a Viewer) -> Answer<'a, Arc<dyn Snapshot>> {
        let viewer = viewer.clone();
        self.look(move |engine| Ok(engine.view(&viewer)))
    }

    fn as_of<'a>(&'a self, viewer: &'a Viewer, moment: Timestamp) -> Answer<'a, Arc<dyn Snapshot>> {
        let viewer = viewer.clone();
        self.look(move |engine| engine.as_of(&viewer, moment))
    }

    fn at<'a>(&'a self, viewer: &'a Viewer, revision: Revision) -> Answer<'a, Arc<dyn Snapshot>> {
        let viewer = viewer.clone();
        self.look(move |engine| engine.at(&viewer, revision))
    }

    fn named_state<'a>(
        &'a self,
        viewer: &'a Viewer,
        token: StateToken,
    ) -> Answer<'a, Arc<dyn Snapshot>> {
        let viewer = viewer.clone();
        self.look(move |engine| engine.named(&viewer, token))
    }

    fn embedder(&self) -> &Arc<dyn Embedder> {
        self.engine.embedder()
    }

    fn kinds(&self) -> &Arc<Kinds> {
        self.engine.kinds()
    }
}

impl Maintenance for Offloaded {
    /// Searches still go to the threads for computing, one for each processor, so that several run
    /// at once.
    fn for_blocking_threads(&self) -> Arc<dyn Maintenance> {
        Arc::new(Offloaded { may_block: true, ..self.clone() })
    }

    fn repaired(&self) -> &[String] {
        self.engine.repaired()
    }

    fn stats(&self) -> Answer<'_, Stats> {
        let engine = Arc::clone(&self.engine);
        if self.may_block {
            return async move { engine.stats() }.boxed();
        }
        answer(&self.reads, move || engine.stats())
    }

    fn check(&self, repair: bool) -> BoxFuture<'_, Result<CheckReport, CommitError>> {
        self.commit(move |engine| engine.check(repair))
    }

    fn reembed<'a>(
        &'a self,
        progress: &'a mut (dyn FnMut(Progress) + Send),
    ) -> BoxFuture<'a, Result<Progress, CommitError>> {
        if self.may_block {
            return async move { self.engine.reembed(progress) }.boxed();
        }
        let (sender, mut reports) = mpsc::unbounded_channel();
        let done = self.commit(move |engine| {
            engine.reembed(|progress| {
                // Without a receiver nobody waits for the end either.
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

    fn backup<'a>(&'a self, folder: &'a Path) -> BoxFuture<'a, Result<(), OpenError>> {
        let (engine, target) = (Arc::clone(&self.engine), folder.to_owned());
        if self.may_block {
            return async move { engine.backup(&target) }.boxed();
        }
        let offloaded = offload(Arc::clone(&self.reads), move || engine.backup(&target));
        let failed = |why: &str| OpenError::Io { path: folder.to_owned(), cause: why.into() };
        async move { offloaded.await.unwrap_or_else(|why| Err(failed(why))) }.boxed()
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        let engine = Arc::clone(&self.engine);
        if self.may_block {
            return async move { engine.close() }.boxed();
        }
        let closed = offload(Arc::clone(&self.writes), move || engine.close());
        // A panic of the writer was reported to everyone who waited for a write.
        async move { _ = closed.await }.boxed()
    }
}

/// A view that can be awaited.
struct OffloadedView {
    view: Arc<View>,
    reads: Arc<Semaphore>,
    may_block: bool,
}

impl OffloadedView {
    /// Asks what takes a moment.
    fn ask<'a, T: Send + 'static>(
        &self,
        question: impl FnOnce(&View) -> Result<T, ReadError> + Send + 'static,
    ) -> Answer<'a, T> {
        let view = Arc::clone(&self.view);
        if self.may_block {
            return async move { question(&view) }.boxed();
        }
        answer(&self.reads, move || question(&view))
    }

    /// Asks what others can be asked beside.
    fn search<'a, T: Send + 'static>(
        &self,
        question: impl FnOnce(&View) -> Result<T, ReadError> + Send + 'static,
    ) -> Answer<'a, T> {
        if !self.may_block {
            return self.ask(question);
        }
        let view = Arc::clone(&self.view);
        let (sender, answer) = oneshot::channel();
        async move {
            rayon::spawn(move || {
                // A panic drops the sender, and whoever waits is told.
                let asked = AssertUnwindSafe(|| question(&view));
                if let Ok(answer) = catch_unwind(asked) {
                    // Nobody waits any more: then nobody misses it.
                    let _ = sender.send(answer);
                }
            });
            let lost = |_| Err(ReadError::Storage { cause: "the search panicked".into() });
            answer.await.unwrap_or_else(lost)
        }
        .boxed()
    }
}

impl Snapshot for OffloadedView {
    fn revision(&self) -> Revision {
        self.view.revision()
    }

    fn token(&self) -> StateToken {
        self.view.token()
    }

    fn history_is_whole(&self) -> bool {
        self.view.history_is_whole()
    }

    fn kinds(&self) -> &Arc<Kinds> {
        self.view.kinds()
    }

    fn get<'a>(&'a self, ids: &'a [ItemId]) -> Answer<'a, Vec<Option<Stored>>> {
        let ids = ids.to_vec();
        self.ask(move |view| view.get(&ids))
    }

    fn are_there<'a>(&'a self, ids: &'a [ItemId]) -> Answer<'a, Vec<bool>> {
        let ids = ids.to_vec();
        self.ask(move |view| view.are_there(&ids))
    }

    fn list<'a>(&'a self, filter: &'a Filter, page: &'a Page) -> Answer<'a, Vec<Stored>> {
        let (filter, page) = (filter.clone(), page.clone());
        self.ask(move |view| view.list(&filter, &page))
    }

    fn count<'a>(&'a self, filter: &'a Filter) -> Answer<'a, u64> {
        let filter = filter.clone();
        self.ask(move |view| view.count(&filter))
    }

    fn text<'a>(&'a self, search: &'a TextSearch) -> Answer<'a, Vec<Hit>> {
        let search = search.clone();
        self.search(move |view| view.text(&search))
    }

    fn vector<'a>(&'a self, search: &'a VectorSearch) -> Answer<'a, Vec<Hit>> {
        let search = search.clone();
        self.search(move |view| view.vector(&search))
    }

    fn fuzzy<'a>(&'a self, search: &'a FuzzySearch) -> Answer<'a, Vec<Hit>> {
        let search = search.clone();
        self.search(move |view| view.fuzzy(&search))
    }

    fn named<'a>(
        &'a self,
        keys: &'a [String],
        filter: &'a Filter,
        most: usize,
    ) -> Answer<'a, Vec<Vec<CandidateId>>> {
        let (keys, filter) = (keys.to_vec(), filter.clone());
        self.ask(move |view| view.named(&keys, &filter, most))
    }

    fn frequencies<'a>(&'a self, text: &'a str) -> Answer<'a, Frequencies> {
        let text = text.to_owned();
        self.ask(move |view| view.frequencies(&text))
    }

    fn have_facts<'a>(&'a self, facts: &'a [(FieldRole, String)]) -> Answer<'a, Vec<bool>> {
        let facts = facts.to_vec();
        self.ask(move |view| view.have_facts(&facts))
    }

    fn passages<'a>(&'a self, ids: &'a [CandidateId]) -> Answer<'a, Vec<Option<Passage>>> {
        let ids = ids.to_vec();
        self.ask(move |view| view.passages(&ids))
    }

    fn excerpts(&self, passages: &[&Passage], query: &str, characters_max: usize) -> Vec<Excerpt> {
        self.view.excerpts(passages, query, characters_max)
    }

    fn ancestors<'a>(&'a self, id: &'a ItemId, limit: usize) -> Answer<'a, Vec<Stored>> {
        let id = id.clone();
        self.ask(move |view| view.ancestors(&id, limit))
    }

    fn trails<'a>(&'a self, ids: &'a [ItemId]) -> Answer<'a, Vec<Vec<Crumb>>> {
        let ids = ids.to_vec();
        self.ask(move |view| view.trails(&ids))
    }

    fn beside<'a>(&'a self, ids: &'a [ItemId]) -> Answer<'a, Vec<Vec<ItemId>>> {
        let ids = ids.to_vec();
        self.ask(move |view| view.beside(&ids))
    }

    fn children<'a>(&'a self, id: &'a ItemId, limit: usize) -> Answer<'a, Vec<Stored>> {
        let id = id.clone();
        self.ask(move |view| view.children(&id, limit))
    }

    fn descendants<'a>(&'a self, id: &'a ItemId, descent: &'a Descent) -> Answer<'a, Descendants> {
        let (id, descent) = (id.clone(), descent.clone());
        self.ask(move |view| view.descendants(&id, &descent))
    }

    fn siblings<'a>(
        &'a self,
        id: &'a ItemId,
        either_side: usize,
    ) -> Answer<'a, (Vec<Stored>, Vec<Stored>)> {
        let id = id.clone();
        self.ask(move |view| view.siblings(&id, either_side))
    }

    fn linked<'a>(
        &'a self,
        id: &'a ItemId,
        direction: Direction,
        sorts: &'a [String],
        limit: usize,
    ) -> Answer<'a, Vec<Linked>> {
        let (id, sorts) = (id.clone(), sorts.to_vec());
        self.ask(move |view| view.linked(&id, direction, &sorts, limit))
    }

    fn neighbours<'a>(
        &'a self,
        ids: &'a [ItemId],
        sorts: &'a [String],
        limit: usize,
    ) -> Answer<'a, Vec<Neighbours>> {
        let (ids, sorts) = (ids.to_vec(), sorts.to_vec());
        self.ask(move |view| view.neighbours(&ids, &sorts, limit))
    }

    fn distances<'a>(
        &'a self,
        from: &'a ItemId,
        to: &'a [ItemId],
    ) -> Answer<'a, Vec<TreeDistance>> {
        let (from, to) = (from.clone(), to.to_vec());
        self.ask(move |view| view.distances(&from, &to))
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
    ) -> Answer<'a, Vec<Usage>> {
        let user = user.to_owned();
        self.ask(move |view| view.recent(&user, event_kind, since, until, limit))
    }

    fn usage<'a>(
        &'a self,
        ids: &'a [ItemId],
        user: Option<&'a str>,
        until: Option<Timestamp>,
    ) -> Answer<'a, Vec<Usage>> {
        let (ids, user) = (ids.to_vec(), user.map(str::to_owned));
        self.ask(move |view| view.usage(&ids, user.as_deref(), until))
    }

    fn history<'a>(&'a self, id: &'a ItemId) -> Answer<'a, Vec<Version>> {
        let id = id.clone();
        self.ask(move |view| view.history(&id))
    }

    fn at_path<'a>(&'a self, path: &'a str, limit: usize) -> Answer<'a, (Vec<PathEntry>, u64)> {
        let path = path.to_owned();
        self.ask(move |view| view.at_path(&path, limit))
    }

    fn under_path<'a>(
        &'a self,
        prefix: &'a str,
        after: Option<&'a PathEntry>,
        limit: usize,
    ) -> Answer<'a, Vec<PathEntry>> {
        let (prefix, after) = (prefix.to_owned(), after.cloned());
        self.ask(move |view| view.under_path(&prefix, after.as_ref(), limit))
    }

    fn ids_parents_first(&self) -> Answer<'_, Vec<ItemId>> {
        self.ask(View::ids_parents_first)
    }

    fn links_from<'a>(&'a self, ids: &'a [ItemId]) -> Answer<'a, Vec<Link>> {
        let ids = ids.to_vec();
        self.ask(move |view| view.links_from(&ids))
    }

    fn events_of<'a>(&'a self, ids: &'a [ItemId]) -> Answer<'a, Vec<Event>> {
        let ids = ids.to_vec();
        self.ask(move |view| view.events_of(&ids))
    }

    fn record<'a>(
        &'a self,
        document_kind: DocumentKind,
        name: &'a str,
    ) -> Answer<'a, Option<Record>> {
        let name = name.to_owned();
        self.ask(move |view| view.record(document_kind, &name))
    }

    fn records<'a>(
        &'a self,
        document_kind: DocumentKind,
        after: Option<&'a str>,
        limit: usize,
    ) -> Answer<'a, Vec<String>> {
        let after = after.map(str::to_owned);
        self.ask(move |view| view.records(document_kind, after.as_deref(), limit))
    }
}
