//! A context as its rules and its readers see it: the fields of an item, read once.

use haversack_core::ids::ItemId;
use haversack_core::item::{Kind, Trust};
use haversack_core::units::{Score, Timestamp};
use haversack_store::store::item::{Fields, Item, Stored};
use serde_json::Value;

/// The kind of item that a context is, unless a recipe says otherwise.
pub const CONTEXT: &str = "context";

/// What to do when something happens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BehaviourRule {
    /// When.
    pub trigger: String,
    /// What then.
    pub action: String,
}

/// Which contexts to bring in, and when.
#[derive(Debug, Clone, PartialEq)]
pub struct InjectionRule {
    /// What people call it; may be empty.
    pub name: String,
    /// When it applies: empty for always, an expression, or plain language.
    pub condition: String,
    /// The contexts it brings in.
    pub inject: Vec<ItemId>,
    /// What happens when a judge cannot tell whether it applies.
    pub unsure: Unsure,
    /// How sure a judge must be; an answer that is less sure counts as undecided.
    pub threshold: Score,
}

/// What a rule does when a judge cannot tell whether it applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Unsure {
    /// It brings its contexts in.
    Inject,
    /// It does not. The default: what a rule brings in are instructions, and instructions for
    /// another situation do more harm than those that a notice says were left out.
    #[default]
    Skip,
}

impl Unsure {
    /// The name in documents and on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Unsure::Inject => "inject",
            Unsure::Skip => "skip",
        }
    }
}

/// Guidance for a situation (S1).
#[derive(Debug, Clone, PartialEq)]
pub struct Context {
    /// Its id.
    pub id: ItemId,
    /// What kind of item it is.
    pub kind: Kind,
    /// What people call it.
    pub name: String,
    /// What sort of context it is; may be empty.
    pub sort: String,
    /// What it is meant to reach; may be empty.
    pub goal: String,
    /// The sort of intent behind it; may be empty.
    pub intent: String,
    /// What is different in it.
    pub adaptations: Vec<String>,
    /// What to do when.
    pub behaviour: Vec<BehaviourRule>,
    /// What to bring in when.
    pub injection: Vec<InjectionRule>,
    /// Whose guidance it takes over, as its fields say, in their order.
    pub parents: Vec<ItemId>,
    /// What it hangs under in the tree: its parent when the fields name none and it is a context.
    pub under: Option<ItemId>,
    /// Free text.
    pub body: String,
    /// Where it is in a file tree, if it came from one.
    pub path: Option<String>,
    /// How far it is trusted.
    pub trust: Trust,
    /// When it last changed, if known.
    pub updated: Option<Timestamp>,
}

impl Context {
    /// The context that a stored item is. The commit's time stands in for a missing one.
    #[must_use]
    pub fn of_stored(stored: &Stored) -> Context {
        let context = Context::of_item(&stored.item);
        Context { updated: context.updated.or(Some(stored.committed)), ..context }
    }

    /// The context that an item is. What has the wrong type says nothing: the store checks the
    /// fields of a context when it is written, so this is about items of other kinds alone.
    #[must_use]
    pub fn of_item(item: &Item) -> Context {
        let fields = &item.fields;
        let metadata = |name| line(within(fields, "metadata", name));
        let purpose = |name| line(within(fields, "intent_context", name));
        let named = [metadata("name"), item.title.trim().to_owned(), item.id.as_str().to_owned()];
        Context {
            id: item.id.clone(),
            kind: item.kind.clone(),
            name: named.into_iter().find(|name| !name.is_empty()).unwrap_or_default(),
            sort: metadata("type"),
            goal: purpose("business_goal"),
            intent: purpose("intent_type"),
            adaptations: lines(fields.get("adaptations")),
            behaviour: entries(fields, "behavior_rules").filter_map(behaviour).collect(),
            injection: entries(fields, "injection_rules").map(injection).collect(),
            parents: parents(fields),
            under: item.parent.clone(),
            body: item.body.trim().to_owned(),
            path: item.path.clone(),
            trust: item.trust,
            updated: item.updated,
        }
    }

    /// How a rule is called in messages: its name, or its place from 1.
    #[must_use]
    pub fn rule_name(&self, index: usize) -> String {
        match self.injection.get(index) {
            Some(rule) if !rule.name.is_empty() => rule.name.clone(),
            _ => format!("#{}", index + 1),
        }
    }
}

fn parents(fields: &Fields) -> Vec<ItemId> {
    let mut parents = ids(fields.get("parent"));
    parents.extend(ids(fields.get("parents")));
    once(parents)
}

fn behaviour(value: &Value) -> Option<BehaviourRule> {
    let (trigger, action) = (line(value.get("trigger")), line(value.get("action")));
    (!trigger.is_empty() || !action.is_empty()).then_some(BehaviourRule { trigger, action })
}

fn injection(value: &Value) -> InjectionRule {
    InjectionRule {
        name: line(value.get("name")),
        condition: value.get("condition").and_then(Value::as_str).unwrap_or("").trim().to_owned(),
        inject: once(ids(value.get("inject"))),
        unsure: match value.get("unsure").and_then(Value::as_str) {
            Some("inject") => Unsure::Inject,
            _ => Unsure::Skip,
        },
        threshold: value.get("threshold").and_then(Value::as_f64).map_or(Score::ZERO, Score::unit),
    }
}

fn within<'f>(fields: &'f Fields, object: &str, name: &str) -> Option<&'f Value> {
    fields.get(object)?.get(name)
}

fn entries<'f>(fields: &'f Fields, name: &str) -> impl Iterator<Item = &'f Value> {
    fields.get(name).and_then(Value::as_array).into_iter().flatten()
}

/// A text as one line: whoever shows it in a list must not have it broken.
fn line(value: Option<&Value>) -> String {
    let text = value.and_then(Value::as_str).unwrap_or("");
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn lines(value: Option<&Value>) -> Vec<String> {
    let lines = match value {
        Some(Value::Array(entries)) => entries.iter().map(|entry| line(Some(entry))).collect(),
        other => vec![line(other)],
    };
    once(lines.into_iter().filter(|line| !line.is_empty()).collect())
}

fn ids(value: Option<&Value>) -> Vec<ItemId> {
    let id = |value: &Value| ItemId::new(value.as_str()?).ok();
    match value {
        Some(Value::Array(entries)) => entries.iter().filter_map(id).collect(),
        Some(other) => id(other).into_iter().collect(),
        None => Vec::new(),
    }
}

/// Each entry once, where it stands first.
pub(super) fn once<T: PartialEq>(entries: Vec<T>) -> Vec<T> {
    let mut kept: Vec<T> = Vec::with_capacity(entries.len());
    for entry in entries {
        if !kept.contains(&entry) {
            kept.push(entry);
        }
    }
    kept
}
