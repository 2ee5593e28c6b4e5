//! Reads a TOML document key by key: values with their places, and all problems at once.

use haversack_core::text::spelling::{nearest, printable_name};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::problem::{Places, RecipeProblem};
use super::words::{ChoiceWord, NONE};

/// A table of the document, with its name in messages and in paths.
#[derive(Debug, Clone)]
pub(super) struct TomlTable<'t> {
    entries: &'t DeTable<'t>,
    /// The byte at which it begins.
    pub(super) at: usize,
    /// Its name in messages; empty for the document itself.
    pub(super) label: String,
    /// Its path in [`Places`]; empty for the document itself.
    pub(super) path: String,
}

impl<'t> TomlTable<'t> {
    pub(super) fn document(document: &'t Spanned<DeTable<'t>>) -> TomlTable<'t> {
        let (label, path) = (String::new(), String::new());
        TomlTable { entries: document.get_ref(), at: document.span().start, label, path }
    }

    pub(super) fn get(&self, key: &str) -> Option<&'t Spanned<DeValue<'t>>> {
        self.entries.get(key)
    }

    pub(super) fn has(&self, key: &str) -> bool {
        self.get(key).is_some()
    }

    /// The byte at which a key's value begins, or at which the table begins when the key is not
    /// set.
    pub(super) fn place(&self, key: &str) -> usize {
        self.get(key).map_or(self.at, |value| value.span().start)
    }

    /// Keys with their places and values, in the order of the file.
    pub(super) fn entries(&self) -> Vec<(&'t str, usize, &'t Spanned<DeValue<'t>>)> {
        let mut entries: Vec<_> = self
            .entries
            .iter()
            .map(|(key, value)| (&**key.get_ref(), key.span().start, value))
            .collect();
        entries.sort_by_key(|&(_, at, _)| at);
        entries
    }

    fn path_of(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) }
    }
}

/// Bounds of a number, both included.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bounds<T>(pub(super) T, pub(super) T);

/// Reads values and collects the problems.
#[derive(Debug)]
pub(super) struct TomlReader<'s> {
    source: &'s str,
    line_starts: Vec<usize>,
    problems: Vec<(usize, String)>,
    places: Places,
}

