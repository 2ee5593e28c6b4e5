//! Ranking: a layer's candidates scored and put in order, and those set aside that are excluded,
//! repeat others, stand elsewhere already, or are not among the best. Each with its reason.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use haversack_core::candidate::Candidate;
use haversack_core::ids::{CandidateId, ItemId};
use haversack_core::layer::Order as PaymentOrder;
use haversack_core::ledger::{Dropped, Reason};
use haversack_core::pack::Previous;
use haversack_core::rank::{Component, Ranked, Ranker, diversified, rank};
use haversack_core::text::duplicate::duplicates;
use haversack_core::text::trigram;
use haversack_core::units::Score;

use super::carry::{lift, over_carried};
use super::currency::Currency;
use super::hints::put_first;
use crate::collect::{is_linked, is_named};
use crate::error::Error;
use crate::notice::{Notice, NoticeCode};
use crate::recipe::LayerSpec;
use crate::request::Request;

/// Candidates in order, and those that were set aside.
#[derive(Debug, Default)]
pub(crate) struct Order {
    /// Each layer's, best first, in the recipe's order.
    pub(crate) layers: Vec<Vec<Ranked>>,
    pub(crate) dropped: Vec<Dropped>,
}

/// The collector whose depth is the recipe's, and whose finds a request's limit counts.
const SEARCH: &str = "hybrid";
/// The collector of what is like the focus, which is relevant to a question about it.
const SIMILAR: &str = "similar";
/// The collector of what is linked with the focus.
const LINKED: &str = "relations";
/// The collector whose finds it does not count.
const RELATED: &str = "expand";

/// How many characters of two texts are compared to see how much they have in common.
const COMPARED: usize = 400;

/// Puts everything in order.
///
/// # Errors
/// When a ranker fails.
pub(crate) fn order(
    specs: &[LayerSpec],
    rankers: &[Ranker],
    (candidates, relevance): (Vec<Vec<Candidate>>, &[Option<Score>]),
    (request, currency): (&Request, &Currency),
    previous: Option<&Previous>,
) -> Result<Order, Error> {
    let mut order = Order::default();
    let candidates = candidates.into_iter().zip(relevance);
    for ((spec, ranker), (candidates, relevance)) in specs.iter().zip(rankers).zip(candidates) {
        let mut ranked = rank(candidates, ranker)?;
        put_first(request, ranker, &mut ranked);
        if spec.prefer_current {
            currency.apply(&mut ranked);
        }
        if let Some(previous) =
            previous.filter(|_| !spec.pinned && spec.order != PaymentOrder::Blocks)
        {
            lift(previous, &spec.name, &mut ranked);
            order.drop_over_carried(previous, spec, &mut ranked);
        }
        let name: Arc<str> = spec.name.as_str().into();
        let mut drop = |ranked: Ranked, reason| {
            order.dropped.push(Dropped { layer: Arc::clone(&name), ranked, reason });
        };
        let excluded = |ranked: &mut Ranked| request.exclude.contains(&ranked.candidate.id.item);
        ranked.extract_if(.., excluded).for_each(|ranked| drop(ranked, Reason::Excluded));
        if let Some(reason) = irrelevance(spec, *relevance) {
            let was_searched = |ranked: &mut Ranked| !is_named(&ranked.candidate);
            let below = ranked.extract_if(.., was_searched);
            below.for_each(|ranked| drop(ranked, reason.clone()));
        }
        // Without a measure of the layer nothing is known against any of it.
        if let Some(least) = relevance.and_then(|_| least_met(spec, &ranked)) {
            // All that was found of an item stands or falls with the best of it.
            let stays = |ranked: &&Ranked| {
                let candidate = &ranked.candidate;
                meets(candidate) >= least || is_named(candidate) || is_linked(candidate)
            };
            let near: BTreeSet<ItemId> =
                ranked.iter().filter(stays).map(|it| it.candidate.id.item.clone()).collect();
            let is_far = |ranked: &mut Ranked| !near.contains(&ranked.candidate.id.item);
            for ranked in ranked.extract_if(.., is_far) {
                let meets = meets(&ranked.candidate);
                drop(ranked, Reason::FarFromBest { meets, least });
            }
        }
        if let Some(minimum) = spec.minimum {
            let below = |ranked: &mut Ranked| ranked.score < minimum;
            let reason = || Reason::BelowMinimum { minimum };
            ranked.extract_if(.., below).for_each(|ranked| drop(ranked, reason()));
        }
        order.layers.push(ranked);
    }
    order.leave_pieces_to_wholes(specs);
    order.leave_to_links(specs);
    order.leave_out_repeats(specs);
    for (index, spec) in specs.iter().enumerate() {
        order.finish_layer(index, spec);
        if let Some(limit) = request.limit {
            order.limit_items(index, spec, limit);
        }
    }
    Ok(order)
}

