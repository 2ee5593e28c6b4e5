//! What the styles of an OpenDocument file say: titles, code, lists, numbers, hidden pages.

use std::collections::BTreeMap;

use super::numbering::format_number;
use super::styles::{is_code_name, is_title_name};
use crate::part::ReadFailure;
use crate::xml::{XmlElement, XmlEvent, XmlReader};

/// How far styles are followed to their parents.
const PARENTS_MAX: usize = 20;

/// Levels of lists and headings.
pub(super) const LEVELS: usize = 10;

#[derive(Debug, Default)]
struct StyleEntry {
    parent: Option<String>,
    /// Whether a slide in this style is not shown.
    is_hidden_page: bool,
    /// Whether a table in this style is not shown.
    is_hidden_table: bool,
}

/// How a level of a list or of headings is numbered; bullets have an empty format.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct NumberLevel {
    format: String,
    prefix: String,
    suffix: String,
    display_levels: usize,
    pub(super) start: u32,
}

impl NumberLevel {
    fn of(element: &XmlElement<'_>) -> NumberLevel {
        let display_levels = element.number("display-levels").unwrap_or(1);
        let start = element.number("start-value").unwrap_or(1);
        NumberLevel {
            format: element.attribute("num-format").unwrap_or_default(),
            prefix: element.attribute("num-prefix").unwrap_or_default(),
            suffix: element.attribute("num-suffix").unwrap_or_default(),
            display_levels: usize::try_from(display_levels).unwrap_or(1).clamp(1, LEVELS),
            start: u32::try_from(start).unwrap_or(1),
        }
    }

    /// The label of an item with these counters, its own last; empty for a bullet.
    pub(super) fn label(&self, counters: &[u32]) -> String {
        if self.format.is_empty() {
            return String::new();
        }
        let shown = counters.len().saturating_sub(self.display_levels);
        let numbers = counters.iter().skip(shown).map(|count| format_number(&self.format, *count));
        let numbers = numbers.collect::<Vec<_>>().join(".");
        format!("{}{numbers}{}", self.prefix, self.suffix).trim().to_owned()
    }
}

/// The styles of a document, by family and name.
#[derive(Debug, Default)]
pub(crate) struct OdfStyles {
    entries: BTreeMap<(String, String), StyleEntry>,
    lists: BTreeMap<String, BTreeMap<usize, NumberLevel>>,
    outline: BTreeMap<usize, NumberLevel>,
}

impl OdfStyles {
    /// Adds the styles of a file.
    pub(super) fn add(&mut self, place: &str, text: &str) -> Result<(), ReadFailure> {
        let mut reader = XmlReader::new(place, text);
        let (mut style, mut list, mut in_outline) = (None, None, false);
        while let Some(event) = reader.next()? {
            let element = match event {
                XmlEvent::Start(element) => element,
                XmlEvent::End(name) => {
                    match name.as_str() {
                        "style" => style = None,
                        "list-style" => list = None,
                        "outline-style" => in_outline = false,
                        _ => {}
                    }
                    continue;
                }
                XmlEvent::Text(_) => continue,
            };
            let value = |name: &str| element.attribute(name).unwrap_or_default();
            match element.name() {
                "body" => reader.skip_element()?,
                "style" => {
                    let key = (value("family"), value("name"));
                    let parent = element.attribute("parent-style-name");
                    self.entries
                        .insert(key.clone(), StyleEntry { parent, ..StyleEntry::default() });
                    style = Some(key);
                }
                "drawing-page-properties" | "table-properties" => {
                    let entry = style.as_ref().and_then(|key| self.entries.get_mut(key));
                    if let Some(entry) = entry {
                        entry.is_hidden_page = value("visibility") == "hidden";
                        entry.is_hidden_table = value("display") == "false";
                    }
                }
                "list-style" => list = Some(value("name")),
                "outline-style" => in_outline = true,
                "list-level-style-number"
                | "list-level-style-bullet"
                | "list-level-style-image"
                | "outline-level-style" => {
                    let level = element.number("level").unwrap_or(1).clamp(1, LEVELS as i64) - 1;
                    let level = usize::try_from(level).unwrap_or_default();
                    let levels = match &list {
                        Some(name) => self.lists.entry(name.clone()).or_default(),
                        None if in_outline => &mut self.outline,
                        None => continue,
                    };
                    levels.insert(level, NumberLevel::of(&element));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// The names of a style and its parents, in lower case.
    fn names(&self, family: &str, name: &str) -> Vec<String> {
        let (mut names, mut next) = (Vec::new(), Some(name));
        while let Some(name) = next.filter(|_| names.len() < PARENTS_MAX) {
            names.push(name.replace("_20_", " ").to_lowercase());
            let entry = self.entries.get(&(family.to_owned(), name.to_owned()));
            next = entry.and_then(|entry| entry.parent.as_deref());
        }
        names
    }

    pub(super) fn is_title(&self, name: &str) -> bool {
        self.names("paragraph", name).iter().any(|name| is_title_name(name))
    }

    pub(super) fn is_code(&self, name: &str) -> bool {
        self.names("paragraph", name).iter().any(|name| is_code_name(name))
    }

    pub(super) fn is_hidden_page(&self, name: &str) -> bool {
        let key = ("drawing-page".to_owned(), name.to_owned());
        self.entries.get(&key).is_some_and(|entry| entry.is_hidden_page)
    }

    pub(crate) fn is_hidden_table(&self, name: &str) -> bool {
        let key = ("table".to_owned(), name.to_owned());
        self.entries.get(&key).is_some_and(|entry| entry.is_hidden_table)
    }

    /// How a level of a list is numbered.
    pub(super) fn list_level(&self, list: &str, level: usize) -> NumberLevel {
        let levels = self.lists.get(list);
        levels.and_then(|levels| levels.get(&level)).cloned().unwrap_or_default()
    }

    /// How headings of a level are numbered.
    pub(super) fn outline_level(&self, level: usize) -> NumberLevel {
        self.outline.get(&level).cloned().unwrap_or_default()
    }
}
