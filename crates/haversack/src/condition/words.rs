//! Finds the words that a condition compares facts with, without evaluating it.

use cel::IdedExpr;
use cel::common::ast::{Expr, LiteralValue, operators};

/// Finds every `name == "word"` and `name != "word"`, in either order, outside of loops.
pub(super) fn comparisons(expression: &IdedExpr) -> Vec<(&str, &str)> {
    let mut found = Vec::new();
    add_comparisons(expression, &mut found);
    found
}

/// Whether two conditions can never hold at once, because a fact would have to equal two words.
pub(super) fn exclude_each_other(one: &IdedExpr, other: &IdedExpr) -> bool {
    let (mut first, mut second) = (Vec::new(), Vec::new());
    add_required(one, &mut first);
    add_required(other, &mut second);
    let differ = |(name, words): &(&str, Vec<&str>), (of, others): &(&str, Vec<&str>)| {
        name == of && !words.iter().any(|word| others.contains(word))
    };
    first.iter().any(|required| second.iter().any(|other| differ(required, other)))
}

fn add_comparisons<'e>(node: &'e IdedExpr, found: &mut Vec<(&'e str, &'e str)>) {
    let Expr::Call(call) = &node.expr else { return };
    if let (operators::EQUALS | operators::NOT_EQUALS, [a, b]) = (&*call.func_name, &*call.args) {
        for (name, word) in [(a, b), (b, a)] {
            if let (Expr::Ident(name), Some(word)) = (&name.expr, string_literal(word)) {
                found.push((name, word));
            }
        }
    }
    for part in call.target.iter().map(|target| &**target).chain(&call.args) {
        add_comparisons(part, found);
    }
}

/// Adds the words that facts must equal for the condition to hold. It reads only `name == "word"` and
/// `name in ["word", "word"]`, joined by `&&`.
fn add_required<'e>(node: &'e IdedExpr, found: &mut Vec<(&'e str, Vec<&'e str>)>) {
    let Expr::Call(call) = &node.expr else { return };
    match (&*call.func_name, &*call.args) {
        (operators::LOGICAL_AND, parts) => parts.iter().for_each(|part| add_required(part, found)),
        (operators::EQUALS, [a, b]) => {
            for (name, word) in [(a, b), (b, a)] {
                if let (Expr::Ident(name), Some(word)) = (&name.expr, string_literal(word)) {
                    found.push((name, vec![word]));
                }
            }
        }
        (operators::IN, [name, list]) => {
            if let (Expr::Ident(name), Expr::List(list)) = (&name.expr, &list.expr)
                && let Some(words) = list.elements.iter().map(string_literal).collect()
            {
                found.push((name, words));
            }
        }
        _ => {}
    }
}

fn string_literal(node: &IdedExpr) -> Option<&str> {
    match &node.expr {
        Expr::Literal(LiteralValue::String(word)) => Some(word.inner()),
        _ => None,
    }
}
