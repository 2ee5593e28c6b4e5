//! Problems with an item's fields, and where they are.

use std::error::Error;
use std::fmt;

use haversack_core::ids::IdError;
use haversack_core::text::spelling::printable_name;
use haversack_core::units::Tokens;

use super::spec::Type;

/// The most problems listed; the rest is counted.
pub const PROBLEMS_MAX: usize = 256;

/// The part of an item used when a field is missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StandIn {
    /// Its title.
    Title,
    /// Its body.
    Body,
}

impl fmt::Display for StandIn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            StandIn::Title => "title",
            StandIn::Body => "body",
        })
    }
}

/// A quantity with a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    /// Characters of a text.
    Characters,
    /// Entries of a list.
    Entries,
    /// Bytes of a field's name.
    NameBytes,
    /// The nesting depth of values.
    Depth,
    /// Values of all fields together, nested ones included.
    Values,
    /// Bytes of all fields together, as JSON.
    JsonBytes,
}

/// One problem with one field. Displays as one line.
#[derive(Debug, Clone, PartialEq)]
pub struct FieldProblem {
    /// Where it is: `injection_rules[2].condition`, or `fields` for all of them together.
    pub path: String,
    /// What it is.
    pub wrong: FieldFault,
}

/// What is wrong with a field.
#[derive(Debug, Clone, PartialEq)]
pub enum FieldFault {
    /// It is required, and nothing stands in for it.
    Missing {
        /// What could stand in.
        stand_in: Option<StandIn>,
        /// A field that looks like a misspelling of it.
        misspelt: Option<String>,
    },
    /// Nothing of the item would be rendered.
    Empty {
        /// The kind.
        kind: String,
        /// The fields that were given, none of which the kind has.
        given: Vec<String>,
        /// The fields that the kind has.
        known: Vec<String>,
    },
    /// Its value has the wrong type.
    Refused {
        /// The allowed values.
        allowed: Type,
        /// What it holds, as messages show it.
        found: String,
    },
    /// Its text is not in the enumeration.
    Unknown {
        /// The text, as messages show it.
        found: String,
        /// The enumeration.
        allowed: Vec<String>,
        /// The most similar values, nearest first.
        nearest: Vec<String>,
    },
    /// Its text cannot be an item's id.
    NotAnId(IdError),
    /// Its name holds a control character.
    ControlInName {
        /// The character's code point.
        code: u32,
    },
    /// It is too large.
    OverLimit {
        /// In which way.
        limit: Limit,
        /// How large it is, as far as it was measured.
        found: usize,
        /// How large it may be.
        max: usize,
    },
}

impl fmt::Display for FieldProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = &self.path;
        match &self.wrong {
            FieldFault::Missing { stand_in, misspelt } => {
                write!(f, "{path} is missing")?;
                if let Some(stand_in) = stand_in {
                    write!(f, ": give it or a {stand_in}")?;
                }
                match misspelt {
                    Some(other) => write!(f, " (is \"{}\" meant for it?)", printable_name(other)),
                    None => Ok(()),
                }
            }
            FieldFault::Empty { kind, given, known } => {
                write!(f, "{path} have nothing to show of a {kind}")?;
                if !given.is_empty() {
                    write!(f, ": it has no {}", printable_name(&given.join(", ")))?;
                }
                write!(f, "; it has {}", known.join(", "))
            }
            FieldFault::Refused { allowed, found } => {
                write!(f, "{path} must be {allowed}, not {found}")
            }
            FieldFault::Unknown { found, allowed, nearest } => {
                write!(f, "{path} must be one of {}, not {found}", allowed.join(", "))?;
                match nearest.first() {
                    Some(nearest) => write!(f, ": nearest is {nearest}"),
                    None => Ok(()),
                }
            }
            FieldFault::NotAnId(cause) => write!(f, "{path} must be the id of an item: {cause}"),
            FieldFault::ControlInName { code } => {
                write!(f, "{path} must not hold the control character U+{code:04X} in its name")
            }
            FieldFault::OverLimit { limit, found, max } => match limit {
                Limit::Characters => write!(f, "{path} has {found} characters: the limit is {max}"),
                Limit::Entries => write!(f, "{path} has {found} entries: the limit is {max}"),
                Limit::NameBytes => {
                    write!(f, "{path} has a name of {found} bytes: the limit is {max}")
                }
                Limit::Depth => write!(f, "{path} is nested {found} deep: the limit is {max}"),
                Limit::Values => write!(f, "{path} hold {found} values: the limit is {max}"),
                Limit::JsonBytes => {
                    write!(f, "{path} take {found} bytes as JSON: the limit is {max}")
                }
            },
        }
    }
}

