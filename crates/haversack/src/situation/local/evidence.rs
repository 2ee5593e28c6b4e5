//! What speaks for a claim and what speaks against it: flags, choices, opposites, words.
//!
//! Each witness looks for one sort of evidence and keeps silent where it has none. Whoever asks
//! them believes them only if none contradicts another.

use std::sync::Arc;

use super::claim::{Claim, Said};
use super::measure;
use super::moments;
use super::told::{Fact, Held, Spoken, Told};
use super::word::{Bond, Word};
use super::words::STATES;

/// Which sort of evidence it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Sort {
    /// A number against a bound of the condition.
    Number,
    /// A number against another one, or a range, of the situation.
    Limit,
    /// A day or a time of day.
    Moment,
    /// What is true or false, there or not.
    Flag,
    /// The value of a fact that the condition names.
    Choice,
    /// A word that excludes what the condition says.
    Opposite,
    /// All the condition's words are told.
    Words,
    /// All the condition's words are told, and denied.
    Denied,
}

/// What a witness says of a claim.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Finding {
    pub(super) sort: Sort,
    pub(super) holds: bool,
}

/// What all witnesses say of a claim.
pub(super) fn findings(claim: &Claim, told: &Told) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut add = |sort: Sort, holds: Option<bool>| {
        findings.extend(holds.map(|holds| Finding { sort, holds }));
    };
    add(Sort::Moment, moments::judge(claim, told));
    add(Sort::Limit, measure::limit(claim, told));
    if claim.bound.is_some() {
        add(Sort::Number, measure::number(claim, told));
        return findings;
    }
    add(Sort::Number, measure::age(claim, told));
    if !findings.is_empty() {
        return findings;
    }
    let mut add = |sort: Sort, holds: Option<bool>| {
        findings.extend(holds.map(|holds| Finding { sort, holds }));
    };
    for holds in flags(claim, told) {
        add(Sort::Flag, holds.filter(|holds| !*holds || !claim.is_universal));
    }
    add(Sort::Choice, choice(claim, told));
    add(Sort::Opposite, opposite(claim, told));
    let (words, denied) = words(claim, told);
    add(Sort::Words, words.then_some(true));
    add(Sort::Denied, denied.then_some(false));
    findings
}

fn is_said(name: &Word, claim: &Claim) -> Bond {
    let mut bond = Bond::None;
    for said in &claim.said {
        match said.word.bond(name) {
            Bond::Same => return Bond::Same,
            Bond::Opposite => bond = Bond::Opposite,
            Bond::None => {}
        }
    }
    bond
}

/// Whether a fact says that something is there or was done. `None` when it says neither.
fn truth(fact: &Fact) -> Option<bool> {
    match &fact.held {
        Held::Flag(yes) => Some(*yes),
        Held::List(count) => Some(*count > 0),
        Held::Number(quantity) => {
            let is_measure = quantity.unit.is_some_and(|unit| unit.dimension != "time");
            let is_whole = quantity.number.fract() == 0.0 && quantity.number >= 0.0;
            (is_whole && !is_measure).then_some(quantity.number > 0.0)
        }
        // `approved_by: ines`, `filed: 2026-11-06`: whoever did it, it was done.
        Held::Choice => {
            let is_deed =
                |word: &Arc<Word>| word.spelling.len() > 4 && word.spelling.ends_with("ed");
            let says_who = fact.name.last().is_some_and(|word| word.is(&["by", "at", "on"]));
            let denies = fact.words.iter().any(|spoken| spoken.is_denied);
            let is_deed = fact.name.iter().any(is_deed) && (says_who || fact.day.is_some());
            (is_deed && !denies).then_some(true)
        }
        Held::Free => None,
    }
}

/// What facts that are true or false say, when the claim names them.
fn flags(claim: &Claim, told: &Told) -> Vec<Option<bool>> {
    let mut found: Vec<(usize, Option<bool>)> = Vec::new();
    for fact in &told.facts {
        let Some(is_true) = truth(fact) else { continue };
        let mut is_turned = false;
        let mut count = 0;
        let is_named = fact.core().all(|name| {
            count += 1;
            match is_said(name, claim) {
                Bond::Same => true,
                Bond::Opposite => {
                    is_turned = !is_turned;
                    true
                }
                Bond::None => false,
            }
        });
        let weighs = |said: &&Said| fact.core().any(|name| said.word.bond(name) != Bond::None);
        let is_light = claim.content().next().is_none();
        if count == 0 || !is_named || !(is_light || claim.content().any(|said| weighs(&said))) {
            continue;
        }
        found.push((count, flag(claim, fact, told, is_true, is_turned)));
    }
    let most = found.iter().map(|(count, _)| *count).max().unwrap_or(0);
    let best = found.into_iter().filter(|(count, _)| *count == most);
    best.map(|(_, holds)| holds).collect()
}

