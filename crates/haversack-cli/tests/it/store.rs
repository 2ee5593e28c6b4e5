//! The commands that work on a store: add, search, move, check.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Output, Stdio};

use super::{TestFolder, err, out};

/// A folder with a little of everything.
fn sample(test: &str) -> TestFolder {
    let folder = TestFolder::new(test);
    fs::create_dir_all(folder.0.join("docs/guide")).unwrap();
    folder
        .file("docs/.gitignore", "*.log\n")
        .file("docs/run.log", "a secret launch code")
        .file("docs/guide/launch.md", "# Launch\n\n## Date\n\nThe launch is on the third of May.\n")
        .file("docs/image.png", b"\x89PNG\r\n\0\0")
        .file("docs/broken.pdf", b"%PDF-1.4 nothing")
        .file("docs/rows.jsonl", "{\"id\":\"soup/1\",\"text\":\"Soup on Mondays\"}\nnot json\n")
        .file("docs/table.csv", "Name,Drink\nAnna,green tea\n");
    folder
}

fn run(folder: &TestFolder, arguments: &[&str]) -> Output {
    folder.run(&[&["--data", "data"], arguments].concat())
}

#[track_caller]
fn check(folder: &TestFolder, arguments: &[&str], code: i32) -> String {
    let output = run(folder, arguments);
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {}{}", out(&output), err(&output));
    if code == 2 { err(&output) } else { out(&output) }
}

#[test]
fn a_folder_is_added_searched_and_added_again() {
    let folder = sample("add");
    let added = run(&folder, &["add", "docs"]);
    assert_eq!(added.status.code(), Some(0), "{}", err(&added));
    assert!(out(&added).starts_with("stored 3 items, 0 unchanged, 3 skipped ("), "{}", out(&added));
    assert!(out(&added).contains("to take it back: haversack undo add-"), "{}", out(&added));
    for notice in [
        "skipped: docs/image.png: binary (NUL byte at 6)",
        "skipped: docs/broken.pdf: damaged or not what its name says",
        "skipped: docs/rows.jsonl:2: not a JSON object",
    ] {
        assert!(err(&added).contains(notice), "{}", err(&added));
    }
    let found = check(&folder, &["search", "when is the launch?"], 0);
    assert!(found.contains("docs/guide/launch.md:1-5\n"), "{found}");
    assert!(found.contains("Launch"), "{found}");
    assert!(found.contains("The launch is on the third of May."), "{found}");
    assert!(!found.contains('\u{1b}') && !found.contains("secret"), "{found}");
    assert!(check(&folder, &["search", "green tea"], 0).contains("docs/table.csv#2"), "csv");
    let again = check(&folder, &["add", "docs"], 0);
    assert!(again.starts_with("stored 0 items, 3 unchanged, "), "{again}");
    fs::remove_file(folder.0.join("docs/guide/launch.md")).unwrap();
    let gone = check(&folder, &["add", "docs"], 0);
    assert!(gone.contains("1 items are of files that are gone; --prune deletes them"), "{gone}");
    let pruned = check(&folder, &["add", "docs", "--prune"], 0);
    assert!(pruned.contains("deleted 1 items"), "{pruned}");
    assert_eq!(check(&folder, &["search", "--text", "launch"], 1), "");
}

#[test]
fn a_search_is_a_document_for_programs() {
    let folder = sample("search-json");
    check(&folder, &["add", "docs"], 0);
    let json = check(&folder, &["search", "launch", "--json", "--limit", "2"], 0);
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    let first = &json["results"][0];
    assert_eq!(first["id"], "docs/guide/launch.md");
    assert_eq!(first["lines"], serde_json::json!([1, 5]));
    assert_eq!(first["foundBy"][0]["way"], "text");
    let hit = &first["hits"][0];
    let at = |index: usize| usize::try_from(hit[index].as_u64().unwrap()).unwrap();
    let excerpt = first["excerpt"].as_str().unwrap();
    assert_eq!(excerpt[at(0)..at(1)].to_lowercase(), "launch");
    for way in ["--text", "--vector", "--fuzzy"] {
        let found = run(&folder, &["search", "launch", way, "--json"]);
        let json: serde_json::Value = serde_json::from_str(&out(&found)).unwrap();
        assert!(json["results"].is_array(), "{way}");
    }
    let stats = check(&folder, &["stats", "--json"], 0);
    let stats: serde_json::Value = serde_json::from_str(&stats).unwrap();
    assert_eq!((&stats["items"], &stats["kinds"]["file"]), (&3.into(), &1.into()));
    let nothing = check(&folder, &["search", "launch", "--json", "--kind", "memory"], 1);
    assert!(nothing.contains("\"results\": []"), "{nothing}");
}

