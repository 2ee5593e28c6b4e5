//! Tuning: finds better weights for a recipe by labelled questions.
//!
//! Tries several settings of a recipe on every question and chooses the one with the highest mean
//! objective. Cross-validation estimates the gain on new questions. The result is a recipe that
//! extends the original.

mod choice;
mod feedback;
mod knobs;
#[cfg(test)]
mod tests;

use std::path::Path;
use std::sync::Arc;

use haversack_core::units::Tokens;

pub use self::knobs::SettingChange;

use self::choice::{CrossValidation, Scores, mean};
use self::knobs::{Knob, changes, knobs, settings_to_try, with_values};
use crate::eval::{self, EvalAnswer, EvalError, EvalEvent, EvalOptions, EvalPlan, EventHandler};
use haversack::engine::{Builder, Workspace};
use haversack::recipe::Recipe;

/// The minimum number of questions.
pub const QUESTIONS_MIN: usize = 10;

/// The maximum number of settings to try.
pub const TRIES_MAX: usize = 60;

/// Options of tuning.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TuneOptions {
    /// The recipe's name.
    pub recipe: String,
    /// The name of the tuned recipe.
    pub name: String,
    /// The budgets in tokens over which the objective is averaged.
    pub budgets: Vec<u32>,
    /// The maximum number of questions; all when `None`.
    pub limit: Option<usize>,
    /// How many settings are tried, including the unchanged recipe: 2 to [`TRIES_MAX`].
    pub tries: usize,
    /// The number of folds of the cross-validation.
    pub folds: usize,
}

impl Default for TuneOptions {
    fn default() -> TuneOptions {
        let recipe = "memory".to_owned();
        let (name, budgets) = ("memory-tuned".to_owned(), vec![512, 1_000, 2_000, 4_000]);
        TuneOptions { recipe, name, budgets, limit: None, tries: 40, folds: 5 }
    }
}

/// The result of tuning.
#[derive(Debug, Clone, PartialEq)]
pub struct TuneReport {
    /// The tuned recipe.
    pub recipe: String,
    /// The number of questions.
    pub questions: usize,
    /// The number of settings.
    pub tries: usize,
    /// The mean objective of the unchanged recipe: answers, evidence, spans and `must` in its packs,
    /// as far as questions have them.
    pub before: f64,
    /// The mean objective of the best setting on the same questions.
    pub after: f64,
    /// The cross-validated mean objective: the estimate for new questions.
    pub expected: f64,
    /// `expected` minus `before`.
    pub gain: f64,
    /// The standard error of the gain.
    pub error: f64,
    /// The changes of the best setting.
    pub changes: Vec<SettingChange>,
    /// The source of the tuned recipe; `None` when the gain is not above its error.
    pub source: Option<String>,
}

/// Tunes a recipe on a set in the format of [`eval::run`].
///
/// `builder` creates the engine of each corpus, with the recipe. The same set and options give the
/// same recipe.
///
/// # Errors
/// When an option is invalid, the recipe has nothing to tune or there are too few questions; also
/// the errors of [`eval::run`].
pub async fn tune_on_set(
    set: &Path,
    options: &TuneOptions,
    scratch: &Path,
    builder: &dyn Fn() -> Builder,
    watch: &mut EventHandler<'_>,
) -> Result<TuneReport, EvalError> {
    let budgets = options.tokens()?;
    let recipe = read_recipe(options, scratch, builder).await?;
    let tuning = Tuning::of(options, &recipe)?;
    let names = tuning.names();
    let plan = EvalPlan {
        recipes: &names,
        budgets: &budgets,
        limit: options.limit,
        candidates: None,
        with_unlabelled: false,
        off_topic: None,
    };
    let builder = || tuning.register_tries(builder());
    let answers = eval::answers(set, plan, scratch, &builder, watch).await?;
    tuning.report(&answers)
}

