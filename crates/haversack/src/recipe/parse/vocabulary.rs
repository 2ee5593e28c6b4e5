//! `[words]`: words of questions about fields, in a language or for kinds of one's own.

use haversack_core::item::Kind;
use haversack_core::query::{PHRASE_BYTES_MAX, Vocabulary};

use super::super::read::{Reader, Table, hint};
use crate::recipe::Recipe;

/// Most phrases under one name.
const PHRASES_OF_NAME_MAX: usize = 256;

/// Adds the words of a table to those of the base.
pub(super) fn apply(reader: &mut Reader<'_>, table: &Table<'_>, recipe: &mut Recipe) {
    for (name, at, _) in table.entries() {
        reader.note(format!("{}.{name}", table.path), at);
        if name == "kinds" {
            apply_kinds(reader, table, recipe);
            continue;
        }
        if !Vocabulary::NAMES.iter().any(|(known, _)| *known == name) {
            let names: Vec<&str> =
                Vocabulary::NAMES.iter().map(|(name, _)| *name).chain(["kinds"]).collect();
            let hint = hint(name, &names, "there are");
            reader.wrong(at, format!("words names {name:?}, which is not known{hint}"));
            continue;
        }
        let phrases = phrases(reader, table, name);
        add(recipe, name, phrases);
    }
}

fn apply_kinds(reader: &mut Reader<'_>, table: &Table<'_>, recipe: &mut Recipe) {
    let Some(kinds) = reader.table(table, "kinds", "words.kinds") else { return };
    for (name, at, _) in kinds.entries() {
        reader.note(format!("{}.{name}", kinds.path), at);
        if let Err(error) = Kind::new(name) {
            reader.wrong(at, format!("words.kinds names {name:?}: {error}"));
            continue;
        }
        let phrases = phrases(reader, &kinds, name);
        add(recipe, &format!("kind {name}"), phrases);
    }
}

fn phrases(reader: &mut Reader<'_>, table: &Table<'_>, name: &str) -> Vec<String> {
    let given = reader.texts(table, name).unwrap_or_default();
    if given.len() > PHRASES_OF_NAME_MAX {
        let message = format!(
            "has {} phrases, more than the {PHRASES_OF_NAME_MAX} there may be",
            given.len()
        );
        reader.wrong_in(table, name, &message);
        return Vec::new();
    }
    let mut phrases = Vec::with_capacity(given.len());
    for (phrase, at) in given {
        if phrase.trim().is_empty() || phrase.len() > PHRASE_BYTES_MAX {
            let message =
                format!("words: a phrase of {name} must have 1 to {PHRASE_BYTES_MAX} bytes");
            reader.wrong(at, message);
            continue;
        }
        phrases.push(phrase.to_owned());
    }
    phrases
}

fn add(recipe: &mut Recipe, name: &str, phrases: Vec<String>) {
    match recipe.words.iter_mut().find(|(known, _)| known == name) {
        Some((_, known)) => known.extend(phrases),
        None => recipe.words.push((name.to_owned(), phrases)),
    }
}
