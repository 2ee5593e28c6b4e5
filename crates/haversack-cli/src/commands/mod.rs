//! One file a command: its arguments in, its output out.

pub(crate) mod chunk;
pub(crate) mod models;
pub(crate) mod pack;
mod show;
pub(crate) mod tokens;
pub(crate) mod trim;
