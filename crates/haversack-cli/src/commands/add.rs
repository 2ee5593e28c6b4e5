//! `haversack add`: files and folders into a workspace.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use haversack::Engine;
use haversack::ingest::{self, IngestProgress, IngestSummary, LISTED_MAX, OmissionGroup};
use haversack_core::item::Kind;
use haversack_store::store::block_on;
use haversack_store::store::maintenance::Maintenance;
use haversack_store::store::viewer::{Principal, Viewer};
use serde_json::{Value, json};

use super::embedding_usage::EmbeddingUsage;
use super::omissions::omission_lines;
use crate::args::{AddArgs, StoreLocation};
use crate::input::{now, reader_program};
use crate::output::{Bar, ExitOutcome, ShareBar, grouped, print, say};
use crate::remote::{RemoteWorkspace, WorkspaceTarget};

/// Skips and other remarks that are shown; more are only counted.
const SHOWN_MAX: usize = 20;

/// Items that are read back together.
const READ_AT_ONCE: usize = 200;

pub(crate) fn run(location: &StoreLocation, args: &AddArgs) -> Result<ExitOutcome> {
    let kind = args.kind.as_deref().map(Kind::new).transpose().context("--kind")?;
    let users = args.map_user.iter().map(|pair| mapped_user(pair)).collect::<Result<_>>()?;
    // Checked before anything is created: a mistyped path leaves no workspace behind.
    for path in &args.paths {
        std::fs::metadata(path).with_context(|| format!("cannot add {}", path.display()))?;
    }
    let at = now();
    let origin = format!("add-{}", at.as_millis());
    let (paths, prune) = (args.paths.clone(), args.prune);
    let add = ingest::IngestRequest {
        kind,
        users,
        prune,
        reader_program: reader_program(),
        counts_total: Bar::is_seen(),
        ..ingest::IngestRequest::new(paths, at, &origin)
    };
    let started = Instant::now();
    let (added, undo, usage) = match location.reach(StoreLocation::store_or_new)? {
        WorkspaceTarget::Local(store) => {
            let undo = location.command(&format!("undo {origin}"));
            let usage = EmbeddingUsage::start(location)?;
            (add_locally(&*store, &add, &undo, &usage)?, Some(undo), Some(usage))
        }
        // The server embeds, and its metrics say what that used.
        WorkspaceTarget::Server(server) => {
            (add_through_server(location, &server, &add)?, None, None)
        }
    };
    print_remarks(&added, args.verbose);
    let seconds = started.elapsed().as_secs_f64();
    if args.json {
        let mut document = document(&added, undo.as_deref(), seconds);
        document["embedding"] = usage.map_or(Value::Null, |usage| usage.document());
        print(&serde_json::to_string_pretty(&document)?)?;
    } else {
        let usage = usage.and_then(|usage| usage.line());
        print(&summary(&added, (undo.as_deref(), usage.as_deref()), (seconds, prune)))?;
    }
    let progress = added.progress;
    Ok(if progress.stored + progress.unchanged > 0 {
        ExitOutcome::Something
    } else {
        ExitOutcome::Nothing
    })
}

fn add_locally(
    store: &dyn Maintenance,
    add: &ingest::IngestRequest,
    undo: &str,
    usage: &EmbeddingUsage,
) -> Result<IngestSummary> {
    let bar = ShareBar::new();
    let mut report = |progress: IngestProgress| {
        let line = format!("{}{}", line(progress), usage.progress());
        bar.show(progress.bytes, progress.total.map(|total| total.bytes), &line);
    };
    let added = ingest::add(store, add, &mut report);
    bar.clear();
    let added = usage
        .report_failure(added)
        .with_context(|| format!("stopped; what was stored stays, and `{undo}` takes it back"))?;
    block_on(store.close());
    Ok(added)
}

/// Reads the files into a temporary workspace and sends its items to the server in batches.
fn add_through_server(
    location: &StoreLocation,
    server: &RemoteWorkspace,
    add: &ingest::IngestRequest,
) -> Result<IngestSummary> {
    ensure!(
        !add.prune,
        "--prune: only the data folder knows which files were added before; stop the server first"
    );
    let folder = tempfile::tempdir().context("cannot make a folder for reading the files")?;
    let builder = Engine::builder().kinds(location.kinds()?);
    let workspace = builder.open(folder.path())?.workspace("files")?;
    let store = workspace.blocking_store();
    let bar = ShareBar::new();
    let mut added = ingest::add(&**store, add, &mut |progress| {
        let total = progress.total.map(|total| total.bytes);
        bar.show(progress.bytes, total, &format!("reading: {}", line(progress)));
    })?;
    bar.clear();
    let mut bar = Bar::new();
    let snapshot = block_on(store.snapshot(&Viewer::owner()))?;
    let ids = block_on(snapshot.ids_parents_first())?;
    let items = ids.chunks(READ_AT_ONCE).flat_map(|ids| match block_on(snapshot.get(ids)) {
        Ok(found) => found.into_iter().flatten().map(|stored| Ok(stored.item)).collect(),
        Err(error) => vec![Err(error.into())],
    });
    server.create_if_missing()?;
    let sent = server.send_items(items, |sent| {
        let (stored, unchanged) = (grouped(sent.stored), grouped(sent.unchanged));
        bar.show(&format!("sending: {stored} items stored, {unchanged} unchanged"));
    });
    bar.clear();
    let sent = sent.context("stopped; what was stored before stays")?;
    added.progress.stored = sent.stored;
    added.progress.unchanged = sent.unchanged;
    for warning in sent.warnings {
        if !added.remarks.contains(&warning) {
            added.remarks.push(warning);
        }
    }
    Ok(added)
}

