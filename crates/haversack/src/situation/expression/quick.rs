//! The usual shapes of conditions without an interpreter: a fact compared with a value, `in`,
//! `has`, beginnings and ends of texts, joined by `&&`, `||` and `!`.
//!
//! It means what CEL means, errors included: a fact that is missing makes the whole unsure unless
//! the other side of `&&` or `||` decides it alone. What it does not know it leaves to CEL.

use std::cmp::Ordering;

use cel::IdedExpr;
use cel::common::ast::{CallExpr, Expr, LiteralValue, SelectExpr, operators};
use serde_json::Value;

use super::facts::Facts;

/// Names that CEL takes for types when there is no fact of that name.
pub(super) const TYPES: [&str; 11] =
    ["bool", "bytes", "double", "dyn", "int", "list", "map", "null_type", "string", "type", "uint"];

/// What the quick way came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Answer<'q> {
    Decided(bool),
    /// A fact that is not there.
    NoFact(&'q str),
    /// Something that CEL has to say.
    Unsure,
}

/// Why there is no answer.
#[derive(Debug, Clone, Copy)]
enum Stop<'q> {
    NoFact(&'q str),
    Unsure,
}

/// A condition of the usual shape.
#[derive(Debug)]
pub(super) enum Quick {
    Constant(bool),
    /// A fact that is true or false.
    Fact(Path),
    Has(Path, String),
    Compare(Path, Comparison, Scalar),
    /// A fact that is one of several values.
    OneOf(Path, Vec<Scalar>),
    /// A fact that holds a value: a list's entry or an object's name.
    Holds(Path, Scalar),
    Text(Path, TextTest, String),
    Not(Box<Quick>),
    Both(Box<Quick>, Box<Quick>),
    Either(Box<Quick>, Box<Quick>),
}

/// A fact by name, and the way into it.
#[derive(Debug)]
pub(super) struct Path {
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

/// A written value.
#[derive(Debug, PartialEq)]
pub(super) enum Scalar {
    Null,
    Bool(bool),
    Int(i64),
    Uint(u64),
    Double(f64),
    Text(String),
}

impl Quick {
    /// The quick form of an expression, if it has one.
    pub(super) fn of(expression: &IdedExpr) -> Option<Quick> {
        match &expression.expr {
            Expr::Literal(LiteralValue::Boolean(yes)) => Some(Quick::Constant(*yes.inner())),
            Expr::Ident(_) => Some(Quick::Fact(Path::of(expression)?)),
            Expr::Select(SelectExpr { operand, field, test: true }) => {
                Some(Quick::Has(Path::of(operand)?, field.clone()))
            }
            Expr::Select(_) => Some(Quick::Fact(Path::of(expression)?)),
            Expr::Call(call) => Quick::of_call(call),
            _ => None,
        }
    }

    fn of_call(CallExpr { func_name, target, args }: &CallExpr) -> Option<Quick> {
        let join = |left, right| Some((Box::new(Quick::of(left)?), Box::new(Quick::of(right)?)));
        match (func_name.as_str(), target, args.as_slice()) {
            (operators::LOGICAL_NOT, None, [inner]) => {
                Some(Quick::Not(Box::new(Quick::of(inner)?)))
            }
            (operators::LOGICAL_AND, None, [left, right]) => {
                join(left, right).map(|(left, right)| Quick::Both(left, right))
            }
            (operators::LOGICAL_OR, None, [left, right]) => {
                join(left, right).map(|(left, right)| Quick::Either(left, right))
            }
            (operators::IN, None, [left, right]) => Quick::of_in(left, right),
            (name, None, [left, right]) => {
                let comparison = Comparison::of(name)?;
                match (Path::of(left), Path::of(right)) {
                    (Some(path), None) => {
                        Some(Quick::Compare(path, comparison, Scalar::of(right)?))
                    }
                    (None, Some(path)) => {
                        Some(Quick::Compare(path, comparison.turned(), Scalar::of(left)?))
                    }
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
                match Scalar::of(argument)? {
                    Scalar::Text(text) => Some(Quick::Text(Path::of(target)?, test, text)),
                    _ => None,
                }
            }
            _ => None,
        }
    }

    fn of_in(left: &IdedExpr, right: &IdedExpr) -> Option<Quick> {
        match &right.expr {
            Expr::List(list) if list.optional_indices.is_empty() => {
                let values: Option<Vec<Scalar>> = list.elements.iter().map(Scalar::of).collect();
                Some(Quick::OneOf(Path::of(left)?, values?))
            }
            _ => Some(Quick::Holds(Path::of(right)?, Scalar::of(left)?)),
        }
    }

    pub(super) fn answer<'q>(&'q self, facts: &Facts) -> Answer<'q> {
        match self.holds(facts) {
            Ok(yes) => Answer::Decided(yes),
            Err(Stop::NoFact(name)) => Answer::NoFact(name),
            Err(Stop::Unsure) => Answer::Unsure,
        }
    }

