//! Conditions in CEL: compiled once, evaluated against the facts of a request (S3, P17, W9).
//!
//! Recipes compile theirs with [`Condition::compile`]. Rules of contexts come with stored content,
//! so [`Condition::compile_bounded`] also refuses what could cost too much: of loops it allows
//! `exists` and `all`, none inside another. The steps of all loops are limited, see [`STEPS_MAX`].
//! Common shapes (a fact compared with a value, joined by `&&`, `||` and `!`) skip CEL's interpreter.

mod cache;
mod facts;
mod fast_path;
mod meter;
mod survey;
mod words;

use std::fmt;
use std::sync::Arc;

use cel::{ExecutionError, IdedExpr, ParseErrors, Program, Value};
use haversack_core::text::spelling::printable_name;
use haversack_core::units::Timestamp;
use serde_json::Map;
use thiserror::Error;

pub use cache::{CONDITIONS_CACHED_MAX, ConditionCache};
pub use facts::Facts;
pub use meter::STEPS_MAX;

use facts::{NOW, SITUATION};
use fast_path::{FastCondition, NotDecided, TYPES};
use survey::{FUNCTIONS, Survey};

/// Longest condition in bytes.
pub const CONDITION_BYTES_MAX: usize = 1_024;

/// Most steps of a loop in a bounded condition: values of the facts times parts of the condition.
const BOUNDED_STEPS_MAX: usize = 200_000;

/// A condition that cannot be compiled, or whose evaluation gave neither true nor false.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ConditionError {
    /// Longer than [`CONDITION_BYTES_MAX`].
    #[error("a condition of {bytes} bytes is longer than the limit of {CONDITION_BYTES_MAX}")]
    TooLong {
        /// Its length.
        bytes: usize,
    },
    /// CEL could not parse it.
    #[error("the condition cannot be read at line {line}, column {column}: {cause}")]
    Syntax {
        /// The line, from 1.
        line: usize,
        /// The column in characters, from 1.
        column: usize,
        /// What CEL said.
        cause: String,
    },
    /// It calls a function that does not exist.
    #[error("there is no function {name}; there are has, exists, all, {}", FUNCTIONS.join(", "))]
    UnknownFunction {
        /// The name.
        name: String,
    },
    /// It could cost more than a bounded condition may.
    #[error("the condition holds {what}, which the rules of contexts may not use")]
    Unbounded {
        /// The construct.
        what: &'static str,
    },
    /// Its result can only be a number, a text or a list.
    #[error("the condition gives neither true nor false")]
    NeverBoolean,
    /// Its loops are certain to take more steps than an evaluation may.
    #[error(
        "the condition {source_text:?} loops for {steps} steps, more than the limit of {STEPS_MAX}: \
         shorten its lists, or do not nest its loops"
    )]
    TooCostly {
        /// The condition, shortened.
        source_text: String,
        /// The steps of its loops over the lists that it spells out.
        steps: usize,
    },
    /// Its evaluation took more steps than it may.
    #[error(
        "the condition {source_text:?} needs more than the limit of {limit} steps: loop over fewer \
         values, or do not nest its loops"
    )]
    OutOfSteps {
        /// The condition, shortened.
        source_text: String,
        /// The steps that it was given.
        limit: usize,
    },
    /// It uses a fact that is not set.
    #[error("there is no fact {name:?}")]
    MissingFact {
        /// The fact.
        name: String,
    },
    /// Its result is neither true nor false.
    #[error("it gave a value of type {result_type}, not true or false")]
    NotBoolean {
        /// The type of the result.
        result_type: String,
    },
    /// CEL could not evaluate it.
    #[error("{cause}")]
    Failed {
        /// Why.
        cause: String,
    },
}

/// A compiled condition, such as `type == "search"`. Cheap to clone; equal when the sources are.
#[derive(Clone)]
pub struct Condition {
    source: Arc<str>,
    compiled: Arc<Compiled>,
}

struct Compiled {
    program: Program,
    fast: Option<FastCondition>,
    survey: Survey,
    /// The condition with a meter in its loops, if it has loops.
    metered: Option<IdedExpr>,
    is_bounded: bool,
}

