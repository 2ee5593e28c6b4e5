//! Text boundaries: paragraphs, sentences, words.
//!
//! Every function returns ranges that follow each other without a gap and cover the whole text.
//! White space belongs to the range before it. Sentences follow UAX #29, with corrections that only
//! remove doubtful boundaries.

use std::borrow::Cow;
use std::ops::Range;

use unicode_segmentation::UnicodeSegmentation;

/// Minimum length in bytes of a line that counts as wrapped.
const WRAPPED_BYTES_MIN: usize = 40;

/// The sentence rules look ahead again for each bracket or space after a full stop. Windows keep
/// that quadratic search short: one ends at the first harmless place after the first length, and
/// anywhere after the second.
const WINDOW_BYTES: usize = 256;
const WINDOW_BYTES_MAX: usize = 1024;

/// Longest abbreviation in characters.
const ABBREVIATION_CHARS_MAX: usize = 12;

/// Most bytes of marks and spaces before the number of a list item or heading. Without a limit,
/// each number of a long line would read the marks at its beginning again.
const ENUMERATION_MARK_BYTES_MAX: usize = 64;

/// Abbreviations that are followed by what they belong to. One that also ends sentences ("etc.",
/// "Inc.", "usw.") is not here: before a capital letter it usually does.
const ABBREVIATIONS: &[&str] = &[
    "abb", "approx", "bspw", "bzw", "ca", "capt", "cf", "col", "dr", "dres", "e.g", "ee.uu", "eg",
    "evtl", "fig", "figs", "fr", "frl", "gen", "ggf", "gov", "hon", "hr", "i.e", "ie", "inkl",
    "lt", "messrs", "mlle", "mm", "mme", "mr", "mrs", "ms", "mt", "pres", "prof", "rep", "resp",
    "rev", "sen", "sgt", "sr", "sra", "srta", "st", "ud", "uds", "vgl", "viz", "vs", "zzgl",
];

/// Abbreviations only when a number or a bracket follows: "No. 5", "et al. (2020)", "Jan. 3".
const ABBREVIATIONS_OF_NUMBERS: &[&str] = &[
    "abs", "al", "apr", "art", "aug", "cap", "ch", "dec", "eq", "eqs", "feb", "jan", "jul", "jun",
    "kap", "mar", "no", "nos", "nov", "nr", "num", "núm", "oct", "pp", "pág", "sec", "sect", "sep",
    "sept", "vol",
];

/// What follows a German ordinal: "am 3. Oktober".
const GERMAN_MONTHS: &[&str] = &[
    "Januar",
    "Februar",
    "März",
    "April",
    "Mai",
    "Juni",
    "Juli",
    "August",
    "September",
    "Oktober",
    "November",
    "Dezember",
];

/// The paragraphs of a text, separated by blank lines.
///
/// A paragraph starts at the beginning of a line, so that its first line keeps its indentation.
#[must_use]
pub fn paragraphs(text: &str) -> Vec<Range<usize>> {
    let mut cuts = Vec::new();
    let mut after_blank = false;
    for (at, line) in lines(text) {
        let blank = is_blank(line);
        if after_blank && !blank && at > 0 {
            cuts.push(at);
        }
        after_blank = blank;
    }
    // Blank lines at the very beginning have nothing before them.
    if cuts.first().is_some_and(|&at| is_blank(&text[..at])) {
        cuts.remove(0);
    }
    between(text, cuts)
}

/// The sentences of a text. Each but the first starts with a visible character.
///
/// A blank line, and the line break after a Markdown heading, list item or table row, always ends
/// one. Inside a wrapped paragraph a line break does not.
#[must_use]
pub fn sentences(text: &str) -> Vec<Range<usize>> {
    let mut cuts = Vec::new();
    for block in blocks(text) {
        cuts.push(block.start);
        push_sentence_cuts(&text[block.clone()], block.start, &mut cuts);
    }
    let visible = |at: usize| text[at..].find(|c: char| !c.is_whitespace()).map(|skip| at + skip);
    let mut starts: Vec<usize> = cuts.into_iter().filter_map(visible).collect();
    starts.dedup();
    if !starts.is_empty() {
        starts.remove(0);
    }
    between(text, starts)
}

