//! Maintenance of a store (check, backup, re-embedding), and the stores of all workspaces.

use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use haversack_core::embed::{Embedder, Model};
use haversack_core::ids::ItemId;
use haversack_core::units::Timestamp;

use super::change::Batch;
use super::error::{CommitError, OpenError, ReadError};
use super::health::HealthProblem;
use super::journal::{Freshness, Journal, JournalSnapshot};
use super::{Store, StoreFuture};
use crate::kinds::Kinds;
use crate::revision::Revision;

/// A store with its maintenance.
pub trait Maintenance: Store {
    /// The same store for threads that may block: its futures need no runtime
    /// ([`super::block_on`]), and small reads finish on the calling thread instead of going to
    /// another and back.
    fn for_blocking_threads(&self) -> Arc<dyn Maintenance>;

    /// The same store with reads of another freshness, where other nodes write to it, too. One that
    /// follows no journal is always fresh.
    fn with_freshness(&self, freshness: Freshness) -> Arc<dyn Maintenance>;

    /// Whether the store follows a journal and cannot follow it any more: another node removed the
    /// workspace or changed its model, or the replica does not fit. Then it has to be opened again.
    fn must_reopen(&self) -> bool {
        false
    }

    /// A token of everything that readers of this store see now. A read with
    /// [`Maintenance::at_least`] this token sees it on any node. `None` without a journal. Two tokens of
    /// one state differ, so that they tell nothing of what others write.
    fn position_token(&self) -> Option<String> {
        None
    }

    /// How old the state may be that readers see, while the shared journal cannot be reached.
    fn staleness(&self) -> Option<Duration> {
        None
    }

    /// The freshness of a read that sees what a token is of. Without a journal every read does.
    ///
    /// # Errors
    /// When the token is not one of this workspace.
    fn at_least(&self, token: &str) -> Result<Freshness, ReadError> {
        let _ = token;
        Ok(Freshness::Strong)
    }

    /// Makes a snapshot for the journal, if the store follows one, and removes the entries behind it.
    /// With `keep`, some entries are kept for nodes that lag a little. `None` if nothing was made.
    fn snapshot_to_journal(
        &self,
        keep: bool,
    ) -> BoxFuture<'_, Result<Option<JournalSnapshot>, CommitError>> {
        let _ = keep;
        Box::pin(async { Ok(None) })
    }

    /// Damage that was found and repaired when the store was opened.
    fn repaired(&self) -> &[String];

    /// What keeps the store from writing or from searching everything now; empty if nothing does.
    /// Returns at once, without waiting for the writer, so that health checks can call it.
    fn health(&self) -> Vec<HealthProblem>;

    /// Counts items and bytes.
    fn stats(&self) -> StoreFuture<'_, StoreStats>;

    /// Verifies everything; with `repair`, rebuilds derived indexes that are wrong.
    fn check(&self, repair: bool) -> BoxFuture<'_, Result<CheckReport, CommitError>>;

    /// Embeds all texts with the model in use, then searches by the new vectors. A run that was
    /// interrupted continues where it stopped.
    ///
    /// # Errors
    /// As [`Maintenance::change_model`].
    fn reembed<'a>(
        &'a self,
        progress: &'a mut (dyn FnMut(MaintenanceProgress) + Send),
    ) -> BoxFuture<'a, Result<MaintenanceProgress, CommitError>>;

    /// Embeds all texts with another model and switches to it in one step. Until then searches and
    /// writes go on with the model in use; snapshots that were taken before keep searching by its
    /// vectors. A run that was interrupted continues where it stopped.
    ///
    /// # Errors
    /// When another change of the model is running ([`CommitError::ModelChanging`]), a text cannot
    /// be embedded, or the store cannot be written. The model in use stays, and so do the vectors
    /// that are done.
    fn change_model<'a>(
        &'a self,
        embedder: Arc<dyn Embedder>,
        progress: &'a mut (dyn FnMut(MaintenanceProgress) + Send),
    ) -> BoxFuture<'a, Result<MaintenanceProgress, CommitError>>;

    /// The items that [`Change::EraseUser`](super::change::Change::EraseUser) would remove, and those
    /// of the user that it would keep without their name.
    fn user_items<'a>(&'a self, user: &'a str) -> StoreFuture<'a, UserItems>;

    /// Removes what purged items left behind from every file of the store, now: a store does so by
    /// itself within a minute, also after a restart. With `rewrite`, everything is written anew that
    /// could hold traces of an earlier version of the program. Returns what is left and why, such as
    /// a reader that still uses an old file; empty if nothing is left.
    ///
    /// # Errors
    /// When the store cannot be written.
    fn expunge(&self, rewrite: bool) -> BoxFuture<'_, Result<Vec<String>, CommitError>>;

    /// Copies the live workspace into an empty folder, as of one commit. Indexes are rebuilt when
    /// the copy is opened.
    fn backup<'a>(&'a self, folder: &'a Path) -> BoxFuture<'a, Result<(), OpenError>>;

    /// Whether anything but its handles uses the store: a snapshot, a read or write whose caller may
    /// be gone, a change of the model, work on the indexes. If nothing does, [`Maintenance::close`]
    /// takes little time and loses nothing. A store that does not know says yes.
    fn is_in_use(&self) -> bool {
        true
    }

    /// Waits for pending writes, then refuses further ones.
    fn close(&self) -> BoxFuture<'_, ()>;
}

