//! Fields as text: what an item is searched by, what it is shown as, and how people mention it.

use haversack_core::item::Kind;
use serde_json::Value;

use super::bounds::DEPTH_MAX;
use super::check::{is_given, moment};
use super::problem::StandIn;
use super::spec::{FieldSpec, Role, Shown, Type};
use super::{Fields, Kinds};
use crate::store::item::Item;

/// Longest text of a further field that is searched as a name.
const NAME_BYTES_MAX: usize = 100;
/// How deep such texts may stand.
const NAME_DEPTH_MAX: usize = 2;
/// Most of them together: a long list of keywords must not outweigh a title.
const BYLINE_BYTES_MAX: usize = 400;

impl Kinds {
    /// The text under which an item is searched and shown.
    #[must_use]
    pub fn text(&self, item: &Item) -> String {
        self.searchable(&item.kind, &item.title, &item.body, &item.fields)
    }

    /// The text under which an item is searched and shown: its body as it is, then what its fields
    /// add, as `Label: value` lines in the definition's order.
    ///
    /// Without a body the title stands in for a missing name, as with a product's. Of a plain document
    /// it is the body alone or else the texts in its fields. Where there is nothing else, it is the
    /// title.
    #[must_use]
    pub fn searchable(&self, kind: &Kind, title: &str, body: &str, fields: &Fields) -> String {
        let mut text = String::new();
        let has_body = !body.trim().is_empty();
        match self.find(kind) {
            Some(spec) => {
                let page = Page { title: if has_body { "" } else { title }, body, reduced: false };
                page.fields(&spec.fields, fields, &mut text);
            }
            None if !has_body => fields.values().for_each(|value| texts(value, 1, &mut text)),
            None => {}
        }
        let added = text.trim_end_matches('\n');
        match (has_body, added.trim().is_empty()) {
            (true, true) => body.to_owned(),
            (true, false) => format!("{body}\n\n{added}"),
            (false, false) => added.to_owned(),
            (false, true) => title.to_owned(),
        }
    }

    /// The reduced form of kinds that have one: a product's core (P8), a battlecard's win themes and
    /// differentiators (P9), a context's metadata and goal (S5).
    ///
    /// None when nothing essential is there beside a name, or when it would not be shorter.
    #[must_use]
    pub fn essential(
        &self,
        kind: &Kind,
        title: &str,
        body: &str,
        fields: &Fields,
    ) -> Option<String> {
        let spec = self.find(kind)?;
        let page = Page { title, body, reduced: true };
        let mut text = String::new();
        page.fields(&spec.fields, fields, &mut text);
        let text = text.trim_end_matches('\n');
        let shorter = text.len() < self.searchable(kind, title, body, fields).len();
        (shorter && page.says_more_than_a_name(&spec.fields, fields)).then(|| text.to_owned())
    }

    /// What the fields of an item add to its own text: lines with labels.
    #[must_use]
    pub fn labelled(&self, kind: &Kind, fields: &Fields) -> String {
        let specs = self.fields_of(kind).iter();
        let plain: Vec<&FieldSpec> = specs.filter(|spec| spec.shown == Shown::Plain).collect();
        let mut fields = fields.clone();
        fields.retain(|name, _| plain.iter().all(|spec| spec.name != *name));
        self.searchable(kind, "", "", &fields)
    }

    /// The fields of an item as its kind defines them, those that are not set included: nothing in
    /// them, an empty list, or false. What is kept with the item itself, and what the kind does not
    /// define, is left out; without a definition the fields are as they are.
    #[must_use]
    pub fn defined(&self, kind: &Kind, fields: &Fields) -> Fields {
        let Some(spec) = self.find(kind) else { return fields.clone() };
        let own = spec.fields.iter().filter(|field| {
            !matches!(
                field.role,
                Some(Role::Active | Role::Created | Role::Updated | Role::Confidence)
            )
        });
        let value = |field: &FieldSpec| match fields.get(&field.name).filter(|it| !it.is_null()) {
            Some(value) => value.clone(),
            None => match field.value {
                Type::Texts { .. } | Type::Objects { .. } | Type::References { .. } => {
                    Value::Array(Vec::new())
                }
                Type::Boolean => Value::Bool(false),
                _ => Value::Null,
            },
        };
        own.map(|field| (field.name.clone(), value(field))).collect()
    }

