//! Coverage over budget, drawn in characters, and as a table.

use std::fmt::Write as _;

use super::percent;
use crate::commands::frontier::BudgetPoint;
use crate::output::grouped;
use crate::paint::Paint;

/// Size of the plot.
const COLUMNS: usize = 60;
const ROWS: usize = 10;

/// The top cell of a column, by eighths.
const EIGHTHS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// Coverage over budget, and the figures. `requested` is the budget of the request.
pub(crate) fn plot(points: &[BudgetPoint], requested: u32, paint: Paint) -> String {
    let mut out = String::new();
    let totals = points.iter().map(|point| point.budget);
    if let (Some(least), Some(most)) = (totals.clone().min(), totals.max())
        && least < most
    {
        out.push_str(&picture(points, (least, most), requested, paint));
        out.push('\n');
    }
    let _ = writeln!(
        out,
        "{:>9} {:>9} {:>7} {:>9} {:>9}",
        "budget", "tokens", "items", "value", "coverage"
    );
    for point in points {
        let mark = if point.budget == requested { "  as requested" } else { "" };
        let _ = writeln!(
            out,
            "{:>9} {:>9} {:>7} {:>9.2} {:>9}{}",
            grouped(point.budget),
            grouped(point.tokens),
            point.items,
            point.value,
            percent(point.coverage),
            paint.dim(mark),
        );
    }
    out
}

fn picture(
    points: &[BudgetPoint],
    (least, most): (u32, u32),
    requested: u32,
    paint: Paint,
) -> String {
    let heights: Vec<usize> = (0..COLUMNS)
        .map(|column| {
            let part = column as f64 / (COLUMNS - 1) as f64;
            let total = f64::from(least) + part * f64::from(most - least);
            eighths(coverage(points, total))
        })
        .collect();
    let mut out = String::new();
    for row in (0..ROWS).rev() {
        let scale = match row {
            _ if row + 1 == ROWS => "100 %",
            _ if row + 1 == ROWS / 2 => "50 %",
            _ => "",
        };
        let cells: String =
            heights.iter().map(|height| EIGHTHS[height.saturating_sub(row * 8).min(8)]).collect();
        let _ = writeln!(out, "{scale:>7} ┤{}", paint.good(cells.trim_end()));
    }
    let _ = writeln!(out, "{:>7} └{}", "", "─".repeat(COLUMNS));
    let (left, right) = (grouped(least), grouped(most));
    let gap = COLUMNS.saturating_sub(left.len() + right.len());
    let _ = writeln!(out, "{:9}{left}{}{right} tokens", "", " ".repeat(gap));
    if (least..=most).contains(&requested) {
        let part = f64::from(requested - least) / f64::from(most - least);
        let at = (0..COLUMNS).rev().find(|&at| at as f64 <= part * (COLUMNS - 1) as f64);
        let _ = writeln!(out, "{:9}{}↑ as requested", "", " ".repeat(at.unwrap_or(0)));
    }
    out
}

/// The height of a column, in eighths of a cell.
fn eighths(coverage: f64) -> usize {
    let full = ROWS * 8;
    let exact = coverage * full as f64;
    (0..=full).rev().find(|&height| height as f64 <= exact + 1e-9).unwrap_or(0)
}

/// The coverage at a budget, interpolated between points.
fn coverage(points: &[BudgetPoint], total: f64) -> f64 {
    let of = |point: &BudgetPoint| (f64::from(point.budget), point.coverage);
    let after = points.iter().position(|point| f64::from(point.budget) >= total);
    match after {
        None => points.last().map_or(0.0, |point| of(point).1),
        Some(0) => of(&points[0]).1,
        Some(at) => {
            let ((from, low), (to, high)) = (of(&points[at - 1]), of(&points[at]));
            low + (high - low) * ((total - from) / (to - from).max(1.0))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(budget: u32, value: f64) -> BudgetPoint {
        BudgetPoint { budget, tokens: budget, items: 1, value, bound: Some(value), coverage: value }
    }

    #[test]
    fn the_plot_rises_with_coverage_and_marks_the_requested_budget() {
        let drawn = plot(&[point(100, 0.0), point(300, 1.0)], 200, Paint::with(false));
        let lines: Vec<&str> = drawn.lines().collect();
        assert!(lines[0].starts_with("  100 % ┤") && lines[0].ends_with('█'), "{drawn}");
        assert_eq!(lines[10].trim(), format!("└{}", "─".repeat(COLUMNS)));
        assert_eq!(lines[12].find('↑'), Some(9 + 29), "{drawn}");
        assert!(drawn.ends_with("100 %\n") && drawn.contains("coverage\n"), "{drawn}");
    }

    #[test]
    fn one_budget_makes_a_table_without_a_plot() {
        let drawn = plot(&[point(100, 0.5)], 100, Paint::with(false));
        assert_eq!(drawn.lines().count(), 2);
        assert!(drawn.ends_with("50 %  as requested\n"), "{drawn}");
    }
}
