//! `haversack recipe`, as a process.

use std::fs;

use super::{TestFolder, err, out};

#[test]
fn recipes_are_listed_and_shown_x6() {
    let folder = TestFolder::new("recipe-list");
    let listed = folder.run(&["recipe", "list"]);
    assert_eq!(listed.status.code(), Some(0), "{}", err(&listed));
    assert!(out(&listed).contains("\neverything "), "{}", out(&listed));
    let json: serde_json::Value =
        serde_json::from_str(&out(&folder.run(&["recipe", "list", "--json"]))).unwrap();
    let names = json["recipes"].as_array().unwrap().iter().map(|recipe| &recipe["name"]);
    assert!(names.into_iter().any(|name| name == "everything"));
    let shown = folder.run(&["recipe", "show", "everything"]);
    assert!(out(&shown).starts_with("# everything:"), "{}", out(&shown));
    let missing = folder.run(&["recipe", "show", "everythin"]);
    assert_eq!((missing.status.code(), out(&missing)), (Some(2), String::new()));
    assert_eq!(err(&missing), "error: there is no recipe \"everythin\": perhaps everything\n");
}

#[test]
fn a_resolved_recipe_stands_alone_and_says_the_same_x6() {
    let folder = TestFolder::new("recipe-resolved");
    let resolved = out(&folder.run(&["recipe", "show", "everything", "--resolved"]));
    assert!(resolved.contains("least = 12\n"), "{resolved}");
    folder.file("alone.toml", &resolved);
    let again = folder.run(&["recipe", "show", "alone.toml", "--resolved"]);
    assert_eq!(out(&again), resolved);
}

#[test]
fn every_problem_of_a_file_is_printed_with_its_place_x6() {
    let folder = TestFolder::new("recipe-check");
    folder.file("bad.toml", "haversack = 1\nshap = 1\n[[layer]]\nname = \"a\"\nshare = 2\n");
    let checked = folder.run(&["recipe", "check", "bad.toml"]);
    assert_eq!(checked.status.code(), Some(2));
    assert_eq!(
        out(&checked),
        "bad.toml:2:1: unknown key shap, perhaps shape\n\
         bad.toml:5:9: layer a: share is 2; it must be a number from 0 to 1\n"
    );
    assert_eq!(err(&checked), "error: bad.toml cannot be used: 2 problems\n");
    let json = folder.run(&["recipe", "check", "bad.toml", "--json"]);
    let json: serde_json::Value = serde_json::from_str(&out(&json)).unwrap();
    assert_eq!((&json["usable"], &json["problems"][1]["line"]), (&false.into(), &5.into()));
    let missing = folder.run(&["recipe", "check", "none.toml"]);
    assert_eq!(missing.status.code(), Some(2));
    assert!(err(&missing).starts_with("error: cannot open none.toml"), "{}", err(&missing));
    let input = b"haversack = 1\n[[layer]]\nname = \"a\"\n";
    let standard = folder.run_with(&["recipe", "check", "-"], input);
    assert_eq!(standard.status.code(), Some(0), "{}", err(&standard));
}

#[test]
fn a_new_recipe_can_be_used_at_once_x6() {
    let folder = TestFolder::new("recipe-new");
    let made = folder.run(&["recipe", "new", "mine", "--output", "mine.toml"]);
    assert_eq!(made.status.code(), Some(0), "{}", err(&made));
    let checked = folder.run(&["recipe", "check", "mine.toml"]);
    assert_eq!(out(&checked), "");
    assert_eq!(err(&checked), "mine.toml can be used: recipe mine, 2 layers\n");
    let again = folder.run(&["recipe", "new", "mine", "--output", "mine.toml"]);
    assert_eq!(again.status.code(), Some(2), "a file that is there is not written over");
    let bad = folder.run(&["recipe", "new", "a/b"]);
    assert_eq!(bad.status.code(), Some(2));
    assert!(err(&bad).contains("name is \"a/b\""), "{}", err(&bad));
}

#[test]
fn a_new_recipe_can_start_from_a_file_or_a_built_in_one_x6() {
    let folder = TestFolder::new("recipe-from");
    let made = folder.run(&["recipe", "new", "base", "--from", "everything"]);
    assert!(out(&made).contains("\nextends = \"everything\"\n"), "{}", out(&made));
    folder.file("base.toml", out(&made));
    let second = folder.run(&["recipe", "new", "second", "--from", "base.toml"]);
    assert_eq!(second.status.code(), Some(0), "{}", err(&second));
    folder.file("second.toml", out(&second));
    let resolved = folder.run(&["recipe", "show", "second.toml", "--resolved"]);
    assert!(out(&resolved).starts_with("haversack = 1\nname = \"second\"\n"), "{}", out(&resolved));
    assert!(out(&resolved).contains("name = \"found\"\n"));
    // A circle between files is named.
    folder.file("base.toml", "haversack = 1\nextends = \"second\"\n");
    let circle = folder.run(&["recipe", "check", "second.toml"]);
    let text = out(&circle);
    assert!(text.contains(": extends leads in a circle: second → base → second\n"), "{text}");
}

#[test]
fn weaknesses_are_found_by_lint_x6() {
    let folder = TestFolder::new("recipe-lint");
    folder.file("weak.toml", "haversack = 1\n[[layer]]\nname = \"a\"\n");
    let linted = folder.run(&["recipe", "lint", "weak.toml"]);
    assert_eq!(linted.status.code(), Some(2));
    assert!(
        out(&linted).starts_with("weak.toml:2:1: error: layer a is always empty: nobody collects"),
        "{}",
        out(&linted)
    );
    assert_eq!(err(&linted), "error: weak.toml: 1 error\n");
    let sound = folder.run(&["recipe", "lint", "everything"]);
    assert_eq!(sound.status.code(), Some(0), "{}", out(&sound));
    assert!(err(&sound).starts_with("everything: no errors, 0 warnings"), "{}", err(&sound));
    let json = folder.run(&["recipe", "lint", "weak.toml", "--json"]);
    let json: serde_json::Value = serde_json::from_str(&out(&json)).unwrap();
    assert_eq!(json["findings"][0]["severity"], "error");
}

#[test]
fn the_format_is_what_the_documentation_holds_x6() {
    let folder = TestFolder::new("recipe-format");
    let printed = folder.run(&["recipe", "format"]);
    let kept = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/recipes.md");
    assert_eq!(out(&printed), fs::read_to_string(kept).unwrap());
}
