//! The journal: the ordered changes of each workspace, shared by all nodes. It is the truth when many
//! machines serve the same workspaces; the data folder of a node is then a replica.
//!
//! The journal orders and keeps. It knows neither items nor tables: an entry is bytes, and so is a
//! snapshot. Positions of a workspace count from 1 without gaps. Whoever locks the head of a workspace
//! writes the next entry, so entries are applied everywhere in the order in which they were committed.

use std::fmt;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::Duration;

use futures_util::future::BoxFuture;
use thiserror::Error;

use super::error::Cause;

/// The most bytes of one entry.
pub const ENTRY_BYTES_MAX: usize = 512 << 20;

/// The most bytes of one part of a snapshot.
pub const SNAPSHOT_PART_BYTES_MAX: usize = 4 << 20;

/// The future of a call to the journal. It needs no runtime: [`wait`] can wait for it.
pub type JournalFuture<'a, T> = BoxFuture<'a, Result<T, JournalError>>;

/// An error of the journal.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum JournalError {
    /// It cannot be reached, or it refuses for now. Nothing was written.
    #[error("the journal cannot be reached")]
    Unavailable {
        /// Why not.
        #[source]
        cause: Cause,
    },
    /// The answer to a commit was lost, so nobody knows yet whether it was written.
    #[error("the answer of the journal was lost: the entry may have been written")]
    Unknown {
        /// Why.
        #[source]
        cause: Cause,
    },
    /// Nobody has run `haversack journal init`, or only an older version of it has.
    #[error("the journal is not ready for this version: run `haversack journal init`")]
    NotReady {
        /// What is missing.
        #[source]
        cause: Cause,
    },
    /// A newer version of Haversack has changed its tables.
    #[error(
        "the journal has format {found}, and this version of haversack knows {known}: use a newer one"
    )]
    Newer {
        /// Its format.
        found: u32,
        /// The newest format known here.
        known: u32,
    },
    /// Entries or parts of a snapshot are not there any more, or are not what was written.
    #[error("{what} in the journal is missing or damaged")]
    Damaged {
        /// What.
        what: String,
    },
    /// Something else is wrong, such as a missing permission.
    #[error("the journal refuses")]
    Refused {
        /// Why.
        #[source]
        cause: Cause,
    },
}

/// A position in the journal of a workspace: the number of its last entry, 0 before the first one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Position(u64);

impl Position {
    /// The position before the first entry.
    pub const START: Position = Position(0);

    /// Wraps a number.
    #[must_use]
    pub const fn new(number: u64) -> Position {
        Position(number)
    }

    /// The number.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0
    }

    /// The position after it.
    #[must_use]
    pub const fn next(self) -> Position {
        Position(self.0 + 1)
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// The id of an entry, made by the node that writes it. By it a node finds out whether a commit whose
/// answer was lost was written, and whether its replica follows the same journal.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct EntryId(pub [u8; 16]);

impl fmt::Display for EntryId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for EntryId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "EntryId({self})")
    }
}

/// The journal of one life of a workspace: one that is removed and created again has another
/// generation, so no replica takes the entries of one for those of the other.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct JournalKey {
    /// The name of the workspace.
    pub workspace: String,
    /// The id of this life of it.
    pub generation: EntryId,
}

/// The end of the journal of a workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JournalHead {
    /// The journal.
    pub key: JournalKey,
    /// The position of the last entry.
    pub position: Position,
    /// The id of the last entry; that of the generation before the first one.
    pub last: EntryId,
}

/// One entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JournalEntry {
    /// Its position.
    pub position: Position,
    /// Its id.
    pub id: EntryId,
    /// Its content.
    pub body: Vec<u8>,
}

/// One part of a snapshot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SnapshotPart {
    /// Its size.
    pub bytes: u32,
    /// Its BLAKE3 hash.
    pub hash: [u8; 32],
}

/// A snapshot of a workspace: everything up to a position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JournalSnapshot {
    /// The journal.
    pub key: JournalKey,
    /// The position of the last entry in it.
    pub position: Position,
    /// The id of that entry.
    pub last: EntryId,
    /// When it was made, in milliseconds since 1970, by the clock of the journal.
    pub made_at: i64,
    /// Its parts, in order.
    pub parts: Vec<SnapshotPart>,
}

