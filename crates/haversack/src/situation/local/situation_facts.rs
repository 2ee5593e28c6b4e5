//! Reads a situation into facts that the local judge can compare with a condition.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::dates::{Day, parse_minute_of_day};
use super::lexicon::{Lexicon, LexiconEntry};
use super::quantity::{Quantity, Unit, parse_quantity};
use super::sentence_token::{SentenceToken, parse_digits, split_identifier, tokenize};
use super::word_lists::{FALSE_VALUES, FREE_TEXT_FACT_NAMES, HEDGES, LOCALE_CODES, TRUE_VALUES};

/// Most facts that are read.
const FACTS_MAX: usize = 256;
/// Most words that are read of one fact.
const WORDS_MAX: usize = 256;
/// Values of more words than this are free text.
const CHOICE_WORDS_MAX: usize = 4;
/// How deep a fact may be nested in objects; deeper ones say little and are not read.
const DEPTH_MAX: usize = 8;
/// How many of the following words of a clause a negation covers.
const NEGATION_WORDS: usize = 5;

/// A word of a fact's value.
#[derive(Debug, Clone)]
pub(super) struct ValueWord {
    pub(super) entry: Arc<LexiconEntry>,
    /// Whether the text denies it, as in `no fever`.
    pub(super) is_denied: bool,
    /// Whether the text leaves it open, as in `whether it is closed`.
    pub(super) is_open: bool,
}

/// The value of a fact, by type.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum FactContent {
    /// True or false; `null` and an empty text are false.
    Flag(bool),
    Number(Quantity),
    /// A list, with its number of entries.
    List(usize),
    /// A short text: one of several choices.
    Choice,
    /// Free text.
    FreeText,
}

/// One fact of a situation.
#[derive(Debug)]
pub(super) struct SituationFact {
    /// The words of its own name, such as `files`, `changed`.
    pub(super) name: Vec<Arc<LexiconEntry>>,
    /// The words of the names of the objects that contain it.
    pub(super) enclosing: Vec<Arc<LexiconEntry>>,
    pub(super) content: FactContent,
    /// The words of its value.
    pub(super) words: Vec<ValueWord>,
    /// Numbers with units inside a text.
    pub(super) quantities: Vec<Quantity>,
    /// The ends of a range in a text, such as `2 to 8`; in minutes for times of day.
    pub(super) range: Option<(f64, f64)>,
    /// Whether the value looks like a name or a code.
    pub(super) is_name_or_code: bool,
    pub(super) day: Option<Day>,
    pub(super) minute_of_day: Option<u32>,
    /// Whether it says what is to be done rather than what is the case.
    pub(super) is_intent: bool,
}

impl SituationFact {
    /// The words of its name that say what it is about.
    pub(super) fn topic_words(&self) -> impl Iterator<Item = &Arc<LexiconEntry>> {
        let is_all_filler = self.name.iter().all(|word| word.is_filler);
        let unit = |word: &Arc<LexiconEntry>| Unit::from_name(&word.spelling).is_some();
        let is_number = matches!(self.content, FactContent::Number(_));
        self.name
            .iter()
            .filter(move |word| is_all_filler || !(word.is_filler || is_number && unit(word)))
    }

    /// Whether some words include every topic word of its name.
    pub(super) fn is_named_by<'w>(
        &self,
        mut words: impl Iterator<Item = &'w LexiconEntry> + Clone,
    ) -> bool {
        let mut topic = self.topic_words().peekable();
        let has_topic = topic.peek().is_some();
        has_topic
            && topic.all(|name| words.clone().any(|word| word.means_same_as(name)))
            && words.next().is_some()
    }
}

/// All facts of a situation.
#[derive(Debug, Default)]
pub(super) struct SituationFacts {
    pub(super) facts: Vec<SituationFact>,
    /// The current day: the one that the situation states, else that of the request.
    pub(super) today: Option<Day>,
}

impl SituationFacts {
    /// Reads the facts of a situation, nested objects included. `now` is in milliseconds.
    pub(super) fn read(
        situation: &Map<String, Value>,
        now: Option<i64>,
        lexicon: &mut Lexicon,
    ) -> SituationFacts {
        let mut all = SituationFacts { facts: Vec::new(), today: None };
        for (name, value) in situation {
            all.add(&[], name, value, lexicon);
        }
        let says_today = |fact: &&SituationFact| {
            fact.name.iter().any(|word| word.is_any_of(&["today", "now", "heute"]))
                && fact.name.len() <= 2
        };
        let stated = all.facts.iter().find(says_today).and_then(|fact| fact.day);
        all.today = stated.or(now.map(Day::of_millis));
        all.facts.retain(|fact| !says_today(&fact));
        all
    }

