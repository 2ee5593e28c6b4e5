//! Rows of a database as items of a real store: what is read, what changes, and what a run that ends early
//! leaves.

#[cfg(unix)]
mod postgres;
mod rows;
mod sqlite;

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use haversack::sync::{
    LocalTarget, SourceName, SyncBatch, SyncBatchReport, SyncError, SyncRequest, SyncState,
    SyncSummary, SyncTarget, sync,
};
use haversack_core::ids::ItemId;
use haversack_core::item::Kind;
use haversack_core::units::Timestamp;
use haversack_database::{Address, Database, DatabaseError, DatabaseLimits};
use haversack_store::DataFolder;
use haversack_store::kinds::Kinds;
use haversack_store::store::change::Batch;
use haversack_store::store::item::{Item, Stored};
use haversack_store::store::maintenance::{Maintenance, Stores};
use haversack_store::store::viewer::Viewer;
use haversack_store::store::{Snapshot, block_on};

use crate::support::NOW;

/// A store, and a database to read.
struct SyncFixture {
    store: Arc<dyn Maintenance>,
    address: Address,
    /// The time of the next run.
    now: Timestamp,
    folder: tempfile::TempDir,
}

impl SyncFixture {
    fn new(address: Option<&str>) -> SyncFixture {
        let folder = tempfile::tempdir().unwrap();
        let stores = DataFolder::open(&folder.path().join("data")).unwrap();
        let store = stores.open("w", haversack::default_embedder()).unwrap();
        let address = match address {
            Some(address) => Address::parse(address, None).unwrap(),
            None => Address::Sqlite(folder.path().join("shop.db")),
        };
        let now = Timestamp::from_millis(NOW);
        SyncFixture { store: store.for_blocking_threads(), address, now, folder }
    }

    /// A fixture with a SQLite file.
    fn sqlite(statements: &str) -> SyncFixture {
        let fixture = SyncFixture::new(None);
        fixture.sql(statements);
        fixture
    }

    /// Runs statements in the SQLite file.
    fn sql(&self, statements: &str) {
        let connection = rusqlite::Connection::open(self.folder.path().join("shop.db")).unwrap();
        connection.execute_batch(statements).unwrap();
    }

    fn database(&self) -> Result<Database, DatabaseError> {
        Database::open(&self.address, DatabaseLimits::default())
    }

    /// An incremental request for a query whose column `at` says when a row changed.
    fn request(&self, query: &str) -> SyncRequest {
        let name = SourceName::of(&self.address, None).unwrap();
        let kinds = Arc::clone(Kinds::built_in());
        let mut request = SyncRequest::new(name, (&self.address, query), kinds, self.now);
        request.columns.updated = Some("at".to_owned());
        request
    }

    fn run(&self, request: &SyncRequest) -> Result<SyncSummary, SyncError> {
        let mut target = LocalTarget::new(&*self.store);
        self.run_on(&mut target, request)
    }

    fn run_on(
        &self,
        target: &mut dyn SyncTarget,
        request: &SyncRequest,
    ) -> Result<SyncSummary, SyncError> {
        let mut database = self.database()?;
        sync(&mut database, target, request, &mut |_| ControlFlow::Continue(()))
    }

    /// Runs a request and compares rows, stored, unchanged, deleted and refused.
    #[track_caller]
    fn check(&self, request: &SyncRequest, expected: [u64; 5]) -> SyncSummary {
        let summary = self.run(request).unwrap();
        let SyncSummary { rows, stored, unchanged, deleted, refused, .. } = summary;
        assert_eq!([rows, stored, unchanged, deleted, refused], expected, "{summary:?}");
        summary
    }

    fn later(&mut self, by: Duration) {
        let millis = i64::try_from(by.as_millis()).unwrap();
        self.now = Timestamp::from_millis(self.now.as_millis() + millis);
    }

    fn snapshot(&self) -> Arc<dyn Snapshot> {
        block_on(self.store.snapshot(&Viewer::owner())).unwrap()
    }

    fn stored(&self, id: &str) -> Option<Stored> {
        block_on(self.snapshot().get(&[ItemId::new(id).unwrap()])).unwrap().pop().flatten()
    }

    fn item(&self, id: &str) -> Item {
        self.stored(id).unwrap().item
    }

    fn versions(&self, id: &str) -> usize {
        block_on(self.snapshot().history(&ItemId::new(id).unwrap())).unwrap().len()
    }

    /// The ids of all items.
    fn ids(&self) -> String {
        let mut ids = block_on(self.snapshot().ids_parents_first()).unwrap();
        ids.sort_unstable();
        ids.iter().map(ItemId::as_str).collect::<Vec<_>>().join(" ")
    }

    fn put(&self, item: Item) {
        block_on(self.store.write(Batch::put(self.now, vec![item]))).unwrap();
    }
}

fn notices(summary: &SyncSummary) -> Vec<String> {
    summary.notices.iter().map(ToString::to_string).collect()
}

fn kind(name: &str) -> Option<Kind> {
    Some(Kind::new(name).unwrap())
}

/// A store that fails after some batches, as when the process is killed.
struct FailingTarget<'a> {
    inner: LocalTarget<'a>,
    batches_left: usize,
}

impl SyncTarget for FailingTarget<'_> {
    fn state(&mut self, name: &str) -> Result<Option<SyncState>, SyncError> {
        self.inner.state(name)
    }

    fn ids_after(&mut self, name: &str, after: Option<&ItemId>) -> Result<Vec<ItemId>, SyncError> {
        self.inner.ids_after(name, after)
    }

    fn write(&mut self, batch: SyncBatch) -> Result<SyncBatchReport, SyncError> {
        if self.batches_left == 0 {
            return Err(SyncError::Stopped);
        }
        self.batches_left -= 1;
        self.inner.write(batch)
    }
}
