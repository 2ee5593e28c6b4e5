//! Foreign, newer, locked and read-only files are refused and left alone (R24).

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use haversack_store::embedded::DataFolder;
use haversack_store::store::change::Change;
use haversack_store::store::error::OpenError;
use haversack_store::store::item::{Event, EventKind};
use haversack_store::store::query::Filter;
use haversack_store::store::viewer::Viewer;
use rusqlite::Connection;
use serde_json::json;

use crate::support::{LetterPairs, Mount, at, batch, id, item, open, put, records, scratch};

const FOLDER: &str = "HAVERSACK_HOLD_FOLDER";

/// The file of the workspace `acme` in a data folder.
fn store_file(folder: &Path) -> PathBuf {
    folder.join("workspaces/acme/store.db")
}

fn refusal(folder: &Path) -> OpenError {
    match DataFolder::open(folder)
        .and_then(|data_folder| data_folder.workspace("acme", LetterPairs::shared()))
    {
        Ok(_) => panic!("opened"),
        Err(error) => error,
    }
}

/// An error with its causes.
fn chain(error: &OpenError) -> String {
    let source = std::error::Error::source(error).map(ToString::to_string);
    format!("{error}: {}", source.unwrap_or_default())
}

#[test]
fn a_newer_format_is_refused_and_not_written_to() {
    let folder = scratch();
    open(folder.path()).write(batch(1, vec![put(item("a", "text"))])).unwrap();
    let file = store_file(folder.path());
    let connection = records(&file);
    connection.pragma_update(None, "user_version", 7).unwrap();
    drop(connection);
    let before = fs::read(&file).unwrap();
    let error = refusal(folder.path());
    assert!(matches!(error, OpenError::Newer { found: 7, known: 3, .. }), "{error}");
    let message = error.to_string();
    assert!(message.contains("format 7") && message.contains("up to 3"), "{message}");
    assert_eq!(fs::read(&file).unwrap(), before);
}

#[test]
fn a_file_of_another_program_is_refused_and_not_written_to() {
    for sql in [
        "CREATE TABLE songs (title TEXT)",
        "CREATE TABLE songs (title TEXT); PRAGMA user_version = 1",
        "PRAGMA application_id = 12345; PRAGMA user_version = 1",
    ] {
        let folder = scratch();
        let file = store_file(folder.path());
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        Connection::open(&file).unwrap().execute_batch(sql).unwrap();
        let before = fs::read(&file).unwrap();
        let error = refusal(folder.path());
        assert!(matches!(error, OpenError::Damaged { .. }), "{error}");
        assert!(chain(&error).contains("another program"), "{}", chain(&error));
        assert_eq!(fs::read(&file).unwrap(), before, "{sql}");
    }
    let folder = scratch();
    let file = store_file(folder.path());
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(&file, "no database at all ".repeat(100)).unwrap();
    assert!(matches!(refusal(folder.path()), OpenError::Damaged { .. }));
}

/// Indexes are not part of the format: a store without them gets them at open.
#[test]
fn a_store_without_indexes_gets_them_at_open() {
    let folder = scratch();
    let mut message = item("a", "text");
    message.fields.insert("threadId".to_owned(), json!("t1"));
    let viewed =
        Event { item: id("a"), user: "anna".to_owned(), event_kind: EventKind::Viewed, at: at(5) };
    open(folder.path()).write(batch(1, vec![put(message), Change::AddEvent(viewed)])).unwrap();
    let names = || -> Vec<String> {
        let connection = Connection::open(store_file(folder.path())).unwrap();
        let sql = "SELECT name FROM sqlite_schema WHERE type = 'index' AND name GLOB '*_by_*'";
        let mut statement = connection.prepare(sql).unwrap();
        let names = statement.query_map([], |line| line.get(0)).unwrap();
        names.collect::<rusqlite::Result<BTreeSet<_>>>().unwrap().into_iter().collect()
    };
    let all = names();
    let late = ["events_by_node", "events_by_user", "items_by_field_conversation"];
    let late = late.into_iter().chain(["items_by_field_opportunityId", "items_by_field_threadId"]);
    let connection = records(&store_file(folder.path()));
    for index in late {
        assert!(all.iter().any(|name| name == index), "{index} in {all:?}");
        connection.execute_batch(&format!("DROP INDEX {index}")).unwrap();
    }
    drop(connection);
    let store = open(folder.path());
    let view = store.view(&Viewer::anyone());
    let fields = vec![("threadId".to_owned(), vec![json!("t1")])];
    assert_eq!(view.count(&Filter { fields, ..Filter::default() }).unwrap(), 1);
    assert_eq!(view.usage(&[id("a")], None, Some(at(4))).unwrap(), []);
    assert!(store.check(false).unwrap().is_sound());
    assert_eq!(names(), all);
}

