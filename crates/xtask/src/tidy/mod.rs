//! House rules that neither the compiler nor clippy checks.
//!
//! The checks see a list of texts and return problems; only this file touches the disk.

mod manifest;
mod named_tests;
mod source;

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use crate::problem::{RuleViolation, conclude};

/// Folders that are not checked: data and build output.
const FOLDERS_SKIPPED: [&str; 8] =
    [".git", "artifacts", "corpus", "fixtures", "grown", "node_modules", "snapshots", "target"];

/// A text file of the repository.
#[derive(Debug)]
struct SourceFile {
    /// Relative to the repository, with `/` between folders.
    path: String,
    text: String,
}

impl SourceFile {
    fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or(&self.path)
    }
}

/// # Errors
/// When a rule is broken or a file cannot be read.
pub(crate) fn run(root: &Path) -> Result<()> {
    let mut files = Vec::new();
    collect(root, "", &mut files)?;
    conclude("tidy", check(&files))
}

fn check(files: &[SourceFile]) -> Vec<RuleViolation> {
    let mut problems = source::check(files);
    problems.extend(manifest::check(files));
    problems.extend(named_tests::check(files));
    problems
}

fn collect(folder: &Path, prefix: &str, files: &mut Vec<SourceFile>) -> Result<()> {
    let entries =
        fs::read_dir(folder).with_context(|| format!("cannot list {}", folder.display()))?;
    for entry in entries {
        let entry = entry.with_context(|| format!("cannot list {}", folder.display()))?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = format!("{prefix}{name}");
        // Links are not followed: they may leave the repository or form a cycle.
        let kind = entry.file_type().with_context(|| format!("cannot read the type of {path}"))?;
        if kind.is_dir() && !FOLDERS_SKIPPED.contains(&name.as_str()) {
            collect(&entry.path(), &format!("{path}/"), files)?;
        } else if kind.is_file() && is_ours(&name) {
            let text = fs::read_to_string(entry.path())
                .with_context(|| format!("cannot read {path} as text"))?;
            files.push(SourceFile { path, text });
        }
    }
    Ok(())
}

fn is_ours(name: &str) -> bool {
    [".rs", ".md", ".toml"].iter().any(|ending| name.ends_with(ending))
}

#[cfg(test)]
mod tests;
