//! Facts from an item's fields that queries ask for: due date, status, assignee and more.
//!
//! A kind's definition assigns roles to its fields. Applications use many names for the same
//! property; the usual ones, in `built_in/names.toml`, apply to every kind. Facts are extracted on
//! write, so that a query about fields is a lookup.

use haversack_core::item::Kind;
use haversack_core::query::FieldRole;
use serde_json::Value;

use super::spec::FieldMeaning;
use super::{Fields, Kinds, moment};

/// The most fields of an item that are examined.
const FIELDS_MAX: usize = 256;

/// The longest text in bytes that counts as a value rather than prose.
const VALUE_BYTES_MAX: usize = 128;

/// The most values of one field.
const VALUES_MAX: usize = 32;

/// A fact from an item's fields.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Fact {
    /// The role of the field.
    pub role: FieldRole,
    /// Its value.
    pub value: FactValue,
}

/// The value of a fact.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum FactValue {
    /// A moment in milliseconds, or 1 for yes and 0 for no.
    Number(i64),
    /// A name, in lower case, or the id of an item.
    Text(String),
}

impl Kinds {
    /// The distinct facts of an item's fields, in order.
    #[must_use]
    pub fn facts(&self, kind: &Kind, fields: &Fields) -> Vec<Fact> {
        let mut facts = Vec::new();
        let (mut is_done, mut can_be_done) = (false, false);
        // Database rows keep their columns one level down.
        let rows = fields.get("properties").and_then(Value::as_object);
        let all = fields.iter().chain(rows.into_iter().flatten());
        for (name, value) in all.take(FIELDS_MAX) {
            if let Some(role) = self.role_of(kind, name) {
                match role {
                    FieldRole::Due => {
                        let due = moment(value).map(|at| FactValue::Number(at.as_millis()));
                        can_be_done |= due.is_some();
                        facts.extend(due.map(|value| Fact { role, value }));
                    }
                    FieldRole::Done => {
                        can_be_done |= !value.is_null();
                        is_done |= self.says_done(value);
                    }
                    FieldRole::Status => {
                        let values = text_values(value);
                        is_done |= values.iter().any(|value| self.done.contains(value));
                        can_be_done |= !values.is_empty();
                        facts.extend(values.into_iter().map(|text| text_fact(role, text)));
                    }
                    FieldRole::Assignee | FieldRole::Author => {
                        facts.extend(person_names(value).map(|text| text_fact(role, text)));
                    }
                    FieldRole::Priority | FieldRole::Type => {
                        facts.extend(
                            text_values(value).into_iter().map(|text| text_fact(role, text)),
                        );
                    }
                    // Relations are recognised by value, not by field name.
                    FieldRole::Relation => {}
                }
            }
        }
        if can_be_done {
            let value = FactValue::Number(i64::from(is_done));
            facts.push(Fact { role: FieldRole::Done, value });
        }
        let named = self
            .relations(kind, fields)
            .into_iter()
            .map(|relation| relation.to.as_str().to_owned());
        facts.extend(named.map(|id| text_fact(FieldRole::Relation, id)));
        facts.sort();
        facts.dedup();
        facts
    }

    /// The role of a field: by its kind's definition, or by its name in any spelling: `dueDate`,
    /// `due_date`, `Due date`.
    fn role_of(&self, kind: &Kind, name: &str) -> Option<FieldRole> {
        let field = self.find(kind).and_then(|spec| spec.field(name));
        if let Some(FieldMeaning::Fact(role)) = field.and_then(|field| field.role) {
            return Some(role);
        }
        let name = normalise_name(name);
        self.names.iter().find(|(known, _)| *known == name).map(|(_, role)| *role)
    }

    /// Whether a value means done: true, a completion date, or a status word.
    fn says_done(&self, value: &Value) -> bool {
        match value {
            Value::Bool(done) => *done,
            Value::String(text) => {
                moment(value).is_some() || self.done.contains(&text.trim().to_lowercase())
            }
            Value::Number(number) => number.as_i64().is_some_and(|number| number > 0),
            _ => false,
        }
    }
}

