//! `haversack search`: what a workspace holds about a question, with its place.

use std::fmt::Write as _;

use anyhow::{Context, Result, ensure};
use haversack::search::{self, Answers, Found as Answer, Way, hybrid};
use haversack_core::item::Kind;
use haversack_core::text::chunk::Format;
use haversack_core::text::spelling::shown;
use haversack_store::store::query::LIMIT_MAX;
use haversack_store::store::viewer::Viewer;
use haversack_store::store::wait;
use serde_json::{Value, json};

use crate::args::{self, Place};
use crate::output::{Found, is_styled, print, say};

/// Answers from one item.
const PER_ITEM_MAX: usize = 2;

/// Longest excerpt in characters.
const EXCERPT_CHARS_MAX: usize = 280;

/// Width of excerpts.
const COLUMNS: usize = 96;

/// What marks the beginning and end of a hit until it is known how hits are shown. No text has
/// them, because other control characters are blanked.
const MARKS: [char; 2] = ['\u{1}', '\u{2}'];

pub(crate) fn run(place: &Place, args: &args::Search) -> Result<Found> {
    ensure!(args.limit >= 1 && args.limit <= LIMIT_MAX, "--limit: use 1 to {LIMIT_MAX}");
    ensure!(!args.query.trim().is_empty(), "the query is empty: say what to look for");
    let viewer = viewer(args)?;
    let mut search = search::Search::new(&args.query, args.limit);
    for kind in &args.kind {
        search.filter.kinds.push(Kind::new(kind).context("--kind")?);
    }
    search.filter.path_prefix = args.path.clone();
    search.only = only(&args.way);
    search.per_item_max = PER_ITEM_MAX;
    search.excerpt_chars_max = EXCERPT_CHARS_MAX;
    let store = place.existing()?;
    let snapshot = wait(store.snapshot(&viewer))?;
    let answers = wait(hybrid(&*snapshot, &**store.embedder(), &search))?;
    for notice in &answers.notices {
        say(&format!("note: {notice}"));
    }
    if args.json {
        let json = document(place, &args.query, &answers);
        print(&serde_json::to_string_pretty(&json)?)?;
    } else if answers.found.is_empty() {
        say(&format!(
            "nothing matches {:?} in workspace {:?}",
            shown(&args.query),
            place.workspace
        ));
    } else {
        print(&page(&answers, is_styled()))?;
    }
    Ok(if answers.found.is_empty() { Found::Nothing } else { Found::Something })
}

fn viewer(args: &args::Search) -> Result<Viewer> {
    let mut viewer = match (&args.user, &args.group[..]) {
        (None, []) => return Ok(Viewer::owner()),
        (None, _) => Viewer::anyone(),
        (Some(user), _) => Viewer::user(user).context("--user")?,
    };
    for group in &args.group {
        viewer = viewer.in_group(group).context("--group")?;
    }
    Ok(viewer)
}

const fn only(way: &args::Ways) -> Option<Way> {
    match way {
        args::Ways { text: true, .. } => Some(Way::Text),
        args::Ways { vector: true, .. } => Some(Way::Vector),
        args::Ways { fuzzy: true, .. } => Some(Way::Fuzzy),
        args::Ways { .. } => None,
    }
}

fn page(answers: &Answers, styled: bool) -> String {
    let mut out = String::new();
    let (bold, plain) = if styled { ("\u{1b}[1m", "\u{1b}[0m") } else { ("", "") };
    for (answer, rank) in answers.found.iter().zip(1..) {
        if rank > 1 {
            out.push('\n');
        }
        let (score, at) = (answer.score.get(), at(answer));
        let _ = writeln!(out, "{rank:>3}  {score:.3}  {bold}{at}{plain}");
        let about = about(answer);
        if !about.is_empty() {
            let _ = writeln!(out, "     {about}");
        }
        for line in lines(answer) {
            let line = line.replace(MARKS[0], bold).replace(MARKS[1], plain);
            let _ = writeln!(out, "     {line}");
        }
    }
    out
}

/// The excerpt in lines: those of a program as they are, those of a text filled anew.
fn lines(answer: &Answer) -> Vec<String> {
    let path = answer.passage.stored.item.path.as_deref().unwrap_or_default();
    let text = marked(answer);
    if !matches!(Format::of_path(path), Format::Code(_)) {
        return wrapped(&text);
    }
    let is_blank = |line: &str| line.trim_matches([' ', MARKS[0], MARKS[1], '…']).is_empty();
    let kept: Vec<&str> = text.split('\n').filter(|line| !is_blank(line)).collect();
    let indent = |line: &&str| line.len() - line.trim_start_matches(' ').len();
    let common = kept.iter().skip(1).map(indent).min().unwrap_or(0);
    kept.iter()
        .map(|line| line.get(common.min(indent(line))..).unwrap_or(line).trim_end().to_owned())
        .collect()
}

