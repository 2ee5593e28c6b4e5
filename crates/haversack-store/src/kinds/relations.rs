//! Relations: the other items that an item's fields name, by a row's relations, a memory's
//! relationships or a reference.

use haversack_core::ids::ItemId;
use haversack_core::item::Kind;
use serde_json::Value;

use super::{Fields, Kinds};

/// The most relations of one item.
const RELATIONS_MAX: usize = 1_000;

/// The longest column text in bytes that can be an id.
const ID_BYTES_MAX: usize = 128;

/// The type of field that names another item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum RelationFamily {
    /// A relation of a database row, or a column of it.
    Row,
    /// A relationship of a memory.
    Relationship,
    /// The target of a reference.
    Reference,
}

impl RelationFamily {
    /// Its name in recipes.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            RelationFamily::Row => "relation",
            RelationFamily::Relationship => "relationship",
            RelationFamily::Reference => "reference",
        }
    }
}

/// Another item that a field names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Relation {
    /// The named item, which need not exist.
    pub to: ItemId,
    /// The name of the relation.
    pub name: String,
    /// The type of field that names it.
    pub family: RelationFamily,
}

impl Kinds {
    /// The relations of an item in the order of its fields, distinct by target and name.
    ///
    /// A column of a row can hold an id, a list of ids, or objects with an `id`. Any short text in
    /// a column is a candidate; the lookup decides.
    #[must_use]
    pub fn relations(&self, kind: &Kind, fields: &Fields) -> Vec<Relation> {
        let mut found: Vec<Relation> = Vec::new();
        let mut add = |to: &Value, name: &str, family| {
            let id = to.as_str().and_then(|to| ItemId::new(to).ok());
            let Some(to) = id.filter(|_| found.len() < RELATIONS_MAX) else { return };
            if !found.iter().any(|known| known.to == to && known.name == name) {
                found.push(Relation { to, name: name.to_owned(), family });
            }
        };
        let objects = |name: &str| fields.get(name).and_then(Value::as_array).into_iter().flatten();
        for relation in objects("relations") {
            let name = relation["name"].as_str().unwrap_or(RelationFamily::Row.as_str());
            for to in relation["targetIds"].as_array().into_iter().flatten() {
                add(to, name, RelationFamily::Row);
            }
        }
        for relationship in objects("relationships") {
            let name = relationship["type"].as_str();
            let name = name.unwrap_or(RelationFamily::Relationship.as_str());
            add(&relationship["target"], name, RelationFamily::Relationship);
        }
        for field in self.fields_of(kind).iter().filter(|field| field.link) {
            let name = field.name.trim_end_matches("Ids").trim_end_matches("Id");
            for to in entries(fields.get(&field.name)) {
                add(to, name, RelationFamily::Reference);
            }
        }
        let columns = fields.get("properties").and_then(Value::as_object);
        for (name, value) in columns.into_iter().flatten() {
            for entry in entries(Some(value)) {
                let id = entry.get("id").unwrap_or(entry);
                if id.as_str().is_some_and(can_be_id) {
                    add(id, name, RelationFamily::Row);
                }
            }
        }
        found
    }
}

/// The entries of a list, or the one value.
fn entries(value: Option<&Value>) -> &[Value] {
    match value {
        Some(Value::Array(entries)) => entries,
        Some(value) => std::slice::from_ref(value),
        None => &[],
    }
}

/// Whether the text of a column can be an id: one word, and not a long one.
fn can_be_id(text: &str) -> bool {
    text.len() <= ID_BYTES_MAX && !text.is_empty() && !text.contains(char::is_whitespace)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn relations_are_read_from_relations_references_and_columns_w4() {
        let fields = json!({
            "relations": [{"name": "Vessel", "targetIds": ["v1", "v2"]}],
            "relationships": [{"type": "part_of", "target": "m1"}],
            "targetId": "r1",
            "properties": {
                "Vessel": ["v1", "v3"],
                "Crew": {"id": "c1"},
                "Name": "Mainland to Ostrand",
                "Length": 7,
            },
        });
        let kind = Kind::new("reference").unwrap();
        let found = Kinds::built_in().relations(&kind, fields.as_object().unwrap()).into_iter();
        let found: Vec<String> =
            found.map(|it| format!("{} {} {}", it.family.as_str(), it.name, it.to)).collect();
        let expected = [
            "relation Vessel v1",
            "relation Vessel v2",
            "relationship part_of m1",
            "reference target r1",
            "relation Vessel v3",
            "relation Crew c1",
        ];
        assert_eq!(found, expected);
    }
}
