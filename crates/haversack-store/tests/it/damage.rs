//! Damaged records are told, never served (R8): whatever happens to the pages of `store.db`, an
//! answer is right or an error, and `check` finds the damage.

use std::fs;
use std::path::{Path, PathBuf};

use haversack_core::units::Score;
use haversack_store::embedded::{DataFolder, EmbeddedStore};
use haversack_store::store::change::Change;
use haversack_store::store::error::{CommitError, OpenError, ReadError};
use haversack_store::store::item::{DocumentKind, Event, EventKind, Link, Record};
use haversack_store::store::query::{
    Direction, Effort, Filter, FuzzySearch, ListOrder, Page, VectorSearch,
};
use haversack_store::store::viewer::Viewer;
use rusqlite::Connection;
use serde_json::json;

use crate::support::{
    LetterPairs, Random, amount, at, batch, copy, id, item, only, open, put, scratch, under, user,
    words,
};

const WORDS: [&str; 6] = ["amber", "basil", "coral", "denim", "fjord", "glyph"];

const PAGE: usize = 4_096;

fn store_file(folder: &Path) -> PathBuf {
    folder.join("workspaces/acme/store.db")
}

/// Everything that decides answers: items with versions, readers, parents and fields, long texts,
/// links, events, named documents.
fn fill(store: &EmbeddedStore) {
    let mut random = Random::new(11);
    for round in 0..4 {
        let mut changes: Vec<Change> = (0..12)
            .map(|n| {
                let text: Vec<&str> = (0..8).map(|_| *random.pick(&WORDS)).collect();
                let long =
                    if n == 5 { "a long text of many pages ".repeat(600) } else { String::new() };
                let name = format!("item {}", round * 6 + n);
                let mut item = item(&name, &format!("{} {long}", text.join(" ")));
                item.fields.insert("threadId".to_owned(), json!(format!("t{}", n % 3)));
                match n {
                    3 => put(only(&["anna"], item)),
                    4 => put(under(&format!("item {}", round * 6 + 3), item)),
                    _ => put(item),
                }
            })
            .collect();
        let from = |n: usize| id(format!("item {}", round * 6 + n));
        let link_type = "cites".to_owned();
        changes.push(Change::Link(Link { from: from(0), link_type, to: from(1) }));
        changes.push(Change::AddEvent(Event {
            item: from(2),
            user: "anna".to_owned(),
            event_kind: EventKind::Viewed,
            at: at(i64::try_from(round).unwrap()),
        }));
        changes.push(Change::PutRecord(Record {
            document_kind: DocumentKind::Template,
            name: format!("document {round}"),
            text: format!("text of document {round} {}", random.pick(&WORDS)),
            at: at(1),
        }));
        store.write(batch(i64::try_from(round).unwrap() + 10, changes)).unwrap();
    }
}

type Answer = Result<String, ReadError>;

/// The answers to every kind of question.
fn answers(store: &EmbeddedStore) -> Vec<Answer> {
    let mut answers = Vec::new();
    for viewer in [Viewer::owner(), user("bob")] {
        let view = store.view(&viewer);
        let mut add = |answer: Result<String, ReadError>| answers.push(answer);
        for order in [ListOrder::Id, ListOrder::Newest] {
            let page = Page { order, after: None, limit: 1_000 };
            add(view.list(&Filter::everything(), &page).map(|found| format!("{found:?}")));
        }
        let fields = vec![("threadId".to_owned(), vec![json!("t1")])];
        add(view.count(&Filter { fields, ..Filter::default() }).map(|found| found.to_string()));
        for n in 0..30 {
            let one = id(format!("item {n}"));
            let ids = std::slice::from_ref(&one);
            add(view.get(ids).map(|found| format!("{found:?}")));
            add(view.history(&one).map(|found| format!("{found:?}")));
            add(view.usage(ids, None, None).map(|found| format!("{found:?}")));
            add(view.children(&one, 10).map(|found| format!("{found:?}")));
            let linked = view.linked_items(&one, Direction::Outward, &[], 10);
            add(linked.map(|found| format!("{found:?}")));
        }
        for word in WORDS {
            let hits = view.search_text(&words(word));
            let passages = hits.and_then(|hits| {
                let ids: Vec<_> = hits.iter().map(|hit| hit.id.clone()).collect();
                Ok(format!("{hits:?} {:?}", view.passages(&ids)?))
            });
            add(passages);
            let (vector, filter) = (LetterPairs::vector(word), Filter::everything());
            let search = VectorSearch { vector, effort: Effort::Fast, filter, limit: 100 };
            add(view.search_vectors(&search).map(|found| format!("{found:?}")));
            let search = FuzzySearch {
                query: format!("{word}x"),
                similarity_least: Score::unit(0.1),
                filter: Filter::everything(),
                limit: 100,
            };
            add(view.search_fuzzy(&search).map(|found| format!("{found:?}")));
        }
        for round in 0..4 {
            let record = view.record(DocumentKind::Template, &format!("document {round}"));
            add(record.map(|found| format!("{found:?}")));
        }
    }
    answers
}

