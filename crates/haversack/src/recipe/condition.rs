//! Conditions on a request: CEL over a fixed set of facts, compiled once.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use cel::common::ast::{EntryExpr, Expr, LiteralValue, operators};
use cel::{Context, IdedExpr, Program};
use serde::{Serialize, Serializer};
use serde_json::Value;
use thiserror::Error;

use super::SubjectSpec;

/// Longest condition in bytes.
pub const CONDITION_BYTES_MAX: usize = 1_024;

/// A fact of a request that conditions can name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FactSpec {
    /// Its name.
    pub name: &'static str,
    /// What it is when the request does not say.
    pub unsaid: Unsaid,
    /// What it is, in a line.
    pub about: &'static str,
    /// The words that it usually is; none when it may be anything.
    pub words: &'static [&'static str],
}

/// What stands for a fact that is not known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unsaid {
    /// The empty text.
    Text,
    /// Zero.
    Number,
    /// A table without entries.
    Table,
}

impl Unsaid {
    fn value(self) -> Value {
        match self {
            Unsaid::Text => Value::from(""),
            Unsaid::Number => Value::from(0),
            Unsaid::Table => Value::Object(serde_json::Map::new()),
        }
    }
}

const fn fact(name: &'static str, unsaid: Unsaid, about: &'static str) -> FactSpec {
    FactSpec { name, unsaid, about, words: &[] }
}

const fn word(name: &'static str, about: &'static str, words: &'static [&'static str]) -> FactSpec {
    FactSpec { name, unsaid: Unsaid::Text, about, words }
}

/// Every fact that conditions can name in any recipe. Subjects add their names and facts.
pub const FACTS: &[FactSpec] = &[
    word("type", "the sort of request (W9)", &["assist", "chat", "search", "automate"]),
    fact("query", Unsaid::Text, "the question"),
    fact("words", Unsaid::Number, "how many words the question has"),
    fact("turns", Unsaid::Number, "how many turns of conversation the request brings"),
    fact("included", Unsaid::Number, "how many items the request includes by id (W9)"),
    fact("user", Unsaid::Text, "who asks"),
    fact("intent", Unsaid::Text, "what the asker wants to reach"),
    fact("model", Unsaid::Text, "the model that will read the pack"),
    fact("budget", Unsaid::Number, "the budget that the request names"),
    fact("focus", Unsaid::Text, "the id of what the asker looks at"),
    fact("page", Unsaid::Text, "the id of the page it is on"),
    fact("database", Unsaid::Text, "the id of the database it is in"),
    fact("context", Unsaid::Text, "the id of the current context"),
    fact("subject", Unsaid::Table, "the fields of the first subject"),
    fact("situation", Unsaid::Table, "the facts of the situation"),
];

/// A condition that cannot be used, or that failed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ConditionError {
    /// Longer than [`CONDITION_BYTES_MAX`].
    #[error("a condition of {bytes} bytes is longer than the limit of {CONDITION_BYTES_MAX}")]
    TooLong {
        /// Its length.
        bytes: usize,
    },
    /// CEL could not read it.
    #[error("the condition cannot be read: {cause}")]
    Syntax {
        /// What CEL said.
        cause: String,
    },
    /// Evaluation failed.
    #[error("the condition {condition:?} failed: {cause}")]
    Failed {
        /// The condition.
        condition: String,
        /// What CEL said.
        cause: String,
    },
    /// The outcome is neither true nor false.
    #[error("the condition {condition:?} gave a value of type {outcome}, not true or false")]
    NotABoolean {
        /// The condition.
        condition: String,
        /// The type of what it gave.
        outcome: String,
    },
}

/// The facts of one request, by name. What is not set is [unsaid](Unsaid).
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Facts(BTreeMap<String, Value>);

impl Facts {
    /// The facts of a request that says nothing of a recipe's subjects.
    #[must_use]
    pub fn without(subjects: &[SubjectSpec]) -> Facts {
        let mut facts = Facts::default();
        for subject in subjects {
            facts.set(&subject.name, "");
            subject.facts.iter().for_each(|fact| facts.set(fact, ""));
        }
        facts
    }

    /// Sets a fact.
    pub fn set(&mut self, name: &str, value: impl Into<Value>) {
        self.0.insert(name.to_owned(), value.into());
    }

