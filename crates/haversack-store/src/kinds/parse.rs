//! Reading definitions of kinds: TOML, the same for the built-in ones and those of an application.

use std::collections::BTreeMap;
use std::fmt;

use haversack_core::item::Kind;
use haversack_core::query::FieldRole;
use haversack_core::units::Tokens;
use serde::Deserialize;

use super::problem::StandIn;
use super::spec::{FieldSpec, KindSpec, Role, Shown, Type};

/// Longest definition in bytes.
pub const DEFINITION_BYTES_MAX: usize = 256 << 10;
/// Most kinds of one's own.
pub const KINDS_MAX: usize = 256;
/// Most fields of a kind, those inside others included.
pub const KIND_FIELDS_MAX: usize = 256;
/// Most fields of type `reference` with different names: each costs an index.
pub const REFERENCES_MAX: usize = 16;

/// Most characters of a name or label.
const LABEL_CHARS_MAX: usize = 512;
/// Most characters of a description or of an entry in a list.
const TEXT_CHARS_MAX: usize = 20_000;
/// Most characters of a whole content; longer ones are an item's body.
const CONTENT_CHARS_MAX: usize = 200_000;
/// Most entries of a list.
const COUNT_MAX: usize = 256;
/// How direct the way is to a kind that says nothing of it.
const PRIORITY: f64 = 0.3;

/// What is wrong with a definition: names the line, or the kind and the field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DefinitionError(pub String);

impl fmt::Display for DefinitionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for DefinitionError {}

