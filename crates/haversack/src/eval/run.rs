//! The questions of a set asked, corpus by corpus.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use haversack_core::ids::ItemId;
use haversack_core::units::{Timestamp, Tokens};

use super::answer::{Answer, seen};
use super::error::EvalError;
use super::figures::{Ingest, OffTopicPack};
use super::folder::Folder;
use super::library::Library;
use super::off_topic::{self, is_chosen};
use super::question::Question;
use super::remarks::Remarks;
use super::scope::Scope;
use super::{Event, NOW, TOKENIZER, Watch, ingest, packs};
use crate::engine::{Builder, Workspace};
use crate::error::Error;
use crate::pipeline::Assembled;
use crate::recipe::Recipe;
use crate::request::Request;

/// How many questions of another set are asked when no limit is given.
const OFF_TOPIC_MAX: usize = 100;

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
    /// Whether questions without labels are asked, too.
    pub(crate) with_unlabelled: bool,
    /// Another set whose questions are asked of this corpus.
    pub(crate) off_topic: Option<&'p Path>,
}

/// What came of one corpus.
#[derive(Default)]
pub(super) struct Asked {
    pub(super) kind: String,
    pub(super) ingest: Ingest,
    pub(super) answers: Vec<Answer>,
    /// The packs of each question that has nothing to do with the corpus.
    pub(super) off_topic: Vec<Vec<OffTopicPack>>,
    pub(super) remarks: Remarks,
}

/// Asks the questions of a set: what came of each corpus, by its name.
pub(super) async fn ask(
    set: &Path,
    plan: Plan<'_>,
    scratch: &Path,
    builder: &dyn Fn() -> Builder,
    watch: &mut Watch<'_>,
) -> Result<(Folder, BTreeMap<String, Asked>), EvalError> {
    let mut folder = read(set, plan.limit, watch)?;
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
    let mut run = Run { plan, scratch, builder, watch, done: 0, of };
    let mut asked: BTreeMap<String, Asked> = BTreeMap::new();
    for (scope, off_topic) in scopes.into_iter().zip(off_topic) {
        let one = run.scope(scope, &off_topic).await?;
        (scope.questions, scope.unlabelled) = (Vec::new(), Vec::new());
        asked.insert(scope.name.clone(), one);
    }
    Ok((folder, asked))
}

/// Measures the packs in a file: what came of each corpus, by its name.
pub(super) fn read_packs(
    set: &Path,
    (file, budgets, limit): (&Path, &[Tokens], Option<usize>),
    watch: &mut Watch<'_>,
) -> Result<(Folder, BTreeMap<String, Asked>), EvalError> {
    let mut folder = read(set, limit, watch)?;
    let scopes: Vec<&Scope> = folder.scopes_mut().into_iter().map(|scope| &*scope).collect();
    let answers = packs::measure_file(file, &scopes, budgets)?;
    let of = answers.iter().map(Vec::len).sum();
    let mut done = 0;
    let mut asked: BTreeMap<String, Asked> = BTreeMap::new();
    for (scope, answers) in scopes.into_iter().zip(answers) {
        for answer in &answers {
            done += 1;
            watch(Event::Answered { answer, done, of }).map_err(EvalError::Watch)?;
        }
        let remarks = scope.remarks.clone();
        asked.insert(scope.name.clone(), Asked { answers, remarks, ..Asked::default() });
    }
    Ok((folder, asked))
}

/// Reads a set and chooses its questions.
fn read(set: &Path, limit: Option<usize>, watch: &mut Watch<'_>) -> Result<Folder, EvalError> {
    let mut folder = Folder::read(set, &mut |name| {
        watch(Event::Reading { set: name }).map_err(EvalError::Watch)
    })?;
    if choose(&mut folder, limit, |scope| &mut scope.questions) == 0 {
        let what = "no question has labels: no row of qrels.tsv with a grade above 0 fits, and none \
                    has meta.must";
        return Err(EvalError::folder(set, what));
    }
    choose(&mut folder, limit, |scope| &mut scope.unlabelled);
    Ok(folder)
}

