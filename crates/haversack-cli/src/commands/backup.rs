//! `haversack backup`: copies a workspace.

use anyhow::{Context, Result};
use haversack_store::store::block_on;

use crate::args::{self, StoreLocation};
use crate::output::{ExitOutcome, print};

pub(crate) fn run(location: &StoreLocation, args: &args::BackupArgs) -> Result<ExitOutcome> {
    let store = location.existing_store()?;
    let name = args.folder.display();
    block_on(store.backup(&args.folder)).context("cannot back up")?;
    let home = location.folder()?.join("workspaces").join(&location.workspace);
    print(&format!(
        "copied workspace {:?} to {name}\nto restore it: put that folder in the place of {}",
        location.workspace,
        home.display()
    ))?;
    Ok(ExitOutcome::Something)
}
