//! The definitions of kinds and fields.

use std::fmt;

use haversack_core::query::FieldRole;
use haversack_core::units::Tokens;

use super::problem::StandIn;

/// The definition of a kind.
#[expect(clippy::struct_excessive_bools, reason = "each is a key of a definition")]
#[derive(Debug, Clone, PartialEq)]
pub struct KindSpec {
    /// Its name, in snake case.
    pub name: String,
    /// A one-line description.
    pub about: String,
    /// Its fields, in the order in which they are searched and rendered.
    pub fields: Vec<FieldSpec>,
    /// Whether a workspace has at most one.
    pub single: bool,
    /// Whether its items give instructions to the model. Only trusted writers may write them; packs
    /// render them without a fence.
    pub guidance: bool,
    /// Whether the engine makes its items itself. Only trusted writers may write them.
    pub generated: bool,
    /// Whether its items describe one moment, so that they age from their creation.
    pub said_once: bool,
    /// The ranking priority of its items, from 0 to 1 (K4).
    pub priority: f64,
    /// The priority of a part of an item.
    pub part_priority: f64,
    /// The size above which a stored item gets a warning.
    pub tokens_max: Option<Tokens>,
}

impl KindSpec {
    /// The field with this name.
    #[must_use]
    pub fn field(&self, name: &str) -> Option<&FieldSpec> {
        self.fields.iter().find(|field| field.name == name)
    }
}

/// The definition of a field of a kind, or of an object inside a field.
#[derive(Debug, Clone, PartialEq)]
pub struct FieldSpec {
    /// Its name on the wire.
    pub name: String,
    /// The allowed values. `null` counts as missing.
    pub value: Type,
    /// Whether it or its stand-in is required.
    pub required: bool,
    /// The part of the item used when the field is missing.
    pub stand_in: Option<StandIn>,
    /// Whether it is part of the essential form.
    pub essential: bool,
    /// How it is rendered.
    pub shown: FieldDisplay,
    /// Whether it makes a link to the item that it names.
    pub link: bool,
    /// Its meaning for the item itself.
    pub role: Option<FieldMeaning>,
}

/// How a field is rendered for search and packs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FieldDisplay {
    /// As `Label: value`.
    Labelled,
    /// Without a label: the field is the item's text.
    Plain,
    /// Not rendered: ids and other storage details.
    Hidden,
}

/// The meaning of a field for the item itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FieldMeaning {
    /// A name by which people mention it.
    Name,
    /// Whether it may appear.
    Active,
    /// When it was created.
    Created,
    /// When it was last changed.
    Updated,
    /// The confidence in its content.
    Confidence,
    /// A fact that queries ask for, such as the due date or the assignee.
    Fact(FieldRole),
}

/// The type of a field.
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
    /// Any value.
    Any,
}

/// The allowed values, as rendered in messages and documentation.
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
