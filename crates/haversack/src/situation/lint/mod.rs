//! Lints a set of contexts: cycles, missing contexts, contradictions, doubtful conditions.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use haversack_core::ids::ItemId;
use haversack_core::text::spelling::nearest;
use haversack_core::units::Timestamp;
use serde_json::{Map, Value};

use crate::condition::{ConditionCache, Facts};
use crate::recipe::Severity;
use crate::situation::context::{BehaviourRule, ContextDocument};
use crate::situation::rules::{RuleCondition, classify_condition};

/// The kind of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum ContextFindingCode {
    /// A context inherits from itself.
    InheritanceCycle,
    /// A parent is not among the contexts.
    MissingParent,
    /// A rule injects a context that is not among them.
    MissingInjected,
    /// Rules inject each other in a circle.
    InjectionCircle,
    /// A rule injects its own context or an ancestor, which is present anyway.
    InjectsAncestor,
    /// Two rules of a chain have the same name.
    SameName,
    /// One trigger has two actions in a chain.
    Contradiction,
    /// A condition is the same in every situation.
    ConstantCondition,
    /// A condition is an expression that does not compile.
    BrokenCondition,
    /// A condition looks like an expression and is read as plain language.
    NotAnExpression,
    /// An expression uses a fact that no situation has.
    UnknownFact,
    /// A rule injects nothing.
    InjectsNothing,
}

impl ContextFindingCode {
    /// The name on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            ContextFindingCode::InheritanceCycle => "inheritance-cycle",
            ContextFindingCode::MissingParent => "missing-parent",
            ContextFindingCode::MissingInjected => "missing-injected",
            ContextFindingCode::InjectionCircle => "injection-circle",
            ContextFindingCode::InjectsAncestor => "injects-ancestor",
            ContextFindingCode::SameName => "same-name",
            ContextFindingCode::Contradiction => "contradiction",
            ContextFindingCode::ConstantCondition => "constant-condition",
            ContextFindingCode::BrokenCondition => "broken-condition",
            ContextFindingCode::NotAnExpression => "no-expression",
            ContextFindingCode::UnknownFact => "unknown-fact",
            ContextFindingCode::InjectsNothing => "injects-nothing",
        }
    }

    /// Error when a context or rule cannot do what it says, warning when it does something but
    /// hardly what was meant.
    #[must_use]
    pub const fn severity(self) -> Severity {
        match self {
            ContextFindingCode::InheritanceCycle
            | ContextFindingCode::MissingParent
            | ContextFindingCode::MissingInjected
            | ContextFindingCode::BrokenCondition => Severity::Error,
            ContextFindingCode::InjectionCircle
            | ContextFindingCode::InjectsAncestor
            | ContextFindingCode::SameName
            | ContextFindingCode::Contradiction
            | ContextFindingCode::ConstantCondition
            | ContextFindingCode::NotAnExpression
            | ContextFindingCode::UnknownFact
            | ContextFindingCode::InjectsNothing => Severity::Warning,
        }
    }
}

/// Something wrong or doubtful in a context. Displays as one line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContextFinding {
    /// The kind of finding.
    pub code: ContextFindingCode,
    /// The context that has it.
    pub context: ItemId,
    /// The injection rule that has it, by name or position, if it is about one.
    pub rule: Option<String>,
    /// What is wrong, and which of two conflicting rules counts.
    pub message: String,
}

impl fmt::Display for ContextFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.rule {
            Some(rule) => write!(f, "{}, rule {rule}: {}", self.context, self.message),
            None => write!(f, "{}: {}", self.context, self.message),
        }
    }
}

/// Lints a set of contexts. The findings are in the order of the contexts' ids.
#[must_use]
pub fn lint(contexts: &[ContextDocument]) -> Vec<ContextFinding> {
    let by_id: BTreeMap<&ItemId, &ContextDocument> =
        contexts.iter().map(|context| (&context.id, context)).collect();
    let set = ContextSet { by_id };
    let mut findings = Vec::new();
    for context in set.by_id.values() {
        let chain = set.check_inheritance(context, &mut findings);
        set.check_injected_ids(context, &chain, &mut findings);
        set.check_rule_names(context, &chain, &mut findings);
        set.check_contradictions(context, &chain, &mut findings);
        check_conditions(context, &mut findings);
    }
    set.check_injection_circles(&mut findings);
    findings.extend(unknown_facts(contexts, &[]));
    findings.sort_by(|one, other| {
        (&one.context, one.code, &one.rule).cmp(&(&other.context, other.code, &other.rule))
    });
    findings.dedup();
    findings
}

