//! Literal parts of a query: URLs, references and quotes.

use std::collections::BTreeSet;
use std::ops::Range;

use crate::text::terms::{is_unspaced, is_word};

/// A reference's name is no longer than this: an unclosed quote must not swallow the query.
const REFERENCE_BYTES_MAX: usize = 256;

/// The distinct texts of `ranges`, in order.
pub(super) fn texts(text: &str, ranges: &[Range<usize>]) -> Vec<String> {
    distinct(ranges.iter().map(|range| &text[range.clone()]))
}

/// The distinct names of references, without sign and quotes.
pub(super) fn names(text: &str, ranges: &[Range<usize>]) -> Vec<String> {
    distinct(
        ranges
            .iter()
            .map(|range| text[range.clone()].trim_start_matches('@').trim_matches(is_quote).trim()),
    )
}

/// The texts that are not empty, each once, in order.
pub(super) fn distinct<'t>(texts: impl Iterator<Item = &'t str>) -> Vec<String> {
    let mut seen = BTreeSet::new();
    texts.filter(|text| !text.is_empty() && seen.insert(*text)).map(str::to_owned).collect()
}

/// The first of some sorted, disjoint ranges that reaches into `range`.
pub(super) fn overlapping<'r>(
    ranges: &'r [Range<usize>],
    range: &Range<usize>,
) -> Option<&'r Range<usize>> {
    let first = ranges.partition_point(|other| other.end <= range.start);
    ranges.get(first).filter(|other| other.start < range.end)
}

/// The ranges of URLs.
pub(super) fn urls(text: &str) -> Vec<Range<usize>> {
    let mut urls: Vec<Range<usize>> = Vec::new();
    let schemes = text.match_indices("://").filter_map(|(at, _)| {
        let scheme = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.');
        let start = text[..at].trim_end_matches(scheme).len();
        let start = start + text[start..at].find(|c: char| c.is_ascii_alphabetic())?;
        Some((start, at + 3))
    });
    let bare = text.match_indices("www.").map(|(at, www)| (at, at + www.len()));
    let mut starts: Vec<(usize, usize)> = schemes.chain(bare).collect();
    starts.sort_unstable();
    for (start, rest) in starts {
        let inside_word = text[..start].ends_with(|c: char| c.is_ascii_alphanumeric());
        if inside_word || urls.last().is_some_and(|last| start < last.end) {
            continue;
        }
        let end = rest + url_tail(&text[rest..]);
        if end > rest {
            urls.push(start..end);
        }
    }
    urls
}

/// How many bytes of `rest` belong to an address: punctuation at the end does not, nor does a
/// closing bracket that was opened outside.
fn url_tail(rest: &str) -> usize {
    let ends = |c: char| {
        c.is_whitespace()
            || is_quote(c)
            || matches!(c, '<' | '>' | '`' | '{' | '}' | '|' | '\\' | '^' | '、' | '。' | '，')
    };
    let mut tail = &rest[..rest.find(ends).unwrap_or(rest.len())];
    let mut extra = [('(', ')'), ('[', ']')].map(|(open, close)| {
        tail.matches(close).count().saturating_sub(tail.matches(open).count())
    });
    while let Some(last) = tail.chars().next_back() {
        match last {
            ')' if extra[0] > 0 => extra[0] -= 1,
            ']' if extra[1] > 0 => extra[1] -= 1,
            '.' | ',' | ';' | ':' | '!' | '?' | '\'' | '*' | '_' => {}
            _ => break,
        }
        tail = &tail[..tail.len() - 1];
    }
    tail.len()
}