/// Opens, lists and removes the stores of workspaces.
pub trait Stores: fmt::Debug + Send + Sync {
    /// Opens the store of a workspace and creates it if it does not exist.
    ///
    /// # Errors
    /// When the name is not valid, or the store cannot be opened.
    fn open(
        &self,
        name: &str,
        embedder: Arc<dyn Embedder>,
    ) -> Result<Arc<dyn Maintenance>, OpenError>;

    /// Opens the store of a workspace that exists.
    ///
    /// # Errors
    /// When there is no such workspace, or its store cannot be opened.
    fn open_existing(
        &self,
        name: &str,
        embedder: Arc<dyn Embedder>,
    ) -> Result<Arc<dyn Maintenance>, OpenError>;

    /// Creates the store of a workspace that does not exist, with a first batch. Both are there or
    /// neither, even if the process is killed meanwhile.
    ///
    /// # Errors
    /// When there is such a workspace, the name is not valid, or the store cannot be written.
    fn create(
        &self,
        name: &str,
        embedder: Arc<dyn Embedder>,
        first: Batch,
    ) -> Result<Arc<dyn Maintenance>, OpenError>;

    /// The names of all workspaces, in order.
    ///
    /// # Errors
    /// When they cannot be listed.
    fn names(&self) -> Result<Vec<String>, OpenError>;

    /// The model whose vectors a workspace has. `None` for a workspace that does not exist or has no
    /// model yet.
    ///
    /// # Errors
    /// When the name is not valid, or the workspace cannot be read.
    fn stored_model(&self, name: &str) -> Result<Option<Model>, OpenError>;

    /// Removes a workspace with everything in it. Close its store first.
    ///
    /// # Errors
    /// When there is no such workspace, or it cannot be removed.
    fn remove(&self, name: &str) -> Result<(), OpenError>;

    /// The journal that the workspaces follow, if there is one.
    fn journal(&self) -> Option<Arc<dyn Journal>> {
        None
    }

    /// The kinds that all workspaces know.
    fn kinds(&self) -> &Arc<Kinds>;
}

/// Counts and sizes of a workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoreStats {
    /// The last commit.
    pub revision: Revision,
    /// Items that are present.
    pub items: u64,
    /// Versions that are kept, including the present ones.
    pub versions: u64,
    /// Chunks of all versions.
    pub chunks: u64,
    /// Links that are present.
    pub links: u64,
    /// Items by kind, most first.
    pub kinds: Vec<(String, u64)>,
    /// The model whose vectors are searched.
    pub model: Model,
    /// Whether the model in use is another one.
    pub stale: bool,
    /// Bytes on disk of the records, the text index and the vector index.
    pub bytes: [u64; 3],
}

/// The items of a user, as erasing the user would find them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct UserItems {
    /// Items that nobody else can read; deleted items are among them as long as they have history.
    pub erased: Vec<ItemId>,
    /// Items that the user made or wrote to and that others can read.
    pub kept: Vec<ItemId>,
}

/// What [`Maintenance::check`] found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CheckReport {
    /// Versions of items that were read.
    pub versions: u64,
    /// Chunks that were compared with both indexes.
    pub chunks: u64,
    /// Damage to the records themselves. It cannot be repaired; restore a backup.
    pub damage: Vec<String>,
    /// Problems with derived indexes.
    pub derived: Vec<String>,
    /// Whether the derived indexes were rebuilt.
    pub repaired: bool,
    /// The latest time of a commit. One in the future was written by a clock that was ahead.
    pub latest_commit: Option<Timestamp>,
    /// Commits dated more than an hour before the one before them: the clock was set back, or the one
    /// before was written by a clock that was ahead.
    pub set_back: u64,
}

impl CheckReport {
    /// Whether nothing is wrong, or everything was repaired.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        self.damage.is_empty() && (self.derived.is_empty() || self.repaired)
    }
}

/// Progress of re-embedding, or of upgrading a workspace of an older version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MaintenanceProgress {
    /// Versions of items that are done.
    pub done: u64,
    /// All versions.
    pub total: u64,
}

/// A callback for the progress of upgrading a workspace, with the workspace's name.
#[derive(Clone)]
pub struct OnUpgrade(Arc<UpgradeCallback>);

type UpgradeCallback = dyn Fn(&str, MaintenanceProgress) + Send + Sync;

impl OnUpgrade {
    /// Wraps a function.
    pub fn new(report: impl Fn(&str, MaintenanceProgress) + Send + Sync + 'static) -> OnUpgrade {
        OnUpgrade(Arc::new(report))
    }

    pub(crate) fn report(&self, workspace: &str, progress: MaintenanceProgress) {
        (self.0)(workspace, progress);
    }
}

impl fmt::Debug for OnUpgrade {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OnUpgrade")
    }
}