/// The contexts to be linted, by id.
struct ContextSet<'c> {
    by_id: BTreeMap<&'c ItemId, &'c ContextDocument>,
}

fn finding(
    code: ContextFindingCode,
    context: &ContextDocument,
    rule: Option<String>,
    message: String,
) -> ContextFinding {
    ContextFinding { code, context: context.id.clone(), rule, message }
}

impl<'c> ContextSet<'c> {
    fn parents(&self, context: &'c ContextDocument) -> impl Iterator<Item = &'c ItemId> {
        let tree_parent = context.tree_parent.as_ref().filter(|id| self.by_id.contains_key(id));
        context.parents.iter().chain(tree_parent.filter(|_| context.parents.is_empty()))
    }

    /// Checks what a context inherits from, and returns it with its ancestors, nearest first.
    fn check_inheritance(
        &self,
        first: &'c ContextDocument,
        findings: &mut Vec<ContextFinding>,
    ) -> Vec<&'c ContextDocument> {
        let mut seen: BTreeSet<&ItemId> = [&first.id].into();
        let mut chain = vec![first];
        let mut at = 0;
        while let Some(context) = chain.get(at).copied() {
            for id in self.parents(context) {
                match self.by_id.get(id) {
                    None if at == 0 => {
                        let message = format!("{} → {id} (missing)", first.id);
                        findings.push(finding(
                            ContextFindingCode::MissingParent,
                            first,
                            None,
                            message,
                        ));
                    }
                    Some(parent) if seen.insert(id) => chain.push(parent),
                    _ => {}
                }
            }
            at += 1;
        }
        if let Some(path) =
            self.shortest_path(first, &first.id, |context| self.parents(context).collect())
        {
            let message = format!("{}: a context cannot inherit from itself", format_path(&path));
            findings.push(finding(ContextFindingCode::InheritanceCycle, first, None, message));
        }
        chain
    }

    /// The shortest path from a context to a goal along `next`, of at least one step.
    fn shortest_path(
        &self,
        first: &'c ContextDocument,
        goal: &ItemId,
        next: impl Fn(&'c ContextDocument) -> Vec<&'c ItemId>,
    ) -> Option<Vec<&'c ItemId>> {
        let mut from: BTreeMap<&ItemId, &'c ItemId> = BTreeMap::new();
        let mut level = vec![first];
        while !level.is_empty() {
            let mut above = Vec::new();
            for context in level {
                for id in next(context) {
                    let Some(reached) = self.by_id.get(id) else { continue };
                    if from.contains_key(id) {
                        continue;
                    }
                    from.insert(&reached.id, &context.id);
                    if id == goal {
                        return Some(path_from(&from, &first.id, &reached.id));
                    }
                    above.push(*reached);
                }
            }
            level = above;
        }
        None
    }

    fn check_injected_ids(
        &self,
        context: &ContextDocument,
        chain: &[&ContextDocument],
        findings: &mut Vec<ContextFinding>,
    ) {
        for (index, rule) in context.injection_rules.iter().enumerate() {
            let mut push = |code, message| {
                findings.push(finding(code, context, Some(context.rule_name(index)), message));
            };
            if rule.inject.is_empty() {
                push(ContextFindingCode::InjectsNothing, "injects nothing".to_owned());
            }
            for id in &rule.inject {
                if !self.by_id.contains_key(id) {
                    push(
                        ContextFindingCode::MissingInjected,
                        format!("injects {id}, which is missing"),
                    );
                } else if *id == context.id {
                    push(ContextFindingCode::InjectsAncestor, "injects its own context".to_owned());
                } else if chain.iter().any(|ancestor| ancestor.id == *id) {
                    let message = format!("injects {id}, an ancestor, which is there anyway");
                    push(ContextFindingCode::InjectsAncestor, message);
                }
            }
        }
    }

