//! `haversack export`: a workspace as lines of JSON.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use haversack_store::store::Snapshot;
use haversack_store::store::viewer::Viewer;
use haversack_store::store::wait;
use haversack_store::transfer::{Exported, export};

use crate::args::{self, Place};
use crate::output::{Found, grouped, say, to_stdout};

pub(crate) fn run(place: &Place, args: &args::Export) -> Result<Found> {
    let store = place.existing()?;
    let snapshot = wait(store.snapshot(&Viewer::owner()))?;
    let exported = match args.file.as_deref().filter(|file| *file != Path::new("-")) {
        Some(file) => to_file(&*snapshot, file)
            .with_context(|| format!("cannot export to {}", file.display()))?,
        None => to_stdout(|out| Ok(export(&*snapshot, out)?))?,
    };
    say(&format!(
        "exported {} items, {} links, {} events and {} records",
        grouped(exported.items),
        grouped(exported.links),
        grouped(exported.events),
        grouped(exported.records)
    ));
    Ok(Found::Something)
}

/// Under another name until it is whole, so that half an export is never taken for one.
fn to_file(snapshot: &dyn Snapshot, file: &Path) -> Result<Exported> {
    let mut name = file.as_os_str().to_owned();
    name.push(".unfinished");
    let unfinished = PathBuf::from(name);
    let write = || -> Result<Exported> {
        let mut out = BufWriter::new(File::create(&unfinished)?);
        let exported = export(snapshot, &mut out)?;
        out.flush()?;
        out.get_ref().sync_all()?;
        std::fs::rename(&unfinished, file)?;
        Ok(exported)
    };
    let exported = write();
    if exported.is_err() {
        let _ = std::fs::remove_file(&unfinished);
    }
    exported
}
