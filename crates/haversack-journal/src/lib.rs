//! The journal in PostgreSQL, and in the distributed databases that speak its protocol: the ordered
//! changes of each workspace, shared by all nodes.
//!
//! # Tables
//! They stand in one schema, `haversack` by default. The workspace leads the primary key of whatever
//! belongs to one, so that tables can be sharded by it. There is no extension, sequence, trigger, advisory
//! lock or `NOTIFY`, and no statement is prepared by name, so that pgbouncer may pool by transaction.
//!
//! | table | row |
//! | --- | --- |
//! | `meta` | `format`: the number of the last migration |
//! | `workspaces` | one life of a workspace: its generation, the position and the id of its last entry. Whoever locks this row writes next |
//! | `entries` | one entry: workspace, generation, position, id, size, body |
//! | `snapshots` | one snapshot; `made_at` is set when it is complete |
//! | `snapshot_parts` | one part: size, BLAKE3 hash, and its body or the name of the object that has it |
//! | `snapshot_claims` | who makes a snapshot of a workspace, until when by the clock of the database |
//! | `shared_records` | one document that all nodes share |
//! | `shared_versions` | the number that rises with each change of those |
//! | `audit_lines` | one line of the audit log of a node |
//!
//! # Commits
//! An entry and the new end of its journal are one statement, sent with its `COMMIT` in one round trip. A
//! commit whose answer is lost is [`JournalError::Unknown`]; [`Journal::find`] locks the same row, and so
//! waits until the lost transaction has ended, either way.
#![forbid(unsafe_code)]

mod connection;
mod entries;
mod failure;
mod heads;
mod objects;
mod records;
mod schema;
mod settings;
mod snapshots;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use haversack_store::store::journal::{
    EntryId, HeadLock, Journal, JournalEntry, JournalError, JournalFuture, JournalHead, JournalKey,
    JournalSnapshot, JournalStatus, Position, SharedRecord, SnapshotSink,
};
use tokio::runtime::{Builder, Runtime};

use self::connection::Database;
use self::heads::HeadLooks;
use self::objects::ObjectFolder;
pub use self::settings::{JournalSettings, SettingsError};

/// The threads that move bytes. The database does the work.
const THREADS: usize = 2;

/// The journal in PostgreSQL. Clones share its connections.
#[derive(Clone)]
pub struct PostgresJournal {
    core: Arc<Core>,
    runtime: Arc<OwnRuntime>,
}

/// What its calls share.
struct Core {
    database: Database,
    heads: HeadLooks,
    objects: Option<ObjectFolder>,
}

/// A runtime of its own: whoever waits for the journal needs none, and none of theirs can stop it.
struct OwnRuntime(Option<Runtime>);

impl OwnRuntime {
    fn spawn<T: Send + 'static>(
        &self,
        work: impl Future<Output = T> + Send + 'static,
    ) -> tokio::task::JoinHandle<T> {
        self.0.as_ref().expect("it is taken when dropped").spawn(work)
    }
}

impl Drop for OwnRuntime {
    fn drop(&mut self) {
        // Waiting for its threads would block, which a thread of another runtime may not.
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}

impl fmt::Debug for PostgresJournal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PostgresJournal").field("place", &self.place()).finish_non_exhaustive()
    }
}

impl PostgresJournal {
    /// Opens a journal. Nothing is connected before the first call.
    ///
    /// # Errors
    /// When there is no runtime to be had, or no folder for its objects.
    pub fn open(settings: JournalSettings) -> Result<PostgresJournal, JournalError> {
        let runtime = start_runtime(THREADS)?;
        let objects = settings.objects.clone().map(ObjectFolder::open).transpose()?;
        let database = Database::new(settings);
        let core = Core { database, heads: HeadLooks::default(), objects };
        Ok(PostgresJournal { core: Arc::new(core), runtime: Arc::new(OwnRuntime(Some(runtime))) })
    }

