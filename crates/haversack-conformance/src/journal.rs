//! What every journal must do, whatever keeps it.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::future::BoxFuture;
use haversack_store::store::block_on;
use haversack_store::store::journal::{
    EntryId, HeadLock, Journal, JournalError, JournalHead, JournalKey, Position,
    SNAPSHOT_PART_BYTES_MAX, SharedRecord,
};

/// Lists functions as cases under their own names.
macro_rules! cases {
    ($($name:ident),+ $(,)?) => { &[$((stringify!($name), |harness| Box::pin($name(harness)))),+] };
}

/// A journal under test, and what a test must be able to do to it.
pub trait JournalHarness: Send + Sync {
    /// An empty journal.
    fn journal(&self) -> Arc<dyn Journal>;

    /// Lets the time of all claims on snapshots run out.
    fn expire_claims(&self);

    /// Changes a byte in a part of the newest snapshot of a workspace.
    fn damage_snapshot_part(&self, workspace: &str, number: usize);

    /// Removes an entry from the middle, as damage would.
    fn lose_entry(&self, workspace: &str, position: Position);
}

/// The name of a case and its function.
pub type JournalCase = (&'static str, fn(Arc<dyn JournalHarness>) -> BoxFuture<'static, ()>);

/// All cases.
pub const JOURNAL_CASES: &[JournalCase] = cases![
    a_workspace_has_one_life_at_a_time,
    entries_follow_each_other_without_gaps,
    sixteen_writers_leave_one_order,
    a_lock_is_waited_for_and_no_longer,
    a_lock_that_is_dropped_wrote_nothing,
    reading_is_bounded_by_bytes,
    an_entry_is_found_by_its_id,
    an_id_is_written_once,
    a_removed_journal_is_gone,
    a_snapshot_is_kept_in_parts,
    one_node_makes_a_snapshot_at_a_time,
    a_dead_node_delays_the_next_snapshot_for_a_while,
    a_newer_snapshot_replaces_an_older_one,
    a_snapshot_of_what_was_never_written_is_refused,
    a_damaged_part_is_told,
    what_was_trimmed_is_told,
    a_lost_entry_is_told,
    the_status_counts_what_is_kept,
    shared_records_have_a_version,
    audit_lines_are_kept_once,
];

