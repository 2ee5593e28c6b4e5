//! Reads and checks one corpus with its questions and labels: the documents, `queries.jsonl`, and
//! `qrels.tsv` and `spans.tsv` if they exist.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::{Path, PathBuf};

use haversack_core::units::Timestamp;

use super::corpus::{CORPUS, CORPUS_FOLDER, CorpusDocument, CorpusSource};
use super::error::EvalError;
use super::question::{EvalQuestion, Evidence, read_questions};
use super::rows::RowFile;
use super::spans::{OffsetUnit, SpanColumns};
use super::warnings::SetWarnings;
use super::words::{NormalizedWords, visible_bytes};

pub(super) const QUESTIONS: &str = "queries.jsonl";
pub(super) const LABELS: &str = "qrels.tsv";
pub(super) const SPANS: &str = "spans.tsv";

/// The highest grade, which bounds the gain of nDCG.
const GRADE_MAX: u8 = 20;

/// A corpus that is searched on its own, with its questions.
#[derive(Debug)]
pub(super) struct EvalScope {
    pub(super) path: PathBuf,
    /// Its path relative to the parent of the given folder, such as `locomo/conv-26`.
    pub(super) name: String,
    pub(super) corpus: CorpusSource,
    /// The labelled questions, in file order.
    pub(super) questions: Vec<EvalQuestion>,
    /// The unlabelled questions, presumably without an answer in the corpus.
    pub(super) unlabelled: Vec<EvalQuestion>,
    pub(super) n_documents: u64,
    /// The latest date of a document.
    pub(super) latest: Option<Timestamp>,
    pub(super) warnings: SetWarnings,
}

/// A row of `spans.tsv`, before its document is read.
struct MarkedSpan {
    question: usize,
    line: u64,
    unit: OffsetUnit,
    range: Range<usize>,
}

impl EvalScope {
    /// Reads questions and labels, then the corpus once.
    pub(super) fn read(path: &Path, name: &str) -> Result<EvalScope, EvalError> {
        let missing = |file: &str| {
            let what = format!(
                "there is no {file}; a set has {CORPUS} or a folder {CORPUS_FOLDER}, {QUESTIONS} \
                 and {LABELS}"
            );
            EvalError::folder(path, what)
        };
        let corpus = CorpusSource::find(path)?.ok_or_else(|| missing(CORPUS))?;
        if !path.join(QUESTIONS).is_file() {
            return Err(missing(QUESTIONS));
        }
        let questions = read_questions(&path.join(QUESTIONS))?;
        let has_labels = path.join(LABELS).is_file();
        // Required strings are labels, too.
        if !has_labels && questions.iter().all(|question| question.must.is_empty()) {
            return Err(missing(LABELS));
        }
        let mut scope = EvalScope {
            path: path.to_owned(),
            name: name.to_owned(),
            corpus,
            questions,
            unlabelled: Vec::new(),
            n_documents: 0,
            latest: None,
            warnings: SetWarnings::default(),
        };
        let numbers = scope.questions.iter().zip(0..);
        let numbers: BTreeMap<String, usize> =
            numbers.map(|(question, number)| (question.id.clone(), number)).collect();
        let lines = if has_labels { scope.read_labels(&numbers)? } else { BTreeMap::new() };
        let marked = match path.join(SPANS) {
            spans if spans.is_file() => scope.read_spans(&spans, &numbers)?,
            _ => BTreeMap::new(),
        };
        let known = scope.read_corpus(marked)?;
        scope.drop_unmatchable_labels(&known, &lines);
        scope.questions.iter_mut().for_each(|question| question.gold.drop_unlabelled());
        let all = std::mem::take(&mut scope.questions);
        (scope.questions, scope.unlabelled) = all.into_iter().partition(EvalQuestion::is_labelled);
        scope.warnings.unlabelled = scope.unlabelled.len() as u64;
        Ok(scope)
    }

