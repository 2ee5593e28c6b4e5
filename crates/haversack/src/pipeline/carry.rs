//! Carrying over: what stood in the pack before this one of the same conversation stays a candidate,
//! so that the beginning of the text can stay the same (P17).
//!
//! What is carried is worth a part of the best find, the more the earlier it stood. So good finds
//! come in before it, poor ones do not, and what must go goes from the end.

use std::collections::{BTreeMap, BTreeSet};

use haversack_core::candidate::{Block, Candidate, Found, Quote};
use haversack_core::ids::{CandidateId, ItemId};
use haversack_core::layer::Order;
use haversack_core::pack::{Previous, Segment, Shown};
use haversack_core::rank::{Ranked, sort};
use haversack_core::units::{Score, Span};
use haversack_store::store::Snapshot;
use haversack_store::store::error::ReadError;

use crate::collect::{from_passage, from_stored};
use crate::recipe::LayerSpec;

/// What the last and the first of the carried are worth, as parts of the best find.
const WORTH: (f64, f64) = (0.35, 0.5);

/// What the ledger says found them.
const FINDER: &str = "previous";

/// What a layer's part of an earlier pack is now: its units with the bytes that they had then.
///
/// # Errors
/// When the store cannot be read.
pub(super) async fn stood(
    snapshot: &dyn Snapshot,
    previous: &Previous,
    layer: &str,
) -> Result<Vec<Candidate>, ReadError> {
    let shown = previous.order.iter().filter(|shown| *shown.layer == *layer);
    let shown: Vec<&Shown> = shown.filter(|shown| is_stored(&shown.id)).collect();
    let items: Vec<_> = shown.iter().map(|shown| shown.id.item.clone()).collect();
    let stored = snapshot.get(&items).await?;
    let mut stood = Vec::new();
    for ((stored, shown), rank) in stored.into_iter().zip(shown).zip(1..) {
        // What is gone, or may no longer be read, or has changed, does not stand any more.
        let candidate = stored.and_then(|stored| as_shown(&from_stored(&stored), shown));
        if let Some(mut candidate) = candidate {
            candidate.found.push(Found { collector: FINDER.into(), rank });
            stood.push(candidate);
        }
    }
    Ok(stood)
}

/// An item as an earlier pack showed it.
fn as_shown(whole: &Candidate, shown: &Shown) -> Option<Candidate> {
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
        candidate.place.title = continued(candidate.place.title);
    }
    (candidate.text, candidate.quotes) = (text.into(), quotes);
    Some(candidate)
}

/// The title of what is shown of a document after another part of it.
fn continued(title: Option<String>) -> Option<String> {
    title.map(|title| format!("{title} (continued)"))
}

/// Adds what stood in a layer and was not found again. What is gone or may no longer be read is
/// not there to add.
///
/// # Errors
/// When the store cannot be read.
pub(crate) async fn carry(
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
        // What is bought by blocks is carried when its documents are made.
        if spec.pinned || missing.is_empty() || spec.order == Order::Blocks {
            continue;
        }
        let (wholes, chunks): (Vec<CandidateId>, Vec<CandidateId>) =
            missing.into_iter().partition(|id| id.chunk.is_none());
        let items: Vec<_> = wholes.into_iter().map(|id| id.item).collect();
        let stored = snapshot.get(&items).await?.into_iter().flatten();
        let mut carried: Vec<Candidate> = stored.map(|stored| from_stored(&stored)).collect();
        let passages = snapshot.passages(&chunks).await?.into_iter().flatten();
        carried.extend(passages.map(|passage| from_passage(&passage)));
        for (mut candidate, rank) in carried.into_iter().zip(1..) {
            candidate.found.push(Found { collector: FINDER.into(), rank });
            layer.push(candidate);
        }
    }
    Ok(())
}

/// Turns of a conversation and the like come with their request or not at all.
fn is_stored(id: &CandidateId) -> bool {
    let item = id.item.as_str();
    !matches!(item, "situation" | "assembly") && !item.starts_with("turn:")
}

