//! Late interaction (MaxSim) with the built-in table: how well each word of a query is matched by
//! some word of a text.
//!
//! A single vector blurs a long text; here each piece of the query is matched with its most similar
//! piece in a window of the text. The arithmetic is integer up to the last division, so results are
//! the same on every machine.

use super::built_in::{TABLE, piece_ids};
use super::table::DIMENSIONS;
use crate::units::Score;

/// The index of a piece in the built-in table.
pub type PieceId = u16;

/// Pieces per window: two or three sentences.
const WINDOW_PIECES: usize = 48;

/// Windows start at multiples of this.
const CELL_PIECES: usize = 12;

/// Similarities below this count as zero.
const COSINE_LEAST: f64 = 0.3;

/// Pieces at least this similar, in 255ths, count as the same word.
const SAME: u8 = 178;

/// Total weight of matched words that counts as full coverage: about three rare words.
const ENOUGH: f64 = 20.0;

/// The weight of a match in the title, which applies to every window.
const TITLE_PERCENT: u32 = 80;

/// Maximum number of query pieces.
const QUERY_PIECES_MAX: usize = 48;

/// The pieces of a text, in order. Words not in the table have none.
#[must_use]
pub fn pieces(text: &str) -> Vec<PieceId> {
    piece_ids(text)
}

/// A query prepared for matching against many texts.
#[derive(Debug)]
pub struct MaxSim {
    /// The weight of each piece of the query.
    weights: Vec<f64>,
    /// Each piece's vector, scaled for products with rows of the table, and its length.
    vectors: Vec<([i16; DIMENSIONS], f64)>,
    /// The slot of each table piece in `similarities`, from one; 0 when not yet computed.
    slots: Vec<u32>,
    /// Cached similarities of table pieces with all query pieces, in 255ths.
    similarities: Vec<u8>,
    /// A reused buffer for the cells of a text.
    cells: Vec<u8>,
    total: f64,
}

impl MaxSim {
    /// Prepares a query of weighted words. `None` when no word has a piece and a weight.
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

    /// The matches of a text's title and other names.
    pub fn title(&mut self, pieces: &[PieceId]) -> PieceMatches {
        let mut met = self.no_matches();
        for &piece in pieces {
            self.match_piece(&mut met.0, piece);
        }
        for met in &mut met.0 {
            *met = u8::try_from(u32::from(*met) * TITLE_PERCENT / 100).unwrap_or(u8::MAX);
        }
        met
    }

    /// The share of the query that the best window of a text matches, 0 to 1.
    pub fn score(&mut self, title: &PieceMatches, pieces: &[PieceId]) -> Score {
        self.best_window(title, pieces).0
    }

    /// The score, and the coverage: the share of the query that a window contains in the same or
    /// nearly the same words. Some word is always similar, but seldom that similar.
    pub fn score_and_coverage(
        &mut self,
        title: &PieceMatches,
        pieces: &[PieceId],
    ) -> (Score, Score) {
        self.best_window(title, pieces)
    }

    fn best_window(&mut self, title: &PieceMatches, pieces: &[PieceId]) -> (Score, Score) {
        let n = self.weights.len();
        let n_cells = pieces.len().div_ceil(CELL_PIECES);
        if n_cells == 0 {
            return (self.matched_share(&title.0), self.coverage(&title.0));
        }
        let mut cells = std::mem::take(&mut self.cells);
        cells.clear();
        cells.resize(n_cells * n, 0);
        for (cell, met) in pieces.chunks(CELL_PIECES).zip(cells.chunks_exact_mut(n)) {
            cell.iter().for_each(|&piece| self.match_piece(met, piece));
        }
        let width = (WINDOW_PIECES / CELL_PIECES).min(n_cells);
        let mut met = vec![0; n];
        let mut best = (Score::ZERO, Score::ZERO);
        for first in 0..=n_cells - width {
            met.copy_from_slice(&title.0);
            for cell in cells[first * n..(first + width) * n].chunks_exact(n) {
                raise_to_maximum(&mut met, cell);
            }
            best = (best.0.max(self.matched_share(&met)), best.1.max(self.coverage(&met)));
        }
        self.cells = cells;
        best
    }

    fn no_matches(&self) -> PieceMatches {
        PieceMatches(vec![0; self.weights.len()])
    }

    fn matched_share(&self, met: &[u8]) -> Score {
        Score::unit(self.matched_weight(met, 0) / self.total)
    }

    /// The share matched by the same words. No text matches all of a long query, so a few rare
    /// words count as full coverage.
    fn coverage(&self, met: &[u8]) -> Score {
        Score::unit(self.matched_weight(met, SAME) / self.total.min(ENOUGH))
    }

    /// The total weight of pieces matched at least as well as `least`.
    fn matched_weight(&self, met: &[u8], least: u8) -> f64 {
        let met = self.weights.iter().zip(met).filter(|(_, met)| **met >= least);
        met.map(|(weight, met)| weight * f64::from(*met) / 255.0).sum()
    }

    fn match_piece(&mut self, met: &mut [u8], piece: PieceId) {
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
        raise_to_maximum(met, &self.similarities[slot * n..(slot + 1) * n]);
    }
}

/// Sets each number to the maximum of both.
fn raise_to_maximum(met: &mut [u8], other: &[u8]) {
    for (met, other) in met.iter_mut().zip(other) {
        *met = (*met).max(*other);
    }
}

/// How well each piece of a query is matched, in 255ths.
#[derive(Debug, Clone)]
pub struct PieceMatches(Vec<u8>);

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
    fn a_text_with_the_query_words_or_similar_ones_scores_higher() {
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
    fn distant_words_share_no_window_and_the_title_counts_in_all() {
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
