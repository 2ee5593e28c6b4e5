//! The document store of `LlamaIndex` (`docstore.json`): documents, or the nodes they were split into.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::fields;
use crate::conversations::json::{self, Shape};
use crate::conversations::turn::{Keys, Tally};
use crate::part::{Part, PartSink, ReadFailure};
use crate::source::{FileHead, SourceFile};
use crate::table::Reader;

/// The reader of document stores.
pub(crate) const READER: Reader = Reader {
    name: "LlamaIndex documents",
    extensions: &["json"],
    recognises: is_docstore,
    is_isolated: false,
    read,
};

/// Whether it is such a store.
fn is_docstore(head: &FileHead) -> bool {
    Shape::of(head.text()).has_between("docstore/data.", ".__data__")
}

/// Reads the documents. Of a document that is there as a whole, the nodes are left out.
fn read(source: &mut SourceFile<'_>, sink: &mut PartSink<'_>) -> Result<(), ReadFailure> {
    let store = json::parse(&source.read_all()?)?;
    let Some(data) = store.get("docstore/data").and_then(Value::as_object) else {
        return Err(ReadFailure::malformed("it has no docstore/data"));
    };
    let nodes: Vec<(&String, Map<String, Value>, bool)> =
        data.iter().map(|(id, entry)| (id, node(entry), entry["__type__"] == "4")).collect();
    let wholes: BTreeSet<&str> =
        nodes.iter().filter(|(_, _, is_whole)| *is_whole).map(|(id, ..)| id.as_str()).collect();
    let (mut keys, mut tally) = (Keys::default(), Tally::default());
    for (id, node, _) in &nodes {
        let origin = origin(node);
        if origin.is_some_and(|origin| wholes.contains(origin)) {
            tally.leave("nodes of documents that are there as a whole");
            continue;
        }
        write(id, node, origin, &mut keys, &mut tally, sink)?;
    }
    tally.give_summary(sink)
}

/// A node's data; older versions wrote it as a JSON text.
fn node(entry: &Value) -> Map<String, Value> {
    match &entry["__data__"] {
        Value::Object(data) => data.clone(),
        Value::String(text) => serde_json::from_str(text).unwrap_or_default(),
        _ => Map::new(),
    }
}

/// The id of the document that a node was split from.
fn origin(node: &Map<String, Value>) -> Option<&str> {
    let source = node.get("relationships")?.get("1")?;
    source.get("node_id").unwrap_or(source).as_str()
}

fn write(
    id: &str,
    node: &Map<String, Value>,
    origin: Option<&str>,
    keys: &mut Keys,
    tally: &mut Tally,
    sink: &mut PartSink<'_>,
) -> Result<(), ReadFailure> {
    let resource = node.get("text_resource").and_then(|it| it.get("text"));
    let text =
        node.get("text").filter(|it| it.as_str().is_some_and(|it| !it.is_empty())).or(resource);
    let Some(text) = text.and_then(Value::as_str).filter(|text| !text.trim().is_empty()) else {
        tally.leave("nodes without text");
        return Ok(());
    };
    let metadata = node.get("metadata").or_else(|| node.get("extra_info"));
    let metadata = metadata.and_then(Value::as_object).cloned().unwrap_or_default();
    let mut part = Part::of_file(&fields::title(&metadata), text.to_owned());
    part.key = keys.key(id);
    part.position = i64::try_from(tally.taken("documents")).unwrap_or_default();
    part.set_field("document", &origin.map(crate::conversations::turn::name).unwrap_or_default());
    fields::keep(&metadata, &["document"], &mut part, tally);
    tally.take("documents");
    sink.part(part)
}
