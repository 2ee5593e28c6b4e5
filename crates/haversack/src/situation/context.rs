//! Parses an item's fields into a context: its guidance, rules and parents.

use haversack_core::ids::ItemId;
use haversack_core::item::{Kind, Trust};
use haversack_core::units::{Score, Timestamp};
use haversack_store::store::item::{Fields, Item, Stored};
use serde_json::Value;

/// The kind of items that are contexts, unless a recipe names others.
pub const CONTEXT: &str = "context";

/// Guidance for one trigger.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BehaviourRule {
    /// When to act.
    pub trigger: String,
    /// What to do.
    pub action: String,
}

/// A rule that injects contexts when its condition holds.
#[derive(Debug, Clone, PartialEq)]
pub struct InjectionRule {
    /// Its display name; may be empty.
    pub name: String,
    /// Its condition: empty for always, an expression, or plain language.
    pub condition: String,
    /// The contexts that it injects.
    pub inject: Vec<ItemId>,
    /// What to do when the judge cannot decide the condition.
    pub when_undecided: UndecidedAction,
    /// The sureness that a verdict needs; a less sure answer counts as undecided.
    pub threshold: Score,
}

/// What a rule does when the judge cannot decide its condition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum UndecidedAction {
    /// It injects its contexts.
    Inject,
    /// It injects nothing. This is the default, because injected contexts are instructions:
    /// instructions for another situation do more harm than left-out ones that a notice lists.
    #[default]
    Skip,
}

impl UndecidedAction {
    /// The name in documents and on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            UndecidedAction::Inject => "inject",
            UndecidedAction::Skip => "skip",
        }
    }
}

/// Guidance for a situation (S1).
#[derive(Debug, Clone, PartialEq)]
pub struct ContextDocument {
    /// Its id.
    pub id: ItemId,
    /// The kind of its item.
    pub kind: Kind,
    /// Its display name.
    pub name: String,
    /// The type of context, such as `team`; may be empty.
    pub context_type: String,
    /// Its business goal; may be empty.
    pub goal: String,
    /// The type of its intent, such as `operate`; may be empty.
    pub intent: String,
    /// How answers are to be adapted, such as `shorter answers`.
    pub adaptations: Vec<String>,
    /// What to do on which trigger.
    pub behaviour_rules: Vec<BehaviourRule>,
    /// Which contexts to inject, and when.
    pub injection_rules: Vec<InjectionRule>,
    /// The contexts that its fields name as parents, in their order.
    pub parents: Vec<ItemId>,
    /// Its item's parent in the tree: the context inherits from it when the fields name no parents
    /// and it is a context.
    pub tree_parent: Option<ItemId>,
    /// Free text.
    pub body: String,
    /// Its path in a file tree, if it came from one.
    pub path: Option<String>,
    /// How far it is trusted.
    pub trust: Trust,
    /// When it last changed, if known.
    pub updated: Option<Timestamp>,
}

impl ContextDocument {
    /// Parses a stored item. `updated` falls back to the time of the commit.
    #[must_use]
    pub fn of_stored(stored: &Stored) -> ContextDocument {
        let context = ContextDocument::of_item(&stored.item);
        ContextDocument { updated: context.updated.or(Some(stored.committed)), ..context }
    }

    /// Parses an item. Fields of the wrong type count as empty: the store checks the fields of a
    /// context when it is written, so only items of other kinds have any.
    #[must_use]
    pub fn of_item(item: &Item) -> ContextDocument {
        let fields = &item.fields;
        let metadata = |name| single_line(nested_field(fields, "metadata", name));
        let purpose = |name| single_line(nested_field(fields, "intent_context", name));
        let names = [metadata("name"), item.title.trim().to_owned(), item.id.as_str().to_owned()];
        ContextDocument {
            id: item.id.clone(),
            kind: item.kind.clone(),
            name: names.into_iter().find(|name| !name.is_empty()).unwrap_or_default(),
            context_type: metadata("type"),
            goal: purpose("business_goal"),
            intent: purpose("intent_type"),
            adaptations: single_lines(fields.get("adaptations")),
            behaviour_rules: list_entries(fields, "behavior_rules")
                .filter_map(parse_behaviour_rule)
                .collect(),
            injection_rules: list_entries(fields, "injection_rules")
                .map(parse_injection_rule)
                .collect(),
            parents: parse_parents(fields),
            tree_parent: item.parent.clone(),
            body: item.body.trim().to_owned(),
            path: item.path.clone(),
            trust: item.trust,
            updated: item.updated,
        }
    }

    /// The name of an injection rule in messages: its own name, else its position from 1, as `#2`.
    #[must_use]
    pub fn rule_name(&self, index: usize) -> String {
        match self.injection_rules.get(index) {
            Some(rule) if !rule.name.is_empty() => rule.name.clone(),
            _ => format!("#{}", index + 1),
        }
    }
}

fn parse_parents(fields: &Fields) -> Vec<ItemId> {
    let mut parents = item_ids(fields.get("parent"));
    parents.extend(item_ids(fields.get("parents")));
    without_repeats(parents)
}

fn parse_behaviour_rule(value: &Value) -> Option<BehaviourRule> {
    let (trigger, action) = (single_line(value.get("trigger")), single_line(value.get("action")));
    (!trigger.is_empty() || !action.is_empty()).then_some(BehaviourRule { trigger, action })
}

fn parse_injection_rule(value: &Value) -> InjectionRule {
    InjectionRule {
        name: single_line(value.get("name")),
        condition: value.get("condition").and_then(Value::as_str).unwrap_or("").trim().to_owned(),
        inject: without_repeats(item_ids(value.get("inject"))),
        when_undecided: match value.get("unsure").and_then(Value::as_str) {
            Some("inject") => UndecidedAction::Inject,
            _ => UndecidedAction::Skip,
        },
        threshold: value.get("threshold").and_then(Value::as_f64).map_or(Score::ZERO, Score::unit),
    }
}

fn nested_field<'f>(fields: &'f Fields, object: &str, name: &str) -> Option<&'f Value> {
    fields.get(object)?.get(name)
}

fn list_entries<'f>(fields: &'f Fields, name: &str) -> impl Iterator<Item = &'f Value> {
    fields.get(name).and_then(Value::as_array).into_iter().flatten()
}

/// A text in one line, so that it cannot break a list it is rendered in.
fn single_line(value: Option<&Value>) -> String {
    let text = value.and_then(Value::as_str).unwrap_or("");
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The non-empty texts of a list, or a single text, each in one line and once.
fn single_lines(value: Option<&Value>) -> Vec<String> {
    let lines = match value {
        Some(Value::Array(entries)) => {
            entries.iter().map(|entry| single_line(Some(entry))).collect()
        }
        other => vec![single_line(other)],
    };
    without_repeats(lines.into_iter().filter(|line| !line.is_empty()).collect())
}

/// The valid ids in a list or a single text.
fn item_ids(value: Option<&Value>) -> Vec<ItemId> {
    let id = |value: &Value| ItemId::new(value.as_str()?).ok();
    match value {
        Some(Value::Array(entries)) => entries.iter().filter_map(id).collect(),
        Some(other) => id(other).into_iter().collect(),
        None => Vec::new(),
    }
}

/// Removes all but the first of equal entries.
pub(super) fn without_repeats<T: PartialEq>(entries: Vec<T>) -> Vec<T> {
    let mut kept: Vec<T> = Vec::with_capacity(entries.len());
    for entry in entries {
        if !kept.contains(&entry) {
            kept.push(entry);
        }
    }
    kept
}
