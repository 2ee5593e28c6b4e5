//! Evaluates common conditions without CEL's interpreter: a fact compared with a value, `in`,
//! `has`, and tests of texts, joined by `&&`, `||` and `!`.
//!
//! Results and errors are CEL's: a missing fact is an error unless the other side of `&&` or `||`
//! decides alone. Everything else is left to the interpreter.

use std::cmp::Ordering;

use cel::IdedExpr;
use cel::common::ast::{CallExpr, Expr, LiteralValue, SelectExpr, operators};
use serde_json::Value;

use super::facts::Facts;

/// Names that CEL takes for types when there is no fact of that name.
pub(super) const TYPES: [&str; 11] =
    ["bool", "bytes", "double", "dyn", "int", "list", "map", "null_type", "string", "type", "uint"];

/// Why the fast path has no result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NotDecided<'q> {
    /// A fact is not set.
    MissingFact(&'q str),
    /// Only the interpreter can evaluate it.
    NeedsInterpreter,
}

/// A condition of a common shape.
#[derive(Debug)]
pub(super) enum FastCondition {
    Constant(bool),
    /// A fact that is true or false.
    Fact(FactPath),
    Has(FactPath, String),
    Compare(FactPath, Comparison, Scalar),
    /// A fact that is one of several values.
    OneOf(FactPath, Vec<Scalar>),
    /// A list that contains a value, or an object that has a name.
    Holds(FactPath, Scalar),
    Text(FactPath, TextTest, String),
    Not(Box<FastCondition>),
    Both(Box<FastCondition>, Box<FastCondition>),
    Either(Box<FastCondition>, Box<FastCondition>),
}

/// The name of a fact and a path of fields inside it.
#[derive(Debug)]
pub(super) struct FactPath {
    root: String,
    fields: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Comparison {
    Equal,
    Unequal,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

#[derive(Debug, Clone, Copy)]
pub(super) enum TextTest {
    Contains,
    Starts,
    Ends,
}

/// A literal.
#[derive(Debug, PartialEq)]
pub(super) enum Scalar {
    Null,
    Bool(bool),
    Int(i64),
    Uint(u64),
    Double(f64),
    Text(String),
}

impl FastCondition {
    /// Converts an expression, if it has a common shape.
    pub(super) fn from_expression(expression: &IdedExpr) -> Option<FastCondition> {
        match &expression.expr {
            Expr::Literal(LiteralValue::Boolean(yes)) => {
                Some(FastCondition::Constant(*yes.inner()))
            }
            Expr::Ident(_) => Some(FastCondition::Fact(FactPath::from_expression(expression)?)),
            Expr::Select(SelectExpr { operand, field, test: true }) => {
                Some(FastCondition::Has(FactPath::from_expression(operand)?, field.clone()))
            }
            Expr::Select(_) => Some(FastCondition::Fact(FactPath::from_expression(expression)?)),
            Expr::Call(call) => FastCondition::from_call(call),
            _ => None,
        }
    }

    fn from_call(CallExpr { func_name, target, args }: &CallExpr) -> Option<FastCondition> {
        let both = |left, right| {
            Some((
                Box::new(FastCondition::from_expression(left)?),
                Box::new(FastCondition::from_expression(right)?),
            ))
        };
        match (func_name.as_str(), target, args.as_slice()) {
            (operators::LOGICAL_NOT, None, [inner]) => {
                Some(FastCondition::Not(Box::new(FastCondition::from_expression(inner)?)))
            }
            (operators::LOGICAL_AND, None, [left, right]) => {
                both(left, right).map(|(left, right)| FastCondition::Both(left, right))
            }
            (operators::LOGICAL_OR, None, [left, right]) => {
                both(left, right).map(|(left, right)| FastCondition::Either(left, right))
            }
            (operators::IN, None, [left, right]) => FastCondition::from_in(left, right),
            (name, None, [left, right]) => {
                let comparison = Comparison::from_operator(name)?;
                match (FactPath::from_expression(left), FactPath::from_expression(right)) {
                    (Some(path), None) => {
                        Some(FastCondition::Compare(path, comparison, Scalar::from_literal(right)?))
                    }
                    (None, Some(path)) => Some(FastCondition::Compare(
                        path,
                        comparison.swap_sides(),
                        Scalar::from_literal(left)?,
                    )),
                    _ => None,
                }
            }
            (name, Some(target), [argument]) => {
                let test = match name {
                    "contains" => TextTest::Contains,
                    "startsWith" => TextTest::Starts,
                    "endsWith" => TextTest::Ends,
                    _ => return None,
                };
                match Scalar::from_literal(argument)? {
                    Scalar::Text(text) => {
                        Some(FastCondition::Text(FactPath::from_expression(target)?, test, text))
                    }
                    _ => None,
                }
            }
            _ => None,
        }
    }

    fn from_in(left: &IdedExpr, right: &IdedExpr) -> Option<FastCondition> {
        match &right.expr {
            Expr::List(list) if list.optional_indices.is_empty() => {
                let values: Option<Vec<Scalar>> =
                    list.elements.iter().map(Scalar::from_literal).collect();
                Some(FastCondition::OneOf(FactPath::from_expression(left)?, values?))
            }
            _ => Some(FastCondition::Holds(
                FactPath::from_expression(right)?,
                Scalar::from_literal(left)?,
            )),
        }
    }

    pub(super) fn evaluate<'q>(&'q self, facts: &Facts) -> Result<bool, NotDecided<'q>> {
        match self {
            FastCondition::Constant(yes) => Ok(*yes),
            FastCondition::Fact(path) => match path.find(facts)? {
                Value::Bool(yes) => Ok(*yes),
                _ => Err(NotDecided::NeedsInterpreter),
            },
            FastCondition::Has(path, field) => match path.find(facts)? {
                Value::Object(object) => Ok(object.contains_key(field)),
                _ => Err(NotDecided::NeedsInterpreter),
            },
            FastCondition::Compare(path, comparison, scalar) => {
                comparison.holds(path.find(facts)?, scalar).ok_or(NotDecided::NeedsInterpreter)
            }
            FastCondition::OneOf(path, scalars) => {
                let value = path.find(facts)?;
                Ok(scalars.iter().any(|scalar| scalar.equals(value)))
            }
            FastCondition::Holds(path, scalar) => match (path.find(facts)?, scalar) {
                (Value::Array(entries), _) => Ok(entries.iter().any(|entry| scalar.equals(entry))),
                (Value::Object(object), Scalar::Text(name)) => Ok(object.contains_key(name)),
                _ => Err(NotDecided::NeedsInterpreter),
            },
            FastCondition::Text(path, test, text) => match path.find(facts)? {
                Value::String(value) => Ok(match test {
                    TextTest::Contains => value.contains(text.as_str()),
                    TextTest::Starts => value.starts_with(text.as_str()),
                    TextTest::Ends => value.ends_with(text.as_str()),
                }),
                _ => Err(NotDecided::NeedsInterpreter),
            },
            FastCondition::Not(inner) => inner.evaluate(facts).map(|yes| !yes),
            FastCondition::Both(left, right) => {
                join_sides(left.evaluate(facts), || right.evaluate(facts), false)
            }
            FastCondition::Either(left, right) => {
                join_sides(left.evaluate(facts), || right.evaluate(facts), true)
            }
        }
    }
}

