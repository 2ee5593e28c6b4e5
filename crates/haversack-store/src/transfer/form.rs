//! The lines of an export: how a thing is written, and how it is read back, field by field.

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

/// What is wrong with a line; names the field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FormError {
    /// Which field, if it is about one.
    pub field: Option<String>,
    /// What is wrong.
    pub what: String,
}

impl fmt::Display for FormError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.field {
            Some(field) => write!(f, "{field}: {}", self.what),
            None => f.write_str(&self.what),
        }
    }
}

impl std::error::Error for FormError {}

type Formed<T> = Result<T, FormError>;

fn wrong<T>(field: &str, what: impl fmt::Display) -> Formed<T> {
    Err(FormError { field: Some(field.to_owned()), what: what.to_string() })
}

/// A change as a line of an export; `None` for what is not part of a state.
pub(super) fn line(change: &Change) -> Option<Value> {
    match change {
        Change::Put(item) => Some(item_line(item)),
        Change::Link(Link { from, to, sort }) => Some(json!({
            "type": "link", "from": from.as_str(), "to": to.as_str(), "sort": sort,
        })),
        Change::Note(Event { item, user, event_kind, at }) => Some(json!({
            "type": "event", "item": item.as_str(), "user": user,
            "happening": event_kind.as_str(), "at": at.as_millis(),
        })),
        Change::Write(Record { document_kind, name, text, at }) => Some(json!({
            "type": "record", "shelf": document_kind.as_str(), "name": name, "at": at.as_millis(),
            "text": text,
        })),
        Change::Delete(_) | Change::Purge(_) | Change::Unlink(_) | Change::Remove(..) => None,
    }
}

