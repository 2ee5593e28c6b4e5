//! Reads packs of other systems from a file and measures them with the same code.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;
use std::time::Duration;

use haversack_core::units::Tokens;
use serde_json::Value;

use super::answer::{EvalAnswer, MeasuredPack};
use super::cover::Cover;
use super::error::EvalError;
use super::library::TextLibrary;
use super::question::EvalQuestion;
use super::rows::{JsonRow, RowFile};
use super::ruler::PackText;
use super::scope::EvalScope;
use super::spans::OffsetUnit;

/// One line of the file, checked.
struct PackLine {
    text: String,
    tokens: Tokens,
    time: Duration,
    ranking: Vec<String>,
    parts: Vec<(String, Range<usize>)>,
}

/// The packs of one question.
#[derive(Default)]
struct QuestionPacks {
    /// By budget.
    packs: BTreeMap<Tokens, (u64, MeasuredPack)>,
    /// The ranking on its first line.
    ranking: Vec<String>,
}

/// Measures the packs in a file. Returns for each scope an answer to each question. Lines for other
/// questions or budgets are ignored.
pub(super) fn measure_file(
    path: &Path,
    scopes: &[&EvalScope],
    budgets: &[Tokens],
) -> Result<Vec<Vec<EvalAnswer>>, EvalError> {
    let mut wanted: BTreeMap<(&str, &str), (usize, &EvalQuestion)> = BTreeMap::new();
    for (scope, number) in scopes.iter().zip(0..) {
        for question in scope.questions.iter().chain(&scope.unlabelled) {
            wanted.insert((&scope.name, &question.id), (number, question));
        }
    }
    let mut libraries: Vec<Option<TextLibrary>> = scopes.iter().map(|_| None).collect();
    let mut read: BTreeMap<(usize, String), QuestionPacks> = BTreeMap::new();
    let mut rows = RowFile::open(path)?;
    while let Some(mut object) = rows.object()? {
        let (set, id) = (object.text("set")?, object.text("id")?);
        let budget = object.tokens("budget")?;
        let Some(&(number, question)) = wanted.get(&(set.as_str(), id.as_str())) else { continue };
        if !budgets.contains(&budget) {
            continue;
        }
        let library = match &mut libraries[number] {
            Some(library) => library,
            empty => empty.insert(TextLibrary::read(&scopes[number].corpus)?),
        };
        let line = PackLine::of(&mut object, library)?;
        let pack = PackText {
            budget,
            text: &line.text,
            tokens: line.tokens,
            time: line.time,
            steps: None,
            cover: Cover::of(line.parts),
        };
        let measured = MeasuredPack::of(&pack, question, library);
        let own = read.entry((number, id)).or_default();
        if own.packs.is_empty() {
            own.ranking = line.ranking;
        }
        if let Some((before, _)) = own.packs.insert(budget, (object.line, measured)) {
            let what = format!(
                "id: {:?} with a budget of {budget} is on line {before} already",
                question.id
            );
            return Err(object.error(what));
        }
    }
    let answers = scopes.iter().zip(0..).map(|(scope, number)| {
        let questions = scope.questions.iter().chain(&scope.unlabelled);
        let answers = questions.filter_map(|question| {
            let own = read.remove(&(number, question.id.clone())).unwrap_or_default();
            answer(path, scope, question, (own, budgets)).transpose()
        });
        answers.collect()
    });
    answers.collect()
}

/// The answer to a question; `None` when it is unlabelled and lacks a pack.
fn answer(
    path: &Path,
    scope: &EvalScope,
    question: &EvalQuestion,
    (read, budgets): (QuestionPacks, &[Tokens]),
) -> Result<Option<EvalAnswer>, EvalError> {
    if let Some(missing) = budgets.iter().find(|budget| !read.packs.contains_key(budget)) {
        if !question.is_labelled() {
            return Ok(None);
        }
        let what = format!(
            "there is no pack of set {:?}, id {:?}, budget {missing}",
            scope.name, question.id
        );
        return Err(EvalError::folder(path, what));
    }
    let ranking: Vec<&str> = read.ranking.iter().map(String::as_str).collect();
    let measured = read.packs.into_values().map(|(_, measured)| measured).collect();
    let answer = EvalAnswer::from_measured(
        &scope.name,
        question,
        (&ranking, measured),
        &|document, _, _| {
            let is_found = ranking.contains(&document);
            (None, if is_found { "not all of it is in" } else { "not found" }.to_owned())
        },
    );
    Ok(Some(answer))
}

