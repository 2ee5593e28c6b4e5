//! The kinds of the five applications: which fields each has, checked on write.
//!
//! What is built in is a table ([`all`]), and everything here reads it: nothing is known of a kind
//! but what its [`KindSpec`] says. A kind that is not in the table is a plain document, whose
//! fields are bounded and otherwise its owner's business. Fields that an application adds to a
//! built-in kind are kept as they are and not shown; short texts among them are searched
//! ([`byline`]).

mod bounds;
mod check;
mod facts;
mod problem;
mod relations;
mod spec;
mod table;
mod text;

pub use bounds::{DEPTH_MAX, JSON_BYTES_MAX, KEY_BYTES_MAX, VALUES_MAX};
pub use check::{check, moment};
pub use facts::{Fact, FactValue, author as author_facts, facts};
pub use problem::{FieldErrors, Limit, PROBLEMS_MAX, Problem, StandIn, Warning, Wrong};
pub use relations::{Relation, RelationFamily, relations};
pub use spec::{FieldSpec, KindSpec, Role, Shown, Type};
pub use text::{byline, essential, names, searchable};

use haversack_core::item::{Kind, Trust};
use haversack_core::units::Timestamp;
use serde_json::Value;

/// The typed part of an item, in the order in which it was written.
pub type Fields = serde_json::Map<String, Value>;

/// Every built-in kind, application by application.
#[must_use]
pub fn all() -> &'static [KindSpec] {
    table::KINDS
}

/// What is known of a kind; nothing for a plain document.
#[must_use]
pub fn find(kind: &Kind) -> Option<&'static KindSpec> {
    all().iter().find(|spec| spec.name == kind.as_str())
}

/// Whether a workspace has at most one item of this kind (P5, P6).
#[must_use]
pub fn single(kind: &Kind) -> bool {
    find(kind).is_some_and(|spec| spec.single)
}

/// What sort of thing an item is within its kind, for kinds that have a field for it.
#[must_use]
pub fn sort<'f>(kind: &Kind, fields: &'f Fields) -> Option<&'f str> {
    find(kind)?.fields.iter().find(|field| field.name == "type")?;
    fields.get("type")?.as_str().filter(|sort| !sort.trim().is_empty())
}

/// Whether items of this kind tell the reader of a pack what to do (X11).
#[must_use]
pub fn guides(kind: &Kind) -> bool {
    find(kind).is_some_and(|spec| spec.guidance)
}

/// How far an item is trusted that comes from whoever may speak for the workspace, unless they say
/// otherwise.
#[must_use]
pub fn usual_trust(kind: &Kind) -> Trust {
    if guides(kind) { Trust::Trusted } else { Trust::Internal }
}

/// What an item's fields say of the item itself, under the names that the applications use.
///
/// Whoever writes items takes these over, so that `isActive: false` hides a battlecard (P9).
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Implied {
    /// Whether it may appear.
    pub active: Option<bool>,
    /// When it came to be.
    pub created: Option<Timestamp>,
    /// When it was last changed.
    pub updated: Option<Timestamp>,
    /// How sure its content is, from 0 to 1.
    pub confidence: Option<f64>,
}

/// Reads what the fields say of the item itself. What has the wrong type says nothing.
#[must_use]
pub fn implied(kind: &Kind, fields: &Fields) -> Implied {
    let mut implied = Implied::default();
    for field in find(kind).map_or(&[][..], |spec| spec.fields) {
        let (Some(role), Some(value)) = (field.role, fields.get(field.name)) else { continue };
        match role {
            Role::Name => {}
            Role::Active => implied.active = value.as_bool(),
            Role::Created => implied.created = moment(value),
            Role::Updated => implied.updated = moment(value),
            Role::Confidence => {
                implied.confidence = value.as_f64().filter(|value| (0.0..=1.0).contains(value));
            }
        }
    }
    implied
}

#[cfg(test)]
mod tests;
