//! Ranks each layer's candidates, and drops those that are excluded, irrelevant, duplicates, in
//! another layer already, or beyond a limit. Each dropped candidate carries its reason.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use haversack_core::candidate::Candidate;
use haversack_core::ids::{CandidateId, ItemId};
use haversack_core::layer::Order as PaymentOrder;
use haversack_core::ledger::{Dropped, Reason};
use haversack_core::pack::{PackError, Previous};
use haversack_core::rank::{Component, Ranked, Ranker, diversified, rank};
use haversack_core::text::duplicate::duplicates;
use haversack_core::text::trigram;
use haversack_core::units::Score;

use super::carry::{raise_carried_scores, take_excess_carried};
use super::currency::Currency;
use super::hints::rank_prioritized_first;
use crate::collect::{is_found_by_link, is_found_by_name};
use crate::engine::current_cancel_flag;
use crate::error::Error;
use crate::notice::{Notice, NoticeCode};
use crate::recipe::LayerSpec;
use crate::request::Request;

/// Ranked candidates by layer, and those that were dropped.
#[derive(Debug, Default)]
pub(crate) struct RankedLayers {
    /// Each layer's candidates, best first, in the recipe's order of layers.
    pub(crate) layers: Vec<Vec<Ranked>>,
    pub(crate) dropped: Vec<Dropped>,
}

/// The collector whose items a request's limit counts.
const SEARCH_COLLECTOR: &str = "hybrid";
/// The collector of items similar to the focus.
const SIMILAR_COLLECTOR: &str = "similar";
/// The collector of items linked with the focus.
const RELATIONS_COLLECTOR: &str = "relations";
/// The collector of related items, which the limit does not count.
const EXPAND_COLLECTOR: &str = "expand";

/// How many bytes of two texts are compared for diversity.
const COMPARED_BYTES_MAX: usize = 400;

