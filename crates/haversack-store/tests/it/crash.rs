//! After a kill at any moment, a store has every acknowledged batch and no partial one (R1).
//!
//! A child process writes from several threads until it is killed. Each thread follows a sequence
//! that depends only on its number, so that the expected content follows from its progress: at
//! least the last acknowledged step, at most the one after it.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::time::Duration;

use haversack_core::ids::ItemId;
use haversack_store::embedded::EmbeddedStore;
use haversack_store::store::change::Change;
use haversack_store::store::item::{DocumentKind, Item, Record};
use haversack_store::store::query::{Filter, ListOrder, Page};
use haversack_store::store::viewer::Viewer;

use crate::support::{
    Random, amount, at, batch, id, item, only, open, put, scratch, under, user, words,
};

/// The child's folder; without it the child's test does nothing.
const FOLDER: &str = "HAVERSACK_CRASH_FOLDER";

/// The progress of each thread, separated by commas.
const STEPS: &str = "HAVERSACK_CRASH_STEPS";

const THREADS: usize = 3;
const SLOTS: u64 = 4;
const ITEMS: u64 = 3;

/// The effect of one step on one of a thread's slots.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CrashStep {
    Write,
    Delete,
    Purge,
    Hide,
}

fn step(thread: usize, number: u64) -> (u64, CrashStep) {
    let mut random = Random::new(number * 31 + thread as u64);
    let slot = random.below(usize::try_from(SLOTS).unwrap()) as u64;
    let step = match random.below(10) {
        0 => CrashStep::Delete,
        1 => CrashStep::Purge,
        2 | 3 => CrashStep::Hide,
        _ => CrashStep::Write,
    };
    (slot, step)
}

/// The expected slots: the step that wrote each, and whether it is hidden.
type SlotStates = BTreeMap<u64, (u64, bool)>;

fn advance(slots: &mut SlotStates, thread: usize, number: u64) {
    let (slot, step) = step(thread, number);
    match step {
        CrashStep::Write => _ = slots.insert(slot, (number, false)),
        CrashStep::Delete | CrashStep::Purge => _ = slots.remove(&slot),
        CrashStep::Hide => {
            if let Some((_, hidden)) = slots.get_mut(&slot) {
                *hidden = true;
            }
        }
    }
}

fn root(thread: usize, slot: u64) -> String {
    format!("root-{thread}-{slot}")
}

/// The items of a slot: a root with the readers and two children.
fn items(thread: usize, slot: u64, (written, hidden): (u64, bool)) -> Vec<Item> {
    let root = root(thread, slot);
    let body = |part: u64| format!("word{thread}x{written} part{part} of slot {slot}");
    let first = item(&root, &body(0));
    let mut items = vec![if hidden { only(&["anna"], first) } else { first }];
    items.extend((1..ITEMS).map(|part| under(&root, item(&format!("{root}-{part}"), &body(part)))));
    items
}

/// The changes of a step and a progress record, in one batch.
fn changes(slots: &SlotStates, thread: usize, number: u64) -> Vec<Change> {
    let (slot, step) = step(thread, number);
    let mut changes = match (step, slots.get(&slot)) {
        (CrashStep::Write, _) => {
            let mut puts: Vec<Change> =
                items(thread, slot, (number, false)).into_iter().map(put).collect();
            puts.reverse();
            puts
        }
        (CrashStep::Delete, _) => vec![Change::Delete(id(root(thread, slot)))],
        (CrashStep::Purge, _) => vec![Change::Purge(id(root(thread, slot)))],
        (CrashStep::Hide, Some((written, _))) => {
            vec![put(items(thread, slot, (*written, true)).remove(0))]
        }
        (CrashStep::Hide, None) => Vec::new(),
    };
    changes.push(Change::PutRecord(Record {
        document_kind: DocumentKind::Template,
        name: format!("thread-{thread}"),
        text: number.to_string(),
        at: at(0),
    }));
    changes
}

fn replay(thread: usize, steps: u64) -> SlotStates {
    let mut slots = SlotStates::new();
    (1..=steps).for_each(|number| advance(&mut slots, thread, number));
    slots
}

/// The child: writes until it is killed and prints the acknowledged steps.
#[test]
fn child_that_is_killed() {
    let Ok(folder) = std::env::var(FOLDER) else { return };
    let begin: Vec<u64> =
        std::env::var(STEPS).unwrap().split(',').map(|n| n.parse().unwrap()).collect();
    let store = open(Path::new(&folder));
    let out = Mutex::new(std::io::stderr());
    writeln!(out.lock().unwrap(), "ready").unwrap();
    std::thread::scope(|scope| {
        for (thread, done) in begin.into_iter().enumerate() {
            let (store, out) = (&store, &out);
            scope.spawn(move || {
                let mut slots = replay(thread, done);
                for number in done + 1.. {
                    let changes = changes(&slots, thread, number);
                    store.write(batch(i64::try_from(number).unwrap(), changes)).unwrap();
                    advance(&mut slots, thread, number);
                    writeln!(out.lock().unwrap(), "ack {thread} {number}").unwrap();
                }
            });
        }
    });
}

