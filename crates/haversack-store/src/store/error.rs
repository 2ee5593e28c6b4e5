//! What can go wrong: opening, reading, writing. Each says what to do next.

use crate::kinds::DefinitionError;
use std::error::Error as StdError;
use std::fmt;
use std::path::PathBuf;

use haversack_core::embed::{EmbedError, Model};
use haversack_core::ids::ItemId;
use thiserror::Error;

use crate::revision::Revision;

/// What is underneath an error, for the log.
pub type Cause = Box<dyn StdError + Send + Sync>;

/// Why a data folder or workspace cannot be opened.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum OpenError {
    /// Another process has it.
    #[error("{} is in use by process {owner}: stop it, or choose another folder", folder.display())]
    InUse {
        /// The data folder.
        folder: PathBuf,
        /// The other process, as it wrote itself down.
        owner: String,
    },
    /// The name cannot be that of a workspace.
    #[error(
        "{name:?} cannot name a workspace: use 1 to 64 of a-z, 0-9, '-', '_' and '.', beginning \
         with a letter or digit"
    )]
    Name {
        /// The refused name.
        name: String,
    },
    /// The kinds that the data folder defines cannot be read.
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
        /// Where it was looked for.
        folder: PathBuf,
    },
    /// A later version of Haversack wrote it.
    #[error(
        "{} has format {found}, and this version of haversack reads up to {known}: use a newer one",
        path.display()
    )]
    Newer {
        /// What was opened.
        path: PathBuf,
        /// Its format.
        found: u32,
        /// The newest format known here.
        known: u32,
    },
    /// It is not a store, or the store itself is damaged.
    #[error("{} is damaged: restore a backup, or export what can be read", path.display())]
    Damaged {
        /// What was opened.
        path: PathBuf,
        /// What is wrong.
        #[source]
        cause: Cause,
    },
    /// A folder or file cannot be read or written.
    #[error("cannot open {}", path.display())]
    Io {
        /// What was opened.
        path: PathBuf,
        /// Why not.
        #[source]
        cause: Cause,
    },
}

/// Vectors that were made by another model than the one in use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stale {
    /// Which model made the stored ones.
    pub stored: Model,
    /// Which model is in use.
    pub now: Model,
}

impl fmt::Display for Stale {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "vectors are stale: stored by {}, in use is {}", self.stored, self.now)
    }
}

/// Why a question has no answer.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ReadError {
    /// The question itself cannot be asked.
    #[error("{field}: {what}")]
    Invalid {
        /// The part of it that is wrong, such as `vector` or `filter.fields`.
        field: String,
        /// What is wrong with it.
        what: String,
    },
    /// The vectors were made by another model.
    #[error("{0}; re-embed the workspace")]
    Stale(Box<Stale>),
    /// Something that was stored does not read back as it was written.
    #[error("{what} is damaged: run `haversack check`")]
    Damaged {
        /// What it is.
        what: String,
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
    /// A part of a question that cannot be asked, and what is wrong with it.
    pub fn invalid(field: impl Into<String>, what: impl Into<String>) -> ReadError {
        ReadError::Invalid { field: field.into(), what: what.into() }
    }
}

/// Something wrong with one change of a batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Which change of the batch, from 0.
    pub change: usize,
    /// The item it is about, if it has a name.
    pub item: Option<ItemId>,
    /// What is wrong; names the field.
    pub message: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.item {
            Some(item) => write!(f, "{item}: {}", self.message),
            None => write!(f, "change {}: {}", self.change, self.message),
        }
    }
}

/// What somebody may not do with an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Denial {
    /// Write under an id that is not theirs to change.
    Id,
    /// Speak of it at all: for them it is not there.
    Missing,
    /// Hang something under it: for them it is not there.
    Parent,
    /// Say who may read it.
    Readers,
    /// Move it to another place.
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

/// Why nothing of a batch was written.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum CommitError {
    /// Changes that cannot be made; all of them are named, up to a hundred.
    #[error("{}", problems_line(.0))]
    Invalid(Vec<Problem>),
    /// Whoever writes may not change this.
    #[error("{item}: {denial}")]
    Denied {
        /// The item.
        item: ItemId,
        /// What they may not do with it.
        denial: Denial,
    },
    /// The batch is too large.
    #[error("a batch of {found} {unit} is larger than the limit of {limit}: send smaller ones")]
    TooLarge {
        /// What was counted.
        unit: &'static str,
        /// How many there are.
        found: usize,
        /// How many there may be.
        limit: usize,
    },
    /// A text has no vector.
    #[error("cannot embed the batch")]
    Embed(#[from] EmbedError),
    /// The vectors of the workspace were made by another model.
    #[error("{0}; re-embed the workspace first")]
    Stale(Box<Stale>),
    /// There is no room on the disk; what was there is as it was, and reads go on.
    #[error("no room to write: free some disk space and send the batch again")]
    Full {
        /// What the disk said.
        #[source]
        cause: Cause,
    },
    /// Written, but searches will not see it before the index works again.
    #[error(
        "stored as revision {revision}, but the index cannot be written; searches show it after \
         the next write or start that succeeds"
    )]
    NotSearchable {
        /// The state that was stored.
        revision: Revision,
        /// Why the index failed.
        #[source]
        cause: Cause,
    },
    /// The disk failed and what it holds is not known: open the store again.
    #[error("the disk failed and writing has stopped: open the store again to recover")]
    Stopped {
        /// What failed first.
        #[source]
        cause: Cause,
    },
    /// The store cannot be written.
    #[error("the store cannot be written")]
    Storage {
        /// Why not.
        #[source]
        cause: Cause,
    },
}

fn problems_line(problems: &[Problem]) -> String {
    let mut line = problems.iter().take(3).map(Problem::to_string).collect::<Vec<_>>().join("; ");
    if problems.len() > 3 {
        line.push_str(&format!("; and {} more", problems.len() - 3));
    }
    line
}

/// An error with all that led to it, in one line.
#[must_use]
pub fn chain(error: &dyn StdError) -> String {
    let mut line = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        line.push_str(": ");
        line.push_str(&error.to_string());
        cause = error.source();
    }
    line
}
