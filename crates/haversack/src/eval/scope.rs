//! One corpus with its questions and their evidence, read from its folder and checked before any
//! work is done: `corpus.jsonl`, `queries.jsonl`, `qrels.tsv` and, if there is one, `spans.tsv`.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::{Path, PathBuf};

use haversack_core::ids::ItemId;
use haversack_core::units::Timestamp;
use serde_json::{Map, Value};

use super::dates::Dates;
use super::error::EvalError;
use super::remarks::Remarks;
use super::rows::{Object, Row, Rows};

pub(super) const CORPUS: &str = "corpus.jsonl";
pub(super) const QUESTIONS: &str = "queries.jsonl";
pub(super) const LABELS: &str = "qrels.tsv";
pub(super) const SPANS: &str = "spans.tsv";

/// The highest grade: the gain of more would drown everything else.
const GRADE_MAX: u8 = 20;

/// A corpus that is searched on its own, with its questions.
#[derive(Debug)]
pub(super) struct Scope {
    pub(super) path: PathBuf,
    /// Its place under the folder that was given, such as `locomo/conv-26`.
    pub(super) name: String,
    /// Those with evidence, in the order of their file.
    pub(super) questions: Vec<Question>,
    pub(super) n_documents: u64,
    /// The latest date of a document.
    pub(super) latest: Option<Timestamp>,
    pub(super) remarks: Remarks,
}

/// A question and what has to be in a pack for it.
#[derive(Debug, Clone)]
pub(crate) struct Question {
    pub(crate) id: String,
    pub(crate) text: String,
    /// Documents that must not answer it.
    pub(crate) exclude: Vec<ItemId>,
    pub(crate) evidence: BTreeMap<String, Evidence>,
}

impl Question {
    /// Whether its evidence is known to the character.
    pub(super) fn has_spans(&self) -> bool {
        self.evidence.values().any(|evidence| !evidence.words.is_empty())
    }
}

/// What is labelled of a document for a question.
#[derive(Debug, Clone)]
pub(crate) struct Evidence {
    pub(crate) grade: u8,
    /// The bytes of each word of its evidence, in order and apart. Blanks do not count: where a
    /// text is split, they belong to neither side.
    pub(crate) words: Vec<Range<usize>>,
}

/// A document as its line says it.
pub(super) struct Document {
    pub(super) id: ItemId,
    pub(super) title: Option<String>,
    pub(super) text: String,
    pub(super) dates: Dates,
    /// The conversation or session it is a turn of.
    pub(super) talk: Option<String>,
    /// The short texts of its `meta`: who wrote it, where it comes from.
    pub(super) fields: Map<String, Value>,
}

impl Document {
    pub(super) fn of(object: &mut Object) -> Result<Document, EvalError> {
        let id = object.text("id")?;
        let id = ItemId::new(&id).map_err(|error| object.wrong(format!("id: {error}")))?;
        let (title, text) = (object.optional("title")?, object.text("text")?);
        let meta = object.meta()?;
        let (dates, talk) = (Dates::of(&meta), talk(&meta));
        Ok(Document { id, title, text, dates, talk, fields: names(meta) })
    }
}

/// What a turn belongs to, from the widest to the narrowest.
const TALKS: [&str; 3] = ["conversation", "thread", "session"];

/// Most of `meta` that is taken over, and the longest of it.
const NAMES_MAX: usize = 32;
const NAME_BYTES_MAX: usize = 100;

/// What of `meta` may help to find a document: who wrote it, where it comes from. What has a
/// meaning of its own is left out.
fn names(meta: Map<String, Value>) -> Map<String, Value> {
    let is_short = |value: &Value| value.as_str().is_some_and(|text| text.len() <= NAME_BYTES_MAX);
    let is_name = |name: &str| name.len() <= NAME_BYTES_MAX && !TALKS.contains(&name);
    let names = meta.into_iter().filter(|(name, value)| is_name(name) && is_short(value));
    names.take(NAMES_MAX).collect()
}

