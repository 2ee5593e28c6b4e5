//! The subjects of a request: the items that it is about, each with the items that belong to it.

use haversack_core::ids::ItemId;
use haversack_store::store::item::Stored;

use crate::recipe::SubjectSpec;

/// The subjects of a request, by the names that its recipe gives them.
#[derive(Debug, Clone, Default)]
pub struct Subjects {
    /// The subjects that the request names, in the recipe's order.
    pub all: Vec<Subject>,
    /// The name of the recipe's first subject, whether the request names it or not.
    pub first: String,
}

/// One subject of a request.
#[derive(Debug, Clone)]
pub struct Subject {
    /// Its definition in the recipe.
    pub spec: SubjectSpec,
    /// Its id.
    pub id: ItemId,
    /// The item; none where only other items name it.
    pub item: Option<Stored>,
    /// The items that belong to it, newest first, where the recipe reads them for the whole
    /// request.
    pub items: Vec<Stored>,
}

impl Subjects {
    /// Returns a subject by name; the recipe's first if the name is empty.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Subject> {
        let name = if name.is_empty() { &self.first } else { name };
        self.all.iter().find(|subject| subject.spec.name == name)
    }

    /// Returns the recipe's first subject, which the recipe is made for.
    #[must_use]
    pub fn main(&self) -> Option<&Subject> {
        self.get("")
    }
}

impl Subject {
    /// Returns the value of a field of the item.
    #[must_use]
    pub fn field(&self, name: &str) -> Option<&serde_json::Value> {
        self.item.as_ref()?.item.fields.get(name)
    }

    /// Iterates over the item and the items that belong to it.
    pub fn all_items(&self) -> impl Iterator<Item = &Stored> {
        self.item.iter().chain(&self.items)
    }
}
