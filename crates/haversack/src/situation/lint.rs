//! What is wrong or doubtful in a set of contexts, before anybody asks for one.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use haversack_core::ids::ItemId;
use haversack_core::text::spelling::nearest;
use haversack_core::units::Timestamp;
use serde_json::{Map, Value};

use super::context::{BehaviourRule, Context};
use super::rules::{RuleCondition, read_condition};
use crate::condition::{ConditionCache, Facts};

/// How much a finding matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// A context or rule cannot do what it says.
    Error,
    /// It does something, but hardly what was meant.
    Warning,
}

/// What was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum FindingCode {
    /// A context inherits from itself.
    InheritanceCycle,
    /// A parent is not among the contexts.
    MissingParent,
    /// A rule injects what is not among the contexts.
    MissingInjected,
    /// Rules inject each other in a circle.
    InjectionCircle,
    /// A rule injects its own context or an ancestor, which is there anyway.
    InjectsAncestor,
    /// Two rules of a chain have one name.
    SameName,
    /// One trigger has two actions in a chain.
    Contradiction,
    /// A condition is the same in every situation.
    Constant,
    /// A condition looks like an expression and cannot be used.
    BrokenCondition,
    /// A condition looks like an expression and is read as plain language.
    NoExpression,
    /// An expression asks for a fact that no situation has.
    UnknownFact,
    /// A rule injects nothing.
    InjectsNothing,
}

impl FindingCode {
    /// The name on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            FindingCode::InheritanceCycle => "inheritance-cycle",
            FindingCode::MissingParent => "missing-parent",
            FindingCode::MissingInjected => "missing-injected",
            FindingCode::InjectionCircle => "injection-circle",
            FindingCode::InjectsAncestor => "injects-ancestor",
            FindingCode::SameName => "same-name",
            FindingCode::Contradiction => "contradiction",
            FindingCode::Constant => "constant-condition",
            FindingCode::BrokenCondition => "broken-condition",
            FindingCode::NoExpression => "no-expression",
            FindingCode::UnknownFact => "unknown-fact",
            FindingCode::InjectsNothing => "injects-nothing",
        }
    }

    /// How much it matters.
    #[must_use]
    pub const fn severity(self) -> Severity {
        match self {
            FindingCode::InheritanceCycle
            | FindingCode::MissingParent
            | FindingCode::MissingInjected
            | FindingCode::BrokenCondition => Severity::Error,
            FindingCode::InjectionCircle
            | FindingCode::InjectsAncestor
            | FindingCode::SameName
            | FindingCode::Contradiction
            | FindingCode::Constant
            | FindingCode::NoExpression
            | FindingCode::UnknownFact
            | FindingCode::InjectsNothing => Severity::Warning,
        }
    }
}

/// Something wrong or doubtful. Displays as one line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// What it is.
    pub code: FindingCode,
    /// The context it is found in.
    pub context: ItemId,
    /// The rule, by name or place, if it is about one.
    pub rule: Option<String>,
    /// What is wrong, and what counts.
    pub message: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.rule {
            Some(rule) => write!(f, "{}, rule {rule}: {}", self.context, self.message),
            None => write!(f, "{}: {}", self.context, self.message),
        }
    }
}

/// Looks a whole set of contexts over. The findings come in the order of the contexts' ids.
#[must_use]
pub fn lint(contexts: &[Context]) -> Vec<Finding> {
    let known: BTreeMap<&ItemId, &Context> =
        contexts.iter().map(|context| (&context.id, context)).collect();
    let set = Set { known };
    let mut findings = Vec::new();
    for context in set.known.values() {
        let chain = set.chain(context, &mut findings);
        set.injections(context, &chain, &mut findings);
        set.names(context, &chain, &mut findings);
        set.contradictions(context, &chain, &mut findings);
        conditions(context, &mut findings);
    }
    set.circles(&mut findings);
    findings.extend(unknown_facts(contexts, &[]));
    findings.sort_by(|one, other| {
        (&one.context, one.code, &one.rule).cmp(&(&other.context, other.code, &other.rule))
    });
    findings.dedup();
    findings
}

struct Set<'c> {
    known: BTreeMap<&'c ItemId, &'c Context>,
}

