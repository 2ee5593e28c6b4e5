//! Chats of Discord: files of `DiscordChatExporter`, and the package that Discord sends to its users.

use serde_json::Value;

use super::json::{self, Shape, read_pieces};
use super::turn::{Header, Keys, MessageWriter, Outline, Tally, Turn, name, write_conversation};
use super::when::moment;
use crate::archive::BoundedArchive;
use crate::part::{PartSink, ReadFailure};
use crate::source::{FileHead, SourceFile};
use crate::table::Reader;

/// The reader of packages of Discord.
pub(crate) const ARCHIVE_READER: Reader = Reader {
    name: "Discord package",
    extensions: &["zip"],
    recognises: is_package,
    is_isolated: true,
    read: read_package,
};

/// The reader of single channels.
pub(crate) const READER: Reader = Reader {
    name: "Discord channel",
    extensions: &["json"],
    recognises: is_exporter_json,
    is_isolated: false,
    read: read_exporter_json,
};

const SOURCE: &str = "Discord";

/// Whether it is a file of `DiscordChatExporter`.
fn is_exporter_json(head: &FileHead) -> bool {
    Shape::of(head.text()).has_all(&["guild", "guild.name", "channel", "channel.name", "messages"])
}

/// Whether it is the package of a user.
fn is_package(head: &FileHead) -> bool {
    let lower: Vec<String> = head.entries.iter().map(|entry| entry.to_lowercase()).collect();
    let has = |end: &str| lower.iter().any(|entry| entry.ends_with(end));
    lower.iter().any(|entry| channel_folder(entry).is_some())
        && (has("messages/index.json") || has("account/user.json") || has("/channel.json"))
}

/// The folder of a channel in the package: `messages/c123` of `messages/c123/messages.json`.
fn channel_folder(entry: &str) -> Option<&str> {
    let folder =
        entry.strip_suffix("/messages.json").or_else(|| entry.strip_suffix("/messages.csv"))?;
    let number = folder.rsplit('/').next()?;
    let digits = number.strip_prefix('c').unwrap_or(number);
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then_some(folder)
}

/// Reads a file of `DiscordChatExporter`, twice: a thread says who takes part before its messages come.
fn read_exporter_json(
    source: &mut SourceFile<'_>,
    sink: &mut PartSink<'_>,
) -> Result<(), ReadFailure> {
    let (mut header, mut outline) = (Header::default(), Outline::default());
    let mut uncounted = Tally::default();
    read_pieces(source.rewound()?, &["messages", "*"], &mut |context, message| {
        if let Some(turn) = exported_turn(&message, &mut uncounted) {
            outline.add(&turn.author, turn.created);
        }
        if header.source.is_empty() {
            header = exported_header(&Value::Object(context.last().cloned().unwrap_or_default()));
        }
        Ok(())
    })?;
    if header.source.is_empty() {
        let mut tally = Tally::default();
        tally.leave("conversations without text");
        return tally.give_omissions(sink);
    }
    let mut tally = Tally::default();
    let mut writer = MessageWriter::start(header, outline, &mut Keys::default(), sink)?;
    read_pieces(source.rewound()?, &["messages", "*"], &mut |_, message| {
        let Some(turn) = exported_turn(&message, &mut tally) else { return Ok(()) };
        tally.take("messages");
        writer.write(turn, sink)
    })?;
    tally.give_omissions(sink)
}

fn exported_header(export: &Value) -> Header {
    let (guild, channel) = (&export["guild"], &export["channel"]);
    let own = json::text(channel, "name").unwrap_or("channel");
    let is_direct = json::text(channel, "type").is_some_and(|kind| kind.starts_with("Direct"));
    let title = match json::text(guild, "name").filter(|_| !is_direct) {
        Some(guild) => format!("#{own}, {guild}"),
        None => own.to_owned(),
    };
    let mut header = Header { title, source: SOURCE, ..Header::default() };
    for (from, field) in [("topic", "topic"), ("category", "category"), ("type", "chatType")] {
        if let Some(value) = json::text(channel, from) {
            header.fields.insert(field.to_owned(), Value::from(value));
        }
    }
    header
}

