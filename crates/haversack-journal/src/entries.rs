//! The entries of a workspace's journal: the lock on its head, appending, reading, trimming, removing.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::{join, join3};
use haversack_store::store::journal::{
    ENTRY_BYTES_MAX, EntryId, HeadLock, JournalEntry, JournalError, JournalFuture, JournalHead,
    JournalKey, JournalStatus, Position,
};
use tokio_postgres::types::Type;
use tokio_postgres::{Client, Row};

use crate::connection::{Session, to_i64, to_u64};
use crate::failure::{Failure, damaged, refused, unavailable};
use crate::heads::{HEAD_COLUMNS, head_of_row, id_of};
use crate::{Core, OwnRuntime};

/// The most entries that one statement reads.
const READ_MAX: i64 = 1_024;

/// How often two statements that see different states are run again.
const TRIES: usize = 3;

/// Reads entries from a position on: at least one, and as many more as the bytes allow.
const READ: &str = "
WITH sizes AS (
  SELECT position, sum(bytes) OVER (ORDER BY position) AS total,
         row_number() OVER (ORDER BY position) AS number
  FROM {s}.entries
  WHERE workspace = $1 AND generation = $2 AND position > $3 AND position <= $4
)
SELECT entries.position, entries.id, entries.body
FROM {s}.entries AS entries JOIN sizes ON sizes.position = entries.position
WHERE entries.workspace = $1 AND entries.generation = $2
  AND (sizes.number = 1 OR sizes.total <= $5)
ORDER BY entries.position";

/// Writes an entry and moves the head, if it is where the lock found it.
const APPEND: &str = "
WITH moved AS (
  UPDATE {s}.workspaces SET head = $3, last_id = $4
  WHERE workspace = $1 AND generation = $2 AND head = $3 - 1
  RETURNING workspace
)
INSERT INTO {s}.entries (workspace, generation, position, id, bytes, body)
SELECT $1, $2, $3, $4, $5, $6 FROM moved";

/// The lock on a head: an open transaction that has locked its row.
pub(crate) struct PostgresLock {
    core: Arc<Core>,
    runtime: Arc<OwnRuntime>,
    head: JournalHead,
    /// Taken by an append, while it reads, and when it is dropped.
    session: Option<Session>,
}

/// Locks the head of a workspace.
pub(crate) async fn lock(
    core: &Arc<Core>,
    runtime: &Arc<OwnRuntime>,
    workspace: &str,
    wait: Duration,
) -> Result<Option<PostgresLock>, JournalError> {
    let Some((session, head)) = core.lock_head(workspace, wait).await? else { return Ok(None) };
    let (core, runtime) = (Arc::clone(core), Arc::clone(runtime));
    Ok(Some(PostgresLock { core, runtime, head, session: Some(session) }))
}

impl Drop for PostgresLock {
    fn drop(&mut self) {
        if let Some(session) = self.session.take() {
            self.runtime.spawn(session.rollback());
        }
    }
}

impl HeadLock for PostgresLock {
    fn head(&self) -> &JournalHead {
        &self.head
    }

    fn read(&mut self, after: Position, bytes_max: usize) -> JournalFuture<'_, Vec<JournalEntry>> {
        // On its own connection: if all connections held locks, none would be left to read with. An error
        // costs the lock, because it ends the transaction.
        let head = self.head.clone();
        let session = self.session.take();
        let reading = crate::run_on(&self.core, &self.runtime, move |core, _| async move {
            let mut session = session.ok_or_else(lock_lost)?;
            let entries = core.read_locked(&mut session, &head, after, bytes_max).await?;
            Ok((session, entries))
        });
        Box::pin(async move {
            let (session, entries) = reading.await?;
            self.session = Some(session);
            Ok(entries)
        })
    }

    fn append(mut self: Box<Self>, id: EntryId, body: Vec<u8>) -> JournalFuture<'static, Position> {
        let session = self.session.take();
        let head = self.head.clone();
        crate::run_on(&self.core, &self.runtime, move |core, _| async move {
            core.append(session.ok_or_else(lock_lost)?, &head, id, &body).await
        })
    }
}

impl Core {
    pub(crate) async fn workspaces(&self) -> Result<Vec<String>, JournalError> {
        self.names("SELECT workspace FROM {s}.workspaces").await
    }