/// Lifts what stood in a layer to what the carried are worth, and puts the layer in order again.
pub(crate) fn lift(previous: &Previous, layer: &str, ranked: &mut [Ranked]) {
    let Some(best) = ranked.first().map(|ranked| ranked.score) else { return };
    let stood = previous.order.iter().filter(|shown| *shown.layer == *layer);
    let stood: Vec<&CandidateId> = stood.map(|shown| &shown.id).collect();
    let count = f64::from(u32::try_from(stood.len().max(1)).unwrap_or(u32::MAX));
    let places: BTreeMap<&CandidateId, u32> = stood.into_iter().zip(0..).collect();
    for ranked in ranked.iter_mut() {
        let Some(&place) = places.get(&ranked.candidate.id) else { continue };
        let (last, first) = WORTH;
        let part = first - (first - last) * f64::from(place) / count;
        let worth = Score::new(best.get() * part).unwrap_or(Score::ZERO);
        ranked.score = ranked.score.max(worth);
    }
    sort(ranked);
}

/// Takes out the weakest of a layer to which an earlier pack's part was added, so that it has no more
/// items than were found now or stood then: else it would grow from turn to turn (P17). They are
/// given back with the number that may stay.
pub(super) fn over_carried(
    previous: &Previous,
    layer: &str,
    ranked: &mut Vec<Ranked>,
) -> (Vec<Ranked>, usize) {
    let is_new = |ranked: &&Ranked| {
        let found = &ranked.candidate.found;
        found.is_empty() || found.iter().any(|found| *found.collector != *FINDER)
    };
    let item = |ranked: &Ranked| ranked.candidate.id.item.clone();
    let found: BTreeSet<ItemId> = ranked.iter().filter(is_new).map(item).collect();
    let stood = previous.order.iter().filter(|shown| *shown.layer == *layer);
    let stood: BTreeSet<&ItemId> = stood.map(|shown| &shown.id.item).collect();
    let limit = found.len().max(stood.len());
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

/// Puts what an earlier pack showed in the place of the documents that it is of; what else was found
/// of them becomes a candidate of its own, to follow later.
pub(super) fn keep_what_stood(layer: &mut Vec<Ranked>, stood: Vec<Candidate>) {
    let mut shown: BTreeMap<ItemId, Vec<Candidate>> = BTreeMap::new();
    for candidate in stood {
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
        leave_out(&mut ranked.candidate, &earlier);
        if let Some(id) = continuing_id(&ranked.candidate, &earlier) {
            ranked.candidate.id = id;
            ranked.candidate.place.title = continued(ranked.candidate.place.title);
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

/// Takes the blocks out of a document that stood in an earlier pack.
fn leave_out(candidate: &mut Candidate, earlier: &[Candidate]) {
    let spans: Vec<Span> = earlier.iter().flat_map(|earlier| earlier.all_spans()).collect();
    let stood = |block: &Block| {
        let own = candidate.spans_of(std::slice::from_ref(&block.range));
        let is_inside = |own: &Span| {
            spans.iter().any(|span| span.start() <= own.start() && own.end() <= span.end() + 2)
        };
        own.iter().all(is_inside)
    };
    let left: Vec<usize> =
        (0..candidate.blocks.len()).filter(|&at| !stood(&candidate.blocks[at])).collect();
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
        // Its text is not the body's own bytes, so nothing can be told apart in it.
        (text, blocks) = (String::new(), Vec::new());
    }
    candidate.set_text(text);
    (candidate.quotes, candidate.blocks) = (quotes, blocks);
}

/// A name for the rest of a document, which nothing earlier has.
fn continuing_id(rest: &Candidate, earlier: &[Candidate]) -> Option<CandidateId> {
    if rest.text.trim().is_empty() {
        return None;
    }
    let taken: Vec<Option<u32>> = earlier.iter().map(|earlier| earlier.id.chunk).collect();
    let free = (1..).find(|chunk| !taken.contains(&Some(*chunk)))?;
    Some(CandidateId::chunk(rest.id.item.clone(), free))
}