/// All problems with an item's fields. Displays as one line each.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct FieldErrors {
    /// The problems: limits over all fields first, then by the kind's definition.
    pub problems: Vec<FieldProblem>,
    /// How many more there are than [`PROBLEMS_MAX`].
    pub more: usize,
}

impl FieldErrors {
    pub(super) fn push(&mut self, path: &FieldPath<'_>, wrong: FieldFault) {
        if self.problems.len() < PROBLEMS_MAX {
            self.problems.push(FieldProblem { path: path.to_string(), wrong });
        } else {
            self.more += 1;
        }
    }
}

impl fmt::Display for FieldErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.problems.iter().enumerate() {
            let end = if index == 0 { "" } else { "\n" };
            write!(f, "{end}{problem}")?;
        }
        if self.more > 0 { write!(f, "\nand {} more", self.more) } else { Ok(()) }
    }
}

impl Error for FieldErrors {}

/// A warning about an item that is stored anyway.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FieldWarning {
    /// A field that the kind does not have, near one that it has and the item lacks.
    Misspelt {
        /// Where it is.
        path: String,
        /// The kind.
        kind: String,
        /// The field that may be meant.
        meant: String,
    },
    /// A kind that is not defined, near one that is.
    UnknownKind {
        /// The kind.
        kind: String,
        /// The kind that may be meant.
        meant: String,
    },
    /// An item of every context that is larger than recommended.
    Large {
        /// The kind.
        kind: String,
        /// Tokens of the text that is shown, in the encoding `o200k_base`.
        tokens: Tokens,
        /// The size it should have at most.
        tokens_max: Tokens,
    },
}

impl fmt::Display for FieldWarning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FieldWarning::Misspelt { path, kind, meant } => {
                write!(f, "{path} is not a field of {kind}: did you mean {meant}?")
            }
            FieldWarning::UnknownKind { kind, meant } => {
                write!(f, "{} is not a known kind: did you mean {meant}?", printable_name(kind))
            }
            FieldWarning::Large { kind, tokens, tokens_max } => write!(
                f,
                "{kind} of {tokens} tokens is part of every context and should have at most \
                 {tokens_max}"
            ),
        }
    }
}

/// The path of a value, formatted only when displayed.
#[derive(Debug, Clone, Copy)]
pub(super) enum FieldPath<'p> {
    /// All fields together.
    Fields,
    /// A named value.
    Key(&'p FieldPath<'p>, &'p str),
    /// An entry of a list.
    Entry(&'p FieldPath<'p>, usize),
}

impl fmt::Display for FieldPath<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plain = |key: &str| {
            let mut chars = key.chars();
            !key.is_empty() && chars.all(|c| c.is_alphanumeric() || c == '_' || c == '-')
        };
        match self {
            FieldPath::Fields => f.write_str("fields"),
            FieldPath::Key(FieldPath::Fields, key) if plain(key) => {
                f.write_str(&printable_name(key))
            }
            FieldPath::Key(before, key) if plain(key) => {
                write!(f, "{before}.{}", printable_name(key))
            }
            FieldPath::Key(before, key) => write!(f, "{before}[\"{}\"]", printable_name(key)),
            FieldPath::Entry(before, index) => write!(f, "{before}[{index}]"),
        }
    }
}
