//! Problems of a recipe, reported all at once, each with its place in the text.

use std::collections::BTreeMap;
use std::fmt;

use thiserror::Error;

/// A problem in a recipe's text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecipeProblem {
    /// The line it is on, from 1.
    pub line: usize,
    /// The column it begins at, in characters from 1.
    pub column: usize,
    /// What is wrong, and what would be accepted.
    pub message: String,
}

impl fmt::Display for RecipeProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.line, self.column, self.message)
    }
}

/// A recipe that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("the recipe {recipe:?} cannot be used:\n{}", lines(.problems))]
pub struct RecipeError {
    /// Which recipe.
    pub recipe: String,
    /// Its problems, in the order of its lines.
    pub problems: Vec<RecipeProblem>,
}

fn lines(problems: &[RecipeProblem]) -> String {
    problems.iter().map(|problem| format!("  {problem}")).collect::<Vec<_>>().join("\n")
}

/// The positions of keys in a recipe's own text: line and column, both from 1, by path such as
/// `budget.total`, `layer.found.cap` or `adapt.0.when`. Keys of a base are in another text and are
/// not listed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Places(BTreeMap<String, (usize, usize)>);

impl Places {
    pub(super) fn insert(&mut self, path: String, place: (usize, usize)) {
        self.0.insert(path, place);
    }

    /// The position of a key. When the key is not set, the position of the table that would hold
    /// it.
    #[must_use]
    pub fn find(&self, path: &str) -> Option<(usize, usize)> {
        let mut path = path;
        loop {
            if let Some(place) = self.0.get(path) {
                return Some(*place);
            }
            path = path.rsplit_once('.')?.0;
        }
    }
}
