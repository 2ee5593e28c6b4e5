//! Schemas for models and their clients: one document without references, union types or
//! language-specific formats.

use rmcp::model::JsonObject;
use schemars::SchemaGenerator;
use schemars::generate::SchemaSettings;
use serde_json::Value;

use crate::route::SchemaFn;

/// The schema of a tool's arguments, with descriptions, which the model reads.
pub(crate) fn input_schema(shape: SchemaFn) -> JsonObject {
    generate(shape, true)
}

/// The schema of a tool's result, without descriptions.
pub(crate) fn output_schema(shape: SchemaFn) -> JsonObject {
    generate(shape, false)
}

fn generate(shape: SchemaFn, described: bool) -> JsonObject {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.meta_schema = None;
        settings.inline_subschemas = true;
    });
    let mut generator = SchemaGenerator::new(settings);
    let mut schema = shape(&mut generator).to_value();
    simplify(&mut schema, described);
    match schema {
        Value::Object(schema) => schema,
        _ => JsonObject::new(),
    }
}

/// Removes keywords that not every client understands.
fn simplify(schema: &mut Value, described: bool) {
    match schema {
        Value::Array(parts) => parts.iter_mut().for_each(|part| simplify(part, described)),
        Value::Object(parts) => {
            remove_null_type(parts);
            let is_number = |value: &Value| matches!(value.as_str(), Some("integer" | "number"));
            if parts.get("type").is_some_and(is_number) {
                parts.shift_remove("format");
            }
            // Only as a keyword: a property may have any name.
            if parts.get("title").is_some_and(Value::is_string) {
                parts.shift_remove("title");
            }
            if !described && parts.get("description").is_some_and(Value::is_string) {
                parts.shift_remove("description");
            }
            if parts.get("default").is_some_and(Value::is_null) {
                parts.shift_remove("default");
            }
            for part in parts.values_mut() {
                simplify(part, described);
            }
        }
        _ => {}
    }
}

/// Removes `null` from optional types.
fn remove_null_type(schema: &mut JsonObject) {
    if let Some(Value::Array(types)) = schema.get_mut("type") {
        types.retain(|name| name != "null");
        if let [only] = &types[..] {
            let only = only.clone();
            schema.insert("type".to_owned(), only);
        }
    }
    if let Some(Value::Array(choices)) = schema.get_mut("anyOf") {
        choices.retain(|choice| choice.get("type").is_none_or(|name| name != "null"));
        if choices.len() == 1
            && let Some(Value::Object(only)) = choices.pop()
        {
            schema.shift_remove("anyOf");
            for (name, part) in only {
                schema.entry(name).or_insert(part);
            }
        } else if choices.iter().all(|choice| choice.get("type").is_some_and(Value::is_string)) {
            // A number or a text: without a type either is allowed.
            schema.shift_remove("anyOf");
        }
    }
}
