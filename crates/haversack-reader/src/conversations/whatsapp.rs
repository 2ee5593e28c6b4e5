//! Chats that WhatsApp exports as text, from both kinds of phones and in many languages.

use jiff::civil::date;

use super::turn::{Header, Keys, Tally, Turn, is_mark, name, write_conversation};
use super::when::civil_millis;
use crate::archive::BoundedArchive;
use crate::part::{PartSink, ReadFailure};
use crate::source::{FileHead, SourceFile};
use crate::table::Reader;

/// The reader of archives of a chat with its media.
pub(crate) const ARCHIVE_READER: Reader = Reader {
    name: "WhatsApp archive",
    extensions: &["zip"],
    recognises: is_archive,
    is_isolated: true,
    read: read_archive,
};

/// The reader of chats.
pub(crate) const READER: Reader = Reader {
    name: "WhatsApp chat",
    extensions: &["txt"],
    recognises: is_chat,
    is_isolated: false,
    read: read_chat,
};

/// Notes in place of media that were not exported. Compared in lower case.
const OMITTED: &[&str] = &[
    "media omitted",
    "medien ausgeschlossen",
    "médias omis",
    "multimedia omitido",
    "archivo omitido",
    "arquivo de mídia oculto",
    "mídia oculta",
    "media omessi",
    "media weggelaten",
    "medya dahil edilmedi",
    "без медиафайлов",
    "файл пропущен",
    "pominięto multimedia",
    "media tidak disertakan",
    "media dilewatkan",
    "メディアは含まれていません",
    "省略多媒體檔案",
    "已省略媒体",
    "미디어 파일을 제외함",
    "تم استبعاد الوسائط",
    "मीडिया छोड़ा गया",
    "media jätettiin pois",
    "media har utelämnats",
    "media udeladt",
    "media utelatt",
];

/// Ends of such notes for one kind of medium: `image omitted`.
const OMITTED_ENDS: &[&str] = &[
    " omitted",
    " weggelassen",
    " omitido",
    " omitida",
    " absente",
    " absent",
    " omis",
    " omise",
    " omesso",
    " omessa",
    " weggelaten",
    " ocultado",
    " ocultada",
    " oculto",
    " oculta",
    " dahil edilmedi",
];

/// Notes in place of deleted messages, and of messages that the phone waits for.
const DELETED: &[&str] = &[
    "this message was deleted",
    "you deleted this message",
    "diese nachricht wurde gelöscht",
    "du hast diese nachricht gelöscht",
    "se eliminó este mensaje",
    "eliminaste este mensaje",
    "este mensaje fue eliminado",
    "ce message a été supprimé",
    "vous avez supprimé ce message",
    "mensagem apagada",
    "você apagou esta mensagem",
    "essa mensagem foi apagada",
    "questo messaggio è stato eliminato",
    "hai eliminato questo messaggio",
    "dit bericht is verwijderd",
    "u hebt dit bericht verwijderd",
    "waiting for this message",
];

/// Words for the halves of the day, with whether it is the afternoon. Most languages put them after the time,
/// some before it. Compared in lower case.
const HALVES: &[(&str, bool)] = &[
    ("a.m.", false),
    ("p.m.", true),
    ("a. m.", false),
    ("p. m.", true),
    ("am", false),
    ("pm", true),
    ("ص", false),
    ("م", true),
    ("पूर्वाह्न", false),
    ("अपराह्न", true),
    ("午前", false),
    ("午後", true),
    ("凌晨", false),
    ("清晨", false),
    ("早上", false),
    ("上午", false),
    ("中午", true),
    ("下午", true),
    ("晚上", true),
    ("오전", false),
    ("오후", true),
    ("öö", false),
    ("ös", true),
    ("π.μ.", false),
    ("μ.μ.", true),
    ("ق.ظ.", false),
    ("ب.ظ.", true),
    ("de.", false),
    ("du.", true),
];

/// Letters of the longest of them, and of what stands between a date and a time.
const HALF_LETTERS_MAX: usize = 16;

