//! Finds word boundaries in one pass, with a fast path for ASCII.

/// A run of text that consists of words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WordRun<'t> {
    /// A word or identifier between spaces or signs.
    Spaced(SpacedWord<'t>),
    /// Characters of a script that puts no spaces between words.
    Unspaced(&'t str),
}

/// A word or identifier, with flags from the scan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SpacedWord<'t> {
    pub(super) text: &'t str,
    /// It has no joints and no capital after the first character, so it has no parts.
    pub(super) plain: bool,
    /// Holds an apostrophe between two characters.
    pub(super) apostrophe: bool,
}

/// Finds the runs of a text.
#[derive(Debug)]
pub(super) struct Scanner<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Scanner<'t> {
    pub(super) const fn new(text: &'t str) -> Scanner<'t> {
        Scanner { text, at: 0 }
    }

    fn character(&self, at: usize) -> Option<char> {
        match self.text.as_bytes().get(at) {
            Some(byte) if byte.is_ascii() => Some(char::from(*byte)),
            Some(_) => self.text[at..].chars().next(),
            None => None,
        }
    }

    fn spaced(&mut self) -> SpacedWord<'t> {
        let start = self.at;
        let bytes = self.text.as_bytes();
        let (mut plain, mut apostrophe) = (true, false);
        loop {
            match bytes.get(self.at) {
                Some(b'a'..=b'z' | b'0'..=b'9') => self.at += 1,
                Some(b'A'..=b'Z') => {
                    plain &= self.at == start;
                    self.at += 1;
                }
                None | Some(b' ' | b'\n') => break,
                Some(_) => {
                    let Some(c) = self.character(self.at) else { break };
                    let next = self.at + c.len_utf8();
                    if is_joint(c) {
                        if !self.character(next).is_some_and(|c| is_word(c) && !is_unspaced(c)) {
                            break;
                        }
                        plain = false;
                        apostrophe |= matches!(c, '\'' | '’');
                    } else if !is_word(c) || is_unspaced(c) {
                        break;
                    } else if c.is_uppercase() {
                        plain &= self.at == start;
                    }
                    self.at = next;
                }
            }
        }
        SpacedWord { text: &self.text[start..self.at], plain, apostrophe }
    }
}

impl<'t> Iterator for Scanner<'t> {
    type Item = WordRun<'t>;

    fn next(&mut self) -> Option<WordRun<'t>> {
        loop {
            let c = self.character(self.at)?;
            if is_word(c) {
                if !is_unspaced(c) {
                    return Some(WordRun::Spaced(self.spaced()));
                }
                let start = self.at;
                self.at += self.text[start..]
                    .find(|c| !is_word(c) || !is_unspaced(c))
                    .unwrap_or(self.text.len() - start);
                return Some(WordRun::Unspaced(&self.text[start..self.at]));
            }
            self.at += c.len_utf8();
        }
    }
}

/// The parts of a `camelCase` word.
///
/// A part begins at a capital after a small letter or digit, and at the last capital of several
/// when a small letter follows (`HTTPServer`); the plural of an abbreviation (`URLs`) is one part.
#[derive(Debug)]
pub(super) struct CamelCaseParts<'t> {
    rest: &'t str,
}

impl<'t> CamelCaseParts<'t> {
    pub(super) const fn new(word: &'t str) -> CamelCaseParts<'t> {
        CamelCaseParts { rest: word }
    }
}

impl<'t> Iterator for CamelCaseParts<'t> {
    type Item = &'t str;

    fn next(&mut self) -> Option<&'t str> {
        let mut characters = self.rest.char_indices().peekable();
        let (_, mut before) = characters.next()?;
        let mut end = self.rest.len();
        while let Some((at, c)) = characters.next() {
            if c.is_uppercase() {
                let small_follows = characters.peek().is_some_and(|(_, c)| c.is_lowercase());
                let plural = &self.rest[at + c.len_utf8()..] == "s";
                if !before.is_uppercase() || (small_follows && !plural) {
                    end = at;
                    break;
                }
            }
            before = c;
        }
        let (hump, rest) = self.rest.split_at(end);
        self.rest = rest;
        Some(hump)
    }
}

/// Parts a run without spaces where its writing shows a border between words.
pub(super) fn words_of_unspaced(run: &str) -> impl Iterator<Item = &str> {
    run.split(['的', '吗', '呢', '吧']).flat_map(|part| {
        let mut rest = part;
        let japanese = part.chars().any(is_kana);
        std::iter::from_fn(move || {
            let mut characters = rest.char_indices();
            let (_, first) = characters.next()?;
            let end = characters
                .find(|&(_, c)| japanese && kana(c) != kana(first) && c != 'ー')
                .map_or(rest.len(), |(at, _)| at);
            let (word, tail) = rest.split_at(end);
            rest = tail;
            Some(word)
        })
    })
}

const fn is_kana(c: char) -> bool {
    matches!(c, '\u{3040}'..='\u{30ff}' | '\u{31f0}'..='\u{31ff}')
}

/// Hiragana, katakana or neither.
const fn kana(c: char) -> u8 {
    match c {
        '\u{3040}'..='\u{309f}' => 1,
        '\u{30a0}'..='\u{30ff}' | '\u{31f0}'..='\u{31ff}' => 2,
        _ => 0,
    }
}

/// What holds the parts of one identifier or word together.
const fn is_joint(c: char) -> bool {
    matches!(c, '_' | '-' | '.' | '\'' | '’')
}

/// Letters, digits and the marks that belong to them.
#[inline]
pub(crate) fn is_word(c: char) -> bool {
    if c.is_ascii() { c.is_ascii_alphanumeric() } else { is_word_beyond_ascii(c) }
}

fn is_word_beyond_ascii(c: char) -> bool {
    c.is_alphanumeric()
        || match c {
            // Dandas and abbreviation signs end words in the scripts of India.
            '\u{964}' | '\u{965}' | '\u{970}' | '\u{df4}' => false,
            '\u{300}'..='\u{36f}'
            | '\u{591}'..='\u{5bd}'
            | '\u{64b}'..='\u{65f}'
            | '\u{900}'..='\u{dff}'
            | '\u{e47}'..='\u{e4e}'
            | '\u{ec8}'..='\u{ecd}'
            | '\u{1037}'..='\u{103a}'
            | '\u{17c9}'..='\u{17d3}'
            | '\u{20d0}'..='\u{20f0}'
            | '\u{fe20}'..='\u{fe2f}' => true,
            _ => false,
        }
}

/// Whether a script puts no spaces between words, or (Korean) glues particles to them.
pub(crate) const fn is_unspaced(c: char) -> bool {
    // Nearly every character ends here.
    c >= '\u{e00}'
        && matches!(c,
        '\u{e00}'..='\u{eff}'
        | '\u{1000}'..='\u{11ff}'
        | '\u{1780}'..='\u{17ff}'
        | '\u{2e80}'..='\u{31ff}'
        | '\u{3400}'..='\u{4dbf}'
        | '\u{4e00}'..='\u{9fff}'
        | '\u{a960}'..='\u{a97f}'
        | '\u{ac00}'..='\u{d7ff}'
        | '\u{f900}'..='\u{faff}'
        | '\u{ff66}'..='\u{ffdc}'
        | '\u{20000}'..='\u{3ffff}')
}