impl PackLine {
    fn of(object: &mut JsonRow, library: &TextLibrary) -> Result<PackLine, EvalError> {
        let Some(text) = object.optional("text")? else {
            return Err(object.error("text: there is no such field"));
        };
        let tokens = object.tokens("tokens")?;
        let ms = object.value("ms");
        let time = ms.as_f64().and_then(|ms| Duration::try_from_secs_f64(ms / 1e3).ok());
        let time = time.ok_or_else(|| object.error(format!("ms: {ms} is not a time")))?;
        let (ranking, parts) = (object.list("ranking")?, object.list("parts")?);
        let ranking = ranking.iter().zip(0..).map(|(document, place)| {
            let field = format!("ranking[{place}]");
            document_id(object, &field, document, library).map(str::to_owned)
        });
        let ranking = ranking.collect::<Result<_, _>>()?;
        let parts =
            parts.iter().zip(0..).map(|(one, place)| document_range(object, one, place, library));
        let parts = parts.collect::<Result<_, _>>()?;
        Ok(PackLine { text, tokens, time, ranking, parts })
    }
}

/// The id in a field, checked against the corpus.
fn document_id<'v>(
    object: &JsonRow,
    field: &str,
    document: &'v Value,
    library: &TextLibrary,
) -> Result<&'v str, EvalError> {
    match document.as_str() {
        Some(id) if library.get(id).is_some() => Ok(id),
        Some(id) => Err(object.error(format!("{field}: there is no document {id:?}"))),
        None => Err(object.error(format!("{field}: {document} is not the id of a document"))),
    }
}

