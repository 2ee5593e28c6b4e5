//! `haversack eval`: measures how much evidence packs hold for labelled questions.

mod display;

use std::fs::File;
use std::io::{BufWriter, IsTerminal, Write};
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result};
use haversack::Engine;
use haversack_eval::eval::{self, EvalEvent, EvalOptions, EvalReport, EventHandler};

use super::model::{embedder, reranker};
use super::request::{recipe_and_siblings, with_recipes};
use crate::args::{self, StoreLocation};
use crate::location::reranking;
use crate::output::{Bar, ExitOutcome, grouped, print, say};
use crate::runtime::wait;

pub(crate) fn run(location: &StoreLocation, args: &args::EvalArgs) -> Result<ExitOutcome> {
    let mut lines = args.per_query.as_deref().map(create).transpose()?;
    let quiet = args.json && !std::io::stderr().is_terminal();
    let mut bar = (!quiet).then(Bar::new);
    let mut watch = |event: EvalEvent<'_>| {
        if let (Some(lines), EvalEvent::Answered { answer, .. }) = (&mut lines, &event) {
            writeln!(lines, "{}", answer.json())?;
        }
        if let Some(bar) = &mut bar {
            bar.show(&line(&event));
        }
        Ok(())
    };
    let report = match &args.packs {
        Some(file) => {
            let options = options(args, String::new());
            eval::run_packs(&args.set, file, &options, &mut watch).map_err(Into::into)
        }
        None => run_recipe(location, args, &mut watch),
    };
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
        print(&display::shown(&report))?;
    }
    for warning in report.warnings.lines() {
        say(&format!("note: {warning}"));
    }
    Ok(ExitOutcome::Something)
}

/// Measures a recipe, in a temporary folder.
fn run_recipe(
    location: &StoreLocation,
    args: &args::EvalArgs,
    watch: &mut EventHandler<'_>,
) -> Result<EvalReport> {
    let embedder = embedder(location, &args.embedder)?;
    let reranker = args.reranker.as_deref().map(|given| reranker(location, given)).transpose()?;
    let (recipe, recipes) = recipe_and_siblings(&args.recipe)?;
    let options = options(args, recipe);
    let builder = || {
        let builder = Engine::builder().embedder(Arc::clone(&embedder));
        with_recipes(reranking(builder, reranker.clone()), &recipes)
    };
    let scratch = tempfile::Builder::new().prefix("haversack-eval-").tempdir();
    let scratch = scratch.context("cannot make a temporary folder")?;
    let evaluation = eval::run(&args.set, &options, scratch.path(), &builder, watch);
    wait(async { Ok(evaluation.await?) })
}

fn options(args: &args::EvalArgs, recipe: String) -> EvalOptions {
    EvalOptions {
        recipe,
        budgets: args.budgets.clone(),
        limit: args.limit,
        candidates: args.limit_candidates,
        off_topic: args.off_topic.clone(),
    }
}

fn create(path: &Path) -> Result<BufWriter<File>> {
    let file = File::create(path).with_context(|| format!("cannot write {}", path.display()))?;
    Ok(BufWriter::new(file))
}

pub(super) fn line(event: &EvalEvent<'_>) -> String {
    match event {
        EvalEvent::Reading { set } => format!("reading {set}"),
        EvalEvent::Stored { set, done, of } => {
            format!("{set}: stored {} of {} documents", grouped(done), grouped(of))
        }
        EvalEvent::Answered { answer, done, of } => {
            format!("{}: asked {} of {} questions", answer.set, grouped(done), grouped(of))
        }
        EvalEvent::OffTopic { set, done, of } => {
            format!("{set}: asked {} of {} questions off topic", grouped(done), grouped(of))
        }
    }
}
