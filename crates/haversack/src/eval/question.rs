//! Questions, and what a pack has to hold for each.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;

use serde_json::{Map, Value};

use super::error::EvalError;
use super::rows::{Object, Rows};
use super::words::{Words, squeezed};

/// Answers that stand in nearly every text.
const YES_NO: [&str; 4] = ["yes", "no", "true", "false"];

/// A question with its labels.
#[derive(Debug, Clone)]
pub(crate) struct Question {
    pub(crate) id: String,
    pub(crate) text: String,
    /// Documents that must not answer it.
    pub(crate) exclude: Vec<String>,
    /// What is labelled, by document.
    pub(crate) evidence: BTreeMap<String, Evidence>,
    pub(crate) gold: Gold,
    /// Strings that have to stand in a pack, each run of white space as one blank.
    pub(crate) must: Vec<String>,
}

impl Question {
    /// A question without labels.
    pub(crate) fn new(id: String, text: String) -> Question {
        let (exclude, evidence, must) = (Vec::new(), BTreeMap::new(), Vec::new());
        Question { id, text, exclude, evidence, gold: Gold::None, must }
    }

    /// Whether anything says what a pack for it has to hold.
    pub(crate) fn is_labelled(&self) -> bool {
        !self.evidence.is_empty() || !self.must.is_empty()
    }

    /// Whether its evidence is known to the character.
    pub(crate) fn has_spans(&self) -> bool {
        self.evidence.values().any(|evidence| !evidence.spans.is_empty())
    }

    /// The labels that evidence is counted by: those with spans where there are any, else all.
    pub(crate) fn counted(&self) -> impl Iterator<Item = (&str, &Evidence)> {
        let by_spans = self.has_spans();
        let counted =
            self.evidence.iter().filter(move |(_, own)| !by_spans || !own.spans.is_empty());
        counted.map(|(document, evidence)| (document.as_str(), evidence))
    }
}

/// What is labelled of a document for a question.
#[derive(Debug, Clone)]
pub(crate) struct Evidence {
    pub(crate) grade: u8,
    /// The bytes of each supporting span; none when the whole document is the evidence.
    pub(crate) spans: Vec<Range<usize>>,
}

/// The right answer to a question.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) enum Gold {
    /// The set has none.
    #[default]
    None,
    /// It cannot be looked for in a pack.
    LeftOut(LeftOut),
    /// Alternatives, of which any one will do.
    AnyOf(Vec<Alternative>),
}

/// A right answer, and whether a labelled document has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Alternative {
    words: Words,
    is_labelled: bool,
}

/// Why an answer is not looked for in packs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum LeftOut {
    /// It is yes or no.
    YesNo,
    /// It stands in the question.
    InQuestion,
    /// It stands in no labelled document.
    Nowhere,
}