#[derive(Debug, Clone, Copy)]
enum Damage {
    Bit(usize),
    Bytes { at: usize, length: usize },
    ZeroPage(usize),
    SwapPages(usize, usize),
    CutAt(usize),
}

fn damage(bytes: &mut Vec<u8>, how: Damage, random: &mut Random) {
    match how {
        Damage::Bit(bit) => bytes[bit / 8] ^= 1 << (bit % 8),
        Damage::Bytes { at, length } => {
            let end = (at + length).min(bytes.len());
            bytes[at..end].iter_mut().for_each(|byte| {
                *byte = byte.wrapping_add(1 + u8::try_from(random.below(255)).unwrap());
            });
        }
        Damage::ZeroPage(page) => bytes[page * PAGE..(page + 1) * PAGE].fill(0),
        Damage::SwapPages(one, other) => {
            let kept = bytes[one * PAGE..(one + 1) * PAGE].to_vec();
            bytes.copy_within(other * PAGE..(other + 1) * PAGE, one * PAGE);
            bytes[other * PAGE..(other + 1) * PAGE].copy_from_slice(&kept);
        }
        Damage::CutAt(length) => bytes.truncate(length),
    }
}

/// Damage at chosen places of every page, and at random ones.
fn damages(size: usize, random: &mut Random) -> Vec<Damage> {
    let pages = size / PAGE;
    let mut damages = Vec::new();
    // The header says what the file is: each of its bytes decides something.
    damages.extend((0..100).map(|at| Damage::Bytes { at, length: 1 }));
    for page in 0..pages {
        let start = page * PAGE;
        damages.push(Damage::ZeroPage(page));
        damages.push(Damage::SwapPages(page, (page + 1) % pages));
        // The kind of page and its number of cells, the first pointers, the end of the content.
        for at in [start, start + 3, start + 9, start + PAGE - 20] {
            damages.push(Damage::Bytes { at, length: 1 });
        }
        damages.push(Damage::Bit((start + random.below(PAGE)) * 8 + random.below(8)));
    }
    damages.extend([0, 1, 99, 100, PAGE, size / 2, size - PAGE, size - 1].map(Damage::CutAt));
    for _ in 0..50 {
        damages.push(Damage::Bytes { at: random.below(size), length: 1 + random.below(600) });
    }
    random.shuffle(&mut damages);
    damages
}

/// Opens a damaged copy, with the indexes or without them. Returns whether it could be opened.
fn check_damaged(
    sound: &Path,
    bytes: &[u8],
    expected: &[String],
    with_indexes: bool,
    context: &str,
) -> bool {
    let folder = scratch();
    copy(sound, folder.path());
    fs::write(store_file(folder.path()), bytes).unwrap();
    if !with_indexes {
        for part in ["text", "vectors"] {
            fs::remove_dir_all(folder.path().join("workspaces/acme").join(part)).unwrap();
        }
    }
    let data_folder = DataFolder::open(folder.path()).unwrap();
    let store = match data_folder.workspace("acme", LetterPairs::shared()) {
        Ok(store) => store,
        Err(error) => {
            assert!(matches!(error, OpenError::Damaged { .. }), "{context}: {error:?}");
            assert!(error.to_string().contains("restore a backup"), "{context}: {error}");
            return false;
        }
    };
    for (answer, expected) in answers(&store).into_iter().zip(expected) {
        match answer {
            Ok(answer) => assert!(answer == *expected, "{context}: a wrong answer"),
            Err(ReadError::Damaged { .. }) => {
                assert!(!store.health().is_empty(), "{context}: damage that was met is reported");
            }
            Err(ReadError::Rebuilding) => assert!(!store.health().is_empty(), "{context}"),
            Err(error) => panic!("{context}: {error:?}"),
        }
    }
    let report = store.check(false).unwrap();
    assert!(!report.damage.is_empty(), "{context}: the check finds nothing");
    let written = store.write(batch(1_000, vec![put(item("more", "more"))]));
    match written {
        Ok(_) | Err(CommitError::Damaged { .. } | CommitError::NotSearchable { .. }) => {}
        Err(CommitError::Storage { .. } | CommitError::Stopped { .. }) => {}
        Err(error) => panic!("{context}: {error:?}"),
    }
    true
}