    fn check_rule_names(
        &self,
        context: &ContextDocument,
        chain: &[&ContextDocument],
        findings: &mut Vec<ContextFinding>,
    ) {
        let mut own: BTreeSet<&str> = BTreeSet::new();
        let named = |context: &'_ ContextDocument, name: &str| {
            context.injection_rules.iter().any(|rule| rule.name == name)
        };
        for rule in context.injection_rules.iter().filter(|rule| !rule.name.is_empty()) {
            let name = rule.name.as_str();
            let message = if !own.insert(name) {
                "the name is used twice in this context: both rules are heard".to_owned()
            } else if let Some(other) = chain[1..].iter().find(|other| named(other, name)) {
                format!("{} has a rule of this name, too: the nearer one counts", other.id)
            } else {
                continue;
            };
            findings.push(finding(
                ContextFindingCode::SameName,
                context,
                Some(name.to_owned()),
                message,
            ));
        }
    }

    fn check_contradictions(
        &self,
        context: &ContextDocument,
        chain: &[&ContextDocument],
        findings: &mut Vec<ContextFinding>,
    ) {
        let same_trigger = |one: &BehaviourRule, other: &BehaviourRule| {
            one.trigger.to_lowercase() == other.trigger.to_lowercase()
        };
        for (index, rule) in context.behaviour_rules.iter().enumerate() {
            let contradicts = |other: &&BehaviourRule| {
                same_trigger(rule, other)
                    && other.action.to_lowercase() != rule.action.to_lowercase()
            };
            let own = context.behaviour_rules[..index].iter().find(contradicts);
            let message = match own {
                Some(other) => format!(
                    "when {:?}, this context says both {:?} and {:?}: both are heard",
                    rule.trigger, other.action, rule.action
                ),
                None => {
                    let farther = chain[1..].iter().find_map(|ancestor| {
                        Some((ancestor, ancestor.behaviour_rules.iter().find(contradicts)?))
                    });
                    let Some((ancestor, other)) = farther else { continue };
                    format!(
                        "when {:?}, {} says {:?} and {} says {:?}: the nearer one, {}, counts",
                        rule.trigger,
                        context.id,
                        rule.action,
                        ancestor.id,
                        other.action,
                        context.id
                    )
                }
            };
            findings.push(finding(ContextFindingCode::Contradiction, context, None, message));
        }
    }

    /// Reports circles of injection, each once, at the smallest id of the circle.
    fn check_injection_circles(&self, findings: &mut Vec<ContextFinding>) {
        let injected = |context: &'c ContextDocument| -> Vec<&'c ItemId> {
            let own = |id: &&ItemId| **id != context.id;
            context.injection_rules.iter().flat_map(|rule| &rule.inject).filter(own).collect()
        };
        let mut in_circle: BTreeSet<&ItemId> = BTreeSet::new();
        for context in self.by_id.values() {
            if in_circle.contains(&context.id) {
                continue;
            }
            let Some(path) = self.shortest_path(context, &context.id, injected) else { continue };
            let message = format!(
                "{}: rules that inject each other; what is injected is shown once, and its own \
                 rules are not followed",
                format_path(&path)
            );
            findings.push(finding(ContextFindingCode::InjectionCircle, context, None, message));
            in_circle.extend(path);
        }
    }
}

/// The path from `first` to `last`, where `from` says from which context each was reached.
fn path_from<'c>(
    from: &BTreeMap<&ItemId, &'c ItemId>,
    first: &ItemId,
    last: &'c ItemId,
) -> Vec<&'c ItemId> {
    let mut path = vec![last];
    let mut at = from.get(last).copied();
    while let Some(id) = at {
        path.push(id);
        at = if id == first { None } else { from.get(id).copied() };
    }
    path.reverse();
    path
}

fn format_path(path: &[&ItemId]) -> String {
    path.iter().map(|id| id.as_str()).collect::<Vec<_>>().join(" → ")
}

fn check_conditions(context: &ContextDocument, findings: &mut Vec<ContextFinding>) {
    let no_facts = Facts::from_situation(&Map::new(), None, Timestamp::from_millis(0));
    let compiled = ConditionCache::new();
    for (index, rule) in context.injection_rules.iter().enumerate() {
        let (code, message) = match classify_condition(&rule.condition, &no_facts, &compiled) {
            RuleCondition::Always => continue,
            RuleCondition::PlainLanguage => match compiled.compile_bounded(&rule.condition) {
                Err(error) if looks_like_expression(&rule.condition) => {
                    let message = format!(
                        "the condition looks like an expression and is read as plain language: \
                         {error}"
                    );
                    (ContextFindingCode::NotAnExpression, message)
                }
                _ => continue,
            },
            RuleCondition::Broken(error) => {
                (ContextFindingCode::BrokenCondition, format!("the rule never applies: {error}"))
            }
            RuleCondition::Expression(expression) => match expression.constant_value() {
                None => continue,
                Some(true) => (
                    ContextFindingCode::ConstantCondition,
                    "the condition is always true: leave it out".to_owned(),
                ),
                Some(false) => {
                    let message = "the condition is always false: the rule never applies";
                    (ContextFindingCode::ConstantCondition, message.to_owned())
                }
            },
        };
        findings.push(finding(code, context, Some(context.rule_name(index)), message));
    }
}

