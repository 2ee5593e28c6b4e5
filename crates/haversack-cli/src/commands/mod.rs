//! One file a command: its arguments in, its output out.

pub(crate) mod add;
pub(crate) mod backup;
pub(crate) mod check;
pub(crate) mod chunk;
pub(crate) mod eval;
pub(crate) mod export;
pub(crate) mod import;
pub(crate) mod models;
pub(crate) mod pack;
pub(crate) mod recipe;
pub(crate) mod reembed;
pub(crate) mod search;
mod show;
pub(crate) mod stats;
pub(crate) mod tokens;
pub(crate) mod trim;
pub(crate) mod undo;
pub(crate) mod workspaces;
