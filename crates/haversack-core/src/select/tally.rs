//! The tally: the exact token count of a sequence of pieces, updated as pieces are added and
//! removed.
//!
//! Joining two pieces can change their tokens only between the last seam of one and the first seam
//! of the other. So each piece is counted once between its own seams, and each joint when two
//! pieces meet. The sum equals the count of the whole string.

use std::ops::Range;

use crate::text::tokenizer::{Counted, Tokenizer};

/// Precomputed counts are clamped to this, so that sums cannot overflow.
const KNOWN_UNITS_MAX: u64 = u32::MAX as u64;

/// A rendered part of a pack's text, with its token count.
#[derive(Debug, Clone)]
pub(crate) struct RenderedPiece {
    /// The bytes.
    pub(crate) text: String,
    /// Units of the text on its own.
    pub(crate) units: u64,
    /// The range between its first and last seam, and its token units; `None` without an inner
    /// seam.
    core: Option<(Range<usize>, u64)>,
}

impl RenderedPiece {
    /// Counts a text.
    pub(crate) fn new(tokenizer: &dyn Tokenizer, text: String) -> RenderedPiece {
        RenderedPiece::with_known(tokenizer, text, [])
    }

    /// Counts a text with precomputed counts of some parts, in order. Invalid or overlapping parts
    /// are counted again.
    pub(crate) fn with_known(
        tokenizer: &dyn Tokenizer,
        text: String,
        known: impl IntoIterator<Item = Counted>,
    ) -> RenderedPiece {
        let Some(core) = seams(tokenizer, &text) else {
            return RenderedPiece { units: tokenizer.units(&text), core: None, text };
        };
        let (mut inner, mut at) = (0, core.start);
        for Counted { range, units } in known {
            if range.start < at || range.end > core.end || text.get(range.clone()).is_none() {
                continue;
            }
            inner += tokenizer.units(&text[at..range.start]) + units.min(KNOWN_UNITS_MAX);
            at = range.end;
        }
        inner += tokenizer.units(&text[at..core.end]);
        RenderedPiece::with_core(tokenizer, text, core, inner)
    }

    fn with_core(
        tokenizer: &dyn Tokenizer,
        text: String,
        core: Range<usize>,
        inner: u64,
    ) -> RenderedPiece {
        let ends = tokenizer.units(&text[..core.start]) + tokenizer.units(&text[core.end..]);
        RenderedPiece { units: ends + inner, core: Some((core, inner)), text }
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
    pieces: impl IntoIterator<Item = &'p RenderedPiece>,
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

/// The token count of a sequence of pieces, updated on each replacement.
#[derive(Debug)]
pub(super) struct Tally<'p> {
    tokenizer: &'p dyn Tokenizer,
    pieces: &'p [RenderedPiece],
    /// Neighbours in the sequence; the index `pieces.len()` stands for both of its ends.
    next: Vec<usize>,
    previous: Vec<usize>,
    total: u64,
    buffer: String,
}

impl<'p> Tally<'p> {
    /// Starts with the pieces of `sequence`, in this order.
    pub(super) fn new(
        tokenizer: &'p dyn Tokenizer,
        pieces: &'p [RenderedPiece],
        sequence: &[usize],
    ) -> Tally<'p> {
        let end = pieces.len();
        let total = units_of(tokenizer, sequence.iter().map(|&piece| &pieces[piece]));
        let mut tally = Tally {
            tokenizer,
            pieces,
            next: vec![end; end + 1],
            previous: vec![end; end + 1],
            total,
            buffer: String::new(),
        };
        tally.link(end, sequence, end);
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

    /// Replaces the adjacent pieces `first` to `last`.
    pub(super) fn replace(&mut self, first: usize, last: usize, by: &[usize]) {
        let (from, to) = (self.edge_before(first), self.edge_after(last));
        let before = self.units_between(from, to);
        self.link(self.previous[first], by, self.next[last]);
        let after = self.units_between(from, to);
        // Saturating, because without proved seams parts may not add up.
        self.total = (self.total + after).saturating_sub(before);
    }

