//! What requests are about.

use haversack_core::item::Kind;

use super::{LINE_BYTES_MAX, name};
use crate::recipe::condition::FACTS;
use crate::recipe::read::{Reader, Table};
use crate::recipe::{Recipe, SUBJECT_FACTS_MAX, SUBJECTS_MAX, SubjectSpec, keys};

/// Applies a document's subjects: a list is taken whole, in place of the base's.
pub(super) fn apply(reader: &mut Reader<'_>, document: &Table<'_>, recipe: &mut Recipe) {
    if !document.has("subject") {
        return;
    }
    let mut subjects: Vec<SubjectSpec> = Vec::new();
    for table in reader.tables(document, "subject", SUBJECTS_MAX) {
        let Some(subject) = subject(reader, &table) else { continue };
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
                reader.wrong(table.at, message);
            }
            None => subjects.push(subject),
        }
    }
    recipe.subjects = subjects;
}

fn subject(reader: &mut Reader<'_>, table: &Table<'_>) -> Option<SubjectSpec> {
    reader.keys(table, keys::SUBJECT);
    if !table.has("name") {
        reader.wrong_in(table, "name", "is missing");
    }
    let name = name(reader, table, "name", "_")?.to_owned();
    if matches!(&*name, "focus" | "workspace") {
        reader.wrong_in(table, "name", "must not be focus or workspace, which every recipe knows");
    }
    let kind = reader.text(table, "kind", LINE_BYTES_MAX).unwrap_or(&name);
    let kind = match Kind::new(kind) {
        Ok(kind) => kind,
        Err(error) => {
            reader.wrong_in(table, "kind", &format!("cannot be used: {error}"));
            return None;
        }
    };
    let field = self::name(reader, table, "field", "_");
    let field = field.map_or_else(|| format!("{name}Id"), str::to_owned);
    let facts = facts(reader, table);
    let implied = reader.flag(table, "implied").unwrap_or(false);
    Some(SubjectSpec { name, kind, field, facts, implied })
}

fn facts(reader: &mut Reader<'_>, table: &Table<'_>) -> Vec<String> {
    let mut facts: Vec<String> = Vec::new();
    for (fact, at) in reader.texts(table, "facts").unwrap_or_default() {
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
        reader.wrong(at, format!("{}: facts: {fact:?} {wrong}", table.label));
    }
    facts
}