/// Why nothing that was found for a layer has to do with the query, if that is so (X9). Something is
/// always nearest; that alone is no reason to show it.
fn irrelevance(spec: &LayerSpec, relevance: Option<Score>) -> Option<Reason> {
    // Where nothing was measured, nothing is known against anything.
    let (floor, best) = (spec.floor?, relevance?);
    (best < floor).then_some(Reason::BelowFloor { best, floor })
}

/// How well a candidate meets the query's words.
fn meets(candidate: &Candidate) -> Score {
    candidate.signals.get(Component::MaxSim).unwrap_or(Score::ZERO)
}

/// The least that a find of a layer must meet of the query beside the best of them (X9).
fn least_met(spec: &LayerSpec, ranked: &[Ranked]) -> Option<Score> {
    let best = ranked.iter().map(|ranked| meets(&ranked.candidate)).max()?;
    Some(Score::unit(best.get() * spec.relative_floor?.get()))
}

impl Order {
    /// Says so when nothing that was searched for has to do with the query (X9).
    pub(super) fn irrelevance(&self, specs: &[LayerSpec]) -> Option<Notice> {
        let left_out = |dropped: &Dropped| matches!(dropped.reason, Reason::BelowFloor { .. });
        let searched = specs.iter().zip(&self.layers).filter(|(spec, _)| spec.floor.is_some());
        let mut found = searched.flat_map(|(_, layer)| layer);
        let is_similar = |ranked: &Ranked| {
            ranked.candidate.found.iter().any(|found| *found.collector == *SIMILAR)
        };
        let is_empty = found.all(|ranked| is_named(&ranked.candidate) && !is_similar(ranked));
        (is_empty && self.dropped.iter().any(left_out)).then(|| {
            let message =
                "nothing relevant was found: the nearest texts have too little to do with the query";
            Notice::new(NoticeCode::NothingRelevant, message)
        })
    }

    /// Keeps a layer from growing by what an earlier pack had.
    fn drop_over_carried(
        &mut self,
        previous: &Previous,
        spec: &LayerSpec,
        ranked: &mut Vec<Ranked>,
    ) {
        let (over, limit) = over_carried(previous, &spec.name, ranked);
        for ranked in over {
            self.drop(spec, ranked, Reason::OverLimit { limit });
        }
    }

    fn drop(&mut self, spec: &LayerSpec, ranked: Ranked, reason: Reason) {
        self.dropped.push(Dropped { layer: spec.name.as_str().into(), ranked, reason });
    }

    /// A piece of an item that stands in whole somewhere else need not stand as a piece too.
    fn leave_pieces_to_wholes(&mut self, specs: &[LayerSpec]) {
        let mut wholes: BTreeMap<ItemId, usize> = BTreeMap::new();
        for (index, layer) in self.layers.iter().enumerate() {
            for ranked in layer.iter().filter(|ranked| ranked.candidate.id.chunk.is_none()) {
                wholes.entry(ranked.candidate.id.item.clone()).or_insert(index);
            }
        }
        let mut pieces = Vec::new();
        for (index, layer) in self.layers.iter_mut().enumerate() {
            // There the pieces of an item become one candidate, which the pack holds against the
            // whole.
            if specs[index].order == PaymentOrder::Blocks {
                continue;
            }
            let stands = |ranked: &mut Ranked| {
                let id = &ranked.candidate.id;
                id.chunk.is_some() && wholes.contains_key(&id.item)
            };
            pieces.extend(layer.extract_if(.., stands).map(|ranked| (index, ranked)));
        }
        for (index, ranked) in pieces {
            let whole = wholes.get(&ranked.candidate.id.item).copied().unwrap_or(index);
            let layer = specs[whole].name.as_str().into();
            self.drop(&specs[index], ranked, Reason::Elsewhere { layer });
        }
    }

    /// What a search found late and a link leads to early stands among what is linked: in the search's
    /// own layer it may find no room.
    fn leave_to_links(&mut self, specs: &[LayerSpec]) {
        let is_linked = |ranked: &Ranked| {
            ranked.candidate.found.iter().any(|found| *found.collector == *LINKED)
        };
        let mut linked: BTreeMap<CandidateId, (usize, usize)> = BTreeMap::new();
        for (index, layer) in self.layers.iter().enumerate() {
            for (place, ranked) in layer.iter().enumerate().filter(|(_, it)| is_linked(it)) {
                linked.insert(ranked.candidate.id.clone(), (index, place));
            }
        }
        for (index, spec) in specs.iter().enumerate() {
            for (place, ranked) in std::mem::take(&mut self.layers[index]).into_iter().enumerate() {
                match linked.get(&ranked.candidate.id) {
                    Some(&(layer, first))
                        if layer > index && first < place && !is_named(&ranked.candidate) =>
                    {
                        let layer = specs[layer].name.as_str().into();
                        self.drop(spec, ranked, Reason::Elsewhere { layer });
                    }
                    _ => self.layers[index].push(ranked),
                }
            }
        }
    }

