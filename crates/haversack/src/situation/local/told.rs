//! What a situation tells, fact by fact.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::moment::{Day, minute};
use super::number::{Quantity, Unit, quantity};
use super::token::{Token, digits, spaced, tokens};
use super::word::{Lexicon, Word};
use super::words::{AYE, CODES, FREE_TEXT, HEDGES, NEGATIONS, NIL};

/// Facts that are looked at, and words of each.
const FACTS_MAX: usize = 256;
const WORDS_MAX: usize = 256;
/// Values of more words than this are free text.
const CHOICE_WORDS_MAX: usize = 4;
/// How deep a fact may stand in objects: what is deeper says little.
const DEPTH_MAX: usize = 8;
/// How far a negation reaches in a clause, in words.
const REACH: usize = 5;

/// A word of a value.
#[derive(Debug, Clone)]
pub(super) struct Spoken {
    pub(super) word: Arc<Word>,
    /// Whether the text denies it, as in `no fever`.
    pub(super) is_denied: bool,
    /// Whether the text leaves it open, as in `whether it is closed`.
    pub(super) is_open: bool,
}

/// What a fact holds.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Held {
    /// True or false; nothing at all is false.
    Flag(bool),
    Number(Quantity),
    /// So many of a thing.
    List(usize),
    /// One of several choices.
    Choice,
    /// Free text.
    Free,
}

/// One thing that a situation tells.
#[derive(Debug)]
pub(super) struct Fact {
    /// The words of its own name, such as `files`, `changed`.
    pub(super) name: Vec<Arc<Word>>,
    /// The words of the names around it.
    pub(super) around: Vec<Arc<Word>>,
    pub(super) held: Held,
    /// The words of its value.
    pub(super) words: Vec<Spoken>,
    /// Numbers inside of a text, with what they are measured in.
    pub(super) quantities: Vec<Quantity>,
    /// `2 to 8` in a text: the ends, in minutes for times of day.
    pub(super) range: Option<(f64, f64)>,
    /// Whether the value is written like a name or a code.
    pub(super) is_proper: bool,
    pub(super) day: Option<Day>,
    pub(super) minute: Option<u32>,
    /// Whether it says what is to be done rather than what is so.
    pub(super) is_intent: bool,
}

impl Fact {
    /// The words of its name that say what it is about.
    pub(super) fn core(&self) -> impl Iterator<Item = &Arc<Word>> {
        let is_all_filler = self.name.iter().all(|word| word.is_filler);
        let unit = |word: &Arc<Word>| Unit::of(&word.spelling).is_some();
        let is_number = matches!(self.held, Held::Number(_));
        self.name
            .iter()
            .filter(move |word| is_all_filler || !(word.is_filler || is_number && unit(word)))
    }

    /// Whether every word of its name that says something stands among some words.
    pub(super) fn is_named_by<'w>(
        &self,
        mut words: impl Iterator<Item = &'w Word> + Clone,
    ) -> bool {
        let mut core = self.core().peekable();
        let is_there = core.peek().is_some();
        is_there
            && core.all(|name| words.clone().any(|word| word.is_same(name)))
            && words.next().is_some()
    }
}

/// What a situation tells.
#[derive(Debug, Default)]
pub(super) struct Told {
    pub(super) facts: Vec<Fact>,
    /// What day it is: what the situation says, or else the time of the request.
    pub(super) today: Option<Day>,
}

impl Told {
    pub(super) fn read(
        situation: &Map<String, Value>,
        now: Option<i64>,
        lexicon: &mut Lexicon,
    ) -> Told {
        let mut told = Told { facts: Vec::new(), today: None };
        for (name, value) in situation {
            told.add(&[], name, value, lexicon);
        }
        let says_today = |fact: &&Fact| {
            fact.name.iter().any(|word| word.is(&["today", "now", "heute"])) && fact.name.len() <= 2
        };
        let said = told.facts.iter().find(says_today).and_then(|fact| fact.day);
        told.today = said.or(now.map(Day::of_millis));
        told.facts.retain(|fact| !says_today(&fact));
        told
    }

    fn add(&mut self, around: &[&str], name: &str, value: &Value, lexicon: &mut Lexicon) {
        if self.facts.len() >= FACTS_MAX {
            return;
        }
        let (held, text) = match value {
            Value::Object(object) => {
                let around: Vec<&str> = around.iter().copied().chain([name]).collect();
                if around.len() < DEPTH_MAX {
                    for (inner, value) in object {
                        self.add(&around, inner, value, lexicon);
                    }
                }
                return;
            }
            Value::Array(entries) => {
                for entry in entries.iter().filter(|entry| entry.is_object()) {
                    self.add(around, name, entry, lexicon);
                }
                let texts: Vec<String> = entries.iter().filter_map(plain).collect();
                (Held::List(entries.len()), texts.join(", "))
            }
            Value::Null => (Held::Flag(false), String::new()),
            Value::Bool(yes) => (Held::Flag(*yes), String::new()),
            Value::Number(number) => {
                let number = number.as_f64().unwrap_or(0.0);
                (Held::Number(Quantity { number, unit: unit(name) }), String::new())
            }
            Value::String(text) => (held(name, text), text.clone()),
        };
        let fact = fact(around, name, held, &text, lexicon);
        self.facts.push(fact);
    }
}

