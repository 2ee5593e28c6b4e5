//! Compares two contexts for one question, and a random one beside them.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::rc::Rc;

use haversack_core::text::tokenizer::Tokenizer;
use haversack_core::units::Tokens;

use super::control::random_context;
use super::locate::{ItemFinder, KnownItem, TextOrigin};
use super::questions::ShadowQuestion;
use super::runs::{RunIndex, WordText, share};
use super::{DataError, ReadAs, ShadowData};
use crate::eval::{
    EvalQuestion, Evidence, GivenContext, Gold, LibraryText, Metric, MetricShares, NormalizedWords,
    TextLibrary, collapse_whitespace, measure_context,
};

/// What stands between the passages of a context.
const SEPARATOR: &str = "\n\n";

/// Evidence is in a document from this share of its words on.
const EVIDENCE_FOUND: f64 = 0.8;

/// The contexts for one question, compared.
#[derive(Debug, Clone)]
pub struct QuestionReport {
    /// The line of the question in the file.
    pub line: u64,
    /// Its id.
    pub id: String,
    /// The question.
    pub text: String,
    /// Whether labels say what a context must contain.
    pub is_labelled: bool,
    /// The context of the other system.
    pub theirs: ContextReport,
    /// The context of Haversack.
    pub ours: ContextReport,
    /// Random passages of the same data.
    pub control: ContextReport,
    /// Where their context comes from.
    pub data: TheirData,
    /// Sources in both contexts and in one alone.
    pub sources: SourceCounts,
    /// The share of their words that are in ours, and of our words that are in theirs.
    pub overlap: (f64, f64),
    /// The share of their words that are in the random context.
    pub overlap_by_chance: f64,
    /// The least budget of the recipe, when theirs is smaller and nothing was packed.
    pub least_budget: Option<u32>,
    /// What the engine remarked about its pack.
    pub notices: Vec<String>,
    /// Evidence that is not in the data; it is measured as a text that must be there.
    pub evidence_not_in_data: usize,
    /// Whether the expected answer is in neither context nor in the data word by word, and so
    /// measures nothing.
    pub answer_is_nowhere: bool,
}

/// One context.
#[derive(Debug, Clone)]
pub struct ContextReport {
    /// What a model gets.
    pub text: String,
    /// Its size.
    pub tokens: Tokens,
    /// The ids of the items that it comes from, each once.
    pub sources: Vec<String>,
    /// The share of its words that repeat a passage of it.
    pub repeated: f64,
    /// The metrics of the ruler.
    pub shares: MetricShares,
    /// The number of broken blocks.
    pub broken: usize,
    /// The mean of answer, evidence, spans and required texts, as far as the question has them.
    pub score: Option<f64>,
    /// How long it took, in milliseconds, if known.
    pub ms: Option<f64>,
    /// The parts of the text by what is known of them, in order; nothing for the rest.
    pub marks: Vec<Mark>,
}

/// Where a context comes from.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TheirData {
    /// Each passage.
    pub passages: Vec<PassageReport>,
    /// Items that the asker may not read and that account for some of the text.
    pub hidden_sources: Vec<String>,
    /// The share of words that only such items have.
    pub hidden: f64,
    /// The share of words that are not in the data.
    pub missing: f64,
}

/// A passage of the other system's context.
#[derive(Debug, Clone, PartialEq)]
pub struct PassageReport {
    /// Its bytes in the context.
    pub bytes: Range<usize>,
    /// Where it said that it is from.
    pub source: Option<String>,
    /// The share of its words that the asker may not read.
    pub hidden: f64,
    /// The share of its words that are not in the data.
    pub missing: f64,
}

/// Numbers of sources.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SourceCounts {
    /// In both contexts.
    pub both: usize,
    /// Only in theirs.
    pub theirs: usize,
    /// Only in ours.
    pub ours: usize,
}

/// A part of a context.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mark {
    /// Its bytes.
    pub bytes: Range<usize>,
    /// What is known of it.
    pub kind: MarkKind,
    /// Whether it is evidence for the question.
    pub is_evidence: bool,
}

/// What is known of a part of a context.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MarkKind {
    /// The other context has it, too.
    Shared,
    /// Only this context has it.
    Own,
    /// It is in items that the asker may not read.
    Hidden,
    /// It is not in the data.
    Missing,
}

/// A context before it is measured.
struct Context {
    words: WordText,
    sources: Vec<Rc<KnownItem>>,
    ms: Option<f64>,
}