/// A part of a document, converted from characters to bytes.
fn document_range(
    object: &JsonRow,
    part: &Value,
    place: usize,
    library: &TextLibrary,
) -> Result<(String, Range<usize>), EvalError> {
    let field = |name: &str| format!("parts[{place}].{name}");
    let id = document_id(object, &field("doc"), &part["doc"], library)?;
    let number = |name: &str| {
        let value = &part[name];
        let number = value.as_u64().and_then(|number| usize::try_from(number).ok());
        number.ok_or_else(|| object.error(format!("{}: {value} is not an offset", field(name))))
    };
    let range = number("start")?..number("end")?;
    let body = library.get(id).map_or("", |text| text.body.as_str());
    let bytes = OffsetUnit::Characters.bytes(body, &range).ok_or_else(|| {
        let what = format!(
            "{}: {} to {} are not a part of {id:?}, which has {} characters",
            field("end"),
            range.start,
            range.end,
            body.chars().count()
        );
        object.error(what)
    })?;
    Ok((id.to_owned(), bytes))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use serde_json::json;
    use tempfile::TempDir;

    use super::super::{EvalAnswer, EvalEvent, EvalOptions, EvalReport, Metric, run_packs};
    use super::*;

    fn set() -> TempDir {
        let folder = tempfile::tempdir().unwrap();
        let set = folder.path().join("set");
        fs::create_dir(&set).unwrap();
        for (name, content) in [
            (
                "corpus.jsonl",
                "{\"id\": \"a\", \"text\": \"Café: Anna leads.\"}\n{\"id\": \"b\", \"text\": \"Soup.\"}",
            ),
            (
                "queries.jsonl",
                "{\"id\": \"q1\", \"text\": \"who\", \"meta\": {\"answer\": \"Anna\"}}\n\
                 {\"id\": \"q2\", \"text\": \"what\"}\n{\"id\": \"q3\", \"text\": \"why\"}",
            ),
            ("qrels.tsv", "q1\ta\t1\nq2\tb\t1"),
        ] {
            fs::write(set.join(name), content).unwrap();
        }
        folder
    }

    fn line(id: &str, budget: u32, text: &str, parts: &Value) -> Value {
        json!({
            "set": "set", "id": id, "budget": budget, "text": text, "tokens": 7, "ms": 1.5,
            "ranking": ["b", "a"], "parts": parts,
        })
    }

    fn run(lines: &[Value], answers: &mut Vec<EvalAnswer>) -> Result<EvalReport, EvalError> {
        let folder = set();
        let file = folder.path().join("packs.jsonl");
        let lines: Vec<String> = lines.iter().map(Value::to_string).collect();
        fs::write(&file, lines.join("\n")).unwrap();
        let options = EvalOptions { budgets: vec![20, 10], ..EvalOptions::default() };
        let mut watch = |event: EvalEvent<'_>| {
            if let EvalEvent::Answered { answer, .. } = event {
                answers.push(answer.clone());
            }
            Ok(())
        };
        run_packs(&folder.path().join("set"), &file, &options, &mut watch)
    }

    /// Valid packs for all questions.
    fn good() -> Vec<Value> {
        let anna = json!([{ "doc": "a", "start": 6, "end": 17 }]);
        let soup = json!([{ "doc": "b", "start": 0, "end": 5 }]);
        vec![
            line("q2", 20, "Soup.", &soup),
            line("q1", 20, "Anna leads.", &anna),
            line("q1", 10, "leads", &json!([{ "doc": "a", "start": 11, "end": 16 }])),
            line("q2", 10, "", &json!([])),
            line("q9", 10, "of another question", &json!("ignored")),
            line("q1", 99, "of another budget", &json!("ignored")),
        ]
    }

    #[test]
    fn packs_are_measured_by_their_characters() {
        let mut answers = Vec::new();
        let report = run(&good(), &mut answers).unwrap();
        let mean = |at: usize, metric| report.metrics.budgets[at].mean(metric).value;
        // "Café: Anna leads." has 15 characters of 16 bytes, "Anna leads." ten.
        assert!((mean(1, Metric::Evidence) - (10.0 / 16.0 + 1.0) / 2.0).abs() < 1e-9);
        assert_eq!((mean(0, Metric::Answer), mean(1, Metric::Answer)), (0.0, 1.0));
        assert_eq!((mean(0, Metric::Documents), mean(1, Metric::Documents)), (0.0, 0.5));
        assert_eq!((report.recipe.as_deref(), report.metrics.questions), (None, 2));
        assert_eq!(report.metrics.latency.p50, Duration::from_micros(1_500));
        assert!(report.metrics.steps.is_empty());
        assert_eq!(report.metrics.without_evidence, 0, "it has no packs");
        let missing = &answers[0].missing[0];
        assert_eq!((missing.document.as_str(), missing.rank), ("a", Some(2)));
        assert_eq!(missing.why, "not all of it is in");
    }

    #[test]
    fn packs_for_unlabelled_questions_are_optional() {
        let mut lines = good();
        lines.extend([line("q3", 10, "", &json!([])), line("q3", 20, "", &json!([]))]);
        let report = run(&lines, &mut Vec::new()).unwrap();
        assert_eq!((report.metrics.without_evidence, report.metrics.questions), (1, 2));
    }

    #[test]
    fn errors_in_packs_name_file_line_and_field() {
        let check = |number: usize, changed: &dyn Fn(&mut Value), expected: &str| {
            let mut lines = good();
            changed(&mut lines[number]);
            let error = run(&lines, &mut Vec::new()).unwrap_err().to_string();
            assert!(error.ends_with(expected), "{error}\n{expected}");
        };
        let parts = |value: Value| move |line: &mut Value| line["parts"] = json!([value]);
        let set =
            |name: &'static str, value: Value| move |line: &mut Value| line[name] = value.clone();
        check(
            1,
            &set("id", json!("q7")),
            "packs.jsonl: there is no pack of set \"set\", id \"q1\", budget 20",
        );
        check(1, &set("id", json!(7)), "packs.jsonl, line 2: id: has to be text, not a number");
        check(1, &set("budget", json!("1k")), "line 2: budget: \"1k\" is not a number of tokens");
        check(1, &set("text", Value::Null), "line 2: text: there is no such field");
        check(1, &set("tokens", json!(-1)), "line 2: tokens: -1 is not a number of tokens");
        check(1, &set("ms", json!(-1)), "line 2: ms: -1 is not a time");
        check(1, &set("ranking", json!("a")), "line 2: ranking: has to be a list, not text");
        check(1, &set("ranking", json!(["z"])), "line 2: ranking[0]: there is no document \"z\"");
        let unknown = parts(json!({ "doc": "z", "start": 0, "end": 1 }));
        check(0, &unknown, "packs.jsonl, line 1: parts[0].doc: there is no document \"z\"");
        check(0, &parts(json!(7)), "line 1: parts[0].doc: null is not the id of a document");
        let open = parts(json!({ "doc": "b", "start": 0 }));
        check(0, &open, "line 1: parts[0].end: null is not an offset");
        let outside = parts(json!({ "doc": "b", "start": 2, "end": 6 }));
        let expected =
            "line 1: parts[0].end: 2 to 6 are not a part of \"b\", which has 5 characters";
        check(0, &outside, expected);
        check(
            2,
            &set("budget", json!(20)),
            "line 3: id: \"q1\" with a budget of 20 is on line 2 already",
        );
    }
}
