//! Reads questions with the contexts that another system gave, and what is known about them.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::Path;

use haversack_core::query::QUERY_BYTES_MAX;
use serde_json::{Map, Value};

use super::ReadAs;
use super::shapes::{CONTEXT_FIELDS, ContextPassage, read_context, source};
use crate::eval::{EvalError, Gold, RowFile, collapse_whitespace};

/// Most questions of a file.
pub const QUESTIONS_MAX: usize = 10_000;

/// Most passages of one context, and most bytes of all together.
const PASSAGES_MAX: usize = 1_000;
const CONTEXT_BYTES_MAX: usize = 4 << 20;

/// Most bytes of a file that is not read line by line: a JSON list, or separated values.
const FILE_BYTES_MAX: u64 = 64 << 20;

/// Names of the fields of a question.
const QUESTION_FIELDS: [&str; 6] = ["question", "query", "user_input", "input", "prompt", "text"];
const ANSWER_FIELDS: [&str; 5] =
    ["expected_answer", "ground_truth", "ground_truths", "reference", "answer"];
const EVIDENCE_FIELDS: [&str; 3] = ["evidence", "reference_contexts", "expected_contexts"];

/// A question, the context that another system gave for it, and labels.
#[derive(Debug, Clone)]
pub struct ShadowQuestion {
    /// The line that it stands on, or its place in a list, from 1.
    pub line: u64,
    /// Its id; the line if it has none.
    pub id: String,
    /// The question.
    pub text: String,
    /// The context.
    pub context: Vec<ContextPassage>,
    /// The time that the other system took, in milliseconds.
    pub ms: Option<f64>,
    /// Who asks, if the line says so.
    pub asker: Option<ReadAs>,
    pub(super) labels: ShadowLabels,
}

/// What is known about the right context.
#[derive(Debug, Clone, Default)]
pub(super) struct ShadowLabels {
    pub(super) gold: Gold,
    /// Texts that the context must contain, with white space collapsed.
    pub(super) must: Vec<String>,
    pub(super) evidence: Vec<GivenEvidence>,
}

/// Evidence as the file has it: a text, a source, or a text of a source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct GivenEvidence {
    pub(super) text: Option<String>,
    pub(super) source: Option<String>,
}

/// Reads a file of questions: lines of JSON, a JSON list (`.json`), or separated values (`.csv`,
/// `.tsv`).
///
/// # Errors
/// When the file cannot be read, or a line is wrong; the error names line and field.
pub fn read_questions(path: &Path) -> Result<Vec<ShadowQuestion>, EvalError> {
    let ending = path.extension().map(|ending| ending.to_string_lossy().to_ascii_lowercase());
    let mut questions = QuestionList { path, questions: Vec::new(), lines: BTreeMap::new() };
    match ending.as_deref() {
        Some("json") => read_list(path, &mut questions)?,
        Some("csv") => read_separated(path, b',', &mut questions)?,
        Some("tsv") => read_separated(path, b'\t', &mut questions)?,
        _ => {
            let mut rows = RowFile::open(path)?;
            while let Some(row) = rows.object()? {
                questions.add(row.line, row.into_fields())?;
            }
        }
    }
    if questions.questions.is_empty() {
        return Err(EvalError::folder(path, "there is no question in it"));
    }
    Ok(questions.questions)
}

fn read_list(path: &Path, questions: &mut QuestionList<'_>) -> Result<(), EvalError> {
    let list: Vec<Value> = serde_json::from_slice(&read_bytes(path)?).map_err(|error| {
        EvalError::folder(path, format!("is not a JSON list of questions: {error}"))
    })?;
    for (entry, line) in list.into_iter().zip(1..) {
        match entry {
            Value::Object(fields) => questions.add(line, fields)?,
            other => return Err(EvalError::line(path, line, format!("{other} is no object"))),
        }
    }
    Ok(())
}

/// Reads separated values. A cell that is JSON stands for what it says.
fn read_separated(
    path: &Path,
    separator: u8,
    questions: &mut QuestionList<'_>,
) -> Result<(), EvalError> {
    let bytes = read_bytes(path)?;
    let bytes = bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(&bytes);
    let mut rows = csv::ReaderBuilder::new().delimiter(separator).from_reader(bytes);
    let wrong = |error: &csv::Error| {
        let line = error.position().map_or(1, csv::Position::line);
        EvalError::line(path, line, error.to_string())
    };
    let names = rows.headers().map_err(|error| wrong(&error))?.clone();
    for row in rows.records() {
        let row = row.map_err(|error| wrong(&error))?;
        let line = row.position().map_or(1, csv::Position::line);
        let cells = names.iter().zip(&row).filter(|(_, cell)| !cell.is_empty());
        let fields = cells.map(|(name, cell)| (name.trim().to_owned(), cell_value(cell)));
        questions.add(line, fields.collect())?;
    }
    Ok(())
}

