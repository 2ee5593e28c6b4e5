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

/// What `verify` finds, and the breaks that opening the log found.
fn breaks(folder: &Path) -> (String, Vec<String>) {
    let breaks = Audit::open(folder).unwrap().breaks().unwrap();
    (verify_message(folder), breaks.into_iter().map(|found| found.what).collect())
}

#[test]
fn a_log_that_was_emptied_cut_or_replaced_is_found() {
    let elsewhere = tempfile::tempdir().unwrap();
    for n in 0..3 {
        Audit::open(elsewhere.path()).unwrap().write(&entry(n + 5)).unwrap();
    }
    let other = std::fs::read(path(elsewhere.path())).unwrap();
    for (what, expected) in [
        ("emptied", "the log has 0 lines, and 3 were written: lines were removed from its end"),
        ("removed", "the log has 0 lines, and 3 were written: lines were removed from its end"),
        ("cut", "the log has 2 lines, and 3 were written: lines were removed from its end"),
        (
            "replaced",
            "audit.log, line 3: is not the line that the control database recorded: the log was replaced",
        ),
    ] {
        let folder = tempfile::tempdir().unwrap();
        for n in 0..3 {
            Audit::open(folder.path()).unwrap().write(&entry(n)).unwrap();
        }
        let log = path(folder.path());
        let text = std::fs::read_to_string(&log).unwrap();
        match what {
            "emptied" => std::fs::write(&log, "").unwrap(),
            "removed" => std::fs::remove_file(&log).unwrap(),
            "cut" => {
                let end = text.trim_end().rfind('\n').unwrap() + 1;
                std::fs::write(&log, &text[..end]).unwrap();
            }
            _ => std::fs::write(&log, &other).unwrap(),
        }
        assert_eq!(verify_message(folder.path()), expected, "{what}");
        // The next start finds it, goes on from what is there, and does not forget it.
        let (now, found) = breaks(folder.path());
        assert!(found.len() == 1 && found[0].starts_with(expected), "{what}: {found:?}");
        let lines =
            if matches!(what, "cut" | "replaced") { "lines in 1 files" } else { "0 lines in" };
        assert!(now.contains(lines), "{what}: {now}");
        let audit = Audit::open(folder.path()).unwrap();
        audit.write(&entry(9)).unwrap();
        assert_eq!(verify(folder.path()).unwrap().breaks.len(), 1, "{what}");
        assert_eq!(audit.accept_breaks().unwrap(), 1);
        assert_eq!(verify(folder.path()).unwrap().breaks.len(), 0, "{what}");
    }
}

#[test]
fn a_log_that_is_cut_while_the_server_runs_is_found_by_the_next_line() {
    let folder = tempfile::tempdir().unwrap();
    let audit = Audit::open(folder.path()).unwrap();
    for n in 0..3 {
        audit.write(&entry(n)).unwrap();
    }
    std::fs::write(path(folder.path()), "").unwrap();
    audit.write(&entry(3)).unwrap();
    assert_eq!(audit.breaks().unwrap().len(), 1);
    assert_eq!(verify_message(folder.path()), "1 lines in 1 files");
}

#[test]
fn lines_that_were_written_and_not_recorded_are_no_break() {
    let folder = tempfile::tempdir().unwrap();
    let audit = Audit::open(folder.path()).unwrap();
    audit.write(&entry(0)).unwrap();
    let before = audit.head.head().unwrap().unwrap();
    for n in 1..4 {
        audit.write(&entry(n)).unwrap();
    }
    // As if the process had ended before it recorded them.
    audit.head.set_head(&before).unwrap();
    let (now, found) = breaks(folder.path());
    assert_eq!((now.as_str(), found.len()), ("4 lines in 1 files", 0));
    assert_eq!(audit.head.head().unwrap().unwrap().lines, 4);
}

#[test]
fn a_name_is_erased_and_the_chain_still_checks() {
    let folder = tempfile::tempdir().unwrap();
    let audit = Audit::with(folder.path(), 1_500).unwrap();
    for n in 0..12 {
        let name = ["anna", "ben", "annabel"][usize::from(n % 3)];
        let credential = if n % 2 == 0 { format!("jwt:{name}") } else { "key1".to_owned() };
        let user = (n % 4 != 0).then(|| name.to_owned());
        audit.write(&AuditEntry { user, credential, ..entry(n) }).unwrap();
    }
    let whole = verify(folder.path()).unwrap();
    assert!(whole.files > 1);
    let text = || -> String {
        let names = chain::names(folder.path()).unwrap();
        names.into_values().map(|path| std::fs::read_to_string(path).unwrap()).collect()
    };
    let before = text();
    let counted = erase_user(folder.path(), "anna", true).unwrap();
    assert_eq!(text(), before, "nothing is written when it is only counted");
    assert_eq!(erase_user(folder.path(), "anna", false).unwrap(), counted);
    assert_eq!((counted.lines, counted.left), (4, 0));
    let after = text();
    assert!(!after.contains("\"anna\"") && !after.contains("jwt:anna\""), "{after}");
    assert!(after.contains("jwt:annabel") && after.contains("\"ben\""), "{after}");
    assert_eq!(verify(folder.path()).unwrap(), whole);
    audit.write(&entry(20)).unwrap();
    assert_eq!(verify(folder.path()).unwrap().lines, 13);
    // Another name in its place, another hash or another salt is a change.
    for (from, to) in
        [("\"ben\"", "\"bob\""), ("erased:", "erased:0"), ("\"userSalt\":\"", "\"userSalt\":\"0")]
    {
        let files = chain::names(folder.path()).unwrap();
        let read = |path: &PathBuf| std::fs::read_to_string(path).unwrap();
        let (name, file) = files.iter().find(|(_, path)| read(path).contains(from)).unwrap();
        let text = read(file);
        std::fs::write(file, text.replacen(from, to, 1)).unwrap();
        assert!(verify_message(folder.path()).starts_with(name), "{from}");
        std::fs::write(file, text).unwrap();
    }
}

#[test]
fn lines_of_earlier_versions_still_check_and_keep_their_names() {
    let folder = tempfile::tempdir().unwrap();
    let old = AuditEntry { user: Some("anna".into()), ..entry(0) };
    let text = serde_json::to_string(&old).unwrap();
    let hash = blake3::hash(format!("{FIRST}\n{text}").as_bytes()).to_hex().to_string();
    let line =
        ChainedEntry { entry: old, salts: NameSalts::default(), previous: FIRST.into(), hash };
    let line = serde_json::to_string(&line).unwrap() + "\n";
    std::fs::write(path(folder.path()), line).unwrap();
    Audit::open(folder.path()).unwrap().write(&entry(1)).unwrap();
    assert_eq!(verify_message(folder.path()), "2 lines in 1 files");
    let erased = erase_user(folder.path(), "anna", false).unwrap();
    assert_eq!((erased.lines, erased.left), (0, 1));
    assert_eq!(verify_message(folder.path()), "2 lines in 1 files");
}