    fn link(&mut self, before: usize, sequence: &[usize], after: usize) {
        let mut before = before;
        for &piece in sequence.iter().chain([&after]) {
            self.next[before] = piece;
            self.previous[piece] = before;
            before = piece;
        }
    }

    /// The nearest piece before `piece` in or before which there is a seam that a change at `piece`
    /// cannot affect.
    fn edge_before(&self, piece: usize) -> usize {
        let mut at = self.previous[piece];
        while let Some(here) = self.pieces.get(at) {
            let seam_before = || {
                let after = here.text.chars().next()?;
                let before = self.last_character_before(at)?;
                Some(self.tokenizer.seam(before, after))
            };
            if here.is_solid() || seam_before() == Some(true) {
                break;
            }
            at = self.previous[at];
        }
        at
    }

    fn last_character_before(&self, piece: usize) -> Option<char> {
        let mut at = self.previous[piece];
        while let Some(here) = self.pieces.get(at) {
            if let Some(last) = here.text.chars().next_back() {
                return Some(last);
            }
            at = self.previous[at];
        }
        None
    }

    /// The nearest piece after `piece` in or after which there is such a seam.
    fn edge_after(&self, piece: usize) -> usize {
        let mut at = self.next[piece];
        while let Some(here) = self.pieces.get(at) {
            let seam_after = || {
                let before = here.text.chars().next_back()?;
                let after = self.first_character_after(at)?;
                Some(self.tokenizer.seam(before, after))
            };
            if here.is_solid() || seam_after() == Some(true) {
                break;
            }
            at = self.next[at];
        }
        at
    }

    fn first_character_after(&self, piece: usize) -> Option<char> {
        let mut at = self.next[piece];
        while let Some(here) = self.pieces.get(at) {
            if let Some(first) = here.text.chars().next() {
                return Some(first);
            }
            at = self.next[at];
        }
        None
    }

    /// Token units from one edge to another: the inner side of an edge with seams, else the whole
    /// piece.
    fn units_between(&mut self, from: usize, to: usize) -> u64 {
        self.buffer.clear();
        let mut total = 0;
        if let Some(edge) = self.pieces.get(from) {
            self.buffer.push_str(if edge.is_solid() { edge.tail() } else { &edge.text });
        }
        let mut at = self.next[from];
        while at != to {
            let piece = &self.pieces[at];
            self.buffer.push_str(piece.head());
            if piece.is_solid() {
                total += self.tokenizer.units(&self.buffer) + piece.inner();
                self.buffer.clear();
                self.buffer.push_str(piece.tail());
            }
            at = self.next[at];
        }
        if let Some(edge) = self.pieces.get(to) {
            self.buffer.push_str(edge.head());
        }
        total + self.tokenizer.units(&self.buffer)
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
            "[ก-ฮ]{1,5}",
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
            let pieces: Vec<RenderedPiece> =
                texts.iter().map(|text| RenderedPiece::new(tokenizer, text.clone())).collect();
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
        fn known_parts_need_not_be_counted_again(
            texts in proptest::collection::vec((any_piece(), "[a-z ,.一二]{0,40}"), 1..4),
            after in any_piece(),
        ) {
            let tokenizer: &dyn Tokenizer = &Encoding::O200k;
            let mut whole = String::new();
            let mut parts = Vec::new();
            for (before, text) in texts {
                whole.push_str(&before);
                parts.push(whole.len()..whole.len() + text.len());
                whole.push_str(&text);
            }
            whole.push_str(&after);
            let known = parts.into_iter().filter_map(|part| Counted::count_part(tokenizer, &whole, part));
            let known: Vec<Counted> = known.collect();
            let piece = RenderedPiece::with_known(tokenizer, whole.clone(), known);
            prop_assert_eq!(piece.units, tokenizer.units(&whole));
            prop_assert_eq!(units_of(tokenizer, [&piece]), tokenizer.units(&whole));
        }
    }
}
