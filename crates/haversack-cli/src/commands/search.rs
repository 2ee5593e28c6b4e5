//! `haversack search`: what a workspace holds about a question, with its location.

use std::fmt::Write as _;
use std::ops::Range;

use anyhow::{Context, Result, ensure};
use haversack::search::{Search, SearchMethod, hybrid};
use haversack_core::assemble::page_label;
use haversack_core::item::Kind;
use haversack_core::text::chunk::Format;
use haversack_core::text::spelling::printable_name;
use haversack_store::store::block_on;
use haversack_store::store::query::LIMIT_MAX;
use serde_json::{Value, json};

use crate::args::{SearchArgs, SearchWayArgs, StoreLocation};
use crate::output::{ExitOutcome, is_styled, print, say};
use crate::remote::WorkspaceTarget;

/// Most hits from one item.
pub(crate) const PER_ITEM_MAX: usize = 2;

/// Longest excerpt in characters.
const EXCERPT_CHARS_MAX: usize = 280;

/// Width of excerpts.
const COLUMNS: usize = 96;

/// Marks around a matching word until they are replaced by styles. No text contains them, because
/// control characters are blanked.
const MARKS: [char; 2] = ['\u{1}', '\u{2}'];

/// One passage that matches.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct SearchMatch {
    pub(crate) id: String,
    pub(crate) chunk: u32,
    pub(crate) score: f64,
    /// Its rank by each way to search, from 1.
    pub(crate) ranks: Vec<(String, usize)>,
    pub(crate) kind: String,
    pub(crate) title: String,
    pub(crate) path: Option<String>,
    pub(crate) headings: Vec<String>,
    /// First and last line, from 1.
    pub(crate) lines: (u32, u32),
    /// First and last page of a document that has pages.
    pub(crate) pages: Option<[u32; 2]>,
    /// Its bytes in the item's text; a server does not say.
    pub(crate) span: Option<[usize; 2]>,
    /// When the item last changed, in Unix milliseconds; a server does not say.
    pub(crate) updated: Option<i64>,
    pub(crate) excerpt: String,
    /// Where the query's words are in the excerpt, in bytes.
    pub(crate) marked: Vec<Range<usize>>,
}

/// The hits of a search, best first.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct SearchPage {
    pub(crate) hits: Vec<SearchMatch>,
    pub(crate) notices: Vec<String>,
}

impl From<haversack::search::HybridHit> for SearchMatch {
    fn from(found: haversack::search::HybridHit) -> SearchMatch {
        let pages = found.pages();
        let passage = found.passage;
        let item = passage.stored.item;
        SearchMatch {
            id: item.id.as_str().to_owned(),
            chunk: passage.chunk,
            score: found.score.get(),
            ranks: found.ranks.iter().map(|(way, rank)| (way.as_str().to_owned(), *rank)).collect(),
            kind: item.kind.as_str().to_owned(),
            title: item.title,
            path: item.path,
            headings: passage.headings,
            lines: passage.lines,
            pages,
            span: Some([passage.span.start(), passage.span.end()]),
            updated: item.updated.map(|updated| updated.as_millis()),
            excerpt: found.excerpt.text,
            marked: found.excerpt.hits,
        }
    }
}

pub(crate) fn run(location: &StoreLocation, args: &SearchArgs) -> Result<ExitOutcome> {
    ensure!(args.limit >= 1 && args.limit <= LIMIT_MAX, "--limit: use 1 to {LIMIT_MAX}");
    ensure!(!args.query.trim().is_empty(), "the query is empty: say what to look for");
    let search = local_search(args)?;
    let viewer = args.identity.viewer()?;
    let page = match location.reach(StoreLocation::existing_store)? {
        WorkspaceTarget::Local(store) => {
            let snapshot = block_on(store.snapshot(&viewer))?;
            let answers = block_on(hybrid(&*snapshot, &*snapshot.embedder(), &search))?;
            let hits = answers.found.into_iter().map(SearchMatch::from).collect();
            SearchPage { hits, notices: answers.notices }
        }
        WorkspaceTarget::Server(server) => server.search(args)?,
    };
    for notice in &page.notices {
        say(&format!("note: {notice}"));
    }
    if args.json {
        let json = document(location, &args.query, &page);
        print(&serde_json::to_string_pretty(&json)?)?;
    } else if page.hits.is_empty() {
        let query = printable_name(&args.query);
        say(&format!("nothing matches {query:?} in workspace {:?}", location.workspace));
    } else {
        print(&rendered(&page, is_styled()))?;
    }
    Ok(if page.hits.is_empty() { ExitOutcome::Nothing } else { ExitOutcome::Something })
}

fn local_search(args: &SearchArgs) -> Result<Search> {
    let mut search = Search::new(&args.query, args.limit);
    for kind in &args.kind {
        search.filter.kinds.push(Kind::new(kind).context("--kind")?);
    }
    search.filter.path_prefix = args.path.clone();
    search.only = match args.way {
        SearchWayArgs { text: true, .. } => Some(SearchMethod::Text),
        SearchWayArgs { vector: true, .. } => Some(SearchMethod::Vector),
        SearchWayArgs { fuzzy: true, .. } => Some(SearchMethod::Fuzzy),
        SearchWayArgs { .. } => None,
    };
    search.per_item_max = PER_ITEM_MAX;
    search.excerpt_chars_max = EXCERPT_CHARS_MAX;
    Ok(search)
}

