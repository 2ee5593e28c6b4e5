//! Late interaction with the built-in table: how well each word of a query is met by some word of a
//! text, whichever stands where.
//!
//! One vector for a whole text blurs what it says; here each piece of the query looks for its
//! nearest piece in a window of the text. Everything is whole numbers up to the last division, so
//! the outcome is the same on every machine.

use super::built_in::{TABLE, piece_ids};
use super::table::DIMENSIONS;
use crate::units::Score;

/// A piece of the built-in table.
pub type PieceId = u16;

/// Pieces in a window: two or three sentences.
const WINDOW_PIECES: usize = 48;

/// Windows begin at multiples of this.
const CELL_PIECES: usize = 12;

/// Pieces that are less alike have nothing to do with each other.
const COSINE_LEAST: f64 = 0.3;

/// Pieces that are so much alike, in 255ths, are the same word or nearly so.
const SAME: u8 = 178;

/// Words that weigh so much together are enough to be about the same: three rare ones.
const ENOUGH: f64 = 20.0;

/// What a piece of the title counts: it says what every window is about.
const TITLE_PERCENT: u32 = 80;

/// Most pieces of a query that are looked for.
const QUERY_PIECES_MAX: usize = 48;

/// The pieces of a text, in order. Words that the table does not know have none.
#[must_use]
pub fn pieces(text: &str) -> Vec<PieceId> {
    piece_ids(text)
}

/// A query whose pieces are looked for in texts.
#[derive(Debug)]
pub struct MaxSim {
    /// The weight of each piece of the query.
    weights: Vec<f64>,
    /// Each piece's vector, ready to be multiplied with rows of the table, and its length.
    vectors: Vec<([i16; DIMENSIONS], f64)>,
    /// Where a piece of the table has its similarities, from one; 0 when nobody asked yet.
    slots: Vec<u32>,
    /// Similarities of table pieces with all pieces of the query, in 255ths.
    similarities: Vec<u8>,
    /// Room for the cells of a text, kept from one text to the next.
    cells: Vec<u8>,
    total: f64,
}

