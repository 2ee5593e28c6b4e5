//! A workspace behind a server as the place where rows of a database go.

use haversack::sync::{RefusedItem, SyncBatch, SyncBatchReport, SyncError, SyncState, SyncTarget};
use haversack_core::ids::ItemId;
use haversack_serve::{ApiCall, item_document};
use serde_json::{Value, json};

use super::{RemoteWorkspace, text};

/// About the bytes of items in one call. The server's bodies end at 16 MiB.
const CALL_BYTES: usize = 3 << 20;

/// A workspace behind a server that takes rows.
pub(crate) struct RemoteTarget<'a> {
    server: &'a RemoteWorkspace,
    /// A dry run into a workspace that does not exist: there is nothing to ask.
    is_missing: bool,
}

impl RemoteWorkspace {
    /// The place where rows go. For a dry run the workspace need not exist.
    pub(crate) fn sync_target(&self, dry_run: bool) -> anyhow::Result<RemoteTarget<'_>> {
        let is_missing = dry_run
            && match self.send(ApiCall::get(&self.path(&[]))) {
                Err(error) if error.code() == Some("workspace_not_found") => true,
                Err(error) => return Err(error.into()),
                Ok(_) => false,
            };
        Ok(RemoteTarget { server: self, is_missing })
    }
}

fn failed(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> SyncError {
    SyncError::Server(error.into())
}

impl RemoteTarget<'_> {
    fn page(&self, name: &str, after: Option<&ItemId>) -> Result<Value, SyncError> {
        if self.is_missing {
            return Ok(json!({ "state": null, "ids": [] }));
        }
        let path = self.server.path(&["sources", name]);
        let mut call = ApiCall::get(&path);
        if let Some(after) = after {
            call = call.with("after", after.as_str());
        }
        self.server.send(call).map_err(failed)
    }

    fn send(&self, batch: &Value, name: &str) -> Result<SyncBatchReport, SyncError> {
        let path = self.server.path(&["sources", name]);
        let done = self.server.send(ApiCall::post(&path, batch.clone())).map_err(failed)?;
        let count = |name: &str| {
            done[name].as_u64().ok_or_else(|| failed(format!("the server's answer has no {name}")))
        };
        let list = |name: &str| done[name].as_array().into_iter().flatten();
        let refused =
            |it: &Value| Some(RefusedItem { id: text(&it["id"])?, reason: text(&it["reason"])? });
        Ok(SyncBatchReport {
            stored: count("stored")?,
            unchanged: count("unchanged")?,
            deleted: count("deleted")?,
            refused: list("refused").filter_map(refused).collect(),
            warnings: list("warnings").filter_map(text).collect(),
        })
    }
}

impl SyncTarget for RemoteTarget<'_> {
    fn state(&mut self, name: &str) -> Result<Option<SyncState>, SyncError> {
        let page = self.page(name, None)?;
        Ok(SyncState::from_json(&page["state"].to_string()))
    }

    fn ids_after(&mut self, name: &str, after: Option<&ItemId>) -> Result<Vec<ItemId>, SyncError> {
        let page = self.page(name, after)?;
        let ids = page["ids"].as_array().into_iter().flatten().filter_map(Value::as_str);
        ids.map(|id| ItemId::new(id).map_err(failed)).collect()
    }

    /// A large batch goes in several calls. The state goes with the last, so it is never ahead of the items.
    fn write(&mut self, batch: SyncBatch) -> Result<SyncBatchReport, SyncError> {
        if self.is_missing {
            let stored = batch.items.len() as u64;
            return Ok(SyncBatchReport { stored, ..SyncBatchReport::default() });
        }
        let mut report = SyncBatchReport::default();
        let mut items = batch.items.iter().map(item_document).peekable();
        let mut deleted: Vec<&str> = batch.deleted.iter().map(ItemId::as_str).collect();
        loop {
            let (mut documents, mut bytes) = (Vec::new(), 0);
            while let Some(item) = items.next_if(|_| bytes < CALL_BYTES) {
                bytes += item.to_string().len();
                documents.push(item);
            }
            let is_last = items.peek().is_none();
            let state = batch.state.as_ref().filter(|_| is_last).map(SyncState::to_json);
            let call = json!({
                "items": documents,
                "deleted": std::mem::take(&mut deleted),
                "state": state,
                "dryRun": batch.dry_run,
                "origin": batch.origin,
            });
            let part = self.send(&call, &batch.name)?;
            report.stored += part.stored;
            report.unchanged += part.unchanged;
            report.deleted += part.deleted;
            report.refused.extend(part.refused);
            report.warnings.extend(part.warnings);
            if is_last {
                return Ok(report);
            }
        }
    }
}
