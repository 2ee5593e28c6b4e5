//! One question at many budgets: looked for once, packed at each.

use std::sync::Arc;
use std::time::{Duration, Instant};

use haversack_core::pack::{Plan, Request as PackRequest, pack};
use haversack_core::units::Tokens;

use super::Workspace;
use crate::error::Error;
use crate::pipeline::{Assembled, Prepared, assembled, illustrate, prepare};
use crate::recipe::Recipe;
use crate::request::Request;

impl Workspace {
    /// A recipe, read and checked, as it would be used.
    ///
    /// # Errors
    /// When there is no such recipe, it cannot be used, or the store cannot be read.
    pub async fn recipe(&self, name: &str) -> Result<Arc<Recipe>, Error> {
        Ok(Arc::clone(&self.ready(name).await?.recipe))
    }

    /// Packs at many budgets, in their order, each the same as a pack of its own. What is found
    /// does not depend on the budget, so it is looked for once. No receipts are kept, no uses are
    /// noted and nothing is cached.
    ///
    /// A pack's `timings` say what it would have taken alone.
    ///
    /// # Errors
    /// As [`Workspace::pack`], at the first budget that cannot be met; and when the request names
    /// a previous pack, which has one budget only.
    pub async fn pack_many(
        &self,
        mut request: Request,
        budgets: &[Tokens],
    ) -> Result<Vec<Arc<Assembled>>, Error> {
        if request.previous.is_some() {
            let message = "packs at many budgets do not go on from one before them: leave it out";
            return Err(Error::invalid("previous", message));
        }
        let Some(&largest) = budgets.iter().max() else { return Ok(Vec::new()) };
        request.budget = Some(largest);
        request.keep = false;
        let ready = self.ready(&request.recipe).await?;
        let snapshot = self.snapshot(&request).await?;
        let start = self.start(ready, Arc::clone(&snapshot), request, None)?;
        let prepared = prepare(&self.0.shared, start).await?;
        let packs = at_budgets(&prepared, budgets)?;
        let mut shown = Vec::with_capacity(packs.len());
        for mut pack in packs {
            illustrate(&mut pack, &snapshot).await?;
            shown.push(Arc::new(pack));
        }
        Ok(shown)
    }
}

fn at_budgets(prepared: &Prepared, budgets: &[Tokens]) -> Result<Vec<Assembled>, Error> {
    let started = Instant::now();
    let plan = Plan::new(&prepared.core)?;
    let planning = started.elapsed();
    let mut packs = Vec::with_capacity(budgets.len());
    for &total in budgets {
        let mut within = prepared.within(total)?;
        let started = Instant::now();
        let (made, planned) = if layers_agree(&within.core, &prepared.core) {
            (plan.pack_at(within.core.budget.total())?, planning)
        } else {
            (pack(&within.core)?, Duration::ZERO)
        };
        within.timings.pack = planned + started.elapsed();
        packs.push(assembled(within, made));
    }
    Ok(packs)
}

/// Whether a plan for the one is a plan for the other: a recipe may give layers other shares and
/// caps at another budget.
fn layers_agree(a: &PackRequest, b: &PackRequest) -> bool {
    let mut pairs = a.layers.iter().zip(&b.layers);
    pairs.all(|((a, _), (b, _))| a.claim == b.claim && a.cap == b.cap)
}
