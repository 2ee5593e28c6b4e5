//! Reads a folder: one scope, or nested folders of scopes. A conversation that is searched on its
//! own, a set and a collection of sets have the same format.

use std::path::{Path, PathBuf};

use super::corpus::CORPUS;
use super::error::EvalError;
use super::scope::{EvalScope, LABELS, QUESTIONS};

/// The maximum depth of nested folders.
const DEPTH_MAX: usize = 3;

/// One scope, or several under one name.
#[derive(Debug)]
pub(super) enum EvalFolder {
    One(Box<EvalScope>),
    Many { name: String, folders: Vec<EvalFolder> },
}

impl EvalFolder {
    /// Reads all scopes. `watch` gets the name of each before it is read: its path relative to the
    /// parent of `path`, such as `locomo/conv-26`.
    pub(super) fn read(
        path: &Path,
        watch: &mut dyn FnMut(&str) -> Result<(), EvalError>,
    ) -> Result<EvalFolder, EvalError> {
        let name = path.canonicalize().map_err(EvalError::read(path))?;
        let name = name.file_name().map_or("set".into(), |name| name.to_string_lossy());
        let read = read(path, &name, 0, watch)?;
        read.ok_or_else(|| {
            let what = format!("there is no {CORPUS} in it, nor in a folder below it");
            EvalError::folder(path, what)
        })
    }

    pub(super) fn name(&self) -> &str {
        match self {
            EvalFolder::One(scope) => &scope.name,
            EvalFolder::Many { name, .. } => name,
        }
    }

    /// Its scopes, in order.
    pub(super) fn scopes_mut(&mut self) -> Vec<&mut EvalScope> {
        match self {
            EvalFolder::One(scope) => vec![scope],
            EvalFolder::Many { folders, .. } => {
                folders.iter_mut().flat_map(EvalFolder::scopes_mut).collect()
            }
        }
    }
}

fn read(
    path: &Path,
    name: &str,
    depth: usize,
    watch: &mut dyn FnMut(&str) -> Result<(), EvalError>,
) -> Result<Option<EvalFolder>, EvalError> {
    if [CORPUS, QUESTIONS, LABELS].iter().any(|file| path.join(file).is_file()) {
        watch(name)?;
        return Ok(Some(EvalFolder::One(Box::new(EvalScope::read(path, name)?))));
    }
    if depth == DEPTH_MAX {
        return Ok(None);
    }
    let mut below: Vec<PathBuf> = Vec::new();
    for entry in std::fs::read_dir(path).map_err(EvalError::read(path))? {
        let entry = entry.map_err(EvalError::read(path))?.path();
        if entry.is_dir() {
            below.push(entry);
        }
    }
    below.sort();
    let mut folders = Vec::new();
    for path in below {
        let own = path.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
        folders.extend(read(&path, &format!("{name}/{own}"), depth + 1, watch)?);
    }
    let many = EvalFolder::Many { name: name.to_owned(), folders };
    Ok(match &many {
        EvalFolder::Many { folders, .. } if folders.is_empty() => None,
        _ => Some(many),
    })
}
