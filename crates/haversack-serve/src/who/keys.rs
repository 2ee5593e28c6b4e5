//! API keys in the control database: SQLite beside the workspaces, which several processes can open, so
//! that keys are created and revoked while the server runs. The next request sees such a change.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use haversack_core::units::Timestamp;
use haversack_provider::DailyCap;
use rusqlite::{Connection, OptionalExtension, params};
use thiserror::Error;

use super::{Access, ActsAs, Grant, KeyScope, KeyToken};

/// How long to wait for another process's write.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// How often the last use of a key is recorded.
const NOTED_EVERY_MS: i64 = 60_000;

/// Responses stored per key, operation and workspace, and for how long.
const REPEATS_MAX: u64 = 10_000;
const REPEATS_KEPT_MS: i64 = 24 * 60 * 60 * 1_000;

/// The file in a data folder.
const FILE: &str = "control.db";

const SCHEMA: &str = "
CREATE TABLE IF NOT EXISTS keys (
  id TEXT PRIMARY KEY, name TEXT NOT NULL, hash BLOB NOT NULL, scopes TEXT NOT NULL,
  workspaces TEXT NOT NULL, sight TEXT NOT NULL, created INTEGER NOT NULL,
  expires INTEGER, revoked INTEGER, used INTEGER
) STRICT;
CREATE TABLE IF NOT EXISTS repeats (
  place TEXT NOT NULL, name TEXT NOT NULL, request BLOB NOT NULL, status INTEGER NOT NULL,
  body BLOB NOT NULL, at INTEGER NOT NULL, PRIMARY KEY (place, name)
) STRICT, WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS repeats_at ON repeats (at);";

/// A stored API key.
#[derive(Debug, Clone, PartialEq)]
pub struct ApiKey {
    /// Its id, which is part of the token.
    pub id: String,
    /// What it is for.
    pub name: String,
    /// What it may do.
    pub scopes: BTreeSet<KeyScope>,
    /// The workspaces it may use.
    pub workspaces: Grant,
    /// The user it acts as.
    pub acts_as: ActsAs,
    /// When it was made.
    pub created: Timestamp,
    /// When it ends.
    pub expires: Option<Timestamp>,
    /// When it was revoked.
    pub revoked: Option<Timestamp>,
    /// When it was last used, to a minute.
    pub used: Option<Timestamp>,
    /// What its requests may use of models in a day.
    pub model_cap: DailyCap,
    hash: [u8; 32],
}

impl ApiKey {
    /// Whether it is neither expired nor revoked.
    #[must_use]
    pub fn is_valid(&self, now: Timestamp) -> bool {
        self.revoked.is_none() && self.expires.is_none_or(|expires| now < expires)
    }

    fn access(&self) -> Access {
        Access {
            credential: self.id.clone(),
            scopes: self.scopes.clone(),
            workspaces: self.workspaces.clone(),
            acts_as: self.acts_as.clone(),
            model_cap: self.model_cap,
        }
    }
}

/// A key to create.
#[derive(Debug, Clone, PartialEq)]
pub struct NewKey {
    /// What it is for.
    pub name: String,
    /// What it may do.
    pub scopes: BTreeSet<KeyScope>,
    /// The workspaces it may use.
    pub workspaces: Grant,
    /// The user it acts as.
    pub acts_as: ActsAs,
    /// When it ends.
    pub expires: Option<Timestamp>,
    /// What its requests may use of models in a day.
    pub model_cap: DailyCap,
}

/// Why the control database cannot be used.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ControlError {
    /// SQLite refuses.
    #[error("the control database cannot be used")]
    Storage(#[from] rusqlite::Error),
    /// What was stored does not read back.
    #[error("the control database holds a key that cannot be read")]
    Form(#[from] serde_json::Error),
    /// The system has no randomness.
    #[error("the system gives no random numbers: {0}")]
    Random(getrandom::Error),
    /// There is no such key.
    #[error("there is no key {id:?}: `haversack key list` shows them")]
    Missing {
        /// The id.
        id: String,
    },
}

/// The response to a request with an idempotency key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StoredResponse {
    /// A hash of the request.
    pub(crate) request: [u8; 32],
    pub(crate) status: u16,
    pub(crate) body: Vec<u8>,
}

