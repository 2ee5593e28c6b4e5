//! Evaluation: measures whether the packs for labelled questions contain the evidence, whole and
//! readable, at which size and latency. Labels decide, not a model.
//!
//! A set is a folder of documents, questions and labels; `docs/eval.md` describes the format and
//! each metric. Each corpus is stored in its own workspace in a scratch folder; the user's data is not
//! touched. Packs of other systems are read from a file and measured by the same code.

mod answer;
mod blocks;
mod broken;
mod clutter;
mod context;
mod corpus;
mod cover;
mod dates;
mod error;
mod folder;
mod ingest;
mod json;
mod library;
mod metrics;
mod off_topic;
mod packs;
mod question;
mod rows;
mod ruler;
mod run;
mod scope;
mod spans;
#[cfg(test)]
mod tests;
mod warnings;
mod words;

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use haversack_core::units::{Timestamp, Tokens};

pub use answer::{EvalAnswer, MissingEvidence};
pub use error::EvalError;
pub use metrics::{BudgetMetrics, EvalMetrics, EvalReport, IngestTiming, Latency, Mean, OffTopic};
pub use question::AnswerSkip;
pub use ruler::{Metric, MetricShares, PackMeasurement};
pub use warnings::{SetWarnings, WarningCount};

pub(crate) use self::context::{GivenContext, measure_context};
use self::folder::EvalFolder;
pub(crate) use self::library::{LibraryText, TextLibrary};
use self::metrics::OffTopicPack;
pub(crate) use self::off_topic::is_chosen;
pub(crate) use self::question::{EvalQuestion, Evidence, Gold};
pub(crate) use self::rows::RowFile;
use self::run::ScopeResult;
pub(crate) use self::run::{EvalPlan, full_budget_request};
pub(crate) use self::words::{NormalizedWords, collapse_whitespace};
use haversack::engine::Builder;

/// The encoding that counts tokens: the one that published results use.
const TOKENIZER: &str = "o200k_base";

/// The time of requests to a corpus without dates: 2026-01-01.
const NOW: Timestamp = Timestamp::from_millis(1_767_225_600_000);

/// The highest limit of a search.
const CANDIDATES_MAX: usize = 1_000;

/// Options of an evaluation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EvalOptions {
    /// The recipe's name.
    pub recipe: String,
    /// The budgets in tokens. The recipe's reserves are set to zero, so a pack may use the whole
    /// budget.
    pub budgets: Vec<u32>,
    /// The maximum number of labelled questions, evenly sampled, and the same number of unlabelled
    /// ones; all when `None`.
    pub limit: Option<usize>,
    /// How many candidates a search returns; the recipe's own number when `None`.
    pub candidates: Option<usize>,
    /// Another set whose questions are off topic for this corpus: `limit` of them, else 100.
    pub off_topic: Option<PathBuf>,
}

impl Default for EvalOptions {
    fn default() -> EvalOptions {
        EvalOptions {
            recipe: "memory".to_owned(),
            budgets: vec![512, 1_000, 2_000, 4_000],
            limit: None,
            candidates: None,
            off_topic: None,
        }
    }
}

impl EvalOptions {
    /// The checked budgets, smallest first.
    pub(crate) fn tokens(&self) -> Result<Vec<Tokens>, EvalError> {
        let mut budgets: Vec<Tokens> = self.budgets.iter().copied().map(Tokens::new).collect();
        budgets.sort_unstable();
        budgets.dedup();
        let wrong = |option, what: String| Err(EvalError::Option { option, what });
        if budgets.first().is_none_or(|least| *least == Tokens::ZERO) {
            return wrong("budgets", "at least one is needed, and each must be above 0".to_owned());
        }
        if let Some(candidates) = self.candidates
            && !(1..=CANDIDATES_MAX).contains(&candidates)
        {
            let what = format!("{candidates} is not between 1 and {CANDIDATES_MAX}");
            return wrong("candidates", what);
        }
        if self.limit == Some(0) {
            return wrong("limit", "must be above 0".to_owned());
        }
        Ok(budgets)
    }
}

/// A step of an evaluation.
#[derive(Debug)]
pub enum EvalEvent<'a> {
    /// A set is being read.
    Reading {
        /// Which.
        set: &'a str,
    },
    /// Documents were stored.
    Stored {
        /// Of which set.
        set: &'a str,
        /// How many so far.
        done: u64,
        /// How many there are.
        of: u64,
    },
    /// A question was answered.
    Answered {
        /// Its measurements.
        answer: &'a EvalAnswer,
        /// How many of all sets so far.
        done: usize,
        /// How many there are.
        of: usize,
    },
    /// An off-topic question was asked.
    OffTopic {
        /// Of which corpus.
        set: &'a str,
        /// How many of this corpus so far.
        done: usize,
        /// How many there are.
        of: usize,
    },
}

