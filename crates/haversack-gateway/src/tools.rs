//! The wrapped server's tools: whether they accept context, and in which form.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

/// The argument that holds context.
pub(crate) const ARGUMENT: &str = "_context";

/// Most tools that are remembered.
const TOOLS_MAX: usize = 10_000;

/// In which form a tool takes context.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ContextForm {
    /// Not at all.
    Nothing,
    /// As an object.
    Object,
    /// As a text.
    Text,
}

/// How deep a schema is followed; anything deeper counts as forbidden.
const DEPTH_MAX: usize = 32;

/// The forms of context that a part of a schema allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct AllowedForms {
    object: bool,
    text: bool,
}

impl AllowedForms {
    const NONE: AllowedForms = AllowedForms { object: false, text: false };
    const ANY: AllowedForms = AllowedForms { object: true, text: true };

    fn and(self, other: AllowedForms) -> AllowedForms {
        AllowedForms { object: self.object && other.object, text: self.text && other.text }
    }

    fn or(self, other: AllowedForms) -> AllowedForms {
        AllowedForms { object: self.object || other.object, text: self.text || other.text }
    }
}

impl ContextForm {
    /// Reads a tool's schema with its references and unions. In doubt the argument is not allowed.
    fn from_schema(schema: &Value) -> ContextForm {
        let forms = ToolSchema { root: schema }.arguments(schema, 0);
        match forms {
            AllowedForms { object: true, .. } => ContextForm::Object,
            AllowedForms { text: true, .. } => ContextForm::Text,
            AllowedForms { object: false, text: false } => ContextForm::Nothing,
        }
    }
}

/// A schema in which references are looked up.
struct ToolSchema<'s> {
    root: &'s Value,
}

impl ToolSchema<'_> {
    /// In which forms the arguments may hold context.
    fn arguments(&self, part: &Value, depth: usize) -> AllowedForms {
        let Some(object) = part.as_object() else {
            return if part == &Value::Bool(false) {
                AllowedForms::NONE
            } else {
                AllowedForms::ANY
            };
        };
        // These keywords are not evaluated here and may forbid another argument.
        let narrows = [
            "const",
            "dependentSchemas",
            "else",
            "enum",
            "if",
            "maxProperties",
            "not",
            "propertyNames",
            "then",
        ];
        if depth > DEPTH_MAX || narrows.iter().any(|name| object.contains_key(*name)) {
            return AllowedForms::NONE;
        }
        let declared = object.get("properties").and_then(|all| all.get(ARGUMENT));
        let has_patterns = object.contains_key("patternProperties");
        let own = match declared {
            Some(declared) => self.value(declared, depth + 1),
            None if has_patterns => AllowedForms::NONE,
            None => ["additionalProperties", "unevaluatedProperties"]
                .iter()
                .filter_map(|name| object.get(*name))
                .map(|rest| self.value(rest, depth + 1))
                .fold(AllowedForms::ANY, AllowedForms::and),
        };
        // Any branch of a union may apply, so all must allow it.
        let branches = ["allOf", "anyOf", "oneOf"]
            .iter()
            .filter_map(|name| object.get(*name).and_then(Value::as_array))
            .flatten()
            .map(|branch| self.arguments(branch, depth + 1))
            .fold(AllowedForms::ANY, AllowedForms::and);
        let referred = match object.get("$ref").or_else(|| object.get("$dynamicRef")) {
            None => AllowedForms::ANY,
            Some(reference) => self
                .resolve(reference)
                .map_or(AllowedForms::NONE, |target| self.arguments(target, depth + 1)),
        };
        own.and(branches).and(referred)
    }

    /// In which forms a value may be context.
    fn value(&self, part: &Value, depth: usize) -> AllowedForms {
        let Some(object) = part.as_object() else {
            return if part == &Value::Bool(false) {
                AllowedForms::NONE
            } else {
                AllowedForms::ANY
            };
        };
        let narrows =
            ["additionalProperties", "const", "enum", "maxLength", "not", "pattern", "required"];
        if depth > DEPTH_MAX || narrows.iter().any(|name| object.contains_key(*name)) {
            // A closed object does not accept the context's fields.
            let is_open = object.get("additionalProperties").is_some_and(|rest| *rest != false);
            let others = narrows[1..].iter().any(|name| object.contains_key(*name));
            if !is_open || others || depth > DEPTH_MAX {
                return AllowedForms::NONE;
            }
        }
        let of_type =
            |sort: &Value| AllowedForms { object: sort == "object", text: sort == "string" };
        let own = match object.get("type") {
            None => AllowedForms::ANY,
            Some(Value::Array(sorts)) => {
                sorts.iter().map(of_type).fold(AllowedForms::NONE, AllowedForms::or)
            }
            Some(sort) => of_type(sort),
        };
        let all = |name: &str,
                   join: fn(AllowedForms, AllowedForms) -> AllowedForms,
                   first: AllowedForms| {
            let branches = object.get(name).and_then(Value::as_array);
            branches.map_or(AllowedForms::ANY, |branches| {
                branches.iter().map(|branch| self.value(branch, depth + 1)).fold(first, join)
            })
        };
        let unions = all("anyOf", AllowedForms::or, AllowedForms::NONE).and(all(
            "oneOf",
            AllowedForms::or,
            AllowedForms::NONE,
        ));
        let referred = match object.get("$ref") {
            None => AllowedForms::ANY,
            Some(reference) => self
                .resolve(reference)
                .map_or(AllowedForms::NONE, |target| self.value(target, depth + 1)),
        };
        own.and(unions).and(all("allOf", AllowedForms::and, AllowedForms::ANY)).and(referred)
    }

    /// The target of a reference inside the schema.
    fn resolve(&self, reference: &Value) -> Option<&Value> {
        let pointer = reference.as_str()?.strip_prefix('#')?;
        if pointer.is_empty() { Some(self.root) } else { self.root.pointer(pointer) }
    }
}

