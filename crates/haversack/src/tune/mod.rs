//! Tuning: other weights for a recipe, by questions whose answers are known.
//!
//! Several settings of a recipe's numbers are tried on every question, and the one whose packs hold
//! most of what they should is chosen. What that choice is worth is told by questions that did not
//! help to make it. The result is a recipe that extends the one that was tuned.

mod choice;
mod feedback;
mod knobs;
#[cfg(test)]
mod tests;

use std::path::Path;
use std::sync::Arc;

use haversack_core::units::Tokens;

pub use self::knobs::Change;

use self::choice::{Choice, Scores, mean};
use self::knobs::{Knob, changes, knobs, tries, turned};
use crate::engine::{Builder, Workspace};
use crate::eval::{self, Answer, EvalError, Event, Figure, Plan, Watch};
use crate::recipe::Recipe;

/// Fewer questions say nothing.
pub const QUESTIONS_MIN: usize = 10;

/// Most settings that are tried.
pub const TRIES_MAX: usize = 60;

/// What is tuned, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// The recipe's name.
    pub recipe: String,
    /// What the tuned recipe is called.
    pub name: String,
    /// The budgets in tokens over which the objective is averaged.
    pub budgets: Vec<u32>,
    /// How many questions are asked at most; all when `None`.
    pub limit: Option<usize>,
    /// How many settings are tried, the recipe as it is included: 2 to [`TRIES_MAX`].
    pub tries: usize,
    /// In how many parts questions are split to see what the choice is worth.
    pub folds: usize,
}

impl Default for Options {
    fn default() -> Options {
        let recipe = "memory".to_owned();
        let (name, budgets) = ("memory-tuned".to_owned(), vec![512, 1_000, 2_000, 4_000]);
        Options { recipe, name, budgets, limit: None, tries: 40, folds: 5 }
    }
}

/// What tuning came to.
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    /// The recipe that was tuned.
    pub recipe: String,
    /// How many questions were asked.
    pub questions: usize,
    /// How many settings were tried.
    pub tries: usize,
    /// The mean objective of the recipe as it is: answers, evidence, spans and `must` in its packs,
    /// as far as questions have them.
    pub before: f64,
    /// The same of the best setting, on the questions that it was chosen by.
    pub after: f64,
    /// What to expect on others: the mean on questions that did not help to choose.
    pub expected: f64,
    /// How much more that is than `before`.
    pub gain: f64,
    /// The standard error of the gain.
    pub error: f64,
    /// What the best setting changes.
    pub changes: Vec<Change>,
    /// The tuned recipe's text; `None` when the gain is within its error.
    pub source: Option<String>,
}

/// Tunes a recipe by a set in the form that [`eval::run`] reads.
///
/// `builder` makes the engine of each corpus, as there, and knows the recipe. The same set and
/// options give the same recipe.
///
/// # Errors
/// When an option is wrong, the recipe has nothing to tune or the questions are too few; and as
/// [`eval::run`].
pub async fn by_set(
    set: &Path,
    options: &Options,
    scratch: &Path,
    builder: &dyn Fn() -> Builder,
    watch: &mut Watch<'_>,
) -> Result<Report, EvalError> {
    let budgets = options.tokens()?;
    let recipe = base(options, scratch, builder).await?;
    let tuning = Tuning::of(options, &recipe)?;
    let names = tuning.names();
    let plan = Plan {
        recipes: &names,
        budgets: &budgets,
        limit: options.limit,
        candidates: None,
        with_unlabelled: false,
        off_topic: None,
    };
    let builder = || tuning.registered(builder());
    let answers = eval::answers(set, plan, scratch, &builder, watch).await?;
    tuning.report(&answers)
}

/// Tunes a recipe by what readers of its packs called useful (K8), in the workspace where they did.
///
/// A question is a pack's receipt; its evidence is what was found for it and called useful before
/// the same user's next pack. `builder` makes the engine of the data folder, which nothing else may have open.
///
/// # Errors
/// As [`by_set`].
pub async fn by_feedback(
    folder: &Path,
    workspace: &str,
    options: &Options,
    builder: &dyn Fn() -> Builder,
    watch: &mut Watch<'_>,
) -> Result<Report, EvalError> {
    let budgets = options.tokens()?;
    let open = |builder: Builder| -> Result<Workspace, EvalError> {
        builder.open(folder).and_then(|engine| engine.existing(workspace)).map_err(|source| {
            EvalError::Store { set: workspace.to_owned(), source: Box::new(source) }
        })
    };
    let recipe = {
        let workspace = open(builder())?;
        let recipe = workspace.recipe(&options.recipe).await;
        workspace.blocking_store().close().await;
        recipe.map_err(|error| EvalError::Recipe(Box::new(error)))?
    };
    let tuning = Tuning::of(options, &recipe)?;
    let workspace = open(tuning.registered(builder()))?;
    let labelled = feedback::labelled(&workspace, &options.recipe, options.limit).await?;
    let of = labelled.len() * tuning.tries.len();
    let mut answers = Vec::with_capacity(labelled.len());
    let mut done = 0;
    for question in &labelled {
        let mut own = Vec::with_capacity(tuning.tries.len());
        for name in tuning.names() {
            let answer = question.ask(&workspace, &name, &budgets).await?;
            done += 1;
            watch(Event::Answered { answer: &answer, done, of }).map_err(EvalError::Watch)?;
            own.push(answer);
        }
        answers.push(own);
    }
    tuning.report(&answers)
}

