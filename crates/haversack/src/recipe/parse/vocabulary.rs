//! Parses `[words]`, the words of questions about fields, and `embed`, the embedded parts of a
//! request.

use haversack_core::item::Kind;
use haversack_core::query::{PHRASE_BYTES_MAX, Vocabulary};

use crate::recipe::keys::KeyReader;
use crate::recipe::read::{TomlReader, TomlTable, hint};
use crate::recipe::words;
use crate::recipe::{QueryPart, Recipe};

/// Most phrases under one name.
const PHRASES_OF_NAME_MAX: usize = 256;

/// Adds the words of a table to those of the base.
pub(in crate::recipe) fn apply(
    reader: &mut TomlReader<'_>,
    table: &TomlTable<'_>,
    recipe: &mut Recipe,
) {
    for (name, at, _) in table.entries() {
        reader.record_place(format!("{}.{name}", table.path), at);
        if name == "kinds" {
            apply_kinds(reader, table, recipe);
            continue;
        }
        if !Vocabulary::NAMES.iter().any(|(known, _)| *known == name) {
            let names: Vec<&str> =
                Vocabulary::NAMES.iter().map(|(name, _)| *name).chain(["kinds"]).collect();
            let hint = hint(name, &names, "there are");
            reader.report(at, format!("words names {name:?}, which is not known{hint}"));
            continue;
        }
        let phrases = read_phrases(reader, table, name);
        add_phrases(recipe, name, phrases);
    }
}

fn apply_kinds(reader: &mut TomlReader<'_>, table: &TomlTable<'_>, recipe: &mut Recipe) {
    let Some(kinds) = reader.table(table, "kinds", "words.kinds") else { return };
    for (name, at, _) in kinds.entries() {
        reader.record_place(format!("{}.{name}", kinds.path), at);
        if let Err(error) = Kind::new(name) {
            reader.report(at, format!("words.kinds names {name:?}: {error}"));
            continue;
        }
        let phrases = read_phrases(reader, &kinds, name);
        add_phrases(recipe, &format!("kind {name}"), phrases);
    }
}

fn read_phrases(reader: &mut TomlReader<'_>, table: &TomlTable<'_>, name: &str) -> Vec<String> {
    let given = reader.texts(table, name).unwrap_or_default();
    if given.len() > PHRASES_OF_NAME_MAX {
        let message = format!(
            "has {} phrases, more than the {PHRASES_OF_NAME_MAX} there may be",
            given.len()
        );
        reader.report_key(table, name, &message);
        return Vec::new();
    }
    let mut phrases = Vec::with_capacity(given.len());
    for (phrase, at) in given {
        if phrase.trim().is_empty() || phrase.len() > PHRASE_BYTES_MAX {
            let message =
                format!("words: a phrase of {name} must have 1 to {PHRASE_BYTES_MAX} bytes");
            reader.report(at, message);
            continue;
        }
        phrases.push(phrase.to_owned());
    }
    phrases
}

fn add_phrases(recipe: &mut Recipe, name: &str, phrases: Vec<String>) {
    match recipe.words.iter_mut().find(|(known, _)| known == name) {
        Some((_, known)) => known.extend(phrases),
        None => recipe.words.push((name.to_owned(), phrases)),
    }
}

/// Reads the parts of the request that are embedded as the query.
pub(in crate::recipe) fn read_query_parts(
    key: &mut KeyReader<'_, '_, '_>,
) -> Option<Vec<QueryPart>> {
    let parts = key.reader.texts(key.table, key.name)?;
    if parts.is_empty() {
        key.report("names nothing; a query's vector is made from something");
    }
    let mut embed = Vec::new();
    for (part, at) in parts {
        let names: Vec<&str> = words::QUERY_PARTS.iter().map(|word| word.name).collect();
        match words::QUERY_PARTS.iter().find(|word| word.name == part) {
            Some(word) if embed.contains(&word.value) => {
                key.reader.report(at, format!("query: embed names {part:?} twice"));
            }
            Some(word) => embed.push(word.value),
            None => {
                let hint = hint(part, &names, "there are");
                let message = format!("query: embed names {part:?}, which is not known{hint}");
                key.reader.report(at, message);
            }
        }
    }
    Some(embed)
}
