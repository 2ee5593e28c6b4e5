//! Items of a server's workspace: read, listed, deleted, and sent in batches.

use anyhow::{Context, Result};
use haversack_serve::{ApiCall, item_document};
use haversack_store::store::item::Item;
use serde_json::Value;

use super::{RemoteWorkspace, text};
use crate::args::{IdentityArgs, ListArgs};

/// Most items and, about, most bytes of one batch. The server's bodies end at 16 MiB.
const BATCH_ITEMS: usize = 500;
const BATCH_BYTES: usize = 4 << 20;

/// Items on one page of a list.
const PAGE: usize = 1_000;

/// How many items the server stored, and what it remarked.
#[derive(Debug, Default)]
pub(crate) struct SentItems {
    pub(crate) stored: u64,
    pub(crate) unchanged: u64,
    pub(crate) warnings: Vec<String>,
}

impl RemoteWorkspace {
    /// An item as the server shows it to this user; `None` if there is none to see.
    pub(crate) fn item(&self, id: &str, identity: &IdentityArgs) -> Result<Option<Value>> {
        let path = self.path(&["items", id]);
        let call = ApiCall::get(&path).acting_as(identity.user.as_deref(), &identity.group);
        match self.send(call) {
            Err(error) if error.code() == Some("item_not_found") => Ok(None),
            found => Ok(Some(found?)),
        }
    }

    /// The first items by id that pass the filters.
    pub(crate) fn items(&self, args: &ListArgs) -> Result<Vec<Value>> {
        let mut found: Vec<Value> = Vec::new();
        let mut after: Option<String> = None;
        let identity = &args.identity;
        loop {
            let path = self.path(&["items"]);
            // A filter by path is applied here, so pages are as large as they may be.
            let limit = if args.path.is_some() { PAGE } else { PAGE.min(args.limit - found.len()) };
            let mut call = ApiCall::get(&path).with("limit", limit.to_string());
            call = call.acting_as(identity.user.as_deref(), &identity.group);
            for (name, value) in [("kind", &args.kind), ("after", &after)] {
                if let Some(value) = value {
                    call = call.with(name, value);
                }
            }
            let mut page = self.send(call)?;
            let Value::Array(items) = page["items"].take() else {
                anyhow::bail!("the server's list has no items");
            };
            let passes = |item: &Value| match &args.path {
                Some(path) => item["path"].as_str().is_some_and(|it| it.starts_with(path)),
                None => true,
            };
            found.extend(items.into_iter().filter(passes).take(args.limit - found.len()));
            after = text(&page["next"]);
            if after.is_none() || found.len() >= args.limit {
                return Ok(found);
            }
        }
    }

    /// Deletes an item with everything under it; false if there was none.
    pub(crate) fn delete(&self, id: &str, purge: bool) -> Result<bool> {
        let path = self.path(&["items", id]);
        match self.send(ApiCall::delete(&path).with("purge", purge.to_string())) {
            Err(error) if error.code() == Some("item_not_found") => Ok(false),
            done => done.map(|_| true).map_err(Into::into),
        }
    }

    /// Sends items in batches, parents before what is under them.
    pub(crate) fn send_items(
        &self,
        items: impl Iterator<Item = Result<Item>>,
        mut progress: impl FnMut(&SentItems),
    ) -> Result<SentItems> {
        let mut sent = SentItems::default();
        let (mut batch, mut bytes) = (Vec::new(), 0);
        for item in items {
            let item = item?;
            let size = item.body.len() + item.title.len();
            if batch.len() >= BATCH_ITEMS || (bytes + size > BATCH_BYTES && !batch.is_empty()) {
                self.send_batch(std::mem::take(&mut batch), &mut sent)?;
                progress(&sent);
                bytes = 0;
            }
            bytes += size;
            batch.push(item_document(&item));
        }
        if !batch.is_empty() {
            self.send_batch(batch, &mut sent)?;
        }
        Ok(sent)
    }

    fn send_batch(&self, batch: Vec<Value>, sent: &mut SentItems) -> Result<()> {
        let done = self.send(ApiCall::post(&self.path(&["items"]), Value::Array(batch)))?;
        let count = |name: &str| done[name].as_u64().context("the server counts no items");
        sent.stored += count("stored")?;
        sent.unchanged += count("unchanged")?;
        let warnings = done["warnings"].as_array().into_iter().flatten();
        sent.warnings.extend(warnings.filter_map(text));
        Ok(())
    }
}
