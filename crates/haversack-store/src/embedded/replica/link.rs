//! The connection of a replica to its journal: where the replica stands, and how fresh it is.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rusqlite::{Connection, OptionalExtension, params};

use crate::store::error::ReadError;
use crate::store::journal::{
    EntryId, Freshness, Journal, JournalError, JournalHead, JournalKey, Position, ReplicaSettings,
};

/// How far a replica follows its journal, as its store records it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ReplicaState {
    /// The generation of the workspace.
    pub(crate) generation: EntryId,
    /// The last entry that the store has.
    pub(crate) position: Position,
    pub(crate) last: EntryId,
    /// The last entry that purged something which entries and snapshots before it may still hold.
    pub(crate) purged: Position,
}

impl ReplicaState {
    /// The state of a replica that has nothing yet.
    pub(super) const fn empty(key: &JournalKey) -> ReplicaState {
        ReplicaState::at(key.generation, Position::START, key.generation)
    }

    /// The state of a replica in which nothing was purged.
    pub(super) const fn at(generation: EntryId, position: Position, last: EntryId) -> ReplicaState {
        ReplicaState { generation, position, last, purged: Position::START }
    }

    /// Reads the state that a store records; `None` if it is no replica.
    pub(crate) fn read(connection: &Connection) -> rusqlite::Result<Option<ReplicaState>> {
        let is_replica = connection
            .prepare("SELECT 1 FROM main.sqlite_schema WHERE name = 'replica'")?
            .exists([])?;
        if !is_replica {
            return Ok(None);
        }
        let sql = "SELECT generation, position, last, purged FROM replica";
        connection
            .query_row(sql, [], |line| {
                Ok(ReplicaState {
                    generation: EntryId(line.get(0)?),
                    position: Position::new(line.get(1)?),
                    last: EntryId(line.get(2)?),
                    purged: Position::new(line.get(3)?),
                })
            })
            .optional()
    }

    /// Records it, in the caller's transaction.
    pub(super) fn write(&self, connection: &Connection) -> rusqlite::Result<()> {
        connection
            .prepare_cached(
                "INSERT INTO replica (one, generation, position, last, purged) \
                 VALUES (1, ?1, ?2, ?3, ?4) \
                 ON CONFLICT DO UPDATE SET generation = ?1, position = ?2, last = ?3, purged = ?4",
            )?
            .execute(params![
                self.generation.0,
                self.position.get(),
                self.last.0,
                self.purged.get()
            ])
            .map(drop)
    }

    /// Adds the table that holds it.
    pub(super) fn create_table(connection: &Connection) -> rusqlite::Result<()> {
        connection.execute_batch(
            "CREATE TABLE IF NOT EXISTS replica (
               one INTEGER PRIMARY KEY CHECK (one = 1), generation BLOB NOT NULL,
               position INTEGER NOT NULL, last BLOB NOT NULL, purged INTEGER NOT NULL
             ) STRICT",
        )
    }
}

/// The connection of an open replica to its journal.
#[derive(Debug)]
pub(crate) struct JournalLink {
    pub(crate) settings: ReplicaSettings,
    pub(crate) key: JournalKey,
    state: Mutex<LinkState>,
}

#[derive(Debug)]
struct LinkState {
    position: Position,
    last: EntryId,
    /// When the replica was last known to have everything.
    confirmed: Option<Instant>,
    /// Whether the last look at the journal failed.
    is_away: bool,
    /// Why the replica cannot follow its journal any more.
    outdated: Option<String>,
    /// The bytes of entries since the newest snapshot, roughly.
    tail_bytes: u64,
    is_snapshotting: bool,
    /// The last entry that purged something which journal and snapshots may still hold.
    purged: Position,
    /// How often other nodes changed named documents.
    documents_version: u64,
}

impl JournalLink {
    pub(super) fn new(
        settings: ReplicaSettings,
        key: JournalKey,
        state: &ReplicaState,
        tail_bytes: u64,
    ) -> Arc<JournalLink> {
        let (position, last) = (state.position, state.last);
        let confirmed = Some(Instant::now());
        let state = LinkState {
            position,
            last,
            confirmed,
            is_away: false,
            outdated: None,
            tail_bytes,
            is_snapshotting: false,
            purged: state.purged,
            documents_version: 0,
        };
        Arc::new(JournalLink { settings, key, state: Mutex::new(state) })
    }

