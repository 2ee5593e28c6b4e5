//! The built-in kinds and their fields: data, one file per application.
//!
//! Names on the wire are those of the applications' own documents. Where those name an enumeration
//! it is closed; where they only name a thing, its field is a text.

mod prime;
mod proposal;
mod situation;
mod workspace;

use super::spec::{FieldSpec, KindSpec, Role, Type};

/// Every built-in kind.
#[rustfmt::skip]
pub(super) const KINDS: &[KindSpec] = &[
    proposal::COMPANY_PROFILE, proposal::BRAND_SETTINGS, proposal::OPPORTUNITY,
    proposal::DEAL_CONTEXT_ITEM, proposal::PRODUCT, proposal::BATTLECARD, proposal::PLAYBOOK,
    proposal::HISTORICAL_PATTERN,
    prime::FILE, prime::THREAD, prime::MESSAGE, prime::REFERENCE,
    workspace::PAGE, workspace::TEXT, workspace::HEADING, workspace::TO_DO, workspace::KANBAN_CARD,
    workspace::DATABASE, workspace::DB_ROW, workspace::CODE, workspace::QUOTE, workspace::LIST,
    workspace::CALLOUT, workspace::TABLE, workspace::IMAGE,
    situation::CONTEXT,
    situation::MEMORY,
];

/// Most characters of a name or label.
const LABEL_CHARS_MAX: usize = 512;
/// Most characters of a description or of an entry in a list.
const TEXT_CHARS_MAX: usize = 20_000;
/// Most characters of a whole content; longer ones are an item's body.
const CONTENT_CHARS_MAX: usize = 200_000;
/// Most entries of a list.
const COUNT_MAX: usize = 256;

const fn label(name: &'static str) -> FieldSpec {
    FieldSpec::new(name, Type::Text { chars_max: LABEL_CHARS_MAX })
}

const fn text(name: &'static str) -> FieldSpec {
    FieldSpec::new(name, Type::Text { chars_max: TEXT_CHARS_MAX })
}

const fn texts(name: &'static str) -> FieldSpec {
    FieldSpec::new(name, Type::Texts { count_max: COUNT_MAX, chars_max: TEXT_CHARS_MAX })
}

const fn labels(name: &'static str) -> FieldSpec {
    FieldSpec::new(name, Type::TextOrTexts { count_max: COUNT_MAX, chars_max: LABEL_CHARS_MAX })
}

const fn content(name: &'static str) -> FieldSpec {
    FieldSpec::new(name, Type::Text { chars_max: CONTENT_CHARS_MAX }).or_body().plain()
}

const fn one_of(name: &'static str, values: &'static [&'static str]) -> FieldSpec {
    FieldSpec::new(name, Type::OneOf(values))
}

const fn boolean(name: &'static str) -> FieldSpec {
    FieldSpec::new(name, Type::Boolean)
}

const fn date(name: &'static str) -> FieldSpec {
    FieldSpec::new(name, Type::Date)
}

const fn reference(name: &'static str) -> FieldSpec {
    FieldSpec::new(name, Type::Reference)
}

const fn references(name: &'static str) -> FieldSpec {
    FieldSpec::new(name, Type::References { count_max: COUNT_MAX })
}

const fn object(name: &'static str, fields: &'static [FieldSpec]) -> FieldSpec {
    FieldSpec::new(name, Type::Object(fields))
}

const fn objects(name: &'static str, fields: &'static [FieldSpec]) -> FieldSpec {
    FieldSpec::new(name, Type::Objects { count_max: COUNT_MAX, fields })
}

const fn open(name: &'static str) -> FieldSpec {
    FieldSpec::new(name, Type::Open)
}

const fn moment(name: &'static str) -> FieldSpec {
    FieldSpec::new(name, Type::Timestamp)
}

const IS_ACTIVE: FieldSpec = boolean("isActive").says(Role::Active);
const CREATED_AT: FieldSpec = moment("createdAt").says(Role::Created);
const UPDATED_AT: FieldSpec = moment("updatedAt").says(Role::Updated);