    fn add(&mut self, enclosing: &[&str], name: &str, value: &Value, lexicon: &mut Lexicon) {
        if self.facts.len() >= FACTS_MAX {
            return;
        }
        let (content, text) = match value {
            Value::Object(object) => {
                let enclosing: Vec<&str> = enclosing.iter().copied().chain([name]).collect();
                if enclosing.len() < DEPTH_MAX {
                    for (inner, value) in object {
                        self.add(&enclosing, inner, value, lexicon);
                    }
                }
                return;
            }
            Value::Array(entries) => {
                for entry in entries.iter().filter(|entry| entry.is_object()) {
                    self.add(enclosing, name, entry, lexicon);
                }
                let texts: Vec<String> = entries.iter().filter_map(entry_text).collect();
                (FactContent::List(entries.len()), texts.join(", "))
            }
            Value::Null => (FactContent::Flag(false), String::new()),
            Value::Bool(yes) => (FactContent::Flag(*yes), String::new()),
            Value::Number(number) => {
                let number = number.as_f64().unwrap_or(0.0);
                (FactContent::Number(Quantity { number, unit: unit_in_name(name) }), String::new())
            }
            Value::String(text) => (classify_text(name, text), text.clone()),
        };
        let fact = build_fact(enclosing, name, content, &text, lexicon);
        self.facts.push(fact);
    }
}

/// The text of a list's entry that is a text or a number.
fn entry_text(entry: &Value) -> Option<String> {
    match entry {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// Classifies a text as a flag, a number, a choice or free text.
fn classify_text(name: &str, text: &str) -> FactContent {
    let bare = text.trim().to_lowercase();
    if bare.is_empty() || FALSE_VALUES.contains(&bare.as_str()) {
        return FactContent::Flag(false);
    }
    if TRUE_VALUES.contains(&bare.as_str()) {
        return FactContent::Flag(true);
    }
    if let Some(number) = parse_digits(&bare) {
        return FactContent::Number(Quantity { number, unit: unit_in_name(name) });
    }
    let tokens = tokenize(text);
    if tokens.len() == 2
        && let Some((quantity, 2)) = parse_quantity(&tokens)
    {
        return FactContent::Number(quantity);
    }
    let is_free = FREE_TEXT_FACT_NAMES.contains(&split_identifier(name).as_str())
        || tokens.len() > CHOICE_WORDS_MAX;
    if is_free { FactContent::FreeText } else { FactContent::Choice }
}

/// The unit that the name of a fact ends with or contains.
fn unit_in_name(name: &str) -> Option<Unit> {
    let name = split_identifier(name);
    // `gb_per_day` is measured in neither of its units.
    let is_rate = name.split(' ').any(|word| word == "per");
    name.split(' ').rev().find_map(Unit::from_name).filter(|_| !is_rate)
}

fn build_fact(
    enclosing: &[&str],
    name: &str,
    content: FactContent,
    text: &str,
    lexicon: &mut Lexicon,
) -> SituationFact {
    let own = tokenize(&split_identifier(name));
    let outer: Vec<SentenceToken> =
        enclosing.iter().flat_map(|name| tokenize(&split_identifier(name))).collect();
    let value = tokenize(text);
    SituationFact {
        name: own.iter().map(|token| lexicon.entry(&token.word)).collect(),
        enclosing: lexicon.content_entries(&outer),
        words: value_words(&value, lexicon),
        is_name_or_code: text.starts_with(char::is_uppercase)
            || text.contains(|c: char| c.is_ascii_digit()),
        quantities: (0..value.len())
            .filter(|at| value[*at].number.is_some())
            .filter_map(|at| parse_quantity(&value[at..]).map(|(quantity, _)| quantity))
            .filter(|quantity| quantity.unit.is_some())
            .collect(),
        range: find_range(&value),
        day: Day::parse(text.trim()),
        minute_of_day: parse_minute_of_day(text.trim()),
        is_intent: enclosing.is_empty() && name == "intent",
        content,
    }
}

/// The words of a value, each marked as denied or left open where the text does so.
fn value_words(value: &[SentenceToken], lexicon: &mut Lexicon) -> Vec<ValueWord> {
    let mut words = Vec::new();
    let (mut denied, mut open) = (0, false);
    let mut clause = 0;
    let are_codes = value.iter().all(|token| token.word.len() == 2);
    for token in value.iter().take(WORDS_MAX) {
        let is_code = token.word.len() == 2
            && (are_codes || token.is_proper_noun || token.punctuation.is_some());
        let code = LOCALE_CODES.iter().find(|(code, _)| is_code && *code == token.word);
        if let Some((_, meaning)) = code {
            words.push(ValueWord {
                entry: lexicon.entry(meaning),
                is_denied: false,
                is_open: open,
            });
        } else if token.is_negation() {
            denied = NEGATION_WORDS;
        } else {
            open |= token.is_any_of(HEDGES);
            if !token.is_function_word() {
                let (entry, is_denied) = (lexicon.entry(&token.word), denied > 0);
                words.push(ValueWord { entry, is_denied, is_open: open });
            }
            denied = denied.saturating_sub(1);
        }
        if token.is_any_of(&["but", "aber"]) {
            denied = 0;
        }
        if let Some(punctuation) = token.punctuation {
            if punctuation == '?' {
                words[clause..].iter_mut().for_each(|word| word.is_open = true);
            }
            (denied, open) = (0, open && punctuation == ',');
            clause = words.len();
        }
    }
    words
}

/// Finds a range such as `2 to 8` or `20:00 to 23:30`.
fn find_range(value: &[SentenceToken]) -> Option<(f64, f64)> {
    let end = |token: &SentenceToken| {
        token.number.or_else(|| parse_minute_of_day(&token.word).map(f64::from))
    };
    value.windows(3).find_map(|three| {
        let joins = three[1].is_any_of(&["to", "and", "bis", "und"]);
        let (low, high) = (end(&three[0])?, end(&three[2])?);
        (joins && low < high).then_some((low, high))
    })
}