    /// How people mention the item: names and aliases, each once (P9). Empty for kinds that are not
    /// looked for by name.
    #[must_use]
    pub fn names(&self, kind: &Kind, title: &str, fields: &Fields) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        let mut add = |name: &str| {
            let name = name.trim();
            let is_known = names.iter().any(|known| known.to_lowercase() == name.to_lowercase());
            if !name.is_empty() && !is_known {
                names.push(name.to_owned());
            }
        };
        let specs = self.fields_of(kind);
        for spec in specs.iter().filter(|spec| spec.role == Some(Role::Name)) {
            match fields.get(&spec.name).filter(|value| is_given(value)) {
                Some(Value::String(name)) => add(name),
                Some(Value::Array(entries)) => {
                    entries.iter().filter_map(Value::as_str).for_each(&mut add)
                }
                Some(_) => {}
                None if spec.stand_in == Some(StandIn::Title) => add(title),
                None => {}
            }
        }
        names
    }

    /// What an item's further fields call it by: who wrote it, where it comes from, what it is about.
    /// People ask for "what The Verge wrote", so these words are searched as a heading's are.
    ///
    /// Only short texts under names that the kind does not know, for those it knows are text of the
    /// item already. Addresses and moments say nothing that is asked for in words.
    #[must_use]
    pub fn byline(&self, kind: &Kind, fields: &Fields) -> String {
        let known = self.fields_of(kind);
        let further =
            fields.iter().filter(|(name, _)| known.iter().all(|spec| spec.name != **name));
        let mut line = String::new();
        further.for_each(|(_, value)| add_names(value, 1, &mut line));
        line
    }
}

/// Adds what of a value is a name. Many keep such fields together in one, such as `metadata`.
fn add_names(value: &Value, depth: usize, line: &mut String) {
    match value {
        Value::Array(entries) => entries.iter().for_each(|entry| add_names(entry, depth, line)),
        Value::Object(fields) if depth < NAME_DEPTH_MAX => {
            fields.values().for_each(|value| add_names(value, depth + 1, line));
        }
        Value::String(text) => {
            let is_name = text.len() <= NAME_BYTES_MAX
                && text.chars().any(char::is_alphabetic)
                && !text.contains("://")
                && moment(value).is_none();
            if is_name && line.len() + text.len() < BYLINE_BYTES_MAX {
                if !line.is_empty() {
                    line.push(' ');
                }
                line.push_str(text);
            }
        }
        _ => {}
    }
}

/// What stands beside the fields, and how much of them is wanted.
struct Page<'i> {
    title: &'i str,
    body: &'i str,
    reduced: bool,
}

impl Page<'_> {
    fn fields(&self, specs: &[FieldSpec], fields: &Fields, text: &mut String) {
        for spec in specs {
            if spec.shown != Shown::Hidden && (spec.essential || !self.reduced) {
                self.field(spec, fields.get(&spec.name).filter(|value| is_given(value)), text);
            }
        }
    }

    fn field(&self, spec: &FieldSpec, value: Option<&Value>, text: &mut String) {
        match (&spec.value, value, spec.stand_in) {
            (Type::Object(specs), Some(Value::Object(inner)), _) => self.fields(specs, inner, text),
            (Type::Object(specs), None, _) => self.fields(specs, &Fields::new(), text),
            (Type::Record, Some(Value::Object(columns)), _) => {
                columns.iter().for_each(|(name, value)| lines(name, &[], value, text));
            }
            (_, Some(Value::String(value)), Some(StandIn::Body))
                if !self.reduced && self.body.contains(value.as_str()) => {}
            (_, Some(Value::String(value)), _) if spec.shown == Shown::Plain => {
                text.push_str(value);
                text.push('\n');
            }
            (Type::Objects { fields, .. }, Some(value), _) => {
                lines(&label(&spec.name), fields, value, text);
            }
            (_, Some(value), _) => lines(&label(&spec.name), &[], value, text),
            (_, None, Some(StandIn::Title)) => line(&label(&spec.name), self.title, text),
            // A whole item has its body in front; a reduced one needs it here.
            (_, None, Some(StandIn::Body)) if self.reduced => {
                line(&label(&spec.name), self.body, text);
            }
            (_, None, _) => {}
        }
    }

    fn says_more_than_a_name(&self, specs: &[FieldSpec], fields: &Fields) -> bool {
        specs.iter().filter(|spec| spec.essential).any(|spec| {
            match (&spec.value, fields.get(&spec.name).filter(|value| is_given(value))) {
                (Type::Object(specs), Some(Value::Object(inner))) => {
                    self.says_more_than_a_name(specs, inner)
                }
                (_, Some(_)) => spec.stand_in != Some(StandIn::Title),
                (_, None) => spec.stand_in == Some(StandIn::Body) && !self.body.trim().is_empty(),
            }
        })
    }
}

