//! Exports of Slack: the archive of a workspace, and the file of one channel and day.

use std::collections::BTreeMap;

use serde_json::Value;

use super::json::{self, Shape};
use super::turn::{Header, Keys, Tally, Turn, name, write_conversation};
use super::when::{day, moment};
use crate::archive::BoundedArchive;
use crate::part::{PartSink, ReadFailure};
use crate::source::{FileHead, SourceFile};
use crate::table::Reader;

/// The reader of archives of Slack.
pub(crate) const ARCHIVE_READER: Reader = Reader {
    name: "Slack archive",
    extensions: &["zip"],
    recognises: is_archive,
    is_isolated: true,
    read: read_archive,
};

/// The reader of single days of a channel.
pub(crate) const READER: Reader = Reader {
    name: "Slack channel day",
    extensions: &["json"],
    recognises: is_channel_day,
    is_isolated: false,
    read: read_channel_day,
};

const SOURCE: &str = "Slack";

/// Names by the ids of users and channels.
type Names = BTreeMap<String, String>;

/// Turns by the day or the reply thread that they belong to.
type Threads = BTreeMap<ThreadId, Vec<Turn>>;

/// Days come in order; a reply thread stands at the moment of its first message.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum ThreadId {
    Day(String),
    Replies(String),
}

/// Whether it is the archive of a workspace.
fn is_archive(head: &FileHead) -> bool {
    let lists = ["channels.json", "groups.json", "dms.json", "mpims.json"];
    let has_list = lists.iter().any(|name| head.has_entry(name));
    has_list && head.entries.iter().any(|entry| channel_day(entry).is_some())
        || head.has_entry("channels.json") && head.has_entry("users.json")
}

/// The channel and the day of an entry such as `general/2024-05-06.json`.
fn channel_day(entry: &str) -> Option<(&str, &str)> {
    let (folder, file) = entry.rsplit_once('/')?;
    let date = file.strip_suffix(".json")?;
    is_day(date).then(|| (folder.rsplit('/').next().unwrap_or(folder), date))
}

fn is_day(date: &str) -> bool {
    date.len() == 10 && date.parse::<jiff::civil::Date>().is_ok()
}

/// Whether it is the file of one channel and day.
fn is_channel_day(head: &FileHead) -> bool {
    let is_named = head.name.strip_suffix(".json").is_some_and(is_day);
    let shape = Shape::of(head.text());
    is_named
        && shape.has_all(&["[].type", "[].ts"])
        && (shape.has("[].user") || shape.has("[].text"))
}

/// Reads the file of one channel and day.
fn read_channel_day(
    source: &mut SourceFile<'_>,
    sink: &mut PartSink<'_>,
) -> Result<(), ReadFailure> {
    let path = source.name().to_owned();
    let channel = path.rsplit('/').nth(1).unwrap_or("channel");
    let messages = json::parse(&source.read_all()?)?;
    let mut names = Names::new();
    collect_profiles(&messages, &mut names);
    let (mut tally, mut threads) = (Tally::default(), Threads::new());
    add_messages(&messages, &names, &mut threads, &mut tally);
    let about =
        Channel { title: format!("#{channel}"), key: channel.to_owned(), topic: String::new() };
    write_channel(&about, threads, &mut Keys::default(), &mut tally, sink)?;
    tally.give_omissions(sink)
}

/// A channel, as its threads name it.
struct Channel {
    title: String,
    key: String,
    topic: String,
}

/// Reads the archive of a workspace.
fn read_archive(source: &mut SourceFile<'_>, sink: &mut PartSink<'_>) -> Result<(), ReadFailure> {
    let mut archive = BoundedArchive::open(source)?;
    let entries = archive.names();
    let mut names = Names::new();
    for user in entry_list(&mut archive, &entries, "users.json")? {
        if let Some(id) = json::id(&user, "id") {
            names.insert(id, user_name(&user));
        }
    }
    let channels = read_channels(&mut archive, &entries, &mut names)?;
    let mut days: BTreeMap<&str, Vec<(&str, &String)>> = BTreeMap::new();
    for entry in &entries {
        if let Some((channel, date)) = channel_day(entry) {
            days.entry(channel).or_default().push((date, entry));
        }
    }
    let (mut tally, mut keys) = (Tally::default(), Keys::default());
    for (folder, mut entries) in days {
        entries.sort();
        let mut threads = Threads::new();
        for (_, entry) in entries {
            let messages = json::parse(&archive.named_entry(entry)?)?;
            collect_profiles(&messages, &mut names);
            add_messages(&messages, &names, &mut threads, &mut tally);
        }
        let unlisted = || Channel {
            title: format!("#{folder}"),
            key: folder.to_owned(),
            topic: String::new(),
        };
        match channels.get(folder) {
            Some(channel) => write_channel(channel, threads, &mut keys, &mut tally, sink)?,
            None => write_channel(&unlisted(), threads, &mut keys, &mut tally, sink)?,
        }
    }
    tally.give_omissions(sink)
}

