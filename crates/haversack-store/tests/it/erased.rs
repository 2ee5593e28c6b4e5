//! What was purged, trimmed or erased with its user is in no file any more, also when the process is
//! killed in the middle (S23).

use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::io::{BufRead, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use haversack_core::embed::Vector;
use haversack_store::embedded::EmbeddedStore;
use haversack_store::store::change::{Change, WriteKey};
use haversack_store::store::item::{Event, EventKind, Item, Link};
use haversack_store::store::query::{Filter, ListOrder, Page};
use haversack_store::store::viewer::Viewer;

use crate::support::{
    LetterPairs, Random, amount, at, batch, id, item, only, open, put, records, scratch, under,
    user, words,
};

/// The child's folder; without it the child's test does nothing.
const FOLDER: &str = "HAVERSACK_PURGE_FOLDER";

/// How long a store may take to remove from files what was purged.
const WAIT_MAX: Duration = Duration::from_secs(60);
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// All files below a folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        match entry.file_type().unwrap().is_dir() {
            true => found.extend(files(&entry.path())),
            false => found.push(entry.path()),
        }
    }
    found
}

/// The files that hold one of these byte strings, with its number.
fn holders(folder: &Path, needles: &[Vec<u8>]) -> Vec<(PathBuf, usize)> {
    // Few places of a file begin like one of them.
    let mut by_key: HashMap<[u8; 4], Vec<usize>> = HashMap::new();
    let mut is_beginning = vec![false; 256 * 256];
    let beginning = |bytes: &[u8]| usize::from(bytes[0]) * 256 + usize::from(bytes[1]);
    for (number, needle) in needles.iter().enumerate() {
        is_beginning[beginning(needle)] = true;
        by_key.entry(*needle.first_chunk().unwrap()).or_default().push(number);
    }
    let mut found = BTreeSet::new();
    for path in files(folder) {
        // A file may be removed meanwhile.
        let Ok(bytes) = fs::read(&path) else { continue };
        for window in (0..bytes.len().saturating_sub(3)).map(|at| &bytes[at..]) {
            if is_beginning[beginning(window)]
                && let Some(numbers) = window.first_chunk().and_then(|key| by_key.get(key))
            {
                let stands = |number: &&usize| window.starts_with(&needles[**number]);
                found.extend(numbers.iter().filter(stands).map(|n| (path.clone(), *n)));
            }
        }
    }
    found.into_iter().collect()
}

/// Waits until no file holds any of the byte strings.
fn wait_until_gone(folder: &Path, needles: &[Vec<u8>]) {
    let tries = WAIT_MAX.as_millis() / LOOK_EVERY.as_millis();
    let mut found = Vec::new();
    for _ in 0..tries {
        found = holders(folder, needles);
        if found.is_empty() {
            return;
        }
        std::thread::sleep(LOOK_EVERY);
    }
    panic!("still there after {WAIT_MAX:?}: {found:?}");
}

/// Texts of many sizes: in one page, over pages of their own, and in between.
fn body(secret: bool, number: usize) -> String {
    let length = [3, 40, 150, 700, 4_000][number % 5];
    let word = if secret { format!("zq{number}xsecret") } else { format!("plain{number}word") };
    (0..length).map(|at| format!("{word}{at}")).collect::<Vec<_>>().join(" ")
}

/// What is looked for: words from the beginning, the middle and the end of secret texts.
fn words_of(number: usize) -> Vec<Vec<u8>> {
    let length = [3, 40, 150, 700, 4_000][number % 5];
    let word = |at: usize| format!("zq{number}xsecret{at}").into_bytes();
    [0, length / 2, length - 1].map(word).into()
}

/// The bytes of a text's vector, in the records and in a segment.
fn vector_bytes(text: &str) -> [Vec<u8>; 2] {
    let half = LetterPairs::vector(text).to_half();
    let vector = Vector::from_half(&half).unwrap();
    let largest = vector.as_slice().iter().fold(0.0_f32, |most, value| most.max(value.abs()));
    #[expect(clippy::cast_possible_truncation, reason = "at most 127 in size")]
    let codes = vector
        .as_slice()
        .iter()
        .map(|value| ((value * (127.0 / largest)).round() as i8).cast_unsigned());
    [half, codes.collect()]
}

fn secret_item(number: usize) -> Item {
    let mut secret = item(&format!("zq{number}-id"), &body(true, number));
    secret.title = format!("zq{number}xsecret0 title");
    secret
}

/// Fills a store with plain and secret items in turn, in several batches, so that pages are split and
/// rows move between them.
fn fill(store: &EmbeddedStore, secrets: usize) {
    let mut random = Random::new(7);
    for round in 0..4 {
        let mut items: Vec<Item> = (0..secrets * 3)
            .filter(|n| n % 4 == round)
            .map(|n| item(&format!("plain-{n:04}"), &body(false, n)))
            .collect();
        items.extend((0..secrets).filter(|n| n % 4 == round).map(secret_item));
        random.shuffle(&mut items);
        for items in items.chunks(7) {
            store.write(batch(1, items.iter().cloned().map(put).collect())).unwrap();
        }
    }
    // Earlier versions hold the text, too.
    for number in 0..secrets / 2 {
        let mut changed = secret_item(number);
        changed.body.push_str("changed");
        store.write(batch(2, vec![put(changed)])).unwrap();
    }
}