impl<'s> TomlReader<'s> {
    pub(super) fn new(source: &'s str) -> TomlReader<'s> {
        let after_breaks = source.match_indices('\n').map(|(at, _)| at + 1);
        let line_starts = std::iter::once(0).chain(after_breaks).collect();
        TomlReader { source, line_starts, problems: Vec::new(), places: Places::default() }
    }

    /// Line and column of a byte, both from 1.
    pub(super) fn place(&self, at: usize) -> (usize, usize) {
        let at = at.min(self.source.len());
        let line = self.line_starts.partition_point(|&start| start <= at);
        let start = self.line_starts[line - 1];
        let column = self.source.get(start..at).map_or(at - start, |before| before.chars().count());
        (line, column + 1)
    }

    /// Reports a problem at a byte of the source.
    pub(super) fn report(&mut self, at: usize, message: impl Into<String>) {
        self.problems.push((at, message.into()));
    }

    /// Reports a problem with a key of a table, at its value or, when it is missing, at the table.
    pub(super) fn report_key(&mut self, table: &TomlTable<'_>, key: &str, message: &str) {
        let label = message_prefix(table);
        self.report(table.place(key), format!("{label}{key} {message}"));
    }

    /// Reports a problem at the recorded position of a path, or else at a byte.
    pub(super) fn report_at_path(&mut self, path: &str, at: usize, message: impl Into<String>) {
        let noted = self.places.find(path).map(|(line, column)| {
            let start = self.line_starts.get(line - 1).copied().unwrap_or_default();
            let line = &self.source[start..];
            start + line.char_indices().nth(column - 1).map_or(0, |(byte, _)| byte)
        });
        self.report(noted.unwrap_or(at), message);
    }

    pub(super) fn problem_count(&self) -> usize {
        self.problems.len()
    }

    /// Returns the problems in the order of the file, and the positions of all keys.
    pub(super) fn into_problems_and_places(mut self) -> (Vec<RecipeProblem>, Places) {
        self.problems.sort();
        self.problems.dedup();
        let problems = std::mem::take(&mut self.problems);
        let problems = problems
            .into_iter()
            .map(|(at, message)| {
                let (line, column) = self.place(at);
                RecipeProblem { line, column, message }
            })
            .collect();
        (problems, self.places)
    }

    /// Records the positions of a table's keys and reports those that are not allowed.
    pub(super) fn check_keys(&mut self, table: &TomlTable<'_>, allowed: &[&str], there_are: &str) {
        for (name, at, _) in table.entries() {
            if allowed.contains(&name) {
                let place = self.place(at);
                self.places.insert(table.path_of(name), place);
            } else {
                let hint = hint(name, allowed, there_are);
                self.report(
                    at,
                    format!("{}unknown key {}{hint}", message_prefix(table), printable_name(name)),
                );
            }
        }
    }

    /// Records the position of a path.
    pub(super) fn record_place(&mut self, path: String, at: usize) {
        let place = self.place(at);
        self.places.insert(path, place);
    }

    fn report_type(&mut self, table: &TomlTable<'_>, key: &str, expected: &str) {
        let found = table.get(key).map_or("nothing", |value| type_name(value.get_ref()));
        self.report_key(table, key, &format!("is {found}; it must be {expected}"));
    }

    /// Reads a text, if the key is set.
    pub(super) fn text<'t>(
        &mut self,
        table: &TomlTable<'t>,
        key: &str,
        bytes_max: usize,
    ) -> Option<&'t str> {
        let Some(text) = table.get(key)?.get_ref().as_str() else {
            self.report_type(table, key, "a text");
            return None;
        };
        if text.len() > bytes_max {
            let message = format!("has {} bytes, more than the limit of {bytes_max}", text.len());
            self.report_key(table, key, &message);
            return None;
        }
        Some(text)
    }

    /// Reads a flag, if the key is set.
    pub(super) fn read_flag(&mut self, table: &TomlTable<'_>, key: &str) -> Option<bool> {
        let flag = table.get(key)?.get_ref().as_bool();
        if flag.is_none() {
            self.report_type(table, key, "true or false");
        }
        flag
    }

    /// Reads a whole number within bounds, if the key is set.
    pub(super) fn count(
        &mut self,
        table: &TomlTable<'_>,
        key: &str,
        bounds: Bounds<u64>,
    ) -> Option<u64> {
        let Bounds(min, max) = bounds;
        let count = integer(table.get(key)?.get_ref());
        let within = count.and_then(|count| u64::try_from(count).ok());
        let within = within.filter(|count| (min..=max).contains(count));
        if within.is_none() {
            let expected = format!("a whole number from {} to {}", grouped(min), grouped(max));
            match count {
                Some(count) => {
                    self.report_key(table, key, &format!("is {count}; it must be {expected}"))
                }
                None => self.report_type(table, key, &expected),
            }
        }
        within
    }

    /// Reads a number within bounds, if the key is set.
    pub(super) fn number(
        &mut self,
        table: &TomlTable<'_>,
        key: &str,
        bounds: Bounds<f64>,
    ) -> Option<f64> {
        let Bounds(min, max) = bounds;
        let number = finite_number(table.get(key)?.get_ref());
        let within = number.filter(|number| (min..=max).contains(number));
        if within.is_none() {
            let expected = format!("a number from {min} to {max}");
            match number {
                Some(number) => {
                    self.report_key(table, key, &format!("is {number}; it must be {expected}"))
                }
                None => self.report_type(table, key, &expected),
            }
        }
        within
    }

    /// Reads one of the words, if the key is set.
    pub(super) fn word<T: Copy>(
        &mut self,
        table: &TomlTable<'_>,
        key: &str,
        words: &[ChoiceWord<T>],
    ) -> Option<T> {
        let value = table.get(key)?;
        let names: Vec<&str> = words.iter().map(|word| word.name).collect();
        let Some(text) = value.get_ref().as_str() else {
            self.report_type(table, key, &format!("one of {}", names.join(", ")));
            return None;
        };
        let word = words.iter().find(|word| word.name == text);
        if word.is_none() {
            let hint = hint(text, &names, "it must be one of");
            self.report_key(table, key, &format!("is {:?}{hint}", printable_name(text)));
        }
        word.map(|word| word.value)
    }

    /// Reads a list of texts with their positions, if the key is set.
    pub(super) fn texts<'t>(
        &mut self,
        table: &TomlTable<'t>,
        key: &str,
    ) -> Option<Vec<(&'t str, usize)>> {
        let Some(values) = table.get(key)?.get_ref().as_array() else {
            self.report_type(table, key, "a list of texts");
            return None;
        };
        let mut texts = Vec::with_capacity(values.len());
        for value in values.iter() {
            match value.get_ref().as_str() {
                Some(text) => texts.push((text, value.span().start)),
                None => {
                    let found = type_name(value.get_ref());
                    let message = format!(
                        "{}{key} holds {found}; it must be a list of texts",
                        message_prefix(table)
                    );
                    self.report(value.span().start, message);
                }
            }
        }
        Some(texts)
    }

    /// Reads an inner table, if the key is set. The caller checks its keys.
    pub(super) fn table<'t>(
        &mut self,
        table: &TomlTable<'t>,
        key: &str,
        name: &str,
    ) -> Option<TomlTable<'t>> {
        let value = table.get(key)?;
        let Some(entries) = value.get_ref().as_table() else {
            self.report_type(table, key, "a table");
            return None;
        };
        let label = if table.label.is_empty() {
            name.to_owned()
        } else {
            format!("{} {name}", table.label)
        };
        Some(TomlTable { entries, at: value.span().start, label, path: table.path_of(key) })
    }

    /// Reads a list of tables; empty when the key is not set.
    pub(super) fn tables<'t>(
        &mut self,
        table: &TomlTable<'t>,
        key: &str,
        count_max: usize,
    ) -> Vec<TomlTable<'t>> {
        let Some(value) = table.get(key) else { return Vec::new() };
        let Some(values) = value.get_ref().as_array() else {
            let expected = if value.get_ref().is_table() {
                "a list of tables: put two brackets around its name"
            } else {
                "a list of tables"
            };
            self.report_type(table, key, expected);
            return Vec::new();
        };
        if values.len() > count_max {
            let message =
                format!("has {} entries, more than the limit of {count_max}", values.len());
            self.report_key(table, key, &message);
        }
        let mut tables = Vec::with_capacity(values.len().min(count_max));
        for (index, value) in values.iter().take(count_max).enumerate() {
            let at = value.span().start;
            let Some(entries) = value.get_ref().as_table() else {
                let found = type_name(value.get_ref());
                self.report(
                    at,
                    format!(
                        "{}{key} holds {found}; it must be a list of tables",
                        message_prefix(table)
                    ),
                );
                continue;
            };
            let name = format!("{key} {}", index + 1);
            let label =
                if table.label.is_empty() { name } else { format!("{} {name}", table.label) };
            let path = format!("{}.{index}", table.path_of(key));
            self.record_place(path.clone(), at);
            tables.push(TomlTable { entries, at, label, path });
        }
        tables
    }
}