/// Ranks every layer, and drops candidates with their reasons.
///
/// # Errors
/// When a ranker fails.
pub(crate) fn rank_layers(
    specs: &[LayerSpec],
    rankers: &[Ranker],
    (candidates, relevance): (Vec<Vec<Candidate>>, &[Option<Score>]),
    (request, currency): (&Request, &Currency),
    previous: Option<&Previous>,
) -> Result<RankedLayers, Error> {
    let mut order = RankedLayers::default();
    let candidates = candidates.into_iter().zip(relevance);
    for ((spec, ranker), (candidates, relevance)) in specs.iter().zip(rankers).zip(candidates) {
        current_cancel_flag().check().map_err(PackError::from)?;
        let mut ranked = rank(candidates, ranker)?;
        rank_prioritized_first(request, ranker, &mut ranked);
        if spec.prefer_current {
            currency.apply(&mut ranked);
        }
        if let Some(previous) =
            previous.filter(|_| !spec.pinned && spec.order != PaymentOrder::Blocks)
        {
            raise_carried_scores(previous, &spec.name, &mut ranked);
            order.drop_over_carried(previous, spec, &mut ranked);
        }
        let name: Arc<str> = spec.name.as_str().into();
        let mut drop = |ranked: Ranked, reason| {
            order.dropped.push(Dropped { layer: Arc::clone(&name), ranked, reason });
        };
        let excluded = |ranked: &mut Ranked| request.exclude.contains(&ranked.candidate.id.item);
        ranked.extract_if(.., excluded).for_each(|ranked| drop(ranked, Reason::Excluded));
        if let Some(reason) = below_floor_reason(spec, *relevance) {
            let was_searched = |ranked: &mut Ranked| !is_found_by_name(&ranked.candidate);
            let below = ranked.extract_if(.., was_searched);
            below.for_each(|ranked| drop(ranked, reason.clone()));
        }
        // Without a measured relevance nothing is dropped.
        if let Some(least) = relevance.and_then(|_| relative_floor(spec, &ranked)) {
            // An item stays with all its chunks if its best one does.
            let stays = |ranked: &&Ranked| {
                let candidate = &ranked.candidate;
                max_sim(candidate) >= least
                    || is_found_by_name(candidate)
                    || is_found_by_link(candidate)
            };
            let near: BTreeSet<ItemId> =
                ranked.iter().filter(stays).map(|it| it.candidate.id.item.clone()).collect();
            let is_far = |ranked: &mut Ranked| !near.contains(&ranked.candidate.id.item);
            for ranked in ranked.extract_if(.., is_far) {
                let meets = max_sim(&ranked.candidate);
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
    order.drop_chunks_of_whole_items(specs);
    order.drop_in_favour_of_links(specs);
    order.drop_duplicates(specs);
    for (index, spec) in specs.iter().enumerate() {
        order.diversify_and_limit(index, spec);
        if let Some(limit) = request.limit {
            order.limit_items(index, spec, limit);
        }
    }
    Ok(order)
}

/// Returns the reason to drop a layer's search results when its relevance is below its floor (X9).
/// Something is always nearest; that alone is no reason to show it.
fn below_floor_reason(spec: &LayerSpec, relevance: Option<Score>) -> Option<Reason> {
    let (floor, best) = (spec.floor?, relevance?);
    (best < floor).then_some(Reason::BelowFloor { best, floor })
}

/// Returns how well a candidate matches the query's words.
fn max_sim(candidate: &Candidate) -> Score {
    candidate.signals.get(Component::MaxSim).unwrap_or(Score::ZERO)
}

/// The least match with the query that a layer accepts, relative to its best (X9).
fn relative_floor(spec: &LayerSpec, ranked: &[Ranked]) -> Option<Score> {
    let best = ranked.iter().map(|ranked| max_sim(&ranked.candidate)).max()?;
    Some(Score::unit(best.get() * spec.relative_floor?.get()))
}

impl RankedLayers {
    /// Returns a notice when no search result is relevant to the query (X9).
    pub(super) fn nothing_relevant_notice(&self, specs: &[LayerSpec]) -> Option<Notice> {
        let left_out = |dropped: &Dropped| matches!(dropped.reason, Reason::BelowFloor { .. });
        let searched = specs.iter().zip(&self.layers).filter(|(spec, _)| spec.floor.is_some());
        let mut found = searched.flat_map(|(_, layer)| layer);
        let is_similar = |ranked: &Ranked| {
            ranked.candidate.found.iter().any(|found| *found.collector == *SIMILAR_COLLECTOR)
        };
        let is_empty =
            found.all(|ranked| is_found_by_name(&ranked.candidate) && !is_similar(ranked));
        (is_empty && self.dropped.iter().any(left_out)).then(|| {
            let message =
                "nothing relevant was found: the nearest texts have too little to do with the query";
            Notice::new(NoticeCode::NothingRelevant, message)
        })
    }

    /// Drops candidates by which carrying over would make a layer grow.
    fn drop_over_carried(
        &mut self,
        previous: &Previous,
        spec: &LayerSpec,
        ranked: &mut Vec<Ranked>,
    ) {
        let (over, limit) = take_excess_carried(previous, &spec.name, ranked);
        for ranked in over {
            self.drop(spec, ranked, Reason::OverLimit { limit });
        }
    }

    fn drop(&mut self, spec: &LayerSpec, ranked: Ranked, reason: Reason) {
        self.dropped.push(Dropped { layer: spec.name.as_str().into(), ranked, reason });
    }

    /// Drops chunks of items that are in some layer as a whole.
    fn drop_chunks_of_whole_items(&mut self, specs: &[LayerSpec]) {
        let mut wholes: BTreeMap<ItemId, usize> = BTreeMap::new();
        for (index, layer) in self.layers.iter().enumerate() {
            for ranked in layer.iter().filter(|ranked| ranked.candidate.id.chunk.is_none()) {
                wholes.entry(ranked.candidate.id.item.clone()).or_insert(index);
            }
        }
        let mut pieces = Vec::new();
        for (index, layer) in self.layers.iter_mut().enumerate() {
            // There the chunks of an item become one candidate, which packing compares with the
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

    /// Drops search results that a later layer of linked items ranks higher: the search's own layer
    /// may have no room for them.
    fn drop_in_favour_of_links(&mut self, specs: &[LayerSpec]) {
        let is_linked_with_focus = |ranked: &Ranked| {
            ranked.candidate.found.iter().any(|found| *found.collector == *RELATIONS_COLLECTOR)
        };
        let mut linked: BTreeMap<CandidateId, (usize, usize)> = BTreeMap::new();
        for (index, layer) in self.layers.iter().enumerate() {
            for (place, ranked) in
                layer.iter().enumerate().filter(|(_, it)| is_linked_with_focus(it))
            {
                linked.insert(ranked.candidate.id.clone(), (index, place));
            }
        }
        for (index, spec) in specs.iter().enumerate() {
            for (place, ranked) in std::mem::take(&mut self.layers[index]).into_iter().enumerate() {
                match linked.get(&ranked.candidate.id) {
                    Some(&(layer, first))
                        if layer > index
                            && first < place
                            && !is_found_by_name(&ranked.candidate) =>
                    {
                        let layer = specs[layer].name.as_str().into();
                        self.drop(spec, ranked, Reason::Elsewhere { layer });
                    }
                    _ => self.layers[index].push(ranked),
                }
            }
        }
    }

    /// Drops duplicate texts, and keeps the first by layer, then by rank. A text's own layer sets
    /// its threshold.
    fn drop_duplicates(&mut self, specs: &[LayerSpec]) {
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
            // A duplicate of a duplicate refers to the first text.
            let mut first = *first;
            while let Some(earlier) = repeats[first] {
                first = earlier;
            }
            let (layer, place) = at[first];
            let same = self.layers[layer][place].candidate.id.clone();
            let repeated = &self.layers[at[index].0][at[index].1].candidate.id;
            // Packing decides about the same candidate in two layers.
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

    /// Reorders a layer for diversity, and drops what is beyond its limit.
    fn diversify_and_limit(&mut self, index: usize, spec: &LayerSpec) {
        let mut layer = std::mem::take(&mut self.layers[index]);
        if let Some(lambda) = spec.diversity {
            layer = diversified(layer, lambda, beginning_similarity);
        }
        if let Some(limit) = spec.limit.filter(|&limit| limit < layer.len() && !spec.pinned) {
            for ranked in layer.split_off(limit) {
                self.drop(spec, ranked, Reason::OverLimit { limit });
            }
        }
        self.layers[index] = layer;
    }

    /// Drops items beyond the request's limit. Related items do not count (M3).
    fn limit_items(&mut self, index: usize, spec: &LayerSpec, limit: usize) {
        if !spec.collect.iter().any(|collector| collector.by == SEARCH_COLLECTOR) {
            return;
        }
        let mut items: BTreeSet<ItemId> = BTreeSet::new();
        for ranked in std::mem::take(&mut self.layers[index]) {
            let candidate = &ranked.candidate;
            let is_related =
                candidate.found.iter().any(|found| *found.collector == *EXPAND_COLLECTOR);
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

/// Compares the beginnings of two texts by trigrams.
fn beginning_similarity(a: &Ranked, b: &Ranked) -> Score {
    let beginning = |ranked: &Ranked| {
        let text = &ranked.candidate.text;
        text[..text.floor_char_boundary(COMPARED_BYTES_MAX)].to_owned()
    };
    Score::unit(f64::from(trigram::similarity(&beginning(a), &beginning(b))))
}
