//! `haversack contexts`: a folder of context documents into a workspace, or only checked.

use anyhow::Result;
use haversack::situation::Context;
use haversack::situation::document::items_from_folder;
use haversack::situation::lint::{Severity, lint};
use haversack_store::store::change::Batch;

use crate::args::{self, Place};
use crate::input::now;
use crate::output::{Found, grouped, print, say};

pub(crate) fn run(place: &Place, args: &args::Contexts) -> Result<Found> {
    let items = items_from_folder(&args.folder)?;
    let contexts: Vec<Context> = items.iter().map(Context::of_item).collect();
    let findings = lint(&contexts);
    for finding in &findings {
        say(&format!("{}: {finding}", word(finding.code.severity())));
    }
    let errors = findings.iter().filter(|finding| finding.code.severity() == Severity::Error);
    let errors = errors.count();
    if args.check {
        print(&format!("{} contexts, {} remarks", grouped(items.len()), grouped(findings.len())))?;
        return Ok(if errors > 0 { Found::Nothing } else { Found::Something });
    }
    if items.is_empty() {
        say("there are no context documents (*.yaml, *.yml, *.json, *.md) in that folder");
        return Ok(Found::Nothing);
    }
    let store = place.made()?;
    let mut batch = Batch::put(now(), items);
    let origin = format!("contexts-{}", batch.at.as_millis());
    batch.origin = Some(origin.clone());
    let done = store.write(batch)?;
    for warning in &done.warnings {
        say(&format!("note: {warning}"));
    }
    print(&format!(
        "{} contexts stored, {} unchanged",
        grouped(done.stored),
        grouped(done.unchanged)
    ))?;
    if done.stored > 0 {
        print(&format!("to take them back: {}", place.command(&format!("undo {origin}"))))?;
    }
    Ok(Found::Something)
}

fn word(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
    }
}
