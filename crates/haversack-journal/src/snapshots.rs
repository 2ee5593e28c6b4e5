//! Snapshots: parts under a claim that one node holds for as long as it goes on, and a switch to the new
//! one in a single transaction.
//!
//! The row of a part is there before its object is, and goes after it, so that whatever a dead node left
//! behind can be found and removed by the next one.

use std::sync::Arc;
use std::time::Duration;

use haversack_store::store::journal::{
    EntryId, JournalError, JournalFuture, JournalHead, JournalKey, JournalSnapshot, Position,
    SNAPSHOT_PART_BYTES_MAX, SnapshotPart, SnapshotSink,
};
use tokio_postgres::Row;
use tokio_postgres::types::Type;

use crate::connection::{Parameter, Session, to_i64, to_u64};
use crate::entries::parameters_of;
use crate::failure::{Failure, damaged, refused, unavailable};
use crate::heads::{HEAD_COLUMNS, head_of_row, id_of};
use crate::{Core, OwnRuntime, random_id};

/// The newest complete snapshot with its parts, as one state of the database.
const NEWEST: &str = "
SELECT s.position, s.last_id, (extract(epoch FROM s.made_at) * 1000)::bigint, s.parts,
       p.part, p.bytes, p.hash
FROM {s}.snapshots AS s LEFT JOIN {s}.snapshot_parts AS p
  ON p.workspace = s.workspace AND p.generation = s.generation AND p.snapshot = s.snapshot
WHERE s.workspace = $1 AND s.generation = $2 AND s.snapshot = (
  SELECT snapshot FROM {s}.snapshots
  WHERE workspace = $1 AND generation = $2 AND made_at IS NOT NULL
  ORDER BY position DESC, made_at DESC, snapshot LIMIT 1
)
ORDER BY p.part";

/// Takes the claim on a workspace's next snapshot if nobody holds it.
const CLAIM: &str = "
INSERT INTO {s}.snapshot_claims AS claims (workspace, snapshot, expires_at)
VALUES ($1, $2, now() + $3 * interval '1 millisecond')
ON CONFLICT (workspace) DO UPDATE SET snapshot = excluded.snapshot, expires_at = excluded.expires_at
WHERE claims.expires_at <= now()";

/// Renews a claim of this node, while the workspace lives.
const RENEW: &str = "
UPDATE {s}.snapshot_claims SET expires_at = now() + $4 * interval '1 millisecond'
WHERE workspace = $1 AND snapshot = $3
  AND EXISTS (SELECT 1 FROM {s}.workspaces WHERE workspace = $1 AND generation = $2)";

/// A snapshot in the making.
pub(crate) struct PostgresSink {
    core: Arc<Core>,
    runtime: Arc<OwnRuntime>,
    draft: Option<Draft>,
}

/// What is known of a snapshot before it is complete.
#[derive(Debug, Clone)]
struct Draft {
    key: JournalKey,
    id: EntryId,
    position: Position,
    last: EntryId,
    parts: Vec<SnapshotPart>,
    bytes: u64,
    /// Whether an error has left nobody knowing which parts are there.
    is_broken: bool,
}

/// Begins a snapshot, unless another node makes one.
pub(crate) async fn begin(
    core: &Arc<Core>,
    runtime: &Arc<OwnRuntime>,
    key: JournalKey,
    position: Position,
    last: EntryId,
) -> Result<Option<PostgresSink>, JournalError> {
    let id = random_id()?;
    if !core.claim(&key, id, position, last).await? {
        return Ok(None);
    }
    let parts = Vec::new();
    let draft = Draft { key, id, position, last, parts, bytes: 0, is_broken: false };
    let (core, runtime) = (Arc::clone(core), Arc::clone(runtime));
    // From here on, dropping it releases the claim.
    let sink = PostgresSink { core, runtime, draft: Some(draft) };
    let draft = sink.draft.as_ref().expect("it was put there");
    sink.core.remove_leftovers(draft).await?;
    Ok(Some(sink))
}

impl Drop for PostgresSink {
    fn drop(&mut self) {
        if let Some(draft) = self.draft.take() {
            let core = Arc::clone(&self.core);
            self.runtime.spawn(async move {
                if let Err(error) = core.abandon(&draft).await {
                    tracing::warn!(
                        %error,
                        workspace = draft.key.workspace,
                        "an unfinished snapshot could not be removed; the next one removes it"
                    );
                }
            });
        }
    }
}

