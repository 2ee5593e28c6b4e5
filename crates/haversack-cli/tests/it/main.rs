//! The real program, as a process, in a fresh folder.
#![expect(clippy::unwrap_used, reason = "a test may fail by panicking, helpers included")]

#[cfg(target_os = "linux")]
mod cluster;
mod demo;
#[cfg(target_os = "linux")]
mod disk;
mod documents;
mod erased;
mod eval;
mod kinds;
mod mcp;
#[cfg(target_os = "linux")]
mod memory;
mod model;
mod models;
mod pack;
mod past;
mod recipe;
mod serve;
mod server;
mod shadow;
mod store;
mod sync;
#[path = "../../../haversack-model/tests/it/tiny.rs"]
mod tiny;
mod upgrade;

use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

/// A folder of its own for one test, removed at the end.
struct TestFolder(PathBuf);

impl TestFolder {
    fn new(test: &str) -> TestFolder {
        let path = std::env::temp_dir().join(format!("haversack-{test}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        TestFolder(path)
    }

    fn file(&self, name: &str, content: impl AsRef<[u8]>) -> &TestFolder {
        fs::write(self.0.join(name), content).unwrap();
        self
    }

    fn run(&self, arguments: &[&str]) -> Output {
        self.run_with(arguments, b"")
    }

    fn run_with(&self, arguments: &[&str], input: &[u8]) -> Output {
        let mut child = Command::new(env!("CARGO_BIN_EXE_haversack"))
            .args(arguments)
            .current_dir(&self.0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(input).unwrap();
        child.wait_with_output().unwrap()
    }
}

impl Drop for TestFolder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn out(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn err(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// The JSON that was printed.
#[track_caller]
fn json(output: &Output) -> serde_json::Value {
    assert_eq!(output.status.code(), Some(0), "{}", err(output));
    serde_json::from_str(&out(output)).unwrap()
}

/// A folder in which `data` holds these samples, each in a workspace of its name.
fn sample_data(test: &str, samples: &[&str]) -> TestFolder {
    let folder = TestFolder::new(test);
    for sample in samples {
        let file =
            format!("{}/../haversack-eval/samples/{sample}.jsonl", env!("CARGO_MANIFEST_DIR"));
        check(&folder, sample, &["import", &file], 0);
    }
    folder
}

/// Runs a command on a workspace of `data`; gives what was printed, or what went wrong.
#[track_caller]
fn check(folder: &TestFolder, workspace: &str, arguments: &[&str], code: i32) -> String {
    let place = ["--data", "data", "--workspace", workspace];
    let output = folder.run(&[&place[..], arguments].concat());
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {}{}", out(&output), err(&output));
    if code == 2 { err(&output) } else { out(&output) }
}

#[test]
fn tokens_are_counted_for_a_model() {
    let folder = TestFolder::new("tokens");
    folder.file("a.txt", "hello world").file("b.txt", "hello");
    let counted = folder.run(&["tokens", "a.txt", "b.txt"]);
    assert_eq!(out(&counted), "           2  a.txt\n           1  b.txt\n           3  in all\n");
    assert_eq!(err(&counted), "counted by o200k_base: exact\n");
    let estimated = folder.run_with(&["tokens", "--tokenizer", "characters/4"], "12345".as_bytes());
    assert_eq!(out(&estimated), "           2  -\n");
    assert_eq!(err(&estimated), "counted by characters/4: estimate\n");
}

#[test]
fn a_text_is_trimmed_at_a_sentence() {
    let folder = TestFolder::new("trim");
    let text = b"One is short. Two is a little longer than one.";
    let trimmed = folder.run_with(&["trim", "--to", "7"], text);
    assert_eq!(out(&trimmed), "One is short. \u{2026}\n");
    let nothing = folder.run_with(&["trim", "--to", "0"], text);
    assert_eq!((nothing.status.code(), out(&nothing)), (Some(1), String::new()));
}

#[test]
fn bad_input_is_named() {
    let folder = TestFolder::new("bad");
    folder.file("latin1.txt", b"caf\xe9").file("a.txt", "text");
    let check = |arguments: &[&str], expected: &str| {
        let failed = folder.run(arguments);
        assert_eq!(failed.status.code(), Some(2), "{arguments:?}");
        assert!(err(&failed).contains(expected), "{}", err(&failed));
    };
    check(&["tokens", "missing.txt"], "error: cannot open missing.txt");
    check(&["tokens", "latin1.txt"], "latin1.txt is not UTF-8 text: first bad byte at 3");
    check(&["tokens", "a.txt", "--model", "gpt-4p"], "unknown model \"gpt-4p\": nearest are");
    check(&["tokens", "a.txt", "--tokenizer", "o300k"], "o300k is neither a file nor one of o200k");
    check(&["tokens", "a.txt", "--tokenizer", "a.txt"], "is not a readable tokenizer.json");
    check(&["chunk", "a.txt", "--max", "3"], "16");
}

#[test]
fn a_closed_pipe_is_no_error() {
    let folder = TestFolder::new("pipe");
    // More than a pipe holds, so that the program is still writing when the reader has gone.
    folder.file("long.txt", "All work and no play. ".repeat(20_000));
    let mut child = Command::new(env!("CARGO_BIN_EXE_haversack"))
        .args(["trim", "long.txt", "--to", "1000000"])
        .current_dir(&folder.0)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), err(&output)), (Some(0), String::new()));
}
