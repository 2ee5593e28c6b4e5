//! Packs one request at many budgets: candidates are collected once and packed at each budget.

use std::sync::Arc;
use std::time::{Duration, Instant};

use haversack_core::pack::{PackError, PackRequest, Plan, pack};
use haversack_core::units::Tokens;

use super::blocking::on_blocking_thread;
use super::details::add_stored_details;
use super::{CompiledRecipe, Workspace};
use crate::error::Error;
use crate::pipeline::{Assembled, PreparedPack, budget_too_small, describe_pack, prepare};
use crate::recipe::Recipe;
use crate::request::Request;

impl Workspace {
    /// Returns a recipe, parsed and checked, as a request would use it.
    ///
    /// # Errors
    /// When there is no such recipe, it cannot be used, or the store cannot be read.
    pub async fn recipe(&self, name: &str) -> Result<Arc<Recipe>, Error> {
        Ok(Arc::clone(&self.compiled_recipe(name).await?.recipe))
    }

    /// Packs a request at many budgets, in their order. Each pack equals one made alone, except that a
    /// pack in which nothing fits is empty here. Candidates do not depend on the budget and are
    /// collected once. No receipts are stored, no uses recorded, and nothing is cached.
    ///
    /// A pack's `timings` are those of a pack made alone.
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
            let message = "packs at many budgets cannot continue a previous pack: leave it out";
            return Err(Error::invalid("previous", message));
        }
        let Some(&largest) = budgets.iter().max() else { return Ok(Vec::new()) };
        request.budget = Some(largest);
        request.keep = false;
        let ready = self.compiled_recipe(&request.recipe).await?;
        let (workspace, budgets) = (self.clone(), budgets.to_vec());
        on_blocking_thread(
            async move { workspace.pack_many_blocking(ready, request, &budgets).await },
        )
        .await
    }

    async fn pack_many_blocking(
        &self,
        ready: Arc<CompiledRecipe>,
        request: Request,
        budgets: &[Tokens],
    ) -> Result<Vec<Arc<Assembled>>, Error> {
        let snapshot = self.snapshot(&request).await?;
        let inputs = self.pack_inputs(ready, Arc::clone(&snapshot), request, None, None)?;
        let prepared = prepare(&self.0.shared, inputs).await?;
        let packs = pack_at_budgets(&prepared, budgets)?;
        let mut completed = Vec::with_capacity(packs.len());
        for mut pack in packs {
            add_stored_details(&mut pack, &snapshot).await?;
            completed.push(Arc::new(pack));
        }
        Ok(completed)
    }
}

fn pack_at_budgets(prepared: &PreparedPack, budgets: &[Tokens]) -> Result<Vec<Assembled>, Error> {
    let started = Instant::now();
    let plan = Plan::new(&prepared.core)?;
    let planning = started.elapsed();
    let mut packs = Vec::with_capacity(budgets.len());
    for &total in budgets {
        let mut within = prepared.with_budget(total)?;
        let started = Instant::now();
        let (made, planned) = if have_same_claims(&within.core, &prepared.core) {
            (plan.pack_at(within.core.budget.total()), planning)
        } else {
            (pack(&within.core), Duration::ZERO)
        };
        let made = match made {
            Err(PackError::Infeasible { total, least }) => {
                return Err(budget_too_small(&within, total, least));
            }
            made => made?,
        };
        within.timings.pack = planned + started.elapsed();
        packs.push(describe_pack(within, made));
    }
    Ok(packs)
}

/// Whether one plan serves both requests: a recipe may change shares and caps with the budget.
fn have_same_claims(a: &PackRequest, b: &PackRequest) -> bool {
    let mut pairs = a.layers.iter().zip(&b.layers);
    pairs.all(|((a, _), (b, _))| a.claim == b.claim && a.cap == b.cap)
}

#[cfg(test)]
mod tests {
    use haversack_core::ids::ItemId;
    use haversack_core::item::Kind;
    use haversack_core::units::Timestamp;
    use haversack_store::store::item::Item;

    use super::*;
    use crate::engine::Engine;

    /// Two layers whose shares change with the budget.
    const ADAPTING: &str = r#"
haversack = 1
name = "adapting"
[budget]
total = 100
reserve = { answer = 10 }
[[layer]]
name = "words"
share = 0.5
collect = [{ by = "text", kinds = ["memory"] }]
template = { header = "W\n", item = "{{content}}\n" }
[[layer]]
name = "new"
share = 0.5
collect = [{ by = "newest", kinds = ["memory"], of = "workspace" }]
template = { header = "N\n", item = "{{content}}\n" }
[[adapt]]
when = "budget > 60"
shares = { words = 0.1, new = 0.9 }
"#;

    #[tokio::test(flavor = "multi_thread")]
    async fn each_pack_equals_one_made_alone_x2() {
        let folder = tempfile::tempdir().unwrap();
        let now = Timestamp::from_millis(1_000_000);
        let engine = Engine::builder().clock(move || now).recipe("adapting", ADAPTING);
        let workspace = engine.open(folder.path()).unwrap().workspace("w").unwrap();
        let item = |n: usize| {
            let body = format!("Rocket {n} started in May and came down in June, as planned.");
            Item::new(ItemId::new(&format!("i{n}")).unwrap(), Kind::new("memory").unwrap(), &body)
        };
        workspace.put((0..20).map(item).collect()).await.unwrap();
        let budgets = [90, 30, 60, 61, 400, 30].map(Tokens::new);
        for recipe in ["adapting", "memory", "everything"] {
            let request = Request::new(recipe, "which rocket started in May?");
            let many = workspace.pack_many(request.clone(), &budgets).await.unwrap();
            assert_eq!(many.len(), budgets.len());
            for (pack, budget) in many.iter().zip(budgets) {
                let alone = workspace.pack(request.clone().within(budget.get())).await;
                let Ok(alone) = alone else {
                    assert_eq!(pack.pack.n_items(), 0, "{recipe} at {budget}");
                    continue;
                };
                assert_eq!(pack.text(), alone.text(), "{recipe} at {budget}");
                assert_eq!(pack.receipt(), alone.receipt());
                assert_eq!(pack.core.budget, alone.core.budget);
                assert_eq!(pack.fields, alone.fields);
                assert!(pack.pack.tokens <= budget);
            }
        }
        let (small, request) = ([Tokens::new(5)], Request::new("adapting", "rocket"));
        let error = workspace.pack_many(request, &small).await.unwrap_err();
        assert!(error.to_string().contains("5"), "{error}");
        assert!(workspace.pack_many(Request::new("memory", "x"), &[]).await.unwrap().is_empty());
        let previous = Request { previous: Some("r".into()), ..Request::new("memory", "x") };
        let error = workspace.pack_many(previous, &budgets).await.unwrap_err();
        assert!(error.to_string().starts_with("previous: "), "{error}");
    }
}
