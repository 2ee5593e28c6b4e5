//! `haversack shadow`: contexts of another system beside Haversack's own, on real files.

use std::fs;
use std::process::Output;

use serde_json::{Value, json};

use super::server::RunningServer;
use super::{TestFolder, err, json as document, out};

const DOCS: &str = include_str!("../../../../docs/shadow.md");
const NOW: &str = "2026-05-01T09:00:00Z";

/// The text between the first fences after a mark.
fn block(after: &str) -> &'static str {
    let (_, rest) = DOCS.split_once(after).unwrap();
    let (_, rest) = rest.split_once("\n```").unwrap();
    let (_, rest) = rest.split_once('\n').unwrap();
    rest.split_once("\n```").unwrap().0
}

/// The example of the documentation, with a salary that only Clara may read.
fn example(test: &str) -> TestFolder {
    let folder = TestFolder::new(test);
    fs::create_dir(folder.0.join("notes")).unwrap();
    for name in ["notes/launch.md", "notes/team.md", "notes/office.md", "notes/lunch.md"] {
        folder.file(name, format!("{}\n", block(&format!("\n`{name}`"))));
    }
    folder.file("asked.jsonl", block("`asked.jsonl`, one question per line"));
    run(&folder, &["add", "notes"], 0);
    folder
}

fn with_secret(folder: &TestFolder) {
    let line = json!({ "id": "pay", "user": "boss", "text": SECRET }).to_string();
    folder.file("pay.jsonl", line);
    run(folder, &["add", "pay.jsonl", "--map-user", "boss=clara"], 0);
}

const SECRET: &str =
    "The salary of Paul rises to seven thousand euros in June, and nobody else knows it.";

#[track_caller]
fn run(folder: &TestFolder, arguments: &[&str], code: i32) -> Output {
    let output = folder.run(&[&["--data", "data", "--workspace", "trial"], arguments].concat());
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {}{}", out(&output), err(&output));
    output
}

fn shadow(folder: &TestFolder, more: &[&str]) -> Value {
    let arguments = [&["shadow", "asked.jsonl", "--now", NOW, "--json"], more].concat();
    document(&run(folder, &arguments, 0))
}

/// Lines without the figures that differ from run to run.
fn steady(text: &str) -> String {
    let lines = text.lines().filter(|line| !line.starts_with("ms "));
    lines.map(str::trim_end).collect::<Vec<_>>().join("\n")
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap()
}

#[test]
fn the_documented_example_prints_the_documented_report() {
    let folder = example("shadow-docs");
    let output = run(&folder, &["shadow", "asked.jsonl", "--html", "report.html"], 0);
    assert_eq!(steady(&out(&output)), steady(block("\nprints\n")), "{}", out(&output));
    assert!(err(&output).contains("wrote report.html"), "{}", err(&output));
}

#[test]
fn labels_decide_between_their_context_and_ours_within_the_same_tokens_x1() {
    let folder = example("shadow-labels");
    let report = shadow(&folder, &[]);
    assert_eq!((&report["queries"], &report["recipe"]), (&json!(3), &json!("everything")));
    for one in report["results"].as_array().unwrap() {
        let (theirs, ours) = (&one["theirs"]["tokens"], &one["ours"]["tokens"]);
        assert!(number(ours) <= number(theirs) && number(ours) > 0.0, "{one}");
        assert!(number(&one["random"]["tokens"]) <= number(theirs), "{one}");
    }
    let [first, second, third] = [0, 1, 2].map(|at| &report["results"][at]);
    // Theirs ends in the middle of the sentence that is the evidence, and has a passage twice.
    assert_eq!(first["theirs"]["metrics"]["answer"], 1.0, "{first}");
    assert!(number(&first["theirs"]["metrics"]["evidence"]) < 1.0, "{first}");
    assert!(number(&first["theirs"]["repeated"]) > 0.2, "{first}");
    assert_eq!(first["ours"]["metrics"]["evidence"], 1.0, "{first}");
    assert_eq!((&first["winner"], &second["winner"]), (&json!("ours"), &json!("ours")));
    let sources = ["notes/launch.md", "notes/lunch.md", "notes/office.md", "notes/team.md"];
    assert_eq!(first["theirs"]["sources"], json!(sources));
    // Theirs has the right item, but not the sentence.
    assert_eq!(second["theirs"]["metrics"]["answer"], 0.0, "{second}");
    assert_eq!(second["ours"]["metrics"]["answer"], 1.0, "{second}");
    // Without labels nobody wins; a passage that is in no document is found out.
    assert_eq!((&third["winner"], &third["labelled"]), (&Value::Null, &json!(false)));
    let missing: Vec<f64> =
        third["passages"].as_array().unwrap().iter().map(|one| number(&one["notInData"])).collect();
    assert_eq!(missing, [0.0, 1.0, 0.0, 0.0, 0.0, 0.0], "{third}");
    assert_eq!(report["wins"]["ours"], 2);
    assert!(number(&report["random"]["score"]) < number(&report["ours"]["score"]), "{report}");
    // The same file gives the same report.
    let mut again = shadow(&folder, &[]);
    let mut report = report;
    [&mut report, &mut again].into_iter().for_each(without_times);
    assert_eq!(report, again);
    let one = shadow(&folder, &["--limit", "1"]);
    assert_eq!(one["queries"], 1);
}

