//! The model that is always there: a table of word-piece vectors, summed.
//!
//! It knows words, not their order. Where the table comes from is told in `models/README.md`.

use std::sync::LazyLock;

use super::pieces::{PIECES_MAX, rows};
use super::table::{DIMENSIONS, Row, Table};
use super::{EmbedError, Embedder, Model, PieceId, Vector};

pub(super) static TABLE: LazyLock<Table> = LazyLock::new(|| {
    Table::read(include_bytes!("../../models/built-in.table"))
        .expect("the table is part of the program, and a test reads it")
});

/// The built-in embedder, for English. It never fails.
///
/// It reads the first 512 word pieces of a text (about 2 KB), at most 16 KiB, and ignores the
/// rest. The same text gives the same bytes on every machine.
///
/// ```
/// use haversack_core::embed::{BuiltIn, Embedder};
///
/// let texts = ["a dog barks", "the puppy is loud", "interest rates fell"];
/// let [dog, puppy, rates] = texts.map(|text| BuiltIn::new().vector(text));
/// assert!(dog.dot(&puppy) > dog.dot(&rates));
/// assert_eq!(BuiltIn::new().embed(&texts)?.len(), 3);
/// # Ok::<(), haversack_core::embed::EmbedError>(())
/// ```
#[derive(Debug, Clone, Copy, Default)]
pub struct BuiltIn;

impl BuiltIn {
    /// The embedder. All share one table, which is read at first use.
    #[must_use]
    pub const fn new() -> BuiltIn {
        BuiltIn
    }

    /// The vector of one text.
    #[must_use]
    pub fn vector(&self, text: &str) -> Vector {
        sum(rows(text, &TABLE).into_iter())
    }

    /// The vector of a text whose pieces are known.
    #[must_use]
    pub fn vector_of_pieces(&self, pieces: impl Iterator<Item = PieceId>) -> Vector {
        sum(pieces.take(PIECES_MAX).map(|piece| TABLE.row(piece)))
    }
}

fn sum(rows: impl Iterator<Item = Row>) -> Vector {
    let mut sums = [0i32; DIMENSIONS];
    for row in rows {
        TABLE.add(row, &mut sums);
    }
    Vector::new(TABLE.scaled(&sums)).expect("sums of bytes on finite scales are finite")
}

/// The pieces of a text as the table numbers them.
pub(super) fn piece_ids(text: &str) -> Vec<u16> {
    rows(text, &TABLE).into_iter().map(|row| TABLE.number(row)).collect()
}

impl Embedder for BuiltIn {
    fn model(&self) -> &Model {
        &TABLE.model
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Vector>, EmbedError> {
        Ok(texts.iter().map(|text| self.vector(text)).collect())
    }
}

#[cfg(test)]
pub(super) fn pieces(text: &str) -> Vec<&'static str> {
    rows(text, &TABLE).into_iter().map(|row| TABLE.piece(row)).collect()
}