/// Where the answer is: `path:lines`, or the item and the file it came from.
fn at(answer: &Answer) -> String {
    let item = &answer.passage.stored.item;
    let (first, last) = answer.passage.lines;
    let lines = if first == last { format!("{first}") } else { format!("{first}-{last}") };
    match &item.path {
        Some(path) if path == item.id.as_str() => format!("{path}:{lines}"),
        Some(path) if item.id.as_str().starts_with(path.as_str()) => item.id.to_string(),
        Some(path) => format!("{} ({path})", item.id),
        None => item.id.to_string(),
    }
}

/// What the answer stands under: title and headings.
fn about(answer: &Answer) -> String {
    let item = &answer.passage.stored.item;
    let name = item.path.as_deref().and_then(|path| path.rsplit('/').next());
    let mut parts: Vec<&str> = Vec::new();
    if !item.title.trim().is_empty() && name != Some(item.title.as_str()) {
        parts.push(&item.title);
    }
    for heading in &answer.passage.headings {
        if !parts.contains(&heading.as_str()) {
            parts.push(heading);
        }
    }
    shown_line(&parts.join(" › "))
}

/// A text in one line that does nothing to a terminal.
fn shown_line(text: &str) -> String {
    let blank = |c: char| if c.is_control() { ' ' } else { c };
    text.chars().map(blank).collect::<String>().split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The excerpt with marks around the hits, and nothing else that is no text but line breaks.
fn marked(answer: &Answer) -> String {
    let excerpt = &answer.excerpt;
    let mut out = String::with_capacity(excerpt.text.len() + 16);
    let mut last = 0;
    for hit in &excerpt.hits {
        let (Some(before), Some(inside)) =
            (excerpt.text.get(last..hit.start), excerpt.text.get(hit.clone()))
        else {
            continue;
        };
        push_blanked(&mut out, before);
        out.push(MARKS[0]);
        push_blanked(&mut out, inside);
        out.push(MARKS[1]);
        last = hit.end;
    }
    push_blanked(&mut out, excerpt.text.get(last..).unwrap_or_default());
    out
}

fn push_blanked(out: &mut String, text: &str) {
    out.extend(text.chars().map(|c| if c.is_control() && c != '\n' { ' ' } else { c }));
}

/// A text in lines of at most [`COLUMNS`] characters, marks not counted.
fn wrapped(text: &str) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut width = 0;
    for word in text.split_whitespace() {
        let long = word.chars().filter(|c| !MARKS.contains(c)).count();
        match lines.last_mut() {
            Some(line) if width + 1 + long <= COLUMNS => {
                line.push(' ');
                line.push_str(word);
                width += 1 + long;
            }
            _ => {
                lines.push(word.to_owned());
                width = long;
            }
        }
    }
    lines
}

fn document(place: &Place, query: &str, answers: &Answers) -> Value {
    let results: Vec<Value> =
        answers.found.iter().zip(1..).map(|(answer, rank)| result(answer, rank)).collect();
    json!({
        "query": query,
        "workspace": place.workspace,
        "results": results,
        "notices": answers.notices,
    })
}

fn result(answer: &Answer, rank: u32) -> Value {
    let passage = &answer.passage;
    let item = &passage.stored.item;
    let found_by: Vec<Value> = answer
        .ranks
        .iter()
        .map(|(way, rank)| json!({ "way": way.as_str(), "rank": rank }))
        .collect();
    let hits: Vec<[usize; 2]> =
        answer.excerpt.hits.iter().map(|hit| [hit.start, hit.end]).collect();
    json!({
        "rank": rank,
        "score": answer.score.get(),
        "id": item.id.as_str(),
        "chunk": passage.chunk,
        "kind": item.kind.as_str(),
        "title": item.title,
        "path": item.path,
        "lines": [passage.lines.0, passage.lines.1],
        "span": [passage.span.start(), passage.span.end()],
        "headings": passage.headings,
        "updated": item.updated.map(|updated| updated.as_millis()),
        "excerpt": answer.excerpt.text,
        "hits": hits,
        "foundBy": found_by,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn excerpts_are_wrapped_by_what_is_seen() {
        let word = "x".repeat(40);
        let text = format!("{word} \u{1}{word}\u{2} {word}");
        let lines = wrapped(&text);
        assert_eq!(lines, [format!("{word} \u{1}{word}\u{2}"), word]);
        assert!(wrapped(" \n ").is_empty());
    }

    #[test]
    fn what_is_shown_does_nothing_to_a_terminal() {
        assert_eq!(shown_line("a\u{1b}[31m\n  b\u{7}"), "a [31m b");
    }
}
