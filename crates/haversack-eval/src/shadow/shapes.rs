//! The shapes in which other systems give a context: texts, documents, nodes, search results.

use serde_json::{Map, Value};

/// Names of the field with the context, in the order in which they are looked for.
pub(super) const CONTEXT_FIELDS: [&str; 12] = [
    "context",
    "contexts",
    "retrieved_contexts",
    "documents",
    "source_documents",
    "source_nodes",
    "nodes",
    "results",
    "memories",
    "chunks",
    "passages",
    "retrieved",
];

/// Lists inside an object that stands for a whole context.
const LIST_FIELDS: [&str; 6] =
    ["documents", "source_documents", "source_nodes", "nodes", "results", "memories"];

/// Fields with a passage's text. Objects that hold the text deeper are in [`INNER_FIELDS`].
const TEXT_FIELDS: [&str; 6] =
    ["text", "page_content", "pageContent", "memory", "content", "chunk"];

/// Objects around a passage: a `LlamaIndex` node with its score, a serialised `LangChain` document.
const INNER_FIELDS: [&str; 3] = ["node", "kwargs", "document"];

/// Fields that say where a passage is from, the most precise first. They are looked for in the
/// passage, then in its metadata.
const SOURCE_FIELDS: [&str; 9] = [
    "source",
    "file_path",
    "path",
    "item_id",
    "document_id",
    "doc_id",
    "ref_doc_id",
    "file_name",
    "id",
];

/// How deep objects are searched for a text.
const DEPTH_MAX: usize = 4;

/// A passage of a context.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContextPassage {
    /// The text that the model got.
    pub text: String,
    /// Where it says that it is from: an id or a path.
    pub source: Option<String>,
}

/// Reads a context of any known shape. An error says what is wrong and where.
pub(super) fn read_context(field: &str, value: &Value) -> Result<Vec<ContextPassage>, String> {
    match value {
        Value::Null => Ok(Vec::new()),
        Value::String(text) => Ok(vec![ContextPassage { text: text.clone(), source: None }]),
        Value::Array(passages) => {
            let named = passages.iter().enumerate();
            named.map(|(place, one)| read_passage(&format!("{field}[{place}]"), one)).collect()
        }
        Value::Object(fields) => {
            match LIST_FIELDS.iter().find(|name| fields.contains_key(**name)) {
                Some(name) => read_context(&format!("{field}.{name}"), &fields[*name]),
                None => Ok(vec![read_passage(field, value)?]),
            }
        }
        other => Err(format!("{field}: {other} is neither a text nor a list of passages")),
    }
}

fn read_passage(field: &str, value: &Value) -> Result<ContextPassage, String> {
    if let Value::String(text) = value {
        return Ok(ContextPassage { text: text.clone(), source: None });
    }
    let Value::Object(fields) = value else {
        return Err(format!("{field}: {value} is neither a text nor an object with one"));
    };
    match passage(fields, DEPTH_MAX) {
        Some(passage) => Ok(passage),
        None => Err(format!("{field}: there is no text in it; say {}", TEXT_FIELDS.join(", "))),
    }
}

fn passage(fields: &Map<String, Value>, depth: usize) -> Option<ContextPassage> {
    let inner = INNER_FIELDS.iter().filter_map(|name| fields.get(*name)?.as_object());
    for inner in inner.filter(|_| depth > 0) {
        if let Some(found) = passage(inner, depth - 1) {
            let source = found.source.or_else(|| source(fields));
            return Some(ContextPassage { source, ..found });
        }
    }
    let text = TEXT_FIELDS.iter().find_map(|name| fields.get(*name)?.as_str())?;
    Some(ContextPassage { text: text.to_owned(), source: source(fields) })
}

/// Where a passage is from, by itself or by its metadata.
pub(super) fn source(fields: &Map<String, Value>) -> Option<String> {
    let name_in = |fields: &Map<String, Value>, name: &str| match fields.get(name)? {
        Value::String(text) if !text.is_empty() => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    };
    let metadata = ["metadata", "extra_info", "meta"].iter();
    let metadata: Vec<_> = metadata.filter_map(|name| fields.get(*name)?.as_object()).collect();
    SOURCE_FIELDS.iter().find_map(|name| {
        name_in(fields, name)
            .or_else(|| metadata.iter().find_map(|metadata| name_in(metadata, name)))
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// The passages of a context as `text (source)`, or what is wrong with it.
    fn check(context: &Value, expected: &str) {
        let shown = match read_context("context", context) {
            Err(what) => what,
            Ok(passages) => {
                let one = |passage: &ContextPassage| match &passage.source {
                    Some(source) => format!("{} ({source})", passage.text),
                    None => passage.text.clone(),
                };
                passages.iter().map(one).collect::<Vec<_>>().join(" | ")
            }
        };
        assert_eq!(shown, expected, "{context}");
    }

    #[test]
    fn contexts_of_many_systems_are_read() {
        check(&json!(null), "");
        check(&json!("one text"), "one text");
        check(&json!(["a", "b"]), "a | b");
        check(&json!([{ "text": "a", "source": "docs/a.md" }, "b"]), "a (docs/a.md) | b");
        // LangChain: documents, plain and serialised.
        let document = json!({ "page_content": "a", "metadata": { "source": "a.pdf", "page": 2 } });
        check(&json!([document.clone()]), "a (a.pdf)");
        check(&json!({ "source_documents": [document.clone()] }), "a (a.pdf)");
        check(&json!([{ "lc": 1, "type": "constructor", "kwargs": document }]), "a (a.pdf)");
        // LlamaIndex: nodes with scores.
        let node = json!({ "id_": "n1", "text": "a", "metadata": { "file_path": "/data/a.md" } });
        check(&json!({ "source_nodes": [{ "node": node, "score": 0.8 }] }), "a (/data/a.md)");
        // mem0: results of a search.
        let memory = json!({ "id": "m1", "memory": "likes tea", "score": 0.4, "user_id": "u" });
        check(&json!({ "results": [memory.clone()], "relations": [] }), "likes tea (m1)");
        check(&json!([memory]), "likes tea (m1)");
    }

    #[test]
    fn what_is_no_context_is_named() {
        check(&json!(7), "context: 7 is neither a text nor a list of passages");
        check(&json!(["a", 7]), "context[1]: 7 is neither a text nor an object with one");
        let expected = "context[0]: there is no text in it; say text, page_content, pageContent, \
                        memory, content, chunk";
        check(&json!([{ "score": 1 }]), expected);
        let expected = expected.replace("context[0]", "context.results[0]");
        check(&json!({ "results": [{}] }), &expected);
    }
}
