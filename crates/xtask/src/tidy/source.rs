//! Rules about single files: headers, lengths, words and white space.

use super::SourceFile;
use crate::problem::RuleViolation;

const FILE_LINES_MAX: usize = 600;
const MAP_LINES_MAX: usize = 250;

/// Split in halves, so that this file passes its own check.
const WORDS: [&str; 5] = [
    concat!("TO", "DO"),
    concat!("FIX", "ME"),
    concat!("to", "do!"),
    concat!("unimple", "mented!"),
    concat!("db", "g!"),
];

/// Words forbidden in core that no lint covers.
const CORE_WORDS: [&str; 5] = ["async fn", "async move", ".await", "println!", "tracing::"];

/// The store's engine, which only the store itself knows by name. In halves, as above.
const ENGINE_WORDS: [&str; 2] = [concat!("embed", "ded::"), concat!("Embed", "ded")];

/// Ways to read the meaning of a message out of its words; a code or a field says it instead.
const MESSAGE_WORDS: [&str; 8] = [
    concat!("message.con", "tains("),
    concat!("message.sp", "lit"),
    concat!("message.starts", "_with("),
    concat!("message.strip", "_prefix("),
    concat!("to_string().con", "tains("),
    concat!("to_string().sp", "lit"),
    concat!("to_string().starts", "_with("),
    concat!("to_string().strip", "_prefix("),
];

/// Files that may read messages: those that test them, and two that have nothing else, as the errors
/// of serde and of the CEL parser have no codes.
const MESSAGE_READERS: [&str; 4] =
    ["conformance/", "/scenarios.rs", "/src/wire/values.rs", "/src/condition/mod.rs"];

pub(super) fn check(files: &[SourceFile]) -> Vec<RuleViolation> {
    let mut problems = Vec::new();
    for file in files {
        if is_rust(file) {
            problems.extend(header(file));
            problems.extend(length(file));
            problems.extend(words(file));
        }
        if file.path == "ARCHITECTURE.md" {
            problems.extend(over(file, MAP_LINES_MAX, "the map must stay readable in one go"));
        }
        problems.extend(white_space(file));
    }
    problems
}

fn is_rust(file: &SourceFile) -> bool {
    let is_in_reach = file.path.starts_with("crates/") || file.path.starts_with("fuzz/");
    is_in_reach && file.path.ends_with(".rs")
}

fn is_core(file: &SourceFile) -> bool {
    file.path.starts_with("crates/haversack-core/src/") && file.name() != "tests.rs"
}

fn header(file: &SourceFile) -> Option<RuleViolation> {
    let has_header = file.name() == "tests.rs" || file.text.starts_with("//!");
    (!has_header).then(|| {
        RuleViolation::at(&file.path, 1, "the file must start with `//!` and what it is for")
    })
}

fn length(file: &SourceFile) -> Option<RuleViolation> {
    if file.name() == "tests.rs" || file.path.contains("/tests/") {
        return None;
    }
    over(file, FILE_LINES_MAX, "split the room")
}

fn over(file: &SourceFile, lines_max: usize, advice: &str) -> Option<RuleViolation> {
    let lines = file.text.lines().count();
    (lines > lines_max).then(|| {
        let message = format!("{lines} lines, at most {lines_max} are allowed: {advice}");
        RuleViolation::at(&file.path, lines_max + 1, message)
    })
}

fn words(file: &SourceFile) -> Vec<RuleViolation> {
    let mut problems = Vec::new();
    for (number, line) in (1..).zip(file.text.lines()) {
        for word in WORDS {
            if contains_word(line, word) {
                let message = format!("`{word}` must not be on the main branch");
                problems.push(RuleViolation::at(&file.path, number, message));
            }
        }
        let is_comment = line.trim_start().starts_with("//");
        if is_core(file) && !is_comment {
            for word in CORE_WORDS.iter().filter(|&&word| line.contains(word)) {
                let message = format!("core is synchronous and silent: no `{word}`");
                problems.push(RuleViolation::at(&file.path, number, message));
            }
        }
        if !is_comment && !is_in_store(file) {
            for word in ENGINE_WORDS.iter().filter(|word| contains_word(line, word)) {
                let message = format!("`{word}`: use the traits `Stores` and `Store`");
                problems.push(RuleViolation::at(&file.path, number, message));
            }
        }
        if !is_comment && !may_read_messages(file) && !line.contains("assert") {
            for word in MESSAGE_WORDS.iter().filter(|&&word| line.contains(word)) {
                let message = format!("`{word}`: branch on a code or a field, not on words");
                problems.push(RuleViolation::at(&file.path, number, message));
            }
        }
    }
    problems
}

fn is_in_store(file: &SourceFile) -> bool {
    file.path.starts_with("crates/haversack-store/")
}

fn is_test(file: &SourceFile) -> bool {
    let is_test = file.name() == "tests.rs" || file.path.contains("/tests/");
    is_test || !file.path.contains("/src/")
}

fn may_read_messages(file: &SourceFile) -> bool {
    is_test(file) || MESSAGE_READERS.iter().any(|reader| file.path.contains(reader))
}

/// Whether `line` contains `word` as a whole word.
fn contains_word(line: &str, word: &str) -> bool {
    let in_name = |c: char| c.is_alphanumeric() || c == '_';
    line.match_indices(word).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        let after = line[at + word.len()..].chars().next();
        let is_open = !word.ends_with(['!', ':']) && after.is_some_and(in_name);
        !is_open && !before.is_some_and(in_name)
    })
}

fn white_space(file: &SourceFile) -> Vec<RuleViolation> {
    let mut problems = Vec::new();
    // Not `lines()`, which would hide a carriage return.
    for (number, line) in (1..).zip(file.text.split('\n')) {
        if line.contains('\t') {
            problems.push(RuleViolation::at(
                &file.path,
                number,
                "tab: use spaces, or `\\t` in a string",
            ));
        }
        if line.ends_with(char::is_whitespace) {
            problems.push(RuleViolation::at(
                &file.path,
                number,
                "white space at the end of the line",
            ));
        }
    }
    problems
}