/// What a turn belongs to, as its `meta` says: the session, or else the conversation.
fn talk(meta: &Map<String, Value>) -> Option<String> {
    let said = |name: &str| match meta.get(name) {
        Some(Value::String(text)) if !text.is_empty() => Some(text.clone()),
        Some(Value::Number(number)) => Some(number.to_string()),
        _ => None,
    };
    let parts: Vec<String> = TALKS.iter().filter_map(|name| said(name)).collect();
    (!parts.is_empty()).then(|| parts.join("/"))
}

/// A row of `spans.tsv`, until its document comes by.
struct Marked {
    question: usize,
    line: u64,
    unit: Unit,
    range: Range<usize>,
}

/// What offsets count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unit {
    Bytes,
    Characters,
}

impl Scope {
    /// Reads questions and labels, and walks over the corpus once.
    pub(super) fn read(path: &Path, name: &str) -> Result<Scope, EvalError> {
        for file in [CORPUS, QUESTIONS, LABELS] {
            if !path.join(file).is_file() {
                let what = format!("there is no {file}; a set has {CORPUS}, {QUESTIONS}, {LABELS}");
                return Err(EvalError::folder(path, what));
            }
        }
        let questions = read_questions(&path.join(QUESTIONS))?;
        let mut scope = Scope {
            path: path.to_owned(),
            name: name.to_owned(),
            questions,
            n_documents: 0,
            latest: None,
            remarks: Remarks::default(),
        };
        let numbers = scope.questions.iter().zip(0..);
        let numbers: BTreeMap<String, usize> =
            numbers.map(|(question, number)| (question.id.clone(), number)).collect();
        let lines = scope.read_labels(&numbers)?;
        let marked = match path.join(SPANS) {
            spans if spans.is_file() => scope.read_spans(&spans, &numbers)?,
            _ => BTreeMap::new(),
        };
        let known = scope.survey(marked)?;
        scope.leave_out_the_impossible(&known, &lines);
        let n_all = scope.questions.len();
        scope.questions.retain(|question| !question.evidence.is_empty());
        scope.remarks.unlabelled = (n_all - scope.questions.len()) as u64;
        Ok(scope)
    }

    /// Adds the grades, and gives back on which line each stands.
    fn read_labels(
        &mut self,
        numbers: &BTreeMap<String, usize>,
    ) -> Result<BTreeMap<(usize, String), u64>, EvalError> {
        let mut rows = Rows::open(&self.path.join(LABELS))?;
        let mut lines = BTreeMap::new();
        let mut grades: BTreeMap<(usize, String), u8> = BTreeMap::new();
        let mut is_first = true;
        while let Some(row) = rows.row()? {
            let may_be_header = std::mem::take(&mut is_first);
            let [question, document, grade] = row.fields.as_slice() else {
                let what = format!("{} fields between tabs; there have to be 3", row.fields.len());
                return Err(row.wrong(what));
            };
            let Ok(grade) = grade.parse::<i64>() else {
                if may_be_header {
                    continue;
                }
                return Err(row.wrong(format!("grade: {grade:?} is not a whole number")));
            };
            if grade > i64::from(GRADE_MAX) {
                return Err(row.wrong(format!("grade: {grade} is over the most, {GRADE_MAX}")));
            }
            let grade = u8::try_from(grade.max(0)).unwrap_or(0);
            let Some(&number) = numbers.get(question) else {
                self.remarks.unknown_questions.note(LABELS, row.line, question);
                continue;
            };
            let key = (number, document.clone());
            if let Some(before) = grades.insert(key.clone(), grade) {
                if before != grade {
                    let what = format!("grade: {grade}, but {before} on line {}", lines[&key]);
                    return Err(row.wrong(what));
                }
                self.remarks.repeated.note(LABELS, row.line, document);
                continue;
            }
            lines.insert(key, row.line);
        }
        for ((number, document), grade) in grades.into_iter().filter(|(_, grade)| *grade > 0) {
            let evidence = Evidence { grade, words: Vec::new() };
            self.questions[number].evidence.insert(document, evidence);
        }
        Ok(lines)
    }

