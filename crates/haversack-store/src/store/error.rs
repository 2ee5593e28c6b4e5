//! Errors of opening, reading and writing. Each message says what to do next.

use crate::kinds::DefinitionError;
use std::error::Error as StdError;
use std::fmt;
use std::path::PathBuf;

use haversack_core::embed::{EmbedError, Model};
use haversack_core::ids::ItemId;
use thiserror::Error;

use crate::revision::Revision;

/// The cause of an error, for the log.
pub type Cause = Box<dyn StdError + Send + Sync>;

/// The process may not open as many files as it needs. Nothing was begun.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub struct TooManyFiles {
    /// The limit of the process, if the system has told.
    pub limit: Option<u64>,
}

impl fmt::Display for TooManyFiles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("this process has too many files and connections open")?;
        if let Some(limit) = self.limit {
            write!(f, " (its limit is {limit})")?;
        }
        f.write_str(
            ": try again, and raise the limit (`ulimit -n`, `LimitNOFILE=`) or hold fewer \
             connections and workspaces open",
        )
    }
}

/// An error from opening a data folder or workspace.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum OpenError {
    /// Another process has it open.
    #[error("{} is in use by process {owner}: stop it, or choose another folder", folder.display())]
    InUse {
        /// The data folder.
        folder: PathBuf,
        /// The id of the other process, read from the lock file.
        owner: String,
    },
    /// The name is not a valid workspace name.
    #[error(
        "{name:?} cannot name a workspace: use 1 to 64 of a-z, 0-9, '-', '_' and '.', beginning \
         with a letter or digit"
    )]
    Name {
        /// The invalid name.
        name: String,
    },
    /// The data folder's definitions of kinds are not valid.
    #[error("{} cannot be used: {cause}", path.display())]
    Kinds {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        cause: DefinitionError,
    },
    /// There is no such workspace.
    #[error("there is no workspace {name:?} in {}", folder.display())]
    Missing {
        /// The name.
        name: String,
        /// The data folder.
        folder: PathBuf,
    },
    /// The disk is full. Nothing was written.
    #[error("no room to write: free some disk space and try again")]
    Full {
        /// What the disk says.
        #[source]
        cause: Cause,
    },
    /// A later version of Haversack wrote it.
    #[error(
        "{} has format {found}, and this version of haversack reads up to {known}: use a newer one",
        path.display()
    )]
    Newer {
        /// The path.
        path: PathBuf,
        /// Its format.
        found: u32,
        /// The newest format known here.
        known: u32,
    },
    /// It is not a store, or the records are damaged.
    #[error("{} is damaged: restore a backup, or export what can be read", path.display())]
    Damaged {
        /// The path.
        path: PathBuf,
        /// What is wrong.
        #[source]
        cause: Cause,
    },
    /// Too many files are open.
    #[error(transparent)]
    TooManyFiles(#[from] TooManyFiles),
    /// The shared journal cannot be used now.
    #[error("the journal {place} cannot be used: try again")]
    Unavailable {
        /// The journal.
        place: String,
        /// Why not.
        #[source]
        cause: Cause,
    },
    /// There is a workspace of this name.
    #[error("there is a workspace {name:?} in {place} already: remove it first")]
    Exists {
        /// The name.
        name: String,
        /// The journal or the data folder.
        place: String,
    },
    /// A data folder with a journal has a workspace that is not in it.
    #[error(
        "{} is a workspace of its own and no replica: put it into the journal with \
         `haversack journal import`, or use another data folder",
        path.display()
    )]
    NotReplica {
        /// The folder of the workspace.
        path: PathBuf,
    },
    /// A workspace follows a journal, and none was given.
    #[error(
        "{} is a replica of a shared journal: start with `--journal`, or take a copy of its own with \
         `haversack journal export`",
        path.display()
    )]
    IsReplica {
        /// The folder of the workspace.
        path: PathBuf,
    },
    /// A folder or file cannot be read or written.
    #[error("cannot open {}", path.display())]
    Io {
        /// The path.
        path: PathBuf,
        /// Why not.
        #[source]
        cause: Cause,
    },
}

/// A mismatch of models: the stored vectors were made by another model than the one in use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StaleVectors {
    /// The model that made the stored vectors.
    pub stored: Model,
    /// The model in use.
    pub now: Model,
}

impl fmt::Display for StaleVectors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "vectors are stale: stored by {}, in use is {}", self.stored, self.now)
    }
}

/// An error from reading.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ReadError {
    /// An argument of the read is not valid.
    #[error("{field}: {what}")]
    Invalid {
        /// The argument, such as `vector` or `filter.fields`.
        field: String,
        /// What is wrong with it.
        what: String,
    },
    /// The vectors were made by another model.
    #[error("{0}; re-embed the workspace")]
    Stale(Box<StaleVectors>),
    /// The text index is being rebuilt, so nothing can be searched by words.
    #[error("the text index is being rebuilt: search by words again in a while")]
    Rebuilding,
    /// Stored data does not read back as it was written.
    #[error("{what} is damaged: run `haversack check`, and restore a backup")]
    Damaged {
        /// The damaged part.
        what: String,
    },
    /// Too many files are open.
    #[error(transparent)]
    TooManyFiles(#[from] TooManyFiles),
    /// The shared journal cannot be reached, and what this node has may be too old.
    #[error("the shared journal cannot be reached, and what is here may be out of date: try again")]
    Unavailable {
        /// Why not.
        #[source]
        cause: Cause,
    },
    /// The workspace was changed elsewhere in a way that needs it to be opened again.
    #[error("the workspace has to be opened again: {why}: try again")]
    Outdated {
        /// Why.
        why: String,
    },
    /// The store cannot be read.
    #[error("the store cannot be read")]
    Storage {
        /// Why not.
        #[source]
        cause: Cause,
    },
}

