//! `haversack frontier`: what other budgets would give.

use anyhow::Result;
use haversack::{Request, Workspace};
use haversack_core::pack::Point;
use haversack_core::units::Tokens;
use serde_json::{Value, json};

use super::asking;
use super::show::plot;
use crate::args::{self, Place};
use crate::output::{Found, print, say};
use crate::paint::Paint;
use crate::runtime::wait;

pub(crate) fn run(place: &Place, args: &args::Frontier) -> Result<Found> {
    let desk = asking::open(place, &args.asking)?;
    wait(async {
        let request = asking::request(&desk, &args.asking).await?;
        show(&desk.workspace, request, &args.budgets, args.json).await
    })
}

/// Shows what budgets would give.
pub(crate) async fn show(
    workspace: &Workspace,
    request: Request,
    budgets: &[u32],
    json: bool,
) -> Result<Found> {
    let recipe = workspace.recipe(&request.recipe).await?;
    let own = request.budget.unwrap_or(recipe.budget.total).get();
    let totals: Vec<Tokens> = budgets.iter().copied().map(Tokens::new).collect();
    let points = workspace.frontier(request, &totals).await?;
    let missing: Vec<String> = budgets
        .iter()
        .filter(|total| points.iter().all(|point| point.total.get() != **total))
        .map(ToString::to_string)
        .collect();
    if !missing.is_empty() {
        say(&format!("too small for what is never cut: {}", missing.join(", ")));
    }
    if json {
        let points: Vec<Value> = points.iter().map(point_json).collect();
        let figures = json!({ "recipe": recipe.name, "budget": own, "points": points });
        print(&serde_json::to_string_pretty(&figures)?)?;
    } else if !points.is_empty() {
        print(&plot(&points, own, Paint::of_stdout()))?;
    }
    Ok(if points.is_empty() { Found::Nothing } else { Found::Something })
}

fn point_json(point: &Point) -> Value {
    json!({
        "budget": point.total.get(),
        "tokens": point.tokens.get(),
        "items": point.n_items,
        "value": point.worth.value,
        "bound": point.worth.bound,
        "coverage": point.worth.coverage().get(),
    })
}
