//! What differs between two packs, in lines: causes first, then changed candidates.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use haversack::receipt::{CandidateChange, Difference, DifferenceCause};
use haversack_core::units::Timestamp;

use super::{clipped, plural};
use crate::paint::Paint;

/// Candidates of one kind of change that are printed; more are only counted.
const SHOWN_MAX: usize = 12;

/// Longest value of a field.
const VALUE: usize = 60;

/// The changes, as headings.
const HEADINGS: [&str; 5] = ["entered", "left", "resized", "rewritten", "rescored"];

/// All differences.
pub(crate) fn difference(difference: &Difference, paint: Paint) -> String {
    let mut out = String::new();
    let _ = writeln!(out, "\n{}", paint.bold("Causes"));
    if difference.causes.is_empty() {
        let _ = writeln!(out, "  none: both packs have the same inputs");
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

fn cause_line(cause: &DifferenceCause) -> String {
    let moved = |what: &str, before: &str, after: &str| {
        format!("{what}: {} became {}", value(before), value(after))
    };
    match cause {
        DifferenceCause::Request { field, before, after } => {
            moved(&format!("the request's {field}"), before, after)
        }
        DifferenceCause::Recipe { before, after } => moved("the recipe", before, after),
        DifferenceCause::Viewer => "the user is another".to_owned(),
        DifferenceCause::Data { before, after } => {
            format!("the workspace: state {before} became {after}")
        }
        DifferenceCause::Time { before, after } => {
            let moment = |millis: i64| Timestamp::from_millis(millis).to_string();
            moved("the time", &moment(*before), &moment(*after))
        }
        DifferenceCause::Tokenizer { before, after } => moved("the tokenizer", before, after),
        DifferenceCause::Embedder { before, after } => moved("the embedding model", before, after),
        DifferenceCause::Reranker { before, after } => moved("the reranker", before, after),
        DifferenceCause::Packing { before, after } => {
            format!("the version of packing: {before} became {after}")
        }
        _ => "unknown to this version".to_owned(),
    }
}

/// The index of a change's heading, and its details.
fn change_line(change: &CandidateChange) -> (usize, String) {
    match change {
        CandidateChange::Entered { before } => (0, format!("was out: {before}")),
        CandidateChange::Left { after } => (1, after.clone()),
        CandidateChange::Resized { before, after } => {
            (2, format!("{before} became {after} tokens"))
        }
        CandidateChange::Rewritten => (3, "its text changed".to_owned()),
        CandidateChange::Rescored { before, after, parts } => {
            let parts: Vec<String> = parts
                .iter()
                .map(|(name, (before, after))| format!("{name} {before:.2} became {after:.2}"))
                .collect();
            (4, format!("{before:.3} became {after:.3}: {}", parts.join(", ")))
        }
        _ => (HEADINGS.len(), "unknown to this version".to_owned()),
    }
}