/// The recipe that is tuned, as an engine without data knows it.
async fn base(
    options: &Options,
    scratch: &Path,
    builder: &dyn Fn() -> Builder,
) -> Result<Arc<Recipe>, EvalError> {
    let failed = |error: crate::Error| EvalError::Recipe(Box::new(error));
    let engine = builder().open(scratch.join("base")).map_err(failed)?;
    let workspace = engine.workspace("base").map_err(failed)?;
    workspace.recipe(&options.recipe).await.map_err(failed)
}

impl Options {
    fn tokens(&self) -> Result<Vec<Tokens>, EvalError> {
        let wrong = |option, what: String| Err(EvalError::Option { option, what });
        if !(2..=TRIES_MAX).contains(&self.tries) {
            return wrong("tries", format!("{} is not between 2 and {TRIES_MAX}", self.tries));
        }
        if !(2..=QUESTIONS_MIN).contains(&self.folds) {
            return wrong("folds", format!("{} is not between 2 and {QUESTIONS_MIN}", self.folds));
        }
        if self.name == self.recipe {
            let what = format!("{:?} is the recipe that is tuned: take another name", self.name);
            return wrong("name", what);
        }
        let (budgets, limit) = (self.budgets.clone(), self.limit);
        eval::Options { budgets, limit, ..eval::Options::default() }.tokens()
    }
}

/// What tuning makes as large as it can: for each pack the mean of what its question has of these
/// figures, and the mean of that over budgets.
const OBJECTIVE: [Figure; 4] = [Figure::Answer, Figure::Evidence, Figure::Spans, Figure::Must];

fn objective(answer: &Answer) -> f64 {
    let packs = answer.packs.iter();
    let means = packs.map(|pack| mean(OBJECTIVE.iter().filter_map(|one| pack.shares.get(*one))));
    mean(means)
}

/// The settings of a recipe that are tried.
struct Tuning<'o> {
    options: &'o Options,
    recipe: Recipe,
    knobs: Vec<Knob>,
    tries: Vec<Vec<f64>>,
}

impl<'o> Tuning<'o> {
    fn of(options: &'o Options, recipe: &Recipe) -> Result<Tuning<'o>, EvalError> {
        let mut recipe = recipe.clone();
        recipe.name.clone_from(&options.recipe);
        let knobs = knobs(&recipe);
        if knobs.is_empty() {
            let what = format!(
                "{:?} has nothing to tune: no layer scores by the weights of several components, \
                 and none collects by hybrid",
                options.recipe
            );
            return Err(EvalError::Option { option: "recipe", what });
        }
        let tries = tries(&knobs, options.tries);
        Ok(Tuning { options, recipe, knobs, tries })
    }

    /// A name for each try; the first is the recipe itself.
    fn names(&self) -> Vec<String> {
        let others = (1..self.tries.len()).map(|number| format!("{}-{number}", self.options.name));
        std::iter::once(self.options.recipe.clone()).chain(others).collect()
    }

    /// An engine that knows every try.
    fn registered(&self, builder: Builder) -> Builder {
        let tries = self.names().into_iter().zip(&self.tries).skip(1);
        tries.fold(builder, |builder, (name, values)| {
            builder.recipe(&name, &self.source(&name, values))
        })
    }

    fn source(&self, name: &str, values: &[f64]) -> String {
        let mut turned = turned(&self.recipe, &self.knobs, values);
        name.clone_into(&mut turned.name);
        turned.to_toml_extending(&self.recipe)
    }

    /// What the answers to each question by each try come to.
    fn report(&self, answers: &[Vec<Answer>]) -> Result<Report, EvalError> {
        if answers.len() < QUESTIONS_MIN {
            let what = format!(
                "{} with labels are too few to tell luck from gain: at least {QUESTIONS_MIN} are \
                 needed",
                answers.len()
            );
            return Err(EvalError::Option { option: "questions", what });
        }
        let of = |at: usize| answers.iter().map(|own| objective(&own[at])).collect();
        let scores = Scores((0..self.tries.len()).map(of).collect());
        let Choice { best, expected, gain, error } = scores.choose(self.options.folds);
        let values = &self.tries[best];
        Ok(Report {
            recipe: self.options.recipe.clone(),
            questions: answers.len(),
            tries: self.tries.len(),
            before: scores.mean(0),
            after: scores.mean(best),
            expected,
            gain,
            error,
            changes: changes(&self.recipe, &self.knobs, values),
            source: (best > 0 && gain > error).then(|| self.source(&self.options.name, values)),
        })
    }
}
