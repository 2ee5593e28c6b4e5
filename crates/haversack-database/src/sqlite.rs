//! Rows of a SQLite file, which is opened read-only.

use std::path::Path;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rusqlite::types::ValueRef;
use rusqlite::{Connection, ErrorCode, InterruptHandle, OpenFlags, Params, Row, Statement};
use serde_json::{Number, Value};

use crate::DatabaseLimits;
use crate::error::DatabaseError;
use crate::query::{Cell, Column, RowQuery};

/// How long a lock of another process is waited for.
const BUSY: Duration = Duration::from_secs(5);

/// A SQLite file, open for reading.
#[derive(Debug)]
pub(crate) struct SqliteDatabase {
    connection: Connection,
    shown: String,
    timeout: Duration,
}

impl SqliteDatabase {
    pub(crate) fn open(
        path: &Path,
        limits: DatabaseLimits,
    ) -> Result<SqliteDatabase, DatabaseError> {
        let shown = format!("sqlite:{}", path.display());
        let unreachable = |cause: rusqlite::Error| DatabaseError::Unreachable {
            database: shown.clone(),
            cause: cause.into(),
        };
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(path, flags).map_err(unreachable)?;
        connection.busy_timeout(BUSY).map_err(unreachable)?;
        // A second lock: neither a query nor a database that it attaches can be written.
        connection.pragma_update(None, "query_only", true).map_err(unreachable)?;
        // A file that is no database is found at the first read.
        let read = connection.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()));
        read.map_err(unreachable)?;
        Ok(SqliteDatabase { connection, shown, timeout: limits.statement })
    }

    pub(crate) fn columns(&mut self, sql: &str) -> Result<Vec<Column>, DatabaseError> {
        let failure = |error| self.failure(error);
        let statement = self.connection.prepare(sql).map_err(failure)?;
        if statement.parameter_count() > 0 {
            let message = "it has parameters, which nothing is bound to".to_owned();
            return Err(DatabaseError::Statement { message });
        }
        let column = |name: &str| Column { name: name.to_owned(), type_name: None };
        Ok(statement.column_names().map(column).collect())
    }

    pub(crate) fn read<E: From<DatabaseError>>(
        &mut self,
        query: &RowQuery<'_>,
        sink: &mut dyn FnMut(Vec<Cell>) -> Result<(), E>,
    ) -> Result<(), E> {
        let failure = |error| self.failure(error);
        let mut statement = self.connection.prepare(&query.statement("?1")).map_err(failure)?;
        if !statement.readonly() {
            let message = "it is not a query that only reads".to_owned();
            return Err(DatabaseError::Writes { message }.into());
        }
        let clock = StepClock::start(self.connection.get_interrupt_handle(), self.timeout);
        std::thread::scope(|scope| {
            scope.spawn(|| clock.watch());
            let _end = EndOnDrop(&clock);
            match query.from {
                Some(from) => self.step((&mut statement, &clock), [parameter(from)], sink),
                None => self.step((&mut statement, &clock), [], sink),
            }
        })
    }

    fn step<E: From<DatabaseError>>(
        &self,
        (statement, clock): (&mut Statement<'_>, &StepClock),
        parameters: impl Params,
        sink: &mut dyn FnMut(Vec<Cell>) -> Result<(), E>,
    ) -> Result<(), E> {
        let count = statement.column_count();
        let mut rows = statement.query(parameters).map_err(|error| self.failure(error))?;
        loop {
            clock.begin_step();
            let row = rows.next();
            clock.end_step();
            let Some(row) = row.map_err(|error| self.failure(error))? else { return Ok(()) };
            let cells = (0..count).map(|index| cell(row, index)).collect::<Result<_, _>>();
            sink(cells.map_err(|error| self.failure(error))?)?;
        }
    }

    fn failure(&self, error: rusqlite::Error) -> DatabaseError {
        let database = self.shown.clone();
        match error.sqlite_error_code() {
            Some(ErrorCode::OperationInterrupted) => {
                DatabaseError::Timeout { database, seconds: self.timeout.as_secs() }
            }
            Some(ErrorCode::ReadOnly) => DatabaseError::Writes { message: error.to_string() },
            Some(
                ErrorCode::SystemIoFailure
                | ErrorCode::DatabaseCorrupt
                | ErrorCode::NotADatabase
                | ErrorCode::DatabaseBusy
                | ErrorCode::DatabaseLocked,
            ) => DatabaseError::Lost { database, cause: error.into() },
            _ => DatabaseError::Query { database, message: error.to_string() },
        }
    }
}

