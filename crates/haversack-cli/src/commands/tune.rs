//! `haversack tune`: finds better weights for a recipe, on labelled questions.

use std::fmt::Write as _;
use std::io::IsTerminal;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use haversack::Engine;
use haversack_eval::eval::EvalEvent;
use haversack_eval::tune::{TuneOptions, TuneReport, tune_on_feedback, tune_on_set};
use serde_json::json;

use super::eval::line;
use super::request::{recipe_and_siblings, with_recipes};
use crate::args::{self, StoreLocation};
use crate::location::reranking;
use crate::output::{Bar, ExitOutcome, grouped, print};
use crate::runtime::wait;

pub(crate) fn run(location: &StoreLocation, args: &args::TuneArgs) -> Result<ExitOutcome> {
    let (recipe, recipes) = recipe_and_siblings(&args.recipe)?;
    let out = args.out.clone().unwrap_or_else(|| format!("{recipe}-tuned.toml").into());
    let options = TuneOptions {
        name: name_of(&out)?,
        recipe,
        budgets: args.budgets.clone(),
        limit: args.limit,
        tries: args.tries,
        ..TuneOptions::default()
    };
    let (embedder, reranker) = (location.embedder()?, location.reranker()?);
    let builder = || {
        let builder = Engine::builder().embedder(Arc::clone(&embedder));
        with_recipes(reranking(builder, reranker.clone()), &recipes)
    };
    let quiet = args.json && !std::io::stderr().is_terminal();
    let mut bar = (!quiet).then(Bar::new);
    let mut watch = |event: EvalEvent<'_>| {
        if let Some(bar) = &mut bar {
            bar.show(&match &event {
                EvalEvent::Answered { done, of, .. } => {
                    format!("packed {} of {} times", grouped(done), grouped(of))
                }
                event => line(event),
            });
        }
        Ok(())
    };
    let report = match &args.set {
        Some(set) => {
            let scratch = tempfile::Builder::new().prefix("haversack-tune-").tempdir();
            let scratch = scratch.context("cannot make a temporary folder")?;
            let tuning = tune_on_set(set, &options, scratch.path(), &builder, &mut watch);
            wait(async { Ok(tuning.await?) })
        }
        None => {
            let folder = location.existing_folder()?;
            let tuning =
                tune_on_feedback(&folder, &location.workspace, &options, &builder, &mut watch);
            wait(async { Ok(tuning.await?) })
        }
    };
    if let Some(bar) = &bar {
        bar.clear();
    }
    let report = report?;
    if let Some(source) = &report.source {
        write(&out, &recipe_with_comment(&report, source))?;
    }
    if args.json {
        print(&format!("{:#}", as_json(&report, &out)))?;
    } else {
        print(&format_report(&report, &options, &out))?;
    }
    Ok(if report.source.is_some() { ExitOutcome::Something } else { ExitOutcome::Nothing })
}

/// The name of a recipe is that of its file.
fn name_of(out: &Path) -> Result<String> {
    let is_toml = out.extension().is_some_and(|extension| extension == "toml");
    match out.file_stem().and_then(|stem| stem.to_str()) {
        Some(name) if is_toml => Ok(name.to_owned()),
        _ => bail!("--out: {} is not the name of a TOML file", out.display()),
    }
}

fn write(out: &Path, text: &str) -> Result<()> {
    std::fs::write(out, text).with_context(|| format!("cannot write {}", out.display()))
}

/// The tuned recipe, with a comment on its origin.
fn recipe_with_comment(report: &TuneReport, source: &str) -> String {
    format!(
        "# {} with other weights, tuned on {} questions: {:.3} of what their packs should hold, {:.3} \
         before;\n# on questions that did not help to choose them {:+.3}, give or take {:.3}.\n\n\
         {source}",
        report.recipe, report.questions, report.after, report.before, report.gain, report.error
    )
}

fn as_json(report: &TuneReport, out: &Path) -> serde_json::Value {
    let change = |change: &haversack_eval::tune::SettingChange| {
        json!({ "layer": change.layer, "name": change.name, "before": change.before,
                "after": change.after })
    };
    json!({
        "recipe": report.recipe,
        "questions": report.questions,
        "tries": report.tries,
        "before": report.before,
        "after": report.after,
        "expected": report.expected,
        "gain": report.gain,
        "error": report.error,
        "changes": report.changes.iter().map(change).collect::<Vec<_>>(),
        "written": report.source.is_some().then(|| out.display().to_string()),
    })
}

/// The report in lines.
fn format_report(report: &TuneReport, options: &TuneOptions, out: &Path) -> String {
    let mut text = String::new();
    let budgets: Vec<String> = options.budgets.iter().map(grouped).collect();
    // Writing to a string cannot fail.
    let _ = writeln!(
        text,
        "{}: {} questions, {} settings, packs of {} tokens\n",
        report.recipe,
        grouped(report.questions),
        report.tries,
        budgets.join(", ")
    );
    let _ = writeln!(
        text,
        "answers, evidence, spans and must in the pack\n  as it is          {:.3}",
        report.before
    );
    let _ = writeln!(text, "  the best setting  {:.3}", report.after);
    let _ = writeln!(
        text,
        "  on new questions  {:.3}  ({:+.3} ± {:.3}, by cross-validation)",
        report.expected, report.gain, report.error
    );
    if !report.changes.is_empty() {
        let _ = writeln!(text, "\nthe best setting changes");
    }
    for change in &report.changes {
        let name = format!("{}, {}", change.layer, change.name);
        let _ = writeln!(text, "  {name:<28}{:>7} → {}", change.before, change.after);
    }
    let _ = match report.source {
        Some(_) => {
            writeln!(text, "\nwrote {}; use it with --recipe {}", out.display(), out.display())
        }
        None => writeln!(
            text,
            "\nnothing was written: on new questions no setting is better than the recipe as it is by \
             more than the error"
        ),
    };
    text
}
