//! Subtitles in WebVTT and `SubRip`: their cues, merged into turns and paragraphs.

use super::transcript::{is_speaker, is_time, timed_turn};
use super::turn::{Header, Keys, Tally, Turn, write_conversation};
use crate::part::{PartSink, ReadFailure};
use crate::source::{FileHead, SourceFile};
use crate::table::Reader;

/// The reader of subtitles.
pub(crate) const READER: Reader = Reader {
    name: "subtitles",
    extensions: &["vtt", "srt"],
    recognises: is_subtitles,
    is_isolated: false,
    read,
};

/// Characters after which a turn without a speaker ends at the next sentence.
const PARAGRAPH_CHARS: usize = 600;

/// Characters after which any turn ends at the next sentence.
const TURN_CHARS: usize = 4_000;

/// A cue: when it begins, who speaks, and the text.
#[derive(Debug, Clone, PartialEq)]
struct Cue {
    at: String,
    speaker: Option<String>,
    text: String,
}

/// Whether it is WebVTT or `SubRip`.
fn is_subtitles(head: &FileHead) -> bool {
    let text = head.text();
    let is_vtt = text.starts_with("WEBVTT");
    let times = text.lines().take(200).filter(|line| cue_start(line).is_some()).count();
    is_vtt || matches!(head.extension(), "vtt" | "srt") && times > 0
}

/// Reads subtitles.
fn read(source: &mut SourceFile<'_>, sink: &mut PartSink<'_>) -> Result<(), ReadFailure> {
    let title = source.stem().to_owned();
    let bytes = source.read_all()?;
    let text = String::from_utf8_lossy(&bytes);
    let mut tally = Tally::default();
    let cues = cues(text.trim_start_matches('\u{feff}'), &mut tally);
    let turns = turns(cues);
    let header = Header { title, source: "subtitles", ..Header::default() };
    write_conversation(header, turns, &mut Keys::default(), &mut tally, sink)?;
    tally.give_omissions(sink)
}

/// The time at which a cue begins, if a line is one of times.
fn cue_start(line: &str) -> Option<&str> {
    let (start, end) = line.split_once("-->")?;
    let end = end.split_whitespace().next()?;
    (is_time(start) && is_time(end)).then(|| start.trim())
}

fn cues(text: &str, tally: &mut Tally) -> Vec<Cue> {
    let mut cues: Vec<Cue> = Vec::new();
    let lines: Vec<&str> = text.lines().collect();
    let mut at = 0;
    while let Some(line) = lines.get(at) {
        at += 1;
        let Some(start) = cue_start(line) else { continue };
        let mut texts = Vec::new();
        while let Some(line) = lines.get(at).filter(|line| !line.trim().is_empty()) {
            if cue_start(line).is_some() {
                // The number of the next cue was taken for text.
                texts.pop();
                break;
            }
            texts.push(line.trim());
            at += 1;
        }
        add_cue(start, &texts, &mut cues, tally);
    }
    cues
}

fn add_cue(start: &str, lines: &[&str], cues: &mut Vec<Cue>, tally: &mut Tally) {
    let mut is_empty = true;
    let mut own: Vec<Cue> = Vec::new();
    for line in lines {
        let (voice, text) = strip_tags(line);
        let dash = text.trim_start_matches(['-', '–']).trim_start();
        let named = dash.split_once(": ").filter(|(speaker, _)| is_speaker(speaker));
        let (speaker, text) = match (voice, named) {
            (Some(voice), _) => (Some(voice), text.trim()),
            (None, Some((speaker, text))) => (Some(speaker.to_owned()), text.trim()),
            (None, None) => (None, text.trim()),
        };
        if text.is_empty() {
            continue;
        }
        is_empty = false;
        match own.last_mut() {
            Some(last) if speaker.is_none() => last.text = format!("{} {text}", last.text),
            _ => own.push(Cue { at: start.to_owned(), speaker, text: text.to_owned() }),
        }
    }
    if is_empty {
        tally.leave("cues without text");
    }
    cues.append(&mut own);
}

/// A line without tags, and the voice that one of them names.
fn strip_tags(line: &str) -> (Option<String>, String) {
    let (mut voice, mut clean) = (None, String::with_capacity(line.len()));
    let mut rest = line;
    while let Some(start) = rest.find('<') {
        let Some(length) = rest[start..].find('>') else { break };
        clean.push_str(&rest[..start]);
        let tag = &rest[start + 1..start + length];
        if let Some((kind, own)) = tag.split_once(' ')
            && (kind == "v" || kind.starts_with("v."))
        {
            voice = Some(own.trim().to_owned());
        }
        rest = &rest[start + length + 1..];
    }
    clean.push_str(rest);
    // Positions of SubRip, such as {\an8}.
    if let Some(inner) = clean.strip_prefix("{\\")
        && let Some((_, text)) = inner.split_once('}')
    {
        clean = text.to_owned();
    }
    let pairs = [
        ("&nbsp;", " "),
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&lrm;", ""),
        ("&rlm;", ""),
        ("&amp;", "&"),
    ];
    (voice, pairs.iter().fold(clean, |text, (from, to)| text.replace(from, to)))
}

/// Merges cues into turns: a new one begins with another speaker, or after a long paragraph.
fn turns(cues: Vec<Cue>) -> Vec<Turn> {
    let mut turns: Vec<Turn> = Vec::new();
    let mut last_line = String::new();
    for cue in cues {
        // Live captions repeat the line before in each cue.
        if cue.text == last_line {
            continue;
        }
        last_line.clone_from(&cue.text);
        let speaker = cue.speaker.clone().unwrap_or_default();
        let continues = turns.last().is_some_and(|last| {
            let is_same = cue.speaker.is_none() || last.author == speaker;
            let length_max = if last.author.is_empty() { PARAGRAPH_CHARS } else { TURN_CHARS };
            let is_long =
                last.text.len() > length_max && last.text.ends_with(['.', '?', '!', '…', '。']);
            is_same && !is_long
        });
        match turns.last_mut().filter(|_| continues) {
            Some(last) => {
                last.text.push(' ');
                last.text.push_str(&cue.text);
            }
            None => {
                let before = turns.last().map(|last| last.author.clone()).unwrap_or_default();
                let speaker = if cue.speaker.is_none() { before } else { speaker };
                turns.push(timed_turn(&speaker, Some(&cue.at), &cue.text));
            }
        }
    }
    turns
}
