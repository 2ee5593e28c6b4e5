//! Exports of Telegram Desktop as JSON: one chat, or all of an account.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::json::{self, Shape, read_pieces};
use super::turn::{Header, Keys, MessageWriter, Outline, Tally, Turn};
use super::when::moment;
use crate::part::{PartSink, ReadFailure};
use crate::source::{FileHead, SourceFile};
use crate::table::Reader;

/// The reader of exports of Telegram.
pub(crate) const READER: Reader = Reader {
    name: "Telegram export",
    extensions: &["json"],
    recognises: is_export,
    is_isolated: false,
    read,
};

const SOURCE: &str = "Telegram";

/// Whether it is an export.
fn is_export(head: &FileHead) -> bool {
    let shape = Shape::of(head.text());
    let is_chat = shape.has_all(&["name", "type", "id", "messages"])
        && (shape.has("messages[].from_id") || shape.has("messages[].date_unixtime"));
    let is_account = shape.has("chats.list")
        && (shape.has("personal_information") || shape.has("chats.list[].messages"));
    is_chat || is_account
}

/// Where the messages of an export stand.
fn path(head: &FileHead) -> &'static [&'static str] {
    match Shape::of(head.text()).has("chats.list") {
        true => &["chats", "list", "*", "messages", "*"],
        false => &["messages", "*"],
    }
}

/// Reads an export. It is read twice: a thread says who takes part before its messages come.
fn read(source: &mut SourceFile<'_>, sink: &mut PartSink<'_>) -> Result<(), ReadFailure> {
    let path = path(&source.head()?);
    let mut outlines: BTreeMap<String, Outline> = BTreeMap::new();
    let mut uncounted = Tally::default();
    read_pieces(source.rewound()?, path, &mut |context, message| {
        if let Some(turn) = turn(&message, &mut uncounted) {
            outlines.entry(chat_id(context)).or_default().add(&turn.author, turn.created);
        }
        Ok(())
    })?;
    let is_account = path.len() > 2;
    let (mut threads, mut tally) = (Keys::default(), Tally::default());
    let mut open: Option<(String, MessageWriter)> = None;
    read_pieces(source.rewound()?, path, &mut |context, message| {
        let Some(turn) = turn(&message, &mut tally) else { return Ok(()) };
        let id = chat_id(context);
        let writer = match &mut open {
            Some((known, writer)) if *known == id => writer,
            open => {
                tally.take("conversations");
                let mut header = header(context);
                if is_account {
                    header.id.clone_from(&id);
                }
                let outline = outlines.get(&id).cloned().unwrap_or_default();
                let writer = MessageWriter::start(header, outline, &mut threads, sink)?;
                &mut open.insert((id, writer)).1
            }
        };
        tally.take("messages");
        writer.write(turn, sink)
    })?;
    tally.give_omissions(sink)
}

/// The id of the chat around a message. Chats of different types can have the same number.
fn chat_id(context: &[Map<String, Value>]) -> String {
    let chat = Value::Object(context.last().cloned().unwrap_or_default());
    let id = json::id(&chat, "id").unwrap_or_else(|| "chat".to_owned());
    match json::text(&chat, "type") {
        Some(kind) => format!("{kind}:{id}"),
        None => id,
    }
}

fn header(context: &[Map<String, Value>]) -> Header {
    let chat = Value::Object(context.last().cloned().unwrap_or_default());
    let kind = json::text(&chat, "type").unwrap_or_default();
    let title = match (json::text(&chat, "name"), kind) {
        (Some(name), _) => name.to_owned(),
        (None, "saved_messages") => "Saved messages".to_owned(),
        (None, _) => "Deleted account".to_owned(),
    };
    let mut header = Header { title, source: SOURCE, ..Header::default() };
    if !kind.is_empty() {
        header.fields.insert("chatType".to_owned(), Value::from(kind));
    }
    header
}