/// The labels of a question, found in the data.
struct LocatedLabels {
    question: EvalQuestion,
    items: Vec<Rc<KnownItem>>,
    /// The texts that a context should have, for marks.
    texts: Vec<WordText>,
    not_in_data: usize,
    answer_is_nowhere: bool,
}

/// Compares questions with one workspace.
pub(super) struct Comparison<'c> {
    data: &'c dyn ShadowData,
    finder: ItemFinder<'c>,
    tokenizer: &'c dyn Tokenizer,
}

impl<'c> Comparison<'c> {
    pub(super) fn new(data: &'c dyn ShadowData, tokenizer: &'c dyn Tokenizer) -> Comparison<'c> {
        Comparison { data, finder: ItemFinder::new(data), tokenizer }
    }

    /// The size of a question's context.
    pub(super) fn tokens_of(&self, question: &ShadowQuestion) -> Tokens {
        self.tokenizer.count(&joined(question).0)
    }

    pub(super) fn compare(
        &mut self,
        question: &ShadowQuestion,
        asker: &ReadAs,
        budget: Tokens,
    ) -> Result<QuestionReport, DataError> {
        let pack = self.data.pack(&question.text, asker, budget)?;
        let (text, passages) = joined(question);
        let words = WordText::new(text);
        let runs: Vec<Range<usize>> =
            passages.iter().map(|(bytes, _)| words.words_in(bytes)).collect();
        let named: Vec<String> = passages.iter().filter_map(|(_, source)| source.clone()).collect();
        let origin = self.finder.locate(&words, &runs, (&named, &pack.items), asker)?;
        let data = TheirData::of(&origin, &passages, &runs);
        let sources = origin.sources.iter().map(|located| Rc::clone(&located.item)).collect();
        let theirs = Context { words, sources, ms: question.ms };
        let sources = self.finder.items(&pack.items)?;
        let ms = Some(pack.time.as_secs_f64() * 1e3);
        let ours = Context { words: WordText::new(pack.text), sources, ms };
        let passage_words = theirs.words.len() / passages.len().max(1);
        let of = (question.id.as_str(), passage_words);
        let random = random_context(&mut self.finder, asker, of, (budget, self.tokenizer))?;
        let sources = self.finder.items(&random.items)?;
        let control = Context { words: WordText::new(random.text), sources, ms: None };
        let labels = self.labels(question, &theirs, &ours)?;
        let library = library(&[&theirs, &ours, &control], &labels.items);
        let report =
            |context: &Context, marks| self.report(context, (&labels, &library), (budget, marks));
        let overlap = (in_other(&theirs, &ours), in_other(&ours, &theirs));
        let their_marks = marks(&theirs, &overlap.0, Some(&origin), &labels.texts);
        let our_marks = marks(&ours, &overlap.1, None, &labels.texts);
        let by_chance = in_other(&theirs, &control);
        Ok(QuestionReport {
            line: question.line,
            id: question.id.clone(),
            text: question.text.clone(),
            is_labelled: question.is_labelled(),
            sources: SourceCounts::of(&theirs, &ours),
            overlap: (true_share(&overlap.0), true_share(&overlap.1)),
            overlap_by_chance: true_share(&by_chance),
            theirs: report(&theirs, their_marks),
            ours: report(&ours, our_marks),
            control: report(&control, Vec::new()),
            data,
            least_budget: pack.least_budget,
            notices: pack.notices,
            evidence_not_in_data: labels.not_in_data,
            answer_is_nowhere: labels.answer_is_nowhere,
        })
    }

    /// Measures a context by the ruler of evaluations.
    fn report(
        &self,
        context: &Context,
        (labels, library): (&LocatedLabels, &TextLibrary),
        (budget, marks): (Tokens, Vec<Mark>),
    ) -> ContextReport {
        let mut index = RunIndex::new(&context.words);
        let mut parts = Vec::new();
        let items = context.sources.iter().chain(&labels.items);
        let mut seen = BTreeSet::new();
        for item in items.filter(|item| seen.insert(item.id.as_str())) {
            let found = index.align(&item.words).document_bytes.into_iter();
            parts.extend(found.map(|bytes| (item.id.clone(), bytes)));
        }
        let text = context.words.text();
        let tokens = self.tokenizer.count(text);
        let given = GivenContext { text, budget, tokens, parts };
        let (shares, broken) = measure_context(given, &labels.question, library);
        ContextReport {
            text: text.to_owned(),
            tokens,
            sources: context.sources.iter().map(|item| item.id.clone()).collect(),
            repeated: context.words.repeated_share(),
            score: shares.objective(),
            shares,
            broken,
            ms: context.ms,
            marks,
        }
    }

    /// Finds the labels of a question in the data.
    fn labels(
        &mut self,
        question: &ShadowQuestion,
        theirs: &Context,
        ours: &Context,
    ) -> Result<LocatedLabels, DataError> {
        let given = &question.labels;
        let mut own = EvalQuestion::new(question.id.clone(), question.text.clone());
        let mut items: BTreeMap<String, Rc<KnownItem>> = BTreeMap::new();
        let (mut texts, mut not_in_data) = (Vec::new(), 0);
        own.must.clone_from(&given.must);
        for one in &given.evidence {
            let found = self.find_evidence(one.text.as_deref(), one.source.as_deref())?;
            texts.extend(one.text.clone().map(WordText::new));
            let Some((item, spans)) = found else {
                not_in_data += 1;
                own.must.extend(one.text.as_deref().map(collapse_whitespace));
                continue;
            };
            let evidence = own.evidence.entry(item.id.clone());
            let evidence = evidence.or_insert(Evidence { grade: 1, spans: Vec::new() });
            evidence.spans.extend(spans);
            items.insert(item.id.clone(), item);
        }
        texts.extend(given.must.iter().cloned().map(WordText::new));
        let items: Vec<Rc<KnownItem>> = items.into_values().collect();
        let (gold, answer_is_nowhere) = self.gold(&given.gold, &items, (question, theirs, ours))?;
        own.gold = gold;
        Ok(LocatedLabels { question: own, items, texts, not_in_data, answer_is_nowhere })
    }

    /// The item that has a piece of evidence, and the bytes of it; no bytes for the whole item.
    fn find_evidence(
        &mut self,
        text: Option<&str>,
        source: Option<&str>,
    ) -> Result<Option<FoundEvidence>, DataError> {
        let mut items = match source {
            Some(source) => self.finder.items(&[source.to_owned()])?,
            None => Vec::new(),
        };
        let Some(text) = text else { return Ok(items.pop().map(|item| (item, Vec::new()))) };
        let words = WordText::new(text.to_owned());
        items.extend(self.finder.search(&words.query(0..words.len().min(80)))?);
        let mut index = RunIndex::new(&words);
        let mut best: Option<(f64, Rc<KnownItem>, Vec<Range<usize>>)> = None;
        for item in items {
            let found = index.align(&item.words);
            let mut is_in = vec![false; words.len()];
            found.text_words.into_iter().for_each(|run| is_in[run].fill(true));
            let share = true_share(&is_in);
            // The first of equals: the named source.
            if share >= EVIDENCE_FOUND && best.as_ref().is_none_or(|best| share > best.0) {
                best = Some((share, item, found.document_bytes));
            }
        }
        Ok(best.map(|(_, item, spans)| (item, spans)))
    }

    /// The expected answer, unless it measures nothing, because no text has it.
    fn gold(
        &mut self,
        given: &Gold,
        items: &[Rc<KnownItem>],
        (question, theirs, ours): (&ShadowQuestion, &Context, &Context),
    ) -> Result<(Gold, bool), DataError> {
        let mut gold = given.clone();
        let mut mark = |text: &str| gold.mark_labelled_in(&NormalizedWords::of(text));
        items.iter().for_each(|item| mark(item.words.text()));
        if items.is_empty() {
            [theirs, ours].iter().for_each(|context| mark(context.words.text()));
            if gold.needs_lookup() {
                let words = WordText::new(format!("{} {}", question.text, given.words()));
                let found = self.finder.search(&words.query(0..words.len().min(80)))?;
                found.iter().for_each(|item| {
                    gold.mark_labelled_in(&NormalizedWords::of(item.words.text()));
                });
            }
        }
        let was_asked = matches!(gold, Gold::AnyOf(_));
        gold.drop_unlabelled();
        let is_nowhere = was_asked && !matches!(gold, Gold::AnyOf(_));
        Ok((gold, is_nowhere))
    }
}

