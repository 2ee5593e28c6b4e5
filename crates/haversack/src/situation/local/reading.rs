//! What a condition says and what a situation tells, in words that can be compared.

use std::collections::BTreeMap;
use std::sync::Arc;

use haversack_core::embed::{BuiltIn, Vector};
use haversack_core::text::terms::{Language, each_token};
use serde_json::{Map, Value};

use super::words::{
    COMPARISONS, CONCEPTS, FREE_TEXT, FUNCTION, GENERIC, NEGATIONS, NUMBERS, OPPOSITES, SPANS,
};

/// Facts that are looked at, and words of each.
const FACTS_MAX: usize = 256;
const WORDS_MAX: usize = 64;
/// Values of more words than this are free text.
const CHOICE_WORDS_MAX: usize = 3;
/// How deep a fact may stand in objects: what is deeper says little.
const DEPTH_MAX: usize = 8;
/// Bytes of a text that are looked at.
const TEXT_BYTES_MAX: usize = 2_048;

/// What a word such as `user` counts for beside others.
const GENERIC_WEIGHT: f64 = 0.3;
/// How near a sign is to what it stands for, and how near another word can be at most.
const SIGN_LIKENESS: f64 = 0.8;
const NEAR_MAX: f64 = 0.9;

/// Which way a comparison goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    Above,
    AtLeast,
    Below,
    AtMost,
    Equal,
}

/// A number that a condition names.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Comparison {
    pub(super) way: Way,
    pub(super) number: f64,
    /// Whether the number is a length of time, in days.
    pub(super) is_span: bool,
}

impl Comparison {
    pub(super) fn holds(self, value: f64) -> bool {
        let Comparison { way, number, .. } = self;
        match way {
            Way::Above => value > number,
            Way::AtLeast => value >= number,
            Way::Below => value < number,
            Way::AtMost => value <= number,
            Way::Equal => (value - number).abs() < 1e-9,
        }
    }
}

/// A word by its stem and its meaning.
#[derive(Debug)]
pub(super) struct Word {
    pub(super) spelling: String,
    pub(super) stem: String,
    vector: Vector,
    /// How much it matters: 1, or less for words such as `user`.
    pub(super) weight: f64,
    /// Which concepts it stands for, and which it is a sign of.
    stands_for: u32,
    sign_of: u32,
    /// A group of opposites it is in, and its slot there.
    opposite: Option<(usize, usize)>,
}

impl Word {
    fn new(spelling: &str) -> Word {
        let stem = stem(spelling);
        let bits = |of: &dyn Fn(usize) -> bool| {
            (0..CONCEPTS.len()).filter(|at| of(*at)).fold(0, |bits, at| bits | 1 << at)
        };
        let opposites = OPPOSITES.iter().enumerate().find_map(|(group, slots)| {
            let slot = slots.iter().position(|slot| slot.contains(&spelling))?;
            Some((group, slot))
        });
        Word {
            spelling: spelling.to_owned(),
            vector: BuiltIn::new().vector(spelling),
            weight: if is_generic(spelling) { GENERIC_WEIGHT } else { 1.0 },
            stem,
            stands_for: bits(&|at| CONCEPTS[at].0.contains(&spelling)),
            sign_of: bits(&|at| CONCEPTS[at].1.contains(&spelling)),
            opposite: opposites,
        }
    }

    /// Whether the word is a name or number that nothing but itself is like: `p1`, `4.2`, `a`.
    fn is_exact(&self) -> bool {
        self.spelling.len() <= 2 || self.spelling.contains(|c: char| c.is_ascii_digit())
    }

    /// Whether the two say the same but for inflection.
    pub(super) fn is_same(&self, other: &Word) -> bool {
        self.stem == other.stem || is_inflected(&self.stem, &other.stem)
    }

    /// How near a word of a situation is to this word of a condition: 1 for the same stem, nothing
    /// for opposites, else by what it is a sign of and by meaning.
    pub(super) fn likeness(&self, told: &Word) -> f64 {
        if self.is_same(told) {
            return 1.0;
        }
        match (self.opposite, told.opposite) {
            (Some((group, slot)), Some((other, told))) if group == other => {
                return if slot == told { 1.0 } else { 0.0 };
            }
            _ => {}
        }
        if self.is_exact() || told.is_exact() {
            return 0.0;
        }
        let sign = if self.stands_for & told.sign_of == 0 { 0.0 } else { SIGN_LIKENESS };
        f64::from(self.vector.dot(&told.vector)).clamp(sign, NEAR_MAX)
    }

