//! Mailboxes: messages below each other, each after a line that begins with `From `.
//!
//! They are read twice: first the headers, to find threads, then each message by itself. A mailbox is never
//! in memory as a whole.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, Read, SeekFrom};

use mail_parser::MessageParser;

use super::give_left_out;
use super::message::{Place, date_of, ids, one_line, read_message};
use crate::limits::PARTS_MAX;
use crate::part::{Part, PartSink, ReadFailure, ReadNotice};
use crate::source::{ReadSeek, SourceFile};

/// Bytes of one message. Larger ones are left out.
const MESSAGE_BYTES_MAX: u64 = 64 << 20;

/// Bytes of the headers of one message.
const HEADER_BYTES_MAX: usize = 256 << 10;

/// References of one message that are followed.
const REFERENCES_MAX: usize = 100;

/// A message in a mailbox.
#[derive(Debug, Default)]
struct Entry {
    start: u64,
    bytes: u64,
    key: String,
    subject: String,
    date: Option<i64>,
}

/// Whether a line separates messages: a sender and a date with a time.
pub(super) fn is_separator(line: &[u8]) -> bool {
    let Some(rest) = line.strip_prefix(b"From ") else { return false };
    let is_time = |word: &[u8]| {
        word.contains(&b':') && word.iter().all(|byte| byte.is_ascii_digit() || *byte == b':')
    };
    let is_year = |word: &[u8]| word.len() == 4 && word.iter().all(u8::is_ascii_digit);
    let mut words = rest.split(u8::is_ascii_whitespace).skip(1);
    let (mut has_time, mut has_year) = (false, false);
    words.by_ref().take(10).for_each(|word| {
        has_time |= is_time(word);
        has_year |= is_year(word);
    });
    has_time && has_year
}

pub(super) fn read(
    source: &mut SourceFile<'_>,
    sink: &mut PartSink<'_>,
) -> Result<(), ReadFailure> {
    let all = source.bytes();
    let input = source.rewound()?;
    let mut threads = Threads::default();
    let entries = read_entries(input, &mut threads)?;
    if entries.is_empty() && all > 0 {
        return Err(ReadFailure::malformed("a mailbox without messages"));
    }
    let mut order: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for number in 0..entries.len() {
        order.entry(threads.find(number)).or_default().push(number);
    }
    let (mut done, mut left_out) = (0, 0);
    for (position, numbers) in order.values_mut().enumerate() {
        numbers.sort_by_key(|number| (entries[*number].date, *number));
        let thread = give_thread(&entries, numbers, position, sink)?;
        for (position, number) in numbers.iter().enumerate() {
            let entry = &entries[*number];
            let key = entry.key.clone();
            let position = i64::try_from(position).unwrap_or_default();
            let place = Place { key, parent: Some(thread.clone()), position, depth: 0 };
            left_out += give_message(input, entry, *number, &place, sink)?;
            done += entry.bytes;
            sink.progress(done, all)?;
        }
    }
    give_left_out(left_out, sink)
}

/// Gives the part of a thread and returns its key.
fn give_thread(
    entries: &[Entry],
    numbers: &[usize],
    position: usize,
    sink: &mut PartSink<'_>,
) -> Result<String, ReadFailure> {
    // The first in the file, not the earliest: messages that are appended do not change it.
    let first = numbers.iter().min().and_then(|number| entries.get(*number));
    let first = first.ok_or_else(|| ReadFailure::malformed("a thread without messages"))?;
    let key = format!("thread-{:016x}", hash(first.key.as_bytes()));
    let dates = || numbers.iter().filter_map(|number| entries[*number].date);
    sink.part(Part {
        key: key.clone(),
        kind: "thread".to_owned(),
        title: plain_subject(&first.subject).to_owned(),
        created: dates().min(),
        updated: dates().max(),
        position: i64::try_from(position).unwrap_or_default(),
        ..Part::default()
    })?;
    Ok(key)
}

/// Reads one message and gives its parts. One that cannot be read becomes a notice.
fn give_message(
    input: &mut dyn ReadSeek,
    entry: &Entry,
    number: usize,
    place: &Place,
    sink: &mut PartSink<'_>,
) -> Result<usize, ReadFailure> {
    let result = match entry.bytes > MESSAGE_BYTES_MAX {
        true => {
            let what = format!("a message of {} bytes", entry.bytes);
            Err(ReadFailure::too_large(what, MESSAGE_BYTES_MAX))
        }
        false => {
            input.seek(SeekFrom::Start(entry.start))?;
            let mut bytes = Vec::new();
            (&mut *input).take(entry.bytes).read_to_end(&mut bytes)?;
            read_message(&unescape(&bytes), place, sink)
        }
    };
    match result {
        Ok(left_out) => Ok(left_out),
        Err(ReadFailure::Stopped) => Err(ReadFailure::Stopped),
        Err(failure) => {
            let place = format!("message {}, {}", number + 1, entry.subject);
            sink.notice(ReadNotice::new(failure.to_string()).at(place))?;
            Ok(0)
        }
    }
}