/// A date and a time at the start of a line, before the order of day and month is known.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Stamp {
    numbers: [i16; 3],
    is_year_first: bool,
    hour: i8,
    minute: i8,
    second: i8,
}

/// A message or a system line, with its further lines.
struct Entry<'t> {
    stamp: Stamp,
    raw: &'t str,
    text: String,
}

/// Whether most of its first lines begin with a date and a time as WhatsApp writes them.
fn is_chat(head: &FileHead) -> bool {
    if head.extension() != "txt" {
        return false;
    }
    let lines: Vec<&str> = head.text().lines().filter(|line| !line.trim().is_empty()).collect();
    let stamped = lines.iter().filter_map(|line| split_stamp(line));
    let rests: Vec<&str> = stamped.map(|(_, _, rest)| rest).collect();
    let said = rests.iter().filter(|rest| split_author(rest).is_some()).count();
    // Log files have dates too, but no names with a colon after them on most lines.
    let is_first = lines.first().is_some_and(|line| split_stamp(line).is_some());
    is_first && said >= 2 && said * 2 >= rests.len()
}

/// Whether it is the archive of a chat with its media.
fn is_archive(head: &FileHead) -> bool {
    chat_entry(&head.entries).is_some()
}

fn chat_entry(entries: &[String]) -> Option<&String> {
    let is_chat = |entry: &&String| {
        entry.as_str() == "_chat.txt"
            || entry.starts_with("WhatsApp Chat") && entry.ends_with(".txt")
    };
    entries.iter().find(is_chat)
}

/// Reads the archive of a chat.
fn read_archive(source: &mut SourceFile<'_>, sink: &mut PartSink<'_>) -> Result<(), ReadFailure> {
    let title = chat_title(source.stem());
    let mut archive = BoundedArchive::open(source)?;
    let names = archive.names();
    let Some(entry) = chat_entry(&names) else {
        return Err(ReadFailure::malformed("the archive has no _chat.txt"));
    };
    let bytes = archive.named_entry(entry)?;
    let mut tally = Tally::default();
    tally.leave_many("media files", names.len().saturating_sub(1) as u64);
    write(&String::from_utf8_lossy(&bytes), title, tally, sink)
}

/// Reads a chat.
fn read_chat(source: &mut SourceFile<'_>, sink: &mut PartSink<'_>) -> Result<(), ReadFailure> {
    let title = chat_title(source.stem());
    let bytes = source.read_all()?;
    write(&String::from_utf8_lossy(&bytes), title, Tally::default(), sink)
}

/// The name of a chat in the name of its file: `WhatsApp Chat with Anna`.
fn chat_title(stem: &str) -> String {
    let lower = stem.to_lowercase();
    let starts = [
        "whatsapp chat with ",
        "whatsapp chat - ",
        "whatsapp-chat mit ",
        "chat de whatsapp con ",
        "discussion whatsapp avec ",
        "conversa do whatsapp com ",
        "chat whatsapp con ",
    ];
    let start = starts.iter().find(|start| lower.starts_with(**start));
    match start.and_then(|start| stem.get(start.len()..)) {
        Some(title) => title.to_owned(),
        None if stem == "_chat" => "WhatsApp chat".to_owned(),
        None => stem.to_owned(),
    }
}

fn write(
    text: &str,
    title: String,
    mut tally: Tally,
    sink: &mut PartSink<'_>,
) -> Result<(), ReadFailure> {
    let entries = entries(text, &mut tally);
    let first = first_of_dates(&entries);
    let mut turns = Vec::new();
    for entry in entries {
        turns.extend(turn(&entry, first, &title, &mut tally));
    }
    if turns.is_empty() {
        return Err(ReadFailure::malformed("no message of a WhatsApp chat was found in it"));
    }
    let header = Header { title, source: "WhatsApp", ..Header::default() };
    write_conversation(header, turns, &mut Keys::default(), &mut tally, sink)?;
    tally.give_omissions(sink)
}

