//! Several nodes on one journal: each sees what any of them wrote, all have the same rows, and whatever
//! is cut off in between, nothing acknowledged is lost (X4).

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use haversack_conformance::{AppendFault, MemoryJournal};
use haversack_store::DataFolder;
use haversack_store::store::block_on;
use haversack_store::store::change::{Batch, Change, WriteKey};
use haversack_store::store::error::{CommitError, OpenError, ReadError};
use haversack_store::store::item::{Event, EventKind};
use haversack_store::store::journal::{
    Freshness, Journal, JournalError, Position, ReplicaSettings,
};
use haversack_store::store::maintenance::{Maintenance, Stores};
use haversack_store::store::viewer::Viewer;
use rusqlite::types::Value;
use tempfile::TempDir;

use crate::nodes::Nodes;
use crate::support::{LetterPairs, Random, at, batch, id, item, put, records, scratch, words};

/// A node: a data folder that follows a journal.
pub(crate) struct Node {
    pub(crate) folder: TempDir,
    data_folder: Option<DataFolder>,
    settings: ReplicaSettings,
}

impl Node {
    pub(crate) fn new(journal: &MemoryJournal) -> Node {
        Node::with(ReplicaSettings::new(Arc::new(journal.clone())))
    }

    fn with(settings: ReplicaSettings) -> Node {
        let mut node = Node { folder: scratch(), data_folder: None, settings };
        node.restart();
        node
    }

    fn restart(&mut self) {
        self.data_folder = None;
        let data_folder = DataFolder::open(self.folder.path()).unwrap();
        self.data_folder = Some(data_folder.with_journal(self.settings.clone()));
    }

    fn stores(&self) -> &DataFolder {
        self.data_folder.as_ref().unwrap()
    }

    pub(crate) fn open(&self, name: &str) -> Arc<dyn Maintenance> {
        self.try_open(name).unwrap().for_blocking_threads()
    }

    fn try_open(&self, name: &str) -> Result<Arc<dyn Maintenance>, OpenError> {
        Stores::open(self.stores(), name, LetterPairs::shared())
    }

    fn file(&self, name: &str) -> std::path::PathBuf {
        self.folder.path().join("workspaces").join(name).join("store.db")
    }
}

/// All rows of all tables but what belongs to a node alone.
fn rows(file: &Path) -> Vec<(String, Vec<Vec<Value>>)> {
    let connection = records(file);
    let names =
        "SELECT name FROM sqlite_schema WHERE type = 'table' AND name <> 'replica' ORDER BY 1";
    let mut statement = connection.prepare(names).unwrap();
    let names = statement.query_map([], |line| line.get(0)).unwrap();
    let names: Vec<String> = names.collect::<Result<_, _>>().unwrap();
    let table = |name: String| {
        let mut statement = connection.prepare(&format!("SELECT * FROM {name}")).unwrap();
        let columns = statement.column_count();
        let lines = statement
            .query_map([], |line| (0..columns).map(|nth| line.get(nth)).collect::<Result<_, _>>())
            .unwrap();
        let mut lines: Vec<Vec<Value>> = lines.collect::<Result<_, _>>().unwrap();
        lines.sort_by_key(|line| format!("{line:?}"));
        // What belongs to a node: the version of its derived columns, and what its files still hold.
        let is_own = |name: &str| Some(Value::Text(name.to_owned()));
        lines.retain(|line| {
            let first = line.first().cloned();
            first != is_own("features") && first != is_own("residue")
        });
        (name, lines)
    };
    names.into_iter().map(table).collect()
}

pub(crate) fn assert_equal_rows(a: &Path, b: &Path) {
    for ((name, ours), (_, theirs)) in rows(a).iter().zip(rows(b)) {
        assert_eq!(*ours, theirs, "the table {name}");
    }
}

fn ids(store: &Arc<dyn Maintenance>, query: &str) -> Vec<String> {
    let snapshot = block_on(store.snapshot(&Viewer::owner())).unwrap();
    let hits = block_on(snapshot.search_text(&words(query))).unwrap();
    let mut ids: Vec<String> = hits.iter().map(|hit| hit.id.item.to_string()).collect();
    ids.dedup();
    ids
}

fn write(store: &Arc<dyn Maintenance>, name: &str, body: &str) -> Position {
    let batch = batch(1_000, vec![put(item(name, body))]);
    block_on(store.write(batch)).unwrap().position.unwrap()
}