    /// The same, for building in one expression.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<Value>) -> Facts {
        self.set(name, value);
        self
    }

    fn get(&self, name: &str) -> Option<Value> {
        let unsaid = || FACTS.iter().find(|spec| spec.name == name).map(|spec| spec.unsaid.value());
        self.0.get(name).cloned().or_else(unsaid)
    }
}

/// A value whose whole numbers are CEL's `int`, as literals are: it does not add up others with them.
struct Plain<'v>(&'v Value);

impl Serialize for Plain<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Value::Number(number) => match number.as_i64() {
                Some(whole) => serializer.serialize_i64(whole),
                None => number.serialize(serializer),
            },
            Value::Array(values) => serializer.collect_seq(values.iter().map(Plain)),
            Value::Object(fields) => {
                serializer.collect_map(fields.iter().map(|(name, value)| (name, Plain(value))))
            }
            Value::Null | Value::Bool(_) | Value::String(_) => self.0.serialize(serializer),
        }
    }
}

/// A compiled condition, such as `type == "search"`.
#[derive(Clone)]
pub struct Condition {
    source: String,
    program: Arc<Program>,
}

impl Condition {
    /// Reads a condition. Names are not checked here: a fact that is not known makes it fail when
    /// it is evaluated; see [`Condition::names`].
    ///
    /// # Errors
    /// When it is too long or does not parse.
    pub fn new(source: &str) -> Result<Condition, ConditionError> {
        if source.len() > CONDITION_BYTES_MAX {
            return Err(ConditionError::TooLong { bytes: source.len() });
        }
        let program = Program::compile(source)
            .map_err(|error| ConditionError::Syntax { cause: told(&error.to_string()) })?;
        Ok(Condition { source: source.to_owned(), program: Arc::new(program) })
    }

    /// One that never holds, to stand in for one that cannot be read.
    pub(super) fn never() -> Condition {
        let program = Program::compile("false").expect("a literal is an expression");
        Condition { source: "false".to_owned(), program: Arc::new(program) }
    }

    /// The condition as it was written.
    #[must_use]
    pub fn source(&self) -> &str {
        &self.source
    }

    /// The facts it names, sorted; variables of its own are none.
    #[must_use]
    pub fn names(&self) -> Vec<&str> {
        let mut names = BTreeSet::new();
        free_names(self.program.expression(), &mut Vec::new(), &mut names);
        names.into_iter().collect()
    }

    /// Facts that are compared with a word, and the words.
    pub(super) fn comparisons(&self) -> Vec<(&str, &str)> {
        let mut found = Vec::new();
        comparisons(self.program.expression(), &mut found);
        found
    }

    /// Whether it can be seen that never both hold: some fact would have to be two words.
    pub(super) fn excludes(&self, other: &Condition) -> bool {
        let (mut mine, mut theirs) = (Vec::new(), Vec::new());
        demands(self.program.expression(), &mut mine);
        demands(other.program.expression(), &mut theirs);
        let differ = |(name, words): &(&str, Vec<&str>), (of, others): &(&str, Vec<&str>)| {
            name == of && !words.iter().any(|word| others.contains(word))
        };
        mine.iter().any(|demand| theirs.iter().any(|other| differ(demand, other)))
    }