fn cell_value(cell: &str) -> Value {
    let is_json = cell.trim_start().starts_with(['[', '{']);
    let value = if is_json { serde_json::from_str(cell).ok() } else { None };
    value.unwrap_or_else(|| Value::String(cell.to_owned()))
}

fn read_bytes(path: &Path) -> Result<Vec<u8>, EvalError> {
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(EvalError::read(path))?;
    file.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes).map_err(EvalError::read(path))?;
    if bytes.len() as u64 > FILE_BYTES_MAX {
        let what = format!("more than {FILE_BYTES_MAX} bytes; lines of JSON (.jsonl) may be more");
        return Err(EvalError::folder(path, what));
    }
    Ok(bytes)
}

/// The questions read so far, and the line of each id.
struct QuestionList<'p> {
    path: &'p Path,
    questions: Vec<ShadowQuestion>,
    lines: BTreeMap<String, u64>,
}

impl QuestionList<'_> {
    fn add(&mut self, line: u64, fields: Map<String, Value>) -> Result<(), EvalError> {
        let wrong = |what| EvalError::line(self.path, line, what);
        if self.questions.len() >= QUESTIONS_MAX {
            let what = format!("more than {QUESTIONS_MAX} questions; split the file");
            return Err(wrong(what));
        }
        let question = ShadowQuestion::of(line, fields).map_err(wrong)?;
        if let Some(before) = self.lines.insert(question.id.clone(), line) {
            return Err(wrong(format!("id: {:?} is on line {before} already", question.id)));
        }
        self.questions.push(question);
        Ok(())
    }
}

impl ShadowQuestion {
    fn of(line: u64, mut fields: Map<String, Value>) -> Result<ShadowQuestion, String> {
        let (name, text) = first(&mut fields, &QUESTION_FIELDS)
            .ok_or_else(|| missing("question", &QUESTION_FIELDS))?;
        let text = required_text(name, &text)?;
        if text.len() > QUERY_BYTES_MAX {
            let bytes = text.len();
            return Err(format!("{name}: {bytes} bytes are over the limit of {QUERY_BYTES_MAX}"));
        }
        let (name, context) = first(&mut fields, &CONTEXT_FIELDS)
            .ok_or_else(|| missing("context", &CONTEXT_FIELDS))?;
        let context = read_context(name, &context)?;
        check_size(name, &context)?;
        let id = match fields.remove("id") {
            None | Some(Value::Null) => line.to_string(),
            Some(Value::Number(number)) => number.to_string(),
            Some(id) => required_text("id", &id)?,
        };
        let labels = ShadowLabels::of(&mut fields, &text)?;
        let ms = milliseconds(&mut fields)?;
        let asker = asker(&mut fields)?;
        Ok(ShadowQuestion { line, id, text, context, ms, asker, labels })
    }

    /// Whether labels say what a context must contain.
    #[must_use]
    pub fn is_labelled(&self) -> bool {
        let labels = &self.labels;
        labels.gold != Gold::None || !labels.must.is_empty() || !labels.evidence.is_empty()
    }
}

fn check_size(name: &str, context: &[ContextPassage]) -> Result<(), String> {
    if context.len() > PASSAGES_MAX {
        let count = context.len();
        return Err(format!("{name}: {count} passages are over the limit of {PASSAGES_MAX}"));
    }
    let bytes: usize = context.iter().map(|passage| passage.text.len()).sum();
    if bytes > CONTEXT_BYTES_MAX {
        return Err(format!("{name}: {bytes} bytes are over the limit of {CONTEXT_BYTES_MAX}"));
    }
    Ok(())
}

