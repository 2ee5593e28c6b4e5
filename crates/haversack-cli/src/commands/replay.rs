//! `haversack replay`: a pack made again from its receipt, and whether it is the same.

use anyhow::Result;
use haversack_store::store::viewer::Viewer;

use super::receipts;
use super::show::difference;
use crate::args::{self, Place};
use crate::output::{Found, grouped, print, say};
use crate::paint::Paint;
use crate::runtime::wait;

pub(crate) fn run(place: &Place, args: &args::Replay) -> Result<Found> {
    let workspace = place.engine_on_existing(haversack::Engine::builder())?;
    wait(async {
        let receipt = receipts::find(&workspace, &args.receipt).await?;
        let replay = Box::pin(workspace.replay(&receipt.id, &Viewer::owner())).await?;
        let same = replay.difference.same;
        let tokens = grouped(replay.assembled.pack.tokens);
        let verdict = match same {
            true => format!("same bytes: {tokens} tokens, as on receipt {}", receipt.id),
            false => format!("other bytes: {tokens} tokens, not as on receipt {}", receipt.id),
        };
        if args.json {
            print(&serde_json::to_string_pretty(&replay.difference)?)?;
        } else if args.print {
            print(replay.assembled.text())?;
            say(&verdict);
        } else {
            let paint = Paint::of_stdout();
            let told = if same { paint.good(&verdict) } else { paint.bad(&verdict) };
            let details = if same { String::new() } else { difference(&replay.difference, paint) };
            print(&format!("{told}\n{details}"))?;
        }
        Ok(if same { Found::Something } else { Found::Nothing })
    })
}
