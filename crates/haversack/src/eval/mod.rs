//! Evaluation: whether the packs for labelled questions hold what answers them, whole and readable,
//! at which size and in which time. No model judges; the labels do.
//!
//! A set is a folder of documents, questions and labels; `docs/eval.md` has the form and what each
//! figure means. Each corpus goes into a workspace of its own in a scratch folder. Nothing of the
//! asker's own data is touched. Packs of other systems are read from a file and measured by the
//! same ruler.

mod answer;
mod blocks;
mod broken;
mod clutter;
mod corpus;
mod cover;
mod dates;
mod error;
mod figures;
mod folder;
mod ingest;
mod json;
mod library;
mod off_topic;
mod packs;
mod question;
mod remarks;
mod rows;
mod ruler;
mod run;
mod scope;
mod spans;
#[cfg(test)]
mod tests;
mod words;

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use haversack_core::units::{Timestamp, Tokens};

pub use answer::{Answer, Missing};
pub use error::EvalError;
pub use figures::{AtBudget, Figures, Ingest, Latency, Mean, OffTopic, Report};
pub use question::LeftOut;
pub use remarks::{Oddity, Remarks};
pub use ruler::{Figure, Packed, Shares};

use self::figures::OffTopicPack;
use self::folder::Folder;
pub(crate) use self::library::{Library, Text};
pub(crate) use self::question::{Evidence, Question};
use self::run::Asked;
pub(crate) use self::run::{Plan, measured};
use crate::engine::Builder;

/// Who counts: the encoding that the figures of others are given in.
const TOKENIZER: &str = "o200k_base";

/// What time it is for a corpus without dates: 2026-01-01.
const NOW: Timestamp = Timestamp::from_millis(1_767_225_600_000);

/// Most that a search can find.
const CANDIDATES_MAX: usize = 1_000;

/// What is evaluated, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// The recipe's name.
    pub recipe: String,
    /// The budgets in tokens; the recipe's reserves are set to nothing, so that a pack may have
    /// all of each.
    pub budgets: Vec<u32>,
    /// How many questions with labels are asked at most, evenly spread over all of them, and as many
    /// without; all when `None`.
    pub limit: Option<usize>,
    /// How many items a search finds; the recipe's own number when `None`, as in a request.
    pub candidates: Option<usize>,
    /// Another set whose questions are asked of this corpus: as many as `limit`, else 100.
    pub off_topic: Option<PathBuf>,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            recipe: "memory".to_owned(),
            budgets: vec![512, 1_000, 2_000, 4_000],
            limit: None,
            candidates: None,
            off_topic: None,
        }
    }
}

impl Options {
    /// The budgets, smallest first.
    pub(crate) fn tokens(&self) -> Result<Vec<Tokens>, EvalError> {
        let mut budgets: Vec<Tokens> = self.budgets.iter().copied().map(Tokens::new).collect();
        budgets.sort_unstable();
        budgets.dedup();
        let wrong = |option, what: String| Err(EvalError::Option { option, what });
        if budgets.first().is_none_or(|least| *least == Tokens::ZERO) {
            return wrong("budgets", "there has to be one, and each has to be above 0".to_owned());
        }
        if let Some(candidates) = self.candidates
            && !(1..=CANDIDATES_MAX).contains(&candidates)
        {
            let what = format!("{candidates} is not between 1 and {CANDIDATES_MAX}");
            return wrong("candidates", what);
        }
        if self.limit == Some(0) {
            return wrong("limit", "with 0 there is no question to ask".to_owned());
        }
        Ok(budgets)
    }
}

/// What happens during an evaluation.
#[derive(Debug)]
pub enum Event<'a> {
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
        /// What became of it.
        answer: &'a Answer,
        /// How many of all sets so far.
        done: usize,
        /// How many there are.
        of: usize,
    },
    /// A question of another set was asked.
    OffTopic {
        /// Of which corpus.
        set: &'a str,
        /// How many of this corpus so far.
        done: usize,
        /// How many there are.
        of: usize,
    },
}

/// Hears what happens; an error ends the evaluation.
pub type Watch<'w> = dyn FnMut(Event<'_>) -> io::Result<()> + 'w;