/// Takes the `>` away that was put before lines that begin with `From `.
fn unescape(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len());
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        let marks = line.iter().take_while(|byte| **byte == b'>').count();
        let is_escaped = marks > 0 && line[marks..].starts_with(b"From ");
        out.extend_from_slice(&line[usize::from(is_escaped)..]);
    }
    out
}

/// Reads the headers of all messages, and where the messages stand.
fn read_entries(
    input: &mut dyn ReadSeek,
    threads: &mut Threads,
) -> Result<Vec<Entry>, ReadFailure> {
    let mut reader = BufReader::with_capacity(1 << 16, input);
    let mut entries: Vec<Entry> = Vec::new();
    let mut keys = BTreeSet::new();
    let (mut at, mut after_blank, mut in_header) = (0_u64, true, false);
    let (mut line, mut header) = (Vec::new(), Vec::new());
    loop {
        line.clear();
        // The rest of a longer line is read as lines of its own, none of which separates messages.
        let read = (&mut reader).take(HEADER_BYTES_MAX as u64).read_until(b'\n', &mut line)?;
        let separates = after_blank && is_separator(&line);
        if separates || read == 0 {
            if let Some(entry) = entries.last_mut() {
                entry.bytes = at - entry.start;
                threads.add(entry, &header, &mut keys);
            }
            header.clear();
            if read == 0 {
                return Ok(entries);
            }
            if entries.len() >= PARTS_MAX {
                return Err(ReadFailure::too_large("messages in a mailbox", PARTS_MAX as u64));
            }
            entries.push(Entry { start: at + read as u64, ..Entry::default() });
            in_header = true;
        } else if in_header && header.len() < HEADER_BYTES_MAX {
            header.extend_from_slice(&line);
        }
        let is_blank = matches!(&*line, b"\n" | b"\r\n");
        in_header &= !is_blank;
        after_blank = is_blank;
        at += read as u64;
    }
}

/// The threads of a mailbox: messages that refer to each other, or else have the same subject.
#[derive(Debug, Default)]
struct Threads {
    /// For each message, an earlier one of the same thread, or itself.
    earlier: Vec<usize>,
    /// The first message with an id or a reference to it.
    by_id: BTreeMap<String, usize>,
    /// The first message with a subject.
    by_subject: BTreeMap<String, usize>,
}

impl Threads {
    /// Adds a message and fills in what its headers say.
    fn add(&mut self, entry: &mut Entry, header: &[u8], keys: &mut BTreeSet<String>) {
        let number = self.earlier.len();
        self.earlier.push(number);
        let message = MessageParser::default().parse_headers(header);
        let id = message.as_ref().and_then(|message| message.message_id().map(str::to_owned));
        let mut related = Vec::new();
        if let Some(message) = &message {
            entry.subject = one_line(message.subject().unwrap_or_default());
            entry.date = date_of(message);
            related = ids(message.references());
            related.truncate(REFERENCES_MAX);
            related.extend(ids(message.in_reply_to()).into_iter().take(1));
        }
        entry.key = match &id {
            Some(id) => id.clone(),
            None => format!("{:016x}", hash(header)),
        };
        // The same message can be in a mailbox twice.
        let mut copy = 2;
        while !keys.insert(entry.key.clone()) {
            let plain = entry.key.rsplit_once('#').filter(|(_, end)| end.parse::<u32>().is_ok());
            entry.key = format!("{}#{copy}", plain.map_or(&*entry.key, |(key, _)| key));
            copy += 1;
        }
        let is_alone = related.is_empty();
        for id in related.into_iter().chain(id) {
            let other = *self.by_id.entry(id).or_insert(number);
            self.join(number, other);
        }
        let subject = plain_subject(&entry.subject);
        if !subject.is_empty() {
            let is_reply = subject.len() < entry.subject.len();
            let other = *self.by_subject.entry(subject.to_lowercase()).or_insert(number);
            if is_alone && is_reply {
                self.join(number, other);
            }
        }
    }

    /// The first message of a message's thread.
    fn find(&mut self, number: usize) -> usize {
        let mut at = number;
        while self.earlier[at] != at {
            // Halving the path keeps it short.
            self.earlier[at] = self.earlier[self.earlier[at]];
            at = self.earlier[at];
        }
        at
    }

    fn join(&mut self, one: usize, other: usize) {
        let (one, other) = (self.find(one), self.find(other));
        self.earlier[one.max(other)] = one.min(other);
    }
}

/// A subject without `Re:` and its like.
fn plain_subject(subject: &str) -> &str {
    const PREFIXES: &[&str] = &["re:", "fwd:", "fw:", "aw:", "wg:", "sv:", "antw:", "tr:", "rv:"];
    let mut rest = subject.trim();
    loop {
        let prefix = PREFIXES.iter().find(|prefix| {
            let start = rest.as_bytes().get(..prefix.len());
            start.is_some_and(|start| start.eq_ignore_ascii_case(prefix.as_bytes()))
        });
        match prefix.and_then(|prefix| rest.get(prefix.len()..)) {
            Some(after) => rest = after.trim_start(),
            None => return rest,
        }
    }
}

/// FNV-1a: the same on every machine.
fn hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}
