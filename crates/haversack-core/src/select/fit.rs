//! Shortening one unit so that the whole just fits.

use std::ops::Range;

use super::steps::Step;
use super::tally::{Piece, units_of};
use crate::assemble::{Choices, Growth, Layout};
use crate::layer::Cut;
use crate::pack::Request;
use crate::text::tokenizer::Tokenizer;
use crate::text::truncate::{Truncated, Truncator};
use crate::units::Tokens;

/// A shortened unit.
#[derive(Debug, Clone)]
pub(crate) struct Fitted {
    pub(crate) unit: usize,
    pub(crate) piece: Piece,
    /// What was kept of the candidate's text.
    pub(crate) kept: Vec<Range<usize>>,
    /// The shortened text, without what goes around it.
    pub(crate) content: String,
    /// The part of the text that was kept, by bytes.
    pub(crate) share: f64,
    /// Units of the whole with the shortened unit in it.
    pub(crate) units: u64,
}

/// How often a size is tried. Wrapping and joints shift a count by little, so two or three do.
const TRIES: usize = 16;

/// The largest number of units that makes at most `limit` tokens.
pub(crate) fn room_units(tokenizer: &dyn Tokenizer, limit: Tokens) -> u64 {
    let (mut low, mut high) = (0u64, (u64::from(limit.get()) + 1) * 8);
    while low < high {
        let middle = low + (high - low).div_ceil(2);
        if tokenizer.tokens(middle) <= limit { low = middle } else { high = middle - 1 }
    }
    low
}

/// The place of one unit in a sequence of pieces, and what surrounds it.
pub(super) struct Hole<'l> {
    tokenizer: &'l dyn Tokenizer,
    pieces: &'l [Piece],
    /// The pieces around the unit's place that a change there can touch, parted at that place.
    left: Vec<usize>,
    right: Vec<usize>,
    /// Units of all that a change cannot touch. Signed: joining with it can save what the touched
    /// part has more on its own.
    rest: i64,
}

/// Stands for the unit that is looked at.
const HERE: usize = usize::MAX;

impl<'l> Hole<'l> {
    /// A hole for `unit` in the sequence that `of` makes of choices, whose units now are `units`.
    pub(super) fn new(
        tokenizer: &'l dyn Tokenizer,
        layout: &'l Layout<'_>,
        choices: &Choices,
        unit: usize,
        units: u64,
        of: impl Fn(&Choices) -> Vec<usize>,
    ) -> Hole<'l> {
        let now = of(choices);
        let mut with = choices.clone();
        with[unit] = Some(HERE);
        let with = of(&with);
        let pieces = &layout.pieces;
        let solid = |piece: &usize| pieces.get(*piece).is_some_and(Piece::is_solid);
        let same = |a: &usize, b: &usize| a == b;
        let ahead = now.iter().zip(&with).take_while(|(a, b)| same(a, b)).count();
        let from = with[..ahead].iter().rposition(solid).unwrap_or(0);
        let behind = now.iter().rev().zip(with.iter().rev()).take_while(|(a, b)| same(a, b));
        let behind = behind.count().min(now.len().saturating_sub(ahead)).min(with.len() - ahead);
        let tail = &with[with.len() - behind..];
        let to = tail.iter().position(solid).map_or(behind, |at| at + 1);
        let window = &with[from..with.len() - behind + to];
        let window_now = &now[from..now.len() - behind + to];
        let at = window.iter().position(|&piece| piece == HERE).unwrap_or(window.len());
        let touched = units_of(tokenizer, window_now.iter().map(|&piece| &pieces[piece]));
        Hole {
            tokenizer,
            pieces,
            left: window[..at].to_vec(),
            right: window.get(at + 1..).unwrap_or_default().to_vec(),
            rest: units.cast_signed() - touched.cast_signed(),
        }
    }

    /// Units of the whole with this piece in the hole.
    pub(super) fn units_with(&self, piece: &Piece) -> u64 {
        let of = |index: &usize| &self.pieces[*index];
        let window = self.left.iter().map(of).chain([piece]).chain(self.right.iter().map(of));
        units_of(self.tokenizer, window).saturating_add_signed(self.rest)
    }
}

