//! Large snapshots in a folder that nodes share.

use std::path::Path;

use haversack_journal::{JournalSettings, PostgresJournal};
use haversack_store::store::block_on;
use haversack_store::store::journal::{Journal, JournalError};
use testkit::PostgresServer;

use crate::support::{append, entry, journal, key, put_snapshot, settings};

fn files_under(folder: &Path) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files_under(&path));
        } else {
            found.push(path);
        }
    }
    found.sort();
    found
}

fn with_folder(server: &PostgresServer, folder: &Path) -> (JournalSettings, PostgresJournal) {
    let mut settings = settings(&server.address("postgres"));
    settings.objects = Some(folder.to_owned());
    settings.rows_bytes_max = 10;
    let journal = journal(settings.clone());
    block_on(journal.create(&key("w"))).unwrap();
    append(&journal, "w", entry(1), b"x").unwrap();
    (settings, journal)
}

#[test]
fn what_is_large_goes_to_the_folder_and_leaves_it_again() {
    let Some(server) = PostgresServer::start() else { return };
    let folder = tempfile::tempdir().unwrap();
    let (_, journal) = with_folder(&server, folder.path());
    put_snapshot(&journal, &key("w"), &[b"small"]);
    assert!(files_under(folder.path()).is_empty());
    put_snapshot(&journal, &key("w"), &[b"12345678", b"the second", b"the third"]);
    let files = files_under(folder.path());
    assert_eq!(files.len(), 2, "{files:?}");
    let snapshot = block_on(journal.snapshot(&key("w"))).unwrap().unwrap();
    let part = |number| block_on(journal.snapshot_part(&snapshot, number));
    assert_eq!(part(0).unwrap(), b"12345678");
    assert_eq!(part(2).unwrap(), b"the third");
    std::fs::write(&files[0], b"the 2econd").unwrap();
    assert!(matches!(part(1), Err(JournalError::Damaged { .. })));
    std::fs::remove_file(&files[0]).unwrap();
    assert!(matches!(part(1), Err(JournalError::Damaged { .. })));
    // The next one removes what is left of it, and removing the workspace leaves nothing.
    put_snapshot(&journal, &key("w"), &[b"a large one"]);
    assert_eq!(files_under(folder.path()).len(), 1);
    assert!(block_on(journal.remove("w")).unwrap());
    assert!(files_under(folder.path()).is_empty());
    assert_eq!(server.query("postgres", "SELECT count(*) FROM haversack.snapshot_parts"), "0");
}

#[test]
fn what_a_dead_node_left_is_removed_by_the_next() {
    let Some(server) = PostgresServer::start() else { return };
    let folder = tempfile::tempdir().unwrap();
    let (settings, dead) = with_folder(&server, folder.path());
    let head = block_on(dead.head("w")).unwrap().unwrap();
    let sink = block_on(dead.put_snapshot(&key("w"), head.position, head.last)).unwrap();
    let mut sink = sink.unwrap();
    block_on(sink.add(b"a large part of it".to_vec())).unwrap();
    assert_eq!(files_under(folder.path()).len(), 1);
    // It never drops its snapshot.
    std::mem::forget(sink);
    drop(dead);
    server.sql(
        "postgres",
        "UPDATE haversack.snapshot_claims SET expires_at = now() - interval '1 second'",
    );
    let next = PostgresJournal::open(settings).unwrap();
    put_snapshot(&next, &key("w"), &[b"all of it, by another"]);
    assert_eq!(files_under(folder.path()).len(), 1);
    assert_eq!(server.query("postgres", "SELECT count(*) FROM haversack.snapshots"), "1");
    assert_eq!(server.query("postgres", "SELECT count(*) FROM haversack.snapshot_parts"), "1");
}

#[test]
fn a_node_without_the_folder_says_so() {
    let Some(server) = PostgresServer::start() else { return };
    let folder = tempfile::tempdir().unwrap();
    let (mut settings, journal) = with_folder(&server, folder.path());
    put_snapshot(&journal, &key("w"), &[b"a large snapshot"]);
    settings.objects = None;
    let without = PostgresJournal::open(settings).unwrap();
    let snapshot = block_on(without.snapshot(&key("w"))).unwrap().unwrap();
    let error = block_on(without.snapshot_part(&snapshot, 0)).unwrap_err();
    assert!(matches!(error, JournalError::Refused { .. }), "{error:?}");
}