/// Whether a text has signs of an expression that plain language lacks: `=`, `<`, `>`, `&`, `|`, a
/// name before a bracket, `situation.`.
fn looks_like_expression(text: &str) -> bool {
    let has_call = text
        .match_indices('(')
        .any(|(at, _)| text[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_'));
    has_call || text.contains(['=', '<', '>', '&', '|']) || text.contains("situation.")
}

/// Finds facts that expressions use and no situation has (S3). Without situations, a name is doubtful
/// when only one rule uses it and it is spelt nearly like one that others use.
#[must_use]
pub fn unknown_facts(
    contexts: &[ContextDocument],
    situations: &[Map<String, Value>],
) -> Vec<ContextFinding> {
    let no_facts = Facts::from_situation(&Map::new(), None, Timestamp::from_millis(0));
    let compiled = ConditionCache::new();
    let mut used: Vec<(&ContextDocument, usize, String)> = Vec::new();
    for context in contexts {
        for (index, rule) in context.injection_rules.iter().enumerate() {
            if let RuleCondition::Expression(expression) =
                classify_condition(&rule.condition, &no_facts, &compiled)
            {
                used.extend(
                    expression.situation_fields().map(|fact| (context, index, fact.to_owned())),
                );
            }
        }
    }
    let mut count: BTreeMap<&str, usize> = BTreeMap::new();
    used.iter().for_each(|(_, _, fact)| *count.entry(fact).or_default() += 1);
    let stated: BTreeSet<&str> =
        situations.iter().flat_map(Map::keys).map(String::as_str).collect();
    let mut findings = Vec::new();
    for (context, index, fact) in &used {
        let others = count.iter().filter(|(name, times)| **name != fact && **times > 1);
        let candidates: BTreeSet<&str> = if stated.is_empty() {
            others.map(|(name, _)| *name).chain(BUILT_IN_NAMES).collect()
        } else {
            stated.iter().copied().chain(BUILT_IN_NAMES).collect()
        };
        let near = nearest(fact, candidates.iter().map(|name| (*name, *name)));
        let near = near.first().filter(|name| stated.contains(*name) || is_typo_of(fact, name));
        let is_inflected = |name: &&&str| name.starts_with(&**fact) || fact.starts_with(**name);
        let near = near.or_else(|| stated.iter().find(is_inflected));
        let is_doubtful = if stated.is_empty() {
            count.get(fact.as_str()) == Some(&1) && near.is_some()
        } else {
            !stated.contains(fact.as_str())
        };
        if is_doubtful {
            let hint = near.map_or_else(String::new, |name| format!("; did you mean {name}?"));
            let message = format!("asks for {fact}, which no situation has{hint}");
            let rule = Some(context.rule_name(*index));
            findings.push(finding(ContextFindingCode::UnknownFact, context, rule, message));
        }
    }
    findings
}

/// Names that every condition can use.
const BUILT_IN_NAMES: [&str; 3] = ["situation", "intent", "now"];

/// Whether two names differ only by a typo: a letter left out, doubled or swapped, not a word.
fn is_typo_of(one: &str, other: &str) -> bool {
    let letters = |name: &str| {
        let mut letters: Vec<char> = name.chars().collect();
        letters.sort_unstable();
        letters.dedup();
        letters
    };
    let (a, b) = (letters(one), letters(other));
    let only_in = |a: &[char], b: &[char]| a.iter().filter(|c| !b.contains(c)).count();
    one.chars().count().abs_diff(other.chars().count()) <= 1
        && one.chars().count() >= 4
        && only_in(&a, &b) + only_in(&b, &a) <= 2
}

#[cfg(test)]
mod tests;
