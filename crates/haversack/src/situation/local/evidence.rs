//! Collects the evidence for and against a clause: numbers, dates, flags, choices, opposites, words.
//!
//! Each check looks for one kind of evidence and returns `None` where it finds none. The caller uses
//! the findings only if they agree.

use std::sync::Arc;

use super::date_evidence::judge_by_date;
use super::lexicon::{LexiconEntry, WordRelation};
use super::number_evidence::{judge_by_age, judge_by_limit, judge_by_number};
use super::parsed_condition::{ClauseWord, ConditionClause};
use super::situation_facts::{FactContent, SituationFact, SituationFacts, ValueWord};
use super::word_lists::STATE_FACT_NAMES;

/// The kind of a piece of evidence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum EvidenceKind {
    /// A number compared with a bound of the condition.
    Number,
    /// A number compared with another number, or a range, of the situation.
    Limit,
    /// A date or a time of day.
    Date,
    /// A fact that is true or false, present or absent.
    Flag,
    /// The value of a fact that the condition names.
    Choice,
    /// A value that excludes a word of the condition.
    Opposite,
    /// The situation states all words of the condition.
    StatedWords,
    /// The situation mentions all words of the condition and denies some.
    DeniedWords,
}

/// What one kind of evidence says about a clause.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct EvidenceFinding {
    pub(super) kind: EvidenceKind,
    pub(super) holds: bool,
}

/// Collects all evidence on a clause. Numbers and dates, where they say something, count alone.
pub(super) fn collect_evidence(
    clause: &ConditionClause,
    situation: &SituationFacts,
) -> Vec<EvidenceFinding> {
    let mut findings = Vec::new();
    let mut add = |kind: EvidenceKind, holds: Option<bool>| {
        findings.extend(holds.map(|holds| EvidenceFinding { kind, holds }));
    };
    add(EvidenceKind::Date, judge_by_date(clause, situation));
    add(EvidenceKind::Limit, judge_by_limit(clause, situation));
    if clause.bound.is_some() {
        add(EvidenceKind::Number, judge_by_number(clause, situation));
        return findings;
    }
    add(EvidenceKind::Number, judge_by_age(clause, situation));
    if !findings.is_empty() {
        return findings;
    }
    let mut add = |kind: EvidenceKind, holds: Option<bool>| {
        findings.extend(holds.map(|holds| EvidenceFinding { kind, holds }));
    };
    for holds in judge_by_flags(clause, situation) {
        add(EvidenceKind::Flag, holds.filter(|holds| !*holds || !clause.is_universal));
    }
    add(EvidenceKind::Choice, judge_by_choice(clause, situation));
    add(EvidenceKind::Opposite, judge_by_opposite(clause, situation));
    let (stated, denied) = judge_by_words(clause, situation);
    add(EvidenceKind::StatedWords, stated.then_some(true));
    add(EvidenceKind::DeniedWords, denied.then_some(false));
    findings
}

/// How the words of a clause relate to a word: `Same` if any means the same, else `Opposite` if any
/// excludes it.
fn relation_to_clause(name: &LexiconEntry, clause: &ConditionClause) -> WordRelation {
    let mut relation = WordRelation::Unrelated;
    for word in &clause.words {
        match word.entry.relation_to(name) {
            WordRelation::Same => return WordRelation::Same,
            WordRelation::Opposite => relation = WordRelation::Opposite,
            WordRelation::Unrelated => {}
        }
    }
    relation
}

/// Whether a fact says that something is present or was done; `None` when it says neither.
fn truth_of_fact(fact: &SituationFact) -> Option<bool> {
    match &fact.content {
        FactContent::Flag(yes) => Some(*yes),
        FactContent::List(count) => Some(*count > 0),
        FactContent::Number(quantity) => {
            let is_measure = quantity.unit.is_some_and(|unit| unit.dimension != "time");
            let is_whole = quantity.number.fract() == 0.0 && quantity.number >= 0.0;
            (is_whole && !is_measure).then_some(quantity.number > 0.0)
        }
        // `approved_by: ines` and `filed: 2026-11-06` both say that it was done.
        FactContent::Choice => {
            let is_participle =
                |word: &Arc<LexiconEntry>| word.spelling.len() > 4 && word.spelling.ends_with("ed");
            let says_who = fact.name.last().is_some_and(|word| word.is_any_of(&["by", "at", "on"]));
            let denies = fact.words.iter().any(|value_word| value_word.is_denied);
            let was_done = fact.name.iter().any(is_participle) && (says_who || fact.day.is_some());
            (was_done && !denies).then_some(true)
        }
        FactContent::FreeText => None,
    }
}

