//! What is known of the wrapped server's tools: whether they take context, and in which form.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

/// The argument that holds context.
pub(super) const ARGUMENT: &str = "_context";

/// Tools that are remembered.
const TOOLS_MAX: usize = 10_000;

/// In which form a tool takes context.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Takes {
    /// Not at all.
    Nothing,
    /// As an object.
    Object,
    /// As a text.
    Text,
}

/// How deep a schema is followed; what is deeper is taken to forbid it.
const DEPTH_MAX: usize = 32;

/// The forms that a part of a schema allows context in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Forms {
    object: bool,
    text: bool,
}

impl Forms {
    const NONE: Forms = Forms { object: false, text: false };
    const ANY: Forms = Forms { object: true, text: true };

    fn and(self, other: Forms) -> Forms {
        Forms { object: self.object && other.object, text: self.text && other.text }
    }

    fn or(self, other: Forms) -> Forms {
        Forms { object: self.object || other.object, text: self.text || other.text }
    }
}

impl Takes {
    /// What a tool's whole schema says, references and unions included. Where it is not certain that
    /// the argument is allowed, it is not added.
    fn of(schema: &Value) -> Takes {
        let forms = Schema { root: schema }.arguments(schema, 0);
        match forms {
            Forms { object: true, .. } => Takes::Object,
            Forms { text: true, .. } => Takes::Text,
            Forms { object: false, text: false } => Takes::Nothing,
        }
    }
}

/// A schema in which references are looked up.
struct Schema<'s> {
    root: &'s Value,
}

impl Schema<'_> {
    /// In which forms the arguments may hold context.
    fn arguments(&self, part: &Value, depth: usize) -> Forms {
        let Some(object) = part.as_object() else {
            return if part == &Value::Bool(false) { Forms::NONE } else { Forms::ANY };
        };
        // What narrows arguments in ways that are not followed here may well forbid another one.
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
            return Forms::NONE;
        }
        let declared = object.get("properties").and_then(|all| all.get(ARGUMENT));
        let has_patterns = object.contains_key("patternProperties");
        let own = match declared {
            Some(declared) => self.value(declared, depth + 1),
            None if has_patterns => Forms::NONE,
            None => ["additionalProperties", "unevaluatedProperties"]
                .iter()
                .filter_map(|name| object.get(*name))
                .map(|rest| self.value(rest, depth + 1))
                .fold(Forms::ANY, Forms::and),
        };
        // Which branch of a union a call takes is not known, so all must allow it.
        let branches = ["allOf", "anyOf", "oneOf"]
            .iter()
            .filter_map(|name| object.get(*name).and_then(Value::as_array))
            .flatten()
            .map(|branch| self.arguments(branch, depth + 1))
            .fold(Forms::ANY, Forms::and);
        let referred = match object.get("$ref").or_else(|| object.get("$dynamicRef")) {
            None => Forms::ANY,
            Some(reference) => self
                .resolve(reference)
                .map_or(Forms::NONE, |target| self.arguments(target, depth + 1)),
        };
        own.and(branches).and(referred)
    }

    /// In which forms a value may be context.
    fn value(&self, part: &Value, depth: usize) -> Forms {
        let Some(object) = part.as_object() else {
            return if part == &Value::Bool(false) { Forms::NONE } else { Forms::ANY };
        };
        let narrows =
            ["additionalProperties", "const", "enum", "maxLength", "not", "pattern", "required"];
        if depth > DEPTH_MAX || narrows.iter().any(|name| object.contains_key(*name)) {
            // An object that only takes what it names does not take what is handed over here.
            let is_open = object.get("additionalProperties").is_some_and(|rest| *rest != false);
            let others = narrows[1..].iter().any(|name| object.contains_key(*name));
            if !is_open || others || depth > DEPTH_MAX {
                return Forms::NONE;
            }
        }
        let of_type = |sort: &Value| Forms { object: sort == "object", text: sort == "string" };
        let own = match object.get("type") {
            None => Forms::ANY,
            Some(Value::Array(sorts)) => sorts.iter().map(of_type).fold(Forms::NONE, Forms::or),
            Some(sort) => of_type(sort),
        };
        let all = |name: &str, join: fn(Forms, Forms) -> Forms, first: Forms| {
            let branches = object.get(name).and_then(Value::as_array);
            branches.map_or(Forms::ANY, |branches| {
                branches.iter().map(|branch| self.value(branch, depth + 1)).fold(first, join)
            })
        };
        let unions = all("anyOf", Forms::or, Forms::NONE).and(all("oneOf", Forms::or, Forms::NONE));
        let referred = match object.get("$ref") {
            None => Forms::ANY,
            Some(reference) => {
                self.resolve(reference).map_or(Forms::NONE, |target| self.value(target, depth + 1))
            }
        };
        own.and(unions).and(all("allOf", Forms::and, Forms::ANY)).and(referred)
    }

    /// What a reference inside of the schema points to.
    fn resolve(&self, reference: &Value) -> Option<&Value> {
        let pointer = reference.as_str()?.strip_prefix('#')?;
        if pointer.is_empty() { Some(self.root) } else { self.root.pointer(pointer) }
    }
}