impl Condition {
    /// Compiles a condition. It does not check names: a missing fact is an error of
    /// [`Condition::evaluate`]; see [`Condition::names`].
    ///
    /// # Errors
    /// When it is too long, does not parse, or its loops are certain to take too many steps.
    pub fn compile(source: &str) -> Result<Condition, ConditionError> {
        Condition::compile_with(source, false)
    }

    /// Compiles a condition that comes with stored content, whose cost has to be bounded.
    ///
    /// # Errors
    /// As [`Condition::compile`], and when it calls an unknown function, holds a loop other than
    /// a single `exists` or `all`, or can be neither true nor false.
    pub fn compile_bounded(source: &str) -> Result<Condition, ConditionError> {
        let condition = Condition::compile_with(source, true)?;
        let survey = &condition.compiled.survey;
        if let Some(what) = survey.unbounded {
            return Err(ConditionError::Unbounded { what });
        }
        if let Some(name) = &survey.unknown_function {
            return Err(ConditionError::UnknownFunction { name: printable_name(name) });
        }
        if !survey.can_decide {
            return Err(ConditionError::NeverBoolean);
        }
        Ok(condition)
    }

    fn compile_with(source: &str, is_bounded: bool) -> Result<Condition, ConditionError> {
        if source.len() > CONDITION_BYTES_MAX {
            return Err(ConditionError::TooLong { bytes: source.len() });
        }
        let program = Program::compile(source).map_err(|errors| syntax_error(&errors))?;
        let survey = Survey::from_expression(program.expression());
        let fast = FastCondition::from_expression(program.expression());
        let mut metered = None;
        if survey.loops {
            let steps = meter::least_steps(program.expression());
            if steps > STEPS_MAX {
                return Err(ConditionError::TooCostly {
                    source_text: printable_name(source),
                    steps,
                });
            }
            metered = Some(meter::metered(program.expression()));
        }
        let compiled = Arc::new(Compiled { program, fast, survey, metered, is_bounded });
        Ok(Condition { source: source.into(), compiled })
    }

    /// Returns a condition that never holds, as a placeholder for one that does not compile.
    pub(crate) fn never() -> Condition {
        Condition::compile("false").expect("a literal is a condition")
    }

    /// Returns the source of the condition.
    #[must_use]
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Returns the names that it does not bind itself, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.compiled.survey.names.iter().map(String::as_str)
    }

    /// Returns the fields of the situation that it uses, sorted: `x` of `situation.x`, and bare names.
    pub fn situation_fields(&self) -> impl Iterator<Item = &str> {
        self.compiled.survey.situation_fields.iter().map(String::as_str)
    }

    /// Returns the facts that it compares with words, and the words.
    pub(crate) fn comparisons(&self) -> Vec<(&str, &str)> {
        words::comparisons(self.compiled.program.expression())
    }

    /// Whether the two conditions can never hold at once, because a fact would have to equal two words.
    pub(crate) fn excludes(&self, other: &Condition) -> bool {
        words::exclude_each_other(
            self.compiled.program.expression(),
            other.compiled.program.expression(),
        )
    }

    /// Returns the result of a rule's condition if it is the same in every situation.
    ///
    /// The condition is evaluated with every fact missing: a result then depends on none of them.
    #[must_use]
    pub fn constant_value(&self) -> Option<bool> {
        let is_always_set = |name: &str| name == SITUATION || name == NOW || TYPES.contains(&name);
        if self.names().any(is_always_set) {
            return None;
        }
        let nothing = Facts::from_situation(&Map::new(), None, Timestamp::from_millis(0));
        match self.evaluate(&nothing) {
            Ok(holds) => Some(holds),
            Err(_) => self.compiled.survey.names.is_empty().then_some(false),
        }
    }

    /// Whether the source is meant as CEL, rather than a few words that happen to parse, such as
    /// `bug in production` or `user-facing`.
    ///
    /// It is when it has an operator, a call or a literal that no sentence has, or when all its names are
    /// facts.
    #[must_use]
    pub fn looks_like_cel(&self, facts: &Facts) -> bool {
        self.compiled.survey.has_cel_syntax || self.names().all(|name| facts.has(name))
    }

    /// Evaluates the condition.
    ///
    /// # Errors
    /// When it needs a fact that is not set, CEL fails, or the result is neither true nor false.
    pub fn evaluate(&self, facts: &Facts) -> Result<bool, ConditionError> {
        match self.compiled.fast.as_ref().map(|fast| fast.evaluate(facts)) {
            Some(Ok(holds)) => Ok(holds),
            Some(Err(NotDecided::MissingFact(name))) => {
                Err(ConditionError::MissingFact { name: name.to_owned() })
            }
            Some(Err(NotDecided::NeedsInterpreter)) | None => self.interpret(facts),
        }
    }

    /// Evaluates the condition with CEL's interpreter.
    fn interpret(&self, facts: &Facts) -> Result<bool, ConditionError> {
        let Compiled { program, survey, metered, is_bounded, .. } = &*self.compiled;
        if *is_bounded && survey.loops {
            let values = facts.count_values();
            if values.saturating_mul(survey.nodes) > BOUNDED_STEPS_MAX {
                let cause = format!("a loop over {values} values is too long");
                return Err(ConditionError::Failed { cause });
            }
        }
        let result = match metered {
            Some(metered) => self.run_metered(metered, facts)?,
            None => program.execute(facts.context()),
        };
        match result {
            Ok(Value::Bool(holds)) => Ok(holds),
            Ok(other) => {
                Err(ConditionError::NotBoolean { result_type: other.type_of().to_string() })
            }
            Err(error) => Err(execution_error(&error)),
        }
    }
}

