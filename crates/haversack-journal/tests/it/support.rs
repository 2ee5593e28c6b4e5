//! Journals in a PostgreSQL of one test.

use std::sync::Arc;
use std::time::Duration;

use haversack_conformance::JournalHarness;
use haversack_database::Address;
use haversack_journal::{JournalSettings, PostgresJournal};
use haversack_store::store::block_on;
use haversack_store::store::journal::{
    EntryId, Journal, JournalError, JournalKey, Position, SnapshotPart,
};
use testkit::PostgresServer;

pub(crate) const WAIT: Duration = Duration::from_secs(30);

/// The settings for an address.
pub(crate) fn settings(address: &str) -> JournalSettings {
    let Ok(Address::Postgres(address)) = Address::parse(address, None) else {
        panic!("not an address of PostgreSQL");
    };
    JournalSettings::new(address)
}

/// The address with another port, as of a proxy or a pooler.
pub(crate) fn address_at(server: &PostgresServer, database: &str, port: u16) -> String {
    let own = format!("127.0.0.1:{}", server.port());
    server.address(database).replace(&own, &format!("127.0.0.1:{port}"))
}

/// An initialised journal.
pub(crate) fn journal(settings: JournalSettings) -> PostgresJournal {
    PostgresJournal::init(settings.clone(), None).unwrap();
    PostgresJournal::open(settings).unwrap()
}

pub(crate) fn key(workspace: &str) -> JournalKey {
    JournalKey { workspace: workspace.to_owned(), generation: EntryId([1; 16]) }
}

pub(crate) fn entry(number: u8) -> EntryId {
    EntryId([number; 16])
}

pub(crate) fn append(
    journal: &PostgresJournal,
    workspace: &str,
    id: EntryId,
    body: &[u8],
) -> Result<Position, JournalError> {
    let lock = block_on(journal.lock(workspace, WAIT))?.unwrap();
    block_on(lock.append(id, body.to_vec()))
}

pub(crate) fn put_snapshot(
    journal: &PostgresJournal,
    key: &JournalKey,
    parts: &[&[u8]],
) -> Vec<SnapshotPart> {
    let head = block_on(journal.head(&key.workspace)).unwrap().unwrap();
    let sink = block_on(journal.put_snapshot(key, head.position, head.last)).unwrap();
    let mut sink = sink.unwrap();
    for part in parts {
        block_on(sink.add(part.to_vec())).unwrap();
    }
    block_on(sink.finish()).unwrap().parts
}

/// A journal in a schema of its own, and the server to damage it with.
pub(crate) struct Harness {
    pub(crate) server: Arc<PostgresServer>,
    pub(crate) schema: String,
    pub(crate) journal: PostgresJournal,
}

impl Harness {
    fn sql(&self, statement: &str) {
        self.server.sql("postgres", &statement.replace("{s}", &self.schema));
    }
}

impl JournalHarness for Harness {
    fn journal(&self) -> Arc<dyn Journal> {
        Arc::new(self.journal.clone())
    }

    fn expire_claims(&self) {
        self.sql("UPDATE {s}.snapshot_claims SET expires_at = now() - interval '1 second'");
    }

    fn damage_snapshot_part(&self, workspace: &str, number: usize) {
        self.sql(&format!(
            "UPDATE {{s}}.snapshot_parts SET body = set_byte(body, 0, get_byte(body, 0) # 1) \
             WHERE workspace = '{workspace}' AND part = {number}"
        ));
    }

    fn lose_entry(&self, workspace: &str, position: Position) {
        self.sql(&format!(
            "DELETE FROM {{s}}.entries WHERE workspace = '{workspace}' AND position = {position}"
        ));
    }
}
