//! Data exports of ChatGPT: `conversations.json`, alone or in its archive.

use std::collections::BTreeSet;

use serde_json::Value;

use super::json::{self, Shape, read_pieces};
use super::turn::{Header, Keys, Tally, Turn, fenced, read_conversations, write_conversation};
use super::when::moment;
use crate::archive::BoundedArchive;
use crate::part::{PartSink, ReadFailure};
use crate::source::{FileHead, SourceFile};
use crate::table::Reader;

/// The reader of archives of ChatGPT.
pub(crate) const ARCHIVE_READER: Reader = Reader {
    name: "ChatGPT archive",
    extensions: &["zip"],
    recognises: is_archive,
    is_isolated: true,
    read: read_archive,
};

/// The reader of conversations of ChatGPT.
pub(crate) const READER: Reader = Reader {
    name: "ChatGPT conversations",
    extensions: &["json"],
    recognises: is_json,
    is_isolated: false,
    read: read_json,
};

const SOURCE: &str = "ChatGPT";

/// Whether it is the list of conversations itself.
fn is_json(head: &FileHead) -> bool {
    let shape = Shape::of(head.text());
    let is_list = shape.has("[].mapping") && shape.has_between("[].mapping.", ".children");
    let is_one = shape.has("mapping") && shape.has_between("mapping.", ".children");
    is_list || is_one
}

/// Whether it is the archive of an export.
fn is_archive(head: &FileHead) -> bool {
    let own = ["chat.html", "user.json", "message_feedback.json", "model_comparisons.json"];
    let is_own = |name: &str| head.entries.iter().any(|entry| entry.ends_with(name));
    // Claude's archive has users.json, projects.json and no page of all chats.
    let others = ["users.json", "projects.json", "channels.json"];
    conversation_entries(&head.entries).next().is_some()
        && own.into_iter().any(is_own)
        && !others.iter().any(|name| head.has_entry(name))
}

fn conversation_entries(entries: &[String]) -> impl Iterator<Item = &String> {
    entries.iter().filter(|entry| {
        let name = entry.rsplit('/').next().unwrap_or(entry);
        name.starts_with("conversations") && name.ends_with(".json")
    })
}

/// Reads the list of conversations.
fn read_json(source: &mut SourceFile<'_>, sink: &mut PartSink<'_>) -> Result<(), ReadFailure> {
    read_conversations(source, write, sink)
}

/// Reads an archive.
fn read_archive(source: &mut SourceFile<'_>, sink: &mut PartSink<'_>) -> Result<(), ReadFailure> {
    let mut archive = BoundedArchive::open(source)?;
    let names = archive.names();
    let mut entries: Vec<&String> = conversation_entries(&names).collect();
    entries.sort();
    let (mut threads, mut tally) = (Keys::default(), Tally::default());
    for entry in &entries {
        read_pieces(archive.stream(entry)?, &["*"], &mut |_, conversation| {
            write(&conversation, &mut threads, &mut tally, sink)
        })?;
    }
    let is_page = |name: &&String| name.ends_with(".html") || name.ends_with(".json");
    let files = names.iter().filter(|name| !is_page(name)).count() as u64;
    tally.leave_many("attached files", files);
    tally.give_omissions(sink)
}

fn write(
    conversation: &Value,
    threads: &mut Keys,
    tally: &mut Tally,
    sink: &mut PartSink<'_>,
) -> Result<(), ReadFailure> {
    let mut header = Header {
        id: json::id(conversation, "conversation_id")
            .or_else(|| json::id(conversation, "id"))
            .unwrap_or_else(|| super::turn::hash(&[&conversation["create_time"].to_string()])),
        title: json::text(conversation, "title").unwrap_or("Untitled chat").to_owned(),
        source: SOURCE,
        created: moment(&conversation["create_time"]),
        updated: moment(&conversation["update_time"]),
        ..Header::default()
    };
    for name in ["default_model_slug", "gizmo_id"] {
        if let Some(value) = json::text(conversation, name) {
            header.fields.insert(name.to_owned(), Value::from(value));
        }
    }
    let mut turns = Vec::new();
    for node in branch(conversation, tally) {
        let Some(message) = node.get("message").filter(|message| message.is_object()) else {
            continue;
        };
        if let Some(instructions) = custom_instructions(&message["content"]) {
            header.fields.insert("instructions".to_owned(), Value::from(instructions));
            continue;
        }
        turns.extend(turn(message, tally));
    }
    write_conversation(header, turns, threads, tally, sink)
}

