//! A connection to PostgreSQL, for whoever needs one: the rows of a query here, a store elsewhere.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use tokio_postgres::{Client, Error, NoTls};

use super::address::{PostgresAddress, TlsMode};
use super::tls;
use crate::error::DatabaseError;

/// How long data that the server does not acknowledge keeps a connection.
const UNANSWERED: Duration = Duration::from_secs(30);

/// Moves the bytes of a connection, until it ends. It must be polled, by a task of its own.
pub type Driver = Pin<Box<dyn Future<Output = Result<(), Error>> + Send>>;

/// A connection: the client that sends queries, and the driver that moves the bytes.
pub struct Connected {
    /// Sends queries.
    pub client: Client,
    /// Moves the bytes.
    pub driver: Driver,
}

impl fmt::Debug for Connected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connected").finish_non_exhaustive()
    }
}

/// Connects within a time, encrypted as the address asks for it.
///
/// # Errors
/// When the server cannot be reached, cannot prove who it is, or refuses the login.
pub async fn connect(
    address: &PostgresAddress,
    timeout: Duration,
) -> Result<Connected, DatabaseError> {
    let mut config = address.config.clone();
    if config.get_connect_timeout().is_none() {
        config.connect_timeout(timeout);
    }
    config.keepalives_idle(UNANSWERED).tcp_user_timeout(UNANSWERED);
    let connecting = async {
        Ok::<Connected, DatabaseError>(match address.tls {
            TlsMode::Disable => {
                let (client, connection) =
                    config.connect(NoTls).await.map_err(|error| refused(address, error))?;
                Connected { client, driver: Box::pin(connection) }
            }
            mode => {
                let tls = tls::connector(mode, address.root_certificates.as_deref())?;
                let (client, connection) =
                    config.connect(tls).await.map_err(|error| refused(address, error))?;
                Connected { client, driver: Box::pin(connection) }
            }
        })
    };
    // The timeout in the configuration is for each address of a host, and not for the login.
    let all = config.get_connect_timeout().copied().unwrap_or(timeout).saturating_mul(2);
    match tokio::time::timeout(all, connecting).await {
        Ok(connected) => connected,
        Err(_) => {
            let cause = format!("no answer within {} seconds", all.as_secs()).into();
            Err(DatabaseError::Unreachable { database: address.to_string(), cause })
        }
    }
}

fn refused(address: &PostgresAddress, error: Error) -> DatabaseError {
    let database = address.to_string();
    match error.as_db_error() {
        Some(refusal) => DatabaseError::Denied { database, message: refusal.message().to_owned() },
        None => DatabaseError::Unreachable { database, cause: error.into() },
    }
}
