//! The rows of a query: one portal of one read-only transaction, fetched in pages.

use std::error::Error as StdError;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use bytes::BytesMut;
use futures_util::StreamExt;
use serde_json::Value;
use tokio::runtime::{Builder, Runtime};
use tokio_postgres::error::SqlState;
use tokio_postgres::types::{Format, IsNull, ToSql, Type, to_sql_checked};
use tokio_postgres::{Client, Error, IsolationLevel, Portal, Row, RowStream, Transaction};

use super::address::PostgresAddress;
use super::connect::connect;
use super::value::RowCell;
use crate::DatabaseLimits;
use crate::error::DatabaseError;
use crate::query::{Cell, Column, RowQuery};

/// Rows of the first page, of which nothing is known yet.
const FIRST_ROWS: i32 = 50;

/// Most rows of a page.
const ROWS_MAX: i32 = 1_000;

/// About the bytes of a page. What is larger is handed out while the server still sends the rest.
const PAGE_BYTES: usize = 8 << 20;

/// How long a server that does not keep to its own timeout is waited for beyond it.
const GRACE: Duration = Duration::from_secs(15);

/// An open PostgreSQL database.
pub(crate) struct PostgresDatabase {
    client: Client,
    runtime: Runtime,
    shown: String,
    timeout: Duration,
}

impl fmt::Debug for PostgresDatabase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PostgresDatabase").field("address", &self.shown).finish_non_exhaustive()
    }
}

impl PostgresDatabase {
    pub(crate) fn open(
        address: &PostgresAddress,
        limits: DatabaseLimits,
    ) -> Result<PostgresDatabase, DatabaseError> {
        let shown = address.to_string();
        let unreachable = |cause: std::io::Error| DatabaseError::Unreachable {
            database: shown.clone(),
            cause: cause.into(),
        };
        let runtime = Builder::new_current_thread().enable_all().build().map_err(unreachable)?;
        let connected = runtime.block_on(connect(address, limits.connect))?;
        // How the connection ends is told by the query that it ends.
        drop(runtime.spawn(connected.driver));
        Ok(PostgresDatabase { client: connected.client, runtime, shown, timeout: limits.statement })
    }

    pub(crate) fn columns(&mut self, sql: &str) -> Result<Vec<Column>, DatabaseError> {
        let caller = Caller { shown: &self.shown, timeout: self.timeout };
        self.runtime.block_on(async {
            let transaction = caller.begin(&mut self.client).await?;
            let statement = caller.wait(transaction.prepare(sql)).await?;
            if !statement.params().is_empty() {
                let message = "it has parameters, which nothing is bound to".to_owned();
                return Err(DatabaseError::Statement { message });
            }
            let column = |column: &tokio_postgres::Column| Column {
                name: column.name().to_owned(),
                type_name: Some(column.type_().name().to_owned()),
            };
            let columns = statement.columns().iter().map(column).collect();
            caller.wait(transaction.rollback()).await?;
            Ok(columns)
        })
    }

    pub(crate) fn read<E: From<DatabaseError>>(
        &mut self,
        query: &RowQuery<'_>,
        sink: &mut dyn FnMut(Vec<Cell>) -> Result<(), E>,
    ) -> Result<(), E> {
        let caller = Caller { shown: &self.shown, timeout: self.timeout };
        let (runtime, client) = (&self.runtime, &mut self.client);
        let (transaction, portal) = runtime.block_on(async {
            let transaction = caller.begin(client).await?;
            let statement = caller.wait(transaction.prepare(&query.statement("$1"))).await?;
            let from = query.from.map(|from| TextParameter(parameter_text(from)));
            let parameters: Vec<&(dyn ToSql + Sync)> =
                from.iter().map(|from| from as &(dyn ToSql + Sync)).collect();
            let portal = caller.wait(transaction.bind(&statement, &parameters)).await?;
            Ok::<_, DatabaseError>((transaction, portal))
        })?;
        let mut pages = Pages { rows: FIRST_ROWS, stream: None, received: 0, largest: 1 };
        // Rows are handed out between two calls of the runtime: what takes them may have one of its own.
        while let Some(page) = runtime.block_on(pages.next(&transaction, &portal, caller))? {
            for row in page {
                sink(row)?;
            }
        }
        runtime.block_on(caller.wait(transaction.rollback()))?;
        Ok(())
    }
}

/// Waits for the server, and says what its errors mean.
#[derive(Clone, Copy)]
struct Caller<'a> {
    shown: &'a str,
    timeout: Duration,
}