fn turn(message: &Value, tally: &mut Tally) -> Option<Turn> {
    if json::text(message, "type").is_some_and(|kind| kind != "message") {
        tally.leave("service messages");
        return None;
    }
    let mut texts = Vec::new();
    if let Some(from) = json::text(message, "forwarded_from") {
        texts.push(format!("Forwarded from {}:", super::turn::name(from)));
    }
    let medium = medium(message);
    let text = rich_text(&message["text"]);
    let is_empty = text.trim().is_empty() && medium.is_none();
    texts.extend(medium);
    texts.push(text);
    texts.retain(|text| !text.trim().is_empty());
    if is_empty {
        tally.leave("messages without text");
        return None;
    }
    let date = moment(&message["date_unixtime"]).or_else(|| moment(&message["date"]));
    let edited = moment(&message["edited_unixtime"]).or_else(|| moment(&message["edited"]));
    let mut turn = Turn {
        id: json::id(message, "id"),
        stamp: json::text(message, "date").unwrap_or_default().to_owned(),
        author: json::text(message, "from").unwrap_or("Deleted account").to_owned(),
        text: texts.join("\n\n"),
        created: date,
        updated: edited,
        ..Turn::default()
    };
    if let Some(to) = json::id(message, "reply_to_message_id") {
        turn.fields.insert("replyTo".to_owned(), Value::from(to));
    }
    Some(turn)
}

/// What a message carries beside its text, in brackets.
fn medium(message: &Value) -> Option<String> {
    if let Some(question) = message["poll"].get("question").map(rich_text) {
        let answers = json::list(&message["poll"], "answers").iter();
        let answers: Vec<String> = answers
            .map(|answer| {
                let voters = answer["voters"].as_u64().unwrap_or_default();
                format!("- {} ({voters})", rich_text(&answer["text"]))
            })
            .collect();
        return Some(format!("Poll: {question}\n\n{}", answers.join("\n")));
    }
    if let Some(place) = message.get("location_information") {
        return Some(format!("[place: {}, {}]", place["latitude"], place["longitude"]));
    }
    if let Some(contact) = message.get("contact_information") {
        let names = ["first_name", "last_name", "phone_number"];
        let names: Vec<&str> = names.iter().filter_map(|it| json::text(contact, it)).collect();
        return Some(format!("[contact: {}]", names.join(" ")));
    }
    if message.get("photo").is_some() {
        return Some("[photo]".to_owned());
    }
    let kind = json::text(message, "media_type").map(|kind| kind.replace('_', " "));
    let file = json::text(message, "file_name");
    match (kind, file) {
        (Some(kind), _) => match json::text(message, "sticker_emoji") {
            Some(emoji) => Some(format!("[{kind}: {emoji}]")),
            None => Some(format!("[{kind}]")),
        },
        (None, Some(file)) => Some(format!("[file: {}]", super::turn::name(file))),
        (None, None) => message.get("file").map(|_| "[file]".to_owned()),
    }
}

/// A text: a string, or a list of strings and of objects with a type.
fn rich_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(runs) => runs.iter().map(run_text).collect(),
        _ => String::new(),
    }
}

fn run_text(run: &Value) -> String {
    let Some(text) = run.get("text").and_then(Value::as_str) else {
        return run.as_str().unwrap_or_default().to_owned();
    };
    let is_inner = !text.is_empty() && text.trim() == text;
    match json::text(run, "type").unwrap_or_default() {
        "bold" if is_inner => format!("**{text}**"),
        "italic" if is_inner => format!("*{text}*"),
        "strikethrough" if is_inner => format!("~~{text}~~"),
        "code" if is_inner && !text.contains('`') => format!("`{text}`"),
        "pre" => {
            let language = json::text(run, "language").unwrap_or_default();
            format!("\n{}\n", super::turn::fenced(language, text))
        }
        "text_link" => match json::text(run, "href") {
            Some(href) => format!("[{text}]({href})"),
            None => text.to_owned(),
        },
        _ => text.to_owned(),
    }
}
