//! The embedded engine: a folder per workspace, SQLite as the truth, derived indexes beside it.
//!
//! One idea carries it. Each version of an item is a [`row::Row`] that is written once and never
//! changed. The indexes are supersets: they may hold rows that died, that are not committed yet or
//! that a viewer may not read. One bitmap of rows, made for one viewer at one revision, decides
//! inside every search what exists. So there is one place where visibility is decided, and what
//! is not in the bitmap cannot change a result, a score or a count.

mod activity;
mod backup;
mod bridge;
mod catalogue;
mod check;
mod descendants;
mod engine;
mod home;
mod indexes;
mod links;
mod listing;
mod paging;
mod records;
mod reembed;
mod refresh;
pub mod row;
mod seals;
mod search;
mod state;
pub mod text;
mod trails;
mod undo;
pub mod vectors;
mod view;
mod writer;

#[cfg(test)]
mod tests;

pub use bridge::Offloaded;
pub use engine::Embedded;
pub use home::{Home, KINDS_FILE};
pub use view::View;