fn exported_turn(message: &Value, tally: &mut Tally) -> Option<Turn> {
    let kind = json::text(message, "type").unwrap_or("Default");
    if !["Default", "Reply", "ChatInputCommand", "ThreadStarterMessage", "0", "19"].contains(&kind)
    {
        tally.leave("service messages");
        return None;
    }
    let mut texts = vec![json::text(message, "content").unwrap_or_default().to_owned()];
    for embed in json::list(message, "embeds") {
        let parts = ["title", "description"].map(|it| json::text(embed, it));
        texts.push(parts.into_iter().flatten().collect::<Vec<_>>().join("\n\n"));
    }
    for attachment in json::list(message, "attachments") {
        texts.push(format!(
            "[file: {}]",
            name(json::text(attachment, "fileName").unwrap_or("unnamed"))
        ));
    }
    for sticker in json::list(message, "stickers").iter().filter_map(|it| json::text(it, "name")) {
        texts.push(format!("[sticker: {}]", name(sticker)));
    }
    texts.retain(|text| !text.trim().is_empty());
    if texts.is_empty() {
        tally.leave("messages without text");
        return None;
    }
    let author = &message["author"];
    let shown = json::text(author, "nickname").or_else(|| json::text(author, "name"));
    let mut turn = Turn {
        id: json::id(message, "id"),
        stamp: json::text(message, "timestamp").unwrap_or_default().to_owned(),
        author: shown.unwrap_or("Unknown").to_owned(),
        text: texts.join("\n\n"),
        created: moment(&message["timestamp"]),
        updated: moment(&message["timestampEdited"]),
        ..Turn::default()
    };
    if let Some(to) = json::id(&message["reference"], "messageId") {
        turn.fields.insert("replyTo".to_owned(), Value::from(to));
    }
    Some(turn)
}

/// Reads the package of a user. It holds only what the user wrote, without answers.
fn read_package(source: &mut SourceFile<'_>, sink: &mut PartSink<'_>) -> Result<(), ReadFailure> {
    let mut archive = BoundedArchive::open(source)?;
    let names = archive.names();
    let author = package_author(&mut archive, &names);
    let (mut threads, mut tally) = (Keys::default(), Tally::default());
    for entry in &names {
        let Some(folder) = channel_folder(entry) else { continue };
        if entry.ends_with(".csv") {
            tally.leave("channels of an old package as CSV");
            continue;
        }
        let about = format!("{folder}/channel.json");
        let channel = match names.contains(&about) {
            true => json::parse(&archive.named_entry(&about)?)?,
            false => Value::Null,
        };
        let header = package_header(&channel, folder);
        let mut turns = Vec::new();
        read_pieces(archive.stream(entry)?, &["*"], &mut |_, message| {
            turns.extend(package_turn(&message, &author, &mut tally));
            Ok(())
        })?;
        // The newest comes first in the package.
        turns.sort_by(|a, b| a.created.cmp(&b.created).then_with(|| a.id.cmp(&b.id)));
        write_conversation(header, turns, &mut threads, &mut tally, sink)?;
    }
    tally.remarks.push("the package holds only the user's own messages".to_owned());
    tally.give_omissions(sink)
}

fn package_author(archive: &mut BoundedArchive<'_>, names: &[String]) -> String {
    let entry = names.iter().find(|name| name.to_lowercase().ends_with("account/user.json"));
    let user = entry.and_then(|entry| json::parse(&archive.named_entry(entry).ok()?).ok());
    let user = user.unwrap_or_default();
    let shown = json::text(&user, "global_name").or_else(|| json::text(&user, "username"));
    shown.unwrap_or("User").to_owned()
}

fn package_header(channel: &Value, folder: &str) -> Header {
    let number = folder.rsplit('/').next().unwrap_or(folder).trim_start_matches('c');
    let title = match (json::text(channel, "name"), json::text(&channel["guild"], "name")) {
        (Some(own), Some(guild)) => format!("#{own}, {guild}"),
        (Some(own), None) => own.to_owned(),
        (None, _) => format!("Discord channel {number}"),
    };
    let id = json::id(channel, "id").unwrap_or_else(|| number.to_owned());
    Header { id, title, source: SOURCE, ..Header::default() }
}

fn package_turn(message: &Value, author: &str, tally: &mut Tally) -> Option<Turn> {
    let mut texts = vec![json::text(message, "Contents").unwrap_or_default().to_owned()];
    for link in json::text(message, "Attachments").unwrap_or_default().split_whitespace() {
        let file = link.split(['?', '#']).next().unwrap_or(link);
        texts.push(format!("[file: {}]", name(file.rsplit('/').next().unwrap_or(file))));
    }
    texts.retain(|text| !text.trim().is_empty());
    if texts.is_empty() {
        tally.leave("messages without text");
        return None;
    }
    Some(Turn {
        id: json::id(message, "ID"),
        stamp: json::text(message, "Timestamp").unwrap_or_default().to_owned(),
        author: author.to_owned(),
        text: texts.join("\n\n"),
        created: moment(&message["Timestamp"]),
        ..Turn::default()
    })
}