fn entries<'t>(text: &'t str, tally: &mut Tally) -> Vec<Entry<'t>> {
    let mut entries: Vec<Entry<'t>> = Vec::new();
    for line in text.lines() {
        if let Some((stamp, raw, rest)) = split_stamp(line) {
            entries.push(Entry { stamp, raw, text: rest.to_owned() });
        } else if let Some(last) = entries.last_mut() {
            last.text.push('\n');
            last.text.push_str(line);
        } else if !line.trim_matches(is_mark).trim().is_empty() {
            tally.leave("lines before the first message");
        }
    }
    entries
}

fn turn(entry: &Entry<'_>, first: First, title: &str, tally: &mut Tally) -> Option<Turn> {
    let Some((author, text)) = split_author(&entry.text) else {
        tally.leave("system lines");
        return None;
    };
    // Groups write their own notes under the name of the group, after a mark.
    if text.starts_with('\u{200e}') && name(author) == name(title) && !text.contains(':') {
        tally.leave("system lines");
        return None;
    }
    let clean: String = text.chars().filter(|c| !is_mark(*c)).collect();
    let clean = clean.replace(['\u{202f}', '\u{a0}'], " ");
    let text = match strip_notes(clean.trim()) {
        Ok(text) => text,
        Err(what) => {
            tally.leave(what);
            return None;
        }
    };
    if text.is_empty() {
        tally.leave("messages without text");
        return None;
    }
    Some(Turn {
        stamp: entry.raw.to_owned(),
        author: name(author),
        text,
        created: millis(entry.stamp, first),
        ..Turn::default()
    })
}

/// The text without the notes of the program, or what it is if it is nothing but a note.
fn strip_notes(text: &str) -> Result<String, &'static str> {
    let inner = text.trim_start_matches('<').trim_end_matches(['>', '.']).trim().to_lowercase();
    let is_short = inner.chars().count() < 60 && !inner.contains('\n');
    if is_short && DELETED.iter().any(|note| inner.starts_with(note)) {
        return Err("deleted messages");
    }
    let is_omitted = OMITTED.contains(&inner.as_str());
    let words = inner.split(' ').count();
    if is_short && (is_omitted || words <= 3 && OMITTED_ENDS.iter().any(|end| inner.ends_with(end)))
    {
        return Err("media that were not exported");
    }
    let mut lines: Vec<String> = Vec::new();
    for line in text.lines() {
        let line = line.trim_end();
        let attached = ["<attached: ", "<anhang: ", "<adjunto: ", "<pièce jointe : ", "<anexado: "];
        let lower = line.to_lowercase();
        let start = attached.iter().find(|start| lower.starts_with(**start));
        let file =
            start.and_then(|start| line.get(start.len()..)).map(|it| it.trim_end_matches('>'));
        let ends = [
            " (file attached)",
            " (datei angehängt)",
            " (archivo adjunto)",
            " (fichier joint)",
            " (arquivo anexado)",
        ];
        let end = ends.iter().find(|end| lower.ends_with(**end));
        let file =
            file.or_else(|| end.and_then(|end| line.get(..line.len().checked_sub(end.len())?)));
        lines.push(match file {
            Some(file) => format!("[file: {}]", name(file)),
            None if OMITTED.contains(&lower.trim_matches(['<', '>'])) => "[media]".to_owned(),
            None => line.to_owned(),
        });
    }
    let text = lines.join("\n");
    let edited = [
        "<This message was edited>",
        "<Diese Nachricht wurde bearbeitet.>",
        "<Diese Nachricht wurde bearbeitet>",
    ];
    let text = edited.iter().fold(text, |text, note| text.replace(note, ""));
    Ok(text.trim().to_owned())
}

/// Splits `Name: text`; `None` for lines of the system.
fn split_author(text: &str) -> Option<(&str, &str)> {
    let first = text.lines().next().unwrap_or_default();
    let at = first.find(": ").or_else(|| first.ends_with(':').then(|| first.len() - 1))?;
    let author = text.get(..at)?;
    let is_name = !name(author).is_empty() && author.chars().count() <= 80;
    is_name.then(|| (author, text.get(at + 1..).unwrap_or_default().trim_start_matches(' ')))
}

