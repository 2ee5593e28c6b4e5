//! The registry of what recipes can name beside the built-in ones: other recipes, collectors,
//! templates, rankers.

use std::collections::{BTreeMap, BTreeSet};

use haversack_core::assemble::Templates;

use super::{BUILT_IN, words};
use crate::collect;

/// What was registered for recipes to use. Built-in names need no registration.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RecipeRegistry {
    /// The texts of other recipes, by name. They replace built-in recipes of the same name.
    pub recipes: BTreeMap<String, String>,
    /// Names of custom collectors. Their settings are not checked.
    pub collectors: BTreeSet<String>,
    /// Names of custom templates.
    pub templates: BTreeSet<String>,
    /// Names of custom rankers.
    pub rankers: BTreeSet<String>,
}

impl RecipeRegistry {
    /// The text of a recipe.
    #[must_use]
    pub fn recipe(&self, name: &str) -> Option<&str> {
        self.recipes.get(name).map(String::as_str).or_else(|| super::builtin(name))
    }

    /// Names of all recipes, sorted.
    #[must_use]
    pub fn recipe_names(&self) -> Vec<&str> {
        let names = self.recipes.keys().map(String::as_str);
        sorted(names.chain(BUILT_IN.iter().map(|&(name, _)| name)))
    }

    pub(super) fn collector_names(&self) -> Vec<&str> {
        let names = self.collectors.iter().map(String::as_str);
        sorted(names.chain(collect::BUILT_IN.iter().map(|collector| collector.name)))
    }

    pub(super) fn template_names(&self) -> Vec<String> {
        let mut names: BTreeSet<String> = self.templates.clone();
        names.extend(Templates::default().names().map(str::to_owned));
        names.into_iter().collect()
    }

    pub(super) fn ranker_names(&self) -> Vec<&str> {
        let names = self.rankers.iter().map(String::as_str);
        sorted(names.chain(words::RANKERS.iter().map(|&(name, _)| name)))
    }
}

fn sorted<'n>(names: impl Iterator<Item = &'n str>) -> Vec<&'n str> {
    names.collect::<BTreeSet<_>>().into_iter().collect()
}
