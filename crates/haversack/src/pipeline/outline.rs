//! A page in focus that does not fit: which of its blocks go in first (W2, X9).
//!
//! Blocks that answer the question come first, then what stands beside them, then the rest of their
//! sections; a heading follows the best block of its section. Where the question has no subject of
//! its own, as "summarise this page", every section's beginning comes before any section's rest.
//! None of it knows the budget.

use std::collections::BTreeMap;

use haversack_core::ids::ItemId;
use haversack_core::rank::{Component, Part, Ranked, sort};
use haversack_core::units::Score;

use super::interaction::Interaction;
use crate::collect::{Outline, Question, has_no_subject};
use crate::notice::{Notice, NoticeCode};

/// What counts of a block's own score, beside its place in the order.
const OWN: f64 = 0.2;

/// What a block is worth for the one beside it that answers, and for one in the same section.
const BESIDE: f64 = 0.75;
const SAME_SECTION: f64 = 0.5;

/// Too little to change an order other than of equals.
const HAIR: f64 = 1e-6;

/// Puts the blocks of pages into the order in which they are worth having.
pub(super) fn order_outlines(
    question: &Question,
    interaction: &mut Interaction<'_>,
    outlines: &[Outline],
    layers: &mut [Vec<Ranked>],
) {
    for outline in outlines {
        let places: BTreeMap<&ItemId, usize> =
            outline.blocks.iter().zip(0..).map(|((id, _), place)| (id, place)).collect();
        for layer in layers.iter_mut() {
            let was_read = |ranked: &Ranked| {
                ranked.candidate.found.iter().any(|found| *found.collector == *"focus")
            };
            let mut at: Vec<Option<usize>> = vec![None; outline.blocks.len()];
            for (index, ranked) in layer.iter().enumerate().filter(|(_, it)| was_read(it)) {
                if let Some(&place) = places.get(&ranked.candidate.id.item) {
                    at[place] = Some(index);
                }
            }
            if at.iter().all(Option::is_none) {
                continue;
            }
            let worth = match has_no_subject(&question.analysis) {
                true => by_section(outline),
                false => by_answer(interaction, outline, &at, layer),
            };
            rescore(question, outline, &at, &worth, layer);
            sort(layer);
        }
    }
}

/// The first block of each section before the second of any.
fn by_section(outline: &Outline) -> Vec<f64> {
    let mut before: BTreeMap<Option<usize>, u32> = BTreeMap::new();
    let worth = outline.blocks.iter().map(|(_, under)| {
        let count = before.entry(*under).or_default();
        *count += 1;
        1.0 / f64::from(*count)
    });
    worth.collect()
}

/// How well each block answers, or the blocks near it.
fn by_answer(
    interaction: &mut Interaction<'_>,
    outline: &Outline,
    at: &[Option<usize>],
    layer: &[Ranked],
) -> Vec<f64> {
    let candidate = |place: usize| at[place].map(|index| &layer[index].candidate);
    let mut own = Vec::with_capacity(at.len());
    for (place, (_, under)) in outline.blocks.iter().enumerate() {
        let Some(block) = candidate(place) else {
            own.push(0.0);
            continue;
        };
        let mut titled = block.clone();
        if let Some(lead) = under.and_then(candidate) {
            titled.place.byline.push_str(&format!(" {}", lead.text));
        }
        let (title, features) = (interaction.title(&titled), interaction.features_of(block));
        let met = interaction.score(title.as_ref(), features.pieces());
        own.push(met.map_or(0.0, Score::get));
    }
    let best = own.iter().copied().fold(0.0, f64::max);
    if best <= 0.0 {
        return by_section(outline);
    }
    own.iter_mut().for_each(|met| *met /= best);
    let under = |place: usize| outline.blocks[place].1;
    let mut of_section: BTreeMap<Option<usize>, f64> = BTreeMap::new();
    for (place, met) in own.iter().enumerate() {
        let known = of_section.entry(under(place)).or_default();
        *known = known.max(*met);
    }
    let near = |place: usize, other: Option<usize>| {
        let other = other.filter(|other| *other < own.len() && under(*other) == under(place));
        other.map_or(0.0, |other| BESIDE * own[other])
    };
    let worth = (0..own.len()).map(|place| {
        let section = SAME_SECTION * of_section.get(&under(place)).copied().unwrap_or(0.0);
        // What stands under nothing is of no section.
        let section = if under(place).is_some() { section } else { 0.0 };
        let beside = near(place, place.checked_sub(1)).max(near(place, Some(place + 1)));
        own[place].max(beside).max(section)
    });
    worth.collect()
}

/// Gives blocks the scores of their order. What others stand under comes right after the best of
/// them.
fn rescore(
    question: &Question,
    outline: &Outline,
    at: &[Option<usize>],
    worth: &[f64],
    layer: &mut [Ranked],
) {
    let focus = question.request.focus.as_ref();
    let mut scores = vec![f64::NEG_INFINITY; at.len()];
    for (place, index) in at.iter().enumerate() {
        let Some(index) = *index else { continue };
        #[expect(clippy::cast_precision_loss, reason = "a page has fewer than 2^52 blocks")]
        let later = HAIR * place as f64;
        let is_asked_for = focus == Some(&outline.blocks[place].0)
            || question.request.prioritize.contains(&layer[index].candidate.kind);
        let worth = if is_asked_for { 1.0 } else { worth[place] };
        scores[place] = OWN * layer[index].score.get() + (1.0 - OWN) * worth - later;
    }
    // Under comes before, so going back all that stands under a block is known.
    let mut best_below = vec![f64::NEG_INFINITY; at.len()];
    for place in (0..at.len()).rev() {
        if best_below[place].is_finite() {
            scores[place] = scores[place].max(best_below[place] - HAIR);
        }
        if let Some(under) = outline.blocks[place].1 {
            best_below[under] = best_below[under].max(scores[place]);
        }
    }
    for (place, index) in at.iter().enumerate() {
        let Some(index) = *index else { continue };
        let ranked = &mut layer[index];
        let own: f64 = ranked.score.get() * OWN;
        ranked.parts.iter_mut().for_each(|part| part.weight *= OWN);
        let value = Score::new((scores[place] - own) / (1.0 - OWN)).unwrap_or(Score::ZERO);
        ranked.parts.push(Part { component: Component::MaxSim, value, weight: 1.0 - OWN });
        ranked.score = Score::new(scores[place]).unwrap_or(Score::ZERO);
    }
    // The page itself stands before its blocks.
    let best = layer.iter().map(|ranked| ranked.score).max().unwrap_or(Score::ZERO);
    if let Some(root) = layer.iter_mut().find(|it| it.candidate.id.item == outline.id) {
        root.score = Score::new(best.get() + HAIR).unwrap_or(best);
    }
}

/// Says how many blocks of a page are in, where not all are.
pub(super) fn notices<'p>(
    outlines: &'p [Outline],
    shown: impl Fn(&ItemId) -> bool + 'p,
) -> impl Iterator<Item = Notice> + 'p {
    outlines.iter().filter_map(move |outline| {
        let (total, what) = (outline.blocks.len(), &outline.what);
        let n_in = outline.blocks.iter().filter(|(id, _)| shown(id)).count();
        (n_in < total).then(|| {
            let message = format!("{n_in} of {total} {what} of {} are in", outline.name);
            let details = serde_json::json!({
                "category": "focus", "id": outline.id.as_str(), "included": n_in, "total": total,
            });
            Notice { details, ..Notice::new(NoticeCode::ContextTruncated, message) }
        })
    })
}
