//! Ingestion: turns folders and files into items.
//!
//! A file of text, source code or a document format ([`haversack_reader::READERS`]) is one item. Its id is
//! its path, starting with the name of the folder that was added. Each line of a JSONL file, each record
//! of a table and each message of a conversation is an item of its own, below the file's path. Readers of
//! foreign formats run in a child process. Files and lines that cannot be added are skipped with a reason,
//! and the run continues.
//!
//! Adding the same files again is quick: how a file was when it was read (length, time, hash and the number
//! of its items) is stored as a record ([`haversack_store::store::item::DocumentKind::Source`]). A file is
//! not read again while it has the same length and time, nor taken over while it has the same bytes. Both hold
//! only while the store still has its items. Records are written as files are done, so that a run that was cut
//! short is taken up where it ended; of each file and item the run itself keeps no more than two hashes.

mod changed;
mod isolated;
mod omissions;
mod parts;
mod read;
mod run;
mod skip;
mod sources;
mod stamp;
mod table;
mod text;
mod total;
mod vault;
mod walk;
mod watch;
mod write;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use haversack_core::item::Kind;
use haversack_core::units::Timestamp;
use haversack_store::store::Store;
use haversack_store::store::error::{CommitError, ReadError};
use haversack_store::store::viewer::{Principal, Viewer};
use thiserror::Error;

pub use self::isolated::READER_COMMAND;
pub use self::omissions::OmissionGroup;
pub(crate) use self::run::mapped_user;
pub use self::skip::{IngestSkipReason, Skip};
use self::walk::RootNaming;
pub use self::watch::{WatchEvent, WatchRequest, watch};

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
    /// The `haversack` program, which reads foreign formats in processes of its own. Without it such
    /// files are skipped.
    pub reader_program: Option<PathBuf>,
    /// With whose rights items are written.
    pub viewer: Viewer,
    /// Whether all files are counted while they are read, so that progress says how much is left. It costs a
    /// second walk over the folders.
    pub counts_total: bool,
}

impl IngestRequest {
    /// A request to add files at a time, under a name by which it can be undone.
    #[must_use]
    pub fn new(paths: Vec<PathBuf>, at: Timestamp, origin: &str) -> IngestRequest {
        IngestRequest {
            paths,
            kind: None,
            users: BTreeMap::new(),
            prune: false,
            at,
            origin: origin.to_owned(),
            reader_program: None,
            viewer: Viewer::owner(),
            counts_total: false,
        }
    }
}

/// Progress of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct IngestProgress {
    /// Files that were examined.
    pub files: u64,
    /// Bytes of these files, and of the file at hand as far as it was read.
    pub bytes: u64,
    /// Pages and slides of the files that were read.
    pub pages: u64,
    /// All files and their bytes, once they are counted ([`IngestRequest::counts_total`]).
    pub total: Option<IngestTotal>,
    /// Items stored.
    pub stored: u64,
    /// Items that were already stored and did not change.
    pub unchanged: u64,
    /// Files and lines that were skipped.
    pub skipped: u64,
}

/// How much there is to read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct IngestTotal {
    /// Files.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
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
    /// What was left out as a matter of routine, of which no remark speaks.
    pub omissions: Vec<OmissionGroup>,
}

impl IngestSummary {
    /// All remarks, with those about what was left out as a matter of routine: the first [`LISTED_MAX`] of each.
    #[must_use]
    pub fn into_all_remarks(self) -> Vec<String> {
        let routine = self.omissions.into_iter().flat_map(|group| group.remarks);
        self.remarks.into_iter().chain(routine).collect()
    }
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

/// Adds one file under a name of its own, such as one that was uploaded. The paths of the request are not
/// read. Items that an earlier file of that name brought and this one does not are deleted.
///
/// # Errors
/// As [`add`].
pub fn add_file(
    store: &dyn Store,
    (at, name): (&Path, &str),
    request: &IngestRequest,
) -> Result<IngestSummary, IngestError> {
    run::run_file(store, request, (at, name))
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