fn check(part: &str) {
    let journal = MemoryJournal::new();
    // The cases trim at once, as if no other node read.
    let settings =
        ReplicaSettings { trim_after: Duration::ZERO, ..ReplicaSettings::new(Arc::new(journal)) };
    let (a, b) = (Node::with(settings.clone()), Node::with(settings));
    let mut names = Vec::new();
    let empty = async |case: &'static str| {
        let name = case.replace('_', "-");
        names.push(name.clone());
        let open = |node: &Node| node.try_open(&name).unwrap();
        Arc::new(Nodes::new([open(&a), open(&b)])) as Arc<dyn Maintenance>
    };
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(haversack_conformance::run(part, empty));
    for name in names {
        // Opening brings both to the end of the journal.
        drop((a.try_open(&name).unwrap(), b.try_open(&name).unwrap()));
        assert_equal_rows(&a.file(&name), &b.file(&name));
    }
}

#[test]
fn writes_at_one_node_are_read_at_another_x4() {
    check("writes");
}

#[test]
fn readers_at_two_nodes_x3_x4() {
    check("readers");
}

#[test]
fn rights_at_two_nodes_x4() {
    check("rights");
}

#[test]
fn searches_at_two_nodes_x4() {
    check("searches");
}

#[test]
fn states_at_two_nodes_x3_x4() {
    check("states");
}

#[test]
fn structure_at_two_nodes_x4() {
    check("structure");
}

#[test]
fn traces_at_two_nodes_x4() {
    check("traces");
}

#[test]
fn erasure_on_many_nodes_s23() {
    check("erasure");
}

#[test]
fn a_node_that_comes_later_has_the_same_rows_x4() {
    let journal = MemoryJournal::new();
    let (a, b) = (Node::new(&journal), Node::new(&journal));
    let stores = [a.open("acme"), b.open("acme")];
    let mut random = Random::new(7);
    for round in 0..60 {
        let store = &stores[random.below(2)];
        let name = format!("item {}", random.below(12));
        let changes = match random.below(6) {
            0 => vec![Change::Delete(id(&name))],
            1 => vec![Change::Purge(id(&name))],
            2 => vec![Change::AddEvent(Event {
                item: id(&name),
                user: "anna".to_owned(),
                event_kind: EventKind::Viewed,
                at: at(round),
            })],
            _ => vec![put(item(&name, &format!("amber {round} basil")))],
        };
        block_on(store.write(batch(round * 200_000, changes))).unwrap();
    }
    drop(stores);
    let later = Node::new(&journal);
    let c = later.open("acme");
    drop((a.open("acme"), b.open("acme")));
    assert_equal_rows(&a.file("acme"), &b.file("acme"));
    assert_equal_rows(&a.file("acme"), &later.file("acme"));
    assert!(block_on(c.check(false)).unwrap().is_sound());
}

#[test]
fn a_lost_answer_is_looked_up_and_never_repeated_x4() {
    let journal = MemoryJournal::new();
    let (a, b) = (Node::new(&journal), Node::new(&journal));
    let (a, b) = (a.open("acme"), b.open("acme"));
    journal.fail_next_append(AppendFault::LostAfterCommit);
    write(&a, "one", "amber");
    assert_eq!(ids(&b, "amber"), ["one"]);
    journal.fail_next_append(AppendFault::LostBeforeCommit);
    let refused = block_on(a.write(batch(2, vec![put(item("two", "amber"))])));
    assert!(matches!(refused, Err(CommitError::Unavailable { .. })), "{refused:?}");
    journal.fail_next_append(AppendFault::Unavailable);
    let refused = block_on(a.write(batch(2, vec![put(item("two", "amber"))])));
    assert!(matches!(refused, Err(CommitError::Unavailable { .. })), "{refused:?}");
    assert_eq!(
        (ids(&a, "amber"), ids(&b, "amber")),
        (vec!["one".to_owned()], vec!["one".to_owned()])
    );
    write(&a, "two", "basil");
    assert_eq!(ids(&b, "basil"), ["two"]);
}

#[test]
fn a_key_is_used_once_over_all_nodes_p1_x4() {
    let journal = MemoryJournal::new();
    let (a, b) = (Node::new(&journal), Node::new(&journal));
    let (a, b) = (a.open("acme"), b.open("acme"));
    let key = WriteKey { scope: "anna".into(), name: "k".into(), request: [1; 32], at: at(5) };
    let keyed = || Batch::put(at(5), vec![item("one", "amber")]).with_key(Some(key.clone()));
    let first = block_on(a.write(keyed())).unwrap();
    let again = block_on(b.write(keyed())).unwrap();
    assert_eq!((first.stored, first.revision), (again.stored, again.revision));
    let later = WriteKey { at: at(6), ..key };
    assert!(block_on(b.find_write(&later)).unwrap().is_some());
}

