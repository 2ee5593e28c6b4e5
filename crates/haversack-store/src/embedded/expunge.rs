//! Removing from files what purged items and trimmed versions left behind.
//!
//! A removal is done when its batch is answered: nobody finds or reads the rows any more, and their
//! pages are overwritten when the log is applied. Their words and vectors still lie in files: in the
//! log, in segments of the text index, in segments of vectors. These are rewritten, a step at a time
//! between batches. The records say that there is something to do until all of it is done, so a crash
//! only delays it.

use std::time::Duration;

use rusqlite::Connection;

use super::engine::EmbeddedStore;
use super::indexes::IndexError;
use super::records::residue::{self, Residue};
use super::records::{erase, storage};
use super::row::{Bitmap, Row};
use super::state::{TextSnapshot, VectorSnapshot};
use super::writer::Writer;
use crate::store::error::{CommitError, ReadError, error_chain};
use crate::store::maintenance::UserItems;

/// How long purged items wait for others that are purged, too.
const PURGED_WAIT: Duration = Duration::from_secs(1);

/// How long trimmed versions wait: segments are not rewritten for each.
const TRIMMED_WAIT: Duration = Duration::from_mins(10);

/// How long to wait for a merge of the text index, and for readers, before looking again.
const MERGE_WAIT: Duration = Duration::from_millis(10);
const READERS_WAIT: Duration = Duration::from_millis(500);

/// How often a caller that waits for the end looks again at readers, each after a [`MERGE_WAIT`].
const READERS_TRIES: usize = 300;

/// How often such a caller looks again at merges: for a minute.
const MERGE_TRIES: usize = 6_000;

/// How often closing looks again at merges.
const CLOSE_TRIES: usize = 1_000;

/// How long a checkpoint waits for readers of the log.
const CHECKPOINT_WAIT: Duration = Duration::from_millis(100);

/// How long the writer waits for other users of its file; see `schema::configure`.
const BUSY_WAIT: Duration = Duration::from_secs(5);

/// What the writer knows of what has to be removed from files.
#[derive(Debug, Default)]
pub(crate) struct Expunging {
    residue: Option<Residue>,
    pass: Option<Pass>,
    /// When to begin, if nobody was told yet.
    due: Option<Duration>,
}

/// A pass over all files, on its way.
#[derive(Debug)]
struct Pass {
    /// The rows that the records had when it began.
    kept: Bitmap,
    /// The last row that there was.
    last: Row,
    /// No segment of the text index has removed documents any more.
    text_is_rewritten: bool,
}

impl Pass {
    fn begin(connection: &Connection) -> rusqlite::Result<Pass> {
        let last: u32 = connection.query_row(
            "SELECT coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'items'), 0)",
            [],
            |line| line.get(0),
        )?;
        Ok(Pass { kept: kept_rows(connection)?, last: Row::new(last), text_is_rewritten: false })
    }

    fn is_gone(&self, row: Row) -> bool {
        row <= self.last && !self.kept.contains(row)
    }
}

/// The rows that the records have.
pub(super) fn kept_rows(connection: &Connection) -> rusqlite::Result<Bitmap> {
    connection
        .prepare_cached("SELECT row FROM items")?
        .query_map([], |line| line.get(0).map(Row::new))?
        .collect()
}

/// The result of a step.
#[derive(Debug)]
pub(crate) enum ExpungeStep {
    Done,
    /// The next step can follow at once.
    More,
    /// Segments of the text index are being merged.
    Merging,
    /// Something else has to end first, such as a reader.
    Blocked(String),
}

impl Expunging {
    /// What a process before this one left to do.
    pub(crate) fn read(connection: &Connection) -> rusqlite::Result<Expunging> {
        let mut expunging = Expunging::default();
        expunging.add(residue::read(connection)?);
        Ok(expunging)
    }

    /// Notes what a batch left behind.
    pub(crate) fn add(&mut self, residue: Option<Residue>) {
        let Some(residue) = residue else { return };
        self.residue = self.residue.max(Some(residue));
        self.pass = None;
        let due = match residue {
            Residue::Trimmed => TRIMMED_WAIT,
            Residue::Purged => PURGED_WAIT,
        };
        self.due = Some(self.due.map_or(due, |known| known.min(due)));
    }

    /// Whether items were purged whose texts are still in files.
    pub(crate) fn is_urgent(&self) -> bool {
        self.residue == Some(Residue::Purged)
    }

    /// After which time to call [`Writer::expunge_step`], once for each reason.
    pub(crate) const fn take_due(&mut self) -> Option<Duration> {
        self.due.take()
    }
}

impl ExpungeStep {
    /// After which time the next step may get further; `None` if nothing is left.
    pub(crate) const fn next(&self) -> Option<Duration> {
        match self {
            ExpungeStep::Done => None,
            ExpungeStep::More => Some(Duration::ZERO),
            ExpungeStep::Merging => Some(MERGE_WAIT),
            ExpungeStep::Blocked(_) => Some(READERS_WAIT),
        }
    }
}

impl Writer {
    /// Removes a part of what removals left in files. The text of trimmed versions goes with the
    /// next merge of its segment; their vectors go now.
    pub(crate) fn expunge_step(&mut self) -> ExpungeStep {
        let Some(residue) = self.expunging.residue else { return ExpungeStep::Done };
        if self.behind || self.check_in_order().is_err() {
            return ExpungeStep::Blocked("an index lags behind".to_owned());
        }
        let pass = match self.expunging.pass.take() {
            Some(pass) => Ok(pass),
            None => Pass::begin(&self.connection),
        };
        match pass.map_err(IndexError::from).and_then(|pass| self.continue_pass(pass, residue)) {
            Ok(step) => step,
            Err(error) => {
                if matches!(error, IndexError::Truth(_)) {
                    self.shared.health.note_error(&error);
                }
                ExpungeStep::Blocked(error_chain(&error))
            }
        }
    }

