//! Terms: words of a text, lower-cased, stemmed, without stop words.
//!
//! Two texts about the same thing should share terms, whatever their inflection or spelling of
//! names. So an identifier counts as a whole and by its parts, and scripts without spaces are read
//! as overlapping pairs of characters.

mod language;
mod scan;
mod stems;

use std::collections::BTreeSet;
use std::fmt;

pub use language::Language;
pub(crate) use scan::{is_unspaced, is_word};

use scan::{Scanner, WordRun};
use stems::Stems;

/// Terms are truncated to this many bytes; anything longer is data, not a word.
pub const TERM_BYTES_MAX: usize = 96;

/// A run without spaces of up to this many characters is one keyword.
const RUN_KEYWORD_CHARACTERS_MAX: usize = 8;

/// The terms of a text in order, repeats included.
///
/// - Words are lower-cased and stemmed; stop words are left out; digits are kept.
/// - `snake_case`, `kebab-case` and dotted paths yield the lower-cased whole, then the parts;
///   `camelCase` yields the stemmed whole, then the parts.
/// - `Acme's` is `acme`; an apostrophe elsewhere parts words (`l'école`).
/// - Runs of Chinese, Japanese, Korean, Thai, Lao, Khmer and Burmese are read as pairs of
///   characters; a single character is its own term.
#[must_use]
pub fn terms(text: &str, language: Language) -> Vec<String> {
    let mut terms = Vec::with_capacity(text.len() / 12);
    each_term(text, language, |term| terms.push(term.to_owned()));
    terms
}

/// Calls `visit` with each of the [`terms`], without keeping them.
pub fn each_term(text: &str, language: Language, mut visit: impl FnMut(&str)) {
    each_token(text, language, |token| {
        if let Some(term) = token.term {
            visit(term);
        }
    });
}

/// A token with its position: a word, a part of an identifier or a pair of characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Token<'t> {
    /// The term as [`terms`] has it; `None` for a stop word, which keeps its place in the text.
    pub term: Option<&'t str>,
    /// The number of words before it. An identifier has the position of its first part.
    pub position: u32,
    /// Where it begins, in bytes.
    pub start: usize,
    /// Where it ends, in bytes.
    pub end: usize,
    /// Whether it is an identifier whose parts follow.
    pub whole: bool,
}

/// Calls `visit` with each of the [`terms`] and each stop word, in order, positions never falling.
pub fn each_token(text: &str, language: Language, mut visit: impl FnMut(Token<'_>)) {
    read(text, language, Stems::new(language, text.len()), &mut visit);
}

/// Reads a text and returns the stem cache for the next one.
fn read(
    text: &str,
    language: Language,
    stems: Stems,
    visit: &mut dyn FnMut(Token<'_>),
) -> Option<Stems> {
    let mut reader = TermReader::new(text, language, Some(stems), visit);
    for run in Scanner::new(text) {
        match run {
            WordRun::Spaced(word) => reader.spaced(&word),
            WordRun::Unspaced(run) => reader.pairs(run),
        }
    }
    reader.stems
}

/// Computes the [`terms`] of many texts in one language, with a shared stem cache.
pub struct TermsOfMany {
    language: Language,
    stems: Option<Stems>,
}

impl fmt::Debug for TermsOfMany {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TermsOfMany").field("language", &self.language).finish_non_exhaustive()
    }
}

impl TermsOfMany {
    /// For texts in a language.
    #[must_use]
    pub fn new(language: Language) -> TermsOfMany {
        TermsOfMany { language, stems: None }
    }

    /// Calls `visit` with each term of the next text.
    pub fn each(&mut self, text: &str, mut visit: impl FnMut(&str)) {
        let stems = self.stems.take();
        let stems = stems.unwrap_or_else(|| Stems::new(self.language, usize::MAX));
        self.stems = read(text, self.language, stems, &mut |token| {
            if let Some(term) = token.term {
                visit(term);
            }
        });
    }
}

/// Folds a text as terms are folded before stemming.
#[must_use]
pub fn fold(text: &str) -> String {
    let mut folded = String::with_capacity(text.len());
    fold_into(text, &mut folded);
    folded
}

fn fold_into(text: &str, folded: &mut String) {
    for c in text.chars() {
        match c {
            // Its full lower case is an i with a second dot, which nobody types.
            'İ' => folded.push('i'),
            // Russian writes both for the same letter.
            'Ё' | 'ё' => folded.push('е'),
            // So that capitals and small letters agree at the end of a Greek word.
            'ς' => folded.push('σ'),
            _ if c.is_ascii() => folded.push(c.to_ascii_lowercase()),
            _ => folded.extend(c.to_lowercase()),
        }
    }
}

/// The distinct words of a text as they are written, lower-cased, in order of appearance.
///
/// The same words as [`terms`], unstemmed and of at least two characters. A run without spaces is
/// first split at Chinese function words and between Japanese scripts. Parts of up to eight
/// characters are one keyword each; longer ones give pairs of characters.
#[must_use]
pub fn keywords(text: &str, language: Language) -> Vec<String> {
    let mut seen = BTreeSet::new();
    let mut keywords = Vec::new();
    let mut visit = |token: Token<'_>| {
        let Some(word) = token.term else { return };
        if word.chars().nth(1).is_some() && !seen.contains(word) {
            seen.insert(word.to_owned());
            keywords.push(word.to_owned());
        }
    };
    let mut reader = TermReader::new(text, language, None, &mut visit);
    for run in Scanner::new(text) {
        match run {
            WordRun::Spaced(word) => reader.spaced(&word),
            WordRun::Unspaced(run) => {
                for word in scan::words_of_unspaced(run) {
                    if word.chars().nth(RUN_KEYWORD_CHARACTERS_MAX).is_none() {
                        reader.word_as_is(word);
                    } else {
                        reader.pairs(word);
                    }
                }
            }
        }
    }
    keywords
}

