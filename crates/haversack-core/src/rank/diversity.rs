//! Diversity: maximal marginal relevance, and removal of duplicates.

use crate::rank::Ranked;
use crate::text::duplicate::duplicates;
use crate::units::Score;

/// One choice of [`diversify`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pick {
    /// Index into the given scores.
    pub index: usize,
    /// Its score after the penalty, when it was selected.
    pub marginal: Score,
}

/// Maximal marginal relevance: repeatedly selects the candidate with the highest
/// λ · score − (1 − λ) · (its greatest similarity to those already selected).
///
/// With λ = 1 this is the order by score. Ties go to the lower index.
pub fn diversify(
    scores: &[Score],
    lambda: Score,
    limit: usize,
    similarity: impl Fn(usize, usize) -> Score,
) -> Vec<Pick> {
    let lambda = Score::unit(lambda.get()).get();
    let mut nearest = vec![0.0f64; scores.len()];
    let mut left: Vec<usize> = (0..scores.len()).collect();
    let mut picks = Vec::with_capacity(limit.min(scores.len()));
    while picks.len() < limit {
        let marginal = |index: usize| {
            Score::new(lambda * scores[index].get() - (1.0 - lambda) * nearest[index])
                .unwrap_or(Score::ZERO)
        };
        let best = left
            .iter()
            .enumerate()
            .max_by(|(_, a), (_, b)| marginal(**a).cmp(&marginal(**b)).then_with(|| b.cmp(a)));
        let Some((at, &index)) = best else { break };
        picks.push(Pick { index, marginal: marginal(index) });
        left.remove(at);
        for &other in &left {
            nearest[other] = nearest[other].max(similarity(index, other).get());
        }
    }
    picks
}

/// Reranks candidates with scores lowered by their similarity to better ones. The score parts stay
/// unchanged; the difference to the score is the penalty.
pub fn diversified(
    ranked: Vec<Ranked>,
    lambda: Score,
    similarity: impl Fn(&Ranked, &Ranked) -> Score,
) -> Vec<Ranked> {
    let scores: Vec<Score> = ranked.iter().map(|ranked| ranked.score).collect();
    let picks = diversify(&scores, lambda, ranked.len(), |a, b| similarity(&ranked[a], &ranked[b]));
    let mut left: Vec<Option<Ranked>> = ranked.into_iter().map(Some).collect();
    picks
        .into_iter()
        .filter_map(|pick| {
            let ranked = left[pick.index].take()?;
            Some(Ranked { score: pick.marginal.max(Score::ZERO), ..ranked })
        })
        .collect()
}

/// Removes exact and near duplicates of better-ranked texts. Returns the kept candidates in order,
/// and each duplicate with the index (among the kept) of its original.
#[must_use]
pub fn drop_repeats(ranked: Vec<Ranked>, threshold: Score) -> (Vec<Ranked>, Vec<(Ranked, usize)>) {
    let texts: Vec<&str> = ranked.iter().map(|ranked| &*ranked.candidate.text).collect();
    let repeats = duplicates(&texts, threshold);
    let mut kept_at = vec![0; ranked.len()];
    let mut kept = Vec::with_capacity(ranked.len());
    let mut repeated = Vec::new();
    for (index, (ranked, repeat)) in ranked.into_iter().zip(repeats).enumerate() {
        if let Some(earlier) = repeat {
            // A duplicate of a duplicate refers to the original.
            kept_at[index] = kept_at[earlier];
            repeated.push((ranked, kept_at[earlier]));
        } else {
            kept_at[index] = kept.len();
            kept.push(ranked);
        }
    }
    (kept, repeated)
}