/// Splits a line into its stamp, the stamp as written, and the rest.
fn split_stamp(line: &str) -> Option<(Stamp, &str, &str)> {
    let line = line.trim_start_matches(is_mark);
    let is_bracketed = line.starts_with('[');
    let mut scan = Scan { rest: line.strip_prefix('[').unwrap_or(line) };
    let (a, digits) = scan.number(4)?;
    let separator = scan.one_of(&['/', '.', '-'])?;
    scan.skip_spaces();
    let (b, _) = scan.number(2)?;
    scan.one_of(&[separator])?;
    scan.skip_spaces();
    let (c, year_digits) = scan.number(4)?;
    let is_dated = matches!((digits, year_digits), (4, 1 | 2) | (1 | 2, 2 | 4));
    if !is_dated {
        return None;
    }
    let half_before = scan.skip_until_digit()?;
    let (hour, _) = scan.number(2)?;
    let colon = scan.one_of(&[':', '.'])?;
    let (minute, 2) = scan.number(2)? else { return None };
    let second = match scan.one_of(&[colon]) {
        Some(_) => scan.number(2)?.0,
        None => 0,
    };
    scan.skip_spaces();
    let half = scan.half().or(half_before);
    scan.skip_spaces();
    let raw = &line[..line.len() - scan.rest.len()];
    let rest = match is_bracketed {
        true => scan.rest.strip_prefix(']')?,
        false => scan.rest.strip_prefix("- ").or_else(|| scan.rest.strip_prefix("– "))?,
    };
    let hour = match half {
        Some(false) if hour == 12 => 0,
        Some(true) if hour < 12 => hour + 12,
        _ => hour,
    };
    let small = |number: i16| i8::try_from(number).ok();
    let is_year_first = digits == 4;
    let numbers = [a, b, c];
    let stamp = Stamp {
        numbers,
        is_year_first,
        hour: small(hour)?,
        minute: small(minute)?,
        second: small(second)?,
    };
    (hour < 24 && minute < 60 && second < 60).then(|| (stamp, raw, rest.trim_start_matches(' ')))
}

/// Reads a stamp from left to right.
struct Scan<'t> {
    rest: &'t str,
}

impl Scan<'_> {
    /// A number of up to so many digits, in any script that WhatsApp writes dates in.
    fn number(&mut self, digits_max: usize) -> Option<(i16, usize)> {
        let (mut number, mut digits) = (0_i16, 0);
        while digits < digits_max {
            let Some(digit) = self.rest.chars().next() else { break };
            let Some(value) = digit_value(digit) else { break };
            number = number * 10 + value;
            self.rest = &self.rest[digit.len_utf8()..];
            digits += 1;
        }
        (digits > 0).then_some((number, digits))
    }

    fn one_of(&mut self, marks: &[char]) -> Option<char> {
        let mark = self.rest.chars().next().filter(|mark| marks.contains(mark))?;
        self.rest = &self.rest[mark.len_utf8()..];
        Some(mark)
    }

    fn skip_spaces(&mut self) {
        self.rest = self.rest.trim_start_matches(|c: char| c.is_whitespace() || is_mark(c));
    }

    /// Skips a comma and short words such as `klo` or `at`. Returns which half of the day they name, if any.
    fn skip_until_digit(&mut self) -> Option<Option<bool>> {
        let mut letters = self.rest.char_indices().take(HALF_LETTERS_MAX);
        let at = letters.find(|(_, c)| digit_value(*c).is_some())?.0;
        let words = self.rest[..at].to_lowercase();
        let mut words = words.split(|c: char| c.is_whitespace() || is_mark(c) || ",،".contains(c));
        let half = words.clone().find_map(|word| HALVES.iter().find(|(known, _)| *known == word));
        // Some words for halves of the day have marks that are no letters of their own.
        let is_between = |word: &str| {
            half.is_some_and(|(known, _)| *known == word)
                || word.chars().all(|c| c.is_alphabetic() || c == '.')
        };
        if at == 0 || !words.all(is_between) {
            return None;
        }
        self.skipped(at)?;
        Some(half.map(|(_, is_afternoon)| *is_afternoon))
    }

    fn skipped(&mut self, at: usize) -> Option<()> {
        self.rest = self.rest.get(at..)?;
        Some(())
    }

    /// Whether it is the afternoon, if the clock has twelve hours.
    fn half(&mut self) -> Option<bool> {
        let start = self.rest.chars().take(HALF_LETTERS_MAX);
        let lower: String = start.flat_map(char::to_lowercase).collect();
        let spaced = lower.replace(['\u{202f}', '\u{a0}'], " ");
        let (word, half) = HALVES.iter().find(|(word, _)| spaced.starts_with(word))?;
        let length: usize = self.rest.chars().take(word.chars().count()).map(char::len_utf8).sum();
        self.skipped(length)?;
        Some(*half)
    }
}

