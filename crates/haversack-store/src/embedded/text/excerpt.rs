//! Excerpts: the passage of a text that best matches a query, with its matches.

use std::collections::BTreeMap;
use std::ops::Range;

use haversack_core::text::terms::{Language, each_token};

use super::query::TextQuery;

/// The bytes of a text that are examined.
pub const EXCERPT_TEXT_BYTES_MAX: usize = 1 << 20;

/// How far a cut may move to a word boundary; a longer run is cut anywhere.
const BORDER_CHARACTERS_MAX: usize = 40;

const ELLIPSIS: char = '…';

/// An excerpt of a text.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TextExcerpt {
    /// The passage, with an ellipsis where it was cut.
    pub text: String,
    /// The byte ranges of the matches, ascending and disjoint.
    pub hits: Vec<Range<usize>>,
}

/// A word of the text that matches the query.
struct MatchedTerm {
    bytes: Range<usize>,
    /// The same in characters.
    characters: Range<usize>,
    group: usize,
}

/// The passage of at most `max_chars` characters with the most words of the query.
///
/// Distinct words count more than repeats. The first of equal passages wins.
#[must_use]
pub fn excerpt(text: &str, query: &TextQuery, language: Language, max_chars: usize) -> TextExcerpt {
    let text = &text[..text.floor_char_boundary(EXCERPT_TEXT_BYTES_MAX)];
    let marks = matched_terms(text, query, language);
    let passage = if text.chars().nth(max_chars).is_none() {
        0..text.len()
    } else {
        // Room for an ellipsis at both ends.
        let room = max_chars.saturating_sub(2);
        let best = densest_window(&marks, room);
        widen_to_fit(text, &marks[best], room)
    };
    cut_excerpt(text, passage, &marks)
}

fn matched_terms(text: &str, query: &TextQuery, language: Language) -> Vec<MatchedTerm> {
    let mut groups: BTreeMap<&str, usize> = BTreeMap::new();
    let mut prefixes = Vec::new();
    for (at, group) in query.groups.iter().enumerate() {
        prefixes.extend(group.prefix.as_deref().map(|prefix| (prefix, at)));
        for term in &group.terms {
            groups.entry(term).or_insert(at);
        }
    }
    let mut marks: Vec<MatchedTerm> = Vec::new();
    let (mut at_bytes, mut at_characters) = (0, 0);
    each_token(text, language, |token| {
        let Some(term) = token.term else { return };
        let prefix = || prefixes.iter().find(|(prefix, _)| term.starts_with(prefix));
        let Some(group) = groups.get(term).copied().or_else(|| prefix().map(|(_, at)| *at)) else {
            return;
        };
        // Parts of a compound start inside it.
        if token.start < at_bytes {
            at_characters -= text[token.start..at_bytes].chars().count();
        } else {
            at_characters += text[at_bytes..token.start].chars().count();
        }
        at_bytes = token.start;
        let end = at_characters + text[token.start..token.end].chars().count();
        marks.push(MatchedTerm {
            bytes: token.start..token.end,
            characters: at_characters..end,
            group,
        });
    });
    marks
}

/// The run of matches with the most distinct groups within `room`, then the most matches.
fn densest_window(marks: &[MatchedTerm], room: usize) -> Range<usize> {
    let n_groups = marks.iter().map(|mark| mark.group + 1).max().unwrap_or(0);
    let mut counts = vec![0_usize; n_groups];
    let (mut start, mut n_distinct) = (0, 0);
    let mut best = (0, 0, 0..0);
    for (at, mark) in marks.iter().enumerate() {
        counts[mark.group] += 1;
        n_distinct += usize::from(counts[mark.group] == 1);
        while start <= at && mark.characters.end > marks[start].characters.start + room {
            counts[marks[start].group] -= 1;
            n_distinct -= usize::from(counts[marks[start].group] == 0);
            start += 1;
        }
        let n_marks = at + 1 - start;
        if (n_distinct, n_marks) > (best.0, best.1) {
            best = (n_distinct, n_marks, start..at + 1);
        }
    }
    best.2
}

/// A passage around the matches that fills `room`, with a third of the rest before them.
fn widen_to_fit(text: &str, marks: &[MatchedTerm], room: usize) -> Range<usize> {
    let start = marks.iter().map(|mark| mark.bytes.start).min().unwrap_or(0);
    let end = marks.iter().map(|mark| mark.bytes.end).max().unwrap_or(0);
    let over = room.saturating_sub(text[start..end].chars().count());
    let after = text[end..].chars().take(over).count();
    let before = text[..start].chars().rev().take((over / 3).max(over - after)).count();
    let after = after.min(over - before);
    let from = step_back(text, start, before);
    let to = text[end..].char_indices().nth(after).map_or(text.len(), |(at, _)| end + at);
    let from = word_boundary(text, from..start, false).unwrap_or(from);
    let to = word_boundary(text, end..to, true).unwrap_or(to);
    // Punctuation that ends an omitted sentence is omitted, too.
    let ends = |c: char| c.is_whitespace() || ".,;:!?)]}。、，".contains(c);
    let from = if from == 0 {
        from
    } else {
        from + (start - from) - text[from..start].trim_start_matches(ends).len()
    };
    from..from + text[from..to].trim_end().len()
}

fn step_back(text: &str, start: usize, n: usize) -> usize {
    match n.checked_sub(1) {
        Some(last) => text[..start].char_indices().rev().nth(last).map_or(0, |(at, _)| at),
        None => start,
    }
}

/// The word boundary nearest to the outer end of a range, if one is near.
fn word_boundary(text: &str, range: Range<usize>, from_end: bool) -> Option<usize> {
    let is_border = |at: usize| {
        let before = text[..at].chars().next_back().is_some_and(char::is_alphanumeric);
        let after = text[at..].chars().next().is_some_and(char::is_alphanumeric);
        !(before && after)
    };
    let places = text[range.clone()].char_indices().map(|(at, _)| range.start + at);
    let mut places = places.chain([range.end]);
    if from_end {
        let mut places: Vec<usize> = places.collect();
        places.reverse();
        return places.into_iter().take(BORDER_CHARACTERS_MAX).find(|at| is_border(*at));
    }
    places.by_ref().take(BORDER_CHARACTERS_MAX).find(|at| is_border(*at))
}

fn cut_excerpt(text: &str, passage: Range<usize>, marks: &[MatchedTerm]) -> TextExcerpt {
    let mut excerpt = TextExcerpt::default();
    if passage.start > 0 && !passage.is_empty() {
        excerpt.text.push(ELLIPSIS);
    }
    let shift = excerpt.text.len();
    excerpt.text.push_str(&text[passage.clone()]);
    if passage.end < text.len() && !passage.is_empty() {
        excerpt.text.push(ELLIPSIS);
    }
    let inside =
        |mark: &&MatchedTerm| mark.bytes.start >= passage.start && mark.bytes.end <= passage.end;
    for mark in marks.iter().filter(inside) {
        let hit = mark.bytes.start - passage.start + shift..mark.bytes.end - passage.start + shift;
        match excerpt.hits.last_mut() {
            Some(last) if hit.start <= last.end && hit.start >= last.start => {
                last.end = last.end.max(hit.end);
            }
            _ => excerpt.hits.push(hit),
        }
    }
    excerpt
}
