//! Committed states: their numbers, and the names that viewers know them by.

use std::fmt;

/// A committed state of a workspace; each commit is one larger. Zero is the empty workspace.
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

/// The name of a state as one viewer sees it. It follows from who they are and from what they can
/// read, so it changes with what they see and with nothing else: it tells nobody how much is hidden
/// from them. States that look alike to the viewer have one name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StateToken([u8; 16]);

impl StateToken {
    pub(crate) const fn new(bytes: [u8; 16]) -> StateToken {
        StateToken(bytes)
    }

    /// The token that a text is; `None` when it is none.
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
    fn a_token_reads_back_as_it_is_written() {
        let token = StateToken([7; 16]);
        let text = token.to_string();
        assert_eq!(StateToken::parse(&text), Some(token));
        let wrong = ["", "7", "s-", &text[1..], &text[..20], &text.to_uppercase()];
        assert!(wrong.iter().all(|text| StateToken::parse(text).is_none()));
        assert_eq!(StateToken::parse(&format!("s-+{}", &text[3..])), None);
    }
}