/// A document of definitions.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Definitions {
    /// Kinds by name.
    kind: BTreeMap<String, KindEntry>,
    /// Names of fields in items of any kind, by what they say.
    pub(super) fields: BTreeMap<FactName, Vec<String>>,
    /// What states are called.
    pub(super) states: States,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct States {
    /// Those in which nothing is left to do.
    pub(super) done: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct KindEntry {
    about: String,
    #[serde(default)]
    fields: Vec<FieldEntry>,
    #[serde(default)]
    one_per_workspace: bool,
    #[serde(default)]
    guidance: bool,
    #[serde(default)]
    said_once: bool,
    priority: Option<f64>,
    part_priority: Option<f64>,
    warn_above: Option<u32>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct FieldEntry {
    name: String,
    r#type: Option<TypeName>,
    values: Option<Vec<String>>,
    min: Option<f64>,
    max: Option<f64>,
    fields: Option<Vec<FieldEntry>>,
    #[serde(default)]
    required: bool,
    or: Option<PartName>,
    #[serde(default)]
    essential: bool,
    shown: Option<ShownName>,
    #[serde(default)]
    link: bool,
    role: Option<RoleName>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum TypeName {
    Label,
    Labels,
    Text,
    Texts,
    Content,
    Number,
    Integer,
    Boolean,
    Timestamp,
    Date,
    Object,
    Objects,
    Reference,
    References,
    Record,
    Any,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum PartName {
    Title,
    Body,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum ShownName {
    Labelled,
    Plain,
    Hidden,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum RoleName {
    Name,
    Active,
    Created,
    Updated,
    Confidence,
    Due,
    Done,
    Assignee,
    Priority,
    Status,
    Author,
    Type,
}

/// What a field says of an item that questions ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum FactName {
    Due,
    Done,
    Assignee,
    Priority,
    Status,
    Author,
    Type,
}

impl FactName {
    pub(super) const fn role(self) -> FieldRole {
        match self {
            FactName::Due => FieldRole::Due,
            FactName::Done => FieldRole::Done,
            FactName::Assignee => FieldRole::Assignee,
            FactName::Priority => FieldRole::Priority,
            FactName::Status => FieldRole::Status,
            FactName::Author => FieldRole::Author,
            FactName::Type => FieldRole::Type,
        }
    }
}

impl RoleName {
    const fn role(self) -> Role {
        match self {
            RoleName::Name => Role::Name,
            RoleName::Active => Role::Active,
            RoleName::Created => Role::Created,
            RoleName::Updated => Role::Updated,
            RoleName::Confidence => Role::Confidence,
            RoleName::Due => Role::Fact(FieldRole::Due),
            RoleName::Done => Role::Fact(FieldRole::Done),
            RoleName::Assignee => Role::Fact(FieldRole::Assignee),
            RoleName::Priority => Role::Fact(FieldRole::Priority),
            RoleName::Status => Role::Fact(FieldRole::Status),
            RoleName::Author => Role::Fact(FieldRole::Author),
            RoleName::Type => Role::Fact(FieldRole::Type),
        }
    }
}

/// Reads a document.
pub(super) fn read(source: &str) -> Result<Definitions, DefinitionError> {
    if source.len() > DEFINITION_BYTES_MAX {
        let bytes = source.len();
        return Err(wrong(format!(
            "definitions of {bytes} bytes are over the limit of {DEFINITION_BYTES_MAX}"
        )));
    }
    toml::from_str(source).map_err(|error| wrong(error.to_string().trim_end().to_owned()))
}

impl Definitions {
    /// The kinds, by name.
    pub(super) fn kinds(&mut self) -> Result<Vec<KindSpec>, DefinitionError> {
        let entries = std::mem::take(&mut self.kind);
        if entries.len() > KINDS_MAX {
            let count = entries.len();
            return Err(wrong(format!("{count} kinds are over the limit of {KINDS_MAX}")));
        }
        entries.into_iter().map(|(name, entry)| kind(name, entry)).collect()
    }
}

fn wrong(message: String) -> DefinitionError {
    DefinitionError(message)
}

fn kind(name: String, entry: KindEntry) -> Result<KindSpec, DefinitionError> {
    let at = format!("kind.{name}");
    Kind::new(&name).map_err(|error| wrong(format!("{at}: {error}")))?;
    let priority = part(&at, "priority", entry.priority, PRIORITY)?;
    let part_priority = part(&at, "part_priority", entry.part_priority, priority)?;
    let mut room = KIND_FIELDS_MAX;
    Ok(KindSpec {
        fields: fields(&at, entry.fields, &mut room)?,
        name,
        about: entry.about,
        single: entry.one_per_workspace,
        guidance: entry.guidance,
        said_once: entry.said_once,
        priority,
        part_priority,
        tokens_max: entry.warn_above.map(Tokens::new),
    })
}

fn part(at: &str, key: &str, given: Option<f64>, default: f64) -> Result<f64, DefinitionError> {
    let value = given.unwrap_or(default);
    if (0.0..=1.0).contains(&value) {
        return Ok(value);
    }
    Err(wrong(format!("{at}: {key} must be from 0 to 1, not {value}")))
}

fn fields(
    at: &str,
    entries: Vec<FieldEntry>,
    room: &mut usize,
) -> Result<Vec<FieldSpec>, DefinitionError> {
    let mut specs: Vec<FieldSpec> = Vec::with_capacity(entries.len().min(KIND_FIELDS_MAX));
    for entry in entries {
        let Some(left) = room.checked_sub(1) else {
            return Err(wrong(format!("{at}: more than {KIND_FIELDS_MAX} fields")));
        };
        *room = left;
        let spec = field(at, entry, room)?;
        if specs.iter().any(|known| known.name == spec.name) {
            return Err(wrong(format!("{at}: the field {} is there twice", spec.name)));
        }
        specs.push(spec);
    }
    Ok(specs)
}

fn field(at: &str, entry: FieldEntry, room: &mut usize) -> Result<FieldSpec, DefinitionError> {
    let at = format!("{at}.{}", entry.name);
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if entry.name.is_empty() || entry.name.len() > 64 || !entry.name.chars().all(fits) {
        return Err(wrong(format!(
            "{at}: a field's name has 1 to 64 letters, digits or _, as in dueDate"
        )));
    }
    let is_content = entry.r#type == Some(TypeName::Content);
    let value = value(&at, &entry)?;
    let inner = match (&value, entry.fields) {
        (Type::Object(_) | Type::Objects { .. }, Some(inner)) => fields(&at, inner, room)?,
        (Type::Object(_) | Type::Objects { .. }, None) => {
            return Err(wrong(format!("{at}: an object needs fields")));
        }
        (_, Some(_)) => return Err(wrong(format!("{at}: only an object has fields"))),
        (_, None) => Vec::new(),
    };
    let value = match value {
        Type::Object(_) => Type::Object(inner),
        Type::Objects { count_max, .. } => Type::Objects { count_max, fields: inner },
        other => other,
    };
    let is_reference = matches!(value, Type::Reference | Type::References { .. });
    if entry.link && !is_reference {
        return Err(wrong(format!("{at}: only a reference is a link")));
    }
    let role = entry.role.map(RoleName::role);
    // What is kept with the item itself is no part of its text.
    let is_kept =
        matches!(role, Some(Role::Active | Role::Created | Role::Updated | Role::Confidence));
    let shown = match entry.shown {
        Some(ShownName::Labelled) => Shown::Labelled,
        Some(ShownName::Plain) => Shown::Plain,
        Some(ShownName::Hidden) => Shown::Hidden,
        None if is_reference || is_kept => Shown::Hidden,
        None if is_content => Shown::Plain,
        None => Shown::Labelled,
    };
    let stand_in = match entry.or {
        Some(PartName::Title) => Some(StandIn::Title),
        Some(PartName::Body) => Some(StandIn::Body),
        None => is_content.then_some(StandIn::Body),
    };
    let FieldEntry { name, required, essential, link, .. } = entry;
    Ok(FieldSpec { name, value, required, stand_in, essential, shown, link, role })
}

fn value(at: &str, entry: &FieldEntry) -> Result<Type, DefinitionError> {
    let bounds = entry.min.is_some() || entry.max.is_some();
    let has_bounds = matches!(entry.r#type, Some(TypeName::Number | TypeName::Integer));
    if bounds && !has_bounds {
        return Err(wrong(format!("{at}: min and max are for a number or an integer")));
    }
    let (min, max) = (entry.min.unwrap_or(-1e15), entry.max.unwrap_or(1e15));
    if !(min <= max && min.abs() <= 1e15 && max.abs() <= 1e15) {
        return Err(wrong(format!("{at}: min {min} and max {max} leave no number")));
    }
    let name = match (&entry.values, entry.r#type) {
        (Some(values), None) if !values.is_empty() => return Ok(Type::OneOf(values.clone())),
        (Some(_), None) => return Err(wrong(format!("{at}: values names none"))),
        (Some(_), Some(_)) => {
            return Err(wrong(format!("{at}: either a type or values, not both")));
        }
        (None, None) => return Err(wrong(format!("{at}: type or values is missing"))),
        (None, Some(name)) => name,
    };
    #[expect(clippy::cast_possible_truncation, reason = "bounded above")]
    let whole = |number: f64| number as i64;
    Ok(match name {
        TypeName::Label => Type::Text { chars_max: LABEL_CHARS_MAX },
        TypeName::Labels => Type::TextOrTexts { count_max: COUNT_MAX, chars_max: LABEL_CHARS_MAX },
        TypeName::Text => Type::Text { chars_max: TEXT_CHARS_MAX },
        TypeName::Texts => Type::Texts { count_max: COUNT_MAX, chars_max: TEXT_CHARS_MAX },
        TypeName::Content => Type::Text { chars_max: CONTENT_CHARS_MAX },
        TypeName::Number => Type::Number { min, max },
        TypeName::Integer => Type::Integer { min: whole(min), max: whole(max) },
        TypeName::Boolean => Type::Boolean,
        TypeName::Timestamp => Type::Timestamp,
        TypeName::Date => Type::Date,
        TypeName::Object => Type::Object(Vec::new()),
        TypeName::Objects => Type::Objects { count_max: COUNT_MAX, fields: Vec::new() },
        TypeName::Reference => Type::Reference,
        TypeName::References => Type::References { count_max: COUNT_MAX },
        TypeName::Record => Type::Record,
        TypeName::Any => Type::Any,
    })
}
