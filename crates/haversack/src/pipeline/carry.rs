//! Carries candidates over from the previous pack of a conversation, so that the beginning of the
//! text can stay unchanged (P17).
//!
//! A carried candidate scores a part of the best new score, more the earlier it stood. So good new
//! candidates rank before it, poor ones do not, and the end of the text changes first.

use std::collections::{BTreeMap, BTreeSet};

use haversack_core::candidate::{Block, Candidate, FoundBy, Quote};
use haversack_core::ids::{CandidateId, ItemId};
use haversack_core::layer::Order;
use haversack_core::pack::{Previous, Segment, ShownCandidate};
use haversack_core::rank::{Ranked, sort};
use haversack_core::units::{Score, Span};
use haversack_store::store::Snapshot;
use haversack_store::store::error::ReadError;

use super::assembled::is_synthetic_id;
use crate::collect::{candidate_from_item, candidate_from_passage};
use crate::recipe::LayerSpec;

/// Scores of the last and the first carried candidate, as parts of the best score.
const CARRIED_SCORES: (f64, f64) = (0.35, 0.5);

/// The collector that the ledger names for carried candidates.
const COLLECTOR: &str = "previous";

/// Reads a layer's candidates of the previous pack, with the parts that it showed.
///
/// # Errors
/// When the store cannot be read.
pub(super) async fn previous_candidates(
    snapshot: &dyn Snapshot,
    previous: &Previous,
    layer: &str,
) -> Result<Vec<Candidate>, ReadError> {
    let shown = previous.order.iter().filter(|shown| *shown.layer == *layer);
    let shown: Vec<&ShownCandidate> = shown.filter(|shown| is_stored(&shown.id)).collect();
    let items: Vec<_> = shown.iter().map(|shown| shown.id.item.clone()).collect();
    let stored = snapshot.get(&items).await?;
    let mut previous_parts = Vec::new();
    for ((stored, shown), rank) in stored.into_iter().zip(shown).zip(1..) {
        // Items that are gone, no longer readable or changed are not carried.
        let candidate =
            stored.and_then(|stored| candidate_as_shown(&candidate_from_item(&stored), shown));
        if let Some(mut candidate) = candidate {
            candidate.found.push(FoundBy { collector: COLLECTOR.into(), rank });
            previous_parts.push(candidate);
        }
    }
    Ok(previous_parts)
}

/// Makes a candidate of the parts of an item that the previous pack showed.
fn candidate_as_shown(whole: &Candidate, shown: &ShownCandidate) -> Option<Candidate> {
    let mut candidate = Candidate { id: shown.id.clone(), essential: None, ..whole.clone() };
    if shown.content.is_empty() {
        return shown.id.chunk.is_none().then_some(candidate);
    }
    let (mut text, mut quotes) = (String::new(), Vec::new());
    for segment in &shown.content {
        match segment {
            Segment::Words(words) => text.push_str(words),
            Segment::Body(span) => {
                let start = text.len();
                text.push_str(span.slice(&whole.text)?);
                let before = &whole.text[..span.start()];
                let line = 1 + before.bytes().filter(|byte| *byte == b'\n').count();
                let line = u32::try_from(line).unwrap_or(u32::MAX);
                quotes.push(Quote { range: start..text.len(), start: span.start(), line });
            }
        }
    }
    if shown.id.chunk.is_some() {
        candidate.place.title = continued_title(candidate.place.title);
    }
    (candidate.text, candidate.quotes) = (text.into(), quotes);
    Some(candidate)
}

/// The title of a later part of a document.
fn continued_title(title: Option<String>) -> Option<String> {
    title.map(|title| format!("{title} (continued)"))
}

