//! Every step to the disk is made to fail, also during recovery, and what a loss of power could leave
//! is opened: a batch is there as a whole or not at all, and each acknowledged one is there (R2, R3,
//! R4, R6).

use std::collections::BTreeMap;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use haversack_core::ids::ItemId;
use haversack_core::units::Timestamp;

use super::faults::{CrashFile, Fault, Faults, Unsynced};
use super::tests::{PairEmbedder, item, text};
use super::{DataFolder, EmbeddedStore};
use crate::store::change::{Batch, Change};
use crate::store::error::{CommitError, OpenError};
use crate::store::item::{Event, EventKind};
use crate::store::query::{Filter, ListOrder, Page};
use crate::store::viewer::Viewer;

/// The bodies of all items.
type Items = BTreeMap<String, String>;

/// A seeded random number generator (SplitMix64).
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((z ^ (z >> 31)) >> 16).unwrap() % bound
    }
}

/// The number of cases: the default, or as set in the environment.
fn amount(variable: &str, usual: u64) -> u64 {
    std::env::var(variable).map_or(usual, |text| text.parse().unwrap())
}

fn scratch() -> tempfile::TempDir {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() {
        tempfile::tempdir_in(memory).unwrap()
    } else {
        tempfile::tempdir().unwrap()
    }
}

fn open(folder: &Path) -> Result<EmbeddedStore, OpenError> {
    DataFolder::open(folder)?.workspace("acme", PairEmbedder::shared())
}

/// One batch: puts, changes and deletes items, and notes an event.
fn changes(round: usize) -> Vec<Change> {
    let body = |n: usize| {
        // Some are larger than a page.
        let filling = "filling words ".repeat(if n == 0 { 700 } else { 3 });
        format!("round{round} item{n} {filling}")
    };
    let mut changes: Vec<Change> = (0..4)
        .map(|n| Change::Put(Box::new(item(&format!("n{}", (round + n) % 6), &body(n)))))
        .collect();
    if round % 3 == 2 {
        changes.push(Change::Delete(ItemId::new(&format!("n{}", round % 6)).unwrap()));
    }
    changes.push(Change::AddEvent(Event {
        item: ItemId::new("n1").unwrap(),
        user: "anna".to_owned(),
        event_kind: EventKind::Viewed,
        at: Timestamp::from_millis(i64::try_from(round).unwrap()),
    }));
    changes
}

fn apply(items: &mut Items, round: usize) {
    for change in changes(round) {
        match change {
            Change::Put(item) => _ = items.insert(item.id.to_string(), item.body.clone()),
            Change::Delete(id) => _ = items.remove(id.as_str()),
            _ => {}
        }
    }
}

/// What a run expects to find: after the acknowledged batches, or after those whose answer was an
/// error and that may have been written all the same.
#[derive(Debug, Clone, Default)]
struct Expected {
    /// The possible contents, the last acknowledged first.
    contents: Vec<Items>,
}

impl Expected {
    fn new() -> Expected {
        Expected { contents: vec![Items::new()] }
    }

    /// A batch was written, whatever became of those before.
    fn acknowledge(&mut self, round: usize) {
        self.contents.iter_mut().for_each(|items| apply(items, round));
        self.contents.dedup();
    }

    /// A batch may have been written.
    fn doubt(&mut self, round: usize) {
        let more: Vec<Items> = self
            .contents
            .iter()
            .map(|items| {
                let mut items = items.clone();
                apply(&mut items, round);
                items
            })
            .collect();
        self.contents.extend(more);
        self.contents.dedup();
    }
}

/// The items of a store, and whether words find each of them.
fn contents(store: &EmbeddedStore, context: &str) -> Items {
    let view = store.view(&Viewer::owner());
    let page = Page { order: ListOrder::Id, after: None, limit: 1_000 };
    let listed = view.list(&Filter::everything(), &page).unwrap();
    let items: Items = listed.into_iter().map(|s| (s.item.id.to_string(), s.item.body)).collect();
    for (id, body) in &items {
        let word = body.split(' ').next().unwrap();
        let hits = view.search_text(&text(word)).unwrap();
        assert!(hits.iter().any(|hit| hit.id.item.as_str() == id), "{context}: {word} of {id}");
    }
    items
}

/// Opens a store without faults; what it holds must be one of the possible contents.
fn verify(folder: &Path, expected: &Expected, context: &str) {
    let store = open(folder).unwrap_or_else(|error| panic!("{context}: {error:?}"));
    let found = contents(&store, context);
    let keys: Vec<_> =
        expected.contents.iter().map(|items| items.keys().collect::<Vec<_>>()).collect();
    assert!(
        expected.contents.contains(&found),
        "{context}: {:?} is none of {keys:?}",
        found.keys().collect::<Vec<_>>()
    );
    let report = store.check(false).unwrap();
    assert!(report.is_sound(), "{context}: {report:?}");
}

const ROUNDS: usize = 5;

