//! The judge's lexicon: compares words by stem, as synonyms and as opposites.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use haversack_core::text::terms::{Language, each_token};

use super::sentence_token::SentenceToken;
use super::word_lists::{
    ABSENCE_WORDS, EXCLUSIVE_GROUPS, GENERIC_WORDS, NAME_FILLERS, PERSON_WORDS, PRESENCE_WORDS,
    SYNONYMS, UNPREFIXED_WORDS,
};

/// How two words relate in meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WordRelation {
    /// They mean the same.
    Same,
    /// At most one of them is true of a thing.
    Opposite,
    /// The lexicon knows no relation between them.
    Unrelated,
}

/// A word with its stem and the groups it belongs to.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "a word can belong to several classes at once")]
pub(super) struct LexiconEntry {
    pub(super) spelling: String,
    stem: String,
    /// The stem without a negating prefix, as in `unpaid`.
    unprefixed_stem: Option<String>,
    synonym_groups: Vec<usize>,
    /// Groups in which at most one slot is true, each with the word's slot.
    exclusive_slots: Vec<(usize, usize)>,
    /// Whether it only names the setting, as in `the task`.
    pub(super) is_generic: bool,
    /// Whether it only says that something is present.
    pub(super) is_presence: bool,
    /// Whether it names a person that no fact needs to mention.
    pub(super) is_person: bool,
    /// Whether it carries no meaning in the name of a fact.
    pub(super) is_filler: bool,
}

impl LexiconEntry {
    fn new(spelling: &str) -> LexiconEntry {
        let stem = stem(spelling);
        let among = |words: &[&str]| is_inflection_of_any(spelling, words);
        LexiconEntry {
            unprefixed_stem: stem_without_negating_prefix(spelling),
            synonym_groups: GROUPS.synonyms.get(&stem).cloned().unwrap_or_default(),
            exclusive_slots: GROUPS.exclusive.get(&stem).cloned().unwrap_or_default(),
            is_generic: among(GENERIC_WORDS),
            is_presence: among(PRESENCE_WORDS),
            is_filler: NAME_FILLERS.contains(&spelling)
                || spelling.ends_with("ly")
                || among(PRESENCE_WORDS),
            is_person: among(PERSON_WORDS),
            spelling: spelling.to_owned(),
            stem,
        }
    }

    /// How this word relates to another.
    pub(super) fn relation_to(&self, other: &LexiconEntry) -> WordRelation {
        if self.stem == other.stem || is_inflected(&self.stem, &other.stem) {
            return WordRelation::Same;
        }
        let negates = |unprefixed: &Option<String>, stem: &str| {
            unprefixed.as_ref().is_some_and(|rest| rest == stem || is_inflected(rest, stem))
        };
        if negates(&self.unprefixed_stem, &other.stem)
            || negates(&other.unprefixed_stem, &self.stem)
        {
            return WordRelation::Opposite;
        }
        for (group, slot) in &self.exclusive_slots {
            for (other_group, other_slot) in &other.exclusive_slots {
                if group == other_group {
                    return if slot == other_slot {
                        WordRelation::Same
                    } else {
                        WordRelation::Opposite
                    };
                }
            }
        }
        if self.synonym_groups.iter().any(|group| other.synonym_groups.contains(group)) {
            return WordRelation::Same;
        }
        WordRelation::Unrelated
    }

    pub(super) fn means_same_as(&self, other: &LexiconEntry) -> bool {
        self.relation_to(other) == WordRelation::Same
    }

    /// Whether it belongs to a group of words that exclude each other.
    pub(super) fn excludes_others(&self) -> bool {
        !self.exclusive_slots.is_empty()
    }

    /// Whether it can describe something that is absent or switched off.
    pub(super) fn can_describe_absence(&self) -> bool {
        self.unprefixed_stem.is_some() || ABSENCE_WORDS.contains(&self.spelling.as_str())
    }

    pub(super) fn is_any_of(&self, words: &[&str]) -> bool {
        words.contains(&self.spelling.as_str())
    }
}

/// The groups of related words, by stem.
struct WordGroups {
    synonyms: BTreeMap<String, Vec<usize>>,
    exclusive: BTreeMap<String, Vec<(usize, usize)>>,
}

static GROUPS: LazyLock<WordGroups> = LazyLock::new(|| {
    let mut groups = WordGroups { synonyms: BTreeMap::new(), exclusive: BTreeMap::new() };
    for (at, group) in SYNONYMS.iter().enumerate() {
        for word in group.split_whitespace() {
            groups.synonyms.entry(stem(word)).or_default().push(at);
        }
    }
    for (at, group) in EXCLUSIVE_GROUPS.iter().enumerate() {
        for (slot, words) in group.iter().enumerate() {
            for word in words.split_whitespace() {
                groups.exclusive.entry(stem(word)).or_default().push((at, slot));
            }
        }
    }
    groups
});

/// Whether a word is one of a list, in any inflection.
fn is_inflection_of_any(spelling: &str, words: &[&str]) -> bool {
    // `the sensor works` says something; `the work` does not.
    if spelling == "works" {
        return false;
    }
    let endings = ["", "s", "es", "ed", "d", "ing"];
    let mut bases = endings.iter().filter_map(|ending| spelling.strip_suffix(ending));
    bases.any(|base| words.contains(&base))
}

/// The stem without a negating prefix: that of `paid` for `unpaid`.
fn stem_without_negating_prefix(spelling: &str) -> Option<String> {
    if spelling.len() < 6 || UNPREFIXED_WORDS.contains(&spelling) {
        return None;
    }
    let rest = ["un", "non", "dis", "in", "im", "ir", "il"]
        .iter()
        .find_map(|prefix| spelling.strip_prefix(prefix).filter(|rest| rest.len() >= 4))?;
    Some(stem(rest))
}

/// The stem of a word, or the word itself where the stemmer has none.
fn stem(spelling: &str) -> String {
    let mut stem = None;
    each_token(spelling, Language::English, |token| {
        if let Some(term) = token.term.filter(|_| token.end == spelling.len()) {
            stem.get_or_insert_with(|| term.to_owned());
        }
    });
    stem.unwrap_or_else(|| spelling.to_owned())
}

/// Whether one stem is a prefix of the other and little shorter: `assign` and `assigne`.
fn is_inflected(one: &str, other: &str) -> bool {
    let (short, long) = if one.len() <= other.len() { (one, other) } else { (other, one) };
    short.len() >= 5 && long.len() - short.len() <= 3 && long.starts_with(short)
}

/// A cache of words by spelling, so that each is looked up once.
#[derive(Debug, Default)]
pub(super) struct Lexicon {
    entries: BTreeMap<String, Arc<LexiconEntry>>,
}

impl Lexicon {
    /// The entry of one word.
    pub(super) fn entry(&mut self, spelling: &str) -> Arc<LexiconEntry> {
        if let Some(entry) = self.entries.get(spelling) {
            return Arc::clone(entry);
        }
        let entry = Arc::new(LexiconEntry::new(spelling));
        self.entries.insert(spelling.to_owned(), Arc::clone(&entry));
        entry
    }

    /// The entries of all tokens that are not function words.
    pub(super) fn content_entries(&mut self, tokens: &[SentenceToken]) -> Vec<Arc<LexiconEntry>> {
        let content = tokens.iter().filter(|token| !token.is_function_word());
        content.map(|token| self.entry(&token.word)).collect()
    }
}