fn start(folder: &Path, done: &[u64; THREADS]) -> Child {
    let done = done.map(|number| number.to_string()).join(",");
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "crash::child_that_is_killed", "--nocapture", "--test-threads", "1"])
        .env(FOLDER, folder)
        .env(STEPS, done)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Runs a child briefly, kills it, and returns the acknowledged steps.
fn run_and_kill(folder: &Path, done: &[u64; THREADS], moment: Duration) -> [u64; THREADS] {
    let mut child = start(folder, done);
    let mut output = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    output.read_line(&mut line).unwrap();
    assert_eq!(line, "ready\n", "the child could not open the store");
    let killer = std::thread::spawn(move || {
        std::thread::sleep(moment);
        child.kill().unwrap();
        child.wait().unwrap()
    });
    let mut acknowledged = *done;
    loop {
        line.clear();
        output.read_line(&mut line).unwrap();
        // The kill truncated a line without a line break.
        let Some(whole) = line.strip_suffix('\n') else { break };
        let parts: Vec<&str> = whole.split(' ').collect();
        let ["ack", thread, number] = parts[..] else { panic!("the child failed: {line}") };
        acknowledged[thread.parse::<usize>().unwrap()] = number.parse().unwrap();
    }
    assert!(!killer.join().unwrap().success(), "the child ended by itself");
    acknowledged
}

/// What a viewer sees of a thread, item by item.
fn visible_texts(store: &EmbeddedStore, viewer: &Viewer) -> BTreeMap<ItemId, String> {
    let page = Page { order: ListOrder::Id, after: None, limit: 1_000 };
    let listed = store.view(viewer).list(&Filter::everything(), &page).unwrap();
    listed.into_iter().map(|stored| (stored.item.id, stored.item.body)).collect()
}

/// Compares the store with the expected content and returns the progress of each thread.
fn verify(store: &EmbeddedStore, acknowledged: &[u64; THREADS], context: &str) -> [u64; THREADS] {
    let mut done = *acknowledged;
    let (mut all, mut open_to_bob) = (BTreeMap::new(), BTreeMap::new());
    let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (thread, done) in done.iter_mut().enumerate() {
        let name = format!("thread-{thread}");
        let record = store.view(&Viewer::owner()).record(DocumentKind::Template, &name).unwrap();
        let reached = record.map_or(0, |record| record.text.parse().unwrap());
        assert!(
            (*done..=*done + 1).contains(&reached),
            "{context}: thread {thread} had {done} acknowledged and is at {reached}"
        );
        *done = reached;
        for (slot, state) in replay(thread, reached) {
            let word = format!("word{thread}x{}", state.0);
            for item in items(thread, slot, state) {
                found.entry(word.clone()).or_default().push(item.id.to_string());
                if !state.1 {
                    open_to_bob.insert(item.id.clone(), item.body.clone());
                }
                all.insert(item.id, item.body);
            }
        }
    }
    assert_eq!(visible_texts(store, &user("anna")), all, "{context}: items");
    assert_eq!(visible_texts(store, &user("bob")), open_to_bob, "{context}: items for bob");
    for (word, expected) in found {
        let hits = store.view(&Viewer::owner()).search_text(&words(&word)).unwrap();
        let mut hits: Vec<String> = hits.into_iter().map(|hit| hit.id.item.to_string()).collect();
        hits.sort();
        assert_eq!(hits, expected, "{context}: {word}");
    }
    let report = store.check(false).unwrap();
    assert!(report.is_sound(), "{context}: {report:?}");
    done
}

#[test]
fn acknowledged_batches_survive_kill_9() {
    let cycles = amount("HAVERSACK_CRASH_CYCLES", 200);
    let seed = amount("HAVERSACK_SEED", 1);
    let mut random = Random::new(seed);
    let mut folder = scratch();
    let mut done = [0; THREADS];
    let mut written = 0;
    for cycle in 0..cycles {
        if cycle % 50 == 0 {
            // Starting over now and then also covers kills while tables are created.
            (folder, done) = (scratch(), [0; THREADS]);
        }
        let moment = Duration::from_micros(5_000 + random.below(195_000) as u64);
        let moment = if random.chance(50) { moment / 8 } else { moment };
        let acknowledged = run_and_kill(folder.path(), &done, moment);
        let context = format!("seed {seed}, cycle {cycle}, killed after {moment:?}");
        let store = open(folder.path());
        done = verify(&store, &acknowledged, &context);
        written += done.iter().sum::<u64>();
    }
    assert!(written > cycles, "too little was written to say anything");
}
