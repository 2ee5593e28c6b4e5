//! One store made of two nodes: each write goes to the other node than the one before, and each read to
//! the node that did not write last.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::future::BoxFuture;
use haversack_core::embed::Embedder;
use haversack_core::units::Timestamp;
use haversack_store::kinds::Kinds;
use haversack_store::revision::{Revision, StateToken};
use haversack_store::store::change::{Batch, CommitReport, RecordedWrite, UndoReport, WriteKey};
use haversack_store::store::error::{CommitError, OpenError};
use haversack_store::store::health::HealthProblem;
use haversack_store::store::journal::Freshness;
use haversack_store::store::maintenance::{
    CheckReport, Maintenance, MaintenanceProgress, StoreStats, UserItems,
};
use haversack_store::store::viewer::Viewer;
use haversack_store::store::{Snapshot, Store, StoreFuture};

/// Two nodes as one store.
pub(crate) struct Nodes {
    nodes: [Arc<dyn Maintenance>; 2],
    turn: Arc<AtomicUsize>,
}

impl Nodes {
    pub(crate) fn new(nodes: [Arc<dyn Maintenance>; 2]) -> Nodes {
        Nodes { nodes, turn: Arc::default() }
    }

    fn writer(&self) -> &Arc<dyn Maintenance> {
        &self.nodes[(self.turn.fetch_add(1, Ordering::Relaxed) + 1) % 2]
    }

    fn reader(&self) -> &Arc<dyn Maintenance> {
        &self.nodes[(self.turn.load(Ordering::Relaxed) + 1) % 2]
    }

    fn map(
        &self,
        of: impl Fn(&Arc<dyn Maintenance>) -> Arc<dyn Maintenance>,
    ) -> Arc<dyn Maintenance> {
        let nodes = [of(&self.nodes[0]), of(&self.nodes[1])];
        Arc::new(Nodes { nodes, turn: Arc::clone(&self.turn) })
    }
}

impl Store for Nodes {
    fn write(&self, batch: Batch) -> BoxFuture<'_, Result<CommitReport, CommitError>> {
        let written = self.writer().write(batch);
        Box::pin(async { written.await.map(|report| CommitReport { position: None, ..report }) })
    }

    fn find_write<'a>(&'a self, key: &'a WriteKey) -> StoreFuture<'a, Option<RecordedWrite>> {
        self.reader().find_write(key)
    }

    fn undo<'a>(
        &'a self,
        origin: &'a str,
        at: Timestamp,
    ) -> BoxFuture<'a, Result<UndoReport, CommitError>> {
        self.writer().undo(origin, at)
    }

    fn snapshot<'a>(&'a self, viewer: &'a Viewer) -> StoreFuture<'a, Arc<dyn Snapshot>> {
        self.reader().snapshot(viewer)
    }

    fn as_of<'a>(
        &'a self,
        viewer: &'a Viewer,
        moment: Timestamp,
    ) -> StoreFuture<'a, Arc<dyn Snapshot>> {
        self.reader().as_of(viewer, moment)
    }

    fn at_revision<'a>(
        &'a self,
        viewer: &'a Viewer,
        revision: Revision,
    ) -> StoreFuture<'a, Arc<dyn Snapshot>> {
        self.reader().at_revision(viewer, revision)
    }

    fn at_token<'a>(
        &'a self,
        viewer: &'a Viewer,
        token: StateToken,
    ) -> StoreFuture<'a, Arc<dyn Snapshot>> {
        self.reader().at_token(viewer, token)
    }

    fn embedder(&self) -> Arc<dyn Embedder> {
        self.nodes[0].embedder()
    }

    fn kinds(&self) -> &Arc<Kinds> {
        self.nodes[0].kinds()
    }
}

impl Maintenance for Nodes {
    fn for_blocking_threads(&self) -> Arc<dyn Maintenance> {
        self.map(|node| node.for_blocking_threads())
    }

    fn with_freshness(&self, freshness: Freshness) -> Arc<dyn Maintenance> {
        self.map(|node| node.with_freshness(freshness))
    }

    fn repaired(&self) -> &[String] {
        self.nodes[0].repaired()
    }

    fn health(&self) -> Vec<HealthProblem> {
        self.nodes.iter().flat_map(|node| node.health()).collect()
    }

    fn stats(&self) -> StoreFuture<'_, StoreStats> {
        self.reader().stats()
    }

    fn check(&self, repair: bool) -> BoxFuture<'_, Result<CheckReport, CommitError>> {
        self.reader().check(repair)
    }

    fn reembed<'a>(
        &'a self,
        progress: &'a mut (dyn FnMut(MaintenanceProgress) + Send),
    ) -> BoxFuture<'a, Result<MaintenanceProgress, CommitError>> {
        self.writer().reembed(progress)
    }

    fn change_model<'a>(
        &'a self,
        embedder: Arc<dyn Embedder>,
        progress: &'a mut (dyn FnMut(MaintenanceProgress) + Send),
    ) -> BoxFuture<'a, Result<MaintenanceProgress, CommitError>> {
        self.writer().change_model(embedder, progress)
    }

    fn user_items<'a>(&'a self, user: &'a str) -> StoreFuture<'a, UserItems> {
        self.reader().user_items(user)
    }

    fn expunge(&self, rewrite: bool) -> BoxFuture<'_, Result<Vec<String>, CommitError>> {
        Box::pin(async move {
            let mut left = Vec::new();
            for node in &self.nodes {
                left.extend(node.expunge(rewrite).await?);
            }
            Ok(left)
        })
    }

    fn backup<'a>(&'a self, folder: &'a Path) -> BoxFuture<'a, Result<(), OpenError>> {
        self.reader().backup(folder)
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {
            for node in &self.nodes {
                node.close().await;
            }
        })
    }
}