fn digit_value(c: char) -> Option<i16> {
    let base = match c {
        '0'..='9' => '0',
        '\u{660}'..='\u{669}' => '\u{660}',
        '\u{6f0}'..='\u{6f9}' => '\u{6f0}',
        '\u{966}'..='\u{96f}' => '\u{966}',
        _ => return None,
    };
    i16::try_from(u32::from(c) - u32::from(base)).ok()
}

/// What comes first in a date.
#[derive(Debug, Clone, Copy, PartialEq)]
enum First {
    Day,
    Month,
    Year,
}

/// The order in which most dates exist; else the one in which they ascend; else the one in which the chat
/// is shortest, as a wrong order jumps over months; else the day comes first, as in most of the world.
fn first_of_dates(entries: &[Entry<'_>]) -> First {
    let rate = |first: First| {
        let moments = entries.iter().map(|entry| millis(entry.stamp, first));
        let moments: Vec<i64> = moments.flatten().collect();
        let steps_back = moments.windows(2).filter(|pair| pair[1] < pair[0]).count();
        let span = moments.iter().max().zip(moments.iter().min()).map(|(last, start)| last - start);
        (entries.len() - moments.len(), steps_back, span)
    };
    let orders = [First::Day, First::Month, First::Year];
    orders.into_iter().min_by_key(|order| rate(*order)).unwrap_or(First::Day)
}

fn millis(stamp: Stamp, first: First) -> Option<i64> {
    let [a, b, c] = stamp.numbers;
    let (year, month, day) = match first {
        _ if stamp.is_year_first => (a, b, c),
        First::Year => (a, b, c),
        First::Month => (c, a, b),
        First::Day => (c, b, a),
    };
    let year = if year < 100 { year + 2_000 } else { year };
    let (month, day) = (i8::try_from(month).ok()?, i8::try_from(day).ok()?);
    let day = jiff::civil::Date::new(year, month, day).ok()?;
    // WhatsApp began in 2009.
    let is_plausible = day >= date(2009, 1, 1) && year < 2_100;
    let time = jiff::civil::Time::new(stamp.hour, stamp.minute, stamp.second, 0).ok()?;
    is_plausible.then(|| civil_millis(day.to_datetime(time)))?
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(line: &str, expected: Option<(&str, &str)>) {
        let split = split_stamp(line).map(|(stamp, _, rest)| {
            (super::super::when::rfc3339(millis(stamp, First::Day).unwrap_or(-1)).unwrap(), rest)
        });
        let split = split.as_ref().map(|(at, rest)| (at.as_str(), *rest));
        assert_eq!(split, expected, "{line}");
    }

    #[test]
    fn stamps_of_both_phones_and_many_languages_are_read() {
        let at = "2024-05-06T15:04:00Z";
        check("06/05/2024, 15:04 - Anna: hi", Some((at, "Anna: hi")));
        check("06.05.24, 15:04 - Anna: hi", Some((at, "Anna: hi")));
        check("6/5/24, 3:04\u{202f}PM - Anna: hi", Some((at, "Anna: hi")));
        check("\u{200e}[06/05/2024, 15:04:00] Anna: hi", Some((at, "Anna: hi")));
        check("[06.05.24, 15:04:00] Anna: hi", Some((at, "Anna: hi")));
        check("[2024-05-06, 3:04:00 p.m.] Anna: hi", Some((at, "Anna: hi")));
        check("2024/05/06, 15:04 - Anna: hi", Some((at, "Anna: hi")));
        check("6.5.2024 klo 15.04 - Anna: hi", Some((at, "Anna: hi")));
        check("6/5/2024, 3:04 p. m. - Anna: hi", Some((at, "Anna: hi")));
        check("٠٦/٠٥/٢٠٢٤، ١٥:٠٤ - Anna: hi", Some((at, "Anna: hi")));
        check("2024/5/6 下午3:04 - Anna: hi", Some((at, "Anna: hi")));
        check("[2024/5/6 下午3:04:00] Anna: hi", Some((at, "Anna: hi")));
        check("2024/05/06 午後3:04 - Anna: hi", Some((at, "Anna: hi")));
        check("2024. 5. 6. 오후 3:04 - Anna: hi", Some((at, "Anna: hi")));
        check("٦/٥/٢٠٢٤، ٣:٠٤ م - Anna: hi", Some((at, "Anna: hi")));
        check("٦/٥/٢٠٢٤، م ٣:٠٤ - Anna: hi", Some((at, "Anna: hi")));
        check("6/5/2024, 3:04 अपराह्न - Anna: hi", Some((at, "Anna: hi")));
        check("6/5/2024, अपराह्न 3:04 - Anna: hi", Some((at, "Anna: hi")));
        check("6.05.2024 ÖS 3:04 - Anna: hi", Some((at, "Anna: hi")));
        check("2024/5/6 上午12:04 - A: b", Some(("2024-05-06T00:04:00Z", "A: b")));
        check("2024. 5. 6. 오전 11:04 - A: b", Some(("2024-05-06T11:04:00Z", "A: b")));
        check("6/5/2024, 3:04 पूर्वाह्न - A: b", Some(("2024-05-06T03:04:00Z", "A: b")));
        check("6/5/24, 12:04 AM - A: b", Some(("2024-05-06T00:04:00Z", "A: b")));
        check("2024-05-06 15:04:00 INFO started", None);
        check("1.2.3", None);
        check("06/05/2024", None);
        check("", None);
    }

    #[test]
    fn the_order_of_dates_is_that_of_the_whole_file() {
        let first = |text: &str| first_of_dates(&entries(text, &mut Tally::default()));
        assert_eq!(first("1/2/24, 10:00 - A: x"), First::Day);
        assert_eq!(first("1/2/24, 10:00 - A: x\n13/2/24, 10:00 - A: x"), First::Day);
        assert_eq!(first("1/2/24, 10:00 - A: x\n1/13/24, 10:00 - A: x"), First::Month);
        assert_eq!(first("1/2/24, 10:00 - A: x\n1/3/24, 10:00 - A: x"), First::Month);
        assert_eq!(first("24/01/31, 10:00 - A: x\n24/02/01, 10:00 - A: x"), First::Year);
    }

    #[test]
    fn notes_of_the_program_are_left_out() {
        assert!(strip_notes("<Media omitted>").is_err());
        assert!(strip_notes("Bild weggelassen").is_err());
        assert!(strip_notes("This message was deleted.").is_err());
        assert_eq!(
            strip_notes("IMG-1.jpg (file attached)\nlook").unwrap(),
            "[file: IMG-1.jpg]\nlook"
        );
        assert_eq!(strip_notes("yes <This message was edited>").unwrap(), "yes");
        assert_eq!(strip_notes("the last part of it was omitted").unwrap().len(), 31);
    }
}