/// Receives each event. An error ends the evaluation.
pub type EventHandler<'w> = dyn FnMut(EvalEvent<'_>) -> io::Result<()> + 'w;

/// Evaluates a recipe on a set, a scoped set or a folder of sets.
///
/// `builder` creates the engine of each corpus, with any embedder, collectors or recipes. `scratch`
/// is an empty folder for the data; the caller removes it.
///
/// The same set and options give the same metrics, except times: the clock is fixed at the latest
/// date of each corpus.
///
/// # Errors
/// When the set is malformed (the error names file, line and field), a document cannot be stored or
/// a question cannot be answered.
pub async fn run(
    set: &Path,
    options: &EvalOptions,
    scratch: &Path,
    builder: &dyn Fn() -> Builder,
    watch: &mut EventHandler<'_>,
) -> Result<EvalReport, EvalError> {
    let budgets = options.tokens()?;
    let plan = EvalPlan {
        recipes: std::slice::from_ref(&options.recipe),
        budgets: &budgets,
        limit: options.limit,
        candidates: options.candidates,
        with_unlabelled: true,
        off_topic: options.off_topic.as_deref(),
    };
    let (folder, asked) = run::ask_set(set, plan, scratch, builder, watch).await?;
    Ok(report(&folder, &asked, (Some(&options.recipe), options.candidates)))
}

/// Evaluates packs in a file that another system built for the questions of a set. Uses only
/// `budgets` and `limit` of the options.
///
/// # Errors
/// When the set or the file is malformed, or a pack is missing; the error names file, line and
/// field.
pub fn run_packs(
    set: &Path,
    file: &Path,
    options: &EvalOptions,
    watch: &mut EventHandler<'_>,
) -> Result<EvalReport, EvalError> {
    let budgets = options.tokens()?;
    let (folder, asked) = run::read_packs(set, (file, &budgets, options.limit), watch)?;
    Ok(report(&folder, &asked, (None, None)))
}

/// Answers of several recipes to a set's questions: for each question, one answer per recipe.
pub(crate) async fn answers(
    set: &Path,
    plan: EvalPlan<'_>,
    scratch: &Path,
    builder: &dyn Fn() -> Builder,
    watch: &mut EventHandler<'_>,
) -> Result<Vec<Vec<EvalAnswer>>, EvalError> {
    let (_, asked) = run::ask_set(set, plan, scratch, builder, watch).await?;
    let answers: Vec<EvalAnswer> = asked.into_values().flat_map(|asked| asked.answers).collect();
    let mut answers = answers.into_iter();
    let mut by_question = Vec::new();
    loop {
        let one: Vec<EvalAnswer> = answers.by_ref().take(plan.recipes.len()).collect();
        if one.is_empty() {
            return Ok(by_question);
        }
        by_question.push(one);
    }
}

fn report(
    folder: &EvalFolder,
    asked: &BTreeMap<String, ScopeResult>,
    (recipe, candidates): (Option<&String>, Option<usize>),
) -> EvalReport {
    let sets: Vec<EvalReport> = match folder {
        EvalFolder::One(_) => Vec::new(),
        EvalFolder::Many { folders, .. } => {
            folders.iter().map(|folder| report(folder, asked, (recipe, candidates))).collect()
        }
    };
    let scopes = scope_names(folder);
    let own: Vec<&ScopeResult> = scopes.iter().filter_map(|name| asked.get(*name)).collect();
    let answers: Vec<&EvalAnswer> = own.iter().flat_map(|asked| &asked.answers).collect();
    let off_topic: Vec<&Vec<OffTopicPack>> =
        own.iter().flat_map(|asked| &asked.off_topic).collect();
    let mut ingest = IngestTiming::default();
    let mut warnings = SetWarnings::default();
    for (name, one) in scopes.iter().filter_map(|name| Some((*name, asked.get(*name)?))) {
        ingest.items += one.ingest.items;
        ingest.elapsed += one.ingest.elapsed;
        warnings.add(&one.warnings, if sets.is_empty() { "" } else { name });
    }
    let mut kinds = own.iter().map(|asked| &asked.kind).filter(|kind| !kind.is_empty());
    EvalReport {
        set: folder.name().to_owned(),
        recipe: recipe.cloned(),
        kind: kinds.next().cloned().unwrap_or_default(),
        candidates,
        scopes: own.iter().filter(|asked| !asked.answers.is_empty()).count(),
        metrics: EvalMetrics::of(&answers),
        off_topic: OffTopic::of(&off_topic),
        ingest,
        warnings,
        sets,
    }
}

/// The names of all scopes in a folder, in order.
fn scope_names(folder: &EvalFolder) -> Vec<&str> {
    match folder {
        EvalFolder::One(scope) => vec![&scope.name],
        EvalFolder::Many { folders, .. } => folders.iter().flat_map(scope_names).collect(),
    }
}