#[test]
fn a_folder_opens_once_per_process() {
    let folder = scratch();
    let data_folder = DataFolder::open(folder.path()).unwrap();
    let error = DataFolder::open(folder.path()).unwrap_err();
    assert!(error.to_string().contains(&std::process::id().to_string()), "{error}");
    let store = data_folder.workspace("acme", LetterPairs::shared()).unwrap();
    drop(data_folder);
    assert!(DataFolder::open(folder.path()).is_err(), "an open workspace keeps the folder");
    drop(store);
    DataFolder::open(folder.path()).unwrap();
}

#[test]
fn a_workspace_is_open_once() {
    let folder = scratch();
    let data_folder = DataFolder::open(folder.path()).unwrap();
    let store = data_folder.workspace("acme", LetterPairs::shared()).unwrap();
    store.write(batch(1, vec![put(item("a", "text"))])).unwrap();
    assert!(data_folder.workspace("acme", LetterPairs::shared()).is_err());
    store.write(batch(2, vec![put(item("b", "text"))])).unwrap();
    let report = store.check(false).unwrap();
    assert!(report.is_sound(), "{report:?}");
}

/// The other process: holds the folder until its input ends.
#[test]
fn child_that_holds_a_folder() {
    let Ok(folder) = std::env::var(FOLDER) else { return };
    let _data_folder = DataFolder::open(Path::new(&folder)).unwrap();
    fs::write(Path::new(&folder).join("held"), "").unwrap();
    let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
}

#[test]
fn a_folder_of_another_process_is_refused_with_its_number() {
    let folder = scratch();
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "formats::child_that_holds_a_folder"])
        .env(FOLDER, folder.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    while !folder.path().join("held").exists() {
        assert!(child.try_wait().unwrap().is_none(), "the child ended");
        std::thread::yield_now();
    }
    let error = DataFolder::open(folder.path()).unwrap_err();
    assert!(matches!(error, OpenError::InUse { .. }), "{error}");
    assert!(error.to_string().contains(&child.id().to_string()), "{error}");
    drop(child.stdin.take());
    assert!(child.wait().unwrap().success());
    DataFolder::open(folder.path()).unwrap();
}

#[test]
fn a_folder_that_cannot_be_written_is_named() {
    let folder = scratch();
    let place = folder.path().join("place");
    fs::create_dir(&place).unwrap();
    let Some(_mount) = Mount::read_only(&place) else {
        // A process that may not mount may not ignore permissions, either.
        let mut rights = fs::metadata(&place).unwrap().permissions();
        rights.set_readonly(true);
        fs::set_permissions(&place, rights).unwrap();
        let error = DataFolder::open(&place).unwrap_err();
        assert!(error.to_string().contains(&place.display().to_string()), "{error}");
        return;
    };
    let error = DataFolder::open(&place).unwrap_err();
    assert!(matches!(error, OpenError::Io { .. }), "{error}");
    assert!(error.to_string().contains(&place.display().to_string()), "{error}");
    assert!(chain(&error).to_lowercase().contains("read-only"), "{}", chain(&error));
}
