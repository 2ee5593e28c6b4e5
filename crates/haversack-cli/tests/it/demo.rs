//! The first thing that people see: the demo, completions and the manual.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use super::{TestFolder, check, err, out};

/// The times of a page, which are others each time, as one mark.
fn masked(page: &str) -> String {
    let mut out = Vec::new();
    let mut words = page.split(' ').peekable();
    while let Some(word) = words.next() {
        let next = words.peek().copied().unwrap_or_default();
        let unit = next.trim_end_matches(|c: char| !c.is_ascii_alphanumeric());
        let unit = unit.split('\n').next().unwrap_or_default().trim_end_matches(['.', ';']);
        if word.parse::<f64>().is_ok() && (unit == "ms" || unit == "s") {
            let rest = &next[unit.len()..];
            out.push(format!("# ms{rest}"));
            words.next();
        } else {
            out.push(word.to_owned());
        }
    }
    out.join(" ")
}

#[test]
fn times_are_masked_and_nothing_else() {
    let check = |page: &str, expected: &str| assert_eq!(masked(page), expected);
    check("in 3.4 ms; done", "in # ms; done");
    check("took 1.2 s.\n\nmore 5 of 6", "took # ms.\n\nmore 5 of 6");
    check("12 milliseconds", "12 milliseconds");
}

/// The demo as a page, reviewed like code. After a change on purpose, run this test with
/// `HAVERSACK_BLESS=1` and read the difference.
#[test]
fn the_demo_shows_what_it_showed() {
    let folder = TestFolder::new("demo");
    let shown = folder.run(&["demo"]);
    assert_eq!(shown.status.code(), Some(0), "{}", err(&shown));
    assert_eq!(err(&shown), "");
    let page = masked(&out(&shown));
    assert!(!page.contains('\u{1b}'), "no colours outside a terminal");
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/golden/demo.txt");
    if std::env::var_os("HAVERSACK_BLESS").is_some() {
        fs::write(&golden, &page).unwrap();
    }
    let expected = fs::read_to_string(&golden).unwrap();
    for (at, (line, expected)) in page.lines().zip(expected.lines()).enumerate() {
        let hint = "HAVERSACK_BLESS=1 takes the new one over";
        assert_eq!(line, expected, "line {} of {}: {hint}", at + 1, golden.display());
    }
    assert_eq!(page.len(), expected.len());
}

#[test]
fn the_demo_tries_what_the_tests_hold() {
    let folder = TestFolder::new("demo-check");
    let tried = folder.run(&["demo", "--check", "--only", "prime"]);
    assert_eq!(tried.status.code(), Some(0), "{}", out(&tried));
    let page = out(&tried);
    let (held, rest) = page.strip_prefix("prime: ").unwrap().split_once(" of ").unwrap();
    let all = rest.split(' ').next().unwrap();
    let (held, all): (usize, usize) = (held.parse().unwrap(), all.parse().unwrap());
    assert!(all >= 12 && held <= all, "{page}");
    assert_eq!(page.matches("  not yet  ").count(), all - held, "{page}");
}

#[test]
fn what_the_demo_keeps_can_be_asked_with_the_commands_it_names() {
    let folder = TestFolder::new("demo-keep");
    let shown = folder.run(&["--data", "kept", "demo", "--only", "memory"]);
    assert_eq!(shown.status.code(), Some(0), "{}", err(&shown));
    let page = out(&shown);
    assert!(page.contains("1 of 1 · memory") && !page.contains("proposal"), "{page}");
    assert!(page.contains("Same input, same bytes"), "{page}");
    let commands: Vec<&str> =
        page.lines().filter_map(|line| line.trim().strip_prefix("haversack ")).collect();
    assert!(commands.len() > 4, "{page}");
    for command in commands.iter().filter(|command| command.contains("--data kept")) {
        let ran = folder.run(&words(command).iter().map(String::as_str).collect::<Vec<_>>());
        assert_eq!(ran.status.code(), Some(0), "{command}: {}", err(&ran));
        assert!(!out(&ran).is_empty());
    }
    let again = folder.run(&["--data", "kept", "demo", "--only", "memory"]);
    assert_eq!(again.status.code(), Some(0), "a second time on the same data: {}", err(&again));
}

/// A command line as a shell splits it: words, and quotes around some.
fn words(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut quote = None;
    for c in line.chars() {
        match (quote, c) {
            (None, '"' | '\'') => quote = Some(c),
            (Some(open), c) if open == c => quote = None,
            (None, ' ') => words.push(String::new()),
            (_, c) => words.last_mut().unwrap().push(c),
        }
    }
    words
}

#[test]
fn the_demo_is_a_document_for_programs() {
    let folder = TestFolder::new("demo-json");
    let shown = folder.run(&["demo", "--json", "--only", "situation"]);
    let document: serde_json::Value = serde_json::from_str(&out(&shown)).unwrap();
    assert_eq!(document[0]["name"], "situation");
    assert!(document[0]["result"]["assembly"]["ledger"].is_array());
    let unknown = folder.run(&["demo", "--only", "memori"]);
    assert_eq!(unknown.status.code(), Some(2));
    assert!(err(&unknown).contains("'memory'"), "{}", err(&unknown));
}

#[test]
fn the_demo_into_a_closed_pipe_is_no_error() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_haversack"))
        .args(["demo", "--only", "memory"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), err(&output)), (Some(0), String::new()));
}

/// On a terminal there are colours, unless the user wants none. `script` makes a terminal; where it is
/// not installed, nothing is tried.
#[cfg(target_os = "linux")]
#[test]
fn colours_are_for_terminals_and_for_those_who_want_them() {
    let folder = TestFolder::new("colours");
    let on_terminal = |no_color: &str| {
        let command = format!("{} demo --only situation", env!("CARGO_BIN_EXE_haversack"));
        let shown = Command::new("script")
            .args(["-qec", &command, "/dev/null"])
            .env("NO_COLOR", no_color)
            .current_dir(&folder.0)
            .stdin(Stdio::null())
            .output();
        shown.ok().map(|shown| String::from_utf8_lossy(&shown.stdout).into_owned())
    };
    let (Some(coloured), Some(plain)) = (on_terminal(""), on_terminal("1")) else { return };
    assert!(coloured.contains("\u{1b}[34m█"), "{coloured}");
    assert!(!plain.contains('\u{1b}') && plain.contains("Active Contexts"), "{plain}");
}

#[test]
fn shells_complete_and_manuals_name_every_command() {
    let folder = TestFolder::new("manual");
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = folder.run(&["completions", shell]);
        assert_eq!(script.status.code(), Some(0), "{shell}");
        assert!(out(&script).contains("frontier"), "{shell}");
    }
    assert!(out(&folder.run(&["man"])).contains(".TH haversack 1"));
    let written = check(&folder, "default", &["man", "--out", "pages"], 0);
    assert!(written.contains("the manual is in pages"), "{written}");
    let page = fs::read_to_string(folder.0.join("pages/haversack-pack.1")).unwrap();
    assert!(page.contains("\\-\\-opportunity"), "{page}");
}