/// Judges by the facts that are true or false and that the clause names in the most words.
fn judge_by_flags(clause: &ConditionClause, situation: &SituationFacts) -> Vec<Option<bool>> {
    let mut found: Vec<(usize, Option<bool>)> = Vec::new();
    for fact in &situation.facts {
        let Some(is_true) = truth_of_fact(fact) else { continue };
        let mut is_inverted = false;
        let mut count = 0;
        let is_named = fact.topic_words().all(|name| {
            count += 1;
            match relation_to_clause(name, clause) {
                WordRelation::Same => true,
                WordRelation::Opposite => {
                    is_inverted = !is_inverted;
                    true
                }
                WordRelation::Unrelated => false,
            }
        });
        let concerns_fact = |word: &&ClauseWord| {
            fact.topic_words().any(|name| word.entry.relation_to(name) != WordRelation::Unrelated)
        };
        let has_no_content = clause.content_words().next().is_none();
        if count == 0
            || !is_named
            || !(has_no_content || clause.content_words().any(|word| concerns_fact(&word)))
        {
            continue;
        }
        found.push((count, judge_by_flag(clause, fact, situation, is_true, is_inverted)));
    }
    let most = found.iter().map(|(count, _)| *count).max().unwrap_or(0);
    let best = found.into_iter().filter(|(count, _)| *count == most);
    best.map(|(_, holds)| holds).collect()
}

/// Judges by one fact that the clause names. `is_inverted` says that the clause names its opposite.
fn judge_by_flag(
    clause: &ConditionClause,
    fact: &SituationFact,
    situation: &SituationFacts,
    is_true: bool,
    is_inverted: bool,
) -> Option<bool> {
    let is_of_fact = |word: &ClauseWord| {
        let mut names = fact.name.iter().chain(&fact.enclosing);
        names.any(|name| word.entry.relation_to(name) != WordRelation::Unrelated)
    };
    let is_place = |word: &ClauseWord| word.entry.is_any_of(&["inside", "within"]);
    let rest: Vec<&ClauseWord> = clause
        .content_words()
        .filter(|word| !is_of_fact(word) && !word.entry.is_presence && !is_place(word))
        .collect();
    if is_true {
        // `personal data` is more than `data`: the words beside the fact's own name count as well.
        let names_subject = clause.words.iter().any(|word| {
            word.is_subject && fact.topic_words().any(|name| word.entry.means_same_as(name))
        });
        let in_list =
            |word: &ClauseWord| fact.words.iter().any(|one| word.entry.means_same_as(&one.entry));
        let is_covered = |word: &&ClauseWord| {
            let is_list = matches!(fact.content, FactContent::List(_));
            let is_other = word.is_subject && (!names_subject || word.entry.is_person);
            is_other || if is_list { in_list(word) } else { is_stated(&word.entry, situation) }
        };
        return (rest.iter().all(is_covered) && !clause.is_vague).then_some(!is_inverted);
    }
    let is_clear = rest.iter().all(|word| word.is_subject || !word.entry.can_describe_absence());
    if is_inverted {
        return (is_clear && rest.iter().all(|word| word.is_subject)).then_some(true);
    }
    is_clear.then_some(false)
}

/// Whether a value states a word, neither denied nor left open.
fn is_stated(word: &LexiconEntry, situation: &SituationFacts) -> bool {
    let states = |value_word: &ValueWord| {
        !value_word.is_denied && !value_word.is_open && word.means_same_as(&value_word.entry)
    };
    situation.facts.iter().any(|fact| !fact.is_intent && fact.words.iter().any(states))
}

