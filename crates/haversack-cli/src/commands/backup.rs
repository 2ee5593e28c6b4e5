//! `haversack backup`: a copy of a workspace.

use anyhow::{Context, Result};
use haversack_store::store::wait;

use crate::args::{self, Place};
use crate::output::{Found, print};

pub(crate) fn run(place: &Place, args: &args::Backup) -> Result<Found> {
    let store = place.existing()?;
    let name = args.folder.display();
    wait(store.backup(&args.folder)).context("cannot back up")?;
    let home = place.folder()?.join("workspaces").join(&place.workspace);
    print(&format!(
        "copied workspace {:?} to {name}\nto restore it: put that folder in the place of {}",
        place.workspace,
        home.display()
    ))?;
    Ok(Found::Something)
}
