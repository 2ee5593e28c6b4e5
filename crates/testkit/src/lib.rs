//! What tests need beside our own code. Only tests may use it; it fails by panicking.
#![forbid(unsafe_code)]
#![expect(clippy::unwrap_used, reason = "a test may fail by panicking, helpers included")]

#[cfg(unix)]
mod postgres;

#[cfg(unix)]
pub use postgres::PostgresServer;
