//! `haversack user erase`: in the data folder, and through a server that has it open (S23).

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::server::RunningServer;
use crate::{TestFolder, check, err, out};

const NAME: &str = "annemarie";

/// The first line of an export.
const HEADER: &str = r#"{"haversack":"export","format":1}"#;

/// A folder with a private and a shared item of the user in two workspaces, a receipt and feedback.
fn with_user(test: &str) -> TestFolder {
    let folder = TestFolder::new(test);
    let line = |id: &str, body: &str, readers: Value| {
        let mut line =
            json!({ "type": "item", "id": id, "kind": "note", "title": "", "body": body });
        if !readers.is_null() {
            line["readers"] = readers;
        }
        line.to_string()
    };
    let lines = [
        HEADER.to_owned(),
        line("diary", "zqdiary of one person alone", json!([format!("user:{NAME}")])),
        line("both", "read by two of the team", json!([format!("user:{NAME}"), "user:bob"])),
        line("open", "read by the whole team", Value::Null),
    ];
    folder.file("items.jsonl", lines.join("\n"));
    for workspace in ["acme", "other"] {
        check(&folder, workspace, &["import", "items.jsonl"], 0);
        check(&folder, workspace, &["pack", "zqdiary", "--user", NAME, "--budget", "900"], 0);
        check(&folder, workspace, &["feedback", "open", "--useful", "--user", NAME], 0);
    }
    fs::remove_file(folder.0.join("items.jsonl")).unwrap();
    folder
}

fn holders(folder: &Path, texts: &[&str]) -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        if entry.file_type().unwrap().is_dir() {
            found.extend(holders(&entry.path(), texts));
            continue;
        }
        let bytes = fs::read(entry.path()).unwrap();
        let stands = |text: &&&str| bytes.windows(text.len()).any(|at| at == text.as_bytes());
        found.extend(texts.iter().filter(stands).map(|text| (entry.path(), (*text).to_owned())));
    }
    found
}

fn erase(folder: &TestFolder, options: &[&str], code: i32) -> (String, String) {
    let output = folder.run(&[&["--data", "data", "user", "erase", NAME], options].concat());
    assert_eq!(output.status.code(), Some(code), "{}{}", out(&output), err(&output));
    (out(&output), err(&output))
}

#[test]
fn one_command_erases_a_user_and_proves_it_s23() {
    let folder = with_user("erase");
    let data = folder.0.join("data");
    assert!(holders(&data, &[NAME, "zqdiary"]).len() >= 4);
    let (printed, remarks) = erase(&folder, &[], 0);
    assert!(printed.contains("acme: erased 1 item and 1 receipt; 0 items stay"), "{printed}");
    assert!(printed.contains("other: erased 1 item and 1 receipt"), "{printed}");
    assert!(printed.ends_with(": nothing is left\n"), "{printed}");
    assert_eq!(remarks, "");
    assert_eq!(holders(&data, &[NAME, "zqdiary"]), []);
    let list = check(&folder, "acme", &["list"], 0);
    assert!(list.contains("both") && list.contains("open") && !list.contains("diary"), "{list}");
    check(&folder, "acme", &["check"], 0);
    // What others wrote about the user stays, and is named.
    let about = json!({ "type": "item", "id": "about", "kind": "note", "title": "", "body": "of annemarie" });
    folder.file("about.jsonl", format!("{HEADER}\n{about}"));
    check(&folder, "acme", &["import", "about.jsonl"], 0);
    let (printed, _) = erase(&folder, &["--json"], 1);
    let report: Value = serde_json::from_str(&printed).unwrap();
    let why = report["left"][0]["why"].as_str().unwrap();
    assert!(why.contains("item about"), "{report}");
    let nameless = folder.run(&["--data", "data", "user", "erase", ""]);
    assert_eq!(nameless.status.code(), Some(2));
}

#[test]
fn a_user_is_erased_through_a_running_server_s23() {
    let folder = with_user("erase-served");
    let data = folder.0.join("data");
    let server = RunningServer::start_with(&folder, "auto", &[]);
    let (printed, remarks) = erase(&folder, &["--json"], 0);
    assert!(remarks.contains("going on through it"), "{remarks}");
    let report: Value = serde_json::from_str(&printed).unwrap();
    assert_eq!(report["left"], json!([]));
    assert_eq!(report["workspaces"].as_array().unwrap().len(), 2, "{report}");
    assert_eq!(holders(&data, &[NAME, "zqdiary"]), []);
    drop(server);
    assert_eq!(holders(&data, &[NAME, "zqdiary"]), [], "killed");
    check(&folder, "acme", &["check"], 0);
}
