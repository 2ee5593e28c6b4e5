//! Measures signals for ranking, the same for every candidate, however it was found. Only signals
//! that a recipe's scores use are measured.

use std::collections::BTreeMap;

use futures_util::future::try_join4;
use haversack_core::candidate::Candidate;
use haversack_core::ids::ItemId;
use haversack_core::query::{Analysis, intent_type_match};
use haversack_core::rank::{
    Component, Ranker, Recency, has_compound_of, is_safety_relevant, structural, timing, usage,
};
use haversack_core::units::{Score, Timestamp};
use haversack_store::store::error::ReadError;
use haversack_store::store::item::EventKind;
use haversack_store::store::query::{Frequencies, TreeDistance, Usage};

use super::words::TermStatistics;
use crate::collect::Question;
use crate::engine::checkpoint;
use crate::recipe::LayerSpec;
use crate::request::Request;
use crate::search::frequencies_if_known;

/// Candidates that are measured before the work looks whether somebody still waits for it.
const BETWEEN_CHECKPOINTS: usize = 64;

/// How many views and edits give the full affinity score.
const AFFINITY_FULL: f64 = 10.0;

/// Sets the signals of all candidates that their layer's ranker uses.
///
/// # Errors
/// When the store cannot be read.
pub(crate) async fn measure_signals(
    question: &Question,
    specs: &[LayerSpec],
    rankers: &[Ranker],
    layers: &mut [Vec<Candidate>],
) -> Result<(), ReadError> {
    let items = distinct_items(layers);
    let stored = StoreSignals::read(question, rankers, items).await?;
    let words = rankers
        .iter()
        .any(|ranker| {
            ranker.uses(Component::TextSimilarity) || ranker.uses(Component::KeywordMatch)
        })
        .then(|| TermStatistics::new(&question.analysis, &stored.frequencies, layers));
    let mut number = 0;
    for ((spec, ranker), layer) in specs.iter().zip(rankers).zip(layers) {
        for candidate in layer {
            if number % BETWEEN_CHECKPOINTS == 0 {
                checkpoint().await;
            }
            let own = OwnSignals { ranker, recency: spec.recency, now: question.now };
            own.set_on(candidate, &question.request, &question.analysis);
            stored.set_signals(candidate, ranker);
            if let Some(words) = &words {
                words.set_signals(number, candidate, ranker);
            }
            number += 1;
        }
    }
    Ok(())
}

/// Returns the items of all candidates, each once, sorted.
fn distinct_items(layers: &[Vec<Candidate>]) -> Vec<ItemId> {
    let mut items: Vec<ItemId> =
        layers.iter().flatten().map(|candidate| candidate.id.item.clone()).collect();
    items.sort_unstable();
    items.dedup();
    items
}

/// Signals that come from the candidate itself.
struct OwnSignals<'r> {
    ranker: &'r Ranker,
    recency: Recency,
    now: Timestamp,
}

impl OwnSignals<'_> {
    fn set_on(&self, candidate: &mut Candidate, request: &Request, analysis: &Analysis) {
        if let Some(moment) = candidate.moment
            && self.ranker.uses(Component::Recency)
        {
            candidate.signals.set(Component::Recency, self.recency.score(moment, self.now));
        }
        if let Some(moment) = candidate.moment
            && self.ranker.uses(Component::Timing)
            && let Some(near) = analysis.times.iter().map(|t| timing(moment, t.from, t.to)).max()
        {
            candidate.signals.set(Component::Timing, near);
        }
        // A safety warning counts where it shares words with the query.
        if self.ranker.uses(Component::Safety) && is_safety_relevant(&candidate.text) {
            let shared = candidate.signals.get(Component::TextSimilarity).map_or(0.0, Score::get);
            let counts = match (shared * 2.0).min(1.0) {
                counts if counts >= 1.0 => counts,
                _ if has_compound_of(&candidate.text, &analysis.keywords) => 1.0,
                counts => counts,
            };
            if counts > 0.0 {
                candidate.signals.set(Component::Safety, Score::unit(counts));
            }
        }
        if let Some(confidence) = candidate.confidence {
            candidate.signals.set(Component::Confidence, confidence);
        }
        // A collector may know better than the kind alone: a finished task fits less.
        let known = candidate.signals.get(Component::TypeMatch).is_some();
        if self.ranker.uses(Component::TypeMatch) && !known {
            let matches = if request.prioritize.contains(&candidate.kind) {
                Score::ONE
            } else {
                intent_type_match(analysis.intent, &candidate.kind)
            };
            candidate.signals.set(Component::TypeMatch, matches);
        }
    }
}

