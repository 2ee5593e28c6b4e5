//! Tests on tiny sets whose metrics can be computed by hand.

use std::fs;
use std::path::Path;

use serde_json::Value;
use tempfile::TempDir;

use super::*;
use haversack::engine::Engine;

/// A recipe with text search alone, whose ranking is predictable.
const WORDS: &str = r#"
haversack = 1
name = "words"
[output]
fence = "off"
[[layer]]
name = "found"
share = 1.0
collect = [{ by = "text", limit = 5 }]
score = { text_similarity = 1.0 }
order = "rank"
template = { item = "{{content}}", separator = "\n" }
"#;

const CORPUS: &str = r#"{"id": "team", "text": "Anna leads the design team in Berlin."}
{"id": "soup", "text": "Soup is served on Mondays, and rice on Fridays."}
{"id": "rocket", "text": "The rocket starts in May."}
{"id": "office", "text": "The office has moved to the old station."}
"#;

const QUESTIONS: &str = r#"{"id": "q1", "text": "When does the rocket start?"}
{"id": "q2", "text": "design team soup"}
{"id": "q3", "text": "nobody knows"}
"#;

const LABELS: &str = "q1\trocket\t1\nq1\tsoup\t0\nq2\tteam\t1\nq2\tsoup\t2\n";

/// A folder with these files, `/` for folders in it.
fn folder(files: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, content) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
    folder
}

fn tiny() -> TempDir {
    folder(&[("corpus.jsonl", CORPUS), ("queries.jsonl", QUESTIONS), ("qrels.tsv", LABELS)])
}

fn options(budgets: &[u32]) -> EvalOptions {
    EvalOptions { recipe: "words".to_owned(), budgets: budgets.to_vec(), ..EvalOptions::default() }
}

async fn try_eval(
    set: &Path,
    options: &EvalOptions,
    answers: &mut Vec<EvalAnswer>,
) -> Result<EvalReport, EvalError> {
    let scratch = tempfile::tempdir().unwrap();
    let builder = || Engine::builder().recipe("words", WORDS);
    let mut watch = |event: EvalEvent<'_>| {
        if let EvalEvent::Answered { answer, .. } = event {
            answers.push(answer.clone());
        }
        Ok(())
    };
    run(set, options, scratch.path(), &builder, &mut watch).await
}

async fn eval(set: &Path, options: &EvalOptions) -> (EvalReport, Vec<EvalAnswer>) {
    let mut answers = Vec::new();
    let report = try_eval(set, options, &mut answers).await.unwrap();
    (report, answers)
}