fn entry_list(
    archive: &mut BoundedArchive<'_>,
    entries: &[String],
    name: &str,
) -> Result<Vec<Value>, ReadFailure> {
    if !entries.iter().any(|entry| entry == name) {
        return Ok(Vec::new());
    }
    match json::parse(&archive.named_entry(name)?)? {
        Value::Array(list) => Ok(list),
        _ => Err(ReadFailure::malformed(format!("{name} is not a list"))),
    }
}

/// The channels and direct chats by the folder of their messages.
fn read_channels(
    archive: &mut BoundedArchive<'_>,
    entries: &[String],
    names: &mut Names,
) -> Result<BTreeMap<String, Channel>, ReadFailure> {
    let mut channels = BTreeMap::new();
    for list in ["channels.json", "groups.json", "dms.json", "mpims.json"] {
        for channel in entry_list(archive, entries, list)? {
            let Some(id) = json::id(&channel, "id") else { continue };
            let own = json::text(&channel, "name");
            let is_direct = list == "dms.json" || list == "mpims.json";
            let members = json::list(&channel, "members").iter().filter_map(Value::as_str);
            let members: Vec<&str> =
                members.map(|id| names.get(id).map_or(id, String::as_str)).take(20).collect();
            let title = match own.filter(|_| !is_direct) {
                Some(own) => format!("#{own}"),
                None => format!("Chat of {}", members.join(", ")),
            };
            let topic = ["purpose", "topic"].map(|it| json::text(&channel[it], "value"));
            let topic = topic.into_iter().flatten().collect::<Vec<_>>().join("; ");
            if let Some(own) = own {
                names.insert(id.clone(), own.to_owned());
            }
            let folder =
                own.filter(|_| list != "dms.json").map_or_else(|| id.clone(), str::to_owned);
            channels.insert(folder, Channel { title, key: id, topic });
        }
    }
    Ok(channels)
}

fn user_name(user: &Value) -> String {
    let profile = &user["profile"];
    let shown = json::text(profile, "display_name")
        .or_else(|| json::text(profile, "real_name"))
        .or_else(|| json::text(user, "real_name"))
        .or_else(|| json::text(user, "name"));
    name(shown.unwrap_or("Unknown"))
}

/// Names from the messages themselves, for exports whose list of users is elsewhere.
fn collect_profiles(messages: &Value, names: &mut Names) {
    for message in messages.as_array().into_iter().flatten() {
        if let (Some(id), Some(profile)) = (json::id(message, "user"), message.get("user_profile"))
        {
            let shown = ["display_name", "real_name", "name"];
            if let Some(shown) = shown.iter().find_map(|it| json::text(profile, it)) {
                names.entry(id).or_insert_with(|| name(shown));
            }
        }
    }
}

fn add_messages(messages: &Value, names: &Names, threads: &mut Threads, tally: &mut Tally) {
    for message in messages.as_array().into_iter().flatten() {
        let Some(ts) = json::text(message, "ts") else {
            tally.leave("messages without a time");
            continue;
        };
        let Some(turn) = turn(message, ts, names, tally) else { continue };
        let has_replies = message["reply_count"].as_u64().is_some_and(|count| count > 0)
            || !json::list(message, "replies").is_empty();
        let root = json::text(message, "thread_ts").filter(|root| *root != ts || has_replies);
        let id = match root.or_else(|| has_replies.then_some(ts)) {
            Some(root) => ThreadId::Replies(root.to_owned()),
            None => {
                ThreadId::Day(turn.created.and_then(day).unwrap_or_else(|| "undated".to_owned()))
            }
        };
        threads.entry(id).or_default().push(turn);
    }
}

fn write_channel(
    channel: &Channel,
    threads: Threads,
    keys: &mut Keys,
    tally: &mut Tally,
    sink: &mut PartSink<'_>,
) -> Result<(), ReadFailure> {
    for (id, mut turns) in threads {
        turns.sort_by(|a, b| a.created.cmp(&b.created).then_with(|| a.stamp.cmp(&b.stamp)));
        let first = turns.first();
        let (own, title) = match &id {
            ThreadId::Day(day) => (day.clone(), format!("{}, {day}", channel.title)),
            ThreadId::Replies(root) => {
                let day = moment(&Value::from(root.as_str())).and_then(day).unwrap_or_default();
                let start: String =
                    first.map_or("", |turn| turn.text.as_str()).chars().take(60).collect();
                (root.clone(), format!("{}, {day}: {}", channel.title, name(&start)))
            }
        };
        let mut header = Header {
            id: format!("{}:{own}", channel.key),
            title,
            source: SOURCE,
            ..Header::default()
        };
        header.fields.insert("channel".to_owned(), Value::from(channel.title.as_str()));
        if !channel.topic.is_empty() {
            header.fields.insert("topic".to_owned(), Value::from(name(&channel.topic)));
        }
        write_conversation(header, turns, keys, tally, sink)?;
    }
    Ok(())
}

