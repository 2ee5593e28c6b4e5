//! Shadow comparison: what Haversack would have packed for questions that another system has
//! answered already, within the same number of tokens.
//!
//! A file gives each question with the context that the other system chose, and labels if there are
//! any; `docs/shadow.md` describes it. Both contexts, and one of random passages, are measured by
//! the same code: which documents' bytes stand in the text. Nothing is written to the workspace.

mod compare;
mod control;
mod json;
mod locate;
mod questions;
mod report;
mod runs;
mod shapes;

use std::error::Error;
use std::path::Path;
use std::time::Duration;

use haversack_core::text::tokenizer::Tokenizer;
use haversack_core::units::Tokens;

pub use compare::{
    ContextReport, Mark, MarkKind, PassageReport, QuestionReport, SourceCounts, TheirData,
};
pub use questions::{QUESTIONS_MAX, ShadowQuestion, read_questions};
pub use report::{ShadowReport, SideSummary, SkippedQuestion, Verdicts};
pub use shapes::ContextPassage;

use self::compare::Comparison;
use crate::eval::{EvalError, is_chosen};
use haversack::pipeline::BUDGET_MAX;

/// Who reads: a user, groups, or, without both, whoever runs the comparison.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct ReadAs {
    /// The user.
    pub user: Option<String>,
    /// The user's groups.
    pub groups: Vec<String>,
}

/// An item of the workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShadowItem {
    /// Its id.
    pub id: String,
    /// Its title; may be empty.
    pub title: String,
    /// Its path, if it has one.
    pub path: Option<String>,
    /// Its text.
    pub body: String,
}

/// What Haversack packed for a question.
#[derive(Debug, Clone, Default)]
pub struct ShadowPack {
    /// The text that a model would get.
    pub text: String,
    /// The ids of the items in it, each once.
    pub items: Vec<String>,
    /// How long it took.
    pub time: Duration,
    /// The least budget, when the recipe has too little room in this one and packed nothing.
    pub least_budget: Option<u32>,
    /// What the engine remarked.
    pub notices: Vec<String>,
}

/// Why the data cannot be read or packed.
pub type DataError = Box<dyn Error + Send + Sync>;

/// The workspace that contexts are compared with: in a data folder or behind a server.
///
/// None of its methods may write.
pub trait ShadowData {
    /// Packs for a question within a budget, with the rights of `asker`.
    ///
    /// # Errors
    /// When the pack cannot be made. A budget that is too small is no error.
    fn pack(&self, question: &str, asker: &ReadAs, budget: Tokens)
    -> Result<ShadowPack, DataError>;

    /// The ids of the items that match words best, with the rights of the caller.
    ///
    /// # Errors
    /// When the workspace cannot be searched.
    fn search(&self, words: &str, limit: usize) -> Result<Vec<String>, DataError>;

    /// The items of these ids that `asker` may read, in their order.
    ///
    /// # Errors
    /// When the workspace cannot be read.
    fn items(&self, ids: &[String], asker: &ReadAs) -> Result<Vec<Option<ShadowItem>>, DataError>;

    /// The ids of items that `asker` may read, for random contexts.
    ///
    /// # Errors
    /// When the workspace cannot be read.
    fn readable_ids(&self, asker: &ReadAs) -> Result<Vec<String>, DataError>;
}

/// Options of a comparison.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ShadowOptions {
    /// Who asks the questions whose lines do not say.
    pub asker: ReadAs,
    /// The most questions, evenly spread; all when `None`.
    pub limit: Option<usize>,
}

/// Compares the contexts in a file with what Haversack packs for the same questions.
///
/// `watch` is told how many questions are done, and of how many.
///
/// # Errors
/// When the file is malformed, which is found out before the first question is asked, or the
/// workspace cannot be read.
pub fn run(
    file: &Path,
    options: &ShadowOptions,
    data: &dyn ShadowData,
    tokenizer: &dyn Tokenizer,
    watch: &mut dyn FnMut(usize, usize),
) -> Result<ShadowReport, EvalError> {
    if options.limit == Some(0) {
        let what = "must be above 0".to_owned();
        return Err(EvalError::Option { option: "limit", what });
    }
    let mut questions = read_questions(file)?;
    let all = questions.len();
    let limit = options.limit.unwrap_or(all);
    let mut number = 0;
    questions.retain(|_| {
        number += 1;
        is_chosen(number - 1, limit, all)
    });
    let mut comparison = Comparison::new(data, tokenizer);
    let (mut compared, mut skipped) = (Vec::new(), Vec::new());
    let of = questions.len();
    for (question, done) in questions.into_iter().zip(1..) {
        let asker = question.asker.clone().unwrap_or_else(|| options.asker.clone());
        let budget = comparison.tokens_of(&question);
        let skip = |reason: String| SkippedQuestion { id: question.id.clone(), reason };
        if budget == Tokens::ZERO {
            skipped.push(skip("its context is empty".to_owned()));
        } else if budget.get() > BUDGET_MAX {
            let what =
                format!("its context has {budget} tokens, more than the {BUDGET_MAX} of a pack");
            skipped.push(skip(what));
        } else {
            let report = comparison.compare(&question, &asker, budget);
            compared.push(report.map_err(|source| EvalError::Data {
                question: question.id.clone(),
                line: question.line,
                source,
            })?);
        }
        watch(done, of);
    }
    Ok(ShadowReport::of(file, tokenizer, compared, skipped))
}