/// The ranges of references, sign included. E-mail addresses are not references.
pub(super) fn references(text: &str, urls: &[Range<usize>]) -> Vec<Range<usize>> {
    let mut references: Vec<Range<usize>> = Vec::new();
    for (at, _) in text.match_indices('@') {
        // Chinese puts no space before a reference; a local part in other letters is an address.
        let glued = |c: char| {
            is_word(c) && !is_unspaced(c) || matches!(c, '.' | '_' | '%' | '+' | '-' | '@' | '/')
        };
        let taken = overlapping(urls, &(at..at + 1)).is_some()
            || references.last().is_some_and(|last| last.contains(&at));
        if taken || text[..at].ends_with(glued) {
            continue;
        }
        let rest = &text[at + 1..];
        let length = match rest.chars().next() {
            Some(quote @ ('"' | '“' | '„' | '«' | '「')) => quoted_name(rest, quote),
            Some(c) if c.is_alphanumeric() || matches!(c, '_' | '.' | '/' | '~') => bare_name(rest),
            _ => 0,
        };
        if length > 0 {
            references.push(at..at + 1 + length);
        }
    }
    references
}

fn quoted_name(rest: &str, quote: char) -> usize {
    let inner_start = quote.len_utf8();
    let rest = &rest[..rest.floor_char_boundary(REFERENCE_BYTES_MAX)];
    let closers = closers(quote);
    match rest[inner_start..].find(|c| closers.contains(&c) || c == '\n') {
        Some(at) if !rest[inner_start..inner_start + at].trim().is_empty() => {
            let end = inner_start + at;
            let closer = rest[end..].chars().next().filter(|&c| c != '\n');
            closer.map_or(0, |closer| end + closer.len_utf8())
        }
        _ => 0,
    }
}

fn bare_name(rest: &str) -> usize {
    let rest = &rest[..rest.floor_char_boundary(REFERENCE_BYTES_MAX)];
    let inside =
        |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '/' | '\\' | ':' | '~');
    let name = &rest[..rest.find(|c| !inside(c)).unwrap_or(rest.len())];
    let name = name.trim_end_matches(['.', '-', '/', ':', '\\']);
    if name.contains(char::is_alphanumeric) { name.len() } else { 0 }
}

/// The ranges of quoted phrases, trimmed. An unclosed quote is not a phrase, nor is the quote of
/// a reference or a sign for inches.
pub(super) fn phrases(text: &str, references: &[Range<usize>]) -> Vec<Range<usize>> {
    let mut phrases = Vec::new();
    let mut hopeless: Vec<char> = Vec::new();
    let mut at = 0;
    let mut before = None;
    while let Some(c) = text[at..].chars().next() {
        let mut next = at + c.len_utf8();
        if let Some(reference) = overlapping(references, &(at..next)) {
            next = reference.end;
        } else if opens(c, before) && !hopeless.contains(&c) {
            let closers = closers(c);
            match text[next..].find(|c| closers.contains(&c)) {
                Some(length) => {
                    let inner = &text[next..next + length];
                    let start = next + (inner.len() - inner.trim_start().len());
                    let end = start + inner.trim().len();
                    if start < end {
                        phrases.push(start..end);
                    }
                    next += length;
                    next += text[next..].chars().next().map_or(0, char::len_utf8);
                }
                // Nothing closes it further on either: looking again would be quadratic.
                None => hopeless.push(c),
            }
        }
        before = text[at..next].chars().next_back();
        at = next;
    }
    phrases
}

fn opens(c: char, before: Option<char>) -> bool {
    match c {
        '"' => !before.is_some_and(|before| before.is_ascii_alphanumeric()),
        _ => !closers(c).is_empty(),
    }
}

const fn closers(quote: char) -> &'static [char] {
    match quote {
        '"' => &['"'],
        '“' => &['”'],
        '„' => &['“', '”'],
        '«' => &['»'],
        '»' => &['«'],
        '「' => &['」'],
        '『' => &['』'],
        _ => &[],
    }
}

pub(super) const fn is_quote(c: char) -> bool {
    matches!(c, '"' | '“' | '”' | '„' | '«' | '»' | '「' | '」' | '『' | '』')
}
