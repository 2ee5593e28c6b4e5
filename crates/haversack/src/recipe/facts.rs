//! The facts of a request that a recipe's conditions can name.

use serde_json::Value;

use super::SubjectSpec;
use crate::condition::Facts;

/// A fact of a request that conditions can name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FactSpec {
    /// Its name.
    pub name: &'static str,
    /// Its value when the request does not set it.
    pub default: FactDefault,
    /// Its meaning, in one line.
    pub about: &'static str,
    /// Its usual values; none when it may be anything.
    pub words: &'static [&'static str],
}

/// The value of a fact that a request does not set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FactDefault {
    /// The empty text.
    Text,
    /// Zero.
    Number,
    /// A table without entries.
    Table,
}

impl FactDefault {
    fn value(self) -> Value {
        match self {
            FactDefault::Text => Value::from(""),
            FactDefault::Number => Value::from(0),
            FactDefault::Table => Value::Object(serde_json::Map::new()),
        }
    }
}

const fn fact(name: &'static str, default: FactDefault, about: &'static str) -> FactSpec {
    FactSpec { name, default, about, words: &[] }
}

const fn word(name: &'static str, about: &'static str, words: &'static [&'static str]) -> FactSpec {
    FactSpec { name, default: FactDefault::Text, about, words }
}

/// Every fact that conditions can name in any recipe. Subjects add their names and facts.
pub const FACTS: &[FactSpec] = &[
    word("type", "the sort of request (W9)", &["assist", "chat", "search", "automate"]),
    fact("query", FactDefault::Text, "the question"),
    fact("words", FactDefault::Number, "how many words the question has"),
    fact("turns", FactDefault::Number, "how many turns of conversation the request brings"),
    fact("included", FactDefault::Number, "how many items the request includes by id (W9)"),
    fact("user", FactDefault::Text, "who asks"),
    fact("intent", FactDefault::Text, "what the asker wants to reach"),
    fact("model", FactDefault::Text, "the model that will read the pack"),
    fact("budget", FactDefault::Number, "the budget that the request names"),
    fact("focus", FactDefault::Text, "the id of what the asker looks at"),
    fact("page", FactDefault::Text, "the id of the page it is on"),
    fact("database", FactDefault::Text, "the id of the database it is in"),
    fact("context", FactDefault::Text, "the id of the current context"),
    fact("subject", FactDefault::Table, "the fields of the first subject"),
    fact("situation", FactDefault::Table, "the facts of the situation"),
];

/// The facts of a request that sets none, for a recipe with these subjects.
#[must_use]
pub fn default_facts(subjects: &[SubjectSpec]) -> Facts {
    let mut facts = Facts::default();
    for spec in FACTS {
        facts.set(spec.name, spec.default.value());
    }
    for subject in subjects {
        facts.set(&subject.name, "");
        subject.facts.iter().for_each(|fact| facts.set(fact, ""));
    }
    facts
}
