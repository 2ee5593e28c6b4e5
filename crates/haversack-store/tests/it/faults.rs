//! Full disks, damaged files and deleted folders lead to an error or a repair, never to a wrong
//! answer (R3 to R5, R7).

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use haversack_core::units::Score;
use haversack_store::embedded::{DataFolder, EmbeddedStore};
use haversack_store::store::error::CommitError;
use haversack_store::store::query::{Effort, Filter, FuzzySearch, ListOrder, Page, VectorSearch};
use haversack_store::store::viewer::Viewer;

use crate::support::{
    LetterPairs, Mount, Random, amount, batch, copy, id, item, only, open, put, scratch, user,
    words,
};

const WORDS: [&str; 6] = ["amber", "basil", "coral", "denim", "fjord", "glyph"];

fn workspace(folder: &Path) -> PathBuf {
    folder.join("workspaces/acme")
}

/// A few commits, so that every index has several segments.
fn fill(store: &EmbeddedStore) {
    let mut random = Random::new(7);
    for round in 0..6 {
        let items = (0..8).map(|n| {
            let text: Vec<&str> = (0..6).map(|_| *random.pick(&WORDS)).collect();
            let item = item(&format!("item {}", round * 4 + n), &text.join(" "));
            if n == 3 { only(&["anna"], item) } else { item }
        });
        let changes = items.map(put).collect();
        store.write(batch(round, changes)).unwrap();
    }
}

/// The results of every search, as text.
fn answers(store: &EmbeddedStore) -> Vec<String> {
    let mut answers = Vec::new();
    for viewer in [Viewer::owner(), user("bob")] {
        let view = store.view(&viewer);
        let page = Page { order: ListOrder::Id, after: None, limit: 1_000 };
        let items = view.list(&Filter::everything(), &page).unwrap();
        answers.extend(items.iter().map(|stored| format!("{stored:?}")));
        for word in WORDS {
            answers.push(format!("{:?}", view.search_text(&words(word)).unwrap()));
            let (filter, limit) = (Filter::everything(), 100);
            let vector = LetterPairs::vector(word);
            let search = VectorSearch { vector, effort: Effort::Fast, filter, limit };
            answers.push(format!("{:?}", view.search_vectors(&search).unwrap()));
            let search = FuzzySearch {
                query: format!("{word}x"),
                similarity_least: Score::unit(0.1),
                filter: Filter::everything(),
                limit,
            };
            answers.push(format!("{:?}", view.search_fuzzy(&search).unwrap()));
        }
    }
    answers
}

/// The files below a folder, as sorted relative paths.
fn files(root: &Path, folder: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(root.join(folder)).unwrap() {
        let entry = entry.unwrap();
        let path = format!("{folder}/{}", entry.file_name().to_str().unwrap());
        if entry.file_type().unwrap().is_dir() {
            found.extend(files(root, &path));
        } else {
            found.push(PathBuf::from(path));
        }
    }
    found.sort();
    found
}

#[derive(Debug, Clone, Copy)]
enum Damage {
    Delete,
    Truncate(usize),
    Flip(usize),
}

fn damage(file: &Path, damage: Damage) {
    let mut bytes = fs::read(file).unwrap();
    match damage {
        Damage::Delete => return fs::remove_file(file).unwrap(),
        Damage::Truncate(length) => bytes.truncate(length % bytes.len().max(1)),
        Damage::Flip(bit) if !bytes.is_empty() => {
            let at = bit / 8 % bytes.len();
            bytes[at] ^= 1 << (bit % 8);
        }
        Damage::Flip(_) => {}
    }
    fs::write(file, bytes).unwrap();
}

#[test]
fn a_damaged_index_is_detected_and_rebuilt_r7() {
    let sound = scratch();
    let store = open(sound.path());
    fill(&store);
    let expected = answers(&store);
    drop(store);
    let mut random = Random::new(amount("HAVERSACK_SEED", 3));
    let flips = amount("HAVERSACK_FLIPS", 2);
    let root = workspace(sound.path());
    let derived: Vec<PathBuf> =
        ["text", "vectors"].into_iter().flat_map(|folder| files(&root, folder)).collect();
    assert!(derived.len() > 6, "{derived:?}");
    for file in &derived {
        let mut damages = vec![Damage::Delete, Damage::Truncate(0), Damage::Truncate(5)];
        damages.push(Damage::Truncate(random.below(1 << 20)));
        damages.extend((0..flips).map(|_| Damage::Flip(random.below(1 << 24))));
        for how in damages {
            let folder = scratch();
            copy(sound.path(), folder.path());
            damage(&workspace(folder.path()).join(file), how);
            let context = format!("{} {how:?}", file.display());
            let data_folder = DataFolder::open(folder.path()).unwrap();
            let store = data_folder.workspace("acme", LetterPairs::shared());
            let store = store.unwrap_or_else(|error| panic!("{context}: {error:?}"));
            assert!(answers(&store) == expected, "{context}: other answers");
            let report = store.check(false).unwrap();
            assert!(report.is_sound(), "{context}: {report:?}");
        }
    }
}

#[test]
fn a_missing_index_is_rebuilt_and_reported_r7() {
    for gone in [&["text"][..], &["vectors"], &["text", "vectors"]] {
        let folder = scratch();
        let store = open(folder.path());
        fill(&store);
        let expected = answers(&store);
        drop(store);
        for part in gone {
            fs::remove_dir_all(workspace(folder.path()).join(part)).unwrap();
        }
        let store = open(folder.path());
        assert!(answers(&store) == expected, "without {gone:?}");
        assert!(store.check(false).unwrap().is_sound());
    }
}

