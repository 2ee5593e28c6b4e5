//! What is wrong with a recipe: all of it at once, each with its place.

use std::collections::BTreeMap;
use std::fmt;

use thiserror::Error;

/// Something wrong with a recipe's text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The line it is on, from 1.
    pub line: usize,
    /// The column it begins at, in characters from 1.
    pub column: usize,
    /// What is wrong, and what would do.
    pub message: String,
}

impl fmt::Display for Problem {
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
    /// All that is wrong with it, in the order of its lines.
    pub problems: Vec<Problem>,
}

fn lines(problems: &[Problem]) -> String {
    problems.iter().map(|problem| format!("  {problem}")).collect::<Vec<_>>().join("\n")
}

/// Where things stand in a recipe's own text: line and column, both from 1, by path such as
/// `budget.total`, `layer.found.cap` or `adapt.0.when`. What a base says stands in another text.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Places(BTreeMap<String, (usize, usize)>);

impl Places {
    pub(super) fn note(&mut self, path: String, place: (usize, usize)) {
        self.0.insert(path, place);
    }

    /// Where something stands, or, when it is not said, where what it would be in stands.
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