    /// Of texts that say the same, the one that comes first stays: by layer, then by rank. How alike a
    /// text may be to what stands before it is what its own layer says.
    fn leave_out_repeats(&mut self, specs: &[LayerSpec]) {
        let mut thresholds: Vec<Score> = specs.iter().filter_map(|spec| spec.repeats).collect();
        thresholds.sort_unstable();
        thresholds.dedup();
        if thresholds.is_empty() {
            return;
        }
        let mut at: Vec<(usize, usize)> = Vec::new();
        for (index, layer) in self.layers.iter().enumerate() {
            if specs[index].pinned || specs[index].repeats.is_some() {
                at.extend((0..layer.len()).map(|place| (index, place)));
            }
        }
        let texts: Vec<&str> =
            at.iter().map(|&(layer, place)| &*self.layers[layer][place].candidate.text).collect();
        let mut repeats: Vec<Option<usize>> = vec![None; at.len()];
        for threshold in thresholds {
            let of_layer = |index: usize| specs[at[index].0].repeats == Some(threshold);
            for (index, first) in duplicates(&texts, threshold).into_iter().enumerate() {
                if of_layer(index) {
                    repeats[index] = first;
                }
            }
        }
        let mut of: BTreeMap<(usize, usize), CandidateId> = BTreeMap::new();
        for (index, repeat) in repeats.iter().enumerate() {
            let Some(first) = repeat else { continue };
            // A repeat of a repeat repeats what that one repeated.
            let mut first = *first;
            while let Some(earlier) = repeats[first] {
                first = earlier;
            }
            let (layer, place) = at[first];
            let same = self.layers[layer][place].candidate.id.clone();
            let repeated = &self.layers[at[index].0][at[index].1].candidate.id;
            // The same candidate in two layers is for the pack to decide.
            if !specs[at[index].0].pinned && *repeated != same {
                of.insert(at[index], same);
            }
        }
        for (index, spec) in specs.iter().enumerate() {
            let layer = std::mem::take(&mut self.layers[index]);
            for (place, ranked) in layer.into_iter().enumerate() {
                match of.remove(&(index, place)) {
                    Some(of) => self.drop(spec, ranked, Reason::Repeats { of }),
                    None => self.layers[index].push(ranked),
                }
            }
        }
    }

    /// Prefers what says something new, and keeps the best.
    fn finish_layer(&mut self, index: usize, spec: &LayerSpec) {
        let mut layer = std::mem::take(&mut self.layers[index]);
        if let Some(lambda) = spec.diversity {
            layer = diversified(layer, lambda, alike);
        }
        if let Some(limit) = spec.limit.filter(|&limit| limit < layer.len() && !spec.pinned) {
            for ranked in layer.split_off(limit) {
                self.drop(spec, ranked, Reason::OverLimit { limit });
            }
        }
        self.layers[index] = layer;
    }

    /// Keeps so many of the items that were found. What is related to them is extra (M3).
    fn limit_items(&mut self, index: usize, spec: &LayerSpec, limit: usize) {
        if !spec.collect.iter().any(|collector| collector.by == SEARCH) {
            return;
        }
        let mut items: BTreeSet<ItemId> = BTreeSet::new();
        for ranked in std::mem::take(&mut self.layers[index]) {
            let candidate = &ranked.candidate;
            let is_related = candidate.found.iter().any(|found| *found.collector == *RELATED);
            let counts = !is_related && !items.contains(&candidate.id.item);
            if counts && items.len() >= limit {
                self.drop(spec, ranked, Reason::OverLimit { limit });
                continue;
            }
            if counts {
                items.insert(candidate.id.item.clone());
            }
            self.layers[index].push(ranked);
        }
    }
}

/// How much two texts have in common, by trigrams of their beginnings.
fn alike(a: &Ranked, b: &Ranked) -> Score {
    let beginning = |ranked: &Ranked| {
        let text = &ranked.candidate.text;
        text[..text.floor_char_boundary(COMPARED)].to_owned()
    };
    Score::unit(f64::from(trigram::similarity(&beginning(a), &beginning(b))))
}
