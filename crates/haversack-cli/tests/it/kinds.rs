//! An application of one's own: kinds and a recipe in files, no Rust (X6).

use std::process::Output;

use super::{TestFolder, err, out};

const SUPPORT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/support");

#[track_caller]
fn ran(folder: &TestFolder, args: &[&str]) -> String {
    let done = run(folder, args);
    assert_eq!(done.status.code(), Some(0), "{args:?}: {}", err(&done));
    out(&done)
}

fn run(folder: &TestFolder, args: &[&str]) -> Output {
    folder.run(&[args, &["--data", "data"]].concat())
}

fn at(name: &str) -> String {
    format!("{SUPPORT}/{name}")
}

/// The support desk of the documentation, in a data folder.
fn desk(name: &str) -> TestFolder {
    let folder = TestFolder::new(name);
    ran(&folder, &["kinds", "set", &at("kinds.toml")]);
    ran(&folder, &["add", &at("desk.jsonl")]);
    folder
}

#[test]
fn an_application_of_ones_own_needs_no_rust_x6() {
    let folder = desk("kinds-desk");
    let listed = ran(&folder, &["kinds"]);
    assert!(listed.starts_with("of this data folder:\n  customer "), "{listed}");
    assert!(listed.contains("severity, state, answerBy, customerId, openedAt"), "{listed}");
    let ask = ["pack", "What do I answer?", "--recipe", &at("support.toml"), "--about"];
    let pack =
        ran(&folder, &[&ask[..], &["ticket=T-17", "--now", "2026-11-18T09:00:00Z"]].concat());
    // The ticket, its customer by the link, its replies in order, and what solves it.
    let order = [
        "Since the update all departure boards",
        "Severity: critical",
        "Runs eleven ferries",
        "We restarted the board service",
        "Could it be the cached timetable?",
        "Purge the cached timetable",
    ];
    let places: Vec<usize> = order
        .iter()
        .map(|text| pack.find(text).unwrap_or_else(|| panic!("{text}: {pack}")))
        .collect();
    assert!(places.is_sorted(), "{places:?}\n{pack}");
    assert!(!pack.contains("Which version of the export"), "a reply to another ticket: {pack}");
    for (about, said) in [
        ("ticket=T-99", "there is no ticket \"T-99\" that this user can read"),
        ("ticket=c-ostrand", "\"c-ostrand\" is a customer, not a ticket"),
        ("T-17", "--about T-17: say NAME=ID"),
    ] {
        let done = run(&folder, &[&ask[..], &[about]].concat());
        assert_eq!(done.status.code(), Some(2), "{about}");
        assert!(err(&done).contains(said), "{about}: {}", err(&done));
    }
}

#[test]
fn questions_about_fields_are_answered_by_their_roles_x10() {
    let folder = desk("kinds-roles");
    let ask = |query: &str| ran(&folder, &["pack", query, "--now", "2026-11-18T09:00:00Z"]);
    let overdue = ask("Which tickets are overdue?");
    assert!(overdue.contains("departure boards"), "{overdue}");
    assert!(
        !overdue.contains("new address on the invoice"),
        "it waits for its customer: {overdue}"
    );
    assert!(!overdue.contains("ends in the middle of a row"), "it is due later: {overdue}");
}

#[test]
fn definitions_that_are_wrong_say_where_x6() {
    let folder = TestFolder::new("kinds-wrong");
    for (source, said) in [
        ("[kind.a]\nabut = 'x'\n", "unknown field `abut`"),
        ("[kind.a]\n", "missing field `about`"),
        ("[kind.product]\nabout = 'x'\n", "kind.product: there is a built-in kind of that name"),
        (
            "[kind.a]\nabout = 'x'\nfields = [{ name = 'b' }]\n",
            "kind.a.b: type or values is missing",
        ),
        (
            "[kind.a]\nabout = 'x'\nfields = [{ name = 'b', type = 'txt' }]\n",
            "unknown variant `txt`",
        ),
        (
            "[kind.a]\nabout = 'x'\nfields = [{ name = 'b', type = 'text', link = true }]\n",
            "kind.a.b: only a reference is a link",
        ),
        ("[fields]\nowed = ['x']\n", "unknown variant `owed`"),
    ] {
        folder.file("k.toml", source);
        for args in [["kinds", "check", "k.toml"], ["kinds", "set", "k.toml"]] {
            let done = run(&folder, &args);
            assert_eq!(done.status.code(), Some(2), "{source}");
            assert!(err(&done).contains(said), "{source}: {}", err(&done));
        }
    }
    // A folder whose definitions are broken says so, and can be mended.
    ran(&folder, &["add", &at("desk.jsonl")]);
    let data = folder.0.join("data/kinds.toml");
    std::fs::write(&data, "[kind.a]\n").unwrap();
    let done = run(&folder, &["search", "boards"]);
    assert_eq!(done.status.code(), Some(2));
    assert!(err(&done).contains("kinds.toml cannot be used"), "{}", err(&done));
    ran(&folder, &["kinds", "set", &at("kinds.toml")]);
    ran(&folder, &["search", "boards"]);
    // An item that its definition does not allow is refused by name.
    folder.file(
        "bad.jsonl",
        r#"{"id": "T-20", "kind": "ticket", "severity": "urgent", "body": "x"}"#,
    );
    let done = run(&folder, &["add", "bad.jsonl"]);
    assert!(err(&done).contains("severity must be one of low, high, critical"), "{}", err(&done));
}