/// The words of a text: the units between which a cut is acceptable.
///
/// Punctuation stays with the word it touches; scripts without spaces follow UAX #29. A grapheme
/// cluster is never split.
#[must_use]
pub fn words(text: &str) -> Vec<Range<usize>> {
    let mut cuts = Vec::new();
    // In odd sequences of flags and marks the word rules part what the cluster rules keep.
    let mut clusters = text.grapheme_indices(true).map(|(at, _)| at).peekable();
    let mut before = SegmentKind::Space;
    for (at, segment) in text.split_word_bound_indices() {
        let kind = SegmentKind::classify(segment, before);
        let parted = match (before, kind) {
            (_, SegmentKind::Space) | (SegmentKind::Opening, _) => false,
            (SegmentKind::Space, _) => true,
            (SegmentKind::Word | SegmentKind::Closing, kind) => kind != SegmentKind::Closing,
        };
        while clusters.next_if(|&cluster| cluster < at).is_some() {}
        if parted && at > 0 && clusters.peek() == Some(&at) {
            cuts.push(at);
        }
        before = kind;
    }
    between(text, cuts)
}

/// How a word segment behaves towards its neighbours.
#[derive(Clone, Copy, PartialEq, Eq)]
enum SegmentKind {
    Space,
    /// Stays with what follows.
    Opening,
    Word,
    /// Stays with what is before.
    Closing,
}

impl SegmentKind {
    fn classify(segment: &str, before: SegmentKind) -> SegmentKind {
        let Some(first) = segment.chars().next() else { return SegmentKind::Space };
        match first {
            _ if first.is_whitespace() => SegmentKind::Space,
            '「' | '『' | '（' | '【' | '《' | '“' | '‘' | '«' | '¿' | '¡' => {
                SegmentKind::Opening
            }
            '」' | '』' | '）' | '】' | '》' | '”' | '’' | '»' | '、' | '，' | '。' | '！'
            | '？' | '；' | '：' | '…' | '।' | '؟' | '،' | '۔' => SegmentKind::Closing,
            // An ASCII sign that follows a space leads its word, as in `"so` and `--flag`.
            _ if first.is_ascii_punctuation() && before == SegmentKind::Space => {
                SegmentKind::Opening
            }
            _ if first.is_ascii_punctuation() => SegmentKind::Closing,
            _ => SegmentKind::Word,
        }
    }
}

/// Lines with their offsets, line breaks included.
pub(super) fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut at = 0;
    text.split_inclusive('\n').map(move |line| {
        let start = at;
        at += line.len();
        (start, line)
    })
}

/// Whether a text has no visible character.
pub(super) fn is_blank(text: &str) -> bool {
    text.chars().all(char::is_whitespace)
}

/// The ranges between `cuts`, which are ascending offsets into the text.
pub(super) fn between(text: &str, cuts: Vec<usize>) -> Vec<Range<usize>> {
    let mut ranges = Vec::with_capacity(cuts.len() + 1);
    let mut from = 0;
    for at in cuts.into_iter().chain([text.len()]) {
        if at > from {
            ranges.push(from..at);
            from = at;
        }
    }
    ranges
}

/// Line groups that a sentence may span: wrapped lines together, all others alone.
fn blocks(text: &str) -> Vec<Range<usize>> {
    let mut blocks: Vec<Range<usize>> = Vec::new();
    let mut before: Option<&str> = None;
    for (at, line) in lines(text) {
        if is_blank(line) {
            before = None;
            continue;
        }
        let end = at + line.len();
        match (before, blocks.last_mut()) {
            (Some(before), Some(block)) if continues(before, line) => block.end = end,
            _ => blocks.push(at..end),
        }
        before = Some(line);
    }
    blocks
}