    /// Creates its tables or brings them to this version's format, as their owner. With a role, lets it
    /// read and write rows, which is all that a node needs. Running it again changes nothing.
    ///
    /// # Errors
    /// When the database cannot be reached, refuses, or has a newer format.
    pub fn init(settings: JournalSettings, role: Option<&str>) -> Result<(), JournalError> {
        let runtime = OwnRuntime(Some(start_runtime(1)?));
        let role = role.map(str::to_owned);
        let database = Database::new(settings);
        let task = runtime.spawn(async move { schema::init(&database, role.as_deref()).await });
        haversack_store::store::block_on(task).map_err(|error| stopped(error.into()))?
    }

    /// A new id, for an entry or a generation.
    ///
    /// # Errors
    /// When the system has no random numbers.
    pub fn new_id() -> Result<EntryId, JournalError> {
        random_id()
    }

    /// Runs work on the journal's own threads. It goes on when the future is dropped.
    fn run<T: Send + 'static, W>(
        &self,
        work: impl FnOnce(Arc<Core>, Arc<OwnRuntime>) -> W + Send + 'static,
    ) -> JournalFuture<'static, T>
    where
        W: Future<Output = Result<T, JournalError>> + Send + 'static,
    {
        run_on(&self.core, &self.runtime, work)
    }
}

fn run_on<T: Send + 'static, W>(
    core: &Arc<Core>,
    runtime: &Arc<OwnRuntime>,
    work: impl FnOnce(Arc<Core>, Arc<OwnRuntime>) -> W + Send + 'static,
) -> JournalFuture<'static, T>
where
    W: Future<Output = Result<T, JournalError>> + Send + 'static,
{
    let (core, runtime) = (Arc::clone(core), Arc::clone(runtime));
    Box::pin(async move {
        let task = runtime.spawn(work(core, Arc::clone(&runtime)));
        task.await.map_err(|error| stopped(error.into()))?
    })
}

fn start_runtime(threads: usize) -> Result<Runtime, JournalError> {
    let mut builder = Builder::new_multi_thread();
    builder.worker_threads(threads).max_blocking_threads(4).thread_name("journal");
    builder.enable_io().enable_time();
    builder.build().map_err(|error| JournalError::Unavailable { cause: error.into() })
}

fn stopped(cause: haversack_store::store::error::Cause) -> JournalError {
    JournalError::Unavailable { cause }
}

fn random_id() -> Result<EntryId, JournalError> {
    let mut id = [0; 16];
    getrandom::fill(&mut id).map_err(|error| JournalError::Unavailable { cause: error.into() })?;
    Ok(EntryId(id))
}

impl Journal for PostgresJournal {
    fn place(&self) -> String {
        self.core.database.place()
    }