/// Evaluates a recipe on a set, a scoped set or a folder of sets.
///
/// `builder` makes the engine of each corpus: the place for an embedder, collectors or a recipe of
/// one's own. `scratch` is an empty folder for their data; it is the caller's to remove.
///
/// The same set and options give the same figures, times aside: the clock stands at the latest
/// date of each corpus.
///
/// # Errors
/// When the set is not in form, the error names file, line and field; when a document cannot be
/// stored or a question cannot be answered, which one.
pub async fn run(
    set: &Path,
    options: &Options,
    scratch: &Path,
    builder: &dyn Fn() -> Builder,
    watch: &mut Watch<'_>,
) -> Result<Report, EvalError> {
    let budgets = options.tokens()?;
    let plan = Plan {
        recipes: std::slice::from_ref(&options.recipe),
        budgets: &budgets,
        limit: options.limit,
        candidates: options.candidates,
        with_unlabelled: true,
        off_topic: options.off_topic.as_deref(),
    };
    let (folder, asked) = run::ask(set, plan, scratch, builder, watch).await?;
    Ok(report(&folder, &asked, (Some(&options.recipe), options.candidates)))
}

/// Evaluates the packs in a file, which another system made for the questions of a set. Of the
/// options, budgets and limit count.
///
/// # Errors
/// When the set or the file is not in form, or a pack is missing; the error names file, line and
/// field.
pub fn run_packs(
    set: &Path,
    file: &Path,
    options: &Options,
    watch: &mut Watch<'_>,
) -> Result<Report, EvalError> {
    let budgets = options.tokens()?;
    let (folder, asked) = run::read_packs(set, (file, &budgets, options.limit), watch)?;
    Ok(report(&folder, &asked, (None, None)))
}

/// The answers of several recipes to a set's questions: for each question, in order, one by each.
pub(crate) async fn answers(
    set: &Path,
    plan: Plan<'_>,
    scratch: &Path,
    builder: &dyn Fn() -> Builder,
    watch: &mut Watch<'_>,
) -> Result<Vec<Vec<Answer>>, EvalError> {
    let (_, asked) = run::ask(set, plan, scratch, builder, watch).await?;
    let answers: Vec<Answer> = asked.into_values().flat_map(|asked| asked.answers).collect();
    let mut answers = answers.into_iter();
    let mut by_question = Vec::new();
    loop {
        let one: Vec<Answer> = answers.by_ref().take(plan.recipes.len()).collect();
        if one.is_empty() {
            return Ok(by_question);
        }
        by_question.push(one);
    }
}

fn report(
    folder: &Folder,
    asked: &BTreeMap<String, Asked>,
    (recipe, candidates): (Option<&String>, Option<usize>),
) -> Report {
    let sets: Vec<Report> = match folder {
        Folder::One(_) => Vec::new(),
        Folder::Many { folders, .. } => {
            folders.iter().map(|folder| report(folder, asked, (recipe, candidates))).collect()
        }
    };
    let scopes = scopes(folder);
    let own: Vec<&Asked> = scopes.iter().filter_map(|name| asked.get(*name)).collect();
    let answers: Vec<&Answer> = own.iter().flat_map(|asked| &asked.answers).collect();
    let off_topic: Vec<&Vec<OffTopicPack>> =
        own.iter().flat_map(|asked| &asked.off_topic).collect();
    let mut ingest = Ingest::default();
    let mut remarks = Remarks::default();
    for (name, one) in scopes.iter().filter_map(|name| Some((*name, asked.get(*name)?))) {
        ingest.items += one.ingest.items;
        ingest.elapsed += one.ingest.elapsed;
        remarks.add(&one.remarks, if sets.is_empty() { "" } else { name });
    }
    let mut kinds = own.iter().map(|asked| &asked.kind).filter(|kind| !kind.is_empty());
    Report {
        set: folder.name().to_owned(),
        recipe: recipe.cloned(),
        kind: kinds.next().cloned().unwrap_or_default(),
        candidates,
        scopes: own.iter().filter(|asked| !asked.answers.is_empty()).count(),
        figures: Figures::of(&answers),
        off_topic: OffTopic::of(&off_topic),
        ingest,
        remarks,
        sets,
    }
}

/// The names of a folder's corpora, in order.
fn scopes(folder: &Folder) -> Vec<&str> {
    match folder {
        Folder::One(scope) => vec![&scope.name],
        Folder::Many { folders, .. } => folders.iter().flat_map(scopes).collect(),
    }
}