impl SnapshotSink for PostgresSink {
    fn add(&mut self, part: Vec<u8>) -> JournalFuture<'_, ()> {
        Box::pin(async move {
            let draft = self.draft.as_mut().expect("it is taken at the end");
            if part.len() > SNAPSHOT_PART_BYTES_MAX {
                let size = part.len();
                return Err(refused(format!(
                    "a part of {size} bytes; {SNAPSHOT_PART_BYTES_MAX} are the most"
                )));
            }
            if draft.is_broken {
                return Err(refused("an earlier part of this snapshot has failed".to_owned()));
            }
            let bytes = u32::try_from(part.len()).expect("at most 4 MiB");
            let described = SnapshotPart { bytes, hash: *blake3::hash(&part).as_bytes() };
            draft.is_broken = true;
            let (copy, sent) = (draft.clone(), described.clone());
            crate::run_on(&self.core, &self.runtime, move |core, _| async move {
                core.add_part(&copy, &sent, part).await
            })
            .await?;
            draft.is_broken = false;
            draft.bytes += u64::from(bytes);
            draft.parts.push(described);
            Ok(())
        })
    }

    fn finish(mut self: Box<Self>) -> JournalFuture<'static, JournalSnapshot> {
        Box::pin(async move {
            let draft = self.draft.clone().expect("it is taken at the end");
            if draft.is_broken {
                return Err(refused("a part of this snapshot has failed".to_owned()));
            }
            let finished = crate::run_on(&self.core, &self.runtime, move |core, _| async move {
                core.finish_snapshot(&draft).await
            })
            .await;
            // After a lost answer it may be the newest one: the next one decides what is left over.
            if !matches!(finished, Err(ref error) if !matches!(error, JournalError::Unknown { .. }))
            {
                self.draft = None;
            }
            finished
        })
    }
}

