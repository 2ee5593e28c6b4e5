//! Data exports of Claude: conversations, the documents of projects, and memories.

use serde_json::Value;

use super::json::{self, Shape, read_pieces};
use super::turn::{
    Header, Keys, Tally, Turn, fenced, hash, name, read_conversations, write_conversation,
};
use super::when::moment;
use crate::archive::BoundedArchive;
use crate::part::{Part, PartSink, ReadFailure};
use crate::source::{FileHead, SourceFile};
use crate::table::Reader;

/// The reader of archives of Claude.
pub(crate) const ARCHIVE_READER: Reader = Reader {
    name: "Claude archive",
    extensions: &["zip"],
    recognises: is_archive,
    is_isolated: true,
    read: read_archive,
};

/// The reader of conversations of Claude.
pub(crate) const READER: Reader = Reader {
    name: "Claude conversations",
    extensions: &["json"],
    recognises: is_json,
    is_isolated: false,
    read: read_json,
};

const SOURCE: &str = "Claude";

/// Whether it is the list of conversations itself.
fn is_json(head: &FileHead) -> bool {
    let shape = Shape::of(head.text());
    let is_list = shape.has_all(&["[].uuid", "[].chat_messages"]);
    is_list || shape.has_all(&["uuid", "chat_messages"])
}

/// Whether it is the archive of an export.
fn is_archive(head: &FileHead) -> bool {
    let has = |end: &str| head.entries.iter().any(|entry| file_name(entry) == end);
    let has_others = head.has_entry("channels.json") || has("chat.html") || has("user.json");
    let has_projects =
        has("projects.json") || head.entries.iter().any(|entry| in_folder(entry, "projects"));
    has("conversations.json") && has("users.json") && !has_others
        || has("conversations.json") && has_projects && !has_others
}

fn file_name(entry: &str) -> &str {
    entry.rsplit('/').next().unwrap_or(entry)
}

fn in_folder(entry: &str, folder: &str) -> bool {
    entry.ends_with(".json") && entry.rsplit('/').nth(1) == Some(folder)
}

/// Reads the list of conversations.
fn read_json(source: &mut SourceFile<'_>, sink: &mut PartSink<'_>) -> Result<(), ReadFailure> {
    read_conversations(source, write, sink)
}

/// Reads an archive.
fn read_archive(source: &mut SourceFile<'_>, sink: &mut PartSink<'_>) -> Result<(), ReadFailure> {
    let mut archive = BoundedArchive::open(source)?;
    let mut names = archive.names();
    names.sort();
    let (mut threads, mut tally) = (Keys::default(), Tally::default());
    for entry in &names {
        let end = file_name(entry);
        if end.starts_with("conversations") && end.ends_with(".json") {
            read_pieces(archive.stream(entry)?, &["*"], &mut |_, conversation| {
                write(&conversation, &mut threads, &mut tally, sink)
            })?;
        } else if end == "projects.json" || in_folder(entry, "projects") {
            for project in elements(json::parse(&archive.named_entry(entry)?)?) {
                write_project(&project, &mut threads, &mut tally, sink)?;
            }
        } else if end == "memories.json" || in_folder(entry, "memories") {
            for memories in elements(json::parse(&archive.named_entry(entry)?)?) {
                write_memories(&memories, &mut threads, &mut tally, sink)?;
            }
        } else if end != "users.json" {
            tally.leave("other files of the archive");
        }
    }
    tally.give_omissions(sink)
}

fn elements(value: Value) -> Vec<Value> {
    match value {
        Value::Array(elements) => elements,
        Value::Null => Vec::new(),
        other => vec![other],
    }
}

fn write(
    conversation: &Value,
    threads: &mut Keys,
    tally: &mut Tally,
    sink: &mut PartSink<'_>,
) -> Result<(), ReadFailure> {
    let header = Header {
        id: json::id(conversation, "uuid").unwrap_or_else(|| hash(&[&conversation.to_string()])),
        title: json::text(conversation, "name").unwrap_or("Untitled chat").to_owned(),
        source: SOURCE,
        summary: json::text(conversation, "summary").unwrap_or_default().to_owned(),
        created: moment(&conversation["created_at"]),
        updated: moment(&conversation["updated_at"]),
        ..Header::default()
    };
    let messages = json::list(conversation, "chat_messages");
    let turns = messages.iter().filter_map(|message| turn(message, tally)).collect();
    write_conversation(header, turns, threads, tally, sink)
}