impl ReadError {
    /// An error about an argument that is not valid.
    pub fn invalid(field: impl Into<String>, what: impl Into<String>) -> ReadError {
        ReadError::Invalid { field: field.into(), what: what.into() }
    }
}

/// A problem with one change of a batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangeProblem {
    /// The index of the change in the batch.
    pub change: usize,
    /// The item, if the change is about one.
    pub item: Option<ItemId>,
    /// The problem, with the name of the field.
    pub message: String,
}

impl fmt::Display for ChangeProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.item {
            Some(item) => write!(f, "{item}: {}", self.message),
            None => write!(f, "change {}: {}", self.change, self.message),
        }
    }
}

/// An operation on an item that the writer may not do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Denial {
    /// Write under the id of an item that they cannot read.
    Id,
    /// Change an item that they cannot read.
    Missing,
    /// Use an item that they cannot read as a parent.
    Parent,
    /// Set its readers.
    Readers,
    /// Move it to another parent.
    Move,
}

impl fmt::Display for Denial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Denial::Id => "this id is not this user's to change: use another one",
            Denial::Missing => "there is no such item that this user can read",
            Denial::Parent => "parent: there is no such item that this user can read",
            Denial::Readers => {
                "readers: only whoever made the item, or a trusted key for nobody in particular, can \
                 change who reads it"
            }
            Denial::Move => {
                "parent: only whoever made the item, or a trusted key for nobody in particular, can \
                 move it"
            }
        })
    }
}

/// An error from writing a batch. Except for [`CommitError::NotSearchable`] and
/// [`CommitError::Unknown`], nothing was written.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum CommitError {
    /// Some changes are not valid. All of them are listed, up to a hundred.
    #[error("{}", problems_line(.0))]
    Invalid(Vec<ChangeProblem>),
    /// The writer lacks the right to a change.
    #[error("{item}: {denial}")]
    Denied {
        /// The item.
        item: ItemId,
        /// The operation that is denied.
        denial: Denial,
    },
    /// The batch is too large.
    #[error("a batch of {found} {unit} is larger than the limit of {limit}: send smaller ones")]
    TooLarge {
        /// The unit of the limit: changes or bytes.
        unit: &'static str,
        /// The size of the batch.
        found: usize,
        /// The limit.
        limit: usize,
    },
    /// A text cannot be embedded.
    #[error("cannot embed the batch")]
    Embed(#[from] EmbedError),
    /// The vectors of the workspace were made by another model.
    #[error("{0}; re-embed the workspace first")]
    Stale(Box<StaleVectors>),
    /// The model of the workspace is being changed already.
    #[error(
        "the vectors of this workspace are being made by {to} already: wait until that is done"
    )]
    ModelChanging {
        /// The model that it is being changed to.
        to: Model,
    },
    /// The idempotency key of the batch was used for another request.
    #[error("the key {name:?} was used for another request: use another key")]
    KeyUsed {
        /// The key.
        name: String,
    },
    /// The disk is full. The store is unchanged, and reads go on.
    #[error("no room to write: free some disk space and send the batch again")]
    Full {
        /// The error of the disk.
        #[source]
        cause: Cause,
    },
    /// Too many files are open. The store is unchanged, and takes writes again when others are closed.
    #[error(transparent)]
    TooManyFiles(#[from] TooManyFiles),
    /// The batch is durable, but searches do not see it until the index can be written again.
    #[error(
        "stored as revision {revision}, but the index cannot be written; searches show it after \
         the next write or start that succeeds"
    )]
    NotSearchable {
        /// The revision of the batch.
        revision: Revision,
        /// Why the index failed.
        #[source]
        cause: Cause,
    },
    /// The disk failed and its content is unknown. The store has to be opened again.
    #[error("the disk failed and writing has stopped: open the store again to recover")]
    Stopped {
        /// The first failure.
        #[source]
        cause: Cause,
    },
    /// Stored data that the write needs does not read back as it was written.
    #[error("{what} is damaged: run `haversack check`, and restore a backup")]
    Damaged {
        /// The damaged part.
        what: String,
    },
    /// The shared journal cannot be reached. Nothing was written.
    #[error("the shared journal cannot be reached, and nothing was written: try again")]
    Unavailable {
        /// Why not.
        #[source]
        cause: Cause,
    },
    /// The commit was cut off between the journal and this node. The batch may have been written.
    #[error(
        "the commit was cut off, and the batch may have been written: send it again with the same \
         idempotency key"
    )]
    Unknown {
        /// Why.
        #[source]
        cause: Cause,
    },
    /// The workspace was changed elsewhere in a way that needs it to be opened again. Nothing was
    /// written.
    #[error("the workspace has to be opened again, and nothing was written: {why}: try again")]
    Outdated {
        /// Why.
        why: String,
    },
    /// The store cannot be written.
    #[error("the store cannot be written")]
    Storage {
        /// Why not.
        #[source]
        cause: Cause,
    },
}

fn problems_line(problems: &[ChangeProblem]) -> String {
    let mut line =
        problems.iter().take(3).map(ChangeProblem::to_string).collect::<Vec<_>>().join("; ");
    if problems.len() > 3 {
        line.push_str(&format!("; and {} more", problems.len() - 3));
    }
    line
}

/// An error and its chain of causes, in one line.
#[must_use]
pub fn error_chain(error: &dyn StdError) -> String {
    let mut line = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        line.push_str(": ");
        line.push_str(&error.to_string());
        cause = error.source();
    }
    line
}
