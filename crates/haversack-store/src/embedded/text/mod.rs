//! The full-text and fuzzy index, on Tantivy.
//!
//! It is derived data and can be rebuilt. It may hold rows that a viewer cannot read: a
//! [`VisibleRows`] restricts every search, and hits, scores, order and counts are those of an index
//! that holds only the visible rows.

mod count;
mod cursor;
mod directory;
mod excerpt;
mod files;
mod fuzzy;
mod index;
mod named;
mod open;
mod phrase;
mod query;
mod reader;
mod schema;
mod search;
mod visible;
mod writers;

use std::path::PathBuf;

use haversack_core::text::terms::Language;

pub use count::EXPANSION_MAX;
pub use excerpt::{EXCERPT_TEXT_BYTES_MAX, TextExcerpt, excerpt};
pub use fuzzy::{FuzzyField, FuzzyHit, FuzzyHits, QUERY_TRIGRAMS_MAX, SIMILARITY_MIN};
pub use index::{OpenedTextIndex, TextIndex};
pub use open::FORMAT;
pub use query::{
    IgnoredParts, MatchRule, PHRASE_WORDS_MAX, PHRASES_MAX, QueryOptions, TERMS_MAX, TextQuery,
};
pub use reader::TextReader;
pub use schema::BODY_TRIGRAMS_MAX;
pub use search::Weights;
pub use visible::{Statistics, VisibleRows};
pub(crate) use writers::TextWriters;

use super::row::Row;
use crate::revision::Revision;

/// A chunk of an item to index.
#[derive(Debug, Clone, Copy)]
pub struct TextDocument<'a> {
    /// The version of the item.
    pub row: Row,
    /// The number of the chunk in it. The first is 0.
    pub chunk: u32,
    /// Tie-breaker: at equal scores the lower comes first.
    pub tie: u64,
    /// The item's title.
    pub title: &'a str,
    /// The item's path.
    pub path: &'a str,
    /// The headings above the chunk and its byline; scored as title.
    pub headings: &'a str,
    /// The text of the chunk.
    pub body: &'a str,
    /// The language of all texts.
    pub language: Language,
}

/// A document found by a search.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TextHit {
    /// The version of the item.
    pub row: Row,
    /// The chunk of it.
    pub chunk: u32,
    /// Above 0; comparable within one search.
    pub score: f32,
}

/// The content of an index at opening.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TextIndexState {
    /// Empty: it is new.
    Fresh,
    /// Everything up to a revision.
    At(Revision),
    /// Empty: the old content was unusable.
    Emptied {
        /// Why not.
        reason: String,
    },
}

/// Why the text index could not do something.
#[derive(Debug, thiserror::Error)]
pub enum TextError {
    /// Made by a newer version; nothing was changed.
    #[error("the text index has format {found}, newer than {known}, the newest known here")]
    Newer {
        /// The format of the files.
        found: u32,
        /// The newest format that can be read.
        known: u32,
    },
    /// Another process, or another index of this one, has the folder open.
    #[error("the text index in {} is in use", path.display())]
    Locked {
        /// The folder.
        path: PathBuf,
        /// What Tantivy said.
        source: tantivy::TantivyError,
    },
    /// The folder cannot be used.
    #[error("the folder {} of the text index cannot be used", path.display())]
    File {
        /// The folder.
        path: PathBuf,
        /// What the operating system said.
        source: std::io::Error,
    },
    /// Writing failed. The writer is dead: reopen it and repeat what was not committed.
    #[error("writing to the text index failed")]
    Write(#[source] tantivy::TantivyError),
    /// An earlier error ended the writer; reopen it.
    #[error("the writer of the text index ended with an earlier error")]
    WriterDead,
    /// A file is lost or damaged, or the index could not be made anew.
    #[error("the text index is damaged: {what}")]
    Damaged {
        /// What is wrong.
        what: String,
    },
    /// Reading failed.
    #[error("reading the text index failed")]
    Read(#[source] tantivy::TantivyError),
}

impl TextError {
    fn read(error: std::io::Error) -> TextError {
        TextError::Read(error.into())
    }
}

#[cfg(test)]
mod tests;
