//! A journal in memory, for tests: simple, correct, and it fails when it is told to.

use std::collections::{BTreeMap, HashMap};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use futures_util::future::{Either, select};
use tokio::sync::{Mutex as AsyncMutex, OwnedMutexGuard, oneshot};

use haversack_store::store::journal::{
    ENTRY_BYTES_MAX, EntryId, HeadLock, Journal, JournalEntry, JournalError, JournalFuture,
    JournalHead, JournalKey, JournalSnapshot, JournalStatus, Position, SNAPSHOT_PART_BYTES_MAX,
    SharedRecord, SnapshotPart, SnapshotSink,
};

/// How long a node that died stands in the way of the next snapshot.
const CLAIM_SECONDS: i64 = 180;

/// How long calls that have no limit of their own wait for a lock.
const WAIT: Duration = Duration::from_secs(30);

/// What happens to the next append.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AppendFault {
    /// It is refused.
    Unavailable,
    /// It is written, and its answer is lost.
    LostAfterCommit,
    /// It is not written, and its answer is lost.
    LostBeforeCommit,
}

/// A journal in memory. Clones share it, as nodes share a database.
#[derive(Debug, Clone, Default)]
pub struct MemoryJournal {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    heads: Mutex<HashMap<String, Arc<AsyncMutex<()>>>>,
}

#[derive(Debug, Default)]
struct State {
    workspaces: BTreeMap<String, WorkspaceJournal>,
    records: BTreeMap<(String, String), Vec<u8>>,
    records_version: u64,
    audit: BTreeMap<String, BTreeMap<u64, String>>,
    is_away: bool,
    append_fault: Option<AppendFault>,
    /// How far the clock was moved.
    clock_offset: i64,
    claims: u64,
}

#[derive(Debug)]
struct WorkspaceJournal {
    head: JournalHead,
    entries: BTreeMap<Position, JournalEntry>,
    snapshot: Option<(JournalSnapshot, Vec<Vec<u8>>)>,
    claim: Option<Claim>,
}

/// The right of one node to make a snapshot, until it expires.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Claim {
    number: u64,
    expires_at: i64,
}

impl MemoryJournal {
    /// An empty journal.
    #[must_use]
    pub fn new() -> MemoryJournal {
        MemoryJournal::default()
    }

    /// Makes every call fail as if the database were away, or succeed again.
    pub fn set_away(&self, is_away: bool) {
        self.shared.state().is_away = is_away;
    }

    /// Makes the next append fail.
    pub fn fail_next_append(&self, fault: AppendFault) {
        self.shared.state().append_fault = Some(fault);
    }

    /// Moves the clock of the journal.
    pub fn advance_clock(&self, by: Duration) {
        self.shared.state().clock_offset += i64::try_from(by.as_millis()).expect("a short time");
    }

    /// Changes a byte in a part of the newest snapshot.
    ///
    /// # Panics
    /// When there is no such part.
    pub fn damage_snapshot_part(&self, workspace: &str, number: usize) {
        let mut state = self.shared.state();
        let journal = state.workspaces.get_mut(workspace).expect("a workspace");
        journal.snapshot.as_mut().expect("a snapshot").1[number][0] ^= 1;
    }

    /// Removes an entry from the middle, as damage would.
    ///
    /// # Panics
    /// When there is no such entry.
    pub fn lose_entry(&self, workspace: &str, position: Position) {
        let mut state = self.shared.state();
        let journal = state.workspaces.get_mut(workspace).expect("a workspace");
        journal.entries.remove(&position).expect("an entry");
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The state, unless the journal is away.
    fn reach(&self) -> Result<MutexGuard<'_, State>, JournalError> {
        let state = self.state();
        if state.is_away { Err(unavailable("it is away")) } else { Ok(state) }
    }