impl ShadowLabels {
    /// Reads labels from the fields of a question, or from its `meta`.
    fn of(fields: &mut Map<String, Value>, question: &str) -> Result<ShadowLabels, String> {
        let mut meta = match fields.remove("meta") {
            Some(Value::Object(meta)) => meta,
            _ => Map::new(),
        };
        let mut label = |names: &[&'static str]| {
            first(fields, names).or_else(|| first(&mut meta, names)).unwrap_or(("", Value::Null))
        };
        let (name, answer) = label(&ANSWER_FIELDS);
        let gold = Gold::of(Some(answer), question)
            .map_err(|what| what.replacen("meta.answer", name, 1))?;
        let (name, must) = label(&["must"]);
        let must = list(must).into_iter().map(|one| {
            let text = required_text(name, &one)?;
            Ok(collapse_whitespace(&text))
        });
        let must = must.collect::<Result<_, String>>()?;
        let (name, evidence) = label(&EVIDENCE_FIELDS);
        let evidence = list(evidence).into_iter().map(|one| GivenEvidence::of(name, &one));
        Ok(ShadowLabels { gold, must, evidence: evidence.collect::<Result<_, _>>()? })
    }
}

impl GivenEvidence {
    fn of(name: &str, value: &Value) -> Result<GivenEvidence, String> {
        let (text, source) = match value {
            Value::String(text) => (Some(text.clone()), None),
            Value::Object(fields) => {
                let text = fields.get("text").and_then(Value::as_str).map(str::to_owned);
                (text, source(fields))
            }
            other => return Err(format!("{name}: {other} is neither a text nor an object")),
        };
        let text = text.filter(|text| !text.trim().is_empty());
        if text.is_none() && source.is_none() {
            return Err(format!("{name}: {value} has neither a text nor a source"));
        }
        Ok(GivenEvidence { text, source })
    }
}

