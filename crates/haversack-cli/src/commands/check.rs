//! `haversack check`: whether all is as it was written.

use anyhow::{Result, bail};
use haversack_store::store::wait;

use crate::args::{self, Place};
use crate::output::{Found, grouped, print, say};

pub(crate) fn run(place: &Place, args: &args::Check) -> Result<Found> {
    let store = place.existing()?;
    let report = wait(store.check(args.repair))?;
    for damage in &report.damage {
        say(&format!("damaged: {damage}"));
    }
    for derived in &report.derived {
        say(&format!("wrong: {derived}"));
    }
    let (versions, chunks) = (grouped(report.versions), grouped(report.chunks));
    print(&format!("checked {versions} versions and {chunks} chunks"))?;
    if !report.damage.is_empty() {
        bail!("the store is damaged: restore a backup, or export what can be read");
    }
    if !report.is_sound() {
        bail!(
            "an index is not as it should be: `{}` makes it anew",
            place.command("check --repair")
        );
    }
    print(if report.repaired { "repaired: all is sound now" } else { "all is sound" })?;
    Ok(Found::Something)
}