    async fn lock_head(
        &self,
        workspace: &str,
        wait: Duration,
    ) -> Result<OwnedMutexGuard<()>, JournalError> {
        let slot = {
            let mut heads = self.heads.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(heads.entry(workspace.to_owned()).or_default())
        };
        if let Ok(guard) = Arc::clone(&slot).try_lock_owned() {
            return Ok(guard);
        }
        // Whoever waits may have no runtime, so a thread keeps the time.
        let (stop, stopped) = channel::<()>();
        let (expire, expired) = oneshot::channel();
        std::thread::spawn(move || {
            if stopped.recv_timeout(wait) == Err(RecvTimeoutError::Timeout) {
                let _ = expire.send(());
            }
        });
        let outcome = select(Box::pin(slot.lock_owned()), expired).await;
        drop(stop);
        match outcome {
            Either::Left((guard, _)) => Ok(guard),
            Either::Right(_) => Err(unavailable(&format!(
                "another node has held the head of workspace {workspace} for {} ms",
                wait.as_millis()
            ))),
        }
    }
}

impl State {
    fn now(&self) -> i64 {
        let elapsed = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        i64::try_from(elapsed.as_millis()).unwrap_or(i64::MAX) + self.clock_offset
    }

    fn journal(&mut self, key: &JournalKey) -> Result<&mut WorkspaceJournal, JournalError> {
        let journal = self.workspaces.get_mut(&key.workspace);
        journal.filter(|journal| journal.head.key == *key).ok_or_else(|| {
            damaged(format!("generation {} of workspace {}", key.generation, key.workspace))
        })
    }

    /// The journal, if this is still the claim on its next snapshot.
    fn claimed(
        &mut self,
        key: &JournalKey,
        number: u64,
    ) -> Result<&mut WorkspaceJournal, JournalError> {
        let journal = self.journal(key)?;
        match journal.claim {
            Some(claim) if claim.number == number => Ok(journal),
            _ => Err(unavailable("another node has taken over the snapshot")),
        }
    }

    fn bump_records(&mut self) {
        self.records_version += 1;
    }
}

impl WorkspaceJournal {
    fn read(&self, after: Position, bytes_max: usize) -> Result<Vec<JournalEntry>, JournalError> {
        let (mut entries, mut bytes, mut next) = (Vec::new(), 0, after.next());
        while next <= self.head.position {
            let Some(entry) = self.entries.get(&next) else {
                if entries.is_empty() {
                    return Err(damaged(format!("entry {next}")));
                }
                break;
            };
            bytes += entry.body.len();
            if !entries.is_empty() && bytes > bytes_max {
                break;
            }
            entries.push(entry.clone());
            next = next.next();
        }
        Ok(entries)
    }

    fn append(&mut self, id: EntryId, body: Vec<u8>) -> Result<Position, JournalError> {
        if self.entries.values().any(|entry| entry.id == id) {
            return Err(refused(format!("entry {id} is there already")));
        }
        let position = self.head.position.next();
        self.entries.insert(position, JournalEntry { position, id, body });
        self.head.position = position;
        self.head.last = id;
        Ok(position)
    }

    fn status(&self) -> JournalStatus {
        let next = self.head.position.next();
        JournalStatus {
            head: self.head.clone(),
            first: self.entries.keys().next().copied().unwrap_or(next),
            bytes: self.entries.values().map(|entry| entry.body.len() as u64).sum(),
            snapshot: self.snapshot.as_ref().map(|(snapshot, _)| snapshot.clone()),
        }
    }

    /// Refuses a snapshot of what was never written.
    fn check_snapshot(&self, position: Position, last: EntryId) -> Result<(), JournalError> {
        if position > self.head.position {
            let head = self.head.position;
            return Err(refused(format!(
                "a snapshot at {position}, and the journal ends at {head}"
            )));
        }
        let written = match self.entries.get(&position) {
            Some(entry) => Some(entry.id),
            None if position == self.head.position => Some(self.head.last),
            None => None,
        };
        if written.is_some_and(|written| written != last) {
            return Err(refused(format!("entry {position} is not {last}")));
        }
        Ok(())
    }
}

fn unavailable(why: &str) -> JournalError {
    JournalError::Unavailable { cause: why.into() }
}

