//! Takes quoted earlier messages and signatures out of the text of a message.

/// A text without quotations.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct OwnText {
    pub(super) text: String,
    /// Lines that were left out.
    pub(super) left_out: usize,
}

/// Lines between a line such as `On Monday` and its `wrote:`.
const ATTRIBUTION_LINES_MAX: usize = 3;

/// Bytes of a line that introduces a quotation.
const ATTRIBUTION_BYTES_MAX: usize = 300;

/// Lines that a signature has at most. After more, `--` is only a line.
const SIGNATURE_LINES_MAX: usize = 20;

/// Beginnings and ends of lines that introduce a quotation.
const ATTRIBUTIONS: &[(&str, &str)] = &[
    ("On ", "wrote:"),
    ("Am ", "schrieb:"),
    ("Am ", ":"),
    ("Le ", "a écrit :"),
    ("Le ", "a écrit:"),
    ("El ", "escribió:"),
    ("Il ", "ha scritto:"),
    ("Em ", "escreveu:"),
    ("Op ", "schreef:"),
    ("W dniu ", "pisze:"),
    ("Den ", "skrev:"),
];

/// Lines after which an earlier message follows.
const EARLIER_MESSAGES: &[&str] = &[
    "-----original message-----",
    "----- original message -----",
    "-----ursprüngliche nachricht-----",
    "----- ursprüngliche nachricht -----",
    "-----message d'origine-----",
    "-----mensaje original-----",
    "-----messaggio originale-----",
    "---------- forwarded message ---------",
    "---------- forwarded message ----------",
    "-------- original message --------",
    "-------- ursprüngliche nachricht --------",
];

/// The text that the author of a message wrote. Quotations are kept if they are all there is.
pub(super) fn own_text(text: &str) -> OwnText {
    let lines: Vec<&str> = text.lines().collect();
    let end = find_end(&lines);
    let mut kept: Vec<&str> = Vec::with_capacity(end);
    let mut at = 0;
    while at < end {
        let line = lines[at];
        if line.starts_with('>') {
            at += 1;
            continue;
        }
        match attribution_lines(&lines[at..end]) {
            Some(count) => at += count,
            None => {
                kept.push(line);
                at += 1;
            }
        }
    }
    let own = kept.join("\n");
    let own = own.trim();
    match own.chars().any(char::is_alphanumeric) {
        true => {
            let is_filled = |line: &&&str| !line.trim().is_empty();
            let all = lines.iter().filter(is_filled).count();
            let left = kept.iter().filter(is_filled).count();
            OwnText { text: collapse_blank_lines(own), left_out: all.saturating_sub(left) }
        }
        false => OwnText { text: text.trim().to_owned(), left_out: 0 },
    }
}

/// The line at which a signature or an earlier message begins.
fn find_end(lines: &[&str]) -> usize {
    let is_earlier = |at: &usize| {
        let line = lines[*at].trim();
        line.starts_with('-') && EARLIER_MESSAGES.contains(&line.to_lowercase().as_str())
            || is_header_block(&lines[*at..])
    };
    let end = (0..lines.len()).find(is_earlier).unwrap_or(lines.len());
    // A line of two hyphens begins a signature. In Markdown the space after them is gone.
    let signature = lines[..end].iter().rposition(|line| matches!(*line, "-- " | "--" | "\\--"));
    match signature {
        Some(at) if end - at <= SIGNATURE_LINES_MAX => at,
        _ => end,
    }
}

/// Whether lines are the headers of an earlier message, as Outlook writes them.
fn is_header_block(lines: &[&str]) -> bool {
    let names = |line: &str, names: &[&str]| {
        let line = line.trim_start_matches(['*', ' ']);
        names.iter().any(|name| line.starts_with(name))
    };
    let Some((first, rest)) = lines.split_first() else { return false };
    let next = &rest[..rest.len().min(5)];
    names(first, &["From:", "Von:", "De :", "De:", "Da:"])
        && next.iter().any(|line| {
            names(line, &["Sent:", "Date:", "Gesendet:", "Datum:", "Envoyé :", "Enviado:"])
        })
        && next
            .iter()
            .any(|line| names(line, &["To:", "An:", "À :", "Para:", "A:", "Subject:", "Betreff:"]))
}

