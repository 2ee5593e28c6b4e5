//! What an open replica does beside writing: catching up for readers, and snapshots.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::follow::FollowError;
use super::link::SnapshotDue;
use super::snapshot::{self, StagedFiles};
use crate::embedded::engine::EmbeddedStore;
use crate::embedded::writer::Writer;
use crate::store::error::{CommitError, ReadError};
use crate::store::journal::{Freshness, JournalError, JournalSnapshot};

/// How often a snapshot is tried while the indexes are merged, readers use what was purged, or another
/// node makes one.
const SNAPSHOT_TRIES: u32 = 60;
const SNAPSHOT_WAIT: Duration = Duration::from_secs(1);

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

    /// Begins a snapshot in the background, if one is due.
    pub(crate) fn snapshot_if_due(self: &Arc<EmbeddedStore>) {
        let Some(link) = self.link().map(Arc::clone) else { return };
        let Some(due) = link.begin_due_snapshot() else { return };
        let (store, made_link) = (Arc::clone(self), Arc::clone(&link));
        let make = move || {
            let is_made = (0..SNAPSHOT_TRIES).any(|nth| {
                if nth > 0 {
                    std::thread::sleep(SNAPSHOT_WAIT);
                }
                // A failure costs only the time of a later replay, unless something was purged.
                matches!(store.snapshot_to_journal(due == SnapshotDue::AfterBytes), Ok(Some(_)))
            });
            made_link.end_snapshot(due, is_made);
        };
        let builder = std::thread::Builder::new().name("haversack-snapshot".to_owned());
        if builder.spawn(make).is_err() {
            link.end_snapshot(due, false);
        }
    }
}