/// The control database.
#[derive(Debug)]
pub struct Control(Mutex<OpenControl>);

#[derive(Debug)]
struct OpenControl {
    connection: Connection,
    /// The version of the database that `keys` was read from.
    version: Option<i64>,
    keys: BTreeMap<String, ApiKey>,
}

impl Control {
    /// Whether a data folder has a control database: servers and keys make one.
    #[must_use]
    pub fn exists(folder: &Path) -> bool {
        folder.join(FILE).exists()
    }

    /// Opens or creates the control database of a data folder.
    ///
    /// # Errors
    /// When it cannot be opened.
    pub fn open(folder: &Path) -> Result<Control, ControlError> {
        let connection = Connection::open(folder.join(FILE))?;
        connection.busy_timeout(BUSY_TIMEOUT)?;
        connection.pragma_update(None, "journal_mode", "WAL")?;
        connection.pragma_update(None, "synchronous", "FULL")?;
        connection.execute_batch(SCHEMA)?;
        add_missing_columns(&connection)?;
        Ok(Control(Mutex::new(OpenControl { connection, version: None, keys: BTreeMap::new() })))
    }

    fn lock(&self) -> MutexGuard<'_, OpenControl> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs a query.
    pub(super) fn with_connection<T>(
        &self,
        query: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, ControlError> {
        Ok(query(&self.lock().connection)?)
    }

    /// Changes the stored keys; the next request reads them again.
    pub(super) fn change_keys(
        &self,
        change: impl FnOnce(&Connection) -> rusqlite::Result<()>,
    ) -> Result<(), ControlError> {
        let mut open = self.lock();
        open.version = None;
        Ok(change(&open.connection)?)
    }

    /// Creates a key. The token is not stored: a lost one cannot be recovered.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn create(&self, new: &NewKey, now: Timestamp) -> Result<KeyToken, ControlError> {
        let token = KeyToken::generate().map_err(ControlError::Random)?;
        let mut open = self.lock();
        open.connection.execute(
            "INSERT INTO keys
               (id, name, hash, scopes, workspaces, sight, created, expires, model_tokens, model_cost)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
            params![
                token.id,
                new.name,
                token.hash().as_bytes(),
                serde_json::to_string(&new.scopes)?,
                serde_json::to_string(&new.workspaces)?,
                serde_json::to_string(&new.acts_as)?,
                now.as_millis(),
                new.expires.map(Timestamp::as_millis),
                new.model_cap.tokens.map(|tokens| i64::try_from(tokens).unwrap_or(i64::MAX)),
                new.model_cap.cost,
            ],
        )?;
        open.version = None;
        Ok(token)
    }

    /// The keys, the oldest first.
    ///
    /// # Errors
    /// When they cannot be read.
    pub fn list(&self) -> Result<Vec<ApiKey>, ControlError> {
        let mut open = self.lock();
        open.refresh()?;
        let mut keys: Vec<ApiKey> = open.keys.values().cloned().collect();
        keys.sort_by(|a, b| a.created.cmp(&b.created).then_with(|| a.id.cmp(&b.id)));
        Ok(keys)
    }

    /// Revokes a key, at once and for good.
    ///
    /// # Errors
    /// When there is no such key, or it cannot be written.
    pub fn revoke(&self, id: &str, now: Timestamp) -> Result<(), ControlError> {
        let mut open = self.lock();
        let changed = open.connection.execute(
            "UPDATE keys SET revoked = coalesce(revoked, ?2) WHERE id = ?1",
            params![id, now.as_millis()],
        )?;
        open.version = None;
        if changed == 0 { Err(ControlError::Missing { id: id.to_owned() }) } else { Ok(()) }
    }

