//! Where the journal is, and how long and how much it may take.

use std::path::PathBuf;
use std::time::Duration;

use haversack_database::postgres::PostgresAddress;
use thiserror::Error;

/// The settings of a journal.
#[derive(Debug, Clone)]
pub struct JournalSettings {
    /// The database.
    pub address: PostgresAddress,
    /// The schema of its tables.
    pub(crate) schema: String,
    /// The most connections at a time.
    pub connections_max: usize,
    /// To connect, and to wait for a free connection.
    pub connect: Duration,
    /// For one statement; each MiB that it carries adds a second.
    pub statement: Duration,
    /// For removing or trimming a journal.
    pub removal: Duration,
    /// How long a lock may be held without a statement. Then the database ends it.
    pub lock_idle: Duration,
    /// How long a node that died stands in the way of the next snapshot.
    pub snapshot_lease: Duration,
    /// A folder that all nodes share, for the parts of large snapshots.
    pub objects: Option<PathBuf>,
    /// With such a folder: the bytes of a snapshot that go into the database before the rest goes there.
    pub rows_bytes_max: u64,
}

/// A setting is not valid.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SettingsError {
    /// The schema would have to be quoted.
    #[error(
        "{name:?} cannot name a schema: use 1 to 63 of a-z, 0-9 and '_', beginning with a letter"
    )]
    Schema {
        /// The invalid name.
        name: String,
    },
}

impl JournalSettings {
    /// The usual settings for a database.
    #[must_use]
    pub fn new(address: PostgresAddress) -> JournalSettings {
        JournalSettings {
            address: address.with_application_name("haversack-journal"),
            schema: "haversack".to_owned(),
            connections_max: 8,
            connect: Duration::from_secs(5),
            statement: Duration::from_secs(30),
            removal: Duration::from_secs(600),
            lock_idle: Duration::from_secs(60),
            snapshot_lease: Duration::from_secs(180),
            objects: None,
            rows_bytes_max: 64 << 20,
        }
    }

    /// The same with another schema.
    ///
    /// # Errors
    /// When it is not a plain name.
    pub fn with_schema(mut self, name: &str) -> Result<JournalSettings, SettingsError> {
        let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
        let begins = name.chars().next().is_some_and(|c| c.is_ascii_lowercase());
        if !begins || name.len() > 63 || !name.chars().all(is_plain) {
            return Err(SettingsError::Schema { name: name.to_owned() });
        }
        name.clone_into(&mut self.schema);
        Ok(self)
    }
}
