//! The JSON form of items, links, events and records: written for exports, and parsed field by
//! field.

use std::collections::BTreeSet;
use std::fmt;

use haversack_core::ids::ItemId;
use haversack_core::item::{Kind, Trust};
use haversack_core::units::{Score, Timestamp};
use serde_json::{Map, Value, json};

use crate::kinds::{Kinds, moment};
use crate::store::change::Change;
use crate::store::item::{DocumentKind, Event, EventKind, Fields, Item, Link, Record};
use crate::store::viewer::{Principal, Readers};

/// A problem with a JSON object or one of its fields.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JsonFieldError {
    /// The field, if the problem is with one.
    pub field: Option<String>,
    /// The problem.
    pub what: String,
}

impl fmt::Display for JsonFieldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.field {
            Some(field) => write!(f, "{field}: {}", self.what),
            None => f.write_str(&self.what),
        }
    }
}

impl std::error::Error for JsonFieldError {}

type ParseResult<T> = Result<T, JsonFieldError>;

fn field_error<T>(field: &str, what: impl fmt::Display) -> ParseResult<T> {
    Err(JsonFieldError { field: Some(field.to_owned()), what: what.to_string() })
}

/// The line of an export for a change; `None` for changes that are not part of a state.
pub(super) fn change_to_json(change: &Change) -> Option<Value> {
    match change {
        Change::Put(item) => Some(item_to_json(item)),
        Change::Link(Link { from, to, link_type }) => Some(json!({
            "type": "link", "from": from.as_str(), "to": to.as_str(), "sort": link_type,
        })),
        Change::AddEvent(Event { item, user, event_kind, at }) => Some(json!({
            "type": "event", "item": item.as_str(), "user": user,
            "happening": event_kind.as_str(), "at": at.as_millis(),
        })),
        Change::PutRecord(Record { document_kind, name, text, at }) => Some(json!({
            "type": "record", "shelf": document_kind.as_str(), "name": name, "at": at.as_millis(),
            "text": text,
        })),
        Change::Delete(_)
        | Change::Purge(_)
        | Change::EraseUser(_)
        | Change::Unlink(_)
        | Change::RemoveRecord(..) => None,
    }
}

fn item_to_json(item: &Item) -> Value {
    let mut line = Map::new();
    let mut put = |name: &str, value: Value| line.insert(name.to_owned(), value);
    put("type", "item".into());
    put("id", item.id.as_str().into());
    put("kind", item.kind.as_str().into());
    put("title", item.title.as_str().into());
    if let Some(path) = &item.path {
        put("path", path.as_str().into());
    }
    if let Some(parent) = &item.parent {
        put("parent", parent.as_str().into());
    }
    put("position", item.position.into());
    for (name, at) in [("created", item.created), ("updated", item.updated)] {
        if let Some(at) = at {
            put(name, at.as_millis().into());
        }
    }
    if let Some(confidence) = item.confidence {
        put("confidence", confidence.get().into());
    }
    if let Readers::Only(principals) = &item.readers {
        put("readers", principals.iter().map(Principal::as_str).collect::<Vec<_>>().into());
    }
    put("trust", item.trust.as_str().into());
    put("active", item.active.into());
    put("fields", Value::Object(item.fields.clone()));
    put("body", item.body.as_str().into());
    Value::Object(line)
}

/// The keys that an item's text may have. The first one present counts.
pub const BODY_KEYS: [&str; 3] = ["text", "body", "content"];

/// Parses an item of a request or an export. Unknown keys and wrong types are errors.
///
/// # Errors
/// When it is not an item; the error names the field.
pub fn read_item(item: Map<String, Value>, kinds: &Kinds) -> ParseResult<Item> {
    let mut fields = LineFields(item);
    match fields.optional_text("type")?.as_deref() {
        None | Some("item") => {}
        Some(other) => return field_error("type", format!("{other:?} is not \"item\"")),
    }
    let item = fields.parse_item(kinds)?;
    fields.finish(item)
}

