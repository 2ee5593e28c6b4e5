//! `haversack add`: files and folders into a workspace.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Instant;

use anyhow::{Context, Result};
use haversack::ingest::{self, LISTED_MAX, Progress, Summary};
use haversack_core::item::Kind;
use haversack_store::store::viewer::Principal;
use haversack_store::store::wait;

use crate::args::{self, Place};
use crate::input::now;
use crate::output::{Bar, Found, grouped, print, say};

/// Skips and other remarks that are shown; more are only counted.
const SHOWN_MAX: usize = 20;

pub(crate) fn run(place: &Place, args: &args::Add) -> Result<Found> {
    let kind = args.kind.as_deref().map(Kind::new).transpose().context("--kind")?;
    let users = args.map_user.iter().map(|pair| mapped_user(pair)).collect::<Result<_>>()?;
    // Before anything is made: a path that was mistyped leaves no workspace behind.
    for path in &args.paths {
        std::fs::metadata(path).with_context(|| format!("cannot add {}", path.display()))?;
    }
    let store = place.made()?;
    let at = now();
    let origin = format!("add-{}", at.as_millis());
    let (paths, prune) = (args.paths.clone(), args.prune);
    let add = ingest::Add { paths, kind, users, prune, at, origin: origin.clone() };
    let started = Instant::now();
    let mut bar = Bar::new();
    let added = ingest::add(&*store, &add, &mut |progress| bar.show(&line(progress)));
    bar.clear();
    let added = added.with_context(|| {
        let undo = place.command(&format!("undo {origin}"));
        format!("stopped; what was stored stays, and `{undo}` takes it back")
    })?;
    wait(store.close());
    remarks(&added);
    let seconds = started.elapsed().as_secs_f64();
    print(&summary(place, &added, &origin, (seconds, prune)))?;
    let progress = added.progress;
    Ok(if progress.stored + progress.unchanged > 0 { Found::Something } else { Found::Nothing })
}

/// A user that data names, and who that is here.
fn mapped_user(pair: &str) -> Result<(String, Principal)> {
    let (old, new) = pair.split_once('=').with_context(|| {
        format!("--map-user {pair:?}: write OLD=NEW, such as --map-user u-17=anna")
    })?;
    let new = Principal::user(new).with_context(|| format!("--map-user {pair:?}"))?;
    Ok((old.to_owned(), new))
}

fn line(progress: Progress) -> String {
    format!(
        "files {}, items stored {}, unchanged {}, skipped {}",
        grouped(progress.files),
        grouped(progress.stored),
        grouped(progress.unchanged),
        grouped(progress.skipped)
    )
}

/// Says what was passed over, and what else is notable.
fn remarks(added: &Summary) {
    let list = |name: &str, lines: &mut dyn Iterator<Item = String>, count: usize| {
        for line in lines.take(SHOWN_MAX) {
            say(&format!("{name}: {line}"));
        }
        if count > SHOWN_MAX {
            say(&format!("{name}: and {} more", grouped(count - SHOWN_MAX)));
        }
    };
    let skipped = usize::try_from(added.progress.skipped).unwrap_or(usize::MAX);
    list("skipped", &mut added.skips.iter().map(ToString::to_string), skipped);
    list("note", &mut added.remarks.iter().cloned(), added.remarks.len());
    let missing = usize::try_from(added.missing_count).unwrap_or(usize::MAX);
    let name = if added.deleted > 0 { "deleted" } else { "gone" };
    list(name, &mut added.missing.iter().cloned(), missing);
}

fn summary(place: &Place, added: &Summary, origin: &str, (seconds, prune): (f64, bool)) -> String {
    let progress = added.progress;
    let mut out = format!(
        "stored {} items, {} unchanged, {} skipped{}, in {seconds:.1} s",
        grouped(progress.stored),
        grouped(progress.unchanged),
        grouped(progress.skipped),
        reasons(added),
    );
    if progress.stored > 0 && seconds > 0.0 {
        let _ = write!(out, " ({:.0} items/s)", progress.stored as f64 / seconds);
    }
    out.push('\n');
    if added.missing_count > 0 {
        let count = grouped(added.missing_count);
        let _ = match prune {
            true => writeln!(out, "deleted {count} items whose files are gone"),
            false => {
                writeln!(out, "{count} items are of files that are gone; --prune deletes them")
            }
        };
    }
    if progress.stored > 0 {
        let _ = writeln!(out, "to take it back: {}", place.command(&format!("undo {origin}")));
    }
    out
}

/// How many were passed over for which reason.
fn reasons(added: &Summary) -> String {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for skip in &added.skips {
        *counts.entry(skip.reason.name()).or_default() += 1;
    }
    if counts.is_empty() {
        return String::new();
    }
    let least = if added.skips.len() >= LISTED_MAX { "of the first 1,000: " } else { "" };
    let parts: Vec<String> =
        counts.iter().map(|(name, count)| format!("{} {name}", grouped(count))).collect();
    format!(" ({least}{})", parts.join(", "))
}