/// Signals that come from the store.
struct StoreSignals {
    distances: BTreeMap<ItemId, Score>,
    uses: BTreeMap<ItemId, Score>,
    affinities: BTreeMap<ItemId, Score>,
    frequencies: Frequencies,
}

impl StoreSignals {
    async fn read(
        question: &Question,
        rankers: &[Ranker],
        items: Vec<ItemId>,
    ) -> Result<StoreSignals, ReadError> {
        let uses = |component| rankers.iter().any(|ranker| ranker.uses(component));
        let request = &question.request;
        let snapshot = &question.snapshot;
        let until = Some(question.events_until());
        let focus = [&request.focus, &request.page, &request.database].into_iter().flatten().next();
        let distances = async {
            match focus {
                Some(focus) if uses(Component::Structural) => {
                    snapshot.distances(focus, &items).await
                }
                _ => Ok(Vec::new()),
            }
        };
        let used = async {
            if uses(Component::Usage) {
                snapshot.usage(&items, None, until).await
            } else {
                Ok(vec![])
            }
        };
        let own = async {
            match &request.user {
                Some(user) if uses(Component::Affinity) => {
                    snapshot.usage(&items, Some(user), until).await
                }
                _ => Ok(Vec::new()),
            }
        };
        let frequencies = async {
            if uses(Component::TextSimilarity) {
                frequencies_if_known(&**snapshot, &request.query).await
            } else {
                Ok(Frequencies::default())
            }
        };
        let (distances, used, own, frequencies) =
            try_join4(distances, used, own, frequencies).await?;
        Ok(StoreSignals {
            distances: structural_scores(&items, &distances),
            uses: usage_scores(&used),
            affinities: affinity_scores(&own),
            frequencies,
        })
    }

    fn set_signals(&self, candidate: &mut Candidate, ranker: &Ranker) {
        let of = |scores: &BTreeMap<ItemId, Score>| scores.get(&candidate.id.item).copied();
        let scores = [
            (Component::Structural, of(&self.distances)),
            (Component::Usage, of(&self.uses)),
            (Component::Affinity, of(&self.affinities)),
        ];
        for (component, score) in scores {
            if let Some(score) = score.filter(|_| ranker.uses(component)) {
                candidate.signals.set(component, score);
            }
        }
    }
}

/// W6: nearer in the tree is better; an item without a readable path is farthest.
fn structural_scores(items: &[ItemId], distances: &[TreeDistance]) -> BTreeMap<ItemId, Score> {
    let score = |distance: &TreeDistance| distance.map_or(Score::ZERO, structural);
    items.iter().cloned().zip(distances.iter().map(score)).collect()
}

/// K4, K8: feedback `useful` less `not useful`. Being packed does not count, or what was packed
/// once would be packed for ever.
fn usage_scores(events: &[Usage]) -> BTreeMap<ItemId, Score> {
    let mut counts: BTreeMap<ItemId, (u64, u64)> = BTreeMap::new();
    for event in events {
        let (useful, not_useful) = counts.entry(event.item.clone()).or_default();
        match event.event_kind {
            EventKind::Useful => *useful += event.count,
            EventKind::NotUseful => *not_useful += event.count,
            EventKind::Viewed | EventKind::Edited | EventKind::Used => {}
        }
    }
    let score = |(useful, not_useful): (u64, u64)| usage(useful.saturating_sub(not_useful));
    counts.into_iter().map(|(item, counts)| (item, score(counts))).collect()
}

/// W6: items that the user viewed or edited score higher.
fn affinity_scores(events: &[Usage]) -> BTreeMap<ItemId, Score> {
    let mut counts: BTreeMap<ItemId, u64> = BTreeMap::new();
    for event in events {
        if matches!(event.event_kind, EventKind::Viewed | EventKind::Edited) {
            *counts.entry(event.item.clone()).or_default() += event.count;
        }
    }
    let score = |count: u64| {
        Score::unit(f64::from(u32::try_from(count).unwrap_or(u32::MAX)) / AFFINITY_FULL)
    };
    counts.into_iter().map(|(item, count)| (item, score(count))).collect()
}
