//! `haversack import`: reads lines of JSON into a workspace.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use anyhow::{Context, Result};
use haversack_store::transfer::import;

use crate::args::{self, StoreLocation};
use crate::input::now;
use crate::output::{Bar, ExitOutcome, grouped, print, say};

pub(crate) fn run(location: &StoreLocation, args: &args::ImportArgs) -> Result<ExitOutcome> {
    let name = args.file.display();
    let mut input: Box<dyn BufRead> = if args.file == Path::new("-") {
        Box::new(std::io::stdin().lock())
    } else {
        let file = File::open(&args.file).with_context(|| format!("cannot open {name}"))?;
        Box::new(BufReader::new(file))
    };
    let store = location.store_or_new()?;
    let at = now();
    let origin = format!("import-{}", at.as_millis());
    let mut bar = Bar::new();
    let done = import(&*store, &mut *input, (&origin, at), &mut |done| {
        bar.show(&format!("{} lines imported", grouped(done.lines)));
    });
    bar.clear();
    let undo = location.command(&format!("undo {origin}"));
    let done = done.with_context(|| format!("cannot import {name}"))?;
    for warning in &done.warnings {
        say(&format!("note: {warning}"));
    }
    print(&format!(
        "imported {} lines: {} items stored, {} unchanged; {} links, events and records",
        grouped(done.lines),
        grouped(done.stored),
        grouped(done.unchanged),
        grouped(done.others)
    ))?;
    if done.stored > 0 {
        print(&format!("to take its items back: {undo}"))?;
    }
    Ok(ExitOutcome::Something)
}
