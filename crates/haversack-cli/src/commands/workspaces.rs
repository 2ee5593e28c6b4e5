//! `haversack workspaces`: the names of the workspaces.

use anyhow::Result;
use haversack_store::store::maintenance::Stores;

use crate::args::StoreLocation;
use crate::output::{ExitOutcome, print, say};
use crate::remote::WorkspaceTarget;

pub(crate) fn run(location: &StoreLocation) -> Result<ExitOutcome> {
    let names = match location.reach(StoreLocation::stores)? {
        WorkspaceTarget::Local(stores) => stores.names()?,
        WorkspaceTarget::Server(server) => server.workspace_names()?,
    };
    if names.is_empty() {
        say("there are no workspaces yet: begin with `haversack add PATH`");
        return Ok(ExitOutcome::Nothing);
    }
    print(&names.join("\n"))?;
    Ok(ExitOutcome::Something)
}
