//! What a text is worth: weights, an expression, or a ranker by name; and how age counts.

use haversack_core::rank::{Component, Expression, Recency, Scoring};

use super::LINE_BYTES_MAX;
use crate::recipe::read::{Bounds, Reader, Table, hint};
use crate::recipe::{Known, LayerSpec, ScoreSpec, keys, words};

pub(super) fn apply(
    reader: &mut Reader<'_>,
    table: &Table<'_>,
    known: &Known,
    layer: &mut LayerSpec,
) {
    if let Some(score) = score(reader, table, known) {
        layer.score = score;
    }
    if let Some(recency) = recency(reader, table) {
        layer.recency = recency;
    }
}

fn score(reader: &mut Reader<'_>, table: &Table<'_>, known: &Known) -> Option<ScoreSpec> {
    let value = table.get("score")?.get_ref();
    if value.is_str() {
        let source = reader.text(table, "score", usize::MAX)?;
        return match Expression::new(source) {
            Ok(_) => Some(ScoreSpec::Expression(source.to_owned())),
            Err(error) => {
                reader.wrong_in(table, "score", &format!("cannot be used: {error}"));
                None
            }
        };
    }
    if !value.is_table() {
        let message = "must be a table of weights such as { semantic = 1.0 }, or an expression";
        reader.wrong_in(table, "score", message);
        return None;
    }
    let table = reader.table(table, "score", "score")?;
    if table.has("ranker") { ranker(reader, &table, known) } else { weights(reader, &table) }
}

fn ranker(reader: &mut Reader<'_>, table: &Table<'_>, known: &Known) -> Option<ScoreSpec> {
    reader.names(table, &["ranker"], "beside a ranker nothing counts; there is only");
    let name = reader.text(table, "ranker", LINE_BYTES_MAX)?;
    let names = known.ranker_names();
    if names.contains(&name) {
        return Some(ScoreSpec::Named(name.to_owned()));
    }
    let hint = hint(name, &names, "there are");
    reader.wrong_in(table, "ranker", &format!("is {name:?}, which is not there{hint}"));
    None
}

fn weights(reader: &mut Reader<'_>, table: &Table<'_>) -> Option<ScoreSpec> {
    let components = Component::ALL.map(Component::name);
    let names: Vec<&str> =
        keys::SCORE.iter().map(|key| key.name).chain(components.iter().copied()).collect();
    reader.names(table, &names, "there are");
    let bounds = Bounds(-Scoring::WEIGHT_MAX, Scoring::WEIGHT_MAX);
    let base = reader.number(table, "base", bounds).unwrap_or(0.0);
    // In the order of the components, so that equal recipes add up to equal bits.
    let mut weights = Vec::new();
    for component in Component::ALL {
        if let Some(weight) = reader.number(table, component.name(), bounds) {
            weights.push((component, weight));
        }
    }
    if table.entries().is_empty() {
        reader.wrong(table.at, format!("{} says nothing; name a component", table.label));
    }
    Some(ScoreSpec::Weights { base, weights })
}

fn recency(reader: &mut Reader<'_>, table: &Table<'_>) -> Option<Recency> {
    let value = table.get("recency")?.get_ref();
    if !value.is_table() {
        return reader.word(table, "recency", words::RECENCIES);
    }
    let table = reader.table(table, "recency", "recency")?;
    reader.keys(&table, keys::RECENCY);
    match (table.has("per_hour"), table.has("over_hours")) {
        (true, false) => {
            let rate_per_hour = reader.number(&table, "per_hour", Bounds(0.0, 1_000.0))?;
            Some(Recency::Exponential { rate_per_hour })
        }
        (false, true) => {
            let span_hours = reader.number(&table, "over_hours", Bounds(0.001, 1_000_000.0))?;
            Some(Recency::Linear { span_hours })
        }
        _ => {
            let message = format!("{}: say one of per_hour and over_hours", table.label);
            reader.wrong(table.at, message);
            None
        }
    }
}
