//! What a folder holds: one corpus, or folders of them, as deep as two levels. A conversation that
//! is searched on its own, a set and a collection of sets all have the same form.

use std::path::{Path, PathBuf};

use super::corpus::CORPUS;
use super::error::EvalError;
use super::scope::{LABELS, QUESTIONS, Scope};

/// How deep folders are looked into.
const DEPTH_MAX: usize = 3;

/// A corpus, or several under one name.
#[derive(Debug)]
pub(super) enum Folder {
    One(Box<Scope>),
    Many { name: String, folders: Vec<Folder> },
}

impl Folder {
    /// Reads all that is there. `watch` hears the name of each corpus before it is read: its path
    /// from the folder that holds `path`, such as `locomo/conv-26`.
    pub(super) fn read(
        path: &Path,
        watch: &mut dyn FnMut(&str) -> Result<(), EvalError>,
    ) -> Result<Folder, EvalError> {
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
            Folder::One(scope) => &scope.name,
            Folder::Many { name, .. } => name,
        }
    }

    /// Its corpora, in order.
    pub(super) fn scopes_mut(&mut self) -> Vec<&mut Scope> {
        match self {
            Folder::One(scope) => vec![scope],
            Folder::Many { folders, .. } => {
                folders.iter_mut().flat_map(Folder::scopes_mut).collect()
            }
        }
    }
}

fn read(
    path: &Path,
    name: &str,
    depth: usize,
    watch: &mut dyn FnMut(&str) -> Result<(), EvalError>,
) -> Result<Option<Folder>, EvalError> {
    if [CORPUS, QUESTIONS, LABELS].iter().any(|file| path.join(file).is_file()) {
        watch(name)?;
        return Ok(Some(Folder::One(Box::new(Scope::read(path, name)?))));
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
    let many = Folder::Many { name: name.to_owned(), folders };
    Ok(match &many {
        Folder::Many { folders, .. } if folders.is_empty() => None,
        _ => Some(many),
    })
}
