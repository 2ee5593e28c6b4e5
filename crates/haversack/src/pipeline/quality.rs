//! A pack's quality in figures that need no model: relevance, coverage, redundancy, freshness and
//! budget use (P17).

use haversack_core::pack::{Pack, PackRequest};
use haversack_core::rank::Recency;
use haversack_core::units::{Score, Timestamp};

/// Quality figures of a pack, each between 0 and 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Quality {
    /// How likely it is that the candidates are relevant to the query; unknown where no layer has a
    /// relevance floor, or the query has no words.
    pub relevance: Option<Score>,
    /// The packed share of all candidates, by value.
    pub coverage: Score,
    /// The share of its text that repeats earlier text; lower is better.
    pub redundancy: Score,
    /// How new its texts are, by size; texts of unknown age count half.
    pub freshness: Score,
    /// How much of the budget it uses.
    pub budget_use: Score,
    /// All of it in one number: 0.4 relevance, 0.3 coverage, 0.1 each for what is not redundant,
    /// for freshness and for use. Where relevance is unknown, coverage counts 0.7.
    pub score: Score,
}

/// Words in a row that are compared as one unit.
const RUN_WORDS: usize = 4;

impl Quality {
    /// Measures a pack.
    pub(crate) fn measure(
        pack: &Pack,
        request: &PackRequest,
        relevance: Option<Score>,
        now: Timestamp,
    ) -> Quality {
        let coverage = pack.worth.coverage();
        let redundancy = redundancy(pack);
        let freshness = freshness(pack, request, now);
        let limit = f64::from(pack.limit.get().max(1));
        let budget_use = Score::unit(f64::from(pack.tokens.get()) / limit);
        let score = 0.4 * relevance.unwrap_or(coverage).get()
            + 0.3 * coverage.get()
            + 0.1 * (1.0 - redundancy.get())
            + 0.1 * freshness.get()
            + 0.1 * budget_use.get();
        Quality {
            relevance,
            coverage,
            redundancy,
            freshness,
            budget_use,
            score: Score::unit(score),
        }
    }
}

fn count(count: usize) -> f64 {
    f64::from(u32::try_from(count).unwrap_or(u32::MAX))
}

/// The share of runs of words that occurred before in the same pack.
fn redundancy(pack: &Pack) -> Score {
    let words: Vec<u64> = pack.text.split_whitespace().map(hash).collect();
    let mut runs: Vec<[u64; RUN_WORDS]> = words.array_windows::<RUN_WORDS>().copied().collect();
    let all = runs.len();
    runs.sort_unstable();
    runs.dedup();
    if all == 0 { Score::ZERO } else { Score::unit(1.0 - count(runs.len()) / count(all)) }
}

/// FNV-1a; it need not withstand attacks.
fn hash(word: &str) -> u64 {
    word.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte.to_ascii_lowercase())).wrapping_mul(0x0100_0000_01b3)
    })
}

/// How new the texts are, each by its size.
fn freshness(pack: &Pack, request: &PackRequest, now: Timestamp) -> Score {
    let candidates = request.layers.iter().flat_map(|(_, ranked)| ranked);
    let mut moments: Vec<_> =
        candidates.map(|ranked| (&ranked.candidate.id, ranked.candidate.moment)).collect();
    moments.sort_unstable();
    let (mut fresh, mut all) = (0.0, 0.0);
    for item in pack.sections.iter().flat_map(|section| &section.items) {
        let at = moments.binary_search_by(|(id, _)| (*id).cmp(&item.id));
        let moment = at.ok().and_then(|at| moments[at].1);
        let score = moment.map_or(Score::HALF, |moment| Recency::WORKSPACE.score(moment, now));
        let tokens = f64::from(item.tokens.get());
        fresh += score.get() * tokens;
        all += tokens;
    }
    if all > 0.0 { Score::unit(fresh / all) } else { Score::HALF }
}