fn item_line(item: &Item) -> Value {
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

/// The keys under which an item's text may stand; the first that is there counts.
pub const BODY_KEYS: [&str; 3] = ["text", "body", "content"];

/// Reads an item as a request or an export writes it. Unknown keys and wrong types are refused.
///
/// # Errors
/// When it is not an item; the error names the field.
pub fn read_item(item: Map<String, Value>, kinds: &Kinds) -> Formed<Item> {
    let mut form = Form(item);
    match form.maybe_text("type")?.as_deref() {
        None | Some("item") => {}
        Some(other) => return wrong("type", format!("{other:?} is not \"item\"")),
    }
    let item = form.item(kinds)?;
    form.finish(item)
}

/// Reads a row of foreign data as an item. It has the keys `id` (or `_id`), `kind`, `title`,
/// [`BODY_KEYS`], `created`, `updated` and `fields` in common with [`read_item`]; a key that is none of
/// them, or whose value does not fit, becomes a field. A row without an id or kind gets the default.
///
/// # Errors
/// When its id or kind is not valid; the error names the field.
pub fn read_row(
    row: Map<String, Value>,
    default_id: impl FnOnce() -> String,
    default_kind: &Kind,
) -> Formed<Item> {
    let mut form = Form(row);
    let body = BODY_KEYS.into_iter().find_map(|key| form.take_if_text(key));
    let title = form.take_if_text("title");
    let kind = match form.take_if_text("kind") {
        Some(kind) => Kind::new(&kind).or_else(|error| wrong("kind", error))?,
        None => default_kind.clone(),
    };
    let id = form.take_if_text("id").or_else(|| form.take_if_text("_id"));
    let id = id.or_else(|| match form.0.get("id") {
        Some(Value::Number(_)) => form.0.shift_remove("id").map(|id| id.to_string()),
        _ => None,
    });
    let id = id.filter(|id| !id.is_empty()).unwrap_or_else(default_id);
    let id = ItemId::new(&id).or_else(|error| wrong("id", error))?;
    let mut item = Item::new(id, kind, &body.unwrap_or_default());
    item.title = title.unwrap_or_default();
    for (key, at) in [("created", &mut item.created), ("updated", &mut item.updated)] {
        *at = form.0.get(key).and_then(moment);
    }
    if let Some(Value::Object(_)) = form.0.get("fields")
        && let Some(Value::Object(fields)) = form.0.shift_remove("fields")
    {
        item.fields = fields;
    }
    item.fields.extend(form.0);
    Ok(item)
}

/// Reads a line of an export.
///
/// # Errors
/// When the line is not of that form; the error names the field.
pub fn read_change(line: Map<String, Value>, kinds: &Kinds) -> Formed<Change> {
    let mut form = Form(line);
    let change = match form.text("type")?.as_str() {
        "item" => Change::Put(Box::new(form.item(kinds)?)),
        "link" => Change::Link(Link {
            from: form.id("from")?,
            to: form.id("to")?,
            sort: form.text("sort")?,
        }),
        "event" => Change::Note(Event {
            item: form.id("item")?,
            user: form.text("user")?,
            event_kind: form.named("happening", EventKind::named)?,
            at: form.needed("at", Form::time)?,
        }),
        "record" => Change::Write(Record {
            document_kind: form.named("shelf", DocumentKind::named)?,
            name: form.text("name")?,
            text: form.text("text")?,
            at: form.needed("at", Form::time)?,
        }),
        other => return wrong("type", format!("{other:?} is none of item, link, event, record")),
    };
    form.finish(change)
}

/// The fields of a line that are not read yet.
struct Form(Map<String, Value>);

impl Form {
    /// What was read, if nothing is left over.
    fn finish<T>(self, read: T) -> Formed<T> {
        match self.0.keys().next() {
            Some(unknown) => wrong(unknown, "is not known here"),
            None => Ok(read),
        }
    }

    /// Takes a value if it is a text.
    fn take_if_text(&mut self, name: &str) -> Option<String> {
        match self.0.get(name) {
            Some(Value::String(_)) => match self.0.shift_remove(name) {
                Some(Value::String(text)) => Some(text),
                _ => None,
            },
            _ => None,
        }
    }

    fn take(&mut self, name: &str) -> Option<Value> {
        self.0.shift_remove(name).filter(|value| !value.is_null())
    }

    fn needed<T>(
        &mut self,
        name: &str,
        read: impl FnOnce(&mut Form, &str) -> Formed<Option<T>>,
    ) -> Formed<T> {
        match read(self, name)? {
            Some(value) => Ok(value),
            None => wrong(name, "is missing"),
        }
    }

    fn maybe_text(&mut self, name: &str) -> Formed<Option<String>> {
        match self.take(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(other) => wrong(name, format!("expected a text, found {}", sort(&other))),
        }
    }

    fn text(&mut self, name: &str) -> Formed<String> {
        self.needed(name, Form::maybe_text)
    }

    fn maybe_id(&mut self, name: &str) -> Formed<Option<ItemId>> {
        let text = self.maybe_text(name)?;
        text.map(|text| ItemId::new(&text).or_else(|error| wrong(name, error))).transpose()
    }

    fn id(&mut self, name: &str) -> Formed<ItemId> {
        self.needed(name, Form::maybe_id)
    }

    fn named<T>(&mut self, name: &str, find: impl Fn(&str) -> Option<T>) -> Formed<T> {
        let text = self.text(name)?;
        find(&text).map_or_else(|| wrong(name, format!("{text:?} is not known")), Ok)
    }

    fn time(&mut self, name: &str) -> Formed<Option<Timestamp>> {
        let Some(value) = self.take(name) else { return Ok(None) };
        // Any number is a moment to the store, also one that no calendar knows.
        match value.as_i64().map(Timestamp::from_millis).or_else(|| moment(&value)) {
            Some(at) => Ok(Some(at)),
            None => wrong(name, "expected milliseconds since 1970 or an RFC 3339 time"),
        }
    }

    fn confidence(&mut self) -> Formed<Option<Score>> {
        let Some(value) = self.take("confidence") else { return Ok(None) };
        match value.as_f64().and_then(Score::new) {
            Some(score) => Ok(Some(score)),
            None => wrong("confidence", "expected a number"),
        }
    }

    fn readers(&mut self) -> Formed<Readers> {
        let names = match self.take("readers") {
            None => return Ok(Readers::Inherit),
            Some(Value::Array(names)) => names,
            Some(other) => {
                return wrong("readers", format!("expected a list, found {}", sort(&other)));
            }
        };
        let mut principals = BTreeSet::new();
        for name in names {
            let Value::String(name) = name else {
                return wrong("readers", format!("expected names, found {}", sort(&name)));
            };
            principals.insert(Principal::parse(&name).or_else(|error| wrong("readers", error))?);
        }
        Ok(Readers::Only(principals))
    }

    fn trust(&mut self, kind: &Kind, kinds: &Kinds) -> Formed<Trust> {
        let all = [Trust::External, Trust::Internal, Trust::Trusted];
        match self.maybe_text("trust")? {
            None => Ok(kinds.usual_trust(kind)),
            Some(name) => match all.into_iter().find(|trust| trust.as_str() == name) {
                Some(trust) => Ok(trust),
                None => wrong("trust", format!("{name:?} is not known")),
            },
        }
    }

    fn item(&mut self, kinds: &Kinds) -> Formed<Item> {
        let id = self.id("id")?;
        let kind = Kind::new(&self.text("kind")?).or_else(|error| wrong("kind", error))?;
        let mut body = None;
        for key in BODY_KEYS {
            if body.is_none() {
                body = self.maybe_text(key)?;
            }
        }
        let mut item = Item::new(id, kind, &body.unwrap_or_default());
        item.title = self.maybe_text("title")?.unwrap_or_default();
        item.path = self.maybe_text("path")?;
        item.parent = self.maybe_id("parent")?;
        item.position = match self.take("position") {
            None => 0,
            Some(value) => {
                value.as_i64().map_or_else(|| wrong("position", "expected a whole number"), Ok)?
            }
        };
        item.created = self.time("created")?;
        item.updated = self.time("updated")?;
        item.confidence = self.confidence()?;
        item.readers = self.readers()?;
        item.trust = self.trust(&item.kind, kinds)?;
        item.active = match self.take("active") {
            None => true,
            Some(Value::Bool(active)) => active,
            Some(other) => {
                return wrong("active", format!("expected true or false, found {}", sort(&other)));
            }
        };
        item.fields = match self.take("fields") {
            None => Fields::new(),
            Some(Value::Object(fields)) => fields,
            Some(other) => {
                return wrong("fields", format!("expected an object, found {}", sort(&other)));
            }
        };
        Ok(item)
    }
}

/// What a value is, for messages.
const fn sort(value: &Value) -> &'static str {
    match value {
        Value::Null => "nothing",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}
