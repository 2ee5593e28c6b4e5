//! What a definition says of a kind and of a field.

use std::fmt;

use haversack_core::query::FieldRole;
use haversack_core::units::Tokens;

use super::problem::StandIn;

/// A kind.
#[derive(Debug, Clone, PartialEq)]
pub struct KindSpec {
    /// The kind, in snake case.
    pub name: String,
    /// What it is, in one line.
    pub about: String,
    /// Its fields, in the order in which they are searched and shown.
    pub fields: Vec<FieldSpec>,
    /// Whether a workspace has at most one.
    pub single: bool,
    /// Whether it tells the reader of a pack what to do. Only whoever may speak for the workspace
    /// writes such items; in packs they stand as the workspace's own words.
    pub guidance: bool,
    /// Whether its items tell of one moment, so that their age is that of their creation.
    pub said_once: bool,
    /// How direct the way is on which its items are found, from 0 to 1 (K4).
    pub priority: f64,
    /// The same for a part of an item.
    pub part_priority: f64,
    /// The size above which an item is stored with a warning.
    pub tokens_max: Option<Tokens>,
}

impl KindSpec {
    /// The field of a name.
    #[must_use]
    pub fn field(&self, name: &str) -> Option<&FieldSpec> {
        self.fields.iter().find(|field| field.name == name)
    }
}

/// A field of a kind, or of an object inside a field.
#[derive(Debug, Clone, PartialEq)]
pub struct FieldSpec {
    /// Its name on the wire.
    pub name: String,
    /// What it may hold. `null` is the same as leaving it out.
    pub value: Type,
    /// Whether it, or what stands in for it, must be there.
    pub required: bool,
    /// The part of the item that is taken when the field is missing.
    pub stand_in: Option<StandIn>,
    /// Whether it is part of the reduced form.
    pub essential: bool,
    /// How it is searched and shown.
    pub shown: Shown,
    /// Whether the item that it names is linked to.
    pub link: bool,
    /// What it says of the item itself.
    pub role: Option<Role>,
}

/// How a field is searched and shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shown {
    /// As `Label: value`.
    Labelled,
    /// As it is: the field is the item's text.
    Plain,
    /// Not at all: ids, and what describes storage rather than content.
    Hidden,
}

/// What a field says of the item itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// How people mention it.
    Name,
    /// Whether it may appear.
    Active,
    /// When it came to be.
    Created,
    /// When it was last changed.
    Updated,
    /// How sure its content is.
    Confidence,
    /// What questions about fields ask for: when it is due, whose it is.
    Fact(FieldRole),
}

/// What a field may hold.
#[derive(Debug, Clone, PartialEq)]
pub enum Type {
    /// A text.
    Text {
        /// Most characters.
        chars_max: usize,
    },
    /// A list of texts.
    Texts {
        /// Most entries.
        count_max: usize,
        /// Most characters of an entry.
        chars_max: usize,
    },
    /// A text or a list of texts: where one is usual and several are possible.
    TextOrTexts {
        /// Most entries.
        count_max: usize,
        /// Most characters of an entry.
        chars_max: usize,
    },
    /// A number, bounds included.
    Number {
        /// The least.
        min: f64,
        /// The most.
        max: f64,
    },
    /// A whole number, bounds included.
    Integer {
        /// The least.
        min: i64,
        /// The most.
        max: i64,
    },
    /// True or false.
    Boolean,
    /// A moment: RFC 3339 text or Unix milliseconds.
    Timestamp,
    /// A day such as `2026-01-31`, or a moment.
    Date,
    /// One of these texts.
    OneOf(Vec<String>),
    /// An object with these fields.
    Object(Vec<FieldSpec>),
    /// A list of such objects.
    Objects {
        /// Most entries.
        count_max: usize,
        /// What each has.
        fields: Vec<FieldSpec>,
    },
    /// The id of another item.
    Reference,
    /// A list of ids of other items.
    References {
        /// Most entries.
        count_max: usize,
    },
    /// An object whose names are the user's: the columns of a row.
    Record,
    /// Anything: where the applications leave the shape open.
    Any,
}

/// What is allowed, as messages and documentation say it.
impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Type::Text { .. } => f.write_str("a text"),
            Type::Texts { .. } => f.write_str("a list of texts"),
            Type::TextOrTexts { .. } => f.write_str("a text or a list of texts"),
            Type::Number { min, max } => write!(f, "a number from {min} to {max}"),
            Type::Integer { min, max } => write!(f, "a whole number from {min} to {max}"),
            Type::Boolean => f.write_str("true or false"),
            Type::Timestamp => f.write_str(
                "a timestamp (RFC 3339 such as 2026-01-31T09:30:00Z, or Unix milliseconds)",
            ),
            Type::Date => f.write_str("a date such as 2026-01-31 or a timestamp"),
            Type::OneOf(values) => write!(f, "one of {}", values.join(", ")),
            Type::Object(_) => f.write_str("an object"),
            Type::Objects { .. } => f.write_str("a list of objects"),
            Type::Reference => f.write_str("the id of an item"),
            Type::References { .. } => f.write_str("a list of ids of items"),
            Type::Record => f.write_str("an object with any names"),
            Type::Any => f.write_str("any value"),
        }
    }
}
