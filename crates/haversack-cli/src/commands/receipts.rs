//! Receipts by their ids, or by the beginning of an id.

use std::collections::BTreeMap;
use std::sync::Arc;

use anyhow::Result;
use haversack::{Error, Receipt, Workspace};
use haversack_core::ids::ItemId;
use haversack_serve::ApiError;
use haversack_store::store::item::DocumentKind;
use haversack_store::store::query::LIMIT_MAX;
use haversack_store::store::viewer::Viewer;

use super::show::item_label;
use crate::errors::{HintedError, ServerHint, did_you_mean};

/// Why a receipt may not exist.
const KEPT: &str = "each workspace keeps its last 10,000 receipts; `pack --preview` and packs of files \
                    keep none";

/// The receipt with this id, or the only one whose id begins with it.
pub(crate) async fn find(workspace: &Workspace, typed: &str) -> Result<Arc<Receipt>> {
    let owner = Viewer::owner();
    let error = match workspace.receipt(typed, &owner).await {
        Ok(receipt) => return Ok(Arc::new(receipt.redacted_for(&owner))),
        Err(error @ Error::NoReceipt { .. }) => error,
        Err(error) => return Err(error.into()),
    };
    let names = names(workspace).await?;
    let begun: Vec<&String> =
        names.iter().filter(|name| !typed.is_empty() && name.starts_with(typed)).collect();
    if let [only] = begun[..] {
        return Ok(Arc::new(workspace.receipt(only, &owner).await?.redacted_for(&owner)));
    }
    let hint = match begun.len() {
        0 => did_you_mean(typed, &names).unwrap_or_else(|| KEPT.to_owned()),
        count => format!("{count} receipts begin with that: type more of the id"),
    };
    Err(HintedError { error, hint }.into())
}

async fn names(workspace: &Workspace) -> Result<Vec<String>> {
    let snapshot = workspace.store().snapshot(&Viewer::owner()).await.map_err(Error::from)?;
    let mut all: Vec<String> = Vec::new();
    loop {
        let after = all.last().map(String::as_str);
        let page =
            snapshot.records(DocumentKind::Receipt, after, LIMIT_MAX).await.map_err(Error::from)?;
        if page.is_empty() {
            return Ok(all);
        }
        all.extend(page);
    }
}

/// Titles or paths of a receipt's candidates, as far as the workspace still has them.
pub(crate) async fn labels(
    workspace: &Workspace,
    receipt: &Receipt,
) -> Result<BTreeMap<String, String>> {
    let snapshot = workspace.store().snapshot(&Viewer::owner()).await.map_err(Error::from)?;
    let mut labels = BTreeMap::new();
    for lines in receipt.ledger.chunks(LIMIT_MAX) {
        let ids: Vec<ItemId> =
            lines.iter().filter_map(|line| ItemId::new(&line.item).ok()).collect();
        let items = snapshot.get(&ids).await.map_err(Error::from)?;
        for (line, stored) in lines.iter().zip(items) {
            let Some(stored) = stored else { continue };
            let item = &stored.item;
            let path = item.path.as_deref().unwrap_or_default();
            let label = item_label(path, item.kind.as_str(), &item.title, &stored.text());
            labels.insert(line.name(), label);
        }
    }
    Ok(labels)
}

/// The server's answer about a receipt, with a hint: a server does not list receipts, so the
/// beginning of an id is not enough there.
pub(crate) fn of_server<T>(found: Result<T>) -> Result<T> {
    found.map_err(|error| {
        let api = error.chain().find_map(|cause| cause.downcast_ref::<ApiError>());
        if api.and_then(ApiError::code) != Some("receipt_not_found") {
            return error;
        }
        let hint = format!("through a server, type the receipt's whole id; {KEPT}");
        ServerHint { error, hint }.into()
    })
}