#[test]
fn without_the_journal_reads_go_on_for_a_while_and_writes_are_refused_x4() {
    let journal = MemoryJournal::new();
    let settings = ReplicaSettings::new(Arc::new(journal.clone()));
    let (patient, strict) = (
        Node::with(settings.clone()),
        Node::with(ReplicaSettings { stale_max: Duration::ZERO, ..settings }),
    );
    let (a, b) = (patient.open("acme"), strict.open("acme"));
    write(&a, "one", "amber");
    assert_eq!(ids(&b, "amber"), ["one"]);
    journal.set_away(true);
    let snapshot = block_on(a.snapshot(&Viewer::owner())).unwrap();
    assert!(snapshot.staleness().is_some());
    let refused = block_on(b.snapshot(&Viewer::owner())).err();
    assert!(matches!(refused, Some(ReadError::Unavailable { .. })), "{refused:?}");
    let refused = block_on(a.write(batch(2, vec![put(item("two", "basil"))])));
    assert!(matches!(refused, Err(CommitError::Unavailable { .. })), "{refused:?}");
    journal.set_away(false);
    write(&b, "two", "basil");
    assert_eq!(ids(&a, "basil"), ["two"]);
    assert_eq!(block_on(a.snapshot(&Viewer::owner())).unwrap().staleness(), None);
}

#[test]
fn a_read_waits_for_a_position_or_takes_what_is_recent_enough_x4() {
    let journal = MemoryJournal::new();
    let (a, b) = (Node::new(&journal), Node::new(&journal));
    let (a, b) = (a.open("acme"), b.open("acme"));
    let position = write(&a, "one", "amber");
    let bounded = b.with_freshness(Freshness::Bounded(Duration::from_secs(3_600)));
    let bounded = bounded.for_blocking_threads();
    assert_eq!(ids(&bounded, "amber"), [] as [&str; 0], "nobody looked since it was opened");
    let reached = b.with_freshness(Freshness::AtLeast(position)).for_blocking_threads();
    assert_eq!(ids(&reached, "amber"), ["one"]);
    let beyond = b.with_freshness(Freshness::AtLeast(position.next())).for_blocking_threads();
    let refused = block_on(beyond.snapshot(&Viewer::owner())).err();
    assert!(matches!(refused, Some(ReadError::Invalid { .. })), "{refused:?}");
}

#[test]
fn a_new_node_starts_from_a_snapshot_when_the_entries_are_gone_x4() {
    let journal = MemoryJournal::new();
    let mut a = Node::new(&journal);
    let store = a.open("acme");
    for nth in 0..30 {
        write(&store, &format!("item {nth}"), &format!("amber {nth}"));
    }
    let made = block_on(store.snapshot_to_journal(false)).unwrap().unwrap();
    write(&store, "after", "basil");
    let b = Node::new(&journal);
    let other = b.open("acme");
    assert_eq!(other.repaired(), [] as [&str; 0], "the indexes come with the snapshot");
    assert_eq!((ids(&other, "amber").len(), ids(&other, "basil").len()), (30, 1));
    let status = block_on(journal.status("acme")).unwrap().unwrap();
    assert_eq!(
        (status.first, status.snapshot.unwrap().position),
        (made.position.next(), made.position)
    );
    drop((store, other));
    // A replica that is older than what is kept is made anew.
    let old = scratch();
    crate::support::copy(a.folder.path(), old.path());
    let store = b.open("acme");
    for nth in 0..5 {
        write(&store, &format!("later {nth}"), "coral");
    }
    block_on(store.snapshot_to_journal(false)).unwrap().unwrap();
    a.restart();
    let back = a.open("acme");
    assert!(back.repaired().iter().any(|line| line.contains("made anew")), "{:?}", back.repaired());
    assert_eq!(ids(&back, "coral").len(), 5);
    drop((store, back));
    assert_equal_rows(&a.file("acme"), &b.file("acme"));
}

#[test]
fn a_damaged_snapshot_is_no_workspace_and_a_damaged_replica_is_made_anew_x4() {
    let journal = MemoryJournal::new();
    let mut a = Node::new(&journal);
    let store = a.open("acme");
    write(&store, "one", "amber");
    block_on(store.snapshot_to_journal(true)).unwrap().unwrap();
    drop(store);
    let file = a.file("acme");
    let mut bytes = std::fs::read(&file).unwrap();
    bytes.iter_mut().skip(100).for_each(|byte| *byte ^= 0xff);
    std::fs::write(&file, bytes).unwrap();
    a.restart();
    assert_eq!(ids(&a.open("acme"), "amber"), ["one"]);
    journal.damage_snapshot_part("acme", 0);
    let refused = Node::new(&journal).try_open("acme").err();
    assert!(matches!(refused, Some(OpenError::Unavailable { .. })), "{refused:?}");
}

