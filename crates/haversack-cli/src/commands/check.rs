//! `haversack check`: verifies a workspace against its checksums and indexes.

use anyhow::{Result, bail};
use haversack_serve::audit::Audit;
use haversack_serve::who::Control;
use haversack_store::store::block_on;
use haversack_store::store::maintenance::CheckReport;

use crate::args::{self, StoreLocation};
use crate::input::now;
use crate::output::{ExitOutcome, grouped, print, say};

pub(crate) fn run(location: &StoreLocation, args: &args::CheckArgs) -> Result<ExitOutcome> {
    let store = location.existing_store()?;
    let report = block_on(store.check(args.repair))?;
    for damage in &report.damage {
        say(&format!("damaged: {damage}"));
    }
    for derived in &report.derived {
        say(&format!("wrong: {derived}"));
    }
    print_times(&report);
    let audit = check_audit_log(location)?;
    let (versions, chunks) = (grouped(report.versions), grouped(report.chunks));
    print(&format!("checked {versions} versions and {chunks} chunks"))?;
    if !report.damage.is_empty() {
        bail!("the store is damaged: restore a backup, or export what can be read");
    }
    if !report.is_sound() {
        bail!("an index is wrong: `{}` rebuilds it", location.command("check --repair"));
    }
    if audit == ExitOutcome::Nothing {
        bail!("the audit log is not as it was left: see `haversack audit verify`");
    }
    print(if report.repaired { "repaired: all is sound now" } else { "all is sound" })?;
    Ok(ExitOutcome::Something)
}

/// Says so when the times of commits tell of a clock that jumped.
fn print_times(report: &CheckReport) {
    if let Some(latest) = report.latest_commit.filter(|latest| *latest > now()) {
        say(&format!(
            "notice: the last commits are dated {latest}, in the future: the clock was ahead when they were \
             written, or is behind now"
        ));
    }
    if report.set_back > 0 {
        let jumps = grouped(report.set_back);
        say(&format!(
            "notice: the clock was set back between commits {jumps} times; they stay in their order"
        ));
    }
}

/// Compares the end of the audit log with what was recorded, if there is a log.
fn check_audit_log(location: &StoreLocation) -> Result<ExitOutcome> {
    let folder = location.folder()?;
    if !Control::exists(&folder) {
        return Ok(ExitOutcome::Something);
    }
    let breaks = Audit::open(&folder)?.breaks()?;
    for found in &breaks {
        say(&format!("wrong: audit log, found on {}: {}", found.at, found.what));
    }
    Ok(if breaks.is_empty() { ExitOutcome::Something } else { ExitOutcome::Nothing })
}
