//! `haversack export`: writes a workspace as lines of JSON.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use haversack_store::store::Snapshot;
use haversack_store::store::block_on;
use haversack_store::store::viewer::Viewer;
use haversack_store::transfer::{ExportReport, export};

use crate::args::{self, StoreLocation};
use crate::output::{ExitOutcome, grouped, say, to_stdout};

pub(crate) fn run(location: &StoreLocation, args: &args::ExportArgs) -> Result<ExitOutcome> {
    let store = location.existing_store()?;
    let snapshot = block_on(store.snapshot(&Viewer::owner()))?;
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
    Ok(ExitOutcome::Something)
}

/// Writes under another name until the export is complete, so that a part is never taken for it.
fn to_file(snapshot: &dyn Snapshot, file: &Path) -> Result<ExportReport> {
    let mut name = file.as_os_str().to_owned();
    name.push(".unfinished");
    let unfinished = PathBuf::from(name);
    let write = || -> Result<ExportReport> {
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
