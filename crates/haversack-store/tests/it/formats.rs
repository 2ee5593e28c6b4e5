//! What is not ours, newer than we are, in use or not writable is refused and left alone (R24).

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use haversack_store::embedded::Home;
use haversack_store::store::error::OpenError;
use rusqlite::Connection;

use crate::support::{Letters, Mount, batch, item, open, put, scratch};

const FOLDER: &str = "HAVERSACK_HOLD_FOLDER";

/// The file of the workspace `acme` in a data folder.
fn store_file(folder: &Path) -> PathBuf {
    folder.join("workspaces/acme/store.db")
}

fn refusal(folder: &Path) -> OpenError {
    match Home::open(folder).and_then(|home| home.workspace("acme", Letters::shared())) {
        Ok(_) => panic!("opened"),
        Err(error) => error,
    }
}

/// An error with what is underneath.
fn chain(error: &OpenError) -> String {
    let source = std::error::Error::source(error).map(ToString::to_string);
    format!("{error}: {}", source.unwrap_or_default())
}

#[test]
fn a_newer_format_is_refused_and_not_written_to() {
    let folder = scratch();
    open(folder.path()).write(batch(1, vec![put(item("a", "text"))])).unwrap();
    let file = store_file(folder.path());
    let connection = Connection::open(&file).unwrap();
    connection.pragma_update(None, "user_version", 7).unwrap();
    drop(connection);
    let before = fs::read(&file).unwrap();
    let error = refusal(folder.path());
    assert!(matches!(error, OpenError::Newer { found: 7, known: 1, .. }), "{error}");
    let message = error.to_string();
    assert!(message.contains("format 7") && message.contains("up to 1"), "{message}");
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

#[test]
fn a_folder_has_one_owner_in_a_process() {
    let folder = scratch();
    let home = Home::open(folder.path()).unwrap();
    let error = Home::open(folder.path()).unwrap_err();
    assert!(error.to_string().contains(&std::process::id().to_string()), "{error}");
    let store = home.workspace("acme", Letters::shared()).unwrap();
    drop(home);
    assert!(Home::open(folder.path()).is_err(), "an open workspace keeps the folder");
    drop(store);
    Home::open(folder.path()).unwrap();
}

#[test]
fn a_workspace_is_open_once() {
    let folder = scratch();
    let home = Home::open(folder.path()).unwrap();
    let store = home.workspace("acme", Letters::shared()).unwrap();
    store.write(batch(1, vec![put(item("a", "text"))])).unwrap();
    assert!(home.workspace("acme", Letters::shared()).is_err());
    store.write(batch(2, vec![put(item("b", "text"))])).unwrap();
    let report = store.check(false).unwrap();
    assert!(report.is_sound(), "{report:?}");
}

/// The other process: holds the folder until its input ends.
#[test]
fn child_that_holds_a_folder() {
    let Ok(folder) = std::env::var(FOLDER) else { return };
    let _home = Home::open(Path::new(&folder)).unwrap();
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
    let error = Home::open(folder.path()).unwrap_err();
    assert!(matches!(error, OpenError::InUse { .. }), "{error}");
    assert!(error.to_string().contains(&child.id().to_string()), "{error}");
    drop(child.stdin.take());
    assert!(child.wait().unwrap().success());
    Home::open(folder.path()).unwrap();
}

#[test]
fn a_folder_that_cannot_be_written_is_named() {
    let folder = scratch();
    let place = folder.path().join("place");
    fs::create_dir(&place).unwrap();
    let Some(_mount) = Mount::read_only(&place) else {
        // Not allowed to mount, so not allowed to ignore permissions either.
        let mut rights = fs::metadata(&place).unwrap().permissions();
        rights.set_readonly(true);
        fs::set_permissions(&place, rights).unwrap();
        let error = Home::open(&place).unwrap_err();
        assert!(error.to_string().contains(&place.display().to_string()), "{error}");
        return;
    };
    let error = Home::open(&place).unwrap_err();
    assert!(matches!(error, OpenError::Io { .. }), "{error}");
    assert!(error.to_string().contains(&place.display().to_string()), "{error}");
    assert!(chain(&error).to_lowercase().contains("read-only"), "{}", chain(&error));
}