/// Leaves as many questions as are wanted: every n-th of all, corpus by corpus, so that each has
/// its part.
fn choose(
    folder: &mut Folder,
    limit: Option<usize>,
    questions: impl Fn(&mut Scope) -> &mut Vec<Question>,
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

struct Run<'r, 'w> {
    plan: Plan<'r>,
    scratch: &'r Path,
    builder: &'r dyn Fn() -> Builder,
    watch: &'r mut Watch<'w>,
    done: usize,
    of: usize,
}

/// A corpus that is stored and can be asked.
struct Stored<'s> {
    scope: &'s Scope,
    workspace: Workspace,
    recipes: Vec<(&'s String, Arc<Recipe>)>,
    now: Timestamp,
}

impl Run<'_, '_> {
    /// Stores a corpus and asks its questions.
    async fn scope(&mut self, scope: &Scope, off_topic: &[String]) -> Result<Asked, EvalError> {
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
        let kind = ingest::kind(&recipes.first().ok_or_else(no_recipe)?.1, &scope.corpus);
        let ingest = ingest::ingest(&workspace, scope, &kind, self.watch).await?;
        let library = Library::read(&scope.corpus)?;
        let stored = Stored { scope, workspace, recipes, now };
        let mut asked = Asked {
            kind: kind.as_str().to_owned(),
            ingest,
            remarks: scope.remarks.clone(),
            ..Asked::default()
        };
        for question in scope.questions.iter().chain(&scope.unlabelled) {
            self.question(&stored, question, &library, &mut asked).await?;
        }
        for (text, number) in off_topic.iter().zip(1..) {
            let question = Question::new(format!("off topic {number}"), text.clone());
            let packs = self.packs(&stored, &question, 0).await?;
            let packs = packs.iter().map(|pack| {
                let pack = seen(pack, &library);
                let has_text = !pack.cover.is_empty();
                OffTopicPack { budget: pack.budget, has_text, tokens: pack.tokens }
            });
            asked.off_topic.push(packs.collect());
            let event = Event::OffTopic { set: &scope.name, done: number, of: off_topic.len() };
            (self.watch)(event).map_err(EvalError::Watch)?;
        }
        stored.workspace.blocking_store().close().await;
        drop((stored, engine));
        // What stays behind goes with the scratch folder.
        let _ = std::fs::remove_dir_all(&place);
        Ok(asked)
    }

    /// Asks each recipe a question.
    async fn question(
        &mut self,
        stored: &Stored<'_>,
        question: &Question,
        library: &Library,
        asked: &mut Asked,
    ) -> Result<(), EvalError> {
        for recipe in 0..stored.recipes.len() {
            let packs = self.packs(stored, question, recipe).await?;
            let answer = Answer::of(&stored.scope.name, question, &packs, library);
            if let Some(message) = &answer.degraded {
                asked.remarks.degraded.note(&question.id, 0, message);
            }
            self.done += 1;
            let event = Event::Answered { answer: &answer, done: self.done, of: self.of };
            (self.watch)(event).map_err(EvalError::Watch)?;
            asked.answers.push(answer);
        }
        Ok(())
    }

    /// The packs of a question by one of the recipes, smallest budget first.
    async fn packs(
        &self,
        stored: &Stored<'_>,
        question: &Question,
        recipe: usize,
    ) -> Result<Vec<Arc<Assembled>>, EvalError> {
        let (name, recipe) = &stored.recipes[recipe];
        let prefix = stored.scope.corpus.prefix();
        let exclude = question.exclude.iter();
        let request = Request {
            limit: self.plan.candidates,
            exclude: exclude.filter_map(|id| ItemId::new(&format!("{prefix}{id}")).ok()).collect(),
            now: Some(stored.now),
            ..measured(name, recipe, &question.text)
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
