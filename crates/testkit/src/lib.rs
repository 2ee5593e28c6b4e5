//! What tests need beside our own code. Only tests may use it; it fails by panicking.
#![forbid(unsafe_code)]
#![expect(clippy::unwrap_used, reason = "a test may fail by panicking, helpers included")]

#[cfg(unix)]
mod pgbouncer;
#[cfg(unix)]
mod postgres;
mod proxy;

#[cfg(unix)]
pub use pgbouncer::PgBouncer;
#[cfg(unix)]
pub use postgres::PostgresServer;
pub use proxy::{Proxy, ProxyFault};