    fn lock(&self) -> MutexGuard<'_, LinkState> {
        // The state is consistent after every statement.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn journal(&self) -> &Arc<dyn Journal> {
        &self.settings.journal
    }

    /// The last entry that readers see.
    pub(crate) fn position(&self) -> Position {
        self.lock().position
    }

    pub(super) fn state(&self) -> ReplicaState {
        let state = self.lock();
        let (position, last, purged) = (state.position, state.last, state.purged);
        ReplicaState { generation: self.key.generation, position, last, purged }
    }

    /// Notes that readers see everything up to an entry.
    pub(super) fn advance(&self, now: &ReplicaState, bytes: usize) {
        let mut state = self.lock();
        (state.position, state.last, state.purged) = (now.position, now.last, now.purged);
        state.tail_bytes += bytes as u64;
    }

    /// Notes that another node changed named documents.
    pub(super) fn note_documents(&self) {
        self.lock().documents_version += 1;
    }

    pub(crate) fn documents_version(&self) -> u64 {
        self.lock().documents_version
    }

    /// Counts the bytes of an entry that this node appended.
    pub(super) fn advance_bytes(&self, bytes: usize) {
        self.lock().tail_bytes += bytes as u64;
    }

    /// Notes that the replica had everything at a moment.
    pub(crate) fn confirm(&self, at: Instant) {
        let mut state = self.lock();
        state.confirmed = state.confirmed.max(Some(at));
        state.is_away = false;
    }

    /// Notes why the replica cannot follow its journal. It has to be opened again.
    pub(crate) fn set_outdated(&self, why: &str) {
        self.lock().outdated.get_or_insert_with(|| why.to_owned());
    }

    /// Why the replica has to be opened again, if it has to.
    pub(crate) fn outdated(&self) -> Option<String> {
        self.lock().outdated.clone()
    }

    /// How old the state may be that readers see, while the journal cannot be reached.
    pub(crate) fn staleness(&self) -> Option<Duration> {
        let is_away = self.lock().is_away;
        is_away.then(|| self.age())
    }

    /// How long ago the replica was last known to have everything.
    pub(crate) fn age(&self) -> Duration {
        self.lock().confirmed.map_or(Duration::MAX, |at| at.elapsed())
    }

    /// Why a snapshot is due, if one is, and then that it is being made.
    pub(super) fn begin_due_snapshot(&self) -> Option<SnapshotDue> {
        let mut state = self.lock();
        let due = if state.purged > Position::START {
            SnapshotDue::AfterPurge(state.purged)
        } else if state.tail_bytes >= self.settings.snapshot_after_bytes {
            SnapshotDue::AfterBytes
        } else {
            return None;
        };
        if state.is_snapshotting || state.outdated.is_some() {
            return None;
        }
        state.is_snapshotting = true;
        Some(due)
    }

    /// Ends making a snapshot; a new one is due after as many bytes again. `cleaned` is the last entry
    /// before which nothing is left.
    pub(super) fn end_snapshot(&self, cleaned: Option<Position>) {
        let mut state = self.lock();
        (state.is_snapshotting, state.tail_bytes) = (false, 0);
        if cleaned.is_some_and(|cleaned| cleaned >= state.purged) {
            // Recorded with the next entry; until then each opening finds that nothing is left.
            state.purged = Position::START;
        }
    }

    /// Checks that a head continues what this replica had when the look at it began: it may have written
    /// since. Returns whether the head is ahead of what it has now.
    pub(super) fn is_behind(
        &self,
        before: &ReplicaState,
        head: Option<&JournalHead>,
    ) -> Result<bool, String> {
        let why = match head {
            None => "the workspace was removed".to_owned(),
            Some(head) if head.key.generation != before.generation => {
                "the workspace was removed and created again".to_owned()
            }
            Some(head) if head.position > before.position => {
                return Ok(head.position > self.position());
            }
            Some(head) if head.position == before.position && head.last == before.last => {
                return Ok(false);
            }
            Some(head) => format!(
                "its journal ends at {}, and this replica was at {} before: the journal was restored \
                 from an earlier state",
                head.position, before.position
            ),
        };
        self.set_outdated(&why);
        Err(why)
    }

    /// Looks at the head if the wanted freshness needs it. Returns what the replica lacks.
    pub(crate) async fn look(&self, freshness: Freshness) -> Result<Look, ReadError> {
        if let Some(why) = self.outdated() {
            return Err(ReadError::Outdated { why });
        }
        match freshness {
            Freshness::Bounded(most) if self.age() <= most => return Ok(Look::Current(None)),
            Freshness::AtLeast(position) if self.position() >= position => {
                return Ok(Look::Current(None));
            }
            _ => {}
        }
        let (began, before) = (Instant::now(), self.state());
        match self.journal().head(&self.key.workspace).await {
            Ok(head) => match self.is_behind(&before, head.as_ref()) {
                Ok(false) => {
                    self.confirm(began);
                    self.check_reached(freshness, head.as_ref())
                }
                Ok(true) => Ok(Look::Behind { began }),
                Err(why) => Err(ReadError::Outdated { why }),
            },
            Err(error) => self.without_journal(freshness, error),
        }
    }

    /// Refuses to wait for an entry that does not exist.
    fn check_reached(
        &self,
        freshness: Freshness,
        head: Option<&JournalHead>,
    ) -> Result<Look, ReadError> {
        match (freshness, head) {
            (Freshness::AtLeast(position), Some(head)) if head.position < position => {
                let what = format!("{position} is above the last write, {}", head.position);
                Err(ReadError::invalid("at_least", what))
            }
            _ => Ok(Look::Current(None)),
        }
    }

    /// What a read gets while the journal cannot be reached.
    pub(crate) fn without_journal(
        &self,
        freshness: Freshness,
        error: JournalError,
    ) -> Result<Look, ReadError> {
        self.lock().is_away = true;
        let age = self.age();
        let may_be_stale = !matches!(freshness, Freshness::AtLeast(_));
        if may_be_stale && age <= self.settings.stale_max {
            return Ok(Look::Current(Some(age)));
        }
        Err(ReadError::Unavailable { cause: error.into() })
    }
}

/// What a read has to do first.
#[derive(Debug)]
pub(crate) enum Look {
    /// Nothing. Set is how old the state may be, if the journal could not be reached.
    Current(Option<Duration>),
    /// Catch up. The look began at this moment.
    Behind { began: Instant },
}

/// Why a snapshot is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SnapshotDue {
    /// The entries since the last one have grown.
    AfterBytes,
    /// This entry purged what entries and snapshots before it hold.
    AfterPurge(Position),
}