fn ids(store: &EmbeddedStore, viewer: &Viewer) -> Vec<String> {
    let page = Page { order: ListOrder::Id, after: None, limit: 1_000 };
    let listed = store.view(viewer).list(&Filter::everything(), &page).unwrap();
    listed.into_iter().map(|stored| stored.item.id.to_string()).collect()
}

#[test]
fn purged_text_leaves_every_file_within_a_minute_s23() {
    const SECRETS: usize = 40;
    let folder = scratch();
    let store = open(folder.path());
    fill(&store, SECRETS);
    // Everything is in the files, not only in the log and in memory.
    drop(store);
    let store = open(folder.path());
    let mut needles: Vec<Vec<u8>> = (0..SECRETS).flat_map(words_of).collect();
    needles.push(b"zq7-id".to_vec());
    let [half, codes] = vector_bytes(&format!("{}\n{}", "zq0xsecret0 title", body(true, 0)));
    needles.extend([half, codes]);
    let before = holders(folder.path(), &needles);
    for (number, needle) in needles.iter().enumerate() {
        let at = |(_, found): &(PathBuf, usize)| *found == number;
        assert!(before.iter().any(at), "{} was never there", needle.escape_ascii());
    }
    let purges = (0..SECRETS).map(|n| Change::Purge(id(format!("zq{n}-id"))));
    for purges in purges.collect::<Vec<_>>().chunks(9) {
        store.write(batch(3, purges.to_vec())).unwrap();
    }
    wait_until_gone(folder.path(), &needles);
    assert_eq!(ids(&store, &Viewer::owner()).len(), SECRETS * 3);
    assert_eq!(store.expunge(false).unwrap(), [] as [String; 0]);
    assert_eq!(store.view(&Viewer::owner()).search_text(&words("plain8word0")).unwrap().len(), 1);
    assert!(store.check(false).unwrap().is_sound());
    drop(store);
    assert_eq!(holders(folder.path(), &needles), []);
    assert!(open(folder.path()).check(false).unwrap().is_sound());
}

/// The child: purges, says so, and cleans up until it is killed.
#[test]
fn child_that_is_killed_while_it_purges() {
    let Ok(folder) = std::env::var(FOLDER) else { return };
    let store = open(Path::new(&folder));
    let mut out = std::io::stderr();
    writeln!(out, "ready").unwrap();
    for number in 0.. {
        store.write(batch(3, vec![Change::Purge(id(format!("zq{number}-id")))])).unwrap();
        writeln!(out, "purged {number}").unwrap();
        if number % 3 == 2 {
            store.expunge(number % 6 == 5).unwrap();
        }
    }
}

#[test]
fn a_purge_is_finished_after_a_kill_s23() {
    const SECRETS: usize = 30;
    let folder = scratch();
    let store = open(folder.path());
    fill(&store, SECRETS);
    drop(store);
    let mut random = Random::new(1);
    let rounds = amount("HAVERSACK_PURGE_KILLS", 8);
    for round in 0..rounds {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "erased::child_that_is_killed_while_it_purges", "--nocapture"])
            .env(FOLDER, folder.path())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        assert_eq!(lines.next().unwrap().unwrap(), "ready");
        // At any moment after some purges: before, within and after the steps that clean up.
        let n_purges = 1 + random.below(8);
        let purged: Vec<String> = lines.by_ref().take(n_purges).map(Result::unwrap).collect();
        std::thread::sleep(Duration::from_micros(random.below(20_000) as u64));
        child.kill().unwrap();
        child.wait().unwrap();
        let purged = purged.into_iter().chain(lines.map_while(Result::ok));
        let numbers = purged.filter_map(|line| line.strip_prefix("purged ")?.parse().ok());
        let needles: Vec<Vec<u8>> = numbers.filter(|n| *n < SECRETS).flat_map(words_of).collect();
        let store = open(folder.path());
        if round % 2 == 0 {
            wait_until_gone(folder.path(), &needles);
        }
        assert!(store.check(false).unwrap().is_sound(), "round {round}");
        drop(store);
        assert_eq!(holders(folder.path(), &needles), [], "round {round}");
        // What was purged is there again, for the next round.
        let store = open(folder.path());
        store.write(batch(4, (0..SECRETS).map(|n| put(secret_item(n))).collect())).unwrap();
    }
}

