//! Values of columns as the fields of a kind want them: databases have fewer types, or others.

use haversack_core::units::Timestamp;
use haversack_database::moment_millis;
use haversack_store::kinds::{Type, moment};
use serde_json::Value;

/// The value in the form that a field has, if it says the same; else as it is, for the store to judge.
pub(super) fn fit(field: &Type, value: Value) -> Value {
    match field {
        Type::Boolean => boolean(value),
        Type::Text { .. } | Type::OneOf(_) | Type::Reference => text(value),
        Type::TextOrTexts { .. } => text(parsed(value)),
        Type::Texts { .. } | Type::References { .. } => list(parsed(value)),
        Type::Object(_) | Type::Objects { .. } | Type::Record => parsed(value),
        Type::Number { .. } | Type::Integer { .. } => number(value),
        Type::Timestamp | Type::Date => point_in_time(value),
        Type::Any => value,
    }
}

/// SQLite has no booleans.
fn boolean(value: Value) -> Value {
    match value.as_i64() {
        Some(0) => false.into(),
        Some(1) => true.into(),
        _ => value,
    }
}

fn text(value: Value) -> Value {
    match value {
        Value::Number(number) => number.to_string().into(),
        Value::Bool(value) => value.to_string().into(),
        other => other,
    }
}

fn list(value: Value) -> Value {
    match value {
        Value::Array(entries) => Value::Array(entries.into_iter().map(text).collect()),
        Value::Null | Value::Object(_) => value,
        one => Value::Array(vec![text(one)]),
    }
}

/// A list or an object that a column holds as text.
fn parsed(value: Value) -> Value {
    let Value::String(text) = &value else { return value };
    if !text.trim_start().starts_with(['[', '{']) {
        return value;
    }
    match serde_json::from_str(text) {
        Ok(parsed @ (Value::Array(_) | Value::Object(_))) => parsed,
        _ => value,
    }
}

/// Exact numbers come as texts when they are longer than a number of JSON.
fn number(value: Value) -> Value {
    let Value::String(text) = &value else { return value };
    let whole = text.trim().parse::<i64>().ok().map(Value::from);
    let real = || text.trim().parse::<f64>().ok().and_then(serde_json::Number::from_f64);
    whole.or_else(|| real().map(Value::Number)).unwrap_or(value)
}

fn point_in_time(value: Value) -> Value {
    if value.is_string() && moment(&value).is_some() {
        return value;
    }
    match moment_millis(&value) {
        Some(millis) => Timestamp::from_millis(millis).to_string().into(),
        None => value,
    }
}
