//! What is written behind an answer: its receipt, and that its items were used. The answer does
//! not wait for it; a bounded number may be under way.

use std::sync::Arc;

use haversack_store::store::Store;
use haversack_store::store::change::Batch;
use tokio::sync::Semaphore;

/// How many batches may be under way; then answers wait.
const UNDER_WAY_MAX: u32 = 64;

/// Batches on their way into the store.
#[derive(Debug)]
pub(crate) struct Outbox {
    permits: Arc<Semaphore>,
}

impl Default for Outbox {
    fn default() -> Outbox {
        Outbox { permits: Arc::new(Semaphore::new(UNDER_WAY_MAX as usize)) }
    }
}

impl Outbox {
    /// Sends a batch on its way.
    pub(crate) async fn send(&self, store: &Arc<dyn Store>, batch: Batch) {
        let store = Arc::clone(store);
        // The semaphore is never closed.
        let Ok(permit) = Arc::clone(&self.permits).acquire_owned().await else { return };
        tokio::spawn(async move {
            if let Err(error) = store.write(batch).await {
                tracing::warn!(target: "haversack", %error, "a receipt could not be kept");
            }
            drop(permit);
        });
    }

    /// Waits until all that was sent has arrived.
    pub(crate) async fn settle(&self) {
        let _all = self.permits.acquire_many(UNDER_WAY_MAX).await;
    }
}
