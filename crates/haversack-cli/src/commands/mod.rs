//! One file a command: its arguments in, its output out.

pub(crate) mod add;
mod asking;
pub(crate) mod backup;
pub(crate) mod check;
pub(crate) mod chunk;
pub(crate) mod completions;
pub(crate) mod diff;
pub(crate) mod eval;
pub(crate) mod explain;
pub(crate) mod export;
pub(crate) mod feedback;
pub(crate) mod frontier;
pub(crate) mod import;
pub(crate) mod models;
pub(crate) mod pack;
mod receipts;
pub(crate) mod recipe;
pub(crate) mod reembed;
pub(crate) mod remember;
pub(crate) mod replay;
pub(crate) mod search;
mod show;
pub(crate) mod stats;
pub(crate) mod tokens;
pub(crate) mod trim;
pub(crate) mod undo;
pub(crate) mod workspaces;