    /// The marked spans by document.
    fn read_spans(
        &mut self,
        path: &Path,
        numbers: &BTreeMap<String, usize>,
    ) -> Result<BTreeMap<String, Vec<Marked>>, EvalError> {
        let mut rows = Rows::open(path)?;
        let mut marked: BTreeMap<String, Vec<Marked>> = BTreeMap::new();
        let Some(header) = rows.row()? else { return Ok(marked) };
        let columns = Columns::of(&header)?;
        while let Some(row) = rows.row()? {
            let (question, document, range) = columns.read(&row)?;
            let Some(&number) = numbers.get(question) else {
                self.remarks.unknown_questions.note(SPANS, row.line, question);
                continue;
            };
            if !self.questions[number].evidence.contains_key(document) {
                self.remarks.unlabelled_spans.note(SPANS, row.line, document);
                continue;
            }
            let span = Marked { question: number, line: row.line, unit: columns.unit, range };
            marked.entry(document.to_owned()).or_default().push(span);
        }
        Ok(marked)
    }

    /// Walks over the corpus: checks each line, finds the words of the evidence, the latest date
    /// and the names of all documents.
    fn survey(
        &mut self,
        mut marked: BTreeMap<String, Vec<Marked>>,
    ) -> Result<BTreeSet<String>, EvalError> {
        let mut rows = Rows::open(&self.path.join(CORPUS))?;
        let mut known: BTreeMap<String, u64> = BTreeMap::new();
        while let Some(mut object) = rows.object()? {
            let document = Document::of(&mut object)?;
            let id = document.id.as_str().to_owned();
            if let Some(name) = document.dates.unread {
                self.remarks.unread_dates.note(CORPUS, object.line, name);
            }
            self.latest = self.latest.max(document.dates.latest());
            for span in marked.remove(&id).unwrap_or_default() {
                self.mark(&span, &id, &document.text)?;
            }
            if let Some(line) = known.insert(id, object.line) {
                let what = format!("id: {:?} is on line {line} already", document.id.as_str());
                return Err(object.wrong(what));
            }
            self.n_documents += 1;
        }
        if self.n_documents == 0 {
            return Err(EvalError::folder(&self.path.join(CORPUS), "there is no document in it"));
        }
        for question in &mut self.questions {
            for evidence in question.evidence.values_mut() {
                evidence.words.sort_unstable_by_key(|word| (word.start, word.end));
                evidence.words = apart(std::mem::take(&mut evidence.words));
            }
        }
        Ok(known.into_keys().collect())
    }

    /// Notes the words that a span marks in a document.
    fn mark(&mut self, span: &Marked, document: &str, text: &str) -> Result<(), EvalError> {
        let bytes = match span.unit {
            Unit::Bytes => Some(span.range.clone()),
            Unit::Characters => bytes_of(text, &span.range),
        };
        let marked = bytes.clone().and_then(|bytes| text.get(bytes));
        let (Some(bytes), Some(marked)) = (bytes, marked) else {
            let Range { start, end } = &span.range;
            let what = format!(
                "{start} to {end} are not a part of {document:?}, which has {} bytes",
                text.len()
            );
            return Err(EvalError::line(&self.path.join(SPANS), span.line, what));
        };
        let evidence = &mut self.questions[span.question].evidence;
        if let Some(evidence) = evidence.get_mut(document) {
            let words = words(marked).map(|word| bytes.start + word.start..bytes.start + word.end);
            evidence.words.extend(words);
        }
        Ok(())
    }

    /// Labels of documents that are not there, or that must not answer, can never be met.
    fn leave_out_the_impossible(
        &mut self,
        known: &BTreeSet<String>,
        lines: &BTreeMap<(usize, String), u64>,
    ) {
        for (question, number) in self.questions.iter_mut().zip(0..) {
            let remarks = &mut self.remarks;
            let exclude = &question.exclude;
            question.evidence.retain(|document, _| {
                let line = lines.get(&(number, document.clone())).copied().unwrap_or(0);
                if !known.contains(document) {
                    remarks.unknown_documents.note(LABELS, line, document);
                    return false;
                }
                let is_excluded = exclude.iter().any(|excluded| excluded.as_str() == document);
                if is_excluded {
                    remarks.excluded.note(LABELS, line, document);
                }
                !is_excluded
            });
        }
    }
}

