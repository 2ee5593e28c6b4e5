//! Static analysis of conditions: names, loops, size, and whether a text is meant as a condition at all
//! rather than a few words that happen to parse.

use std::collections::BTreeSet;

use cel::IdedExpr;
use cel::common::ast::{
    ComprehensionExpr, EntryExpr, Expr, IdedEntryExpr, LiteralValue, operators,
};

use super::facts::{INTENT, NOW, SITUATION};
use super::fast_path::TYPES;

/// Functions that bounded conditions can call.
pub(super) const FUNCTIONS: [&str; 9] =
    ["size", "contains", "startsWith", "endsWith", "int", "uint", "double", "string", "bool"];

/// The properties of a condition that are known without evaluating it.
#[derive(Debug, Default)]
pub(super) struct Survey {
    /// Names that the condition does not bind itself.
    pub(super) names: BTreeSet<String>,
    /// The fields of the situation that it uses: `x` of `situation.x`, and bare names.
    pub(super) situation_fields: BTreeSet<String>,
    /// A function that it calls and that is not in [`FUNCTIONS`].
    pub(super) unknown_function: Option<String>,
    /// The number of its syntax nodes.
    pub(super) nodes: usize,
    /// Whether it loops over lists.
    pub(super) loops: bool,
    /// The construct that makes it too expensive for a bounded condition, in words.
    pub(super) unbounded: Option<&'static str>,
    /// Whether it has syntax that no sentence has: a comparison, `&&`, `||`, `!`, a literal, a call.
    pub(super) has_cel_syntax: bool,
    /// Whether its result can be true or false.
    pub(super) can_decide: bool,
}

impl Survey {
    pub(super) fn from_expression(expression: &IdedExpr) -> Survey {
        let mut survey = Survey { can_decide: can_decide(expression), ..Survey::default() };
        survey.visit(expression, &mut Vec::new());
        survey
    }

    fn visit(&mut self, part: &IdedExpr, bound: &mut Vec<String>) {
        self.nodes += 1;
        match &part.expr {
            Expr::Unspecified | Expr::Literal(_) => self.has_cel_syntax = true,
            Expr::Ident(name) => {
                if !bound.contains(name) && !name.starts_with('@') {
                    let name = name.trim_start_matches('.');
                    self.names.insert(name.to_owned());
                    if ![SITUATION, INTENT, NOW].contains(&name) && !TYPES.contains(&name) {
                        self.situation_fields.insert(name.to_owned());
                    }
                }
            }
            Expr::Select(select) => {
                self.has_cel_syntax |= select.test;
                if let Expr::Ident(name) = &select.operand.expr
                    && name.trim_start_matches('.') == SITUATION
                {
                    self.situation_fields.insert(select.field.clone());
                }
                self.visit(&select.operand, bound);
            }
            Expr::Call(call) => {
                let name = call.func_name.as_str();
                let is_operator = name.contains(['_', '@']);
                self.has_cel_syntax |= !matches!(name, operators::IN | operators::SUBSTRACT);
                if !is_operator && !FUNCTIONS.contains(&name) {
                    self.unknown_function.get_or_insert_with(|| name.to_owned());
                }
                if !bound.is_empty() && name == operators::ADD {
                    self.unbounded = Some("a sum inside a loop");
                }
                call.target.iter().for_each(|target| self.visit(target, bound));
                call.args.iter().for_each(|argument| self.visit(argument, bound));
            }
            Expr::List(list) => {
                self.has_cel_syntax = true;
                self.check_collection(bound);
                list.elements.iter().for_each(|element| self.visit(element, bound));
            }
            Expr::Map(map) => {
                self.check_collection(bound);
                self.visit_entries(&map.entries, bound);
            }
            Expr::Struct(object) => {
                self.unbounded = Some("an object with a type");
                self.visit_entries(&object.entries, bound);
            }
            Expr::Comprehension(comprehension) => self.visit_loop(comprehension, bound),
        }
    }

    fn visit_loop(&mut self, comprehension: &ComprehensionExpr, bound: &mut Vec<String>) {
        self.has_cel_syntax = true;
        self.loops = true;
        if !bound.is_empty() {
            self.unbounded = Some("a loop inside a loop");
        }
        self.visit(&comprehension.iter_range, bound);
        let outside = bound.len();
        bound.push(comprehension.iter_var.clone());
        bound.extend(comprehension.iter_var2.clone());
        if let Some(body) = exists_or_all(comprehension) {
            self.visit(body, bound);
        } else {
            bound.push(comprehension.accu_var.clone());
            let ComprehensionExpr { accu_init, loop_cond, loop_step, result, .. } = comprehension;
            for part in [accu_init, loop_cond, loop_step, result] {
                self.visit(part, bound);
            }
            self.unbounded = Some("a loop other than exists and all");
        }
        bound.truncate(outside);
    }

    fn check_collection(&mut self, bound: &[String]) {
        if !bound.is_empty() {
            self.unbounded = Some("a list or map inside a loop");
        }
    }

    fn visit_entries(&mut self, entries: &[IdedEntryExpr], bound: &mut Vec<String>) {
        self.has_cel_syntax = true;
        for entry in entries {
            match &entry.expr {
                EntryExpr::StructField(field) => self.visit(&field.value, bound),
                EntryExpr::MapEntry(entry) => {
                    self.visit(&entry.key, bound);
                    self.visit(&entry.value, bound);
                }
            }
        }
    }
}

/// Returns the body of `exists` or `all`, the loops that cannot grow a value.
fn exists_or_all(comprehension: &ComprehensionExpr) -> Option<&IdedExpr> {
    let Expr::Call(step) = &comprehension.loop_step.expr else { return None };
    let joins = matches!(step.func_name.as_str(), operators::LOGICAL_OR | operators::LOGICAL_AND);
    match step.args.as_slice() {
        [_, body] if joins => Some(body),
        _ => None,
    }
}

/// Whether the result can be true or false: not a sum, a text or a list.
fn can_decide(expression: &IdedExpr) -> bool {
    match &expression.expr {
        Expr::Ident(_) | Expr::Select(_) | Expr::Comprehension(_) => true,
        Expr::Literal(literal) => matches!(literal, LiteralValue::Boolean(_)),
        Expr::Call(call) => match call.func_name.as_str() {
            operators::ADD
            | operators::SUBSTRACT
            | operators::MULTIPLY
            | operators::DIVIDE
            | operators::MODULO
            | operators::NEGATE
            | "size"
            | "int"
            | "uint"
            | "double"
            | "string" => false,
            operators::CONDITIONAL => call.args[1..].iter().all(can_decide),
            _ => true,
        },
        Expr::Unspecified | Expr::List(_) | Expr::Map(_) | Expr::Struct(_) => false,
    }
}