    /// What a token grants; `None` if it is unknown, wrong, expired or revoked, without distinction.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn access(&self, token: &KeyToken, now: Timestamp) -> Result<Option<Access>, ControlError> {
        let mut open = self.lock();
        open.refresh()?;
        // An unknown id takes the same path as a wrong secret.
        let hash = token.hash();
        let known = open.keys.get(&token.id);
        let stored = blake3::Hash::from_bytes(known.map_or([0; 32], |key| key.hash));
        let proved = stored == hash;
        let Some(key) = known.filter(|key| proved && key.is_valid(now)) else { return Ok(None) };
        let access = key.access();
        let noted =
            key.used.is_some_and(|used| now.as_millis() - used.as_millis() < NOTED_EVERY_MS);
        if !noted {
            open.note_use(&token.id, now);
            if let Some(key) = open.keys.get_mut(&token.id) {
                key.used = Some(now);
            }
        }
        Ok(Some(access))
    }

    /// Reads the stored response of an idempotency key.
    pub(crate) fn stored_response(
        &self,
        place: &str,
        name: &str,
        now: Timestamp,
    ) -> Result<Option<StoredResponse>, ControlError> {
        let open = self.lock();
        let found = open.connection.query_row(
            "SELECT request, status, body FROM repeats WHERE place = ?1 AND name = ?2
               AND at > ?3 AND at < ?4",
            params![
                place,
                name,
                now.as_millis() - REPEATS_KEPT_MS,
                now.as_millis() + REPEATS_KEPT_MS
            ],
            |row| {
                Ok(StoredResponse { request: row.get(0)?, status: row.get(1)?, body: row.get(2)? })
            },
        );
        Ok(found.optional()?)
    }

    /// Removes the stored responses of a workspace that was removed.
    pub(crate) fn forget_responses(&self, workspace: &str) -> Result<(), ControlError> {
        let open = self.lock();
        // A place ends with the name of its workspace.
        open.connection.execute(
            "DELETE FROM repeats WHERE substr(place, -length(?1) - 1) = ' ' || ?1",
            [workspace],
        )?;
        Ok(())
    }

    /// Removes the keys that act as a user; returns how many there were. All stored responses go, too:
    /// those of others may quote the user, and what was written is not written again without them.
    pub(crate) fn erase_user(&self, user: &str) -> Result<u64, ControlError> {
        let mut open = self.lock();
        open.version = None;
        open.refresh()?;
        let is_theirs =
            |key: &&ApiKey| matches!(&key.acts_as, ActsAs::User { name, .. } if name == user);
        let ids: Vec<String> =
            open.keys.values().filter(is_theirs).map(|key| key.id.clone()).collect();
        open.version = None;
        let connection = &mut open.connection;
        connection.pragma_update(None, "secure_delete", "ON")?;
        let transaction = connection.transaction()?;
        for id in &ids {
            transaction.execute("DELETE FROM keys WHERE id = ?", [id])?;
        }
        transaction.execute("DELETE FROM repeats", [])?;
        transaction.commit()?;
        // Without what earlier versions left in free pages, and without the log.
        connection.execute_batch("VACUUM; PRAGMA wal_checkpoint(TRUNCATE)")?;
        Ok(ids.len() as u64)
    }

    /// Stores the response of an idempotency key.
    pub(crate) fn store_response(
        &self,
        place: &str,
        name: &str,
        repeat: &StoredResponse,
        now: Timestamp,
    ) -> Result<(), ControlError> {
        let open = self.lock();
        open.connection.execute(
            "INSERT OR REPLACE INTO repeats (place, name, request, status, body, at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            params![place, name, repeat.request, repeat.status, repeat.body, now.as_millis()],
        )?;
        open.connection.execute(
            // Those of a clock that was ahead would outlive all others.
            "DELETE FROM repeats WHERE at <= ?1 OR at >= ?4 OR place = ?3 AND name IN
             (SELECT name FROM repeats WHERE place = ?3 ORDER BY at DESC LIMIT -1 OFFSET ?2)",
            params![
                now.as_millis() - REPEATS_KEPT_MS,
                REPEATS_MAX,
                place,
                now.as_millis() + REPEATS_KEPT_MS
            ],
        )?;
        Ok(())
    }
}

