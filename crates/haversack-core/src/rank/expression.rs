//! Custom score expressions over the components, in CEL.
//!
//! There are no lists, maps or strings, so nothing can loop and the cost is bounded by the length
//! of the source.

use std::fmt;
use std::sync::Arc;

use cel::{Context, Program, Value};
use thiserror::Error;

use super::scoring::{Component, ScorePart, Signals};
use crate::units::Score;

/// Longest expression in bytes.
pub const EXPRESSION_BYTES_MAX: usize = 1_024;

/// An alias of [`Component::Semantic`], used for memories (M6).
const SIMILARITY: &str = "similarity";

const FUNCTIONS: [&str; 6] = ["min", "max", "clamp", "exp", "log", "sqrt"];

/// Why an expression is invalid or failed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ExpressionError {
    /// Longer than [`EXPRESSION_BYTES_MAX`].
    #[error("an expression of {bytes} bytes is longer than the limit of {EXPRESSION_BYTES_MAX}")]
    TooLong {
        /// Its length.
        bytes: usize,
    },
    /// A character is not allowed.
    #[error("{character:?} at byte {at} is not allowed: a score is made of numbers and components")]
    NotAllowed {
        /// The character.
        character: char,
        /// Its byte offset.
        at: usize,
    },
    /// CEL could not read it.
    #[error("the expression cannot be read: {cause}")]
    Syntax {
        /// What CEL said.
        cause: String,
    },
    /// A name is not a component.
    #[error("{name} is not a component; there are {}", known_names())]
    UnknownName {
        /// The name.
        name: String,
    },
    /// A function is unknown.
    #[error("there is no function {name}; there are {}", FUNCTIONS.join(", "))]
    UnknownFunction {
        /// The name.
        name: String,
    },
    /// Evaluation failed.
    #[error("the expression failed: {cause}")]
    Failed {
        /// What CEL said.
        cause: String,
    },
    /// The outcome is not a finite number.
    #[error("the expression gave {outcome}, not a finite number")]
    NotANumber {
        /// What it gave.
        outcome: String,
    },
}

fn known_names() -> String {
    let mut names: Vec<&str> = Component::ALL.iter().map(|component| component.name()).collect();
    names.push(SIMILARITY);
    names.join(", ")
}

/// A checked expression, such as `0.7 * similarity + 0.3 * max(recency, usage)`.
#[derive(Clone)]
pub struct Expression {
    source: String,
    program: Arc<Program>,
}

impl Expression {
    /// Reads and checks an expression. Whole numbers may be written without a point.
    ///
    /// # Errors
    /// When it is too long, does not parse, or names something unknown.
    pub fn new(source: &str) -> Result<Expression, ExpressionError> {
        if source.len() > EXPRESSION_BYTES_MAX {
            return Err(ExpressionError::TooLong { bytes: source.len() });
        }
        let allowed = |c: char| c.is_ascii_graphic() || c.is_ascii_whitespace();
        let refused =
            source.char_indices().find(|&(_, c)| !allowed(c) || "[]{}\"'`\\;@#$".contains(c));
        if let Some((at, character)) = refused {
            return Err(ExpressionError::NotAllowed { character, at });
        }
        let program = Program::compile(&with_decimal_points(source))
            .map_err(|error| ExpressionError::Syntax { cause: error.to_string() })?;
        check_names(&program)?;
        Ok(Expression { source: source.to_owned(), program: Arc::new(program) })
    }

    /// The expression as the user wrote it.
    #[must_use]
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Whether the expression names a component.
    pub(super) fn names(&self, component: Component) -> bool {
        let names = self.program.references();
        names.variables().into_iter().any(|name| {
            name == component.name() || name == SIMILARITY && component == Component::Semantic
        })
    }

    /// Compiles the expression once, to score many candidates.
    #[must_use]
    pub fn scorer(&self) -> Scorer<'_> {
        let mut context = Context::default();
        // None of these names is taken by CEL's own library, so adding them cannot fail.
        let added = [
            context.add_function("min", |a: f64, b: f64| a.min(b)),
            context.add_function("max", |a: f64, b: f64| a.max(b)),
            context.add_function("clamp", |x: f64, low: f64, high: f64| x.max(low).min(high)),
            context.add_function("exp", |x: f64| libm::exp(x)),
            context.add_function("log", |x: f64| libm::log(x)),
            context.add_function("sqrt", |x: f64| x.sqrt()),
        ];
        debug_assert!(added.iter().all(Result::is_ok), "a function name is taken");
        Scorer { program: &self.program, context }
    }
}

impl fmt::Debug for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Expression").field(&self.source).finish()
    }
}

/// An expression ready to run.
pub struct Scorer<'e> {
    program: &'e Program,
    context: Context<'e, 'e>,
}

impl fmt::Debug for Scorer<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scorer").finish_non_exhaustive()
    }
}

impl Scorer<'_> {
    /// The expression's value for a candidate's signals, with its inputs as parts of weight zero.
    ///
    /// # Errors
    /// When evaluation fails or its outcome is not a finite number.
    pub fn score(&self, signals: &Signals) -> Result<(Score, Vec<ScorePart>), ExpressionError> {
        let value_of =
            |component: Component| signals.get(component).unwrap_or(component.when_unknown());
        let mut scope = self.context.new_inner_scope();
        for component in Component::ALL {
            scope.add_variable_from_value(component.name(), value_of(component).get());
        }
        scope.add_variable_from_value(SIMILARITY, value_of(Component::Semantic).get());
        let outcome = self
            .program
            .execute(&scope)
            .map_err(|error| ExpressionError::Failed { cause: error.to_string() })?;
        let not_a_number = |outcome: String| ExpressionError::NotANumber { outcome };
        let number = match outcome {
            Value::Float(number) => number,
            Value::Bool(yes) => f64::from(u8::from(yes)),
            other => return Err(not_a_number(other.type_of().to_string())),
        };
        let score = Score::new(number).ok_or_else(|| not_a_number(number.to_string()))?;
        Ok((score, signals.as_parts()))
    }
}

fn check_names(program: &Program) -> Result<(), ExpressionError> {
    let references = program.references();
    let mut variables = references.variables();
    variables.sort_unstable();
    for name in variables {
        if Component::by_name(name).is_none() && name != SIMILARITY {
            return Err(ExpressionError::UnknownName { name: name.to_owned() });
        }
    }
    let mut functions = references.functions();
    functions.sort_unstable();
    for name in functions {
        // CEL names its operators `_+_`, `-_`, `_?_:_` and so on.
        if !FUNCTIONS.contains(&name) && !name.contains('_') {
            return Err(ExpressionError::UnknownFunction { name: name.to_owned() });
        }
    }
    Ok(())
}

/// CEL does not multiply whole numbers with decimals; people do. Every number becomes a decimal.
fn with_decimal_points(source: &str) -> String {
    let mut out = String::with_capacity(source.len() + 16);
    let mut rest = source;
    while let Some(c) = rest.chars().next() {
        let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
        let len = rest.find(|c| !is_word(c)).unwrap_or(rest.len()).max(c.len_utf8());
        let (word, after) = rest.split_at(len);
        out.push_str(word);
        if word.bytes().all(|byte| byte.is_ascii_digit()) {
            out.push_str(".0");
        }
        rest = after;
    }
    out
}