/// Turns runs of characters into tokens, with buffers that live as long as the text.
struct TermReader<'t, 'v> {
    text: &'t str,
    language: Language,
    stems: Option<Stems>,
    lower: String,
    position: u32,
    visit: &'v mut dyn FnMut(Token<'_>),
}

impl<'t, 'v> TermReader<'t, 'v> {
    fn new(
        text: &'t str,
        language: Language,
        stems: Option<Stems>,
        visit: &'v mut dyn FnMut(Token<'_>),
    ) -> TermReader<'t, 'v> {
        TermReader { text, language, stems, lower: String::new(), position: 0, visit }
    }

    fn spaced(&mut self, word: &scan::SpacedWord<'t>) {
        if word.plain {
            return self.word(word.text, false);
        }
        if !word.apostrophe {
            return self.compound(word.text);
        }
        self.lower(word.text);
        if self.language.is_stop_word(&self.lower.replace('’', "'")) {
            return self.gap(word.text);
        }
        let mut parts = word.text.split(['\'', '’']).peekable();
        let mut first = true;
        while let Some(part) = parts.next() {
            let possessive = !first && parts.peek().is_none() && matches!(part, "s" | "S");
            if !possessive {
                self.compound(part);
            }
            first = false;
        }
    }

    /// An identifier of parts joined by dots, then by hyphens and underscores, or a single word.
    fn compound(&mut self, text: &'t str) {
        let dotted = text.contains('.');
        if dotted {
            self.whole(text);
        }
        for name in text.split('.') {
            if name.contains(['_', '-']) {
                self.whole(name);
                name.split(['_', '-']).for_each(|part| self.cased(part));
            } else {
                self.cased(name);
            }
        }
    }

    fn whole(&mut self, text: &'t str) {
        if text.len() <= TERM_BYTES_MAX {
            self.lower(text);
            let token = token_of(self.text, text, self.position, true);
            (self.visit)(Token { term: Some(&self.lower), ..token });
        }
    }

    /// A word that may be `camelCase`.
    fn cased(&mut self, word: &'t str) {
        let mut humps = scan::CamelCaseParts::new(word);
        match humps.next().filter(|first| first.len() < word.len()) {
            Some(first) => {
                self.word(word, true);
                self.word(first, false);
                humps.for_each(|hump| self.word(hump, false));
            }
            None => self.word(word, false),
        }
    }

    /// A word; a whole does not move the position on, because its parts follow.
    fn word(&mut self, full: &'t str, whole: bool) {
        let word = &full[..full.floor_char_boundary(TERM_BYTES_MAX)];
        let ascii = word.is_ascii();
        if ascii {
            self.lower.clear();
            self.lower.push_str(word);
            self.lower.make_ascii_lowercase();
        } else {
            self.lower(word);
        }
        let token = token_of(self.text, full, self.position, whole);
        self.position += u32::from(!whole);
        let term = match &mut self.stems {
            Some(stems) => stems.of(&self.lower, ascii),
            None if self.language.for_word(ascii).stop_words().contains(&self.lower) => None,
            None => Some(self.lower.as_str()),
        };
        if !word.is_empty() {
            (self.visit)(Token { term, ..token });
        }
    }

    /// A word that is neither cased nor stemmed.
    fn word_as_is(&mut self, word: &'t str) {
        let token = token_of(self.text, word, self.position, false);
        self.position += 1;
        let stop_word = self.language.stop_words().contains(word);
        (self.visit)(Token { term: (!stop_word).then_some(word), ..token });
    }

    /// The place of a stop word.
    fn gap(&mut self, word: &'t str) {
        let token = token_of(self.text, word, self.position, false);
        self.position += 1;
        (self.visit)(token);
    }

    /// Every two neighbours of a run, or its only character.
    fn pairs(&mut self, run: &'t str) {
        let mut ends = run.char_indices().map(|(at, c)| at + c.len_utf8());
        let mut starts = run.char_indices().map(|(at, _)| at);
        let Some(first_end) = ends.next() else { return };
        if first_end == run.len() {
            return self.word_as_is(run);
        }
        for end in ends {
            let start = starts.next().unwrap_or(0);
            self.word_as_is(&run[start..end]);
        }
    }

    fn lower(&mut self, text: &str) {
        self.lower.clear();
        fold_into(text, &mut self.lower);
    }
}

/// The token without a term of a piece of `text`.
fn token_of(text: &str, piece: &str, position: u32, whole: bool) -> Token<'static> {
    let start = piece.as_ptr().addr() - text.as_ptr().addr();
    Token { term: None, position, start, end: start + piece.len(), whole }
}

#[cfg(test)]
mod tests;
