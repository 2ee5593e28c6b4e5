//! Rules about whole crates: shared lints, no unsafe code, and who may depend on whom.

use toml::{Table, Value};

use super::SourceFile;
use crate::problem::RuleViolation;

/// The product crates in dependency order. Each may depend on those before it.
const LINE: [&str; 13] = [
    "haversack-core",
    "haversack-reader",
    "haversack-model",
    "haversack-provider",
    "haversack-database",
    "haversack-store",
    CONFORMANCE,
    "haversack-journal",
    "haversack",
    "haversack-eval",
    "haversack-serve",
    "haversack-gateway",
    "haversack-cli",
];

/// The conformance suite of the store. Only tests may use it, those of the store included.
const CONFORMANCE: &str = "haversack-conformance";

/// Our other crates.
const CHORES: [&str; 2] = ["testkit", "xtask"];

pub(super) fn check(files: &[SourceFile]) -> Vec<RuleViolation> {
    let mut problems = Vec::new();
    let root_clippy = find(files, "clippy.toml");
    for file in files.iter().filter(|file| crate_of(&file.path).is_some()) {
        match crate_of(&file.path) {
            Some((name, "Cargo.toml")) => problems.extend(manifest(file, name, files)),
            Some((_, "clippy.toml")) => problems.extend(clippy(file, root_clippy)),
            _ => {}
        }
    }
    problems
}

/// Splits `crates/<name>/<rest>`.
fn crate_of(path: &str) -> Option<(&str, &str)> {
    path.strip_prefix("crates/")?.split_once('/')
}

fn find<'f>(files: &'f [SourceFile], path: &str) -> Option<&'f SourceFile> {
    files.iter().find(|file| file.path == path)
}

fn parse(file: &SourceFile) -> Result<Table, RuleViolation> {
    file.text.parse::<Table>().map_err(|error| {
        RuleViolation::in_file(&file.path, format!("not valid TOML: {}", error.message()))
    })
}

/// A crate's own `clippy.toml` replaces the root's, so it must repeat it.
fn clippy(file: &SourceFile, root: Option<&SourceFile>) -> Vec<RuleViolation> {
    let Some(root) = root else { return Vec::new() };
    let (own, root) = match (parse(file), parse(root)) {
        (Ok(own), Ok(root)) => (own, root),
        (Err(problem), _) | (_, Err(problem)) => return vec![problem],
    };
    let mut problems = Vec::new();
    for (key, value) in &root {
        let message = match own.get(key) {
            Some(repeated) if repeated == value => continue,
            Some(_) => format!("`{key}` differs from the root clippy.toml"),
            None => format!("`{key}` of the root clippy.toml is not repeated"),
        };
        problems.push(RuleViolation::at(&file.path, line_of(&file.text, key), message));
    }
    problems
}

fn manifest(file: &SourceFile, name: &str, files: &[SourceFile]) -> Vec<RuleViolation> {
    let table = match parse(file) {
        Ok(table) => table,
        Err(problem) => return vec![problem],
    };
    let mut problems = direction(file, name, &table);
    let shares_lints = table.get("lints").and_then(|lints| lints.get("workspace"));
    if shares_lints != Some(&Value::Boolean(true)) {
        problems.push(RuleViolation::in_file(&file.path, "`[lints] workspace = true` is missing"));
    }
    for root in ["lib.rs", "main.rs"] {
        let path = format!("crates/{name}/src/{root}");
        // The store stands between SQLite and its files, which needs unsafe code; it names each exception.
        let level = if name == "haversack-store" { "deny" } else { "forbid" };
        let wanted = format!("#![{level}(unsafe_code)]");
        if let Some(root) = find(files, &path)
            && !root.text.lines().any(|line| line == wanted)
        {
            problems.push(RuleViolation::in_file(&path, format!("`{wanted}` is missing")));
        }
    }
    problems
}

fn direction(file: &SourceFile, name: &str, table: &Table) -> Vec<RuleViolation> {
    let mut problems = Vec::new();
    for (section, dependency) in dependencies(table) {
        if let Some(reason) = forbidden(name, section, dependency) {
            let message = format!("{name} must not depend on {dependency}: {reason}");
            problems.push(RuleViolation::at(&file.path, line_of(&file.text, dependency), message));
        }
    }
    problems
}

/// Why the crate `name` may not have that dependency.
fn forbidden(name: &str, section: &str, dependency: &str) -> Option<&'static str> {
    let own = LINE.iter().position(|step| *step == name)?;
    if dependency == CONFORMANCE {
        match (section, name) {
            ("dev-dependencies", "haversack-store") => return None,
            ("dev-dependencies", _) => {}
            _ => return Some("it is for tests only"),
        }
    }
    if let Some(other) = LINE.iter().position(|step| *step == dependency) {
        return (other >= own).then_some("each crate may know those before it in the line only");
    }
    if !CHORES.contains(&dependency) {
        return None;
    }
    if section != "dev-dependencies" {
        return Some("it is for tests and chores only");
    }
    (own == 0).then_some("the tests of core would see two copies of its types")
}

/// Every dependency with its section, platform-specific ones included.
fn dependencies(table: &Table) -> Vec<(&str, &str)> {
    let platforms = table.get("target").and_then(Value::as_table);
    let tables = platforms.into_iter().flat_map(Table::values).filter_map(Value::as_table);
    let mut found = Vec::new();
    for table in tables.chain([table]) {
        for section in ["dependencies", "dev-dependencies", "build-dependencies"] {
            let entries = table.get(section).and_then(Value::as_table);
            for (key, value) in entries.into_iter().flatten() {
                // A renamed dependency carries its real name inside.
                let name = value.get("package").and_then(Value::as_str).unwrap_or(key);
                found.push((section, name));
            }
        }
    }
    found
}

/// The first line that contains `word`, else the first line.
fn line_of(text: &str, word: &str) -> usize {
    let speaks = |line: &str| line.trim_start().starts_with(word);
    text.lines().position(speaks).map_or(1, |index| index + 1)
}
