//! Keys over nodes: those of the control database and those of the journal become the same, so that a key
//! that is created on one node works on all, and one that is revoked on one ends on all within a second.
//!
//! Both sides only ever gain: a key appears, and later it is revoked. So it does not matter who looks first.

use std::collections::BTreeMap;
use std::sync::{Arc, Weak};
use std::time::Duration;

use haversack_store::store::journal::{Journal, JournalError, SharedRecord};
use rusqlite::{Connection, params};
use serde::{Deserialize, Serialize};

use super::keys::{Control, ControlError};
use crate::state::ServerState;

/// How often both sides are compared. A revoked key ends on other nodes after twice this at most.
const EVERY: Duration = Duration::from_millis(300);

/// The kind of the records.
const KIND: &str = "key";

/// A key as nodes share it: the columns of the control database but for the last use.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SharedKey {
    id: String,
    name: String,
    hash: Vec<u8>,
    scopes: String,
    workspaces: String,
    acts_as: String,
    created: i64,
    expires: Option<i64>,
    revoked: Option<i64>,
    model_tokens: Option<i64>,
    model_cost: Option<f64>,
}

impl SharedKey {
    /// What both sides know of a key: once revoked, it stays so.
    fn merge(&self, other: &SharedKey) -> SharedKey {
        let revoked = match (self.revoked, other.revoked) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.or(other),
        };
        SharedKey { revoked, ..self.clone() }
    }
}

/// What was seen at the last comparison.
#[derive(Debug, Default)]
struct Seen {
    journal: Option<u64>,
    here: Option<i64>,
}

/// Compares both sides once, if either changed.
fn synchronize(
    control: &Control,
    journal: &dyn Journal,
    seen: &mut Seen,
) -> Result<(), SharedKeysError> {
    use haversack_store::store::journal::wait;
    let (version, here) = (wait(journal.shared_version())?, control.data_version()?);
    if seen.journal == Some(version) && seen.here == Some(here) {
        return Ok(());
    }
    let ours = control.shared_keys()?;
    let mut theirs = BTreeMap::new();
    for record in wait(journal.shared_records(KIND))? {
        match serde_json::from_slice::<SharedKey>(&record.body) {
            Ok(key) => _ = theirs.insert(key.id.clone(), key),
            Err(error) => {
                tracing::error!(target: "haversack", key = record.name, %error, "a shared key cannot be read");
            }
        }
    }
    for key in ours.values() {
        let merged = theirs.get(&key.id).map_or_else(|| key.clone(), |their| their.merge(key));
        if theirs.get(&key.id) != Some(&merged) {
            let body = serde_json::to_vec(&merged)?;
            let record = SharedRecord { name: key.id.clone(), body };
            wait(journal.put_shared_record(KIND, &record, false))?;
        }
        theirs.insert(key.id.clone(), merged);
    }
    let missing: Vec<&SharedKey> =
        theirs.values().filter(|key| ours.get(&key.id) != Some(*key)).collect();
    if !missing.is_empty() {
        control.put_shared_keys(&missing)?;
    }
    // What was written here meanwhile is seen the next time.
    *seen = Seen { journal: Some(version), here: Some(here) };
    Ok(())
}

/// Why the keys could not be compared.
#[derive(Debug, thiserror::Error)]
enum SharedKeysError {
    #[error(transparent)]
    Control(#[from] ControlError),
    #[error(transparent)]
    Journal(#[from] JournalError),
    #[error(transparent)]
    Json(#[from] serde_json::Error),
}

/// Compares both sides before the server answers, and from then on, until the server is gone.
pub(crate) fn start(state: &Arc<ServerState>) {
    let Some(journal) = state.engine.journal() else { return };
    let mut seen = Seen::default();
    compare(state, &*journal, &mut seen);
    let state: Weak<ServerState> = Arc::downgrade(state);
    let run = move || {
        while let Some(state) = state.upgrade() {
            compare(&state, &*journal, &mut seen);
            drop(state);
            std::thread::sleep(EVERY);
        }
    };
    let builder = std::thread::Builder::new().name("haversack-keys".to_owned());
    if let Err(error) = builder.spawn(run) {
        tracing::error!(target: "haversack", %error, "keys are not shared with other nodes");
    }
}

fn compare(state: &ServerState, journal: &dyn Journal, seen: &mut Seen) {
    if let Err(error) = synchronize(&state.control, journal, seen) {
        let error = haversack_store::store::error::error_chain(&error);
        tracing::warn!(target: "haversack", error, "keys cannot be shared with other nodes now");
    }
}

impl Control {
    /// A number that changes when another connection writes, or this one.
    fn data_version(&self) -> Result<i64, ControlError> {
        self.with_connection(|connection| {
            let version: i64 =
                connection.pragma_query_value(None, "data_version", |row| row.get(0))?;
            let changes: i64 =
                connection.query_row("SELECT total_changes()", [], |row| row.get(0))?;
            Ok(version.wrapping_mul(1 << 32).wrapping_add(changes))
        })
    }

    fn shared_keys(&self) -> Result<BTreeMap<String, SharedKey>, ControlError> {
        self.with_connection(|connection| {
            let mut statement = connection.prepare(
                "SELECT id, name, hash, scopes, workspaces, sight, created, expires, revoked,
                   model_tokens, model_cost FROM keys",
            )?;
            let keys = statement.query_map([], |row| {
                Ok(SharedKey {
                    id: row.get(0)?,
                    name: row.get(1)?,
                    hash: row.get(2)?,
                    scopes: row.get(3)?,
                    workspaces: row.get(4)?,
                    acts_as: row.get(5)?,
                    created: row.get(6)?,
                    expires: row.get(7)?,
                    revoked: row.get(8)?,
                    model_tokens: row.get(9)?,
                    model_cost: row.get(10)?,
                })
            })?;
            keys.map(|key| key.map(|key| (key.id.clone(), key))).collect()
        })
    }

    fn put_shared_keys(&self, keys: &[&SharedKey]) -> Result<(), ControlError> {
        self.change_keys(|connection: &Connection| {
            let mut statement = connection.prepare(
                "INSERT INTO keys (id, name, hash, scopes, workspaces, sight, created, expires,
                   revoked, model_tokens, model_cost)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)
                 ON CONFLICT (id) DO UPDATE SET revoked = excluded.revoked",
            )?;
            for key in keys {
                statement.execute(params![
                    key.id,
                    key.name,
                    key.hash,
                    key.scopes,
                    key.workspaces,
                    key.acts_as,
                    key.created,
                    key.expires,
                    key.revoked,
                    key.model_tokens,
                    key.model_cost,
                ])?;
            }
            Ok(())
        })
    }
}
