//! Questions with their labels: evidence, gold answers and required strings.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;

use serde_json::{Map, Value};

use super::error::EvalError;
use super::rows::{JsonRow, RowFile};
use super::words::{NormalizedWords, collapse_whitespace};

/// Answers that nearly every text contains.
const YES_NO: [&str; 4] = ["yes", "no", "true", "false"];

/// A question with its labels.
#[derive(Debug, Clone)]
pub(crate) struct EvalQuestion {
    pub(crate) id: String,
    pub(crate) text: String,
    /// Documents that must not answer it.
    pub(crate) exclude: Vec<String>,
    /// The labelled evidence, by document.
    pub(crate) evidence: BTreeMap<String, Evidence>,
    pub(crate) gold: Gold,
    /// Strings that a pack must contain, with white space collapsed.
    pub(crate) must: Vec<String>,
}

impl EvalQuestion {
    /// A question without labels.
    pub(crate) fn new(id: String, text: String) -> EvalQuestion {
        let (exclude, evidence, must) = (Vec::new(), BTreeMap::new(), Vec::new());
        EvalQuestion { id, text, exclude, evidence, gold: Gold::None, must }
    }

    /// Whether labels say what its pack must contain.
    pub(crate) fn is_labelled(&self) -> bool {
        !self.evidence.is_empty() || !self.must.is_empty()
    }

    /// Whether its evidence has spans.
    pub(crate) fn has_spans(&self) -> bool {
        self.evidence.values().any(|evidence| !evidence.spans.is_empty())
    }

    /// The evidence that counts: documents with spans if there are any, else all.
    pub(crate) fn counted_evidence(&self) -> impl Iterator<Item = (&str, &Evidence)> {
        let by_spans = self.has_spans();
        let counted =
            self.evidence.iter().filter(move |(_, own)| !by_spans || !own.spans.is_empty());
        counted.map(|(document, evidence)| (document.as_str(), evidence))
    }
}

/// The evidence of a document for a question.
#[derive(Debug, Clone)]
pub(crate) struct Evidence {
    pub(crate) grade: u8,
    /// The byte ranges of supporting spans; empty when the whole document is the evidence.
    pub(crate) spans: Vec<Range<usize>>,
}

/// The gold answer to a question.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) enum Gold {
    /// The set has none.
    #[default]
    None,
    /// Packs are not searched for it.
    Skipped(AnswerSkip),
    /// Alternatives; any one counts.
    AnyOf(Vec<Alternative>),
}

/// A gold answer, and whether a labelled document contains it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Alternative {
    words: NormalizedWords,
    is_labelled: bool,
}

/// Why packs are not searched for a gold answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum AnswerSkip {
    /// It is yes or no.
    YesNo,
    /// The question contains it.
    InQuestion,
    /// No labelled document contains it.
    Nowhere,
}

impl Gold {
    /// The answer in a question's `meta`, without alternatives that prove nothing about a pack.
    pub(crate) fn of(answer: Option<Value>, question: &str) -> Result<Gold, String> {
        let given = match answer {
            None | Some(Value::Null) => return Ok(Gold::None),
            Some(Value::Array(given)) => given,
            Some(one) => vec![one],
        };
        let mut alternatives = Vec::new();
        for one in given {
            alternatives.push(NormalizedWords::of(&match one {
                Value::String(text) => text,
                Value::Number(number) => number.to_string(),
                Value::Bool(yes) => yes.to_string(),
                other => {
                    return Err(format!("meta.answer: {other} is neither text nor a number"));
                }
            }));
        }
        if alternatives.is_empty() {
            return Ok(Gold::None);
        }
        alternatives.retain(|words| !words.is_one_of(&YES_NO));
        if alternatives.is_empty() {
            return Ok(Gold::Skipped(AnswerSkip::YesNo));
        }
        let question = NormalizedWords::of(question);
        alternatives.retain(|words| !question.contains(words));
        if alternatives.is_empty() {
            return Ok(Gold::Skipped(AnswerSkip::InQuestion));
        }
        let alternative = |words| Alternative { words, is_labelled: false };
        Ok(Gold::AnyOf(alternatives.into_iter().map(alternative).collect()))
    }

    /// The words of all alternatives.
    pub(crate) fn words(&self) -> String {
        match self {
            Gold::AnyOf(all) => all.iter().map(|one| one.words.as_str()).collect(),
            Gold::None | Gold::Skipped(_) => String::new(),
        }
    }

    /// Whether labelled documents still have to be searched for an alternative.
    pub(crate) fn needs_lookup(&self) -> bool {
        match self {
            Gold::AnyOf(all) => all.iter().any(|one| !one.is_labelled),
            Gold::None | Gold::Skipped(_) => false,
        }
    }

    /// Marks the alternatives that a labelled document contains.
    pub(crate) fn mark_labelled_in(&mut self, document: &NormalizedWords) {
        if let Gold::AnyOf(all) = self {
            all.iter_mut().for_each(|one| one.is_labelled |= document.contains(&one.words));
        }
    }

    /// Drops the alternatives that no labelled document contains.
    pub(crate) fn drop_unlabelled(&mut self) {
        if let Gold::AnyOf(all) = self {
            all.retain(|one| one.is_labelled);
            if all.is_empty() {
                *self = Gold::Skipped(AnswerSkip::Nowhere);
            }
        }
    }

