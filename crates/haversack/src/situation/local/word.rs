//! Words that can be compared: by stem, as synonyms, as opposites.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use haversack_core::text::terms::{Language, each_token};

use super::token::Token;
use super::words::{ABSENCE, EXCLUSIVE, FILLER, GENERIC, PERSONS, PRESENCE, SAME, WHOLE};

/// How two words stand to each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Bond {
    /// They say the same.
    Same,
    /// One at most is true of a thing.
    Opposite,
    /// They have nothing to do with each other, as far as is known.
    None,
}

/// A word by its stem and the groups it belongs to.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "a word can be of several sorts at once")]
pub(super) struct Word {
    pub(super) spelling: String,
    stem: String,
    /// The stem without a prefix that turns it round, as in `unpaid`.
    bare: Option<String>,
    same: Vec<usize>,
    /// Groups of which one slot at most is true, and the slot.
    exclusive: Vec<(usize, usize)>,
    /// Whether it only names the setting.
    pub(super) is_generic: bool,
    /// Whether it only says that something is there.
    pub(super) is_presence: bool,
    /// Whether it is a person of whom anything can be said.
    pub(super) is_person: bool,
    /// Whether it says nothing in the name of a fact.
    pub(super) is_filler: bool,
}

impl Word {
    fn new(spelling: &str) -> Word {
        let stem = stem(spelling);
        let among = |words: &[&str]| is_among(spelling, words);
        Word {
            bare: bare(spelling),
            same: GROUPS.same.get(&stem).cloned().unwrap_or_default(),
            exclusive: GROUPS.exclusive.get(&stem).cloned().unwrap_or_default(),
            is_generic: among(GENERIC),
            is_presence: among(PRESENCE),
            is_filler: FILLER.contains(&spelling) || spelling.ends_with("ly") || among(PRESENCE),
            is_person: among(PERSONS),
            spelling: spelling.to_owned(),
            stem,
        }
    }

    /// How the two stand to each other.
    pub(super) fn bond(&self, other: &Word) -> Bond {
        if self.stem == other.stem || is_inflected(&self.stem, &other.stem) {
            return Bond::Same;
        }
        let turned = |bare: &Option<String>, stem: &str| {
            bare.as_ref().is_some_and(|bare| bare == stem || is_inflected(bare, stem))
        };
        if turned(&self.bare, &other.stem) || turned(&other.bare, &self.stem) {
            return Bond::Opposite;
        }
        for (group, slot) in &self.exclusive {
            for (other_group, other_slot) in &other.exclusive {
                if group == other_group {
                    return if slot == other_slot { Bond::Same } else { Bond::Opposite };
                }
            }
        }
        if self.same.iter().any(|group| other.same.contains(group)) {
            return Bond::Same;
        }
        Bond::None
    }

    pub(super) fn is_same(&self, other: &Word) -> bool {
        self.bond(other) == Bond::Same
    }

    /// Whether there are words of which one at most is true beside it.
    pub(super) fn has_rivals(&self) -> bool {
        !self.exclusive.is_empty()
    }

    /// Whether it can be true of what is not there or not on.
    pub(super) fn is_absence(&self) -> bool {
        self.bare.is_some() || ABSENCE.contains(&self.spelling.as_str())
    }

    pub(super) fn is(&self, words: &[&str]) -> bool {
        words.contains(&self.spelling.as_str())
    }
}

/// The groups of words by their stems.
struct Groups {
    same: BTreeMap<String, Vec<usize>>,
    exclusive: BTreeMap<String, Vec<(usize, usize)>>,
}

static GROUPS: LazyLock<Groups> = LazyLock::new(|| {
    let mut groups = Groups { same: BTreeMap::new(), exclusive: BTreeMap::new() };
    for (at, group) in SAME.iter().enumerate() {
        for word in group.split_whitespace() {
            groups.same.entry(stem(word)).or_default().push(at);
        }
    }
    for (at, group) in EXCLUSIVE.iter().enumerate() {
        for (slot, words) in group.iter().enumerate() {
            for word in words.split_whitespace() {
                groups.exclusive.entry(stem(word)).or_default().push((at, slot));
            }
        }
    }
    groups
});

/// Whether a word is one of a list, in whatever inflection.
fn is_among(spelling: &str, words: &[&str]) -> bool {
    // `the sensor works` says something; `the work` does not.
    if spelling == "works" {
        return false;
    }
    let endings = ["", "s", "es", "ed", "d", "ing"];
    let mut bases = endings.iter().filter_map(|ending| spelling.strip_suffix(ending));
    bases.any(|base| words.contains(&base))
}

/// What is left of `unpaid` without what turns it round.
fn bare(spelling: &str) -> Option<String> {
    if spelling.len() < 6 || WHOLE.contains(&spelling) {
        return None;
    }
    let rest = ["un", "non", "dis", "in", "im", "ir", "il"]
        .iter()
        .find_map(|prefix| spelling.strip_prefix(prefix).filter(|rest| rest.len() >= 4))?;
    Some(stem(rest))
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
    pub(super) fn word(&mut self, spelling: &str) -> Arc<Word> {
        if let Some(word) = self.known.get(spelling) {
            return Arc::clone(word);
        }
        let word = Arc::new(Word::new(spelling));
        self.known.insert(spelling.to_owned(), Arc::clone(&word));
        word
    }

    pub(super) fn words(&mut self, tokens: &[Token]) -> Vec<Arc<Word>> {
        let content = tokens.iter().filter(|token| !token.is_function());
        content.map(|token| self.word(&token.word)).collect()
    }
}