/// Whether the value of a key is the word `"none"`.
pub(super) fn is_none(table: &TomlTable<'_>, key: &str) -> bool {
    table.get(key).and_then(|value| value.get_ref().as_str()) == Some(NONE)
}

fn message_prefix(table: &TomlTable<'_>) -> String {
    if table.label.is_empty() { String::new() } else { format!("{}: ", table.label) }
}

/// The end of a message about an unknown name: the nearest known names, and all when they are few.
pub(super) fn hint(name: &str, known: &[&str], there_are: &str) -> String {
    let near = nearest(name, known.iter().map(|&known| (known, known)));
    match near.as_slice() {
        [] if known.is_empty() => String::new(),
        [] => format!("; {there_are} {}", known.join(", ")),
        near if known.len() <= 8 => {
            format!(", perhaps {}; {there_are} {}", near.join(" or "), known.join(", "))
        }
        near => format!(", perhaps {}", near.join(" or ")),
    }
}

/// The name of a value's type in messages.
pub(super) fn type_name(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "a text",
        DeValue::Integer(_) => "a whole number",
        DeValue::Float(_) => "a decimal number",
        DeValue::Boolean(_) => "true or false",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}

/// Reads a value as a whole number; `None` when it is not one or does not fit.
pub(super) fn integer(value: &DeValue<'_>) -> Option<i64> {
    let integer = value.as_integer()?;
    i64::from_str_radix(integer.as_str(), integer.radix()).ok()
}

/// Reads a value as a finite number, whole or decimal.
pub(super) fn finite_number(value: &DeValue<'_>) -> Option<f64> {
    if let Some(float) = value.as_float() {
        return float.as_str().parse::<f64>().ok().filter(|number| number.is_finite());
    }
    #[expect(clippy::cast_precision_loss, reason = "bounds are far below 2^52")]
    let number = integer(value)? as f64;
    Some(number)
}

/// Formats 1234567 as 1,234,567.
pub(super) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}
