//! The range of a score when every component is between 0 and 1, by interval arithmetic.
//!
//! Ranges are sound but not tight: a score never leaves its range, but may not reach its bounds.

use cel::common::ast::{Expr, LiteralValue, operators};
use cel::{IdedExpr, Program};

/// The lowest and the highest value of a score.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Range {
    pub(super) low: f64,
    pub(super) high: f64,
}

/// A way in which an expression can fail to give a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Hazard {
    Division,
    Root,
    Logarithm,
}

impl Range {
    /// Every number.
    const ALL: Range = Range { low: f64::NEG_INFINITY, high: f64::INFINITY };
    /// The range of a component, and of a boolean that is used as a number.
    const UNIT: Range = Range { low: 0.0, high: 1.0 };

    const fn point(value: f64) -> Range {
        Range { low: value, high: value }
    }

    /// The smallest range that holds all of the values; every number if one of them is NaN.
    fn enclosing(values: &[f64]) -> Range {
        if values.iter().any(|value| value.is_nan()) {
            return Range::ALL;
        }
        let fold = |start: f64, pick: fn(f64, f64) -> f64| values.iter().copied().fold(start, pick);
        Range { low: fold(f64::INFINITY, f64::min), high: fold(f64::NEG_INFINITY, f64::max) }
    }

    #[expect(clippy::float_cmp, reason = "a range is a point when its ends are the same number")]
    pub(super) fn is_point(self) -> bool {
        self.low == self.high
    }

    /// The range of a function that never decreases.
    fn map_monotone(self, function: fn(f64) -> f64) -> Range {
        Range::enclosing(&[function(self.low), function(self.high)])
    }

    fn combine(self, other: Range, operation: fn(f64, f64) -> f64) -> Range {
        Range::enclosing(&[
            operation(self.low, other.low),
            operation(self.low, other.high),
            operation(self.high, other.low),
            operation(self.high, other.high),
        ])
    }
}

/// The range of a valid expression, and the ways in which it can fail.
pub(super) fn expression_range(source: &str) -> (Range, Vec<Hazard>) {
    let mut hazards = Vec::new();
    let range = match Program::compile(source) {
        Ok(program) => node_range(program.expression(), &mut hazards),
        Err(_) => Range::ALL,
    };
    hazards.sort_unstable();
    hazards.dedup();
    (range, hazards)
}

fn node_range(node: &IdedExpr, hazards: &mut Vec<Hazard>) -> Range {
    match &node.expr {
        // Every name in a valid expression is a component.
        Expr::Ident(_) => Range::UNIT,
        Expr::Literal(literal) => literal_range(literal),
        Expr::Call(call) => {
            let args: Vec<Range> = call.args.iter().map(|arg| node_range(arg, hazards)).collect();
            call_range(&call.func_name, &args, hazards)
        }
        _ => Range::ALL,
    }
}

fn literal_range(literal: &LiteralValue) -> Range {
    match literal {
        LiteralValue::Double(number) => Range::point(*number.inner()),
        #[expect(clippy::cast_precision_loss, reason = "expressions read whole numbers so too")]
        LiteralValue::Int(number) => Range::point(*number.inner() as f64),
        LiteralValue::Boolean(_) => Range::UNIT,
        _ => Range::ALL,
    }
}