impl Condition {
    /// Evaluates a condition with loops, within the steps that it and the request have.
    fn run_metered(
        &self,
        metered: &IdedExpr,
        facts: &Facts,
    ) -> Result<Result<Value, ExecutionError>, ConditionError> {
        let limit = STEPS_MAX.min(facts.steps_left());
        // The facts are converted before, because that is the same for all conditions.
        let context = facts.context();
        let (result, used) = meter::run_with_steps(limit, || Value::resolve(metered, context));
        facts.use_steps(used);
        result.ok_or_else(|| ConditionError::OutOfSteps {
            source_text: printable_name(&self.source),
            limit,
        })
    }
}

impl fmt::Debug for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Condition").field(&self.source).finish()
    }
}

impl PartialEq for Condition {
    fn eq(&self, other: &Condition) -> bool {
        self.source == other.source
    }
}

impl Eq for Condition {}

/// Converts an error of CEL; a missing fact is told apart from all other failures.
fn execution_error(error: &ExecutionError) -> ConditionError {
    let missing = |name: &str| ConditionError::MissingFact { name: name.to_owned() };
    match error {
        ExecutionError::UndeclaredReference(name) | ExecutionError::NoSuchKey(name) => {
            missing(&printable_name(name))
        }
        ExecutionError::NoSuchOverload(overload) if overload.function() == "_._" => {
            missing("a field of something without fields")
        }
        ExecutionError::IndexOutOfBounds(_) => missing("an entry behind the end of a list"),
        other => ConditionError::Failed { cause: printable_name(&first_line(&other.to_string())) },
    }
}

/// Converts the first syntax error, without CEL's list of everything that it would have accepted.
fn syntax_error(errors: &ParseErrors) -> ConditionError {
    let ((line, column), message) =
        errors.errors.first().map_or(((1, 1), ""), |error| (error.pos, error.msg.as_str()));
    let message = first_line(message.split(" expecting ").next().unwrap_or_default());
    let mut cause = message.strip_prefix("Syntax error: ").unwrap_or(&message).to_owned();
    cause = cause.replace("'<EOF>'", "end");
    for antlr in ["mismatched input", "extraneous input", "no viable alternative at input"] {
        cause = cause.replace(antlr, "unexpected");
    }
    let from_one = |number| usize::try_from(number).unwrap_or(1);
    ConditionError::Syntax {
        line: from_one(line),
        column: from_one(column),
        cause: printable_name(&cause),
    }
}

fn first_line(text: &str) -> String {
    text.lines().find(|line| !line.trim().is_empty()).unwrap_or("").trim().to_owned()
}

#[cfg(test)]
mod tests;
