//! Checks an item's fields against its kind and reports all problems at once.

use haversack_core::ids::ItemId;
use haversack_core::item::Kind;
use haversack_core::text::spelling::{edits, nearest, printable_name};
use haversack_core::text::tokenizer::{Encoding, Tokenizer};
use haversack_core::units::{Timestamp, Tokens};
use serde_json::Value;

use super::problem::{FieldErrors, FieldFault, FieldPath, FieldWarning, Limit, StandIn};
use super::spec::{FieldDisplay, FieldSpec, KindSpec, Type};
use super::{Fields, Kinds, bounds};

impl Kinds {
    /// Checks an item before it is stored.
    ///
    /// For every kind the fields are bounded: see [`super::DEPTH_MAX`], [`super::VALUES_MAX`],
    /// [`super::JSON_BYTES_MAX`] and [`super::KEY_BYTES_MAX`]. For a defined kind they also follow
    /// its definition. `null` counts as missing, and so does a blank text where one is required.
    /// Fields that the definition does not name are allowed.
    ///
    /// # Errors
    /// All problems, if there are any.
    pub fn check(
        &self,
        kind: &Kind,
        title: &str,
        body: &str,
        fields: &Fields,
    ) -> Result<Vec<FieldWarning>, FieldErrors> {
        let mut errors = FieldErrors::default();
        bounds::check(fields, &mut errors);
        let Some(spec) = self.find(kind) else {
            return if errors.problems.is_empty() {
                Ok(self.near_kind_warnings(kind))
            } else {
                Err(errors)
            };
        };
        let mut check =
            FieldChecker { kind: &spec.name, title, body, errors, warnings: Vec::new() };
        check.check_fields(&FieldPath::Fields, &spec.fields, fields);
        let FieldChecker { errors, mut warnings, .. } = check;
        if !errors.problems.is_empty() {
            return Err(errors);
        }
        let text = self.searchable(kind, title, body, fields);
        if spec.guidance && text.trim().is_empty() {
            let mut errors = FieldErrors::default();
            let known = |spec: &FieldSpec| spec.shown != FieldDisplay::Hidden;
            let known: Vec<String> =
                spec.fields.iter().filter(|it| known(it)).map(|it| it.name.clone()).collect();
            let given = fields.keys().filter(|name| spec.field(name).is_none()).cloned().collect();
            errors.push(
                &FieldPath::Fields,
                FieldFault::Empty { kind: spec.name.clone(), given, known },
            );
            return Err(errors);
        }
        warnings.extend(size_warning(spec, &text));
        Ok(warnings)
    }

    /// A warning for an undefined kind that resembles a defined one. Short names resemble too many.
    fn near_kind_warnings(&self, kind: &Kind) -> Vec<FieldWarning> {
        let kind = kind.as_str();
        let near = |spec: &&KindSpec| {
            kind.eq_ignore_ascii_case(&spec.name)
                || spec.name.len() > 4 && is_misspelling(kind, &spec.name)
        };
        let warning = |spec: &KindSpec| FieldWarning::UnknownKind {
            kind: kind.into(),
            meant: spec.name.clone(),
        };
        self.all().iter().find(near).map(warning).into_iter().collect()
    }
}

/// The moment that a field holds: RFC 3339 text, a day (its midnight in UTC) or Unix milliseconds.
#[must_use]
pub fn moment(value: &Value) -> Option<Timestamp> {
    match value {
        Value::String(text) => parse_instant(text).or_else(|| parse_day(text)),
        Value::Number(number) => {
            let millis = number.as_i64()?;
            jiff::Timestamp::from_millisecond(millis).ok().map(|_| Timestamp::from_millis(millis))
        }
        _ => None,
    }
}

fn parse_instant(text: &str) -> Option<Timestamp> {
    let moment: jiff::Timestamp = text.parse().ok()?;
    Some(Timestamp::from_millis(moment.as_millisecond()))
}