/// Parses a row of foreign data as an item. The keys `id` (or `_id`), `kind`, `title`,
/// [`BODY_KEYS`], `created`, `updated` and `fields` mean the same as in [`read_item`]. Any other
/// key, or one whose value has the wrong type, becomes a field. A row without an id or kind gets
/// the default.
///
/// # Errors
/// When its id or kind is not valid; the error names the field.
pub fn read_row(
    row: Map<String, Value>,
    default_id: impl FnOnce() -> String,
    default_kind: &Kind,
) -> ParseResult<Item> {
    let mut row = LineFields(row);
    let body = BODY_KEYS.into_iter().find_map(|key| row.take_if_text(key));
    let title = row.take_if_text("title");
    let kind = match row.take_if_text("kind") {
        Some(kind) => Kind::new(&kind).or_else(|error| field_error("kind", error))?,
        None => default_kind.clone(),
    };
    let id = row.take_if_text("id").or_else(|| row.take_if_text("_id"));
    let id = id.or_else(|| match row.0.get("id") {
        Some(Value::Number(_)) => row.0.shift_remove("id").map(|id| id.to_string()),
        _ => None,
    });
    let id = id.filter(|id| !id.is_empty()).unwrap_or_else(default_id);
    let id = ItemId::new(&id).or_else(|error| field_error("id", error))?;
    let mut item = Item::new(id, kind, &body.unwrap_or_default());
    item.title = title.unwrap_or_default();
    for (key, at) in [("created", &mut item.created), ("updated", &mut item.updated)] {
        *at = row.0.get(key).and_then(moment);
    }
    if let Some(Value::Object(_)) = row.0.get("fields")
        && let Some(Value::Object(fields)) = row.0.shift_remove("fields")
    {
        item.fields = fields;
    }
    item.fields.extend(row.0);
    Ok(item)
}

/// Parses a line of an export.
///
/// # Errors
/// When the line is not valid; the error names the field.
pub fn read_change(line: Map<String, Value>, kinds: &Kinds) -> ParseResult<Change> {
    let mut fields = LineFields(line);
    let change = match fields.required_text("type")?.as_str() {
        "item" => Change::Put(Box::new(fields.parse_item(kinds)?)),
        "link" => Change::Link(Link {
            from: fields.required_id("from")?,
            to: fields.required_id("to")?,
            link_type: fields.required_text("sort")?,
        }),
        "event" => Change::AddEvent(Event {
            item: fields.required_id("item")?,
            user: fields.required_text("user")?,
            event_kind: fields.parse_name("happening", EventKind::from_name)?,
            at: fields.required("at", LineFields::optional_time)?,
        }),
        "record" => Change::PutRecord(Record {
            document_kind: fields.parse_name("shelf", DocumentKind::from_name)?,
            name: fields.required_text("name")?,
            text: fields.required_text("text")?,
            at: fields.required("at", LineFields::optional_time)?,
        }),
        other => {
            return field_error("type", format!("{other:?} is none of item, link, event, record"));
        }
    };
    fields.finish(change)
}

/// The fields of a JSON object that are not parsed yet.
struct LineFields(Map<String, Value>);

impl LineFields {
    /// Returns the parsed value, or an error if a field is left over.
    fn finish<T>(self, parsed: T) -> ParseResult<T> {
        match self.0.keys().next() {
            Some(unknown) => field_error(unknown, "is not known here"),
            None => Ok(parsed),
        }
    }

    /// Takes a field if it is a string.
    fn take_if_text(&mut self, name: &str) -> Option<String> {
        match self.0.get(name) {
            Some(Value::String(_)) => match self.0.shift_remove(name) {
                Some(Value::String(text)) => Some(text),
                _ => None,
            },
            _ => None,
        }
    }

    fn take_non_null(&mut self, name: &str) -> Option<Value> {
        self.0.shift_remove(name).filter(|value| !value.is_null())
    }

    fn required<T>(
        &mut self,
        name: &str,
        read: impl FnOnce(&mut LineFields, &str) -> ParseResult<Option<T>>,
    ) -> ParseResult<T> {
        match read(self, name)? {
            Some(value) => Ok(value),
            None => field_error(name, "is missing"),
        }
    }

    fn optional_text(&mut self, name: &str) -> ParseResult<Option<String>> {
        match self.take_non_null(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(other) => {
                field_error(name, format!("expected a text, found {}", json_type(&other)))
            }
        }
    }

    fn required_text(&mut self, name: &str) -> ParseResult<String> {
        self.required(name, LineFields::optional_text)
    }