#[test]
fn a_workspace_that_was_removed_elsewhere_is_gone_and_can_be_created_again_x4() {
    let journal = MemoryJournal::new();
    let (a, b) = (Node::new(&journal), Node::new(&journal));
    let (here, there) = (a.open("acme"), b.open("acme"));
    write(&here, "one", "amber");
    assert_eq!(ids(&there, "amber"), ["one"]);
    drop(here);
    Stores::remove(a.stores(), "acme").unwrap();
    let refused = block_on(there.snapshot(&Viewer::owner())).err();
    assert!(
        matches!(refused, Some(ReadError::Outdated { .. })) && there.must_reopen(),
        "{refused:?}"
    );
    let refused = block_on(there.write(batch(2, vec![put(item("two", "basil"))])));
    assert!(matches!(refused, Err(CommitError::Outdated { .. })), "{refused:?}");
    drop(there);
    let missing = Stores::open_existing(b.stores(), "acme", LetterPairs::shared()).err();
    assert!(matches!(missing, Some(OpenError::Missing { .. })), "{missing:?}");
    let again = a.open("acme");
    assert_eq!(ids(&again, "amber"), [] as [&str; 0]);
    write(&again, "two", "basil");
    let there = b.open("acme");
    assert_eq!((ids(&there, "amber").len(), ids(&there, "basil").len()), (0, 1));
    assert_eq!(Stores::names(b.stores()).unwrap(), ["acme"]);
}

#[test]
fn a_workspace_moves_into_the_journal_and_a_copy_out_of_it_x4() {
    let (journal, folder) = (MemoryJournal::new(), scratch());
    let settings = ReplicaSettings::new(Arc::new(journal.clone()));
    let plain = || DataFolder::open(folder.path()).unwrap();
    let own = Stores::open(&plain(), "acme", LetterPairs::shared()).unwrap().for_blocking_threads();
    for nth in 0..10 {
        block_on(own.write(batch(nth, vec![put(item(&format!("{nth}"), "amber"))]))).unwrap();
    }
    drop(own);
    let with_journal = || plain().with_journal(settings.clone());
    let refused = Stores::open(&with_journal(), "acme", LetterPairs::shared()).err();
    assert!(
        matches!(refused, Some(OpenError::Missing { .. } | OpenError::NotReplica { .. })),
        "{refused:?}"
    );
    let _ = block_on(journal.remove("acme"));
    journal.set_away(true);
    assert!(plain().import_to_journal("acme", &settings, &LetterPairs::shared()).is_err());
    journal.set_away(false);
    plain().import_to_journal("acme", &settings, &LetterPairs::shared()).unwrap();
    let node = Node::new(&journal);
    let there = node.open("acme");
    assert_eq!(ids(&there, "amber").len(), 10);
    write(&there, "new", "basil");
    let refused = Stores::open(&plain(), "acme", LetterPairs::shared()).err();
    assert!(matches!(refused, Some(OpenError::IsReplica { .. })), "{refused:?}");
    let here = Stores::open(&with_journal(), "acme", LetterPairs::shared()).unwrap();
    assert_eq!(ids(&here.for_blocking_threads(), "basil"), ["new"]);
    drop(here);
    let again = plain().import_to_journal("acme", &settings, &LetterPairs::shared());
    assert!(matches!(again, Err(OpenError::Exists { .. })), "{again:?}");
    // Out again.
    let target = scratch();
    let out = DataFolder::open(target.path()).unwrap();
    out.export_from_journal("acme", &settings, &LetterPairs::shared()).unwrap();
    let own = Stores::open(&out, "acme", LetterPairs::shared()).unwrap().for_blocking_threads();
    assert_eq!((ids(&own, "amber").len(), ids(&own, "basil").len()), (10, 1));
    journal.set_away(true);
    block_on(own.write(batch(99, vec![put(item("own", "coral"))]))).unwrap();
    assert_eq!(ids(&own, "coral"), ["own"]);
}

