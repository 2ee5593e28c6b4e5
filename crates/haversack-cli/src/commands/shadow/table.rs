//! A comparison in tables: means of both sides and of random passages, then a line per question.

use std::fmt::Write as _;

use haversack_eval::eval::{Mean, Metric};
use haversack_eval::shadow::{QuestionReport, ShadowReport, SideSummary};

use super::ReportHead;
use crate::commands::show::clipped;
use crate::output::grouped;
use crate::paint::Paint;

/// Questions that are listed.
const LISTED_MAX: usize = 40;

/// Width of a question in the list.
const QUESTION_WIDTH: usize = 38;

/// One row of means: what it is called, and theirs, ours, random.
pub(super) struct MeanRow {
    pub(super) name: &'static str,
    pub(super) values: [String; 3],
}

/// A mean of one side.
type MeanOf = fn(&SideSummary) -> Mean;

/// The metrics with their names, in the order of the table.
const METRICS: [(Metric, &str); 8] = [
    (Metric::Answer, "answers"),
    (Metric::Evidence, "evidence"),
    (Metric::Spans, "spans"),
    (Metric::Documents, "documents"),
    (Metric::Must, "must"),
    (Metric::Named, "named"),
    (Metric::Whole, "whole"),
    (Metric::Clutter, "clutter"),
];

/// The means that some side has.
pub(super) fn mean_rows(report: &ShadowReport) -> Vec<MeanRow> {
    let sides = report.sides();
    let mut rows = Vec::new();
    let mut add = |name: &'static str, means: [Mean; 3], shown: fn(f64) -> String| {
        if means.iter().any(|mean| mean.n > 0) {
            let values = means.map(|mean| mean.get().map_or_else(|| "-".to_owned(), shown));
            rows.push(MeanRow { name, values });
        }
    };
    let all = |of: MeanOf| [of(&sides[0]), of(&sides[1]), of(&sides[2])];
    let three = |value: f64| format!("{value:.3}");
    add("score", all(|side| side.score), three);
    for (metric, name) in METRICS {
        let means = [0, 1, 2].map(|side: usize| sides[side].metric(metric));
        add(name, means, three);
    }
    add("broken blocks", all(|side| side.broken), |value| format!("{value:.2}"));
    add("tokens", all(|side| side.tokens), |value| grouped(format!("{value:.0}")));
    add("sources", all(|side| side.sources), |value| format!("{value:.1}"));
    add("repeated", all(|side| side.repeated), share);
    add("ms", all(|side| side.ms), |value| format!("{value:.1}"));
    rows
}

/// Where the words of a question's contexts come from, in sentences.
pub(super) fn question_figures(one: &QuestionReport) -> String {
    let figures = format!(
        "Line {}. Sources: {} in both, {} only in theirs, {} only in ours. {} of their words are in \
         ours, {} are not in the workspace, {} may not be read.",
        one.line,
        one.sources.both,
        one.sources.theirs,
        one.sources.ours,
        share(one.overlap.0),
        share(one.data.missing),
        share(one.data.hidden),
    );
    match one.least_budget {
        Some(least) => {
            format!("{figures} The recipe needs at least {least} tokens, so ours is empty.")
        }
        None => figures,
    }
}

/// A share as a percentage.
fn share(value: f64) -> String {
    format!("{:.1} %", value * 100.0)
}

