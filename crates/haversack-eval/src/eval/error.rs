//! Errors of an evaluation.

use std::path::{Path, PathBuf};

use thiserror::Error;

/// Why an evaluation failed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum EvalError {
    /// A file or folder cannot be read.
    #[error("cannot read {}", .path.display())]
    Read {
        /// Which.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// A folder lacks files of a set.
    #[error("{}: {what}", .path.display())]
    Folder {
        /// Which.
        path: PathBuf,
        /// What is missing, and what is expected.
        what: String,
    },
    /// A line of a file is wrong.
    #[error("{}, line {line}: {what}", .path.display())]
    Line {
        /// Which file.
        path: PathBuf,
        /// Which line, from 1.
        line: u64,
        /// What is wrong with it; begins with the field.
        what: String,
    },
    /// An option is wrong.
    #[error("{option}: {what}")]
    Option {
        /// Which.
        option: &'static str,
        /// What is wrong with it, and what is expected.
        what: String,
    },
    /// The recipe cannot be used.
    #[error(transparent)]
    Recipe(Box<haversack::Error>),
    /// The documents cannot be stored.
    #[error("{set}: the documents cannot be stored")]
    Store {
        /// Which set.
        set: String,
        /// Why.
        #[source]
        source: Box<haversack::Error>,
    },
    /// The files of a corpus cannot be added.
    #[error("{set}: the files cannot be added")]
    Add {
        /// Which set.
        set: String,
        /// Why.
        #[source]
        source: Box<haversack::ingest::IngestError>,
    },
    /// The packs of a question cannot be built.
    #[error("{set}, question {question:?}: the pack cannot be built")]
    Pack {
        /// Which set.
        set: String,
        /// Which question, by its id.
        question: String,
        /// Why.
        #[source]
        source: Box<haversack::Error>,
    },
    /// A question cannot be asked, or the workspace cannot be read.
    #[error("line {line}, question {question:?}")]
    Data {
        /// The line of the question.
        line: u64,
        /// Which question, by its id.
        question: String,
        /// Why.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The event handler failed.
    #[error("cannot write the results")]
    EventHandler(#[source] std::io::Error),
}

impl EvalError {
    pub(crate) fn read(path: &Path) -> impl FnOnce(std::io::Error) -> EvalError {
        let path = path.to_owned();
        |source| EvalError::Read { path, source }
    }

    pub(crate) fn folder(path: &Path, what: impl Into<String>) -> EvalError {
        EvalError::Folder { path: path.to_owned(), what: what.into() }
    }

    pub(crate) fn line(path: &Path, line: u64, what: impl Into<String>) -> EvalError {
        EvalError::Line { path: path.to_owned(), line, what: what.into() }
    }
}