/// The bytes of a passage in its context, and its source.
type PassagePlace = (Range<usize>, Option<String>);

/// An item and the bytes of the evidence in it.
type FoundEvidence = (Rc<KnownItem>, Vec<Range<usize>>);

/// The text of a question's context, and the bytes and source of each passage.
fn joined(question: &ShadowQuestion) -> (String, Vec<PassagePlace>) {
    let mut text = String::new();
    let mut passages = Vec::new();
    for passage in &question.context {
        if !text.is_empty() {
            text.push_str(SEPARATOR);
        }
        let start = text.len();
        text.push_str(&passage.text);
        passages.push((start..text.len(), passage.source.clone()));
    }
    (text, passages)
}

/// For each word of a context, whether another has it.
fn in_other(context: &Context, other: &Context) -> Vec<bool> {
    let mut shared = vec![false; context.words.len()];
    let found = RunIndex::new(&context.words).align(&other.words);
    found.text_words.into_iter().for_each(|run| shared[run].fill(true));
    shared
}

fn true_share(words: &[bool]) -> f64 {
    share(words.iter().filter(|is| **is).count(), words.len())
}

/// The texts of all items that contexts or labels are from.
fn library(contexts: &[&Context], labelled: &[Rc<KnownItem>]) -> TextLibrary {
    let mut library = TextLibrary::default();
    let sources = contexts.iter().flat_map(|context| &context.sources);
    let mut seen = BTreeSet::new();
    for item in sources.chain(labelled).filter(|item| seen.insert(item.id.as_str())) {
        let title = Some(item.title.clone()).filter(|title| !title.is_empty());
        let text = LibraryText::new(title, item.words.text().to_owned(), item.path.as_deref());
        library.insert(item.id.clone(), text);
    }
    library
}