    /// Whether a situation with that word says the opposite of this.
    pub(super) fn is_opposite(&self, told: &Word) -> bool {
        match (self.opposite, told.opposite) {
            (Some((group, slot)), Some((other, told))) => group == other && slot != told,
            _ => false,
        }
    }
}

/// Whether a word only names the setting, in whatever inflection.
fn is_generic(spelling: &str) -> bool {
    let endings = ["", "s", "es", "ed", "d", "ing"];
    let mut bases = endings.iter().filter_map(|ending| spelling.strip_suffix(ending));
    bases.any(|base| GENERIC.contains(&base))
}

/// A word without its inflection; a word without one stands for itself.
fn stem(spelling: &str) -> String {
    let mut stem = None;
    each_token(spelling, Language::English, |token| {
        if let Some(term) = token.term.filter(|_| token.end == spelling.len()) {
            stem.get_or_insert_with(|| term.to_owned());
        }
    });
    stem.unwrap_or_else(|| spelling.to_owned())
}

/// Whether one stem goes on where the other ends: `assign` and `assigne`.
fn is_inflected(one: &str, other: &str) -> bool {
    let (short, long) = if one.len() <= other.len() { (one, other) } else { (other, one) };
    short.len() >= 5 && long.len() - short.len() <= 3 && long.starts_with(short)
}

/// Words by their spelling, each looked up once.
#[derive(Debug, Default)]
pub(super) struct Lexicon {
    known: BTreeMap<String, Arc<Word>>,
}

impl Lexicon {
    fn word(&mut self, spelling: &str) -> Arc<Word> {
        if let Some(word) = self.known.get(spelling) {
            return Arc::clone(word);
        }
        let word = Arc::new(Word::new(spelling));
        self.known.insert(spelling.to_owned(), Arc::clone(&word));
        word
    }

    /// The words among these that carry meaning, each once.
    pub(super) fn words(&mut self, plain: &[String]) -> Vec<Arc<Word>> {
        let mut words: Vec<Arc<Word>> = Vec::new();
        for spelling in plain.iter().filter(|word| !FUNCTION.contains(&word.as_str())) {
            if words.len() < WORDS_MAX && !words.iter().any(|word| word.spelling == *spelling) {
                words.push(self.word(spelling));
            }
        }
        words
    }

    /// Every one of these.
    pub(super) fn all_words(&mut self, plain: &[String]) -> Vec<Arc<Word>> {
        plain.iter().map(|word| self.word(word)).collect()
    }
}

