//! Parses the subjects that requests can be about.

use haversack_core::item::Kind;

use crate::recipe::facts::FACTS;
use crate::recipe::keys::{self, KeyReader, read_keys};
use crate::recipe::{Recipe, SUBJECT_FACTS_MAX, SUBJECTS_MAX, SubjectSpec};

/// Applies a document's subjects. They replace the whole list of the base.
pub(in crate::recipe) fn apply(key: &mut KeyReader<'_, '_, '_>, recipe: &mut Recipe) {
    if !key.is_set() {
        return;
    }
    let mut subjects: Vec<SubjectSpec> = Vec::new();
    for table in key.reader.tables(key.table, key.name, SUBJECTS_MAX) {
        let mut subject = blank();
        read_keys(key.reader, &table, key.registry, keys::SUBJECT, &mut subject);
        if subject.name.is_empty() {
            continue;
        }
        let names = |subject: &SubjectSpec| {
            let facts = subject.facts.iter().cloned();
            facts.chain([subject.name.clone()]).collect::<Vec<String>>()
        };
        let built_in = |name: &String| FACTS.iter().any(|fact| fact.name == name);
        let taken = |name: &String| subjects.iter().any(|other| names(other).contains(name));
        let twice = names(&subject).into_iter().find(|name| built_in(name) || taken(name));
        match twice {
            Some(name) => {
                let message = format!("{}: {name} is the name of another fact", table.label);
                key.reader.report(table.at, message);
            }
            None => subjects.push(subject),
        }
    }
    recipe.subjects = subjects;
}

/// A subject with no key set.
pub(in crate::recipe) fn blank() -> SubjectSpec {
    SubjectSpec {
        name: String::new(),
        kind: Kind::new("subject").expect("a word is a kind"),
        field: String::new(),
        facts: Vec::new(),
        implied: false,
    }
}

/// Reads the name of a subject; empty when there is no valid one.
pub(in crate::recipe) fn read_name(key: &mut KeyReader<'_, '_, '_>) -> String {
    if !key.is_set() {
        key.report("is missing");
    }
    let name = key.identifier("_").unwrap_or_default();
    if matches!(&*name, "focus" | "workspace") {
        key.report("must not be focus or workspace, which every recipe knows");
    }
    name
}

/// Reads the kind of a subject, which is its name when the key is not set.
pub(in crate::recipe) fn read_kind(key: &mut KeyReader<'_, '_, '_>, name: &str) -> Option<Kind> {
    let kind = key.line().or_else(|| (!name.is_empty()).then(|| name.to_owned()))?;
    match Kind::new(&kind) {
        Ok(kind) => Some(kind),
        Err(error) => {
            key.report(&format!("cannot be used: {error}"));
            None
        }
    }
}

pub(in crate::recipe) fn read_facts(key: &mut KeyReader<'_, '_, '_>) -> Vec<String> {
    let mut facts: Vec<String> = Vec::new();
    for (fact, at) in key.reader.texts(key.table, key.name).unwrap_or_default() {
        let fits = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let wrong =
            if !fact.starts_with(|c: char| c.is_ascii_alphabetic()) || !fact.chars().all(fits) {
                "must be a field's name of letters, digits and _"
            } else if facts.iter().any(|known| known == fact) {
                "is there twice"
            } else if facts.len() == SUBJECT_FACTS_MAX {
                "is one more than the 32 there may be"
            } else {
                facts.push(fact.to_owned());
                continue;
            };
        key.reader.report(at, format!("{}: facts: {fact:?} {wrong}", key.table.label));
    }
    facts
}