/// Judges by the values of facts that the clause names: yes when the clause states the value, no when
/// it states something that the value excludes.
fn judge_by_choice(clause: &ConditionClause, situation: &SituationFacts) -> Option<bool> {
    let mut answer = None;
    for fact in situation
        .facts
        .iter()
        .filter(|fact| matches!(fact.content, FactContent::Choice | FactContent::List(_)))
    {
        let words = clause.words.iter().map(|word| &*word.entry);
        if !fact.is_named_by(words) || fact.words.is_empty() {
            continue;
        }
        let is_of_name = |word: &ClauseWord| {
            fact.name.iter().chain(&fact.enclosing).any(|name| word.entry.means_same_as(name))
        };
        let rest: Vec<&ClauseWord> = clause
            .content_words()
            .filter(|word| !is_of_name(word) && !word.entry.is_presence)
            .collect();
        let Some(holds) = judge_by_value(&rest, fact, clause) else { continue };
        if answer.is_some_and(|answer| answer != holds) {
            return None;
        }
        answer = Some(holds);
    }
    answer
}

/// Judges by the value of one fact. `rest` are the clause's words beside the fact's name.
fn judge_by_value(
    rest: &[&ClauseWord],
    fact: &SituationFact,
    clause: &ConditionClause,
) -> Option<bool> {
    if rest.is_empty() || clause.is_vague {
        return None;
    }
    let find_related = |word: &ClauseWord, relation: WordRelation| {
        fact.words.iter().find(|value_word| {
            word.entry.relation_to(&value_word.entry) == relation && !value_word.is_open
        })
    };
    // In `the target is the main branch` the subject need not be a fact.
    let named_later = clause.words.iter().any(|word| {
        !word.is_subject && fact.topic_words().any(|name| word.entry.means_same_as(name))
    });
    let later: Vec<&ClauseWord> = rest.iter().copied().filter(|word| !word.is_subject).collect();
    let rest = if named_later && !later.is_empty() { later.as_slice() } else { rest };
    let equal: Vec<Option<&ValueWord>> =
        rest.iter().map(|word| find_related(word, WordRelation::Same)).collect();
    if equal.iter().all(Option::is_some) {
        let is_denied = equal.iter().flatten().any(|value_word| value_word.is_denied);
        return (is_denied || !clause.is_universal).then_some(!is_denied);
    }
    if matches!(fact.content, FactContent::List(_)) {
        let [word] = rest else { return None };
        let is_other = find_related(word, WordRelation::Opposite).is_some()
            || clause.has_any(&["among", "amongst"]);
        return is_other.then_some(false);
    }
    let opposite = rest.iter().find_map(|word| {
        find_related(word, WordRelation::Opposite)
            .filter(|_| find_related(word, WordRelation::Same).is_none())
    });
    if let Some(value_word) = opposite {
        return (!value_word.is_denied).then_some(false);
    }
    // A name or code excludes every other one: `MIT` is not `GPL-3.0`.
    let is_code = |word: &LexiconEntry| word.spelling.contains(|c: char| c.is_ascii_digit());
    let says_name = rest.len() == 1 && (rest[0].is_proper_noun || is_code(&rest[0].entry));
    // That does not hold for facts about people and things in general, nor for words such as
    // `Italian`, which belong to a group of words that exclude each other.
    let has_generic_topic = fact.topic_words().any(|name| name.is_person || name.is_generic);
    let is_value = says_name && !rest[0].entry.excludes_others() && !has_generic_topic;
    (is_value && fact.is_name_or_code && fact.day.is_none()).then_some(false)
}