/// The parts of a context by what is known of them.
fn marks(
    context: &Context,
    shared: &[bool],
    origin: Option<&TextOrigin>,
    evidence: &[WordText],
) -> Vec<Mark> {
    let mut is_evidence = vec![false; shared.len()];
    let mut index = RunIndex::new(&context.words);
    for text in evidence {
        index.align(text).text_words.into_iter().for_each(|run| is_evidence[run].fill(true));
    }
    let kind = |word: usize| match origin {
        Some(origin) if origin.hidden[word] => MarkKind::Hidden,
        _ if shared[word] => MarkKind::Shared,
        Some(origin) if !origin.readable[word] => MarkKind::Missing,
        _ => MarkKind::Own,
    };
    let mut marks: Vec<Mark> = Vec::new();
    for word in 0..shared.len() {
        let bytes = context.words.bytes_of(&(word..word + 1));
        let (kind, is_evidence) = (kind(word), is_evidence[word]);
        match marks.last_mut() {
            Some(last) if (last.kind, last.is_evidence) == (kind, is_evidence) => {
                last.bytes.end = bytes.end;
            }
            _ => marks.push(Mark { bytes, kind, is_evidence }),
        }
    }
    marks
}

impl TheirData {
    fn of(
        origin: &TextOrigin,
        passages: &[(Range<usize>, Option<String>)],
        runs: &[Range<usize>],
    ) -> TheirData {
        let known = origin.readable.iter().zip(&origin.hidden);
        let missing: Vec<bool> = known.map(|(readable, hidden)| !readable && !hidden).collect();
        let hidden_sources = origin.sources.iter().filter(|located| !located.is_readable);
        let passage = |((bytes, source), run): (&(Range<usize>, Option<String>), &Range<usize>)| {
            PassageReport {
                bytes: bytes.clone(),
                source: source.clone(),
                hidden: true_share(&origin.hidden[run.clone()]),
                missing: true_share(&missing[run.clone()]),
            }
        };
        TheirData {
            passages: passages.iter().zip(runs).map(passage).collect(),
            hidden_sources: hidden_sources.map(|located| located.item.id.clone()).collect(),
            hidden: true_share(&origin.hidden),
            missing: true_share(&missing),
        }
    }
}

impl SourceCounts {
    fn of(theirs: &Context, ours: &Context) -> SourceCounts {
        let ids = |context: &Context| -> BTreeSet<String> {
            context.sources.iter().map(|item| item.id.clone()).collect()
        };
        let (theirs, ours) = (ids(theirs), ids(ours));
        let both = theirs.intersection(&ours).count();
        SourceCounts { both, theirs: theirs.len() - both, ours: ours.len() - both }
    }
}

impl QuestionReport {
    /// By how much ours scores above theirs; `None` without labels that measure.
    #[must_use]
    pub fn gain(&self) -> Option<f64> {
        Some(self.ours.score? - self.theirs.score?)
    }

    /// A metric of theirs, ours and the random context.
    #[must_use]
    pub fn metric(&self, metric: Metric) -> [Option<f64>; 3] {
        [&self.theirs, &self.ours, &self.control].map(|context| context.shares.get(metric))
    }
}