impl OpenControl {
    /// Records the use of a key without waiting: a full disk or another writer must not refuse a valid
    /// key.
    fn note_use(&self, id: &str, now: Timestamp) {
        let write = || {
            self.connection.busy_timeout(Duration::ZERO)?;
            let written = self
                .connection
                .execute("UPDATE keys SET used = ?2 WHERE id = ?1", params![id, now.as_millis()]);
            self.connection.busy_timeout(BUSY_TIMEOUT)?;
            written
        };
        if let Err(error) = write() {
            tracing::warn!(target: "haversack", %error, "the use of a key cannot be recorded");
        }
    }

    /// Reads the keys again if the database has changed.
    fn refresh(&mut self) -> Result<(), ControlError> {
        let version: i64 =
            self.connection.pragma_query_value(None, "data_version", |row| row.get(0))?;
        if self.version == Some(version) {
            return Ok(());
        }
        let mut statement = self.connection.prepare(
            "SELECT id, name, hash, scopes, workspaces, sight, created, expires, revoked, used,
               model_tokens, model_cost
             FROM keys",
        )?;
        let mut rows = statement.query([])?;
        let mut keys = BTreeMap::new();
        while let Some(row) = rows.next()? {
            let (scopes, workspaces, acts_as): (String, String, String) =
                (row.get(3)?, row.get(4)?, row.get(5)?);
            let moment = |column: usize| -> rusqlite::Result<Option<Timestamp>> {
                Ok(row.get::<_, Option<i64>>(column)?.map(Timestamp::from_millis))
            };
            let key = ApiKey {
                id: row.get(0)?,
                name: row.get(1)?,
                hash: row.get(2)?,
                scopes: serde_json::from_str(&scopes)?,
                workspaces: serde_json::from_str(&workspaces)?,
                acts_as: serde_json::from_str(&acts_as)?,
                created: Timestamp::from_millis(row.get(6)?),
                expires: moment(7)?,
                revoked: moment(8)?,
                used: moment(9)?,
                model_cap: DailyCap {
                    tokens: row
                        .get::<_, Option<i64>>(10)?
                        .and_then(|tokens| tokens.try_into().ok()),
                    cost: row.get(11)?,
                },
            };
            keys.insert(key.id.clone(), key);
        }
        drop(rows);
        drop(statement);
        self.keys = keys;
        self.version = Some(version);
        Ok(())
    }
}