fn without_times(report: &mut Value) {
    report["ours"]["ms"] = Value::Null;
    for one in report["results"].as_array_mut().unwrap() {
        one["ours"]["ms"] = Value::Null;
    }
}

#[test]
fn text_that_the_asker_may_not_read_is_told_x3() {
    let folder = example("shadow-rights");
    with_secret(&folder);
    let other =
        "Carla runs the tile server and is on call every second week; Ben stands in for her.";
    let line = |user: &str| {
        json!({ "id": user, "question": "What does Paul earn?", "user": user,
            "context": [SECRET, other, block("\n`notes/lunch.md`")] })
    };
    let lines: Vec<String> = ["anna", "clara"].iter().map(|user| line(user).to_string()).collect();
    folder.file("asked.jsonl", lines.join("\n"));
    let report = shadow(&folder, &[]);
    let [anna, clara] = [0, 1].map(|at| &report["results"][at]);
    assert_eq!(anna["notReadableSources"], json!(["pay"]), "{anna}");
    assert!(number(&anna["notReadable"]) > 0.05, "{anna}");
    assert_eq!(anna["notInData"], 0.0, "{anna}");
    for side in ["ours", "random"] {
        assert!(!anna[side]["text"].as_str().unwrap().contains("salary"), "{anna}");
    }
    assert_eq!(clara["notReadableSources"], json!([]), "{clara}");
    assert!(clara["ours"]["text"].as_str().unwrap().contains("salary"), "{clara}");
    let told = run(&folder, &["shadow", "asked.jsonl", "--now", NOW], 0);
    let expected = "note: 1 question: their context has text that the asker may not read";
    assert!(err(&told).contains(expected), "{}", err(&told));
    // The line says who asks; --user is for lines that do not.
    folder.file("asked.jsonl", json!({ "question": "Paul?", "context": SECRET }).to_string());
    let report = shadow(&folder, &["--user", "ben"]);
    assert_eq!(report["results"][0]["notReadableSources"], json!(["pay"]));
    assert_eq!(shadow(&folder, &[])["results"][0]["notReadableSources"], json!([]));
}

#[test]
fn nothing_is_written_and_a_server_says_the_same() {
    let folder = example("shadow-server");
    with_secret(&folder);
    let export = || out(&run(&folder, &["export"], 0));
    let stats = || out(&run(&folder, &["stats", "--json"], 0));
    let before = (export(), stats());
    let mut here = shadow(&folder, &["--user", "anna"]);
    assert_eq!((export(), stats()), before);
    let mut there = {
        let _server = RunningServer::start_with(&folder, "auto", &[]);
        shadow(&folder, &["--user", "anna"])
    };
    assert_eq!((export(), stats()), before);
    [&mut here, &mut there].into_iter().for_each(without_times);
    assert_eq!(here, there);
}

