//! `haversack eval`, on the example of its own documentation.

use std::fs;

use serde_json::Value;

use super::{Folder, err, out};

const DOCS: &str = include_str!("../../../../docs/eval.md");

/// The text between the first fences after a mark.
fn block(after: &str) -> &'static str {
    let (_, rest) = DOCS.split_once(after).unwrap();
    let (_, rest) = rest.split_once("\n```").unwrap();
    let (_, rest) = rest.split_once('\n').unwrap();
    rest.split_once("```").unwrap().0
}

fn example(test: &str) -> Folder {
    let folder = Folder::new(test);
    fs::create_dir_all(folder.0.join("tiny")).unwrap();
    for name in ["tiny/corpus.jsonl", "tiny/queries.jsonl", "tiny/qrels.tsv"] {
        // A page shows a tab as spaces.
        folder.file(name, block(&format!("\n`{name}`")).replace("    ", "\t"));
    }
    folder
}

#[test]
fn the_documented_example_gives_the_documented_figures() {
    let folder = example("eval-docs");
    let output = folder.run(&["eval", "tiny", "--budgets", "20,200"]);
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    let shown = block("`haversack eval tiny --budgets 20,200` prints");
    assert!(out(&output).starts_with(shown), "{}", out(&output));
    assert!(out(&output).contains("\nlatency   p50 "), "{}", out(&output));
    assert_eq!(err(&output), "");
}

#[test]
fn an_evaluation_is_a_document_for_programs() {
    let folder = example("eval-json");
    let arguments = ["eval", "tiny", "--json", "--per-query", "lines.jsonl", "--budgets", "20"];
    let output = folder.run(&arguments);
    assert_eq!((output.status.code(), err(&output)), (Some(0), String::new()));
    let json: Value = serde_json::from_str(&out(&output)).unwrap();
    assert_eq!((&json["set"], &json["queries"]), (&"tiny".into(), &2.into()));
    assert_eq!((&json["er"]["20"], &json["all"]["20"]), (&0.75.into(), &0.5.into()));
    let lines = fs::read_to_string(folder.0.join("lines.jsonl")).unwrap();
    let lines: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let ids: Vec<&str> = lines.iter().filter_map(|line| line["id"].as_str()).collect();
    assert_eq!(ids, ["q1", "q2"]);
    assert_eq!(lines[1]["missing"][0]["document"], "lunch");
}

#[test]
fn a_recipe_of_ones_own_is_a_file() {
    let folder = example("eval-recipe");
    let recipe = "haversack = 1\nname = \"mine\"\nextends = \"memory\"\n";
    folder.file("mine.toml", recipe).file("bad.toml", "haversack = 1\nbudget = 3\n");
    let output = folder.run(&["eval", "tiny", "--recipe", "mine.toml", "--json"]);
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    let json: Value = serde_json::from_str(&out(&output)).unwrap();
    assert_eq!((&json["recipe"], &json["kind"]), (&"mine".into(), &"memory".into()));
    let check = |arguments: &[&str], expected: &str| {
        let failed = folder.run(&[&["eval"], arguments].concat());
        assert_eq!(failed.status.code(), Some(2), "{arguments:?}");
        assert!(err(&failed).contains(expected), "{}", err(&failed));
    };
    check(&["tiny", "--recipe", "bad.toml"], "budget");
    check(&["tiny", "--recipe", "none.toml"], "cannot open none.toml");
    check(&["tiny", "--recipe", "memry"], "there is no recipe \"memry\"");
    check(&["nowhere"], "error: cannot read nowhere");
    check(&["tiny", "--budgets", "x"], "invalid value 'x'");
    check(&["tiny", "--per-query", "no/such/folder"], "cannot write no/such/folder");
}
