//! Bounds the steps of a condition that loops. CEL's interpreter knows no budget, so the syntax tree is
//! rewritten before it is run: each round of a loop and each value that a loop handles is paid for.
//!
//! A round costs the size of its body. A value costs the number of values inside it, because comparing,
//! joining or copying it may touch them all. So time and memory are bounded together: a list that doubles
//! in each round costs twice as much each time. What runs outside of loops is bounded by the length of the
//! source.

use std::cell::Cell;

use cel::common::ast::{
    CallExpr, ComprehensionExpr, EntryExpr, Expr, ListExpr, LiteralValue, operators,
};
use cel::common::types::{CelBool, CelBytes, CelList, CelMap, CelOptional, CelString};
use cel::common::types::{CelInt, DYN_TYPE, INT_TYPE};
use cel::common::value::{CowVal, Val};
use cel::{Env, ExecutionError, IdedExpr};

/// Most steps of one evaluation: some tenths of a second.
pub const STEPS_MAX: usize = 2_000_000;

/// Most steps of all conditions that one request evaluates.
pub(super) const REQUEST_STEPS_MAX: usize = 5 * STEPS_MAX;

/// Pays for a round of a loop; true while there are steps left. No source can spell the name.
const ROUND: &str = "@round";

/// Pays for a value and returns it.
const PAY: &str = "@pay";

/// Bytes of a text that cost as much as one value.
const BYTES_PER_STEP: usize = 32;

thread_local! {
    /// The steps that the evaluation on this thread has left.
    static STEPS_LEFT: Cell<usize> = const { Cell::new(0) };
}

/// Adds the functions that rewritten conditions call.
pub(super) fn with_meter(mut library: Env) -> Env {
    let added = [
        library.add_overload(ROUND, "round_int", vec![INT_TYPE], pay_for_round),
        library.add_overload(PAY, "pay_dyn", vec![DYN_TYPE], pay_for_value),
    ];
    debug_assert!(added.iter().all(Result::is_ok), "a function name is taken");
    library
}

/// Runs an evaluation with a number of steps. Returns what it gave, and the steps that it used; `None`
/// when it needed more.
pub(super) fn run_with_steps<T>(steps: usize, evaluate: impl FnOnce() -> T) -> (Option<T>, usize) {
    STEPS_LEFT.set(steps);
    let result = evaluate();
    // Operators such as `||` may have swallowed the error, so the meter decides.
    match STEPS_LEFT.replace(0) {
        0 => (None, steps),
        left => (Some(result), steps - left),
    }
}

fn pay(steps: usize) -> Result<(), ExecutionError> {
    let left = STEPS_LEFT.get().saturating_sub(steps);
    STEPS_LEFT.set(left);
    if left == 0 { Err(ExecutionError::function_error(PAY, "no steps are left")) } else { Ok(()) }
}

#[expect(clippy::needless_pass_by_value, reason = "CEL hands its arguments over")]
fn pay_for_round<'b, 'v>(arguments: Vec<CowVal<'b, 'v>>) -> Result<CowVal<'b, 'v>, ExecutionError> {
    let size = arguments.first().and_then(|size| size.downcast_ref::<CelInt>());
    pay(size.map_or(1, |size| usize::try_from(*size.inner()).unwrap_or(usize::MAX)))?;
    Ok(CowVal::owned(CelBool::from(true)))
}

fn pay_for_value<'b, 'v>(
    mut arguments: Vec<CowVal<'b, 'v>>,
) -> Result<CowVal<'b, 'v>, ExecutionError> {
    let value =
        arguments.pop().ok_or_else(|| ExecutionError::function_error(PAY, "there is no value"))?;
    let mut left = STEPS_LEFT.get();
    count_down(&*value, &mut left);
    STEPS_LEFT.set(left);
    pay(0)?;
    Ok(value)
}