#[test]
fn an_import_is_taken_back_by_its_name() {
    let folder = sample("undo");
    let added = check(&folder, &["add", "docs", "--workspace", "team"], 0);
    let line = added.lines().find(|line| line.starts_with("to take it back: ")).unwrap();
    let command: Vec<&str> =
        line.trim_start_matches("to take it back: haversack ").split(' ').collect();
    assert_eq!(&command[2..], ["--workspace", "team", "--data", "data"]);
    let undone = folder.run(&command);
    assert_eq!(out(&undone), "removed 3 items, restored 0, kept 0\n", "{}", err(&undone));
    check(&folder, &["search", "launch", "--workspace", "team"], 1);
    let told = check(&folder, &["undo", "add-7", "--workspace", "team"], 2);
    assert_eq!(told, "error: there is no import \"add-7\"\n");
}

#[test]
fn a_workspace_moves_as_lines_of_json() {
    let folder = sample("transfer");
    check(&folder, &["add", "docs"], 0);
    check(&folder, &["export", "one.jsonl"], 0);
    let imported = check(&folder, &["import", "one.jsonl", "--workspace", "copy"], 0);
    assert!(imported.contains("3 items stored"), "{imported}");
    let second = check(&folder, &["export", "-", "--workspace", "copy"], 0);
    assert_eq!(fs::read_to_string(folder.0.join("one.jsonl")).unwrap(), second);
    assert!(check(&folder, &["search", "launch", "--workspace", "copy"], 0).contains("May"));
    assert_eq!(check(&folder, &["workspaces"], 0), "copy\ndefault\n");
    let piped = folder
        .run_with(&["--data", "data", "import", "-", "--workspace", "pipe"], second.as_bytes());
    assert_eq!(piped.status.code(), Some(0), "{}", err(&piped));
    folder.file("bad.jsonl", format!("{second}{{\"type\":\"item\"}}\n"));
    let bad = check(&folder, &["import", "bad.jsonl", "--workspace", "bad"], 2);
    assert!(bad.contains(": id: is missing (1 lines before it are imported)"), "{bad}");
    folder.file("newer.jsonl", "{\"haversack\":\"export\",\"format\":99}\n");
    assert!(check(&folder, &["import", "newer.jsonl"], 2).contains("has format 99"));
}

#[test]
fn odd_ids_are_ids() {
    let folder = TestFolder::new("odd-ids");
    let ids = ["../../etc/passwd", "a b", "日本語", "--flag", "'; DROP TABLE items", "\u{1F600}"];
    let lines: Vec<String> = ids
        .iter()
        .map(|id| serde_json::json!({ "id": id, "text": format!("word{id}") }).to_string())
        .collect();
    let bad = serde_json::json!({ "id": "a\nb", "text": "x" });
    let long = serde_json::json!({ "id": "x".repeat(600), "text": "x" });
    folder.file("odd.jsonl", format!("{}\n{bad}\n{long}\n", lines.join("\n")));
    let added = run(&folder, &["add", "odd.jsonl"]);
    assert!(out(&added).starts_with("stored 6 items, 0 unchanged, 2 skipped (2 refused)"));
    assert!(err(&added).contains("odd.jsonl:7: id: a name must not hold the control character"));
    let json = check(&folder, &["search", "word日本語", "--json"], 0);
    assert!(json.contains("\"id\": \"日本語\""), "{json}");
}

/// A process that has a data folder open until its input ends.
fn holder(folder: &TestFolder) -> Child {
    let mut child = Command::new(env!("CARGO_BIN_EXE_haversack"))
        .args(["--data", "data", "import", "-"])
        .current_dir(&folder.0)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // It has the folder once it has written itself down.
    let pid = child.id().to_string();
    let lock = folder.0.join("data/lock");
    while !fs::read_to_string(&lock).is_ok_and(|owner| owner == pid) {
        assert!(child.try_wait().unwrap().is_none(), "it ended early");
        std::thread::yield_now();
    }
    child
}

#[test]
fn a_data_folder_has_one_process_and_the_second_is_told_which() {
    let folder = sample("two");
    let mut first = holder(&folder);
    let told = check(&folder, &["add", "docs"], 2);
    let expected = format!("is in use by process {}: stop it", first.id());
    assert!(told.contains(&expected), "{told}");
    drop(first.stdin.take());
    first.wait().unwrap();
    check(&folder, &["add", "docs"], 0);
}

