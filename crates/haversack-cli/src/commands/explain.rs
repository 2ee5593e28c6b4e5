//! `haversack explain`: the outcome of each candidate of an earlier pack.

use std::collections::BTreeMap;

use anyhow::Result;
use haversack::recipe::Recipe;
use haversack::{Engine, Receipt};

use super::receipts;
use super::show::{Depth, PackReport, page};
use crate::args::{ExplainArgs, StoreLocation};
use crate::output::{ExitOutcome, print};
use crate::paint::Paint;
use crate::remote::{RemoteWorkspace, WorkspaceTarget};
use crate::runtime::wait;

/// Names and titles of layers, in the recipe's order.
type LayerTitles = Vec<(String, String)>;

pub(crate) fn run(location: &StoreLocation, args: &ExplainArgs) -> Result<ExitOutcome> {
    let target = location.reach(|location| location.existing_workspace(Engine::builder()))?;
    match target {
        WorkspaceTarget::Local(workspace) => wait(async {
            let receipt = receipts::find(&workspace, &args.receipt).await?;
            if args.json {
                return print_json(&receipt);
            }
            // The recipe may be gone; then layers go by the names that the receipt has.
            let recipe = workspace.recipe(&receipt.recipe).await.ok();
            let titles = recipe.map_or_else(Vec::new, |recipe| titles_of(&recipe));
            let labels = receipts::labels(&workspace, &receipt).await?;
            show(&receipt, &titles, &labels, args)
        }),
        WorkspaceTarget::Server(server) => {
            let receipt = receipts::of_server(server.receipt(&args.receipt))?;
            if args.json {
                return print_json(&receipt);
            }
            let recipe = server.recipe(&receipt.recipe).ok();
            let titles = recipe.map_or_else(Vec::new, |recipe| titles_of(&recipe));
            let labels = labels_by_server(&server, &receipt)?;
            show(&receipt, &titles, &labels, args)
        }
    }
}

fn titles_of(recipe: &Recipe) -> LayerTitles {
    recipe.layers.iter().map(|layer| (layer.name.clone(), layer.title.clone())).collect()
}

fn labels_by_server(
    server: &RemoteWorkspace,
    receipt: &Receipt,
) -> Result<BTreeMap<String, String>> {
    let items = server.labels(receipt.ledger.iter().map(|line| line.item.as_str()))?;
    let label = |line: &haversack::receipt::ReceiptLine| {
        Some((line.name(), items.get(&line.item)?.clone()))
    };
    Ok(receipt.ledger.iter().filter_map(label).collect())
}

fn print_json(receipt: &Receipt) -> Result<ExitOutcome> {
    print(&serde_json::to_string_pretty(receipt)?)?;
    Ok(ExitOutcome::Something)
}

fn show(
    receipt: &Receipt,
    titles: &[(String, String)],
    labels: &BTreeMap<String, String>,
    args: &ExplainArgs,
) -> Result<ExitOutcome> {
    let report = PackReport::of_receipt(receipt, titles, labels);
    let depth = if args.all { Depth::All } else { Depth::SCREEN };
    print(&page(&report, depth, Paint::of_stdout()))?;
    Ok(ExitOutcome::Something)
}