    /// Whether a pack contains it; `None` when it is skipped.
    pub(super) fn is_in(&self, pack: &NormalizedWords) -> Option<bool> {
        match self {
            Gold::AnyOf(all) => Some(all.iter().any(|one| pack.contains(&one.words))),
            Gold::None | Gold::Skipped(_) => None,
        }
    }

    pub(super) const fn skipped(&self) -> Option<AnswerSkip> {
        match self {
            Gold::Skipped(why) => Some(*why),
            Gold::None | Gold::AnyOf(_) => None,
        }
    }
}

/// Reads `queries.jsonl`.
pub(super) fn read_questions(path: &Path) -> Result<Vec<EvalQuestion>, EvalError> {
    let mut rows = RowFile::open(path)?;
    let mut questions = Vec::new();
    let mut lines: BTreeMap<String, u64> = BTreeMap::new();
    while let Some(mut object) = rows.object()? {
        let (id, text) = (object.text("id")?, object.text("text")?);
        let mut meta = object.meta()?;
        let (exclude, must) = (sources(&mut meta, &object)?, must(&mut meta, &object)?);
        let gold = Gold::of(meta.remove("answer"), &text).map_err(|what| object.error(what))?;
        if let Some(line) = lines.insert(id.clone(), object.line) {
            return Err(object.error(format!("id: {id:?} is on line {line} already")));
        }
        questions.push(EvalQuestion { exclude, gold, must, ..EvalQuestion::new(id, text) });
    }
    Ok(questions)
}

/// Reads `meta.sources`: documents that must not answer.
fn sources(meta: &mut Map<String, Value>, object: &JsonRow) -> Result<Vec<String>, EvalError> {
    let sources = match meta.remove("sources") {
        None | Some(Value::Null) => return Ok(Vec::new()),
        Some(Value::Array(sources)) => sources,
        Some(_) => return Err(object.error("meta.sources: has to be a list of ids")),
    };
    let id = |source: Value| match source {
        Value::String(id) if !id.is_empty() => Ok(id),
        other => Err(object.error(format!("meta.sources: {other} is not the id of a document"))),
    };
    sources.into_iter().map(id).collect()
}

/// Reads `meta.must`: strings that a pack must contain.
fn must(meta: &mut Map<String, Value>, object: &JsonRow) -> Result<Vec<String>, EvalError> {
    let strings = match meta.remove("must") {
        None | Some(Value::Null) => return Ok(Vec::new()),
        Some(Value::Array(strings)) => strings,
        Some(one) => vec![one],
    };
    let string = |string: Value| match string.as_str().map(collapse_whitespace) {
        Some(string) if !string.is_empty() => Ok(string),
        _ => Err(object.error(format!("meta.must: {string} is not a text to look for"))),
    };
    strings.into_iter().map(string).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Checks why an answer is skipped, or whether a pack contains it.
    fn check(answer: &Value, (question, document): (&str, &str), pack: &str, expected: &str) {
        let mut gold = Gold::of(Some(answer.clone()), question).unwrap();
        gold.mark_labelled_in(&NormalizedWords::of(document));
        gold.drop_unlabelled();
        let found = match (gold.skipped(), gold.is_in(&NormalizedWords::of(pack))) {
            (None, None) => "none",
            (Some(AnswerSkip::YesNo), None) => "yes or no",
            (Some(AnswerSkip::InQuestion), None) => "in the question",
            (Some(AnswerSkip::Nowhere), None) => "nowhere",
            (None, Some(true)) => "in",
            (None, Some(false)) => "out",
            (Some(_), Some(_)) => "both",
        };
        assert_eq!(found, expected, "{answer} {question:?} {document:?} {pack:?}");
    }

    #[test]
    fn answers_that_prove_nothing_are_skipped() {
        let text = ("When was the rocket built?", "The rocket was built in May 2022, in Lyon.");
        check(&Value::Null, text, "May 2022", "none");
        check(&json!([]), text, "May 2022", "none");
        check(&json!("Yes."), text, "yes", "yes or no");
        check(&json!(false), text, "false", "yes or no");
        check(&json!(["no", "No!"]), text, "no", "yes or no");
        check(&json!("the rocket"), text, "a rocket", "in the question");
        check(&json!(["rocket", "yes"]), text, "a rocket", "in the question");
        check(&json!("Paris"), text, "Paris", "nowhere");
        check(&json!("the"), text, "the", "nowhere");
        check(&json!(["Paris", "rocket"]), text, "Paris", "nowhere");
    }

    #[test]
    fn answers_are_found_by_their_words() {
        let text = ("When was the rocket built?", "The rocket was built in May 2022, in Lyon.");
        check(&json!("may  2022"), text, "It was built (May, 2022).", "in");
        check(&json!("may 2022"), text, "It was built in May.", "out");
        check(&json!(2022), text, "in 2022", "in");
        check(&json!(2022), text, "in 12022", "out");
        check(&json!(["Paris", "Lyon"]), text, "in Lyon", "in");
        // An alternative that no labelled document contains proves nothing.
        check(&json!(["Paris", "Lyon"]), text, "in Paris", "out");
        check(&json!(["rocket", "Lyon"]), text, "the rocket", "out");
    }

    #[test]
    fn an_answer_that_is_not_text_or_a_number_is_an_error() {
        assert!(Gold::of(Some(json!({})), "q").unwrap_err().starts_with("meta.answer: {} is"));
        assert!(Gold::of(Some(json!([["a"]])), "q").is_err());
    }
}
