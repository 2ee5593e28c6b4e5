//! Reading a TOML document key by key: values with their places, and all problems at once.

use haversack_core::text::spelling::{nearest, shown};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::problem::{Places, Problem};
use super::words::{NONE, Word};

/// A table of the document, with what messages and places call it.
#[derive(Debug, Clone)]
pub(super) struct Table<'t> {
    entries: &'t DeTable<'t>,
    /// Where it begins.
    pub(super) at: usize,
    /// What messages call it; empty for the document itself.
    pub(super) label: String,
    /// What places call it; empty for the document itself.
    pub(super) path: String,
}

impl<'t> Table<'t> {
    pub(super) fn document(document: &'t Spanned<DeTable<'t>>) -> Table<'t> {
        let (label, path) = (String::new(), String::new());
        Table { entries: document.get_ref(), at: document.span().start, label, path }
    }

    pub(super) fn get(&self, key: &str) -> Option<&'t Spanned<DeValue<'t>>> {
        self.entries.get(key)
    }

    pub(super) fn has(&self, key: &str) -> bool {
        self.get(key).is_some()
    }

    /// Where a key's value stands, or the table when it is not there.
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

/// Reads values and keeps what is wrong.
#[derive(Debug)]
pub(super) struct Reader<'s> {
    source: &'s str,
    line_starts: Vec<usize>,
    problems: Vec<(usize, String)>,
    places: Places,
}

