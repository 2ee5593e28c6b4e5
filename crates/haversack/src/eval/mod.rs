//! Evaluation: how much of the evidence that people labelled reaches the pack, at which size and
//! in which time. No model judges; the labels do.
//!
//! A set is a folder with `corpus.jsonl`, `queries.jsonl` and `qrels.tsv`, and `spans.tsv` where
//! evidence is known to the character; `docs/eval.md` has the form. Each corpus goes into a
//! workspace of its own in a scratch folder. Nothing of the asker's own data is touched.

mod answer;
mod dates;
mod error;
mod figures;
mod folder;
mod ingest;
mod json;
mod remarks;
mod rows;
mod scope;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use haversack_core::units::{Timestamp, Tokens};

pub use answer::{Answer, Missing, Packed};
pub use error::EvalError;
pub use figures::{AtBudget, Figures, Ingest, Latency, Report};
pub use remarks::{Oddity, Remarks};

use self::folder::Folder;
use self::scope::Scope;
pub(crate) use self::scope::{Evidence, Question};
use crate::engine::{Builder, Workspace};
use crate::error::Error;
use crate::recipe::Recipe;
use crate::request::Request;

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
    /// How many questions are asked at most, evenly spread over all that have evidence; all when
    /// `None`.
    pub limit: Option<usize>,
    /// How many items a search finds, so that the largest budget can be filled.
    pub candidates: usize,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            recipe: "memory".to_owned(),
            budgets: vec![512, 1_000, 2_000, 4_000],
            limit: None,
            candidates: 200,
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
        if !(1..=CANDIDATES_MAX).contains(&self.candidates) {
            let what = format!("{} is not between 1 and {CANDIDATES_MAX}", self.candidates);
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
        candidates: Some(options.candidates),
    };
    let (folder, asked) = ask(set, plan, scratch, builder, watch).await?;
    Ok(report(&folder, &asked, options))
}

/// What is asked of a set.
#[derive(Clone, Copy)]
pub(crate) struct Plan<'p> {
    /// The recipes that answer each question, one after another.
    pub(crate) recipes: &'p [String],
    /// Smallest first.
    pub(crate) budgets: &'p [Tokens],
    pub(crate) limit: Option<usize>,
    /// As many as each recipe says when `None`.
    pub(crate) candidates: Option<usize>,
}