#[test]
fn what_is_not_there_is_named_with_what_is_near() {
    let folder = sample("missing");
    let expect = |arguments: &[&str], expected: &str| {
        let told = check(&folder, arguments, 2);
        assert!(told.starts_with("error: ") && told.contains(expected), "{told}");
    };
    expect(&["search", "x"], "there is no data folder data: begin with `haversack add PATH`");
    assert!(!folder.0.join("data").exists(), "asking makes nothing");
    expect(&["add", "nowhere"], "cannot add nowhere: No such file");
    check(&folder, &["add", "docs", "--workspace", "handbook"], 0);
    expect(&["search", "x", "--workspace", "handbok"], "nearest are handbook");
    expect(&["stats", "--workspace", "zzz"], "it has handbook");
    expect(&["add", "docs", "--workspace", "No/Good"], "cannot name a workspace");
    expect(&["search", " ", "--workspace", "handbook"], "the query is empty");
    expect(&["import", "gone.jsonl"], "cannot open gone.jsonl");
    expect(&["import", "docs/rows.jsonl"], "this is no export of haversack");
    folder.file("plain", "");
    let told = folder.run(&["--data", "plain/data", "add", "docs"]);
    assert_eq!(told.status.code(), Some(2));
    assert!(err(&told).contains("cannot open plain/data"), "{}", err(&told));
}

#[cfg(unix)]
#[test]
fn a_data_folder_that_cannot_be_written_is_named() {
    use std::os::unix::fs::PermissionsExt;
    let folder = sample("read-only");
    fs::create_dir(folder.0.join("data")).unwrap();
    fs::set_permissions(folder.0.join("data"), fs::Permissions::from_mode(0o555)).unwrap();
    // Some users may write wherever they like.
    if fs::write(folder.0.join("data/probe"), "").is_err() {
        let told = check(&folder, &["add", "docs"], 2);
        assert!(told.contains("cannot open data: Permission denied"), "{told}");
    }
    fs::set_permissions(folder.0.join("data"), fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn a_huge_file_is_passed_over_and_not_read() {
    let folder = sample("huge");
    // Sparse: large to look at, nothing on disk.
    let file = fs::File::create(folder.0.join("docs/huge.txt")).unwrap();
    file.set_len(100 << 20).unwrap();
    let added = run(&folder, &["add", "docs"]);
    let expected = "docs/huge.txt: 100.0 MiB is over the limit of 16.0 MiB; split it";
    assert!(err(&added).contains(expected), "{}", err(&added));
    assert!(out(&added).starts_with("stored 3 items"), "{}", out(&added));
}

#[test]
fn a_damaged_index_is_found_and_made_anew() {
    let folder = sample("damage");
    check(&folder, &["add", "docs"], 0);
    assert!(check(&folder, &["check"], 0).contains("all is sound"));
    let text = folder.0.join("data/workspaces/default/text");
    let mut flipped = 0;
    for entry in fs::read_dir(&text).unwrap() {
        let path = entry.unwrap().path();
        let mut bytes = fs::read(&path).unwrap();
        let is_index = path.extension().is_some_and(|ending| ending == "idx" || ending == "term");
        if is_index && bytes.len() > 8 {
            let middle = bytes.len() / 2;
            bytes[middle] ^= 0x10;
            fs::write(&path, bytes).unwrap();
            flipped += 1;
        }
    }
    assert!(flipped > 0, "the index has files");
    let checked = run(&folder, &["check", "--repair"]);
    assert_eq!(checked.status.code(), Some(0), "{}{}", out(&checked), err(&checked));
    let told = format!("{}{}", out(&checked), err(&checked));
    assert!(told.contains("repaired"), "{told}");
    assert!(check(&folder, &["check"], 0).contains("all is sound"));
    assert!(check(&folder, &["search", "launch"], 0).contains("launch.md"));
}

#[test]
fn a_backup_is_a_workspace() {
    let folder = sample("backup");
    check(&folder, &["add", "docs"], 0);
    let copied = check(&folder, &["backup", "copy"], 0);
    assert!(copied.contains("to restore it: put that folder in the place of"), "{copied}");
    assert!(check(&folder, &["backup", "copy"], 2).contains("the folder is not empty"));
    fs::create_dir_all(folder.0.join("other/workspaces")).unwrap();
    fs::rename(folder.0.join("copy"), folder.0.join("other/workspaces/default")).unwrap();
    let found = folder.run(&["--data", "other", "search", "launch"]);
    assert!(out(&found).contains("launch.md"), "{}", err(&found));
    assert!(check(&folder, &["reembed"], 0).contains("texts have vectors by"));
}

#[test]
fn an_export_into_a_closed_pipe_is_no_error() {
    let folder = TestFolder::new("export-pipe");
    let lines: String = (0..2_000)
        .map(|n| format!("{{\"id\":\"{n}\",\"text\":\"{}\"}}\n", "all work and no play ".repeat(8)))
        .collect();
    folder.file("rows.jsonl", lines);
    check(&folder, &["add", "rows.jsonl"], 0);
    let mut child = Command::new(env!("CARGO_BIN_EXE_haversack"))
        .args(["--data", "data", "export"])
        .current_dir(&folder.0)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut first = String::new();
    let mut reader = BufReader::new(child.stdout.take().unwrap());
    reader.read_line(&mut first).unwrap();
    drop(reader);
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), err(&output)), (Some(0), String::new()));
    assert_eq!(first, "{\"haversack\":\"export\",\"format\":1}\n");
}
