//! `haversack eval`: how much of the evidence for known questions reaches the pack.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{BufWriter, IsTerminal, Write};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use haversack::Engine;
use haversack::eval::{self, AtBudget, Event, Figures, Latency, Options, Report};

use super::asking::{brought_recipes, with_recipes};
use super::model::{embedder, reranker};
use crate::args::{self, Place};
use crate::output::{Bar, Found, grouped, print, say};
use crate::place::reranking;
use crate::runtime::wait;

pub(crate) fn run(place: &Place, args: &args::Eval) -> Result<Found> {
    let embedder = embedder(place, &args.embedder)?;
    let reranker = args.reranker.as_deref().map(|given| reranker(place, given)).transpose()?;
    let (recipe, recipes) = brought_recipes(&args.recipe)?;
    let options = Options {
        recipe,
        budgets: args.budgets.clone(),
        limit: args.limit,
        candidates: args.limit_candidates,
    };
    let builder = || {
        let builder = Engine::builder().embedder(Arc::clone(&embedder));
        with_recipes(reranking(builder, reranker.clone()), &recipes)
    };
    let scratch = tempfile::Builder::new().prefix("haversack-eval-").tempdir();
    let scratch = scratch.context("cannot make a temporary folder")?;
    let mut lines = args.per_query.as_deref().map(create).transpose()?;
    let quiet = args.json && !std::io::stderr().is_terminal();
    let mut bar = (!quiet).then(Bar::new);
    let mut watch = |event: Event<'_>| {
        if let (Some(lines), Event::Answered { answer, .. }) = (&mut lines, &event) {
            writeln!(lines, "{}", answer.json())?;
        }
        if let Some(bar) = &mut bar {
            bar.show(&line(&event));
        }
        Ok(())
    };
    let evaluation = eval::run(&args.set, &options, scratch.path(), &builder, &mut watch);
    let report = wait(async { Ok(evaluation.await?) });
    if let Some(bar) = &bar {
        bar.clear();
    }
    let report = report?;
    if let (Some(mut lines), Some(path)) = (lines, &args.per_query) {
        lines.flush().with_context(|| format!("cannot write {}", path.display()))?;
    }
    if args.json {
        print(&format!("{:#}", report.json()))?;
    } else {
        print(&shown(&report))?;
    }
    for remark in report.remarks.lines() {
        say(&format!("note: {remark}"));
    }
    Ok(Found::Something)
}

fn create(path: &Path) -> Result<BufWriter<File>> {
    let file = File::create(path).with_context(|| format!("cannot write {}", path.display()))?;
    Ok(BufWriter::new(file))
}

pub(super) fn line(event: &Event<'_>) -> String {
    match event {
        Event::Reading { set } => format!("reading {set}"),
        Event::Stored { set, done, of } => {
            format!("{set}: stored {} of {} documents", grouped(done), grouped(of))
        }
        Event::Answered { answer, done, of } => {
            format!("{}: asked {} of {} questions", answer.set, grouped(done), grouped(of))
        }
    }
}

/// A report as people read it: a table of the sets when there are several, then the whole.
fn shown(report: &Report) -> String {
    let mut out = String::new();
    if report.sets.iter().filter(|set| set.figures.questions > 0).count() > 1 {
        table(&mut out, report);
    }
    let Report { set, recipe, kind, scopes, figures, ingest, remarks, .. } = report;
    // Writing to a string cannot fail.
    let _ = write!(out, "{set}, recipe {recipe}: {} questions", grouped(figures.questions));
    let _ = match scopes {
        1 => writeln!(out, " to {} documents (kind {kind})", grouped(ingest.items)),
        _ => {
            let items = grouped(ingest.items);
            writeln!(out, " to {scopes} corpora of {items} documents (kind {kind})")
        }
    };
    if remarks.unlabelled > 0 {
        let _ = writeln!(out, "{} without evidence not asked", grouped(remarks.unlabelled));
    }
    let _ = writeln!(
        out,
        "\nranking   nDCG@10 {:.3}   recall@10 {:.3}\n",
        figures.ndcg, figures.recall
    );
    budgets(&mut out, figures);
    let _ = writeln!(out, "\nlatency   {} a pack", both(figures.latency));
    for (name, latency) in &figures.steps {
        let _ = writeln!(out, "  {name:<8}{}", both(*latency));
    }
    let _ = writeln!(
        out,
        "stored    {} documents in {:.1} s ({}/s)",
        grouped(ingest.items),
        ingest.elapsed.as_secs_f64(),
        grouped(format!("{:.0}", ingest.rate()))
    );
    out
}

/// What each budget holds.
fn budgets(out: &mut String, figures: &Figures) {
    let documents = if figures.by_spans { "   documents   all of them" } else { "" };
    let _ = writeln!(out, "  budget   evidence   all of it   tokens used{documents}");
    for at in &figures.budgets {
        let AtBudget { budget, evidence, all, documents, all_documents, tokens } = at;
        let tokens = grouped(format!("{tokens:.0}"));
        let budget = grouped(budget);
        let _ = write!(out, "{budget:>8}{evidence:>11.3}{all:>12.3}{tokens:>14}");
        if figures.by_spans {
            let _ = write!(out, "{documents:>12.3}{all_documents:>14.3}");
        }
        out.push('\n');
    }
}

/// A line for each set.
fn table(out: &mut String, report: &Report) {
    let names = report.sets.iter().map(|set| set.set.chars().count());
    let width = names.max().unwrap_or(0).max("set".len());
    let _ = write!(out, "{:<width$}  questions  nDCG@10   R@10", "set");
    for at in &report.figures.budgets {
        let _ = write!(out, "{:>9}", format!("ER@{}", at.budget));
    }
    let _ = writeln!(out, "  p50 ms  p95 ms");
    let all = Report { set: "all".to_owned(), ..report.clone() };
    for Report { set, figures, .. } in report.sets.iter().chain([&all]) {
        let questions = grouped(figures.questions);
        let _ = write!(out, "{set:<width$}{questions:>11}");
        if figures.questions == 0 {
            out.push_str("  (no evidence)\n");
            continue;
        }
        let _ = write!(out, "{:>9.3}{:>7.3}", figures.ndcg, figures.recall);
        for at in &figures.budgets {
            let _ = write!(out, "{:>9.3}", at.evidence);
        }
        let Latency { p50, p95 } = figures.latency;
        let _ = writeln!(out, "{:>8.1}{:>8.1}", millis(p50), millis(p95));
    }
    out.push('\n');
}

fn both(Latency { p50, p95 }: Latency) -> String {
    format!("p50 {:.2} ms, p95 {:.2} ms", millis(p50), millis(p95))
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1_000.0
}
