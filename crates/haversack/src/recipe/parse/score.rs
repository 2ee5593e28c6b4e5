//! Parses scores (weights, an expression, or a ranker by name) and recency.

use haversack_core::rank::{Component, Expression, Recency, Scoring};

use crate::recipe::keys::{self, KeyReader, names, read_keys, read_values};
use crate::recipe::read::{Bounds, hint};
use crate::recipe::{ScoreSpec, words};

/// A table of weights with no key set.
pub(in crate::recipe) const BLANK_SCORE: ScoreSpec =
    ScoreSpec::Weights { base: 0.0, weights: Vec::new() };

/// Reads how the texts of a layer are scored.
pub(in crate::recipe) fn read(key: &mut KeyReader<'_, '_, '_>) -> Option<ScoreSpec> {
    let value = key.table.get(key.name)?.get_ref();
    if value.is_str() {
        let source = key.text(usize::MAX)?;
        return match Expression::new(source) {
            Ok(_) => Some(ScoreSpec::Expression(source.to_owned())),
            Err(error) => {
                key.report(&format!("cannot be used: {error}"));
                None
            }
        };
    }
    if !value.is_table() {
        key.report("must be a table of weights such as { semantic = 1.0 }, or an expression");
        return None;
    }
    let table = key.inner_table()?;
    let components = Component::ALL.map(Component::name);
    if table.has("ranker") {
        let there_are = "beside a ranker nothing counts; there is only";
        key.reader.check_keys(&table, &["ranker"], there_are);
    } else {
        let names: Vec<&str> = names(keys::SCORE).into_iter().chain(components).collect();
        key.reader.check_keys(&table, &names, "there are");
        if table.entries().is_empty() {
            key.reader.report(table.at, format!("{} says nothing; name a component", table.label));
        }
    }
    let mut score = BLANK_SCORE;
    read_values(key.reader, &table, key.registry, keys::SCORE, &mut score);
    if let ScoreSpec::Weights { weights, .. } = &mut score {
        // In the order of the components, so that equal recipes give sums that are equal to the
        // bit.
        let bounds = Bounds(-Scoring::WEIGHT_MAX, Scoring::WEIGHT_MAX);
        for component in Component::ALL {
            if let Some(weight) = key.reader.number(&table, component.name(), bounds) {
                weights.push((component, weight));
            }
        }
    }
    Some(score)
}

pub(in crate::recipe) fn read_ranker(key: &mut KeyReader<'_, '_, '_>) -> Option<ScoreSpec> {
    let name = key.line()?;
    let names = key.registry.ranker_names();
    if names.contains(&&*name) {
        return Some(ScoreSpec::Named(name));
    }
    let hint = hint(&name, &names, "there are");
    key.report(&format!("is {name:?}, which is not there{hint}"));
    None
}

/// Reads how age affects the score: a word, or a table with one of its keys.
pub(in crate::recipe) fn read_recency(key: &mut KeyReader<'_, '_, '_>) -> Option<Recency> {
    let value = key.table.get(key.name)?.get_ref();
    if !value.is_table() {
        return key.reader.word(key.table, key.name, words::RECENCIES);
    }
    let table = key.inner_table()?;
    let mut recency = Recency::WORKSPACE;
    read_keys(key.reader, &table, key.registry, keys::RECENCY, &mut recency);
    if names(keys::RECENCY).into_iter().filter(|name| table.has(name)).count() != 1 {
        let message = format!("{}: set one of per_hour and over_hours", table.label);
        key.reader.report(table.at, message);
    }
    Some(recency)
}
