//! Asks the questions of a set, one corpus after another.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use haversack_core::ids::ItemId;
use haversack_core::units::{Timestamp, Tokens};

use super::answer::{EvalAnswer, pack_text};
use super::error::EvalError;
use super::folder::EvalFolder;
use super::library::TextLibrary;
use super::metrics::{IngestTiming, OffTopicPack};
use super::off_topic::{self, is_chosen};
use super::question::EvalQuestion;
use super::scope::EvalScope;
use super::warnings::SetWarnings;
use super::{EvalEvent, EventHandler, NOW, TOKENIZER, ingest, packs};
use haversack::engine::{Builder, Workspace};
use haversack::error::Error;
use haversack::pipeline::Assembled;
use haversack::recipe::Recipe;
use haversack::request::Request;

/// How many off-topic questions are asked without a limit.
const OFF_TOPIC_MAX: usize = 100;

/// Which recipes answer which questions of a set.
#[derive(Clone, Copy)]
pub(crate) struct EvalPlan<'p> {
    /// The recipes that answer each question, one after another.
    pub(crate) recipes: &'p [String],
    /// Smallest first.
    pub(crate) budgets: &'p [Tokens],
    pub(crate) limit: Option<usize>,
    /// Each recipe's own number when `None`.
    pub(crate) candidates: Option<usize>,
    /// Whether unlabelled questions are asked as well.
    pub(crate) with_unlabelled: bool,
    /// Another set whose questions are off topic for this corpus.
    pub(crate) off_topic: Option<&'p Path>,
}

/// The results of one scope.
#[derive(Default)]
pub(super) struct ScopeResult {
    pub(super) kind: String,
    pub(super) ingest: IngestTiming,
    pub(super) answers: Vec<EvalAnswer>,
    /// The packs of each off-topic question.
    pub(super) off_topic: Vec<Vec<OffTopicPack>>,
    pub(super) warnings: SetWarnings,
}

/// Asks the questions of a set. Returns the result of each scope by name.
pub(super) async fn ask_set(
    set: &Path,
    plan: EvalPlan<'_>,
    scratch: &Path,
    builder: &dyn Fn() -> Builder,
    watch: &mut EventHandler<'_>,
) -> Result<(EvalFolder, BTreeMap<String, ScopeResult>), EvalError> {
    let mut folder = read_set(set, plan.limit, watch)?;
    let mut scopes = folder.scopes_mut();
    if !plan.with_unlabelled {
        scopes.iter_mut().for_each(|scope| scope.unlabelled.clear());
    }
    scopes.retain(|scope| !scope.questions.is_empty() || !scope.unlabelled.is_empty());
    let mut off_topic: Vec<Vec<String>> = vec![Vec::new(); scopes.len()];
    if let Some(other) = plan.off_topic {
        let texts = off_topic::read(other, plan.limit.unwrap_or(OFF_TOPIC_MAX))?;
        let n_scopes = scopes.len().max(1);
        for (number, text) in texts.into_iter().enumerate() {
            off_topic[number % n_scopes].push(text);
        }
    }
    let of = scopes.iter().map(|scope| scope.questions.len() + scope.unlabelled.len());
    let of = of.sum::<usize>() * plan.recipes.len();
    let mut run = EvalRun { plan, scratch, builder, watch, done: 0, of };
    let mut asked: BTreeMap<String, ScopeResult> = BTreeMap::new();
    for (scope, off_topic) in scopes.into_iter().zip(off_topic) {
        let one = run.ask_scope(scope, &off_topic).await?;
        (scope.questions, scope.unlabelled) = (Vec::new(), Vec::new());
        asked.insert(scope.name.clone(), one);
    }
    Ok((folder, asked))
}

/// Measures the packs in a file. Returns the result of each scope by name.
pub(super) fn read_packs(
    set: &Path,
    (file, budgets, limit): (&Path, &[Tokens], Option<usize>),
    watch: &mut EventHandler<'_>,
) -> Result<(EvalFolder, BTreeMap<String, ScopeResult>), EvalError> {
    let mut folder = read_set(set, limit, watch)?;
    let scopes: Vec<&EvalScope> = folder.scopes_mut().into_iter().map(|scope| &*scope).collect();
    let answers = packs::measure_file(file, &scopes, budgets)?;
    let of = answers.iter().map(Vec::len).sum();
    let mut done = 0;
    let mut asked: BTreeMap<String, ScopeResult> = BTreeMap::new();
    for (scope, answers) in scopes.into_iter().zip(answers) {
        for answer in &answers {
            done += 1;
            watch(EvalEvent::Answered { answer, done, of }).map_err(EvalError::EventHandler)?;
        }
        let warnings = scope.warnings.clone();
        asked.insert(
            scope.name.clone(),
            ScopeResult { answers, warnings, ..ScopeResult::default() },
        );
    }
    Ok((folder, asked))
}

/// Reads a set and samples its questions.
fn read_set(
    set: &Path,
    limit: Option<usize>,
    watch: &mut EventHandler<'_>,
) -> Result<EvalFolder, EvalError> {
    let mut folder = EvalFolder::read(set, &mut |name| {
        watch(EvalEvent::Reading { set: name }).map_err(EvalError::EventHandler)
    })?;
    if choose(&mut folder, limit, |scope| &mut scope.questions) == 0 {
        let what = "no question has labels: no row of qrels.tsv with a grade above 0 fits, and none \
                    has meta.must";
        return Err(EvalError::folder(set, what));
    }
    choose(&mut folder, limit, |scope| &mut scope.unlabelled);
    Ok(folder)
}

