//! `haversack explain`: what became of the candidates of a pack that was made before.

use anyhow::Result;

use super::receipts;
use super::show::{Depth, Story, page};
use crate::args::{self, Place};
use crate::output::{Found, print};
use crate::paint::Paint;
use crate::runtime::wait;

pub(crate) fn run(place: &Place, args: &args::Explain) -> Result<Found> {
    let workspace = place.engine_on_existing(haversack::Engine::builder())?;
    wait(async {
        let receipt = receipts::find(&workspace, &args.receipt).await?;
        if args.json {
            print(&serde_json::to_string_pretty(&*receipt)?)?;
            return Ok(Found::Something);
        }
        // The recipe may have changed or gone since; then its layers go by the names they had.
        let recipe = workspace.recipe(&receipt.recipe).await.ok();
        let layers: Vec<(String, String)> = recipe.map_or_else(Vec::new, |recipe| {
            recipe.layers.iter().map(|layer| (layer.name.clone(), layer.title.clone())).collect()
        });
        let labels = receipts::labels(&workspace, &receipt).await?;
        let story = Story::of_receipt(&receipt, &layers, &labels);
        let depth = if args.all { Depth::All } else { Depth::SCREEN };
        print(&page(&story, depth, Paint::of_stdout()))?;
        Ok(Found::Something)
    })
}