/// How a unit's text is made shorter.
enum Cutter<'c> {
    /// By sentences, from the start, the end or the middle.
    Text(Truncator<'c>),
    /// By blocks: more than it has now, and less than the step that does not fit.
    Blocks { growth: Growth<'c>, purchases: Range<usize>, must_show: bool, request: &'c Request },
}

impl<'c> Cutter<'c> {
    fn new(request: &'c Request, layout: &'c Layout<'_>, step: &Step, cut: Cut) -> Cutter<'c> {
        let unit = &layout.units[step.unit];
        let candidate = &unit.ranked.candidate;
        if candidate.blocks.is_empty() {
            let (tokenizer, terms) = (&*request.tokenizer, &request.query_terms);
            return Cutter::Text(Truncator::new(&candidate.text, cut.strategy, tokenizer, terms));
        }
        let purchases = |piece: usize| unit.form(piece).map(|form| form.n_purchases);
        let start = step.from.and_then(purchases).unwrap_or(0);
        let purchases = start..purchases(step.to).unwrap_or(usize::MAX);
        let must_show = cut.least <= Tokens::new(1);
        Cutter::Blocks { growth: Growth::of(candidate), purchases, must_show, request }
    }

    fn within(&self, room: Tokens) -> Option<Truncated> {
        match self {
            Cutter::Text(truncator) => truncator.within(room),
            Cutter::Blocks { growth, purchases, must_show, request } => {
                growth.within(room, purchases.clone(), *must_show, request)
            }
        }
    }
}

/// Shortens the text of a step's unit as little as makes the whole fit `limit`; `None` when less
/// than the least would be left.
pub(super) fn fit(
    request: &Request,
    layout: &Layout<'_>,
    hole: &Hole<'_>,
    step: &Step,
    cut: Cut,
    limit: Tokens,
) -> Option<Fitted> {
    let tokenizer = &*request.tokenizer;
    let unit = step.unit;
    let text = &*layout.units[unit].ranked.candidate.text;
    let truncator = Cutter::new(request, layout, step, cut);
    let rendered = |truncated: &Truncated| {
        let piece = layout.render(request, unit, &truncated.text);
        let units = hole.units_with(&piece);
        (piece, units)
    };
    let start = limit.saturating_sub(tokenizer.tokens(0u64.saturating_add_signed(hole.rest)));
    let mut room = start.min(tokenizer.count(text).saturating_sub(Tokens::new(1)));
    let mut found = None;
    for _ in 0..TRIES {
        let truncated = truncator.within(room)?;
        let (piece, units) = rendered(&truncated);
        let over = tokenizer.tokens(units).saturating_sub(limit);
        if over == Tokens::ZERO {
            found = Some((truncated, piece, units));
            break;
        }
        // Less than the cut has now, or a cut that ends at a sentence would stay as it is.
        room = room.min(tokenizer.count(&truncated.text)).checked_sub(over)?;
    }
    let mut best = found?;
    // The step back may have been too long by a joint's token or two.
    for more in 1..=3 {
        let Some(truncated) = truncator.within(room + Tokens::new(more)) else { break };
        let (piece, units) = rendered(&truncated);
        if tokenizer.tokens(units) <= limit && truncated.text.len() > best.0.text.len() {
            best = (truncated, piece, units);
        }
    }
    let (truncated, piece, units) = best;
    if tokenizer.count(&truncated.text) < cut.least {
        return None;
    }
    let kept: usize = truncated.kept.iter().map(ExactSizeIterator::len).sum();
    #[expect(clippy::cast_precision_loss, reason = "texts are far shorter than 2^52 bytes")]
    let share = kept as f64 / text.len().max(1) as f64;
    let Truncated { text: content, kept } = truncated;
    Some(Fitted { unit, piece, kept, content, share, units })
}
