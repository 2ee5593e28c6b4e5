//! Folders and files become items.
//!
//! A file of Markdown, text or source code is one item, called by its path from the folder that
//! holds what was added. Each line of a JSONL file and each record of a table is one item. What
//! cannot be added is passed over with a reason, and the rest goes on.
//!
//! Adding again is quick. A file that has the length and time of its item is not read. That needs
//! no notes: an item's body is the file's text, byte by byte, and its time is the file's. A file of
//! many items has no item of its own, so its length and time are kept as a record
//! ([`haversack_store::store::item::DocumentKind::Source`]) with the number of its items, which must
//! still be there.

mod notice;
mod run;
mod sources;
mod table;
mod text;
mod walk;
mod write;

use std::collections::BTreeMap;
use std::path::PathBuf;

use haversack_core::item::Kind;
use haversack_core::units::Timestamp;
use haversack_store::store::Store;
use haversack_store::store::error::{CommitError, ReadError};
use haversack_store::store::viewer::Principal;
use thiserror::Error;

pub use self::notice::{Reason, Skip};
use self::walk::Naming;

/// Skips, warnings and missing items that are listed; more are only counted.
pub const LISTED_MAX: usize = 1_000;

/// What to add, and how.
#[derive(Debug, Clone)]
pub struct Add {
    /// Folders and files.
    pub paths: Vec<PathBuf>,
    /// What the items are when they do not say so themselves: else `file`, `document` (a line of
    /// JSONL) or `row` (a record of a table).
    pub kind: Option<Kind>,
    /// Users that data names, and who they are here. An item that a line says is of one of them is for
    /// that user alone; what names anybody else only says so.
    pub users: BTreeMap<String, Principal>,
    /// Whether items whose files are gone are deleted.
    pub prune: bool,
    /// The time of the import.
    pub at: Timestamp,
    /// Its name, by which it can be undone.
    pub origin: String,
}

/// How far an addition is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Progress {
    /// Files that were looked at.
    pub files: u64,
    /// Items stored.
    pub stored: u64,
    /// Items that were there already, just so.
    pub unchanged: u64,
    /// Files and lines that were passed over.
    pub skipped: u64,
}

/// What an addition did.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Summary {
    /// The counts.
    pub progress: Progress,
    /// What was passed over, and why: the first [`LISTED_MAX`].
    pub skips: Vec<Skip>,
    /// Ids whose file or line is no longer there: the first [`LISTED_MAX`].
    pub missing: Vec<String>,
    /// How many there are.
    pub missing_count: u64,
    /// How many of them were deleted.
    pub deleted: u64,
    /// What else the user should know.
    pub remarks: Vec<String>,
}

/// Why an addition ended early. What was stored before stays and can be undone.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum IngestError {
    /// A given path is not there or cannot be read.
    #[error("cannot add {}", path.display())]
    Path {
        /// The path.
        path: PathBuf,
        /// Why not.
        #[source]
        cause: std::io::Error,
    },
    /// Another folder of this name was added before.
    #[error(
        "{} would replace {}, which is {name:?} in this workspace: rename one of them, or use \
         another workspace",
        given.display(), known.display()
    )]
    Taken {
        /// The name.
        name: String,
        /// What was added before.
        known: PathBuf,
        /// What was to be added now.
        given: PathBuf,
    },
    /// The workspace cannot be read.
    #[error("cannot read the workspace")]
    Read(#[from] ReadError),
    /// The workspace cannot be written.
    #[error("cannot write to the workspace")]
    Write(#[from] CommitError),
}

/// Adds files and folders to a workspace. The store is one for blocking threads.
///
/// # Errors
/// When a path is not there, or the workspace cannot be read or written. What is wrong with single
/// files, lines and items is no error; see [`Summary::skips`].
pub fn add(
    store: &dyn Store,
    add: &Add,
    progress: &mut dyn FnMut(Progress),
) -> Result<Summary, IngestError> {
    run::run(store, add, Naming::Last, progress)
}

/// Adds files and folders as [`add`] does, but calls them by their whole path as it was given and
/// not by its last part alone: `a/notes.md` and `b/notes.md` are two items.
///
/// # Errors
/// As [`add`].
pub fn add_by_path(
    store: &dyn Store,
    add: &Add,
    progress: &mut dyn FnMut(Progress),
) -> Result<Summary, IngestError> {
    run::run(store, add, Naming::Whole, progress)
}

#[cfg(test)]
mod tests;