fn call_range(name: &str, args: &[Range], hazards: &mut Vec<Hazard>) -> Range {
    match (name, args) {
        (operators::ADD, &[a, b]) => a.combine(b, |a, b| a + b),
        (operators::SUBSTRACT, &[a, b]) => a.combine(b, |a, b| a - b),
        (operators::MULTIPLY, &[a, b]) => a.combine(b, |a, b| a * b),
        (operators::DIVIDE, &[a, b]) => {
            if b.low <= 0.0 && b.high >= 0.0 {
                hazards.push(Hazard::Division);
                return Range::ALL;
            }
            a.combine(b, |a, b| a / b)
        }
        (operators::NEGATE, &[a]) => Range { low: -a.high, high: -a.low },
        (operators::CONDITIONAL, &[_, a, b]) => {
            Range { low: a.low.min(b.low), high: a.high.max(b.high) }
        }
        ("min", &[a, b]) => Range { low: a.low.min(b.low), high: a.high.min(b.high) },
        ("max", &[a, b]) => Range { low: a.low.max(b.low), high: a.high.max(b.high) },
        ("clamp", &[x, low, high]) => Range {
            low: x.low.max(low.low).min(high.low),
            high: x.high.max(low.high).min(high.high),
        },
        ("exp", &[a]) => a.map_monotone(f64::exp),
        ("log", &[a]) => {
            if a.low <= 0.0 {
                hazards.push(Hazard::Logarithm);
            }
            Range { low: a.low.max(0.0), high: a.high.max(0.0) }.map_monotone(f64::ln)
        }
        ("sqrt", &[a]) => {
            if a.low < 0.0 {
                hazards.push(Hazard::Root);
            }
            Range { low: a.low.max(0.0), high: a.high.max(0.0) }.map_monotone(f64::sqrt)
        }
        (
            operators::EQUALS
            | operators::NOT_EQUALS
            | operators::GREATER
            | operators::GREATER_EQUALS
            | operators::LESS
            | operators::LESS_EQUALS
            | operators::LOGICAL_AND
            | operators::LOGICAL_OR
            | operators::LOGICAL_NOT,
            _,
        ) => Range::UNIT,
        _ => Range::ALL,
    }
}

#[cfg(test)]
mod tests {
    use haversack_core::rank::{Component, Expression, Signals};
    use haversack_core::units::Score;
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(source: &str, low: f64, high: f64, hazards: &[Hazard]) {
        Expression::new(source).unwrap();
        let (range, found) = expression_range(source);
        assert_eq!((range, found.as_slice()), (Range { low, high }, hazards), "{source}");
    }

    #[test]
    fn ranges_follow_the_operations() {
        check("0.7 * semantic + 2 * recency", 0.0, 2.7, &[]);
        check("1 - semantic", 0.0, 1.0, &[]);
        check("-semantic * 3", -3.0, 0.0, &[]);
        check("max(0.5, usage) - min(0.5, usage)", 0.0, 1.0, &[]);
        check("clamp(3 * usage, 0.5, 2.0)", 0.5, 2.0, &[]);
        check("2.0 * 3", 6.0, 6.0, &[]);
        check("0 * semantic", 0.0, 0.0, &[]);
        check("mention > 0.5 ? 2.0 : semantic", 0.0, 2.0, &[]);
        check("semantic / (1 + usage)", 0.0, 1.0, &[]);
        check("exp(0.0)", 1.0, 1.0, &[]);
    }

    #[test]
    fn what_may_fail_is_found() {
        check("1 / semantic", f64::NEG_INFINITY, f64::INFINITY, &[Hazard::Division]);
        check("log(semantic)", f64::NEG_INFINITY, 0.0, &[Hazard::Logarithm]);
        check("sqrt(semantic - 1)", 0.0, 0.0, &[Hazard::Root]);
    }

    proptest! {
        #[test]
        fn no_score_leaves_its_range(
            source in "(semantic|usage|0\\.5|2|recency)( [+*-] (semantic|usage|3|max\\(usage, 0\\.25\\)|sqrt\\(recency\\))){0,5}",
            values in prop::array::uniform3(0.0f64..=1.0),
        ) {
            let (range, _) = expression_range(&source);
            let signals = Signals::default()
                .with(Component::Semantic, Score::unit(values[0]))
                .with(Component::Usage, Score::unit(values[1]))
                .with(Component::Recency, Score::unit(values[2]));
            let expression = Expression::new(&source).unwrap();
            let (score, _) = expression.scorer().score(&signals).unwrap();
            prop_assert!(score.get() >= range.low - 1e-9 && score.get() <= range.high + 1e-9);
        }
    }
}
