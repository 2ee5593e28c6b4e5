//! The exact size of a text that is put together from pieces, while pieces come and go.
//!
//! Joining two pieces can change their tokens, but only between the last seam of the one and the
//! first seam of the other. So each piece is counted once between its own seams, and a joint is
//! counted when two pieces meet. The sum is the count of the whole string, without counting it.

use std::ops::Range;

use crate::text::tokenizer::Tokenizer;

/// A part of a pack's text, with what is known of its size.
#[derive(Debug, Clone)]
pub(crate) struct Piece {
    /// The bytes.
    pub(crate) text: String,
    /// Units of the text on its own.
    pub(crate) units: u64,
    /// From its first seam to its last, and the units between; `None` when it has no seam inside.
    core: Option<(Range<usize>, u64)>,
}

impl Piece {
    /// Measures a text.
    pub(crate) fn new(tokenizer: &dyn Tokenizer, text: String) -> Piece {
        let Some(core) = seams(tokenizer, &text) else {
            return Piece { units: tokenizer.units(&text), core: None, text };
        };
        let inner = tokenizer.units(&text[core.clone()]);
        Piece::with_core(tokenizer, text, core, inner)
    }

    /// Measures a text of which the part `known` was counted before.
    ///
    /// Only the ends are counted, so that a text's tokens are counted once in its life.
    pub(crate) fn with_known(
        tokenizer: &dyn Tokenizer,
        text: String,
        known: Range<usize>,
        known_units: u64,
    ) -> Piece {
        let Some(inside) = seams(tokenizer, &text[known.clone()]) else {
            return Piece::new(tokenizer, text);
        };
        let inside = known.start + inside.start..known.start + inside.end;
        let ends = tokenizer.units(&text[known.start..inside.start])
            + tokenizer.units(&text[inside.end..known.end]);
        let core = seams(tokenizer, &text).unwrap_or(inside.clone());
        let before = tokenizer.units(&text[core.start..inside.start]);
        let after = tokenizer.units(&text[inside.end..core.end]);
        let inner = before + known_units.saturating_sub(ends) + after;
        Piece::with_core(tokenizer, text, core, inner)
    }

    fn with_core(tokenizer: &dyn Tokenizer, text: String, core: Range<usize>, inner: u64) -> Piece {
        let ends = tokenizer.units(&text[..core.start]) + tokenizer.units(&text[core.end..]);
        Piece { units: ends + inner, core: Some((core, inner)), text }
    }

    fn head(&self) -> &str {
        self.core.as_ref().map_or(&self.text, |(core, _)| &self.text[..core.start])
    }

    fn tail(&self) -> &str {
        self.core.as_ref().map_or("", |(core, _)| &self.text[core.end..])
    }

    pub(super) fn is_solid(&self) -> bool {
        self.core.is_some()
    }

    fn inner(&self) -> u64 {
        self.core.as_ref().map_or(0, |&(_, inner)| inner)
    }
}

fn seams(tokenizer: &dyn Tokenizer, text: &str) -> Option<Range<usize>> {
    let first = tokenizer.first_seam(text)?;
    Some(first..tokenizer.last_seam(text).unwrap_or(first))
}

/// Units of pieces joined in this order.
#[must_use]
pub(crate) fn units_of<'p>(
    tokenizer: &dyn Tokenizer,
    pieces: impl IntoIterator<Item = &'p Piece>,
) -> u64 {
    let mut total = 0;
    let mut joint = String::new();
    for piece in pieces {
        joint.push_str(piece.head());
        if piece.is_solid() {
            total += tokenizer.units(&joint) + piece.inner();
            joint.clear();
            joint.push_str(piece.tail());
        }
    }
    total + tokenizer.units(&joint)
}

/// The size of a sequence of pieces from which pieces are taken or replaced, kept up to date.
#[derive(Debug)]
pub(super) struct Tally<'p> {
    tokenizer: &'p dyn Tokenizer,
    pieces: &'p [Piece],
    /// Neighbours in the sequence; the index `pieces.len()` stands for both of its ends.
    next: Vec<usize>,
    previous: Vec<usize>,
    /// For each solid piece, and for the end, the units of the joint that follows it.
    joint_after: Vec<u64>,
    total: u64,
    buffer: String,
}