/// The value that the cursor starts at, as SQLite compares it: numbers as numbers, texts as texts.
fn parameter(value: &Value) -> rusqlite::types::Value {
    match value {
        Value::Number(number) => match (number.as_i64(), number.as_f64()) {
            (Some(whole), _) => whole.into(),
            (None, Some(real)) => real.into(),
            (None, None) => number.to_string().into(),
        },
        Value::String(text) => text.clone().into(),
        other => other.to_string().into(),
    }
}

fn cell(row: &Row<'_>, index: usize) -> Result<Cell, rusqlite::Error> {
    Ok(match row.get_ref(index)? {
        ValueRef::Null => Cell::Value(Value::Null),
        ValueRef::Integer(value) => Cell::Value(value.into()),
        ValueRef::Real(value) => Cell::Value(
            Number::from_f64(value).map_or_else(|| value.to_string().into(), Value::Number),
        ),
        ValueRef::Text(bytes) => match std::str::from_utf8(bytes) {
            Ok(text) => Cell::Value(text.into()),
            Err(_) => Cell::Unreadable("text that is not UTF-8".to_owned()),
        },
        ValueRef::Blob(_) => Cell::Unreadable("blob".to_owned()),
    })
}

/// Interrupts a query that gives no row for too long. The time that rows take elsewhere does not count.
struct StepClock {
    interrupt: InterruptHandle,
    timeout: Duration,
    state: Mutex<ClockState>,
    changed: Condvar,
}

/// What the query is doing.
#[derive(Clone, Copy)]
enum ClockState {
    /// It looks for the next row, until then at the latest.
    Stepping(Instant),
    /// Its row is being used.
    Waiting,
    /// It is over.
    Ended,
}

impl StepClock {
    const fn start(interrupt: InterruptHandle, timeout: Duration) -> StepClock {
        let (state, changed) = (Mutex::new(ClockState::Waiting), Condvar::new());
        StepClock { interrupt, timeout, state, changed }
    }

