//! Recipes that are right, and what is said of those that are not.

use super::*;

#[test]
fn every_built_in_recipe_can_be_used_x6() {
    for &(name, source) in BUILT_IN {
        let recipe = Recipe::parse(name, source, &Known::default());
        let recipe = recipe.unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(recipe.name, name);
        assert!(!recipe.description.is_empty(), "{name}");
    }
}
