//! The embedded engine as an asynchronous store: blocking work runs on Tokio's blocking threads, a
//! bounded number at a time. A store for blocking threads does small reads on the calling thread.

mod snapshot;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use haversack_core::embed::Embedder;
use haversack_core::units::Timestamp;
use tokio::sync::{Semaphore, mpsc};

use crate::embedded::engine::EmbeddedStore;
use crate::embedded::replica::Look;
use crate::embedded::view::View;
use crate::kinds::Kinds;
use crate::revision::{Revision, StateToken};
use crate::store::change::{Batch, CommitReport, RecordedWrite, UndoReport, WriteKey};
use crate::store::error::{CommitError, OpenError, ReadError};
use crate::store::health::HealthProblem;
use crate::store::journal::{Freshness, JournalSnapshot};
use crate::store::maintenance::{
    CheckReport, Maintenance, MaintenanceProgress, StoreStats, UserItems,
};
use crate::store::viewer::Viewer;
use crate::store::{Snapshot, Store, StoreFuture};

use self::snapshot::AsyncSnapshot;

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

    /// Makes the store as fresh as its reads are to be. Returns how old its state may be, if the journal
    /// could not be reached.
    async fn refresh(&self) -> Result<Option<Duration>, ReadError> {
        let Some(link) = self.engine.link() else { return Ok(None) };
        let began = match link.look(self.freshness).await? {
            Look::Current(staleness) => return Ok(staleness),
            Look::Behind { began } => began,
        };
        let (engine, freshness) = (Arc::clone(&self.engine), self.freshness);
        let work = move || {
            let caught_up = engine.catch_up_for(freshness, began);
            engine.snapshot_if_due();
            caught_up
        };
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
pub(super) fn offload_read<'a, T: Send + 'static>(
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

    fn find_write<'a>(&'a self, key: &'a WriteKey) -> StoreFuture<'a, Option<RecordedWrite>> {
        let (engine, key) = (Arc::clone(&self.engine), key.clone());
        let work = move || engine.find_write(&key);
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

    fn refresh(&self) -> StoreFuture<'_, ()> {
        async { AsyncStore::refresh(self).await.map(drop) }.boxed()
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

    fn staleness(&self) -> Option<Duration> {
        self.engine.link()?.staleness()
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

    fn user_items<'a>(&'a self, user: &'a str) -> StoreFuture<'a, UserItems> {
        let (engine, user) = (Arc::clone(&self.engine), user.to_owned());
        let work = move || engine.user_items(&user);
        if self.may_block {
            async move { work() }.boxed()
        } else {
            offload_read(&self.read_permits, work)
        }
    }

    fn expunge(&self, rewrite: bool) -> BoxFuture<'_, Result<Vec<String>, CommitError>> {
        self.run_write(move |engine| engine.expunge(rewrite))
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