#[test]
fn no_damage_to_the_records_is_served_r8() {
    let sound = scratch();
    let store = open(sound.path());
    fill(&store);
    let expected: Vec<String> = answers(&store).into_iter().map(Result::unwrap).collect();
    assert!(store.check(false).unwrap().is_sound());
    drop(store);
    let bytes = fs::read(store_file(sound.path())).unwrap();
    let free = Connection::open(store_file(sound.path())).unwrap();
    let free: u32 = free.pragma_query_value(None, "freelist_count", |line| line.get(0)).unwrap();
    assert_eq!(free, 0, "every page of the file is in use");
    let mut random = Random::new(amount("HAVERSACK_SEED", 5));
    let damages = damages(bytes.len(), &mut random);
    let most = usize::try_from(amount("HAVERSACK_FLIPS", 250)).unwrap();
    let (mut opened, mut refused) = (0, 0);
    for (number, how) in damages.into_iter().take(most).enumerate() {
        let mut damaged = bytes.clone();
        damage(&mut damaged, how, &mut random);
        if damaged == bytes {
            continue;
        }
        let context = format!("image {number}, {how:?}");
        // Without its indexes, an empty file is what a crash leaves of a workspace that is being made.
        let with_indexes = number % 2 == 0 || matches!(how, Damage::CutAt(0));
        if check_damaged(sound.path(), &damaged, &expected, with_indexes, &context) {
            opened += 1;
        } else {
            refused += 1;
        }
    }
    assert!(opened > 0 && refused > 0, "{opened} opened, {refused} refused");
}

/// An older version of the same page has a checksum that fits, and is still no wrong answer to
/// `check`: tables contradict each other.
#[test]
fn tables_that_contradict_each_other_are_found_r8() {
    for (sql, expected) in [
        ("DELETE FROM commits WHERE revision = 2", "commit that made or ended it is missing"),
        ("UPDATE items SET list = 7 WHERE row = 1", "readers"),
        ("UPDATE items SET title = 'other' WHERE row = 2", "not what was written"),
        ("UPDATE items SET updated = 5 WHERE row = 2", "not what was written"),
        ("DELETE FROM chunks WHERE row = 3", "row 3"),
        ("DELETE FROM embeddings WHERE embedding = 1", "has no vector"),
        ("DELETE FROM seals WHERE row = 4", "row 4"),
        ("DELETE FROM usage", "less than its events"),
        ("PRAGMA foreign_keys = OFF; DELETE FROM nodes WHERE node = 1", "refers to is missing"),
        ("UPDATE links SET born = 99", "link"),
    ] {
        let folder = scratch();
        let store = open(folder.path());
        fill(&store);
        let connection = crate::support::records(&store_file(folder.path()));
        connection.execute_batch(sql).unwrap();
        drop(connection);
        let report = store.check(false).unwrap();
        let found = report.damage.iter().any(|finding| finding.contains(expected));
        assert!(found, "{sql}: {:?}", report.damage);
    }
}

/// A file of format 3 without checksums was not written by this program.
#[test]
fn checksums_cannot_be_left_out() {
    let folder = scratch();
    let store = open(folder.path());
    fill(&store);
    drop(store);
    let file = store_file(folder.path());
    let plain = folder.path().join("plain.db");
    let connection = Connection::open(&file).unwrap();
    let target = format!("VACUUM INTO 'file:{}?reserve=0'", plain.display());
    connection.execute_batch(&target).unwrap();
    drop(connection);
    fs::rename(&plain, &file).unwrap();
    let data_folder = DataFolder::open(folder.path()).unwrap();
    let error = data_folder.workspace("acme", LetterPairs::shared()).unwrap_err();
    assert!(matches!(error, OpenError::Damaged { .. }), "{error:?}");
}