/// Metrics to three digits for each budget: evidence, complete documents.
fn at(report: &EvalReport) -> Vec<String> {
    let shown = |at: &BudgetMetrics| {
        let mean = |metric| at.mean(metric).value;
        let (evidence, documents) = (mean(Metric::Evidence), mean(Metric::Documents));
        format!("{}: {evidence:.3} {documents:.3}", at.budget)
    };
    report.metrics.budgets.iter().map(shown).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn evidence_without_spans_is_counted_by_documents() {
    let set = tiny();
    let (report, answers) = eval(set.path(), &options(&[40, 12, 12])).await;
    // At 12 tokens the second question has room for the first of its two documents: 31 of 70
    // characters.
    assert_eq!(at(&report), ["12: 0.721 0.750", "40: 1.000 1.000"]);
    let EvalReport { metrics, warnings, ingest, scopes, kind, .. } = &report;
    assert_eq!((metrics.questions, *scopes, ingest.items), (2, 1, 4));
    assert_eq!((kind.as_str(), warnings.unlabelled, metrics.without_evidence), ("document", 1, 1));
    assert!(warnings.lines().is_empty(), "{warnings}");
    // Of the second question the lower grade stands first: (1 + 3 / log2 3) / (3 + 1 / log2 3).
    let log3 = 3.0_f64.log2();
    let expected = (1.0 + (1.0 + 3.0 / log3) / (3.0 + 1.0 / log3)) / 2.0;
    assert!((metrics.ndcg.value - expected).abs() < 1e-12, "{:?}", metrics.ndcg);
    assert!((metrics.recall.value - 1.0).abs() < 1e-12);
    assert!(metrics.budgets.iter().all(|at| at.tokens.value <= f64::from(at.budget.get())));
    let [first, second, third] = answers.as_slice() else { panic!("{answers:?}") };
    assert_eq!((first.id.as_str(), first.missing.as_slice()), ("q1", &[][..]));
    assert_eq!((third.id.as_str(), third.is_labelled, third.ndcg), ("q3", false, None));
    let [missing] = second.missing.as_slice() else { panic!("{second:?}") };
    assert_eq!((missing.document.as_str(), missing.rank), ("soup", Some(2)));
    assert_eq!((missing.passage, missing.at.as_slice()), (Some(2), &[Tokens::new(12)][..]));
    assert!(missing.why.starts_with("over budget: whole from "), "{}", missing.why);
}

#[tokio::test(flavor = "multi_thread")]
async fn spans_are_counted_by_characters() {
    // „é“ has two bytes, so bytes and characters differ after it.
    let corpus = r#"{"id": "a", "text": "Café: Anna leads the design team in Berlin."}
{"id": "b", "text": "Soup is served on Mondays."}
"#;
    let questions = r#"{"id": "q", "text": "design team soup"}"#;
    let labels = "q\ta\t1\nq\tb\t1\n";
    let check = |spans: &'static str, expected: &'static str| async move {
        let set = folder(&[
            ("corpus.jsonl", corpus),
            ("queries.jsonl", questions),
            ("qrels.tsv", labels),
            ("spans.tsv", spans),
        ]);
        let (report, answers) = eval(set.path(), &options(&[16, 100])).await;
        let spans = report.metrics.budgets.iter().map(|at| at.mean(Metric::Spans));
        let spans: Vec<String> = spans.map(|mean| format!("{:.3}", mean.value)).collect();
        assert_eq!(spans, [expected, "1.000"]);
        assert_eq!(answers[0].missing[0].document, "b");
        at(&report)
    };
    // "Anna leads" has nine characters, "Soup" four; with overlaps they count once.
    let bytes = "query-id\tdoc-id\tstart_char\tend_char\tstart_byte\tend_byte\n\
                 q\ta\t6\t16\t7\t17\nq\ta\t11\t16\t12\t17\nq\tb\t0\t4\t0\t4\n";
    assert_eq!(check(bytes, "0.667").await, ["16: 0.692 0.500", "100: 1.000 1.000"]);
    let characters = "doc-id\tquery-id\tend_char\tstart_char\na\tq\t16\t6\nb\tq\t4\t0\n";
    assert_eq!(check(characters, "0.500").await, ["16: 0.692 0.500", "100: 1.000 1.000"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_truncated_span_counts_in_part() {
    // One passage a document, cut where the budget ends.
    let set = folder(&[
        ("corpus.jsonl", r#"{"id": "a", "text": "Red rockets fly. Blue rockets fall."}"#),
        ("queries.jsonl", r#"{"id": "q", "text": "rockets"}"#),
        ("qrels.tsv", "q\ta\t1"),
        ("spans.tsv", "query-id\tdoc-id\tstart_byte\tend_byte\nq\ta\t0\t35\n"),
    ]);
    let scratch = tempfile::tempdir().unwrap();
    let cutting =
        WORDS.replace("order = \"rank\"", "order = \"rank\"\ncut = \"keep_start\"\nleast = 1");
    let builder = || Engine::builder().recipe("words", &cutting);
    let options = options(&[7, 50]);
    let mut watch = |_: EvalEvent<'_>| Ok(());
    let report = run(set.path(), &options, scratch.path(), &builder, &mut watch).await.unwrap();
    // 14 of 30 characters that are no blanks.
    assert_eq!(at(&report), ["7: 0.467 0.000", "50: 1.000 1.000"]);
}

/// Two conversations that use the same ids for different documents.
fn scoped() -> TempDir {
    folder(&[
        ("talks/one/corpus.jsonl", "{\"id\": \"1\", \"text\": \"The rocket starts in May.\"}"),
        ("talks/one/queries.jsonl", "{\"id\": \"q\", \"text\": \"rocket\"}"),
        ("talks/one/qrels.tsv", "q\t1\t1"),
        (
            "talks/two/corpus.jsonl",
            "{\"id\": \"1\", \"text\": \"Soup on Mondays.\"}\n{\"id\": \"2\", \"text\": \"Rice.\"}",
        ),
        ("talks/two/queries.jsonl", "{\"id\": \"q\", \"text\": \"rocket\"}\n"),
        ("talks/two/qrels.tsv", "q\t1\t1"),
        ("other/corpus.jsonl", CORPUS),
        ("other/queries.jsonl", QUESTIONS),
        ("other/qrels.tsv", LABELS),
        ("notes/readme.txt", "nothing to see"),
    ])
}

#[tokio::test(flavor = "multi_thread")]
async fn each_conversation_is_searched_on_its_own() {
    let all = scoped();
    let (report, answers) = eval(&all.path().join("talks"), &options(&[100])).await;
    // A document of one conversation does not answer the other.
    assert_eq!(at(&report), ["100: 0.500 0.500"]);
    assert_eq!((report.set.as_str(), report.scopes, report.ingest.items), ("talks", 2, 3));
    let scopes: Vec<&str> = answers.iter().map(|answer| answer.set.as_str()).collect();
    assert_eq!(scopes, ["talks/one", "talks/two"]);
    assert_eq!(answers[1].missing[0].why, "not found");
    let (report, _) = eval(all.path(), &options(&[100])).await;
    let prefix = format!("{}/", report.set);
    let sets: Vec<(&str, usize, usize)> = report
        .sets
        .iter()
        .map(|set| (set.set.strip_prefix(&prefix).unwrap(), set.metrics.questions, set.scopes))
        .collect();
    assert_eq!(sets, [("other", 2, 1), ("talks", 2, 2)]);
    let below = report.sets[1].sets.iter().map(|set| set.set.strip_prefix(&prefix).unwrap());
    let below: Vec<&str> = below.collect();
    assert_eq!(below, ["talks/one", "talks/two"]);
    assert_eq!((at(&report), report.metrics.questions), (vec!["100: 0.750 0.750".to_owned()], 4));
}

/// A report without times.
fn timeless(report: &EvalReport) -> Value {
    fn strip(value: &mut Value) {
        if let Value::Object(fields) = value {
            let times = ["latencyMs", "stages", "ingest", "ms"];
            fields.retain(|name, _| !times.contains(&name.as_str()));
            fields.values_mut().for_each(strip);
        }
    }
    let mut json = report.json();
    strip(&mut json);
    json
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_set_and_options_give_the_same_metrics() {
    let all = scoped();
    for recipe in ["words", "memory", "everything"] {
        let options = EvalOptions { recipe: recipe.to_owned(), ..options(&[64, 256]) };
        let (first, _) = eval(all.path(), &options).await;
        let (second, _) = eval(all.path(), &options).await;
        assert_eq!(timeless(&first), timeless(&second));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_json_has_every_metric() {
    let all = scoped();
    let (report, answers) = eval(all.path(), &options(&[64, 256])).await;
    let json = report.json();
    let conversations = &json["sets"][format!("{}/talks", report.set)];
    for json in [&json, conversations, &conversations["sets"][format!("{}/talks/two", report.set)]]
    {
        for key in ["ndcg10", "recall10", "queries", "scopes", "unlabelled"] {
            assert!(json[key].is_number(), "{key}: {json}");
        }
        for key in Metric::ALL.map(Metric::name).iter().chain(&["mustAll", "brokenPacks"]) {
            for budget in ["64", "256"] {
                let n = json["n"][key][budget].as_u64().unwrap();
                assert_eq!(json[key][budget].is_number(), n > 0, "{key}: {json}");
            }
        }
        assert!(json["tokens"]["64"].is_number() && json["broken"]["256"].is_number());
        for key in ["analyse", "embed", "collect", "measure", "rank", "pack"] {
            assert!(json["stages"][key]["p95"].is_number(), "{key}: {json}");
        }
        assert!(json["latencyMs"]["p50"].is_number() && json["latencyMs"]["p95"].is_number());
        assert!(
            json["ingest"]["items"].is_number() && json["ingest"]["itemsPerSecond"].is_number()
        );
        assert_eq!((&json["recipe"], &json["kind"]), (&"words".into(), &"document".into()));
        assert_eq!((&json["candidates"], &json["offTopic"]), (&Value::Null, &Value::Null));
    }
    assert_eq!(
        (&conversations["evidence"]["64"], &conversations["n"]["evidence"]["64"]),
        (&0.5.into(), &2.into())
    );
    assert_eq!(json["withoutEvidence"]["queries"], 1);
    let line = answers.last().unwrap().json();
    let expected = serde_json::json!([
        { "document": "1", "rank": null, "passage": null, "at": [64, 256], "why": "not found" }
    ]);
    assert_eq!(line["missing"], expected);
    assert!(line["set"].as_str().unwrap().ends_with("/talks/two"), "{line}");
    let keys = |line: &Value| -> String {
        let pack = line["packs"]["64"].as_object().unwrap();
        pack.keys().map(String::as_str).collect::<Vec<_>>().join(" ")
    };
    let all = "answer evidence spans documents any named must whole clutter clean broken tokens ms";
    assert_eq!((&line["labelled"], keys(&line).as_str()), (&true.into(), all));
    let line = answers.iter().find(|answer| answer.id == "q3").unwrap().json();
    let few = "whole clutter broken tokens ms";
    assert_eq!((&line["labelled"], keys(&line).as_str()), (&false.into(), few));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_limit_samples_questions_evenly() {
    let lines = |line: &dyn Fn(u32) -> String| -> String { (0..10).map(line).collect() };
    let questions = lines(&|n| format!("{{\"id\": \"q{n}\", \"text\": \"rocket\"}}\n"));
    let labels = lines(&|n| format!("q{n}\trocket\t1\n"));
    let files = [("corpus.jsonl", CORPUS), ("queries.jsonl", &questions), ("qrels.tsv", &labels)];
    let one = folder(&files);
    let check = |limit: usize, expected: &'static [&'static str]| {
        let one = one.path();
        async move {
            let options = EvalOptions { limit: Some(limit), ..options(&[50]) };
            let (report, answers) = eval(one, &options).await;
            let asked: Vec<&str> = answers.iter().map(|answer| answer.id.as_str()).collect();
            assert_eq!((asked.as_slice(), report.metrics.questions), (expected, expected.len()));
        }
    };
    check(1, &["q9"]).await;
    check(3, &["q3", "q6", "q9"]).await;
    check(5, &["q1", "q3", "q5", "q7", "q9"]).await;
    let all = ["q0", "q1", "q2", "q3", "q4", "q5", "q6", "q7", "q8", "q9"];
    check(10, &["q0", "q1", "q2", "q3", "q4", "q5", "q6", "q7", "q8", "q9"]).await;
    assert_eq!(all.len(), 10);
}

#[tokio::test(flavor = "multi_thread")]
async fn documents_in_meta_sources_do_not_answer() {
    let questions = r#"{"id": "q", "text": "rocket", "meta": {"sources": ["rocket", "soup"]}}
{"id": "p", "text": "rocket"}"#;
    let files = [
        ("corpus.jsonl", CORPUS),
        ("queries.jsonl", questions),
        ("qrels.tsv", "q\toffice\t1\nq\tsoup\t1\np\trocket\t1"),
    ];
    let (report, answers) = eval(folder(&files).path(), &options(&[200])).await;
    assert_eq!(answers[0].missing.len(), 1, "{answers:?}");
    assert_eq!(at(&report), ["200: 0.500 0.500"]);
    let expected = "1 labels are of documents in meta.sources; ignored \
                    (first: qrels.tsv, line 2: \"soup\")";
    assert_eq!(report.warnings.lines(), [expected]);
}

#[tokio::test(flavor = "multi_thread")]
async fn unmatched_labels_are_counted_and_ignored() {
    let labels = "query-id\tcorpus-id\tscore\nq1\trocket\t1\nq1\trocket\t1\nq1\tmoon\t1\n\
                  q9\tsoup\t1\nq8\tsoup\t1\nq2\tmoon\t3\n";
    let corpus = format!(
        "{CORPUS}{}",
        r#"{"id": "dated", "text": "Never mind.", "meta": {"time": "a while ago"}}"#
    );
    let files = [("corpus.jsonl", &*corpus), ("queries.jsonl", QUESTIONS), ("qrels.tsv", labels)];
    let (report, _) = eval(folder(&files).path(), &options(&[100])).await;
    assert_eq!((report.metrics.questions, report.warnings.unlabelled), (1, 2));
    assert_eq!(report.metrics.without_evidence, 2);
    assert_eq!(
        report.warnings.lines(),
        [
            "2 labels name an unknown question; ignored (first: qrels.tsv, line 5: \"q9\")",
            "2 labels name an unknown document; ignored (first: qrels.tsv, line 4: \"moon\")",
            "1 labels are duplicates (first: qrels.tsv, line 3: \"rocket\")",
            "1 documents have an unreadable date; treated as undated \
             (first: corpus.jsonl, line 5: \"time\")",
        ]
    );
    let json = report.json();
    assert_eq!((&json["unknownQueries"], &json["unknownDocuments"]), (&2.into(), &2.into()));
}

#[tokio::test(flavor = "multi_thread")]
#[expect(clippy::too_many_lines, reason = "one table of bad inputs")]
async fn errors_in_a_set_name_file_line_and_field() {
    async fn check(changed: &[(&str, &str)], expected: &str) {
        let mut files =
            vec![("corpus.jsonl", CORPUS), ("queries.jsonl", QUESTIONS), ("qrels.tsv", LABELS)];
        files.extend(changed);
        let set = folder(&files);
        let error = try_eval(set.path(), &options(&[50]), &mut Vec::new()).await.unwrap_err();
        assert!(error.to_string().ends_with(expected), "{error}\n{expected}");
    }
    let header = "query-id\tdoc-id\tstart_byte\tend_byte\n";
    let span = |row: &str| format!("{header}{row}");
    for (file, content, expected) in [
        ("corpus.jsonl", "", "corpus.jsonl: there is no document in it"),
        (
            "corpus.jsonl",
            "\n[1]",
            "corpus.jsonl, line 2: not a JSON object: invalid type: sequence, expected a map (at character 0)",
        ),
        ("corpus.jsonl", "{\"text\": \"x\"}", "corpus.jsonl, line 1: id: there is no such field"),
        (
            "corpus.jsonl",
            "{\"id\": 7, \"text\": \"x\"}",
            "line 1: id: has to be text, not a number",
        ),
        ("corpus.jsonl", "{\"id\": \"a\", \"text\": \" \"}", "line 1: text: is empty"),
        (
            "corpus.jsonl",
            "{\"id\": \"a\", \"text\": \"x\", \"meta\": []}",
            "line 1: meta: has to be an object, not a list",
        ),
        (
            "corpus.jsonl",
            "{\"id\": \"a\\u0007\", \"text\": \"x\"}",
            "line 1: id: a name must not hold the control character U+0007 (at byte 1)",
        ),
        (
            "corpus.jsonl",
            "{\"id\": \"a\", \"text\": \"x\"}\n{\"id\": \"a\", \"text\": \"y\"}",
            "line 2: id: \"a\" is on line 1 already",
        ),
        (
            "queries.jsonl",
            "{\"id\": \"q1\"}",
            "queries.jsonl, line 1: text: there is no such field",
        ),
        (
            "queries.jsonl",
            "{\"id\": \"q\", \"text\": \"x\"}\n{\"id\": \"q\", \"text\": \"y\"}",
            "line 2: id: \"q\" is on line 1 already",
        ),
        (
            "queries.jsonl",
            "{\"id\": \"q\", \"text\": \"x\", \"meta\": {\"sources\": \"a\"}}",
            "line 1: meta.sources: has to be a list of ids",
        ),
        (
            "queries.jsonl",
            "{\"id\": \"q\", \"text\": \"x\", \"meta\": {\"must\": [\"a\", \" \"]}}",
            "line 1: meta.must: \" \" is not a text to look for",
        ),
        (
            "queries.jsonl",
            "{\"id\": \"q\", \"text\": \"x\", \"meta\": {\"answer\": {}}}",
            "line 1: meta.answer: {} is neither text nor a number",
        ),
        (
            "qrels.tsv",
            "q1\trocket\t1\nq1 rocket 1",
            "qrels.tsv, line 2: 1 tab-separated fields; 3 are needed",
        ),
        (
            "qrels.tsv",
            "q1\trocket\t1\nq1\tsoup\tyes",
            "qrels.tsv, line 2: grade: \"yes\" is not a whole number",
        ),
        ("qrels.tsv", "q1\trocket\t99", "qrels.tsv, line 1: grade: 99 is over the maximum of 20"),
        (
            "qrels.tsv",
            "q1\trocket\t1\nq1\trocket\t2",
            "qrels.tsv, line 2: grade: 2, but 1 on line 1",
        ),
        (
            "spans.tsv",
            "query-id\tstart_byte\tend_byte",
            "spans.tsv, line 1: doc-id: the header has no such column",
        ),
        ("spans.tsv", &span("q1\trocket\tx\t2"), "spans.tsv, line 2: \"x\" is not an offset"),
        (
            "spans.tsv",
            &span("q1\trocket\t2\t2"),
            "spans.tsv, line 2: the span from 2 to 2 is empty",
        ),
        ("spans.tsv", &span("q1\trocket\t2"), "spans.tsv, line 2: there are only 3 fields"),
        (
            "spans.tsv",
            &span("q1\trocket\t2\t99"),
            "spans.tsv, line 2: 2 to 99 are not a part of \"rocket\", which has 25 bytes",
        ),
    ] {
        check(&[(file, content)], expected).await;
    }
    let none = "no row of qrels.tsv with a grade above 0 fits, and none has meta.must";
    check(&[("qrels.tsv", "q3\trocket\t0")], none).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unusable_folder_or_option_is_refused() {
    async fn check(files: &[(&str, &str)], options: &EvalOptions, expected: &str) {
        let set = folder(files);
        let error = try_eval(set.path(), options, &mut Vec::new()).await.unwrap_err();
        assert!(error.to_string().contains(expected), "{error}\n{expected}");
    }
    let good = [("corpus.jsonl", CORPUS), ("queries.jsonl", QUESTIONS), ("qrels.tsv", LABELS)];
    check(&[], &options(&[50]), "there is no corpus.jsonl in it, nor in a folder below it").await;
    check(&good[..2], &options(&[50]), "there is no qrels.tsv; a set has corpus.jsonl or ").await;
    check(&good[1..], &options(&[50]), "there is no corpus.jsonl; a set has").await;
    check(&good, &options(&[]), "budgets: at least one is needed, and each must be above 0").await;
    check(&good, &options(&[0]), "budgets: at least one is needed").await;
    let none = EvalOptions { limit: Some(0), ..options(&[50]) };
    check(&good, &none, "limit: must be above 0").await;
    let many = EvalOptions { candidates: Some(1_001), ..options(&[50]) };
    check(&good, &many, "candidates: 1001 is not between 1 and 1000").await;
    let unknown = EvalOptions { recipe: "wurds".to_owned(), ..options(&[50]) };
    check(&good, &unknown, "there is no recipe \"wurds\"; there are ").await;
    let missing = try_eval(Path::new("/no/such/set"), &options(&[50]), &mut Vec::new()).await;
    assert_eq!(missing.unwrap_err().to_string(), "cannot read /no/such/set");
}

#[tokio::test(flavor = "multi_thread")]
async fn documents_get_the_kind_that_the_recipe_searches() {
    for (recipe, expected) in [("memory", "memory"), ("prime", "file"), ("everything", "document")]
    {
        let options = EvalOptions { recipe: recipe.to_owned(), ..options(&[200]) };
        let (report, _) = eval(tiny().path(), &options).await;
        assert_eq!(
            (report.kind.as_str(), at(&report)),
            (expected, vec!["200: 1.000 1.000".into()])
        );
    }
}

/// A folder of files in place of lines, and questions with strings in place of documents.
#[tokio::test(flavor = "multi_thread")]
async fn a_folder_of_files_is_ingested_like_add_does() {
    let page = "# Rockets\n\nA rocket starts in May.\n\n## Fuel\n\nIt burns\nkerosene.\n";
    let questions = r###"{"id": "q1", "text": "rocket fuel", "meta": {"must": ["burns kerosene", "## Fuel"]}}
{"id": "q2", "text": "rocket", "meta": {"answer": "May"}}
{"id": "q3", "text": "parking"}"###;
    let files = [
        ("corpus/space/rocket.md", page),
        ("corpus/soup.py", "# Soup on Mondays\n"),
        ("corpus/.hidden.md", "rocket fuel"),
        ("queries.jsonl", questions),
    ];
    let set = folder(&files);
    let (report, answers) = eval(set.path(), &options(&[300])).await;
    assert_eq!((report.ingest.items, report.metrics.questions), (2, 1));
    let json = answers[0].json();
    assert_eq!((&json["packs"]["300"]["must"], &json["ndcg10"]), (&1.0.into(), &Value::Null));
    assert_eq!(report.json()["mustAll"]["300"], 1.0);

    let labelled = folder(&[&files[..], &[("qrels.tsv", "q2\tspace/rocket.md\t1")]].concat());
    let (report, answers) = eval(labelled.path(), &options(&[300])).await;
    assert_eq!((report.metrics.questions, report.metrics.without_evidence), (2, 1));
    let pack = &answers[1].json()["packs"]["300"];
    for (key, expected) in [("answer", 1.0), ("evidence", 1.0), ("documents", 1.0), ("whole", 1.0)]
    {
        assert_eq!(pack[key], expected, "{key}: {pack}");
    }
    assert_eq!((&pack["named"], &pack["broken"]), (&1.0.into(), &0.into()), "{pack}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_path_of_a_line_selects_its_chunker() {
    let page = "# One\n\nRed rockets.\n\n# Two\n\nBlue rockets.\n";
    let line = |more: &str| {
        let text = serde_json::json!(page);
        format!("{{\"id\": \"a\", \"text\": {text}{more}}}")
    };
    for more in ["", ", \"path\": \"a.md\"", ", \"meta\": {\"file\": \"docs/a.md\"}"] {
        let files = [
            ("corpus.jsonl", &*line(more)),
            ("queries.jsonl", "{\"id\": \"q\", \"text\": \"blue rockets\"}"),
            ("qrels.tsv", "q\ta\t1"),
        ];
        let (report, _) = eval(folder(&files).path(), &options(&[300])).await;
        assert_eq!(at(&report), ["300: 1.000 1.000"], "{more}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn off_topic_questions_are_spread_over_all_corpora() {
    let all = scoped();
    let other = folder(&[(
        "deep/queries.jsonl",
        "{\"id\": \"q1\", \"text\": \"rocket\"}\n{\"id\": \"q2\", \"text\": \"parking\"}\n\
         {\"id\": \"q3\", \"text\": \"rocket\"}",
    )]);
    let off_topic = Some(other.path().to_owned());
    let options = EvalOptions { off_topic, ..options(&[100]) };
    let (report, answers) = eval(&all.path().join("talks"), &options).await;
    // Both about rockets go to the first conversation, which knows one.
    let off_topic = report.off_topic.as_ref().unwrap();
    assert_eq!((off_topic.questions, answers.len()), (3, 2));
    let (_, packed, tokens) = off_topic.budgets[0];
    assert!((packed.value - 2.0 / 3.0).abs() < 1e-9 && tokens.value > 0.0, "{off_topic:?}");
    assert_eq!(report.sets[1].json()["offTopic"]["packed"]["100"], 0.0);
    assert_eq!(report.json()["offTopic"]["queries"], 3);
    let empty = EvalOptions { off_topic: Some(all.path().join("notes")), ..options };
    let error = try_eval(all.path(), &empty, &mut Vec::new()).await.unwrap_err();
    assert!(error.to_string().contains("there is no question in a queries.jsonl"), "{error}");
}
