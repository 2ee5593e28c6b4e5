//! `haversack feedback`: records whether an item was useful, for later scores.

use anyhow::{Context, Result};
use haversack::Engine;
use haversack_core::ids::ItemId;
use haversack_store::store::viewer::Viewer;

use crate::args::{FeedbackArgs, StoreLocation};
use crate::output::{ExitOutcome, print};
use crate::remote::WorkspaceTarget;
use crate::runtime::wait;

/// The user name under which the owner's feedback is stored.
const OWNER: &str = "owner";

pub(crate) fn run(location: &StoreLocation, args: &FeedbackArgs) -> Result<ExitOutcome> {
    let item = ItemId::new(&args.item).context("the item's id")?;
    let viewer = match &args.user {
        Some(user) => Viewer::user(user).context("--user")?,
        None => Viewer::owner(),
    };
    let user = args.user.as_deref();
    let target = location.reach(|location| location.existing_workspace(Engine::builder()))?;
    match target {
        WorkspaceTarget::Local(workspace) => wait(async {
            let user = user.unwrap_or(OWNER);
            workspace.feedback(&viewer, user, &item, args.useful).await?;
            workspace.flush().await;
            Ok(())
        })?,
        WorkspaceTarget::Server(server) => server.feedback(item.as_str(), args.useful, user)?,
    }
    let verdict = if args.useful { "useful" } else { "not useful" };
    print(&format!("noted: {item} was {verdict} to {}", user.unwrap_or(OWNER)))?;
    Ok(ExitOutcome::Something)
}
