//! Ingestion: turns folders and files into items.
//!
//! A file of Markdown, text or source code is one item. Its id is its path, starting with the name
//! of the folder that was added. Each line of a JSONL file and each record of a table is one item.
//! Files and lines that cannot be added are skipped with a reason, and the run continues.
//!
//! Adding the same files again is quick: a file is not read when its item has the same length and
//! time. This needs no extra records, because an item's body is the file's text, byte by byte, and
//! its time is the file's. A file of many items has no item of its own, so its length and time are
//! stored as a record ([`haversack_store::store::item::DocumentKind::Source`]) with the number of
//! its items. It is skipped only while the store still has that many.

mod run;
mod skip;
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

pub use self::skip::{IngestSkipReason, Skip};
use self::walk::RootNaming;

/// Most skips, warnings and missing items that are listed. Further ones are only counted.
pub const LISTED_MAX: usize = 1_000;

/// A request to add files to a workspace.
#[derive(Debug, Clone)]
pub struct IngestRequest {
    /// The folders and files to add.
    pub paths: Vec<PathBuf>,
    /// The kind of items that do not name their own. When left out: `file`, `document` (a line of
    /// JSONL) or `row` (a record of a table).
    pub kind: Option<Kind>,
    /// Maps user names in the data to principals of this workspace. An item that names one of these
    /// users is readable by that user alone. Any other name is only stored as a field.
    pub users: BTreeMap<String, Principal>,
    /// Whether to delete items whose files no longer exist.
    pub prune: bool,
    /// The time of the import.
    pub at: Timestamp,
    /// The name of the import, by which it can be undone.
    pub origin: String,
}

/// Progress of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct IngestProgress {
    /// Files that were examined.
    pub files: u64,
    /// Items stored.
    pub stored: u64,
    /// Items that were already stored and did not change.
    pub unchanged: u64,
    /// Files and lines that were skipped.
    pub skipped: u64,
}

/// The result of a run.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct IngestSummary {
    /// The final counts.
    pub progress: IngestProgress,
    /// The files and lines that were skipped, with reasons: the first [`LISTED_MAX`].
    pub skips: Vec<Skip>,
    /// Ids of items whose file or line no longer exists: the first [`LISTED_MAX`].
    pub missing_ids: Vec<String>,
    /// How many such items there are.
    pub missing_count: u64,
    /// How many of them were deleted.
    pub deleted: u64,
    /// Remarks for the user, in words.
    pub remarks: Vec<String>,
}

/// An error that ended a run early. Items stored before it stay and can be undone.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum IngestError {
    /// A given path does not exist or cannot be read.
    #[error("cannot add {}", path.display())]
    Path {
        /// The path.
        path: PathBuf,
        /// The cause.
        #[source]
        cause: std::io::Error,
    },
    /// Another path was added under this name before.
    #[error(
        "{} would replace {}, which is {name:?} in this workspace: rename one of them, or use \
         another workspace",
        given.display(), existing.display()
    )]
    NameTaken {
        /// The name.
        name: String,
        /// The path that was added before.
        existing: PathBuf,
        /// The path that was to be added now.
        given: PathBuf,
    },
    /// The workspace cannot be read.
    #[error("cannot read the workspace")]
    Read(#[from] ReadError),
    /// The workspace cannot be written.
    #[error("cannot write to the workspace")]
    Write(#[from] CommitError),
}

/// Adds files and folders to a workspace. The store must be a handle for blocking threads.
///
/// # Errors
/// When a path does not exist, or the workspace cannot be read or written. Problems of single
/// files, lines and items are no errors; see [`IngestSummary::skips`].
pub fn add(
    store: &dyn Store,
    request: &IngestRequest,
    progress: &mut dyn FnMut(IngestProgress),
) -> Result<IngestSummary, IngestError> {
    run::run(store, request, RootNaming::LastComponent, progress)
}

/// Adds files and folders as [`add`] does, but names them by the whole path as it was given, not
/// only by its last component: `a/notes.md` and `b/notes.md` are two items.
///
/// # Errors
/// As [`add`].
pub fn add_by_path(
    store: &dyn Store,
    request: &IngestRequest,
    progress: &mut dyn FnMut(IngestProgress),
) -> Result<IngestSummary, IngestError> {
    run::run(store, request, RootNaming::FullPath, progress)
}

#[cfg(test)]
mod tests;
