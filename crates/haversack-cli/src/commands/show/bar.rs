//! The budget as a bar: what takes how much of it.

use std::fmt::Write as _;

use super::{PackReport, percent};
use crate::output::grouped;
use crate::paint::Paint;

/// Width of a bar in characters.
const WIDTH: usize = 64;

/// Longest title in the legend.
const TITLE: usize = 26;

/// Something that takes a part of the budget.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BudgetPart {
    /// The layer's position; `None` for overhead, reserves and free tokens.
    pub(crate) layer: Option<usize>,
    pub(crate) title: String,
    pub(crate) tokens: u32,
    /// Counts of its candidates.
    pub(crate) note: String,
}

/// A bar with its legend.
pub(crate) fn bar(report: &PackReport, paint: Paint) -> String {
    let parts = budget_parts(report);
    let whole: u32 = parts.iter().map(|part| part.tokens).sum();
    let widths = widths(&parts, WIDTH);
    let mut out = String::from("  ▕");
    for (part, width) in parts.iter().zip(&widths) {
        out.push_str(&stretch(part, *width, paint));
    }
    let used = percent(f64::from(report.tokens) / f64::from(report.limit.max(1)));
    let figure = format!("{} of {} tokens", grouped(report.tokens), grouped(report.limit));
    let _ = writeln!(out, "▏ {}, {used}", paint.bold(&figure));
    for part in parts.iter().filter(|part| part.tokens > 0 || !part.note.is_empty()) {
        let share = percent(f64::from(part.tokens) / f64::from(whole.max(1)));
        let line = format!(
            "    {} {:<TITLE$} {:>7} {share:>6}   {}",
            stretch(part, 1, paint),
            super::clipped(&part.title, TITLE),
            grouped(part.tokens),
            paint.dim(&part.note),
        );
        let _ = writeln!(out, "{}", line.trim_end());
    }
    out
}

/// The parts of the budget: layers, overhead, reserves, and what is free.
fn budget_parts(report: &PackReport) -> Vec<BudgetPart> {
    let of_layer = |(place, layer): (usize, &super::ReportLayer)| BudgetPart {
        layer: Some(place),
        title: layer.title.clone(),
        tokens: layer.tokens,
        note: layer.counts(),
    };
    let mut parts: Vec<BudgetPart> = report.layers.iter().enumerate().map(of_layer).collect();
    let inside: u32 = parts.iter().map(|part| part.tokens).sum();
    let other = |title: &str, tokens: u32| BudgetPart {
        layer: None,
        title: title.to_owned(),
        tokens,
        note: String::new(),
    };
    parts.push(other("overhead", report.tokens.saturating_sub(inside)));
    parts.push(other("reserved", report.budget.saturating_sub(report.limit)));
    parts.push(other("free", report.limit.saturating_sub(report.tokens)));
    parts
}

fn stretch(part: &BudgetPart, width: usize, paint: Paint) -> String {
    let plain = match (part.layer, part.title.as_str()) {
        (Some(place), _) => return paint.layer(place, width),
        (None, "reserved") => "╱",
        (None, "free") => "·",
        (None, _) => "▪",
    };
    paint.dim(&plain.repeat(width))
}

/// Widths in proportion that add up to the whole; a part with tokens gets at least one column.
fn widths(parts: &[BudgetPart], width: usize) -> Vec<usize> {
    let whole: u64 = parts.iter().map(|part| u64::from(part.tokens)).sum();
    if whole == 0 {
        return vec![0; parts.len()];
    }
    let exact = |part: &BudgetPart| u64::from(part.tokens) * width as u64;
    let mut widths: Vec<usize> = parts
        .iter()
        .map(|part| {
            let floor = usize::try_from(exact(part) / whole).unwrap_or(width);
            if part.tokens > 0 { floor.max(1) } else { 0 }
        })
        .collect();
    // Columns lost to rounding go to the parts that lost most; extra ones are taken from the widest.
    let mut order: Vec<usize> = (0..parts.len()).filter(|&at| parts[at].tokens > 0).collect();
    order.sort_by_key(|&at| (std::cmp::Reverse(exact(&parts[at]) % whole), at));
    for &at in order.iter().cycle().take(width * parts.len()) {
        if widths.iter().sum::<usize>() >= width {
            break;
        }
        widths[at] += 1;
    }
    while widths.iter().sum::<usize>() > width {
        let Some(widest) = widths.iter_mut().max() else { break };
        if *widest <= 1 {
            break;
        }
        *widest -= 1;
    }
    widths
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(tokens: &[u32], width: usize, expected: &[usize]) {
        let part = |&tokens: &u32| BudgetPart {
            layer: None,
            title: String::new(),
            tokens,
            note: String::new(),
        };
        let parts: Vec<BudgetPart> = tokens.iter().map(part).collect();
        assert_eq!(widths(&parts, width), expected);
    }

    #[test]
    fn parts_fill_the_bar_and_each_has_a_column() {
        check(&[1, 1], 10, &[5, 5]);
        check(&[1, 1, 1], 10, &[4, 3, 3]);
        check(&[1, 0, 999], 10, &[1, 0, 9]);
        check(&[1, 1, 998], 10, &[1, 1, 8]);
        check(&[0, 0], 10, &[0, 0]);
        check(&[5, 5, 5, 5], 3, &[1, 1, 1, 1]);
    }
}