impl<'p> Tally<'p> {
    /// Starts with the pieces of `sequence`, in this order.
    pub(super) fn new(
        tokenizer: &'p dyn Tokenizer,
        pieces: &'p [Piece],
        sequence: &[usize],
    ) -> Tally<'p> {
        let end = pieces.len();
        let mut tally = Tally {
            tokenizer,
            pieces,
            next: vec![end; end + 1],
            previous: vec![end; end + 1],
            joint_after: vec![0; end + 1],
            total: 0,
            buffer: String::new(),
        };
        tally.link(end, sequence, end);
        tally.count_joint_after(end);
        tally.count_in(sequence);
        tally
    }

    /// Units of the whole.
    pub(super) fn units(&self) -> u64 {
        self.total
    }

    /// The piece after this one; `None` at the end.
    pub(super) fn next(&self, piece: usize) -> Option<usize> {
        Some(self.next[piece]).filter(|&next| next < self.pieces.len())
    }

    /// The piece before this one; `None` at the start.
    pub(super) fn previous(&self, piece: usize) -> Option<usize> {
        Some(self.previous[piece]).filter(|&previous| previous < self.pieces.len())
    }

    /// Takes out neighbouring pieces, `first` to `last`, and puts others in their place.
    pub(super) fn replace(&mut self, first: usize, last: usize, by: &[usize]) {
        let solid_before = self.solid_before(first);
        self.total -= self.joint_after[solid_before];
        let mut piece = first;
        loop {
            if self.pieces[piece].is_solid() {
                self.total -= self.pieces[piece].inner() + self.joint_after[piece];
            }
            if piece == last {
                break;
            }
            piece = self.next[piece];
        }
        self.link(self.previous[first], by, self.next[last]);
        self.count_joint_after(solid_before);
        self.count_in(by);
    }

    fn link(&mut self, before: usize, sequence: &[usize], after: usize) {
        let mut before = before;
        for &piece in sequence.iter().chain([&after]) {
            self.next[before] = piece;
            self.previous[piece] = before;
            before = piece;
        }
    }

    fn solid_before(&self, piece: usize) -> usize {
        let mut at = self.previous[piece];
        while at < self.pieces.len() && !self.pieces[at].is_solid() {
            at = self.previous[at];
        }
        at
    }

    /// Counts pieces that came in, and the joints after them.
    fn count_in(&mut self, sequence: &[usize]) {
        for &piece in sequence {
            if self.pieces[piece].is_solid() {
                self.total += self.pieces[piece].inner();
                self.count_joint_after(piece);
            }
        }
    }

    /// Counts the joint from a solid piece (or the start) to the next one (or the end).
    fn count_joint_after(&mut self, solid: usize) {
        self.buffer.clear();
        if let Some(piece) = self.pieces.get(solid) {
            self.buffer.push_str(piece.tail());
        }
        let mut at = self.next[solid];
        while let Some(piece) = self.pieces.get(at) {
            self.buffer.push_str(piece.head());
            if piece.is_solid() {
                break;
            }
            at = self.next[at];
        }
        let units = self.tokenizer.units(&self.buffer);
        self.joint_after[solid] = units;
        self.total += units;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::text::tokenizer::{CharacterEstimate, Encoding};

    fn any_piece() -> impl Strategy<Value = String> {
        prop_oneof![
            Just(String::new()),
            "[ \n]{1,3}",
            "[a-z]{1,8}( [a-z.,]{1,8}){0,5}\n?",
            "[一-十。，]{1,8}",
            "/[a-z/]{1,6}\n",
            "[0-9]{1,5}",
            "\\PC{0,6}",
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1_500))]

        /// X1: the tally is the count of the joined string, through any number of changes.
        #[test]
        fn a_tally_equals_the_count_of_the_string(
            texts in proptest::collection::vec(any_piece(), 1..12),
            changes in proptest::collection::vec((0usize..12, any::<bool>()), 0..8),
            which in 0usize..4,
        ) {
            let tokenizers: [&dyn Tokenizer; 4] =
                [&Encoding::O200k, &Encoding::Cl100k, &Encoding::R50k, &CharacterEstimate];
            let tokenizer = tokenizers[which];
            let pieces: Vec<Piece> =
                texts.iter().map(|text| Piece::new(tokenizer, text.clone())).collect();
            // The first half starts inside, the second half waits to replace.
            let mut sequence: Vec<usize> = (0..texts.len().div_ceil(2)).collect();
            let mut waiting: Vec<usize> = (sequence.len()..texts.len()).collect();
            let mut tally = Tally::new(tokenizer, &pieces, &sequence);
            let check = |tally: &Tally<'_>, sequence: &[usize]| {
                let string: String = sequence.iter().map(|&i| texts[i].as_str()).collect();
                let units = tokenizer.units(&string);
                tally.units() == units
                    && units_of(tokenizer, sequence.iter().map(|&i| &pieces[i])) == units
            };
            prop_assert!(check(&tally, &sequence));
            for (at, replace) in changes {
                if sequence.is_empty() {
                    break;
                }
                let at = at % sequence.len();
                let by: Vec<usize> =
                    if replace { waiting.pop().into_iter().collect() } else { Vec::new() };
                tally.replace(sequence[at], sequence[at], &by);
                sequence.splice(at..=at, by);
                prop_assert!(check(&tally, &sequence));
            }
        }

        #[test]
        fn a_known_part_need_not_be_counted_again(
            before in any_piece(), text in "[a-z ,.]{0,40}", after in any_piece(),
        ) {
            let tokenizer: &dyn Tokenizer = &Encoding::O200k;
            let whole = format!("{before}{text}{after}");
            let known = before.len()..before.len() + text.len();
            let piece =
                Piece::with_known(tokenizer, whole.clone(), known, tokenizer.units(&text));
            prop_assert_eq!(piece.units, tokenizer.units(&whole));
            prop_assert_eq!(units_of(tokenizer, [&piece]), tokenizer.units(&whole));
        }
    }
}
