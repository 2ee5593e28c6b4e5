//! A pack report in lines: the budget, then by layer what is in, shortened and left out, and why.

use std::fmt::Write as _;

use super::{CandidateLine, PackReport, ReportLayer, bar, plural};
use crate::output::grouped;
use crate::paint::Paint;

/// Longest name of a candidate, alone on its line and beside its reason.
const NAME: usize = 90;
const NAME_SHORT: usize = 52;

/// How much of a report is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Depth {
    /// Everything.
    All,
    /// At most this many candidates of each layer that are in, shortened and left out.
    Best([usize; 3]),
}

impl Depth {
    /// As much as fits on a screen.
    pub(crate) const SCREEN: Depth = Depth::Best([5, 3, 4]);

    const fn most(self, sort: usize) -> usize {
        match self {
            Depth::All => usize::MAX,
            Depth::Best(most) => most[sort],
        }
    }
}

/// The whole report.
pub(crate) fn page(report: &PackReport, depth: Depth, paint: Paint) -> String {
    let mut out = String::new();
    if !report.question.is_empty() {
        let _ = writeln!(out, "{}", paint.bold(&super::clipped(&report.question, 200)));
    }
    let _ = writeln!(out, "{}\n", paint.dim(&report.about));
    out.push_str(&bar(report, paint));
    let mut hidden = 0;
    for layer in report.layers.iter().filter(|layer| !layer.lines.is_empty()) {
        let (shown, more) = best_lines(layer, depth);
        if shown.is_empty() {
            continue;
        }
        let figures = format!("{} tokens, {}", grouped(layer.tokens), layer.counts());
        let _ = writeln!(out, "\n{}  {}", paint.bold(&layer.title), paint.dim(&figures));
        for candidate in shown {
            out.push_str(&two_lines(candidate, depth, paint));
        }
        if let Some(more) = more_line(more) {
            let _ = writeln!(out, "  {}", paint.dim(&more));
        }
        hidden += more.iter().sum::<usize>();
    }
    if hidden > 0 {
        let _ = writeln!(out, "\n{}", paint.dim("--all shows every candidate"));
    }
    if report.unlisted > 0 {
        let more = plural(report.unlisted, "more candidate is", "more candidates are");
        let _ = writeln!(out, "\n{}", paint.dim(&format!("{more} out and not listed")));
    }
    out
}

/// The candidates of a layer that are printed, and how many more are in, shortened and left out.
fn best_lines(layer: &ReportLayer, depth: Depth) -> (Vec<&CandidateLine>, [usize; 3]) {
    let mut more = [0; 3];
    let mut shown = Vec::new();
    let sorts: [fn(&CandidateLine) -> bool; 3] =
        [CandidateLine::is_in, CandidateLine::is_cut, CandidateLine::is_out];
    for (sort, is) in sorts.into_iter().enumerate() {
        let all: Vec<&CandidateLine> =
            layer.lines.iter().filter(|candidate| is(candidate)).collect();
        let most = depth.most(sort).min(all.len());
        shown.extend(&all[..most]);
        more[sort] = all.len() - most;
    }
    if depth == Depth::All {
        shown.extend(layer.lines.iter().filter(|candidate| candidate.is_elsewhere()));
    }
    (shown, more)
}

fn more_line([whole, cut, out]: [usize; 3]) -> Option<String> {
    let counts = [(whole, "in"), (cut, "shortened"), (out, "left out")];
    let parts: Vec<String> = counts
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, word)| format!("{} more {word}", grouped(count)))
        .collect();
    (!parts.is_empty()).then(|| format!("… {}", parts.join(", ")))
}

/// A candidate's outcome, coloured and padded to its column.
fn mark(candidate: &CandidateLine, paint: Paint) -> String {
    let word = format!("{:<9}", candidate.line.outcome);
    match () {
        () if candidate.is_in() => paint.good(&word),
        () if candidate.is_cut() => paint.warning(&word),
        () if candidate.is_out() => paint.bad(&word),
        () => paint.dim(&word),
    }
}

/// A candidate's tokens; for a shortened one, also those of its whole text.
fn cost(candidate: &CandidateLine) -> String {
    let line = &candidate.line;
    match () {
        () if candidate.is_cut() => {
            format!("{}/{}", grouped(line.tokens), grouped(line.tokens_whole))
        }
        () if candidate.is_in() => grouped(line.tokens),
        // Left out before its tokens were counted.
        () if line.tokens_whole == 0 => "–".to_owned(),
        () => grouped(line.tokens_whole),
    }
}

/// A candidate in two lines: its name, and the reasons for its outcome and score.
fn two_lines(candidate: &CandidateLine, depth: Depth, paint: Paint) -> String {
    let line = &candidate.line;
    let mut why: Vec<String> = line.why.iter().cloned().collect();
    if let Some(last) = line.displaced_by.as_ref().filter(|_| depth == Depth::All) {
        why.push(format!("the last to fit was {last}"));
    }
    let found: Vec<String> =
        line.found.iter().map(|(collector, rank)| format!("{collector} {rank}")).collect();
    if !found.is_empty() {
        why.push(format!("found by {}", found.join(", ")));
    }
    let parts: Vec<String> = line
        .parts
        .iter()
        .filter(|(_, (value, weight))| *value > 0.0 || *weight > 0.0)
        .map(|(name, (value, weight))| match *weight {
            // The inputs of an expression have no weights.
            0.0 => format!("{name} {value:.2}"),
            weight => format!("{name} {value:.2}×{weight}"),
        })
        .collect();
    if !parts.is_empty() {
        why.push(parts.join(" + "));
    }
    let first = format!(
        "  {} {:>6.3} {:>11}  {}",
        mark(candidate, paint),
        line.score,
        cost(candidate),
        candidate.name(NAME)
    );
    let second = format!("{:32}{}", "", paint.dim(&why.join(" · ")));
    if why.is_empty() { format!("{first}\n") } else { format!("{first}\n{second}\n") }
}

/// A layer in one line per candidate, each with its reason.
pub(crate) fn lines_of(layer: &ReportLayer, depth: Depth, paint: Paint) -> String {
    let (shown, more) = best_lines(layer, depth);
    let mut out = String::new();
    for candidate in shown {
        let line = &candidate.line;
        let why = match (line.code.as_deref(), line.whole_from) {
            // Its outcome already says that it is over the budget.
            (Some("over_budget") | None, Some(from)) => {
                format!("whole from {} tokens", grouped(from))
            }
            _ => line.why.clone().unwrap_or_default(),
        };
        let why = if why.is_empty() { why } else { format!("  {why}") };
        let (mark, name) = (mark(candidate, paint), candidate.name(NAME_SHORT));
        let _ = writeln!(out, "    {mark} {:>11}  {name}{}", cost(candidate), paint.dim(&why));
    }
    if let Some(more) = more_line(more) {
        let _ = writeln!(out, "    {}", paint.dim(&more));
    }
    out
}
