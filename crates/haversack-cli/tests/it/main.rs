//! The real program, as a process, in a fresh folder.
#![expect(clippy::unwrap_used, reason = "a test may fail by panicking, helpers included")]

mod recipe;
mod eval;
mod store;

use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

/// A folder of its own for one test, removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(test: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("haversack-{test}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    fn file(&self, name: &str, content: impl AsRef<[u8]>) -> &Folder {
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

impl Drop for Folder {
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

const NOTES: &str = "# Team\n\nAnna leads the design team.\n\n# Launch\n\nThe launch of the new \
    map is planned for the third of May. Anna signs it off.\n\n# Lunch\n\nSoup on Mondays.\n";

#[test]
fn tokens_are_counted_for_a_model() {
    let folder = Folder::new("tokens");
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
    let folder = Folder::new("trim");
    let text = b"One is short. Two is a little longer than one.";
    let trimmed = folder.run_with(&["trim", "--to", "7"], text);
    assert_eq!(out(&trimmed), "One is short. \u{2026}\n");
    let nothing = folder.run_with(&["trim", "--to", "0"], text);
    assert_eq!((nothing.status.code(), out(&nothing)), (Some(1), String::new()));
}

#[test]
fn a_pack_answers_within_its_budget_and_explains_itself() {
    let folder = Folder::new("pack");
    folder.file("notes.md", NOTES);
    let args = ["pack", "when is the launch?", "notes.md", "--no-fence"];
    let with = |more: &[&str]| folder.run(&[&args[..], more].concat());
    let packed = with(&["--budget", "60"]);
    assert_eq!(packed.status.code(), Some(0), "{}", err(&packed));
    assert!(out(&packed).contains("third of May"), "{}", out(&packed));
    assert!(err(&packed).contains("of 60 tokens (o200k_base, exact)"), "{}", err(&packed));
    assert!(out(&with(&["--explain"])).contains("keyword_match"));
    assert!(out(&with(&["--frontier"])).contains("coverage"));
    let json: serde_json::Value = serde_json::from_str(&out(&with(&["--json"]))).unwrap();
    assert!(json["tokens"].as_u64().unwrap() <= 4_000);
    assert_eq!(json["items"][0]["path"], "notes.md");
    let again = with(&["--json"]);
    assert_eq!(out(&again), out(&with(&["--json"])), "same input, same bytes");
    let nothing = folder.run(&["pack", "zebra", "notes.md"]);
    assert_eq!((nothing.status.code(), out(&nothing)), (Some(1), String::new()));
    assert!(err(&nothing).starts_with("nothing matches this query\n"), "{}", err(&nothing));
    let capped =
        folder.run(&["pack", "launch", "notes.md", "--model", "gpt-4", "--budget", "90000"]);
    assert!(err(&capped).contains("gpt-4 has room for 4,192 tokens"), "{}", err(&capped));
}

#[test]
fn lines_of_json_are_texts_with_ids_and_titles() {
    let folder = Folder::new("jsonl");
    let lines = "\u{feff}{\"id\": 7, \"title\": \"Plan\", \"text\": \"The launch is in May.\"}\n\n\
                 {\"id\": \"a.md\", \"text\": \"# Launch\\n\\nIt was moved.\"}\n";
    folder.file("all.ndjson", lines);
    let packed = folder.run(&["pack", "launch", "all.ndjson", "--no-fence"]);
    let text = out(&packed);
    assert!(
        text.contains("] Plan (7) (line 1)\n") && text.contains("] a.md › Launch (lines 1–3)\n"),
        "{text}"
    );
}

#[test]
fn places_are_those_of_the_file_whatever_is_hidden_in_it() {
    let folder = Folder::new("places");
    let text = "\u{feff}First\r\n\r\nThe la\u{200b}unch is \u{202e}in May.\r\n";
    folder.file("notes.txt", text);
    let packed = folder.run(&["pack", "launch", "notes.txt", "--json", "--no-fence"]);
    let json: serde_json::Value = serde_json::from_str(&out(&packed)).unwrap();
    assert!(json["context"].as_str().unwrap().contains("The launch is in May."));
    let span = &json["items"][0]["spans"][0];
    let at = |index: usize| usize::try_from(span[index].as_u64().unwrap()).unwrap();
    assert!(text[at(0)..at(1)].ends_with("in May."));
    assert!(err(&packed).contains("notes.txt: left out 2 hidden characters"), "{}", err(&packed));
}

#[test]
fn bad_input_is_named() {
    let folder = Folder::new("bad");
    folder
        .file("latin1.txt", b"caf\xe9")
        .file("lone.jsonl", "{\"text\": \"ok\"}\n{\"text\": \"\\ud800\"}\n")
        .file("nothing.jsonl", "{\"id\": \"a\"}\n")
        .file("a.txt", "text");
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
    check(&["pack", "q", "lone.jsonl"], "(half of a surrogate pair is not text)");
    check(&["pack", "q", "nothing.jsonl"], "nothing.jsonl, line 1: there is no string \"text\"");
    check(
        &["pack", "q", "a.txt", "a.txt"],
        "a.txt is given twice: give each text an id of its own",
    );
    check(&["pack", "q"], "required");
    check(&["chunk", "a.txt", "--max", "3"], "16");
}

#[test]
fn a_closed_pipe_is_no_error() {
    let folder = Folder::new("pipe");
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
