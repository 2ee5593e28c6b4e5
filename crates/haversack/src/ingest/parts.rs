//! Makes items of the parts that readers give.

use haversack_core::ids::ItemId;
use haversack_core::item::Kind;
use haversack_core::units::Timestamp;
use haversack_reader::Part;
use haversack_store::store::change::LINE_BYTES_MAX;
use haversack_store::store::item::Item;
use serde_json::Value;

use super::skip::IngestSkipReason;
use super::stamp::FileStamp;
use crate::collect::PAGE_LINES;

/// Pages beyond this are not told apart, so that the field keeps its limit.
const PAGES_MAX: usize = 20_000;

/// The file that parts come from.
#[derive(Debug, Clone, Copy)]
pub(super) struct PartSource<'a> {
    pub(super) path: &'a str,
    pub(super) stamp: FileStamp,
    /// The kind that the caller wants, whatever the reader says.
    pub(super) kind: Option<&'a Kind>,
}

/// Returns the id of a part: the file's path, and the part's name within it.
///
/// # Errors
/// When the path cannot be an id.
pub(super) fn part_id(path: &str, key: &str) -> Result<ItemId, IngestSkipReason> {
    let unusable =
        |error: &dyn std::fmt::Display| IngestSkipReason::UnusableName { what: error.to_string() };
    if key.is_empty() {
        return ItemId::new(path).map_err(|error| unusable(&error));
    }
    ItemId::new(&format!("{path}#{key}")).or_else(|_| {
        // Too long, or with characters that an id cannot have.
        let hash = blake3::hash(key.as_bytes()).to_hex();
        ItemId::new(&format!("{path}#{}", &hash[..24])).map_err(|error| unusable(&error))
    })
}

/// Makes the item of a part.
///
/// # Errors
/// When its name or its kind cannot be used.
pub(super) fn item_of_part(part: Part, source: PartSource<'_>) -> Result<Item, IngestSkipReason> {
    let PartSource { path, stamp, kind } = source;
    let kind = match kind {
        Some(kind) => kind.clone(),
        None => Kind::new(&part.kind)
            .map_err(|error| IngestSkipReason::Refused { what: error.to_string() })?,
    };
    let id = part_id(path, &part.key)?;
    let mut item = Item::new(id, kind, &part.body);
    item.title = part.title;
    if item.title.trim().is_empty() && part.key.is_empty() {
        path.rsplit('/').next().unwrap_or(path).clone_into(&mut item.title);
    }
    item.title.truncate(item.title.floor_char_boundary(LINE_BYTES_MAX));
    item.parent = part.parent.map(|parent| part_id(path, &parent)).transpose()?;
    item.position = part.position;
    item.path = Some(path.to_owned());
    item.fields = part.fields;
    item.created = part.created.map(Timestamp::from_millis);
    item.updated = part.updated.or(part.created).map(Timestamp::from_millis);
    item.updated = item.updated.or(Some(stamp.modified));
    if !part.pages.is_empty() {
        let pages = part.pages.into_iter().take(PAGES_MAX).map(Value::from);
        item.fields.insert(PAGE_LINES.to_owned(), pages.collect());
    }
    Ok(item)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source() -> PartSource<'static> {
        let stamp = FileStamp { bytes: 1, modified: Timestamp::from_millis(7) };
        PartSource { path: "box/talk.zip", stamp, kind: None }
    }

    #[test]
    fn a_part_is_called_after_its_file_and_its_key() {
        let part = Part { key: "m-1".into(), kind: "message".into(), ..Part::default() };
        let part = Part { parent: Some("t".into()), body: "hello".into(), ..part };
        let item = item_of_part(part, source()).unwrap();
        assert_eq!(item.id.as_str(), "box/talk.zip#m-1");
        assert_eq!(item.parent.unwrap().as_str(), "box/talk.zip#t");
        assert_eq!(item.updated, Some(Timestamp::from_millis(7)));
        let long = part_id("a.zip", &"k".repeat(2_000)).unwrap();
        assert_eq!(long.as_str().len(), "a.zip#".len() + 24);
        assert_ne!(long, part_id("a.zip", &"k".repeat(2_001)).unwrap());
    }

    #[test]
    fn a_file_without_a_title_is_called_by_its_name_and_keeps_its_pages() {
        let mut part = Part::of_file("", "one\ntwo".into());
        part.pages = vec![1, 2];
        let item = item_of_part(part, source()).unwrap();
        assert_eq!((item.id.as_str(), item.title.as_str()), ("box/talk.zip", "talk.zip"));
        assert_eq!(item.fields["pageLines"], serde_json::json!([1, 2]));
    }
}