    pub(crate) async fn create(&self, key: &JournalKey) -> Result<JournalHead, JournalError> {
        let limit = self.database.settings().statement;
        let insert = self.database.sql(
            "INSERT INTO {s}.workspaces (workspace, generation, head, last_id) \
             VALUES ($1, $2, 0, $2) ON CONFLICT (workspace) DO NOTHING",
        );
        let select = self.database.sql(&select_head(""));
        let (workspace, generation) = parameters_of(key);
        for _ in 0..TRIES {
            let mut session = self.database.begin(limit).await?;
            let parameters = [(&workspace as _, Type::TEXT), (&generation as _, Type::BYTEA)];
            session.execute(&insert, &parameters, limit).await?;
            let rows = session.query(&select, &parameters[..1], limit).await?;
            session.commit(limit).await?;
            // Whoever removes it at this moment leaves nothing to be found.
            if let Some(row) = rows.first() {
                return head_of_row(row);
            }
        }
        Err(unavailable(format!("workspace {} is being removed", key.workspace)))
    }

    /// Locks the row of a workspace in a transaction that stays open.
    async fn lock_head(
        &self,
        workspace: &str,
        wait: Duration,
    ) -> Result<Option<(Session, JournalHead)>, JournalError> {
        let limit = self.database.settings().statement + wait;
        let begin = self.database.begin_statement(limit, wait);
        let select = self.database.sql(&select_head("FOR UPDATE"));
        let parameters: [crate::connection::Parameter<'_>; 1] = [(&workspace, Type::TEXT)];
        let mut is_repeated = false;
        let (mut session, mut rows) = loop {
            let mut session = self.database.session().await?;
            let work = async |client: &Client| {
                let (begun, rows) =
                    join(client.batch_execute(&begin), client.query_typed(&select, &parameters))
                        .await;
                begun?;
                rows
            };
            match session.wait(limit, work).await {
                Ok(rows) => {
                    session.set_in_transaction(true);
                    break (session, rows);
                }
                Err(failure) if failure.breaks_connection() && !is_repeated => {
                    self.database.forget_idle(&failure);
                    is_repeated = true;
                }
                Err(failure) => {
                    let is_lock_timeout = is_lock_timeout(&failure);
                    session.set_in_transaction(true);
                    session.rollback().await;
                    return Err(if is_lock_timeout {
                        held(workspace, wait)
                    } else {
                        failure.into()
                    });
                }
            }
        };
        if rows.is_empty() {
            // It may have been removed and created again while this waited: another statement sees that.
            rows = session.query(&select, &parameters, limit).await?;
        }
        match rows.first() {
            Some(row) => Ok(Some((session, head_of_row(row)?))),
            None => {
                session.rollback().await;
                Ok(None)
            }
        }
    }

    async fn append(
        &self,
        mut session: Session,
        head: &JournalHead,
        id: EntryId,
        body: &[u8],
    ) -> Result<Position, JournalError> {
        if body.len() > ENTRY_BYTES_MAX {
            session.rollback().await;
            let size = body.len();
            return Err(refused(format!(
                "an entry of {size} bytes; {ENTRY_BYTES_MAX} are the most"
            )));
        }
        if session.client().is_closed() {
            return Err(lock_lost());
        }
        let position = head.position.next();
        let (workspace, generation) = parameters_of(&head.key);
        let number = to_i64(position.get())?;
        let bytes = i64::try_from(body.len()).expect("it was compared");
        let limit = self.database.limit_for(body.len());
        let limits =
            self.database.sql(&format!("SET LOCAL statement_timeout = {}", limit.as_millis()));
        let append = self.database.sql(APPEND);
        let id = id.0.as_slice();
        let parameters: [crate::connection::Parameter<'_>; 6] = [
            (&workspace, Type::TEXT),
            (&generation, Type::BYTEA),
            (&number, Type::INT8),
            (&id, Type::BYTEA),
            (&bytes, Type::INT8),
            (&body, Type::BYTEA),
        ];
        let work = async |client: &Client| {
            // All three are sent before the first answer is there.
            let (limited, written, committed) = join3(
                client.batch_execute(&limits),
                client.execute_typed(&append, &parameters),
                client.batch_execute("COMMIT"),
            )
            .await;
            limited?;
            let written = written?;
            committed?;
            Ok(written)
        };
        let written = session.wait(limit + Duration::from_secs(2), work).await;
        if written.as_ref().err().is_none_or(|failure| !failure.breaks_connection()) {
            session.set_in_transaction(false);
        }
        match written.map_err(Failure::after_commit)? {
            1 => Ok(position),
            _ => {
                Err(unavailable(format!("the head of workspace {} has moved", head.key.workspace)))
            }
        }
    }

    pub(crate) async fn read(
        &self,
        key: &JournalKey,
        after: Position,
        bytes_max: usize,
    ) -> Result<Vec<JournalEntry>, JournalError> {
        for _ in 0..TRIES {
            let entries = self.read_once(key, after, bytes_max).await?;
            if !entries.is_empty() {
                return Ok(entries);
            }
            let parameters = [(&key.workspace as _, Type::TEXT)];
            let rows = self.database.read(&select_head(""), &parameters).await?;
            let head = rows.first().map(head_of_row).transpose()?;
            let Some(head) = head.filter(|head| head.key == *key) else {
                let name = &key.workspace;
                return Err(damaged(format!("generation {} of workspace {name}", key.generation)));
            };
            if head.position <= after {
                return Ok(Vec::new());
            }
            // An entry was written between the two statements, or there is none where one should be.
        }
        Err(damaged(format!("entry {} of workspace {}", after.next(), key.workspace)))
    }

    /// The entries after a position up to a gap, whatever the head is.
    async fn read_once(
        &self,
        key: &JournalKey,
        after: Position,
        bytes_max: usize,
    ) -> Result<Vec<JournalEntry>, JournalError> {
        let (workspace, generation) = parameters_of(key);
        let [first, last, bytes_max] = read_bounds(after, bytes_max)?;
        let parameters = [
            (&workspace as _, Type::TEXT),
            (&generation as _, Type::BYTEA),
            (&first as _, Type::INT8),
            (&last as _, Type::INT8),
            (&bytes_max as _, Type::INT8),
        ];
        entries_of_rows(&self.database.read(READ, &parameters).await?, after)
    }

    /// Reads in the transaction that has locked the head.
    async fn read_locked(
        &self,
        session: &mut Session,
        head: &JournalHead,
        after: Position,
        bytes_max: usize,
    ) -> Result<Vec<JournalEntry>, JournalError> {
        let (workspace, generation) = parameters_of(&head.key);
        let [first, last, bytes_max] = read_bounds(after, bytes_max)?;
        let parameters = [
            (&workspace as _, Type::TEXT),
            (&generation as _, Type::BYTEA),
            (&first as _, Type::INT8),
            (&last as _, Type::INT8),
            (&bytes_max as _, Type::INT8),
        ];
        let limit = self.database.settings().statement;
        let rows = session.query(&self.database.sql(READ), &parameters, limit).await?;
        let entries = entries_of_rows(&rows, after)?;
        if entries.is_empty() && after < head.position {
            return Err(damaged(format!("entry {} of workspace {workspace}", after.next())));
        }
        Ok(entries)
    }

    pub(crate) async fn find(
        &self,
        key: &JournalKey,
        id: EntryId,
    ) -> Result<Option<Position>, JournalError> {
        // The database ends a transaction that nobody goes on with after that time.
        let wait = self.database.settings().lock_idle + Duration::from_secs(5);
        let limit = self.database.settings().statement;
        let Some((mut session, head)) = self.lock_head(&key.workspace, wait).await? else {
            return Ok(None);
        };
        if head.key != *key {
            session.rollback().await;
            return Ok(None);
        }
        let (workspace, generation) = parameters_of(key);
        let id = id.0.as_slice();
        let parameters = [
            (&workspace as _, Type::TEXT),
            (&generation as _, Type::BYTEA),
            (&id as _, Type::BYTEA),
        ];
        let select = self.database.sql(
            "SELECT position FROM {s}.entries WHERE workspace = $1 AND generation = $2 AND id = $3",
        );
        let rows = session.query(&select, &parameters, limit).await?;
        session.rollback().await;
        let Some(row) = rows.first() else { return Ok(None) };
        Ok(Some(Position::new(to_u64(row.try_get(0).map_err(Failure::from)?)?)))
    }

    pub(crate) async fn status(
        &self,
        workspace: &str,
    ) -> Result<Option<JournalStatus>, JournalError> {
        let parameters = [(&workspace as _, Type::TEXT)];
        let rows = self.database.read(&select_head(""), &parameters).await?;
        let Some(head) = rows.first().map(head_of_row).transpose()? else { return Ok(None) };
        let (name, generation) = parameters_of(&head.key);
        let statement = "SELECT min(position), coalesce(sum(bytes), 0)::bigint FROM {s}.entries \
                         WHERE workspace = $1 AND generation = $2";
        let parameters = [(&name as _, Type::TEXT), (&generation as _, Type::BYTEA)];
        let rows = self.database.read(statement, &parameters).await?;
        let (mut first, mut bytes) = (head.position.next(), 0);
        if let Some(row) = rows.first() {
            if let Some(position) = row.try_get::<_, Option<i64>>(0).map_err(Failure::from)? {
                first = Position::new(to_u64(position)?);
            }
            bytes = to_u64(row.try_get(1).map_err(Failure::from)?)?;
        }
        let snapshot = self.snapshot(&head.key).await?;
        Ok(Some(JournalStatus { head, first, bytes, snapshot }))
    }

    pub(crate) async fn trim(
        &self,
        key: &JournalKey,
        through: Position,
    ) -> Result<u64, JournalError> {
        let limit = self.database.settings().removal;
        let snapshot = self.snapshot(key).await?;
        if snapshot.is_none_or(|snapshot| snapshot.position < through) {
            return Err(refused(format!("no snapshot has entry {through}")));
        }
        let (workspace, generation) = parameters_of(key);
        let through = to_i64(through.get())?;
        let parameters = [
            (&workspace as _, Type::TEXT),
            (&generation as _, Type::BYTEA),
            (&through as _, Type::INT8),
        ];
        let delete = self.database.sql(
            "DELETE FROM {s}.entries WHERE workspace = $1 AND generation = $2 AND position <= $3",
        );
        let mut session = self.database.begin(limit).await?;
        let removed = session.execute(&delete, &parameters, limit).await?;
        session.commit(limit).await?;
        Ok(removed)
    }

    /// Removes all rows of a workspace, and then the objects of its snapshots.
    pub(crate) async fn remove(&self, workspace: &str) -> Result<bool, JournalError> {
        let limit = self.database.settings().removal;
        let mut session = self.database.begin(limit).await?;
        let parameters: [crate::connection::Parameter<'_>; 1] = [(&workspace, Type::TEXT)];
        let select = self.database.sql(&select_head("FOR UPDATE"));
        session.query(&select, &parameters, limit).await?;
        // Whoever makes a snapshot waits for this row and then finds neither claim nor workspace.
        let claim = self.database.sql(
            "INSERT INTO {s}.snapshot_claims (workspace, snapshot, expires_at) \
             VALUES ($1, '', now()) \
             ON CONFLICT (workspace) DO UPDATE SET snapshot = '', expires_at = now()",
        );
        session.execute(&claim, &parameters, limit).await?;
        let delete = self.database.sql("DELETE FROM {s}.workspaces WHERE workspace = $1");
        let was_there = session.execute(&delete, &parameters, limit).await? > 0;
        for statement in [
            "DELETE FROM {s}.entries WHERE workspace = $1",
            // The names of objects stay until the objects are gone.
            "DELETE FROM {s}.snapshot_parts WHERE workspace = $1 AND object IS NULL",
            "DELETE FROM {s}.snapshots WHERE workspace = $1",
            "DELETE FROM {s}.snapshot_claims WHERE workspace = $1",
        ] {
            session.execute(&self.database.sql(statement), &parameters, limit).await?;
        }
        session.commit(limit).await?;
        self.remove_orphans(workspace).await?;
        Ok(was_there)
    }
}

fn select_head(lock: &str) -> String {
    format!("SELECT {HEAD_COLUMNS} FROM {{s}}.workspaces WHERE workspace = $1 {lock}")
}

pub(crate) fn parameters_of(key: &JournalKey) -> (&str, &[u8]) {
    (&key.workspace, &key.generation.0)
}

/// The bounds that [`READ`] takes.
fn read_bounds(after: Position, bytes_max: usize) -> Result<[i64; 3], JournalError> {
    let first = to_i64(after.get())?;
    let bytes_max = i64::try_from(bytes_max).unwrap_or(i64::MAX);
    Ok([first, first.saturating_add(READ_MAX), bytes_max])
}

/// The entries up to a gap.
fn entries_of_rows(rows: &[Row], after: Position) -> Result<Vec<JournalEntry>, JournalError> {
    let (mut entries, mut next) = (Vec::with_capacity(rows.len()), after.next());
    for row in rows {
        let entry = entry_of_row(row)?;
        if entry.position != next {
            break;
        }
        next = next.next();
        entries.push(entry);
    }
    Ok(entries)
}

fn lock_lost() -> JournalError {
    unavailable("the lock on the head was lost, as when it is held for too long".to_owned())
}

fn entry_of_row(row: &Row) -> Result<JournalEntry, JournalError> {
    let read = || -> Result<_, Failure> {
        Ok((row.try_get::<_, i64>(0)?, id_of(row.try_get(1)?)?, row.try_get(2)?))
    };
    let (position, id, body) = read()?;
    Ok(JournalEntry { position: Position::new(to_u64(position)?), id, body })
}

fn is_lock_timeout(failure: &Failure) -> bool {
    let Failure::Postgres(error) = failure else { return false };
    error.code() == Some(&tokio_postgres::error::SqlState::LOCK_NOT_AVAILABLE)
}

fn held(workspace: &str, wait: Duration) -> JournalError {
    unavailable(format!(
        "another node has held the head of workspace {workspace} for {} ms",
        wait.as_millis()
    ))
}
