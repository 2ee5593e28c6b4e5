//! The facts that conditions are evaluated against: values by name.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock, OnceLock};

use cel::objects::Key;
use cel::{Context, Env};
use haversack_core::units::Timestamp;
use serde_json::{Map, Value};

use super::meter::{REQUEST_STEPS_MAX, with_meter};

/// The fact that holds the whole situation.
pub(super) const SITUATION: &str = "situation";
/// The fact that holds the user's goal.
pub(super) const INTENT: &str = "intent";
/// The fact that holds the time, in milliseconds since 1970.
pub(super) const NOW: &str = "now";

/// CEL's standard library, which is the same for every request.
static LIBRARY: LazyLock<Arc<Env>> = LazyLock::new(|| Arc::new(with_meter(Env::stdlib())));

/// The facts of one request, by name.
#[derive(Default)]
pub struct Facts {
    named: BTreeMap<String, Value>,
    /// Whether each field of the situation with a plain name is also a fact of that name.
    has_situation_fields: bool,
    /// The number of values in the situation, counted when the first loop needs it.
    values: OnceLock<usize>,
    /// The facts in CEL's form, converted when the first condition needs the interpreter; most do not.
    context: OnceLock<Context<'static, 'static>>,
    /// The steps that loops have used; all conditions of a request share one budget.
    steps_used: AtomicUsize,
}

impl std::fmt::Debug for Facts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Facts").field("named", &self.named).finish_non_exhaustive()
    }
}

impl Facts {
    /// Builds the facts for the rules of contexts.
    ///
    /// `situation` holds all fields; each field with a plain name is also a fact of that name. `intent` is
    /// the user's goal, or the situation's field of that name when no goal is given. `now` is the time in
    /// milliseconds since 1970. No field can replace one of these three.
    #[must_use]
    pub fn from_situation(
        situation: &Map<String, Value>,
        intent: Option<&str>,
        now: Timestamp,
    ) -> Facts {
        let intent = intent.map(Value::from).or_else(|| situation.get(INTENT).cloned());
        let mut named = BTreeMap::new();
        named.insert(SITUATION.to_owned(), Value::Object(situation.clone()));
        named.insert(NOW.to_owned(), Value::from(now.as_millis()));
        named.extend(intent.map(|intent| (INTENT.to_owned(), intent)));
        Facts { named, has_situation_fields: true, ..Facts::default() }
    }

    /// Sets a fact.
    pub fn set(&mut self, name: &str, value: impl Into<Value>) {
        (self.values, self.context) = (OnceLock::new(), OnceLock::new());
        self.named.insert(name.to_owned(), value.into());
    }

    /// Returns the facts with one more set.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<Value>) -> Facts {
        self.set(name, value);
        self
    }

    /// Counts the values in the situation, nested ones included.
    pub(super) fn count_values(&self) -> usize {
        *self.values.get_or_init(|| self.named.get(SITUATION).map_or(0, count_nested))
    }

    /// Returns the steps that loops may still use.
    pub(super) fn steps_left(&self) -> usize {
        REQUEST_STEPS_MAX.saturating_sub(self.steps_used.load(Ordering::Relaxed))
    }

    pub(super) fn use_steps(&self, steps: usize) {
        self.steps_used.fetch_add(steps, Ordering::Relaxed);
    }

    /// Returns the time of the request; 1970 when it is not a fact.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        Timestamp::from_millis(self.named.get(NOW).and_then(Value::as_i64).unwrap_or(0))
    }

    pub(super) fn context(&self) -> &Context<'static, 'static> {
        self.context.get_or_init(|| {
            let mut context = Context::with_env(Arc::clone(&LIBRARY));
            let fields = self.situation_fields().into_iter().flatten();
            for (name, value) in fields.filter(|(name, _)| is_name(name)) {
                context.add_variable_from_value(name, to_cel(value));
            }
            // After the fields, because a field must not replace another fact.
            for (name, value) in &self.named {
                context.add_variable_from_value(name, to_cel(value));
            }
            context
        })
    }

    /// Returns the fact of a name.
    pub(super) fn get(&self, name: &str) -> Option<&Value> {
        self.named.get(name).or_else(|| match name {
            // A field of the situation must not replace these.
            SITUATION | INTENT | NOW => None,
            name => self.situation_fields()?.get(name),
        })
    }

    fn situation_fields(&self) -> Option<&Map<String, Value>> {
        self.has_situation_fields.then(|| self.named.get(SITUATION)?.as_object()).flatten()
    }

    /// Whether there is a fact of this name.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    /// Returns the situation with the intent as one more field, for the judge of plain-language
    /// conditions.
    #[must_use]
    pub fn situation_with_intent(&self) -> Map<String, Value> {
        let mut fields = self.situation_fields().cloned().unwrap_or_default();
        if let Some(intent) = self.named.get(INTENT) {
            fields.insert(INTENT.to_owned(), intent.clone());
        }
        fields
    }
}

/// Whether a condition can use this text as a name.
fn is_name(name: &str) -> bool {
    let mut letters = name.bytes();
    let first = |c: u8| c.is_ascii_alphabetic() || c == b'_';
    letters.next().is_some_and(first) && letters.all(|c| first(c) || c.is_ascii_digit())
}

fn count_nested(value: &Value) -> usize {
    1 + match value {
        Value::Array(entries) => entries.iter().map(count_nested).sum(),
        Value::Object(object) => object.values().map(count_nested).sum::<usize>(),
        _ => 0,
    }
}

/// Converts a value to CEL. Whole numbers become `int`, as literals are: CEL adds only like to like.
fn to_cel(value: &Value) -> cel::Value {
    match value {
        Value::Null => cel::Value::Null,
        Value::Bool(yes) => (*yes).into(),
        Value::String(text) => text.as_str().into(),
        Value::Number(number) => match (number.as_i64(), number.as_u64()) {
            (Some(whole), _) => whole.into(),
            (None, Some(large)) => large.into(),
            (None, None) => number.as_f64().unwrap_or(0.0).into(),
        },
        Value::Array(entries) => entries.iter().map(to_cel).collect::<Vec<_>>().into(),
        Value::Object(object) => {
            let entry = |(name, value): (&String, &Value)| {
                (Key::String(Arc::new(name.clone())), to_cel(value))
            };
            object.iter().map(entry).collect::<HashMap<_, _>>().into()
        }
    }
}
