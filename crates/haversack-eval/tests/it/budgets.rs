//! The budget holds for every question of every sample (X1).

use haversack::Engine;
use haversack_core::units::Tokens;
use haversack_eval::samples;

use crate::budget_checks::check_budget;

#[tokio::test]
async fn the_least_budget_of_an_error_works_in_every_recipe_x1() {
    for sample_of in samples::ALL {
        let folder = tempfile::tempdir().unwrap();
        let engine = Engine::builder().clock(|| samples::NOW).open(folder.path()).unwrap();
        let workspace = engine.workspace("test").unwrap();
        sample_of.load(&**workspace.blocking_store()).unwrap();
        for recipe in [sample_of.name, "everything"] {
            for question in sample_of.questions {
                let mut request = sample_of.request(question, 1_000).unwrap();
                if recipe != sample_of.name {
                    // Its layers are others.
                    request.recipe = recipe.to_owned();
                    request.caps.clear();
                    request.reserves.clear();
                }
                request.keep = false;
                request.cache = false;
                for budget in [1, 5, 30, 100, 300, 560, 700, 1_000, 2_000, 2_400] {
                    check_budget(&workspace, &request, budget).await;
                }
                for name in workspace.recipe(recipe).await.unwrap().budget.reserves.iter() {
                    request.reserves.insert(name.0.clone(), Tokens::ZERO);
                }
                for budget in [1, 100, 400] {
                    check_budget(&workspace, &request, budget).await;
                }
            }
        }
    }
}