    /// Whether it holds.
    ///
    /// # Errors
    /// When it fails, as on a fact that is not there, or gives something else than true or false.
    pub fn holds(&self, facts: &Facts) -> Result<bool, ConditionError> {
        let failed =
            |cause: String| ConditionError::Failed { condition: self.source.clone(), cause };
        let mut context = Context::default();
        for name in self.names() {
            let Some(value) = facts.get(name) else { continue };
            let added = context.add_variable(name, Plain(&value));
            added.map_err(|error| failed(error.to_string()))?;
        }
        match self.program.execute(&context).map_err(|error| failed(error.to_string()))? {
            cel::Value::Bool(holds) => Ok(holds),
            other => Err(ConditionError::NotABoolean {
                condition: self.source.clone(),
                outcome: other.type_of().to_string(),
            }),
        }
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

/// What CEL says of a syntax error, in a line: where, and what was not expected there.
fn told(error: &str) -> String {
    let line = error.lines().next().unwrap_or_default();
    let line = line.strip_prefix("ERROR: <input>:").unwrap_or(line);
    let line = line.split(" expecting ").next().unwrap_or_default();
    let (place, what) = line.split_once(": Syntax error: ").unwrap_or(("", line));
    let mut what = what.replace("'<EOF>'", "end");
    for said in ["mismatched input", "extraneous input", "no viable alternative at input"] {
        what = what.replace(said, "unexpected");
    }
    if place.is_empty() { what } else { format!("{what} at {place}") }
}

fn free_names<'e>(node: &'e IdedExpr, bound: &mut Vec<&'e str>, names: &mut BTreeSet<&'e str>) {
    match &node.expr {
        Expr::Unspecified | Expr::Literal(_) => {}
        Expr::Ident(name) => {
            // CEL's own helpers begin with @.
            if !name.starts_with('@') && !bound.contains(&name.as_str()) {
                names.insert(name);
            }
        }
        Expr::Call(call) => {
            for part in call.target.iter().map(|target| &**target).chain(&call.args) {
                free_names(part, bound, names);
            }
        }
        Expr::Select(select) => free_names(&select.operand, bound, names),
        Expr::List(list) => {
            for element in &list.elements {
                free_names(element, bound, names);
            }
        }
        Expr::Map(map) => entries(map.entries.iter().map(|entry| &entry.expr), bound, names),
        Expr::Struct(of) => entries(of.entries.iter().map(|entry| &entry.expr), bound, names),
        Expr::Comprehension(over) => {
            free_names(&over.iter_range, bound, names);
            free_names(&over.accu_init, bound, names);
            let outside = bound.len();
            bound.push(&over.iter_var);
            bound.extend(over.iter_var2.as_deref());
            bound.push(&over.accu_var);
            for part in [&over.loop_cond, &over.loop_step, &over.result] {
                free_names(part, bound, names);
            }
            bound.truncate(outside);
        }
    }
}

fn entries<'e>(
    entries: impl Iterator<Item = &'e EntryExpr>,
    bound: &mut Vec<&'e str>,
    names: &mut BTreeSet<&'e str>,
) {
    for entry in entries {
        match entry {
            EntryExpr::StructField(field) => free_names(&field.value, bound, names),
            EntryExpr::MapEntry(entry) => {
                free_names(&entry.key, bound, names);
                free_names(&entry.value, bound, names);
            }
        }
    }
}

/// Finds `name == "word"` and `name != "word"`, either way round, outside of loops.
fn comparisons<'e>(node: &'e IdedExpr, found: &mut Vec<(&'e str, &'e str)>) {
    let Expr::Call(call) = &node.expr else { return };
    if let (operators::EQUALS | operators::NOT_EQUALS, [a, b]) = (&*call.func_name, &*call.args) {
        for (name, word) in [(a, b), (b, a)] {
            if let (Expr::Ident(name), Some(word)) = (&name.expr, word_of(word)) {
                found.push((name, word));
            }
        }
    }
    for part in call.target.iter().map(|target| &**target).chain(&call.args) {
        comparisons(part, found);
    }
}

/// The words that facts must be for the condition to hold, as far as it says so plainly: by
/// `name == "word"` or `name in ["word", "word"]`, joined by `&&`.
fn demands<'e>(node: &'e IdedExpr, found: &mut Vec<(&'e str, Vec<&'e str>)>) {
    let Expr::Call(call) = &node.expr else { return };
    match (&*call.func_name, &*call.args) {
        (operators::LOGICAL_AND, parts) => parts.iter().for_each(|part| demands(part, found)),
        (operators::EQUALS, [a, b]) => {
            for (name, word) in [(a, b), (b, a)] {
                if let (Expr::Ident(name), Some(word)) = (&name.expr, word_of(word)) {
                    found.push((name, vec![word]));
                }
            }
        }
        (operators::IN, [name, list]) => {
            if let (Expr::Ident(name), Expr::List(list)) = (&name.expr, &list.expr)
                && let Some(words) = list.elements.iter().map(word_of).collect()
            {
                found.push((name, words));
            }
        }
        _ => {}
    }
}

fn word_of(node: &IdedExpr) -> Option<&str> {
    match &node.expr {
        Expr::Literal(LiteralValue::String(word)) => Some(word.inner()),
        _ => None,
    }
}