fn turn(message: &Value, tally: &mut Tally) -> Option<Turn> {
    let (role, author) = match json::text(message, "sender").unwrap_or_default() {
        "human" | "user" => ("user", "User"),
        "assistant" => ("assistant", SOURCE),
        _ => {
            tally.leave("system messages");
            return None;
        }
    };
    let mut texts = vec![block_text(json::list(message, "content"), tally)];
    if texts.iter().all(|text| text.trim().is_empty()) {
        texts = vec![json::text(message, "text").unwrap_or_default().to_owned()];
    }
    for attachment in json::list(message, "attachments") {
        let title =
            json::text(attachment, "file_name").map_or_else(|| "attachment".to_owned(), name);
        match json::text(attachment, "extracted_content") {
            Some(content) => {
                texts.push(format!("Attached file {title}:\n\n{}", fenced("", content)))
            }
            None => texts.push(format!("[file: {title}]")),
        }
    }
    for file in json::list(message, "files").iter().filter_map(|it| json::text(it, "file_name")) {
        texts.push(format!("[file: {}]", name(file)));
    }
    texts.retain(|text| !text.trim().is_empty());
    if texts.is_empty() {
        tally.leave("messages without text");
        return None;
    }
    Some(Turn {
        id: json::id(message, "uuid"),
        stamp: json::text(message, "created_at").unwrap_or_default().to_owned(),
        author: author.to_owned(),
        role: Some(role),
        text: texts.join("\n\n"),
        created: moment(&message["created_at"]),
        updated: moment(&message["updated_at"]),
        ..Turn::default()
    })
}

/// The text of content blocks, as the interfaces of Claude give them; the rest is counted.
pub(crate) fn block_text(blocks: &[Value], tally: &mut Tally) -> String {
    let mut texts = Vec::new();
    for block in blocks {
        match json::text(block, "type").unwrap_or("text") {
            "text" => texts.extend(json::text(block, "text").map(str::trim)),
            "tool_use" | "server_tool_use" => tally.leave("calls of tools"),
            "tool_result" => tally.leave("results of tools"),
            "thinking" | "redacted_thinking" => tally.leave("thoughts of the model"),
            "image" => texts.push("[image]"),
            "document" => texts.push("[document]"),
            _ => tally.leave("other blocks"),
        }
    }
    texts.join("\n\n")
}

fn write_project(
    project: &Value,
    threads: &mut Keys,
    tally: &mut Tally,
    sink: &mut PartSink<'_>,
) -> Result<(), ReadFailure> {
    let title = json::text(project, "name").unwrap_or("Untitled project");
    let about = ["description", "prompt_template"].map(|it| json::text(project, it));
    let about: Vec<&str> = about.into_iter().flatten().map(str::trim).collect();
    let docs = json::list(project, "docs");
    if about.is_empty() && docs.is_empty() {
        tally.leave("projects without text");
        return Ok(());
    }
    let id = json::id(project, "uuid").unwrap_or_else(|| hash(&[title]));
    let key = format!("project/{}", threads.key(&format!("project:{id}")));
    let mut part = Part::of_file(&name(title), about.join("\n\n"));
    part.key.clone_from(&key);
    (part.created, part.updated) = (moment(&project["created_at"]), moment(&project["updated_at"]));
    part.set_field("source", SOURCE);
    tally.take("projects");
    sink.part(part)?;
    let mut keys = Keys::default();
    for (position, doc) in docs.iter().enumerate() {
        let title = json::text(doc, "filename").unwrap_or("document");
        let Some(content) = json::text(doc, "content") else {
            tally.leave("documents without text");
            continue;
        };
        let id = json::id(doc, "uuid").unwrap_or_else(|| hash(&[title, content]));
        let mut part = Part::of_file(&name(title), content.to_owned());
        part.key = format!("{key}/{}", keys.key(&id));
        part.parent = Some(key.clone());
        part.is_markdown = !title.contains('.') || title.ends_with(".md");
        part.created = moment(&doc["created_at"]);
        part.position = i64::try_from(position).unwrap_or_default();
        tally.take("documents");
        sink.part(part)?;
    }
    Ok(())
}

fn write_memories(
    memories: &Value,
    threads: &mut Keys,
    tally: &mut Tally,
    sink: &mut PartSink<'_>,
) -> Result<(), ReadFailure> {
    let mut texts: Vec<(String, String, &str)> = Vec::new();
    if let Some(text) = json::text(memories, "conversations_memory") {
        texts.push(("memory:conversations".to_owned(), "Memory of all chats".to_owned(), text));
    }
    if let Some(projects) = memories["project_memories"].as_object() {
        for (project, text) in projects {
            if let Some(text) = text.as_str().filter(|text| !text.trim().is_empty()) {
                texts.push((format!("memory:{project}"), "Memory of a project".to_owned(), text));
            }
        }
    }
    for (id, title, text) in texts {
        let mut part = Part { kind: "memory".to_owned(), title, ..Part::default() };
        part.key = threads.key(&id);
        part.body = text.trim().to_owned();
        part.is_markdown = true;
        part.set_field("source", SOURCE);
        tally.take("memories");
        sink.part(part)?;
    }
    Ok(())
}
