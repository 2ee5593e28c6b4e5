//! The built-in model: sums of word-piece vectors from a table.
//!
//! It ignores word order. `models/README.md` describes the origin of the table.

use std::sync::LazyLock;

use super::pieces::{PIECES_MAX, rows};
use super::table::{DIMENSIONS, PieceTable, TableRow};
use super::{EmbedError, Embedder, Model, PieceId, Vector};

pub(super) static TABLE: LazyLock<PieceTable> = LazyLock::new(|| {
    PieceTable::read(include_bytes!("../../models/built-in.table"))
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
    /// Creates the embedder. All instances share one table, loaded on first use.
    #[must_use]
    pub const fn new() -> BuiltIn {
        BuiltIn
    }

    /// The vector of one text.
    #[must_use]
    pub fn vector(&self, text: &str) -> Vector {
        sum(rows(text, &TABLE).into_iter())
    }

    /// The vector of a text given as pieces.
    #[must_use]
    pub fn vector_of_pieces(&self, pieces: impl Iterator<Item = PieceId>) -> Vector {
        sum(pieces.take(PIECES_MAX).map(|piece| TABLE.row(piece)))
    }
}

fn sum(rows: impl Iterator<Item = TableRow>) -> Vector {
    let mut sums = [0i32; DIMENSIONS];
    for row in rows {
        TABLE.add(row, &mut sums);
    }
    Vector::new(TABLE.scaled(&sums)).expect("sums of bytes on finite scales are finite")
}

/// The piece ids of a text.
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
