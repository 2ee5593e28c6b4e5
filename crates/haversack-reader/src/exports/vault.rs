//! Notes of an Obsidian vault: properties, tags, aliases, and links between notes.

use serde_json::{Map, Value};

use super::fields;
use super::notes::clean_wikilinks;
use crate::conversations::turn::{Tally, name};
use crate::conversations::when::moment;
use crate::part::Part;

/// Bytes of properties at the start of a note. A longer block is text.
const PROPERTIES_BYTES_MAX: usize = 64 << 10;

/// Elements of one list among the properties.
const LIST_MAX: usize = 150;

/// Tags of one note.
const TAGS_MAX: usize = 200;

/// Bytes of a tag.
const TAG_BYTES_MAX: usize = 100;

/// Bytes of the shortest name of a block. Shorter ones are rather exponents.
const BLOCK_ID_BYTES_MIN: usize = 4;

/// Properties that say when a note was created or changed.
const CREATED: [&str; 3] = ["created", "date created", "date"];
const UPDATED: [&str; 4] = ["updated", "modified", "date modified", "last modified"];

/// Properties that only the program and the store give a meaning.
const LEFT: [&str; 8] = ["title", "tag", "tags", "alias", "aliases", "readers", "trust", "kind"];

/// Reads a note. Its name is that of its file without folders, by which other notes link to it.
///
/// Links become their texts, and the notes that they lead to stand in the field `links`, as do the notes and
/// files that are embedded. Tags and aliases become fields too, and so do the other properties.
#[must_use]
pub fn read_vault_note(file_name: &str, text: &str) -> Part {
    let text = text.trim_start_matches('\u{feff}');
    let (properties, body) = split_properties(text);
    let (body, mut links) = clean_wikilinks(body);
    let body = without_block_ids(&body);
    let found = Properties::read(properties, &mut links);
    let stem = file_name.rsplit_once('.').map_or(file_name, |(stem, _)| stem);
    let title = found.one("title").unwrap_or_else(|| stem.to_owned());
    let mut tags = found.list(&["tags", "tag"]);
    add_tags(&body, &mut tags);
    let mut part = Part::of_file(&name(&title), body.trim_matches('\n').to_owned());
    for (field, list) in
        [("tags", tags), ("aliases", found.list(&["aliases", "alias"])), ("links", links)]
    {
        if !list.is_empty() {
            part.fields.insert(field.to_owned(), Value::from(list));
        }
    }
    part.created = CREATED.iter().find_map(|name| moment(found.values.get(*name)?));
    part.updated = UPDATED.iter().find_map(|name| moment(found.values.get(*name)?));
    // What is too large for a field is rare, and a note has no summary to say so in.
    fields::keep(&found.values, &LEFT, &mut part, &mut Tally::default());
    part
}

/// Divides a note into its properties and its text.
fn split_properties(text: &str) -> (&str, &str) {
    let Some(after) = text.strip_prefix("---\n").or_else(|| text.strip_prefix("---\r\n")) else {
        return ("", text);
    };
    let mut at = 0;
    for line in after.split_inclusive('\n') {
        if line.trim_end() == "---" {
            return (&after[..at], &after[at + line.len()..]);
        }
        at += line.len();
        if at > PROPERTIES_BYTES_MAX {
            break;
        }
    }
    ("", text)
}

/// The properties of a note: names with texts, numbers, truth values, or lists of texts.
struct Properties {
    values: Map<String, Value>,
}

impl Properties {
    /// Reads the part of YAML that the program itself writes. What is nested deeper is kept as its text.
    fn read(text: &str, links: &mut Vec<String>) -> Properties {
        let mut values = Map::new();
        let mut lines = text.lines().peekable();
        while let Some(line) = lines.next() {
            let is_nested = line.starts_with([' ', '\t', '-', '#']);
            let Some((key, value)) = line.split_once(':').filter(|_| !is_nested) else { continue };
            let mut below = Vec::new();
            while let Some(line) = lines.next_if(|line| line.starts_with([' ', '\t', '-'])) {
                below.push(line.trim());
            }
            let mut clean = |text: &str| plain(text, links);
            let value = value.trim();
            let items = below.iter().filter_map(|line| line.strip_prefix('-'));
            let value = if below.is_empty() {
                inline_value(value, &mut clean)
            } else if value.is_empty() && items.clone().count() == below.len() {
                items.map(&mut clean).filter(|item| !item.is_empty()).take(LIST_MAX).collect()
            } else {
                Value::from(clean(&below.join(" ")))
            };
            values.insert(key.trim().trim_matches(['"', '\'']).to_owned(), value);
        }
        Properties { values }
    }

    /// A property as one text.
    fn one(&self, name: &str) -> Option<String> {
        let text = self.values.get(name)?.as_str()?.trim();
        (!text.is_empty()).then(|| text.to_owned())
    }

    /// A property as a list: a list, or a text with commas between its elements.
    fn list(&self, names: &[&str]) -> Vec<String> {
        let mut list: Vec<String> = Vec::new();
        let mut add = |text: &str| {
            let text = text.trim().trim_start_matches('#');
            if !text.is_empty() && !list.iter().any(|known| known == text) {
                list.push(text.to_owned());
            }
        };
        for value in names.iter().filter_map(|name| self.values.get(*name)) {
            match value {
                Value::Array(values) => values.iter().filter_map(Value::as_str).for_each(&mut add),
                Value::String(text) => text.split(',').for_each(&mut add),
                Value::Number(number) => add(&number.to_string()),
                _ => {}
            }
        }
        list.truncate(LIST_MAX);
        list
    }
}