fn parse_day(text: &str) -> Option<Timestamp> {
    // The parser would also accept a date within a longer text.
    (text.len() == "YYYY-MM-DD".len()).then(|| parse_instant(&format!("{text}T00:00:00Z")))?
}

/// A warning for an oversized text. Tokens are counted only if there are more bytes than allowed
/// tokens.
fn size_warning(spec: &KindSpec, text: &str) -> Option<FieldWarning> {
    let tokens_max = spec.tokens_max?;
    if Tokens::saturating_from(text.len() as u64) <= tokens_max {
        return None;
    }
    let tokens = Encoding::O200k.count(text);
    let kind = spec.name.clone();
    (tokens > tokens_max).then_some(FieldWarning::Large { kind, tokens, tokens_max })
}

/// Whether one name may be a misspelling of the other, ignoring case and separators.
fn is_misspelling(typed: &str, known: &str) -> bool {
    let joined = |name: &str| name.replace(['_', '-', ' '], "");
    let edits_max = match known.len() {
        0..4 => 0,
        4..8 => 1,
        _ => 2,
    };
    edits(&joined(typed), &joined(known)) <= edits_max
}

/// Whether a value is neither null nor blank.
pub(super) fn has_value(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::String(text) => !text.trim().is_empty(),
        _ => true,
    }
}

struct FieldChecker<'i> {
    kind: &'i str,
    title: &'i str,
    body: &'i str,
    errors: FieldErrors,
    warnings: Vec<FieldWarning>,
}