fn finding(code: FindingCode, context: &Context, rule: Option<String>, message: String) -> Finding {
    Finding { code, context: context.id.clone(), rule, message }
}

impl<'c> Set<'c> {
    fn parents(&self, context: &'c Context) -> impl Iterator<Item = &'c ItemId> {
        let under = context.under.as_ref().filter(|id| self.known.contains_key(id));
        context.parents.iter().chain(under.filter(|_| context.parents.is_empty()))
    }

    /// The context and its ancestors, nearest first.
    fn chain(&self, first: &'c Context, findings: &mut Vec<Finding>) -> Vec<&'c Context> {
        let mut seen: BTreeSet<&ItemId> = [&first.id].into();
        let mut chain = vec![first];
        let mut at = 0;
        while let Some(context) = chain.get(at).copied() {
            for id in self.parents(context) {
                match self.known.get(id) {
                    None if at == 0 => {
                        let message = format!("{} → {id} (missing)", first.id);
                        findings.push(finding(FindingCode::MissingParent, first, None, message));
                    }
                    Some(parent) if seen.insert(id) => chain.push(parent),
                    _ => {}
                }
            }
            at += 1;
        }
        if let Some(way) = self.way(first, &first.id, |context| self.parents(context).collect()) {
            let message = format!("{}: a context cannot inherit from itself", arrows(&way));
            findings.push(finding(FindingCode::InheritanceCycle, first, None, message));
        }
        chain
    }

    /// The shortest way from a context to a goal along `next`, of at least one step.
    fn way(
        &self,
        first: &'c Context,
        goal: &ItemId,
        next: impl Fn(&'c Context) -> Vec<&'c ItemId>,
    ) -> Option<Vec<&'c ItemId>> {
        let mut from: BTreeMap<&ItemId, &'c ItemId> = BTreeMap::new();
        let mut level = vec![first];
        while !level.is_empty() {
            let mut above = Vec::new();
            for context in level {
                for id in next(context) {
                    let Some(reached) = self.known.get(id) else { continue };
                    if from.contains_key(id) {
                        continue;
                    }
                    from.insert(&reached.id, &context.id);
                    if id == goal {
                        return Some(way_back(&from, &first.id, &reached.id));
                    }
                    above.push(*reached);
                }
            }
            level = above;
        }
        None
    }

    fn injections(&self, context: &Context, chain: &[&Context], findings: &mut Vec<Finding>) {
        for (index, rule) in context.injection.iter().enumerate() {
            let mut push = |code, message| {
                findings.push(finding(code, context, Some(context.rule_name(index)), message));
            };
            if rule.inject.is_empty() {
                push(FindingCode::InjectsNothing, "injects nothing".to_owned());
            }
            for id in &rule.inject {
                if !self.known.contains_key(id) {
                    push(FindingCode::MissingInjected, format!("injects {id}, which is missing"));
                } else if *id == context.id {
                    push(FindingCode::InjectsAncestor, "injects its own context".to_owned());
                } else if chain.iter().any(|ancestor| ancestor.id == *id) {
                    let message = format!("injects {id}, an ancestor, which is there anyway");
                    push(FindingCode::InjectsAncestor, message);
                }
            }
        }
    }

    fn names(&self, context: &Context, chain: &[&Context], findings: &mut Vec<Finding>) {
        let mut own: BTreeSet<&str> = BTreeSet::new();
        let named = |context: &'_ Context, name: &str| {
            context.injection.iter().any(|rule| rule.name == name)
        };
        for rule in context.injection.iter().filter(|rule| !rule.name.is_empty()) {
            let name = rule.name.as_str();
            let message = if !own.insert(name) {
                "the name is used twice in this context: both rules are heard".to_owned()
            } else if let Some(other) = chain[1..].iter().find(|other| named(other, name)) {
                format!("{} has a rule of this name, too: the nearer one counts", other.id)
            } else {
                continue;
            };
            findings.push(finding(FindingCode::SameName, context, Some(name.to_owned()), message));
        }
    }

    fn contradictions(&self, context: &Context, chain: &[&Context], findings: &mut Vec<Finding>) {
        let same_trigger = |one: &BehaviourRule, other: &BehaviourRule| {
            one.trigger.to_lowercase() == other.trigger.to_lowercase()
        };
        for (index, rule) in context.behaviour.iter().enumerate() {
            let contradicts = |other: &&BehaviourRule| {
                same_trigger(rule, other)
                    && other.action.to_lowercase() != rule.action.to_lowercase()
            };
            let own = context.behaviour[..index].iter().find(contradicts);
            let message = match own {
                Some(other) => format!(
                    "when {:?}, this context says both {:?} and {:?}: both are heard",
                    rule.trigger, other.action, rule.action
                ),
                None => {
                    let farther = chain[1..].iter().find_map(|ancestor| {
                        Some((ancestor, ancestor.behaviour.iter().find(contradicts)?))
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
            findings.push(finding(FindingCode::Contradiction, context, None, message));
        }
    }

    /// Circles of injection, each once, at the smallest id of the circle.
    fn circles(&self, findings: &mut Vec<Finding>) {
        let injected = |context: &'c Context| -> Vec<&'c ItemId> {
            let own = |id: &&ItemId| **id != context.id;
            context.injection.iter().flat_map(|rule| &rule.inject).filter(own).collect()
        };
        let mut in_circle: BTreeSet<&ItemId> = BTreeSet::new();
        for context in self.known.values() {
            if in_circle.contains(&context.id) {
                continue;
            }
            let Some(way) = self.way(context, &context.id, injected) else { continue };
            let message = format!(
                "{}: rules that inject each other; what is injected is shown once, and its own \
                 rules are not followed",
                arrows(&way)
            );
            findings.push(finding(FindingCode::InjectionCircle, context, None, message));
            in_circle.extend(way);
        }
    }
}

fn way_back<'c>(
    from: &BTreeMap<&ItemId, &'c ItemId>,
    first: &ItemId,
    last: &'c ItemId,
) -> Vec<&'c ItemId> {
    let mut way = vec![last];
    let mut at = from.get(last).copied();
    while let Some(id) = at {
        way.push(id);
        at = if id == first { None } else { from.get(id).copied() };
    }
    way.reverse();
    way
}

fn arrows(way: &[&ItemId]) -> String {
    way.iter().map(|id| id.as_str()).collect::<Vec<_>>().join(" → ")
}

fn conditions(context: &Context, findings: &mut Vec<Finding>) {
    let nothing = Facts::of_situation(&Map::new(), None, Timestamp::from_millis(0));
    let compiled = ConditionCache::new();
    for (index, rule) in context.injection.iter().enumerate() {
        let (code, message) = match read_condition(&rule.condition, &nothing, &compiled) {
            RuleCondition::Always => continue,
            RuleCondition::Plain => match compiled.compile_bounded(&rule.condition) {
                Err(error) if looks_like_expression(&rule.condition) => {
                    let message = format!(
                        "the condition looks like an expression and is read as plain language: \
                         {error}"
                    );
                    (FindingCode::NoExpression, message)
                }
                _ => continue,
            },
            RuleCondition::Broken(error) => {
                (FindingCode::BrokenCondition, format!("the rule never applies: {error}"))
            }
            RuleCondition::Expression(expression) => match expression.constant() {
                None => continue,
                Some(true) => {
                    (FindingCode::Constant, "the condition is always true: leave it out".to_owned())
                }
                Some(false) => {
                    let message = "the condition is always false: the rule never applies";
                    (FindingCode::Constant, message.to_owned())
                }
            },
        };
        findings.push(finding(code, context, Some(context.rule_name(index)), message));
    }
}

/// Whether a text has marks that conditions in plain language do without: `=`, `<`, `>`, `&`, `|`, a
/// name before a bracket, a fact of the situation.
fn looks_like_expression(text: &str) -> bool {
    let has_call = text
        .match_indices('(')
        .any(|(at, _)| text[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_'));
    has_call || text.contains(['=', '<', '>', '&', '|']) || text.contains("situation.")
}

/// Facts that expressions ask for and no situation has (S3). Without situations a name is doubtful
/// when it stands in one rule alone and is spelt nearly like one that others ask for.
#[must_use]
pub fn unknown_facts(contexts: &[Context], situations: &[Map<String, Value>]) -> Vec<Finding> {
    let nothing = Facts::of_situation(&Map::new(), None, Timestamp::from_millis(0));
    let compiled = ConditionCache::new();
    let mut asked: Vec<(&Context, usize, String)> = Vec::new();
    for context in contexts {
        for (index, rule) in context.injection.iter().enumerate() {
            if let RuleCondition::Expression(expression) =
                read_condition(&rule.condition, &nothing, &compiled)
            {
                asked.extend(
                    expression.situation_fields().map(|fact| (context, index, fact.to_owned())),
                );
            }
        }
    }
    let mut count: BTreeMap<&str, usize> = BTreeMap::new();
    asked.iter().for_each(|(_, _, fact)| *count.entry(fact).or_default() += 1);
    let told: BTreeSet<&str> = situations.iter().flat_map(Map::keys).map(String::as_str).collect();
    let mut findings = Vec::new();
    for (context, index, fact) in &asked {
        let others = count.iter().filter(|(name, times)| **name != fact && **times > 1);
        let known: BTreeSet<&str> = if told.is_empty() {
            others.map(|(name, _)| *name).chain(RESERVED).collect()
        } else {
            told.iter().copied().chain(RESERVED).collect()
        };
        let near = nearest(fact, known.iter().map(|name| (*name, *name)));
        let near = near.first().filter(|name| told.contains(*name) || is_slip(fact, name));
        let is_inflected = |name: &&&str| name.starts_with(&**fact) || fact.starts_with(**name);
        let near = near.or_else(|| told.iter().find(is_inflected));
        let is_doubtful = if told.is_empty() {
            count.get(fact.as_str()) == Some(&1) && near.is_some()
        } else {
            !told.contains(fact.as_str())
        };
        if is_doubtful {
            let hint = near.map_or_else(String::new, |name| format!("; did you mean {name}?"));
            let message = format!("asks for {fact}, which no situation has{hint}");
            let rule = Some(context.rule_name(*index));
            findings.push(finding(FindingCode::UnknownFact, context, rule, message));
        }
    }
    findings
}

/// Names that every condition can use.
const RESERVED: [&str; 3] = ["situation", "intent", "now"];

/// Whether two names differ as a slip of the hand makes them differ: by a letter left out, doubled
/// or swapped, not by a word.
fn is_slip(one: &str, other: &str) -> bool {
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
mod tests {
    use haversack_core::item::Kind;
    use haversack_store::store::item::Item;
    use serde_json::json;

    use super::*;

    fn contexts(all: &Value) -> Vec<Context> {
        let context = |(id, fields): (&String, &Value)| {
            let (id, kind) = (ItemId::new(id).unwrap(), Kind::new("context").unwrap());
            let fields = fields.as_object().unwrap().clone();
            Context::of_item(&Item { fields, ..Item::new(id, kind, "") })
        };
        all.as_object().unwrap().iter().map(context).collect()
    }

    #[track_caller]
    fn check(all: &Value, expected: &[&str]) {
        let found: Vec<String> = lint(&contexts(all))
            .iter()
            .map(|finding| format!("{}: {finding}", finding.code.as_str()))
            .collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn a_sound_set_has_no_findings() {
        check(
            &json!({
                "org": { "behavior_rules": [{ "trigger": "asked", "action": "answer" }] },
                "team": { "parent": "org", "injection_rules": [
                    { "name": "one", "condition": "task is complex", "inject": ["guide"] },
                    { "name": "two", "condition": "tool == \"deploy\"", "inject": ["guide"] },
                    { "inject": ["guide"] },
                ] },
                "guide": { "parents": ["org"] },
            }),
            &[],
        );
    }

    #[test]
    fn circles_and_missing_contexts_are_found() {
        check(
            &json!({
                "a": { "parent": "b", "injection_rules": [{ "name": "r", "inject": ["c", "x"] }] },
                "b": { "parents": ["a", "gone"] },
                "c": { "injection_rules": [{ "inject": ["d"] }] },
                "d": { "injection_rules": [{ "inject": ["c"] }, { "inject": ["d"] }] },
            }),
            &[
                "inheritance-cycle: a: a → b → a: a context cannot inherit from itself",
                "missing-injected: a, rule r: injects x, which is missing",
                "inheritance-cycle: b: b → a → b: a context cannot inherit from itself",
                "missing-parent: b: b → gone (missing)",
                "injection-circle: c: c → d → c: rules that inject each other; what is injected is \
                 shown once, and its own rules are not followed",
                "injects-ancestor: d, rule #2: injects its own context",
            ],
        );
    }

    #[test]
    fn conflicts_in_a_chain_say_which_one_counts() {
        check(
            &json!({
                "org": {
                    "behavior_rules": [
                        { "trigger": "Friday", "action": "deploy" },
                        { "trigger": "friday", "action": "rest" },
                    ],
                    "injection_rules": [{ "name": "r", "inject": ["team"] }],
                },
                "team": {
                    "parent": "org",
                    "behavior_rules": [{ "trigger": "friday", "action": "never deploy" }],
                    "injection_rules": [
                        { "name": "r", "inject": ["org"] },
                        { "name": "s", "inject": [] },
                    ],
                },
            }),
            &[
                "injection-circle: org: org → team → org: rules that inject each other; what is \
                 injected is shown once, and its own rules are not followed",
                "contradiction: org: when \"friday\", this context says both \"deploy\" and \"rest\": \
                 both are heard",
                "injects-ancestor: team, rule r: injects org, an ancestor, which is there anyway",
                "same-name: team, rule r: org has a rule of this name, too: the nearer one counts",
                "contradiction: team: when \"friday\", team says \"never deploy\" and org says \
                 \"deploy\": the nearer one, team, counts",
                "injects-nothing: team, rule s: injects nothing",
            ],
        );
    }

    #[test]
    fn conditions_that_never_change_or_cannot_be_used_are_found() {
        let rule = |condition: &str| json!({ "condition": condition, "inject": ["x"] });
        check(
            &json!({ "x": {}, "y": { "injection_rules": [
                rule("true"), rule("1 > 2"), rule("tool == \"x\" || true"), rule("type == \"x\""),
                rule("!has(situation.x)"), rule("tool == \"deploy"), rule("cel: task is complex"),
            ] } }),
            &[
                "constant-condition: y, rule #1: the condition is always true: leave it out",
                "constant-condition: y, rule #2: the condition is always false: the rule never \
                 applies",
                "constant-condition: y, rule #3: the condition is always true: leave it out",
                "broken-condition: y, rule #6: the rule never applies: the condition cannot be \
                 read at line 1, column 9: token recognition error at: '\"deploy'",
                "broken-condition: y, rule #7: the rule never applies: the condition cannot be \
                 read at line 1, column 6: unexpected 'is'",
            ],
        );
    }

    /// S3: what looks like an expression and is none, and names that are misspelt.
    #[test]
    fn expressions_that_are_none_and_facts_that_nobody_has_are_found_s3() {
        let all = contexts(&json!({ "a": { "injection_rules": [
            { "name": "sign", "condition": "environment = production", "inject": ["b"] },
            { "name": "one", "condition": "situation.severity == \"high\"", "inject": ["b"] },
            { "name": "two", "condition": "severity == \"low\"", "inject": ["b"] },
            { "name": "slip", "condition": "situation.severty == \"low\"", "inject": ["b"] },
            { "name": "root", "condition": "situaton.approved == true", "inject": ["b"] },
            { "name": "words", "condition": "the build is green", "inject": ["b"] },
        ] }, "b": {} }));
        let found: Vec<(String, String)> = lint(&all)
            .into_iter()
            .map(|finding| (finding.rule.unwrap(), finding.message))
            .collect();
        let asks = |name: &str, near: &str| {
            format!("asks for {name}, which no situation has; did you mean {near}?")
        };
        assert_eq!(found.len(), 3, "{found:?}");
        assert_eq!(found[0].0, "sign");
        assert!(found[0].1.starts_with("the condition looks like an expression"), "{found:?}");
        assert_eq!(found[1], ("root".to_owned(), asks("situaton", "situation")));
        assert_eq!(found[2], ("slip".to_owned(), asks("severty", "severity")));
        let condition = "situation.row > 5 && situation.tool == \"x\"";
        let all = contexts(&json!({ "a": { "injection_rules": [
            { "name": "r", "condition": condition, "inject": ["a"] },
        ] } }));
        let told = json!({ "rows": 7, "tool": "x" });
        let found = unknown_facts(&all, &[told.as_object().unwrap().clone()]);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].message, "asks for row, which no situation has; did you mean rows?");
    }
}
