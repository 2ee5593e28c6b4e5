//! Committed states: revision numbers, and the tokens that identify states to viewers.

use std::fmt;

/// The number of a committed state; each commit adds one. Zero is the empty workspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Revision(u64);

impl Revision {
    /// Before the first commit.
    pub const ZERO: Revision = Revision(0);

    /// The revision with this number.
    #[must_use]
    pub const fn new(number: u64) -> Revision {
        Revision(number)
    }

    /// The bare number.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0
    }

    /// The revision after this one.
    #[must_use]
    pub const fn next(self) -> Revision {
        Revision(self.0 + 1)
    }
}

impl fmt::Display for Revision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The token of a state as one viewer sees it. It depends only on the viewer and on what they can
/// read, so it reveals nothing about hidden items. States that look the same to the viewer share a
/// token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StateToken([u8; 16]);

impl StateToken {
    pub(crate) const fn new(bytes: [u8; 16]) -> StateToken {
        StateToken(bytes)
    }

    /// Parses a token; `None` if the text is not one.
    #[must_use]
    pub fn parse(text: &str) -> Option<StateToken> {
        let digits = text.strip_prefix(PREFIX).filter(|digits| digits.len() == 32)?;
        let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        let number = u128::from_str_radix(digits, 16).ok()?;
        digits.bytes().all(is_digit).then_some(StateToken(number.to_be_bytes()))
    }
}

const PREFIX: &str = "s-";

impl fmt::Display for StateToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{PREFIX}{:032x}", u128::from_be_bytes(self.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_parses_from_its_display_form() {
        let token = StateToken([7; 16]);
        let text = token.to_string();
        assert_eq!(StateToken::parse(&text), Some(token));
        let wrong = ["", "7", "s-", &text[1..], &text[..20], &text.to_uppercase()];
        assert!(wrong.iter().all(|text| StateToken::parse(text).is_none()));
        assert_eq!(StateToken::parse(&format!("s-+{}", &text[3..])), None);
    }
}
