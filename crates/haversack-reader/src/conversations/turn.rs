//! Conversations and their turns, written as parts with keys that stay when the conversation goes on.

use std::collections::{BTreeMap, HashMap};

use serde_json::{Map, Value};

use super::json::read_list_or_one;
use crate::part::{OmissionKind, Part, PartSink, ReadFailure, ReadNotice};
use crate::source::SourceFile;

/// How many participants a thread names.
const PARTICIPANTS_MAX: usize = 100;

/// Bytes of an id that is used in a key as it is.
const ID_BYTES_MAX: usize = 80;

/// Bytes of a title or a name.
const NAME_BYTES_MAX: usize = 300;

/// One turn of a conversation.
#[derive(Debug, Clone, Default)]
pub(crate) struct Turn {
    /// Its id in the export, if it has one.
    pub(crate) id: Option<String>,
    /// Its time as the export writes it, for turns without an id.
    pub(crate) stamp: String,
    pub(crate) title: String,
    pub(crate) author: String,
    /// `user`, `assistant`, `system` or `tool`; `None` between people.
    pub(crate) role: Option<&'static str>,
    pub(crate) text: String,
    pub(crate) created: Option<i64>,
    pub(crate) updated: Option<i64>,
    pub(crate) fields: Map<String, Value>,
}

/// What is known about a conversation before its turns.
#[derive(Debug, Clone, Default)]
pub(crate) struct Header {
    /// Its id in the export; empty when the file is the conversation.
    pub(crate) id: String,
    pub(crate) title: String,
    /// The program that it was held with.
    pub(crate) source: &'static str,
    pub(crate) summary: String,
    pub(crate) created: Option<i64>,
    pub(crate) updated: Option<i64>,
    pub(crate) fields: Map<String, Value>,
}

/// Who speaks in a conversation, and from when to when.
#[derive(Debug, Clone, Default)]
pub(crate) struct Outline {
    first: Option<i64>,
    last: Option<i64>,
    participants: Vec<String>,
}

impl Outline {
    /// Takes a turn into account.
    pub(crate) fn add(&mut self, author: &str, created: Option<i64>) {
        self.first = self.first.into_iter().chain(created).min();
        self.last = self.last.into_iter().chain(created).max();
        let author = author.trim();
        let is_known = self.participants.iter().any(|known| known == author);
        if !author.is_empty() && !is_known && self.participants.len() < PARTICIPANTS_MAX {
            self.participants.push(name(author));
        }
    }

    /// The outline of turns in memory.
    pub(crate) fn of(turns: &[Turn]) -> Outline {
        let mut outline = Outline::default();
        for turn in turns {
            outline.add(&turn.author, turn.created);
        }
        outline
    }
}

/// Keys that are the same in each export, and different from each other.
#[derive(Debug, Default)]
pub(crate) struct Keys {
    seen: HashMap<String, u32>,
}

impl Keys {
    /// A key by an id. A repeated one gets a counter.
    pub(crate) fn key(&mut self, id: &str) -> String {
        let is_plain = |c: char| c.is_alphanumeric() || "-_.:@+=".contains(c);
        let key = match id.len() <= ID_BYTES_MAX && !id.is_empty() && id.chars().all(is_plain) {
            true => id.to_owned(),
            false => hash(&[id]),
        };
        let count = self.seen.entry(key.clone()).or_insert(0);
        *count += 1;
        match *count {
            1 => key,
            count => format!("{key}~{count}"),
        }
    }
}

/// A short name for texts, the same wherever it is computed.
pub(crate) fn hash(texts: &[&str]) -> String {
    let mut hasher = blake3::Hasher::new();
    for text in texts {
        // The length comes first, so that ("ab", "c") and ("a", "bc") differ.
        hasher.update(&(text.len() as u64).to_le_bytes());
        hasher.update(text.as_bytes());
    }
    hasher.finalize().to_hex().chars().take(20).collect()
}

/// A name or a title on one line, truncated if it is long.
pub(crate) fn name(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let line: String = line.chars().filter(|c| !c.is_control() && !is_mark(*c)).collect();
    match line.len() > NAME_BYTES_MAX {
        true => format!("{}…", line[..line.floor_char_boundary(NAME_BYTES_MAX)].trim_end()),
        false => line,
    }
}

/// Whether a character only directs the writing of others, as phones put it around names.
pub(crate) const fn is_mark(c: char) -> bool {
    matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
}

/// Writes the messages of one thread, which was given before.
#[derive(Debug)]
pub(crate) struct MessageWriter {
    thread: String,
    keys: Keys,
    position: i64,
}

impl MessageWriter {
    /// Gives the thread itself.
    pub(crate) fn start(
        header: Header,
        outline: Outline,
        threads: &mut Keys,
        sink: &mut PartSink<'_>,
    ) -> Result<MessageWriter, ReadFailure> {
        let key = if header.id.is_empty() { String::new() } else { threads.key(&header.id) };
        let mut part = Part {
            key: key.clone(),
            kind: "thread".to_owned(),
            title: name(&header.title),
            body: header.summary,
            is_markdown: true,
            fields: header.fields,
            created: header.created.or(outline.first),
            updated: header.updated.max(outline.last),
            ..Part::default()
        };
        part.set_field("source", header.source);
        if !outline.participants.is_empty() {
            part.fields.insert("participants".to_owned(), Value::from(outline.participants));
        }
        sink.part(part)?;
        Ok(MessageWriter { thread: key, keys: Keys::default(), position: 0 })
    }