/// The size of a workspace's journal, for people and metrics.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JournalStatus {
    /// Its end.
    pub head: JournalHead,
    /// The position of the first entry that is kept; the next one to be written if none is.
    pub first: Position,
    /// The bytes of the entries that are kept.
    pub bytes: u64,
    /// The newest snapshot.
    pub snapshot: Option<JournalSnapshot>,
}

/// A small document that all nodes share, such as an API key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SharedRecord {
    /// Its name, unique among those of its kind.
    pub name: String,
    /// Its content.
    pub body: Vec<u8>,
}

/// The lock on the head of a workspace. While it is held, nobody else writes. Dropping it releases it.
pub trait HeadLock: Send {
    /// The head.
    fn head(&self) -> &JournalHead;

    /// Reads entries after a position, as [`Journal::read`] does.
    fn read(&mut self, after: Position, bytes_max: usize) -> JournalFuture<'_, Vec<JournalEntry>>;

    /// Appends an entry after the head, and releases the lock. When it returns, the entry is durable.
    ///
    /// # Errors
    /// [`JournalError::Unknown`] when the answer was lost; [`Journal::find`] tells.
    fn append(self: Box<Self>, id: EntryId, body: Vec<u8>) -> JournalFuture<'static, Position>;
}

/// Takes the parts of a new snapshot. Dropped before it is finished, nothing is left of it.
pub trait SnapshotSink: Send {
    /// Adds a part of at most [`SNAPSHOT_PART_BYTES_MAX`].
    fn add(&mut self, part: Vec<u8>) -> JournalFuture<'_, ()>;

    /// Makes the snapshot the newest one, and removes older ones.
    fn finish(self: Box<Self>) -> JournalFuture<'static, JournalSnapshot>;
}

/// The journals of all workspaces.
pub trait Journal: fmt::Debug + Send + Sync {
    /// Where it is, for messages, without credentials.
    fn place(&self) -> String;

    /// The names of all workspaces, in order.
    fn workspaces(&self) -> JournalFuture<'_, Vec<String>>;

    /// Creates the journal of a workspace with this generation, unless the workspace has one. Returns
    /// the head of the one that is there afterwards.
    fn create<'a>(&'a self, key: &'a JournalKey) -> JournalFuture<'a, JournalHead>;

    /// Removes the journal of a workspace with its snapshots. Returns whether it was there.
    fn remove<'a>(&'a self, workspace: &'a str) -> JournalFuture<'a, bool>;

    /// The head, by a look that began after this call; `None` if there is no such workspace. One look
    /// serves all who wait for it.
    fn head<'a>(&'a self, workspace: &'a str) -> JournalFuture<'a, Option<JournalHead>>;