/// The tools that a server has listed.
#[derive(Debug, Default)]
pub(crate) struct ListedTools(BTreeMap<String, ContextForm>);

impl ListedTools {
    /// Reads a page of a list of tools.
    pub(crate) fn learn(&mut self, result: &Map<String, Value>) {
        for tool in result.get("tools").and_then(Value::as_array).into_iter().flatten() {
            let Some(name) = tool.get("name").and_then(Value::as_str) else { continue };
            if self.0.len() >= TOOLS_MAX && !self.0.contains_key(name) {
                return;
            }
            let form = ContextForm::from_schema(tool.get("inputSchema").unwrap_or(&Value::Null));
            self.0.insert(name.to_owned(), form);
        }
    }

    /// Forgets everything: the list has changed.
    pub(crate) fn forget(&mut self) {
        self.0.clear();
    }

    /// In which form a tool accepts context, if it was listed.
    pub(crate) fn context_form(&self, tool: &str) -> Option<ContextForm> {
        self.0.get(tool).copied()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(schema: &Value, expected: ContextForm) {
        let mut tools = ListedTools::default();
        let list = json!({ "tools": [{ "name": "t", "inputSchema": schema }] });
        tools.learn(list.as_object().unwrap());
        assert_eq!(tools.context_form("t"), Some(expected));
    }

    #[test]
    fn a_schema_decides_whether_a_tool_gets_context_s7() {
        check(&json!({ "type": "object" }), ContextForm::Object);
        check(&json!({ "type": "object", "additionalProperties": true }), ContextForm::Object);
        check(&json!({ "type": "object", "additionalProperties": false }), ContextForm::Nothing);
        check(&json!({ "type": "object", "unevaluatedProperties": false }), ContextForm::Nothing);
        let named = |sort: &str| {
            let properties = json!({ "_context": { "type": sort } });
            json!({ "properties": properties, "additionalProperties": false })
        };
        check(&named("string"), ContextForm::Text);
        check(&named("object"), ContextForm::Object);
        check(&named("number"), ContextForm::Nothing);
    }

    #[test]
    fn references_and_unions_of_a_schema_count_s7() {
        let closed = json!({ "type": "object", "additionalProperties": false });
        let open = json!({ "type": "object", "properties": { "a": { "type": "string" } } });
        for union in ["anyOf", "oneOf", "allOf"] {
            check(&json!({ "type": "object", union: [open, closed] }), ContextForm::Nothing);
            check(&json!({ "type": "object", union: [open, open] }), ContextForm::Object);
        }
        let refers =
            |target: &Value| json!({ "$ref": "#/$defs/call", "$defs": { "call": target } });
        check(&refers(&closed), ContextForm::Nothing);
        check(&refers(&open), ContextForm::Object);
        check(&json!({ "$ref": "https://elsewhere.example/schema" }), ContextForm::Nothing);
        check(&json!({ "$ref": "#" }), ContextForm::Nothing);
        check(&json!({ "additionalProperties": { "type": "string" } }), ContextForm::Text);
        check(&json!({ "additionalProperties": { "type": "number" } }), ContextForm::Nothing);
        check(&json!({ "patternProperties": { "^x-": {} } }), ContextForm::Nothing);
        check(&json!({ "propertyNames": { "pattern": "^[a-z]+$" } }), ContextForm::Nothing);
        let strict = json!({ "type": "object", "additionalProperties": false });
        check(&json!({ "properties": { "_context": strict } }), ContextForm::Nothing);
        let either = json!({ "anyOf": [{ "type": "null" }, { "type": "string" }] });
        check(&json!({ "properties": { "_context": either } }), ContextForm::Text);
    }
}
