//! Packs as people read them.

mod bar;
mod difference;
mod page;
mod plot;
mod story;
mod words;

pub(crate) use bar::bar;
pub(crate) use difference::difference;
pub(crate) use page::{Depth, lines_of, page};
pub(crate) use plot::plot;
pub(crate) use story::{Chapter, Story, Told, label, named};
pub(crate) use words::{clipped, duration, percent, plural, readable};

use haversack::{Assembled, Notice};

use crate::output::{grouped, say};
use crate::paint::Paint;

/// One line on what was packed.
pub(crate) fn summary(assembled: &Assembled, kept: bool) -> String {
    let pack = &assembled.pack;
    let items: usize = pack.sections.iter().map(|section| section.items.len()).sum();
    let kept = if kept { "" } else { ", not kept" };
    format!(
        "{} of {} tokens ({}, {}) · {} of {} candidates · {} · receipt {}{kept}",
        grouped(pack.tokens),
        grouped(pack.limit),
        pack.tokenizer,
        pack.accuracy,
        grouped(items),
        grouped(pack.ledger.len()),
        duration(assembled.timings.total()),
        pack.receipt,
    )
}

/// Says what the caller should know.
pub(crate) fn tell_notices(notices: &[Notice]) {
    for notice in notices {
        for line in notice_lines(notice) {
            say(&line);
        }
    }
}

/// A notice in lines: what it is, and what could be done.
pub(crate) fn notice_lines(notice: &Notice) -> Vec<String> {
    let mut lines = vec![format!("note ({}): {}", notice.code.as_str(), readable(&notice.message))];
    if !notice.suggestions.is_empty() {
        lines.push(format!("  try: {}", readable(&notice.suggestions.join("; or "))));
    }
    lines
}

/// How long each step took, and how good the result is.
pub(crate) fn figures(assembled: &Assembled, paint: Paint) -> String {
    let steps = assembled.timings.steps();
    let steps: Vec<String> =
        steps.iter().map(|(step, time)| format!("{step} {}", duration(*time))).collect();
    let quality = assembled.quality();
    format!(
        "{}  {} = {}\n{}  {:.2}: coverage {}, repeated {}, fresh {}, budget used {}\n",
        paint.bold("time   "),
        steps.join(" + "),
        duration(assembled.timings.total()),
        paint.bold("quality"),
        quality.score.get(),
        percent(quality.coverage.get()),
        percent(quality.redundancy.get()),
        percent(quality.freshness.get()),
        percent(quality.budget_use.get()),
    )
}