impl<'s> Reader<'s> {
    pub(super) fn new(source: &'s str) -> Reader<'s> {
        let after_breaks = source.match_indices('\n').map(|(at, _)| at + 1);
        let line_starts = std::iter::once(0).chain(after_breaks).collect();
        Reader { source, line_starts, problems: Vec::new(), places: Places::default() }
    }

    /// Line and column of a byte, both from 1.
    pub(super) fn place(&self, at: usize) -> (usize, usize) {
        let at = at.min(self.source.len());
        let line = self.line_starts.partition_point(|&start| start <= at);
        let start = self.line_starts[line - 1];
        let column = self.source.get(start..at).map_or(at - start, |before| before.chars().count());
        (line, column + 1)
    }

    /// Notes a problem at a byte of the source.
    pub(super) fn wrong(&mut self, at: usize, message: impl Into<String>) {
        self.problems.push((at, message.into()));
    }

    /// Notes a problem with a key of a table, at its value or, when it is missing, at the table.
    pub(super) fn wrong_in(&mut self, table: &Table<'_>, key: &str, message: &str) {
        let label = label(table);
        self.wrong(table.place(key), format!("{label}{key} {message}"));
    }

    /// Notes a problem where something was read before, by its path; else at a byte.
    pub(super) fn wrong_at(&mut self, path: &str, at: usize, message: impl Into<String>) {
        let noted = self.places.find(path).map(|(line, column)| {
            let start = self.line_starts.get(line - 1).copied().unwrap_or_default();
            let line = &self.source[start..];
            start + line.char_indices().nth(column - 1).map_or(0, |(byte, _)| byte)
        });
        self.wrong(noted.unwrap_or(at), message);
    }

    pub(super) fn problem_count(&self) -> usize {
        self.problems.len()
    }

    /// What was wrong, in the order of the file, and where everything stands.
    pub(super) fn finish(mut self) -> (Vec<Problem>, Places) {
        self.problems.sort();
        self.problems.dedup();
        let problems = std::mem::take(&mut self.problems);
        let problems = problems
            .into_iter()
            .map(|(at, message)| {
                let (line, column) = self.place(at);
                Problem { line, column, message }
            })
            .collect();
        (problems, self.places)
    }

    /// Notes where a table's keys stand and refuses those that are not allowed.
    pub(super) fn names(&mut self, table: &Table<'_>, allowed: &[&str], there_are: &str) {
        for (name, at, _) in table.entries() {
            if allowed.contains(&name) {
                let place = self.place(at);
                self.places.note(table.path_of(name), place);
            } else {
                let hint = hint(name, allowed, there_are);
                self.wrong(at, format!("{}unknown key {}{hint}", label(table), shown(name)));
            }
        }
    }

    /// Notes where something stands.
    pub(super) fn note(&mut self, path: String, at: usize) {
        let place = self.place(at);
        self.places.note(path, place);
    }

    fn mistaken(&mut self, table: &Table<'_>, key: &str, expected: &str) {
        let found = table.get(key).map_or("nothing", |value| type_of(value.get_ref()));
        self.wrong_in(table, key, &format!("is {found}; it must be {expected}"));
    }

    /// A text, if there is one.
    pub(super) fn text<'t>(
        &mut self,
        table: &Table<'t>,
        key: &str,
        bytes_max: usize,
    ) -> Option<&'t str> {
        let Some(text) = table.get(key)?.get_ref().as_str() else {
            self.mistaken(table, key, "a text");
            return None;
        };
        if text.len() > bytes_max {
            let message = format!("has {} bytes, more than the limit of {bytes_max}", text.len());
            self.wrong_in(table, key, &message);
            return None;
        }
        Some(text)
    }

    /// Yes or no, if said.
    pub(super) fn flag(&mut self, table: &Table<'_>, key: &str) -> Option<bool> {
        let flag = table.get(key)?.get_ref().as_bool();
        if flag.is_none() {
            self.mistaken(table, key, "true or false");
        }
        flag
    }

    /// A whole number within bounds, if said.
    pub(super) fn count(
        &mut self,
        table: &Table<'_>,
        key: &str,
        bounds: Bounds<u64>,
    ) -> Option<u64> {
        let Bounds(min, max) = bounds;
        let count = whole(table.get(key)?.get_ref());
        let within = count.and_then(|count| u64::try_from(count).ok());
        let within = within.filter(|count| (min..=max).contains(count));
        if within.is_none() {
            let expected = format!("a whole number from {} to {}", grouped(min), grouped(max));
            match count {
                Some(count) => {
                    self.wrong_in(table, key, &format!("is {count}; it must be {expected}"))
                }
                None => self.mistaken(table, key, &expected),
            }
        }
        within
    }

    /// A number within bounds, if said.
    pub(super) fn number(
        &mut self,
        table: &Table<'_>,
        key: &str,
        bounds: Bounds<f64>,
    ) -> Option<f64> {
        let Bounds(min, max) = bounds;
        let number = number(table.get(key)?.get_ref());
        let within = number.filter(|number| (min..=max).contains(number));
        if within.is_none() {
            let expected = format!("a number from {min} to {max}");
            match number {
                Some(number) => {
                    self.wrong_in(table, key, &format!("is {number}; it must be {expected}"))
                }
                None => self.mistaken(table, key, &expected),
            }
        }
        within
    }

    /// One of the words, if said.
    pub(super) fn word<T: Copy>(
        &mut self,
        table: &Table<'_>,
        key: &str,
        words: &[Word<T>],
    ) -> Option<T> {
        let value = table.get(key)?;
        let names: Vec<&str> = words.iter().map(|word| word.name).collect();
        let Some(text) = value.get_ref().as_str() else {
            self.mistaken(table, key, &format!("one of {}", names.join(", ")));
            return None;
        };
        let word = words.iter().find(|word| word.name == text);
        if word.is_none() {
            let hint = hint(text, &names, "it must be one of");
            self.wrong_in(table, key, &format!("is {:?}{hint}", shown(text)));
        }
        word.map(|word| word.value)
    }

    /// Texts with their places, if said.
    pub(super) fn texts<'t>(
        &mut self,
        table: &Table<'t>,
        key: &str,
    ) -> Option<Vec<(&'t str, usize)>> {
        let Some(values) = table.get(key)?.get_ref().as_array() else {
            self.mistaken(table, key, "a list of texts");
            return None;
        };
        let mut texts = Vec::with_capacity(values.len());
        for value in values.iter() {
            match value.get_ref().as_str() {
                Some(text) => texts.push((text, value.span().start)),
                None => {
                    let found = type_of(value.get_ref());
                    let message =
                        format!("{}{key} holds {found}; it must be a list of texts", label(table));
                    self.wrong(value.span().start, message);
                }
            }
        }
        Some(texts)
    }

    /// A table inside, if there is one; its keys are for the caller to check.
    pub(super) fn table<'t>(
        &mut self,
        table: &Table<'t>,
        key: &str,
        name: &str,
    ) -> Option<Table<'t>> {
        let value = table.get(key)?;
        let Some(entries) = value.get_ref().as_table() else {
            self.mistaken(table, key, "a table");
            return None;
        };
        let label = if table.label.is_empty() {
            name.to_owned()
        } else {
            format!("{} {name}", table.label)
        };
        Some(Table { entries, at: value.span().start, label, path: table.path_of(key) })
    }

    /// A list of tables; none when it is not there.
    pub(super) fn tables<'t>(
        &mut self,
        table: &Table<'t>,
        key: &str,
        count_max: usize,
    ) -> Vec<Table<'t>> {
        let Some(value) = table.get(key) else { return Vec::new() };
        let Some(values) = value.get_ref().as_array() else {
            let expected = if value.get_ref().is_table() {
                "a list of tables: put two brackets around its name"
            } else {
                "a list of tables"
            };
            self.mistaken(table, key, expected);
            return Vec::new();
        };
        if values.len() > count_max {
            let message =
                format!("has {} entries, more than the limit of {count_max}", values.len());
            self.wrong_in(table, key, &message);
        }
        let mut tables = Vec::with_capacity(values.len().min(count_max));
        for (index, value) in values.iter().take(count_max).enumerate() {
            let at = value.span().start;
            let Some(entries) = value.get_ref().as_table() else {
                let found = type_of(value.get_ref());
                self.wrong(
                    at,
                    format!("{}{key} holds {found}; it must be a list of tables", label(table)),
                );
                continue;
            };
            let name = format!("{key} {}", index + 1);
            let label =
                if table.label.is_empty() { name } else { format!("{} {name}", table.label) };
            let path = format!("{}.{index}", table.path_of(key));
            self.note(path.clone(), at);
            tables.push(Table { entries, at, label, path });
        }
        tables
    }
}

/// Whether a key says `"none"`.
pub(super) fn is_none(table: &Table<'_>, key: &str) -> bool {
    table.get(key).and_then(|value| value.get_ref().as_str()) == Some(NONE)
}

fn label(table: &Table<'_>) -> String {
    if table.label.is_empty() { String::new() } else { format!("{}: ", table.label) }
}

/// What a message adds to a name that is not known: the nearest ones, and all when they are few.
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

/// What messages call a value's type.
pub(super) fn type_of(value: &DeValue<'_>) -> &'static str {
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

/// A whole number; `None` when it is none, or too large to be one.
pub(super) fn whole(value: &DeValue<'_>) -> Option<i64> {
    let integer = value.as_integer()?;
    i64::from_str_radix(integer.as_str(), integer.radix()).ok()
}

/// A finite number, whole or decimal.
pub(super) fn number(value: &DeValue<'_>) -> Option<f64> {
    if let Some(float) = value.as_float() {
        return float.as_str().parse::<f64>().ok().filter(|number| number.is_finite());
    }
    #[expect(clippy::cast_precision_loss, reason = "bounds are far below 2^52")]
    let number = whole(value)? as f64;
    Some(number)
}

/// 1234567 as 1,234,567.
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
