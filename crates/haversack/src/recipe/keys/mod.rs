//! The table of keys: one row for each key of the format, with its name, type, default and meaning,
//! and functions that read and write it. Parsing, writing and the documentation all use these rows.

mod document;
mod layer;

use haversack_core::units::{Share, Tokens};

use super::RecipeRegistry;
use super::read::{Bounds, TomlReader, TomlTable, grouped, is_none};
use super::words::{ChoiceWord, NONE};
use super::write::quoted;

pub(super) use document::{ADAPT, BLANK_STOP, BUDGET, CACHE, OUTPUT, QUERY, STOP, SUBJECT, TOP};
pub(super) use layer::{
    COLLECT, DEFAULT_KIND_CAP, InlineTemplate, KIND_CAP, LAYER, RECENCY, SCORE, TEMPLATE,
};

/// Most tokens that a recipe can name.
const TOKENS_MAX: u64 = 100_000_000;
/// Longest name of a recipe or layer in characters.
const NAME_CHARS_MAX: usize = 64;
/// Longest title or description in bytes.
pub(super) const LINE_BYTES_MAX: usize = 1_024;

/// A key of a TOML table whose values are stored in a `T`.
pub(super) struct Key<T> {
    pub(super) name: &'static str,
    pub(super) value: KeyType,
    pub(super) default: KeyDefault,
    /// Its meaning.
    pub(super) about: &'static str,
    /// Reads its value, if the key is set.
    read: fn(&mut KeyReader<'_, '_, '_>, &mut T),
    /// Writes its value as TOML; `None` when it is not written as a value of its own.
    write: fn(&T) -> Option<String>,
}

/// The type of a key's value.
#[derive(Debug, Clone, Copy)]
pub(super) enum KeyType {
    Flag,
    Text,
    Tokens,
    /// A whole number, bounds included.
    Count(u64, u64),
    /// A number, bounds included.
    Number(f64, f64),
    /// A value of this type, or the word `"none"`.
    OrNone(&'static KeyType),
    /// Another type, described in words.
    Other(&'static str),
}

/// A number from 0 to 1.
const FRACTION: KeyType = KeyType::Number(0.0, 1.0);

/// The default of a key.
#[derive(Debug, Clone, Copy)]
pub(super) enum KeyDefault {
    /// The value of a table with no key set.
    Value,
    /// The key is required.
    Required,
    /// Another default, described in words.
    Words(&'static str),
}

const fn key<T>(
    name: &'static str,
    value: KeyType,
    default: KeyDefault,
    about: &'static str,
    read: fn(&mut KeyReader<'_, '_, '_>, &mut T),
    write: fn(&T) -> Option<String>,
) -> Key<T> {
    Key { name, value, default, about, read, write }
}

impl<T> Key<T> {
    /// The default as shown in the documentation; `blank` is a target with no key set.
    pub(super) fn default_text(&self, blank: &T) -> String {
        match self.default {
            KeyDefault::Required => "required".to_owned(),
            KeyDefault::Words(words) => words.to_owned(),
            KeyDefault::Value => match (self.write)(blank).as_deref() {
                None | Some("\"none\"" | "[]" | "{}") => "none".to_owned(),
                Some("\"\"") => "empty".to_owned(),
                Some(value) => format!("`{value}`"),
            },
        }
    }
}

impl KeyType {
    /// The type in words, with its bounds.
    pub(super) fn describe(self) -> String {
        match self {
            KeyType::Flag => "true or false".to_owned(),
            KeyType::Text => "a text".to_owned(),
            KeyType::Tokens => "tokens".to_owned(),
            KeyType::Count(min, max) => format!("{} to {}", grouped(min), grouped(max)),
            KeyType::Number(min, max) => format!("{} to {}", decimal(min), decimal(max)),
            KeyType::OrNone(value) => format!("{} or `{}`", value.describe(), quoted(NONE)),
            KeyType::Other(words) => words.to_owned(),
        }
    }

    fn count_bounds(self) -> Bounds<u64> {
        match self {
            KeyType::Count(min, max) => Bounds(min, max),
            KeyType::OrNone(value) => value.count_bounds(),
            _ => Bounds(0, TOKENS_MAX),
        }
    }

    fn number_bounds(self) -> Bounds<f64> {
        match self {
            KeyType::Number(min, max) => Bounds(min, max),
            KeyType::OrNone(value) => value.number_bounds(),
            _ => Bounds(0.0, 1.0),
        }
    }
}

/// Formats −1000.5 as −1,000.5.
fn decimal(number: f64) -> String {
    let text = number.abs().to_string();
    let (whole, rest) = text.split_once('.').map_or((&*text, None), |(w, r)| (w, Some(r)));
    let whole = whole.parse().map_or_else(|_| whole.to_owned(), grouped);
    let rest = rest.map(|rest| format!(".{rest}")).unwrap_or_default();
    format!("{}{whole}{rest}", if number < 0.0 { "−" } else { "" })
}

/// Reads the keys of a table into a target and reports all others.
pub(super) fn read_keys<T>(
    reader: &mut TomlReader<'_>,
    table: &TomlTable<'_>,
    registry: &RecipeRegistry,
    keys: &[Key<T>],
    target: &mut T,
) {
    reader.check_keys(table, &names(keys), "there are");
    read_values(reader, table, registry, keys, target);
}

/// Reads the keys of a table into a target. The caller checks for other keys.
pub(super) fn read_values<T>(
    reader: &mut TomlReader<'_>,
    table: &TomlTable<'_>,
    registry: &RecipeRegistry,
    keys: &[Key<T>],
    target: &mut T,
) {
    for key in keys {
        let Key { name, value, .. } = *key;
        (key.read)(&mut KeyReader { reader, table, registry, name, value }, target);
    }
}

/// The keys of a table that are written, with their values as TOML.
pub(super) fn toml_values<T>(
    keys: &[Key<T>],
    target: &T,
) -> impl Iterator<Item = (&'static str, String)> {
    keys.iter().filter_map(move |key| Some((key.name, (key.write)(target)?)))
}

pub(super) fn names<T>(keys: &[Key<T>]) -> Vec<&'static str> {
    keys.iter().map(|key| key.name).collect()
}

/// Reads the value of one key.
pub(super) struct KeyReader<'r, 's, 't> {
    pub(super) reader: &'r mut TomlReader<'s>,
    pub(super) table: &'r TomlTable<'t>,
    pub(super) registry: &'r RecipeRegistry,
    pub(super) name: &'static str,
    value: KeyType,
}

impl<'t> KeyReader<'_, '_, 't> {
    /// Whether the table has the key.
    pub(super) fn is_set(&self) -> bool {
        self.table.has(self.name)
    }

    /// Reports a problem with the value.
    pub(super) fn report(&mut self, message: &str) {
        self.reader.report_key(self.table, self.name, message);
    }

    pub(super) fn text(&mut self, bytes_max: usize) -> Option<&'t str> {
        self.reader.text(self.table, self.name, bytes_max)
    }

    pub(super) fn line(&mut self) -> Option<String> {
        self.text(LINE_BYTES_MAX).map(str::to_owned)
    }

    /// A name made of letters, digits and the characters in `more`.
    pub(super) fn identifier(&mut self, more: &str) -> Option<String> {
        identifier(self.reader, self.table, self.name, more).map(str::to_owned)
    }

    fn flag(&mut self) -> Option<bool> {
        self.reader.read_flag(self.table, self.name)
    }

    /// A whole number within the key's bounds.
    fn count(&mut self) -> Option<u64> {
        self.reader.count(self.table, self.name, self.value.count_bounds())
    }

    fn size(&mut self) -> Option<usize> {
        self.count().map(|count| usize::try_from(count).unwrap_or(usize::MAX))
    }

    fn tokens(&mut self) -> Option<Tokens> {
        tokens(self.reader, self.table, self.name)
    }

    /// A number within the key's bounds.
    fn number(&mut self) -> Option<f64> {
        self.reader.number(self.table, self.name, self.value.number_bounds())
    }

    fn share(&mut self) -> Option<Share> {
        share(self.reader, self.table, self.name)
    }

    fn word<W: Copy>(&mut self, words: &[ChoiceWord<W>]) -> Option<W> {
        self.reader.word(self.table, self.name, words)
    }

    /// Reads an inner table, named after the key.
    pub(super) fn inner_table(&mut self) -> Option<TomlTable<'t>> {
        self.reader.table(self.table, self.name, self.name)
    }