fn refused(why: String) -> JournalError {
    JournalError::Refused { cause: why.into() }
}

fn damaged(what: String) -> JournalError {
    JournalError::Damaged { what }
}

struct MemoryLock {
    shared: Arc<Shared>,
    head: JournalHead,
    _guard: OwnedMutexGuard<()>,
}

impl HeadLock for MemoryLock {
    fn head(&self) -> &JournalHead {
        &self.head
    }

    fn read(&mut self, after: Position, bytes_max: usize) -> JournalFuture<'_, Vec<JournalEntry>> {
        Box::pin(
            async move { self.shared.reach()?.journal(&self.head.key)?.read(after, bytes_max) },
        )
    }

    fn append(self: Box<Self>, id: EntryId, body: Vec<u8>) -> JournalFuture<'static, Position> {
        Box::pin(async move {
            if body.len() > ENTRY_BYTES_MAX {
                return Err(refused(format!("an entry of {} bytes", body.len())));
            }
            let mut state = self.shared.reach()?;
            let fault = state.append_fault.take();
            let lost = || JournalError::Unknown { cause: "the connection was cut".into() };
            match fault {
                Some(AppendFault::Unavailable) => return Err(unavailable("it was told to fail")),
                Some(AppendFault::LostBeforeCommit) => return Err(lost()),
                Some(AppendFault::LostAfterCommit) | None => {}
            }
            let position = state.journal(&self.head.key)?.append(id, body)?;
            if fault.is_some() { Err(lost()) } else { Ok(position) }
        })
    }
}

struct MemorySink {
    shared: Arc<Shared>,
    snapshot: JournalSnapshot,
    parts: Vec<Vec<u8>>,
    claim: u64,
}

impl SnapshotSink for MemorySink {
    fn add(&mut self, part: Vec<u8>) -> JournalFuture<'_, ()> {
        Box::pin(async move {
            if part.len() > SNAPSHOT_PART_BYTES_MAX {
                return Err(refused(format!("a part of {} bytes", part.len())));
            }
            let mut state = self.shared.reach()?;
            let expires_at = state.now() + CLAIM_SECONDS * 1_000;
            let journal = state.claimed(&self.snapshot.key, self.claim)?;
            journal.claim = Some(Claim { number: self.claim, expires_at });
            let bytes = u32::try_from(part.len()).expect("at most 4 MiB");
            let hash = *blake3::hash(&part).as_bytes();
            self.snapshot.parts.push(SnapshotPart { bytes, hash });
            self.parts.push(part);
            Ok(())
        })
    }

    fn finish(mut self: Box<Self>) -> JournalFuture<'static, JournalSnapshot> {
        Box::pin(async move {
            let mut state = self.shared.reach()?;
            let now = state.now();
            let journal = state.claimed(&self.snapshot.key, self.claim)?;
            let mut snapshot = self.snapshot.clone();
            snapshot.made_at = now;
            let parts = std::mem::take(&mut self.parts);
            journal.snapshot = Some((snapshot.clone(), parts));
            journal.claim = None;
            drop(state);
            Ok(snapshot)
        })
    }
}

impl Drop for MemorySink {
    fn drop(&mut self) {
        let mut state = self.shared.state();
        if let Ok(journal) = state.claimed(&self.snapshot.key, self.claim) {
            journal.claim = None;
        }
    }
}

impl Journal for MemoryJournal {
    fn place(&self) -> String {
        "memory".to_owned()
    }

