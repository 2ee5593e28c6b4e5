//! A comparison as one HTML file: both contexts of each question side by side. It has no script and
//! loads nothing.

use std::fmt::Write as _;

use haversack_eval::shadow::{
    ContextReport, Mark, MarkKind, PassageReport, QuestionReport, ShadowReport,
};

use super::ReportHead;
use super::table::{MeanRow, mean_rows, question_figures, sentences};
use crate::commands::show::clipped;
use crate::output::grouped;

/// Questions whose contexts are shown, and the most bytes of each.
const SHOWN_MAX: usize = 500;
const TEXT_BYTES_MAX: usize = 40_000;

const STYLE: &str = "
body { font: 15px/1.5 system-ui, sans-serif; max-width: 1400px; margin: 2em auto; padding: 0 1em;
  color: #1a1a1a; background: #fff }
table { border-collapse: collapse } td, th { padding: .15em .9em; text-align: right }
td:first-child, th:first-child { text-align: left } tr { border-bottom: 1px solid #ddd }
details { border-top: 1px solid #ccc; padding: .4em 0 } summary { cursor: pointer }
.sides { display: grid; grid-template-columns: 1fr 1fr; gap: 1.5em } .figures { color: #555 }
pre { white-space: pre-wrap; overflow-wrap: anywhere; font: 13px/1.45 ui-monospace, monospace;
  background: #f6f6f6; padding: .6em; margin: .3em 0 }
.shared { background: #d5efd9 } .own { background: #fff } .missing { background: #eadcf7 }
.hidden { background: #f9c9c4 } .evidence { text-decoration: underline 2px }
.ours { color: #19672b } .theirs { color: #9a2b1f }
@media (max-width: 800px) { .sides { grid-template-columns: 1fr } }
@media (prefers-color-scheme: dark) { body { background: #16181b; color: #e6e6e6 }
  pre { background: #202327 } .figures { color: #a5a5a5 } .shared { background: #1d4a2a }
  .own { background: #2b2f34 } .missing { background: #46305c } .hidden { background: #6b2a25 }
  .ours { color: #7fd393 } .theirs { color: #f0958a } }
";

/// The whole comparison. Writing to a string cannot fail, so that results are passed over.
pub(super) fn page(head: &ReportHead, report: &ShadowReport) -> String {
    let mut out = String::new();
    let _ = write!(
        out,
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src \
         'unsafe-inline'\">\n<meta name=\"viewport\" content=\"width=device-width\">\n\
         <title>Contexts compared</title>\n<style>{STYLE}</style></head>\n<body>\n\
         <h1>Contexts compared</h1>\n<p>{}.</p>\n",
        escaped(&head.line(report))
    );
    out.push_str("<table><tr><th>mean<th>theirs<th>ours<th>random</tr>\n");
    for MeanRow { name, values: [theirs, ours, control] } in mean_rows(report) {
        let _ = writeln!(out, "<tr><td>{name}<td>{theirs}<td>{ours}<td>{control}</tr>");
    }
    out.push_str("</table>\n<ul>\n");
    for (name, sentence) in sentences(report) {
        let _ = writeln!(out, "<li>{name}: {}", escaped(&sentence));
    }
    for remark in report.remarks() {
        let _ = writeln!(out, "<li>note: {}", escaped(&remark));
    }
    for skipped in &report.skipped {
        let (id, reason) = (escaped(&skipped.id), escaped(&skipped.reason));
        let _ = writeln!(out, "<li>skipped: {id}: {reason}");
    }
    out.push_str(
        "</ul>\n<p><span class=\"shared\">in both</span> · <span class=\"own\">only here</span> · \
         <span class=\"hidden\">the asker may not read it</span> · <span class=\"missing\">not in the \
         workspace</span> · <span class=\"evidence\">evidence</span></p>\n",
    );
    for one in report.questions.iter().take(SHOWN_MAX) {
        question(&mut out, one);
    }
    let more = report.questions.len().saturating_sub(SHOWN_MAX);
    if more > 0 {
        let _ =
            writeln!(out, "<p>The contexts of {} more questions are left out.</p>", grouped(more));
    }
    out.push_str("</body></html>\n");
    out
}

fn question(out: &mut String, one: &QuestionReport) {
    let winner = one.winner().unwrap_or_default();
    let _ = writeln!(
        out,
        "<details><summary>{} <span class=\"{winner}\">{winner}</span></summary>",
        escaped(&clipped(&one.text, 300))
    );
    let _ = write!(out, "<p class=\"figures\">{}", question_figures(one));
    out.push_str("</p>\n<div class=\"sides\"><div>");
    heading(out, "Theirs", &one.theirs);
    for passage in &one.data.passages {
        their_passage(out, &one.theirs, passage);
    }
    out.push_str("</div><div>");
    heading(out, "Ours", &one.ours);
    let _ = writeln!(out, "<pre>{}</pre>", marked(&one.ours, 0..one.ours.text.len()));
    out.push_str("</div></div></details>\n");
}

fn heading(out: &mut String, name: &str, context: &ContextReport) {
    let score = context.score.map_or(String::new(), |score| format!(", score {score:.3}"));
    let time = context.ms.map_or(String::new(), |ms| format!(", {ms:.1} ms"));
    let _ = writeln!(out, "<h3>{name}: {} tokens{score}{time}</h3>", context.tokens);
    let sources: Vec<String> =
        context.sources.iter().map(|source| escaped(&clipped(source, 200))).collect();
    let _ = writeln!(out, "<p class=\"figures\">{}</p>", sources.join("<br>"));
}

fn their_passage(out: &mut String, context: &ContextReport, passage: &PassageReport) {
    if let Some(source) = &passage.source {
        let _ = write!(out, "<p class=\"figures\">{}</p>", escaped(&clipped(source, 200)));
    }
    let _ = writeln!(out, "<pre>{}</pre>", marked(context, passage.bytes.clone()));
}

/// A part of a context with its marks.
fn marked(context: &ContextReport, part: std::ops::Range<usize>) -> String {
    let text = &context.text;
    let end = text.floor_char_boundary(part.end.min(part.start + TEXT_BYTES_MAX));
    let mut out = String::new();
    let mut at = part.start;
    let is_in = |mark: &&Mark| mark.bytes.end > part.start && mark.bytes.start < end;
    for Mark { bytes, kind, is_evidence } in context.marks.iter().filter(is_in) {
        let (from, to) = (bytes.start.max(at), bytes.end.min(end));
        out.push_str(&escaped(text.get(at..from).unwrap_or_default()));
        let class = match kind {
            MarkKind::Shared => "shared",
            MarkKind::Own => "own",
            MarkKind::Hidden => "hidden",
            MarkKind::Missing => "missing",
        };
        let evidence = if *is_evidence { " evidence" } else { "" };
        let part = escaped(text.get(from..to).unwrap_or_default());
        let _ = write!(out, "<span class=\"{class}{evidence}\">{part}</span>");
        at = to;
    }
    out.push_str(&escaped(text.get(at..end).unwrap_or_default()));
    if end < part.end {
        out.push('…');
    }
    out
}

/// A text in which nothing is HTML.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            letter if letter.is_control() && letter != '\n' && letter != '\t' => out.push(' '),
            letter => out.push(letter),
        }
    }
    out
}
