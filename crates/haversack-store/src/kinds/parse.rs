//! Parsing of kind definitions in TOML, built-in ones and those of an application.

use std::collections::BTreeMap;
use std::fmt;

use haversack_core::item::Kind;
use haversack_core::query::FieldRole;
use haversack_core::units::Tokens;
use serde::Deserialize;

use super::problem::StandIn;
use super::spec::{FieldDisplay, FieldMeaning, FieldSpec, KindSpec, Type};

/// The longest definition file in bytes.
pub const DEFINITION_BYTES_MAX: usize = 256 << 10;
/// The most kinds of an application.
pub const KINDS_MAX: usize = 256;
/// The most fields of a kind, nested ones included.
pub const KIND_FIELDS_MAX: usize = 256;
/// The most distinct names of reference fields: each costs an index.
pub const REFERENCES_MAX: usize = 16;

/// Most characters of a name or label.
const LABEL_CHARS_MAX: usize = 512;
/// Most characters of a description or of an entry in a list.
const TEXT_CHARS_MAX: usize = 20_000;
/// Most characters of a whole content; longer ones are an item's body.
const CONTENT_CHARS_MAX: usize = 200_000;
/// Most entries of a list.
const COUNT_MAX: usize = 256;
/// The default ranking priority of a kind.
const PRIORITY: f64 = 0.3;

/// A problem in a definition, with its line, or its kind and field.
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
    /// Field names in items of any kind, by role.
    pub(super) fields: BTreeMap<FactName, Vec<String>>,
    /// The names of states.
    pub(super) states: StatesEntry,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct StatesEntry {
    /// States that mean done.
    pub(super) done: Vec<String>,
}

#[expect(clippy::struct_excessive_bools, reason = "each is a key of a definition")]
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
    generated: bool,
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

/// The role of a field that queries ask for.
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
    const fn role(self) -> FieldMeaning {
        match self {
            RoleName::Name => FieldMeaning::Name,
            RoleName::Active => FieldMeaning::Active,
            RoleName::Created => FieldMeaning::Created,
            RoleName::Updated => FieldMeaning::Updated,
            RoleName::Confidence => FieldMeaning::Confidence,
            RoleName::Due => FieldMeaning::Fact(FieldRole::Due),
            RoleName::Done => FieldMeaning::Fact(FieldRole::Done),
            RoleName::Assignee => FieldMeaning::Fact(FieldRole::Assignee),
            RoleName::Priority => FieldMeaning::Fact(FieldRole::Priority),
            RoleName::Status => FieldMeaning::Fact(FieldRole::Status),
            RoleName::Author => FieldMeaning::Fact(FieldRole::Author),
            RoleName::Type => FieldMeaning::Fact(FieldRole::Type),
        }
    }
}

/// Reads a document.
pub(super) fn read(source: &str) -> Result<Definitions, DefinitionError> {
    if source.len() > DEFINITION_BYTES_MAX {
        let bytes = source.len();
        return Err(definition_error(format!(
            "definitions of {bytes} bytes are over the limit of {DEFINITION_BYTES_MAX}"
        )));
    }
    toml::from_str(source)
        .map_err(|error| definition_error(error.to_string().trim_end().to_owned()))
}

impl Definitions {
    /// The kinds, by name.
    pub(super) fn kinds(&mut self) -> Result<Vec<KindSpec>, DefinitionError> {
        let entries = std::mem::take(&mut self.kind);
        if entries.len() > KINDS_MAX {
            let count = entries.len();
            return Err(definition_error(format!(
                "{count} kinds are over the limit of {KINDS_MAX}"
            )));
        }
        entries.into_iter().map(|(name, entry)| kind_spec(name, entry)).collect()
    }
}

fn definition_error(message: String) -> DefinitionError {
    DefinitionError(message)
}

fn kind_spec(name: String, entry: KindEntry) -> Result<KindSpec, DefinitionError> {
    let at = format!("kind.{name}");
    Kind::new(&name).map_err(|error| definition_error(format!("{at}: {error}")))?;
    let priority = unit_number(&at, "priority", entry.priority, PRIORITY)?;
    let part_priority = unit_number(&at, "part_priority", entry.part_priority, priority)?;
    let mut room = KIND_FIELDS_MAX;
    Ok(KindSpec {
        fields: field_specs(&at, entry.fields, &mut room)?,
        name,
        about: entry.about,
        single: entry.one_per_workspace,
        guidance: entry.guidance,
        generated: entry.generated,
        said_once: entry.said_once,
        priority,
        part_priority,
        tokens_max: entry.warn_above.map(Tokens::new),
    })
}

