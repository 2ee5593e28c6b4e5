use std::fs;
use std::path::Path;

use rusqlite::{Connection, OpenFlags};

use super::{LogTail, PageFormat, RESERVED_BYTES, inspect_log, is_intact, open, reserve, stamp};

const PAGE: usize = 4_096;

/// A file with checksums and a table of texts.
fn texts(path: &Path) -> Connection {
    let connection = open(path, OpenFlags::default()).unwrap();
    reserve(&connection).unwrap();
    connection
        .execute_batch("PRAGMA journal_mode = WAL; CREATE TABLE texts (text TEXT) STRICT")
        .unwrap();
    connection
}

fn add(connection: &Connection, count: usize) {
    for n in 0..count {
        let text = format!("text {n} {}", "words ".repeat(n % 50 * 40));
        connection.execute("INSERT INTO texts VALUES (?)", [text]).unwrap();
    }
}

fn read(connection: &Connection) -> rusqlite::Result<Vec<String>> {
    connection.prepare("SELECT text FROM texts")?.query_map([], |line| line.get(0))?.collect()
}

#[test]
fn a_page_in_the_place_of_another_is_noticed() {
    let mut page = vec![7; PAGE];
    stamp(&mut page, 3);
    assert!(is_intact(&page, 3));
    assert!(!is_intact(&page, 4));
    for at in [0, 100, PAGE - 9, PAGE - 8, PAGE - 1] {
        page[at] ^= 1;
        assert!(!is_intact(&page, 3), "byte {at}");
        page[at] ^= 1;
    }
    assert!(!is_intact(&vec![0; PAGE], 3), "an empty page");
}

#[test]
fn a_file_is_recognised_by_its_header_or_its_first_page() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("checked.db");
    add(&texts(&path), 10);
    let bytes = fs::read(&path).unwrap();
    assert_eq!(PageFormat::detect(&bytes), PageFormat::Checked(PAGE));
    assert_eq!(PageFormat::detect(&[]), PageFormat::New);
    let mut without_reserve = bytes.clone();
    without_reserve[20] = 0;
    assert_eq!(PageFormat::detect(&without_reserve), PageFormat::Checked(PAGE));
    let mut without_tag = bytes;
    without_tag[PAGE - 4..PAGE].fill(0);
    assert_eq!(PageFormat::detect(&without_tag), PageFormat::Checked(PAGE));
    let plain = folder.path().join("plain.db");
    Connection::open(&plain).unwrap().execute_batch("CREATE TABLE a (b)").unwrap();
    assert_eq!(PageFormat::detect(&fs::read(&plain).unwrap()), PageFormat::Plain);
}

#[test]
fn every_page_of_a_file_and_its_copy_has_a_checksum() {
    let folder = tempfile::tempdir().unwrap();
    let (path, copy) = (folder.path().join("a.db"), folder.path().join("b.db"));
    let connection = texts(&path);
    add(&connection, 500);
    connection.execute("VACUUM INTO ?", [copy.to_str().unwrap()]).unwrap();
    connection.close().unwrap();
    for path in [path, copy] {
        let bytes = fs::read(&path).unwrap();
        assert!(bytes.len() > 50 * PAGE);
        for (number, page) in bytes.chunks(PAGE).enumerate() {
            assert!(is_intact(page, number as u64), "page {number} of {}", path.display());
        }
        // A program that knows nothing of checksums reads it all the same.
        assert_eq!(read(&Connection::open(&path).unwrap()).unwrap().len(), 500);
    }
}

/// The files of a process that was killed: a copy of those that are open.
fn killed(folder: &Path, count: usize) {
    let path = folder.join("live.db");
    let connection = texts(&path);
    // Spilled pages are written twice within a transaction.
    connection.execute_batch("PRAGMA cache_size = 10; PRAGMA synchronous = FULL").unwrap();
    for _ in 0..3 {
        connection.execute_batch("BEGIN").unwrap();
        add(&connection, count);
        connection.execute_batch("UPDATE texts SET text = text || ' end'").unwrap();
        assert_eq!(read(&connection).unwrap().len() % count, 0, "the writer reads its own pages");
        connection.execute_batch("COMMIT").unwrap();
    }
    for suffix in ["", "-wal"] {
        fs::copy(folder.join(format!("live.db{suffix}")), folder.join(format!("left.db{suffix}")))
            .unwrap();
    }
}

#[test]
fn frames_of_the_log_are_verified() {
    let folder = tempfile::tempdir().unwrap();
    killed(folder.path(), 400);
    let (path, log) = (folder.path().join("left.db"), folder.path().join("left.db-wal"));
    assert_eq!(inspect_log(&log).unwrap(), LogTail::Whole);
    let bytes = fs::read(&log).unwrap();
    let connection = open(&path, OpenFlags::default()).unwrap();
    let texts = read(&connection).unwrap();
    assert_eq!(texts.len(), 1_200);
    // While the file is open: recovery has read the log, and would not look at it again.
    let mut told = 0;
    for at in (40..bytes.len()).step_by(bytes.len() / 40) {
        let mut damaged = bytes.clone();
        damaged[at] ^= 0x10;
        fs::write(&log, damaged).unwrap();
        let fresh = open(&path, OpenFlags::SQLITE_OPEN_READ_ONLY).unwrap();
        match read(&fresh) {
            Ok(found) => assert!(found == texts, "byte {at}"),
            Err(error) => {
                let code = error.sqlite_error_code();
                assert_eq!(code, Some(rusqlite::ErrorCode::DatabaseCorrupt), "{error}");
                let what = super::take_damage().unwrap();
                assert!(what.starts_with("frame ") && what.ends_with("left.db-wal"), "{what}");
                told += 1;
            }
        }
        fs::write(&log, &bytes).unwrap();
    }
    assert!(told > 0);
}

#[test]
fn a_damaged_log_is_told_from_an_interrupted_write() {
    let folder = tempfile::tempdir().unwrap();
    killed(folder.path(), 60);
    let log = folder.path().join("left.db-wal");
    let bytes = fs::read(&log).unwrap();
    let tail = |bytes: &[u8]| {
        fs::write(&log, bytes).unwrap();
        inspect_log(&log).unwrap()
    };
    assert_eq!(tail(&bytes), LogTail::Whole);
    assert_eq!(tail(&bytes[..0]), LogTail::Whole);
    assert_eq!(tail(&bytes[..bytes.len() - 1]), LogTail::Torn);
    let mut damaged = bytes.clone();
    damaged[100] ^= 1;
    assert_eq!(tail(&damaged), LogTail::Damaged { frame: 0 });
    let mut damaged = bytes.clone();
    damaged[9] ^= 1;
    assert_eq!(tail(&damaged), LogTail::Damaged { frame: 0 }, "the header");
    let mut torn = bytes.clone();
    let end = torn.len();
    torn[end - 100] ^= 1;
    assert_eq!(tail(&torn), LogTail::Torn, "the last page");
    assert_eq!(inspect_log(&folder.path().join("none")).unwrap(), LogTail::Whole);
}

#[test]
fn reserving_is_for_new_files() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("old.db");
    Connection::open(&path).unwrap().execute_batch("CREATE TABLE a (b)").unwrap();
    let connection = open(&path, OpenFlags::default()).unwrap();
    assert!(!super::have_checksums(&connection).unwrap());
    let page: Vec<u8> = fs::read(&path).unwrap();
    assert_ne!(page[20], RESERVED_BYTES);
    connection.execute_batch("INSERT INTO a VALUES (1)").unwrap();
    assert_eq!(fs::read(&path).unwrap()[20], 0);
}