/// Opens, writes, backs up, compacts by closing, opens again and writes, whatever fails.
fn run(folder: &Path, backup: &Path) -> Expected {
    let mut expected = Expected::new();
    for (part, rounds) in [(0, 0..ROUNDS), (1, ROUNDS..ROUNDS + 2)] {
        let Ok(store) = open(folder) else { continue };
        for round in rounds {
            let at = Timestamp::from_millis(i64::try_from(round).unwrap());
            match store.write(Batch::new(at, changes(round))) {
                Ok(_) | Err(CommitError::NotSearchable { .. }) => expected.acknowledge(round),
                Err(_) => expected.doubt(round),
            }
        }
        if part == 0 {
            // It fails, or is a whole store.
            if store.backup(backup).is_ok() {
                let copied = fs::metadata(backup.join("store.db")).unwrap().len();
                assert!(copied > 4096);
            }
        }
    }
    expected
}

/// The steps of a run without faults.
fn count_steps() -> u64 {
    let (folder, backup) = (scratch(), scratch());
    let faults = Faults::count(folder.path());
    let expected = run(folder.path(), backup.path());
    let steps = faults.steps();
    drop(faults);
    verify(folder.path(), &expected, "no fault");
    steps
}

/// Some of all steps, evenly spread, or all.
fn some_of(steps: u64, most: u64, seed: u64) -> Vec<u64> {
    let stride = steps.div_ceil(most).max(1);
    (seed % stride..steps).step_by(usize::try_from(stride).unwrap()).collect()
}

#[test]
fn each_failing_step_leaves_whole_batches_r3() {
    let steps = count_steps();
    assert!(steps > 200, "{steps} steps say little");
    let (most, seed) = (amount("HAVERSACK_FAULT_STEPS", 60), amount("HAVERSACK_SEED", 1));
    for fault in [Fault::Once, Fault::FromThere, Fault::Full] {
        let mut reached = 0;
        for step in some_of(steps, most, seed) {
            let (folder, backup) = (scratch(), scratch());
            let faults = Faults::at(folder.path(), step, fault);
            let expected = run(folder.path(), backup.path());
            let failed = faults.failed();
            drop(faults);
            reached += u64::from(failed.is_some());
            let context = format!("seed {seed}, {fault:?} at step {step} of {steps}, {failed:?}");
            verify(folder.path(), &expected, &context);
        }
        assert!(reached > 0, "{fault:?} was never met");
    }
}

/// Copies a folder of files and folders.
fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// A folder as a killed process leaves it, with a log that has yet to be read.
fn killed_store() -> (tempfile::TempDir, Expected) {
    let (live, folder) = (scratch(), scratch());
    let mut expected = Expected::new();
    let store = open(live.path()).unwrap();
    for round in 0..ROUNDS {
        store.write(Batch::new(Timestamp::from_millis(1), changes(round))).unwrap();
        expected.acknowledge(round);
    }
    copy(live.path(), folder.path());
    assert!(fs::metadata(folder.path().join("workspaces/acme/store.db-wal")).unwrap().len() > 0);
    (folder, expected)
}

#[test]
fn each_failing_step_of_a_recovery_can_be_repeated_r3() {
    let (killed, expected) = killed_store();
    let recover = |folder: &Path| drop(open(folder));
    let counted = scratch();
    copy(killed.path(), counted.path());
    let faults = Faults::count(counted.path());
    recover(counted.path());
    let steps = faults.steps();
    drop(faults);
    assert!(steps > 30, "{steps} steps say little");
    let (most, seed) = (amount("HAVERSACK_FAULT_STEPS", 60), amount("HAVERSACK_SEED", 1));
    for fault in [Fault::Once, Fault::FromThere, Fault::Full] {
        for step in some_of(steps, most, seed) {
            let folder = scratch();
            copy(killed.path(), folder.path());
            let faults = Faults::at(folder.path(), step, fault);
            recover(folder.path());
            let context = format!("seed {seed}, {fault:?} at step {step}, {:?}", faults.failed());
            drop(faults);
            verify(folder.path(), &expected, &context);
        }
    }
}

/// The content of a file after a loss of power: any of the unsynced changes may be missing, or be
/// there in part.
fn crash_content(file: &CrashFile, random: &mut Random) -> Vec<u8> {
    let mut content = file.durable.clone();
    let ordered = random.below(2) == 0;
    let last = random.below(file.unsynced.len() + 1);
    for (number, change) in file.unsynced.iter().enumerate() {
        // Either everything up to some moment, or each change by chance.
        if if ordered { number >= last } else { random.below(2) == 0 } {
            continue;
        }
        match change {
            Unsynced::Truncate(length) => content.resize(usize::try_from(*length).unwrap(), 0),
            Unsynced::Write(offset, bytes) => {
                let start = usize::try_from(*offset).unwrap();
                // A sector is written as a whole.
                let torn = random.below(4) == 0;
                let length = if torn { bytes.len() / 1_024 * 512 } else { bytes.len() };
                if content.len() < start + length {
                    content.resize(start + length, 0);
                }
                content[start..start + length].copy_from_slice(&bytes[..length]);
            }
        }
    }
    content
}