/// Adds the columns that databases of earlier versions lack.
fn add_missing_columns(connection: &Connection) -> Result<(), ControlError> {
    let has_column = |name: &str| {
        let query = "SELECT 1 FROM pragma_table_info('keys') WHERE name = ?1";
        connection.query_row(query, params![name], |_| Ok(())).optional()
    };
    for (name, definition) in [("model_tokens", "INTEGER"), ("model_cost", "REAL")] {
        if has_column(name)?.is_some() {
            continue;
        }
        let added =
            connection.execute_batch(&format!("ALTER TABLE keys ADD COLUMN {name} {definition}"));
        // Another process may have added it meanwhile.
        if let Err(error) = added
            && has_column(name)?.is_none()
        {
            return Err(error.into());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_millis(seconds * 1_000)
    }

    fn reader(expires: Option<Timestamp>) -> NewKey {
        NewKey {
            name: "reader".into(),
            scopes: [KeyScope::Read].into(),
            workspaces: Grant::Only(["acme".to_owned()].into()),
            acts_as: ActsAs::Anyone,
            expires,
            model_cap: DailyCap { tokens: Some(5_000), cost: Some(0.25) },
        }
    }

    #[test]
    fn a_database_of_an_earlier_version_gets_caps_and_keeps_its_keys() {
        let folder = tempfile::tempdir().unwrap();
        let old = Connection::open(folder.path().join("control.db")).unwrap();
        old.execute_batch(SCHEMA).unwrap();
        let insert = "INSERT INTO keys (id, name, hash, scopes, workspaces, sight, created)
                      VALUES ('old', 'reader', zeroblob(32), '[]', '\"all\"', '\"trusted\"', 1)";
        old.execute_batch(insert).unwrap();
        let control = Control::open(folder.path()).unwrap();
        assert!(control.list().unwrap()[0].model_cap.is_none());
        let token = control.create(&reader(None), at(1)).unwrap();
        let access = Control::open(folder.path()).unwrap().access(&token, at(2)).unwrap().unwrap();
        assert_eq!(access.model_cap, DailyCap { tokens: Some(5_000), cost: Some(0.25) });
    }

    #[test]
    fn a_key_works_until_it_expires_or_is_revoked_by_anyone() {
        let folder = tempfile::tempdir().unwrap();
        let server = Control::open(folder.path()).unwrap();
        let other = Control::open(folder.path()).unwrap();
        let token = other.create(&reader(Some(at(100))), at(1)).unwrap();
        let access = server.access(&token, at(2)).unwrap().unwrap();
        assert!(access.reaches(KeyScope::Read) && !access.reaches(KeyScope::Write));
        assert!(access.enters("acme") && !access.enters("umbrella"));
        assert_eq!(server.access(&token, at(100)).unwrap(), None, "expired");
        other.revoke(&token.id, at(3)).unwrap();
        assert_eq!(server.access(&token, at(4)).unwrap(), None, "revoked by another process");
        assert!(other.revoke("nobody", at(5)).is_err());
        assert_eq!(other.list().unwrap()[0].used, Some(at(2)));
    }

    #[test]
    fn wrong_secrets_are_refused_and_secrets_are_not_stored() {
        let folder = tempfile::tempdir().unwrap();
        let control = Control::open(folder.path()).unwrap();
        let token = control.create(&reader(None), at(1)).unwrap();
        let forged = format!("hvs_{}_{}", token.id, "0".repeat(64));
        let forged = KeyToken::parse(&forged).unwrap();
        assert_eq!(control.access(&forged, at(2)).unwrap(), None);
        drop(control);
        let secret = token.reveal().rsplit('_').next().unwrap().to_owned();
        for entry in std::fs::read_dir(folder.path()).unwrap() {
            let bytes = std::fs::read(entry.unwrap().path()).unwrap();
            assert!(!bytes.windows(secret.len()).any(|window| window == secret.as_bytes()));
        }
    }

    #[test]
    fn a_response_is_stored_for_a_day() {
        let folder = tempfile::tempdir().unwrap();
        let control = Control::open(folder.path()).unwrap();
        let repeat = StoredResponse { request: [7; 32], status: 200, body: b"{}".to_vec() };
        control.store_response("acme k", "a", &repeat, at(10)).unwrap();
        let stored = repeat.clone();
        assert_eq!(control.stored_response("acme k", "a", at(11)).unwrap(), Some(repeat));
        assert_eq!(control.stored_response("umbrella k", "a", at(11)).unwrap(), None);
        assert_eq!(control.stored_response("acme k", "a", at(10 + 24 * 3_600)).unwrap(), None);
        let is_stored =
            |place: &str| control.stored_response(place, "a", at(11)).unwrap().is_some();
        control.forget_responses("me k").unwrap();
        assert!(is_stored("acme k"), "the end of a name is not the name");
        control.forget_responses("k").unwrap();
        assert!(!is_stored("acme k"));
        // Of a clock that was ahead: it does not stay for ever, nor in the place of later ones.
        control.store_response("acme k", "b", &stored, at(1_000_000_000)).unwrap();
        assert_eq!(control.stored_response("acme k", "b", at(12)).unwrap(), None);
        control.store_response("acme k", "c", &stored, at(12)).unwrap();
        let count = "SELECT count(*) FROM repeats";
        let left: i64 = control.lock().connection.query_row(count, [], |row| row.get(0)).unwrap();
        assert_eq!(left, 1, "the response of the clock that was ahead is gone");
    }
}