/// Whether `line` goes on with the sentence of the line before it.
fn continues(before: &str, line: &str) -> bool {
    let Some(first) = line.trim_start().chars().next() else { return false };
    if MarkdownLine::parse(line).is_some() {
        return false;
    }
    match MarkdownLine::parse(before) {
        // A wrapped list item is indented and goes on in the middle of a sentence.
        Some(MarkdownLine::Item) => line.starts_with([' ', '\t']) && first.is_lowercase(),
        Some(MarkdownLine::Line) => false,
        None => {
            let opens = first.is_alphabetic() || "\"'([“‘«„¿¡".contains(first);
            before.trim_end().len() >= WRAPPED_BYTES_MIN && opens
        }
    }
}

/// Markdown lines that are not running text.
enum MarkdownLine {
    /// A list item.
    Item,
    /// A heading, a table row, a rule or a fence.
    Line,
}

impl MarkdownLine {
    fn parse(line: &str) -> Option<MarkdownLine> {
        let line = line.trim();
        let unhashed = line.trim_start_matches('#');
        let heading = (1..=6).contains(&(line.len() - unhashed.len()))
            && (unhashed.is_empty() || unhashed.starts_with([' ', '\t']));
        let rule = line.len() >= 3 && line.chars().all(|c| matches!(c, '-' | '=' | '*' | '_'));
        if heading
            || rule
            || line.starts_with('|')
            || line.starts_with("```")
            || line.starts_with("~~~")
        {
            return Some(MarkdownLine::Line);
        }
        let undigited = line.trim_start_matches(|c: char| c.is_ascii_digit());
        let digits = line.len() - undigited.len();
        let item = match digits {
            0 => line.strip_prefix(['-', '*', '+', '•']),
            1..=9 => undigited.strip_prefix(['.', ')']),
            _ => None,
        };
        item.is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\t']))
            .then_some(MarkdownLine::Item)
    }
}

/// Appends the sentence ends within one block, as offsets into the whole text.
fn push_sentence_cuts(block: &str, offset: usize, cuts: &mut Vec<usize>) {
    // UAX #29 ends a sentence at every line break. A space has the same length as one.
    let flat = match block.trim_end().contains('\n') {
        true => Cow::Owned(block.replace("\r\n", "  ").replace('\n', " ")),
        false => Cow::Borrowed(block),
    };
    for window in windows(&flat) {
        for (at, _) in flat[window.clone()].split_sentence_bound_indices().skip(1) {
            if ends_sentence(&flat, window.start + at) {
                cuts.push(offset + window.start + at);
            }
        }
    }
}

/// Splits a block where the sentence rules restart: after a letter, before a letter or a space.
fn windows(block: &str) -> Vec<Range<usize>> {
    let mut cuts = Vec::new();
    let mut from = 0;
    let mut before = ' ';
    for (at, c) in block.char_indices() {
        let harmless = before.is_alphabetic() && (c.is_alphabetic() || c == ' ');
        let len = at - from;
        if (len >= WINDOW_BYTES && harmless) || len >= WINDOW_BYTES_MAX {
            cuts.push(at);
            from = at;
        }
        before = c;
    }
    between(block, cuts)
}

/// Whether the UAX #29 boundary before byte `at` is a real one.
fn ends_sentence(block: &str, at: usize) -> bool {
    let (before, after) = block.split_at(at);
    let body = before.trim_end();
    let core = body.trim_end_matches(['"', '\'', ')', ']', '}', '”', '’', '»', '*', '_', '`']);
    let (Some(stop), Some(next)) = (core.chars().next_back(), after.chars().next()) else {
        return true;
    };
    let spaced = body.len() < before.len();
    let closed = core.len() < body.len();
    // `https://x/?Q=1`, `list[0].Name`: a sentence ends with a space.
    if stop.is_ascii() && next.is_ascii() && !spaced {
        return false;
    }
    // `"Really?" he asked.`
    if closed && next.is_lowercase() {
        return false;
    }
    closed || stop != '.' || !is_abbreviation(&core[..core.len() - 1], after)
}