/// Keeps at most `limit` questions, evenly sampled over all scopes. Returns how many are left.
fn choose(
    folder: &mut EvalFolder,
    limit: Option<usize>,
    questions: impl Fn(&mut EvalScope) -> &mut Vec<EvalQuestion>,
) -> usize {
    let mut scopes = folder.scopes_mut();
    let all = scopes.iter_mut().map(|scope| questions(scope).len()).sum();
    let limit = limit.unwrap_or(all).min(all);
    let mut number = 0;
    for own in scopes.iter_mut().map(|scope| questions(scope)) {
        own.retain(|_| {
            number += 1;
            is_chosen(number - 1, limit, all)
        });
    }
    limit
}

struct EvalRun<'r, 'w> {
    plan: EvalPlan<'r>,
    scratch: &'r Path,
    builder: &'r dyn Fn() -> Builder,
    watch: &'r mut EventHandler<'w>,
    done: usize,
    of: usize,
}

/// A corpus in a workspace, ready for questions.
struct StoredCorpus<'s> {
    scope: &'s EvalScope,
    workspace: Workspace,
    recipes: Vec<(&'s String, Arc<Recipe>)>,
    now: Timestamp,
}

impl EvalRun<'_, '_> {
    /// Stores a corpus and asks its questions.
    async fn ask_scope(
        &mut self,
        scope: &EvalScope,
        off_topic: &[String],
    ) -> Result<ScopeResult, EvalError> {
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
        let kind = ingest::document_kind(&recipes.first().ok_or_else(no_recipe)?.1, &scope.corpus);
        let ingest = ingest::ingest(&workspace, scope, &kind, self.watch).await?;
        let library = TextLibrary::read(&scope.corpus)?;
        let stored = StoredCorpus { scope, workspace, recipes, now };
        let mut asked = ScopeResult {
            kind: kind.as_str().to_owned(),
            ingest,
            warnings: scope.warnings.clone(),
            ..ScopeResult::default()
        };
        for question in scope.questions.iter().chain(&scope.unlabelled) {
            self.ask_question(&stored, question, &library, &mut asked).await?;
        }
        for (text, number) in off_topic.iter().zip(1..) {
            let question = EvalQuestion::new(format!("off topic {number}"), text.clone());
            let packs = self.build_packs(&stored, &question, 0).await?;
            let packs = packs.iter().map(|pack| {
                let pack = pack_text(pack, &library);
                let has_text = !pack.cover.is_empty();
                OffTopicPack { budget: pack.budget, has_text, tokens: pack.tokens }
            });
            asked.off_topic.push(packs.collect());
            let event = EvalEvent::OffTopic { set: &scope.name, done: number, of: off_topic.len() };
            (self.watch)(event).map_err(EvalError::EventHandler)?;
        }
        stored.workspace.blocking_store().close().await;
        drop((stored, engine));
        // Leftovers are removed with the scratch folder.
        let _ = std::fs::remove_dir_all(&place);
        Ok(asked)
    }

    /// Asks each recipe one question.
    async fn ask_question(
        &mut self,
        stored: &StoredCorpus<'_>,
        question: &EvalQuestion,
        library: &TextLibrary,
        asked: &mut ScopeResult,
    ) -> Result<(), EvalError> {
        for recipe in 0..stored.recipes.len() {
            let packs = self.build_packs(stored, question, recipe).await?;
            let answer = EvalAnswer::of(&stored.scope.name, question, &packs, library);
            if let Some(message) = &answer.degraded {
                asked.warnings.degraded.note(&question.id, 0, message);
            }
            self.done += 1;
            let event = EvalEvent::Answered { answer: &answer, done: self.done, of: self.of };
            (self.watch)(event).map_err(EvalError::EventHandler)?;
            asked.answers.push(answer);
        }
        Ok(())
    }

    /// Builds the packs of one recipe for a question, smallest budget first.
    async fn build_packs(
        &self,
        stored: &StoredCorpus<'_>,
        question: &EvalQuestion,
        recipe: usize,
    ) -> Result<Vec<Arc<Assembled>>, EvalError> {
        let (name, recipe) = &stored.recipes[recipe];
        let prefix = stored.scope.corpus.prefix();
        let exclude = question.exclude.iter();
        let request = Request {
            limit: self.plan.candidates,
            exclude: exclude.filter_map(|id| ItemId::new(&format!("{prefix}{id}")).ok()).collect(),
            now: Some(stored.now),
            ..full_budget_request(name, recipe, &question.text)
        };
        let packs = stored.workspace.pack_many(request, self.plan.budgets).await;
        packs.map_err(|source| EvalError::Pack {
            set: stored.scope.name.clone(),
            question: question.id.clone(),
            source: Box::new(source),
        })
    }
}

fn no_recipe() -> EvalError {
    EvalError::Option { option: "recipes", what: "at least one is needed".to_owned() }
}

/// A request without reserves, cache or receipt: its pack may use the whole budget.
pub(crate) fn full_budget_request(name: &str, recipe: &Recipe, query: &str) -> Request {
    let reserves = recipe.budget.reserves.iter();
    Request {
        reserves: reserves.map(|(name, _)| (name.clone(), Tokens::ZERO)).collect(),
        tokenizer: Some(TOKENIZER.to_owned()),
        cache: false,
        keep: false,
        ..Request::new(name, query)
    }
}
