//! The facts that conditions are evaluated against: values by name.

use std::collections::{BTreeMap, HashMap};
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

/// CEL's standard library, which is the same for every request.
static LIBRARY: LazyLock<Arc<Env>> = LazyLock::new(|| Arc::new(Env::stdlib()));

/// The facts of one request, by name.
#[derive(Default)]
pub struct Facts {
    named: BTreeMap<String, Value>,
    /// Whether fields of the situation that have a plain name are facts of that name, too.
    has_situation_fields: bool,
    /// How many values the situation has, counted when the first loop needs it.
    values: OnceLock<usize>,
    /// Converted when the first condition needs the interpreter; most do not.
    context: OnceLock<Context<'static, 'static>>,
}

impl std::fmt::Debug for Facts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Facts").field("named", &self.named).finish_non_exhaustive()
    }
}

impl Facts {
    /// The facts for the rules of contexts.
    ///
    /// `situation` is the whole; each of its fields that has a plain name goes by that name, too.
    /// `intent` is what the asker wants to reach, or else the situation's own field of that name;
    /// `now` is the time in milliseconds since 1970. No field can take one of the three names.
    #[must_use]
    pub fn of_situation(
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

    /// Sets a fact, for building in one expression.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<Value>) -> Facts {
        self.set(name, value);
        self
    }

    /// How many values there are in the situation, those inside others included.
    pub(super) fn count_values(&self) -> usize {
        *self.values.get_or_init(|| self.named.get(SITUATION).map_or(0, count))
    }

    /// The time of the request; 1970 when it is not a fact.
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
            // After the fields, which cannot take the name of another fact.
            for (name, value) in &self.named {
                context.add_variable_from_value(name, to_cel(value));
            }
            context
        })
    }

    /// The fact of that name.
    pub(super) fn get(&self, name: &str) -> Option<&Value> {
        self.named.get(name).or_else(|| match name {
            // A field of the situation cannot take these names.
            SITUATION | INTENT | NOW => None,
            name => self.situation_fields()?.get(name),
        })
    }

    fn situation_fields(&self) -> Option<&Map<String, Value>> {
        self.has_situation_fields.then(|| self.named.get(SITUATION)?.as_object()).flatten()
    }

    /// Whether there is a fact of that name.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    /// The situation for a judge of plain language, with the intent as one more field.
    #[must_use]
    pub fn situation_with_intent(&self) -> Map<String, Value> {
        let mut fields = self.situation_fields().cloned().unwrap_or_default();
        if let Some(intent) = self.named.get(INTENT) {
            fields.insert(INTENT.to_owned(), intent.clone());
        }
        fields
    }
}

/// Whether a condition can use it as a name.
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
