//! Connections to the database: a bounded number, each checked for the format of the tables when it is
//! made, and thrown away as soon as nobody knows in which state it is.
//!
//! Statements carry the types of their parameters and no name, and what is set is set for one transaction,
//! so that a pooler may give each transaction another connection.

use std::time::Duration;

use deadpool::Runtime;
use deadpool::managed::{
    Manager, Metrics, Object, Pool, PoolError, RecycleError, RecycleResult, TimeoutType, Timeouts,
};
use futures_util::future::join3;
use haversack_database::DatabaseError;
use haversack_database::postgres::connect;
use haversack_store::store::journal::JournalError;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Client, Row};

use crate::failure::{Failure, refused, unavailable};
use crate::schema;
use crate::settings::JournalSettings;

/// A parameter of a statement with its type.
pub(crate) type Parameter<'a> = (&'a (dyn ToSql + Sync), Type);

/// How much longer than the database's own timeout an answer is waited for.
const GRACE: Duration = Duration::from_secs(2);

/// The database, with its pool of connections.
pub(crate) struct Database {
    settings: JournalSettings,
    pool: Pool<Connector>,
}

/// Makes connections.
pub(crate) struct Connector {
    settings: JournalSettings,
}

impl Manager for Connector {
    type Type = Client;
    type Error = JournalError;

    async fn create(&self) -> Result<Client, JournalError> {
        let client = connect_client(&self.settings).await?;
        schema::check_format(&client, &self.settings).await?;
        Ok(client)
    }

    async fn recycle(&self, client: &mut Client, _: &Metrics) -> RecycleResult<JournalError> {
        if client.is_closed() {
            return Err(RecycleError::message("it is closed"));
        }
        Ok(())
    }
}

/// Connects without looking at the tables. Must run on the journal's runtime.
pub(crate) async fn connect_client(settings: &JournalSettings) -> Result<Client, JournalError> {
    let connected = connect(&settings.address, settings.connect).await;
    let connected = connected.map_err(|error| match error {
        // A login that is refused now may be let in later: a limit of connections, a server that starts.
        DatabaseError::Address { .. } => JournalError::Refused { cause: error.into() },
        _ => JournalError::Unavailable { cause: error.into() },
    })?;
    let driver = connected.driver;
    tokio::spawn(async move {
        if let Err(error) = driver.await {
            tracing::debug!(%error, "a connection of the journal ended");
        }
    });
    Ok(connected.client)
}

impl Database {
    pub(crate) fn new(settings: JournalSettings) -> Database {
        let limits = Timeouts {
            wait: Some(settings.connect),
            // The login and the look at the format have limits of their own.
            create: None,
            recycle: None,
        };
        let pool = Pool::builder(Connector { settings: settings.clone() })
            .max_size(settings.connections_max.max(1))
            .timeouts(limits)
            .runtime(Runtime::Tokio1)
            .build()
            .expect("a runtime is named");
        Database { settings, pool }
    }

    pub(crate) const fn settings(&self) -> &JournalSettings {
        &self.settings
    }

    pub(crate) fn place(&self) -> String {
        format!("{} ({})", self.settings.address.identity(), self.settings.schema)
    }

    /// A statement with the name of the schema in place of `{s}`.
    pub(crate) fn sql(&self, statement: &str) -> String {
        statement.replace("{s}", &self.settings.schema)
    }

    /// A connection from the pool.
    pub(crate) async fn session(&self) -> Result<Session, JournalError> {
        let client = self.pool.get().await.map_err(|error| match error {
            PoolError::Backend(error) => error,
            PoolError::Timeout(TimeoutType::Wait) => unavailable(format!(
                "all {} connections to the journal were in use for {} ms: raise the limit of \
                 connections, or send less at a time",
                self.settings.connections_max.max(1),
                self.settings.connect.as_millis()
            )),
            other => JournalError::Unavailable { cause: other.into() },
        })?;
        Ok(Session { client: Some(client), in_transaction: false })
    }