    fn holds<'q>(&'q self, facts: &Facts) -> Result<bool, Stop<'q>> {
        match self {
            Quick::Constant(yes) => Ok(*yes),
            Quick::Fact(path) => match path.find(facts)? {
                Value::Bool(yes) => Ok(*yes),
                _ => Err(Stop::Unsure),
            },
            Quick::Has(path, field) => match path.find(facts)? {
                Value::Object(object) => Ok(object.contains_key(field)),
                _ => Err(Stop::Unsure),
            },
            Quick::Compare(path, comparison, scalar) => {
                comparison.holds(path.find(facts)?, scalar).ok_or(Stop::Unsure)
            }
            Quick::OneOf(path, scalars) => {
                let value = path.find(facts)?;
                Ok(scalars.iter().any(|scalar| scalar.equals(value)))
            }
            Quick::Holds(path, scalar) => match (path.find(facts)?, scalar) {
                (Value::Array(entries), _) => Ok(entries.iter().any(|entry| scalar.equals(entry))),
                (Value::Object(object), Scalar::Text(name)) => Ok(object.contains_key(name)),
                _ => Err(Stop::Unsure),
            },
            Quick::Text(path, test, text) => match path.find(facts)? {
                Value::String(value) => Ok(match test {
                    TextTest::Contains => value.contains(text.as_str()),
                    TextTest::Starts => value.starts_with(text.as_str()),
                    TextTest::Ends => value.ends_with(text.as_str()),
                }),
                _ => Err(Stop::Unsure),
            },
            Quick::Not(inner) => inner.holds(facts).map(|yes| !yes),
            Quick::Both(left, right) => joined(left.holds(facts), || right.holds(facts), false),
            Quick::Either(left, right) => joined(left.holds(facts), || right.holds(facts), true),
        }
    }
}

/// `&&` and `||`: one side alone decides when it is `deciding`, even if the other has no answer.
fn joined<'q>(
    left: Result<bool, Stop<'q>>,
    right: impl FnOnce() -> Result<bool, Stop<'q>>,
    deciding: bool,
) -> Result<bool, Stop<'q>> {
    match left {
        Ok(yes) if yes == deciding => Ok(deciding),
        Ok(_) => right(),
        Err(Stop::Unsure) => Err(Stop::Unsure),
        Err(stop) => match right() {
            Ok(yes) if yes == deciding => Ok(deciding),
            Ok(_) => Err(stop),
            Err(other) => Err(other),
        },
    }
}

impl Path {
    fn of(expression: &IdedExpr) -> Option<Path> {
        let mut fields = Vec::new();
        let mut at = expression;
        loop {
            match &at.expr {
                Expr::Ident(root) if !root.starts_with(['.', '@']) => {
                    fields.reverse();
                    return Some(Path { root: root.clone(), fields });
                }
                Expr::Select(SelectExpr { operand, field, test: false }) => {
                    fields.push(field.clone());
                    at = operand;
                }
                _ => return None,
            }
        }
    }

    fn find<'q, 'f>(&'q self, facts: &'f Facts) -> Result<&'f Value, Stop<'q>> {
        let Some(mut value) = facts.get(&self.root) else {
            let is_type = TYPES.contains(&self.root.as_str());
            return Err(if is_type { Stop::Unsure } else { Stop::NoFact(&self.root) });
        };
        for field in &self.fields {
            value = match value {
                Value::Object(object) => object.get(field).ok_or(Stop::NoFact(field))?,
                _ => return Err(Stop::Unsure),
            };
        }
        Ok(value)
    }
}

impl Comparison {
    fn of(operator: &str) -> Option<Comparison> {
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

    /// The same with the sides changed.
    const fn turned(self) -> Comparison {
        match self {
            Comparison::Less => Comparison::Greater,
            Comparison::LessOrEqual => Comparison::GreaterOrEqual,
            Comparison::Greater => Comparison::Less,
            Comparison::GreaterOrEqual => Comparison::LessOrEqual,
            same => same,
        }
    }

    /// `None` when the two cannot be compared.
    fn holds(self, value: &Value, scalar: &Scalar) -> Option<bool> {
        match self {
            Comparison::Equal => Some(scalar.equals(value)),
            Comparison::Unequal => Some(!scalar.equals(value)),
            Comparison::Less => scalar.order(value).map(Ordering::is_lt),
            Comparison::LessOrEqual => scalar.order(value).map(Ordering::is_le),
            Comparison::Greater => scalar.order(value).map(Ordering::is_gt),
            Comparison::GreaterOrEqual => scalar.order(value).map(Ordering::is_ge),
        }
    }
}

impl Scalar {
    fn of(expression: &IdedExpr) -> Option<Scalar> {
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
                match (args.as_slice(), Scalar::of(args.first()?)?) {
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
            (_, Value::Number(_)) => self.order(value) == Some(Ordering::Equal),
            _ => false,
        }
    }

    /// How a value stands to this one; `None` when they cannot be compared.
    fn order(&self, value: &Value) -> Option<Ordering> {
        match (self, value) {
            (Scalar::Text(text), Value::String(value)) => Some(value.as_str().cmp(text)),
            (Scalar::Bool(yes), Value::Bool(value)) => Some(value.cmp(yes)),
            (_, Value::Number(number)) => match (number.as_i64(), number.as_u64()) {
                (Some(whole), _) => self.order_of(Number::Int(whole)),
                (None, Some(large)) => self.order_of(Number::Uint(large)),
                (None, None) => self.order_of(Number::Double(number.as_f64()?)),
            },
            _ => None,
        }
    }

    fn order_of(&self, value: Number) -> Option<Ordering> {
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

    #[expect(clippy::cast_precision_loss, reason = "CEL compares with decimals just so")]
    fn as_double(self) -> f64 {
        match self {
            Number::Int(number) => number as f64,
            Number::Uint(number) => number as f64,
            Number::Double(number) => number,
        }
    }
}