/// What one fact says whose name the claim holds.
fn flag(claim: &Claim, fact: &Fact, told: &Told, is_true: bool, is_turned: bool) -> Option<bool> {
    let is_of_fact = |said: &Said| {
        let mut names = fact.name.iter().chain(&fact.around);
        names.any(|name| said.word.bond(name) != Bond::None)
    };
    let is_place = |said: &Said| said.word.is(&["inside", "within"]);
    let rest: Vec<&Said> = claim
        .content()
        .filter(|said| !is_of_fact(said) && !said.word.is_presence && !is_place(said))
        .collect();
    if is_true {
        // `personal data` is more than `data`: what stands beside the fact's own name counts.
        let names_subject = claim
            .said
            .iter()
            .any(|said| said.is_subject && fact.core().any(|name| said.word.is_same(name)));
        let in_list = |said: &Said| fact.words.iter().any(|one| said.word.is_same(&one.word));
        let is_told = |said: &&Said| {
            let is_list = matches!(fact.held, Held::List(_));
            let is_other = said.is_subject && (!names_subject || said.word.is_person);
            is_other || if is_list { in_list(said) } else { is_told(&said.word, told) }
        };
        return (rest.iter().all(is_told) && !claim.is_vague).then_some(!is_turned);
    }
    let is_clear = rest.iter().all(|said| said.is_subject || !said.word.is_absence());
    if is_turned {
        return (is_clear && rest.iter().all(|said| said.is_subject)).then_some(true);
    }
    is_clear.then_some(false)
}

/// Whether a word stands in a value that is neither denied nor left open.
fn is_told(word: &Word, told: &Told) -> bool {
    let says = |spoken: &Spoken| !spoken.is_denied && !spoken.is_open && word.is_same(&spoken.word);
    told.facts.iter().any(|fact| !fact.is_intent && fact.words.iter().any(says))
}

/// What the value of a fact that the claim names says: yes when the claim says the value, no when it
/// says something that cannot be true beside it.
fn choice(claim: &Claim, told: &Told) -> Option<bool> {
    let mut said = None;
    for fact in told.facts.iter().filter(|fact| matches!(fact.held, Held::Choice | Held::List(_))) {
        let words = claim.said.iter().map(|said| &*said.word);
        if !fact.is_named_by(words) || fact.words.is_empty() {
            continue;
        }
        let is_name =
            |said: &Said| fact.name.iter().chain(&fact.around).any(|name| said.word.is_same(name));
        let rest: Vec<&Said> =
            claim.content().filter(|said| !is_name(said) && !said.word.is_presence).collect();
        let Some(holds) = value(&rest, fact, claim) else { continue };
        if said.is_some_and(|said| said != holds) {
            return None;
        }
        said = Some(holds);
    }
    said
}

fn value(rest: &[&Said], fact: &Fact, claim: &Claim) -> Option<bool> {
    if rest.is_empty() || claim.is_vague {
        return None;
    }
    let spoken = |said: &Said, bond: Bond| {
        fact.words.iter().find(|spoken| said.word.bond(&spoken.word) == bond && !spoken.is_open)
    };
    // `the target is the main branch`: what is spoken of need not be a fact.
    let named_later = claim
        .said
        .iter()
        .any(|said| !said.is_subject && fact.core().any(|name| said.word.is_same(name)));
    let later: Vec<&Said> = rest.iter().copied().filter(|said| !said.is_subject).collect();
    let rest = if named_later && !later.is_empty() { later.as_slice() } else { rest };
    let equal: Vec<Option<&Spoken>> = rest.iter().map(|said| spoken(said, Bond::Same)).collect();
    if equal.iter().all(Option::is_some) {
        let is_denied = equal.iter().flatten().any(|spoken| spoken.is_denied);
        return (is_denied || !claim.is_universal).then_some(!is_denied);
    }
    if matches!(fact.held, Held::List(_)) {
        let [said] = rest else { return None };
        let is_other = spoken(said, Bond::Opposite).is_some() || claim.has(&["among", "amongst"]);
        return is_other.then_some(false);
    }
    let opposite = rest.iter().find_map(|said| {
        spoken(said, Bond::Opposite).filter(|_| spoken(said, Bond::Same).is_none())
    });
    if let Some(spoken) = opposite {
        return (!spoken.is_denied).then_some(false);
    }
    // Names and codes are what they are: `MIT` is not `GPL-3.0`.
    let is_code = |word: &Word| word.spelling.contains(|c: char| c.is_ascii_digit());
    let says_name = rest.len() == 1 && (rest[0].is_name || is_code(&rest[0].word));
    // Of people and things that have names, anything can be said; and `Italian` is no name.
    let is_of_name = fact.core().any(|name| name.is_person || name.is_generic);
    let is_value = says_name && !rest[0].word.has_rivals() && !is_of_name;
    (is_value && fact.is_proper && fact.day.is_none()).then_some(false)
}

