//! Texts as words and numbers, in the form in which conditions and situations can be compared.

use super::words::{FUNCTION, NUMBERS};

/// Bytes of a text that are looked at.
const TEXT_BYTES_MAX: usize = 2_048;

/// A word or a number of a text.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Token {
    /// In lower case, without marks.
    pub(super) word: String,
    pub(super) number: Option<f64>,
    /// Whether it has a capital letter, and not because a sentence begins.
    pub(super) is_name: bool,
    /// The mark that ends a clause behind it, if one does.
    pub(super) mark: Option<char>,
}

impl Token {
    fn new(word: &str, is_first: bool) -> Token {
        let is_name = !is_first && word.starts_with(char::is_uppercase);
        let word = word.to_lowercase();
        let number = written(&word).or_else(|| digits(&word));
        Token { word, number, is_name, mark: None }
    }

    pub(super) fn is(&self, words: &[&str]) -> bool {
        words.contains(&self.word.as_str())
    }

    /// Whether it only holds a sentence together.
    pub(super) fn is_function(&self) -> bool {
        !self.is_name && FUNCTION.contains(&self.word.as_str())
    }

    /// Whether the number is written in digits.
    pub(super) fn is_digits(&self) -> bool {
        self.word.starts_with(|c: char| c.is_ascii_digit() || c == '-')
    }
}

/// The words of a text, in order.
pub(super) fn tokens(text: &str) -> Vec<Token> {
    let text = &text[..text.floor_char_boundary(TEXT_BYTES_MAX)];
    let text = text.replace(['’', '‘'], "'");
    let mut tokens: Vec<Token> = Vec::new();
    let mut begins = true;
    for chunk in text.split_whitespace() {
        let before = tokens.len();
        add(chunk, begins, &mut tokens);
        let mark = chunk.chars().last().filter(|c| matches!(c, '.' | ',' | ';' | ':' | '!' | '?'));
        begins = matches!(mark, Some('.' | '!' | '?' | ':'));
        if tokens.len() > before
            && let Some(last) = tokens.last_mut()
        {
            last.mark = mark;
        }
    }
    tokens
}

fn add(chunk: &str, begins: bool, tokens: &mut Vec<Token>) {
    let inner = chunk
        .trim_matches(|c: char| !c.is_alphanumeric() && !matches!(c, '%' | '€' | '$' | '£' | '-'));
    let inner = inner.trim_end_matches('-');
    if inner.is_empty() {
        return;
    }
    for (sign, name) in [("€", "euros"), ("$", "dollars"), ("£", "pounds"), ("%", "percent")] {
        let amount = inner.strip_prefix(sign).or_else(|| inner.strip_suffix(sign));
        if let Some(number) = amount.and_then(|amount| digits(&amount.to_lowercase())) {
            let word = amount.unwrap_or_default().to_lowercase();
            tokens.push(Token { word, number: Some(number), is_name: false, mark: None });
            tokens.push(Token::new(name, true));
            return;
        }
    }
    let is_moment = inner.starts_with(|c: char| c.is_ascii_digit())
        && inner.len() >= 4
        && (inner.contains(':') || inner.matches('-').count() == 2);
    if is_moment || digits(&inner.to_lowercase()).is_some() {
        tokens.push(Token::new(inner, begins));
        return;
    }
    for (at, word) in inner.split(|c: char| !c.is_alphanumeric() && c != '\'').enumerate() {
        let word = word.trim_matches('\'');
        let word = word.strip_suffix("'s").unwrap_or(word);
        if !word.is_empty() {
            tokens.push(Token::new(word, begins && at == 0));
        }
    }
}

/// The number that a word is: `1,823`, `14.5`, `-3`, `10k`.
pub(super) fn digits(word: &str) -> Option<f64> {
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

/// Whether marks stand before each three digits.
fn is_grouped(word: &str, mark: char) -> bool {
    let whole = word.trim_start_matches('-').split('.').next().filter(|_| mark != '.');
    let mut groups = whole.unwrap_or(word).split(mark);
    let first = groups.next().is_some_and(|group| (1..=3).contains(&group.len()));
    let rest: Vec<&str> = groups.collect();
    first && !rest.is_empty() && rest.iter().all(|group| group.len() == 3)
}

fn written(word: &str) -> Option<f64> {
    NUMBERS.iter().find(|(name, _)| *name == word).map(|(_, number)| *number)
}

/// `filesChanged` and `files_changed` as people write them.
pub(super) fn spaced(name: &str) -> String {
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
