//! A comparison as Markdown.

use std::fmt::Write as _;

use haversack_eval::shadow::{ContextReport, QuestionReport, ShadowReport};

use super::ReportHead;
use super::table::{MeanRow, mean_rows, question_figures, sentences};
use crate::commands::show::clipped;
use crate::output::grouped;

/// Questions whose contexts are shown, and the most characters of each.
const SHOWN_MAX: usize = 500;
const TEXT_CHARS_MAX: usize = 20_000;

/// The whole comparison. Writing to a string cannot fail, so that results are passed over.
pub(super) fn page(head: &ReportHead, report: &ShadowReport) -> String {
    let mut out = String::new();
    let _ = writeln!(out, "# Contexts compared\n\n{}.\n", escaped(&head.line(report)));
    let _ = writeln!(out, "| mean | theirs | ours | random |\n| --- | ---: | ---: | ---: |");
    for MeanRow { name, values: [theirs, ours, control] } in mean_rows(report) {
        let _ = writeln!(out, "| {name} | {theirs} | {ours} | {control} |");
    }
    out.push('\n');
    for (name, sentence) in sentences(report) {
        let _ = writeln!(out, "- {name}: {sentence}");
    }
    for remark in report.remarks() {
        let _ = writeln!(out, "- note: {}", escaped(&remark));
    }
    for skipped in &report.skipped {
        let (id, reason) = (escaped(&skipped.id), escaped(&skipped.reason));
        let _ = writeln!(out, "- skipped: {id}: {reason}");
    }
    for one in report.questions.iter().take(SHOWN_MAX) {
        question(&mut out, one);
    }
    let more = report.questions.len().saturating_sub(SHOWN_MAX);
    if more > 0 {
        let _ = writeln!(out, "\nThe contexts of {} more questions are left out.", grouped(more));
    }
    out
}

fn question(out: &mut String, one: &QuestionReport) {
    let _ = writeln!(out, "\n## {}\n", escaped(&clipped(&one.text, 200)));
    let _ = writeln!(out, "{}\n", question_figures(one));
    context(out, "Theirs", &one.theirs);
    context(out, "Ours", &one.ours);
}

fn context(out: &mut String, name: &str, context: &ContextReport) {
    let score = context.score.map_or(String::new(), |score| format!(", score {score:.3}"));
    let _ = writeln!(out, "### {name}: {} tokens{score}\n", context.tokens);
    for source in &context.sources {
        let _ = writeln!(out, "- {}", escaped(&clipped(source, 200)));
    }
    let text: String = context.text.chars().take(TEXT_CHARS_MAX).collect();
    let cut = if text.len() < context.text.len() { "\n…" } else { "" };
    let fence = fence(&text);
    let _ = writeln!(out, "\n{fence}text\n{text}{cut}\n{fence}\n");
}

/// A fence that is longer than any in a text.
fn fence(text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    "`".repeat(longest.max(2) + 1)
}

/// A text in which nothing is Markdown or HTML.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        if "\\`*_{}[]<>#|&!~".contains(letter) {
            out.push('\\');
        }
        out.push(if letter.is_control() { ' ' } else { letter });
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_ends_its_fence() {
        assert_eq!(fence("a"), "```");
        assert_eq!(fence("a ```` b"), "`````");
        assert_eq!(escaped("<b>a|b\n*"), "\\<b\\>a\\|b \\*");
    }
}
