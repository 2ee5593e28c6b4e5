//! Splits texts into words and numbers, so that conditions and situations can be compared.

use super::word_lists::{FUNCTION_WORDS, NEGATIONS, NUMBER_WORDS};

/// Bytes of a text that are tokenized; the rest is ignored.
const TEXT_BYTES_MAX: usize = 2_048;

/// A word or a number of a text.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct SentenceToken {
    /// The word in lower case, without punctuation.
    pub(super) word: String,
    pub(super) number: Option<f64>,
    /// Whether it begins with a capital letter inside a sentence.
    pub(super) is_proper_noun: bool,
    /// The punctuation that ends a clause after it, if any.
    pub(super) punctuation: Option<char>,
}

impl SentenceToken {
    fn new(word: &str, is_first: bool) -> SentenceToken {
        let is_proper_noun = !is_first && word.starts_with(char::is_uppercase);
        let word = word.to_lowercase();
        let number = parse_number_word(&word).or_else(|| parse_digits(&word));
        SentenceToken { word, number, is_proper_noun, punctuation: None }
    }

    pub(super) fn is_any_of(&self, words: &[&str]) -> bool {
        words.contains(&self.word.as_str())
    }

    /// Whether it is a function word: grammar without meaning of its own.
    pub(super) fn is_function_word(&self) -> bool {
        !self.is_proper_noun && FUNCTION_WORDS.contains(&self.word.as_str())
    }

    /// Whether it negates what follows, as `not`, `without` and `isn't` do.
    pub(super) fn is_negation(&self) -> bool {
        NEGATIONS.contains(&self.word.as_str()) || self.word.ends_with("n't")
    }

    /// Whether the number is written in digits.
    pub(super) fn is_digits(&self) -> bool {
        self.word.starts_with(|c: char| c.is_ascii_digit() || c == '-')
    }
}

/// Splits a text into tokens, in order.
pub(super) fn tokenize(text: &str) -> Vec<SentenceToken> {
    let text = &text[..text.floor_char_boundary(TEXT_BYTES_MAX)];
    let text = text.replace(['’', '‘'], "'");
    let mut tokens: Vec<SentenceToken> = Vec::new();
    let mut begins_sentence = true;
    for chunk in text.split_whitespace() {
        let before = tokens.len();
        push_tokens(chunk, begins_sentence, &mut tokens);
        let mark = chunk.chars().last().filter(|c| matches!(c, '.' | ',' | ';' | ':' | '!' | '?'));
        begins_sentence = matches!(mark, Some('.' | '!' | '?' | ':'));
        if tokens.len() > before
            && let Some(last) = tokens.last_mut()
        {
            last.punctuation = mark;
        }
    }
    tokens
}

/// Adds the tokens of a piece of text without white space.
fn push_tokens(chunk: &str, begins_sentence: bool, tokens: &mut Vec<SentenceToken>) {
    let inner = chunk
        .trim_matches(|c: char| !c.is_alphanumeric() && !matches!(c, '%' | '€' | '$' | '£' | '-'));
    let inner = inner.trim_end_matches('-');
    if inner.is_empty() {
        return;
    }
    for (sign, name) in [("€", "euros"), ("$", "dollars"), ("£", "pounds"), ("%", "percent")] {
        let amount = inner.strip_prefix(sign).or_else(|| inner.strip_suffix(sign));
        if let Some(number) = amount.and_then(|amount| parse_digits(&amount.to_lowercase())) {
            let word = amount.unwrap_or_default().to_lowercase();
            tokens.push(SentenceToken {
                word,
                number: Some(number),
                is_proper_noun: false,
                punctuation: None,
            });
            tokens.push(SentenceToken::new(name, true));
            return;
        }
    }
    let is_date_or_time = inner.starts_with(|c: char| c.is_ascii_digit())
        && inner.len() >= 4
        && (inner.contains(':') || inner.matches('-').count() == 2);
    if is_date_or_time || parse_digits(&inner.to_lowercase()).is_some() {
        tokens.push(SentenceToken::new(inner, begins_sentence));
        return;
    }
    for (at, word) in inner.split(|c: char| !c.is_alphanumeric() && c != '\'').enumerate() {
        let word = word.trim_matches('\'');
        let word = word.strip_suffix("'s").unwrap_or(word);
        if !word.is_empty() {
            tokens.push(SentenceToken::new(word, begins_sentence && at == 0));
        }
    }
}

/// Parses a number written in digits: `1,823`, `14.5`, `-3`, `10k`.
pub(super) fn parse_digits(word: &str) -> Option<f64> {
    let (word, factor) = match word.strip_suffix('k') {
        Some(thousands) => (thousands, 1_000.0),
        None => (word, 1.0),
    };
    if !word.trim_start_matches(['-', '+']).starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let plain: String = if is_grouped(word, ',') || is_grouped(word, '_') {
        word.replace([',', '_'], "")
    } else if word.matches('.').count() > 1 && is_grouped(word, '.') {
        word.replace('.', "")
    } else if word.matches(',').count() == 1 {
        // A comma that groups nothing is a decimal one.
        word.replace(',', ".")
    } else {
        word.to_owned()
    };
    if !plain.bytes().all(|c| c.is_ascii_digit() || matches!(c, b'.' | b'-' | b'+')) {
        return None;
    }
    plain.parse().ok().filter(|number: &f64| number.is_finite()).map(|number: f64| number * factor)
}

/// Whether the mark separates groups of three digits.
fn is_grouped(word: &str, mark: char) -> bool {
    let whole = word.trim_start_matches('-').split('.').next().filter(|_| mark != '.');
    let mut groups = whole.unwrap_or(word).split(mark);
    let first = groups.next().is_some_and(|group| (1..=3).contains(&group.len()));
    let rest: Vec<&str> = groups.collect();
    first && !rest.is_empty() && rest.iter().all(|group| group.len() == 3)
}

fn parse_number_word(word: &str) -> Option<f64> {
    NUMBER_WORDS.iter().find(|(name, _)| *name == word).map(|(_, number)| *number)
}

/// The words of an identifier: `files changed` for `filesChanged` and `files_changed`.
pub(super) fn split_identifier(name: &str) -> String {
    let mut spaced = String::with_capacity(name.len() + 4);
    let mut before = ' ';
    for c in name.chars() {
        if c.is_uppercase() && before.is_lowercase() {
            spaced.push(' ');
        }
        spaced.push(if matches!(c, '_' | '-' | '.' | '/') { ' ' } else { c });
        before = c;
    }
    spaced.to_lowercase()
}