fn turn(message: &Value, ts: &str, names: &Names, tally: &mut Tally) -> Option<Turn> {
    let kind = json::text(message, "subtype").unwrap_or_default();
    let is_said =
        ["", "bot_message", "thread_broadcast", "me_message", "file_share", "file_comment"];
    if !is_said.contains(&kind) {
        tally.leave("service messages");
        return None;
    }
    let mut texts = vec![plain_text(json::text(message, "text").unwrap_or_default(), names)];
    for attachment in json::list(message, "attachments") {
        let parts = ["title", "text"].map(|it| json::text(attachment, it));
        let parts: Vec<&str> = parts.into_iter().flatten().collect();
        let parts = if parts.is_empty() {
            json::text(attachment, "fallback").into_iter().collect()
        } else {
            parts
        };
        texts.push(plain_text(&parts.join("\n\n"), names));
    }
    for file in json::list(message, "files") {
        let title = json::text(file, "title").or_else(|| json::text(file, "name"));
        texts.push(format!("[file: {}]", name(title.unwrap_or("removed"))));
    }
    texts.retain(|text| !text.trim().is_empty());
    if texts.is_empty() {
        tally.leave("messages without text");
        return None;
    }
    let user = json::text(message, "user").or_else(|| json::text(message, "bot_id"));
    let listed = user.and_then(|user| names.get(user)).map(String::as_str);
    let author = listed.or_else(|| json::text(message, "username")).or(user);
    let edited = json::text(&message["edited"], "ts").map(Value::from);
    Some(Turn {
        id: Some(ts.to_owned()),
        stamp: ts.to_owned(),
        author: author.unwrap_or("Unknown").to_owned(),
        text: texts.join("\n\n"),
        created: moment(&Value::from(ts)),
        updated: edited.and_then(|edited| moment(&edited)),
        ..Turn::default()
    })
}

/// A text of Slack as Markdown: mentions and links resolved, entities decoded.
pub(crate) fn plain_text(text: &str, names: &BTreeMap<String, String>) -> String {
    let mut clean = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find('<') {
        let Some(length) = rest[start..].find('>') else { break };
        clean.push_str(&rest[..start]);
        clean.push_str(&reference(&rest[start + 1..start + length], names));
        rest = &rest[start + length + 1..];
    }
    clean.push_str(rest);
    let clean = emphasise(&clean);
    clean.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
}

fn reference(inner: &str, names: &BTreeMap<String, String>) -> String {
    let (target, label) =
        inner.split_once('|').map_or((inner, None), |(to, label)| (to, Some(label)));
    let label = label.filter(|label| !label.trim().is_empty());
    let named = |id: &str| names.get(id).map(String::as_str).or(label).unwrap_or(id).to_owned();
    match target.chars().next() {
        Some('@') => format!("@{}", named(&target[1..])),
        Some('#') => format!("#{}", label.map_or_else(|| named(&target[1..]), str::to_owned)),
        Some('!') => {
            let word = target[1..].split('^').next().unwrap_or_default();
            label.map_or_else(|| format!("@{word}"), str::to_owned)
        }
        _ => match label {
            Some(label) if label != target => {
                format!("[{label}]({})", target.strip_prefix("mailto:").unwrap_or(target))
            }
            _ => target.to_owned(),
        },
    }
}

/// Doubles the star of `*bold*` and the wave of `~struck~`, outside of code.
fn emphasise(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    for (at, piece) in text.split('`').enumerate() {
        if at > 0 {
            clean.push('`');
        }
        match at % 2 {
            0 => clean.push_str(&double_marks(piece)),
            _ => clean.push_str(piece),
        }
    }
    clean
}

fn double_marks(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    let mut before = ' ';
    let mut rest = text;
    while let Some(mark) = rest.chars().next() {
        let after = &rest[mark.len_utf8()..];
        let end = after.find(['*', '~', '\n']).filter(|_| matches!(mark, '*' | '~'));
        let inner = end.and_then(|end| after[end..].starts_with(mark).then(|| &after[..end]));
        match inner.filter(|it| !it.is_empty() && it.trim() == *it && !before.is_alphanumeric()) {
            Some(inner) => {
                let marks = if mark == '*' { "**" } else { "~~" };
                clean.push_str(&format!("{marks}{inner}{marks}"));
                rest = &after[inner.len() + 1..];
                before = mark;
            }
            None => {
                clean.push(mark);
                rest = after;
                before = mark;
            }
        }
    }
    clean
}
