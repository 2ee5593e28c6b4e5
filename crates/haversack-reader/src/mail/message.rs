//! One message as a part, with its attachments as parts under it.

use std::io::Cursor;

use mail_parser::{Address, HeaderValue, Message, MessageParser, MimeHeaders, PartType};
use serde_json::Value;

use super::quote::{own_text, unwrap_lines};
use crate::compressed::{decompress, is_compressed, name_within};
use crate::encoding::decode;
use crate::html::{HtmlOptions, markdown_of_html};
use crate::limits::{DEPTH_MAX, ENTRY_BYTES_MAX, PART_BYTES_MAX};
use crate::part::{OmissionKind, Part, PartSink, ReadFailure, ReadNotice, ReadOutput, SinkClosed};
use crate::source::{FileHead, SourceFile};
use crate::table::find_reader;

/// Messages in messages, as attachments.
const NESTED_MAX: usize = 8;

/// Messages and multiparts that a message declares. The parser nests them on the stack when it drops them.
const MULTIPARTS_MAX: usize = 2 * DEPTH_MAX;

/// Attachments of one message.
const ATTACHMENTS_MAX: usize = 500;

/// Lines of a plain text that are only a hint at the formatted one.
const STUB_BYTES_MAX: usize = 200;

/// Where a message stands among the parts.
#[derive(Debug, Clone, Default)]
pub(super) struct Place {
    pub(super) key: String,
    pub(super) parent: Option<String>,
    pub(super) position: i64,
    /// How many messages it is in.
    pub(super) depth: usize,
}

/// Reads a message and gives its parts. Gives the lines of quotations that were left out.
pub(super) fn read_message(
    bytes: &[u8],
    place: &Place,
    sink: &mut PartSink<'_>,
) -> Result<usize, ReadFailure> {
    check_nesting(bytes)?;
    let message = MessageParser::default().parse(bytes);
    let message = message.filter(|message| !message.headers().is_empty());
    let message = message.ok_or_else(|| ReadFailure::malformed("a message without headers"))?;
    let (part, left_out) = part_of(&message, place)?;
    let subject = part.title.clone();
    sink.part(part)?;
    give_attachments(&message, place, &subject, sink)?;
    Ok(left_out)
}

/// Refuses messages with thousands of parts in each other.
pub(super) fn check_nesting(bytes: &[u8]) -> Result<(), ReadFailure> {
    let mut count = 0;
    let mut rest = bytes;
    while let Some(at) = rest.iter().position(|byte| *byte == b'/') {
        let after = &rest[at + 1..];
        let before = &rest[..at];
        let ends = |word: &[u8]| {
            let start = before.len().saturating_sub(word.len());
            before[start..].eq_ignore_ascii_case(word)
        };
        count += usize::from(ends(b"message") || ends(b"multipart"));
        rest = after;
    }
    match count > MULTIPARTS_MAX {
        true => {
            Err(ReadFailure::too_large("messages and parts in a message", MULTIPARTS_MAX as u64))
        }
        false => Ok(()),
    }
}

fn part_of(message: &Message<'_>, place: &Place) -> Result<(Part, usize), ReadFailure> {
    let (body, is_markdown, left_out) = body_of(message)?;
    let title = one_line(message.subject().unwrap_or_default());
    let mut part = Part {
        key: place.key.clone(),
        parent: place.parent.clone(),
        kind: "message".to_owned(),
        title: title.clone(),
        body,
        is_markdown,
        position: place.position,
        ..Part::default()
    };
    let from = addresses(message.from().or_else(|| message.sender()));
    part.set_field("author", from.first().map_or("", String::as_str));
    part.set_field("from", &from.join(", "));
    for (name, found) in [("to", message.to()), ("cc", message.cc())] {
        let list = addresses(found);
        if !list.is_empty() {
            part.fields.insert(name.to_owned(), Value::from(list));
        }
    }
    part.set_field("subject", &title);
    part.set_field("messageId", message.message_id().unwrap_or_default());
    part.set_field("inReplyTo", ids(message.in_reply_to()).first().map_or("", String::as_str));
    part.created = date_of(message);
    Ok((part, left_out))
}