/// Runs all cases, each on a journal of its own, on this thread and without a runtime.
pub fn run_journal(mut empty: impl FnMut(&'static str) -> Arc<dyn JournalHarness>) {
    for (name, case) in JOURNAL_CASES {
        block_on(case(empty(name)));
    }
}

const WAIT: Duration = Duration::from_secs(30);

fn key(workspace: &str, generation: u8) -> JournalKey {
    JournalKey { workspace: workspace.to_owned(), generation: EntryId([generation; 16]) }
}

fn entry(number: u64) -> EntryId {
    let mut id = [7; 16];
    id[..8].copy_from_slice(&number.to_le_bytes());
    EntryId(id)
}

fn at(number: u64) -> Position {
    Position::new(number)
}

async fn lock(journal: &dyn Journal, workspace: &str) -> Box<dyn HeadLock> {
    journal.lock(workspace, WAIT).await.unwrap().unwrap()
}

async fn append(journal: &dyn Journal, workspace: &str, number: u64, body: &[u8]) -> Position {
    lock(journal, workspace).await.append(entry(number), body.to_vec()).await.unwrap()
}

/// A journal with a workspace `w` that has entries 1 to `count`.
async fn filled(harness: &Arc<dyn JournalHarness>, count: u64) -> (Arc<dyn Journal>, JournalKey) {
    let (journal, key) = (harness.journal(), key("w", 1));
    journal.create(&key).await.unwrap();
    for number in 1..=count {
        let position = append(&*journal, "w", number, &number.to_le_bytes()).await;
        assert_eq!(position, at(number));
    }
    (journal, key)
}

async fn positions(journal: &dyn Journal, key: &JournalKey, after: u64, bytes: usize) -> Vec<u64> {
    let entries = journal.read(key, at(after), bytes).await.unwrap();
    entries.iter().map(|entry| entry.position.get()).collect()
}

fn is_damaged<T>(result: &Result<T, JournalError>) -> bool {
    matches!(result, Err(JournalError::Damaged { .. }))
}

async fn put_snapshot(journal: &dyn Journal, key: &JournalKey, position: u64, parts: &[&[u8]]) {
    let sink = journal.put_snapshot(key, at(position), entry(position)).await.unwrap();
    let mut sink = sink.unwrap();
    for part in parts {
        sink.add(part.to_vec()).await.unwrap();
    }
    sink.finish().await.unwrap();
}

async fn a_workspace_has_one_life_at_a_time(harness: Arc<dyn JournalHarness>) {
    let journal = harness.journal();
    assert_eq!(journal.head("w").await.unwrap(), None);
    assert!(journal.lock("w", WAIT).await.unwrap().is_none());
    let first = key("w", 1);
    let head = JournalHead { key: first.clone(), position: at(0), last: first.generation };
    assert_eq!(journal.create(&first).await.unwrap(), head);
    // The second one to create it gets the first one's.
    assert_eq!(journal.create(&key("w", 2)).await.unwrap(), head);
    assert_eq!(journal.head("w").await.unwrap(), Some(head));
    journal.create(&key("Z", 3)).await.unwrap();
    journal.create(&key("a", 4)).await.unwrap();
    assert_eq!(journal.workspaces().await.unwrap(), ["Z", "a", "w"]);
}

async fn entries_follow_each_other_without_gaps(harness: Arc<dyn JournalHarness>) {
    let (journal, key) = filled(&harness, 3).await;
    let head = journal.head("w").await.unwrap().unwrap();
    assert_eq!((head.position, head.last), (at(3), entry(3)));
    let entries = journal.read(&key, at(1), usize::MAX).await.unwrap();
    assert_eq!(entries.len(), 2);
    assert_eq!((entries[0].position, entries[0].id), (at(2), entry(2)));
    assert_eq!(entries[1].body, 3_u64.to_le_bytes());
    assert!(journal.read(&key, at(3), usize::MAX).await.unwrap().is_empty());
    assert!(journal.read(&key, at(9), usize::MAX).await.unwrap().is_empty());
    let mut lock = lock(&*journal, "w").await;
    assert_eq!(lock.head(), &head);
    assert_eq!(lock.read(at(0), usize::MAX).await.unwrap().len(), 3);
    // An empty entry is one, too.
    assert_eq!(lock.append(entry(4), Vec::new()).await.unwrap(), at(4));
    assert_eq!(positions(&*journal, &key, 3, 1).await, [4]);
}

async fn sixteen_writers_leave_one_order(harness: Arc<dyn JournalHarness>) {
    const WRITERS: u64 = 16;
    const EACH: u64 = 8;
    let (journal, key) = filled(&harness, 0).await;
    let written: Vec<(u64, EntryId)> = std::thread::scope(|scope| {
        let start = |writer: u64| {
            let journal = Arc::clone(&journal);
            scope.spawn(move || {
                let write = |turn: u64| {
                    let number = writer * EACH + turn;
                    (block_on(append(&*journal, "w", number, b"x")).get(), entry(number))
                };
                (0..EACH).map(write).collect::<Vec<_>>()
            })
        };
        let writers: Vec<_> = (0..WRITERS).map(start).collect();
        writers.into_iter().flat_map(|writer| writer.join().unwrap()).collect()
    });
    let entries = journal.read(&key, Position::START, usize::MAX).await.unwrap();
    let found: Vec<u64> = entries.iter().map(|entry| entry.position.get()).collect();
    assert_eq!(found, (1..=WRITERS * EACH).collect::<Vec<_>>());
    let kept: BTreeSet<_> = entries.iter().map(|it| (it.position.get(), it.id)).collect();
    assert_eq!(kept, written.into_iter().collect());
}

async fn a_lock_is_waited_for_and_no_longer(harness: Arc<dyn JournalHarness>) {
    let (journal, _) = filled(&harness, 0).await;
    journal.create(&key("other", 9)).await.unwrap();
    let held = lock(&*journal, "w").await;
    let wait = Duration::from_millis(200);
    let began = Instant::now();
    let refused = journal.lock("w", wait).await.err();
    assert!(matches!(refused, Some(JournalError::Unavailable { .. })), "{refused:?}");
    assert!(began.elapsed() >= wait, "{:?}", began.elapsed());
    // The lock of one workspace is not in the way of another, nor of reading.
    assert_eq!(append(&*journal, "other", 1, b"x").await, at(1));
    assert_eq!(journal.head("w").await.unwrap().unwrap().position, at(0));
    let next = {
        let journal = Arc::clone(&journal);
        std::thread::spawn(move || block_on(append(&*journal, "w", 2, b"x")))
    };
    assert_eq!(held.append(entry(1), b"x".to_vec()).await.unwrap(), at(1));
    assert_eq!(next.join().unwrap(), at(2));
}

async fn a_lock_that_is_dropped_wrote_nothing(harness: Arc<dyn JournalHarness>) {
    let (journal, key) = filled(&harness, 1).await;
    drop(lock(&*journal, "w").await);
    assert_eq!(append(&*journal, "w", 2, b"x").await, at(2));
    assert_eq!(positions(&*journal, &key, 0, usize::MAX).await, [1, 2]);
}

async fn reading_is_bounded_by_bytes(harness: Arc<dyn JournalHarness>) {
    let (journal, key) = filled(&harness, 5).await;
    // Entries of eight bytes.
    assert_eq!(positions(&*journal, &key, 0, 0).await, [1]);
    assert_eq!(positions(&*journal, &key, 1, 15).await, [2]);
    assert_eq!(positions(&*journal, &key, 1, 16).await, [2, 3]);
    assert_eq!(positions(&*journal, &key, 1, 1_000).await, [2, 3, 4, 5]);
}

async fn an_entry_is_found_by_its_id(harness: Arc<dyn JournalHarness>) {
    let (journal, first) = filled(&harness, 3).await;
    assert_eq!(journal.find(&first, entry(2)).await.unwrap(), Some(at(2)));
    assert_eq!(journal.find(&first, entry(4)).await.unwrap(), None);
    assert_eq!(journal.find(&key("w", 2), entry(2)).await.unwrap(), None);
    assert_eq!(journal.find(&key("none", 1), entry(2)).await.unwrap(), None);
    // It waits for whoever may be writing it.
    let held = lock(&*journal, "w").await;
    let finder = {
        let (journal, first) = (Arc::clone(&journal), first.clone());
        std::thread::spawn(move || block_on(journal.find(&first, entry(4))).unwrap())
    };
    assert_eq!(held.append(entry(4), b"x".to_vec()).await.unwrap(), at(4));
    assert!([None, Some(at(4))].contains(&finder.join().unwrap()));
    assert_eq!(journal.find(&first, entry(4)).await.unwrap(), Some(at(4)));
}

async fn an_id_is_written_once(harness: Arc<dyn JournalHarness>) {
    let (journal, key) = filled(&harness, 2).await;
    let again = lock(&*journal, "w").await.append(entry(1), b"again".to_vec()).await;
    assert!(matches!(again, Err(JournalError::Refused { .. })), "{again:?}");
    assert_eq!(append(&*journal, "w", 3, b"x").await, at(3));
    assert_eq!(positions(&*journal, &key, 0, usize::MAX).await, [1, 2, 3]);
}

async fn a_removed_journal_is_gone(harness: Arc<dyn JournalHarness>) {
    let (journal, first) = filled(&harness, 2).await;
    put_snapshot(&*journal, &first, 2, &[b"all"]).await;
    let snapshot = journal.snapshot(&first).await.unwrap().unwrap();
    let mut unfinished = journal.put_snapshot(&first, at(2), entry(2)).await.unwrap().unwrap();
    assert!(journal.remove("w").await.unwrap());
    assert!(!journal.remove("w").await.unwrap());
    assert!(is_damaged(&journal.read(&first, at(0), 1).await));
    assert!(is_damaged(&journal.snapshot_part(&snapshot, 0).await));
    assert_eq!(journal.snapshot(&first).await.unwrap(), None);
    assert_eq!(journal.status("w").await.unwrap(), None);
    assert!(unfinished.add(b"late".to_vec()).await.is_err());
    drop(unfinished);
    // The next life begins at the start, and nothing of the first one is taken for it.
    let second = key("w", 2);
    journal.create(&second).await.unwrap();
    assert_eq!(append(&*journal, "w", 1, b"x").await, at(1));
    assert!(is_damaged(&journal.read(&first, at(0), 1).await));
    assert_eq!(positions(&*journal, &second, 0, 1).await, [1]);
    assert_eq!(journal.snapshot(&second).await.unwrap(), None);
    assert!(is_damaged(&journal.put_snapshot(&first, at(0), first.generation).await));
}

async fn a_snapshot_is_kept_in_parts(harness: Arc<dyn JournalHarness>) {
    let (journal, key) = filled(&harness, 2).await;
    assert_eq!(journal.snapshot(&key).await.unwrap(), None);
    let large = vec![3; SNAPSHOT_PART_BYTES_MAX];
    let mut sink = journal.put_snapshot(&key, at(1), entry(1)).await.unwrap().unwrap();
    for part in [&large[..], b"", b"end"] {
        sink.add(part.to_vec()).await.unwrap();
    }
    // It is no snapshot before it is finished.
    assert_eq!(journal.snapshot(&key).await.unwrap(), None);
    let made = sink.finish().await.unwrap();
    assert_eq!(journal.snapshot(&key).await.unwrap().as_ref(), Some(&made));
    assert_eq!((made.position, made.last, made.parts.len()), (at(1), entry(1), 3));
    assert!(made.made_at > 1_500_000_000_000);
    assert_eq!(journal.snapshot_part(&made, 0).await.unwrap(), large);
    assert_eq!(journal.snapshot_part(&made, 1).await.unwrap(), b"");
    assert_eq!(journal.snapshot_part(&made, 2).await.unwrap(), b"end");
    assert!(is_damaged(&journal.snapshot_part(&made, 3).await));
    let mut sink = journal.put_snapshot(&key, at(2), entry(2)).await.unwrap().unwrap();
    let refused = sink.add(vec![0; SNAPSHOT_PART_BYTES_MAX + 1]).await;
    assert!(matches!(refused, Err(JournalError::Refused { .. })), "{refused:?}");
}

async fn one_node_makes_a_snapshot_at_a_time(harness: Arc<dyn JournalHarness>) {
    let (journal, key) = filled(&harness, 1).await;
    let first = journal.put_snapshot(&key, at(1), entry(1)).await.unwrap().unwrap();
    assert!(journal.put_snapshot(&key, at(1), entry(1)).await.unwrap().is_none());
    first.finish().await.unwrap();
    let second = journal.put_snapshot(&key, at(1), entry(1)).await.unwrap();
    assert!(second.is_some());
}

async fn a_dead_node_delays_the_next_snapshot_for_a_while(harness: Arc<dyn JournalHarness>) {
    let (journal, key) = filled(&harness, 1).await;
    let mut dead = journal.put_snapshot(&key, at(1), entry(1)).await.unwrap().unwrap();
    dead.add(b"half".to_vec()).await.unwrap();
    assert!(journal.put_snapshot(&key, at(1), entry(1)).await.unwrap().is_none());
    harness.expire_claims();
    let mut next = journal.put_snapshot(&key, at(1), entry(1)).await.unwrap().unwrap();
    next.add(b"whole".to_vec()).await.unwrap();
    // The node was only slow: it is told, and it is not in the way.
    assert!(dead.add(b"other half".to_vec()).await.is_err());
    assert!(dead.finish().await.is_err());
    let made = next.finish().await.unwrap();
    assert_eq!(journal.snapshot_part(&made, 0).await.unwrap(), b"whole");
    assert_eq!(journal.snapshot(&key).await.unwrap(), Some(made));
}

async fn a_newer_snapshot_replaces_an_older_one(harness: Arc<dyn JournalHarness>) {
    let (journal, key) = filled(&harness, 3).await;
    put_snapshot(&*journal, &key, 1, &[b"one"]).await;
    let old = journal.snapshot(&key).await.unwrap().unwrap();
    put_snapshot(&*journal, &key, 3, &[b"three", b"more"]).await;
    let new = journal.snapshot(&key).await.unwrap().unwrap();
    assert_eq!((new.position, new.parts.len()), (at(3), 2));
    assert!(is_damaged(&journal.snapshot_part(&old, 0).await));
    assert_eq!(journal.snapshot_part(&new, 1).await.unwrap(), b"more");
}

async fn a_snapshot_of_what_was_never_written_is_refused(harness: Arc<dyn JournalHarness>) {
    let (journal, key) = filled(&harness, 2).await;
    for (position, last) in [(3, entry(3)), (2, entry(1)), (1, entry(2))] {
        let refused = journal.put_snapshot(&key, at(position), last).await.err();
        assert!(matches!(refused, Some(JournalError::Refused { .. })), "{position}: {refused:?}");
    }
    // Before the first entry there is nothing but the generation.
    assert!(journal.put_snapshot(&key, at(0), key.generation).await.unwrap().is_some());
}

async fn a_damaged_part_is_told(harness: Arc<dyn JournalHarness>) {
    let (journal, key) = filled(&harness, 1).await;
    put_snapshot(&*journal, &key, 1, &[b"good", b"bad"]).await;
    harness.damage_snapshot_part("w", 1);
    let snapshot = journal.snapshot(&key).await.unwrap().unwrap();
    assert_eq!(journal.snapshot_part(&snapshot, 0).await.unwrap(), b"good");
    assert!(is_damaged(&journal.snapshot_part(&snapshot, 1).await));
}

async fn what_was_trimmed_is_told(harness: Arc<dyn JournalHarness>) {
    let (journal, key) = filled(&harness, 5).await;
    let refused = journal.trim(&key, at(1)).await;
    assert!(matches!(refused, Err(JournalError::Refused { .. })), "{refused:?}");
    put_snapshot(&*journal, &key, 4, &[b"four"]).await;
    assert!(journal.trim(&key, at(5)).await.is_err());
    assert_eq!(journal.trim(&key, at(3)).await.unwrap(), 3);
    assert_eq!(journal.trim(&key, at(3)).await.unwrap(), 0);
    for after in [0, 2] {
        assert!(is_damaged(&journal.read(&key, at(after), usize::MAX).await), "{after}");
    }
    assert_eq!(positions(&*journal, &key, 3, usize::MAX).await, [4, 5]);
    assert_eq!(journal.trim(&key, at(4)).await.unwrap(), 1);
    assert_eq!(append(&*journal, "w", 6, b"x").await, at(6));
    assert_eq!(positions(&*journal, &key, 4, usize::MAX).await, [5, 6]);
}

async fn a_lost_entry_is_told(harness: Arc<dyn JournalHarness>) {
    let (journal, key) = filled(&harness, 4).await;
    harness.lose_entry("w", at(3));
    assert_eq!(positions(&*journal, &key, 0, usize::MAX).await, [1, 2]);
    assert!(is_damaged(&journal.read(&key, at(2), usize::MAX).await));
    assert_eq!(positions(&*journal, &key, 3, usize::MAX).await, [4]);
}

async fn the_status_counts_what_is_kept(harness: Arc<dyn JournalHarness>) {
    let (journal, key) = filled(&harness, 0).await;
    let status = journal.status("w").await.unwrap().unwrap();
    assert_eq!((status.first, status.bytes, status.snapshot), (at(1), 0, None));
    for number in 1..=3 {
        append(&*journal, "w", number, b"12345").await;
    }
    put_snapshot(&*journal, &key, 2, &[b"two"]).await;
    journal.trim(&key, at(2)).await.unwrap();
    let status = journal.status("w").await.unwrap().unwrap();
    assert_eq!((status.first, status.bytes, status.head.position), (at(3), 5, at(3)));
    assert_eq!(status.snapshot, journal.snapshot(&key).await.unwrap());
    assert_eq!(journal.status("none").await.unwrap(), None);
}

async fn shared_records_have_a_version(harness: Arc<dyn JournalHarness>) {
    let journal = harness.journal();
    let record = |name: &str, body: &[u8]| SharedRecord { name: name.into(), body: body.to_vec() };
    let mut version = journal.shared_version().await.unwrap();
    let mut rises = async |rises: bool| {
        let now = journal.shared_version().await.unwrap();
        assert_eq!(now > version, rises, "{version} {now}");
        version = now;
    };
    rises(false).await;
    assert!(journal.put_shared_record("key", &record("b", b"1"), true).await.unwrap());
    rises(true).await;
    assert!(!journal.put_shared_record("key", &record("b", b"2"), true).await.unwrap());
    rises(false).await;
    assert!(journal.put_shared_record("key", &record("b", b"3"), false).await.unwrap());
    rises(true).await;
    assert!(journal.put_shared_record("key", &record("B", b"4"), false).await.unwrap());
    assert!(journal.put_shared_record("rule", &record("b", b"5"), true).await.unwrap());
    rises(true).await;
    let found = journal.shared_records("key").await.unwrap();
    assert_eq!(found, [record("B", b"4"), record("b", b"3")]);
    assert!(journal.shared_records("none").await.unwrap().is_empty());
    assert!(journal.remove_shared_record("key", "b").await.unwrap());
    rises(true).await;
    assert!(!journal.remove_shared_record("key", "b").await.unwrap());
    rises(false).await;
    assert_eq!(journal.shared_records("key").await.unwrap(), [record("B", b"4")]);
}

async fn audit_lines_are_kept_once(harness: Arc<dyn JournalHarness>) {
    let journal = harness.journal();
    let line = |number: u64, text: &str| (number, text.to_owned());
    journal.append_audit("b", &[]).await.unwrap();
    assert!(journal.audit_nodes().await.unwrap().is_empty());
    journal.append_audit("b", &[line(1, "one"), line(2, "two")]).await.unwrap();
    // Sent again after a lost answer, with what came since.
    journal.append_audit("b", &[line(2, "other"), line(3, "three")]).await.unwrap();
    journal.append_audit("A", &[line(7, "it's \"seven\"")]).await.unwrap();
    assert_eq!(journal.audit_nodes().await.unwrap(), ["A", "b"]);
    let lines = journal.audit_lines("b", 0, 10).await.unwrap();
    assert_eq!(lines, [line(1, "one"), line(2, "two"), line(3, "three")]);
    assert_eq!(journal.audit_lines("b", 1, 1).await.unwrap(), [line(2, "two")]);
    assert_eq!(journal.audit_lines("A", 0, 9).await.unwrap(), [line(7, "it's \"seven\"")]);
    assert!(journal.audit_lines("c", 0, 9).await.unwrap().is_empty());
}