/// The answers of several recipes to a set's questions: for each question, in order, one by each.
pub(crate) async fn answers(
    set: &Path,
    plan: Plan<'_>,
    scratch: &Path,
    builder: &dyn Fn() -> Builder,
    watch: &mut Watch<'_>,
) -> Result<Vec<Vec<Answer>>, EvalError> {
    let (_, asked) = ask(set, plan, scratch, builder, watch).await?;
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

async fn ask(
    set: &Path,
    plan: Plan<'_>,
    scratch: &Path,
    builder: &dyn Fn() -> Builder,
    watch: &mut Watch<'_>,
) -> Result<(Folder, BTreeMap<String, Asked>), EvalError> {
    let mut folder = Folder::read(set, &mut |name| {
        watch(Event::Reading { set: name }).map_err(EvalError::Watch)
    })?;
    let of = choose(&mut folder, plan.limit) * plan.recipes.len();
    if of == 0 {
        let what = "no question has evidence: no row of qrels.tsv with a grade above 0 fits";
        return Err(EvalError::folder(set, what));
    }
    let mut run = Run { plan, scratch, builder, watch, done: 0, of };
    let mut asked: BTreeMap<String, Asked> = BTreeMap::new();
    for scope in folder.scopes_mut() {
        let one = run.scope(scope).await?;
        scope.questions = Vec::new();
        asked.insert(scope.name.clone(), one);
    }
    Ok((folder, asked))
}

/// Leaves as many questions as are wanted: every n-th of all, corpus by corpus, so that each has
/// its part.
fn choose(folder: &mut Folder, limit: Option<usize>) -> usize {
    let mut scopes = folder.scopes_mut();
    let all: usize = scopes.iter().map(|scope| scope.questions.len()).sum();
    let Some(limit) = limit.filter(|&limit| limit < all) else { return all };
    let mut number = 0;
    for question in scopes.iter_mut().map(|scope| &mut scope.questions) {
        question.retain(|_| {
            // The one at which `number * limit / all` takes its next step.
            let is_chosen = number * limit / all != (number + 1) * limit / all;
            number += 1;
            is_chosen
        });
    }
    limit
}

/// What came of one corpus.
struct Asked {
    kind: String,
    ingest: Ingest,
    answers: Vec<Answer>,
    remarks: Remarks,
}

struct Run<'r, 'w> {
    plan: Plan<'r>,
    scratch: &'r Path,
    builder: &'r dyn Fn() -> Builder,
    watch: &'r mut Watch<'w>,
    done: usize,
    of: usize,
}

impl Run<'_, '_> {
    /// Stores a corpus and asks its questions.
    async fn scope(&mut self, scope: &Scope) -> Result<Asked, EvalError> {
        let mut remarks = scope.remarks.clone();
        if scope.questions.is_empty() {
            let (kind, ingest) = (String::new(), Ingest::default());
            return Ok(Asked { kind, ingest, answers: Vec::new(), remarks });
        }
        let refused = |source: Error| {
            let (set, source) = (scope.name.clone(), Box::new(source));
            EvalError::Store { set, source }
        };
        let now = scope.latest.unwrap_or(NOW);
        let place = self.scratch.join(format!("at-{}", self.done));
        let engine = (self.builder)().clock(move || now).open(&place).map_err(refused)?;
        let workspace = engine.workspace("set").map_err(refused)?;
        let mut recipes = Vec::with_capacity(self.plan.recipes.len());
        for name in self.plan.recipes {
            let recipe = workspace.recipe(name).await;
            recipes.push((name, recipe.map_err(|error| EvalError::Recipe(Box::new(error)))?));
        }
        let kind = ingest::kind(&recipes.first().ok_or_else(no_recipe)?.1);
        let ingest = ingest::ingest(&workspace, scope, &kind, self.watch).await?;
        let mut answers = Vec::with_capacity(scope.questions.len() * recipes.len());
        let pairs = scope.questions.iter().flat_map(|one| recipes.iter().map(move |r| (one, r)));
        for (question, (name, recipe)) in pairs {
            let request = Request {
                limit: self.plan.candidates,
                exclude: question.exclude.clone(),
                now: Some(now),
                ..measured(name, recipe, &question.text)
            };
            let packs = workspace.pack_many(request, self.plan.budgets).await;
            let packs = packs.map_err(|source| EvalError::Pack {
                set: scope.name.clone(),
                question: question.id.clone(),
                source: Box::new(source),
            })?;
            let answer = Answer::of(&scope.name, question, &packs);
            if let Some(message) = &answer.degraded {
                remarks.degraded.note(&question.id, 0, message);
            }
            self.done += 1;
            let event = Event::Answered { answer: &answer, done: self.done, of: self.of };
            (self.watch)(event).map_err(EvalError::Watch)?;
            answers.push(answer);
        }
        close(&workspace);
        drop((workspace, engine));
        // What stays behind goes with the scratch folder.
        let _ = std::fs::remove_dir_all(&place);
        Ok(Asked { kind: kind.as_str().to_owned(), ingest, answers, remarks })
    }
}

fn no_recipe() -> EvalError {
    EvalError::Option { option: "recipes", what: "there has to be one".to_owned() }
}

/// A question whose pack may have all of a budget, and is nobody's.
pub(crate) fn measured(name: &str, recipe: &Recipe, query: &str) -> Request {
    let reserves = recipe.budget.reserves.iter();
    Request {
        reserves: reserves.map(|(name, _)| (name.clone(), Tokens::ZERO)).collect(),
        tokenizer: Some(TOKENIZER.to_owned()),
        cache: false,
        keep: false,
        ..Request::new(name, query)
    }
}

fn close(workspace: &Workspace) {
    workspace.embedded().close();
}

fn report(folder: &Folder, asked: &BTreeMap<String, Asked>, options: &Options) -> Report {
    let sets: Vec<Report> = match folder {
        Folder::One(_) => Vec::new(),
        Folder::Many { folders, .. } => {
            folders.iter().map(|folder| report(folder, asked, options)).collect()
        }
    };
    let scopes = scopes(folder);
    let own: Vec<&Asked> = scopes.iter().filter_map(|name| asked.get(*name)).collect();
    let answers: Vec<&Answer> = own.iter().flat_map(|asked| &asked.answers).collect();
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
        recipe: options.recipe.clone(),
        kind: kinds.next().cloned().unwrap_or_default(),
        scopes: own.iter().filter(|asked| !asked.answers.is_empty()).count(),
        figures: Figures::of(&answers),
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