/// Evaluates `&&` or `||`. One side decides alone when it is `deciding`, even if the other has no
/// result.
fn join_sides<'q>(
    left: Result<bool, NotDecided<'q>>,
    right: impl FnOnce() -> Result<bool, NotDecided<'q>>,
    deciding: bool,
) -> Result<bool, NotDecided<'q>> {
    match left {
        Ok(yes) if yes == deciding => Ok(deciding),
        Ok(_) => right(),
        Err(NotDecided::NeedsInterpreter) => Err(NotDecided::NeedsInterpreter),
        Err(stop) => match right() {
            Ok(yes) if yes == deciding => Ok(deciding),
            Ok(_) => Err(stop),
            Err(other) => Err(other),
        },
    }
}

impl FactPath {
    fn from_expression(expression: &IdedExpr) -> Option<FactPath> {
        let mut fields = Vec::new();
        let mut at = expression;
        loop {
            match &at.expr {
                Expr::Ident(root) if !root.starts_with(['.', '@']) => {
                    fields.reverse();
                    return Some(FactPath { root: root.clone(), fields });
                }
                Expr::Select(SelectExpr { operand, field, test: false }) => {
                    fields.push(field.clone());
                    at = operand;
                }
                _ => return None,
            }
        }
    }

    fn find<'q, 'f>(&'q self, facts: &'f Facts) -> Result<&'f Value, NotDecided<'q>> {
        let Some(mut value) = facts.get(&self.root) else {
            let is_type = TYPES.contains(&self.root.as_str());
            return Err(if is_type {
                NotDecided::NeedsInterpreter
            } else {
                NotDecided::MissingFact(&self.root)
            });
        };
        for field in &self.fields {
            value = match value {
                Value::Object(object) => object.get(field).ok_or(NotDecided::MissingFact(field))?,
                _ => return Err(NotDecided::NeedsInterpreter),
            };
        }
        Ok(value)
    }
}

