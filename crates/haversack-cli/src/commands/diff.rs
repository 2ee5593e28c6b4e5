//! `haversack diff`: what differs between two packs, and why.

use anyhow::Result;
use haversack::Engine;
use haversack_store::store::viewer::Viewer;

use super::receipts;
use super::show::difference;
use crate::args::{DiffArgs, StoreLocation};
use crate::output::{ExitOutcome, print};
use crate::paint::Paint;
use crate::remote::WorkspaceTarget;
use crate::runtime::wait;

pub(crate) fn run(location: &StoreLocation, args: &DiffArgs) -> Result<ExitOutcome> {
    let target = location.reach(|location| location.existing_workspace(Engine::builder()))?;
    let found = match target {
        WorkspaceTarget::Local(workspace) => wait(async {
            let before = receipts::find(&workspace, &args.before).await?;
            let after = receipts::find(&workspace, &args.after).await?;
            Ok(workspace.diff(&before.id, &after.id, &Viewer::owner()).await?)
        })?,
        WorkspaceTarget::Server(server) => {
            receipts::of_server(server.diff(&args.before, &args.after))?
        }
    };
    if args.json {
        print(&serde_json::to_string_pretty(&found)?)?;
        return Ok(ExitOutcome::Something);
    }
    let paint = Paint::of_stdout();
    let verdict = if found.same { paint.good("same bytes") } else { paint.bad("other bytes") };
    print(&format!("{verdict}\n{}", difference(&found, paint)))?;
    Ok(ExitOutcome::Something)
}
