//! `haversack eval`: whether packs for known questions hold what answers them.

mod shown;

use std::fs::File;
use std::io::{BufWriter, IsTerminal, Write};
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result};
use haversack::Engine;
use haversack::eval::{self, Event, Options, Report, Watch};

use super::asking::{brought_recipes, with_recipes};
use super::model::{embedder, reranker};
use crate::args::{self, Place};
use crate::output::{Bar, Found, grouped, print, say};
use crate::place::reranking;
use crate::runtime::wait;

pub(crate) fn run(place: &Place, args: &args::Eval) -> Result<Found> {
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
    let report = match &args.packs {
        Some(file) => {
            let options = options(args, String::new());
            eval::run_packs(&args.set, file, &options, &mut watch).map_err(Into::into)
        }
        None => run_recipe(place, args, &mut watch),
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
        print(&shown::shown(&report))?;
    }
    for remark in report.remarks.lines() {
        say(&format!("note: {remark}"));
    }
    Ok(Found::Something)
}

/// Asks a recipe, in a temporary folder.
fn run_recipe(place: &Place, args: &args::Eval, watch: &mut Watch<'_>) -> Result<Report> {
    let embedder = embedder(place, &args.embedder)?;
    let reranker = args.reranker.as_deref().map(|given| reranker(place, given)).transpose()?;
    let (recipe, recipes) = brought_recipes(&args.recipe)?;
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

fn options(args: &args::Eval, recipe: String) -> Options {
    Options {
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

pub(super) fn line(event: &Event<'_>) -> String {
    match event {
        Event::Reading { set } => format!("reading {set}"),
        Event::Stored { set, done, of } => {
            format!("{set}: stored {} of {} documents", grouped(done), grouped(of))
        }
        Event::Answered { answer, done, of } => {
            format!("{}: asked {} of {} questions", answer.set, grouped(done), grouped(of))
        }
        Event::OffTopic { set, done, of } => {
            format!("{set}: asked {} of {} questions off topic", grouped(done), grouped(of))
        }
    }
}
