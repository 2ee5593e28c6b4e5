//! One corpus with its questions and their labels, read from its folder and checked before any
//! work is done: the documents, `queries.jsonl`, and `qrels.tsv` and `spans.tsv` if there are any.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::{Path, PathBuf};

use haversack_core::units::Timestamp;

use super::corpus::{CORPUS, CORPUS_FOLDER, Corpus, Document};
use super::error::EvalError;
use super::question::{Evidence, Question, read_questions};
use super::remarks::Remarks;
use super::rows::Rows;
use super::spans::{Columns, Unit};
use super::words::{Words, visible};

pub(super) const QUESTIONS: &str = "queries.jsonl";
pub(super) const LABELS: &str = "qrels.tsv";
pub(super) const SPANS: &str = "spans.tsv";

/// The highest grade: the gain of more would drown everything else.
const GRADE_MAX: u8 = 20;

/// A corpus that is searched on its own, with its questions.
#[derive(Debug)]
pub(super) struct Scope {
    pub(super) path: PathBuf,
    /// Its place under the folder that holds the one that was given, such as `locomo/conv-26`.
    pub(super) name: String,
    pub(super) corpus: Corpus,
    /// Those with labels, in the order of their file.
    pub(super) questions: Vec<Question>,
    /// Those without: nothing in the corpus answers them, as far as anybody knows.
    pub(super) unlabelled: Vec<Question>,
    pub(super) n_documents: u64,
    /// The latest date of a document.
    pub(super) latest: Option<Timestamp>,
    pub(super) remarks: Remarks,
}

/// A row of `spans.tsv`, until its document comes by.
struct Marked {
    question: usize,
    line: u64,
    unit: Unit,
    range: Range<usize>,
}

impl Scope {
    /// Reads questions and labels, and walks over the corpus once.
    pub(super) fn read(path: &Path, name: &str) -> Result<Scope, EvalError> {
        let missing = |file: &str| {
            let what = format!(
                "there is no {file}; a set has {CORPUS} or a folder {CORPUS_FOLDER}, {QUESTIONS} \
                 and {LABELS}"
            );
            EvalError::folder(path, what)
        };
        let corpus = Corpus::find(path)?.ok_or_else(|| missing(CORPUS))?;
        if !path.join(QUESTIONS).is_file() {
            return Err(missing(QUESTIONS));
        }
        let questions = read_questions(&path.join(QUESTIONS))?;
        let has_labels = path.join(LABELS).is_file();
        // Strings that have to stand in a pack are labels enough.
        if !has_labels && questions.iter().all(|question| question.must.is_empty()) {
            return Err(missing(LABELS));
        }
        let mut scope = Scope {
            path: path.to_owned(),
            name: name.to_owned(),
            corpus,
            questions,
            unlabelled: Vec::new(),
            n_documents: 0,
            latest: None,
            remarks: Remarks::default(),
        };
        let numbers = scope.questions.iter().zip(0..);
        let numbers: BTreeMap<String, usize> =
            numbers.map(|(question, number)| (question.id.clone(), number)).collect();
        let lines = if has_labels { scope.read_labels(&numbers)? } else { BTreeMap::new() };
        let marked = match path.join(SPANS) {
            spans if spans.is_file() => scope.read_spans(&spans, &numbers)?,
            _ => BTreeMap::new(),
        };
        let known = scope.survey(marked)?;
        scope.leave_out_the_impossible(&known, &lines);
        scope.questions.iter_mut().for_each(|question| question.gold.settle());
        let all = std::mem::take(&mut scope.questions);
        (scope.questions, scope.unlabelled) = all.into_iter().partition(Question::is_labelled);
        scope.remarks.unlabelled = scope.unlabelled.len() as u64;
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
            let evidence = Evidence { grade, spans: Vec::new() };
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

    /// Walks over the corpus: checks each document, places the spans, looks for answers and the
    /// latest date, and gives back the ids of all documents.
    fn survey(
        &mut self,
        mut marked: BTreeMap<String, Vec<Marked>>,
    ) -> Result<BTreeSet<String>, EvalError> {
        let mut documents = self.corpus.documents()?;
        let mut known: BTreeMap<String, u64> = BTreeMap::new();
        let labelled = self.by_document();
        while let Some((document, object)) = documents.next()? {
            let line = object.as_ref().map_or(0, |object| object.line);
            if let Some(name) = document.dates.unread {
                self.remarks.unread_dates.note(CORPUS, line, name);
            }
            self.latest = self.latest.max(document.dates.latest());
            for span in marked.remove(document.id.as_str()).unwrap_or_default() {
                self.mark(&span, &document)?;
            }
            self.look_for_answers(&document, labelled.get(document.id.as_str()));
            if let Some(before) = known.insert(document.id.as_str().to_owned(), line) {
                let what = format!("id: {:?} is on line {before} already", document.id.as_str());
                return Err(EvalError::line(self.corpus.path(), line, what));
            }
            self.n_documents += 1;
        }
        if self.n_documents == 0 {
            return Err(EvalError::folder(self.corpus.path(), "there is no document in it"));
        }
        Ok(known.into_keys().collect())
    }

    /// The questions that each document is labelled for.
    fn by_document(&self) -> BTreeMap<String, Vec<usize>> {
        let mut labelled: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        for (question, number) in self.questions.iter().zip(0..) {
            for document in question.evidence.keys().filter(|id| !question.exclude.contains(id)) {
                labelled.entry(document.clone()).or_default().push(number);
            }
        }
        labelled
    }

    /// Looks whether a document's title or text has the answers to questions it is labelled for.
    fn look_for_answers(&mut self, document: &Document, labelled: Option<&Vec<usize>>) {
        let mut words: Option<(Words, Words)> = None;
        for &number in labelled.into_iter().flatten() {
            let gold = &mut self.questions[number].gold;
            if gold.is_open() {
                let title = document.title.as_deref().unwrap_or_default();
                let (title, text) =
                    words.get_or_insert_with(|| (Words::of(title), Words::of(&document.text)));
                gold.look_in(title);
                gold.look_in(text);
            }
        }
    }

    /// Notes a span of a document.
    fn mark(&mut self, span: &Marked, document: &Document) -> Result<(), EvalError> {
        let Some(bytes) = span.unit.bytes(&document.text, &span.range) else {
            let Range { start, end } = &span.range;
            let what = format!(
                "{start} to {end} are not a part of {:?}, which has {} bytes",
                document.id.as_str(),
                document.text.len()
            );
            return Err(EvalError::line(&self.path.join(SPANS), span.line, what));
        };
        let evidence = self.questions[span.question].evidence.get_mut(document.id.as_str());
        // A span of blanks alone would always be in.
        if let Some(evidence) = evidence.filter(|_| visible(&document.text[bytes.clone()]) > 0) {
            evidence.spans.push(bytes);
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
                let is_excluded = exclude.contains(document);
                if is_excluded {
                    remarks.excluded.note(LABELS, line, document);
                }
                !is_excluded
            });
        }
    }
}
