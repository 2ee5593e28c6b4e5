//! Indexes that are lost or damaged while the store is open (R7): the process lives, writes go on,
//! and searches are right again without a restart.

use std::fs;
use std::path::{Path, PathBuf};

use haversack_store::embedded::EmbeddedStore;
use haversack_store::store::change::Change;
use haversack_store::store::error::ReadError;
use haversack_store::store::query::{Effort, Filter, VectorSearch};
use haversack_store::store::viewer::Viewer;

use crate::support::{LetterPairs, Random, batch, copy, id, item, open, put, scratch, words};

const WORDS: [&str; 6] = ["amber", "basil", "coral", "denim", "fjord", "glyph"];

fn workspace(folder: &Path) -> PathBuf {
    folder.join("workspaces/acme")
}

/// Enough texts for index files that are not held in memory.
fn fill(store: &EmbeddedStore, items: usize) {
    let mut random = Random::new(3);
    for round in 0..3 {
        let changes = (0..items).map(|n| {
            let text: Vec<String> = (0..40)
                .map(|_| format!("{} rare{}", random.pick(&WORDS), random.below(20_000)))
                .collect();
            put(item(&format!("item {round} {n}"), &text.join(" ")))
        });
        store.write(batch(round, changes.collect())).unwrap();
    }
}

type Answer = Result<String, ReadError>;

fn answers(store: &EmbeddedStore) -> Vec<Answer> {
    let view = store.view(&Viewer::owner());
    let mut answers = Vec::new();
    for word in WORDS.into_iter().chain(["rare7", "rare77", "gone", "late"]) {
        answers.push(view.search_text(&words(word)).map(|hits| format!("{hits:?}")));
        let (vector, filter) = (LetterPairs::vector(word), Filter::everything());
        let search = VectorSearch { vector, effort: Effort::Fast, filter, limit: 50 };
        answers.push(view.search_vectors(&search).map(|hits| format!("{hits:?}")));
    }
    answers
}

fn index_files(folder: &Path, part: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(workspace(folder).join(part)).unwrap();
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    files.retain(|file| !file.file_name().unwrap().as_encoded_bytes().starts_with(b"."));
    files.sort();
    files
}

/// What happens to an index while it is in use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Loss {
    Folder,
    FileInItsPlace,
    Files,
    Cut(usize),
    Overwritten,
}

fn lose(folder: &Path, part: &str, how: Loss) {
    let path = workspace(folder).join(part);
    match how {
        Loss::Folder => fs::remove_dir_all(path).unwrap(),
        Loss::FileInItsPlace => {
            fs::remove_dir_all(&path).unwrap();
            fs::write(path, "a file where the folder was").unwrap();
        }
        Loss::Files | Loss::Cut(_) | Loss::Overwritten => {
            for file in index_files(folder, part) {
                match how {
                    Loss::Files => fs::remove_file(file).unwrap(),
                    // In place: the open file changes, too.
                    Loss::Cut(of) => {
                        let opened = fs::OpenOptions::new().write(true).open(&file).unwrap();
                        let length = opened.metadata().unwrap().len();
                        opened.set_len(if of == 0 { 0 } else { length / of as u64 }).unwrap();
                    }
                    _ => {
                        let length = fs::metadata(&file).unwrap().len();
                        let garbage = vec![0xa5; usize::try_from(length).unwrap()];
                        fs::write(file, garbage).unwrap();
                    }
                }
            }
        }
    }
}

/// The answers of a store with the same records whose indexes are made anew.
fn answers_of_a_fresh_copy(folder: &Path, store: &EmbeddedStore) -> Vec<String> {
    let copied = scratch();
    let target = workspace(copied.path());
    store.backup(&target).unwrap();
    let answers = answers(&open(copied.path())).into_iter().map(Result::unwrap).collect();
    assert!(folder != copied.path());
    answers
}