    /// Gives one message.
    pub(crate) fn write(&mut self, turn: Turn, sink: &mut PartSink<'_>) -> Result<(), ReadFailure> {
        let id = turn.id.unwrap_or_else(|| hash(&[&turn.stamp, &turn.author, &turn.text]));
        let own = self.keys.key(&id);
        let key = if self.thread.is_empty() { own } else { format!("{}/{own}", self.thread) };
        let mut part = Part {
            key,
            parent: Some(self.thread.clone()),
            kind: "message".to_owned(),
            title: name(&turn.title),
            body: turn.text.trim().to_owned(),
            is_markdown: true,
            fields: turn.fields,
            created: turn.created,
            updated: turn.updated.or(turn.created),
            position: self.position,
            pages: Vec::new(),
        };
        part.set_field("author", &name(&turn.author));
        part.set_field("role", turn.role.unwrap_or_default());
        self.position += 1;
        sink.part(part)
    }
}

/// Writes one conversation of an export.
pub(crate) type WriteConversation =
    fn(&Value, &mut Keys, &mut Tally, &mut PartSink<'_>) -> Result<(), ReadFailure>;

/// Reads a file that holds a list of conversations, or one of them.
pub(crate) fn read_conversations(
    source: &mut SourceFile<'_>,
    write: WriteConversation,
    sink: &mut PartSink<'_>,
) -> Result<(), ReadFailure> {
    let (mut threads, mut tally) = (Keys::default(), Tally::default());
    read_list_or_one(source, &mut |_, conversation| {
        write(&conversation, &mut threads, &mut tally, sink)
    })?;
    tally.give_omissions(sink)
}

/// Gives a conversation that is in memory; one without turns is only counted.
pub(crate) fn write_conversation(
    header: Header,
    turns: Vec<Turn>,
    threads: &mut Keys,
    tally: &mut Tally,
    sink: &mut PartSink<'_>,
) -> Result<(), ReadFailure> {
    if turns.is_empty() {
        tally.leave("conversations without text");
        return Ok(());
    }
    tally.take("conversations");
    let mut writer = MessageWriter::start(header, Outline::of(&turns), threads, sink)?;
    for turn in turns {
        tally.take("messages");
        writer.write(turn, sink)?;
    }
    Ok(())
}

/// Counts what was taken and what was left out.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    taken: Vec<(&'static str, u64)>,
    left: BTreeMap<&'static str, u64>,
    /// Other things that the summary says.
    pub(crate) remarks: Vec<String>,
}

impl Tally {
    /// Counts something that was taken.
    pub(crate) fn take(&mut self, what: &'static str) {
        match self.taken.iter_mut().find(|(known, _)| *known == what) {
            Some((_, count)) => *count += 1,
            None => self.taken.push((what, 1)),
        }
    }

    /// Counts something that was left out.
    pub(crate) fn leave(&mut self, what: &'static str) {
        self.leave_many(what, 1);
    }

    /// Counts things that were left out.
    pub(crate) fn leave_many(&mut self, what: &'static str, count: u64) {
        if count > 0 {
            *self.left.entry(what).or_default() += count;
        }
    }

    /// How many of something were taken.
    pub(crate) fn taken(&self, what: &str) -> u64 {
        self.taken.iter().find(|(known, _)| *known == what).map_or(0, |(_, count)| *count)
    }

    /// The summary: `3 conversations, 41 messages; left out: 2 messages of tools`.
    fn summary(&self) -> String {
        let each = |(what, count): (&'static str, u64)| format!("{} {what}", grouped(count));
        let taken: Vec<String> = self.taken.iter().copied().map(each).collect();
        let left: Vec<String> =
            self.left.iter().map(|(what, count)| each((what, *count))).collect();
        let mut text = if taken.is_empty() { "nothing taken".to_owned() } else { taken.join(", ") };
        if !left.is_empty() {
            text = format!("{text}; left out: {}", left.join(", "));
        }
        for remark in &self.remarks {
            text = format!("{text}; {remark}");
        }
        text
    }

    /// Gives the summary as a notice.
    pub(crate) fn give_summary(&self, sink: &mut PartSink<'_>) -> Result<(), ReadFailure> {
        sink.notice(ReadNotice::new(self.summary()))
    }

    /// Gives the summary if something was left out, or nothing taken.
    pub(crate) fn give_omissions(&self, sink: &mut PartSink<'_>) -> Result<(), ReadFailure> {
        if self.taken.is_empty() || !self.remarks.is_empty() {
            return self.give_summary(sink);
        }
        match self.left.values().sum() {
            0 => Ok(()),
            left => {
                let notice = ReadNotice::new(self.summary());
                sink.notice(notice.omitting(OmissionKind::Messages, left))
            }
        }
    }
}

/// A number with its thousands apart: `1,204`.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A text in a fence that is longer than any in the text.
pub(crate) fn fenced(language: &str, text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or_default();
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}{language}\n{}\n{fence}", text.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_names_are_readable() {
        assert_eq!(
            ["0", "999", "1,204", "1,000,000"],
            [0, 999, 1_204, 1_000_000].map(grouped).as_slice()
        );
        assert_eq!(name(" a\n b\u{200e} "), "a b");
        assert_eq!(name(&"ä".repeat(400)).chars().count(), 151);
    }

    #[test]
    fn keys_are_plain_and_different() {
        let mut keys = Keys::default();
        assert_eq!(keys.key("a-1"), "a-1");
        assert_eq!(keys.key("a-1"), "a-1~2");
        assert_eq!(keys.key(&"x".repeat(500)).len(), 20);
        assert_eq!(keys.key("a/b\n").len(), 20);
        assert_ne!(hash(&["ab", "c"]), hash(&["a", "bc"]));
    }

    #[test]
    fn a_fence_is_longer_than_those_inside() {
        assert_eq!(fenced("rust", "a\n"), "```rust\na\n```");
        assert_eq!(fenced("", "```\nb\n```"), "````\n```\nb\n```\n````");
    }
}