    fn continue_pass(
        &mut self,
        mut pass: Pass,
        residue: Residue,
    ) -> Result<ExpungeStep, IndexError> {
        if residue == Residue::Purged && !pass.text_is_rewritten {
            if !self.indexes.rewrite_removed_text() {
                self.expunging.pass = Some(pass);
                return Ok(ExpungeStep::Merging);
            }
            // Readers of the state before keep the old files.
            self.publish();
            pass.text_is_rewritten = true;
        }
        if self.indexes.expunge_vectors(&|row| pass.is_gone(row))? {
            self.publish();
            self.expunging.pass = Some(pass);
            return Ok(ExpungeStep::More);
        }
        self.publish();
        if let Some(stored) = self.indexes.stale_model() {
            let why = format!("the vectors are of another model, {}", stored.name);
            return Ok(ExpungeStep::Blocked(why));
        }
        if residue == Residue::Purged {
            let is_blocked = match (self.truncate_log()?, self.indexes.remove_rewritten_text()) {
                (false, _) => Some("a reader still uses the log"),
                (true, false) => Some("a reader still uses files of the text index"),
                (true, true) => None,
            };
            if let Some(why) = is_blocked {
                self.expunging.pass = Some(pass);
                return Ok(ExpungeStep::Blocked(why.to_owned()));
            }
        }
        // A transaction of this node alone: others clean up their own files.
        if let Err(error) = residue::clear(&self.connection) {
            self.stop_if_in_doubt(&error, true);
            return Err(error.into());
        }
        self.expunging.residue = None;
        Ok(ExpungeStep::Done)
    }

    /// Applies the log to the file and empties it. Returns whether no reader was in the way.
    fn truncate_log(&self) -> Result<bool, IndexError> {
        self.connection.busy_timeout(CHECKPOINT_WAIT)?;
        let truncated = self.connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |line| {
            line.get::<_, i64>(0).map(|busy| busy == 0)
        });
        self.connection.busy_timeout(BUSY_WAIT)?;
        Ok(truncated?)
    }

    /// Removes what removals left in files, before the workspace is closed. What is in the way is left
    /// to the next start.
    pub(crate) fn expunge_before_close(&mut self) {
        for _ in 0..CLOSE_TRIES {
            match self.expunge_step() {
                ExpungeStep::More => {}
                ExpungeStep::Merging => std::thread::sleep(MERGE_WAIT),
                ExpungeStep::Done | ExpungeStep::Blocked(_) => return,
            }
        }
    }

    /// Writes the file of the records anew, without what earlier versions of this program left in it.
    /// Not that of a replica, which was made by this version: it would number facts anew, by which the
    /// journal knows them.
    fn rewrite_records(&mut self) -> Result<(), CommitError> {
        let failed = |error: rusqlite::Error| CommitError::Storage { cause: error.into() };
        self.check_in_order()?;
        if self.replica.is_some() {
            return Ok(());
        }
        self.connection.execute_batch("VACUUM").map_err(failed)?;
        self.expunging.add(Some(Residue::Purged));
        Ok(())
    }
}

impl EmbeddedStore {
    /// Removes from files what purged items and trimmed versions left behind, now; with `rewrite`,
    /// also what earlier versions of this program left in the records. Returns what is left, and why.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub fn expunge(&self, rewrite: bool) -> Result<Vec<String>, CommitError> {
        if rewrite {
            self.call_writer(Writer::rewrite_records)??;
        }
        let (mut merge_tries, mut readers_tries) = (0, 0);
        loop {
            match self.call_writer(Writer::expunge_step)? {
                ExpungeStep::More => continue,
                ExpungeStep::Merging if merge_tries >= MERGE_TRIES => {
                    return Ok(vec!["the text index is still being rewritten".to_owned()]);
                }
                ExpungeStep::Blocked(why) if readers_tries >= READERS_TRIES => {
                    return Ok(vec![why]);
                }
                ExpungeStep::Merging => merge_tries += 1,
                ExpungeStep::Blocked(_) => readers_tries += 1,
                ExpungeStep::Done => break,
            }
            std::thread::sleep(MERGE_WAIT);
        }
        self.find_removed_rows().map_err(|error| CommitError::Storage { cause: error.into() })
    }

    /// The items that erasing a user would remove, and those that it would keep.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn user_items(&self, user: &str) -> Result<UserItems, ReadError> {
        self.shared.pool.read(|connection| erase::user_items(connection, user).map_err(storage))
    }

    /// Rows that only an index still has.
    fn find_removed_rows(&self) -> Result<Vec<String>, ReadError> {
        let (readers, kept) = self
            .call_writer(|writer| (writer.indexes.readers(), kept_rows(&writer.connection)))
            .map_err(|error| ReadError::Storage { cause: error.into() })?;
        let kept = kept.map_err(storage)?;
        let mut found = Vec::new();
        if let TextSnapshot::Ready(text) = &readers.0 {
            let gone = text.documents().filter(|(row, _)| !kept.contains(*row)).count();
            if gone > 0 {
                found.push(format!("text index: {gone} passages of removed items"));
            }
        }
        if let VectorSnapshot::Ready(vectors) = &readers.1 {
            let gone = vectors.slots().filter(|slot| !kept.contains(slot.row)).count();
            if gone > 0 {
                found.push(format!("vector index: {gone} vectors of removed items"));
            }
        }
        Ok(found)
    }
}
