//! What is written behind an answer: its receipt, and that its items were used. The answer does
//! not wait for it. What several answers leave within a moment is written together, as every write
//! has the disk sync and readers read their pages anew.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use haversack_store::store::change::Batch;
use haversack_store::store::{Store, block_on};
use tokio::sync::Mutex as Turn;

/// How long something waits for others at most.
const PAUSE: Duration = Duration::from_millis(200);

/// How many batches may wait; then the answer that brings one more waits until they are written.
const WAITING_MAX: usize = 64;

/// Batches on their way into the store.
#[derive(Debug, Default)]
pub(crate) struct Outbox(Arc<Queue>);

#[derive(Debug, Default)]
struct Queue {
    waiting: Mutex<Vec<Batch>>,
    /// Held while batches are written, so that who has it knows that all before have arrived.
    writing: Turn<()>,
}

impl Outbox {
    /// Sends a batch on its way.
    pub(crate) async fn send(&self, store: &Arc<dyn Store>, batch: Batch) {
        let n_waiting = {
            let mut waiting = self.0.waiting.lock().unwrap_or_else(PoisonError::into_inner);
            waiting.push(batch);
            waiting.len()
        };
        if n_waiting >= WAITING_MAX {
            self.0.write(&**store).await;
        } else if n_waiting == 1 {
            // Nothing is kept open for it: what waits when a workspace is closed is written then.
            let (queue, store) = (Arc::downgrade(&self.0), Arc::downgrade(store));
            tokio::spawn(async move {
                tokio::time::sleep(PAUSE).await;
                if let (Some(queue), Some(store)) = (queue.upgrade(), store.upgrade()) {
                    queue.write(&*store).await;
                }
            });
        }
    }

    /// Writes all that was sent, and waits until it has arrived.
    pub(crate) async fn settle(&self, store: &dyn Store) {
        self.0.write(store).await;
    }

    /// Writes what is still pending when the workspace is dropped. The store is one for blocking
    /// threads.
    pub(crate) fn close(&self, store: &dyn Store) {
        let waiting = self.0.take();
        if let Some(all) = together(&waiting)
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
        if let Some(all) = together(&waiting)
            && store.write(all).await.is_err()
        {
            // One that cannot be written must not take the others along.
            for batch in waiting {
                log_failure(store.write(batch).await.err());
            }
        }
    }
}

/// Batches as one, if there are any.
fn together(batches: &[Batch]) -> Option<Batch> {
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
        let workspace = Engine::open(folder.path()).unwrap().existing("home").unwrap();
        assert_eq!(workspace.receipt(&receipt, &Viewer::owner()).await.unwrap().id, receipt);
    }

    #[tokio::test]
    async fn one_that_cannot_be_written_does_not_take_others_along() {
        let folder = tempfile::tempdir().unwrap();
        let workspace = Engine::open(folder.path()).unwrap().workspace("home").unwrap();
        let outbox = Outbox::default();
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
        outbox.settle(&**workspace.store()).await;
        let snapshot = workspace.store().snapshot(&Viewer::owner()).await.unwrap();
        let there = snapshot.records(DocumentKind::Receipt, None, 10).await.unwrap();
        assert_eq!(there, ["one", "two"]);
    }
}
