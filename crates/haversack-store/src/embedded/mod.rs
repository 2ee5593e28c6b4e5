//! The embedded engine: a folder per workspace, with SQLite as the source of truth and derived
//! indexes beside it.
//!
//! Each version of an item is a [`row::Row`] that is written once and never
//! changed. The indexes are supersets: they may hold rows that ended, that are not committed yet or
//! that a viewer may not read. One bitmap of rows, made for one viewer at one revision, decides
//! inside every search what exists. So visibility is decided in one place,
//! and a row outside the bitmap cannot change a result, a score or a count.

mod activity;
mod async_store;
mod backup;
mod breadcrumbs;
mod catalogue;
mod change_model;
mod check;
mod chores;
mod cleaner;
mod commit_failure;
mod create;
mod data_folder;
mod descendants;
mod engine;
mod expunge;
mod free_space;
mod health;
mod indexes;
mod links;
mod listing;
mod new_vectors;
mod pages;
mod paging;
mod reader_caches;
mod records;
mod replica;
mod resources;
mod retired;
pub mod row;
mod seals;
mod search;
mod shared_folder;
mod state;
mod steps;
pub mod text;
mod text_part;
mod undo;
mod upgrade;
pub mod vectors;
mod view;
mod writer;
mod writer_queue;

#[cfg(test)]
mod embedding_tests;
#[cfg(test)]
mod fault_tests;
#[cfg(test)]
mod faults;
#[cfg(test)]
mod tests;

pub use async_store::AsyncStore;
pub use data_folder::{DataFolder, KINDS_FILE};
pub use engine::EmbeddedStore;
pub use view::View;
