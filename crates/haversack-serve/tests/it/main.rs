//! The server as its clients meet it: on a real socket, in a real process's data folder.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod absent;
mod access;
mod authority;
mod bounds;
mod canary;
mod caps;
mod documents;
mod encodings;
mod erased;
mod files;
mod hostile;
mod inspector;
mod isolation;
mod killed;
mod limits;
mod lists;
mod mcp;
mod messages;
mod proposal;
mod repeated;
mod signed;
mod sources;
mod streams;
mod support;
mod tokens;
mod trace;
mod unseen;
mod whole;
