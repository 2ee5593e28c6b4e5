//! Orders the blocks of a focused page that may not fit (W2, X9).
//!
//! Blocks that answer the query rank first, then their neighbours, then the rest of their sections;
//! a heading follows the best block of its section. Where the query has no subject of its own, as
//! "summarise this page", the beginning of every section ranks before the rest of any. The order
//! does not depend on the budget.

use std::collections::BTreeMap;

use haversack_core::ids::ItemId;
use haversack_core::rank::{Component, Ranked, ScorePart, sort};
use haversack_core::units::Score;

use super::interaction::Interaction;
use crate::collect::{Outline, Question, has_no_subject};
use crate::notice::{Notice, NoticeCode};

/// Weight of a block's own score beside its place in the order.
const OWN_SCORE_WEIGHT: f64 = 0.2;

/// Scores of a block beside one that answers the query, and of one in the same section, relative to
/// it.
const NEIGHBOUR_SCORE: f64 = 0.75;
const SAME_SECTION_SCORE: f64 = 0.5;

/// Breaks ties without changing any other order.
const TIE_BREAK: f64 = 1e-6;

/// Scores the blocks of outlines by their order of usefulness, and sorts the layers.
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
                true => section_order_scores(outline),
                false => answer_scores(interaction, outline, &at, layer),
            };
            apply_order_scores(question, outline, &at, &worth, layer);
            sort(layer);
        }
    }
}

/// Scores the first block of each section above the second of any.
fn section_order_scores(outline: &Outline) -> Vec<f64> {
    let mut before: BTreeMap<Option<usize>, u32> = BTreeMap::new();
    let worth = outline.blocks.iter().map(|(_, under)| {
        let count = before.entry(*under).or_default();
        *count += 1;
        1.0 / f64::from(*count)
    });
    worth.collect()
}

/// Scores each block by how well it, or a block near it, answers.
fn answer_scores(
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
        let (title, features) = (interaction.match_title(&titled), interaction.features_of(block));
        let met = interaction.score_block(title.as_ref(), features.pieces());
        own.push(met.map_or(0.0, Score::get));
    }
    let best = own.iter().copied().fold(0.0, f64::max);
    if best <= 0.0 {
        return section_order_scores(outline);
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
        other.map_or(0.0, |other| NEIGHBOUR_SCORE * own[other])
    };
    let worth = (0..own.len()).map(|place| {
        let section = SAME_SECTION_SCORE * of_section.get(&under(place)).copied().unwrap_or(0.0);
        // A block without a heading has no section.
        let section = if under(place).is_some() { section } else { 0.0 };
        let beside = near(place, place.checked_sub(1)).max(near(place, Some(place + 1)));
        own[place].max(beside).max(section)
    });
    worth.collect()
}

/// Sets the blocks' scores. A heading ranks right after the best block under it.
fn apply_order_scores(
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
        let later = TIE_BREAK * place as f64;
        let is_asked_for = focus == Some(&outline.blocks[place].0)
            || question.request.prioritize.contains(&layer[index].candidate.kind);
        let worth = if is_asked_for { 1.0 } else { worth[place] };
        scores[place] =
            OWN_SCORE_WEIGHT * layer[index].score.get() + (1.0 - OWN_SCORE_WEIGHT) * worth - later;
    }
    // A heading comes before its blocks, so going backwards visits all of them first.
    let mut best_below = vec![f64::NEG_INFINITY; at.len()];
    for place in (0..at.len()).rev() {
        if best_below[place].is_finite() {
            scores[place] = scores[place].max(best_below[place] - TIE_BREAK);
        }
        if let Some(under) = outline.blocks[place].1 {
            best_below[under] = best_below[under].max(scores[place]);
        }
    }
    for (place, index) in at.iter().enumerate() {
        let Some(index) = *index else { continue };
        let ranked = &mut layer[index];
        let own: f64 = ranked.score.get() * OWN_SCORE_WEIGHT;
        ranked.parts.iter_mut().for_each(|part| part.weight *= OWN_SCORE_WEIGHT);
        let value =
            Score::new((scores[place] - own) / (1.0 - OWN_SCORE_WEIGHT)).unwrap_or(Score::ZERO);
        ranked.parts.push(ScorePart {
            component: Component::MaxSim,
            value,
            weight: 1.0 - OWN_SCORE_WEIGHT,
        });
        ranked.score = Score::new(scores[place]).unwrap_or(Score::ZERO);
    }
    // The page itself ranks before its blocks, and so does a model's summary of it.
    let best = layer.iter().map(|ranked| ranked.score).max().unwrap_or(Score::ZERO);
    for ranked in layer.iter_mut() {
        let id = &ranked.candidate.id.item;
        let ahead = match () {
            () if *id == outline.id => 2.0,
            () if outline.summary.as_ref() == Some(id) => 1.0,
            () => continue,
        };
        ranked.score = Score::new(best.get() + ahead * TIE_BREAK).unwrap_or(best);
    }
}

/// Returns notices about pages of which not all blocks are in the pack.
pub(super) fn partial_outline_notices<'p>(
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
