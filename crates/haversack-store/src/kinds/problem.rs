//! What can be wrong with an item's fields, and where.

use std::error::Error;
use std::fmt;

use haversack_core::ids::IdError;
use haversack_core::text::spelling::shown;
use haversack_core::units::Tokens;

use super::spec::Type;

/// Most problems that are listed; the rest is counted.
pub const PROBLEMS_MAX: usize = 256;

/// The part of an item that is taken when a field is missing.
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

/// Something that may be large, but not that large.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    /// Characters of a text.
    Characters,
    /// Entries of a list.
    Entries,
    /// Bytes of a field's name.
    NameBytes,
    /// Values inside values inside values.
    Depth,
    /// Values of all fields together, those inside others included.
    Values,
    /// Bytes of all fields together, as JSON.
    JsonBytes,
}

/// One thing that is wrong with one field. Displays as one line.
#[derive(Debug, Clone, PartialEq)]
pub struct Problem {
    /// Where it is: `injection_rules[2].condition`, or `fields` for all of them together.
    pub path: String,
    /// What it is.
    pub wrong: Wrong,
}

/// What is wrong with a field.
#[derive(Debug, Clone, PartialEq)]
pub enum Wrong {
    /// It has to be there, and nothing stands in for it.
    Missing {
        /// What could.
        stand_in: Option<StandIn>,
        /// A field that looks like a misspelling of it.
        misspelt: Option<String>,
    },
    /// Nothing of the item would ever be shown.
    Empty {
        /// The kind.
        kind: String,
        /// The fields that were given, none of which the kind has.
        given: Vec<String>,
        /// Those that it has.
        known: Vec<String>,
    },
    /// It holds something else than it may.
    Refused {
        /// What it may hold.
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
        /// Those that are spelt most alike, nearest first.
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

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = &self.path;
        match &self.wrong {
            Wrong::Missing { stand_in, misspelt } => {
                write!(f, "{path} is missing")?;
                if let Some(stand_in) = stand_in {
                    write!(f, ": give it or a {stand_in}")?;
                }
                match misspelt {
                    Some(other) => write!(f, " (is \"{}\" meant for it?)", shown(other)),
                    None => Ok(()),
                }
            }
            Wrong::Empty { kind, given, known } => {
                write!(f, "{path} have nothing to show of a {kind}")?;
                if !given.is_empty() {
                    write!(f, ": it has no {}", shown(&given.join(", ")))?;
                }
                write!(f, "; it has {}", known.join(", "))
            }
            Wrong::Refused { allowed, found } => write!(f, "{path} must be {allowed}, not {found}"),
            Wrong::Unknown { found, allowed, nearest } => {
                write!(f, "{path} must be one of {}, not {found}", allowed.join(", "))?;
                match nearest.first() {
                    Some(nearest) => write!(f, ": nearest is {nearest}"),
                    None => Ok(()),
                }
            }
            Wrong::NotAnId(cause) => write!(f, "{path} must be the id of an item: {cause}"),
            Wrong::ControlInName { code } => {
                write!(f, "{path} must not hold the control character U+{code:04X} in its name")
            }
            Wrong::OverLimit { limit, found, max } => match limit {
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

/// Everything that is wrong with an item's fields. Displays as one line each.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct FieldErrors {
    /// What is wrong: limits of all fields first, then kind by its table.
    pub problems: Vec<Problem>,
    /// How many more there are than [`PROBLEMS_MAX`].
    pub more: usize,
}

impl FieldErrors {
    pub(super) fn push(&mut self, path: &Path<'_>, wrong: Wrong) {
        if self.problems.len() < PROBLEMS_MAX {
            self.problems.push(Problem { path: path.to_string(), wrong });
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

/// Something its writer should know of an item that is stored all the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Warning {
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
    /// Larger than an item that is part of every context should be.
    Large {
        /// The kind.
        kind: String,
        /// Tokens of the text that is shown, in the encoding `o200k_base`.
        tokens: Tokens,
        /// The size it should have at most.
        tokens_max: Tokens,
    },
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Warning::Misspelt { path, kind, meant } => {
                write!(f, "{path} is not a field of {kind}: did you mean {meant}?")
            }
            Warning::UnknownKind { kind, meant } => {
                write!(f, "{} is not a known kind: did you mean {meant}?", shown(kind))
            }
            Warning::Large { kind, tokens, tokens_max } => write!(
                f,
                "{kind} of {tokens} tokens is part of every context and should have at most \
                 {tokens_max}"
            ),
        }
    }
}

/// Where a value stands, from the outside in. Costs nothing until it is written.
#[derive(Debug, Clone, Copy)]
pub(super) enum Path<'p> {
    /// All fields together.
    Fields,
    /// A named value.
    Key(&'p Path<'p>, &'p str),
    /// An entry of a list.
    Entry(&'p Path<'p>, usize),
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plain = |key: &str| {
            let mut chars = key.chars();
            !key.is_empty() && chars.all(|c| c.is_alphanumeric() || c == '_' || c == '-')
        };
        match self {
            Path::Fields => f.write_str("fields"),
            Path::Key(Path::Fields, key) if plain(key) => f.write_str(&shown(key)),
            Path::Key(before, key) if plain(key) => write!(f, "{before}.{}", shown(key)),
            Path::Key(before, key) => write!(f, "{before}[\"{}\"]", shown(key)),
            Path::Entry(before, index) => write!(f, "{before}[{index}]"),
        }
    }
}