/// The tools that a server has listed.
#[derive(Debug, Default)]
pub(super) struct Known(BTreeMap<String, Takes>);

impl Known {
    /// Reads a page of a list of tools.
    pub(super) fn learn(&mut self, result: &Map<String, Value>) {
        for tool in result.get("tools").and_then(Value::as_array).into_iter().flatten() {
            let Some(name) = tool.get("name").and_then(Value::as_str) else { continue };
            if self.0.len() >= TOOLS_MAX && !self.0.contains_key(name) {
                return;
            }
            let takes = Takes::of(tool.get("inputSchema").unwrap_or(&Value::Null));
            self.0.insert(name.to_owned(), takes);
        }
    }

    /// Forgets everything: the list has changed.
    pub(super) fn forget(&mut self) {
        self.0.clear();
    }

    /// In which form a tool takes context, if it was listed.
    pub(super) fn takes(&self, tool: &str) -> Option<Takes> {
        self.0.get(tool).copied()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(schema: &Value, expected: Takes) {
        let mut known = Known::default();
        let list = json!({ "tools": [{ "name": "t", "inputSchema": schema }] });
        known.learn(list.as_object().unwrap());
        assert_eq!(known.takes("t"), Some(expected));
    }

    #[test]
    fn a_schema_says_whether_a_tool_takes_context_s7() {
        check(&json!({ "type": "object" }), Takes::Object);
        check(&json!({ "type": "object", "additionalProperties": true }), Takes::Object);
        check(&json!({ "type": "object", "additionalProperties": false }), Takes::Nothing);
        check(&json!({ "type": "object", "unevaluatedProperties": false }), Takes::Nothing);
        let named = |sort: &str| {
            let properties = json!({ "_context": { "type": sort } });
            json!({ "properties": properties, "additionalProperties": false })
        };
        check(&named("string"), Takes::Text);
        check(&named("object"), Takes::Object);
        check(&named("number"), Takes::Nothing);
    }

    #[test]
    fn references_and_unions_of_a_schema_count_s7() {
        let closed = json!({ "type": "object", "additionalProperties": false });
        let open = json!({ "type": "object", "properties": { "a": { "type": "string" } } });
        for union in ["anyOf", "oneOf", "allOf"] {
            check(&json!({ "type": "object", union: [open, closed] }), Takes::Nothing);
            check(&json!({ "type": "object", union: [open, open] }), Takes::Object);
        }
        let refers =
            |target: &Value| json!({ "$ref": "#/$defs/call", "$defs": { "call": target } });
        check(&refers(&closed), Takes::Nothing);
        check(&refers(&open), Takes::Object);
        check(&json!({ "$ref": "https://elsewhere.example/schema" }), Takes::Nothing);
        check(&json!({ "$ref": "#" }), Takes::Nothing);
        check(&json!({ "additionalProperties": { "type": "string" } }), Takes::Text);
        check(&json!({ "additionalProperties": { "type": "number" } }), Takes::Nothing);
        check(&json!({ "patternProperties": { "^x-": {} } }), Takes::Nothing);
        check(&json!({ "propertyNames": { "pattern": "^[a-z]+$" } }), Takes::Nothing);
        let strict = json!({ "type": "object", "additionalProperties": false });
        check(&json!({ "properties": { "_context": strict } }), Takes::Nothing);
        let either = json!({ "anyOf": [{ "type": "null" }, { "type": "string" }] });
        check(&json!({ "properties": { "_context": either } }), Takes::Text);
    }
}