/// What is said of the whole in sentences: what it is about, and the sentence.
pub(super) fn sentences(report: &ShadowReport) -> Vec<(&'static str, String)> {
    let mean = |value: &dyn Fn(&QuestionReport) -> f64| report.mean(value);
    let mut sentences = vec![
        (
            "overlap",
            format!(
                "{} of their words are in ours, {} of ours in theirs; {} of theirs in random \
                 passages",
                share(mean(&|one| one.overlap.0)),
                share(mean(&|one| one.overlap.1)),
                share(mean(&|one| one.overlap_by_chance)),
            ),
        ),
        (
            "sources",
            format!(
                "{:.1} in both, {:.1} only in theirs, {:.1} only in ours",
                mean(&|one| one.sources.both as f64),
                mean(&|one| one.sources.theirs as f64),
                mean(&|one| one.sources.ours as f64),
            ),
        ),
        (
            "theirs",
            format!(
                "{} of their words are not in the workspace, {} are in items that the asker may \
                 not read",
                share(mean(&|one| one.data.missing)),
                share(mean(&|one| one.data.hidden)),
            ),
        ),
    ];
    if let Some(verdicts) = report.verdicts() {
        let n = verdicts.ours + verdicts.theirs + verdicts.equal;
        sentences.push((
            "score",
            format!(
                "of {} with labels, ours is higher in {}, theirs in {}, equal in {}; ours minus \
                 theirs {:+.3} ± {:.3}",
                grouped(n),
                grouped(verdicts.ours),
                grouped(verdicts.theirs),
                grouped(verdicts.equal),
                verdicts.gain,
                verdicts.error,
            ),
        ));
    }
    sentences
}

/// The whole comparison. Writing to a string cannot fail, so that results are passed over.
pub(super) fn page(head: &ReportHead, report: &ShadowReport, paint: Paint) -> String {
    let mut out = String::new();
    let _ = writeln!(out, "{}", head.line(report));
    if report.questions.is_empty() {
        return out;
    }
    let _ = writeln!(out, "\n{}", paint.bold("                   theirs        ours      random"));
    for MeanRow { name, values: [theirs, ours, control] } in mean_rows(report) {
        let _ = writeln!(out, "{name:<13}{theirs:>12}{ours:>12}{control:>12}");
    }
    out.push('\n');
    for (name, sentence) in sentences(report) {
        let _ = writeln!(out, "{name:<9}{sentence}");
    }
    list(&mut out, report, paint);
    out
}

/// A line for each question.
fn list(out: &mut String, report: &ShadowReport, paint: Paint) {
    let title = format!(
        "{:>6}  {:<QUESTION_WIDTH$}  {:>13}  {:>14}  {:>7}  {:>13}",
        "line", "question", "tokens", "both|t|o", "overlap", "score"
    );
    let _ = writeln!(out, "\n{}", paint.bold(&title));
    for one in report.questions.iter().take(LISTED_MAX) {
        let tokens = format!("{} | {}", one.theirs.tokens, one.ours.tokens);
        let sources =
            format!("{} | {} | {}", one.sources.both, one.sources.theirs, one.sources.ours);
        let score =
            |score: Option<f64>| score.map_or("-".to_owned(), |score| format!("{score:.3}"));
        let scores = format!("{} | {}", score(one.theirs.score), score(one.ours.score));
        let winner = match one.winner() {
            Some("ours") => paint.good("ours"),
            Some("theirs") => paint.bad("theirs"),
            Some(equal) => equal.to_owned(),
            None => String::new(),
        };
        let line = format!(
            "{:>6}  {:<QUESTION_WIDTH$}  {tokens:>13}  {sources:>14}  {:>7}  {scores:>13}  {winner}",
            one.line,
            clipped(&one.text, QUESTION_WIDTH),
            share(one.overlap.0),
        );
        let _ = writeln!(out, "{}{}", line.trim_end(), warnings(one, paint));
    }
    let more = report.questions.len().saturating_sub(LISTED_MAX);
    if more > 0 {
        let _ =
            writeln!(out, "and {} more: --json, --html and --markdown have them", grouped(more));
    }
}

/// What is wrong with their context.
fn warnings(one: &QuestionReport, paint: Paint) -> String {
    let mut out = String::new();
    if !one.data.hidden_sources.is_empty() {
        out.push_str(&paint.bad("  not readable"));
    }
    if one.data.missing > 0.5 {
        out.push_str(&paint.warning("  not in the data"));
    }
    out
}
