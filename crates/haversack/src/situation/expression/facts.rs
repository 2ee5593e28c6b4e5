//! What expressions are judged against: the situation, its facts by name, the intent, the time.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, OnceLock};

use cel::objects::Key;
use cel::{Context, Env};
use haversack_core::units::Timestamp;
use serde_json::{Map, Value};

/// The situation as a whole.
pub(super) const SITUATION: &str = "situation";
/// What the asker wants to reach.
pub(super) const INTENT: &str = "intent";
/// The time, in milliseconds since 1970.
pub(super) const NOW: &str = "now";

/// What CEL itself brings is the same for every request.
static LIBRARY: LazyLock<Arc<Env>> = LazyLock::new(|| Arc::new(Env::stdlib()));

/// What expressions are judged against.
///
/// The whole is called `situation`; each of its facts that has a plain name goes by that, too.
/// `intent` is what the asker wants to reach, or else the situation's own fact of that name; `now`
/// is the time in milliseconds since 1970. The three names cannot be taken by facts.
pub struct Facts {
    situation: Value,
    intent: Option<Value>,
    now: Value,
    moment: Timestamp,
    values: usize,
    /// Made when the first expression needs it: most do not.
    context: OnceLock<Context<'static, 'static>>,
}

impl std::fmt::Debug for Facts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Facts").field("values", &self.values).finish_non_exhaustive()
    }
}

impl Facts {
    /// The facts of a request.
    #[must_use]
    pub fn new(situation: &Map<String, Value>, intent: Option<&str>, now: Timestamp) -> Facts {
        let intent = intent.map(Value::from).or_else(|| situation.get(INTENT).cloned());
        let situation = Value::Object(situation.clone());
        let (millis, values) = (Value::from(now.as_millis()), count(&situation));
        let context = OnceLock::new();
        Facts { situation, intent, now: millis, moment: now, values, context }
    }

    /// The time of the request.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.moment
    }

    /// How many values there are, those inside others included.
    pub(super) fn values(&self) -> usize {
        self.values
    }

    pub(super) fn context(&self) -> &Context<'static, 'static> {
        self.context.get_or_init(|| {
            let mut context = Context::with_env(Arc::clone(&LIBRARY));
            let facts = self.situation.as_object().into_iter().flatten();
            for (name, value) in facts.filter(|(name, _)| is_name(name)) {
                context.add_variable_from_value(name, in_cel(value));
            }
            // After the facts: these three names cannot be taken.
            for name in [SITUATION, INTENT, NOW] {
                if let Some(value) = self.get(name) {
                    context.add_variable_from_value(name, in_cel(value));
                }
            }
            context
        })
    }

    /// What goes by a name.
    pub(super) fn get(&self, name: &str) -> Option<&Value> {
        match name {
            SITUATION => Some(&self.situation),
            INTENT => self.intent.as_ref(),
            NOW => Some(&self.now),
            name => self.situation.get(name),
        }
    }

    /// The facts as a judge of plain language is told them: the situation, and the intent as one
    /// more fact.
    #[must_use]
    pub fn told(&self) -> Map<String, Value> {
        let mut told = self.situation.as_object().cloned().unwrap_or_default();
        if let Some(intent) = &self.intent {
            told.insert(INTENT.to_owned(), intent.clone());
        }
        told
    }

    /// Whether something goes by a name.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        self.get(name).is_some()
    }
}

/// Whether expressions can call something so.
fn is_name(name: &str) -> bool {
    let mut letters = name.bytes();
    let first = |c: u8| c.is_ascii_alphabetic() || c == b'_';
    letters.next().is_some_and(first) && letters.all(|c| first(c) || c.is_ascii_digit())
}

fn count(value: &Value) -> usize {
    1 + match value {
        Value::Array(entries) => entries.iter().map(count).sum(),
        Value::Object(object) => object.values().map(count).sum::<usize>(),
        _ => 0,
    }
}

/// A value as CEL has it. Whole numbers are `int`, so that they can be added to written ones.
fn in_cel(value: &Value) -> cel::Value {
    match value {
        Value::Null => cel::Value::Null,
        Value::Bool(yes) => (*yes).into(),
        Value::String(text) => text.as_str().into(),
        Value::Number(number) => match (number.as_i64(), number.as_u64()) {
            (Some(whole), _) => whole.into(),
            (None, Some(large)) => large.into(),
            (None, None) => number.as_f64().unwrap_or(0.0).into(),
        },
        Value::Array(entries) => entries.iter().map(in_cel).collect::<Vec<_>>().into(),
        Value::Object(object) => {
            let entry = |(name, value): (&String, &Value)| {
                (Key::String(Arc::new(name.clone())), in_cel(value))
            };
            object.iter().map(entry).collect::<HashMap<_, _>>().into()
        }
    }
}