/// Tunes a recipe on the feedback of users in a workspace (K8).
///
/// Each receipt is a question; its evidence is the candidates that its user marked as useful before
/// their next pack. `builder` creates the engine of the data folder, which nothing else may have
/// open.
///
/// # Errors
/// As [`tune_on_set`].
pub async fn tune_on_feedback(
    folder: &Path,
    workspace: &str,
    options: &TuneOptions,
    builder: &dyn Fn() -> Builder,
    watch: &mut EventHandler<'_>,
) -> Result<TuneReport, EvalError> {
    let budgets = options.tokens()?;
    let open = |builder: Builder| -> Result<Workspace, EvalError> {
        builder.open(folder).and_then(|engine| engine.existing_workspace(workspace)).map_err(
            |source| EvalError::Store { set: workspace.to_owned(), source: Box::new(source) },
        )
    };
    let recipe = {
        let workspace = open(builder())?;
        let recipe = workspace.recipe(&options.recipe).await;
        workspace.blocking_store().close().await;
        recipe.map_err(|error| EvalError::Recipe(Box::new(error)))?
    };
    let tuning = Tuning::of(options, &recipe)?;
    let workspace = open(tuning.register_tries(builder()))?;
    let labelled = feedback::read_questions(&workspace, &options.recipe, options.limit).await?;
    let of = labelled.len() * tuning.tries.len();
    let mut answers = Vec::with_capacity(labelled.len());
    let mut done = 0;
    for question in &labelled {
        let mut own = Vec::with_capacity(tuning.tries.len());
        for name in tuning.names() {
            let answer = question.answer_with(&workspace, &name, &budgets).await?;
            done += 1;
            watch(EvalEvent::Answered { answer: &answer, done, of })
                .map_err(EvalError::EventHandler)?;
            own.push(answer);
        }
        answers.push(own);
    }
    tuning.report(&answers)
}

/// Reads the recipe from an engine without data.
async fn read_recipe(
    options: &TuneOptions,
    scratch: &Path,
    builder: &dyn Fn() -> Builder,
) -> Result<Arc<Recipe>, EvalError> {
    let failed = |error: haversack::Error| EvalError::Recipe(Box::new(error));
    let engine = builder().open(scratch.join("base")).map_err(failed)?;
    let workspace = engine.workspace("base").map_err(failed)?;
    workspace.recipe(&options.recipe).await.map_err(failed)
}

impl TuneOptions {
    fn tokens(&self) -> Result<Vec<Tokens>, EvalError> {
        let wrong = |option, what: String| Err(EvalError::Option { option, what });
        if !(2..=TRIES_MAX).contains(&self.tries) {
            return wrong("tries", format!("{} is not between 2 and {TRIES_MAX}", self.tries));
        }
        if !(2..=QUESTIONS_MIN).contains(&self.folds) {
            return wrong("folds", format!("{} is not between 2 and {QUESTIONS_MIN}", self.folds));
        }
        if self.name == self.recipe {
            let what = format!("{:?} is the recipe to tune: choose another name", self.name);
            return wrong("name", what);
        }
        let (budgets, limit) = (self.budgets.clone(), self.limit);
        EvalOptions { budgets, limit, ..EvalOptions::default() }.tokens()
    }
}

/// The mean objective of the packs for a question, over budgets.
fn objective(answer: &EvalAnswer) -> f64 {
    mean(answer.packs.iter().map(|pack| pack.shares.objective().unwrap_or(0.0)))
}

/// The settings of a recipe to try.
struct Tuning<'o> {
    options: &'o TuneOptions,
    recipe: Recipe,
    knobs: Vec<Knob>,
    tries: Vec<Vec<f64>>,
}

impl<'o> Tuning<'o> {
    fn of(options: &'o TuneOptions, recipe: &Recipe) -> Result<Tuning<'o>, EvalError> {
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
        let tries = settings_to_try(&knobs, options.tries);
        Ok(Tuning { options, recipe, knobs, tries })
    }

    /// A recipe name for each setting; the first is the unchanged recipe.
    fn names(&self) -> Vec<String> {
        let others = (1..self.tries.len()).map(|number| format!("{}-{number}", self.options.name));
        std::iter::once(self.options.recipe.clone()).chain(others).collect()
    }

    /// Registers a recipe for every setting.
    fn register_tries(&self, builder: Builder) -> Builder {
        let tries = self.names().into_iter().zip(&self.tries).skip(1);
        tries.fold(builder, |builder, (name, values)| {
            builder.recipe(&name, &self.source(&name, values))
        })
    }

    fn source(&self, name: &str, values: &[f64]) -> String {
        let mut turned = with_values(&self.recipe, &self.knobs, values);
        name.clone_into(&mut turned.name);
        turned.to_toml_extending(&self.recipe)
    }

    /// Chooses the best setting from the answers to each question by each setting.
    fn report(&self, answers: &[Vec<EvalAnswer>]) -> Result<TuneReport, EvalError> {
        if answers.len() < QUESTIONS_MIN {
            let what = format!(
                "{} with labels are too few to tell a gain from chance: at least \
                 {QUESTIONS_MIN} are needed",
                answers.len()
            );
            return Err(EvalError::Option { option: "questions", what });
        }
        let of = |at: usize| answers.iter().map(|own| objective(&own[at])).collect();
        let scores = Scores((0..self.tries.len()).map(of).collect());
        let CrossValidation { best, expected, gain, error } = scores.choose(self.options.folds);
        let values = &self.tries[best];
        Ok(TuneReport {
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
