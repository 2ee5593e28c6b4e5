//! Errors of models, by what their owner can do about it.

use std::fmt;
use std::path::{Path, PathBuf};

use haversack_core::text::spelling::printable_name;
use thiserror::Error;

/// Why a model cannot be read, added or selected.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ModelError {
    /// A required file is missing.
    #[error("{} is missing: a model's folder has config.json, tokenizer.json and model.safetensors", path.display())]
    Missing {
        /// The file.
        path: PathBuf,
    },
    /// A file or folder cannot be read or written.
    #[error("cannot {doing} {}", path.display())]
    Io {
        /// What was tried.
        doing: &'static str,
        /// With what.
        path: PathBuf,
        /// Why it failed.
        #[source]
        cause: std::io::Error,
    },
    /// A file exceeds its size limit.
    #[error("{} has {bytes} bytes, more than the limit of {bytes_max}", path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// Its size.
        bytes: u64,
        /// The limit.
        bytes_max: u64,
    },
    /// A file is malformed.
    #[error("{} cannot be read: {cause}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        cause: String,
    },
    /// The model's architecture is not supported.
    #[error("{}: {what}", path.display())]
    Unsupported {
        /// The file that says so.
        path: PathBuf,
        /// What is not supported, and what is.
        what: String,
    },
    /// The weights do not match `config.json`.
    #[error("{}: {what}", path.display())]
    Weights {
        /// The file.
        path: PathBuf,
        /// Which tensor, what it is, what it should be.
        what: String,
    },
    /// The tokenizer's vocabulary is larger than the model's.
    #[error("{} makes ids up to {largest}, but the model has {vocabulary} words: they belong to different models", path.display())]
    Vocabulary {
        /// The tokenizer's file.
        path: PathBuf,
        /// The largest id.
        largest: u32,
        /// The vocabulary size in `config.json`.
        vocabulary: usize,
    },
    /// The files changed after they were added.
    #[error("the files in {} have changed since they were added ({found}, not {wanted}): add them again under another name", folder.display())]
    Changed {
        /// The model's folder.
        folder: PathBuf,
        /// The version that was added.
        wanted: String,
        /// What the files give.
        found: String,
    },
    /// The name is invalid.
    #[error(
        "{:?} cannot name a model: use 1 to 64 of a-z, 0-9, '-', '_' and '.', a letter or digit first",
        printable_name(name)
    )]
    Name {
        /// What was given.
        name: String,
    },
    /// The name is taken.
    #[error("there is a model {name:?} already: choose another name")]
    Taken {
        /// The name.
        name: String,
    },
    /// No model has that name.
    #[error("there is no model {:?}", printable_name(name))]
    Unknown {
        /// What was asked for.
        name: String,
        /// The available names, the built-in one included.
        available: Vec<String>,
    },
    /// The model is in use and cannot be removed.
    #[error("the model {name:?} is in use: choose another one first")]
    InUse {
        /// The name.
        name: String,
    },
}

impl ModelError {
    pub(crate) fn io(doing: &'static str, path: &Path, cause: std::io::Error) -> ModelError {
        ModelError::Io { doing, path: path.to_owned(), cause }
    }

    pub(crate) fn unreadable(path: &Path, cause: &dyn fmt::Display) -> ModelError {
        ModelError::Unreadable { path: path.to_owned(), cause: cause.to_string() }
    }

    pub(crate) fn unsupported(path: &Path, what: impl Into<String>) -> ModelError {
        ModelError::Unsupported { path: path.to_owned(), what: what.into() }
    }

    pub(crate) fn weights(path: &Path, what: impl Into<String>) -> ModelError {
        ModelError::Weights { path: path.to_owned(), what: what.into() }
    }
}
