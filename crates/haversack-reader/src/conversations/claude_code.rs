//! Session logs of Claude Code: one JSON object per line.

use std::io::{BufRead, BufReader, Read};

use serde_json::Value;

use super::claude::block_text;
use super::json::{self, PIECE_BYTES_MAX, Shape};
use super::turn::{Header, Keys, MessageWriter, Outline, Tally, Turn};
use super::when::moment;
use crate::part::{PartSink, ReadFailure};
use crate::source::{FileHead, SourceFile};
use crate::table::Reader;

/// The reader of sessions.
pub(crate) const READER: Reader = Reader {
    name: "Claude Code session",
    extensions: &["jsonl"],
    recognises: is_session,
    is_isolated: false,
    read: read_session,
};

/// Whether its first lines are those of a session.
fn is_session(head: &FileHead) -> bool {
    let mut lines = head.text().lines().take(50).filter(|line| !line.trim().is_empty()).peekable();
    head.extension() == "jsonl"
        && lines.any(|line| {
            let shape = Shape::of(line);
            shape.has_all(&["sessionId", "uuid", "message.role", "type"])
                || shape.has_all(&["type", "summary", "leafUuid"])
        })
}

/// Calls a function with each line that is a JSON object; others are counted.
pub(crate) fn for_each_line(
    source: &mut SourceFile<'_>,
    take: &mut dyn FnMut(Value) -> Result<(), ReadFailure>,
) -> Result<u64, ReadFailure> {
    let mut input = BufReader::new(source.rewound()?);
    let (mut line, mut broken) = (Vec::new(), 0);
    loop {
        line.clear();
        let read = input.by_ref().take(PIECE_BYTES_MAX + 1).read_until(b'\n', &mut line)?;
        if read == 0 {
            return Ok(broken);
        }
        if line.len() as u64 > PIECE_BYTES_MAX {
            return Err(ReadFailure::too_large("one line, in bytes", PIECE_BYTES_MAX));
        }
        if line.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        match json::parse(&line) {
            Ok(value @ Value::Object(_)) => take(value)?,
            _ => broken += 1,
        }
    }
}

/// Reads a session.
fn read_session(source: &mut SourceFile<'_>, sink: &mut PartSink<'_>) -> Result<(), ReadFailure> {
    let mut header = Header { source: "Claude Code", ..Header::default() };
    let (mut outline, mut uncounted) = (Outline::default(), Tally::default());
    let mut first_prompt = None;
    for_each_line(source, &mut |line| {
        for (kind, name) in
            [("summary", "summary"), ("ai-title", "aiTitle"), ("custom-title", "customTitle")]
        {
            if line["type"] == kind {
                header.title = json::text(&line, name).unwrap_or_default().to_owned();
            }
        }
        for (name, field) in [("cwd", "folder"), ("gitBranch", "branch")] {
            if let Some(value) =
                json::text(&line, name).filter(|_| !header.fields.contains_key(field))
            {
                header.fields.insert(field.to_owned(), Value::from(value));
            }
        }
        if let Some(turn) = turn(&line, &mut uncounted) {
            outline.add(&turn.author, turn.created);
            if turn.role == Some("user") {
                first_prompt.get_or_insert_with(|| super::turn::name(&turn.text));
            }
        }
        Ok(())
    })?;
    if header.title.is_empty() {
        header.title = first_prompt.unwrap_or_else(|| source.stem().to_owned());
    }
    let mut tally = Tally::default();
    let mut writer = MessageWriter::start(header, outline, &mut Keys::default(), sink)?;
    let broken = for_each_line(source, &mut |line| match turn(&line, &mut tally) {
        Some(turn) => {
            tally.take("messages");
            writer.write(turn, sink)
        }
        None => Ok(()),
    })?;
    tally.leave_many("lines that are no JSON objects", broken);
    tally.give_omissions(sink)
}

fn turn(line: &Value, tally: &mut Tally) -> Option<Turn> {
    let (role, author) = match json::text(line, "type")? {
        "user" => ("user", "User"),
        "assistant" => ("assistant", "Claude"),
        _ => return None,
    };
    if json::flag(line, "isMeta") {
        tally.leave("notes of the program");
        return None;
    }
    if json::flag(line, "isSidechain") {
        tally.leave("messages of subagents");
        return None;
    }
    let content = &line["message"]["content"];
    let text = match content {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => block_text(blocks, tally),
        _ => String::new(),
    };
    let text = without_reminders(&text);
    if text.is_empty() {
        // A message of nothing but calls is counted by its calls.
        return None;
    }
    let mut turn = Turn {
        id: json::id(line, "uuid"),
        stamp: json::text(line, "timestamp").unwrap_or_default().to_owned(),
        author: author.to_owned(),
        role: Some(role),
        text,
        created: moment(&line["timestamp"]),
        ..Turn::default()
    };
    if let Some(model) = json::text(&line["message"], "model") {
        turn.fields.insert("model".to_owned(), Value::from(model));
    }
    Some(turn)
}

/// A text without what the program adds to it for the model.
fn without_reminders(text: &str) -> String {
    let mut text = text.to_owned();
    for tag in
        ["system-reminder", "local-command-stdout", "local-command-caveat", "command-message"]
    {
        let (open, close) = (format!("<{tag}>"), format!("</{tag}>"));
        let mut clean = String::with_capacity(text.len());
        let mut rest = text.as_str();
        while let Some(start) = rest.find(&open) {
            let Some(length) = rest[start..].find(&close) else { break };
            clean.push_str(&rest[..start]);
            rest = &rest[start + length + close.len()..];
        }
        clean.push_str(rest);
        text = clean;
    }
    for tag in ["<command-name>", "</command-name>", "<command-args>", "</command-args>"] {
        text = text.replace(tag, " ");
    }
    text.trim().to_owned()
}
