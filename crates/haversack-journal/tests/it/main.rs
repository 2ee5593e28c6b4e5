//! The journal against a real PostgreSQL.
#![expect(clippy::unwrap_used, reason = "a test may fail by panicking")]
#![cfg(unix)]

mod contract;
mod faults;
mod objects;
mod pooler;
mod roles;
mod support;
