//! What differs between two packs, as people read it: causes first, then what they did.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use haversack::receipt::{Cause, Change, Difference};
use haversack_core::units::Timestamp;

use super::{clipped, plural};
use crate::paint::Paint;

/// Candidates of one sort of change that are shown; more are only counted.
const SHOWN_MAX: usize = 12;

/// Longest value of a field that is shown.
const VALUE: usize = 60;

/// The changes, as headings.
const HEADINGS: [&str; 5] = ["entered", "left", "resized", "rewritten", "rescored"];

/// The whole of it.
pub(crate) fn difference(difference: &Difference, paint: Paint) -> String {
    let mut out = String::new();
    let _ = writeln!(out, "\n{}", paint.bold("Causes"));
    if difference.causes.is_empty() {
        let _ = writeln!(out, "  none: both were made from the same things");
    }
    for cause in &difference.causes {
        let _ = writeln!(out, "  {}", cause_line(cause));
    }
    let mut changed: BTreeMap<usize, Vec<(&str, String)>> = BTreeMap::new();
    for (name, changes) in &difference.candidates {
        for change in changes {
            let (sort, line) = change_line(change);
            changed.entry(sort).or_default().push((name, line));
        }
    }
    for (sort, lines) in &changed {
        let count = plural(lines.len(), "candidate", "candidates");
        let heading = HEADINGS.get(*sort).copied().unwrap_or("changed otherwise");
        let _ = writeln!(out, "\n{}", paint.bold(&format!("{count} {heading}")));
        for (name, line) in lines.iter().take(SHOWN_MAX) {
            let _ = writeln!(out, "  {name}  {}", paint.dim(line));
        }
        if lines.len() > SHOWN_MAX {
            let more = format!("… {} more; --json has them all", lines.len() - SHOWN_MAX);
            let _ = writeln!(out, "  {}", paint.dim(&more));
        }
    }
    out
}

fn value(text: &str) -> String {
    if text.is_empty() { "nothing".to_owned() } else { clipped(text, VALUE) }
}

fn cause_line(cause: &Cause) -> String {
    let moved = |what: &str, before: &str, after: &str| {
        format!("{what}: {} became {}", value(before), value(after))
    };
    match cause {
        Cause::Request { field, before, after } => {
            moved(&format!("the request's {field}"), before, after)
        }
        Cause::Recipe { before, after } => moved("the recipe", before, after),
        Cause::Viewer => "the reader is another".to_owned(),
        Cause::Data { before, after } => {
            format!("the workspace: state {before} became {after}")
        }
        Cause::Time { before, after } => {
            let moment = |millis: i64| Timestamp::from_millis(millis).to_string();
            moved("the time", &moment(*before), &moment(*after))
        }
        Cause::Tokenizer { before, after } => moved("the tokenizer", before, after),
        Cause::Embedder { before, after } => moved("the embedding model", before, after),
        Cause::Reranker { before, after } => moved("the reranker", before, after),
        Cause::Packing { before, after } => {
            format!("the version of packing: {before} became {after}")
        }
        _ => "something that this version does not know".to_owned(),
    }
}

/// Under which heading a change stands, and what there is to say.
fn change_line(change: &Change) -> (usize, String) {
    match change {
        Change::Entered { before } => (0, format!("was out: {before}")),
        Change::Left { after } => (1, after.clone()),
        Change::Resized { before, after } => (2, format!("{before} became {after} tokens")),
        Change::Rewritten => (3, "its text is another".to_owned()),
        Change::Rescored { before, after, parts } => {
            let parts: Vec<String> = parts
                .iter()
                .map(|(name, (before, after))| format!("{name} {before:.2} became {after:.2}"))
                .collect();
            (4, format!("{before:.3} became {after:.3}: {}", parts.join(", ")))
        }
        _ => (HEADINGS.len(), "in a way that this version does not know".to_owned()),
    }
}