#[test]
fn an_index_deleted_while_open_loses_no_write_r3() {
    for part in ["text", "vectors"] {
        let folder = scratch();
        let store = open(folder.path());
        fill(&store);
        let path = workspace(folder.path()).join(part);
        fs::remove_dir_all(&path).unwrap();
        fs::write(&path, "a file where the folder was").unwrap();
        let (mut acknowledged, mut refused) = (Vec::new(), Vec::new());
        for n in 0..3 {
            let name = format!("late {n}");
            let written = store.write(batch(100 + n, vec![put(item(&name, "late word"))]));
            match written {
                Ok(_) | Err(CommitError::NotSearchable { .. }) => acknowledged.push(name),
                // The indexes lag behind, so this batch was not accepted.
                Err(CommitError::Storage { .. }) => refused.push(name),
                Err(error) => panic!("{part}: {error:?}"),
            }
        }
        assert_eq!(store.view(&Viewer::owner()).get(&[id("item 1")]).unwrap().len(), 1);
        drop(store);
        // An obstacle is either reported as an error or replaced and reported as repaired.
        let data_folder = DataFolder::open(folder.path()).unwrap();
        let store = match data_folder.workspace("acme", LetterPairs::shared()) {
            Ok(store) => store,
            Err(error) => {
                assert!(error.to_string().contains("cannot open"), "{part}: {error}");
                fs::remove_file(&path).unwrap();
                data_folder.workspace("acme", LetterPairs::shared()).unwrap()
            }
        };
        for name in &acknowledged {
            assert!(store.view(&Viewer::owner()).get(&[id(name)]).unwrap()[0].is_some());
        }
        for name in &refused {
            assert!(store.view(&Viewer::owner()).get(&[id(name)]).unwrap()[0].is_none());
        }
        let hits = store.view(&Viewer::owner()).search_text(&words("late")).unwrap();
        assert_eq!(hits.len(), acknowledged.len());
        assert!(store.check(false).unwrap().is_sound(), "{part}");
    }
}

#[test]
fn a_full_disk_stops_writing_only_until_there_is_room_r5() {
    let outer = scratch();
    let place = outer.path().join("small");
    fs::create_dir(&place).unwrap();
    let Some(_mount) = Mount::of_size(&place, "6m") else {
        return file_size_limit(&place);
    };
    let store = open(&place);
    let mut acknowledged = Vec::new();
    // A file that can be deleted later, as if somebody freed space.
    fs::write(place.join("ballast"), vec![1; 1 << 20]).unwrap();
    let body = |n: i64| format!("unique{n} {}", "padding words of some length ".repeat(300));
    let mut full = None;
    for n in 0..2_000 {
        match store.write(batch(n, vec![put(item(&format!("n{n}"), &body(n)))])) {
            Ok(_) => acknowledged.push(n),
            Err(error) => {
                full = Some(error);
                break;
            }
        }
    }
    let error = full.expect("the disk is full at some point");
    assert!(
        matches!(
            error,
            CommitError::Full { .. }
                | CommitError::NotSearchable { .. }
                | CommitError::Storage { .. }
        ),
        "{error:?}"
    );
    let verify = |store: &EmbeddedStore, acknowledged: &[i64]| {
        for n in acknowledged {
            let view = store.view(&Viewer::owner());
            assert!(view.get(&[id(format!("n{n}"))]).unwrap()[0].is_some(), "n{n} is lost");
            assert_eq!(view.search_text(&words(&format!("unique{n}"))).unwrap().len(), 1, "n{n}");
        }
    };
    verify(&store, &acknowledged);
    fs::remove_file(place.join("ballast")).unwrap();
    for n in 5_000..5_003 {
        let written = store.write(batch(n, vec![put(item(&format!("n{n}"), &body(n)))]));
        written.unwrap_or_else(|error| panic!("after room was made: {error:?}"));
        acknowledged.push(n);
    }
    verify(&store, &acknowledged);
    let report = store.check(false).unwrap();
    assert!(report.is_sound(), "{report:?}");
    drop(store);
    let store = open(&place);
    verify(&store, &acknowledged);
    assert!(store.check(false).unwrap().is_sound());
}

const LIMITED: &str = "HAVERSACK_LIMITED_FOLDER";

/// Without permission to mount, a file size limit makes the disk fail in another way.
fn file_size_limit(place: &Path) {
    let script = "trap '' XFSZ; ulimit -f 4096; exec \"$0\" --exact \
                  faults::child_whose_files_may_not_grow";
    let status = Command::new("sh")
        .args(["-c", script])
        .arg(std::env::current_exe().unwrap())
        .env(LIMITED, place)
        .status()
        .unwrap();
    assert!(status.success());
    assert!(open(place).check(false).unwrap().is_sound());
}

#[test]
fn files_that_may_not_grow_give_errors_and_lose_nothing_r3() {
    let folder = scratch();
    file_size_limit(folder.path());
}

#[test]
fn child_whose_files_may_not_grow() {
    let Ok(folder) = std::env::var(LIMITED) else { return };
    let store = open(Path::new(&folder));
    let body = "padding words of some length ".repeat(2_000);
    let mut acknowledged = Vec::new();
    for n in 0..400 {
        match store.write(batch(n, vec![put(item(&format!("n{n}"), &body))])) {
            Ok(_) => acknowledged.push(id(format!("n{n}"))),
            Err(CommitError::Invalid(problems)) => panic!("{problems:?}"),
            Err(_) => break,
        }
    }
    assert!(acknowledged.len() < 400, "the limit was never reached");
    let got = store.view(&Viewer::owner()).get(&acknowledged).unwrap();
    assert!(got.iter().all(Option::is_some), "reads go on");
}