fn unit_number(
    at: &str,
    key: &str,
    given: Option<f64>,
    default: f64,
) -> Result<f64, DefinitionError> {
    let value = given.unwrap_or(default);
    if (0.0..=1.0).contains(&value) {
        return Ok(value);
    }
    Err(definition_error(format!("{at}: {key} must be from 0 to 1, not {value}")))
}

fn field_specs(
    at: &str,
    entries: Vec<FieldEntry>,
    room: &mut usize,
) -> Result<Vec<FieldSpec>, DefinitionError> {
    let mut specs: Vec<FieldSpec> = Vec::with_capacity(entries.len().min(KIND_FIELDS_MAX));
    for entry in entries {
        let Some(left) = room.checked_sub(1) else {
            return Err(definition_error(format!("{at}: more than {KIND_FIELDS_MAX} fields")));
        };
        *room = left;
        let spec = field_spec(at, entry, room)?;
        if specs.iter().any(|known| known.name == spec.name) {
            return Err(definition_error(format!(
                "{at}: the field {} is defined twice",
                spec.name
            )));
        }
        specs.push(spec);
    }
    Ok(specs)
}

fn field_spec(at: &str, entry: FieldEntry, room: &mut usize) -> Result<FieldSpec, DefinitionError> {
    let at = format!("{at}.{}", entry.name);
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if entry.name.is_empty() || entry.name.len() > 64 || !entry.name.chars().all(fits) {
        return Err(definition_error(format!(
            "{at}: a field's name has 1 to 64 letters, digits or _, as in dueDate"
        )));
    }
    let is_content = entry.r#type == Some(TypeName::Content);
    let value = value_type(&at, &entry)?;
    let inner = match (&value, entry.fields) {
        (Type::Object(_) | Type::Objects { .. }, Some(inner)) => field_specs(&at, inner, room)?,
        (Type::Object(_) | Type::Objects { .. }, None) => {
            return Err(definition_error(format!("{at}: an object needs fields")));
        }
        (_, Some(_)) => return Err(definition_error(format!("{at}: only an object has fields"))),
        (_, None) => Vec::new(),
    };
    let value = match value {
        Type::Object(_) => Type::Object(inner),
        Type::Objects { count_max, .. } => Type::Objects { count_max, fields: inner },
        other => other,
    };
    let is_reference = matches!(value, Type::Reference | Type::References { .. });
    if entry.link && !is_reference {
        return Err(definition_error(format!("{at}: only a reference is a link")));
    }
    let role = entry.role.map(RoleName::role);
    // Item properties are not part of its text.
    let is_kept = matches!(
        role,
        Some(
            FieldMeaning::Active
                | FieldMeaning::Created
                | FieldMeaning::Updated
                | FieldMeaning::Confidence
        )
    );
    let shown = match entry.shown {
        Some(ShownName::Labelled) => FieldDisplay::Labelled,
        Some(ShownName::Plain) => FieldDisplay::Plain,
        Some(ShownName::Hidden) => FieldDisplay::Hidden,
        None if is_reference || is_kept => FieldDisplay::Hidden,
        None if is_content => FieldDisplay::Plain,
        None => FieldDisplay::Labelled,
    };
    let stand_in = match entry.or {
        Some(PartName::Title) => Some(StandIn::Title),
        Some(PartName::Body) => Some(StandIn::Body),
        None => is_content.then_some(StandIn::Body),
    };
    let FieldEntry { name, required, essential, link, .. } = entry;
    Ok(FieldSpec { name, value, required, stand_in, essential, shown, link, role })
}

fn value_type(at: &str, entry: &FieldEntry) -> Result<Type, DefinitionError> {
    let bounds = entry.min.is_some() || entry.max.is_some();
    let has_bounds = matches!(entry.r#type, Some(TypeName::Number | TypeName::Integer));
    if bounds && !has_bounds {
        return Err(definition_error(format!("{at}: min and max are for a number or an integer")));
    }
    let (min, max) = (entry.min.unwrap_or(-1e15), entry.max.unwrap_or(1e15));
    if !(min <= max && min.abs() <= 1e15 && max.abs() <= 1e15) {
        return Err(definition_error(format!("{at}: min {min} and max {max} leave no number")));
    }
    let name = match (&entry.values, entry.r#type) {
        (Some(values), None) if !values.is_empty() => return Ok(Type::OneOf(values.clone())),
        (Some(_), None) => return Err(definition_error(format!("{at}: values is empty"))),
        (Some(_), Some(_)) => {
            return Err(definition_error(format!("{at}: either a type or values, not both")));
        }
        (None, None) => return Err(definition_error(format!("{at}: type or values is missing"))),
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