    fn lock(&self) -> MutexGuard<'_, ClockState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set(&self, state: ClockState) {
        *self.lock() = state;
        self.changed.notify_all();
    }

    fn begin_step(&self) {
        self.set(ClockState::Stepping(Instant::now() + self.timeout));
    }

    fn end_step(&self) {
        // The watching thread wakes by itself at its deadline and looks again.
        *self.lock() = ClockState::Waiting;
    }

    fn watch(&self) {
        let mut state = self.lock();
        loop {
            let now = Instant::now();
            let wait = match *state {
                ClockState::Ended => return,
                ClockState::Waiting => self.timeout,
                ClockState::Stepping(until) if until <= now => {
                    // Under the lock, so that the step is still the one that took too long.
                    self.interrupt.interrupt();
                    self.timeout
                }
                ClockState::Stepping(until) => until - now,
            };
            let woken = self.changed.wait_timeout(state, wait);
            state = woken.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

/// Ends the clock, also when the sink panics: its thread would be waited for without end.
struct EndOnDrop<'a>(&'a StepClock);

impl Drop for EndOnDrop<'_> {
    fn drop(&mut self) {
        self.0.set(ClockState::Ended);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{Address, Database};

    fn database(setup: &str) -> (tempfile::TempDir, Database) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("shop.db");
        Connection::open(&path).unwrap().execute_batch(setup).unwrap();
        let address = Address::Sqlite(path);
        let database = Database::open(&address, DatabaseLimits::default()).unwrap();
        (folder, database)
    }

    fn rows(
        database: &mut Database,
        query: &RowQuery<'_>,
    ) -> Result<Vec<Vec<Cell>>, DatabaseError> {
        let mut rows = Vec::new();
        database.read(query, &mut |row| {
            rows.push(row);
            Ok::<(), DatabaseError>(())
        })?;
        Ok(rows)
    }

    fn all(sql: &str) -> RowQuery<'_> {
        RowQuery { sql, id: "id", cursor: None, from: None }
    }

    #[test]
    fn rows_come_in_order_from_a_bound_value() {
        let (_folder, mut database) = database(
            "CREATE TABLE t (id INTEGER, at TEXT, x BLOB);
             INSERT INTO t VALUES (3, 'b', 1.5), (1, 'b', x'00'), (2, 'a', NULL), (4, NULL, 'x');",
        );
        let columns = database.columns("select id, at, x from t;").unwrap();
        assert_eq!(
            columns.iter().map(|it| it.name.as_str()).collect::<Vec<_>>(),
            ["id", "at", "x"]
        );
        let from = json!("b");
        let query = RowQuery {
            sql: "select id, at, x from t",
            id: "id",
            cursor: Some("at"),
            from: Some(&from),
        };
        let value = |value: Value| Cell::Value(value);
        let expected = vec![
            vec![value(json!(4)), value(Value::Null), value(json!("x"))],
            vec![value(json!(1)), value(json!("b")), Cell::Unreadable("blob".to_owned())],
            vec![value(json!(3)), value(json!("b")), value(json!(1.5))],
        ];
        assert_eq!(rows(&mut database, &query).unwrap(), expected);
    }

    #[test]
    fn nothing_can_be_written_through_a_query() {
        let (folder, mut database) =
            database("CREATE TABLE t (id INTEGER); INSERT INTO t VALUES (1);");
        let other = folder.path().join("other.db");
        for sql in [
            "select id from t) as x; delete from t; select * from (select id from t".to_owned(),
            "delete from t returning id".to_owned(),
            format!("attach '{}' as o", other.display()),
            "with x as (select 1 as id) insert into t select id from x".to_owned(),
        ] {
            let columns = database.columns(&sql);
            let read = rows(&mut database, &all(&sql));
            assert!(columns.is_err() || read.is_err(), "{sql}: {columns:?} {read:?}");
            assert!(read.is_err(), "{sql}: {read:?}");
        }
        assert!(!other.exists());
        assert_eq!(rows(&mut database, &all("select id from t")).unwrap().len(), 1);
    }

    #[test]
    fn a_query_without_end_is_interrupted_and_a_slow_sink_is_not() {
        let (folder, _) = database("CREATE TABLE t (id INTEGER);");
        let limits =
            DatabaseLimits { statement: Duration::from_millis(200), ..DatabaseLimits::default() };
        let path = folder.path().join("shop.db");
        let mut database = Database::open(&Address::Sqlite(path), limits).unwrap();
        let endless = "with recursive n(id) as (select 1 union all select id + 1 from n) \
                       select id from n where id < 0";
        let error = rows(&mut database, &all(endless)).unwrap_err();
        assert!(matches!(error, DatabaseError::Timeout { .. }), "{error}");
        let mut count = 0;
        let few = "select 1 as id union all select 2";
        let slow = database.read(&all(few), &mut |_| {
            count += 1;
            // Longer than the timeout, which is the database's alone.
            std::thread::sleep(Duration::from_millis(300));
            Ok::<(), DatabaseError>(())
        });
        assert!(slow.is_ok(), "{slow:?}");
        assert_eq!(count, 2);
    }

    #[test]
    fn what_is_no_database_is_told_by_its_path() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("x.db"), "not a database, but a text of some length")
            .unwrap();
        for name in ["x.db", "missing.db"] {
            let address = Address::Sqlite(folder.path().join(name));
            let error = Database::open(&address, DatabaseLimits::default()).unwrap_err();
            assert!(error.to_string().contains(name), "{error}");
        }
        assert!(!folder.path().join("missing.db").exists());
    }
}
