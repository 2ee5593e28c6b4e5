//! Each rule on the smallest repository that keeps or breaks it.

use super::*;

/// Checks files given as path and text; the expected problems are `path:line: start of message`.
fn check_files(files: &[(&str, &str)], expected: &[&str]) {
    let files: Vec<SourceFile> = files
        .iter()
        .map(|(path, text)| SourceFile { path: (*path).to_owned(), text: (*text).to_owned() })
        .collect();
    let mut problems = check(&files);
    problems.sort();
    let shown: Vec<String> = problems.iter().map(ToString::to_string).collect();
    let agree = shown.len() == expected.len()
        && shown.iter().zip(expected).all(|(shown, expected)| shown.starts_with(expected));
    assert!(agree, "found {shown:#?}, expected {expected:#?}");
}

fn manifest(rest: &str) -> String {
    format!("{rest}[lints]\nworkspace = true\n")
}

#[test]
fn rust_files_start_with_a_header() {
    check_files(&[("crates/a/src/x.rs", "//! Room.\n")], &[]);
    check_files(&[("crates/a/src/x.rs", "use b;\n")], &["crates/a/src/x.rs:1: the file must"]);
    check_files(&[("fuzz/src/bin/x.rs", "\n//! Late.\n")], &["fuzz/src/bin/x.rs:1: the file must"]);
    check_files(&[("crates/a/src/tests.rs", "use super::*;\n")], &[]);
    check_files(
        &[("crates/a/tests/it/main.rs", "mod x;\n")],
        &["crates/a/tests/it/main.rs:1: the"],
    );
}

#[test]
fn long_files_are_split() {
    let long = |lines: usize| format!("//! Room.\n{}", "\n".repeat(lines - 1));
    check_files(&[("crates/a/src/x.rs", &long(600))], &[]);
    check_files(&[("crates/a/src/x.rs", &long(601))], &["crates/a/src/x.rs:601: 601 lines, at"]);
    check_files(&[("crates/a/src/tests.rs", &long(601))], &[]);
    check_files(&[("crates/a/tests/it/x.rs", &long(601))], &[]);
    check_files(&[("ARCHITECTURE.md", &long(250))], &[]);
    check_files(
        &[("ARCHITECTURE.md", &long(251))],
        &["ARCHITECTURE.md:251: 251 lines, at most 250"],
    );
    check_files(&[("README.md", &long(201))], &[]);
}

#[test]
fn unfinished_work_is_found() {
    let path = "crates/a/src/x.rs";
    for word in [concat!("TO", "DO"), concat!("FIX", "ME")] {
        check_files(&[(path, &format!("//! R.\n// {word}: later\n"))], &["crates/a/src/x.rs:2: `"]);
        check_files(&[(path, &format!("//! R.\nconst {word}S: u8 = 1;\n"))], &[]);
        check_files(&[("README.md", word)], &[]);
    }
    for name in [concat!("to", "do!"), concat!("db", "g!"), concat!("unimple", "mented!")] {
        check_files(&[(path, &format!("//! R.\n    {name}(x)\n"))], &["crates/a/src/x.rs:2: `"]);
        check_files(&[(path, &format!("//! R.\n    my_{name}(x)\n"))], &[]);
    }
}

#[test]
fn core_is_synchronous_and_silent() {
    let check = |path: &str, line: &str, expected: &[&str]| {
        check_files(&[(path, &format!("//! Room.\n{line}\n"))], expected);
    };
    let core = "crates/haversack-core/src/x.rs";
    check(core, "async fn read() {}", &["crates/haversack-core/src/x.rs:2: core is synchronous"]);
    check(core, "    println!(\"x\");", &["crates/haversack-core/src/x.rs:2: core is synchronous"]);
    check(core, "// An async fn would need a runtime.", &[]);
    check("crates/haversack-cli/src/x.rs", "async fn read() {}", &[]);
}

#[test]
fn only_the_store_names_its_engine() {
    let line = concat!("//! Room.\nuse haversack_store::embed", "ded::View;\n");
    let engine = "crates/haversack/src/x.rs";
    check_files(&[(engine, line)], &["crates/haversack/src/x.rs:2: `"]);
    check_files(&[("crates/haversack-store/src/x.rs", line)], &[]);
    let field = concat!("//! Room.\nlet store: Embed", "ded = open();\n");
    check_files(&[("crates/haversack-cli/tests/it/x.rs", field)], &["crates/haversack-cli/tests"]);
}

#[test]
fn messages_are_not_parsed() {
    let line = concat!("//! Room.\nif error.to_string().con", "tains(\"lock\") {}\n");
    check_files(&[("crates/a/src/x.rs", line)], &["crates/a/src/x.rs:2: `"]);
    check_files(&[("crates/a/src/tests.rs", line), ("crates/a/tests/it/x.rs", line)], &[]);
}