/// The date of a message in milliseconds.
pub(super) fn date_of(message: &Message<'_>) -> Option<i64> {
    let date = message.date().filter(|date| date.is_valid())?;
    date.to_timestamp().checked_mul(1000)
}

/// Message ids in a header.
pub(super) fn ids(value: &HeaderValue<'_>) -> Vec<String> {
    match value {
        HeaderValue::Text(id) => vec![id.to_string()],
        HeaderValue::TextList(ids) => ids.iter().map(ToString::to_string).collect(),
        _ => Vec::new(),
    }
}

/// Addresses as `Name <address>`.
fn addresses(found: Option<&Address<'_>>) -> Vec<String> {
    let Some(found) = found else { return Vec::new() };
    let lines = found.iter().map(|address| match (address.name(), address.address()) {
        (Some(name), Some(address)) if name != address => one_line(&format!("{name} <{address}>")),
        (name, address) => one_line(address.or(name).unwrap_or_default()),
    });
    lines.filter(|line| !line.is_empty()).collect()
}

pub(super) fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The text of a message, whether it is Markdown, and the lines that were left out.
fn body_of(message: &Message<'_>) -> Result<(String, bool, usize), ReadFailure> {
    let (mut plain, mut formatted) = (String::new(), String::new());
    for part in message.text_bodies() {
        if let PartType::Text(text) = &part.body {
            push_block(&mut plain, text);
        }
    }
    for part in message.html_bodies() {
        if let PartType::Html(html) = &part.body {
            push_block(&mut formatted, &markdown_of_html(html, HtmlOptions::default())?.body);
        }
    }
    let letters = |text: &str| text.chars().filter(|character| !character.is_whitespace()).count();
    let is_stub = plain.len() < STUB_BYTES_MAX && letters(&plain) * 4 < letters(&formatted);
    let is_markdown = !formatted.is_empty() && (is_stub || plain.trim().is_empty());
    let own = own_text(if is_markdown { &formatted } else { &plain });
    let text = if is_markdown { own.text } else { unwrap_lines(&own.text) };
    Ok((text, is_markdown, own.left_out))
}

fn push_block(body: &mut String, text: &str) {
    if !body.is_empty() {
        body.push_str("\n\n");
    }
    body.push_str(&text.replace("\r\n", "\n"));
}

/// Gives the attachments of a message as parts under it, by their own readers.
fn give_attachments(
    message: &Message<'_>,
    place: &Place,
    subject: &str,
    sink: &mut PartSink<'_>,
) -> Result<(), ReadFailure> {
    let mut unknown = Vec::new();
    for (number, attachment) in message.attachments().enumerate() {
        if number >= ATTACHMENTS_MAX {
            let what = format!("only the first {ATTACHMENTS_MAX} attachments are read");
            sink.notice(ReadNotice::new(what).at(subject.to_owned()))?;
            break;
        }
        let key = match place.key.as_str() {
            "" => format!("attachment-{}", number + 1),
            key => format!("{key}/attachment-{}", number + 1),
        };
        let position = i64::try_from(number).unwrap_or_default();
        let parent = Some(place.key.clone());
        let inner = Place { key, parent, position, depth: place.depth + 1 };
        let name = one_line(attachment.attachment_name().unwrap_or_default());
        // Text that has no name is a further piece of the message.
        let result = match &attachment.body {
            PartType::Message(nested) => give_nested(nested.raw_message(), &inner, sink),
            PartType::Text(text) => give_text(&name, text, inner.clone(), sink),
            PartType::Html(html) => {
                give_file(&name_or(&name, "attachment.html"), html.as_bytes(), &inner, sink)
            }
            PartType::Binary(bytes) | PartType::InlineBinary(bytes) => {
                give_file(&name, bytes, &inner, sink)
            }
            PartType::Multipart(_) => Ok(true),
        };
        match result {
            Ok(true) => {}
            Ok(false) => unknown.push(name_or(&name, "without a name")),
            Err(ReadFailure::Stopped) => return Err(ReadFailure::Stopped),
            Err(failure) => {
                let shown = name_or(&name, "without a name");
                let place = format!("{subject}, attachment {shown}");
                sink.notice(ReadNotice::new(failure.to_string()).at(place))?;
            }
        }
    }
    if !unknown.is_empty() {
        let what = format!("attachments without text are left out: {}", unknown.join(", "));
        let notice = ReadNotice::new(what).at(subject);
        sink.notice(notice.omitting(OmissionKind::Attachments, unknown.len() as u64))?;
    }
    Ok(())
}

