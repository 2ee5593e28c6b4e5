//! What changes with the request.

use haversack_core::units::{Share, Tokens};

use super::{LINE_BYTES_MAX, share, tokens};
use crate::recipe::condition::{CONDITION_BYTES_MAX, Condition, FACTS};
use crate::recipe::read::{Reader, Table, hint};
use crate::recipe::{ADAPTATIONS_MAX, Adaptation, Recipe, SubjectSpec, keys};

/// Applies a document's adaptations: a list is taken whole, in place of the base's.
pub(super) fn apply(reader: &mut Reader<'_>, document: &Table<'_>, recipe: &mut Recipe) {
    if !document.has("adapt") {
        return;
    }
    let mut adapt = Vec::new();
    for table in reader.tables(document, "adapt", ADAPTATIONS_MAX) {
        adapt.push(adaptation(reader, &table, &recipe.subjects));
    }
    recipe.adapt = adapt;
}

fn adaptation(reader: &mut Reader<'_>, table: &Table<'_>, subjects: &[SubjectSpec]) -> Adaptation {
    reader.keys(table, keys::ADAPT);
    if !["total", "shares", "caps"].iter().any(|key| table.has(key)) {
        reader
            .wrong(table.at, format!("{} changes nothing; say total, shares or caps", table.label));
    }
    // One that cannot be read must not hide what is wrong with the rest.
    let when = condition(reader, table, subjects).unwrap_or_else(Condition::never);
    let total = tokens(reader, table, "total");
    let shares: Vec<(String, Share)> = by_layer(reader, table, "shares", share);
    let caps: Vec<(String, Tokens)> = by_layer(reader, table, "caps", tokens);
    Adaptation { when, total, shares, caps }
}

fn condition(
    reader: &mut Reader<'_>,
    table: &Table<'_>,
    subjects: &[SubjectSpec],
) -> Option<Condition> {
    if !table.has("when") {
        reader.wrong_in(
            table,
            "when",
            "is missing; say when it is used, as in 'type == \"search\"'",
        );
    }
    let source = reader.text(table, "when", CONDITION_BYTES_MAX.max(LINE_BYTES_MAX))?;
    let condition = match Condition::new(source) {
        Ok(condition) => condition,
        Err(error) => {
            reader.wrong_in(table, "when", &format!("cannot be used: {error}"));
            return None;
        }
    };
    let mut facts: Vec<&str> = FACTS.iter().map(|fact| fact.name).collect();
    for subject in subjects {
        facts.push(&subject.name);
        facts.extend(subject.facts.iter().map(String::as_str));
    }
    for name in condition.names() {
        if !facts.contains(&name) {
            let hint = hint(name, &facts, "there are");
            reader.wrong_in(table, "when", &format!("names {name}, which is no fact{hint}"));
        }
    }
    Some(condition)
}

/// A table by names of layers; whether there are such layers is seen when all are known.
fn by_layer<T>(
    reader: &mut Reader<'_>,
    table: &Table<'_>,
    key: &str,
    read: fn(&mut Reader<'_>, &Table<'_>, &str) -> Option<T>,
) -> Vec<(String, T)> {
    let Some(table) = reader.table(table, key, key) else { return Vec::new() };
    let mut values = Vec::new();
    for (name, at, _) in table.entries() {
        reader.note(format!("{}.{name}", table.path), at);
        if let Some(value) = read(reader, &table, name) {
            values.push((name.to_owned(), value));
        }
    }
    values
}