fn read_questions(path: &Path) -> Result<Vec<Question>, EvalError> {
    let mut rows = Rows::open(path)?;
    let mut questions = Vec::new();
    let mut lines: BTreeMap<String, u64> = BTreeMap::new();
    while let Some(mut object) = rows.object()? {
        let (id, text) = (object.text("id")?, object.text("text")?);
        let mut exclude = Vec::new();
        match object.meta()?.remove("sources") {
            None | Some(Value::Null) => {}
            Some(Value::Array(sources)) => {
                for source in sources {
                    let id = source.as_str().map(ItemId::new);
                    let Some(Ok(id)) = id else {
                        let what = format!("meta.sources: {source} is not the id of a document");
                        return Err(object.wrong(what));
                    };
                    exclude.push(id);
                }
            }
            Some(_) => return Err(object.wrong("meta.sources: has to be a list of ids")),
        }
        if let Some(line) = lines.insert(id.clone(), object.line) {
            return Err(object.wrong(format!("id: {id:?} is on line {line} already")));
        }
        questions.push(Question { id, text, exclude, evidence: BTreeMap::new() });
    }
    Ok(questions)
}

/// Where `spans.tsv` has what, as its first line says.
struct Columns {
    question: usize,
    document: usize,
    start: usize,
    end: usize,
    unit: Unit,
}

impl Columns {
    fn of(header: &Row) -> Result<Columns, EvalError> {
        let at = |name: &str| header.fields.iter().position(|field| field == name);
        let needed = |name: &str| {
            at(name).ok_or_else(|| header.wrong(format!("{name}: the header has no such column")))
        };
        let (question, document) = (needed("query-id")?, needed("doc-id")?);
        if let (Some(start), Some(end)) = (at("start_byte"), at("end_byte")) {
            return Ok(Columns { question, document, start, end, unit: Unit::Bytes });
        }
        let (start, end) = (needed("start_char")?, needed("end_char")?);
        Ok(Columns { question, document, start, end, unit: Unit::Characters })
    }

    fn read<'r>(&self, row: &'r Row) -> Result<(&'r str, &'r str, Range<usize>), EvalError> {
        let field = |at: usize| {
            let field = row.fields.get(at);
            field.ok_or_else(|| row.wrong(format!("there are only {} fields", row.fields.len())))
        };
        let number = |at: usize| {
            let field = field(at)?;
            let number = field.parse::<usize>();
            number.map_err(|_| row.wrong(format!("{field:?} is not an offset")))
        };
        let (start, end) = (number(self.start)?, number(self.end)?);
        if start >= end {
            return Err(row.wrong(format!("a span from {start} to {end} holds nothing")));
        }
        Ok((field(self.question)?, field(self.document)?, start..end))
    }
}

/// A range of characters as one of bytes.
fn bytes_of(text: &str, range: &Range<usize>) -> Option<Range<usize>> {
    let mut places = text.char_indices().map(|(at, _)| at).chain([text.len()]);
    let start = places.by_ref().nth(range.start)?;
    let end = places.nth(range.end - range.start - 1)?;
    Some(start..end)
}

/// The stretches without blanks.
fn words(text: &str) -> impl Iterator<Item = Range<usize>> + '_ {
    let pieces = text.split_inclusive(char::is_whitespace).scan(0, |at, piece| {
        let start = *at;
        *at += piece.len();
        Some(start..start + piece.trim_end().len())
    });
    pieces.filter(|word| !word.is_empty())
}

/// Sorted ranges with those joined that overlap.
pub(super) fn apart(ranges: Vec<Range<usize>>) -> Vec<Range<usize>> {
    let mut joined: Vec<Range<usize>> = Vec::with_capacity(ranges.len());
    for range in ranges {
        match joined.last_mut() {
            Some(last) if range.start < last.end => last.end = last.end.max(range.end),
            _ => joined.push(range),
        }
    }
    joined
}