/// `Label: value`, or a list of entries below their label.
fn lines(label: &str, specs: &[FieldSpec], value: &Value, text: &mut String) {
    let entries: Vec<String> = match value {
        Value::Array(entries) => entries.iter().map(|entry| inline(entry, specs, 2)).collect(),
        Value::Object(object) if specs.is_empty() => {
            object.iter().map(|(key, value)| pair(key, &inline(value, &[], 2))).collect()
        }
        other => vec![inline(other, specs, 1)],
    };
    let entries: Vec<&String> = entries.iter().filter(|entry| !entry.trim().is_empty()).collect();
    if let [entry] = entries[..] {
        return line(label, entry, text);
    }
    if !entries.is_empty() {
        text.push_str(&format!("{label}:\n"));
    }
    for entry in entries {
        text.push_str(&format!("- {entry}\n"));
    }
}

fn line(label: &str, value: &str, text: &mut String) {
    if !value.trim().is_empty() {
        text.push_str(&format!("{label}: {value}\n"));
    }
}

/// A value in one run of text. Of an object whose fields are known, only what is shown, in the
/// table's order.
fn inline(value: &Value, specs: &[FieldSpec], depth: usize) -> String {
    if depth > DEPTH_MAX {
        return String::new();
    }
    let given = |parts: Vec<String>, joint: &str| {
        parts.into_iter().filter(|part| !part.trim().is_empty()).collect::<Vec<_>>().join(joint)
    };
    match value {
        Value::Null => String::new(),
        Value::Bool(true) => "yes".to_owned(),
        Value::Bool(false) => "no".to_owned(),
        Value::Number(number) => number.to_string(),
        Value::String(text) => text.clone(),
        Value::Array(entries) => {
            given(entries.iter().map(|entry| inline(entry, specs, depth + 1)).collect(), ", ")
        }
        Value::Object(object) if specs.is_empty() => given(
            object.iter().map(|(key, value)| pair(key, &inline(value, &[], depth + 1))).collect(),
            "; ",
        ),
        Value::Object(object) => {
            let shown = specs.iter().filter(|spec| spec.shown != Shown::Hidden);
            let known = shown.filter_map(|spec| {
                let value = object.get(&spec.name)?;
                Some(pair(&label(&spec.name), &inline(value, &[], depth + 1)))
            });
            given(known.collect(), "; ")
        }
    }
}

fn pair(name: &str, value: &str) -> String {
    if value.trim().is_empty() { String::new() } else { format!("{name}: {value}") }
}

/// Every text inside a value, one per line.
fn texts(value: &Value, depth: usize, text: &mut String) {
    match value {
        _ if depth > DEPTH_MAX => {}
        Value::String(value) if !value.trim().is_empty() => {
            text.push_str(value);
            text.push('\n');
        }
        Value::Array(entries) => entries.iter().for_each(|entry| texts(entry, depth + 1, text)),
        Value::Object(object) => object.values().for_each(|value| texts(value, depth + 1, text)),
        _ => {}
    }
}

/// `keyDifferentiators` and `business_goal` as people write them: `Key differentiators`,
/// `Business goal`.
fn label(name: &str) -> String {
    let mut label = String::with_capacity(name.len() + 4);
    for c in name.chars() {
        match c {
            '_' => label.push(' '),
            _ if label.is_empty() => label.push(c.to_ascii_uppercase()),
            _ if c.is_ascii_uppercase() => {
                label.push(' ');
                label.push(c.to_ascii_lowercase());
            }
            _ => label.push(c),
        }
    }
    label
}
