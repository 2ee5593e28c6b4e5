//! PostgreSQL: connections for whoever needs one, and the rows of a query.
//!
//! Without the feature `postgres` there is only an error that says so.

#[cfg(feature = "postgres")]
mod address;
#[cfg(feature = "postgres")]
mod connect;
#[cfg(not(feature = "postgres"))]
mod disabled;
#[cfg(feature = "postgres")]
mod rows;
#[cfg(feature = "postgres")]
mod tls;
#[cfg(feature = "postgres")]
mod value;

#[cfg(feature = "postgres")]
pub use address::{PostgresAddress, TlsMode};
#[cfg(feature = "postgres")]
pub use connect::{Connected, Driver, connect};
#[cfg(not(feature = "postgres"))]
pub use disabled::PostgresAddress;

#[cfg(not(feature = "postgres"))]
pub(crate) use disabled::PostgresDatabase;
#[cfg(feature = "postgres")]
pub(crate) use rows::PostgresDatabase;
