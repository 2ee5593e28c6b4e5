//! Names of things: items and the candidates made from them.

use std::fmt;
use std::sync::Arc;

use thiserror::Error;

/// Longest id in bytes.
pub const ID_BYTES_MAX: usize = 512;

/// Why a name is invalid.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum IdError {
    /// The name is empty.
    #[error("a name must not be empty")]
    Empty,
    /// The name is longer than its limit.
    #[error("a name of {bytes} bytes is longer than the limit of {limit}")]
    TooLong {
        /// Length of the name.
        bytes: usize,
        /// The maximum.
        limit: usize,
    },
    /// Control characters would break logs, labels and citations.
    #[error("a name must not hold the control character U+{code:04X} (at byte {at})")]
    Control {
        /// The character's code point.
        code: u32,
        /// Its byte offset.
        at: usize,
    },
}

/// Checks that a name is not empty, not too long and free of control characters.
///
/// # Errors
/// When it is empty, longer than `limit` bytes or holds a control character.
pub fn check_name(name: &str, limit: usize) -> Result<(), IdError> {
    if name.is_empty() {
        return Err(IdError::Empty);
    }
    if name.len() > limit {
        return Err(IdError::TooLong { bytes: name.len(), limit });
    }
    match name.char_indices().find(|(_, c)| c.is_control()) {
        Some((at, c)) => Err(IdError::Control { code: c.into(), at }),
        None => Ok(()),
    }
}

/// The name of an item, unique in its workspace. Cheap to clone.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ItemId(Arc<str>);

impl ItemId {
    /// Validates an id.
    ///
    /// # Errors
    /// When it is empty, longer than [`ID_BYTES_MAX`] or holds a control character.
    pub fn new(id: &str) -> Result<ItemId, IdError> {
        check_name(id, ID_BYTES_MAX).map(|()| ItemId(id.into()))
    }

    /// The id as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ItemId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The name of a candidate: an item, or one numbered chunk of it.
///
/// Its order breaks ties in every ranking.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CandidateId {
    /// The item the candidate's bytes came from.
    pub item: ItemId,
    /// The chunk's index in the item (from 0), or `None` for the whole item.
    pub chunk: Option<u32>,
}

impl CandidateId {
    /// The whole of an item.
    #[must_use]
    pub fn whole(item: ItemId) -> CandidateId {
        CandidateId { item, chunk: None }
    }

    /// One chunk of an item.
    #[must_use]
    pub fn chunk(item: ItemId, index: u32) -> CandidateId {
        CandidateId { item, chunk: Some(index) }
    }
}

impl fmt::Display for CandidateId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.chunk {
            Some(index) => write!(f, "{}#{index}", self.item),
            None => self.item.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_checked_against_its_limits() {
        assert_eq!(ItemId::new(""), Err(IdError::Empty));
        assert!(ItemId::new(&"x".repeat(ID_BYTES_MAX)).is_ok());
        assert_eq!(
            ItemId::new(&"x".repeat(ID_BYTES_MAX + 1)),
            Err(IdError::TooLong { bytes: ID_BYTES_MAX + 1, limit: ID_BYTES_MAX })
        );
        assert_eq!(ItemId::new("a\nb"), Err(IdError::Control { code: 10, at: 1 }));
        assert_eq!(CandidateId::chunk(ItemId::new("a").unwrap(), 3).to_string(), "a#3");
    }
}