fn rendered(page: &SearchPage, styled: bool) -> String {
    let mut out = String::new();
    let (bold, plain) = if styled { ("\u{1b}[1m", "\u{1b}[0m") } else { ("", "") };
    for (hit, rank) in page.hits.iter().zip(1..) {
        if rank > 1 {
            out.push('\n');
        }
        let (score, at) = (hit.score, location_of(hit));
        let _ = writeln!(out, "{rank:>3}  {score:.3}  {bold}{at}{plain}");
        let context = headings_of(hit);
        if !context.is_empty() {
            let _ = writeln!(out, "     {context}");
        }
        for line in excerpt_lines(hit) {
            let line = line.replace(MARKS[0], bold).replace(MARKS[1], plain);
            let _ = writeln!(out, "     {line}");
        }
    }
    out
}

/// The excerpt in lines: source code as it is, prose wrapped.
fn excerpt_lines(hit: &SearchMatch) -> Vec<String> {
    let path = hit.path.as_deref().unwrap_or_default();
    let text = marked_excerpt(hit);
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

/// Where a hit is: `path:lines`, `path, page 3`, or the item and the file it came from.
fn location_of(hit: &SearchMatch) -> String {
    if let (Some(path), Some(pages)) = (&hit.path, hit.pages) {
        return format!("{path}, {}", page_label(Some(path), pages));
    }
    let (first, last) = hit.lines;
    let lines = if first == last { format!("{first}") } else { format!("{first}-{last}") };
    match &hit.path {
        Some(path) if *path == hit.id => format!("{path}:{lines}"),
        Some(path) if hit.id.starts_with(path.as_str()) => hit.id.clone(),
        Some(path) => format!("{} ({path})", hit.id),
        None => hit.id.clone(),
    }
}

/// The title and the headings above a hit.
fn headings_of(hit: &SearchMatch) -> String {
    let name = hit.path.as_deref().and_then(|path| path.rsplit('/').next());
    let mut parts: Vec<&str> = Vec::new();
    if !hit.title.trim().is_empty() && name != Some(hit.title.as_str()) {
        parts.push(&hit.title);
    }
    for heading in &hit.headings {
        if !parts.contains(&heading.as_str()) {
            parts.push(heading);
        }
    }
    one_line(&parts.join(" › "))
}

/// A text in one line, without control characters.
fn one_line(text: &str) -> String {
    let blank = |c: char| if c.is_control() { ' ' } else { c };
    text.chars().map(blank).collect::<String>().split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The excerpt with marks around the query's words, and no control characters but line breaks.
fn marked_excerpt(hit: &SearchMatch) -> String {
    let excerpt = &hit.excerpt;
    let mut out = String::with_capacity(excerpt.len() + 16);
    let mut last = 0;
    for word in &hit.marked {
        let (Some(before), Some(inside)) =
            (excerpt.get(last..word.start), excerpt.get(word.clone()))
        else {
            continue;
        };
        push_blanked(&mut out, before);
        out.push(MARKS[0]);
        push_blanked(&mut out, inside);
        out.push(MARKS[1]);
        last = word.end;
    }
    push_blanked(&mut out, excerpt.get(last..).unwrap_or_default());
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

fn document(location: &StoreLocation, query: &str, page: &SearchPage) -> Value {
    let results: Vec<Value> =
        page.hits.iter().zip(1..).map(|(hit, rank)| hit_document(hit, rank)).collect();
    json!({
        "query": query,
        "workspace": location.workspace,
        "results": results,
        "notices": page.notices,
    })
}

fn hit_document(hit: &SearchMatch, rank: u32) -> Value {
    let found_by: Vec<Value> =
        hit.ranks.iter().map(|(way, rank)| json!({ "way": way, "rank": rank })).collect();
    let marked: Vec<[usize; 2]> = hit.marked.iter().map(|word| [word.start, word.end]).collect();
    json!({
        "rank": rank,
        "score": hit.score,
        "id": hit.id,
        "chunk": hit.chunk,
        "kind": hit.kind,
        "title": hit.title,
        "path": hit.path,
        "lines": [hit.lines.0, hit.lines.1],
        "pages": hit.pages,
        "span": hit.span,
        "headings": hit.headings,
        "updated": hit.updated,
        "excerpt": hit.excerpt,
        "hits": marked,
        "foundBy": found_by,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn excerpts_are_wrapped_by_their_visible_width() {
        let word = "x".repeat(40);
        let text = format!("{word} \u{1}{word}\u{2} {word}");
        let lines = wrapped(&text);
        assert_eq!(lines, [format!("{word} \u{1}{word}\u{2}"), word]);
        assert!(wrapped(" \n ").is_empty());
    }

    #[test]
    fn control_characters_are_not_printed() {
        assert_eq!(one_line("a\u{1b}[31m\n  b\u{7}"), "a [31m b");
    }
}