/// A field name in lower case and without separators.
pub(super) fn normalise_name(name: &str) -> String {
    let letters = name.chars().filter(|c| !matches!(c, '_' | '-' | ' '));
    letters.flat_map(char::to_lowercase).collect()
}

/// The author facts of a name: itself and each of its words.
pub fn author_facts(name: &str) -> impl Iterator<Item = Fact> + use<> {
    person_names(&Value::from(name)).map(|text| text_fact(FieldRole::Author, text))
}

fn text_fact(role: FieldRole, text: String) -> Fact {
    Fact { role, value: FactValue::Text(text) }
}

/// The texts of a value: a text, a list of texts, or objects with a name.
fn text_values(value: &Value) -> Vec<String> {
    let named = |value: &Value| match value {
        Value::Object(object) => {
            ["name", "title", "id"].iter().find_map(|key| object.get(*key)).cloned()
        }
        other => Some(other.clone()),
    };
    let entries: Vec<Value> = match value {
        Value::Array(entries) => entries.iter().take(VALUES_MAX).filter_map(named).collect(),
        other => named(other).into_iter().collect(),
    };
    let text = |value: Value| match value {
        Value::String(text) if text.len() <= VALUE_BYTES_MAX => Some(text.trim().to_lowercase()),
        _ => None,
    };
    entries.into_iter().filter_map(text).filter(|text| !text.is_empty()).collect()
}

/// The names of people, complete and word by word, because people are mentioned by either.
fn person_names(value: &Value) -> impl Iterator<Item = String> + use<> {
    text_values(value).into_iter().flat_map(|name| {
        let name = name.strip_prefix("user:").unwrap_or(&name).trim_start_matches('@').to_owned();
        let words: Vec<String> = name
            .split(|c: char| c.is_whitespace() || matches!(c, ',' | ';' | '&' | '/' | '.' | '@'))
            .filter(|word| word.chars().count() > 1)
            .map(str::to_owned)
            .collect();
        std::iter::once(name).chain(words)
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[expect(clippy::needless_pass_by_value, reason = "fields are written at the call")]
    fn shown(fields: Value) -> String {
        let parts = Kinds::built_in()
            .facts(&Kind::new("note").unwrap(), fields.as_object().unwrap())
            .into_iter()
            .map(|fact| {
                let value = match fact.value {
                    FactValue::Number(number) => number.to_string(),
                    FactValue::Text(text) => text,
                };
                format!("{}={value}", fact.role.as_str())
            });
        parts.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn facts_are_read_under_the_usual_names_x10() {
        for (fields, expected) in [
            (json!({"dueDate": "1970-01-02", "completed": false}), "due=86400000 done=0"),
            (json!({"column": "Done", "completed": false}), "done=1 status=done"),
            (json!({"status": "Erledigt"}), "done=1 status=erledigt"),
            (json!({"deadline": 5}), "due=5 done=0"),
            (json!({"completedAt": "2026-01-01"}), "done=1"),
            (json!({"assignee": "Dario Venn"}), "assignee=dario assignee=dario venn assignee=venn"),
            (json!({"assignees": [{"name": "Ana"}, "user:bo"]}), "assignee=ana assignee=bo"),
            (json!({"priority": "High", "other": 1}), "priority=high"),
            (
                json!({"properties": {"Status": "blocked", "Due date": 1}}),
                "due=1 done=0 status=blocked relation=blocked",
            ),
            (json!({"relations": [{"name": "V", "targetIds": ["Ves-1"]}]}), "relation=Ves-1"),
            (json!({"dueDate": null, "status": ""}), ""),
        ] {
            assert_eq!(shown(fields.clone()), expected, "{fields}");
        }
    }
}
