//! `haversack eval`, on the example of its own documentation.

use std::fs;

use serde_json::Value;

use super::{TestFolder, err, out};

const DOCS: &str = include_str!("../../../../docs/eval.md");

/// The text between the first fences after a mark.
fn block(after: &str) -> &'static str {
    let (_, rest) = DOCS.split_once(after).unwrap();
    let (_, rest) = rest.split_once("\n```").unwrap();
    let (_, rest) = rest.split_once('\n').unwrap();
    rest.split_once("```").unwrap().0
}

fn example(test: &str) -> TestFolder {
    let folder = TestFolder::new(test);
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
    let arguments = ["eval", "tiny", "--json", "--per-query", "lines.jsonl", "--budgets", "20,200"];
    let output = folder.run(&arguments);
    assert_eq!((output.status.code(), err(&output)), (Some(0), String::new()));
    let json: Value = serde_json::from_str(&out(&output)).unwrap();
    assert_eq!((&json["set"], &json["queries"]), (&"tiny".into(), &2.into()));
    for key in ["answer", "evidence", "documents", "any", "must", "mustAll", "whole"] {
        assert_eq!(json[key]["200"], 1.0, "{key}: {json}");
    }
    assert_eq!((&json["n"]["answer"]["20"], &json["n"]["spans"]["20"]), (&1.into(), &0.into()));
    assert!(json["evidence"]["20"].as_f64() < Some(1.0), "{json}");
    let lines = fs::read_to_string(folder.0.join("lines.jsonl")).unwrap();
    let lines: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let ids: Vec<&str> = lines.iter().filter_map(|line| line["id"].as_str()).collect();
    assert_eq!(ids, ["q1", "q2", "q3"]);
    assert_eq!(lines[1]["missing"][0]["at"], serde_json::json!([20]), "{}", lines[1]);
}

#[test]
fn packs_of_others_are_measured_from_a_file() {
    let folder = example("eval-packs");
    let line = block("The file\nhas one line of JSON per question and budget:");
    folder.file("packs.jsonl", line);
    let eval = |more: &[&str]| {
        let arguments = ["eval", "tiny", "--packs", "packs.jsonl", "--budgets", "20"];
        folder.run(&[&arguments, more].concat())
    };
    let failed = eval(&[]);
    assert_eq!(failed.status.code(), Some(2));
    let expected = "packs.jsonl: there is no pack of set \"tiny\", id \"q2\", budget 20";
    assert!(err(&failed).contains(expected), "{}", err(&failed));
    folder.file("packs.jsonl", format!("{line}{}", line.replace("q1", "q2")));
    let output = eval(&[]);
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    assert!(out(&output).starts_with("tiny, packs from a file: 2 questions\n"), "{}", out(&output));
    let json: Value = serde_json::from_str(&out(&eval(&["--json"]))).unwrap();
    assert_eq!((&json["recipe"], &json["any"]["20"]), (&Value::Null, &0.5.into()));
    let clash = eval(&["--off-topic", "tiny"]);
    assert!(err(&clash).contains("cannot be used with"), "{}", err(&clash));
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

/// Twelve questions whose answers are old, for a recipe that thinks too much of what is new.
fn old_answers(test: &str) -> TestFolder {
    let folder = TestFolder::new(test);
    fs::create_dir_all(folder.0.join("set")).unwrap();
    let (mut corpus, mut questions, mut labels) = (String::new(), String::new(), String::new());
    for number in 0..12 {
        let thing = format!("{}ket", (b'a' + number) as char);
        let old = format!("The {thing} is kept in the cellar.");
        let new = format!("Somebody spoke of a {thing} lately.");
        for (id, text, date) in [("old", old, "2001-05-01"), ("new", new, "2025-12-30")] {
            let id = format!("{id}-{number}");
            let line = serde_json::json!({ "id": id, "text": text, "meta": { "date": date } });
            corpus.push_str(&format!("{line}\n"));
        }
        let text = format!("Which {thing} is in the cellar?");
        questions.push_str(&format!("{}\n", serde_json::json!({ "id": thing, "text": text })));
        labels.push_str(&format!("{thing}\told-{number}\t1\n"));
    }
    let recipe = "haversack = 1\nname = \"newest\"\nextends = \"memory\"\n[[layer]]\n\
                  name = \"memories\"\nscore = { fusion = 0.1, recency = 0.9 }\norder = \"rank\"\n";
    folder.file("set/corpus.jsonl", corpus).file("set/queries.jsonl", questions);
    folder.file("set/qrels.tsv", labels).file("newest.toml", recipe);
    folder
}

#[test]
fn a_recipe_is_tuned_and_the_tuned_one_can_be_used() {
    let folder = old_answers("tune");
    let tune = ["tune", "set", "--recipe", "newest.toml", "--budgets", "16", "--tries", "12"];
    let output = folder.run(&[&tune[..], &["--json"]].concat());
    assert_eq!((output.status.code(), err(&output)), (Some(0), String::new()), "{}", out(&output));
    let json: Value = serde_json::from_str(&out(&output)).unwrap();
    assert_eq!((&json["questions"], &json["tries"]), (&12.into(), &12.into()));
    assert_eq!(json["written"], "newest-tuned.toml");
    let tuned = fs::read_to_string(folder.0.join("newest-tuned.toml")).unwrap();
    assert!(tuned.starts_with("# newest with other weights, tuned on 12 questions"), "{tuned}");
    assert!(tuned.contains("extends = \"newest\""), "{tuned}");

    let eval = ["eval", "set", "--recipe", "newest-tuned.toml", "--budgets", "16", "--json"];
    let output = folder.run(&eval);
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    let again: Value = serde_json::from_str(&out(&output)).unwrap();
    assert!(again["evidence"]["16"].as_f64() > json["before"].as_f64(), "{again} {json}");
}

#[test]
fn nothing_is_written_where_nothing_is_better() {
    let folder = old_answers("tune-nothing");
    // A budget at which everything is in, whatever the weights.
    let tune = ["tune", "set", "--recipe", "newest.toml", "--budgets", "4000", "--tries", "4"];
    let output = folder.run(&tune);
    assert_eq!(output.status.code(), Some(1), "{}", err(&output));
    assert!(out(&output).contains("\nnothing was written: "), "{}", out(&output));
    assert!(!folder.0.join("newest-tuned.toml").exists());
    let output = folder.run(&["tune"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(err(&output).contains("there is no data folder"), "{}", err(&output));
}
