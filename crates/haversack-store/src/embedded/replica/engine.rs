//! What an open replica does beside writing: catching up for readers, and snapshots.

use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use super::follow::FollowError;
use super::link::{JournalLink, SnapshotDue};
use super::snapshot::{self, StagedFiles};
use crate::embedded::engine::EmbeddedStore;
use crate::embedded::writer::Writer;
use crate::store::error::{CommitError, ReadError};
use crate::store::journal::{Freshness, JournalError, JournalSnapshot, Position, wait};

/// How often a snapshot is tried while the indexes are merged, readers use what was purged, or another
/// node makes one.
const SNAPSHOT_TRIES: u32 = 600;
const SNAPSHOT_WAIT: Duration = Duration::from_millis(100);

impl EmbeddedStore {
    /// Reads what the journal has beyond this replica, since a look that began at a moment. Returns how
    /// old the state may be.
    pub(crate) fn catch_up_for(
        &self,
        freshness: Freshness,
        began: Instant,
    ) -> Result<Option<Duration>, ReadError> {
        let Some(link) = self.link() else { return Ok(None) };
        let followed = self.call_writer(Writer::catch_up_with_journal);
        match followed.map_err(|error| ReadError::Storage { cause: error.into() })? {
            Ok(()) => {
                link.confirm(began);
                Ok(None)
            }
            Err(FollowError::Journal(error)) => match link.without_journal(freshness, error)? {
                super::Look::Current(age) => Ok(age),
                super::Look::Behind { .. } => Ok(Some(link.age())),
            },
            Err(error) => Err(error.into_read_error()),
        }
    }

    /// Copies the files of the replica while nobody writes. `None` while its indexes are being merged.
    fn stage_snapshot(&self) -> Result<Option<StagedFiles>, CommitError> {
        let staged = self.call_writer(|writer| {
            if writer.indexes.is_busy() {
                return Ok(None);
            }
            writer.indexes.seal().map_err(std::io::Error::other)?;
            writer
                .connection
                .execute_batch("PRAGMA wal_checkpoint(TRUNCATE)")
                .map_err(std::io::Error::other)?;
            let Some(link) = writer.link() else { return Ok(None) };
            snapshot::stage(&writer.shared.folder, link.state()).map(Some)
        })?;
        staged.map_err(|error: std::io::Error| CommitError::Storage { cause: error.into() })
    }

    /// Makes a snapshot for the journal and trims the journal behind it; with `keep`, entries are kept
    /// for replicas that lag a little. `None` when there is no journal, when another node makes one, or
    /// when the indexes are being merged.
    pub(crate) fn snapshot_to_journal(
        &self,
        keep: bool,
    ) -> Result<Option<JournalSnapshot>, CommitError> {
        let Some(link) = self.link() else { return Ok(None) };
        let followed = self.call_writer(Writer::catch_up_with_journal)?;
        followed.map_err(|error| error.to_commit_error())?;
        if !keep {
            // What was purged is in no file of the snapshot, either.
            let left = self.expunge(false)?;
            if let Some(why) = left.into_iter().next() {
                return Err(CommitError::Storage { cause: why.into() });
            }
        }
        let Some(files) = self.stage_snapshot()? else { return Ok(None) };
        let unavailable = |error: JournalError| CommitError::Unavailable { cause: error.into() };
        snapshot::publish(link, files, keep).map_err(unavailable)
    }

    /// Begins a snapshot in the background, if one is due. After a purge every node that has its entry
    /// sees to it, so that it is made even if the node that purged is gone.
    pub(crate) fn snapshot_if_due(self: &Arc<EmbeddedStore>) {
        let Some(link) = self.link().map(Arc::clone) else { return };
        let Some(due) = link.begin_due_snapshot() else { return };
        let (store, made_link) = (Arc::downgrade(self), Arc::clone(&link));
        let make = move || made_link.end_snapshot(make_due_snapshot(&store, &made_link, due));
        let builder = std::thread::Builder::new().name("haversack-snapshot".to_owned());
        if builder.spawn(make).is_err() {
            link.end_snapshot(None);
        }
    }
}

/// Makes a snapshot that is due, while the store is open. After a purge, returns up to where nothing is left
/// of it; other nodes get a while to follow before entries go.
fn make_due_snapshot(
    store: &Weak<EmbeddedStore>,
    link: &JournalLink,
    due: SnapshotDue,
) -> Option<Position> {
    let SnapshotDue::AfterPurge(purged) = due else {
        // A failure costs only the time of a later replay.
        let _ = store.upgrade()?.snapshot_to_journal(true);
        return None;
    };
    let began = Instant::now();
    while began.elapsed() < link.settings.purge_after {
        store.upgrade()?;
        std::thread::sleep(SNAPSHOT_WAIT);
    }
    for _ in 0..SNAPSHOT_TRIES {
        let made = store.upgrade()?.snapshot_after_purge(purged);
        if let Ok(Some(snapshot)) = made {
            return Some(snapshot.position);
        }
        std::thread::sleep(SNAPSHOT_WAIT);
    }
    None
}

impl EmbeddedStore {
    /// Replaces all entries and snapshots up to a purge, unless another node did.
    fn snapshot_after_purge(
        &self,
        purged: Position,
    ) -> Result<Option<JournalSnapshot>, CommitError> {
        let Some(link) = self.link() else { return Ok(None) };
        let unavailable = |error: JournalError| CommitError::Unavailable { cause: error.into() };
        let newest = wait(link.journal().snapshot(&link.key)).map_err(unavailable)?;
        if let Some(snapshot) = newest.filter(|snapshot| snapshot.position >= purged) {
            snapshot::trim(&**link.journal(), &snapshot, false).map_err(unavailable)?;
            return Ok(Some(snapshot));
        }
        self.snapshot_to_journal(false)
    }
}
