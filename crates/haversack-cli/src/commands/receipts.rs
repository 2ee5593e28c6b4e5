//! Receipts by what was typed of them.

use std::collections::BTreeMap;
use std::sync::Arc;

use anyhow::Result;
use haversack::{Error, Receipt, Workspace};
use haversack_core::ids::ItemId;
use haversack_store::store::item::Shelf;
use haversack_store::store::query::LIMIT_MAX;
use haversack_store::store::viewer::Viewer;

use super::show::{clipped, named};
use crate::trouble::{Hinted, did_you_mean};

/// What is known of receipts that are not there.
const KEPT: &str = "each workspace keeps its last 10,000 receipts; `pack --preview` and packs of files \
                    keep none";

/// The receipt of this name, or the only one whose name begins so.
pub(crate) async fn find(workspace: &Workspace, typed: &str) -> Result<Arc<Receipt>> {
    let owner = Viewer::owner();
    let error = match workspace.receipt(typed, &owner).await {
        Ok(receipt) => return Ok(Arc::new(receipt.shown_to(&owner))),
        Err(error @ Error::NoReceipt { .. }) => error,
        Err(error) => return Err(error.into()),
    };
    let names = names(workspace).await?;
    let begun: Vec<&String> =
        names.iter().filter(|name| !typed.is_empty() && name.starts_with(typed)).collect();
    if let [only] = begun[..] {
        return Ok(Arc::new(workspace.receipt(only, &owner).await?.shown_to(&owner)));
    }
    let hint = match begun.len() {
        0 => did_you_mean(typed, &names).unwrap_or_else(|| KEPT.to_owned()),
        count => format!("{count} receipts begin so: type more of it"),
    };
    Err(Hinted { error, hint }.into())
}

async fn names(workspace: &Workspace) -> Result<Vec<String>> {
    let snapshot = workspace.store().snapshot(&Viewer::owner()).await.map_err(Error::from)?;
    let mut all: Vec<String> = Vec::new();
    loop {
        let after = all.last().map(String::as_str);
        let page = snapshot.records(Shelf::Receipt, after, LIMIT_MAX).await.map_err(Error::from)?;
        if page.is_empty() {
            return Ok(all);
        }
        all.extend(page);
    }
}

/// What people call the candidates of a receipt, as far as they are there still.
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
            let label = match (&item.path, item.kind.as_str()) {
                (Some(path), "file") => clipped(path, usize::MAX),
                _ => named(&item.title, &stored.text()),
            };
            labels.insert(line.name(), label);
        }
    }
    Ok(labels)
}
