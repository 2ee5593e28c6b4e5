//! Cuts RTF into tokens. They borrow the file, and each byte is looked at once.

/// Letters of a control word. Longer ones are damage.
const WORD_LETTERS_MAX: usize = 32;

/// Digits of its number.
const DIGITS_MAX: usize = 10;

/// A token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Token<'b> {
    /// `{`
    Open,
    /// `}`
    Close,
    /// `\name` or `\name12`.
    Word(&'b str, Option<i32>),
    /// `\` before something that is no letter.
    Symbol(u8),
    /// `\'e4`
    Byte(u8),
    /// Bytes of text.
    Text(&'b [u8]),
}

/// The tokens of a file.
#[derive(Debug, Clone)]
pub(super) struct Tokens<'b> {
    rest: &'b [u8],
}

impl<'b> Tokens<'b> {
    pub(super) const fn new(bytes: &'b [u8]) -> Tokens<'b> {
        Tokens { rest: bytes }
    }

    fn skip(&mut self, count: usize) {
        self.rest = self.rest.get(count..).unwrap_or_default();
    }

    /// What follows a backslash; none if that is damaged, or stands for no text.
    fn control(&mut self) -> Option<Token<'b>> {
        let first = *self.rest.first()?;
        if first == b'\'' {
            let digits = self.rest.get(1..3).and_then(|digits| std::str::from_utf8(digits).ok());
            let byte = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
            self.skip(if byte.is_some() { 3 } else { 1 });
            return byte.map(Token::Byte);
        }
        let is_letter = |byte: &&u8| byte.is_ascii_alphabetic();
        let letters = self.rest.iter().take(WORD_LETTERS_MAX).take_while(is_letter).count();
        if letters == 0 {
            self.skip(1);
            return Some(Token::Symbol(first));
        }
        let (name, after) = self.rest.split_at(letters);
        let name = std::str::from_utf8(name).unwrap_or_default();
        let sign = usize::from(after.first() == Some(&b'-'));
        let digits =
            after[sign..].iter().take(DIGITS_MAX).take_while(|byte| byte.is_ascii_digit()).count();
        let end = if digits > 0 { sign + digits } else { 0 };
        let number = std::str::from_utf8(&after[..end]).ok().and_then(|text| text.parse().ok());
        self.skip(letters + end);
        // One space ends a word and belongs to it.
        if self.rest.first() == Some(&b' ') {
            self.skip(1);
        }
        if name == "bin" {
            // What follows is a picture's bytes, whatever they look like.
            self.skip(number.and_then(|number: i32| usize::try_from(number).ok()).unwrap_or(0));
            return None;
        }
        Some(Token::Word(name, number))
    }
}

impl<'b> Iterator for Tokens<'b> {
    type Item = Token<'b>;

    fn next(&mut self) -> Option<Token<'b>> {
        loop {
            let start = self.rest.iter().position(|byte| !matches!(byte, b'\r' | b'\n' | 0))?;
            self.skip(start);
            let first = *self.rest.first()?;
            match first {
                b'{' | b'}' => {
                    self.skip(1);
                    return Some(if first == b'{' { Token::Open } else { Token::Close });
                }
                b'\\' => {
                    self.skip(1);
                    if let Some(token) = self.control() {
                        return Some(token);
                    }
                }
                _ => {
                    let is_end =
                        |byte: &u8| matches!(byte, b'{' | b'}' | b'\\' | b'\r' | b'\n' | 0);
                    let end = self.rest.iter().position(is_end).unwrap_or(self.rest.len());
                    let (text, rest) = self.rest.split_at(end);
                    self.rest = rest;
                    return Some(Token::Text(text));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_symbols_bytes_and_text_are_told_apart() {
        let tokens: Vec<_> = Tokens::new(b"{\\b0 x y\r\n\\'e4\\~\\u-3\\bin3 {}{z}").collect();
        assert_eq!(
            tokens,
            [
                Token::Open,
                Token::Word("b", Some(0)),
                Token::Text(b"x y"),
                Token::Byte(0xe4),
                Token::Symbol(b'~'),
                Token::Word("u", Some(-3)),
                Token::Text(b"z"),
                Token::Close,
            ]
        );
        assert_eq!(Tokens::new(b"\\").next(), None);
        assert_eq!(Tokens::new(b"\\'").next(), None);
        assert_eq!(Tokens::new(b"\\a99999999999 b").next(), Some(Token::Word("a", None)));
    }

    /// Damaged escapes in a row must not pile up on the stack.
    #[test]
    fn many_damaged_escapes_end() {
        let damaged = b"\\'".repeat(1 << 20);
        assert_eq!(Tokens::new(&damaged).count(), 0);
    }
}
