//! Conditions on a request: CEL over a fixed set of facts, compiled once.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use cel::common::ast::{EntryExpr, Expr};
use cel::{Context, IdedExpr, Program};
use serde_json::Value;
use thiserror::Error;

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
    FactSpec { name, unsaid, about }
}

/// Every fact that conditions can name.
pub const FACTS: &[FactSpec] = &[
    fact("type", Unsaid::Text, "the sort of request: `assist`, `chat`, `search`, `automate` (W9)"),
    fact("query", Unsaid::Text, "the question"),
    fact("words", Unsaid::Number, "how many words the question has"),
    fact("turns", Unsaid::Number, "how many turns of conversation the request brings"),
    fact("user", Unsaid::Text, "who asks"),
    fact("intent", Unsaid::Text, "what the asker wants to reach"),
    fact("model", Unsaid::Text, "the model that will read the pack"),
    fact("budget", Unsaid::Number, "the budget that the request names"),
    fact("focus", Unsaid::Text, "the id of what the asker looks at"),
    fact("page", Unsaid::Text, "the id of the page it is on"),
    fact("database", Unsaid::Text, "the id of the database it is in"),
    fact("thread", Unsaid::Text, "the id of the thread"),
    fact("opportunity", Unsaid::Text, "the id of the opportunity"),
    fact("context", Unsaid::Text, "the id of the current context"),
    fact("stage", Unsaid::Text, "the opportunity's stage (P17)"),
    fact("complexity", Unsaid::Text, "the opportunity's complexity: `low`, `medium`, `high` (P17)"),
    fact("deal", Unsaid::Table, "the opportunity's fields"),
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
pub struct Facts(BTreeMap<&'static str, Value>);

impl Facts {
    /// Sets a fact. A name that is not in [`FACTS`] is not kept: no condition could name it.
    pub fn set(&mut self, name: &str, value: impl Into<Value>) {
        if let Some(spec) = FACTS.iter().find(|spec| spec.name == name) {
            self.0.insert(spec.name, value.into());
        }
    }

    /// The same, for building in one expression.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<Value>) -> Facts {
        self.set(name, value);
        self
    }

    fn get(&self, spec: &FactSpec) -> Value {
        self.0.get(spec.name).cloned().unwrap_or_else(|| spec.unsaid.value())
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
        let program = Program::compile(source).map_err(|error| {
            let text = error.to_string();
            // CEL draws the place below its message; the message alone goes into a line.
            let cause = text.lines().next().unwrap_or_default().trim().to_owned();
            ConditionError::Syntax { cause }
        })?;
        Ok(Condition { source: source.to_owned(), program: Arc::new(program) })
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

    /// Whether it holds.
    ///
    /// # Errors
    /// When it fails, as on a fact that is not there, or gives something else than true or false.
    pub fn holds(&self, facts: &Facts) -> Result<bool, ConditionError> {
        let failed =
            |cause: String| ConditionError::Failed { condition: self.source.clone(), cause };
        let mut context = Context::default();
        let named = self.names();
        for spec in FACTS.iter().filter(|spec| named.contains(&spec.name)) {
            context.add_variable(spec.name, facts.get(spec)).map_err(|e| failed(e.to_string()))?;
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