/// The nodes of the branch that was open last, first node first.
fn branch<'c>(conversation: &'c Value, tally: &mut Tally) -> Vec<&'c Value> {
    let Some(mapping) = conversation.get("mapping").and_then(Value::as_object) else {
        return Vec::new();
    };
    let current = json::text(conversation, "current_node");
    let mut at = current.filter(|id| mapping.contains_key(*id)).or_else(|| latest_leaf(mapping));
    let (mut nodes, mut seen) = (Vec::new(), BTreeSet::new());
    while let Some(id) = at {
        let Some(node) = mapping.get(id).filter(|_| seen.insert(id)) else { break };
        nodes.push(node);
        at = json::text(node, "parent");
    }
    nodes.reverse();
    let is_written = |(id, node): &(&String, &Value)| {
        !seen.contains(id.as_str())
            && node
                .pointer("/message/author/role")
                .is_some_and(|role| role == "user" || role == "assistant")
    };
    tally
        .leave_many("messages of other branches", mapping.iter().filter(is_written).count() as u64);
    nodes
}

/// The last leaf by time: exports of single chats can lack the current node.
fn latest_leaf(mapping: &serde_json::Map<String, Value>) -> Option<&str> {
    let leaves = mapping.iter().filter(|(_, node)| json::list(node, "children").is_empty());
    let dated = leaves
        .map(|(id, node)| (node.pointer("/message/create_time").and_then(moment), id.as_str()));
    dated.max().map(|(_, id)| id)
}

fn custom_instructions(content: &Value) -> Option<String> {
    if content["content_type"] != "user_editable_context" {
        return None;
    }
    let texts = ["user_profile", "user_instructions"].map(|name| json::text(content, name));
    Some(texts.into_iter().flatten().map(str::trim).collect::<Vec<_>>().join("\n\n"))
}

fn turn(message: &Value, tally: &mut Tally) -> Option<Turn> {
    let role = message.pointer("/author/role").and_then(Value::as_str).unwrap_or_default();
    let (role, author) = match role {
        "user" => ("user", "User"),
        "assistant" => ("assistant", SOURCE),
        "tool" => {
            tally.leave("messages of tools");
            return None;
        }
        _ => {
            if !content_text(&message["content"]).trim().is_empty() {
                tally.leave("system messages");
            }
            return None;
        }
    };
    let content = &message["content"];
    let hidden = &message["metadata"]["is_visually_hidden_from_conversation"];
    let to_tool = json::text(message, "recipient").is_some_and(|to| to != "all");
    let kind = json::text(content, "content_type").unwrap_or("text");
    let left = match kind {
        _ if hidden == &Value::Bool(true) => Some("hidden messages"),
        _ if to_tool => Some("calls of tools"),
        "thoughts" | "reasoning_recap" => Some("thoughts of the model"),
        "model_editable_context" => Some("hidden messages"),
        "system_error" => Some("error messages"),
        _ => None,
    };
    let text = content_text(content);
    let left = left.or_else(|| text.trim().is_empty().then_some("messages without text"));
    if let Some(left) = left {
        tally.leave(left);
        return None;
    }
    let mut turn = Turn {
        id: json::id(message, "id"),
        author: author.to_owned(),
        role: Some(role),
        text: without_citation_marks(&text),
        created: moment(&message["create_time"]),
        updated: moment(&message["update_time"]),
        ..Turn::default()
    };
    if let Some(model) = json::text(&message["metadata"], "model_slug") {
        turn.fields.insert("model".to_owned(), Value::from(model));
    }
    Some(turn)
}

/// The text of a message's content, with `[image]` for pictures.
fn content_text(content: &Value) -> String {
    if content["content_type"] == "code" {
        let text = json::text(content, "text").unwrap_or_default();
        let language = json::text(content, "language").filter(|it| *it != "unknown");
        return if text.is_empty() {
            String::new()
        } else {
            fenced(language.unwrap_or_default(), text)
        };
    }
    let parts = json::list(content, "parts").iter().map(part_text);
    let mut texts: Vec<String> = parts.filter(|text| !text.trim().is_empty()).collect();
    if texts.is_empty() {
        texts.extend(
            ["text", "result"].iter().filter_map(|it| json::text(content, it)).map(str::to_owned),
        );
    }
    texts.join("\n\n")
}

fn part_text(part: &Value) -> String {
    if let Some(text) = part.as_str() {
        return text.to_owned();
    }
    let kind = json::text(part, "content_type").unwrap_or_default();
    match kind {
        "image_asset_pointer" => "[image]".to_owned(),
        "audio_transcription" => json::text(part, "text").unwrap_or_default().to_owned(),
        // The transcription of what was said stands beside it.
        kind if kind.contains("audio") || kind.contains("video") => String::new(),
        _ => json::text(part, "text").map_or_else(|| "[attachment]".to_owned(), str::to_owned),
    }
}

/// Removes marks such as `\u{e200}cite\u{e202}turn0search1\u{e201}`, which only the app can resolve.
fn without_citation_marks(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find('\u{e200}') {
        let Some(length) = rest[start..].find('\u{e201}') else { break };
        clean.push_str(&rest[..start]);
        rest = &rest[start + length + '\u{e201}'.len_utf8()..];
    }
    clean.push_str(rest);
    clean
}