impl MaxSim {
    /// A query of words, each with what it counts for. `None` when no word has a piece or counts.
    #[must_use]
    pub fn new<'w>(words: impl Iterator<Item = (&'w str, f64)>) -> Option<MaxSim> {
        let mut found: Vec<(PieceId, f64)> = Vec::new();
        for (word, weight) in words.filter(|(_, weight)| *weight > 0.0) {
            let pieces = pieces(word);
            #[expect(clippy::cast_precision_loss, reason = "a word has few pieces")]
            let each = weight / pieces.len().max(1) as f64;
            for piece in pieces {
                if found.iter().all(|(known, _)| *known != piece) && found.len() < QUERY_PIECES_MAX
                {
                    found.push((piece, each));
                }
            }
        }
        let total: f64 = found.iter().map(|(_, weight)| weight).sum();
        (total > 0.0).then(|| MaxSim {
            weights: found.iter().map(|(_, weight)| *weight).collect(),
            vectors: found.iter().map(|(piece, _)| TABLE.multiplier(*piece)).collect(),
            slots: vec![0; TABLE.n_rows()],
            similarities: Vec::new(),
            cells: Vec::new(),
            total,
        })
    }

    /// What the title of a text, and whatever else names it, has of the query.
    pub fn title(&mut self, pieces: &[PieceId]) -> Met {
        let mut met = self.none();
        for &piece in pieces {
            self.meet(&mut met.0, piece);
        }
        for met in &mut met.0 {
            *met = u8::try_from(u32::from(*met) * TITLE_PERCENT / 100).unwrap_or(u8::MAX);
        }
        met
    }

    /// How much of the query the best window of a text meets, 0 to 1.
    pub fn score(&mut self, title: &Met, pieces: &[PieceId]) -> Score {
        self.window(title, pieces).0
    }

    /// The same, and how much of the query a window of the text has in the query's own words, or in
    /// words that are hardly others: something is always near, but not always that near.
    pub fn score_and_coverage(&mut self, title: &Met, pieces: &[PieceId]) -> (Score, Score) {
        self.window(title, pieces)
    }

    fn window(&mut self, title: &Met, pieces: &[PieceId]) -> (Score, Score) {
        let n = self.weights.len();
        let n_cells = pieces.len().div_ceil(CELL_PIECES);
        if n_cells == 0 {
            return (self.worth(&title.0), self.coverage(&title.0));
        }
        let mut cells = std::mem::take(&mut self.cells);
        cells.clear();
        cells.resize(n_cells * n, 0);
        for (cell, met) in pieces.chunks(CELL_PIECES).zip(cells.chunks_exact_mut(n)) {
            cell.iter().for_each(|&piece| self.meet(met, piece));
        }
        let width = (WINDOW_PIECES / CELL_PIECES).min(n_cells);
        let mut met = vec![0; n];
        let mut best = (Score::ZERO, Score::ZERO);
        for first in 0..=n_cells - width {
            met.copy_from_slice(&title.0);
            for cell in cells[first * n..(first + width) * n].chunks_exact(n) {
                raise(&mut met, cell);
            }
            best = (best.0.max(self.worth(&met)), best.1.max(self.coverage(&met)));
        }
        self.cells = cells;
        best
    }

    fn none(&self) -> Met {
        Met(vec![0; self.weights.len()])
    }

    fn worth(&self, met: &[u8]) -> Score {
        Score::unit(self.met(met, 0) / self.total)
    }

    /// The part that is met by the same words. A long query asks for several things, so that no
    /// text has all of it: a few rare words are enough.
    fn coverage(&self, met: &[u8]) -> Score {
        Score::unit(self.met(met, SAME) / self.total.min(ENOUGH))
    }

    /// The weight of what is met at least so well.
    fn met(&self, met: &[u8], least: u8) -> f64 {
        let met = self.weights.iter().zip(met).filter(|(_, met)| **met >= least);
        met.map(|(weight, met)| weight * f64::from(*met) / 255.0).sum()
    }

    fn meet(&mut self, met: &mut [u8], piece: PieceId) {
        let n = self.weights.len();
        let slot = match self.slots[usize::from(piece)] {
            0 => {
                let slot = self.similarities.len() / n;
                for (vector, length) in &self.vectors {
                    let cosine = TABLE.cosine(piece, vector, *length);
                    let cosine = if cosine < COSINE_LEAST { 0.0 } else { cosine.min(1.0) };
                    #[expect(
                        clippy::cast_possible_truncation,
                        clippy::cast_sign_loss,
                        reason = "between 0 and 255"
                    )]
                    self.similarities.push((cosine * 255.0) as u8);
                }
                self.slots[usize::from(piece)] = u32::try_from(slot + 1).unwrap_or(u32::MAX);
                slot
            }
            slot => slot as usize - 1,
        };
        raise(met, &self.similarities[slot * n..(slot + 1) * n]);
    }
}

/// Raises each number to the other's, where that is larger.
fn raise(met: &mut [u8], other: &[u8]) {
    for (met, other) in met.iter_mut().zip(other) {
        *met = (*met).max(*other);
    }
}

/// How well each piece of a query is met, in 255ths.
#[derive(Debug, Clone)]
pub struct Met(Vec<u8>);

#[cfg(test)]
mod tests {
    use super::*;

    fn score(query: &str, title: &str, text: &str) -> f64 {
        let words = query.split(' ').map(|word| (word, 1.0));
        let mut query = MaxSim::new(words).unwrap();
        let title = query.title(&pieces(title));
        query.score(&title, &pieces(text)).get()
    }

    #[test]
    fn a_text_that_has_the_words_or_their_like_beats_one_that_has_not() {
        let check = |better: &str, worse: &str| {
            let of = |text: &str| score("puppy barks loudly", "", text);
            assert!(
                of(better) > of(worse) + 0.05,
                "{better}: {}, {worse}: {}",
                of(better),
                of(worse)
            );
        };
        check("The puppy barks loudly.", "The dog made a noise.");
        check("The dog was barking, very loud.", "Interest rates fell in May.");
        check("puppy", "");
        assert!(score("puppy barks", "", "a puppy that barks") > 0.99);
        assert!(score("puppy barks", "", "") < 0.01);
    }

    #[test]
    fn words_far_apart_do_not_meet_in_one_window_and_the_title_meets_in_all() {
        let filler = "the and of to in a ".repeat(30);
        let far = format!("puppy {filler} barks");
        assert!(score("puppy barks", "", &far) < score("puppy barks", "", "puppy barks") - 0.2);
        assert!(score("puppy barks", "Puppy", &filler) > score("puppy barks", "", &filler) + 0.2);
    }

    #[test]
    fn a_query_without_known_words_has_no_score() {
        assert!(MaxSim::new([("", 1.0)].into_iter()).is_none());
        assert!(MaxSim::new([("word", 0.0)].into_iter()).is_none());
    }
}