impl FieldChecker<'_> {
    fn check_fields(&mut self, path: &FieldPath<'_>, specs: &[FieldSpec], fields: &Fields) {
        let is_missing = |spec: &FieldSpec| !fields.get(&spec.name).is_some_and(has_value);
        let is_extra = |key: &str| !specs.iter().any(|spec| spec.name == key);
        for spec in specs {
            if is_missing(spec) && spec.required && !self.has_stand_in(spec.stand_in) {
                let mut extras = fields.keys().filter(|key| is_extra(key));
                let misspelt = extras.find(|key| is_misspelling(key, &spec.name)).cloned();
                let wrong = FieldFault::Missing { stand_in: spec.stand_in, misspelt };
                self.errors.push(&FieldPath::Key(path, &spec.name), wrong);
            }
            if let Some(value) = fields.get(&spec.name).filter(|value| !value.is_null()) {
                self.check_value(&FieldPath::Key(path, &spec.name), &spec.value, value);
            }
        }
        for key in fields.keys().filter(|key| is_extra(key)) {
            let mut missing = specs.iter().filter(|spec| is_missing(spec));
            if let Some(meant) = missing.find(|spec| is_misspelling(key, &spec.name)) {
                let (path, kind) = (FieldPath::Key(path, key).to_string(), self.kind.to_owned());
                self.warnings.push(FieldWarning::Misspelt {
                    path,
                    kind,
                    meant: meant.name.clone(),
                });
            }
        }
    }

    fn has_stand_in(&self, part: Option<StandIn>) -> bool {
        match part {
            Some(StandIn::Title) => !self.title.trim().is_empty(),
            Some(StandIn::Body) => !self.body.trim().is_empty(),
            None => false,
        }
    }

    fn check_value(&mut self, path: &FieldPath<'_>, allowed: &Type, value: &Value) {
        match (allowed, value) {
            (
                Type::Text { chars_max } | Type::TextOrTexts { chars_max, .. },
                Value::String(text),
            ) => {
                self.check_limit(path, Limit::Characters, text.chars().count(), *chars_max);
            }
            (
                Type::Texts { count_max, chars_max } | Type::TextOrTexts { count_max, chars_max },
                Value::Array(entries),
            ) => {
                self.check_entries(path, entries, *count_max, &Type::Text { chars_max: *chars_max })
            }
            (Type::OneOf(allowed), Value::String(text)) => self.check_one_of(path, allowed, text),
            (Type::Object(specs), Value::Object(fields)) => self.check_fields(path, specs, fields),
            (Type::Objects { count_max, fields }, Value::Array(entries)) => {
                self.check_objects(path, entries, *count_max, fields);
            }
            (Type::Reference, Value::String(id)) => {
                if let Err(cause) = ItemId::new(id) {
                    self.errors.push(path, FieldFault::NotAnId(cause));
                }
            }
            (Type::References { count_max }, Value::Array(entries)) => {
                self.check_entries(path, entries, *count_max, &Type::Reference);
            }
            _ if is_allowed(allowed, value) => {}
            _ => self.add_refusal(path, allowed, value),
        }
    }

    fn check_entries(
        &mut self,
        path: &FieldPath<'_>,
        entries: &[Value],
        count_max: usize,
        each: &Type,
    ) {
        self.check_limit(path, Limit::Entries, entries.len(), count_max);
        for (index, entry) in entries.iter().enumerate() {
            self.check_value(&FieldPath::Entry(path, index), each, entry);
        }
    }

    fn check_objects(
        &mut self,
        path: &FieldPath<'_>,
        entries: &[Value],
        count_max: usize,
        specs: &[FieldSpec],
    ) {
        self.check_limit(path, Limit::Entries, entries.len(), count_max);
        for (index, entry) in entries.iter().enumerate() {
            let path = FieldPath::Entry(path, index);
            match entry {
                Value::Object(fields) => self.check_fields(&path, specs, fields),
                other => self.add_refusal(&path, &Type::Object(Vec::new()), other),
            }
        }
    }

    fn add_refusal(&mut self, path: &FieldPath<'_>, allowed: &Type, value: &Value) {
        let wrong = FieldFault::Refused { allowed: allowed.clone(), found: describe_value(value) };
        self.errors.push(path, wrong);
    }

    fn check_one_of(&mut self, path: &FieldPath<'_>, allowed: &[String], text: &str) {
        if allowed.iter().any(|value| value == text) {
            return;
        }
        let nearest = nearest(text, allowed.iter().map(|value| (value.as_str(), value.as_str())));
        let nearest = nearest.into_iter().map(str::to_owned).collect();
        let found = format!("\"{}\"", printable_name(text));
        self.errors.push(path, FieldFault::Unknown { found, allowed: allowed.to_vec(), nearest });
    }

    fn check_limit(&mut self, path: &FieldPath<'_>, limit: Limit, found: usize, max: usize) {
        if found > max {
            self.errors.push(path, FieldFault::OverLimit { limit, found, max });
        }
    }
}

/// Whether a scalar value is allowed.
fn is_allowed(allowed: &Type, value: &Value) -> bool {
    match allowed {
        Type::Number { min, max } => value.as_f64().is_some_and(|n| (*min..=*max).contains(&n)),
        Type::Integer { min, max } => value.as_i64().is_some_and(|n| (*min..=*max).contains(&n)),
        Type::Boolean => value.is_boolean(),
        Type::Timestamp => match value {
            Value::String(text) => parse_instant(text).is_some(),
            other => moment(other).is_some(),
        },
        Type::Date => moment(value).is_some(),
        Type::Record => value.is_object(),
        Type::Any => true,
        Type::Text { .. }
        | Type::Texts { .. }
        | Type::TextOrTexts { .. }
        | Type::OneOf(_)
        | Type::Object(_)
        | Type::Objects { .. }
        | Type::Reference
        | Type::References { .. } => false,
    }
}

/// A value as messages show it.
fn describe_value(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(value) => value.to_string(),
        Value::Number(number) => printable_name(&number.to_string()),
        Value::String(text) => format!("\"{}\"", printable_name(text)),
        Value::Array(_) => "a list".to_owned(),
        Value::Object(_) => "an object".to_owned(),
    }
}
