//! A process that may not open more files refuses and goes on; nothing is half done (R3).

use std::fs::File;
use std::path::Path;
use std::process::Command;

use haversack_store::DataFolder;
use haversack_store::store::error::{CommitError, OpenError};
use haversack_store::store::viewer::Viewer;

use crate::support::{LetterPairs, batch, id, item, open, put, scratch};

/// The child's folder, when the test below starts this program again.
const FOLDER: &str = "HAVERSACK_LIMITED_FOLDER";

/// How many files the child may open.
const FILES: usize = 200;

#[cfg(unix)]
#[test]
fn without_descriptors_writes_are_refused_and_go_on_later_r3() {
    let folder = scratch();
    let script = format!(
        "ulimit -n {FILES}; exec \"$0\" --exact descriptors::child_that_may_open_few_files"
    );
    let status = Command::new("sh")
        .args(["-c", &script])
        .arg(std::env::current_exe().unwrap())
        .env(FOLDER, folder.path())
        .status()
        .unwrap();
    assert!(status.success());
    let store = open(folder.path());
    assert!(store.repaired().is_empty(), "{:?}", store.repaired());
    assert!(store.check(false).unwrap().is_sound());
    let ids: Vec<_> = (0..40).map(|n| id(format!("n{n}"))).collect();
    let stored = store.view(&Viewer::owner()).get(&ids).unwrap();
    assert!(stored.iter().all(Option::is_some));
}

/// Opens files until so many can still be opened.
fn leave(free: usize) -> Vec<File> {
    let mut taken = Vec::new();
    while let Ok(file) = File::open("/dev/null") {
        taken.push(file);
    }
    taken.truncate(taken.len() - free);
    taken
}

#[test]
fn child_that_may_open_few_files() {
    let Ok(folder) = std::env::var(FOLDER) else { return };
    let data_folder = DataFolder::open(Path::new(&folder)).unwrap();
    let open = |name| data_folder.workspace(name, LetterPairs::shared());
    let store = open("acme").unwrap();
    let note = |n: usize| put(item(&format!("n{n}"), "some words"));
    store.write(batch(0, vec![note(0)])).unwrap();
    // Whatever number is left, a write is done as a whole or refused as a whole.
    for (stored, free) in (1..).zip(0..39) {
        let taken = leave(free);
        let written = store.write(batch(1, vec![note(stored)]));
        match &written {
            Ok(_) => {}
            Err(CommitError::TooManyFiles(error)) => {
                assert_eq!(error.limit, Some(FILES as u64));
                assert!(free < 20, "{free} are enough: {error}");
            }
            Err(error) => panic!("with {free} descriptors: {error:?}"),
        }
        if free == 0 {
            let refused = open("other").unwrap_err();
            assert!(matches!(refused, OpenError::TooManyFiles(_)), "{refused:?}");
            let shown = refused.to_string();
            assert!(shown.contains("200") && shown.contains("ulimit -n"), "{shown}");
            // What is open already is read.
            let read = store.view(&Viewer::owner()).get(&[id("n0")]);
            assert!(read.unwrap()[0].is_some());
        }
        drop(taken);
        if written.is_err() {
            store.write(batch(1, vec![note(stored)])).unwrap();
        }
    }
    assert!(store.check(false).unwrap().is_sound());
    open("other").unwrap();
}
