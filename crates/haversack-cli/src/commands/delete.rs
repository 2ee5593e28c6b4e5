//! `haversack delete`: items taken out of a workspace, with everything under them.

use anyhow::{Context, Result};
use haversack_core::ids::ItemId;
use haversack_store::store::change::{Batch, Change};
use haversack_store::store::viewer::Viewer;

use crate::args::{DeleteArgs, StoreLocation};
use crate::input::now;
use crate::output::{ExitOutcome, print, say};
use crate::remote::WorkspaceTarget;
use crate::runtime::wait;

pub(crate) fn run(location: &StoreLocation, args: &DeleteArgs) -> Result<ExitOutcome> {
    let ids: Result<Vec<ItemId>, _> = args.ids.iter().map(|id| ItemId::new(id)).collect();
    let ids = ids.context("an item's id")?;
    let were_there: Vec<bool> = match location.reach(StoreLocation::plain_workspace)? {
        WorkspaceTarget::Local(workspace) => wait(async {
            let snapshot = workspace.store().snapshot(&Viewer::owner()).await?;
            let there = snapshot.exist(&ids).await?;
            let change = |id: &ItemId| match args.purge {
                true => Change::Purge(id.clone()),
                false => Change::Delete(id.clone()),
            };
            let existing = ids.iter().zip(&there).filter(|(_, there)| **there);
            let changes: Vec<Change> = existing.map(|(id, _)| change(id)).collect();
            if !changes.is_empty() {
                workspace.write(Batch::new(now(), changes)).await?;
                workspace.flush().await;
            }
            Ok(there)
        })?,
        WorkspaceTarget::Server(server) => {
            let delete = |id: &ItemId| server.delete(id.as_str(), args.purge);
            ids.iter().map(delete).collect::<Result<_>>()?
        }
    };
    for (id, was_there) in ids.iter().zip(&were_there) {
        match (was_there, args.purge) {
            (false, _) => say(&format!("there is no item {id}")),
            (true, false) => print(&format!("deleted {id}"))?,
            (true, true) => print(&format!("purged {id}"))?,
        }
    }
    Ok(if were_there.contains(&true) { ExitOutcome::Something } else { ExitOutcome::Nothing })
}