    fn workspaces(&self) -> JournalFuture<'_, Vec<String>> {
        self.run(|core, _| async move { core.workspaces().await })
    }

    fn create<'a>(&'a self, key: &'a JournalKey) -> JournalFuture<'a, JournalHead> {
        let key = key.clone();
        self.run(|core, _| async move { core.create(&key).await })
    }

    fn remove<'a>(&'a self, workspace: &'a str) -> JournalFuture<'a, bool> {
        let workspace = workspace.to_owned();
        self.run(|core, _| async move { core.remove(&workspace).await })
    }

    fn head<'a>(&'a self, workspace: &'a str) -> JournalFuture<'a, Option<JournalHead>> {
        let workspace = workspace.to_owned();
        self.run(|core, runtime| async move { core.head(workspace, &runtime).await })
    }

    fn lock<'a>(
        &'a self,
        workspace: &'a str,
        wait: Duration,
    ) -> JournalFuture<'a, Option<Box<dyn HeadLock>>> {
        let workspace = workspace.to_owned();
        self.run(move |core, runtime| async move {
            let lock = entries::lock(&core, &runtime, &workspace, wait).await?;
            Ok(lock.map(|lock| Box::new(lock) as Box<dyn HeadLock>))
        })
    }

    fn read<'a>(
        &'a self,
        key: &'a JournalKey,
        after: Position,
        bytes_max: usize,
    ) -> JournalFuture<'a, Vec<JournalEntry>> {
        let key = key.clone();
        self.run(move |core, _| async move { core.read(&key, after, bytes_max).await })
    }

    fn find<'a>(&'a self, key: &'a JournalKey, id: EntryId) -> JournalFuture<'a, Option<Position>> {
        let key = key.clone();
        self.run(move |core, _| async move { core.find(&key, id).await })
    }

    fn status<'a>(&'a self, workspace: &'a str) -> JournalFuture<'a, Option<JournalStatus>> {
        let workspace = workspace.to_owned();
        self.run(|core, _| async move { core.status(&workspace).await })
    }

    fn snapshot<'a>(&'a self, key: &'a JournalKey) -> JournalFuture<'a, Option<JournalSnapshot>> {
        let key = key.clone();
        self.run(|core, _| async move { core.snapshot(&key).await })
    }

    fn snapshot_part<'a>(
        &'a self,
        snapshot: &'a JournalSnapshot,
        number: usize,
    ) -> JournalFuture<'a, Vec<u8>> {
        let snapshot = snapshot.clone();
        self.run(move |core, _| async move { core.snapshot_part(&snapshot, number).await })
    }

    fn put_snapshot<'a>(
        &'a self,
        key: &'a JournalKey,
        position: Position,
        last: EntryId,
    ) -> JournalFuture<'a, Option<Box<dyn SnapshotSink>>> {
        let key = key.clone();
        self.run(move |core, runtime| async move {
            let sink = snapshots::begin(&core, &runtime, key, position, last).await?;
            Ok(sink.map(|sink| Box::new(sink) as Box<dyn SnapshotSink>))
        })
    }

    fn trim<'a>(&'a self, key: &'a JournalKey, through: Position) -> JournalFuture<'a, u64> {
        let key = key.clone();
        self.run(move |core, _| async move { core.trim(&key, through).await })
    }

    fn shared_version(&self) -> JournalFuture<'_, u64> {
        self.run(|core, _| async move { core.shared_version().await })
    }

    fn shared_records<'a>(&'a self, kind: &'a str) -> JournalFuture<'a, Vec<SharedRecord>> {
        let kind = kind.to_owned();
        self.run(|core, _| async move { core.shared_records(&kind).await })
    }

    fn put_shared_record<'a>(
        &'a self,
        kind: &'a str,
        record: &'a SharedRecord,
        is_new: bool,
    ) -> JournalFuture<'a, bool> {
        let (kind, record) = (kind.to_owned(), record.clone());
        self.run(move |core, _| async move { core.put_shared_record(&kind, &record, is_new).await })
    }

    fn remove_shared_record<'a>(&'a self, kind: &'a str, name: &'a str) -> JournalFuture<'a, bool> {
        let (kind, name) = (kind.to_owned(), name.to_owned());
        self.run(|core, _| async move { core.remove_shared_record(&kind, &name).await })
    }

    fn append_audit<'a>(
        &'a self,
        node: &'a str,
        lines: &'a [(u64, String)],
    ) -> JournalFuture<'a, ()> {
        let (node, lines) = (node.to_owned(), lines.to_vec());
        self.run(|core, _| async move { core.append_audit(&node, &lines).await })
    }

    fn audit_lines<'a>(
        &'a self,
        node: &'a str,
        after: u64,
        limit: usize,
    ) -> JournalFuture<'a, Vec<(u64, String)>> {
        let node = node.to_owned();
        self.run(move |core, _| async move { core.audit_lines(&node, after, limit).await })
    }

    fn audit_nodes(&self) -> JournalFuture<'_, Vec<String>> {
        self.run(|core, _| async move { core.audit_nodes().await })
    }
}