    /// Runs one reading statement in a transaction of its own and one round trip. A connection that turns
    /// out to be broken is replaced once.
    pub(crate) async fn read(
        &self,
        statement: &str,
        parameters: &[Parameter<'_>],
    ) -> Result<Vec<Row>, JournalError> {
        let statement = self.sql(statement);
        let limit = self.settings.statement;
        let begin = self.begin_statement(limit, limit);
        let mut is_repeated = false;
        loop {
            let mut session = self.session().await?;
            match session.read(&begin, &statement, parameters, limit + GRACE).await {
                Ok(rows) => return Ok(rows),
                Err(failure) if failure.breaks_connection() && !is_repeated => {
                    self.forget_idle(&failure);
                    is_repeated = true;
                }
                Err(failure) => return Err(failure.into()),
            }
        }
    }

    /// Begins a transaction whose statements may take as long as that.
    pub(crate) async fn begin(&self, limit: Duration) -> Result<Session, JournalError> {
        let begin = self.begin_statement(limit, limit);
        let mut is_repeated = false;
        loop {
            let mut session = self.session().await?;
            match session.batch(&begin, self.settings.statement + GRACE).await {
                Ok(()) => {
                    session.in_transaction = true;
                    return Ok(session);
                }
                Err(failure) if failure.breaks_connection() && !is_repeated => {
                    self.forget_idle(&failure);
                    is_repeated = true;
                }
                Err(failure) => return Err(failure.into()),
            }
        }
    }

    /// Throws idle connections away: what broke one has most likely broken all.
    pub(crate) fn forget_idle(&self, failure: &Failure) {
        tracing::debug!(?failure, "connecting to the journal again");
        drop(self.pool.retain(|_, _| false));
    }

    /// `BEGIN`, with the limits of the transaction.
    pub(crate) fn begin_statement(&self, statement: Duration, lock: Duration) -> String {
        // Zero would mean no limit.
        let millis = |limit: Duration| limit.as_millis().clamp(1, i32::MAX as u128);
        format!(
            "BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL statement_timeout = {}; \
             SET LOCAL lock_timeout = {}; SET LOCAL idle_in_transaction_session_timeout = {}",
            millis(statement),
            millis(lock),
            millis(self.settings.lock_idle)
        )
    }

    /// The limit of a statement that carries so many bytes.
    pub(crate) fn limit_for(&self, bytes: usize) -> Duration {
        self.settings.statement + Duration::from_secs((bytes >> 20) as u64)
    }
}

/// A connection in use. Dropped in the middle of anything, it is closed, which the database answers with a
/// rollback; else it goes back to the pool.
pub(crate) struct Session {
    client: Option<Object<Connector>>,
    in_transaction: bool,
}

impl Drop for Session {
    fn drop(&mut self) {
        if self.in_transaction
            && let Some(client) = self.client.take()
        {
            drop(Object::take(client));
        }
    }
}

impl Session {
    pub(crate) fn client(&self) -> &Client {
        self.client.as_ref().expect("it is taken when dropped")
    }

    pub(crate) const fn set_in_transaction(&mut self, is_in: bool) {
        self.in_transaction = is_in;
    }

    /// Waits for an answer. Until it is there, and after an error that leaves it open, the connection
    /// counts as one that cannot be used again.
    pub(crate) async fn wait<T>(
        &mut self,
        limit: Duration,
        work: impl AsyncFnOnce(&Client) -> Result<T, tokio_postgres::Error>,
    ) -> Result<T, Failure> {
        let was_in_transaction = std::mem::replace(&mut self.in_transaction, true);
        let outcome = match tokio::time::timeout(limit, work(self.client())).await {
            Ok(outcome) => outcome.map_err(Failure::from),
            Err(_) => Err(Failure::Timeout(limit)),
        };
        if outcome.as_ref().err().is_none_or(|failure| !failure.breaks_connection()) {
            self.in_transaction = was_in_transaction;
        }
        outcome
    }

    async fn batch(&mut self, statements: &str, limit: Duration) -> Result<(), Failure> {
        self.wait(limit, async |client| client.batch_execute(statements).await).await
    }

    /// A transaction of one statement, sent in one piece.
    async fn read(
        &mut self,
        begin: &str,
        statement: &str,
        parameters: &[Parameter<'_>],
        limit: Duration,
    ) -> Result<Vec<Row>, Failure> {
        let work = async |client: &Client| {
            let (begun, rows, committed) = join3(
                client.batch_execute(begin),
                client.query_typed(statement, parameters),
                client.batch_execute("COMMIT"),
            )
            .await;
            begun?;
            let rows = rows?;
            committed?;
            Ok(rows)
        };
        self.wait(limit, work).await
    }

    /// The rows of a statement in a transaction that was begun.
    pub(crate) async fn query(
        &mut self,
        statement: &str,
        parameters: &[Parameter<'_>],
        limit: Duration,
    ) -> Result<Vec<Row>, Failure> {
        self.wait(limit + GRACE, async |client| client.query_typed(statement, parameters).await)
            .await
    }

    /// Runs a statement in a transaction that was begun, and returns how many rows it changed.
    pub(crate) async fn execute(
        &mut self,
        statement: &str,
        parameters: &[Parameter<'_>],
        limit: Duration,
    ) -> Result<u64, Failure> {
        self.wait(limit + GRACE, async |client| client.execute_typed(statement, parameters).await)
            .await
    }

    /// Ends the transaction. A lost answer is [`JournalError::Unknown`].
    pub(crate) async fn commit(mut self, limit: Duration) -> Result<(), JournalError> {
        if self.client().is_closed() {
            return Err(unavailable("the connection was lost before the commit".to_owned()));
        }
        self.batch("COMMIT", limit + GRACE).await.map_err(Failure::after_commit)?;
        self.in_transaction = false;
        Ok(())
    }

    /// Takes the transaction back.
    pub(crate) async fn rollback(mut self) {
        if self.batch("ROLLBACK", GRACE).await.is_ok() {
            self.in_transaction = false;
        }
    }
}

/// A number of the journal as the database keeps it.
pub(crate) fn to_i64(number: u64) -> Result<i64, JournalError> {
    i64::try_from(number).map_err(|_| refused(format!("{number} is too large")))
}

pub(crate) fn to_u64(number: i64) -> Result<u64, JournalError> {
    u64::try_from(number).map_err(|_| refused(format!("{number} in the journal is negative")))
}
