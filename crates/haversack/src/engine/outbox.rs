//! Deferred writes: a pack's receipt and the usage events of its items. The caller does not wait for
//! them. Writes of several packs are combined, because every write syncs the disk and invalidates
//! the pages that readers have cached.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use haversack_store::store::change::Batch;
use haversack_store::store::error::CommitError;
use haversack_store::store::{Store, block_on};
use tokio::sync::{Mutex as AsyncMutex, Semaphore};

/// How long a batch waits for others to be written with.
const WRITE_DELAY: Duration = Duration::from_millis(200);

/// Most batches that wait. The caller who adds the last one waits until all are written.
const WAITING_MAX: usize = 64;

/// Batches that wait to be written to the store.
#[derive(Debug)]
pub(crate) struct Outbox(Arc<Queue>);

#[derive(Debug)]
struct Queue {
    waiting: Mutex<Vec<Batch>>,
    /// Held while batches are written. Whoever acquires it knows that all earlier batches are
    /// written.
    writing: AsyncMutex<()>,
    /// Shared with other workspaces: each delayed write takes a thread.
    turns: Arc<Semaphore>,
}

impl Outbox {
    /// An empty one, whose delayed writes take turns with others.
    pub(crate) fn new(turns: Arc<Semaphore>) -> Outbox {
        Outbox(Arc::new(Queue { waiting: Mutex::default(), writing: AsyncMutex::default(), turns }))
    }

    /// Queues a batch, which is written after a short delay.
    pub(crate) async fn send(&self, store: &Arc<dyn Store>, batch: Batch) {
        let n_waiting = {
            let mut waiting = self.0.waiting.lock().unwrap_or_else(PoisonError::into_inner);
            waiting.push(batch);
            waiting.len()
        };
        if n_waiting >= WAITING_MAX {
            self.0.write(&**store).await;
        } else if n_waiting == 1 {
            // Weak references, so that the task does not keep the workspace open: `close` writes
            // what still waits.
            let (queue, store) = (Arc::downgrade(&self.0), Arc::downgrade(store));
            let turns = Arc::clone(&self.0.turns);
            tokio::spawn(async move {
                tokio::time::sleep(WRITE_DELAY).await;
                // Never closed, so always given.
                let _turn = turns.acquire_owned().await;
                if let (Some(queue), Some(store)) = (queue.upgrade(), store.upgrade()) {
                    queue.write(&*store).await;
                }
            });
        }
    }

    /// Writes all queued batches and waits until they are in the store.
    pub(crate) async fn flush(&self, store: &dyn Store) {
        self.0.write(store).await;
    }

    /// Whether batches are being written at this moment.
    pub(crate) fn is_writing(&self) -> bool {
        self.0.writing.try_lock().is_err()
    }

    /// Writes what waits, on this thread, before an idle workspace is closed. Returns whether nothing
    /// is left; what the store cannot take now waits on. The store must be one for blocking threads.
    pub(crate) fn close_now(&self, store: &dyn Store) -> bool {
        let Ok(_writing) = self.0.writing.try_lock() else { return false };
        let mut left = self.0.take();
        if let Some(all) = merge(&left)
            && block_on(store.write(all)).is_err()
        {
            left.retain(|batch| match block_on(store.write(batch.clone())) {
                Ok(_) => false,
                Err(error @ CommitError::Invalid(_)) => {
                    log_failure(Some(error));
                    false
                }
                Err(_) => true,
            });
        } else {
            left.clear();
        }
        let is_empty = left.is_empty();
        self.0.waiting.lock().unwrap_or_else(PoisonError::into_inner).extend(left);
        is_empty
    }

    /// Writes the pending batches when the workspace is dropped. The store must be one for blocking
    /// threads.
    pub(crate) fn close(&self, store: &dyn Store) {
        let waiting = self.0.take();
        if let Some(all) = merge(&waiting)
            && block_on(store.write(all)).is_err()
        {
            waiting.into_iter().for_each(|batch| log_failure(block_on(store.write(batch)).err()));
        }
    }
}

impl Queue {
    fn take(&self) -> Vec<Batch> {
        std::mem::take(&mut *self.waiting.lock().unwrap_or_else(PoisonError::into_inner))
    }

    async fn write(&self, store: &dyn Store) {
        let _writing = self.writing.lock().await;
        let waiting = self.take();
        if let Some(all) = merge(&waiting)
            && store.write(all).await.is_err()
        {
            // One batch that cannot be written must not prevent the others.
            for batch in waiting {
                log_failure(store.write(batch).await.err());
            }
        }
    }
}

/// Merges batches into one, if there are any.
fn merge(batches: &[Batch]) -> Option<Batch> {
    let at = batches.iter().map(|batch| batch.at).max()?;
    let changes = batches.iter().flat_map(|batch| &batch.changes).cloned();
    Some(Batch::new(at, changes.collect()))
}

fn log_failure(error: Option<impl std::error::Error>) {
    if let Some(error) = error {
        tracing::warn!(target: "haversack", %error, "a receipt could not be kept");
    }
}

#[cfg(test)]
mod tests {
    use haversack_core::ids::ItemId;
    use haversack_core::item::Kind;
    use haversack_core::units::Timestamp;
    use haversack_store::store::change::Change;
    use haversack_store::store::item::{DocumentKind, Item, Record};
    use haversack_store::store::viewer::Viewer;

    use super::*;
    use crate::engine::Engine;
    use crate::request::Request;

    #[tokio::test]
    async fn what_waits_is_written_when_the_workspace_goes() {
        let folder = tempfile::tempdir().unwrap();
        let receipt = {
            let workspace = Engine::open(folder.path()).unwrap().workspace("home").unwrap();
            let id = ItemId::new("m1").unwrap();
            let item = Item::new(id, Kind::new("memory").unwrap(), "The ladder is in the cellar.");
            workspace.put(vec![item]).await.unwrap();
            let pack = workspace.pack(Request::new("memory", "ladder")).await.unwrap();
            pack.receipt().to_owned()
        };
        let workspace = Engine::open(folder.path()).unwrap().existing_workspace("home").unwrap();
        assert_eq!(workspace.receipt(&receipt, &Viewer::owner()).await.unwrap().id, receipt);
    }

    #[tokio::test]
    async fn one_that_cannot_be_written_does_not_take_others_along() {
        let folder = tempfile::tempdir().unwrap();
        let workspace = Engine::open(folder.path()).unwrap().workspace("home").unwrap();
        let outbox = Outbox::new(Arc::new(Semaphore::new(1)));
        let batch = |name: &str| {
            let (document_kind, name, at) =
                (DocumentKind::Receipt, name.to_owned(), Timestamp::from_millis(1));
            let record = Record { document_kind, name, text: "{}".to_owned(), at };
            Batch::new(at, vec![Change::PutRecord(record)])
        };
        let names = ["one", "", "two"];
        for name in names {
            outbox.send(workspace.store(), batch(name)).await;
        }
        outbox.flush(&**workspace.store()).await;
        let snapshot = workspace.store().snapshot(&Viewer::owner()).await.unwrap();
        let there = snapshot.records(DocumentKind::Receipt, None, 10).await.unwrap();
        assert_eq!(there, ["one", "two"]);
    }
}
