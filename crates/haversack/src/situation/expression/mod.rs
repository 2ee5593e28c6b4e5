//! Conditions as expressions: CEL, read once, judged in a microsecond (S3).
//!
//! Safe by what is left out: of loops there are `exists` and `all`, one inside another is refused,
//! and what they may cost is bounded. The usual shapes (a fact compared with a value, joined by
//! `&&`, `||` and `!`) have a quicker way that means the same; all else goes to CEL's interpreter.

mod cache;
mod facts;
mod quick;
mod survey;

use cel::{ExecutionError, ParseErrors, Program, Value};
use haversack_core::text::spelling::shown;
use haversack_core::units::Timestamp;
use serde_json::Map;
use thiserror::Error;

pub use cache::{EXPRESSIONS_MAX, Expressions};
pub use facts::Facts;

use facts::{NOW, SITUATION};
use quick::{Answer, Quick, TYPES};
use survey::{FUNCTIONS, Survey};

/// Longest expression in bytes.
pub const EXPRESSION_BYTES_MAX: usize = 1_024;

/// Most steps of a loop: values of the situation times parts of the expression.
const STEPS_MAX: usize = 200_000;

/// An expression that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ConditionError {
    /// Longer than [`EXPRESSION_BYTES_MAX`].
    #[error("an expression of {bytes} bytes is longer than the limit of {EXPRESSION_BYTES_MAX}")]
    TooLong {
        /// Its length.
        bytes: usize,
    },
    /// CEL could not read it.
    #[error("the expression cannot be read at column {column}: {cause}")]
    Syntax {
        /// Where, in characters from 1.
        column: usize,
        /// What CEL said.
        cause: String,
    },
    /// A function that is not there.
    #[error("there is no function {name}; there are has, exists, all, {}", FUNCTIONS.join(", "))]
    UnknownFunction {
        /// The name.
        name: String,
    },
    /// Something that could cost more than a condition may.
    #[error("the expression holds {what}, which conditions must do without")]
    Refused {
        /// What it holds.
        what: &'static str,
    },
    /// Its outcome is a number, a text or a list.
    #[error("the expression gives neither true nor false")]
    Undecided,
}

/// What an expression came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// It holds, or it does not.
    Decided(bool),
    /// It speaks of a fact that is not there, so it does not hold.
    NoFact {
        /// The fact.
        name: String,
    },
    /// It could not be carried through, so it does not hold.
    Failed {
        /// Why.
        reason: String,
    },
}

/// A condition that was read as an expression.
#[derive(Debug)]
pub struct Expression {
    program: Program,
    quick: Option<Quick>,
    survey: Survey,
}

impl Expression {
    /// Reads and checks an expression.
    ///
    /// # Errors
    /// When it is too long, does not parse, calls what is not there or cannot decide anything.
    pub fn new(source: &str) -> Result<Expression, ConditionError> {
        if source.len() > EXPRESSION_BYTES_MAX {
            return Err(ConditionError::TooLong { bytes: source.len() });
        }
        let program = Program::compile(source).map_err(|errors| syntax(&errors))?;
        let survey = Survey::of(program.expression());
        if let Some(what) = survey.refused {
            return Err(ConditionError::Refused { what });
        }
        if let Some(name) = &survey.unknown_function {
            return Err(ConditionError::UnknownFunction { name: shown(name) });
        }
        if !survey.can_decide {
            return Err(ConditionError::Undecided);
        }
        let quick = Quick::of(program.expression());
        Ok(Expression { program, quick, survey })
    }

    /// The facts it speaks of, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.survey.names.iter().map(String::as_str)
    }

    /// The facts of a situation that it asks for: `x` of `situation.x`, and names that stand for
    /// themselves.
    pub fn facts(&self) -> impl Iterator<Item = &str> {
        self.survey.facts.iter().map(String::as_str)
    }

    /// Its outcome when that is the same in every situation.
    ///
    /// Found by judging it where every fact is missing: what is decided then is decided by no fact.
    #[must_use]
    pub fn constant(&self) -> Option<bool> {
        let is_there = |name: &str| name == SITUATION || name == NOW || TYPES.contains(&name);
        if self.names().any(is_there) {
            return None;
        }
        let nothing = Facts::new(&Map::new(), None, Timestamp::from_millis(0));
        match self.judge(&nothing) {
            Outcome::Decided(yes) => Some(yes),
            _ => self.survey.names.is_empty().then_some(false),
        }
    }

    /// Whether a text that reads as this is meant as an expression, and is not a few words that
    /// happen to parse, such as `bug in production` or `user-facing`.
    ///
    /// It is one when it holds what no sentence holds: a comparison, `&&`, a call, a quoted text.
    /// Without such signs it is one when all the names in it are facts.
    #[must_use]
    pub fn is_meant(&self, facts: &Facts) -> bool {
        self.survey.has_signs || self.names().all(|name| facts.has(name))
    }

    /// Whether it holds.
    #[must_use]
    pub fn judge(&self, facts: &Facts) -> Outcome {
        match self.quick.as_ref().map(|quick| quick.answer(facts)) {
            Some(Answer::Decided(yes)) => Outcome::Decided(yes),
            Some(Answer::NoFact(name)) => Outcome::NoFact { name: name.to_owned() },
            Some(Answer::Unsure) | None => self.interpret(facts),
        }
    }

    /// The same by CEL's interpreter.
    fn interpret(&self, facts: &Facts) -> Outcome {
        let steps = facts.values().saturating_mul(self.survey.nodes);
        if self.survey.loops && steps > STEPS_MAX {
            let reason = format!("a loop over {} values is too long", facts.values());
            return Outcome::Failed { reason };
        }
        match self.program.execute(facts.context()) {
            Ok(Value::Bool(yes)) => Outcome::Decided(yes),
            Ok(other) => {
                let reason = format!("it gave {}, not true or false", other.type_of());
                Outcome::Failed { reason }
            }
            Err(error) => outcome_of(&error),
        }
    }
}

/// A fact that is not there is no failure; all else is.
fn outcome_of(error: &ExecutionError) -> Outcome {
    match error {
        ExecutionError::UndeclaredReference(name) | ExecutionError::NoSuchKey(name) => {
            Outcome::NoFact { name: shown(name) }
        }
        ExecutionError::NoSuchOverload(overload) if overload.function() == "_._" => {
            Outcome::NoFact { name: "a field of something without fields".to_owned() }
        }
        ExecutionError::IndexOutOfBounds(_) => {
            Outcome::NoFact { name: "an entry behind the end of a list".to_owned() }
        }
        other => Outcome::Failed { reason: shown(&first_line(&other.to_string())) },
    }
}

/// The first thing that CEL stumbled over, without its list of all it would have liked.
fn syntax(errors: &ParseErrors) -> ConditionError {
    let (column, said) =
        errors.errors.first().map_or((1, ""), |error| (error.pos.1, error.msg.as_str()));
    let said = first_line(said.split(" expecting ").next().unwrap_or_default());
    let cause = said.strip_prefix("Syntax error: ").unwrap_or(&said).to_owned();
    ConditionError::Syntax { column: usize::try_from(column).unwrap_or(1), cause: shown(&cause) }
}

fn first_line(text: &str) -> String {
    text.lines().find(|line| !line.trim().is_empty()).unwrap_or("").trim().to_owned()
}

#[cfg(test)]
mod tests;
