//! Checks for adaptations that always or never apply, or contradict each other.

use haversack_core::units::Share;
use haversack_store::kinds::Type;

use super::Lint;
use crate::condition::ConditionError;
use crate::recipe::facts::{FACTS, default_facts};
use crate::recipe::{Adaptation, LayerSpec, Recipe, SubjectSpec};

pub(super) fn check(lint: &mut Lint<'_>) {
    let recipe = lint.recipe;
    for (index, adaptation) in recipe.adapt.iter().enumerate() {
        let path = format!("adapt.{index}.when");
        check_outcome(lint, &path, index, adaptation);
        check_words(lint, &path, adaptation);
        for (before, other) in recipe.adapt[..index].iter().enumerate() {
            check_overlap(lint, &path, (before, other), (index, adaptation));
        }
        if changes_nothing(recipe, index) {
            let message = format!("adapt {} says what holds anyway", index + 1);
            lint.remark(&format!("adapt.{index}"), message, "");
        }
    }
}

/// Reports a condition that names no fact, and one that fails when no fact is set.
fn check_outcome(lint: &mut Lint<'_>, path: &str, index: usize, adaptation: &Adaptation) {
    let number = index + 1;
    let is_constant = adaptation.when.names().next().is_none();
    match adaptation.when.evaluate(&default_facts(&lint.recipe.subjects)) {
        Ok(true) if is_constant => {
            let message = format!("adapt {number} is always used: its condition names no fact");
            let help = "say it in the recipe itself";
            lint.warn(path, message, help);
        }
        Ok(false) if is_constant => {
            let message = format!("adapt {number} is never used: its condition names no fact");
            lint.warn(path, message, "name a fact, such as type");
        }
        Ok(_) => {}
        Err(ConditionError::NotBoolean { result_type }) => {
            let message =
                format!("the condition of adapt {number} gives a value of type {result_type}");
            lint.error(path, message, "compare it with something");
        }
        Err(error) => {
            let message =
                format!("the condition of adapt {number} fails when no fact is set: {error}");
            lint.warn(path, message, "ask with has(…) && … before a fact is used");
        }
    }
}

/// Reports two adaptations with the same condition, and shares above 1 when both hold.
fn check_overlap(
    lint: &mut Lint<'_>,
    path: &str,
    (before, first): (usize, &Adaptation),
    (index, second): (usize, &Adaptation),
) {
    let (one, other) = (before + 1, index + 1);
    if first.when == second.when {
        let message = format!("adapt {one} and adapt {other} have the same condition");
        lint.remark(path, message, "put both into one");
    }
    if first.shares.is_empty() || second.shares.is_empty() || first.when.excludes(&second.when) {
        return;
    }
    let share = |layer: &LayerSpec| {
        // The later adaptation wins.
        let adapted =
            second.shares.iter().chain(&first.shares).find(|(name, _)| *name == layer.name);
        adapted.map_or(layer.share, |&(_, share)| share).millionths()
    };
    let sum: u64 = lint.recipe.layers.iter().map(|layer| u64::from(share(layer))).sum();
    if sum > u64::from(Share::ALL.millionths()) {
        let message = format!(
            "adapt {one} and adapt {other} may hold at once, and then shares add up to more than 1"
        );
        let help = "let each name every layer that the other names, or exclude the other's case";
        lint.warn(&format!("adapt.{index}.shares"), message, help);
    }
}

/// Reports words that a fact is compared with and never equals.
fn check_words(lint: &mut Lint<'_>, path: &str, adaptation: &Adaptation) {
    for (name, word) in adaptation.when.comparisons() {
        let words = usual_words(lint, name);
        if words.is_empty() || word.is_empty() || words.contains(&word) {
            continue;
        }
        let hint = crate::recipe::read::hint(word, &words, "usual are");
        lint.warn(path, format!("{name} is compared with {word:?}{hint}"), "");
    }
}

/// The usual values of a fact; none when it may be anything.
fn usual_words<'l>(lint: &'l Lint<'_>, name: &str) -> Vec<&'l str> {
    if let Some(spec) = FACTS.iter().find(|spec| spec.name == name) {
        return spec.words.to_vec();
    }
    let provides = |subject: &&SubjectSpec| subject.facts.iter().any(|fact| fact == name);
    let subject = lint.recipe.subjects.iter().find(provides);
    let kind = subject.and_then(|subject| lint.kinds.find(&subject.kind));
    match kind.and_then(|kind| kind.field(name)).map(|field| &field.value) {
        Some(Type::OneOf(words)) => words.iter().map(String::as_str).collect(),
        _ => Vec::new(),
    }
}

/// Whether an adaptation repeats the recipe's own values and no earlier one changes them.
fn changes_nothing(recipe: &Recipe, index: usize) -> bool {
    let adaptation = &recipe.adapt[index];
    let before = &recipe.adapt[..index];
    let layer = |name: &str| recipe.layer(name);
    let same_total = adaptation.total.is_none_or(|total| {
        total == recipe.budget.total && before.iter().all(|other| other.total.is_none())
    });
    let same_shares = adaptation.shares.iter().all(|(name, share)| {
        let is_changed =
            before.iter().flat_map(|other| &other.shares).any(|(other, _)| other == name);
        !is_changed && layer(name).is_some_and(|layer| layer.share == *share)
    });
    let same_caps = adaptation.caps.iter().all(|(name, cap)| {
        let is_changed =
            before.iter().flat_map(|other| &other.caps).any(|(other, _)| other == name);
        !is_changed && layer(name).is_some_and(|layer| layer.cap == Some(*cap))
    });
    same_total && same_shares && same_caps
}