    fn optional_id(&mut self, name: &str) -> ParseResult<Option<ItemId>> {
        let text = self.optional_text(name)?;
        text.map(|text| ItemId::new(&text).or_else(|error| field_error(name, error))).transpose()
    }

    fn required_id(&mut self, name: &str) -> ParseResult<ItemId> {
        self.required(name, LineFields::optional_id)
    }

    fn parse_name<T>(&mut self, name: &str, find: impl Fn(&str) -> Option<T>) -> ParseResult<T> {
        let text = self.required_text(name)?;
        find(&text).map_or_else(|| field_error(name, format!("{text:?} is not known")), Ok)
    }

    fn optional_time(&mut self, name: &str) -> ParseResult<Option<Timestamp>> {
        let Some(value) = self.take_non_null(name) else { return Ok(None) };
        // The store accepts any number as a moment, even one outside the calendar's range.
        match value.as_i64().map(Timestamp::from_millis).or_else(|| moment(&value)) {
            Some(at) => Ok(Some(at)),
            None => field_error(name, "expected milliseconds since 1970 or an RFC 3339 time"),
        }
    }

    fn confidence(&mut self) -> ParseResult<Option<Score>> {
        let Some(value) = self.take_non_null("confidence") else { return Ok(None) };
        match value.as_f64().and_then(Score::new) {
            Some(score) => Ok(Some(score)),
            None => field_error("confidence", "expected a number"),
        }
    }

    fn readers(&mut self) -> ParseResult<Readers> {
        let names = match self.take_non_null("readers") {
            None => return Ok(Readers::Inherit),
            Some(Value::Array(names)) => names,
            Some(other) => {
                return field_error(
                    "readers",
                    format!("expected a list, found {}", json_type(&other)),
                );
            }
        };
        let mut principals = BTreeSet::new();
        for name in names {
            let Value::String(name) = name else {
                return field_error(
                    "readers",
                    format!("expected names, found {}", json_type(&name)),
                );
            };
            principals
                .insert(Principal::parse(&name).or_else(|error| field_error("readers", error))?);
        }
        Ok(Readers::Only(principals))
    }

    fn trust(&mut self, kind: &Kind, kinds: &Kinds) -> ParseResult<Trust> {
        let all = [Trust::External, Trust::Internal, Trust::Trusted];
        match self.optional_text("trust")? {
            None => Ok(kinds.usual_trust(kind)),
            Some(name) => match all.into_iter().find(|trust| trust.as_str() == name) {
                Some(trust) => Ok(trust),
                None => field_error("trust", format!("{name:?} is not known")),
            },
        }
    }

    fn parse_item(&mut self, kinds: &Kinds) -> ParseResult<Item> {
        let id = self.required_id("id")?;
        let kind =
            Kind::new(&self.required_text("kind")?).or_else(|error| field_error("kind", error))?;
        let mut body = None;
        for key in BODY_KEYS {
            if body.is_none() {
                body = self.optional_text(key)?;
            }
        }
        let mut item = Item::new(id, kind, &body.unwrap_or_default());
        item.title = self.optional_text("title")?.unwrap_or_default();
        item.path = self.optional_text("path")?;
        item.parent = self.optional_id("parent")?;
        item.position = match self.take_non_null("position") {
            None => 0,
            Some(value) => value
                .as_i64()
                .map_or_else(|| field_error("position", "expected a whole number"), Ok)?,
        };
        item.created = self.optional_time("created")?;
        item.updated = self.optional_time("updated")?;
        item.confidence = self.confidence()?;
        item.readers = self.readers()?;
        item.trust = self.trust(&item.kind, kinds)?;
        item.active = match self.take_non_null("active") {
            None => true,
            Some(Value::Bool(active)) => active,
            Some(other) => {
                return field_error(
                    "active",
                    format!("expected true or false, found {}", json_type(&other)),
                );
            }
        };
        item.fields = match self.take_non_null("fields") {
            None => Fields::new(),
            Some(Value::Object(fields)) => fields,
            Some(other) => {
                return field_error(
                    "fields",
                    format!("expected an object, found {}", json_type(&other)),
                );
            }
        };
        Ok(item)
    }
}

/// The name of a value's JSON type, for messages.
const fn json_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "nothing",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}
