//! Keeps the metadata of other systems as fields, within the bounds of the store.

use serde_json::{Map, Value};

use crate::conversations::turn::Tally;
use crate::part::Part;

/// Fields that one part takes over.
const FIELDS_MAX: usize = 100;

/// Bytes of one field that is taken over, as JSON.
const FIELD_BYTES_MAX: usize = 8 << 10;

/// Bytes of a field's name.
const NAME_BYTES_MAX: usize = 100;

/// Names to which the kinds `file` and `memory` give a meaning and a type of their own.
const OWN_NAMES: &[&str] = &[
    "content",
    "path",
    "contentType",
    "ownerUserId",
    "accessedAt",
    "createdAt",
    "updatedAt",
    "created_at",
    "conversation",
    "source_turn",
    "relationships",
    "threadId",
    "validFrom",
    "validUntil",
    "valid_from",
    "valid_until",
];

/// Takes metadata over. What is too large is counted; names with a meaning of their own get a prefix.
pub(super) fn keep(
    metadata: &Map<String, Value>,
    leave: &[&str],
    part: &mut Part,
    tally: &mut Tally,
) {
    for (name, value) in metadata {
        let is_empty = value.is_null() || value.as_str().is_some_and(|text| text.trim().is_empty());
        if is_empty || leave.contains(&name.as_str()) {
            continue;
        }
        let bytes = serde_json::to_vec(value).map_or(usize::MAX, |json| json.len());
        let is_bounded = bytes <= FIELD_BYTES_MAX && depth(value) <= 8 && values(value) <= 200;
        let is_plain = name.len() <= NAME_BYTES_MAX && !name.chars().any(char::is_control);
        if !is_bounded || !is_plain || name.is_empty() || part.fields.len() >= FIELDS_MAX {
            tally.leave("fields that are too large");
            continue;
        }
        let is_typed = match name.as_str() {
            "confidence" => value.as_f64().is_some_and(|it| (0.0..=1.0).contains(&it)),
            "type" => value.is_string(),
            name => !OWN_NAMES.contains(&name),
        };
        let name = if is_typed { name.clone() } else { format!("original_{name}") };
        part.fields.entry(name).or_insert_with(|| value.clone());
    }
}

/// How deep a value is nested. The parser bounds it to 128.
fn depth(value: &Value) -> usize {
    match value {
        Value::Array(list) => 1 + list.iter().map(depth).max().unwrap_or_default(),
        Value::Object(object) => 1 + object.values().map(depth).max().unwrap_or_default(),
        _ => 0,
    }
}

fn values(value: &Value) -> usize {
    match value {
        Value::Array(list) => 1 + list.iter().map(values).sum::<usize>(),
        Value::Object(object) => 1 + object.values().map(values).sum::<usize>(),
        _ => 1,
    }
}

/// The title of a document by its metadata: a title or the name of a file, with its page.
pub(super) fn title(metadata: &Map<String, Value>) -> String {
    let names = ["title", "file_name", "filename", "source", "file_path", "url"];
    let text = |name: &&str| metadata.get(*name)?.as_str().filter(|it| !it.trim().is_empty());
    let Some(title) = names.iter().find_map(text) else { return String::new() };
    let title = if title.contains("://") {
        title
    } else {
        title.rsplit(['/', '\\']).next().unwrap_or(title)
    };
    let page = ["page_label", "page"].iter().find_map(|name| match metadata.get(*name)? {
        Value::String(page) if page.len() < 20 => Some(page.clone()),
        // Loaders count pages from 0; a label is what is printed on the page.
        Value::Number(page) => page.as_u64().map(|page| (page + 1).to_string()),
        _ => None,
    });
    let title = crate::conversations::turn::name(title);
    page.map_or_else(|| title.clone(), |page| format!("{title}, page {page}"))
}