/// Subtracts the number of values inside a value, and ends early when nothing is left.
fn count_down(value: &(dyn Val + '_), left: &mut usize) {
    *left = left.saturating_sub(1);
    if *left == 0 {
        return;
    }
    if let Some(text) = value.downcast_ref::<CelString<'_>>() {
        *left = left.saturating_sub(text.inner().len() / BYTES_PER_STEP);
    } else if let Some(bytes) = value.downcast_ref::<CelBytes<'_>>() {
        *left = left.saturating_sub(bytes.inner().len() / BYTES_PER_STEP);
    } else if let Some(list) = value.downcast_ref::<CelList<'_>>() {
        for entry in list.inner() {
            count_down(&**entry, left);
            if *left == 0 {
                return;
            }
        }
    } else if let Some(map) = value.downcast_ref::<CelMap<'_>>() {
        for (key, entry) in map.inner() {
            count_down(key.inner(), left);
            count_down(&**entry, left);
            if *left == 0 {
                return;
            }
        }
    } else if let Some(inner) = value.downcast_ref::<CelOptional<'_>>().and_then(CelOptional::inner)
    {
        count_down(inner, left);
    }
}

/// Returns a condition that pays for its loops.
pub(super) fn metered(expression: &IdedExpr) -> IdedExpr {
    let mut expression = expression.clone();
    rewrite(&mut expression, false);
    expression
}

/// The steps that the loops over lists in the source take if none of them ends early. Other lists are
/// not known yet and count as one entry.
pub(super) fn least_steps(expression: &IdedExpr) -> usize {
    let mut steps: usize = 1;
    match &expression.expr {
        Expr::Comprehension(comprehension) => {
            let body = least_steps(&comprehension.loop_step);
            let rounds = literal_length(&comprehension.iter_range).unwrap_or(1);
            steps = steps
                .saturating_add(least_steps(&comprehension.iter_range))
                .saturating_add(rounds.saturating_mul(body));
        }
        _ => for_each_part(expression, &mut |part| steps = steps.saturating_add(least_steps(part))),
    }
    steps
}

/// The length of a list that is written out, or made of one entry by entry.
fn literal_length(range: &IdedExpr) -> Option<usize> {
    match &range.expr {
        Expr::List(list) => Some(list.elements.len()),
        Expr::Map(map) => Some(map.entries.len()),
        Expr::Comprehension(comprehension) => match &comprehension.loop_step.expr {
            Expr::Call(step) if step.func_name == operators::ADD => {
                literal_length(&comprehension.iter_range)
            }
            _ => None,
        },
        _ => None,
    }
}

fn for_each_part(expression: &IdedExpr, visit: &mut dyn FnMut(&IdedExpr)) {
    match &expression.expr {
        Expr::Unspecified | Expr::Literal(_) | Expr::Ident(_) => {}
        Expr::Select(select) => visit(&select.operand),
        Expr::Call(call) => {
            call.target.iter().for_each(|target| visit(target));
            call.args.iter().for_each(visit);
        }
        Expr::List(list) => list.elements.iter().for_each(visit),
        Expr::Map(map) => map.entries.iter().for_each(|entry| visit_entry(&entry.expr, visit)),
        Expr::Struct(object) => {
            object.entries.iter().for_each(|entry| visit_entry(&entry.expr, visit));
        }
        Expr::Comprehension(comprehension) => {
            let ComprehensionExpr { iter_range, accu_init, loop_cond, loop_step, result, .. } =
                &**comprehension;
            [iter_range, accu_init, loop_cond, loop_step, result].into_iter().for_each(visit);
        }
    }
}

fn visit_entry(entry: &EntryExpr, visit: &mut dyn FnMut(&IdedExpr)) {
    match entry {
        EntryExpr::StructField(field) => visit(&field.value),
        EntryExpr::MapEntry(entry) => {
            visit(&entry.key);
            visit(&entry.value);
        }
    }
}

fn size_of(expression: &IdedExpr) -> usize {
    let mut size = 1;
    for_each_part(expression, &mut |part| size += size_of(part));
    size
}

fn rewrite(expression: &mut IdedExpr, is_inside_loop: bool) {
    match &mut expression.expr {
        Expr::Unspecified | Expr::Literal(_) | Expr::Ident(_) => {}
        Expr::Select(select) => rewrite(&mut select.operand, is_inside_loop),
        Expr::Call(call) => rewrite_call(call, is_inside_loop),
        Expr::List(list) => {
            for element in &mut list.elements {
                rewrite(element, is_inside_loop);
                if is_inside_loop {
                    pay_for(element);
                }
            }
        }
        Expr::Map(map) => {
            for entry in &mut map.entries {
                rewrite_entry(&mut entry.expr, is_inside_loop);
            }
        }
        Expr::Struct(object) => {
            for entry in &mut object.entries {
                rewrite_entry(&mut entry.expr, is_inside_loop);
            }
        }
        Expr::Comprehension(comprehension) => rewrite_loop(comprehension, is_inside_loop),
    }
}

