//! Questions of another set, which are off topic for the corpus: their packs should be empty.

use std::path::{Path, PathBuf};

use super::error::EvalError;
use super::question::read_questions;
use super::scope::QUESTIONS;

/// The maximum depth of nested folders.
const DEPTH_MAX: usize = 3;

/// The questions in a folder and below it, at most `limit`, evenly sampled.
pub(super) fn read(folder: &Path, limit: usize) -> Result<Vec<String>, EvalError> {
    let mut files = Vec::new();
    find(folder, 0, &mut files)?;
    let mut texts = Vec::new();
    for file in &files {
        texts.extend(read_questions(file)?.into_iter().map(|question| question.text));
    }
    if texts.is_empty() {
        let what = format!("there is no question in a {QUESTIONS} in it or below it");
        return Err(EvalError::folder(folder, what));
    }
    let all = texts.len();
    let mut texts = texts.into_iter().enumerate().collect::<Vec<_>>();
    texts.retain(|(number, _)| is_chosen(*number, limit, all));
    Ok(texts.into_iter().map(|(_, text)| text).collect())
}

/// Whether an even sample of `limit` out of `all` contains this number.
pub(crate) const fn is_chosen(number: usize, limit: usize, all: usize) -> bool {
    // Chosen where `number * limit / all` increases.
    limit >= all || number * limit / all != (number + 1) * limit / all
}

fn find(folder: &Path, depth: usize, files: &mut Vec<PathBuf>) -> Result<(), EvalError> {
    let own = folder.join(QUESTIONS);
    if own.is_file() {
        files.push(own);
        return Ok(());
    }
    let mut below = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(EvalError::read(folder))? {
        let path = entry.map_err(EvalError::read(folder))?.path();
        if path.is_dir() && depth < DEPTH_MAX {
            below.push(path);
        }
    }
    below.sort();
    below.iter().try_for_each(|path| find(path, depth + 1, files))
}