/// Adds the previous pack's candidates that were not found again. Items that are gone or no longer
/// readable are skipped.
///
/// # Errors
/// When the store cannot be read.
pub(crate) async fn add_carried(
    snapshot: &dyn Snapshot,
    previous: &Previous,
    specs: &[LayerSpec],
    layers: &mut [Vec<Candidate>],
) -> Result<(), ReadError> {
    for (spec, layer) in specs.iter().zip(layers) {
        let missing: Vec<CandidateId> = previous
            .order
            .iter()
            .filter(|shown| *shown.layer == *spec.name && is_stored(&shown.id))
            .map(|shown| shown.id.clone())
            .filter(|id| !layer.iter().any(|candidate| candidate.id == *id))
            .collect();
        // Layers that are bought by blocks carry over when their documents are made.
        if spec.pinned || missing.is_empty() || spec.order == Order::Blocks {
            continue;
        }
        let (wholes, chunks): (Vec<CandidateId>, Vec<CandidateId>) =
            missing.into_iter().partition(|id| id.chunk.is_none());
        let items: Vec<_> = wholes.into_iter().map(|id| id.item).collect();
        let stored = snapshot.get(&items).await?.into_iter().flatten();
        let mut carried: Vec<Candidate> =
            stored.map(|stored| candidate_from_item(&stored)).collect();
        let passages = snapshot.passages(&chunks).await?.into_iter().flatten();
        carried.extend(passages.map(|passage| candidate_from_passage(&passage)));
        for (mut candidate, rank) in carried.into_iter().zip(1..) {
            candidate.found.push(FoundBy { collector: COLLECTOR.into(), rank });
            layer.push(candidate);
        }
    }
    Ok(())
}

/// Whether a candidate is of the store. Turns and the like come with their request or not at all.
fn is_stored(id: &CandidateId) -> bool {
    !is_synthetic_id(&id.item)
}

/// Raises the scores of carried candidates, and sorts the layer again.
pub(crate) fn raise_carried_scores(previous: &Previous, layer: &str, ranked: &mut [Ranked]) {
    let Some(best) = ranked.first().map(|ranked| ranked.score) else { return };
    let previous_parts = previous.order.iter().filter(|shown| *shown.layer == *layer);
    let previous_parts: Vec<&CandidateId> = previous_parts.map(|shown| &shown.id).collect();
    let count = f64::from(u32::try_from(previous_parts.len().max(1)).unwrap_or(u32::MAX));
    let places: BTreeMap<&CandidateId, u32> = previous_parts.into_iter().zip(0..).collect();
    for ranked in ranked.iter_mut() {
        let Some(&place) = places.get(&ranked.candidate.id) else { continue };
        let (last, first) = CARRIED_SCORES;
        let part = first - (first - last) * f64::from(place) / count;
        let worth = Score::new(best.get() * part).unwrap_or(Score::ZERO);
        ranked.score = ranked.score.max(worth);
    }
    sort(ranked);
}

/// Takes the weakest items out of a layer with carried candidates, so that it has no more items
/// than were found now or shown then: else it would grow from turn to turn (P17). Returns them with
/// the limit.
pub(super) fn take_excess_carried(
    previous: &Previous,
    layer: &str,
    ranked: &mut Vec<Ranked>,
) -> (Vec<Ranked>, usize) {
    let is_new = |ranked: &&Ranked| {
        let found = &ranked.candidate.found;
        found.is_empty() || found.iter().any(|found| *found.collector != *COLLECTOR)
    };
    let item = |ranked: &Ranked| ranked.candidate.id.item.clone();
    let found: BTreeSet<ItemId> = ranked.iter().filter(is_new).map(item).collect();
    let previous_parts = previous.order.iter().filter(|shown| *shown.layer == *layer);
    let previous_parts: BTreeSet<&ItemId> = previous_parts.map(|shown| &shown.id.item).collect();
    let limit = found.len().max(previous_parts.len());
    let mut kept: BTreeSet<ItemId> = BTreeSet::new();
    let mut is_over = |ranked: &mut Ranked| {
        let item = ranked.candidate.id.item.clone();
        let is_over = kept.len() >= limit && !kept.contains(&item);
        if !is_over {
            kept.insert(item);
        }
        is_over
    };
    (ranked.extract_if(.., &mut is_over).collect(), limit)
}