fn name_or(name: &str, other: &str) -> String {
    if name.is_empty() { other.to_owned() } else { name.to_owned() }
}

/// Gives a message that is attached to another.
fn give_nested(bytes: &[u8], place: &Place, sink: &mut PartSink<'_>) -> Result<bool, ReadFailure> {
    if place.depth > NESTED_MAX {
        return Err(ReadFailure::too_large("messages in messages", NESTED_MAX as u64));
    }
    read_message(bytes, place, sink)?;
    Ok(true)
}

/// Gives a plain text.
fn give_text(
    name: &str,
    text: &str,
    place: Place,
    sink: &mut PartSink<'_>,
) -> Result<bool, ReadFailure> {
    if text.trim().is_empty() {
        return Ok(true);
    }
    let mut part = Part::of_file(name, text.replace("\r\n", "\n"));
    let extension = name.rsplit('.').next().unwrap_or_default();
    part.is_markdown = matches!(extension, "md" | "markdown");
    (part.key, part.parent, part.position) = (place.key, place.parent, place.position);
    sink.part(part)?;
    Ok(true)
}

/// Gives a file, or what is compressed in it, by its reader, or as plain text. False if it is neither.
fn give_file(
    name: &str,
    bytes: &[u8],
    place: &Place,
    sink: &mut PartSink<'_>,
) -> Result<bool, ReadFailure> {
    let within;
    let (name, bytes) = match is_compressed(bytes) {
        true => {
            within = decompress(bytes, bytes.len() as u64, ENTRY_BYTES_MAX)?;
            (name_within(name), within.as_slice())
        }
        false => (name, bytes),
    };
    if is_compressed(bytes) {
        return Ok(false);
    }
    let head = FileHead::of_bytes(name, bytes);
    let is_mail = [super::MESSAGE_READER.extensions, super::MBOX_READER.extensions].concat();
    if is_mail.contains(&head.extension()) {
        return give_nested(bytes, place, sink);
    }
    let Some(reader) = find_reader(&head) else {
        let is_short = bytes.len() <= PART_BYTES_MAX;
        return match decode(bytes).filter(|_| is_short) {
            Some(decoded) => give_text(name, &decoded.text, place.clone(), sink),
            None => Ok(false),
        };
    };
    let mut input = Cursor::new(bytes);
    let mut source = SourceFile::new(name, &mut input)?;
    let mut failure = None;
    let mut forward = |output| {
        let given = match output {
            ReadOutput::Part(part) => sink.part(part_under(*part, place)),
            ReadOutput::Notice(notice) => {
                let place = notice.place.as_ref();
                let place =
                    place.map_or_else(|| name.to_owned(), |place| format!("{name}, {place}"));
                sink.notice(notice.at(place))
            }
            ReadOutput::Progress { .. } => Ok(()),
        };
        given.map_err(|error| {
            failure = Some(error);
            SinkClosed
        })
    };
    let read = (reader.read)(&mut source, &mut PartSink::new(&mut forward));
    match failure {
        Some(failure) => Err(failure),
        None => read.map(|()| true),
    }
}

/// A part of an attachment as a part under its message.
fn part_under(mut part: Part, place: &Place) -> Part {
    let under = |key: &str| match key {
        "" => place.key.clone(),
        key => format!("{}/{key}", place.key),
    };
    if part.key.is_empty() {
        part.position = place.position;
    }
    part.parent = match &part.parent {
        Some(parent) => Some(under(parent)),
        None => place.parent.clone(),
    };
    part.key = under(&part.key);
    part
}
