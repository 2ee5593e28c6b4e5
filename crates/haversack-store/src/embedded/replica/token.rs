//! Tokens of positions: what a write returns, so that a read on any node can wait for it.
//!
//! A position counts everybody's writes, which not every reader may know. So a token hides it behind a
//! random number and a key that only the nodes have.

use super::link::JournalLink;
use crate::store::error::ReadError;
use crate::store::journal::{EntryId, Position};

const NONCE_BYTES: usize = 8;
const CHECK_BYTES: usize = 8;
const TOKEN_BYTES: usize = NONCE_BYTES + 8 + CHECK_BYTES;

impl JournalLink {
    /// A token of what readers of this replica see.
    pub(crate) fn position_token(&self) -> String {
        let mut nonce = [0; NONCE_BYTES];
        // Without randomness tokens of one state are equal, which tells no more than that.
        let _ = getrandom::fill(&mut nonce);
        encode(self.key.generation, nonce, self.position())
    }

    /// The position of a token.
    pub(crate) fn position_of(&self, token: &str) -> Result<Position, ReadError> {
        decode(self.key.generation, token).ok_or_else(|| {
            ReadError::invalid(
                "at_least",
                "it is not a token that a write to this workspace returned",
            )
        })
    }
}

/// The mask of a position, and what proves that a token is ours.
fn mask(generation: EntryId, nonce: [u8; NONCE_BYTES]) -> ([u8; 8], blake3::Hasher) {
    let key = blake3::derive_key("haversack 2026-11 tokens of positions", &generation.0);
    let mut mask = [0; 8];
    blake3::Hasher::new_keyed(&key).update(&nonce).finalize_xof().fill(&mut mask);
    (mask, blake3::Hasher::new_keyed(&key))
}

fn encode(generation: EntryId, nonce: [u8; NONCE_BYTES], position: Position) -> String {
    let (mask, mut check) = mask(generation, nonce);
    let mut bytes = nonce.to_vec();
    let hidden = position.get().to_le_bytes();
    bytes.extend(hidden.iter().zip(mask).map(|(byte, mask)| byte ^ mask));
    check.update(b"check").update(&bytes);
    bytes.extend_from_slice(&check.finalize().as_bytes()[..CHECK_BYTES]);
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn decode(generation: EntryId, token: &str) -> Option<Position> {
    let digits = token.as_bytes();
    if digits.len() != 2 * TOKEN_BYTES {
        return None;
    }
    let mut bytes = [0; TOKEN_BYTES];
    for (byte, pair) in bytes.iter_mut().zip(digits.chunks(2)) {
        *byte = u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?;
    }
    let nonce = *bytes.first_chunk()?;
    let (mask, mut check) = mask(generation, nonce);
    check.update(b"check").update(&bytes[..NONCE_BYTES + 8]);
    if check.finalize().as_bytes()[..CHECK_BYTES] != bytes[NONCE_BYTES + 8..] {
        return None;
    }
    let mut position = [0; 8];
    let hidden = &bytes[NONCE_BYTES..NONCE_BYTES + 8];
    position
        .iter_mut()
        .zip(hidden.iter().zip(mask))
        .for_each(|(to, (byte, mask))| *to = byte ^ mask);
    Some(Position::new(u64::from_le_bytes(position)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_reads_back_and_says_nothing_to_others_x3_x4() {
        let (ours, theirs) = (EntryId([7; 16]), EntryId([8; 16]));
        for position in [0, 1, 77, u64::MAX] {
            let token = encode(ours, [3; 8], Position::new(position));
            assert_eq!(decode(ours, &token), Some(Position::new(position)));
            assert_eq!(decode(theirs, &token), None);
            assert_ne!(token, encode(ours, [4; 8], Position::new(position)));
            let mut other = token.into_bytes();
            other[20] ^= 1;
            assert_eq!(decode(ours, &String::from_utf8(other).unwrap()), None);
        }
        for text in ["", "7", "zz", &"é".repeat(TOKEN_BYTES), &"+1".repeat(TOKEN_BYTES)] {
            assert_eq!(decode(ours, text), None, "{text}");
        }
    }
}
