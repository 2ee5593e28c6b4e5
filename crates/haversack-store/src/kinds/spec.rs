//! What is said of a kind and of a field: the vocabulary of the table.

use std::fmt;

use haversack_core::units::Tokens;

use super::problem::StandIn;

/// A built-in kind.
#[derive(Debug, Clone, PartialEq)]
pub struct KindSpec {
    /// The kind, in snake case.
    pub name: &'static str,
    /// The recipe whose application brought it.
    pub recipe: &'static str,
    /// What it is, in one line.
    pub description: &'static str,
    /// Its fields, in the order in which they are searched and shown.
    pub fields: &'static [FieldSpec],
    /// Whether a workspace has at most one.
    pub single: bool,
    /// Whether it tells the reader of a pack what to do. Only whoever may speak for the workspace
    /// writes such items; in packs they stand as the workspace's own words.
    pub guidance: bool,
    /// The size above which an item is stored with a warning.
    pub tokens_max: Option<Tokens>,
}

/// A field of a kind, or of an object inside a field.
#[derive(Debug, Clone, PartialEq)]
pub struct FieldSpec {
    /// Its name on the wire.
    pub name: &'static str,
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
}

/// What a field may hold.
#[derive(Debug, Clone, Copy, PartialEq)]
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
    OneOf(&'static [&'static str]),
    /// An object with these fields.
    Object(&'static [FieldSpec]),
    /// A list of such objects.
    Objects {
        /// Most entries.
        count_max: usize,
        /// What each has.
        fields: &'static [FieldSpec],
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
    Open,
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
            Type::Open => f.write_str("any value"),
        }
    }
}

impl KindSpec {
    pub(super) const fn new(
        recipe: &'static str,
        name: &'static str,
        description: &'static str,
        fields: &'static [FieldSpec],
    ) -> KindSpec {
        let (single, guidance, tokens_max) = (false, false, None);
        KindSpec { name, recipe, description, fields, single, guidance, tokens_max }
    }

    pub(super) const fn one_per_workspace(mut self) -> KindSpec {
        self.single = true;
        self
    }

    pub(super) const fn guidance(mut self) -> KindSpec {
        self.guidance = true;
        self
    }

    pub(super) const fn warn_above(mut self, tokens: u32) -> KindSpec {
        self.tokens_max = Some(Tokens::new(tokens));
        self
    }
}

impl FieldSpec {
    pub(super) const fn new(name: &'static str, value: Type) -> FieldSpec {
        let shown = match value {
            Type::Reference | Type::References { .. } => Shown::Hidden,
            _ => Shown::Labelled,
        };
        FieldSpec {
            name,
            value,
            required: false,
            stand_in: None,
            essential: false,
            shown,
            role: None,
        }
    }

    pub(super) const fn required(mut self) -> FieldSpec {
        self.required = true;
        self
    }

    pub(super) const fn or_title(mut self) -> FieldSpec {
        self.stand_in = Some(StandIn::Title);
        self
    }

    pub(super) const fn or_body(mut self) -> FieldSpec {
        self.stand_in = Some(StandIn::Body);
        self
    }

    pub(super) const fn essential(mut self) -> FieldSpec {
        self.essential = true;
        self
    }

    pub(super) const fn plain(mut self) -> FieldSpec {
        self.shown = Shown::Plain;
        self
    }

    pub(super) const fn hidden(mut self) -> FieldSpec {
        self.shown = Shown::Hidden;
        self
    }

    /// A name that people mention.
    pub(super) const fn mentioned(mut self) -> FieldSpec {
        self.role = Some(Role::Name);
        self
    }

    /// What it says is kept with the item, not in its text.
    pub(super) const fn says(mut self, role: Role) -> FieldSpec {
        self.role = Some(role);
        self.hidden()
    }
}