#[test]
fn vectors_of_trimmed_versions_are_deleted_s23() {
    let folder = scratch();
    let store = open(folder.path());
    let text = |version: usize| format!("{version} {}", "abcdefghijk".repeat(version + 1));
    let other = item("other", &text(1));
    store.write(batch(1, vec![put(other)])).unwrap();
    let write = |store: &EmbeddedStore, version: usize| {
        store.write(batch(2, vec![put(item("often", &text(version)))])).unwrap();
    };
    (0..5).for_each(|version| write(&store, version));
    // Sealed into a segment, and then found in it.
    drop(store);
    let [half_gone, codes_gone] = vector_bytes(&text(0));
    let [half_shared, codes_shared] = vector_bytes(&text(1));
    let gone = [half_gone, codes_gone];
    assert_eq!(holders(folder.path(), &gone).len(), 2);
    let store = open(folder.path());
    (5..20).for_each(|version| write(&store, version));
    let file = folder.path().join("workspaces/acme/store.db");
    let count: u32 = records(&file)
        .query_row("SELECT count(*) FROM embeddings", [], |line| line.get(0))
        .unwrap();
    // Sixteen earlier versions and the present one, and the text that another item has.
    assert_eq!(count, 16 + 1 + 1);
    drop(store);
    assert_eq!(holders(folder.path(), &gone), []);
    let kept = holders(folder.path(), &[half_shared, codes_shared]);
    assert_eq!(kept.len(), 2, "{kept:?}");
    let store = open(folder.path());
    assert!(store.check(false).unwrap().is_sound());
    assert_eq!(store.expunge(false).unwrap(), [] as [String; 0]);
}

/// A workspace in which `annemarie` made and did many things.
fn with_user(store: &EmbeddedStore) {
    let mut n_keys = 0;
    let mut by = |name: &str, changes: Vec<Change>| {
        n_keys += 1;
        let (scope, name_of_key) = (format!("jwt:{name} write"), format!("key {n_keys}"));
        let key = WriteKey { scope, name: name_of_key, request: [1; 32], at: at(1) };
        store.write(batch(1, changes).with_rights(user(name)).with_key(Some(key))).unwrap();
    };
    by("bob", vec![put(only(&["annemarie", "bob"], item("common", "bob wrote this for two")))]);
    by("bob", vec![put(only(&["bob"], item("bobs", "bob alone")))]);
    by(
        "annemarie",
        vec![
            put(only(&["annemarie"], item("diary", "zqdiary of one person"))),
            put(under("diary", item("page", "zqpage below the diary"))),
            put(under("diary", only(&["annemarie", "bob"], item("shared", "read by two")))),
            put(item("open", "an open note")),
        ],
    );
    by("annemarie", vec![put(only(&["annemarie"], item("gone", "zqgone and deleted")))]);
    by("annemarie", vec![Change::Delete(id("gone"))]);
    // The owner wrote it, and only she reads it.
    store
        .write(batch(2, vec![put(only(&["annemarie"], item("letter", "zqletter to one person")))]))
        .unwrap();
    // Without her it is read as another list is.
    store
        .write(batch(2, vec![put(only(&["bob", "carl"], item("pair", "read by bob and carl")))]))
        .unwrap();
    let three = only(&["annemarie", "bob", "carl"], item("three", "read by three"));
    store.write(batch(2, vec![put(three)])).unwrap();
    let event = |item: &str, user: &str| {
        let (item, user) = (id(item), user.to_owned());
        Change::AddEvent(Event { item, user, event_kind: EventKind::Useful, at: at(3) })
    };
    let link = |from: &str, to: &str| {
        Change::Link(Link { from: id(from), to: id(to), link_type: "see".into() })
    };
    let about = vec![
        event("open", "annemarie"),
        event("open", "bob"),
        link("open", "diary"),
        link("open", "common"),
    ];
    store.write(batch(3, about)).unwrap();
}

#[test]
fn an_erased_user_is_in_no_file_s23() {
    let folder = scratch();
    let store = open(folder.path());
    with_user(&store);
    drop(store);
    let store = open(folder.path());
    let words = ["annemarie", "zqdiary", "zqpage", "zqgone", "zqletter"];
    let needles = words.map(|word| word.as_bytes().to_vec());
    assert!(holders(folder.path(), &needles).len() >= needles.len());
    let items = store.user_items("annemarie").unwrap();
    let names = |ids: &[haversack_core::ids::ItemId]| -> Vec<String> {
        let mut names: Vec<String> = ids.iter().map(ToString::to_string).collect();
        names.sort();
        names
    };
    assert_eq!(names(&items.erased), ["diary", "gone", "letter", "page"]);
    assert_eq!(names(&items.kept), ["open", "shared"]);
    store.write(batch(4, vec![Change::EraseUser("annemarie".into())])).unwrap();
    wait_until_gone(folder.path(), &needles);
    assert_eq!(
        ids(&store, &Viewer::owner()),
        ["bobs", "common", "open", "pair", "shared", "three"]
    );
    assert_eq!(ids(&store, &user("annemarie")), ["open"]);
    assert_eq!(ids(&store, &user("carl")), ["open", "pair", "three"]);
    let check = store.check(false).unwrap();
    assert!(check.is_sound(), "{check:?}");
    drop(store);
    assert_eq!(holders(folder.path(), &needles), []);
    assert!(open(folder.path()).check(false).unwrap().is_sound());
}
