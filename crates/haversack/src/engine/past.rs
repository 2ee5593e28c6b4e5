//! Past packs: reading their receipts, replaying them, and comparing two.

use std::sync::Arc;

use haversack_core::units::Timestamp;
use haversack_store::store::item::DocumentKind;
use haversack_store::store::viewer::Viewer;

use super::Workspace;
use super::blocking::on_blocking_thread;
use crate::error::Error;
use crate::pipeline::Assembled;
use crate::receipt::{Difference, Receipt};
use crate::request::AsOf;
use crate::wire::viewer_from_principals;

/// The result of a replay.
#[derive(Debug)]
pub struct Replay {
    /// The new pack.
    pub assembled: Assembled,
    /// The difference from the pack of the receipt: none when the bytes are the same.
    pub difference: Difference,
}

impl Workspace {
    /// Returns a receipt to the viewer it was made for, or to the owner.
    ///
    /// # Errors
    /// When there is no such receipt for this viewer.
    pub async fn receipt(&self, id: &str, viewer: &Viewer) -> Result<Arc<Receipt>, Error> {
        let missing = || Error::NoReceipt { id: id.chars().take(64).collect() };
        let receipt = match self.0.caches.receipt(id) {
            Some(receipt) => receipt,
            None => {
                let snapshot = self.store().snapshot(viewer).await?;
                let record =
                    snapshot.record(DocumentKind::Receipt, id).await?.ok_or_else(missing)?;
                let receipt = Receipt::from_json(&record.text)
                    .map_err(|error| Error::invalid(format!("receipt {id}"), error.to_string()))?;
                Arc::new(receipt)
            }
        };
        let made_for = viewer_from_principals(receipt.viewer.as_deref())?;
        let may_read = *viewer == Viewer::owner() || *viewer == made_for;
        if may_read { Ok(receipt) } else { Err(missing()) }
    }

    /// Makes a pack again from its receipt and compares the two packs.
    ///
    /// # Errors
    /// When there is no such receipt for this viewer, or the pack cannot be made any more.
    pub async fn replay(&self, id: &str, viewer: &Viewer) -> Result<Replay, Error> {
        let receipt = self.receipt(id, viewer).await?;
        let mut request = receipt.request.to_request(&receipt.recipe)?;
        request.viewer = viewer_from_principals(receipt.viewer.as_deref())?;
        request.now = Some(Timestamp::from_millis(receipt.now));
        request.facts_at = request.facts_moment();
        request.as_of = receipt.at.map(AsOf::Revision);
        request.keep = false;
        let ready = self.compiled_recipe(&request.recipe).await?;
        let before = self.previous_receipt(&request).await?;
        let (workspace, replayed) =
            (self.clone(), Some(receipt.models.clone().unwrap_or_default()));
        let work = async move {
            let snapshot = workspace.snapshot(&request).await?;
            let embedder = snapshot.embedder();
            let replayed = (before, replayed);
            let assembled = workspace.assemble(ready, snapshot, request, replayed, None).await?;
            Ok::<_, Error>((assembled, embedder))
        };
        let (assembled, embedder) = on_blocking_thread(work).await?;
        let again = Receipt::from_assembled(&assembled, &embedder.model().to_string());
        Ok(Replay { difference: receipt.diff(&again), assembled })
    }

    /// Compares two packs by their receipts.
    ///
    /// # Errors
    /// When there is no such receipt for this viewer.
    pub async fn diff(
        &self,
        before: &str,
        after: &str,
        viewer: &Viewer,
    ) -> Result<Difference, Error> {
        let (before, after) =
            (self.receipt(before, viewer).await?, self.receipt(after, viewer).await?);
        Ok(before.diff(&after))
    }
}