impl Core {
    /// Takes the claim, and makes the row of the snapshot.
    async fn claim(
        &self,
        key: &JournalKey,
        id: EntryId,
        position: Position,
        last: EntryId,
    ) -> Result<bool, JournalError> {
        let limit = self.database.settings().statement;
        let mut session = self.database.begin(limit).await?;
        let (workspace, generation) = parameters_of(key);
        let (id, last_id, lease) = (id.0.as_slice(), last.0.as_slice(), self.lease());
        let claim = self.database.sql(CLAIM);
        let parameters: [Parameter<'_>; 3] =
            [(&workspace, Type::TEXT), (&id, Type::BYTEA), (&lease, Type::FLOAT8)];
        if session.execute(&claim, &parameters, limit).await? == 0 {
            session.rollback().await;
            return Ok(false);
        }
        let select = format!("SELECT {HEAD_COLUMNS} FROM {{s}}.workspaces WHERE workspace = $1");
        let rows = session.query(&self.database.sql(&select), &parameters[..1], limit).await?;
        let head = rows.first().map(head_of_row).transpose()?;
        if let Err(error) = self.check_snapshot(&mut session, key, head, position, last).await {
            session.rollback().await;
            return Err(error);
        }
        let insert = self.database.sql(
            "INSERT INTO {s}.snapshots (workspace, generation, snapshot, position, last_id, parts) \
             VALUES ($1, $2, $3, $4, $5, 0)",
        );
        let number = to_i64(position.get())?;
        let parameters: [Parameter<'_>; 5] = [
            (&workspace, Type::TEXT),
            (&generation, Type::BYTEA),
            (&id, Type::BYTEA),
            (&number, Type::INT8),
            (&last_id, Type::BYTEA),
        ];
        session.execute(&insert, &parameters, limit).await?;
        session.commit(limit).await?;
        Ok(true)
    }

    /// Refuses a snapshot of what was never written here.
    async fn check_snapshot(
        &self,
        session: &mut Session,
        key: &JournalKey,
        head: Option<JournalHead>,
        position: Position,
        last: EntryId,
    ) -> Result<(), JournalError> {
        let Some(head) = head.filter(|head| head.key == *key) else {
            let name = &key.workspace;
            return Err(damaged(format!("generation {} of workspace {name}", key.generation)));
        };
        if position > head.position {
            let end = head.position;
            return Err(refused(format!(
                "a snapshot at {position}, and the journal ends at {end}"
            )));
        }
        let (workspace, generation) = parameters_of(key);
        let number = to_i64(position.get())?;
        let parameters: [Parameter<'_>; 3] =
            [(&workspace, Type::TEXT), (&generation, Type::BYTEA), (&number, Type::INT8)];
        let select = self.database.sql(
            "SELECT id FROM {s}.entries WHERE workspace = $1 AND generation = $2 AND position = $3",
        );
        let limit = self.database.settings().statement;
        let rows = session.query(&select, &parameters, limit).await?;
        let written = match rows.first() {
            Some(row) => Some(id_of(row.try_get(0).map_err(Failure::from)?)?),
            None => (position == head.position).then_some(head.last),
        };
        if written.is_some_and(|written| written != last) {
            return Err(refused(format!("entry {position} is not {last}")));
        }
        Ok(())
    }

    /// The lease in milliseconds, as a number that can be multiplied with an interval.
    fn lease(&self) -> f64 {
        self.database.settings().snapshot_lease.as_secs_f64() * 1_000.0
    }

    /// Renews the claim in a transaction that was begun.
    async fn renew(&self, session: &mut Session, draft: &Draft) -> Result<(), JournalError> {
        let limit = self.database.settings().statement;
        let (workspace, generation) = parameters_of(&draft.key);
        let (id, lease) = (draft.id.0.as_slice(), self.lease());
        let parameters: [Parameter<'_>; 4] = [
            (&workspace, Type::TEXT),
            (&generation, Type::BYTEA),
            (&id, Type::BYTEA),
            (&lease, Type::FLOAT8),
        ];
        match session.execute(&self.database.sql(RENEW), &parameters, limit).await? {
            0 => Err(unavailable(
                "another node has taken over the snapshot, or the workspace is gone".to_owned(),
            )),
            _ => Ok(()),
        }
    }

    async fn add_part(
        &self,
        draft: &Draft,
        part: &SnapshotPart,
        body: Vec<u8>,
    ) -> Result<(), JournalError> {
        let limit = self.database.limit_for(body.len());
        let number = draft.parts.len();
        let total = draft.bytes + u64::from(part.bytes);
        let is_large = total > self.database.settings().rows_bytes_max;
        let folder = self.objects.as_ref().filter(|_| is_large);
        let object = folder.map(|_| object_name(draft, number));
        let mut session = self.database.begin(limit).await?;
        self.renew(&mut session, draft).await?;
        let (workspace, generation) = parameters_of(&draft.key);
        let (id, hash) = (draft.id.0.as_slice(), part.hash.as_slice());
        let (bytes, number) = (i64::from(part.bytes), to_i64(number as u64)?);
        let row_body = object.is_none().then_some(body.as_slice());
        let parameters: [Parameter<'_>; 8] = [
            (&workspace, Type::TEXT),
            (&generation, Type::BYTEA),
            (&id, Type::BYTEA),
            (&number, Type::INT8),
            (&bytes, Type::INT8),
            (&hash, Type::BYTEA),
            (&object, Type::TEXT),
            (&row_body, Type::BYTEA),
        ];
        let insert = self.database.sql(
            "INSERT INTO {s}.snapshot_parts \
             (workspace, generation, snapshot, part, bytes, hash, object, body) \
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
        );
        session.execute(&insert, &parameters, limit).await?;
        session.commit(limit).await?;
        match (folder, object) {
            (Some(folder), Some(name)) => folder.put(&name, body).await,
            _ => Ok(()),
        }
    }

    async fn finish_snapshot(&self, draft: &Draft) -> Result<JournalSnapshot, JournalError> {
        let limit = self.database.settings().statement;
        let newest = self.snapshot(&draft.key).await?;
        if let Some(newer) = newest.filter(|newest| newest.position > draft.position) {
            let (newer, own) = (newer.position, draft.position);
            return Err(refused(format!("there is a snapshot at {newer}, newer than {own}")));
        }
        let mut session = self.database.begin(limit).await?;
        self.renew(&mut session, draft).await?;
        let (workspace, generation) = parameters_of(&draft.key);
        let (id, parts) = (draft.id.0.as_slice(), to_i64(draft.parts.len() as u64)?);
        let parameters: [Parameter<'_>; 4] = [
            (&workspace, Type::TEXT),
            (&generation, Type::BYTEA),
            (&id, Type::BYTEA),
            (&parts, Type::INT8),
        ];
        let update = self.database.sql(
            "UPDATE {s}.snapshots SET made_at = now(), parts = $4 \
             WHERE workspace = $1 AND generation = $2 AND snapshot = $3 \
             RETURNING (extract(epoch FROM made_at) * 1000)::bigint",
        );
        let rows = session.query(&update, &parameters, limit).await?;
        let Some(row) = rows.first() else {
            return Err(damaged("the row of the snapshot".to_owned()));
        };
        let made_at = row.try_get(0).map_err(Failure::from)?;
        session.commit(limit).await?;
        // The snapshot is the newest one now, whatever happens to the older ones.
        if let Err(error) = self.end_claim(draft).await {
            tracing::warn!(
                %error,
                workspace,
                "older snapshots could not be removed; the next one removes them"
            );
        }
        let Draft { key, position, last, parts, .. } = draft.clone();
        Ok(JournalSnapshot { key, position, last, made_at, parts })
    }

    async fn end_claim(&self, draft: &Draft) -> Result<(), JournalError> {
        self.remove_leftovers(draft).await?;
        self.release_claim(draft).await
    }

    async fn release_claim(&self, draft: &Draft) -> Result<(), JournalError> {
        let id = draft.id.0.as_slice();
        let workspace = draft.key.workspace.as_str();
        let delete = "DELETE FROM {s}.snapshot_claims WHERE workspace = $1 AND snapshot = $2";
        self.change(delete, &[(&workspace, Type::TEXT), (&id, Type::BYTEA)]).await
    }

    /// Removes what was written of a snapshot that is not finished.
    async fn abandon(&self, draft: &Draft) -> Result<(), JournalError> {
        let (workspace, generation) = parameters_of(&draft.key);
        let id = draft.id.0.as_slice();
        let parameters: [Parameter<'_>; 3] =
            [(&workspace, Type::TEXT), (&generation, Type::BYTEA), (&id, Type::BYTEA)];
        let delete = "DELETE FROM {s}.snapshots WHERE workspace = $1 AND generation = $2 \
                      AND snapshot = $3 AND made_at IS NULL";
        self.change(delete, &parameters).await?;
        self.remove_orphans(workspace).await?;
        self.release_claim(draft).await
    }

    /// Removes all snapshots of a workspace but the newest complete one and the one being made. The claim
    /// is held meanwhile: without it, the newest one could be another by now.
    async fn remove_leftovers(&self, draft: &Draft) -> Result<(), JournalError> {
        let limit = self.database.settings().removal;
        let mut session = self.database.begin(limit).await?;
        self.renew(&mut session, draft).await?;
        let (workspace, generation) = parameters_of(&draft.key);
        let own = draft.id.0.as_slice();
        let delete = self.database.sql(
            "DELETE FROM {s}.snapshots WHERE workspace = $1 AND snapshot <> $3 \
             AND snapshot <> coalesce((\
               SELECT snapshot FROM {s}.snapshots \
               WHERE workspace = $1 AND generation = $2 AND made_at IS NOT NULL \
               ORDER BY position DESC, made_at DESC, snapshot LIMIT 1\
             ), '')",
        );
        let parameters: [Parameter<'_>; 3] =
            [(&workspace, Type::TEXT), (&generation, Type::BYTEA), (&own, Type::BYTEA)];
        session.execute(&delete, &parameters, limit).await?;
        session.commit(limit).await?;
        self.remove_orphans(workspace).await
    }

    /// Removes the parts of a workspace that belong to no snapshot: their objects first, each with the row
    /// that names it.
    pub(crate) async fn remove_orphans(&self, workspace: &str) -> Result<(), JournalError> {
        let orphaned = "p.workspace = $1 AND NOT EXISTS (\
                        SELECT 1 FROM {s}.snapshots AS s WHERE s.workspace = p.workspace \
                        AND s.generation = p.generation AND s.snapshot = p.snapshot)";
        let parameters: [Parameter<'_>; 1] = [(&workspace, Type::TEXT)];
        let select = format!(
            "SELECT p.object, p.generation, p.snapshot, p.part FROM {{s}}.snapshot_parts AS p \
             WHERE p.object IS NOT NULL AND {orphaned}"
        );
        for row in self.database.read(&select, &parameters).await? {
            let (name, generation, id, part) = object_of_row(&row)?;
            let Some(folder) = &self.objects else {
                let why = format!("object {name} is in a folder that is not configured here");
                return Err(refused(why));
            };
            folder.delete(&name).await?;
            let parameters: [Parameter<'_>; 4] = [
                (&workspace, Type::TEXT),
                (&generation, Type::BYTEA),
                (&id, Type::BYTEA),
                (&part, Type::INT8),
            ];
            let delete = "DELETE FROM {s}.snapshot_parts WHERE workspace = $1 \
                          AND generation = $2 AND snapshot = $3 AND part = $4";
            self.change(delete, &parameters).await?;
        }
        let delete =
            format!("DELETE FROM {{s}}.snapshot_parts AS p WHERE p.object IS NULL AND {orphaned}");
        self.change(&delete, &parameters).await
    }

    /// Runs one statement that may be repeated in a transaction of its own.
    async fn change(
        &self,
        statement: &str,
        parameters: &[Parameter<'_>],
    ) -> Result<(), JournalError> {
        let limit: Duration = self.database.settings().removal;
        let mut session = self.database.begin(limit).await?;
        session.execute(&self.database.sql(statement), parameters, limit).await?;
        session.commit(limit).await
    }

    pub(crate) async fn snapshot(
        &self,
        key: &JournalKey,
    ) -> Result<Option<JournalSnapshot>, JournalError> {
        let (workspace, generation) = parameters_of(key);
        let parameters: [Parameter<'_>; 2] = [(&workspace, Type::TEXT), (&generation, Type::BYTEA)];
        let rows = self.database.read(NEWEST, &parameters).await?;
        let Some(first) = rows.first() else { return Ok(None) };
        snapshot_of_rows(key, first, &rows).map(Some)
    }

    pub(crate) async fn snapshot_part(
        &self,
        snapshot: &JournalSnapshot,
        number: usize,
    ) -> Result<Vec<u8>, JournalError> {
        let what = || {
            let (name, position) = (&snapshot.key.workspace, snapshot.position);
            damaged(format!("part {number} of the snapshot of workspace {name} at {position}"))
        };
        let part = snapshot.parts.get(number).ok_or_else(what)?;
        let (workspace, generation) = parameters_of(&snapshot.key);
        let (hash, number) = (part.hash.as_slice(), to_i64(number as u64)?);
        let select = "SELECT p.object, p.body FROM {s}.snapshot_parts AS p \
                      JOIN {s}.snapshots AS s ON s.workspace = p.workspace \
                      AND s.generation = p.generation AND s.snapshot = p.snapshot \
                      WHERE p.workspace = $1 AND p.generation = $2 AND p.part = $3 \
                      AND p.hash = $4 AND s.position = $5 AND s.made_at IS NOT NULL LIMIT 1";
        let position = to_i64(snapshot.position.get())?;
        let parameters: [Parameter<'_>; 5] = [
            (&workspace, Type::TEXT),
            (&generation, Type::BYTEA),
            (&number, Type::INT8),
            (&hash, Type::BYTEA),
            (&position, Type::INT8),
        ];
        let rows = self.database.read(select, &parameters).await?;
        let row = rows.first().ok_or_else(what)?;
        let object: Option<String> = row.try_get(0).map_err(Failure::from)?;
        let body: Option<Vec<u8>> = row.try_get(1).map_err(Failure::from)?;
        let body = match (object, &self.objects) {
            (None, _) => body,
            (Some(name), Some(folder)) => folder.get(&name).await?,
            (Some(_), None) => {
                let why = "the snapshot is in a folder of objects that is not configured here";
                return Err(refused(why.to_owned()));
            }
        };
        let body = body.filter(|body| *blake3::hash(body).as_bytes() == part.hash);
        body.ok_or_else(what)
    }
}

fn object_name(draft: &Draft, number: usize) -> String {
    let JournalKey { workspace, generation } = &draft.key;
    format!("{workspace}/{generation}/{}/{number}", draft.id)
}

fn object_of_row(row: &Row) -> Result<(String, Vec<u8>, Vec<u8>, i64), Failure> {
    Ok((row.try_get(0)?, row.try_get(1)?, row.try_get(2)?, row.try_get(3)?))
}

fn snapshot_of_rows(
    key: &JournalKey,
    first: &Row,
    rows: &[Row],
) -> Result<JournalSnapshot, JournalError> {
    let read = || -> Result<_, Failure> {
        let position = Position::new(to_u64(first.try_get(0)?)?);
        let last = id_of(first.try_get(1)?)?;
        Ok((position, last, first.try_get(2)?, first.try_get::<_, i64>(3)?))
    };
    let (position, last, made_at, count) = read()?;
    let what = || {
        let name = &key.workspace;
        damaged(format!("a part of the snapshot of workspace {name} at {position}"))
    };
    let mut parts = Vec::new();
    for row in rows {
        let part = || -> Result<_, Failure> {
            let Some(number) = row.try_get::<_, Option<i64>>(4)? else { return Ok(None) };
            Ok(Some((number, row.try_get::<_, i64>(5)?, row.try_get::<_, &[u8]>(6)?)))
        };
        let Some((number, bytes, hash)) = part()? else { continue };
        if usize::try_from(number) != Ok(parts.len()) {
            return Err(what());
        }
        let bytes = u32::try_from(bytes).map_err(|_| what())?;
        parts.push(SnapshotPart { bytes, hash: hash.try_into().map_err(|_| what())? });
    }
    if i64::try_from(parts.len()) != Ok(count) {
        return Err(what());
    }
    Ok(JournalSnapshot { key: key.clone(), position, last, made_at, parts })
}