#[test]
fn what_a_loss_of_power_leaves_has_every_acknowledged_batch_r6() {
    let (images, seed) = (amount("HAVERSACK_CRASH_IMAGES", 120), amount("HAVERSACK_SEED", 1));
    let mut random = Random(seed);
    let live = scratch();
    let faults = Faults::keep_crash_images(live.path());
    let store = open(live.path()).unwrap();
    let mut expected = Expected::new();
    let per_round = images.div_ceil(12);
    for round in 0..12 {
        // Taken in the middle of the write, too: the writer is another thread.
        let mut during: Vec<BTreeMap<PathBuf, CrashFile>> = Vec::new();
        std::thread::scope(|scope| {
            let writing = scope.spawn(|| {
                store.write(Batch::new(Timestamp::from_millis(1), changes(round))).unwrap();
            });
            while !writing.is_finished() && during.len() < usize::try_from(per_round).unwrap() {
                during.push(faults.crash_files());
                std::thread::yield_now();
            }
        });
        let mut either = expected.clone();
        either.doubt(round);
        expected.acknowledge(round);
        if round == 6 {
            // A checkpoint begins the log anew.
            let checkpoint = |writer: &mut super::writer::Writer| {
                writer.connection.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)").unwrap();
            };
            store.call_writer(checkpoint).unwrap();
        }
        let now = (0..per_round).map(|_| (faults.crash_files(), &expected));
        let during = during.into_iter().map(|files| (files, &either));
        for (number, (files, expected)) in now.chain(during).enumerate() {
            let folder = scratch();
            let context = format!("seed {seed}, round {round}, image {number}");
            for (path, file) in &files {
                let target = folder.path().join(path.strip_prefix(live.path()).unwrap());
                fs::create_dir_all(target.parent().unwrap()).unwrap();
                fs::write(target, crash_content(file, &mut random)).unwrap();
            }
            verify(folder.path(), expected, &context);
        }
    }
}

/// A log whose end is damaged after the write was acknowledged is told from one that was interrupted.
#[test]
fn a_log_that_lost_commits_is_refused_r8() {
    let (killed, expected) = killed_store();
    let log = |folder: &Path| folder.join("workspaces/acme/store.db-wal");
    let length = usize::try_from(fs::metadata(log(killed.path())).unwrap().len()).unwrap();
    let mut random = Random(amount("HAVERSACK_SEED", 1));
    let mut refused = 0;
    for _ in 0..amount("HAVERSACK_FLIPS", 60) {
        let folder = scratch();
        copy(killed.path(), folder.path());
        let mut bytes = fs::read(log(folder.path())).unwrap();
        bytes[random.below(length)] ^= 1 << random.below(8);
        fs::write(log(folder.path()), bytes).unwrap();
        match open(folder.path()) {
            Ok(store) => assert!(expected.contents.contains(&contents(&store, "flipped"))),
            Err(error) => {
                assert!(matches!(error, OpenError::Damaged { .. }), "{error:?}");
                refused += 1;
            }
        }
    }
    assert!(refused > 0);
}

/// A failed sync is not repeated, and said to whoever asks whether the store is ready.
#[test]
fn a_failed_sync_ends_writing_and_readiness_r4() {
    let folder = scratch();
    let store = open(folder.path()).unwrap();
    store.write(Batch::new(Timestamp::from_millis(1), changes(0))).unwrap();
    assert_eq!(store.health(), []);
    let mut expected = Expected::new();
    expected.acknowledge(0);
    let log = folder.path().join("workspaces/acme/store.db-wal");
    let faults = Faults::at(&log, 0, Fault::Sync);
    let failed = store.write(Batch::new(Timestamp::from_millis(1), changes(1)));
    assert!(matches!(failed, Err(CommitError::Stopped { .. })), "{failed:?}");
    assert_eq!(faults.failed().unwrap().0, super::faults::Step::Sync);
    drop(faults);
    expected.doubt(1);
    let refused = store.write(Batch::new(Timestamp::from_millis(1), changes(2)));
    assert!(matches!(refused, Err(CommitError::Stopped { .. })), "{refused:?}");
    let problems: Vec<&str> = store.health().iter().map(|problem| problem.as_str()).collect();
    assert_eq!(problems, ["disk_failed"]);
    assert_eq!(contents(&store, "after the failure").len(), 4);
    drop(store);
    verify(folder.path(), &expected, "after the failure");
}

/// A writer that panics is said, too.
#[test]
fn a_dead_writer_is_reported() {
    let folder = scratch();
    let store = Arc::new(open(folder.path()).unwrap());
    store.write(Batch::new(Timestamp::from_millis(1), changes(0))).unwrap();
    let work = || store.call_writer(|_| -> () { panic!("for a test") });
    assert!(catch_unwind(AssertUnwindSafe(work)).is_err());
    let problems: Vec<&str> = store.health().iter().map(|problem| problem.as_str()).collect();
    assert_eq!(problems, ["writer_dead"]);
    let refused = store.write(Batch::new(Timestamp::from_millis(1), changes(1)));
    assert!(matches!(refused, Err(CommitError::Stopped { .. })), "{refused:?}");
}
