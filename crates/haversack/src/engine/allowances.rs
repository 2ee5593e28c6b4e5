//! Whose allowances of models count for which work (B4): a workspace's own, and those that its caller brings on
//! the thread, such as a key's.

use std::sync::Arc;

use haversack_core::embed::Embedder;
use haversack_provider::{
    Allowance, AllowanceScope, AllowanceStatus, DailyCap, current_allowances,
};
use haversack_store::store::change::{Batch, CommitReport};
use haversack_store::store::error::CommitError;

use super::blocking::on_blocking_thread;
use super::{Engine, Shared, Workspace};

impl Engine {
    /// The allowance of a caller, such as `key 1f3a`, to be entered around its requests
    /// ([`haversack_provider::with_allowances`]); `None` without a cap or without models of providers. What it
    /// used today is kept in the data folder.
    #[must_use]
    pub fn allowance(&self, owner: &str, cap: DailyCap) -> Option<Arc<Allowance>> {
        self.shared.models.as_ref()?.set().allowance(owner, cap)
    }
}

impl Shared {
    /// The embedder with its calls counted against the workspace's allowance, if it has one.
    pub(super) fn capped(&self, embedder: Arc<dyn Embedder>, workspace: &str) -> Arc<dyn Embedder> {
        match &self.models {
            Some(models) => models.set().capped(embedder, workspace),
            None => embedder,
        }
    }
}

impl Workspace {
    /// What the workspace may use of models each day and has used today; `None` without a cap.
    #[must_use]
    pub fn allowance_status(&self) -> Option<AllowanceStatus> {
        self.allowance().map(|allowance| allowance.status())
    }

    fn allowance(&self) -> Option<Arc<Allowance>> {
        self.0.shared.models.as_ref()?.set().workspace_allowance(self.name())
    }

    /// The allowances that count for work of this workspace on this thread.
    pub(crate) fn allowances(&self) -> Vec<Arc<Allowance>> {
        let mut allowances = current_allowances();
        allowances.extend(self.allowance());
        allowances
    }

    /// Lets this workspace's allowance count on this thread until the scope is dropped.
    pub(crate) fn allowance_scope(&self) -> AllowanceScope {
        AllowanceScope::enter(&self.allowances())
    }

    /// Writes a batch. The store embeds on threads of its own, which know nothing of the caller's allowances, so
    /// a write that counts against some is made on a thread that does.
    pub(super) async fn write_to_store(&self, batch: Batch) -> Result<CommitReport, CommitError> {
        if current_allowances().is_empty() {
            return self.0.store.write(batch).await;
        }
        let store = Arc::clone(&self.0.blocking_store);
        on_blocking_thread(async move { store.write(batch).await }).await
    }
}
