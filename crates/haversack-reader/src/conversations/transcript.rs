//! Plain transcripts: lines of `Name: text`, with or without times.

use serde_json::Value;

use super::turn::{Header, Keys, Tally, Turn, name, write_conversation};
use crate::part::{PartSink, ReadFailure};
use crate::source::{FileHead, SourceFile};
use crate::table::Reader;

/// The reader of transcripts.
pub(crate) const READER: Reader = Reader {
    name: "transcript",
    extensions: &["txt"],
    recognises: is_transcript,
    is_isolated: false,
    read,
};

/// Names that stand before a colon without anybody speaking.
const NO_SPEAKERS: &[&str] = &[
    "note",
    "notes",
    "date",
    "time",
    "subject",
    "from",
    "to",
    "cc",
    "title",
    "author",
    "version",
    "http",
    "https",
    "todo",
    "warning",
    "error",
    "info",
    "debug",
    "example",
    "summary",
    "name",
    "description",
    "e-mail",
    "email",
    "phone",
    "address",
    "status",
    "type",
    "url",
    "file",
    "attendees",
    "location",
];

/// A line that somebody speaks.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Line<'t> {
    /// The time in the recording, as written.
    pub(crate) at: Option<&'t str>,
    pub(crate) speaker: &'t str,
    pub(crate) text: &'t str,
}

/// Whether it surely is a transcript: most lines fit, of at least two speakers and four turns.
fn is_transcript(head: &FileHead) -> bool {
    if !matches!(head.extension(), "txt" | "text" | "transcript" | "") {
        return false;
    }
    let all = head.text().lines().filter(|line| !line.trim().is_empty());
    let lines: Vec<Option<Line<'_>>> = all.map(split_line).collect();
    let spoken: Vec<&Line<'_>> = lines.iter().flatten().collect();
    let mut speakers: Vec<&str> = spoken.iter().map(|line| line.speaker).collect();
    speakers.sort_unstable();
    speakers.dedup();
    let turns = spoken.windows(2).filter(|pair| pair[0].speaker != pair[1].speaker).count() + 1;
    let is_first = lines.first().is_some_and(Option::is_some);
    // Lists of settings have a new name on every line; people come back.
    let come_back = spoken.len() >= 2 * speakers.len();
    let timed = spoken.iter().filter(|line| line.at.is_some()).count();
    let is_most = spoken.len() * 10 >= lines.len() * 7 || timed * 2 >= lines.len();
    is_first && is_most && speakers.len() >= 2 && turns >= 4 && come_back && speakers.len() <= 50
}

/// Splits `[00:01:02] Name: text`.
pub(crate) fn split_line(line: &str) -> Option<Line<'_>> {
    let line = line.trim();
    let (at, rest) = match split_time(line) {
        Some((at, rest)) => (Some(at), rest),
        None => (None, line),
    };
    let (speaker, text) = rest.split_once(':')?;
    let speaker = speaker.trim().trim_matches('*').trim();
    // `Name (00:01:02): text` is usual too.
    let (speaker, at) = match speaker.strip_suffix(')').and_then(|it| it.rsplit_once('(')) {
        Some((own, time)) if is_time(time) => (own.trim(), Some(time)),
        _ => (speaker, at),
    };
    let is_spaced = text.is_empty() || text.starts_with([' ', '\t', '*']);
    let text = text.trim_start_matches('*').trim();
    (is_spaced && is_speaker(speaker)).then_some(Line { at, speaker, text })
}

/// Whether a text can be the name of somebody who speaks.
pub(crate) fn is_speaker(text: &str) -> bool {
    let words = text.split(' ').count();
    let starts = text.chars().next().is_some_and(|c| c.is_alphabetic() && !c.is_lowercase());
    let is_plain = text.chars().all(|c| c.is_alphanumeric() || " .'’-_()&".contains(c));
    let lower = text.to_lowercase();
    starts
        && is_plain
        && words <= 4
        && text.chars().count() <= 40
        && !NO_SPEAKERS.contains(&lower.as_str())
}

fn split_time(line: &str) -> Option<(&str, &str)> {
    for (open, close) in [('[', ']'), ('(', ')')] {
        if let Some((time, rest)) = line.strip_prefix(open).and_then(|it| it.split_once(close)) {
            return is_time(time).then(|| (time.trim(), rest.trim_start_matches([' ', '-', '\t'])));
        }
    }
    let (time, rest) = line.split_once([' ', '\t'])?;
    is_time(time).then(|| (time, rest.trim_start_matches([' ', '-', '\t'])))
}

/// Whether it is a time such as `1:02`, `00:01:02` or `00:01:02.500`.
pub(crate) fn is_time(text: &str) -> bool {
    let text = text.trim();
    let parts: Vec<&str> = text.split(':').collect();
    let is_number = |part: &&str| {
        !part.is_empty()
            && part.len() <= 6
            && part.bytes().all(|it| it.is_ascii_digit() || it == b'.' || it == b',')
    };
    (parts.len() == 2 || parts.len() == 3) && parts.iter().all(is_number) && text.len() <= 12
}

/// Reads a transcript.
fn read(source: &mut SourceFile<'_>, sink: &mut PartSink<'_>) -> Result<(), ReadFailure> {
    let title = source.stem().to_owned();
    let bytes = source.read_all()?;
    let text = String::from_utf8_lossy(&bytes);
    let text = text.trim_start_matches('\u{feff}');
    let mut turns: Vec<Turn> = Vec::new();
    let mut heading = String::new();
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        match (split_line(line), turns.last_mut()) {
            (Some(line), last) => {
                if let Some(last) =
                    last.filter(|last| last.author == name(line.speaker) && line.at.is_none())
                {
                    last.text = format!("{}\n\n{}", last.text, line.text);
                    continue;
                }
                turns.push(timed_turn(line.speaker, line.at, line.text));
            }
            (None, Some(last)) => last.text = format!("{}\n\n{}", last.text, line.trim()),
            (None, None) => heading = format!("{heading}\n\n{}", line.trim()),
        }
    }
    let mut tally = Tally::default();
    let before = turns.len();
    turns.retain(|turn| !turn.text.trim().is_empty());
    tally.leave_many("turns without text", (before - turns.len()) as u64);
    let header = Header {
        title,
        source: "transcript",
        summary: heading.trim().to_owned(),
        ..Header::default()
    };
    write_conversation(header, turns, &mut Keys::default(), &mut tally, sink)?;
    tally.give_omissions(sink)
}

/// A turn at a place of a recording.
pub(crate) fn timed_turn(speaker: &str, at: Option<&str>, text: &str) -> Turn {
    let at = at.map(whole_seconds);
    let speaker = name(speaker);
    let mut turn = Turn { author: speaker.clone(), text: text.to_owned(), ..Turn::default() };
    if let Some(at) = at {
        turn.title = format!("{at} {speaker}").trim_end().to_owned();
        turn.fields.insert("at".to_owned(), Value::from(at.as_str()));
        turn.stamp = at;
    }
    turn
}

/// A time as `00:12:31`.
fn whole_seconds(time: &str) -> String {
    let time = time.trim().split(['.', ',']).next().unwrap_or_default();
    let parts: Vec<&str> = time.split(':').collect();
    match parts.as_slice() {
        [minutes, seconds] => format!("00:{minutes:0>2}:{seconds:0>2}"),
        [hours, minutes, seconds] => format!("{hours:0>2}:{minutes:0>2}:{seconds:0>2}"),
        _ => time.to_owned(),
    }
}
