//! What speaks for a condition, measured: the same few numbers for every condition.

use std::sync::Arc;

use super::reading::{Condition, Fact, Held, Told, Way, Word};

/// How many numbers there are: a constant one, how well the condition's words are covered, how well
/// the worst covered is, what a named choice says, whether the opposite is told, and what a number
/// or a flag decides.
pub(super) const MEASURES: usize = 6;

/// How near a word must be to the name of a number to mean it.
const NAMED_MIN: f64 = 0.35;

/// Measures what speaks for a condition, were it not negated. Each number is about 0 to 1, or -1 to
/// 1 where something can speak against it.
pub(super) fn weigh(condition: &Condition, told: &Told) -> [f64; MEASURES] {
    let all: Vec<&Word> = told
        .facts
        .iter()
        .flat_map(|fact| fact.words.iter().chain(&fact.name).chain(&fact.around))
        .map(|word| &**word)
        .collect();
    let matches: Vec<(f64, f64)> =
        condition.words.iter().map(|word| (best(word, &all), word.weight)).collect();
    let weight: f64 = matches.iter().map(|(_, weight)| weight).sum();
    let covered: f64 = matches.iter().map(|(likeness, weight)| likeness * weight).sum();
    let heavy = matches.iter().filter(|(_, weight)| *weight > 0.5);
    let decided = number(condition, told).or_else(|| flag(condition, told));
    [
        1.0,
        if weight > 0.0 { covered / weight } else { 0.0 },
        heavy.map(|(likeness, _)| *likeness).reduce(f64::min).unwrap_or(0.5),
        choice(condition, told).unwrap_or(0.0),
        f64::from(u8::from(opposes(condition, &all))),
        decided.map_or(0.0, sign),
    ]
}

fn sign(yes: bool) -> f64 {
    if yes { 1.0 } else { -1.0 }
}

fn best(word: &Word, among: &[&Word]) -> f64 {
    among.iter().map(|other| word.likeness(other)).fold(0.0, f64::max)
}

/// Whether the situation holds the opposite of a word of the condition, and not the word itself.
fn opposes(condition: &Condition, all: &[&Word]) -> bool {
    condition.words.iter().any(|word| {
        all.iter().any(|told| word.is_opposite(told)) && !all.iter().any(|told| word.is_same(told))
    })
}

/// Whether a fact's own name stands in the condition: all of its words do.
fn is_named(fact: &Fact, condition: &Condition) -> bool {
    let stands = |name: &Arc<Word>| condition.all.iter().any(|word| word.is_same(name));
    !fact.name.is_empty() && fact.name.iter().all(stands)
}

/// For facts that the condition names and that hold one of several choices: 1 when the condition
/// says the value, else down to -1 the farther what it says is from it. `None` when no such fact is
/// named.
fn choice(condition: &Condition, told: &Told) -> Option<f64> {
    let named = told.facts.iter().filter(|fact| fact.is_choice && is_named(fact, condition));
    let says = |fact: &Fact| {
        let is_name =
            |word: &Word| fact.name.iter().chain(&fact.around).any(|name| name.is_same(word));
        let values: Vec<&Word> = fact.words.iter().map(|word| &**word).collect();
        let rest = condition.words.iter().filter(|word| !is_name(word));
        let near = rest.map(|word| best(word, &values)).reduce(f64::max)?;
        Some(if near >= 1.0 { 1.0 } else { near - 1.0 })
    };
    named.filter_map(says).reduce(f64::max)
}

/// What a fact that is true or false decides, when the condition names it.
fn flag(condition: &Condition, told: &Told) -> Option<bool> {
    let flags = told.facts.iter().filter_map(|fact| match fact.held {
        Held::Flag(yes) if is_named(fact, condition) => Some((fact.name.len(), yes)),
        _ => None,
    });
    flags.max_by_key(|(words, _)| *words).map(|(_, yes)| yes)
}

/// What a number decides: the fact whose name is nearest to the condition's words, or the only
/// number there is.
fn number(condition: &Condition, told: &Told) -> Option<bool> {
    let comparison = condition.comparison?;
    let mut numbers: Vec<(f64, f64)> = Vec::new();
    for fact in &told.facts {
        let Held::Number(value) = fact.held else { continue };
        let in_days = fact.name.iter().any(|name| name.spelling.starts_with("day"));
        if comparison.is_span && !in_days {
            continue;
        }
        let near = |words: &[Arc<Word>]| -> f64 {
            let words: Vec<&Word> = words.iter().map(|word| &**word).collect();
            let each: Vec<f64> = condition.words.iter().map(|word| best(word, &words)).collect();
            let exact = each.iter().filter(|near| **near >= 1.0).sum::<f64>();
            exact + each.iter().copied().fold(0.0, f64::max)
        };
        let near = near(&fact.name) + near(&fact.around) / 10.0;
        numbers.push((near, value));
    }
    let nearest =
        numbers.iter().copied().reduce(|best, one| if one.0 > best.0 { one } else { best })?;
    let is_only = numbers.len() == 1 && comparison.way != Way::Equal;
    (nearest.0 >= NAMED_MIN || is_only || comparison.is_span).then(|| comparison.holds(nearest.1))
}
