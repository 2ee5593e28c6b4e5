//! An audit log as written, and after changes.

use super::*;

fn entry(n: u16) -> AuditEntry {
    AuditEntry {
        at: AuditEntry::time(Timestamp::from_millis(i64::from(n))),
        request: format!("r{n}"),
        credential: "k".into(),
        user: None,
        operation: "removeWorkspace".into(),
        workspace: Some("acme".into()),
        key: None,
        status: 200 + n,
        code: None,
        left_out: 0,
    }
}

fn verify_message(folder: &Path) -> String {
    match verify(folder) {
        Ok(sum) => format!("{} lines in {} files", sum.lines, sum.files),
        Err(error) => error.to_string(),
    }
}

#[test]
fn a_line_that_was_changed_added_or_taken_out_shows() {
    let folder = tempfile::tempdir().unwrap();
    for n in 0..3 {
        // Opened anew each time: the chain goes on.
        Audit::open(folder.path()).unwrap().write(&entry(n)).unwrap();
    }
    assert_eq!(verify_message(folder.path()), "3 lines in 1 files");
    let text = std::fs::read_to_string(path(folder.path())).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let check = |lines: &[&str], expected: &str| {
        std::fs::write(path(folder.path()), lines.join("\n") + "\n").unwrap();
        assert_eq!(verify_message(folder.path()), expected);
    };
    let changed = lines[1].replace("201", "200");
    check(&[lines[0], &changed, lines[2]], "audit.log, line 2: was changed");
    let more = lines[1].replace("{\"at\"", "{\"note\":1,\"at\"");
    check(&[lines[0], &more, lines[2]], "audit.log, line 2: was changed");
    check(&[lines[0], "", lines[2]], "audit.log, line 2: is not a line of an audit log");
    let taken = "the lines before it were changed or removed";
    check(&[lines[0], lines[2]], &format!("audit.log, line 2: {taken}"));
    check(&[lines[0], lines[0]], &format!("audit.log, line 2: {taken}"));
    check(&lines[1..], &format!("audit.log, line 1: {taken}"));
    check(&lines, "3 lines in 1 files");
}

#[test]
fn files_that_were_begun_anew_are_checked_in_their_order() {
    let folder = tempfile::tempdir().unwrap();
    let audit = Audit::with(folder.path(), 500).unwrap();
    for n in 0..12 {
        audit.write(&entry(n)).unwrap();
    }
    let whole = verify(folder.path()).unwrap();
    assert!(whole.files >= 3 && whole.lines == 12, "{whole:?}");
    let mut names: Vec<PathBuf> = std::fs::read_dir(folder.path())
        .unwrap()
        .map(|file| file.unwrap().path())
        .filter(|path| path.to_str().unwrap().contains("audit-"))
        .collect();
    let begins = |path: &PathBuf| std::fs::read_to_string(path).unwrap().contains("\"r0\"");
    names.sort_by_key(|path| !begins(path));
    let taken = "the lines before it were changed or removed";
    for path in &names {
        let text = std::fs::read(path).unwrap();
        std::fs::remove_file(path).unwrap();
        assert!(verify_message(folder.path()).ends_with(&format!(", line 1: {taken}")), "{path:?}");
        std::fs::write(path, text).unwrap();
    }
    let copy = folder.path().join("audit-copy.log");
    std::fs::copy(&names[0], &copy).unwrap();
    assert!(verify_message(folder.path()).ends_with("another file continues the same line"));
    std::fs::remove_file(copy).unwrap();
    assert_eq!(verify(folder.path()).unwrap(), whole);
    // A crash came between the renaming and the first line of the next file.
    std::fs::rename(path(folder.path()), folder.path().join("audit-0.log")).unwrap();
    audit.write(&entry(12)).unwrap();
    assert_eq!(verify(folder.path()).unwrap().lines, 13);
}

#[test]
fn two_that_write_at_once_make_one_chain() {
    let folder = tempfile::tempdir().unwrap();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            // Each as a process of its own would: with its own file.
            let audit = Audit::with(folder.path(), 2_000).unwrap();
            scope.spawn(move || {
                for n in 0..25 {
                    audit.write(&entry(n)).unwrap();
                }
            });
        }
    });
    assert_eq!(verify(folder.path()).unwrap().lines, 100);
}

#[test]
fn half_a_line_is_cut_off_and_long_ones_are_found() {
    let folder = tempfile::tempdir().unwrap();
    let long = AuditEntry { user: Some("u".repeat(3 * 4_096)), ..entry(0) };
    Audit::open(folder.path()).unwrap().write(&long).unwrap();
    let mut text = std::fs::read(path(folder.path())).unwrap();
    text.extend_from_slice(b"{\"at\":");
    std::fs::write(path(folder.path()), text).unwrap();
    assert_eq!(verify_message(folder.path()), "1 lines in 1 files");
    Audit::open(folder.path()).unwrap().write(&entry(1)).unwrap();
    assert_eq!(verify_message(folder.path()), "2 lines in 1 files");
}

#[test]
fn a_folder_without_a_log_has_none_to_check() {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(
        verify_message(folder.path()),
        format!("there is no audit log in {}", folder.path().display())
    );
}