    fn workspaces(&self) -> JournalFuture<'_, Vec<String>> {
        Box::pin(async move { Ok(self.shared.reach()?.workspaces.keys().cloned().collect()) })
    }

    fn create<'a>(&'a self, key: &'a JournalKey) -> JournalFuture<'a, JournalHead> {
        Box::pin(async move {
            let mut state = self.shared.reach()?;
            let journal = state.workspaces.entry(key.workspace.clone()).or_insert_with(|| {
                let (position, last) = (Position::START, key.generation);
                let head = JournalHead { key: key.clone(), position, last };
                WorkspaceJournal { head, entries: BTreeMap::new(), snapshot: None, claim: None }
            });
            Ok(journal.head.clone())
        })
    }

    fn remove<'a>(&'a self, workspace: &'a str) -> JournalFuture<'a, bool> {
        Box::pin(async move {
            let _guard = self.shared.lock_head(workspace, WAIT).await?;
            Ok(self.shared.reach()?.workspaces.remove(workspace).is_some())
        })
    }

    fn head<'a>(&'a self, workspace: &'a str) -> JournalFuture<'a, Option<JournalHead>> {
        Box::pin(async move {
            let state = self.shared.reach()?;
            Ok(state.workspaces.get(workspace).map(|journal| journal.head.clone()))
        })
    }

    fn lock<'a>(
        &'a self,
        workspace: &'a str,
        wait: Duration,
    ) -> JournalFuture<'a, Option<Box<dyn HeadLock>>> {
        Box::pin(async move {
            drop(self.shared.reach()?);
            let guard = self.shared.lock_head(workspace, wait).await?;
            let head = self.shared.reach()?.workspaces.get(workspace).map(|it| it.head.clone());
            let shared = Arc::clone(&self.shared);
            let lock = |head| Box::new(MemoryLock { shared, head, _guard: guard });
            Ok(head.map(|head| lock(head) as Box<dyn HeadLock>))
        })
    }

    fn read<'a>(
        &'a self,
        key: &'a JournalKey,
        after: Position,
        bytes_max: usize,
    ) -> JournalFuture<'a, Vec<JournalEntry>> {
        Box::pin(async move { self.shared.reach()?.journal(key)?.read(after, bytes_max) })
    }

    fn find<'a>(&'a self, key: &'a JournalKey, id: EntryId) -> JournalFuture<'a, Option<Position>> {
        Box::pin(async move {
            let _guard = self.shared.lock_head(&key.workspace, WAIT).await?;
            let mut state = self.shared.reach()?;
            let Ok(journal) = state.journal(key) else { return Ok(None) };
            let mut entries = journal.entries.values();
            Ok(entries.find(|entry| entry.id == id).map(|entry| entry.position))
        })
    }

    fn status<'a>(&'a self, workspace: &'a str) -> JournalFuture<'a, Option<JournalStatus>> {
        Box::pin(async move {
            Ok(self.shared.reach()?.workspaces.get(workspace).map(WorkspaceJournal::status))
        })
    }

    fn snapshot<'a>(&'a self, key: &'a JournalKey) -> JournalFuture<'a, Option<JournalSnapshot>> {
        Box::pin(async move {
            let mut state = self.shared.reach()?;
            let Ok(journal) = state.journal(key) else { return Ok(None) };
            Ok(journal.snapshot.as_ref().map(|(snapshot, _)| snapshot.clone()))
        })
    }

    fn snapshot_part<'a>(
        &'a self,
        snapshot: &'a JournalSnapshot,
        number: usize,
    ) -> JournalFuture<'a, Vec<u8>> {
        Box::pin(async move {
            let what =
                || damaged(format!("part {number} of the snapshot at {}", snapshot.position));
            let wanted = snapshot.parts.get(number).ok_or_else(what)?;
            let mut state = self.shared.reach()?;
            let kept = state.journal(&snapshot.key)?.snapshot.as_ref().ok_or_else(what)?;
            let part = kept.1.get(number).ok_or_else(what)?;
            let is_same = blake3::hash(part).as_bytes() == &wanted.hash;
            if is_same { Ok(part.clone()) } else { Err(what()) }
        })
    }

    fn put_snapshot<'a>(
        &'a self,
        key: &'a JournalKey,
        position: Position,
        last: EntryId,
    ) -> JournalFuture<'a, Option<Box<dyn SnapshotSink>>> {
        Box::pin(async move {
            let mut state = self.shared.reach()?;
            let now = state.now();
            state.claims += 1;
            let claim = Claim { number: state.claims, expires_at: now + CLAIM_SECONDS * 1_000 };
            let journal = state.journal(key)?;
            journal.check_snapshot(position, last)?;
            if journal.claim.is_some_and(|claim| claim.expires_at > now) {
                return Ok(None);
            }
            journal.claim = Some(claim);
            let (key, parts) = (key.clone(), Vec::new());
            let snapshot = JournalSnapshot { key, position, last, made_at: now, parts };
            let (shared, claim) = (Arc::clone(&self.shared), claim.number);
            let sink = MemorySink { shared, snapshot, parts: Vec::new(), claim };
            Ok(Some(Box::new(sink) as Box<dyn SnapshotSink>))
        })
    }

    fn trim<'a>(&'a self, key: &'a JournalKey, through: Position) -> JournalFuture<'a, u64> {
        Box::pin(async move {
            let mut state = self.shared.reach()?;
            let journal = state.journal(key)?;
            if journal.snapshot.as_ref().is_none_or(|(snapshot, _)| snapshot.position < through) {
                return Err(refused(format!("no snapshot has entry {through}")));
            }
            let kept = journal.entries.split_off(&through.next());
            let removed = std::mem::replace(&mut journal.entries, kept);
            Ok(removed.len() as u64)
        })
    }

    fn shared_version(&self) -> JournalFuture<'_, u64> {
        Box::pin(async move { Ok(self.shared.reach()?.records_version) })
    }

    fn shared_records<'a>(&'a self, kind: &'a str) -> JournalFuture<'a, Vec<SharedRecord>> {
        Box::pin(async move {
            let state = self.shared.reach()?;
            let records = state.records.iter().filter(|((its_kind, _), _)| its_kind == kind);
            let record = |((_, name), body): (&(String, String), &Vec<u8>)| SharedRecord {
                name: name.clone(),
                body: body.clone(),
            };
            Ok(records.map(record).collect())
        })
    }

    fn put_shared_record<'a>(
        &'a self,
        kind: &'a str,
        record: &'a SharedRecord,
        is_new: bool,
    ) -> JournalFuture<'a, bool> {
        Box::pin(async move {
            let mut state = self.shared.reach()?;
            let key = (kind.to_owned(), record.name.clone());
            if is_new && state.records.contains_key(&key) {
                return Ok(false);
            }
            state.records.insert(key, record.body.clone());
            state.bump_records();
            Ok(true)
        })
    }

    fn remove_shared_record<'a>(&'a self, kind: &'a str, name: &'a str) -> JournalFuture<'a, bool> {
        Box::pin(async move {
            let mut state = self.shared.reach()?;
            let was_there = state.records.remove(&(kind.to_owned(), name.to_owned())).is_some();
            if was_there {
                state.bump_records();
            }
            Ok(was_there)
        })
    }

    fn append_audit<'a>(
        &'a self,
        node: &'a str,
        lines: &'a [(u64, String)],
    ) -> JournalFuture<'a, ()> {
        Box::pin(async move {
            if lines.is_empty() {
                return Ok(());
            }
            let mut state = self.shared.reach()?;
            let log = state.audit.entry(node.to_owned()).or_default();
            for (number, line) in lines {
                log.entry(*number).or_insert_with(|| line.clone());
            }
            Ok(())
        })
    }

    fn audit_lines<'a>(
        &'a self,
        node: &'a str,
        after: u64,
        limit: usize,
    ) -> JournalFuture<'a, Vec<(u64, String)>> {
        Box::pin(async move {
            let state = self.shared.reach()?;
            let lines = state.audit.get(node).into_iter().flatten();
            let lines = lines.filter(|(number, _)| **number > after).take(limit);
            Ok(lines.map(|(number, line)| (*number, line.clone())).collect())
        })
    }

    fn audit_nodes(&self) -> JournalFuture<'_, Vec<String>> {
        Box::pin(async move { Ok(self.shared.reach()?.audit.keys().cloned().collect()) })
    }
}

#[cfg(test)]
mod tests;
