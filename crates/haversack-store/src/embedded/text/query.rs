//! Parsing of full-text queries. Any string is a valid query.

use std::collections::BTreeMap;

use haversack_core::query::{QUERY_BYTES_MAX, quoted};
use haversack_core::text::terms::{Language, Token, each_token, fold};

/// The most distinct terms; further ones are ignored.
pub const TERMS_MAX: usize = 64;

/// The most phrases; further ones are ignored.
pub const PHRASES_MAX: usize = 8;

/// The most words of a phrase that must match.
pub const PHRASE_WORDS_MAX: usize = 32;

/// How a query is parsed. By default the language is detected.
#[derive(Debug, Clone, Copy, Default)]
pub struct QueryOptions<'a> {
    /// The language of the query; detected if not given.
    pub language: Option<Language>,
    /// Languages of readable documents. The query's own and English are always tried.
    pub languages: &'a [Language],
    /// What a document must match.
    pub must: MatchRule,
    /// Treats the last word as a prefix: search as you type.
    pub last_as_prefix: bool,
}

/// What a document must have to be found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum MatchRule {
    /// Any term, and every phrase in quotes.
    #[default]
    Phrases,
    /// Every term and every phrase.
    Everything,
    /// Any term. Quotes mean nothing.
    Anything,
}

/// The parts of a query beyond the limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct IgnoredParts {
    /// Bytes after the first 16 KiB.
    pub bytes: usize,
    /// Distinct terms after the first [`TERMS_MAX`].
    pub terms: usize,
    /// Phrases after the first [`PHRASES_MAX`], and those that are nothing but stop words.
    pub phrases: usize,
    /// Words of phrases after the first [`PHRASE_WORDS_MAX`].
    pub phrase_words: usize,
}

/// A parsed query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextQuery {
    pub(super) groups: Vec<TermGroup>,
    pub(super) phrases: Vec<Phrase>,
    pub(super) require_all: bool,
    language: Language,
    ignored: IgnoredParts,
}

/// One word, stemmed in each language; scored as one term.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TermGroup {
    /// Sorted.
    pub(super) terms: Vec<String>,
    /// Terms with this prefix belong to it, too.
    pub(super) prefix: Option<String>,
    pub(super) count: u32,
    /// A compound identifier whose parts are groups of their own: never required.
    pub(super) whole: bool,
}

/// Words that must appear at fixed distances in one field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Phrase {
    pub(super) slots: Vec<PhraseSlot>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PhraseSlot {
    pub(super) offset: u32,
    pub(super) terms: Vec<String>,
}

/// A word, stemmed in all languages.
#[derive(Debug)]
struct SearchWord {
    position: u32,
    whole: bool,
    terms: Vec<String>,
    /// A stop word in the query's own language.
    stop_word: bool,
    /// A stop word in any language: documents in it have a gap at its position.
    gap: bool,
}

impl TextQuery {
    /// Parses a query.
    #[must_use]
    pub fn new(text: &str, options: &QueryOptions<'_>) -> TextQuery {
        let kept = &text[..text.floor_char_boundary(QUERY_BYTES_MAX)];
        let language = options.language.unwrap_or_else(|| Language::detect(kept));
        let mut languages = vec![language];
        for other in [Language::English].iter().chain(options.languages) {
            if !languages.contains(other) {
                languages.push(*other);
            }
        }
        let mut query = TextQuery {
            groups: Vec::new(),
            phrases: Vec::new(),
            require_all: options.must == MatchRule::Everything,
            language,
            ignored: IgnoredParts { bytes: text.len() - kept.len(), ..IgnoredParts::default() },
        };
        query.read_groups(kept, &languages, options.last_as_prefix);
        if options.must != MatchRule::Anything {
            query.read_phrases(kept, &languages);
        }
        query
    }

    /// The parts that were ignored.
    #[must_use]
    pub const fn ignored(&self) -> IgnoredParts {
        self.ignored
    }

    /// The given or detected language.
    #[must_use]
    pub const fn language(&self) -> Language {
        self.language
    }

    /// Whether there is nothing to search for.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.groups.is_empty()
    }

    /// The terms, one list of stems per word.
    pub fn terms(&self) -> impl Iterator<Item = &[String]> {
        self.groups.iter().map(|group| group.terms.as_slice())
    }

    fn read_groups(&mut self, text: &str, languages: &[Language], last_as_prefix: bool) {
        let mut seen: BTreeMap<(Vec<String>, Option<String>), usize> = BTreeMap::new();
        for ((start, end), word) in read_words(text, languages) {
            let prefix = (is_starred(text, end) || last_as_prefix && end == text.len())
                .then(|| fold(&text[start..end]))
                .filter(|prefix| prefix.chars().nth(1).is_some() || !prefix.is_ascii());
            if prefix.is_none() && (word.stop_word || word.terms.is_empty()) {
                continue;
            }
            let key = (word.terms, prefix);
            if let Some(at) = seen.get(&key) {
                self.groups[*at].count += 1;
            } else if self.groups.len() == TERMS_MAX {
                self.ignored.terms += 1;
            } else {
                seen.insert(key.clone(), self.groups.len());
                let (terms, prefix) = key;
                self.groups.push(TermGroup { terms, prefix, count: 1, whole: word.whole });
            }
        }
    }

    fn read_phrases(&mut self, text: &str, languages: &[Language]) {
        for range in quoted(text) {
            let mut slots: Vec<PhraseSlot> = Vec::new();
            for (_, word) in read_words(&text[range], languages) {
                if word.whole || word.gap || word.terms.is_empty() {
                    continue;
                }
                if slots.len() == PHRASE_WORDS_MAX {
                    self.ignored.phrase_words += 1;
                } else {
                    slots.push(PhraseSlot { offset: word.position, terms: word.terms });
                }
            }
            let first = slots.first().map_or(0, |slot| slot.offset);
            slots.iter_mut().for_each(|slot| slot.offset -= first);
            if slots.is_empty() || self.phrases.len() == PHRASES_MAX {
                self.ignored.phrases += 1;
            } else if !self.phrases.iter().any(|phrase| phrase.slots == slots) {
                self.phrases.push(Phrase { slots });
            }
        }
    }
}

/// The words of a text by byte range, stemmed in all languages.
fn read_words(text: &str, languages: &[Language]) -> BTreeMap<(usize, usize), SearchWord> {
    let mut words: BTreeMap<(usize, usize), SearchWord> = BTreeMap::new();
    for (at, language) in languages.iter().enumerate() {
        each_token(text, *language, |token: Token<'_>| {
            let place = (token.start, token.end);
            if at == 0 {
                let stop_word = token.term.is_none();
                words.entry(place).or_insert(SearchWord {
                    position: token.position,
                    whole: token.whole,
                    terms: Vec::new(),
                    stop_word,
                    gap: false,
                });
            }
            // Only the first language determines word boundaries.
            let Some(word) = words.get_mut(&place) else { return };
            match token.term {
                Some(term) if !word.terms.iter().any(|known| known == term) => {
                    word.terms.push(term.to_owned());
                }
                Some(_) => {}
                None => word.gap = true,
            }
        });
    }
    words.values_mut().for_each(|word| word.terms.sort_unstable());
    words
}

/// Whether the word is followed by a prefix star.
fn is_starred(text: &str, end: usize) -> bool {
    text[end..].strip_prefix('*').is_some_and(|rest| !rest.starts_with(char::is_alphanumeric))
}
