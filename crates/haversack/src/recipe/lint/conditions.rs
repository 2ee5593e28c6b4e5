//! Adaptations that are always, never or wrongly used.

use super::Lint;
use crate::recipe::condition::{ConditionError, FACTS, Facts};
use crate::recipe::{Adaptation, LayerSpec, Recipe};

pub(super) fn check(lint: &mut Lint<'_>) {
    let recipe = lint.recipe;
    for (index, adaptation) in recipe.adapt.iter().enumerate() {
        let path = format!("adapt.{index}.when");
        check_outcome(lint, &path, index, adaptation);
        check_words(lint, &path, adaptation);
        let twin = recipe.adapt[..index].iter().position(|other| other.when == adaptation.when);
        if let Some(twin) = twin {
            let message = format!(
                "adapt {} is never used: adapt {} has the same condition and comes first",
                index + 1,
                twin + 1
            );
            lint.error(&path, message, "put both into one");
        }
        if changes_nothing(recipe, adaptation) {
            let message = format!("adapt {} says what holds anyway", index + 1);
            lint.remark(&format!("adapt.{index}"), message, "");
        }
    }
}

/// What a condition gives that names no fact, or when no fact is said.
fn check_outcome(lint: &mut Lint<'_>, path: &str, index: usize, adaptation: &Adaptation) {
    let number = index + 1;
    let is_constant = adaptation.when.names().is_empty();
    let is_last = number == lint.recipe.adapt.len();
    match adaptation.when.holds(&Facts::default()) {
        Ok(true) if is_constant => {
            let message = format!("adapt {number} is always used: its condition names no fact");
            let help = if is_last {
                "say it in the recipe itself, unless it is what holds otherwise"
            } else {
                "those after it are never used; put it last"
            };
            lint.warn(path, message, help);
        }
        Ok(false) if is_constant => {
            let message = format!("adapt {number} is never used: its condition names no fact");
            lint.warn(path, message, "name a fact, such as type");
        }
        Ok(_) => {}
        Err(ConditionError::NotABoolean { outcome, .. }) => {
            let message =
                format!("the condition of adapt {number} gives a value of type {outcome}");
            lint.error(path, message, "compare it with something");
        }
        Err(error) => {
            let message = format!("adapt {number}: when no fact is said, {error}");
            lint.warn(path, message, "ask with has(…) && … before a fact is used");
        }
    }
}

/// Words that a fact is compared with and never is.
fn check_words(lint: &mut Lint<'_>, path: &str, adaptation: &Adaptation) {
    for (name, word) in adaptation.when.comparisons() {
        let Some(spec) = FACTS.iter().find(|spec| spec.name == name) else { continue };
        if spec.words.is_empty() || word.is_empty() || spec.words.contains(&word) {
            continue;
        }
        let hint = crate::recipe::read::hint(word, spec.words, "usual are");
        lint.warn(path, format!("{name} is compared with {word:?}{hint}"), "");
    }
}

fn changes_nothing(recipe: &Recipe, adaptation: &Adaptation) -> bool {
    let layer = |name: &str| recipe.layer(name);
    let same_share = |layer: Option<&LayerSpec>, share| layer.is_some_and(|l| l.share == share);
    let same_cap = |layer: Option<&LayerSpec>, cap| layer.is_some_and(|l| l.cap == Some(cap));
    adaptation.total.is_none_or(|total| total == recipe.budget.total)
        && adaptation.shares.iter().all(|(name, share)| same_share(layer(name), *share))
        && adaptation.caps.iter().all(|(name, cap)| same_cap(layer(name), *cap))
}