    /// Locks the head of a workspace, waiting for whoever holds it for at most `wait`.
    fn lock<'a>(
        &'a self,
        workspace: &'a str,
        wait: Duration,
    ) -> JournalFuture<'a, Option<Box<dyn HeadLock>>>;

    /// The entries after a position, in order without gaps: at least one if there is one, and then as
    /// many as `bytes_max` allows.
    ///
    /// # Errors
    /// [`JournalError::Damaged`] when the next entry was trimmed or is missing: start from the snapshot.
    fn read<'a>(
        &'a self,
        key: &'a JournalKey,
        after: Position,
        bytes_max: usize,
    ) -> JournalFuture<'a, Vec<JournalEntry>>;

    /// The position of an entry, if it was written. Waits for a commit that is still under way, so that
    /// an entry which is not found is never written later.
    fn find<'a>(&'a self, key: &'a JournalKey, id: EntryId) -> JournalFuture<'a, Option<Position>>;

    /// The size of a workspace's journal.
    fn status<'a>(&'a self, workspace: &'a str) -> JournalFuture<'a, Option<JournalStatus>>;

    /// The newest complete snapshot.
    fn snapshot<'a>(&'a self, key: &'a JournalKey) -> JournalFuture<'a, Option<JournalSnapshot>>;

    /// A part of a snapshot, verified by its hash.
    fn snapshot_part<'a>(
        &'a self,
        snapshot: &'a JournalSnapshot,
        number: usize,
    ) -> JournalFuture<'a, Vec<u8>>;

    /// Begins a snapshot. `None` while another node makes one of the same workspace; a node that died
    /// stands in the way for a few minutes at most.
    fn put_snapshot<'a>(
        &'a self,
        key: &'a JournalKey,
        position: Position,
        last: EntryId,
    ) -> JournalFuture<'a, Option<Box<dyn SnapshotSink>>>;

    /// Removes the entries up to a position that the newest snapshot has. Returns how many.
    fn trim<'a>(&'a self, key: &'a JournalKey, through: Position) -> JournalFuture<'a, u64>;

    /// A number that rises whenever a shared record changes.
    fn shared_version(&self) -> JournalFuture<'_, u64>;

    /// The shared records of a kind, by name.
    fn shared_records<'a>(&'a self, kind: &'a str) -> JournalFuture<'a, Vec<SharedRecord>>;

    /// Adds or replaces a shared record. With `is_new`, one that exists stays as it is. Returns whether
    /// it was written.
    fn put_shared_record<'a>(
        &'a self,
        kind: &'a str,
        record: &'a SharedRecord,
        is_new: bool,
    ) -> JournalFuture<'a, bool>;

    /// Removes a shared record. Returns whether it was there.
    fn remove_shared_record<'a>(&'a self, kind: &'a str, name: &'a str) -> JournalFuture<'a, bool>;

    /// Adds lines to the shared audit log of a node, in their order, unless their numbers are there
    /// already.
    fn append_audit<'a>(
        &'a self,
        node: &'a str,
        lines: &'a [(u64, String)],
    ) -> JournalFuture<'a, ()>;

    /// Lines of the shared audit log of a node after a number, at most `limit`.
    fn audit_lines<'a>(
        &'a self,
        node: &'a str,
        after: u64,
        limit: usize,
    ) -> JournalFuture<'a, Vec<(u64, String)>>;

    /// The nodes that have audit lines, by name.
    fn audit_nodes(&self) -> JournalFuture<'_, Vec<String>>;
}

/// Blocks this thread until a call to the journal is done. Unlike [`super::block_on`] it may be called by
/// work that somebody blocks on: a writer waits for its journal in the middle of a write.
pub fn wait<T>(future: impl Future<Output = T>) -> T {
    let mut future = pin!(tokio::task::unconstrained(future));
    let unpark = Arc::new(Unpark(thread::current()));
    let waker = Waker::from(unpark);
    let mut context = Context::from_waker(&waker);
    loop {
        match future.as_mut().poll(&mut context) {
            Poll::Ready(done) => return done,
            // A wake-up that came before is not lost: parking then returns at once.
            Poll::Pending => thread::park(),
        }
    }
}

/// Wakes the thread that waits.
struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Unpark>) {
        self.0.unpark();
    }
}

/// How fresh a read from a replica is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Freshness {
    /// Everything that was acknowledged anywhere before the read began.
    #[default]
    Strong,
    /// What the replica has, if it had everything at most this long ago.
    Bounded(Duration),
    /// At least everything up to a position: what a write on another node returned.
    AtLeast(Position),
}

/// How a data folder follows a journal.
#[derive(Debug, Clone)]
pub struct ReplicaSettings {
    /// The journal.
    pub journal: Arc<dyn Journal>,
    /// How old the state of a replica may be that answers while the journal cannot be reached.
    pub stale_max: Duration,
    /// How long a write waits for the writers on other nodes.
    pub lock_wait: Duration,
    /// How long versions that ended are kept for readers on other nodes, whose snapshots this node does
    /// not know.
    pub trim_after: Duration,
    /// How long other nodes get to follow a purge before the entries go that hold what was purged. One
    /// that follows later begins anew from a snapshot.
    pub purge_after: Duration,
    /// The bytes of entries after which a new snapshot is made.
    pub snapshot_after_bytes: u64,
    /// The bytes that replicas may take on the disk. Beyond it those that nobody uses are removed, the
    /// least used first.
    pub disk_bytes_max: Option<u64>,
}

impl ReplicaSettings {
    /// The default settings for a journal.
    #[must_use]
    pub fn new(journal: Arc<dyn Journal>) -> ReplicaSettings {
        ReplicaSettings {
            journal,
            stale_max: Duration::from_secs(60),
            lock_wait: Duration::from_secs(10),
            trim_after: Duration::from_secs(120),
            purge_after: Duration::from_secs(30),
            snapshot_after_bytes: 64 << 20,
            disk_bytes_max: None,
        }
    }
}