/// How many lines introduce a quotation here, if they do: a quotation or nothing follows them.
fn attribution_lines(lines: &[&str]) -> Option<usize> {
    let first = lines.first()?.trim();
    let candidates = || ATTRIBUTIONS.iter().filter(|(begin, _)| first.starts_with(begin));
    candidates().next()?;
    let mut bytes = 0;
    for count in 1..=ATTRIBUTION_LINES_MAX.min(lines.len()) {
        let line = lines[count - 1].trim();
        bytes += line.len();
        if bytes > ATTRIBUTION_BYTES_MAX || line.is_empty() {
            return None;
        }
        if candidates().any(|(_, end)| line.ends_with(end)) {
            let next = lines[count..].iter().find(|line| !line.trim().is_empty());
            return next.is_none_or(|next| next.starts_with('>')).then_some(count);
        }
    }
    None
}

/// At most one blank line in a row.
fn collapse_blank_lines(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut blanks = 0;
    for line in text.lines() {
        blanks = if line.trim().is_empty() { blanks + 1 } else { 0 };
        if blanks < 2 {
            out.push_str(line.trim_end());
            out.push('\n');
        }
    }
    out.truncate(out.trim_end().len());
    out
}

/// Joins lines that were wrapped at a width, so that paragraphs are whole.
pub(super) fn unwrap_lines(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let mut out = String::with_capacity(text.len());
    for (at, line) in lines.iter().enumerate() {
        let line = line.trim_end();
        out.push_str(line);
        let Some(next) = lines.get(at + 1) else { break };
        let is_wrapped = (50..=80).contains(&line.chars().count())
            && is_prose(line)
            && is_prose(next)
            // The next word would not have fitted.
            && line.chars().count() + next.split(' ').next().unwrap_or_default().chars().count() >= 60;
        out.push(if is_wrapped { ' ' } else { '\n' });
    }
    out
}

/// Whether a line is running text: not indented, no item, no table, no quotation.
fn is_prose(line: &str) -> bool {
    let Some(first) = line.chars().next() else { return false };
    let number = line.trim_start_matches(|character: char| character.is_ascii_digit());
    let is_item = matches!(
        first,
        '-' | '*' | '+' | '•' | '>' | '|' | '#' | '=' | '~' | '_' | '`' | '\t' | ' '
    );
    let is_numbered = number.len() < line.len() && number.starts_with(['.', ')']);
    !is_item && !is_numbered && !line.contains("   ") && !line.contains('\t')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str, left_out: usize) {
        assert_eq!(own_text(text), OwnText { text: expected.to_owned(), left_out });
    }

    #[test]
    fn quotations_and_signatures_are_left_out() {
        check("Yes.\n\nOn Mon, A wrote:\n> really?\n> sure?\n\n-- \nB\nTel 1", "Yes.", 6);
        check("Ja.\n\nAm 1.2.2024 um 10:00 schrieb A\n<a@b.c>:\n> wirklich?", "Ja.", 3);
        check("Ok\n-----Original Message-----\nFrom: A\nhello", "Ok", 3);
        check("Ok\n\nVon: A\nGesendet: heute\nAn: B\nBetreff: C\n\nhallo", "Ok", 5);
        check("> a\nfirst\n> b\nsecond", "first\nsecond", 2);
        check("On Monday I wrote:\nthe report", "On Monday I wrote:\nthe report", 0);
        check("From: the start\nwe knew", "From: the start\nwe knew", 0);
    }

    #[test]
    fn what_is_all_there_is_stays() {
        check("> a\n> b", "> a\n> b", 0);
        check(
            "-----Original Message-----\nFrom: A\nhello",
            "-----Original Message-----\nFrom: A\nhello",
            0,
        );
        check("", "", 0);
    }

    #[test]
    fn wrapped_lines_are_joined() {
        let wrapped = "This paragraph was wrapped by a program at seventy two columns or\nso, and goes on.\n\n\
            - an item\n- another one\nshort\nlines";
        let joined = "This paragraph was wrapped by a program at seventy two columns or so, and goes on.\n\n\
            - an item\n- another one\nshort\nlines";
        assert_eq!(unwrap_lines(wrapped), joined);
    }
}