/// Judges by values that exclude a word of the clause, provided the situation covers its other words.
fn judge_by_opposite(clause: &ConditionClause, situation: &SituationFacts) -> Option<bool> {
    if clause.is_vague {
        return None;
    }
    for fact in situation.facts.iter().filter(|fact| !fact.is_intent) {
        let is_free = fact.content == FactContent::FreeText;
        if !matches!(fact.content, FactContent::Choice | FactContent::FreeText) {
            continue;
        }
        let in_fact = |word: &ClauseWord| {
            let states = |value_word: &ValueWord| {
                !value_word.is_denied
                    && !value_word.is_open
                    && word.entry.means_same_as(&value_word.entry)
            };
            fact.words.iter().any(states)
        };
        let in_name = |word: &ClauseWord| {
            fact.name.iter().chain(&fact.enclosing).any(|name| word.entry.means_same_as(name))
        };
        let excluded = |word: &&ClauseWord| {
            let excludes = |value_word: &ValueWord| {
                !value_word.is_denied
                    && !value_word.is_open
                    && word.entry.relation_to(&value_word.entry) == WordRelation::Opposite
            };
            fact.words.iter().any(excludes) && !is_stated(&word.entry, situation)
        };
        let mut excluded_words = clause.content_words().filter(excluded);
        let Some(excluded_word) = excluded_words.next() else { continue };
        let others: Vec<&ClauseWord> =
            clause.content_words().filter(|word| !std::ptr::eq(*word, excluded_word)).collect();
        let is_state = !is_free && fact.name.iter().any(|word| word.is_any_of(STATE_FACT_NAMES));
        let covered = |word: &ClauseWord| {
            in_fact(word)
                || in_name(word)
                || is_state && word.is_subject
                || !is_free && is_stated_or_named(&word.entry, situation)
        };
        let is_topic = !is_free || others.iter().any(|word| in_fact(word));
        if is_topic && others.iter().all(|word| covered(word)) {
            return Some(false);
        }
    }
    None
}

fn is_stated_or_named(word: &LexiconEntry, situation: &SituationFacts) -> bool {
    let named = |fact: &SituationFact| {
        fact.name.iter().chain(&fact.enclosing).any(|name| word.means_same_as(name))
    };
    is_stated(word, situation) || situation.facts.iter().any(named)
}

/// Whether the situation states all words of the clause, and whether it mentions all and denies some.
fn judge_by_words(clause: &ConditionClause, situation: &SituationFacts) -> (bool, bool) {
    if clause.is_vague || is_about_another_value(clause, situation) {
        return (false, false);
    }
    let (mut by_value, mut denied, mut missing) = (0, 0, 0);
    for word in clause.content_words() {
        let mut occurrences =
            situation.facts.iter().filter(|fact| !fact.is_intent).flat_map(|fact| {
                fact.words.iter().filter(|value_word| word.entry.means_same_as(&value_word.entry))
            });
        let first = occurrences.next();
        let named = |fact: &SituationFact| {
            fact.name.iter().any(|name| word.entry.means_same_as(name))
                && truth_of_fact(fact) != Some(false)
        };
        let is_named = situation.facts.iter().any(named);
        let flagged = |fact: &SituationFact| {
            matches!(fact.content, FactContent::Flag(true) | FactContent::List(1..))
                && fact.name.iter().any(|name| word.entry.means_same_as(name))
        };
        match first {
            Some(one) if one.is_denied && occurrences.all(|one| one.is_denied) => denied += 1,
            Some(one) if !one.is_open => by_value += 1,
            _ if situation.facts.iter().any(flagged) => by_value += 1,
            _ if is_named => {}
            _ if word.entry.is_presence || word.is_subject && word.entry.is_person => {}
            _ => missing += 1,
        }
    }
    let holds = missing == 0 && denied == 0 && by_value > 0 && !clause.is_universal;
    (holds, missing == 0 && denied > 0)
}

/// Whether the clause names a fact with a short value but does not mention that value. Then the words
/// that the situation states belong to something else, as in `allergic to ibuprofen` beside an
/// allergy to penicillin.
fn is_about_another_value(clause: &ConditionClause, situation: &SituationFacts) -> bool {
    situation.facts.iter().any(|fact| {
        let is_short = matches!(fact.content, FactContent::Choice | FactContent::List(1..));
        let words =
            clause.words.iter().filter(|word| !word.entry.is_generic).map(|word| &*word.entry);
        let says = |value_word: &ValueWord| {
            clause.words.iter().any(|word| word.entry.means_same_as(&value_word.entry))
        };
        is_short && fact.day.is_none() && fact.is_named_by(words) && !fact.words.iter().any(says)
    })
}