/// The plain words of a text, lower-cased, with their marks stripped.
pub(super) fn plain_words(text: &str) -> Vec<String> {
    let text = &text[..text.floor_char_boundary(TEXT_BYTES_MAX)];
    let text = text.to_lowercase().replace('’', "'");
    let inner = |c: char| c.is_alphanumeric() || matches!(c, '\'' | '.');
    let words = text.split(|c: char| !inner(c)).map(|word| word.trim_matches(['\'', '.']));
    words.filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

/// What a condition says.
#[derive(Debug)]
pub(super) struct Condition {
    pub(super) is_negated: bool,
    pub(super) comparison: Option<Comparison>,
    /// Every word, for names of facts.
    pub(super) all: Vec<Arc<Word>>,
    /// The words that carry meaning, without those of a negation or a comparison.
    pub(super) words: Vec<Arc<Word>>,
}

impl Condition {
    pub(super) fn read(text: &str, lexicon: &mut Lexicon) -> Condition {
        let mut plain = plain_words(text);
        let (comparison, taken) = comparison(&plain);
        let mut at = 0..;
        plain.retain(|_| !taken.contains(&at.next().unwrap_or(0)));
        let is_negation =
            |word: &String| NEGATIONS.contains(&word.as_str()) || word.ends_with("n't");
        let is_negated = plain.iter().filter(|word| is_negation(word)).count() % 2 == 1;
        plain.retain(|word| !is_negation(word));
        Condition {
            is_negated,
            comparison,
            words: lexicon.words(&plain),
            all: lexicon.all_words(&plain),
        }
    }
}

/// The first comparison with a number, and which words it is made of.
fn comparison(words: &[String]) -> (Option<Comparison>, Vec<usize>) {
    for start in 0..words.len() {
        for &(signs, way) in COMPARISONS {
            let matches = signs
                .iter()
                .enumerate()
                .all(|(at, sign)| words.get(start + at).is_some_and(|word| word == sign));
            if !matches {
                continue;
            }
            let after = start + signs.len();
            if let Some((number, is_span, used)) = number(&words[after..]) {
                let taken = (start..after + used).collect();
                return (Some(Comparison { way, number, is_span }), taken);
            }
        }
    }
    // A bare number is compared for equality: `version 4.2`, `the first attempt`.
    for start in 0..words.len() {
        let word = words[start].as_str();
        let written = ["one", "single", "first", "second", "third"].contains(&word);
        if let Some((number, is_span, used)) = number(&words[start..start + 1])
            && (written || word.starts_with(|c: char| c.is_ascii_digit()))
        {
            let taken = if written { (start..start + used).collect() } else { Vec::new() };
            return (Some(Comparison { way: Way::Equal, number, is_span }), taken);
        }
    }
    (None, Vec::new())
}

/// The number at the beginning of some words, and how many words it takes.
fn number(words: &[String]) -> Option<(f64, bool, usize)> {
    let skip = usize::from(words.first().is_some_and(|word| word == "a" || word == "the"));
    let word = words.get(skip)?;
    let span = |word: &String| {
        let singular = word.trim_end_matches('s');
        SPANS.iter().find(|(name, _)| *name == singular).map(|(_, days)| *days)
    };
    if let Some(days) = span(word) {
        return Some((days, true, skip + 1));
    }
    let digits = word.replace([',', '_'], "");
    let written = NUMBERS.iter().find(|(name, _)| name == word).map(|(_, number)| *number);
    let number = digits.parse().ok().filter(|n: &f64| n.is_finite()).or(written)?;
    match words.get(skip + 1).and_then(span) {
        Some(days) => Some((number * days, true, skip + 2)),
        None => Some((number, false, skip + 1)),
    }
}

/// What a fact holds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Held {
    /// True or false; nothing at all is false.
    Flag(bool),
    Number(f64),
    Text,
}

/// One thing that a situation tells.
#[derive(Debug)]
pub(super) struct Fact {
    /// The words of its own name, such as `files`, `changed`.
    pub(super) name: Vec<Arc<Word>>,
    /// The words of the names around it.
    pub(super) around: Vec<Arc<Word>>,
    /// Whether its value is one of several choices rather than free text.
    pub(super) is_choice: bool,
    pub(super) held: Held,
    /// The words of its value.
    pub(super) words: Vec<Arc<Word>>,
}

/// What a situation tells, fact by fact.
#[derive(Debug, Default)]
pub(super) struct Told {
    pub(super) facts: Vec<Fact>,
}

impl Told {
    pub(super) fn read(situation: &Map<String, Value>, lexicon: &mut Lexicon) -> Told {
        let mut told = Told::default();
        for (name, value) in situation {
            told.add(&[], name, value, lexicon);
        }
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
                for entry in entries {
                    self.add(around, name, entry, lexicon);
                }
                return;
            }
            Value::Null => (Held::Flag(false), String::new()),
            Value::Bool(yes) => (Held::Flag(*yes), String::new()),
            Value::Number(number) => {
                (Held::Number(number.as_f64().unwrap_or(0.0)), number.to_string())
            }
            Value::String(text) => (Held::Text, text.clone()),
        };
        let (own, words) = (spaced(name), plain_words(&text));
        let outer = around.iter().map(|name| spaced(name)).collect::<Vec<_>>().join(" ");
        let is_free = FREE_TEXT.contains(&own.to_lowercase().as_str());
        self.facts.push(Fact {
            name: lexicon.all_words(&plain_words(&own)),
            around: lexicon.words(&plain_words(&outer)),
            held,
            is_choice: held == Held::Text && !is_free && words.len() <= CHOICE_WORDS_MAX,
            words: lexicon.words(&words),
        });
    }
}

/// `filesChanged` and `files_changed` as people write them.
fn spaced(name: &str) -> String {
    let mut spaced = String::with_capacity(name.len() + 4);
    let mut before = ' ';
    for c in name.chars() {
        if c.is_uppercase() && before.is_lowercase() {
            spaced.push(' ');
        }
        spaced.push(if matches!(c, '_' | '-' | '.') { ' ' } else { c });
        before = c;
    }
    spaced
}