#[test]
fn white_space_is_plain() {
    check_files(&[("README.md", "a\tb\n")], &["README.md:1: tab"]);
    check_files(&[("a.toml", "a = 1\nb = 2 \n")], &["a.toml:2: white space"]);
    check_files(&[("a.toml", "a = 1\r\n")], &["a.toml:1: white space"]);
    check_files(&[("README.md", "a\n\nb\n")], &[]);
}

#[test]
fn a_crates_clippy_settings_repeat_the_roots() {
    let root = ("clippy.toml", "x = 1\ny = true\n");
    let own = "crates/a/clippy.toml";
    check_files(&[root, (own, "z = 0\ny = true\nx = 1\n")], &[]);
    check_files(&[root, (own, "y = true\nx = 2\n")], &["crates/a/clippy.toml:2: `x` differs"]);
    check_files(&[root, (own, "x = 1\n")], &["crates/a/clippy.toml:1: `y` of the root"]);
    check_files(&[root, (own, "x = [\n")], &["crates/a/clippy.toml: not valid TOML"]);
}

#[test]
fn crates_share_lints_and_forbid_unsafe_code() {
    let good = manifest("");
    let safe = "//! Room.\n#![forbid(unsafe_code)]\n";
    check_files(&[("crates/a/Cargo.toml", &good), ("crates/a/src/lib.rs", safe)], &[]);
    check_files(
        &[("crates/a/Cargo.toml", "[lints]\n"), ("crates/a/src/main.rs", "//! Room.\n")],
        &["crates/a/Cargo.toml: `[lints]", "crates/a/src/main.rs: `#![forbid"],
    );
}

#[test]
fn dependencies_point_to_the_left() {
    let core = "crates/haversack-core/Cargo.toml";
    let cli = "crates/haversack-cli/Cargo.toml";
    let one = |section: &str, name: &str| manifest(&format!("[{section}]\n{name} = {{}}\n"));
    check_files(&[(cli, &one("dependencies", "haversack-core"))], &[]);
    check_files(&[(cli, &one("dev-dependencies", "testkit"))], &[]);
    let path = "crates/haversack-core/Cargo.toml:2: haversack-core must not depend on";
    for section in ["dependencies", "dev-dependencies", "target.'cfg(unix)'.build-dependencies"] {
        check_files(&[(core, &one(section, "haversack-cli"))], &[path]);
        check_files(&[(core, &one(section, "testkit"))], &[path]);
        check_files(&[(core, &one(section, "libm"))], &[]);
    }
    let renamed = manifest("[dependencies]\nx = { package = \"haversack\" }\n");
    check_files(&[(core, &renamed)], &["crates/haversack-core/Cargo.toml:1: haversack-core must"]);
    let chore = "crates/haversack-cli/Cargo.toml:2: haversack-cli must not depend on xtask: it is";
    check_files(&[(cli, &one("dependencies", "xtask"))], &[chore]);
    let store = "crates/haversack-store/Cargo.toml";
    let suite = "haversack-conformance";
    check_files(&[(store, &one("dev-dependencies", suite))], &[]);
    check_files(&[(cli, &one("dev-dependencies", suite))], &[]);
    check_files(&[(core, &one("dev-dependencies", suite))], &[path]);
    let refused = "crates/haversack-store/Cargo.toml:2: haversack-store must not depend on";
    check_files(&[(store, &one("dependencies", suite))], &[refused]);
}

#[test]
fn tests_that_a_page_names_exist() {
    let page = |names: &str| {
        let page = ("docs/reliability.md", names);
        let files = [
            page,
            (
                "crates/haversack-a/tests/it/crash.rs",
                "//! R.\n#[test]\nfn a_kill_loses_nothing() {}\n",
            ),
            ("crates/haversack-a/src/b/tests.rs", "#[test]\nfn it_holds() {}\n"),
        ];
        files.map(|(path, text)| (path, text.to_owned()))
    };
    let check = |names: &str, expected: &[&str]| {
        let files = page(names);
        let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (*path, &**text)).collect();
        check_files(&files, expected);
    };
    check("`haversack-a::it crash::a_kill_loses_nothing`, `haversack-a b::tests::it_holds`\n", &[]);
    check("`haversack-a::it crash::`, `…::it_holds`, `haversack-a b::tests::it_…`\n", &[]);
    check("`cargo xtask soak`, `haversack check`, `store.db`\n", &[]);
    let none = "docs/reliability.md:2: there is no test";
    check("one\n`haversack-a::it crash::a_kill_loses`\n", &[none]);
    check("one\n`haversack-a::it other::a_kill_loses_nothing`\n", &[none]);
    check("one\n`haversack-a crash::a_kill_loses_nothing` `…::gone`\n", &[none, none]);
    check("one\n`haversack-b b::tests::`\n", &[none]);
}
