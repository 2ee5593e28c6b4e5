//! Parses adaptations: changes that depend on the request.

use crate::condition::{CONDITION_BYTES_MAX, Condition};
use crate::recipe::facts::FACTS;
use crate::recipe::keys::{self, KeyReader, LINE_BYTES_MAX, read_keys};
use crate::recipe::read::{TomlReader, TomlTable, hint};
use crate::recipe::{ADAPTATIONS_MAX, Adaptation, Recipe, SubjectSpec};

/// Applies a document's adaptations. They replace the whole list of the base.
pub(in crate::recipe) fn apply(key: &mut KeyReader<'_, '_, '_>, recipe: &mut Recipe) {
    if !key.is_set() {
        return;
    }
    let mut adapt = Vec::new();
    for table in key.reader.tables(key.table, key.name, ADAPTATIONS_MAX) {
        let mut adaptation = blank();
        read_keys(key.reader, &table, key.registry, keys::ADAPT, &mut adaptation);
        if !["total", "shares", "caps"].iter().any(|key| table.has(key)) {
            let message = format!("{} changes nothing; set total, shares or caps", table.label);
            key.reader.report(table.at, message);
        }
        check_names(key.reader, &table, &recipe.subjects, &adaptation.when);
        adapt.push(adaptation);
    }
    recipe.adapt = adapt;
}

/// An adaptation with no key set. Its condition also takes the place of one that cannot be parsed,
/// so that problems of the other keys are reported, too.
pub(in crate::recipe) fn blank() -> Adaptation {
    let (when, total) = (Condition::never(), None);
    Adaptation { when, total, shares: Vec::new(), caps: Vec::new() }
}

pub(in crate::recipe) fn read_condition(key: &mut KeyReader<'_, '_, '_>) -> Option<Condition> {
    if !key.is_set() {
        key.report("is missing; say when it is used, as in 'type == \"search\"'");
    }
    match Condition::compile(key.text(CONDITION_BYTES_MAX.max(LINE_BYTES_MAX))?) {
        Ok(condition) => Some(condition),
        Err(error) => {
            key.report(&format!("cannot be used: {error}"));
            None
        }
    }
}

/// Reports names in a condition that are not facts.
fn check_names(
    reader: &mut TomlReader<'_>,
    table: &TomlTable<'_>,
    subjects: &[SubjectSpec],
    condition: &Condition,
) {
    let mut facts: Vec<&str> = FACTS.iter().map(|fact| fact.name).collect();
    for subject in subjects {
        facts.push(&subject.name);
        facts.extend(subject.facts.iter().map(String::as_str));
    }
    for name in condition.names() {
        if !facts.contains(&name) {
            let hint = hint(name, &facts, "there are");
            reader.report_key(table, "when", &format!("names {name}, which is no fact{hint}"));
        }
    }
}

/// Reads a table with names of layers as keys. Whether these layers exist is checked later, when
/// all layers are read.
pub(in crate::recipe) fn read_by_layer<T>(
    key: &mut KeyReader<'_, '_, '_>,
    read: fn(&mut TomlReader<'_>, &TomlTable<'_>, &str) -> Option<T>,
) -> Vec<(String, T)> {
    let Some(table) = key.inner_table() else { return Vec::new() };
    let mut values = Vec::new();
    for (name, at, _) in table.entries() {
        key.reader.record_place(format!("{}.{name}", table.path), at);
        if let Some(value) = read(key.reader, &table, name) {
            values.push((name.to_owned(), value));
        }
    }
    values
}
