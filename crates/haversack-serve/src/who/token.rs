//! API keys as they are written: `hvs_<id>_<secret>`. The id finds the key, the secret proves it, and
//! only a hash of the secret is kept.

use std::fmt;

/// What every token begins with, so that leaked ones are found by scanners.
const PREFIX: &str = "hvs";

/// Bytes of an id and of a secret.
const ID_BYTES: usize = 8;
const SECRET_BYTES: usize = 32;

/// What the hash is for; another use of the same secret would give another hash.
const CONTEXT: &str = "haversack 2026-11 API key secret";

/// A token in plain text. It is shown once, on creation.
#[derive(Clone, PartialEq, Eq)]
pub struct KeyToken {
    /// The key's id.
    pub id: String,
    secret: String,
}

impl fmt::Debug for KeyToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Token").field("id", &self.id).finish_non_exhaustive()
    }
}

impl KeyToken {
    /// Generates a random token.
    ///
    /// # Errors
    /// When the system has no randomness to give.
    pub fn generate() -> Result<KeyToken, getrandom::Error> {
        let (mut id, mut secret) = ([0; ID_BYTES], [0; SECRET_BYTES]);
        getrandom::fill(&mut id)?;
        getrandom::fill(&mut secret)?;
        Ok(KeyToken { id: hex(&id), secret: hex(&secret) })
    }

    /// Reads a token as it was shown.
    #[must_use]
    pub fn parse(text: &str) -> Option<KeyToken> {
        let mut parts = text.split('_');
        let (prefix, id, secret) = (parts.next()?, parts.next()?, parts.next()?);
        let is_hex = |text: &str, bytes: usize| {
            text.len() == bytes * 2 && text.bytes().all(|c| matches!(c, b'0'..=b'9' | b'a'..=b'f'))
        };
        let sound = prefix == PREFIX && is_hex(id, ID_BYTES) && is_hex(secret, SECRET_BYTES);
        (sound && parts.next().is_none())
            .then(|| KeyToken { id: id.to_owned(), secret: secret.to_owned() })
    }

    /// The token as it is shown, once.
    #[must_use]
    pub fn reveal(&self) -> String {
        format!("{PREFIX}_{}_{}", self.id, self.secret)
    }

    /// The stored hash of the secret. A fast hash is enough for 256 random bits. Comparison takes
    /// constant time.
    #[must_use]
    pub fn hash(&self) -> blake3::Hash {
        blake3::Hash::from_bytes(blake3::derive_key(CONTEXT, self.secret.as_bytes()))
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_reads_back_and_says_nothing_in_logs() {
        let token = KeyToken::generate().unwrap();
        assert_eq!(KeyToken::parse(&token.reveal()), Some(token.clone()));
        assert_ne!(KeyToken::generate().unwrap().hash(), token.hash());
        assert!(!format!("{token:?}").contains(&token.secret));
    }

    #[test]
    fn what_is_not_a_token_is_none() {
        let good = KeyToken::generate().unwrap().reveal();
        for bad in ["", "hvs", "hvs__", "hvs_1_2", &good[1..], &good[..good.len() - 1]] {
            assert_eq!(KeyToken::parse(bad), None, "{bad}");
        }
        assert_eq!(KeyToken::parse(&format!("{good}_x")), None);
        assert_eq!(KeyToken::parse(&good.to_uppercase()), None);
    }
}
