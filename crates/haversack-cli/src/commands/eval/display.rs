//! A report of `haversack eval` in tables.

use std::fmt::Write as _;
use std::time::Duration;

use haversack_eval::eval::{
    BudgetMetrics, EvalMetrics, EvalReport, Latency, Mean, Metric, OffTopic,
};

use crate::output::grouped;

/// The figures that say what a pack is worth, with their columns.
const MAIN: [(Metric, &str); 6] = [
    (Metric::Answer, "answers"),
    (Metric::Evidence, "evidence"),
    (Metric::Spans, "spans"),
    (Metric::Documents, "documents"),
    (Metric::Must, "must"),
    (Metric::Whole, "whole"),
];

/// Further figures.
const SIDE: [(Metric, &str); 4] = [
    (Metric::Any, "any text"),
    (Metric::Named, "named"),
    (Metric::Clean, "clean"),
    (Metric::Clutter, "clutter"),
];

/// A table of the sets when there are several, then the whole. Writing to a string cannot fail, so
/// that results are passed over.
pub(super) fn shown(report: &EvalReport) -> String {
    let mut out = String::new();
    if report.sets.iter().filter(|set| set.metrics.questions > 0).count() > 1 {
        table_of_sets(&mut out, report);
    }
    let EvalReport { metrics, ingest, .. } = report;
    head(&mut out, report);
    if let (Some(ndcg), Some(recall)) = (metrics.ndcg.get(), metrics.recall.get()) {
        let _ = writeln!(out, "\nranking   nDCG@10 {ndcg:.3}   recall@10 {recall:.3}");
    }
    main_table(&mut out, metrics);
    side_table(&mut out, metrics);
    notes(&mut out, report);
    let _ = writeln!(out, "\nlatency   {} a pack", both(metrics.latency));
    for (name, latency) in &metrics.steps {
        let _ = writeln!(out, "  {name:<8}{}", both(*latency));
    }
    if ingest.items > 0 {
        let _ = writeln!(
            out,
            "stored    {} documents in {:.1} s ({}/s)",
            grouped(ingest.items),
            ingest.elapsed.as_secs_f64(),
            grouped(format!("{:.0}", ingest.rate()))
        );
    }
    out
}

/// What was measured, and how.
fn head(out: &mut String, report: &EvalReport) {
    let EvalReport { set, recipe, kind, candidates, scopes, metrics, ingest, .. } = report;
    let by =
        recipe.as_ref().map_or("packs from a file".to_owned(), |name| format!("recipe {name}"));
    let _ = write!(out, "{set}, {by}: {} questions", grouped(metrics.questions));
    let items = grouped(ingest.items);
    let _ = match (recipe, scopes) {
        (None, 1) => writeln!(out),
        (None, _) => writeln!(out, " to {scopes} corpora"),
        (Some(_), 1) => writeln!(out, " to {items} documents (kind {kind})"),
        (Some(_), _) => writeln!(out, " to {scopes} corpora of {items} documents (kind {kind})"),
    };
    let _ = match (recipe, candidates) {
        (None, _) => Ok(()),
        (Some(_), None) => writeln!(out, "as shipped: the recipe's own number of candidates"),
        (Some(_), Some(number)) => {
            writeln!(out, "not as shipped: {number} candidates in place of the recipe's own number")
        }
    };
}

fn main_table(out: &mut String, metrics: &EvalMetrics) {
    let _ = write!(out, "\n  budget");
    for (_, name) in MAIN {
        let _ = write!(out, "{name:>11}");
    }
    let _ = writeln!(out, "{:>11}{:>8}", "broken", "tokens");
    for at in &metrics.budgets {
        let _ = write!(out, "{:>8}", grouped(at.budget));
        for (metric, _) in MAIN {
            let _ = write!(out, "{:>11}", share(at.mean(metric)));
        }
        let tokens = grouped(format!("{:.0}", at.tokens.value));
        let _ = writeln!(out, "{:>11}{tokens:>8}", share(at.broken_packs));
    }
    let means = |at: &BudgetMetrics| {
        let shares = MAIN.map(|(metric, _)| at.mean(metric).n);
        shares.into_iter().chain([at.broken_packs.n]).collect()
    };
    counts(out, metrics, 11, &means);
}