impl Comparison {
    fn from_operator(operator: &str) -> Option<Comparison> {
        match operator {
            operators::EQUALS => Some(Comparison::Equal),
            operators::NOT_EQUALS => Some(Comparison::Unequal),
            operators::LESS => Some(Comparison::Less),
            operators::LESS_EQUALS => Some(Comparison::LessOrEqual),
            operators::GREATER => Some(Comparison::Greater),
            operators::GREATER_EQUALS => Some(Comparison::GreaterOrEqual),
            _ => None,
        }
    }

    /// Returns the comparison for swapped sides.
    const fn swap_sides(self) -> Comparison {
        match self {
            Comparison::Less => Comparison::Greater,
            Comparison::LessOrEqual => Comparison::GreaterOrEqual,
            Comparison::Greater => Comparison::Less,
            Comparison::GreaterOrEqual => Comparison::LessOrEqual,
            same => same,
        }
    }

    /// Whether the comparison holds; `None` when the two cannot be compared.
    fn holds(self, value: &Value, scalar: &Scalar) -> Option<bool> {
        match self {
            Comparison::Equal => Some(scalar.equals(value)),
            Comparison::Unequal => Some(!scalar.equals(value)),
            Comparison::Less => scalar.compare(value).map(Ordering::is_lt),
            Comparison::LessOrEqual => scalar.compare(value).map(Ordering::is_le),
            Comparison::Greater => scalar.compare(value).map(Ordering::is_gt),
            Comparison::GreaterOrEqual => scalar.compare(value).map(Ordering::is_ge),
        }
    }
}

impl Scalar {
    fn from_literal(expression: &IdedExpr) -> Option<Scalar> {
        match &expression.expr {
            Expr::Literal(literal) => match literal {
                LiteralValue::Null => Some(Scalar::Null),
                LiteralValue::Boolean(yes) => Some(Scalar::Bool(*yes.inner())),
                LiteralValue::Int(number) => Some(Scalar::Int(*number.inner())),
                LiteralValue::UInt(number) => Some(Scalar::Uint(*number.inner())),
                LiteralValue::Double(number) => Some(Scalar::Double(*number.inner())),
                LiteralValue::String(text) => Some(Scalar::Text(text.inner().to_owned())),
                LiteralValue::Bytes(_) => None,
            },
            Expr::Call(CallExpr { func_name, target: None, args })
                if func_name == operators::NEGATE =>
            {
                match (args.as_slice(), Scalar::from_literal(args.first()?)?) {
                    ([_], Scalar::Int(number)) => number.checked_neg().map(Scalar::Int),
                    ([_], Scalar::Double(number)) => Some(Scalar::Double(-number)),
                    _ => None,
                }
            }
            _ => None,
        }
    }

    fn equals(&self, value: &Value) -> bool {
        match (self, value) {
            (Scalar::Null, Value::Null) => true,
            (Scalar::Text(text), Value::String(value)) => text == value,
            (Scalar::Bool(yes), Value::Bool(value)) => yes == value,
            (_, Value::Number(_)) => self.compare(value) == Some(Ordering::Equal),
            _ => false,
        }
    }

    /// Compares a value with this one; `None` when they cannot be compared.
    fn compare(&self, value: &Value) -> Option<Ordering> {
        match (self, value) {
            (Scalar::Text(text), Value::String(value)) => Some(value.as_str().cmp(text)),
            (Scalar::Bool(yes), Value::Bool(value)) => Some(value.cmp(yes)),
            (_, Value::Number(number)) => match (number.as_i64(), number.as_u64()) {
                (Some(whole), _) => self.compare_number(Number::Int(whole)),
                (None, Some(large)) => self.compare_number(Number::Uint(large)),
                (None, None) => self.compare_number(Number::Double(number.as_f64()?)),
            },
            _ => None,
        }
    }

    fn compare_number(&self, value: Number) -> Option<Ordering> {
        let scalar = match self {
            Scalar::Int(number) => Number::Int(*number),
            Scalar::Uint(number) => Number::Uint(*number),
            Scalar::Double(number) => Number::Double(*number),
            Scalar::Null | Scalar::Bool(_) | Scalar::Text(_) => return None,
        };
        match (value, scalar) {
            (Number::Double(_), _) | (_, Number::Double(_)) => {
                value.as_double().partial_cmp(&scalar.as_double())
            }
            _ => Some(value.as_whole().cmp(&scalar.as_whole())),
        }
    }
}

#[derive(Debug, Clone, Copy)]
enum Number {
    Int(i64),
    Uint(u64),
    Double(f64),
}

impl Number {
    fn as_whole(self) -> i128 {
        match self {
            Number::Int(number) => number.into(),
            Number::Uint(number) => number.into(),
            Number::Double(_) => 0,
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "CEL compares with decimals in the same way")]
    fn as_double(self) -> f64 {
        match self {
            Number::Int(number) => number as f64,
            Number::Uint(number) => number as f64,
            Number::Double(number) => number,
        }
    }
}
