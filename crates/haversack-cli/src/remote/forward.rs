//! A store that passes its items on to a server's workspace, for reading folders beside a running server.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use anyhow::Result;
use haversack_core::embed::Embedder;
use haversack_core::units::Timestamp;
use haversack_store::kinds::Kinds;
use haversack_store::revision::Revision;
use haversack_store::revision::StateToken;
use haversack_store::store::change::{
    Batch, Change, CommitReport, RecordedWrite, UndoReport, WriteKey,
};
use haversack_store::store::error::{CommitError, ReadError};
use haversack_store::store::maintenance::Maintenance;
use haversack_store::store::viewer::Viewer;
use haversack_store::store::{Snapshot, Store};

use super::RemoteWorkspace;

type Pending<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;
type PendingSnapshot<'a> = Pending<'a, Result<Arc<dyn Snapshot>, ReadError>>;

/// A store of its own that knows what was read, and the server that gets what it stores. It deletes there
/// only what it has sent there itself.
pub(crate) struct ForwardingStore {
    own: Arc<dyn Maintenance>,
    server: RemoteWorkspace,
}

impl ForwardingStore {
    pub(crate) const fn new(own: Arc<dyn Maintenance>, server: RemoteWorkspace) -> ForwardingStore {
        ForwardingStore { own, server }
    }

    /// Writes here, then there, so that the server only gets what is valid. What is deleted is deleted there
    /// first: if that fails, it is still here and is found missing again.
    async fn write_to_both(&self, batch: Batch) -> Result<CommitReport, CommitError> {
        let mut items = Vec::new();
        for change in &batch.changes {
            match change {
                Change::Put(item) => items.push((**item).clone()),
                Change::Delete(id) => {
                    self.server.delete(id.as_str(), false).map_err(not_forwarded)?;
                }
                // Records say how files were read, which only this store has to know.
                _ => {}
            }
        }
        let mut report = self.own.write(batch).await?;
        if !items.is_empty() {
            let sent = self.server.send_items(items.into_iter().map(Ok), |_| {});
            let sent = sent.map_err(not_forwarded)?;
            let count = |count: u64| usize::try_from(count).unwrap_or(usize::MAX);
            (report.stored, report.unchanged) = (count(sent.stored), count(sent.unchanged));
        }
        Ok(report)
    }
}

fn not_forwarded(error: anyhow::Error) -> CommitError {
    CommitError::Storage { cause: error.into() }
}

impl Store for ForwardingStore {
    fn write(&self, batch: Batch) -> Pending<'_, Result<CommitReport, CommitError>> {
        Box::pin(self.write_to_both(batch))
    }

    fn find_write<'a>(
        &'a self,
        key: &'a WriteKey,
    ) -> Pending<'a, Result<Option<RecordedWrite>, ReadError>> {
        self.own.find_write(key)
    }

    fn undo<'a>(
        &'a self,
        origin: &'a str,
        at: Timestamp,
    ) -> Pending<'a, Result<UndoReport, CommitError>> {
        self.own.undo(origin, at)
    }

    fn snapshot<'a>(&'a self, viewer: &'a Viewer) -> PendingSnapshot<'a> {
        self.own.snapshot(viewer)
    }

    fn as_of<'a>(&'a self, viewer: &'a Viewer, moment: Timestamp) -> PendingSnapshot<'a> {
        self.own.as_of(viewer, moment)
    }

    fn at_revision<'a>(&'a self, viewer: &'a Viewer, revision: Revision) -> PendingSnapshot<'a> {
        self.own.at_revision(viewer, revision)
    }

    fn at_token<'a>(&'a self, viewer: &'a Viewer, token: StateToken) -> PendingSnapshot<'a> {
        self.own.at_token(viewer, token)
    }

    fn embedder(&self) -> Arc<dyn Embedder> {
        self.own.embedder()
    }

    fn kinds(&self) -> &Arc<Kinds> {
        self.own.kinds()
    }
}
