//! `haversack feedback`: whether an item helped, for later scores.

use anyhow::{Context, Result};
use haversack_core::ids::ItemId;
use haversack_store::store::viewer::Viewer;

use crate::args::{self, Place};
use crate::output::{Found, print};
use crate::runtime::wait;

/// The name under which the owner's word is kept.
const OWNER: &str = "owner";

pub(crate) fn run(place: &Place, args: &args::Feedback) -> Result<Found> {
    let item = ItemId::new(&args.item).context("the item's id")?;
    let viewer = match &args.user {
        Some(user) => Viewer::user(user).context("--user")?,
        None => Viewer::owner(),
    };
    let user = args.user.as_deref().unwrap_or(OWNER);
    let workspace = place.engine_on_existing(haversack::Engine::builder())?;
    wait(async {
        workspace.feedback(&viewer, user, &item, args.useful).await?;
        workspace.settle().await;
        let verdict = if args.useful { "useful" } else { "not useful" };
        print(&format!("noted: {item} was {verdict} to {user}"))?;
        Ok(Found::Something)
    })
}
