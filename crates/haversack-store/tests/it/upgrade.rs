//! Opening a data folder of an older version upgrades it.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use haversack_core::embed::{BuiltIn, TextFeatures};
use haversack_core::ids::CandidateId;
use haversack_core::text::tokenizer::Encoding;
use haversack_store::embedded::{DataFolder, EmbeddedStore};
use haversack_store::store::item::Passage;
use haversack_store::store::maintenance::{MaintenanceProgress, OnUpgrade};
use haversack_store::store::viewer::Viewer;
use rusqlite::Connection;

use crate::support::{id, records, scratch};

/// A copy of the folder that version 0.1.0 wrote.
fn folder_of_0_1_0() -> impl AsRef<Path> {
    let copy = scratch();
    let original = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/folder-0.1.0");
    copy_all(&original, copy.path());
    copy
}

fn copy_all(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy_all(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

fn store_file(folder: &Path) -> PathBuf {
    folder.join("workspaces/default/store.db")
}

/// Opens the workspace and returns the reported upgrade progress, too.
fn open(folder: &Path) -> (EmbeddedStore, Vec<(String, MaintenanceProgress)>) {
    let reports: Arc<Mutex<Vec<(String, MaintenanceProgress)>>> = Arc::default();
    let collected = Arc::clone(&reports);
    let collect =
        move |name: &str, progress| collected.lock().unwrap().push((name.to_owned(), progress));
    let data_folder = DataFolder::open(folder).unwrap().on_upgrade(OnUpgrade::new(collect));
    let store = data_folder.existing_workspace("default", Arc::new(BuiltIn::new())).unwrap();
    let reports = reports.lock().unwrap().clone();
    (store, reports)
}

fn passages(store: &EmbeddedStore) -> Vec<Passage> {
    let chunks = (0..4).map(|chunk| CandidateId::chunk(id("docs/cellar.md"), chunk));
    let notes = CandidateId::chunk(id("docs/notes.txt"), 0);
    let ids: Vec<CandidateId> = chunks.chain([notes]).collect();
    store.view(&Viewer::anyone()).passages(&ids).unwrap().into_iter().flatten().collect()
}

#[test]
fn a_folder_of_0_1_0_gets_the_features_of_its_texts_once() {
    let folder = folder_of_0_1_0();
    let folder = folder.as_ref();
    let format = || -> u32 {
        let connection = Connection::open(store_file(folder)).unwrap();
        connection.pragma_query_value(None, "user_version", |line| line.get(0)).unwrap()
    };
    assert_eq!(format(), 1);
    let (store, reports) = open(folder);
    assert_eq!(reports, [("default".to_owned(), MaintenanceProgress { done: 3, total: 3 })]);
    let found = passages(&store);
    assert!(found.len() >= 3, "{found:?}");
    assert!(found.iter().any(|passage| passage.text.contains("Tom and Ines repair")));
    for passage in &found {
        let expected = TextFeatures::new(&passage.text, &Encoding::O200k);
        assert_eq!(passage.features.as_deref(), Some(&expected));
    }
    let report = store.check(false).unwrap();
    assert!(report.is_sound(), "{report:?}");
    drop(store);
    assert_eq!(format(), 3);
    let (store, reports) = open(folder);
    assert_eq!(reports, []);
    assert_eq!(passages(&store).len(), found.len());
}

#[test]
fn an_upgrade_that_was_interrupted_is_done_at_the_next_start() {
    let folder = folder_of_0_1_0();
    let folder = folder.as_ref();
    drop(open(folder));
    let connection = records(&store_file(folder));
    connection.execute_batch("DELETE FROM settings WHERE name = 'features'").unwrap();
    connection.execute_batch("UPDATE chunks SET features = NULL WHERE chunk > 0").unwrap();
    drop(connection);
    let (store, reports) = open(folder);
    assert_eq!(reports.len(), 1);
    assert!(passages(&store).iter().all(|passage| passage.features.is_some()));
}

#[test]
fn features_that_do_not_fit_their_text_are_not_used() {
    let folder = folder_of_0_1_0();
    let folder = folder.as_ref();
    drop(open(folder));
    let connection = records(&store_file(folder));
    connection.execute_batch("UPDATE chunks SET features = x'01ffff7f00'").unwrap();
    drop(connection);
    let (store, _) = open(folder);
    let found = passages(&store);
    assert!(found.len() >= 3);
    assert!(found.iter().all(|passage| passage.features.is_none()));
}