    /// Adds the grades. Returns the line of each.
    fn read_labels(
        &mut self,
        numbers: &BTreeMap<String, usize>,
    ) -> Result<BTreeMap<(usize, String), u64>, EvalError> {
        let mut rows = RowFile::open(&self.path.join(LABELS))?;
        let mut lines = BTreeMap::new();
        let mut grades: BTreeMap<(usize, String), u8> = BTreeMap::new();
        let mut is_first = true;
        while let Some(row) = rows.row()? {
            let may_be_header = std::mem::take(&mut is_first);
            let [question, document, grade] = row.fields.as_slice() else {
                let what = format!("{} tab-separated fields; 3 are needed", row.fields.len());
                return Err(row.error(what));
            };
            let Ok(grade) = grade.parse::<i64>() else {
                if may_be_header {
                    continue;
                }
                return Err(row.error(format!("grade: {grade:?} is not a whole number")));
            };
            if grade > i64::from(GRADE_MAX) {
                return Err(row.error(format!("grade: {grade} is over the maximum of {GRADE_MAX}")));
            }
            let grade = u8::try_from(grade.max(0)).unwrap_or(0);
            let Some(&number) = numbers.get(question) else {
                self.warnings.unknown_questions.note(LABELS, row.line, question);
                continue;
            };
            let key = (number, document.clone());
            if let Some(before) = grades.insert(key.clone(), grade) {
                if before != grade {
                    let what = format!("grade: {grade}, but {before} on line {}", lines[&key]);
                    return Err(row.error(what));
                }
                self.warnings.repeated.note(LABELS, row.line, document);
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

    /// Reads the spans by document.
    fn read_spans(
        &mut self,
        path: &Path,
        numbers: &BTreeMap<String, usize>,
    ) -> Result<BTreeMap<String, Vec<MarkedSpan>>, EvalError> {
        let mut rows = RowFile::open(path)?;
        let mut marked: BTreeMap<String, Vec<MarkedSpan>> = BTreeMap::new();
        let Some(header) = rows.row()? else { return Ok(marked) };
        let columns = SpanColumns::of(&header)?;
        while let Some(row) = rows.row()? {
            let (question, document, range) = columns.read(&row)?;
            let Some(&number) = numbers.get(question) else {
                self.warnings.unknown_questions.note(SPANS, row.line, question);
                continue;
            };
            if !self.questions[number].evidence.contains_key(document) {
                self.warnings.unlabelled_spans.note(SPANS, row.line, document);
                continue;
            }
            let span = MarkedSpan { question: number, line: row.line, unit: columns.unit, range };
            marked.entry(document.to_owned()).or_default().push(span);
        }
        Ok(marked)
    }

    /// Reads the corpus: checks each document, resolves its spans, searches it for gold answers and
    /// finds the latest date. Returns the ids of all documents.
    fn read_corpus(
        &mut self,
        mut marked: BTreeMap<String, Vec<MarkedSpan>>,
    ) -> Result<BTreeSet<String>, EvalError> {
        let mut documents = self.corpus.documents()?;
        let mut known: BTreeMap<String, u64> = BTreeMap::new();
        let labelled = self.questions_by_document();
        while let Some((document, object)) = documents.next()? {
            let line = object.as_ref().map_or(0, |object| object.line);
            if let Some(name) = document.dates.unread {
                self.warnings.unread_dates.note(CORPUS, line, name);
            }
            self.latest = self.latest.max(document.dates.latest());
            for span in marked.remove(document.id.as_str()).unwrap_or_default() {
                self.add_span(&span, &document)?;
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
    fn questions_by_document(&self) -> BTreeMap<String, Vec<usize>> {
        let mut labelled: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        for (question, number) in self.questions.iter().zip(0..) {
            for document in question.evidence.keys().filter(|id| !question.exclude.contains(id)) {
                labelled.entry(document.clone()).or_default().push(number);
            }
        }
        labelled
    }

    /// Searches a document for the gold answers of the questions that it is labelled for.
    fn look_for_answers(&mut self, document: &CorpusDocument, labelled: Option<&Vec<usize>>) {
        let mut words: Option<(NormalizedWords, NormalizedWords)> = None;
        for &number in labelled.into_iter().flatten() {
            let gold = &mut self.questions[number].gold;
            if gold.needs_lookup() {
                let title = document.title.as_deref().unwrap_or_default();
                let (title, text) = words.get_or_insert_with(|| {
                    (NormalizedWords::of(title), NormalizedWords::of(&document.text))
                });
                gold.mark_labelled_in(title);
                gold.mark_labelled_in(text);
            }
        }
    }

    /// Adds a span to the evidence of its question.
    fn add_span(&mut self, span: &MarkedSpan, document: &CorpusDocument) -> Result<(), EvalError> {
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
        // Every pack would contain a span of white space.
        if let Some(evidence) =
            evidence.filter(|_| visible_bytes(&document.text[bytes.clone()]) > 0)
        {
            evidence.spans.push(bytes);
        }
        Ok(())
    }

    /// Drops labels of unknown or excluded documents: no pack can contain them.
    fn drop_unmatchable_labels(
        &mut self,
        known: &BTreeSet<String>,
        lines: &BTreeMap<(usize, String), u64>,
    ) {
        for (question, number) in self.questions.iter_mut().zip(0..) {
            let warnings = &mut self.warnings;
            let exclude = &question.exclude;
            question.evidence.retain(|document, _| {
                let line = lines.get(&(number, document.clone())).copied().unwrap_or(0);
                if !known.contains(document) {
                    warnings.unknown_documents.note(LABELS, line, document);
                    return false;
                }
                let is_excluded = exclude.contains(document);
                if is_excluded {
                    warnings.excluded.note(LABELS, line, document);
                }
                !is_excluded
            });
        }
    }
}
