//! Fields as text: for search, for rendering, and the names by which people mention an item.

use haversack_core::item::Kind;
use serde_json::Value;

use super::bounds::DEPTH_MAX;
use super::check::{has_value, moment};
use super::problem::StandIn;
use super::spec::{FieldDisplay, FieldMeaning, FieldSpec, Type};
use super::{Fields, Kinds};
use crate::store::item::Item;

/// The longest text of an undefined field that is searched as a name.
const NAME_BYTES_MAX: usize = 100;
/// The deepest nesting of such texts.
const NAME_DEPTH_MAX: usize = 2;
/// The most bytes of such texts: a long keyword list must not outweigh a title.
const BYLINE_BYTES_MAX: usize = 400;

impl Kinds {
    /// The text of an item for search and rendering.
    #[must_use]
    pub fn text(&self, item: &Item) -> String {
        self.searchable(&item.kind, &item.title, &item.body, &item.fields)
    }

    /// The text of an item for search and rendering: its body, then its fields as `Label: value`
    /// lines in the definition's order.
    ///
    /// Without a body the title stands in for a missing name, as with products. For a plain
    /// document it is the body, or else the texts in its fields. If all of these are empty, it is
    /// the title.
    #[must_use]
    pub fn searchable(&self, kind: &Kind, title: &str, body: &str, fields: &Fields) -> String {
        let mut text = String::new();
        let has_body = !body.trim().is_empty();
        match self.find(kind) {
            Some(spec) => {
                let page = FieldTextWriter {
                    title: if has_body { "" } else { title },
                    body,
                    reduced: false,
                };
                page.write_fields(&spec.fields, fields, &mut text);
            }
            None if !has_body => fields.values().for_each(|value| write_texts(value, 1, &mut text)),
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

    /// The reduced form of kinds that have one: a product's core (P8), a battlecard's win themes
    /// and differentiators (P9), a context's metadata and goal (S5).
    ///
    /// `None` if it would hold only a name, or would not be shorter.
    #[must_use]
    pub fn essential(
        &self,
        kind: &Kind,
        title: &str,
        body: &str,
        fields: &Fields,
    ) -> Option<String> {
        let spec = self.find(kind)?;
        let page = FieldTextWriter { title, body, reduced: true };
        let mut text = String::new();
        page.write_fields(&spec.fields, fields, &mut text);
        let text = text.trim_end_matches('\n');
        let shorter = text.len() < self.searchable(kind, title, body, fields).len();
        (shorter && page.says_more_than_a_name(&spec.fields, fields)).then(|| text.to_owned())
    }

    /// The labelled lines that the fields add to an item's own text.
    #[must_use]
    pub fn labelled(&self, kind: &Kind, fields: &Fields) -> String {
        let specs = self.fields_of(kind).iter();
        let plain: Vec<&FieldSpec> =
            specs.filter(|spec| spec.shown == FieldDisplay::Plain).collect();
        let mut fields = fields.clone();
        fields.retain(|name, _| plain.iter().all(|spec| spec.name != *name));
        self.searchable(kind, "", "", &fields)
    }

    /// The fields of an item as its kind defines them; unset ones are null, an empty list or false.
    /// Item properties and undefined fields are left out. Without a definition, the fields
    /// unchanged.
    #[must_use]
    pub fn defined(&self, kind: &Kind, fields: &Fields) -> Fields {
        let Some(spec) = self.find(kind) else { return fields.clone() };
        let own = spec.fields.iter().filter(|field| {
            !matches!(
                field.role,
                Some(
                    FieldMeaning::Active
                        | FieldMeaning::Created
                        | FieldMeaning::Updated
                        | FieldMeaning::Confidence
                )
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

    /// The distinct names and aliases of an item (P9). Empty for kinds that are not looked up by
    /// name.
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
        for spec in specs.iter().filter(|spec| spec.role == Some(FieldMeaning::Name)) {
            match fields.get(&spec.name).filter(|value| has_value(value)) {
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

    /// Short texts from undefined fields, such as author, source and topic. Queries mention them
    /// ("what The Verge wrote"), so they are searched like headings.
    ///
    /// Defined fields are part of the item's text already. URLs and timestamps are left out.
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

/// Adds the names in a value. Applications often nest them in one field, such as `metadata`.
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

/// Renders fields as text, in full or reduced to the essential ones.
struct FieldTextWriter<'i> {
    title: &'i str,
    body: &'i str,
    reduced: bool,
}

impl FieldTextWriter<'_> {
    fn write_fields(&self, specs: &[FieldSpec], fields: &Fields, text: &mut String) {
        for spec in specs {
            if spec.shown != FieldDisplay::Hidden && (spec.essential || !self.reduced) {
                self.write_field(
                    spec,
                    fields.get(&spec.name).filter(|value| has_value(value)),
                    text,
                );
            }
        }
    }

    fn write_field(&self, spec: &FieldSpec, value: Option<&Value>, text: &mut String) {
        match (&spec.value, value, spec.stand_in) {
            (Type::Object(specs), Some(Value::Object(inner)), _) => {
                self.write_fields(specs, inner, text)
            }
            (Type::Object(specs), None, _) => self.write_fields(specs, &Fields::new(), text),
            (Type::Record, Some(Value::Object(columns)), _) => {
                columns.iter().for_each(|(name, value)| write_lines(name, &[], value, text));
            }
            (_, Some(Value::String(value)), Some(StandIn::Body))
                if !self.reduced && self.body.contains(value.as_str()) => {}
            (_, Some(Value::String(value)), _) if spec.shown == FieldDisplay::Plain => {
                text.push_str(value);
                text.push('\n');
            }
            (Type::Objects { fields, .. }, Some(value), _) => {
                write_lines(&label_of(&spec.name), fields, value, text);
            }
            (_, Some(value), _) => write_lines(&label_of(&spec.name), &[], value, text),
            (_, None, Some(StandIn::Title)) => write_line(&label_of(&spec.name), self.title, text),
            // The full text starts with the body; the reduced one needs it here.
            (_, None, Some(StandIn::Body)) if self.reduced => {
                write_line(&label_of(&spec.name), self.body, text);
            }
            (_, None, _) => {}
        }
    }

    fn says_more_than_a_name(&self, specs: &[FieldSpec], fields: &Fields) -> bool {
        specs.iter().filter(|spec| spec.essential).any(|spec| {
            match (&spec.value, fields.get(&spec.name).filter(|value| has_value(value))) {
                (Type::Object(specs), Some(Value::Object(inner))) => {
                    self.says_more_than_a_name(specs, inner)
                }
                (_, Some(_)) => spec.stand_in != Some(StandIn::Title),
                (_, None) => spec.stand_in == Some(StandIn::Body) && !self.body.trim().is_empty(),
            }
        })
    }
}

/// Writes `Label: value`, or a list of entries below their label.
fn write_lines(label: &str, specs: &[FieldSpec], value: &Value, text: &mut String) {
    let entries: Vec<String> = match value {
        Value::Array(entries) => entries.iter().map(|entry| inline_text(entry, specs, 2)).collect(),
        Value::Object(object) if specs.is_empty() => object
            .iter()
            .map(|(key, value)| labelled_pair(key, &inline_text(value, &[], 2)))
            .collect(),
        other => vec![inline_text(other, specs, 1)],
    };
    let entries: Vec<&String> = entries.iter().filter(|entry| !entry.trim().is_empty()).collect();
    if let [entry] = entries[..] {
        return write_line(label, entry, text);
    }
    if !entries.is_empty() {
        text.push_str(&format!("{label}:\n"));
    }
    for entry in entries {
        text.push_str(&format!("- {entry}\n"));
    }
}

fn write_line(label: &str, value: &str, text: &mut String) {
    if !value.trim().is_empty() {
        text.push_str(&format!("{label}: {value}\n"));
    }
}

/// A value on one line. Of an object with defined fields, only rendered ones, in the definition's
/// order.
fn inline_text(value: &Value, specs: &[FieldSpec], depth: usize) -> String {
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
            given(entries.iter().map(|entry| inline_text(entry, specs, depth + 1)).collect(), ", ")
        }
        Value::Object(object) if specs.is_empty() => given(
            object
                .iter()
                .map(|(key, value)| labelled_pair(key, &inline_text(value, &[], depth + 1)))
                .collect(),
            "; ",
        ),
        Value::Object(object) => {
            let shown = specs.iter().filter(|spec| spec.shown != FieldDisplay::Hidden);
            let known = shown.filter_map(|spec| {
                let value = object.get(&spec.name)?;
                Some(labelled_pair(&label_of(&spec.name), &inline_text(value, &[], depth + 1)))
            });
            given(known.collect(), "; ")
        }
    }
}

fn labelled_pair(name: &str, value: &str) -> String {
    if value.trim().is_empty() { String::new() } else { format!("{name}: {value}") }
}

/// Writes every text inside a value, one per line.
fn write_texts(value: &Value, depth: usize, text: &mut String) {
    match value {
        _ if depth > DEPTH_MAX => {}
        Value::String(value) if !value.trim().is_empty() => {
            text.push_str(value);
            text.push('\n');
        }
        Value::Array(entries) => {
            entries.iter().for_each(|entry| write_texts(entry, depth + 1, text))
        }
        Value::Object(object) => {
            object.values().for_each(|value| write_texts(value, depth + 1, text))
        }
        _ => {}
    }
}

/// The label of a field: `Key differentiators` for `keyDifferentiators`, `Business goal` for
/// `business_goal`.
fn label_of(name: &str) -> String {
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
