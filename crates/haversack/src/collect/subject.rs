//! What a request is about: the items that it names as its subjects, and what belongs to them.

use haversack_core::ids::ItemId;
use haversack_store::store::item::Stored;

use crate::recipe::SubjectSpec;

/// The subjects of a request, by the names that its recipe gives.
#[derive(Debug, Clone, Default)]
pub struct Subjects {
    /// Those that the request names, in the recipe's order.
    pub all: Vec<Subject>,
    /// The name of the recipe's first subject, whether the request names one or not.
    pub first: String,
}

/// One of them.
#[derive(Debug, Clone)]
pub struct Subject {
    /// What the recipe says of it.
    pub spec: SubjectSpec,
    /// Its id.
    pub id: ItemId,
    /// The item; none where it is known by what names it alone.
    pub item: Option<Stored>,
    /// What belongs to it, newest first, where the recipe reads that for the whole request.
    pub items: Vec<Stored>,
}

impl Subjects {
    /// The subject of a name; without a name, the recipe's first.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Subject> {
        let name = if name.is_empty() { &self.first } else { name };
        self.all.iter().find(|subject| subject.spec.name == name)
    }

    /// What the recipe is made for.
    #[must_use]
    pub fn main(&self) -> Option<&Subject> {
        self.get("")
    }
}

impl Subject {
    /// What a field of the item says.
    #[must_use]
    pub fn field(&self, name: &str) -> Option<&serde_json::Value> {
        self.item.as_ref()?.item.fields.get(name)
    }

    /// The item and what belongs to it.
    pub fn stored(&self) -> impl Iterator<Item = &Stored> {
        self.item.iter().chain(&self.items)
    }
}