/// Whether a value excludes a word of the claim, everything else being told or of no weight.
fn opposite(claim: &Claim, told: &Told) -> Option<bool> {
    if claim.is_vague {
        return None;
    }
    for fact in told.facts.iter().filter(|fact| !fact.is_intent) {
        let is_free = fact.held == Held::Free;
        if !matches!(fact.held, Held::Choice | Held::Free) {
            continue;
        }
        let in_fact = |said: &Said| {
            let stands = |spoken: &Spoken| {
                !spoken.is_denied && !spoken.is_open && said.word.is_same(&spoken.word)
            };
            fact.words.iter().any(stands)
        };
        let in_name =
            |said: &Said| fact.name.iter().chain(&fact.around).any(|name| said.word.is_same(name));
        let excluded = |said: &&Said| {
            let excludes = |spoken: &Spoken| {
                !spoken.is_denied
                    && !spoken.is_open
                    && said.word.bond(&spoken.word) == Bond::Opposite
            };
            fact.words.iter().any(excludes) && !is_told(&said.word, told)
        };
        let mut against = claim.content().filter(excluded);
        let Some(word) = against.next() else { continue };
        let others: Vec<&Said> =
            claim.content().filter(|said| !std::ptr::eq(*said, word)).collect();
        let is_state = !is_free && fact.name.iter().any(|word| word.is(STATES));
        let covered = |said: &Said| {
            in_fact(said)
                || in_name(said)
                || is_state && said.is_subject
                || !is_free && is_told_or_named(&said.word, told)
        };
        let is_topic = !is_free || others.iter().any(|said| in_fact(said));
        if is_topic && others.iter().all(|said| covered(said)) {
            return Some(false);
        }
    }
    None
}

fn is_told_or_named(word: &Word, told: &Told) -> bool {
    let named = |fact: &Fact| fact.name.iter().chain(&fact.around).any(|name| word.is_same(name));
    is_told(word, told) || told.facts.iter().any(named)
}

/// Whether all words of the claim are told, and whether they are told as denied.
fn words(claim: &Claim, told: &Told) -> (bool, bool) {
    if claim.is_vague || is_of_other(claim, told) {
        return (false, false);
    }
    let (mut by_value, mut denied, mut missing) = (0, 0, 0);
    for said in claim.content() {
        let mut spoken =
            told.facts.iter().filter(|fact| !fact.is_intent).flat_map(|fact| {
                fact.words.iter().filter(|spoken| said.word.is_same(&spoken.word))
            });
        let first = spoken.next();
        let named = |fact: &Fact| {
            fact.name.iter().any(|name| said.word.is_same(name)) && truth(fact) != Some(false)
        };
        let is_named = told.facts.iter().any(named);
        let flagged = |fact: &Fact| {
            matches!(fact.held, Held::Flag(true) | Held::List(1..))
                && fact.name.iter().any(|name| said.word.is_same(name))
        };
        match first {
            Some(one) if one.is_denied && spoken.all(|one| one.is_denied) => denied += 1,
            Some(one) if !one.is_open => by_value += 1,
            _ if told.facts.iter().any(flagged) => by_value += 1,
            _ if is_named => {}
            _ if said.word.is_presence || said.is_subject && said.word.is_person => {}
            _ => missing += 1,
        }
    }
    let holds = missing == 0 && denied == 0 && by_value > 0 && !claim.is_universal;
    (holds, missing == 0 && denied > 0)
}

/// Whether the claim names a fact with a short value and says nothing of that value: then the words
/// that are told belong to something else, as in `allergic to ibuprofen` beside an allergy to
/// penicillin.
fn is_of_other(claim: &Claim, told: &Told) -> bool {
    told.facts.iter().any(|fact| {
        let is_short = matches!(fact.held, Held::Choice | Held::List(1..));
        let words = claim.said.iter().filter(|said| !said.word.is_generic).map(|said| &*said.word);
        let says = |spoken: &Spoken| claim.said.iter().any(|said| said.word.is_same(&spoken.word));
        is_short && fact.day.is_none() && fact.is_named_by(words) && !fact.words.iter().any(says)
    })
}
