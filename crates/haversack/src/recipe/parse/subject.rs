//! What requests are about.

use haversack_core::item::Kind;

use crate::recipe::facts::FACTS;
use crate::recipe::keys::{self, KeyReader, read_keys};
use crate::recipe::{Recipe, SUBJECT_FACTS_MAX, SUBJECTS_MAX, SubjectSpec};

/// Applies a document's subjects: a list is taken whole, in place of the base's.
pub(in crate::recipe) fn apply(key: &mut KeyReader<'_, '_, '_>, recipe: &mut Recipe) {
    if !key.is_set() {
        return;
    }
    let mut subjects: Vec<SubjectSpec> = Vec::new();
    for table in key.reader.tables(key.table, key.name, SUBJECTS_MAX) {
        let mut subject = blank();
        read_keys(key.reader, &table, key.known, keys::SUBJECT, &mut subject);
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
                key.reader.wrong(table.at, message);
            }
            None => subjects.push(subject),
        }
    }
    recipe.subjects = subjects;
}

/// A subject without any key.
pub(in crate::recipe) fn blank() -> SubjectSpec {
    SubjectSpec {
        name: String::new(),
        kind: Kind::new("subject").expect("a word is a kind"),
        field: String::new(),
        facts: Vec::new(),
        implied: false,
    }
}

/// Reads the name of a subject; empty when it has none that can be used.
pub(in crate::recipe) fn read_name(key: &mut KeyReader<'_, '_, '_>) -> String {
    if !key.is_set() {
        key.wrong("is missing");
    }
    let name = key.identifier("_").unwrap_or_default();
    if matches!(&*name, "focus" | "workspace") {
        key.wrong("must not be focus or workspace, which every recipe knows");
    }
    name
}

/// Reads the kind of a subject, which is its name when the key is not there.
pub(in crate::recipe) fn read_kind(key: &mut KeyReader<'_, '_, '_>, name: &str) -> Option<Kind> {
    let kind = key.line().or_else(|| (!name.is_empty()).then(|| name.to_owned()))?;
    match Kind::new(&kind) {
        Ok(kind) => Some(kind),
        Err(error) => {
            key.wrong(&format!("cannot be used: {error}"));
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
        key.reader.wrong(at, format!("{}: facts: {fact:?} {wrong}", key.table.label));
    }
    facts
}