fn side_table(out: &mut String, metrics: &EvalMetrics) {
    let _ = write!(out, "\n  budget");
    for (_, name) in SIDE {
        let _ = write!(out, "{name:>11}");
    }
    let _ = writeln!(out, "{:>11}{:>15}", "must, all", "broken blocks");
    for at in &metrics.budgets {
        let _ = write!(out, "{:>8}", grouped(at.budget));
        for (metric, _) in SIDE {
            let _ = write!(out, "{:>11}", share(at.mean(metric)));
        }
        let _ = writeln!(out, "{:>11}{:>15.2}", share(at.must_all), at.broken.value);
    }
    let means = |at: &BudgetMetrics| {
        let shares = SIDE.map(|(metric, _)| at.mean(metric).n);
        shares.into_iter().chain([at.must_all.n]).collect()
    };
    counts(out, metrics, 11, &means);
}

/// How many questions each column covers, at the largest budget.
fn counts(
    out: &mut String,
    metrics: &EvalMetrics,
    width: usize,
    n: &dyn Fn(&BudgetMetrics) -> Vec<usize>,
) {
    let Some(last) = metrics.budgets.last() else { return };
    let _ = write!(out, "       n");
    for n in n(last) {
        let _ = write!(out, "{:>width$}", grouped(n));
    }
    out.push('\n');
}

/// Notes below the tables.
fn notes(out: &mut String, report: &EvalReport) {
    let metrics = &report.metrics;
    let [yes_no, in_question, nowhere] = metrics.skipped;
    out.push('\n');
    if yes_no + in_question + nowhere > 0 {
        let _ = writeln!(
            out,
            "answers left out: {} yes or no, {} in the question, {} in no labelled document",
            grouped(yes_no),
            grouped(in_question),
            grouped(nowhere)
        );
    }
    if metrics.without_evidence > 0 {
        let tokens = metrics.budgets.iter().map(|at| (at.budget, at.tokens_without_evidence));
        let tokens = tokens.map(|(budget, mean)| {
            format!("{} of {}", grouped(format!("{:.0}", mean.value)), grouped(budget))
        });
        let tokens: Vec<String> = tokens.collect();
        let count = questions(metrics.without_evidence);
        let _ =
            writeln!(out, "without evidence: {count}, mean tokens packed {}", tokens.join(", "));
    }
    if let Some(OffTopic { questions: count, budgets }) = &report.off_topic {
        let count = questions(*count);
        let _ = writeln!(out, "off topic: {count}");
        for (budget, packed, tokens) in budgets {
            let tokens = grouped(format!("{:.0}", tokens.value));
            let budget = grouped(budget);
            let _ = writeln!(
                out,
                "{budget:>8}  packs with any document text {}, mean tokens {tokens}",
                share(*packed)
            );
        }
    }
    if out.ends_with("\n\n") {
        out.pop();
    }
}

fn questions(count: usize) -> String {
    if count == 1 { "1 question".to_owned() } else { format!("{} questions", grouped(count)) }
}

/// A line for each set, at each budget its evidence.
fn table_of_sets(out: &mut String, report: &EvalReport) {
    let prefix = format!("{}/", report.set);
    let name = |set: &EvalReport| set.set.strip_prefix(&prefix).unwrap_or(&set.set).to_owned();
    let width = report.sets.iter().map(|set| name(set).chars().count());
    let width = width.max().unwrap_or(0).max("set".len());
    let _ = write!(out, "evidence\n{:<width$}  questions  nDCG@10   R@10", "set");
    for at in &report.metrics.budgets {
        let _ = write!(out, "{:>9}", format!("@{}", at.budget));
    }
    let _ = writeln!(out, "  p50 ms  p95 ms");
    let all = EvalReport { set: "all".to_owned(), ..report.clone() };
    for set in report.sets.iter().chain([&all]) {
        let metrics = &set.metrics;
        let _ = write!(out, "{:<width$}{:>11}", name(set), grouped(metrics.questions));
        if metrics.questions == 0 {
            out.push_str("  (no labels)\n");
            continue;
        }
        let _ = write!(out, "{:>9}{:>7}", share(metrics.ndcg), share(metrics.recall));
        for at in &metrics.budgets {
            let _ = write!(out, "{:>9}", share(at.mean(Metric::Evidence)));
        }
        let Latency { p50, p95 } = metrics.latency;
        let _ = writeln!(out, "{:>8.1}{:>8.1}", millis(p50), millis(p95));
    }
    out.push('\n');
}

/// A mean, or a dash where no question has it.
fn share(mean: Mean) -> String {
    mean.get().map_or("-".to_owned(), |value| format!("{value:.3}"))
}

fn both(Latency { p50, p95 }: Latency) -> String {
    format!("p50 {:.2} ms, p95 {:.2} ms", millis(p50), millis(p95))
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1_000.0
}