impl Gold {
    /// The answer in a question's `meta`. Alternatives that say nothing about a pack are left out.
    fn of(answer: Option<Value>, question: &str) -> Result<Gold, String> {
        let given = match answer {
            None | Some(Value::Null) => return Ok(Gold::None),
            Some(Value::Array(given)) => given,
            Some(one) => vec![one],
        };
        let mut alternatives = Vec::new();
        for one in given {
            alternatives.push(Words::of(&match one {
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
            return Ok(Gold::LeftOut(LeftOut::YesNo));
        }
        let question = Words::of(question);
        alternatives.retain(|words| !question.hold(words));
        if alternatives.is_empty() {
            return Ok(Gold::LeftOut(LeftOut::InQuestion));
        }
        let alternative = |words| Alternative { words, is_labelled: false };
        Ok(Gold::AnyOf(alternatives.into_iter().map(alternative).collect()))
    }

    /// Whether a labelled document has to be looked through for it.
    pub(super) fn is_open(&self) -> bool {
        match self {
            Gold::AnyOf(all) => all.iter().any(|one| !one.is_labelled),
            Gold::None | Gold::LeftOut(_) => false,
        }
    }

    /// Looks for it in a labelled document.
    pub(super) fn look_in(&mut self, document: &Words) {
        if let Gold::AnyOf(all) = self {
            all.iter_mut().for_each(|one| one.is_labelled |= document.hold(&one.words));
        }
    }

    /// Leaves out what no labelled document has, when all have been looked through.
    pub(super) fn settle(&mut self) {
        if let Gold::AnyOf(all) = self {
            all.retain(|one| one.is_labelled);
            if all.is_empty() {
                *self = Gold::LeftOut(LeftOut::Nowhere);
            }
        }
    }

    /// Whether it stands in a pack; `None` when it is not looked for.
    pub(super) fn is_in(&self, pack: &Words) -> Option<bool> {
        match self {
            Gold::AnyOf(all) => Some(all.iter().any(|one| pack.hold(&one.words))),
            Gold::None | Gold::LeftOut(_) => None,
        }
    }

    pub(super) const fn left_out(&self) -> Option<LeftOut> {
        match self {
            Gold::LeftOut(why) => Some(*why),
            Gold::None | Gold::AnyOf(_) => None,
        }
    }
}

/// Reads `queries.jsonl`.
pub(super) fn read_questions(path: &Path) -> Result<Vec<Question>, EvalError> {
    let mut rows = Rows::open(path)?;
    let mut questions = Vec::new();
    let mut lines: BTreeMap<String, u64> = BTreeMap::new();
    while let Some(mut object) = rows.object()? {
        let (id, text) = (object.text("id")?, object.text("text")?);
        let mut meta = object.meta()?;
        let (exclude, must) = (sources(&mut meta, &object)?, must(&mut meta, &object)?);
        let gold = Gold::of(meta.remove("answer"), &text).map_err(|what| object.wrong(what))?;
        if let Some(line) = lines.insert(id.clone(), object.line) {
            return Err(object.wrong(format!("id: {id:?} is on line {line} already")));
        }
        questions.push(Question { exclude, gold, must, ..Question::new(id, text) });
    }
    Ok(questions)
}

/// Documents that must not answer.
fn sources(meta: &mut Map<String, Value>, object: &Object) -> Result<Vec<String>, EvalError> {
    let sources = match meta.remove("sources") {
        None | Some(Value::Null) => return Ok(Vec::new()),
        Some(Value::Array(sources)) => sources,
        Some(_) => return Err(object.wrong("meta.sources: has to be a list of ids")),
    };
    let id = |source: Value| match source {
        Value::String(id) if !id.is_empty() => Ok(id),
        other => Err(object.wrong(format!("meta.sources: {other} is not the id of a document"))),
    };
    sources.into_iter().map(id).collect()
}

/// Strings that have to stand in a pack.
fn must(meta: &mut Map<String, Value>, object: &Object) -> Result<Vec<String>, EvalError> {
    let strings = match meta.remove("must") {
        None | Some(Value::Null) => return Ok(Vec::new()),
        Some(Value::Array(strings)) => strings,
        Some(one) => vec![one],
    };
    let string = |string: Value| match string.as_str().map(squeezed) {
        Some(string) if !string.is_empty() => Ok(string),
        _ => Err(object.wrong(format!("meta.must: {string} is not a text to look for"))),
    };
    strings.into_iter().map(string).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// What becomes of an answer: why it is left out, or whether a pack has it.
    fn check(answer: &Value, (question, document): (&str, &str), pack: &str, expected: &str) {
        let mut gold = Gold::of(Some(answer.clone()), question).unwrap();
        gold.look_in(&Words::of(document));
        gold.settle();
        let found = match (gold.left_out(), gold.is_in(&Words::of(pack))) {
            (None, None) => "none",
            (Some(LeftOut::YesNo), None) => "yes or no",
            (Some(LeftOut::InQuestion), None) => "in the question",
            (Some(LeftOut::Nowhere), None) => "nowhere",
            (None, Some(true)) => "in",
            (None, Some(false)) => "out",
            (Some(_), Some(_)) => "both",
        };
        assert_eq!(found, expected, "{answer} {question:?} {document:?} {pack:?}");
    }

    #[test]
    fn answers_that_say_nothing_are_left_out() {
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
        // Another alternative that no labelled document has proves nothing.
        check(&json!(["Paris", "Lyon"]), text, "in Paris", "out");
        check(&json!(["rocket", "Lyon"]), text, "the rocket", "out");
    }

    #[test]
    fn an_answer_has_a_form() {
        assert!(Gold::of(Some(json!({})), "q").unwrap_err().starts_with("meta.answer: {} is"));
        assert!(Gold::of(Some(json!([["a"]])), "q").is_err());
    }
}