fn plain(entry: &Value) -> Option<String> {
    match entry {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// What a text is: a flag, a number, a choice or free text.
fn held(name: &str, text: &str) -> Held {
    let bare = text.trim().to_lowercase();
    if bare.is_empty() || NIL.contains(&bare.as_str()) {
        return Held::Flag(false);
    }
    if AYE.contains(&bare.as_str()) {
        return Held::Flag(true);
    }
    if let Some(number) = digits(&bare) {
        return Held::Number(Quantity { number, unit: unit(name) });
    }
    let tokens = tokens(text);
    if tokens.len() == 2
        && let Some((quantity, 2)) = quantity(&tokens)
    {
        return Held::Number(quantity);
    }
    let is_free = FREE_TEXT.contains(&spaced(name).as_str()) || tokens.len() > CHOICE_WORDS_MAX;
    if is_free { Held::Free } else { Held::Choice }
}

/// What a number of that name is measured in.
fn unit(name: &str) -> Option<Unit> {
    let name = spaced(name);
    // `gb_per_day` is measured in neither.
    let is_rate = name.split(' ').any(|word| word == "per");
    name.split(' ').rev().find_map(Unit::of).filter(|_| !is_rate)
}

fn fact(around: &[&str], name: &str, held: Held, text: &str, lexicon: &mut Lexicon) -> Fact {
    let own = tokens(&spaced(name));
    let outer: Vec<Token> = around.iter().flat_map(|name| tokens(&spaced(name))).collect();
    let value = tokens(text);
    let is_negation =
        |token: &Token| NEGATIONS.contains(&token.word.as_str()) || token.word.ends_with("n't");
    Fact {
        name: own.iter().map(|token| lexicon.word(&token.word)).collect(),
        around: lexicon.words(&outer),
        words: spoken(&value, is_negation, lexicon),
        is_proper: text.starts_with(char::is_uppercase)
            || text.contains(|c: char| c.is_ascii_digit()),
        quantities: (0..value.len())
            .filter(|at| value[*at].number.is_some())
            .filter_map(|at| quantity(&value[at..]).map(|(quantity, _)| quantity))
            .filter(|quantity| quantity.unit.is_some())
            .collect(),
        range: range(&value),
        day: Day::parse(text.trim()),
        minute: minute(text.trim()),
        is_intent: around.is_empty() && name == "intent",
        held,
    }
}

/// The words of a value, each with whether it is denied or left open.
fn spoken(
    value: &[Token],
    is_negation: impl Fn(&Token) -> bool,
    lexicon: &mut Lexicon,
) -> Vec<Spoken> {
    let mut words = Vec::new();
    let (mut denied, mut open) = (0, false);
    let mut clause = 0;
    let are_codes = value.iter().all(|token| token.word.len() == 2);
    for token in value.iter().take(WORDS_MAX) {
        let is_code = token.word.len() == 2 && (are_codes || token.is_name || token.mark.is_some());
        let code = CODES.iter().find(|(code, _)| is_code && *code == token.word);
        if let Some((_, meant)) = code {
            words.push(Spoken { word: lexicon.word(meant), is_denied: false, is_open: open });
        } else if is_negation(token) {
            denied = REACH;
        } else {
            open |= token.is(HEDGES);
            if !token.is_function() {
                let (word, is_denied) = (lexicon.word(&token.word), denied > 0);
                words.push(Spoken { word, is_denied, is_open: open });
            }
            denied = denied.saturating_sub(1);
        }
        if token.is(&["but", "aber"]) {
            denied = 0;
        }
        if let Some(mark) = token.mark {
            if mark == '?' {
                words[clause..].iter_mut().for_each(|word| word.is_open = true);
            }
            (denied, open) = (0, open && mark == ',');
            clause = words.len();
        }
    }
    words
}

/// `2 to 8`, `20:00 to 23:30`.
fn range(value: &[Token]) -> Option<(f64, f64)> {
    let end = |token: &Token| token.number.or_else(|| minute(&token.word).map(f64::from));
    value.windows(3).find_map(|three| {
        let joins = three[1].is(&["to", "and", "bis", "und"]);
        let (low, high) = (end(&three[0])?, end(&three[2])?);
        (joins && low < high).then_some((low, high))
    })
}
