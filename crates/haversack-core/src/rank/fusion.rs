//! Fusion of several ranked lists, by ranks or by normalised scores.

use std::collections::BTreeMap;

use crate::units::Score;

/// A ranked list and its weight.
#[derive(Debug, Clone)]
pub struct RankedList<Id> {
    /// Its weight; zero ignores it.
    pub weight: Score,
    /// Ids, best first, with the list's own scores.
    pub hits: Vec<(Id, Score)>,
}

/// An id with its fused score.
#[derive(Debug, Clone, PartialEq)]
pub struct Fused<Id> {
    /// The id.
    pub id: Id,
    /// The sum, between 0 and 1.
    pub score: Score,
    /// Each list's contribution, in the order of the lists.
    pub parts: Vec<Score>,
}

/// Reciprocal rank fusion: each list contributes weight / (k + rank), scaled so that rank one in
/// every list gives 1. An id in only one list can still win if that list has enough weight.
#[must_use]
pub fn fuse_ranks<Id: Ord + Clone>(lists: &[RankedList<Id>], k: u32) -> Vec<Fused<Id>> {
    let best = 1.0 / f64::from(k.saturating_add(1));
    let lists: Vec<_> = lists
        .iter()
        .map(|list| {
            let values = list
                .hits
                .iter()
                .zip(1u32..)
                .map(|((id, _), rank)| (id, 1.0 / (f64::from(k) + f64::from(rank)) / best));
            (list.weight, values.collect::<Vec<_>>())
        })
        .collect();
    fuse(&lists)
}

/// Score fusion: each list's scores are normalised to 0 to 1 by its maximum, then added by weight.
#[must_use]
pub fn fuse_scores<Id: Ord + Clone>(lists: &[RankedList<Id>]) -> Vec<Fused<Id>> {
    let lists: Vec<_> = lists
        .iter()
        .map(|list| {
            let best = list.hits.iter().map(|(_, score)| score.get()).fold(0.0, f64::max);
            let scale = if best > 0.0 { 1.0 / best } else { 0.0 };
            let values = list.hits.iter().map(|(id, score)| (id, score.get().max(0.0) * scale));
            (list.weight, values.collect::<Vec<_>>())
        })
        .collect();
    fuse(&lists)
}

fn fuse<Id: Ord + Clone>(lists: &[(Score, Vec<(&Id, f64)>)]) -> Vec<Fused<Id>> {
    let total: f64 = lists.iter().map(|(weight, _)| weight.get().max(0.0)).sum();
    let mut parts: BTreeMap<&Id, Vec<f64>> = BTreeMap::new();
    for (index, (weight, values)) in lists.iter().enumerate() {
        if total <= 0.0 {
            break;
        }
        for &(id, value) in values {
            let parts = parts.entry(id).or_insert_with(|| vec![0.0; lists.len()]);
            // An id that occurs twice in a list counts once, by its better rank.
            parts[index] = parts[index].max(value * weight.get().max(0.0) / total);
        }
    }
    let mut fused: Vec<Fused<Id>> = parts
        .into_iter()
        .map(|(id, parts)| Fused {
            id: id.clone(),
            score: Score::unit(parts.iter().sum()),
            parts: parts.into_iter().map(Score::unit).collect(),
        })
        .collect();
    fused.sort_by(|a, b| b.score.cmp(&a.score).then_with(|| a.id.cmp(&b.id)));
    fused
}
