//! `haversack kinds`: lists kinds, and checks and stores definitions of new ones.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};
use haversack_store::kinds::{KindSpec, Kinds};
use haversack_store::store::error::OpenError;
use haversack_store::{DataFolder, KINDS_FILE};

use crate::args::{KindsArgs, KindsCommand, StoreLocation};
use crate::input::read_text;
use crate::output::{ExitOutcome, counted, print, say};

pub(crate) fn run(location: &StoreLocation, args: &KindsArgs) -> Result<ExitOutcome> {
    match &args.command {
        None => list(location),
        Some(KindsCommand::Check { file }) => {
            let (_, kinds) = read(file)?;
            say(&format!("{}: {}", file.display(), counted(kinds.own().len(), "kind")));
            Ok(ExitOutcome::Something)
        }
        Some(KindsCommand::Set { file }) => set(location, file),
    }
}

fn list(location: &StoreLocation) -> Result<ExitOutcome> {
    let folder = location.folder()?;
    let path = folder.join(KINDS_FILE);
    let own = if path.exists() { Some(read(&path)?.1) } else { None };
    let kinds = own.as_ref().unwrap_or_else(|| Kinds::built_in());
    let mut out = String::new();
    for (kinds, title) in [(kinds.own(), "of this data folder"), (built_in(kinds), "built in")] {
        if kinds.is_empty() {
            continue;
        }
        let _ = writeln!(out, "{title}:");
        for kind in kinds {
            let fields: Vec<&str> = kind.fields.iter().map(|field| &*field.name).collect();
            let _ = writeln!(out, "  {:<20} {}", kind.name, kind.about);
            let _ = writeln!(out, "  {:<20}   {}", "", fields.join(", "));
        }
    }
    print(out.trim_end())?;
    Ok(ExitOutcome::Something)
}

fn built_in(kinds: &Kinds) -> &[KindSpec] {
    &kinds.all()[..kinds.all().len() - kinds.own().len()]
}

/// Reads a file of definitions, which must be valid.
fn read(path: &Path) -> Result<(String, Kinds)> {
    let source = read_text(path)?;
    match Kinds::with(&source) {
        Ok(kinds) => Ok((source, kinds)),
        Err(error) => bail!("{}: {error}", path.display()),
    }
}

fn set(location: &StoreLocation, file: &Path) -> Result<ExitOutcome> {
    let (source, kinds) = read(file)?;
    let folder = location.folder()?;
    // No other process may use the old kinds meanwhile. Whether the old file is valid does not matter.
    let lock = match DataFolder::open(&folder) {
        Ok(folder) => Some(folder),
        Err(OpenError::Kinds { .. }) => None,
        Err(error) => return Err(error.into()),
    };
    let path = folder.join(KINDS_FILE);
    let part = path.with_extension("part");
    let written = fs::write(&part, source).and_then(|()| fs::rename(&part, &path));
    written.with_context(|| format!("cannot write {}", path.display()))?;
    drop(lock);
    for kind in kinds.own() {
        let links = kind.fields.iter().filter(|field| field.link).count();
        let fields = counted(kind.fields.len(), "field");
        say(&format!("{}: {fields}, {}", kind.name, counted(links, "link")));
    }
    Ok(ExitOutcome::Something)
}