fn check(part: &str, how: Loss, items: usize) {
    let context = format!("{part}, {how:?}, {items} items a batch");
    let folder = scratch();
    let store = open(folder.path());
    fill(&store, items);
    let late = item("late", "late word");
    store.write(batch(9, vec![put(item("doomed", "gone soon")), put(late)])).unwrap();
    let before: Vec<String> = answers(&store).into_iter().map(Result::unwrap).collect();
    lose(folder.path(), part, how);
    for (answer, before) in answers(&store).into_iter().zip(&before) {
        match answer {
            Ok(answer) => assert!(answer == *before, "{context}: a wrong answer"),
            Err(ReadError::Storage { .. } | ReadError::Rebuilding) => {}
            Err(error) => panic!("{context}: {error:?}"),
        }
    }
    let changes = vec![Change::Delete(id("doomed")), put(item("later", "late as well"))];
    store.write(batch(10, changes)).unwrap_or_else(|error| panic!("{context}: {error:?}"));
    // A large index is rebuilt in steps, and says so.
    while !store.health().is_empty() {
        assert!(store.view(&Viewer::owner()).get(&[id("later")]).unwrap()[0].is_some());
        store.write(batch(11, vec![put(item("meanwhile", "written meanwhile"))])).unwrap();
    }
    let expected = answers_of_a_fresh_copy(folder.path(), &store);
    let found: Vec<String> = answers(&store).into_iter().map(Result::unwrap).collect();
    assert!(found == expected, "{context}: other answers than those of a fresh index");
    let report = store.check(true).unwrap();
    assert!(report.is_sound(), "{context}: {report:?}");
    drop(store);
    let store = open(folder.path());
    let found: Vec<String> = answers(&store).into_iter().map(Result::unwrap).collect();
    assert!(found == expected, "{context}: other answers after a restart");
    assert!(store.check(false).unwrap().is_sound(), "{context}");
}

const LOSSES: [Loss; 7] = [
    Loss::Folder,
    Loss::FileInItsPlace,
    Loss::Files,
    Loss::Cut(0),
    Loss::Cut(2),
    Loss::Cut(10),
    Loss::Overwritten,
];

#[test]
fn a_small_text_index_heals_with_the_next_write_r7() {
    for how in LOSSES {
        check("text", how, 5);
    }
}

#[test]
fn a_large_text_index_is_rebuilt_while_writes_go_on_r7() {
    for how in LOSSES {
        check("text", how, 500);
    }
}

#[test]
fn a_lost_vector_index_changes_no_answer_r7() {
    for how in LOSSES {
        if how != Loss::FileInItsPlace {
            check("vectors", how, 50);
        }
    }
}

/// Nobody writes: a failed search alone has the index examined and made anew.
#[test]
fn a_failed_search_heals_the_index_r7() {
    let folder = scratch();
    let store = open(folder.path());
    fill(&store, 2_000);
    let view = |word: &str| store.view(&Viewer::owner()).search_text(&words(word));
    let expected = format!("{:?}", view("rare7").unwrap());
    lose(folder.path(), "text", Loss::Cut(0));
    let failed = WORDS.into_iter().any(|word| view(word).is_err());
    assert!(failed, "no search read what was cut off");
    loop {
        match view("rare7") {
            Ok(found) => {
                assert_eq!(format!("{found:?}"), expected);
                if view("amber").is_ok() {
                    break;
                }
            }
            Err(ReadError::Storage { .. } | ReadError::Rebuilding) => {}
            Err(error) => panic!("{error:?}"),
        }
        std::thread::yield_now();
    }
}

/// The damage of an index in memory never reaches an answer, so a copy of the folder opens, too.
#[test]
fn a_copy_with_cut_indexes_opens_r7() {
    let folder = scratch();
    let store = open(folder.path());
    fill(&store, 20);
    let expected: Vec<String> = answers(&store).into_iter().map(Result::unwrap).collect();
    drop(store);
    for part in ["text", "vectors"] {
        let copied = scratch();
        copy(folder.path(), copied.path());
        lose(copied.path(), part, Loss::Cut(3));
        let store = open(copied.path());
        let found: Vec<String> = answers(&store).into_iter().map(Result::unwrap).collect();
        assert!(found == expected, "{part}");
    }
}