impl Caller<'_> {
    async fn begin(self, client: &mut Client) -> Result<Transaction<'_>, DatabaseError> {
        // One state of the tables for the whole run, and no way to change them.
        let builder = client.build_transaction().read_only(true);
        let transaction =
            self.wait(builder.isolation_level(IsolationLevel::RepeatableRead).start()).await?;
        // Numbers alone are formatted in. The time between two pages is ours, not the server's.
        let settings = format!(
            "SET LOCAL statement_timeout = {}; SET LOCAL idle_in_transaction_session_timeout = 0",
            self.timeout.as_millis().min(i32::MAX.unsigned_abs().into())
        );
        self.wait(transaction.batch_execute(&settings)).await?;
        Ok(transaction)
    }

    async fn wait<T>(
        self,
        answer: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, DatabaseError> {
        match tokio::time::timeout(self.timeout + GRACE, answer).await {
            Ok(answer) => answer.map_err(|error| self.failure(error)),
            Err(_) => Err(self.too_long()),
        }
    }

    fn too_long(self) -> DatabaseError {
        let (database, seconds) = (self.shown.to_owned(), self.timeout.as_secs());
        DatabaseError::Timeout { database, seconds }
    }

    fn failure(self, error: Error) -> DatabaseError {
        let database = self.shown.to_owned();
        let Some(refusal) = error.as_db_error() else {
            return DatabaseError::Lost { database, cause: error.into() };
        };
        let mut message = refusal.message().to_owned();
        for more in [refusal.detail(), refusal.hint()].into_iter().flatten() {
            message = format!("{message} ({more})");
        }
        match *refusal.code() {
            SqlState::QUERY_CANCELED => self.too_long(),
            SqlState::READ_ONLY_SQL_TRANSACTION => DatabaseError::Writes { message },
            SqlState::ADMIN_SHUTDOWN
            | SqlState::CRASH_SHUTDOWN
            | SqlState::CANNOT_CONNECT_NOW
            | SqlState::IDLE_IN_TRANSACTION_SESSION_TIMEOUT => {
                DatabaseError::Lost { database, cause: error.into() }
            }
            _ => DatabaseError::Query { database, message },
        }
    }
}

/// Fetches the rows of a portal in pages whose size follows that of the rows.
///
/// The server's timeout is for one page, so a page is received as a whole before it is handed out, unless it
/// is too large for that.
struct Pages {
    /// Rows of the next page.
    rows: i32,
    /// The page that is being received.
    stream: Option<Pin<Box<RowStream>>>,
    /// Rows of that page so far.
    received: i32,
    /// Bytes of the largest row so far.
    largest: usize,
}

impl Pages {
    /// The next rows; `None` after the last.
    async fn next(
        &mut self,
        transaction: &Transaction<'_>,
        portal: &Portal,
        caller: Caller<'_>,
    ) -> Result<Option<Vec<Vec<Cell>>>, DatabaseError> {
        let mut stream = match self.stream.take() {
            Some(stream) => stream,
            None if self.rows == 0 => return Ok(None),
            None => {
                self.received = 0;
                Box::pin(caller.wait(transaction.query_portal_raw(portal, self.rows)).await?)
            }
        };
        let (mut page, mut bytes) = (Vec::new(), 0);
        loop {
            let Some(row) = caller.wait(async { stream.next().await.transpose() }).await? else {
                // A page that is not full is the last.
                self.rows = if self.received < self.rows { 0 } else { self.rows_of_next_page() };
                return Ok(Some(page));
            };
            self.received += 1;
            self.largest = self.largest.max(row.raw_size_bytes());
            bytes += row.raw_size_bytes();
            page.push(cells(&row, caller)?);
            if bytes >= PAGE_BYTES {
                self.stream = Some(stream);
                return Ok(Some(page));
            }
        }
    }

    fn rows_of_next_page(&self) -> i32 {
        i32::try_from(PAGE_BYTES / self.largest.max(1)).unwrap_or(ROWS_MAX).clamp(1, ROWS_MAX)
    }
}

fn cells(row: &Row, caller: Caller<'_>) -> Result<Vec<Cell>, DatabaseError> {
    let cell = |index| row.try_get::<_, RowCell>(index).map(|RowCell(cell)| cell);
    (0..row.len()).map(cell).collect::<Result<_, _>>().map_err(|error| caller.failure(error))
}

fn parameter_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// A parameter as text: the server reads it as the type of the column that it is compared with.
#[derive(Debug)]
struct TextParameter(String);

impl ToSql for TextParameter {
    fn to_sql(
        &self,
        _: &Type,
        out: &mut BytesMut,
    ) -> Result<IsNull, Box<dyn StdError + Sync + Send>> {
        out.extend_from_slice(self.0.as_bytes());
        Ok(IsNull::No)
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    fn encode_format(&self, _: &Type) -> Format {
        Format::Text
    }

    to_sql_checked!();
}