/// The first field of these names that is there and not null.
fn first(fields: &mut Map<String, Value>, names: &[&'static str]) -> Option<(&'static str, Value)> {
    let name = names.iter().find(|name| fields.get(**name).is_some_and(|it| !it.is_null()))?;
    Some((name, fields.remove(*name)?))
}

fn missing(what: &str, names: &[&str]) -> String {
    format!("{what}: there is no such field; it can be called {}", names.join(", "))
}

fn list(value: Value) -> Vec<Value> {
    match value {
        Value::Null => Vec::new(),
        Value::Array(values) => values,
        one => vec![one],
    }
}

fn required_text(name: &str, value: &Value) -> Result<String, String> {
    match value {
        Value::String(text) if !text.trim().is_empty() => Ok(text.clone()),
        Value::String(_) => Err(format!("{name}: is empty")),
        other => Err(format!("{name}: has to be text, not {other}")),
    }
}

/// The time that the other system took.
fn milliseconds(fields: &mut Map<String, Value>) -> Result<Option<f64>, String> {
    let Some((name, value)) = first(fields, &["ms", "latency_ms", "seconds"]) else {
        return Ok(None);
    };
    let number = value.as_f64().or_else(|| value.as_str()?.trim().parse().ok());
    match number.filter(|number| number.is_finite() && *number >= 0.0) {
        Some(number) => Ok(Some(if name == "seconds" { number * 1e3 } else { number })),
        None => Err(format!("{name}: {value} is not a time")),
    }
}

/// Who asks, if the line says so.
fn asker(fields: &mut Map<String, Value>) -> Result<Option<ReadAs>, String> {
    let user = first(fields, &["user", "user_id"]);
    let user = user.map(|(name, user)| required_text(name, &user)).transpose()?;
    let groups = match first(fields, &["groups"]) {
        None => Vec::new(),
        Some((name, groups)) => {
            let groups = list(groups).into_iter();
            groups.map(|group| required_text(name, &group)).collect::<Result<_, _>>()?
        }
    };
    let is_said = user.is_some() || !groups.is_empty();
    Ok(is_said.then_some(ReadAs { user, groups }))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use tempfile::TempDir;

    use super::*;

    fn read(name: &str, text: &str) -> Result<Vec<ShadowQuestion>, String> {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        let shown = |error: EvalError| {
            let all = error.to_string();
            all.replace(&format!("{}", path.display()), name)
        };
        read_questions(&path).map_err(shown)
    }

    #[track_caller]
    fn check_error(name: &str, text: &str, expected: &str) {
        let error = read(name, text).unwrap_err();
        assert!(error.starts_with(expected), "{error}\n{expected}");
    }

    #[test]
    fn lines_lists_and_tables_say_the_same() {
        let line = r#"{"question": "When?", "context": ["In May."], "answer": "May", "ms": 12}"#;
        let jsonl = read("a.jsonl", &format!("\n{line}\n")).unwrap();
        let json = read("a.json", &format!("[{line}]")).unwrap();
        let table = "question,context,answer,ms\nWhen?,\"[\"\"In May.\"\"]\",May,12\n";
        let csv = read("a.csv", table).unwrap();
        for (questions, line) in [(jsonl, 2), (json, 1), (csv, 2)] {
            let one = &questions[0];
            assert_eq!((questions.len(), one.line, one.text.as_str()), (1, line, "When?"));
            assert_eq!((one.context[0].text.as_str(), one.ms), ("In May.", Some(12.0)));
            assert!(one.is_labelled());
        }
        let plain = read("a.tsv", "query\tcontext\nWhen?\tIn May.\n").unwrap();
        assert_eq!(plain[0].context[0].text, "In May.");
        assert!(!plain[0].is_labelled());
    }

    #[test]
    fn labels_of_other_evaluations_are_read() {
        let line = r#"{"user_input": "When?", "retrieved_contexts": ["x"], "answer": "what it said",
            "reference": "in May", "reference_contexts": ["The launch is in May."]}"#;
        let one = read("a.jsonl", &line.replace('\n', " ")).unwrap().remove(0);
        let own =
            read("a.jsonl", r#"{"text": "When?", "context": "x", "meta": {"answer": "in May"}}"#);
        assert_eq!(one.labels.gold, own.unwrap()[0].labels.gold, "the reference, not the answer");
        assert_eq!(one.labels.evidence[0].text.as_deref(), Some("The launch is in May."));
        let line = r#"{"query": "q", "context": "x", "user_id": "anna", "groups": ["ops"],
            "evidence": [{"source": "a.md"}, {"text": "t", "metadata": {"source": "b.md"}}]}"#;
        let one = read("a.jsonl", &line.replace('\n', " ")).unwrap().remove(0);
        let sources: Vec<_> = one.labels.evidence.iter().map(|it| it.source.as_deref()).collect();
        assert_eq!(sources, [Some("a.md"), Some("b.md")]);
        let asker = ReadAs { user: Some("anna".to_owned()), groups: vec!["ops".to_owned()] };
        assert_eq!(one.asker, Some(asker));
    }

    #[test]
    fn a_wrong_line_is_named_with_its_field() {
        let good = r#"{"question": "q", "context": "c", "id": "a"}"#;
        let check = |line: &str, expected: &str| {
            check_error(
                "a.jsonl",
                &format!("{good}\n{line}\n"),
                &format!("a.jsonl, line 2: {expected}"),
            );
        };
        check("{\"question\"", "");
        check("7", "");
        check(
            r#"{"context": "c"}"#,
            "question: there is no such field; it can be called question,",
        );
        check(r#"{"question": "q"}"#, "context: there is no such field; it can be called context,");
        check(r#"{"question": " ", "context": "c"}"#, "question: is empty");
        check(r#"{"question": "q", "context": [3]}"#, "context[0]: 3 is neither a text nor");
        check(r#"{"question": "q", "context": "c", "ms": "soon"}"#, "ms: \"soon\" is not a time");
        check(r#"{"question": "q", "context": "c", "answer": {}}"#, "answer: {} is neither");
        check(r#"{"question": "q", "context": "c", "evidence": [{}]}"#, "evidence: {} has neither");
        check(r#"{"question": "q", "context": "c", "must": [7]}"#, "must: has to be text, not 7");
        check(good, "id: \"a\" is on line 1 already");
        let long = format!(r#"{{"question": "{}", "context": "c"}}"#, "q".repeat(16_385));
        check(&long, "question: 16385 bytes are over the limit of 16384");
        let many = format!(r#"{{"question": "q", "context": [{}"c"]}}"#, "\"c\",".repeat(1_000));
        check(&many, "context: 1001 passages are over the limit of 1000");
        let large =
            format!(r#"{{"question": "q", "context": "{}"}}"#, "c".repeat(CONTEXT_BYTES_MAX + 1));
        check(&large, "context: 4194305 bytes are over the limit of 4194304");
        check_error("a.json", "{}", "a.json: is not a JSON list of questions");
        check_error("a.json", "[7]", "a.json, line 1: 7 is no object");
        check_error("a.csv", "question,context\nq\n", "a.csv, line 2: ");
        check_error("a.jsonl", "\n", "a.jsonl: there is no question in it");
    }
}
