//! Knowledge graphs of Zep and Graphiti as JSON: facts, summaries of entities, and episodes.

use std::collections::BTreeMap;

use serde_json::Value;

use super::fields;
use super::mem0::new_memory;
use crate::conversations::json::{self, Shape};
use crate::conversations::turn::{Keys, Tally, hash, name};
use crate::conversations::when::{moment, rfc3339};
use crate::part::{Part, PartSink, ReadFailure};
use crate::source::{FileHead, SourceFile};
use crate::table::Reader;

/// The reader of graphs.
pub(crate) const READER: Reader = Reader {
    name: "Graphiti graph",
    extensions: &["json"],
    recognises: is_graph,
    is_isolated: false,
    read,
};

const FACTS: &[&str] = &["edges", "facts"];

/// Whether it is a graph: facts with their validity.
fn is_graph(head: &FileHead) -> bool {
    let shape = Shape::of(head.text());
    let is_fact = |start: &str| {
        let has = |name: &str| shape.has(&format!("{start}.{name}"));
        has("fact") && (has("uuid") || has("valid_at") || has("created_at"))
    };
    let is_node = shape.has_all(&["nodes[].uuid", "nodes[].summary"]);
    is_fact("[]") || FACTS.iter().any(|name| is_fact(&format!("{name}[]"))) || is_node
}

/// Reads a graph.
fn read(source: &mut SourceFile<'_>, sink: &mut PartSink<'_>) -> Result<(), ReadFailure> {
    let graph = json::parse(&source.read_all()?)?;
    let (mut keys, mut tally) = (Keys::default(), Tally::default());
    let mut names: BTreeMap<&str, &str> = BTreeMap::new();
    for node in json::list(&graph, "nodes") {
        if let (Some(id), Some(name)) = (json::text(node, "uuid"), json::text(node, "name")) {
            names.insert(id, name);
        }
    }
    for episode in json::list(&graph, "episodes").iter().chain(json::list(&graph, "messages")) {
        write_episode(episode, &mut keys, &mut tally, sink)?;
    }
    for node in json::list(&graph, "nodes") {
        write_node(node, &mut keys, &mut tally, sink)?;
    }
    let own = graph.as_array().map_or(&[][..], Vec::as_slice);
    let lists = FACTS.iter().map(|name| json::list(&graph, name)).chain([own]);
    for fact in lists.flatten() {
        write_fact(fact, &names, &mut keys, &mut tally, sink)?;
    }
    tally.give_summary(sink)
}

fn write_fact(
    fact: &Value,
    names: &BTreeMap<&str, &str>,
    keys: &mut Keys,
    tally: &mut Tally,
    sink: &mut PartSink<'_>,
) -> Result<(), ReadFailure> {
    let Some(text) = json::text(fact, "fact") else {
        tally.leave("facts without text");
        return Ok(());
    };
    let id = json::id(fact, "uuid").unwrap_or_else(|| hash(&[text]));
    let mut part = new_memory(keys.key(&id), text);
    part.set_field("type", "fact");
    part.created = moment(&fact["created_at"]);
    part.updated = moment(&fact["expired_at"]).or(part.created);
    for (from, field) in [("valid_at", "validFrom"), ("invalid_at", "validUntil")] {
        if let Some(at) = moment(&fact[from]).and_then(rfc3339) {
            part.set_field(field, &at);
        }
    }
    // What was replaced without a known end holds until the graph noticed.
    if !part.fields.contains_key("validUntil")
        && let Some(at) = moment(&fact["expired_at"]).and_then(rfc3339)
    {
        part.set_field("validUntil", &at);
    }
    for (from, field) in [("source_node_uuid", "subject"), ("target_node_uuid", "object")] {
        let known = json::text(fact, from).and_then(|id| names.get(id));
        part.set_field(field, &known.map(|known| name(known)).unwrap_or_default());
    }
    part.set_field("relation", &name(json::text(fact, "name").unwrap_or_default()));
    keep_rest(
        fact,
        &[
            "fact",
            "name",
            "valid_at",
            "invalid_at",
            "expired_at",
            "fact_embedding",
            "source_node_uuid",
            "target_node_uuid",
            "episodes",
        ],
        &mut part,
        tally,
    );
    tally.take("facts");
    sink.part(part)
}

fn write_node(
    node: &Value,
    keys: &mut Keys,
    tally: &mut Tally,
    sink: &mut PartSink<'_>,
) -> Result<(), ReadFailure> {
    let Some(summary) = json::text(node, "summary") else {
        tally.leave("entities without a summary");
        return Ok(());
    };
    let id = json::id(node, "uuid").unwrap_or_else(|| hash(&[summary]));
    let mut part = new_memory(keys.key(&id), summary);
    part.title = name(json::text(node, "name").unwrap_or_default());
    part.set_field("type", "entity");
    part.created = moment(&node["created_at"]);
    part.updated = part.created;
    keep_rest(node, &["name", "summary", "name_embedding"], &mut part, tally);
    tally.take("summaries of entities");
    sink.part(part)
}

fn write_episode(
    episode: &Value,
    keys: &mut Keys,
    tally: &mut Tally,
    sink: &mut PartSink<'_>,
) -> Result<(), ReadFailure> {
    let Some(text) = json::text(episode, "content") else {
        tally.leave("episodes without text");
        return Ok(());
    };
    let id = json::id(episode, "uuid").unwrap_or_else(|| hash(&[text]));
    let mut part = new_memory(keys.key(&id), text);
    part.title = name(json::text(episode, "name").unwrap_or_default());
    part.set_field("type", "episode");
    part.created = moment(&episode["valid_at"]).or_else(|| moment(&episode["created_at"]));
    part.updated = part.created;
    keep_rest(episode, &["content", "name", "valid_at", "entity_edges"], &mut part, tally);
    tally.take("episodes");
    sink.part(part)
}

fn keep_rest(value: &Value, known: &[&str], part: &mut Part, tally: &mut Tally) {
    let Some(rest) = value.as_object() else { return };
    let known: Vec<&str> = known.iter().chain(&["uuid", "created_at"]).copied().collect();
    fields::keep(rest, &known, part, tally);
}