#[test]
fn reports_hold_hostile_texts_as_texts() {
    let folder = example("shadow-hostile");
    let hostile = "</pre><script>alert(1)</script><img src=x onerror=alert(2)> ```` # not a title";
    let line = json!({
        "question": format!("What is this? {hostile}"),
        "context": [{ "text": hostile.repeat(3), "source": hostile }, "Anna leads the design team"],
    });
    folder.file("asked.jsonl", line.to_string());
    run(&folder, &["shadow", "asked.jsonl", "--html", "r.html", "--markdown", "r.md"], 0);
    let html = fs::read_to_string(folder.0.join("r.html")).unwrap();
    assert!(html.contains("default-src 'none'") && html.contains("&lt;script&gt;"), "{html}");
    assert!(!html.contains("<script") && !html.contains("<img"), "{html}");
    let markdown = fs::read_to_string(folder.0.join("r.md")).unwrap();
    let fences: Vec<&str> = markdown.lines().filter(|line| line.starts_with("```")).collect();
    assert!(fences.contains(&"`````text") && fences.contains(&"`````"), "{fences:?}");
    assert!(markdown.contains("## What is this? \\<"), "{markdown}");
}

#[test]
fn shapes_of_other_systems_are_read_and_bad_lines_are_named() {
    let folder = example("shadow-shapes");
    let text = "Carla runs the tile server and is on call every second week; Ben stands in for her. \
                Paul leads sales and the press work.";
    let question = "Who is on call?";
    let lines = [
        json!({ "query": question, "source_documents": [{ "page_content": text, "metadata": {} }] }),
        json!({ "query": question, "source_nodes": [{ "node": { "text": text }, "score": 0.5 }] }),
        json!({ "query": question, "results": [{ "id": "m", "memory": text, "score": 0.5 }] }),
        json!({ "user_input": question, "retrieved_contexts": [text], "reference": "Carla" }),
        json!({ "query": question, "context": "" }),
    ];
    let lines: Vec<String> = lines.iter().map(Value::to_string).collect();
    folder.file("asked.jsonl", lines.join("\n"));
    let report = shadow(&folder, &[]);
    let results = report["results"].as_array().unwrap();
    assert_eq!(results.len(), 4);
    for one in results {
        assert_eq!(one["theirs"]["sources"], json!(["notes/team.md"]), "{one}");
    }
    assert_eq!(results[3]["theirs"]["metrics"]["answer"], 1.0, "{}", results[3]);
    assert_eq!(report["skipped"], json!([{ "id": "5", "reason": "its context is empty" }]));
    folder.file("asked.csv", format!("question,context\n{question},\"{text}\"\n"));
    let table = document(&run(&folder, &["shadow", "asked.csv", "--json"], 0));
    assert_eq!(table["results"][0]["theirs"]["tokens"], results[0]["theirs"]["tokens"]);
    let check = |name: &str, text: &str, expected: &str| {
        folder.file(name, text);
        let refused = err(&run(&folder, &["shadow", name], 2));
        assert!(refused.contains(expected), "{refused}");
    };
    check("a.jsonl", "{\"question\": \"q\", \"context\": \"c\"}\nno\n", "a.jsonl, line 2: ");
    check("a.jsonl", "{\"question\": \"q\"}\n", "a.jsonl, line 1: context: there is no such field");
    check("a.jsonl", "", "a.jsonl: there is no question in it");
    let few = json!({ "question": "q", "context": "tea" }).to_string();
    folder.file("few.jsonl", few);
    let small = document(&run(&folder, &["shadow", "few.jsonl", "--json"], 0));
    assert!(number(&small["results"][0]["leastBudget"]) > 1.0, "{small}");
    assert_eq!(small["results"][0]["ours"]["tokens"], 0);
    folder.file("empty.jsonl", json!({ "question": "q", "context": [] }).to_string());
    run(&folder, &["shadow", "empty.jsonl"], 1);
    let missing = err(&run(&folder, &["shadow", "nothing.jsonl"], 2));
    assert!(missing.contains("cannot read nothing.jsonl"), "{missing}");
}
