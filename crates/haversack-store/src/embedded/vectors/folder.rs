//! The folder of segments: which files are valid and which are removed.
//!
//! A crash may leave an unfinished file, or one beside the files that it replaces. Of two
//! overlapping files the later one is valid; a remaining gap is fed again. So no manifest is
//! needed.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::error::VectorsError;
use super::segment::{
    FORMAT_VERSION, InspectedSegment, SUFFIX, SegmentModel, UNFINISHED_SUFFIX, VectorSegment,
};
use crate::embedded::steps;

/// Loads the valid segments of a folder, by revision and without overlaps; removes the rest.
pub(super) fn load(
    folder: &Path,
    model: &SegmentModel,
) -> Result<Vec<Arc<VectorSegment>>, VectorsError> {
    fs::create_dir_all(folder).map_err(io_error("make", folder))?;
    let mut remove = files_with_suffix(folder, UNFINISHED_SUFFIX)?;
    let mut good = Vec::new();
    for path in files_with_suffix(folder, SUFFIX)? {
        // A file that cannot be read is no better than a damaged one: its range is fed again.
        match VectorSegment::inspect(&path, model).unwrap_or(InspectedSegment::Damaged) {
            InspectedSegment::Good(segment) => good.push(segment),
            InspectedSegment::Damaged => remove.push(path),
            InspectedSegment::Newer { version: found } => {
                return Err(VectorsError::NewerFormat { path, found, known: FORMAT_VERSION });
            }
            InspectedSegment::OtherModel { label: found } => {
                let wanted = model.label.clone();
                return Err(VectorsError::OtherModel { path, found, wanted });
            }
        }
    }
    good.sort_by_key(|segment| std::cmp::Reverse(segment.generation));
    let mut kept: Vec<Arc<VectorSegment>> = Vec::new();
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
    if !folder.try_exists().map_err(io_error("read", folder))? {
        return Ok(());
    }
    let mut remove = files_with_suffix(folder, SUFFIX)?;
    remove.extend(files_with_suffix(folder, UNFINISHED_SUFFIX)?);
    remove_all(folder, &remove)
}

/// Removes files durably.
pub(super) fn remove_all(folder: &Path, paths: &[PathBuf]) -> Result<(), VectorsError> {
    for path in paths {
        steps::remove(path).map_err(io_error("remove", path))?;
    }
    if paths.is_empty() {
        Ok(())
    } else {
        steps::sync_folder(folder).map_err(io_error("write", folder))
    }
}

fn files_with_suffix(folder: &Path, suffix: &str) -> Result<Vec<PathBuf>, VectorsError> {
    let entries = fs::read_dir(folder).map_err(io_error("read", folder))?;
    let mut paths = entries
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<io::Result<Vec<PathBuf>>>()
        .map_err(io_error("read", folder))?;
    paths.retain(|path| path.as_os_str().as_encoded_bytes().ends_with(suffix.as_bytes()));
    paths.sort();
    Ok(paths)
}

/// Wraps an I/O error with the action and path.
pub(super) fn io_error(action: &'static str, path: &Path) -> impl Fn(io::Error) -> VectorsError {
    let path = path.to_owned();
    move |source| VectorsError::Io { action, path: path.clone(), source }
}