/// Replaces documents by the parts that the previous pack showed of them. Newly found parts become
/// candidates of their own that follow later.
pub(super) fn restore_previous_parts(layer: &mut Vec<Ranked>, previous_parts: Vec<Candidate>) {
    let mut shown: BTreeMap<ItemId, Vec<Candidate>> = BTreeMap::new();
    for candidate in previous_parts {
        shown.entry(candidate.id.item.clone()).or_default().push(candidate);
    }
    let mut kept = Vec::with_capacity(layer.len() + shown.len());
    for mut ranked in std::mem::take(layer) {
        let Some(earlier) = shown.remove(&ranked.candidate.id.item) else {
            kept.push(ranked);
            continue;
        };
        let (score, parts) = (ranked.score, ranked.parts.clone());
        let found = ranked.candidate.found.clone();
        remove_shown_blocks(&mut ranked.candidate, &earlier);
        if let Some(id) = continuing_id(&ranked.candidate, &earlier) {
            ranked.candidate.id = id;
            ranked.candidate.place.title = continued_title(ranked.candidate.place.title);
            kept.push(ranked);
        }
        for mut candidate in earlier {
            candidate.found.extend(found.iter().cloned());
            kept.push(Ranked { candidate, score, parts: parts.clone() });
        }
    }
    let unfound = |candidate| Ranked { candidate, score: Score::ZERO, parts: Vec::new() };
    kept.extend(shown.into_values().flatten().map(unfound));
    *layer = kept;
    sort(layer);
}

/// Removes the blocks that the previous pack showed from a document.
fn remove_shown_blocks(candidate: &mut Candidate, earlier: &[Candidate]) {
    let spans: Vec<Span> = earlier.iter().flat_map(|earlier| earlier.all_spans()).collect();
    let was_shown = |block: &Block| {
        let own = candidate.spans_of(std::slice::from_ref(&block.range));
        let is_inside = |own: &Span| {
            spans.iter().any(|span| span.start() <= own.start() && own.end() <= span.end() + 2)
        };
        own.iter().all(is_inside)
    };
    let left: Vec<usize> =
        (0..candidate.blocks.len()).filter(|&at| !was_shown(&candidate.blocks[at])).collect();
    let (mut text, mut quotes, mut blocks) = (String::new(), Vec::new(), Vec::new());
    for &at in &left {
        let block = &candidate.blocks[at];
        let shift = text.len();
        for quote in &candidate.quotes {
            let from = quote.range.start.max(block.range.start);
            let to = quote.range.end.min(block.range.end);
            if from < to {
                let range = shift + from - block.range.start..shift + to - block.range.start;
                let before = &candidate.text[quote.range.start..from];
                let breaks = before.bytes().filter(|byte| *byte == b'\n').count();
                quotes.push(Quote {
                    range,
                    start: quote.start + from - quote.range.start,
                    line: quote.line + u32::try_from(breaks).unwrap_or(u32::MAX),
                });
            }
        }
        text.push_str(&candidate.text[block.range.clone()]);
        let under = block.under.and_then(|under| left.iter().position(|&left| left == under));
        blocks.push(Block { range: shift..text.len(), under, ..block.clone() });
    }
    if candidate.quotes.is_empty() && !left.is_empty() {
        // Its text is not the body's own bytes, so blocks cannot be matched.
        (text, blocks) = (String::new(), Vec::new());
    }
    candidate.set_text(text);
    (candidate.quotes, candidate.blocks) = (quotes, blocks);
}

/// Finds an unused id for the rest of a document.
fn continuing_id(rest: &Candidate, earlier: &[Candidate]) -> Option<CandidateId> {
    if rest.text.trim().is_empty() {
        return None;
    }
    let taken: Vec<Option<u32>> = earlier.iter().map(|earlier| earlier.id.chunk).collect();
    let free = (1..).find(|chunk| !taken.contains(&Some(*chunk)))?;
    Some(CandidateId::chunk(rest.id.item.clone(), free))
}
