//! `haversack frontier`: what other budgets would give.

use anyhow::Result;
use haversack::{Request, Workspace};
use haversack_core::pack::Point;
use haversack_core::units::Tokens;
use serde_json::{Value, json};

use super::request::{self, QueryTarget};
use super::show::plot;
use crate::args::{FrontierArgs, StoreLocation};
use crate::output::{ExitOutcome, print, say};
use crate::paint::Paint;
use crate::runtime::wait;

/// What one budget would give.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct BudgetPoint {
    pub(crate) budget: u32,
    pub(crate) tokens: u32,
    pub(crate) items: usize,
    pub(crate) value: f64,
    /// The most that any choice could be worth; a server does not say.
    pub(crate) bound: Option<f64>,
    pub(crate) coverage: f64,
}

impl From<&Point> for BudgetPoint {
    fn from(point: &Point) -> BudgetPoint {
        BudgetPoint {
            budget: point.total.get(),
            tokens: point.tokens.get(),
            items: point.n_items,
            value: point.worth.value,
            bound: Some(point.worth.bound),
            coverage: point.worth.coverage().get(),
        }
    }
}

/// The budgets that were tried, and the one that the request itself has.
pub(crate) struct Frontier {
    recipe: String,
    requested: u32,
    points: Vec<BudgetPoint>,
}

pub(crate) fn run(location: &StoreLocation, args: &FrontierArgs) -> Result<ExitOutcome> {
    let target = request::open(location, &args.request)?;
    show(&of_target(&target, &args.request, &args.budgets)?, &args.budgets, args.json)
}

/// Computes what budgets would give for what was typed.
pub(crate) fn of_target(
    target: &QueryTarget,
    typed: &crate::args::RequestArgs,
    budgets: &[u32],
) -> Result<Frontier> {
    match target {
        QueryTarget::Workspace(target) => wait(async {
            let request = request::of_workspace(target, typed).await?;
            of_workspace(&target.workspace, request, budgets).await
        }),
        QueryTarget::Server(target) => {
            let fields = request::fields(typed, target.recipe.shape)?;
            let name = &target.recipe.name;
            let points = target.server.frontier(name, &fields, budgets)?;
            let requested = typed.budget.unwrap_or(target.recipe.budget.total.get());
            Ok(Frontier { recipe: name.clone(), requested, points })
        }
    }
}

async fn of_workspace(
    workspace: &Workspace,
    request: Request,
    budgets: &[u32],
) -> Result<Frontier> {
    let recipe = workspace.recipe(&request.recipe).await?;
    let requested = request.budget.unwrap_or(recipe.budget.total).get();
    let totals: Vec<Tokens> = budgets.iter().copied().map(Tokens::new).collect();
    let points = workspace.frontier(request, &totals).await?;
    let points = points.iter().map(BudgetPoint::from).collect();
    Ok(Frontier { recipe: recipe.name.clone(), requested, points })
}

/// Prints a frontier. `budgets` are those that were asked for.
pub(crate) fn show(frontier: &Frontier, budgets: &[u32], json: bool) -> Result<ExitOutcome> {
    let Frontier { recipe, requested, points } = frontier;
    let missing: Vec<String> = budgets
        .iter()
        .filter(|total| points.iter().all(|point| point.budget != **total))
        .map(ToString::to_string)
        .collect();
    if !missing.is_empty() {
        let missing = missing.join(", ");
        say(&format!("too small for the text that is never truncated: {missing}"));
    }
    if json {
        let points: Vec<Value> = points.iter().map(point_json).collect();
        let figures = json!({ "recipe": recipe, "budget": requested, "points": points });
        print(&serde_json::to_string_pretty(&figures)?)?;
    } else if !points.is_empty() {
        print(&plot(points, *requested, Paint::of_stdout()))?;
    }
    Ok(if points.is_empty() { ExitOutcome::Nothing } else { ExitOutcome::Something })
}

fn point_json(point: &BudgetPoint) -> Value {
    json!({
        "budget": point.budget,
        "tokens": point.tokens,
        "items": point.items,
        "value": point.value,
        "bound": point.bound,
        "coverage": point.coverage,
    })
}
