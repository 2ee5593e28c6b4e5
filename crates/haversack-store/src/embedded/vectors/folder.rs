//! The folder of segments: which files count, and which go.
//!
//! A crash may leave a file unfinished, or beside the files it replaces. The later one of two that
//! overlap holds; if that leaves a hole, the hole is fed again. So no list of files is needed.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::error::VectorsError;
use super::segment::sync_folder;
use super::segment::{FORMAT_VERSION, Inspected, Model, SUFFIX, Segment, UNFINISHED_SUFFIX};

/// The good segments of a folder, by revision, without overlaps; the rest is removed.
pub(super) fn load(folder: &Path, model: &Model) -> Result<Vec<Arc<Segment>>, VectorsError> {
    fs::create_dir_all(folder).map_err(failed("make", folder))?;
    let mut remove = files(folder, UNFINISHED_SUFFIX)?;
    let mut good = Vec::new();
    for path in files(folder, SUFFIX)? {
        match Segment::inspect(&path, model).map_err(failed("read", &path))? {
            Inspected::Good(segment) => good.push(segment),
            Inspected::Damaged => remove.push(path),
            Inspected::Newer { version: found } => {
                return Err(VectorsError::NewerFormat { path, found, known: FORMAT_VERSION });
            }
            Inspected::OtherModel { label: found } => {
                let wanted = model.label.clone();
                return Err(VectorsError::OtherModel { path, found, wanted });
            }
        }
    }
    good.sort_by_key(|segment| std::cmp::Reverse(segment.generation));
    let mut kept: Vec<Arc<Segment>> = Vec::new();
    for segment in good {
        let (first, last) = (segment.range.first, segment.range.last);
        if kept.iter().any(|kept| first <= kept.range.last && kept.range.first <= last) {
            remove.push(segment.path);
        } else {
            kept.push(Arc::new(segment));
        }
    }
    kept.sort_by_key(|segment| segment.range.first);
    remove_all(folder, &remove)?;
    Ok(kept)
}

/// Removes every segment.
pub(super) fn discard(folder: &Path) -> Result<(), VectorsError> {
    if !folder.try_exists().map_err(failed("read", folder))? {
        return Ok(());
    }
    let mut remove = files(folder, SUFFIX)?;
    remove.extend(files(folder, UNFINISHED_SUFFIX)?);
    remove_all(folder, &remove)
}

/// Removes files for good.
pub(super) fn remove_all(folder: &Path, paths: &[PathBuf]) -> Result<(), VectorsError> {
    for path in paths {
        fs::remove_file(path).map_err(failed("remove", path))?;
    }
    if paths.is_empty() { Ok(()) } else { sync_folder(folder).map_err(failed("write", folder)) }
}

fn files(folder: &Path, suffix: &str) -> Result<Vec<PathBuf>, VectorsError> {
    let entries = fs::read_dir(folder).map_err(failed("read", folder))?;
    let mut paths = entries
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<io::Result<Vec<PathBuf>>>()
        .map_err(failed("read", folder))?;
    paths.retain(|path| path.as_os_str().as_encoded_bytes().ends_with(suffix.as_bytes()));
    paths.sort();
    Ok(paths)
}

/// Puts an action and a path beside the cause.
pub(super) fn failed(action: &'static str, path: &Path) -> impl Fn(io::Error) -> VectorsError {
    let path = path.to_owned();
    move |source| VectorsError::Io { action, path: path.clone(), source }
}