/// The value that stands after the name of a property.
fn inline_value(value: &str, clean: &mut dyn FnMut(&str) -> String) -> Value {
    // A link looks like a list in a list.
    let list = value.strip_prefix('[').filter(|rest| !rest.starts_with('['));
    if let Some(list) = list.and_then(|list| list.strip_suffix(']')) {
        let items = list.split(',').map(&mut *clean).filter(|item| !item.is_empty());
        return items.take(LIST_MAX).collect();
    }
    match value {
        "" | "null" | "~" => Value::Null,
        "true" => Value::from(true),
        "false" => Value::from(false),
        value => match value.parse::<i64>() {
            Ok(number) => Value::from(number),
            Err(_) => Value::from(clean(value)),
        },
    }
}

/// A text without quotation marks, whose links are plain.
fn plain(text: &str, links: &mut Vec<String>) -> String {
    let text = text.trim();
    let quoted =
        ['"', '\''].into_iter().find_map(|mark| text.strip_prefix(mark)?.strip_suffix(mark));
    let (clean, found) = clean_wikilinks(quoted.unwrap_or(text));
    for link in found {
        if !links.contains(&link) {
            links.push(link);
        }
    }
    clean
}

/// Adds the tags in a text, such as `#garden/herbs`. Code has none.
fn add_tags(text: &str, tags: &mut Vec<String>) {
    let mut is_fenced = false;
    for line in text.lines() {
        let start = line.trim_start();
        if start.starts_with("```") || start.starts_with("~~~") {
            is_fenced = !is_fenced;
            continue;
        }
        if is_fenced {
            continue;
        }
        let outside_code = line.split('`').step_by(2);
        for word in outside_code.flat_map(str::split_whitespace) {
            let Some(tag) = word.trim_start_matches('(').strip_prefix('#') else { continue };
            let is_part = |c: char| c.is_alphanumeric() || "_-/".contains(c);
            let tag = tag.split(|c| !is_part(c)).next().unwrap_or_default().trim_end_matches('/');
            // A number alone is none, such as that of an issue.
            let is_tag = tag.chars().any(|c| !c.is_numeric()) && tag.len() <= TAG_BYTES_MAX;
            if is_tag && tags.len() < TAGS_MAX && !tags.iter().any(|known| known == tag) {
                tags.push(tag.to_owned());
            }
        }
    }
}

/// A text without the names of its blocks, such as `^a1b2c3` at the end of a line.
fn without_block_ids(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let (content, end) = match line.strip_suffix('\n') {
            Some(content) => (content.strip_suffix('\r').unwrap_or(content), "\n"),
            None => (line, ""),
        };
        let id = content.rsplit_once('^').filter(|(before, id)| {
            let is_name = |c: char| c.is_ascii_alphanumeric() || c == '-';
            let is_apart = before.is_empty() || before.ends_with(' ');
            is_apart && id.len() >= BLOCK_ID_BYTES_MIN && id.chars().all(is_name)
        });
        clean.push_str(id.map_or(content, |(before, _)| before.trim_end()));
        clean.push_str(end);
    }
    clean
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const NOTE: &str = "---\ntitle: \"Tea room\"\ntags: [garden, '#drinks']\naliases:\n  - Tea house\n  - The \
        room\ncreated: 2024-05-06\nrating: 4\nopen: true\nowner: \"[[Anna Berg|Anna]]\"\ntrust: trusted\n---\n\
        # Inside\n\nSee [[Kiel#Harbour]] and ![[Menu.pdf]]. #garden/herbs #12 `#code`\n\n```\n#no [[Code]]\n```\n\
        The last line. ^a1b2\n";

    #[test]
    fn a_note_has_properties_tags_aliases_and_links() {
        let part = read_vault_note("Tea.md", NOTE);
        assert_eq!(part.title, "Tea room");
        assert_eq!(
            part.body,
            "# Inside\n\nSee Kiel, Harbour and [Menu.pdf]. #garden/herbs #12 `#code`\n\n```\n#no \
             [[Code]]\n```\nThe last line."
        );
        assert_eq!(
            Value::Object(part.fields.clone()),
            json!({
                "tags": ["garden", "drinks", "garden/herbs"],
                "aliases": ["Tea house", "The room"],
                "links": ["Kiel", "Menu.pdf", "Anna Berg"],
                "created": "2024-05-06", "rating": 4, "open": true, "owner": "Anna",
            })
        );
        assert_eq!((part.created, part.updated), (Some(1_714_953_600_000), None));
    }

    #[test]
    fn a_note_without_properties_is_called_by_its_file() {
        let part = read_vault_note("Daily 3.md", "---\nno end\n\nText #a\n");
        assert_eq!(
            (part.title.as_str(), part.body.as_str()),
            ("Daily 3", "---\nno end\n\nText #a")
        );
        assert_eq!(part.fields["tags"], json!(["a"]));
        assert_eq!(read_vault_note("x.md", "").body, "");
        assert_eq!(read_vault_note("x.md", "---\n---\nx ^2\n^a1b2c3").body, "x ^2");
    }

    #[test]
    fn odd_properties_do_no_harm() {
        for text in
            ["---\n: x\n---\n", "---\n-\n---\n", "---\na:\n- [[x\n---\n", "---\na: [\n---\n"]
        {
            let _ = read_vault_note("x.md", text);
        }
        let nested = read_vault_note("x.md", "---\nmap:\n  a: 1\n  b: 2\ntags: one, two\n---\n");
        assert_eq!(nested.fields["map"], "a: 1 b: 2");
        assert_eq!(nested.fields["tags"], json!(["one", "two"]));
        let long = format!("---\nlist:\n{}---\n", "- x\n".repeat(10_000));
        assert_eq!(
            read_vault_note("x.md", &long).fields["list"].as_array().unwrap().len(),
            LIST_MAX
        );
    }
}
