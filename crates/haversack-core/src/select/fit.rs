//! Truncates one unit so that the whole text just fits.

use std::ops::Range;

use super::steps::ScheduleStep;
use super::tally::{RenderedPiece, units_of};
use crate::assemble::{Choices, Growth, Layout};
use crate::layer::Cut;
use crate::pack::PackRequest;
use crate::text::tokenizer::Tokenizer;
use crate::text::truncate::{Truncated, Truncator};
use crate::units::Tokens;

/// A truncated unit.
#[derive(Debug, Clone)]
pub(crate) struct Fitted {
    pub(crate) unit: usize,
    pub(crate) piece: RenderedPiece,
    /// The kept ranges of the candidate's text.
    pub(crate) kept: Vec<Range<usize>>,
    /// The truncated text, before rendering.
    pub(crate) content: String,
    /// The kept share of the text, by bytes.
    pub(crate) share: f64,
    /// Token units of the whole text with the truncated unit.
    pub(crate) units: u64,
}

/// Maximum number of attempts. Rendering and joints shift counts little, so two or three suffice.
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

/// The slot of one unit in a sequence of pieces, with its neighbours.
pub(super) struct UnitSlot<'l> {
    tokenizer: &'l dyn Tokenizer,
    pieces: &'l [RenderedPiece],
    /// The neighbouring pieces whose token counts a change in the slot can affect.
    left: Vec<usize>,
    right: Vec<usize>,
    /// Token units of everything else. Signed, because joining can save more than the affected part
    /// costs alone.
    rest: i64,
}

/// Placeholder for the unit in question.
const HERE: usize = usize::MAX;

impl<'l> UnitSlot<'l> {
    /// The slot of `unit` in the sequence that `of` makes of choices, which has `units` token
    /// units.
    pub(super) fn new(
        tokenizer: &'l dyn Tokenizer,
        layout: &'l Layout<'_>,
        choices: &Choices,
        unit: usize,
        units: u64,
        of: impl Fn(&Choices) -> Vec<usize>,
    ) -> UnitSlot<'l> {
        let now = of(choices);
        let mut with = choices.clone();
        with[unit] = Some(HERE);
        let with = of(&with);
        let pieces = &layout.pieces;
        let solid = |piece: &usize| pieces.get(*piece).is_some_and(RenderedPiece::is_solid);
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
        UnitSlot {
            tokenizer,
            pieces,
            left: window[..at].to_vec(),
            right: window.get(at + 1..).unwrap_or_default().to_vec(),
            rest: units.cast_signed() - touched.cast_signed(),
        }
    }

    /// Token units of the whole text with this piece in the slot.
    pub(super) fn units_with(&self, piece: &RenderedPiece) -> u64 {
        let of = |index: &usize| &self.pieces[*index];
        let window = self.left.iter().map(of).chain([piece]).chain(self.right.iter().map(of));
        units_of(self.tokenizer, window).saturating_add_signed(self.rest)
    }
}

/// How a unit's text is truncated.
enum Cutter<'c> {
    /// By sentences, from the start, the end or the middle.
    Text(Truncator<'c>),
    /// By blocks: more than now, and less than the step that does not fit.
    Blocks {
        growth: Growth<'c>,
        purchases: Range<usize>,
        must_show: bool,
        request: &'c PackRequest,
    },
}

impl<'c> Cutter<'c> {
    fn new(
        request: &'c PackRequest,
        layout: &'c Layout<'_>,
        step: &ScheduleStep,
        cut: Cut,
    ) -> Cutter<'c> {
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
        Cutter::Blocks { growth: Growth::from_candidate(candidate), purchases, must_show, request }
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

/// Truncates the text of a step's unit so that the whole just fits `limit`; `None` when less than
/// the minimum would remain.
pub(super) fn fit(
    request: &PackRequest,
    layout: &Layout<'_>,
    hole: &UnitSlot<'_>,
    step: &ScheduleStep,
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
        // Go below the current size, or a cut at a sentence end would not change.
        room = room.min(tokenizer.count(&truncated.text)).checked_sub(over)?;
    }
    let mut best = found?;
    // The last reduction may have been a token or two too large.
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