#[test]
fn many_writers_at_two_nodes_lose_nothing_and_wait_for_each_other_x4() {
    let journal = MemoryJournal::new();
    let (a, b) = (Node::new(&journal), Node::new(&journal));
    let stores = [a.open("acme"), b.open("acme")];
    let written = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for writer in 0..6 {
            let (store, written) = (&stores[writer % 2], &written);
            scope.spawn(move || {
                for nth in 0..20 {
                    write(store, &format!("{writer} {nth}"), "amber");
                    written.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        // A look that began before a write of its own node is no sign of a journal that went back.
        for store in &stores {
            let written = &written;
            scope.spawn(move || {
                while written.load(Ordering::Relaxed) < 120 {
                    block_on(store.snapshot(&Viewer::owner())).unwrap();
                }
            });
        }
    });
    assert_eq!(written.into_inner(), 120);
    assert_eq!((ids(&stores[0], "amber").len(), ids(&stores[1], "amber").len()), (120, 120));
    drop(stores);
    assert_equal_rows(&a.file("acme"), &b.file("acme"));
}

/// The bytes of all that a journal holds: entries, and the parts of the snapshot. An error when something
/// was replaced while it was read.
fn bytes_in(journal: &MemoryJournal, name: &str) -> Result<Vec<u8>, JournalError> {
    let head = block_on(journal.head(name))?.unwrap();
    let snapshot = block_on(journal.snapshot(&head.key))?;
    let mut bytes = Vec::new();
    let after = block_on(journal.status(name))?.unwrap().first;
    let before = Position::new(after.get().saturating_sub(1));
    if before < head.position {
        let entries = block_on(journal.read(&head.key, before, usize::MAX))?;
        bytes.extend(entries.into_iter().flat_map(|entry| entry.body));
    }
    if let Some(snapshot) = snapshot {
        for nth in 0..snapshot.parts.len() {
            bytes.extend(block_on(journal.snapshot_part(&snapshot, nth))?);
        }
    }
    Ok(bytes)
}

#[test]
fn what_was_purged_leaves_the_journal_and_every_node_x4_s23() {
    let journal = MemoryJournal::new();
    let settings = ReplicaSettings {
        purge_after: Duration::ZERO,
        ..ReplicaSettings::new(Arc::new(journal.clone()))
    };
    let (a, b) = (Node::with(settings.clone()), Node::with(settings));
    let (here, there) = (a.open("acme"), b.open("acme"));
    write(&here, "secret", "zqsecret of nobody else");
    write(&here, "open", "amber");
    assert_eq!(ids(&there, "zqsecret"), ["secret"]);
    block_on(here.snapshot_to_journal(true)).unwrap().unwrap();
    let holds = |bytes: &[u8]| bytes.windows(8).any(|window| window == b"zqsecret");
    assert!(holds(&bytes_in(&journal, "acme").unwrap()), "or there is nothing to look for");
    block_on(here.write(batch(9, vec![Change::Purge(id("secret"))]))).unwrap();
    let began = std::time::Instant::now();
    while bytes_in(&journal, "acme").map_or(true, |bytes| holds(&bytes)) {
        assert!(began.elapsed() < Duration::from_secs(90), "it is still in the journal");
        std::thread::yield_now();
    }
    // It lags, so its folder is made anew.
    let lagging = block_on(there.snapshot(&Viewer::owner())).err();
    assert!(matches!(lagging, Some(ReadError::Outdated { .. })), "{lagging:?}");
    drop(there);
    let there = b.open("acme");
    assert_eq!(ids(&there, "zqsecret"), [] as [&str; 0]);
    assert_eq!(block_on(there.expunge(false)).unwrap(), [] as [String; 0]);
    assert_eq!(block_on(here.expunge(false)).unwrap(), [] as [String; 0]);
    drop((here, there));
    for node in [&a, &b] {
        let mut folders = vec![node.folder.path().to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                } else {
                    assert!(!holds(&std::fs::read(&path).unwrap()), "{}", path.display());
                }
            }
        }
    }
}

#[test]
fn the_least_used_replicas_leave_the_disk_and_come_back_x4() {
    let journal = MemoryJournal::new();
    let settings = ReplicaSettings {
        disk_bytes_max: Some(1_000_000),
        ..ReplicaSettings::new(Arc::new(journal))
    };
    let node = Node::with(settings);
    let on_disk = |name: &str| node.file(name).exists();
    let held = node.open("held");
    write(&held, "one", "amber");
    for nth in 0..8 {
        let store = node.open(&format!("w{nth}"));
        write(&store, "one", &format!("amber {}", "filling ".repeat(20_000)));
    }
    let gone: Vec<usize> = (0..8).filter(|nth| !on_disk(&format!("w{nth}"))).collect();
    assert!(!gone.is_empty() && on_disk("held") && on_disk("w7"), "{gone:?}");
    assert_eq!(gone, (0..gone.len()).collect::<Vec<_>>(), "the least used go first");
    assert_eq!(ids(&node.open("w0"), "amber"), ["one"]);
    assert_eq!(ids(&held, "amber"), ["one"]);
}