/// A user name in the data, and the user that it stands for here.
pub(super) fn mapped_user(pair: &str) -> Result<(String, Principal)> {
    let (old, new) = pair.split_once('=').with_context(|| {
        format!("--map-user {pair:?}: write OLD=NEW, such as --map-user u-17=anna")
    })?;
    let new = Principal::user(new).with_context(|| format!("--map-user {pair:?}"))?;
    Ok((old.to_owned(), new))
}

/// Progress on one line: `files 12 of 40, 1.5 of 9.0 MB, pages 300, items stored 28`.
fn line(progress: IngestProgress) -> String {
    let total = progress.total;
    let of = |total: Option<String>| total.map_or_else(String::new, |total| format!(" of {total}"));
    let mut line = format!(
        "files {}{}, {}{} MB",
        grouped(progress.files),
        of(total.map(|total| grouped(total.files))),
        megabytes(progress.bytes),
        of(total.map(|total| megabytes(total.bytes))),
    );
    let counts = [
        ("pages", progress.pages),
        ("items stored", progress.stored),
        ("unchanged", progress.unchanged),
        ("skipped", progress.skipped),
    ];
    for (name, count) in counts.into_iter().filter(|(_, count)| *count > 0) {
        let _ = write!(line, ", {name} {}", grouped(count));
    }
    line
}

fn megabytes(bytes: u64) -> String {
    format!("{:.1}", bytes as f64 / 1e6)
}

/// Prints what was skipped, and other remarks.
fn print_remarks(added: &IngestSummary, all: bool) {
    let shown_max = if all { LISTED_MAX } else { SHOWN_MAX };
    let list = |name: &str, lines: &mut dyn Iterator<Item = String>, count: usize| {
        for line in lines.take(shown_max) {
            say(&format!("{name}: {line}"));
        }
        if count > shown_max {
            let hint = if all { "" } else { "; --verbose shows more of them" };
            say(&format!("{name}: and {} more{hint}", grouped(count - shown_max)));
        }
    };
    let skipped = usize::try_from(added.progress.skipped).unwrap_or(usize::MAX);
    list("skipped", &mut added.skips.iter().map(ToString::to_string), skipped);
    list("note", &mut added.remarks.iter().cloned(), added.remarks.len());
    for line in omission_lines(&added.omissions, all, "; --verbose lists them") {
        say(&format!("note: {line}"));
    }
    let missing = usize::try_from(added.missing_count).unwrap_or(usize::MAX);
    let name = if added.deleted > 0 { "deleted" } else { "gone" };
    list(name, &mut added.missing_ids.iter().cloned(), missing);
}

/// The result for programs.
fn document(added: &IngestSummary, undo: Option<&str>, seconds: f64) -> Value {
    let progress = added.progress;
    json!({
        "files": progress.files,
        "stored": progress.stored,
        "unchanged": progress.unchanged,
        "skipped": progress.skipped,
        "missing": added.missing_count,
        "deleted": added.deleted,
        "pages": progress.pages,
        "notes": added.remarks,
        "leftOut": added.omissions.iter().map(omission_document).collect::<Vec<_>>(),
        "seconds": seconds,
        "undo": undo.filter(|_| progress.stored > 0),
    })
}

fn omission_document(group: &OmissionGroup) -> Value {
    let (what, unit) = (group.kind.name(), group.kind.unit());
    json!({ "what": what, "files": group.files, "count": group.count, "unit": unit, "notes": group.remarks })
}

fn summary(
    added: &IngestSummary,
    (undo, usage): (Option<&str>, Option<&str>),
    (seconds, prune): (f64, bool),
) -> String {
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
    if let Some(usage) = usage {
        let _ = writeln!(out, "{usage}");
    }
    if let Some(undo) = undo.filter(|_| progress.stored > 0) {
        let _ = writeln!(out, "to take it back: {undo}");
    }
    out
}

/// How many files and lines were skipped, by reason.
fn reasons(added: &IngestSummary) -> String {
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

#[cfg(test)]
mod tests {
    use haversack::ingest::IngestTotal;

    use super::*;

    #[test]
    fn progress_says_how_much_is_done_of_what_there_is() {
        let mut progress =
            IngestProgress { files: 12, bytes: 1_500_000, stored: 28, ..IngestProgress::default() };
        assert_eq!(line(progress), "files 12, 1.5 MB, items stored 28");
        progress.total = Some(IngestTotal { files: 1_040, bytes: 9_000_000 });
        progress.pages = 300;
        assert_eq!(line(progress), "files 12 of 1,040, 1.5 of 9.0 MB, pages 300, items stored 28");
    }
}