    /// Returns `Some(None)` for the word `"none"`, else the result of `read`.
    fn or_none<V>(&mut self, read: impl FnOnce(&mut Self) -> Option<V>) -> Option<Option<V>> {
        if is_none(self.table, self.name) { Some(None) } else { read(self).map(Some) }
    }
}

/// A name made of letters, digits and the characters in `more`.
pub(super) fn identifier<'t>(
    reader: &mut TomlReader<'_>,
    table: &TomlTable<'t>,
    key: &str,
    more: &str,
) -> Option<&'t str> {
    let name = reader.text(table, key, LINE_BYTES_MAX)?;
    let fits = |c: char| c.is_ascii_alphanumeric() || more.contains(c);
    let starts = name.starts_with(|c: char| c.is_ascii_alphanumeric());
    if starts && name.chars().all(fits) && name.chars().count() <= NAME_CHARS_MAX {
        return Some(name);
    }
    let message = format!(
        "is {name:?}; it must have 1 to {NAME_CHARS_MAX} letters, digits or any of {more}, a letter \
         or digit first"
    );
    reader.report_key(table, key, &message);
    None
}

pub(super) fn tokens(
    reader: &mut TomlReader<'_>,
    table: &TomlTable<'_>,
    key: &str,
) -> Option<Tokens> {
    reader.count(table, key, Bounds(0, TOKENS_MAX)).map(Tokens::saturating_from)
}

pub(super) fn share(
    reader: &mut TomlReader<'_>,
    table: &TomlTable<'_>,
    key: &str,
) -> Option<Share> {
    reader.number(table, key, Bounds(0.0, 1.0)).and_then(Share::fraction)
}

/// Sets a field to the value that was read, if there is one.
fn set<V>(field: &mut V, value: Option<V>) {
    if let Some(value) = value {
        *field = value;
    }
}

#[cfg(test)]
mod tests;