/// Whether the full stop after `before` belongs to its last word rather than to the sentence.
fn is_abbreviation(before: &str, after: &str) -> bool {
    let part = |c: &char| c.is_alphanumeric() || *c == '.';
    let tail = before.chars().rev().take(ABBREVIATION_CHARS_MAX + 1).take_while(part);
    let word = &before[before.len() - tail.map(char::len_utf8).sum::<usize>()..];
    let (Some(first), Some(next)) = (word.chars().next(), after.chars().next()) else {
        return false;
    };
    if word.chars().all(|c| c.is_ascii_digit()) {
        return is_enumeration(&before[..before.len() - word.len()], word)
            || GERMAN_MONTHS.iter().any(|month| after.starts_with(month));
    }
    // Initials: "J. Smith", "U.S. law", "z. B. so". "I" is a word.
    let mut parts = word.split('.');
    if parts.all(|part| part.chars().count() == 1) && first.is_alphabetic() && word != "I" {
        return true;
    }
    let lower = word.to_lowercase();
    let lower = lower.as_str();
    ABBREVIATIONS.contains(&lower)
        || (next.is_numeric() || matches!(next, '(' | '['))
            && ABBREVIATIONS_OF_NUMBERS.contains(&lower)
}

/// Whether a number is the label of a list item or a heading: only marks precede it.
fn is_enumeration(before: &str, number: &str) -> bool {
    number.len() <= 3
        && before.len() <= ENUMERATION_MARK_BYTES_MAX
        && before.trim_start_matches(['#', '>', '-', '*', '+', ' ', '\t']).is_empty()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Shows the parts of a text with `|` between them and line breaks as `⏎`.
    fn check(parts: fn(&str) -> Vec<Range<usize>>, text: &str, expected: &str) {
        let parts: Vec<&str> = parts(text).into_iter().map(|range| &text[range]).collect();
        assert_eq!(parts.concat(), text);
        assert_eq!(parts.join("|").replace('\n', "⏎"), expected);
    }

    #[test]
    fn sentences_follow_the_rules_of_their_script() {
        // W8, P7: what a cut falls on.
        check(sentences, "", "");
        check(sentences, "  \n ", "  ⏎ ");
        check(sentences, "One. Two!  Three? Four", "One. |Two!  |Three? |Four");
        check(sentences, "你好。再见！真的吗？是", "你好。|再见！|真的吗？|是");
        check(sentences, "「行く。」と言った。", "「行く。」|と言った。");
        check(sentences, "राम घर गया। सीता आई।", "राम घर गया। |सीता आई।");
        check(sentences, "هل أنت هنا؟ نعم. شكرا", "هل أنت هنا؟ |نعم. |شكرا");
        check(sentences, "یہ کتاب ہے۔ وہ قلم ہے۔", "یہ کتاب ہے۔ |وہ قلم ہے۔");
        check(sentences, "He said \"Go!\" She went.", "He said \"Go!\" |She went.");
        check(sentences, "\"Really?\" he asked. Yes.", "\"Really?\" he asked. |Yes.");
        check(sentences, "It costs 3.50 today. Ok... fine.", "It costs 3.50 today. |Ok... fine.");
        check(
            sentences,
            "See https://a.b/?Q=1 and x[0].Y. Go.",
            "See https://a.b/?Q=1 and x[0].Y. |Go.",
        );
    }

    #[test]
    fn abbreviations_do_not_end_a_sentence() {
        check(
            sentences,
            "Dr. Who met Mr. J. R. Smith. He left.",
            "Dr. Who met Mr. J. R. Smith. |He left.",
        );
        check(
            sentences,
            "Use e.g. Rust, i.e. C vs. Go. Done.",
            "Use e.g. Rust, i.e. C vs. Go. |Done.",
        );
        check(
            sentences,
            "See Fig. 3 and No. 5. No. He left.",
            "See Fig. 3 and No. 5. |No. |He left.",
        );
        check(
            sentences,
            "The U.S. Senate met. So did I. Ok.",
            "The U.S. Senate met. |So did I. |Ok.",
        );
        check(
            sentences,
            "Das ist z. B. Kaffee. Am 3. Oktober ging Hr. Maier.",
            "Das ist z. B. Kaffee. |Am 3. Oktober ging Hr. Maier.",
        );
        check(sentences, "M. Dupont et Mme. Roy. Fin.", "M. Dupont et Mme. Roy. |Fin.");
        check(sentences, "El Sr. Ruiz vive en EE.UU. Hoy.", "El Sr. Ruiz vive en EE.UU. Hoy.");
        check(
            sentences,
            "Shown by Li et al. (2020). In 1999. Then.",
            "Shown by Li et al. (2020). |In 1999. |Then.",
        );
        check(sentences, "1. First. Second", "1. First. |Second");
        check(sentences, "  > - 1. First. Second", "  > - 1. First. |Second");
    }

    #[test]
    fn a_line_break_ends_headings_items_and_rows() {
        let wrapped = "This line is long enough to have been the\nfirst of two. Next one.";
        check(
            sentences,
            wrapped,
            "This line is long enough to have been the⏎first of two. |Next one.",
        );
        check(sentences, "# A Title\nText here\n\nMore", "# A Title⏎|Text here⏎⏎|More");
        check(sentences, "- one\n- two\n  going on\n* three", "- one⏎|- two⏎  going on⏎|* three");
        check(sentences, "| a | b |\n|---|---|\n| c | d |", "| a | b |⏎||---|---|⏎|| c | d |");
        check(sentences, "Best,\r\nJohn", "Best,⏎|John".replace('⏎', "\r⏎").as_str());
        check(sentences, "Dear\u{2029}All", "Dear\u{2029}|All");
    }

    #[test]
    fn paragraphs_start_after_blank_lines() {
        check(paragraphs, "", "");
        check(paragraphs, "a\nb\n\n \n  c\n", "a⏎b⏎⏎ ⏎|  c⏎");
        check(paragraphs, "\n\na\r\n\r\nb", "⏎⏎a\r⏎\r⏎|b");
    }

    #[test]
    fn words_keep_their_punctuation() {
        check(words, "Hello, \"big\" world!", "Hello, |\"big\" |world!");
        check(words, "a/b can't f(x)", "a/|b |can't |f(|x)");
        check(words, "我们。「好」", "我|们。|「好」");
        check(words, "👩‍👩‍👧 e\u{301}é", "👩‍👩‍👧 |e\u{301}é");
        check(words, "  x", "  |x");
    }

    #[test]
    fn splitting_long_runs_is_not_quadratic() {
        for unit in [". ", ".)", ")", " ", "a", "字", "\n", "I. "] {
            let text = format!("A.{}b", unit.repeat(300_000));
            assert!(!sentences(&text).is_empty() && !words(&text).is_empty(), "{unit:?}");
        }
        let numbers = ["- ".repeat(300_000), "1. ".repeat(100_000)].concat();
        assert!(sentences(&numbers).len() > 90_000);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1_000))]

        #[test]
        fn ranges_cover_the_text_and_respect_clusters(
            pieces in proptest::collection::vec(
                prop_oneof![
                    "[A-Za-z]{1,6}", "[ \t\r\n]{1,3}", "[.!?)\"'|#*-]{1,3}", "[字。！？「」]{1,4}",
                    "[क-ह।\u{93e}-\u{94d}]{1,4}", "[ا-ي؟۔]{1,4}", "[👩🏽🇫🇷\u{200d}\u{fe0f}\u{301}]{1,3}",
                    "\\PC{1,3}", any::<char>().prop_map(String::from),
                ],
                0..60,
            ),
        ) {
            let text = pieces.concat();
            for part in [sentences, paragraphs, words] {
                let ranges = part(&text);
                let joined: String = ranges.iter().map(|range| &text[range.clone()]).collect();
                prop_assert_eq!(&joined, &text);
                prop_assert!(ranges.iter().all(|range| !range.is_empty()));
            }
            for range in words(&text) {
                let clusters = text.grapheme_indices(true).any(|(at, _)| at == range.start);
                prop_assert!(clusters, "cut inside a cluster at {}", range.start);
            }
            for range in sentences(&text).into_iter().skip(1) {
                prop_assert!(!text[range.start..].starts_with(char::is_whitespace));
            }
        }
    }
}
