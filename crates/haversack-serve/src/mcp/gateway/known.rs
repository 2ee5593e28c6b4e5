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

impl Takes {
    /// What a tool's schema says.
    fn of(schema: &Value) -> Takes {
        if let Some(own) = schema.get("properties").and_then(|all| all.get(ARGUMENT)) {
            let is_text = own.get("type").is_some_and(|sort| sort == "string");
            return if is_text { Takes::Text } else { Takes::Object };
        }
        let closed = ["additionalProperties", "unevaluatedProperties"]
            .iter()
            .any(|name| schema.get(name) == Some(&Value::Bool(false)));
        if closed { Takes::Nothing } else { Takes::Object }
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
    }
}
