//! `haversack diff`: what differs between two packs, and why.

use anyhow::Result;
use haversack_store::store::viewer::Viewer;

use super::receipts;
use super::show::difference;
use crate::args::{self, Place};
use crate::output::{Found, print};
use crate::paint::Paint;
use crate::runtime::wait;

pub(crate) fn run(place: &Place, args: &args::Diff) -> Result<Found> {
    let workspace = place.engine_on_existing(haversack::Engine::builder())?;
    wait(async {
        let before = receipts::find(&workspace, &args.before).await?;
        let after = receipts::find(&workspace, &args.after).await?;
        let found = workspace.diff(&before.id, &after.id, &Viewer::owner()).await?;
        if args.json {
            print(&serde_json::to_string_pretty(&found)?)?;
            return Ok(Found::Something);
        }
        let paint = Paint::of_stdout();
        let verdict = if found.same { paint.good("same bytes") } else { paint.bad("other bytes") };
        print(&format!("{verdict}\n{}", difference(&found, paint)))?;
        Ok(Found::Something)
    })
}