fn rewrite_entry(entry: &mut EntryExpr, is_inside_loop: bool) {
    let mut parts = match entry {
        EntryExpr::StructField(field) => vec![&mut field.value],
        EntryExpr::MapEntry(entry) => vec![&mut entry.key, &mut entry.value],
    };
    for part in &mut parts {
        rewrite(part, is_inside_loop);
        if is_inside_loop {
            pay_for(part);
        }
    }
}

fn rewrite_call(call: &mut CallExpr, is_inside_loop: bool) {
    let CallExpr { func_name, target, args } = call;
    // These hand values on; an index looks at one entry only.
    let touches_whole_values = !matches!(
        func_name.as_str(),
        operators::LOGICAL_AND
            | operators::LOGICAL_OR
            | operators::LOGICAL_NOT
            | operators::CONDITIONAL
            | operators::NOT_STRICTLY_FALSE
            | operators::INDEX
            | operators::OPT_INDEX
            | operators::OPT_SELECT
    );
    for part in target.iter_mut().map(|target| &mut **target).chain(args) {
        rewrite(part, is_inside_loop);
        if is_inside_loop && touches_whole_values {
            pay_for(part);
        }
    }
}

fn rewrite_loop(comprehension: &mut ComprehensionExpr, is_inside_loop: bool) {
    let size = size_of(&comprehension.loop_step);
    rewrite(&mut comprehension.iter_range, is_inside_loop);
    pay_for(&mut comprehension.iter_range);
    for part in
        [&mut comprehension.loop_cond, &mut comprehension.loop_step, &mut comprehension.result]
    {
        rewrite(part, true);
    }
    if !matches!(comprehension.loop_cond.expr, Expr::Literal(_)) {
        // `exists` and `all` absorb errors of their bodies, but not of this.
        let stop = LiteralValue::Boolean(false.into());
        pay_first(&mut comprehension.loop_cond, size, stop);
        return;
    }
    // The interpreter appends to the lists of `map` and `filter` in place, but only as long as the step
    // keeps its shape. So the round is paid for inside of it: with the guard, else with the new entry.
    if let Expr::Call(step) = &mut comprehension.loop_step.expr {
        match (step.func_name.as_str(), step.args.as_mut_slice()) {
            (operators::CONDITIONAL, [guard, _, _]) => {
                return pay_first(guard, size, LiteralValue::Boolean(false.into()));
            }
            (operators::ADD, [_, IdedExpr { expr: Expr::List(ListExpr { elements, .. }), .. }]) => {
                if let Some(first) = elements.first_mut() {
                    return pay_first(first, size, LiteralValue::Null);
                }
            }
            _ => {}
        }
    }
    pay_first(&mut comprehension.loop_cond, size, LiteralValue::Boolean(false.into()));
}

/// Makes an expression pay for its value. Literals, the loop's own result and lists whose entries are
/// paid for need not.
fn pay_for(part: &mut IdedExpr) {
    let is_paid = match &part.expr {
        Expr::Literal(_) | Expr::List(_) | Expr::Map(_) => true,
        Expr::Ident(name) => name.starts_with('@'),
        _ => false,
    };
    if !is_paid {
        let id = part.id;
        let value = std::mem::take(part);
        *part = call(id, PAY, vec![value]);
    }
}

/// Pays for a round before a part of it is evaluated. `otherwise` only gives the conditional its shape.
fn pay_first(part: &mut IdedExpr, size: usize, otherwise: LiteralValue) {
    let id = part.id;
    let literal = |value| IdedExpr { id, expr: Expr::Literal(value) };
    let size = i64::try_from(size).unwrap_or(i64::MAX);
    let round = call(id, ROUND, vec![literal(LiteralValue::Int(size.into()))]);
    let then = std::mem::take(part);
    *part = call(id, operators::CONDITIONAL, vec![round, then, literal(otherwise)]);
}

fn call(id: u64, name: &str, args: Vec<IdedExpr>) -> IdedExpr {
    IdedExpr { id, expr: Expr::Call(CallExpr { func_name: name.to_owned(), target: None, args }) }
}
