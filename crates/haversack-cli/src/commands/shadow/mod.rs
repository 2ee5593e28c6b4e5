//! `haversack shadow`: contexts of another system beside what would be packed in as many tokens.

mod data;
mod html;
mod markdown;
mod table;

use std::fs;
use std::io::IsTerminal;
use std::path::Path;

use anyhow::{Context, Result};
use haversack_eval::shadow::{self, ReadAs, ShadowOptions, ShadowReport};
use serde_json::json;

use crate::args::{ShadowArgs, StoreLocation};
use crate::input::tokenizer;
use crate::output::{Bar, ExitOutcome, grouped, print, say};
use crate::paint::Paint;

/// Skipped questions that are listed.
const SKIPPED_MAX: usize = 20;

/// What was compared, for the head of a report.
struct ReportHead {
    workspace: String,
    recipe: String,
    asker: String,
}

impl ReportHead {
    fn line(&self, report: &ShadowReport) -> String {
        let ReportHead { workspace, recipe, asker } = self;
        let count = report.questions.len();
        let noun = if count == 1 { "question" } else { "questions" };
        format!(
            "{} beside workspace {workspace}, recipe {recipe}, read as {asker}: {} {noun}, \
             counted by {}",
            report.file,
            grouped(count),
            report.tokenizer
        )
    }
}

pub(crate) fn run(location: &StoreLocation, args: &ShadowArgs) -> Result<ExitOutcome> {
    let counting = tokenizer(&args.counting)?;
    // Named before the workspace is opened: the file is the likelier mistake.
    shadow::read_questions(&args.file)?;
    let workspace = data::open(location, args)?;
    let identity = &args.identity;
    let asker = ReadAs { user: identity.user.clone(), groups: identity.group.clone() };
    let options = ShadowOptions { asker, limit: args.limit };
    let quiet = args.json && !std::io::stderr().is_terminal();
    let mut bar = (!quiet).then(Bar::new);
    let mut watch = |done: usize, of: usize| {
        if let Some(bar) = &mut bar {
            bar.show(&format!("compared {} of {} questions", grouped(done), grouped(of)));
        }
    };
    let report = shadow::run(&args.file, &options, &workspace, &*counting, &mut watch);
    if let Some(bar) = &bar {
        bar.clear();
    }
    let report = report?;
    let head = ReportHead {
        workspace: location.workspace.clone(),
        recipe: workspace.recipe().to_owned(),
        asker: identity.description(),
    };
    write(args.html.as_deref(), || html::page(&head, &report))?;
    write(args.markdown.as_deref(), || markdown::page(&head, &report))?;
    show(&head, &report, args.json)?;
    Ok(if report.questions.is_empty() { ExitOutcome::Nothing } else { ExitOutcome::Something })
}

fn show(head: &ReportHead, report: &ShadowReport, json: bool) -> Result<()> {
    if json {
        let mut document = report.json();
        document["workspace"] = json!(head.workspace);
        document["recipe"] = json!(head.recipe);
        return print(&serde_json::to_string_pretty(&document)?);
    }
    print(&table::page(head, report, Paint::of_stdout()))?;
    for skipped in report.skipped.iter().take(SKIPPED_MAX) {
        say(&format!("skipped: {}: {}", skipped.id, skipped.reason));
    }
    if report.skipped.len() > SKIPPED_MAX {
        say(&format!("skipped: and {} more", grouped(report.skipped.len() - SKIPPED_MAX)));
    }
    for remark in report.remarks() {
        say(&format!("note: {remark}"));
    }
    Ok(())
}

/// Writes a report to the file that was named, if one was.
fn write(path: Option<&Path>, page: impl FnOnce() -> String) -> Result<()> {
    let Some(path) = path else { return Ok(()) };
    fs::write(path, page()).with_context(|| format!("cannot write {}", path.display()))?;
    say(&format!("wrote {}", path.display()));
    Ok(())
}
